"""Distances of runs from held-out recordings, against loops, closed forms and all possible halvings."""

import itertools

import numpy as np
import pytest
from scipy.signal import lfilter

from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov._core.series import Series
from ethomarkov.posture import find_events
from ethomarkov.states import Symbols
from ethomarkov.synthetic import simulate_worms
from ethomarkov.validation.fidelity import (
    CORRELATION,
    EVENTS,
    PARTS,
    SLOW,
    SPREAD,
    Yardstick,
    deviations,
    lagged_moments,
)

RATE, LAG = 8.0, 0.5
STEP = 4


def holey_series(seed=0):
    """Three animals with gaps, the last of a few frames only."""
    rows = 20 + np.cumsum(np.random.default_rng(seed).normal(size=(150, 2)), axis=0)
    rows[[0, 30, 31, 75, 100]] = np.nan
    return Series.from_rows(rows, RATE, np.array([0, 70, 142, 150]))


def symbols_of(labels, offsets=None, rate=RATE, n_states=None):
    labels = np.asarray(labels, dtype=np.int32)
    n_states = int(labels.max()) + 1 if n_states is None else n_states
    segments = Segments.from_valid(labels >= 0, offsets)
    return Symbols(labels=labels, n_states=n_states, segments=segments, sampling=Sampling(rate))


# --- lagged moments ---------------------------------------------------------------------------------------------------


def test_moments_are_those_of_a_plain_loop():
    series, lags, mean = holey_series(), np.array([0, 1, 3, 10, 45, 200]), np.array([19.0, 22.0])
    found = lagged_moments(series, mean, lags)
    assert found.shape == (3, 2, 6)
    offsets = series.segments.offsets
    for unit, component, k in itertools.product(range(3), range(2), range(6)):
        x, lag = series.values[:, component].astype(float) - mean[component], int(lags[k])
        products = [
            x[t] * x[t + lag]
            for t in range(offsets[unit], offsets[unit + 1] - lag)
            if np.isfinite(x[t : t + lag + 1]).all()
        ]
        if products:
            assert found[unit, component, k] == pytest.approx(np.mean(products), rel=1e-9)
        else:
            assert np.isnan(found[unit, component, k])
    assert np.isnan(found[2, :, 3:]).all()  # eight frames
    assert np.isfinite(found[0]).sum() == 2 * 4  # no stretch of 45 frames


def test_moments_do_not_pass_gaps_or_animals():
    """Signs that alternate from stretch to stretch: any product across a border would be negative."""
    rows = np.repeat([1.0, -1.0, 1.0, -1.0], 6)
    rows[6] = np.nan
    apart = Series.from_rows(rows, RATE, np.array([0, 12, 18, 24]))
    np.testing.assert_array_equal(lagged_moments(apart, np.zeros(1), np.array([1, 4]))[:, 0], 1.0)
    together = Series.from_rows(rows, RATE, np.array([0, 24]))
    assert lagged_moments(together, np.zeros(1), np.array([1]))[0, 0, 0] < 1


# --- what is measured -------------------------------------------------------------------------------------------------


def autoregressive(n_animals=4, n=20_000, memory=(0.95, 0.6), seed=0):
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=(2, n_animals * n))
    rows = np.stack([lfilter([np.sqrt(1 - a * a)], [1, -a], z) for a, z in zip(memory, noise, strict=True)], axis=1)
    return Series.from_rows(rows * [3.0, 0.2] + [10.0, -1.0], RATE, np.arange(n_animals + 1) * n)


@pytest.fixture(scope="module")
def flipping():
    """An autoregressive recording with two microstates that last eight seconds on average."""
    postures = autoregressive()
    rng = np.random.default_rng(1)
    labels = np.concatenate([np.cumsum(rng.random(20_000) < 1 / 64) % 2 for _ in range(4)])
    return postures, symbols_of(labels, postures.segments.offsets)


def test_numbers_of_an_autoregressive_recording(flipping):
    """Logarithm of σ, a^k at every lag, and (1 − 2p)^k of a symmetric chain of two states, to four standard errors.

    Bartlett: the correlation of n frames errs by √((1 + a²) / (1 − a²) n).
    """
    postures, symbols = flipping
    yard = Yardstick.from_recording(postures, symbols, np.array([-1.0, 1.0]), LAG, has_events=False)
    assert yard.lag_frames[0] == 1
    assert yard.lag_frames[-1] == 8 * STEP
    np.testing.assert_array_equal(yard.slow_frames, [4 * STEP, 8 * STEP, 16 * STEP])
    found = yard.measure(postures, symbols)
    assert found.shape == (4, yard.part.size)
    mean = found.mean(axis=0)
    np.testing.assert_allclose(mean[yard.part == SPREAD], np.log([3.0, 0.2]), atol=0.05)
    curves = mean[yard.part == CORRELATION].reshape(2, -1)
    slow = mean[yard.part == SLOW]
    lags = (yard.lag_frames, yard.lag_frames, yard.slow_frames)
    for a, curve, frames in zip((0.95, 0.6, 1 - 2 / 64), (*curves, slow), lags, strict=True):
        error = np.sqrt((1 + a * a) / (1 - a * a) / len(postures.values))
        np.testing.assert_allclose(curve, a**frames, atol=4 * error)


