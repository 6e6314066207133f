"""Power spectra of postures."""

import numpy as np
import pytest
from scipy import signal

from ethomarkov._core.series import Series
from ethomarkov.exceptions import SamplingError
from ethomarkov.simulation.spectra import PostureSpectrum, posture_speed, welch_spectrum


def noisy(n: int = 4000, rate: float = 16.0) -> Series:
    return Series.from_rows(np.random.default_rng(0).normal(size=(n, 2)), rate)


def test_the_spectrum_is_that_of_welch():
    series = noisy()
    frequency, power = welch_spectrum(series, 1, 10.0)
    wanted = signal.welch(series.values[:, 1].astype(float), 16.0, "hann", 160, 80)
    np.testing.assert_allclose(frequency, wanted[0])
    np.testing.assert_allclose(power, wanted[1])


def test_no_segment_of_a_spectrum_crosses_a_gap():
    values = np.random.default_rng(0).normal(size=(500, 1))
    values[200:240] = np.nan
    values[240:] += 100.0  # a jump that would drown the rest
    frequency, power = welch_spectrum(Series.from_rows(values, 16.0), 0, 5.0)
    assert power[frequency > 0.5].max() < 1.0
    with pytest.raises(SamplingError, match="shorter segment"):
        welch_spectrum(Series.from_rows(values, 16.0), 0, 20.0)


def test_the_speed_of_a_straight_line_is_constant():
    rows = np.outer(np.arange(50), [3.0, 4.0])
    rows[20] = np.nan
    speed = posture_speed(Series.from_rows(rows, 10.0)).values[:, 0]
    np.testing.assert_array_equal(np.flatnonzero(np.isnan(speed)), [19, 20, 49])
    np.testing.assert_allclose(speed[np.isfinite(speed)], 50.0)


def test_all_modes_and_the_speed_have_a_spectrum():
    series = noisy()
    found = PostureSpectrum.from_postures(series, 10.0)
    for mode in range(2):
        np.testing.assert_array_equal(found.modes[mode], welch_spectrum(series, mode, 10.0)[1])
    np.testing.assert_array_equal(found.speed, welch_spectrum(posture_speed(series), 0, 10.0)[1])
