"""Seconds and frames."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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


def test_a_hundredth_of_a_frame_is_forgiven_and_a_hundredth_of_the_lag_is_not():
    assert Sampling(16.0).frames(3.0005) == 48
    assert Sampling(30 / 1.001).frames(0.0333667) == 1
    with pytest.raises(SamplingError, match=r"3\.03 s is 48\.48 frames at 16 Hz.*Use 3 s or 3\.0625 s"):
        Sampling(16.0).frames(3.03)
    with pytest.raises(SamplingError, match=r"29\.97 frames"):  # not "30 frames; a whole number is needed"
        Sampling(29.97).frames(1.0)


RATES = st.one_of(st.sampled_from([16.0, 29.97, 30 / 1.001, 1 / 0.033, 7.5, 1000.0]), st.floats(1e-3, 1e5))


@given(RATES, st.floats(1e-4, 1e5))
def test_what_the_error_offers_is_accepted(rate, lag):
    sampling = Sampling(rate)
    try:
        assert sampling.seconds(sampling.frames(lag)) * rate == pytest.approx(lag * rate, abs=0.010001)
    except SamplingError as error:
        offered = re.search(r"Use (.*)\.$", str(error))[1].replace(" s", "").split(" or ")
        frames = [sampling.frames(float(text)) for text in offered]
        exact = lag * rate
        assert frames == ([1] if exact < 1 else [int(exact), int(exact) + 1])


@given(RATES, st.integers(1, 10**6))
def test_every_number_of_frames_is_a_lag(rate, n_frames):
    sampling = Sampling(rate)
    assert sampling.frames(sampling.seconds(n_frames), "lag") == n_frames
    assert sampling.nearest_frames(sampling.seconds(n_frames)) == n_frames


def test_durations_that_bound_something_are_rounded():
    assert Sampling(1 / 0.033).nearest_frames(100.0) == 3030
    assert Sampling(16.0).nearest_frames(0.7) == 11
    with pytest.raises(
        SamplingError, match=r"window=0\.03 s is 0\.48 frames at 16 Hz; at least one.*0\.0625 s or more"
    ):
        Sampling(16.0).nearest_frames(0.03, "window")


@pytest.mark.parametrize("rate", [0, -16, np.nan, np.inf, None, "16", 1j])
def test_impossible_rates(rate):
    with pytest.raises(SamplingError, match="sampling_rate="):
        Sampling(rate)


@pytest.mark.parametrize("rate", [np.float64(16), np.float32(16), np.int64(16), np.uint8(16), 16])
def test_any_real_number_is_a_rate(rate):
    """Files hand out numpy scalars of every width."""
    assert Sampling(rate).rate == 16.0
    assert type(Sampling(rate).rate) is float


@pytest.mark.parametrize("duration", [np.nan, np.inf, -np.inf, "0.75", None, True, [0.75]])
def test_durations_that_are_no_numbers_are_our_own_error(duration):
    with pytest.raises(EthomarkovError, match="a number of seconds is needed"):
        Sampling(16.0).frames(duration, "lag")
    with pytest.raises(EthomarkovError, match="a number of seconds is needed"):
        Sampling(16.0).nearest_frames(duration)


def test_equal_rates_are_equal():
    assert Sampling(16) == Sampling(16.0)
    assert hash(Sampling(16)) == hash(Sampling(16.0))
