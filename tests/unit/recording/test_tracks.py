"""Times of files, and the grid they are put on."""

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


def places(time, rate):
    return grid_positions(track(time), Sampling(rate)).tolist()


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


@pytest.mark.parametrize("time", [[0.0, 0.1, 0.1, 0.2], [0.0, 0.1, 0.12, 0.2]])
def test_two_rows_in_one_frame(time):
    with pytest.raises(SamplingError, match=r"1 duplicate times at 10 Hz, the first at 0\.1 s"):
        places(time, 10.0)


def test_too_low_a_stated_rate_is_noticed():
    with pytest.raises(SamplingError, match="duplicate times at 5 Hz"):
        places(np.arange(10) / 10, 5.0)


def test_places_without_a_row_are_missing():
    grid = to_grid(np.array([[1.0], [2.0], [3.0]]), np.array([0, 1, 4]))
    np.testing.assert_array_equal(grid[:, 0], [1, 2, np.nan, np.nan, 3])
    assert grid.dtype == np.float32


def test_rows_of_points_keep_their_shape():
    rows = np.arange(12.0).reshape(2, 3, 2)
    grid = to_grid(rows, np.array([0, 2]))
    assert grid.shape == (3, 3, 2)
    np.testing.assert_array_equal(grid[[0, 2]], rows)
    assert np.isnan(grid[1]).all()


def test_an_animal_without_frames():
    assert places([], 10.0) == []
    assert to_grid(np.empty((0, 2)), np.array([], dtype=int)).shape == (0, 2)


def test_a_restated_rate_keeps_frames_as_frames():
    frames = np.array([0, 1, 2, 5, 6])
    told = [track(3.0 + frames / 10)]
    restated = restate_rate(told, 25.0)
    assert infer_rate(restated) == pytest.approx(25.0)
    assert grid_positions(restated[0], Sampling(25.0)).tolist() == frames.tolist()
    assert restate_rate([track(None)], 25.0)[0].time is None
