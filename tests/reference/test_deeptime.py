"""Counts, connected set, stationary law and spectrum against deeptime on the same symbols."""

import numpy as np
import pytest

from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov.markov import MarkovChain, count_transitions, largest_connected_set, slow_spectrum
from ethomarkov.states import Symbols

deeptime = pytest.importorskip("deeptime")
from deeptime.markov import TransitionCountEstimator  # noqa: E402
from deeptime.markov.msm import MaximumLikelihoodMSM  # noqa: E402

N_STATES = 70


def walk(rng, matrix, n_frames):
    labels = np.empty(n_frames, dtype=np.int32)
    labels[0] = rng.integers(len(matrix))
    for frame in range(1, n_frames):
        labels[frame] = rng.choice(len(matrix), p=matrix[labels[frame - 1]])
    return labels


@pytest.fixture(scope="module")
def symbols():
    """Three animals with gaps, on states of which some only lead in and some only out."""
    rng = np.random.default_rng(0)
    matrix = rng.random((60, 60)) ** 10
    matrix[30:] *= np.where(np.arange(60) < 30, 0.02, 1.0)
    matrix[:30] *= np.where(np.arange(60) < 30, 1.0, 0.02)
    matrix /= matrix.sum(axis=1, keepdims=True)
    lengths = (4000, 2500, 3000)
    labels = np.concatenate([walk(rng, matrix, n) for n in lengths])
    labels[:3] = [60, 61, 62]  # left and never seen again
    labels[-2:] = [65, 66]  # entered and never left
    for start in rng.integers(0, labels.size, 25):
        labels[start : start + rng.integers(1, 40)] = -1
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return Symbols(
        labels=labels, n_states=N_STATES, segments=Segments.from_valid(labels >= 0, offsets), sampling=Sampling(16.0)
    )


def trajectories(symbols):
    return [symbols.labels[start:stop] for start, stop, _ in symbols.segments]


@pytest.fixture(scope="module", params=[1, 12])
def lag_frames(request):
    return request.param


@pytest.fixture(scope="module")
def oracle_counts(symbols, lag_frames):
    estimator = TransitionCountEstimator(lagtime=lag_frames, count_mode="sliding", n_states=N_STATES)
    return estimator.fit_fetch(trajectories(symbols))


@pytest.fixture(scope="module")
def oracle(oracle_counts):
    return MaximumLikelihoodMSM(reversible=False).fit_fetch(oracle_counts.submodel_largest())


@pytest.fixture(scope="module")
def chain(symbols, lag_frames):
    return MarkovChain.from_symbols(symbols, lag_frames / 16.0)


def test_counts(symbols, lag_frames, oracle_counts):
    theirs = oracle_counts.count_matrix
    theirs = theirs.toarray() if hasattr(theirs, "toarray") else np.asarray(theirs)
    ours = count_transitions(symbols, lag_frames).toarray()
    assert ours.sum() > 3000
    np.testing.assert_array_equal(ours[: len(theirs), : len(theirs)], theirs)
    assert ours.sum() == theirs.sum()


def test_connected_set(symbols, lag_frames, oracle_counts):
    ours = largest_connected_set(count_transitions(symbols, lag_frames))
    assert ours.size < N_STATES
    np.testing.assert_array_equal(ours, np.sort(oracle_counts.submodel_largest().state_symbols))


def test_transition_matrix(chain, oracle):
    theirs = oracle.transition_matrix
    theirs = theirs.toarray() if hasattr(theirs, "toarray") else theirs
    np.testing.assert_allclose(chain.transition.toarray(), theirs, atol=1e-12)


def test_stationary_law(chain, oracle):
    np.testing.assert_allclose(chain.stationary, oracle.stationary_distribution, rtol=1e-7, atol=1e-12)


def test_moduli_of_the_spectrum(chain, oracle):
    """Ours is ordered by real part, theirs by modulus: compared as the whole set."""
    theirs = np.sort(np.abs(oracle.eigenvalues()))[::-1]
    ours = np.sort(np.abs(slow_spectrum(chain, n_modes=chain.states.size).eigenvalues))[::-1]
    np.testing.assert_allclose(ours, theirs[1:], atol=1e-8)


def test_slowest_relaxation_time(chain, oracle, lag_frames):
    """The slowest mode is real here, so that real part and modulus agree."""
    theirs = oracle.eigenvalues()
    slowest = theirs[np.argsort(-theirs.real)][1]
    assert abs(slowest.imag) < 1e-12
    expected = -lag_frames / np.log(abs(slowest)) / 16.0
    assert slow_spectrum(chain).relaxation_times[0] == pytest.approx(expected, rel=1e-8)
