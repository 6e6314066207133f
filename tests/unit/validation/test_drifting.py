"""Rates of entering a state: by hand, of processes of known rate, and drifting."""

import numpy as np
import pytest

from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov.exceptions import SamplingError
from ethomarkov.states.symbols import Symbols
from ethomarkov.synthetic.worm import WormModel, simulate_worms
from ethomarkov.validation.drifting import EntryRate, drift, entry_rate


def symbols_of(labels, rate=1.0, offsets=None):
    labels = np.asarray(labels, dtype=np.int32)
    return Symbols(
        labels=labels, n_states=2, segments=Segments.from_valid(labels >= 0, offsets), sampling=Sampling(rate)
    )


def stays(n, enter, leave, seed):
    """States of a chain that enters state 1 and leaves it with given chances per frame."""
    random = np.random.default_rng(seed)
    n_stays = int(n * enter) + 100
    lengths = np.column_stack([random.geometric(enter, n_stays), random.geometric(leave, n_stays)]).ravel()
    return np.repeat(np.tile([0, 1], n_stays), lengths)[:n]


def rates_of(counts, observed=60.0):
    counts = np.asarray(counts)
    return EntryRate(
        starts=np.arange(counts.shape[1]) * 60.0,
        window=60.0,
        counts=counts,
        observed=np.broadcast_to(observed, counts.shape).astype(float),
        state=1,
        individuals=tuple(str(i) for i in range(len(counts))),
        over="animals",
    )


def test_entries_counted_by_hand():
    #         0              6              12             18
    labels = [1, 1, 0, 0, 1, 0, 1, 1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1, 1]
    found = entry_rate(symbols_of(labels), 1, window=10, step=5)
    assert found.starts.tolist() == [0, 5, 10]
    # the stay at frame 0 was not seen to begin; the others begin at 4, 6, 11, 17
    assert found.counts.tolist() == [[2, 2, 2]]
    assert found.observed.tolist() == [[9, 10, 10]]
    np.testing.assert_allclose(found.rate, [[120 / 9, 12, 12]])
    longer = entry_rate(symbols_of(labels), 1, window=10, step=5, shortest=2)
    assert longer.counts.tolist() == [[1, 2, 2]]
    assert longer.observed.tolist() == [[9, 10, 9]]


def test_windows_of_the_paper():
    found = entry_rate(symbols_of(np.zeros(33_600), rate=16.0), 1)
    assert found.starts.tolist() == [150.0 * k for k in range(13)]
    assert found.centres[0] == 150
    assert (found.rate == 0).all()


def test_gaps_are_not_observed():
    labels = np.tile([0, 0, 0, 0, 1], 60)
    whole = entry_rate(symbols_of(labels), 1, window=100, step=100)
    cut = labels.copy()
    cut[40:90] = -1
    cut[100:200] = -1
    found = entry_rate(symbols_of(cut), 1, window=100, step=100)
    assert found.observed.tolist() == [[48, 0, 99]]
    assert found.counts.tolist() == [[10, 0, 20]]
    np.testing.assert_allclose(whole.rate[0], [1200 / 99, 12, 12])
    np.testing.assert_allclose(found.rate[0, [0, 2]], [600 / 48, 1200 / 99])
    assert np.isnan(found.rate[0, 1])


def test_animals_of_different_length():
    labels = np.tile([0, 1], 30)
    found = entry_rate(symbols_of(labels, offsets=np.array([0, 40, 60])), 1, window=20, step=20)
    assert found.counts.tolist() == [[10, 10], [10, 0]]
    assert found.observed.tolist() == [[19, 20], [19, 0]]
    assert np.isnan(found.rate[1, 1])
    np.testing.assert_allclose(found.mean_band()[0], [600 / 19, 30])


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("shortest", [0.0, 5.0])
def test_rate_of_a_known_process(shortest, gaps):
    enter, leave, n = 0.02, 0.1, 400_000
    labels = stays(n, enter, leave, seed=0)
    if gaps:  # short runs, of which many end within a stay
        labels[np.random.default_rng(1).random(n) < 0.03] = -1
    found = entry_rate(symbols_of(labels), 1, window=n, step=n, shortest=shortest)
    long_enough = (1 - leave) ** (max(shortest, 1) - 1)
    expected = 60 * enter * leave / (enter + leave) * long_enough
    # counts vary less than those of a Poisson process
    assert found.rate[0, 0] == pytest.approx(expected, rel=3 / np.sqrt(found.counts[0, 0]))


def test_slope_and_ends_of_a_straight_line():
    counts = np.array([[10, 9, 8, 7, 6, 5, 4], [5, 5, 5, 5, 5, 5, 5]])
    found = drift(rates_of(counts))
    np.testing.assert_allclose(found.slope, [-60, 0], atol=1e-12)
    assert found.interval.estimate == pytest.approx(-30)
    assert (found.first, found.last) == (pytest.approx(7.5), pytest.approx(4.5))
    # of the orders of seven windows two are as steep
    assert found.p_value < 0.01
    assert "falls from 7.5 to 4.5 per minute" in found.sentence


def test_overlapping_windows_are_passed_over():
    labels = stays(3600, 0.1, 0.2, seed=0)
    found = drift(entry_rate(symbols_of(labels), 1, window=300, step=150))
    apart = drift(entry_rate(symbols_of(labels), 1, window=300, step=300))
    assert found.n_windows == apart.n_windows == 12
    np.testing.assert_allclose(found.slope, apart.slope)


def test_chance_is_told_as_often_as_promised():
    random = np.random.default_rng(0)
    # animals of different, constant rates
    rates = random.uniform(2, 30, (4, 1))
    p_values = [drift(rates_of(random.poisson(np.tile(rates, 7))), n_shuffles=199, rng=k).p_value for k in range(400)]
    # 20 of 400 expected, standard deviation 4.4
    assert 7 <= np.sum(np.array(p_values) <= 0.05) <= 33
    assert 0.42 < np.mean(p_values) < 0.58


def test_a_falling_rate_of_one_animal():
    counts = np.rint(np.linspace(30, 6, 8)).astype(int)[None]
    found = drift(rates_of(counts))
    assert found.p_value < 0.01
    assert found.interval.n == 1
    assert np.isnan(found.interval.low)


def test_missing_windows_are_left_out():
    counts = np.array([[10, 99, 8, 7, 6, 5, 4], [1, 2, 3, 4, 5, 6, 7]])
    observed = np.array([[60, 1, 60, 60, 60, 60, 60], [60, 60, 0, 0, 0, 0, 0]])
    found = drift(rates_of(counts, observed))
    assert found.slope[0] == pytest.approx(-60)
    assert np.isnan(found.slope[1])
    assert found.interval.n == 1


def test_too_little_to_tell():
    found = drift(rates_of([[3, 4]]))
    assert np.isnan(found.p_value)
    assert "Too few" in found.sentence
    with pytest.raises(SamplingError, match="longer than the longest recording"):
        entry_rate(symbols_of([0, 1, 0]), 1)


@pytest.mark.slow
def test_declining_worms_are_found_out():
    worms = simulate_worms(6, 1800.0, model=WormModel(decline=0.6), seed=1)
    steady = simulate_worms(6, 1800.0, seed=1)
    offsets = np.arange(7) * 28_800
    found, null = (
        drift(entry_rate(symbols_of(w.truth.is_pirouette, 16.0, offsets), 1, shortest=0.75)) for w in (worms, steady)
    )
    assert found.p_value < 0.01
    assert found.interval.high < 0
    assert "falls" in found.sentence
    assert null.p_value > 0.05
    assert null.interval.low < 0 < null.interval.high
