"""Growth of errors against the closed forms of a two-state chain and of a first-order process."""

import numpy as np
import pytest
from scipy.signal import lfilter

from ethomarkov._core.segments import Segments
from ethomarkov._core.series import Series
from ethomarkov.exceptions import ConnectivityError, InputFormatError
from ethomarkov.simulation.animal import MarkovAnimal
from ethomarkov.states.symbols import Symbols
from ethomarkov.validation.prediction import (
    PredictionError,
    PredictionSettings,
    _draw_partners,
    error_growth,
    recorded_error,
    simulated_error,
)

UP, DOWN, FAR = 0.1, 0.2, 10.0  # chance per frame to leave state 0, and state 1; distance of the two postures


def two_state_walk(n, seed):
    random = np.random.default_rng(seed)
    leave = random.random((2, n))
    states = np.zeros(n, dtype=np.int32)
    for t in range(1, n):
        here = states[t - 1]
        states[t] = here ^ (leave[here, t] < (UP, DOWN)[here])
    # a little noise makes every posture one of its kind
    postures = FAR * states[:, None] + random.normal(0, 1e-4, (n, 1))
    return states, postures


def labelled(labels, rows, rate=1.0, offsets=None):
    series = Series.from_rows(rows, rate, offsets)
    known = series.segments.valid
    labels = np.where(known, labels, -1).astype(np.int32)
    segments = Segments.from_valid(known, offsets)
    return series, Symbols(labels=labels, n_states=int(labels.max()) + 1, segments=segments, sampling=series.sampling)


def two_state_error(tau):
    """Distance of two independent futures from the same state, averaged over the stationary law."""
    stationary = np.array([DOWN, UP]) / (UP + DOWN)
    upper = stationary[1] + (np.array([0, 1])[:, None] - stationary[1]) * (1 - UP - DOWN) ** tau
    return FAR * (stationary[:, None] * 2 * upper * (1 - upper)).sum(axis=0)


def sampling_error(n_samples):
    """Four standard errors of the mean of a distance that is either 0 or FAR, at most."""
    return 4 * FAR / 2 / np.sqrt(n_samples)


@pytest.fixture(scope="module")
def two_states():
    walks = [two_state_walk(20_000, seed) for seed in (0, 1)]
    return labelled(
        *(np.concatenate(parts) for parts in zip(*walks, strict=True)), offsets=np.array([0, 20_000, 40_000])
    )


def test_recorded_error_of_a_two_state_chain(two_states):
    found = recorded_error(*two_states, PredictionSettings(seconds=15, n_samples=10_000, apart=100), rng=0)
    np.testing.assert_allclose(found.error.mean(axis=0), two_state_error(found.times), atol=sampling_error(20_000))
    np.testing.assert_allclose(found.random_error, FAR * 2 * UP * DOWN / (UP + DOWN) ** 2, atol=0.12)
    assert found.error[:, 0].max() < 0.01
    assert (found.over, found.predictor) == ("animals", "data")
    assert (found.n_pairs[:, 0] == 10_000).all()


def test_simulated_error_of_a_two_state_chain(two_states):
    series, symbols = two_states
    animals = [MarkovAnimal.from_symbols(str(i), symbols.mask(i), series, 1, 1.0) for i in range(2)]
    found = simulated_error(series, symbols, animals, PredictionSettings(seconds=15, n_samples=3000, apart=50), rng=0)
    np.testing.assert_allclose(found.error.mean(axis=0), two_state_error(found.times), atol=sampling_error(6000))
    assert found.predictor == "simulation"


def test_mixing_of_a_two_state_chain(two_states):
    found = recorded_error(*two_states, PredictionSettings(seconds=15, n_samples=10_000, apart=100), rng=0)
    curve = two_state_error(found.times)
    expected = found.times[curve > 0.95 * FAR * 2 * UP * DOWN / (UP + DOWN) ** 2][0]
    mixing = found.mixing_time()
    # at the threshold the error grows by 0.1 per frame, and is known to about 0.1
    assert abs(mixing.estimate - expected) <= 1
    assert mixing.low <= mixing.estimate <= mixing.high
    assert (mixing.over, mixing.n) == ("animals", 2)


def test_recorded_error_of_a_first_order_process():
    memory, n = 0.9, 100_000
    rows = lfilter([1], [1, -memory], np.random.default_rng(0).normal(size=n) * np.sqrt(1 - memory**2))[200:]
    labels = np.floor(rows / 0.05).astype(int)
    series, symbols = labelled(labels - labels.min(), rows, rate=10.0)
    found = recorded_error(series, symbols, PredictionSettings(seconds=5, n_samples=20_000, apart=10), rng=0)
    # the difference of two such futures is normal, of variance 2 (1 - memory^(2 frames))
    frames = found.times * 10
    expected = 2 * np.sqrt((1 - memory ** (2 * frames)) / np.pi)
    mean = (found.error * found.n_pairs).sum(axis=0) / found.n_pairs.sum(axis=0)
    np.testing.assert_allclose(mean[1:], expected[1:], atol=0.03)
    assert mean[0] < 0.05
    assert found.over == "parts"
    assert len(found.error) == 10
    crossing = np.log(1 - 0.95**2) / (2 * np.log(memory)) / 10
    assert found.mixing_time().estimate == pytest.approx(crossing, abs=0.3)