def test_columns_belong_to_parts(flipping):
    postures, symbols = flipping
    without = Yardstick.from_recording(postures, symbols, np.array([-1.0, 1.0]), LAG, has_events=False)
    n = without.lag_frames.size
    assert np.bincount(without.part, minlength=4).tolist() == [0, 2, 2 * n, 3]
    worms = simulate_worms(2, 60.0, seed=0)
    amplitudes = worms.basis.project(worms.recording)
    labels = symbols_of(np.zeros(len(amplitudes.values)), amplitudes.segments.offsets, 16.0)
    yard = Yardstick.from_recording(amplitudes, labels, np.zeros(1), 0.75, has_events=True)
    found = yard.measure(amplitudes, labels)
    assert found.shape == (2, yard.part.size)
    assert np.bincount(yard.part).tolist()[EVENTS] == 3
    assert len(PARTS) == 4
    np.testing.assert_array_equal(found[:, yard.part == EVENTS], find_events(amplitudes).rates())
    spread = amplitudes.values.reshape(2, -1, amplitudes.n_components).astype(float) - yard.mean
    np.testing.assert_allclose(found[:, yard.part == SPREAD], np.log(np.nanmean(spread**2, axis=1)) / 2, rtol=1e-6)


def test_the_slow_mode_has_mean_zero_and_variance_one_over_frames():
    labels = np.repeat([0, 1, 2, 3], [50, 30, 15, 5])
    postures = Series.from_rows(np.random.default_rng(0).normal(size=(100, 1)), RATE)
    mode = np.array([4.0, 1.0, -3.0, np.nan])
    yard = Yardstick.from_recording(postures, symbols_of(labels), mode, LAG, has_events=False)
    on_frames = yard.slow_mode[labels[:95]]
    assert on_frames.mean() == pytest.approx(0, abs=1e-12)
    assert on_frames.var() == pytest.approx(1)
    assert yard.slow_mode[3] == 0  # outside the chain
    assert np.corrcoef(on_frames, mode[labels[:95]])[0, 1] == pytest.approx(1)


def test_a_mode_that_does_not_vary_is_zero():
    postures = Series.from_rows(np.random.default_rng(0).normal(size=(100, 1)), RATE)
    yard = Yardstick.from_recording(postures, symbols_of(np.zeros(100)), np.ones(1), LAG, has_events=False)
    np.testing.assert_array_equal(yard.slow_mode, [0.0])


