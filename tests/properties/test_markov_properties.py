"""Chains and cuts of any symbols."""

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse

from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov.coarse import best_cut
from ethomarkov.coarse.coherence import coherence_along
from ethomarkov.coarse.kinetics import dwell_times
from ethomarkov.markov import MarkovChain, count_transitions, entropy_rate, slow_spectrum
from ethomarkov.states import Symbols

modest = settings(max_examples=50, deadline=None)
N_STATES = 5


def symbols_of(labels, offsets=None):
    labels = np.asarray(labels, dtype=np.int32)
    return Symbols(
        labels=labels,
        n_states=N_STATES,
        segments=Segments.from_valid(labels >= 0, offsets),
        sampling=Sampling(1.0),
    )


sequences = st.lists(st.integers(-1, N_STATES - 1), min_size=2, max_size=80)


@st.composite
def chains(draw):
    """Connected chains on two to seven states, with zeros."""
    n = draw(st.integers(2, 7))
    weights = draw(st.lists(st.sampled_from([0.0, 0.0, 0.1, 1.0, 7.0]), min_size=n * n, max_size=n * n))
    counts = np.array(weights).reshape(n, n)
    counts[np.arange(n), np.roll(np.arange(n), 1)] += 0.5
    return MarkovChain.from_counts(sparse.csr_array(counts), 1.0)


@modest
@given(sequences, st.integers(1, 5))
def test_counting_does_not_change_when_a_series_is_split_at_its_gaps(labels, lag):
    """Every run as an animal of its own, with the gaps left out, has the same transitions."""
    whole = symbols_of(labels)
    runs = [whole.labels[start:stop] for start, stop, _ in whole.segments]
    assume(runs)
    apart = symbols_of(np.concatenate(runs), np.concatenate([[0], np.cumsum([run.size for run in runs])]))
    np.testing.assert_array_equal(count_transitions(whole, lag).toarray(), count_transitions(apart, lag).toarray())


@modest
@given(sequences, st.integers(1, 5))
def test_the_number_of_pairs_follows_from_the_runs(labels, lag):
    symbols = symbols_of(labels)
    assert count_transitions(symbols, lag).sum() == np.maximum(symbols.segments.lengths - lag, 0).sum()


@modest
@given(chains())
def test_rows_add_up_and_the_law_is_stationary(chain):
    np.testing.assert_allclose(chain.transition.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(chain.stationary @ chain.transition, chain.stationary, atol=1e-12)
    assert (chain.stationary > 0).all()
    assert abs(chain.stationary.sum() - 1) < 1e-12


@modest
@given(chains())
def test_reversibilised_chains_obey_detailed_balance(chain):
    both = chain.reversibilized()
    flux = both.stationary[:, None] * both.transition.toarray()
    np.testing.assert_allclose(flux, flux.T, atol=1e-13)
    np.testing.assert_allclose(both.transition.sum(axis=1), 1, atol=1e-10)
    twice = both.reversibilized().transition.toarray()
    np.testing.assert_allclose(twice, both.transition.toarray(), atol=1e-10)


@modest
@given(chains())
def test_entropy_rate_is_bounded_and_blind_to_the_direction_of_time(chain):
    rate = entropy_rate(chain)
    assert -1e-12 <= rate <= np.log(chain.states.size) + 1e-12
    back = MarkovChain(
        transition=chain.reversed(), stationary=chain.stationary, states=chain.states, n_states=chain.n_states, lag=1.0
    )
    assert abs(entropy_rate(back) - rate) < 1e-9


@modest
@given(chains())
def test_eigenvalues_lie_in_the_unit_circle_and_descend(chain):
    values = slow_spectrum(chain).eigenvalues
    assert values.size == chain.states.size - 1
    assert (np.abs(values) <= 1 + 1e-9).all()
    assert (np.diff(values.real) <= 1e-9).all()


@modest
@given(chains(), st.data())
def test_coherence_equals_submatrices(chain, data):
    n = chain.states.size
    phi = np.array(data.draw(st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]), min_size=n, max_size=n)))
    P, pi = chain.transition.toarray(), chain.stationary
    thresholds, curve = coherence_along(phi, chain)
    assert thresholds.tolist() == np.unique(phi)[1:].tolist()
    for threshold, found in zip(thresholds, curve, strict=True):
        shares = [
            (pi[side] @ P[np.ix_(side, side)]).sum() / pi[side].sum() for side in (phi >= threshold, phi < threshold)
        ]
        assert abs(found - min(shares)) < 1e-9


@modest
@given(chains())
def test_a_cut_is_a_partition(chain):
    cut = best_cut(chain, min_measure=0.0)
    assert set(cut.upper.tolist()) == {0, 1}
    assert cut.upper.size == chain.states.size
    assert -1e-12 <= cut.coherence <= 1 + 1e-12
    assert cut.coherence >= cut.curve.max() - 1e-15


@modest
@given(sequences)
def test_stays_are_the_inner_runs_of_each_segment(labels):
    symbols = symbols_of(labels)
    expected = []
    for start, stop, _ in symbols.segments:
        run = symbols.labels[start:stop].tolist()
        stays = []
        for label in run:
            if stays and stays[-1][0] == label:
                stays[-1][1] += 1
            else:
                stays.append([label, 1])
        expected += stays[1:-1]
    state, duration = dwell_times(symbols)
    assert [[int(s), int(d)] for s, d in zip(state, duration, strict=True)] == expected


@modest
@given(sequences, st.lists(st.integers(-1, 2), min_size=N_STATES, max_size=N_STATES))
def test_grouped_visits_are_sums_of_visits(labels, group):
    symbols = symbols_of(labels)
    grouped = symbols.relabel(np.array(group))
    visits = symbols.visits()
    expected = [sum(v for v, g in zip(visits, group, strict=True) if g == k) for k in range(max(group) + 1)]
    assert grouped.visits().tolist() == expected