def test_partners_are_far_in_time_and_evenly_drawn():
    labels = np.array([0, 0, 1, 0, 1, 0, 0, 0, 2] + [0] * 4)
    _, symbols = labelled(labels, np.zeros(13), offsets=np.array([0, 9, 13]))
    random = np.random.default_rng(0)
    first, second = _draw_partners(symbols, 0, np.full(30_000, 3), 2, random)
    # rows of state 0 in the first animal, further than two frames from row 3: 0, 6, 7
    rows, counts = np.unique(second, return_counts=True)
    assert rows.tolist() == [0, 6, 7]
    assert (np.abs(counts - 10_000) < 400).all()
    assert (first == 3).all()
    assert _draw_partners(symbols, 0, np.array([8, 2]), 2, random)[0].size == 0


def test_futures_end_at_gaps_and_ends():
    series = Series.from_rows(np.array([0, 1, 2, np.nan, 4, 5, 6, 7, 8, 9.0]), 1.0, np.array([0, 8, 10]))
    found = error_growth(series, np.array([0, 4, 5, 3]), series, np.array([4, 5, 8, 0]), 4)
    n = np.nan
    expected = [[4, 4, 4, n, n], [1, 1, 1, n, n], [3, 3, n, n, n], [n, n, n, n, n]]
    np.testing.assert_array_equal(found, expected)


def ring_of_cycles(n_cycles=4, period=50):
    phase, cycle = np.tile(np.arange(period), n_cycles), np.repeat(np.arange(n_cycles), period)
    return labelled(phase, np.column_stack([cycle, phase]))


def test_a_walk_does_not_begin_with_the_passage_to_be_predicted():
    series, symbols = ring_of_cycles()
    animal = MarkovAnimal.from_symbols("ring", symbols, series, 1, 1.0)
    rule = PredictionSettings(seconds=1, n_samples=3000, apart=20)
    found = simulated_error(series, symbols, [animal], rule, rng=0)
    n_pairs, start = found.n_pairs[:, 0], found.error[:, 0]
    # one of four cycles is the own one; without it two cycles are 5/3 apart, with it they would be 5/4
    assert n_pairs.sum() == pytest.approx(2250, abs=100)
    assert (start * n_pairs).sum() / n_pairs.sum() == pytest.approx(5 / 3, abs=0.05)
    again = simulated_error(series, symbols, [animal], rule, rng=0)
    np.testing.assert_array_equal(found.error, again.error)


def error_of(curves, random_error, **options):
    curves = np.asarray(curves, dtype=float)
    return PredictionError(
        times=np.arange(curves.shape[1]) / 2,
        error=curves,
        n_pairs=np.ones(curves.shape, dtype=np.int64),
        random_error=np.asarray(random_error, dtype=float),
        predictor="data",
        individuals=tuple(str(i) for i in range(len(curves))),
        over="animals",
        **options,
    )


def test_mixing_is_the_first_time_above_the_share():
    found = error_of([[0, 5, 9.5, 9.6, 9], [0, 5, 9.5, 9.6, 9]], [10, 10])
    mixing = found.mixing_time()
    assert (mixing.estimate, mixing.low, mixing.high) == (1.5, 1.5, 1.5)
    assert found.mixing_time(0.4).estimate == 0.5


def test_the_headline_gives_the_mixing_time_and_the_table_every_error():
    found = error_of([[0, 5, 9.5, 9.6, 9], [0, 5, 9.5, 9.6, 9]], [10, 10])
    assert found.headline() == "mixed after 1.5 s, predicted from data, 2 animals"
    assert error_of([[0, 1, 2]], [10]).headline() == "not mixed within 1 s, predicted from data, 1 animal"
    assert error_of([[np.nan] * 3], [np.nan]).headline() == "nothing was compared"
    table = found.table()
    assert table[table.individual == "1"].error.tolist() == [0, 5, 9.5, 9.6, 9]
    assert table.time_s.tolist() == [0, 0.5, 1, 1.5, 2] * 2


def test_what_does_not_mix_is_infinite():
    mixing = error_of([[0, 1, 2], [0, 9, 10]], [10, 10]).mixing_time()
    assert mixing.estimate == np.inf
    assert (mixing.low, mixing.high) == (1.0, np.inf)
    alone = error_of([[0, 9, 10], [np.nan] * 3], [10, np.nan]).mixing_time()
    assert alone.estimate == 1.0
    assert np.isnan(alone.low)
    assert alone.n == 1


def test_what_does_not_fit_is_refused():
    series, symbols = ring_of_cycles()
    animal = MarkovAnimal.from_symbols("ring", symbols, series, 1, 1.0)
    with pytest.raises(InputFormatError, match="2 models for 1 animals"):
        simulated_error(series, symbols, [animal, animal])
    with pytest.raises(InputFormatError, match="at 2 Hz"):
        recorded_error(Series.from_rows(series.values, 2.0), symbols)
    other = Symbols(labels=symbols.labels + 50, n_states=100, segments=symbols.segments, sampling=symbols.sampling)
    lost = MarkovAnimal.from_symbols("lost", other, series, 1, 1.0)
    with pytest.raises(ConnectivityError, match="connected"):
        simulated_error(series, symbols, [lost], PredictionSettings(seconds=1, apart=20))
