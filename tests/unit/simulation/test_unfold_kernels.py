"""Compiled filling and smoothing, against scipy."""

import numpy as np
import pytest
from scipy.interpolate import CubicSpline
from scipy.signal import savgol_coeffs, savgol_filter

from ethomarkov.simulation.unfold_kernels import SMOOTHED_TOGETHER, fill_missing, smooth_rows


def some_rows(n, n_columns, seed=0):
    return np.cumsum(np.random.default_rng(seed).normal(size=(n, n_columns)), axis=0)


GAPS = {
    "every twelfth, the last one too": lambda i: i % 12 == 11,
    "two of seven, the first ones too": lambda i: i % 7 < 2,
    "most": lambda i: i % 5 != 2,
    "a long gap": lambda i: (i > 20) & (i < 60),
    "at random": lambda i: np.random.default_rng(3).random(i.size) < 0.6,
    "none": lambda i: i < 0,
}


@pytest.mark.parametrize("gaps", GAPS.values(), ids=GAPS)
@pytest.mark.parametrize(("n", "n_columns"), [(120, 1), (121, 5), (1200, 2)])
def test_filling_is_the_cubic_spline(gaps, n, n_columns):
    rows = some_rows(n, n_columns)
    missing = gaps(np.arange(n))
    at = np.flatnonzero(~missing)
    expected = CubicSpline(at, rows[at])(np.arange(n))
    filled = np.where(missing[:, None], np.nan, rows)
    fill_missing(filled, at)
    np.testing.assert_allclose(filled, expected, rtol=0, atol=1e-9 * np.abs(expected).max())
    np.testing.assert_array_equal(filled[at], rows[at])


@pytest.mark.parametrize("at", [[0, 1, 2, 3], [2, 3, 7, 8], [0, 4, 5, 9]])
def test_four_known_rows_are_enough(at):
    rows = some_rows(10, 3, seed=1)
    filled = np.full_like(rows, np.nan)
    filled[at] = rows[at]
    fill_missing(filled, np.array(at))
    np.testing.assert_allclose(filled, CubicSpline(at, rows[at])(np.arange(10)), rtol=0, atol=1e-9)


@pytest.mark.parametrize("n", [11, 12, 100, SMOOTHED_TOGETHER // 5 + 10, SMOOTHED_TOGETHER])
def test_smoothing_is_the_published_filter_inside(n):
    rows, out = some_rows(n, 5, seed=2), np.full((n, 5), np.nan)
    smooth_rows(rows, savgol_coeffs(11, 3), out)
    np.testing.assert_allclose(out[5:-5], savgol_filter(rows, 11, 3, axis=0)[5:-5], rtol=0, atol=1e-10)
    assert np.isnan(out[:5]).all()
    assert np.isnan(out[-5:]).all()
