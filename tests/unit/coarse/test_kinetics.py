"""Durations of dwells."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov.coarse.kinetics import (
    Dwells,
    animal_rates,
    dwell_times,
    find_dwells,
    jump_chain,
    mean_dwell,
    survival,
    transition_rate,
    units_of_dwells,
)
from ethomarkov.exceptions import InputFormatError
from ethomarkov.states import Symbols
from ethomarkov.synthetic import hopping_chain


def complete_dwells(labels, offsets=None, rate=2.0):
    labels = np.asarray(labels, dtype=np.int32)
    symbols = Symbols(
        labels=labels, n_states=4, segments=Segments.from_valid(labels >= 0, offsets), sampling=Sampling(rate)
    )
    state, duration = dwell_times(symbols)
    return list(zip(state.tolist(), duration.tolist(), strict=True))


def test_complete_dwells_by_hand():
    assert complete_dwells([0, 0, 1, 1, 1, 2, 0, 0]) == [(1, 1.5), (2, 0.5)]


def test_dwells_at_gaps_are_left_out():
    assert complete_dwells([0, 1, 1, 0, 0, -1, 0, 2, 2, 2, 2, 0, -1, 3, 3]) == [(1, 1.0), (2, 2.0)]


def test_a_dwell_cut_by_a_gap_is_not_two_dwells():
    assert complete_dwells([0, 1, 1, -1, 1, 1, 0]) == []


def test_dwells_do_not_pass_from_one_animal_to_the_next():
    assert complete_dwells([0, 1, 1, 1, 1, 0], np.array([0, 3, 6])) == []
    assert complete_dwells([0, 1, 0, 0, 2, 0], np.array([0, 3, 6])) == [(1, 0.5), (2, 0.5)]


@pytest.mark.parametrize("labels", [[0], [0, 0, 0], [0, 1], [-1, -1]])
def test_nothing_complete(labels):
    assert complete_dwells(labels) == []


def test_of_one_animal_only():
    labels = np.array([0, 1, 0, 0, 2, 0], dtype=np.int32)
    symbols = Symbols(
        labels=labels,
        n_states=3,
        segments=Segments.from_valid(labels >= 0, np.array([0, 3, 6])),
        sampling=Sampling(1.0),
    )
    assert dwell_times(symbols.mask(1))[0].tolist() == [2]


def test_mean_dwell_of_a_known_chain():
    """Geometric: 1 / (1 − P_ii) steps, with the variance P_ii / (1 − P_ii)²."""
    leave = np.array([0.05, 0.2])
    walk = hopping_chain(np.array([[0.95, 0.05], [0.2, 0.8]]), 40_000, rate=4.0, rng=0)
    state, duration = dwell_times(walk)
    for k in (0, 1):
        mine = duration[state == k] * 4.0
        standard_error = np.sqrt(1 - leave[k]) / leave[k] / np.sqrt(mine.size)
        assert abs(mine.mean() - 1 / leave[k]) < 3.5 * standard_error


def labelled(labels, offsets=None, rate=2.0, n_states=4):
    labels = np.asarray(labels, dtype=np.int32)
    return Symbols(
        labels=labels, n_states=n_states, segments=Segments.from_valid(labels >= 0, offsets), sampling=Sampling(rate)
    )


def dwells_of(n_looks, ends_cut, individual=None, step=1.0):
    n_looks = np.asarray(n_looks)
    n = n_looks.size
    individual = np.zeros(n, dtype=int) if individual is None else np.asarray(individual)
    return Dwells(
        state=np.zeros(n, dtype=np.int32),
        duration=n_looks * step,
        individual=individual,
        start=np.zeros(n),
        starts_cut=np.zeros(n, dtype=bool),
        ends_cut=np.asarray(ends_cut, dtype=bool),
        step=step,
        n_states=1,
        n_individuals=int(individual.max()) + 1,
    )


def test_all_dwells_by_hand():
    dwells = find_dwells(labelled([0, 0, 1, -1, 1, 2, 2, 0, 0], np.array([0, 7, 9])))
    assert dwells.state.tolist() == [0, 1, 1, 2, 0]
    assert dwells.duration.tolist() == [1.0, 0.5, 0.5, 1.0, 1.0]
    assert dwells.individual.tolist() == [0, 0, 0, 0, 1]
    assert dwells.start.tolist() == [0.0, 1.0, 2.0, 2.5, 0.0]
    assert dwells.starts_cut.tolist() == [True, False, True, False, True]
    assert dwells.ends_cut.tolist() == [False, True, False, True, True]


def test_a_step_starts_anew_in_every_run():
    dwells = find_dwells(labelled([0, 1, 0, 1, 2, -1, 3, 3, 3, 0]), step=1.0)
    assert dwells.state.tolist() == [0, 2, 3]
    assert dwells.duration.tolist() == [2.0, 1.0, 2.0]
    assert dwells.start.tolist() == [0.0, 2.0, 3.0]
    assert dwells.n_steps.tolist() == [2, 1, 2]


def test_dwells_can_be_chosen():
    dwells = find_dwells(labelled([0, 1, 1, 0, 0, 2, 0, 1, 0], np.array([0, 5, 9])))
    assert dwells.in_state(1).duration.tolist() == [1.0, 0.5]
    assert dwells.complete.state.tolist() == [1, 0, 1]
    assert dwells.begun.state.tolist() == [1, 0, 0, 1, 0]
    assert dwells.in_state(1).mean == 0.75
    assert np.isnan(dwells.in_state(3).mean)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-1, 3), min_size=2, max_size=80), st.integers(1, 4), st.integers(1, 79))
def test_dwells_add_up_to_the_observed_time(labels, stride, edge):
    symbols = labelled(labels, np.array([0, min(edge, len(labels)), len(labels)]))
    lengths = symbols.segments.lengths
    for step, expected in ((None, lengths.sum()), (stride / 2, (-(-lengths // stride) * stride).sum())):
        dwells = find_dwells(symbols, step)
        assert dwells.duration.sum() == pytest.approx(expected / 2)
        per_animal = np.bincount(dwells.individual, dwells.duration, 2)
        assert (per_animal > 0).tolist() == (symbols.segments.count_rows() > 0).tolist()
        assert dwells.starts_cut.sum() == dwells.ends_cut.sum() == len(symbols.segments)


def test_survival_without_cuts_is_the_share_that_lasts_longer():
    found = survival(dwells_of([1, 1, 2, 3, 3, 3, 7, 9], np.zeros(8), step=0.5))
    assert found.time.tolist() == [0.5, 1.0, 1.5, 3.5, 4.5]
    np.testing.assert_allclose(found.survival, np.array([6, 5, 2, 1, 0]) / 8)
    assert found.n_at_risk.tolist() == [8, 6, 5, 2, 1]
    assert np.isnan([found.low[-1], found.high[-1]]).all()


@pytest.mark.filterwarnings("ignore:The confidence interval is undefined")  # where scipy's estimate is one
def test_survival_with_cuts_as_scipy():
    rng = np.random.default_rng(3)
    n_looks, cut = rng.geometric(0.2, 200), rng.random(200) < 0.3
    cut[n_looks.argmax()] = True  # the estimate then dwells above zero
    found = survival(dwells_of(n_looks, cut))
    oracle = stats.ecdf(stats.CensoredData.right_censored(n_looks - cut, cut)).sf
    interval = oracle.confidence_interval(0.95, method="log-log")
    place = np.searchsorted(oracle.quantiles, found.time)
    np.testing.assert_allclose(found.survival, oracle.probabilities[place])
    np.testing.assert_allclose(found.low, interval.low.probabilities[place])
    np.testing.assert_allclose(found.high, interval.high.probabilities[place])


def test_survival_undoes_the_cuts_of_a_known_chain():
    """Runs of 30 frames cut most dwells of mean 20; the share that lasts must be geometric all the same."""
    walk = hopping_chain(np.array([[0.95, 0.05], [0.1, 0.9]]), 30, n_walks=8000, rng=1)
    found = survival(find_dwells(walk), 0)
    inner = found.n_at_risk > 500
    np.testing.assert_allclose(found.survival[inner], 0.95 ** found.time[inner], atol=0.02)
    covered = (found.low <= 0.95**found.time) & (0.95**found.time <= found.high)
    assert covered[inner].mean() > 0.8


def test_rate_of_leaving_in_closed_form():
    dwells = find_dwells(labelled([0, 0, 0, 1, 0, 0, -1, 0, 0, 1, 1, 0]))
    # State 0: dwells of 3, 2 (cut), 2, 1 (cut) looks; 7 − 1 + 1 − 1 = 6 steps followed, two ends, half a second each.
    assert transition_rate(dwells, 0).estimate == pytest.approx(2 / (6 * 0.5))
    assert transition_rate(dwells, 0, convention="paper").estimate == pytest.approx(4 / (8 * 0.5))
    assert animal_rates(dwells)[0, :2] == pytest.approx([2 / 3, 2 / 1.5])
    assert np.isnan(animal_rates(dwells)[0, 2:]).all()


def test_the_censored_rate_is_right_where_runs_are_short_and_the_published_one_is_not():
    walk = hopping_chain(np.array([[0.95, 0.05], [0.1, 0.9]]), 25, n_walks=3000, rng=2)
    dwells = find_dwells(walk)
    for over in ("animals", "events"):
        rate = transition_rate(dwells, 0, over=over)
        assert rate.low < 0.05 < rate.high
        assert (rate.high - rate.low) / 0.05 < 0.1
        assert rate.over == over
    assert transition_rate(dwells, 0, convention="paper").low > 0.06


def test_animals_are_resampled_whole():
    """Animals that differ widen the interval over animals, not that over events."""
    fast = hopping_chain(np.array([[0.5, 0.5], [0.5, 0.5]]), 2000, n_walks=1, rng=0).labels
    slow = hopping_chain(np.array([[0.95, 0.05], [0.5, 0.5]]), 2000, n_walks=1, rng=1).labels
    labels = np.concatenate([fast, slow] * 3)
    dwells = find_dwells(labelled(labels, np.arange(7) * 2000, rate=1.0, n_states=2))
    animals, events = (transition_rate(dwells, 0, over=over) for over in ("animals", "events"))
    assert animals.n == 6
    assert events.n == len(dwells.in_state(0))
    assert animals.high - animals.low > 3 * (events.high - events.low)


def test_one_animal_has_an_interval_over_blocks_and_none_over_animals():
    walk = hopping_chain(np.array([[0.95, 0.05], [0.1, 0.9]]), 4000, n_walks=1, rng=2)
    rate = transition_rate(find_dwells(walk), 0)
    assert (rate.over, rate.n) == ("blocks", 20)
    assert rate.low < 0.05 < rate.high
    assert np.isnan(transition_rate(find_dwells(walk), 0, over="animals").low)


def test_a_dwell_belongs_to_the_block_in_which_it_begins():
    dwells = find_dwells(labelled([0] * 39 + [1] * 3 + [0] * 38, rate=1.0))
    assert units_of_dwells(dwells, "blocks").tolist() == [0, 1, 2]
    assert units_of_dwells(dwells.in_state(0), "blocks").tolist() == [0, 1]


def test_a_state_that_was_not_left_has_the_upper_limit_of_three_ends():
    dwells = find_dwells(labelled([0] * 41 + [0] * 61, np.array([0, 41, 102]), rate=1.0, n_states=2))
    rate = transition_rate(dwells, 0)
    assert (rate.estimate, rate.low) == (0.0, 0.0)
    assert rate.high == pytest.approx(-np.log(0.05) / 100)
    assert np.isnan([mean_dwell(dwells, 0).estimate, mean_dwell(dwells, 0).low, mean_dwell(dwells, 0).high]).all()


@pytest.mark.parametrize("wrong", [{"convention": "published"}, {"over": "worms"}])
def test_unknown_words_are_refused(wrong):
    with pytest.raises(InputFormatError, match=next(iter(wrong.values()))):
        transition_rate(find_dwells(labelled([0, 1, 0])), 0, **wrong)


def test_jumps_by_hand():
    jumps = jump_chain(labelled([0, 0, 1, 0, 2, -1, 1, 0, 0, 1], np.array([0, 8, 10])))
    expected = np.zeros((4, 4), dtype=int)
    expected[0, 1], expected[1, 0], expected[0, 2] = 2, 2, 1
    assert jumps.counts.tolist() == expected.tolist()
    np.testing.assert_allclose(jumps.probabilities[0], [0, 2 / 3, 1 / 3, 0])
    assert np.isnan(jumps.probabilities[2:]).all()
    np.testing.assert_allclose(jumps.flux, expected / (9 * 0.5))
    np.testing.assert_allclose(jumps.stationary, [0.5, 0.5, 0, 0])


def test_no_jump_has_no_stationary_law():
    jumps = jump_chain(labelled([0, 0, -1, 1, 1]))
    assert jumps.counts.sum() == 0
    assert np.isnan(jumps.stationary).all()


def test_jumps_of_a_known_chain():
    """The jump chain of P has P_ij / (1 − P_ii), and its dwells are shared as π_i (1 − P_ii)."""
    P = np.array([[0.9, 0.08, 0.02], [0.1, 0.7, 0.2], [0.3, 0.1, 0.6]])
    jumps = jump_chain(hopping_chain(P, 60_000, rate=2.0, rng=4))
    leave = 1 - np.diag(P)
    expected = (P - np.diag(np.diag(P))) / leave[:, None]
    np.testing.assert_allclose(jumps.probabilities, expected, atol=0.02)
    values, vectors = np.linalg.eig(P.T)
    pi = vectors[:, values.real.argmax()].real
    pi = pi / pi.sum()
    np.testing.assert_allclose(jumps.stationary, pi * leave / (pi @ leave), atol=0.01)
    np.testing.assert_allclose(jumps.flux, 2.0 * pi[:, None] * (P - np.diag(np.diag(P))), atol=0.006)
