"""Autocorrelation against a double loop and the closed forms of autoregressive processes."""

import numpy as np
import pytest
from scipy.signal import lfilter

from ethomarkov._core.interval import interval_of_mean, mean_band
from ethomarkov._core.series import Series
from ethomarkov.exceptions import InputFormatError, SamplingError
from ethomarkov.validation.correlation import autocorrelation, ensemble_autocorrelation


def double_loop(values, stretches, lag):
    known = np.isfinite(values)
    centred = values - values[known].mean()
    products = [
        centred[t] * centred[t + lag]
        for start, stop in stretches
        for t in range(start, stop - lag)
        if known[t] and known[t + lag]
    ]
    return (np.mean(products) / np.square(centred[known]).mean() if products else np.nan), len(products)


def holey_rows(n=120, seed=0):
    rows = 50 + np.cumsum(np.random.default_rng(seed).normal(size=(n, 2)), axis=0)
    rows[[0, 40, 41, 42, 90]] = np.nan
    return rows.astype(np.float32)


@pytest.mark.parametrize(("across_gaps", "stretches"), [(True, [(0, 120)]), (False, [(1, 40), (43, 90), (91, 120)])])
def test_transform_equals_the_double_loop(across_gaps, stretches):
    rows = holey_rows()
    found = autocorrelation(Series.from_rows(rows, 1.0), 60.0, across_gaps=across_gaps)
    for component in range(2):
        values = rows[:, component].astype(float)
        expected = [double_loop(values, stretches, lag) for lag in range(61)]
        np.testing.assert_allclose(found.values[0, component], [value for value, _ in expected], atol=1e-12)
        assert found.n_pairs[0].tolist() == [count for _, count in expected]
    assert found.lags.tolist() == list(range(61))


def test_nothing_passes_from_one_animal_to_the_next():
    a, b = holey_rows(seed=1), 1000 + holey_rows(seed=2)[:80]
    both = Series.from_rows(np.concatenate([a, b]), 2.0, np.array([0, 120, 200]), ("a", "b"))
    found = autocorrelation(both, 5.0, across_gaps=True)
    for unit, rows in enumerate((a, b)):
        alone = autocorrelation(Series.from_rows(rows, 2.0), 5.0, across_gaps=True)
        np.testing.assert_allclose(found.values[unit], alone.values[0], atol=1e-12)
    assert found.individuals == ("a", "b")


def test_first_order_process():
    memory = 0.8
    noise = np.random.default_rng(0).normal(size=(200_000, 1))
    found = autocorrelation(Series.from_rows(lfilter([1], [1, -memory], noise, axis=0), 10.0), 2.0)
    np.testing.assert_allclose(found.values[0, 0], memory ** np.arange(21), atol=0.015)


def test_damped_oscillation():
    radius, angle = 0.95, 0.4
    a1, a2 = 2 * radius * np.cos(angle), -(radius**2)
    noise = np.random.default_rng(1).normal(size=(400_000, 1))
    found = autocorrelation(Series.from_rows(lfilter([1], [1, -a1, -a2], noise, axis=0), 1.0), 40.0)
    # Yule and Walker: C(0) = 1, C(1) = a1 / (1 - a2), and a damped cosine through both
    lag = np.arange(41)
    sine = (a1 / (1 - a2) - radius * np.cos(angle)) / (radius * np.sin(angle))
    expected = radius**lag * (np.cos(angle * lag) + sine * np.sin(angle * lag))
    assert expected.min() < -0.5
    np.testing.assert_allclose(found.values[0, 0], expected, atol=0.02)


def test_covariance_when_not_normalised():
    rows = holey_rows()
    series = Series.from_rows(rows, 1.0)
    scaled, plain = autocorrelation(series, 20.0), autocorrelation(series, 20.0, normalise=False)
    variance = np.nanvar(rows.astype(float), axis=0)
    np.testing.assert_allclose(plain.values[0], scaled.values[0] * variance[:, None], rtol=1e-10)
    np.testing.assert_allclose(plain.values[0, :, 0], variance, rtol=1e-10)


def test_a_constant_component_has_no_correlation():
    rows = holey_rows()
    rows[:, 1] = np.where(np.isfinite(rows[:, 1]), np.float32(0.1), np.nan)
    found = autocorrelation(Series.from_rows(rows, 1.0), 10.0)
    assert np.isnan(found.values[0, 1]).all()
    assert found.values[0, 0, 0] == pytest.approx(1.0)


def test_lags_without_pairs_and_animals_without_frames():
    rows = np.random.default_rng(0).normal(size=(36, 1))
    rows[11::12] = np.nan  # as published simulations: eleven frames, one empty
    series = Series.from_rows(np.concatenate([rows, np.full((5, 1), np.nan)]), 1.0, np.array([0, 36, 41]))
    within, across = autocorrelation(series, 20.0), autocorrelation(series, 20.0, across_gaps=True)
    assert np.isfinite(within.values[0, 0, :11]).all()
    assert np.isnan(within.values[0, 0, 11:]).all()
    assert np.isfinite(across.values[0]).all()
    assert np.isnan(across.values[1]).all()
    assert across.n_pairs[1].sum() == 0


def test_runs_in_blocks_equal_runs_at_once():
    rows = np.random.default_rng(3).normal(size=(300, 2))
    blocks = [Series.from_rows(rows[:200], 4.0, np.array([0, 100, 200])), Series.from_rows(rows[200:], 4.0)]
    found = ensemble_autocorrelation(iter(blocks), 5.0)
    whole = autocorrelation(Series.from_rows(rows, 4.0, np.array([0, 100, 200, 300])), 5.0)
    np.testing.assert_allclose(found.values, whole.values, atol=1e-12)
    assert found.over == "runs"
    with pytest.raises(InputFormatError, match="no run"):
        ensemble_autocorrelation([], 5.0)


def test_a_lag_is_a_whole_number_of_frames():
    with pytest.raises(SamplingError, match=r"seconds=0\.3"):
        autocorrelation(Series.from_rows(holey_rows(), 1.0), 0.3)


def test_band_agrees_with_the_interval_of_single_values():
    values = np.random.default_rng(0).normal(size=(12, 3, 2))
    values[4, 1, 0] = np.nan
    mean, low, high = mean_band(values)
    for k in np.ndindex(3, 2):
        one = interval_of_mean(values[(slice(None), *k)], "animals", scale="signed")
        assert (mean[k], low[k], high[k]) == pytest.approx((one.estimate, one.low, one.high))


def test_band_of_few_of_many_runs_is_that_of_their_mean():
    values = np.random.default_rng(0).normal(size=(5000, 1))
    _, low, high = mean_band(values, size=12)
    expected = 1.96 * values.std() / np.sqrt(12)
    np.testing.assert_allclose([low[0], high[0]], values.mean() + np.array([-1, 1]) * expected, atol=0.05)


def test_a_single_row_has_no_band():
    values = np.array([[1.0, np.nan], [np.nan, np.nan]])
    mean, low, high = mean_band(values)
    np.testing.assert_array_equal(mean, [1.0, np.nan])
    assert np.isnan(low).all()
    assert np.isnan(high).all()
