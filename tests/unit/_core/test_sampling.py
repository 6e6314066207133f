"""Seconds and frames."""

import numpy as np
import pytest

from ethomarkov._core.sampling import Sampling
from ethomarkov.exceptions import EthomarkovError, SamplingError


@pytest.mark.parametrize(("rate", "duration", "frames"), [(16, 0.75, 12), (16, 0.0625, 1), (30, 0.1, 3), (7.5, 2, 15)])
def test_whole_frames(rate, duration, frames):
    sampling = Sampling(rate)
    assert sampling.frames(duration) == frames
    assert sampling.seconds(frames) == pytest.approx(duration, rel=1e-12)
    assert sampling.interval == pytest.approx(1 / rate)


@pytest.mark.parametrize("duration", [0.7, 0.03, 0.0, -1.0, 0.09, 0.096])
def test_what_is_not_whole_is_refused(duration):
    with pytest.raises(SamplingError, match="frames at 16 Hz"):
        Sampling(16.0).frames(duration)


def test_message_names_the_neighbours():
    with pytest.raises(SamplingError, match=r"0\.6875 s or 0\.75 s"):
        Sampling(16.0).frames(0.7)


def test_one_percent_is_forgiven_and_two_are_not():
    # a rate of 29.97 declared as 30 is a tenth of a percent off
    assert Sampling(29.97).frames(0.1) == 3
    assert Sampling(10.0).frames(1.009) == 10
    with pytest.raises(SamplingError):
        Sampling(10.0).frames(1.02)


@pytest.mark.parametrize("rate", [0, -16, np.nan, np.inf, None, "16", 1j])
def test_impossible_rates(rate):
    with pytest.raises(SamplingError, match="sampling_rate="):
        Sampling(rate)


@pytest.mark.parametrize("rate", [np.float64(16), np.float32(16), np.int64(16), np.uint8(16), 16])
def test_any_real_number_is_a_rate(rate):
    """Files hand out numpy scalars of every width."""
    assert Sampling(rate).rate == 16.0
    assert type(Sampling(rate).rate) is float


@pytest.mark.parametrize("duration", [np.nan, np.inf, -np.inf])
def test_durations_that_are_no_numbers_are_our_own_error(duration):
    with pytest.raises(EthomarkovError):
        Sampling(16.0).frames(duration)


def test_equal_rates_are_equal():
    assert Sampling(16) == Sampling(16.0)
    assert hash(Sampling(16)) == hash(Sampling(16.0))
