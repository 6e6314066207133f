"""Groups, passages, committors and PCCA+ against deeptime on chains that were estimated from walks with gaps."""

import numpy as np
import pytest
from scipy import sparse

from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov.coarse.passage import committor, hopping_rates, lump, mean_first_passage, two_state_times
from ethomarkov.coarse.pcca import pcca_tree
from ethomarkov.coarse.stability import match_nodes
from ethomarkov.coarse.tree import grow_tree
from ethomarkov.markov import MarkovChain
from ethomarkov.states import Symbols
from ethomarkov.synthetic import hopping_chain

pytest.importorskip("deeptime")
from deeptime.markov import TransitionCountEstimator, pcca
from deeptime.markov.msm import MarkovStateModel, MaximumLikelihoodMSM
from deeptime.markov.tools.estimation import rate_matrix

BLOCK, RATE = 8, 4.0


def block_matrix(leave, seed=0):
    """Equal blocks of microstates that are left to any other one; within a block there is little structure."""
    n = len(leave)
    between = np.array([[1 - leave[a] if a == b else leave[a] / (n - 1) for b in range(n)] for a in range(n)])
    within = np.random.default_rng(seed).random((n, n, BLOCK, BLOCK)) + 0.3
    within /= within.sum(axis=3, keepdims=True)
    return (between[:, :, None, None] * within).transpose(0, 2, 1, 3).reshape(n * BLOCK, n * BLOCK)


group_of = np.repeat(np.arange(3), BLOCK)
is_last = (group_of == 2).astype(int)


@pytest.fixture(scope="module")
def symbols():
    """Four animals with gaps on three blocks."""
    walk = hopping_chain(block_matrix((0.02, 0.03, 0.05)), 5000, n_walks=4, rate=RATE, rng=0)
    labels = np.array(walk.labels)
    for start in np.random.default_rng(1).integers(0, labels.size, 30):
        labels[start : start + 25] = -1
    segments = Segments.from_valid(labels >= 0, walk.segments.offsets)
    return Symbols(labels=labels, n_states=walk.n_states, segments=segments, sampling=Sampling(RATE))


def pieces(symbols, group=None):
    labels = symbols.labels if group is None else group[symbols.labels]
    return [labels[start:stop] for start, stop, _ in symbols.segments]


def counts_of(symbols, lag_frames, group=None):
    estimator = TransitionCountEstimator(lagtime=lag_frames, count_mode="sliding", sparse=False)
    return estimator.fit_fetch(pieces(symbols, group))


@pytest.fixture(scope="module")
def chain(symbols):
    return MarkovChain.from_symbols(symbols, 0.5)


@pytest.fixture(scope="module")
def oracle(symbols):
    return MaximumLikelihoodMSM(reversible=False).fit_fetch(counts_of(symbols, 2))


def test_passages(chain, oracle):
    found = mean_first_passage(chain, group_of)
    for a in range(3):
        for b in {0, 1, 2} - {a}:
            theirs = oracle.mfpt(np.flatnonzero(group_of == a).tolist(), np.flatnonzero(group_of == b).tolist())
            assert found[a, b] == pytest.approx(theirs / RATE, rel=1e-6)


def test_committors_and_the_flux_between_two_groups(chain, oracle):
    source, target = (np.flatnonzero(group_of == k).tolist() for k in (0, 2))
    flux = oracle.reactive_flux(source, target)
    forward, backward = committor(chain, group_of, 0, 2), committor(chain, group_of, 0, 2, backward=True)
    np.testing.assert_allclose(forward, flux.forward_committor, atol=1e-9)
    np.testing.assert_allclose(backward, flux.backward_committor, atol=1e-9)
    reactive = chain.stationary * backward * (group_of == 0)
    assert reactive @ chain.transition @ forward == pytest.approx(flux.total_flux, rel=1e-8)


def test_lumping_is_what_counting_the_groups_would_give(symbols, chain):
    """π is not quite the share of frames in walks with ends, so the two differ a little; by π they are the same."""
    member = np.eye(3)[group_of]
    flux = member.T @ (chain.stationary[:, None] * chain.transition.toarray()) @ member
    found = lump(chain, group_of)
    np.testing.assert_allclose(found.transition.toarray(), flux / flux.sum(axis=1, keepdims=True), atol=1e-12)
    counted = MaximumLikelihoodMSM(reversible=False).fit_fetch(counts_of(symbols, 2, group_of))
    np.testing.assert_allclose(found.transition.toarray(), counted.transition_matrix, atol=1e-3)


@pytest.mark.parametrize("lag_frames", [1, 2, 8])
def test_times_of_the_groups(symbols, lag_frames):
    theirs = MaximumLikelihoodMSM(reversible=True).fit_fetch(counts_of(symbols, lag_frames, is_last))
    lag = lag_frames / RATE
    found = two_state_times(symbols, is_last, np.array([lag]))
    # Two states always obey detailed balance, so that the reversible estimate is the same but for the ends of walks.
    assert found.times[0, 0] == pytest.approx(theirs.timescales()[0] / RATE, rel=1e-2)
    plain = MaximumLikelihoodMSM(reversible=False).fit_fetch(counts_of(symbols, lag_frames, group_of))
    expected = -lag / np.log(np.sort(plain.eigenvalues().real)[::-1][1:])
    found = two_state_times(symbols, group_of, np.array([lag]))
    np.testing.assert_allclose(found.times[0], expected, rtol=1e-8)


@pytest.mark.filterwarnings("ignore:.*L-BFGS-B:DeprecationWarning")  # of deeptime's call of scipy
def test_rates_of_reversible_groups(symbols):
    """deeptime fits the generator by likelihood under detailed balance; ours is the logarithm of what was counted."""
    found = hopping_rates(symbols, group_of, 0.5)
    counts = counts_of(symbols, 2, group_of).count_matrix
    theirs = rate_matrix(np.asarray(counts), dt=0.5, method="KL")
    error = np.sqrt(counts) / counts.sum(axis=1, keepdims=True) / 0.5
    off = ~np.eye(3, dtype=bool)
    assert (np.abs(found.rates - theirs)[off] < 3 * error[off]).all()
    np.testing.assert_allclose(np.diag(found.rates), np.diag(theirs), rtol=0.05)


@pytest.mark.parametrize("leave", [(0.02, 0.03), (0.02, 0.03, 0.025), (0.02, 0.025, 0.015, 0.02)])
@pytest.mark.parametrize("seed", [0, 1])
def test_pcca_finds_the_leaves_of_the_tree(leave, seed):
    """Well-separated blocks of similar measure: both find them, whatever their order."""
    matrix, n = block_matrix(leave, seed), len(leave)
    chain = MarkovChain.from_counts(sparse.csr_array(matrix), 1.0)
    tree, flat = grow_tree(chain, n), pcca_tree(chain, n)
    time = sparse.diags_array(chain.stationary).tocsr()
    assert flat.levels == (1, n)
    assert match_nodes(flat, tree, time).min() == pytest.approx(1.0)
    for states in (tree.states_at(n), flat.states_at(n)):
        assert all(np.unique(block).size == 1 for block in states.reshape(n, BLOCK))
    # the same from deeptime itself, on a reversible matrix made here
    reverse = matrix.T * chain.stationary / chain.stationary[:, None]
    crisp = pcca(MarkovStateModel((matrix + reverse) / 2).transition_matrix, n).assignments
    pairs = {(int(a), int(b)) for a, b in zip(crisp, flat.states_at(n), strict=True)}
    assert len(pairs) == n
