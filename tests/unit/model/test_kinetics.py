"""Kinetics of a model against direct computation from its labels and its chain."""

import itertools

import numpy as np
import pytest
from scipy.linalg import expm

from ethomarkov.exceptions import SamplingError
from ethomarkov.model.kinetics import dwell_laws, state_kinetics, steady_rates


@pytest.fixture(scope="module")
def macro(model):
    return state_kinetics(model, 2)


@pytest.fixture(scope="module")
def finest(model):
    return state_kinetics(model, model.finest)


def looks(model, level):
    """The state every lag, run by run, with the index of the animal."""
    stride = round(model.chain.lag * model.symbols.sampling.rate)
    states = model.states(level)
    return [(int(owner), states.labels[start:stop:stride].tolist()) for start, stop, owner in states.segments]


def counts_at(model, level, lag_frames):
    """Transitions between states a number of frames apart, both in one gap-free run of microstates."""
    group = model.tree.states_at(level)
    counts = np.zeros((level, level))
    for start, stop, _ in model.symbols.segments:
        labels = group[model.symbols.labels[start:stop]]
        for a, b in zip(labels[:-lag_frames], labels[lag_frames:], strict=True):
            if a >= 0 and b >= 0:
                counts[a, b] += 1
    return counts


def test_names_and_level(model, macro, finest):
    assert (macro.level, finest.level) == (2, model.finest)
    assert macro.names == model.names(2)
    assert finest.names == model.names(model.finest)


def test_time_budget(model, finest):
    states = model.states(model.finest)
    for animal, (first, stop) in enumerate(itertools.pairwise(states.segments.offsets)):
        labels = states.labels[first:stop]
        shares = np.bincount(labels[labels >= 0], minlength=model.finest) / (labels >= 0).sum()
        np.testing.assert_allclose(finest.budget[animal], shares)


def test_dwells(model, finest):
    runs = looks(model, model.finest)
    stays = [(owner, state, len(list(same))) for owner, run in runs for state, same in itertools.groupby(run)]
    assert finest.dwells.individual.tolist() == [owner for owner, _, _ in stays]
    assert finest.dwells.state.tolist() == [state for _, state, _ in stays]
    np.testing.assert_allclose(finest.dwells.duration, [n * model.chain.lag for _, _, n in stays])


def test_jumps(model, finest):
    jumps = np.zeros((model.finest, model.finest), dtype=int)
    for _, run in looks(model, model.finest):
        order = [state for state, _ in itertools.groupby(run)]
        for a, b in itertools.pairwise(order):
            jumps[a, b] += 1
    np.testing.assert_array_equal(finest.jumps.counts, jumps)
    left = jumps.sum(axis=1) > 0
    expected = jumps[left] / jumps[left].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(finest.jumps.probabilities[left], expected)


def test_rates_of_leaving(model, macro):
    """Ends that were seen, over the time in which an end would have been seen."""
    for animal, state in itertools.product(range(3), range(2)):
        runs = [run for owner, run in looks(model, 2) if owner == animal]
        ends = sum(a == state != b for run in runs for a, b in itertools.pairwise(run))
        followed = sum(a == state for run in runs for a in run[:-1])
        assert macro.leaving[animal, state] == pytest.approx(ends / (followed * model.chain.lag), rel=1e-12)


def test_first_passage_by_a_dense_solution(model, finest):
    chain, group = model.chain, model.tree.states_at(model.finest)[model.chain.states]
    P = chain.transition.toarray()
    for target in range(model.finest):
        outside = group != target
        times = np.zeros(len(P))
        left = np.eye(outside.sum()) - P[np.ix_(outside, outside)]
        times[outside] = np.linalg.solve(left, np.full(outside.sum(), chain.lag))
        for source in range(model.finest):
            mine = group == source
            expected = chain.stationary[mine] @ times[mine] / chain.stationary[mine].sum()
            assert finest.passage[source, target] == pytest.approx(expected, rel=1e-9)


