"""Times of files, and the grid they are put on."""

import re

import numpy as np
import pytest

from ethomarkov._core.sampling import Sampling
from ethomarkov.exceptions import SamplingError
from ethomarkov.recording import Track
from ethomarkov.recording.tracks import grid_positions, infer_rate, restate_rate, to_grid


def track(time, name="a"):
    time = None if time is None else np.asarray(time)
    n = 5 if time is None else len(time)
    return Track(individual=name, values=np.arange(2.0 * n).reshape(n, 2), time=time)


def listed(places):
    return list(range(places.stop)) if isinstance(places, slice) else places.tolist()


def places(time, rate):
    return listed(grid_positions([track(time)], Sampling(rate))[0])


def test_times_with_holes_find_their_places():
    assert places([10.0, 10.1, 10.4, 10.5, 11.0], 10.0) == [0, 1, 4, 5, 10]


def test_frames_without_times_follow_each_other():
    assert places(None, 16.0) == [0, 1, 2, 3, 4]


def test_jitter_below_half_a_frame_is_forgiven():
    rng = np.random.default_rng(0)
    frames = np.flatnonzero(rng.random(2000) > 0.05)
    time = frames / 20 + rng.uniform(-0.2, 0.2, frames.size) / 20
    assert places(time, 20.0) == (frames - frames[0]).tolist()


@pytest.mark.parametrize("rate", [16.0, 29.97, 25.0, 1000 / 33])
def test_inferred_rate_does_not_drift(rate):
    """Every one of 10⁵ frames keeps its place, with times in float32, jitter, and two frames in a hundred lost."""
    rng = np.random.default_rng(1)
    frames = np.flatnonzero(rng.random(100_000) > 0.02)
    time = ((frames + rng.uniform(-0.15, 0.15, frames.size)) / rate).astype(np.float32)
    found = infer_rate([track(time)])
    assert found == pytest.approx(rate, rel=1e-5)
    assert places(time, found) == (frames - frames[0]).tolist()


def test_rate_of_times_rounded_to_milliseconds():
    time = np.round(np.arange(100_000) / 30, 3)
    found = infer_rate([track(time)])
    assert found == pytest.approx(30, rel=1e-6)
    assert places(time, found) == list(range(100_000))


def test_rate_is_pooled_over_tracks_and_ignores_those_without_times():
    tracks = [track(np.arange(9) / 8), track(None), track([3.0]), track(5 + np.arange(50) / 8)]
    assert infer_rate(tracks) == pytest.approx(8.0, rel=1e-12)


def test_rate_is_not_misled_by_long_holes():
    time = np.concatenate([np.arange(100), 5000 + np.arange(100), 20_000 + np.arange(100)]) / 16
    assert infer_rate([track(time)]) == pytest.approx(16.0, rel=1e-9)


@pytest.mark.parametrize("tracks", [[track(None)], [track([1.0])], [track([2.0, 2.0, 2.0])]])
def test_rate_that_cannot_be_known(tracks):
    with pytest.raises(SamplingError, match="sampling_rate="):
        infer_rate(tracks)


def test_times_that_go_back():
    with pytest.raises(SamplingError, match=r"'a' go back from 0\.2 s to 0\.1 s"):
        places([0.0, 0.2, 0.1, 0.3], 10.0)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_times_that_are_no_numbers(bad):
    with pytest.raises(SamplingError, match="1 times of 'a' are not numbers"):
        places([0.0, bad, 0.2], 10.0)


def test_equal_times_are_duplicates():
    with pytest.raises(SamplingError, match=r"'a' has 2 duplicate times, the first at 0\.1 s"):
        places([0.0, 0.1, 0.1, 0.2, 0.2], 10.0)


def test_different_times_on_one_place_are_irregular():
    with pytest.raises(SamplingError, match="are irregular") as caught:
        places([0.0, 0.1, 0.12, 0.2, 0.3, 0.5], 10.0)
    said = str(caught.value)
    assert "steps from 0.02 s to 0.2 s, median 0.1 s" in said
    assert "1 rows share a frame with the row before at 10 Hz (first 0.1 s and 0.12 s)" in said
    assert "duplicate" not in said
    assert "--rate" in said


def test_irregular_times_are_called_so_when_the_rate_comes_from_them():
    time = np.cumsum(np.random.default_rng(0).exponential(0.05, 400))
    with pytest.raises(SamplingError, match="are irregular"):
        places(time, infer_rate([track(time)]))