def test_walks_that_step_by_the_lag_are_measured_at_the_same_seconds(flipping):
    """States that change at whole lags alone have the same memory at whole lags, seen at every frame or every lag."""
    postures, _ = flipping
    rng = np.random.default_rng(2)
    coarse = np.cumsum(rng.random(20_000) < 0.1) % 2
    by_frame = symbols_of(np.repeat(coarse, STEP), postures.segments.offsets)
    by_lag = symbols_of(coarse, postures.segments.offsets // STEP, RATE / STEP)
    yard = Yardstick.from_recording(postures, by_frame, np.array([-1.0, 1.0]), LAG, has_events=False)
    fine, rough = (yard.measure(postures, symbols)[:, yard.part == SLOW] for symbols in (by_frame, by_lag))
    np.testing.assert_allclose(rough, fine, atol=1e-9)


def test_short_individuals_have_no_number_at_long_lags():
    postures = Series.from_rows(np.random.default_rng(0).normal(size=(220, 1)), RATE, np.array([0, 200, 220]))
    symbols = symbols_of(np.arange(220) % 2, postures.segments.offsets)
    yard = Yardstick.from_recording(postures, symbols, np.array([-1.0, 1.0]), LAG, has_events=False)
    found = yard.measure(postures, symbols)
    assert np.isfinite(found[0]).all()
    curve = found[1, yard.part == CORRELATION]
    np.testing.assert_array_equal(np.isfinite(curve), yard.lag_frames < 20)
    np.testing.assert_array_equal(np.isfinite(found[1, yard.part == SLOW]), yard.slow_frames < 20)


# --- deviations -------------------------------------------------------------------------------------------------------


def halvings(n):
    return [np.isin(np.arange(n), chosen) for chosen in itertools.combinations(range(n), n // 2)]


def test_deviations_by_hand():
    data = np.array([[1.0], [3.0], [5.0], [7.0]])
    held_out = np.array([True, False, False, True])
    runs = np.array([[9.0], [11.0]])
    # means 4 and 10, variance 20/3 over three, shares 1/2 + 1/2 + 1/2
    assert deviations(data, held_out, runs)[0] == pytest.approx(6 / np.sqrt(20 / 3 * 1.5))


@pytest.mark.parametrize("n", [4, 5, 8])
def test_a_perfect_model_is_one_error_away_over_all_halvings(n):
    """Runs that repeat the mean of what was learned from: exactly one on average, whatever the numbers are."""
    data = np.random.default_rng(n).gamma(0.5, size=(n, 3)) * [1.0, 100.0, 1e-3]
    n_runs = 50
    squares, n_held = [], n // 2
    for held_out in halvings(n):
        runs = np.repeat(data[~held_out].mean(axis=0)[None], n_runs, axis=0)
        squares.append(deviations(data, held_out, runs) ** 2)
    halves = 1 / n_held + 1 / (n - n_held)
    np.testing.assert_allclose(np.mean(squares, axis=0), halves / (halves + 1 / n_runs), rtol=1e-9)


@pytest.mark.parametrize("n_runs", [6, 40])
def test_mean_squares_of_right_and_wrong_models(n_runs):
    """Runs err like animals: one on average. A shift by δ standard deviations adds δ² / (1/n + 1/n + 1/n_runs)."""
    rng = np.random.default_rng(0)
    n, n_draws, shift = 20, 4000, 0.8
    held_out = np.arange(n) < n // 2
    right, wrong = [], []
    for _ in range(n_draws // 10):
        data = rng.normal(5.0, 2.0, (n, 10))
        learned = data[~held_out].mean(axis=0)
        runs = learned + rng.normal(0.0, 2.0, (n_runs, 10))
        right.append(deviations(data, held_out, runs) ** 2)
        wrong.append(deviations(data, held_out, runs + shift * 2.0) ** 2)
    error = 4 * np.std(right) / np.sqrt(n_draws)
    assert np.mean(right) == pytest.approx(1, abs=error)
    assert error < 0.15
    added = shift**2 / (0.1 + 0.1 + 1 / n_runs)
    assert np.mean(wrong) == pytest.approx(1 + added, rel=0.1)


def test_what_is_not_known_is_left_out():
    """A column with unknown numbers is judged as if their rows had not been there; its neighbours are unchanged."""
    rng = np.random.default_rng(0)
    data, runs = rng.normal(size=(9, 2)), rng.normal(size=(12, 2))
    held_out = np.arange(9) % 2 == 0
    whole = deviations(data, held_out, runs)
    holey, holey_runs = data.copy(), runs.copy()
    missing, missing_runs = [0, 3, 4], [2, 5]
    holey[missing, 0] = [np.nan, np.inf, -np.inf]
    holey_runs[missing_runs, 0] = np.nan
    found = deviations(holey, held_out, holey_runs)
    kept, kept_runs = np.delete(data, missing, axis=0), np.delete(runs, missing_runs, axis=0)
    expected = deviations(kept, np.delete(held_out, missing), kept_runs)
    assert found[0] == pytest.approx(expected[0])
    assert found[1] == pytest.approx(whole[1])


@pytest.mark.parametrize("value", [0.0, 0.1, 1e9 / 3])
def test_nothing_is_said_where_nothing_varies(value):
    """Also where rounding makes the mean of equal numbers another number."""
    for n in range(4, 12):
        data = np.stack([np.full(n, value), np.arange(n)], axis=1)
        found = deviations(data, np.arange(n) < n // 2, np.full((3, 2), value + 1))
        assert np.isnan(found[0])
        assert np.isfinite(found[1])


def test_nothing_is_said_where_nothing_is_known():
    data, runs = np.arange(32.0).reshape(8, 4), np.ones((3, 4))
    held_out = np.arange(8) < 4
    data[:4, 0] = np.nan  # not of what was held out
    runs[:, 1] = np.nan  # not of any run
    data[1:, 2] = np.nan  # of one individual alone
    found = deviations(data, held_out, runs)
    assert np.isnan(found[:3]).all()
    assert np.isfinite(found[3])