def test_chapman_kolmogorov_against_direct_counts(model, macro):
    stride = round(model.chain.lag * 16)
    assert len(macro.check.lags) == 8
    for k in (1, 2, 8):
        counts = counts_at(model, 2, k * stride)
        expected = counts / counts.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(macro.check.observed[k - 1], expected, rtol=1e-12)
        np.testing.assert_allclose(
            macro.check.coarse[k - 1], np.linalg.matrix_power(macro.check.observed[0], k), rtol=1e-9
        )


def test_rates_explain_what_changes_between_one_lag_and_three(model):
    times, rates, is_steady = steady_rates(model, 2)
    assert (rates.lag, rates.method) == (model.chain.lag, "two lags")
    counts = [counts_at(model, 2, k * round(rates.lag * 16)) for k in (1, 3)]
    first, third = (one / one.sum(axis=1, keepdims=True) for one in counts)
    np.testing.assert_allclose(first @ expm(2 * rates.rates * rates.lag), third, atol=1e-9)
    np.testing.assert_allclose(rates.rates.sum(axis=1), 0, atol=1e-12)
    # of two states, the relaxation time is one over the sum of both rates
    assert rates.relaxation.estimate == pytest.approx(1 / -np.trace(rates.rates), rel=1e-9)
    assert is_steady == times.steady_lag()[1]


def test_lags_are_whole_frames_that_fit_the_recording(model):
    times, _, _ = steady_rates(model, 2)
    np.testing.assert_allclose(times.lags * 16, np.rint(times.lags * 16), atol=1e-9)
    assert (np.diff(times.lags) > 0).all()
    assert times.lags[0] == 1 / 16
    assert times.lags[-1] <= min(16 * model.chain.lag, model.symbols.segments.longest() / 16 / 4) + 1 / 16


def test_the_same_study_gives_the_same_intervals(model, macro):
    again = state_kinetics(model, 2)
    np.testing.assert_array_equal(again.rates.low, macro.rates.low)
    np.testing.assert_array_equal(again.check.observed_high, macro.check.observed_high)


def test_a_level_that_is_not_there(model):
    with pytest.raises(ValueError, match="no level of 40 states"):
        state_kinetics(model, 40)


def test_laws_only_of_states_with_enough_dwells(model, finest, monkeypatch):
    """A state whose dwell times have no law is left out, like one that was visited too seldom."""
    tried = []

    def choose(stays, rng):
        tried.append(len(stays.complete))
        if len(tried) == 1:
            raise SamplingError("all stays are of one length")
        return "law"

    monkeypatch.setattr("ethomarkov.model.kinetics.choose_law", choose)
    monkeypatch.setattr("ethomarkov.model.kinetics.ENOUGH_DWELLS", 20)
    often = [name for k, name in enumerate(finest.names) if len(finest.dwells.in_state(k).complete) >= 20]
    assert 2 <= len(often) < model.finest
    assert dwell_laws(finest, 2) == dict.fromkeys(often[1:], "law")
    assert len(tried) == len(often)
    assert min(tried) >= 20


def test_the_table_has_a_row_per_state(model, finest):
    table = finest.table()
    assert tuple(table["state"]) == finest.names
    seen = np.bincount([state for _, run in looks(model, model.finest) for state in run], minlength=model.finest)
    np.testing.assert_allclose(table["share"], seen / seen.sum(), rtol=1e-12)
    assert table["complete_dwells"].sum() == len(finest.dwells.complete)
    known = table.dropna()
    assert len(known) > 1
    assert (known["mean_dwell_low_s"] <= known["mean_dwell_s"]).all()
    assert (known["mean_dwell_s"] <= known["mean_dwell_high_s"]).all()
    assert finest.headline().startswith(f"{model.finest} states, {len(finest.dwells.complete):,} complete dwells")


def test_transitions_have_a_row_per_ordered_pair(finest):
    table = finest.transitions().set_index(["from", "to"])
    pairs = list(itertools.permutations(range(finest.level), 2))
    assert len(table) == len(pairs)
    for i, j in pairs:
        row = table.loc[(finest.names[i], finest.names[j])]
        assert row["jumps"] == finest.jumps.counts[i, j]
        np.testing.assert_array_equal(row["rate_per_s"], finest.rates.rates[i, j])
        assert row["first_passage_s"] == finest.passage[i, j]