def test_too_low_a_stated_rate_is_noticed():
    with pytest.raises(SamplingError, match=r"steps of 0\.1 s \(10 Hz\), too close for 5 Hz.*--resample"):
        places(np.delete(np.arange(20), [4, 5, 6]) / 10, 5.0)


@pytest.mark.parametrize("wrong", [9e6, 1e18, 1e300, 1.7e308])
def test_one_wrong_time_is_told_before_a_grid_is_made(wrong):
    time = np.arange(1000) / 16
    time[-1] = wrong
    with pytest.raises(SamplingError, match=rf"'late' jump from 62\.375 s to {re.escape(f'{wrong:.10g}')} s"):
        grid_positions([track(np.arange(9) / 16), track(time, "late")], Sampling(16.0))


def test_too_high_a_rate_is_told_before_a_grid_is_made():
    with pytest.raises(SamplingError, match=r"'a' jump .* at 1e\+12 Hz .* the rate"):
        places(np.arange(1000) / 16, 1e12)


def test_hours_between_two_sessions_are_missing_frames():
    hour, day = 3600 * 30, 24 * 3600.0
    times = np.concatenate([np.arange(hour), np.arange(hour)]) / 30 + np.repeat([0.0, day], hour)
    assert places(times, 30.0)[-1] == round((day + 3600) * 30) - 1


def test_the_limit_is_that_of_all_tracks_together_and_grows_with_the_rows(monkeypatch):
    monkeypatch.setattr("ethomarkov.recording.tracks.FREE_GRID_BYTES", 1600)
    sparse = track(np.arange(0, 100, 4.0))  # 97 frames of 16 bytes, where 25 rows take 400
    assert grid_positions([sparse], Sampling(1.0))[0][-1] == 96
    assert len(grid_positions([sparse] * 50, Sampling(1.0))) == 50
    sparser = track(np.arange(0, 1000, 40.0))
    with pytest.raises(SamplingError, match="more than the"):
        grid_positions([sparser], Sampling(1.0))


@pytest.mark.parametrize("time", [[0.0, 0.1, np.inf], [0.0, np.inf, np.inf], [-np.inf, 0.0, 0.1], [0.0, np.nan, 0.2]])
def test_a_rate_is_inferred_from_what_is_finite(time):
    tracks = [track(np.arange(9) / 8), track(time)]
    assert np.isfinite(infer_rate(tracks))
    with pytest.raises(SamplingError, match="are not numbers"):
        grid_positions(tracks, Sampling(infer_rate(tracks)))


def test_steps_too_small_to_be_a_rate():
    with pytest.raises(SamplingError, match="sampling rate"):
        Sampling(infer_rate([track([0.0, 5e-324, 1e-323, 1e300])]))


def test_places_without_a_row_are_missing():
    grid = to_grid([np.array([[1.0], [2.0], [3.0]])], [np.array([0, 1, 4])])
    np.testing.assert_array_equal(grid[:, 0], [1, 2, np.nan, np.nan, 3])
    assert grid.dtype == np.float32


def test_rows_of_points_keep_their_shape():
    rows = np.arange(12.0).reshape(2, 3, 2)
    grid = to_grid([rows], [np.array([0, 2])])
    assert grid.shape == (3, 3, 2)
    np.testing.assert_array_equal(grid[[0, 2]], rows)
    assert np.isnan(grid[1]).all()


def test_tracks_follow_each_other_and_one_without_rows_is_missing():
    places = [np.array([0, 2]), np.array([0, 1]), np.array([0])]
    grid = to_grid([np.array([[1.0], [2.0]]), None, np.array([[3.0]])], places)
    np.testing.assert_array_equal(grid[:, 0], [1, np.nan, 2, np.nan, np.nan, 3])


def test_an_animal_without_frames():
    assert places([], 10.0) == []
    assert to_grid([np.empty((0, 2))], [np.array([], dtype=int)]).shape == (0, 2)


def test_a_restated_rate_keeps_frames_as_frames():
    frames = np.array([0, 1, 2, 5, 6])
    told = [track(3.0 + frames / 10)]
    restated = restate_rate(told, 25.0)
    assert infer_rate(restated) == pytest.approx(25.0)
    assert listed(grid_positions(restated, Sampling(25.0))[0]) == frames.tolist()
    assert restate_rate([track(None)], 25.0)[0].time is None
