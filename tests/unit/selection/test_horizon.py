"""How far ahead postures can be predicted."""

import numpy as np
import pytest
from scipy.signal import lfilter

from ethomarkov._core.series import Series
from ethomarkov.selection.folds import Folds
from ethomarkov.selection.horizon import predictability_horizon


def autoregression(coefficient: float, n_frames: int = 6000, n_animals: int = 6, seed: int = 0) -> Series:
    noise = np.random.default_rng(seed).normal(size=(n_animals, n_frames))
    rows = lfilter([1.0], [1.0, -coefficient], noise, axis=1).reshape(-1, 1)
    return Series.from_rows(rows, 16.0, np.arange(n_animals + 1) * n_frames)


def horizon_of(series: Series) -> int:
    return predictability_horizon(series, Folds.from_segments(series.segments))


@pytest.mark.parametrize("coefficient", [0.5, 0.9, 0.98])
def test_an_autoregression_is_predicted_as_long_as_its_formula_says(coefficient):
    exact = np.log(0.1) / (2 * np.log(coefficient))  # the square of the correlation falls to a tenth
    found = horizon_of(autoregression(coefficient))
    assert 0.8 * exact <= found <= 1.35 * exact + 1  # lags are tried on a grid whose steps grow by a quarter


def test_white_noise_is_not_predicted_at_all():
    assert horizon_of(autoregression(0.0)) == 1


def test_units_and_offsets_do_not_matter():
    series = autoregression(0.9)
    scaled = Series.from_rows(1000 * series.values + 7, 16.0, series.segments.offsets)
    assert horizon_of(scaled) == horizon_of(series)
