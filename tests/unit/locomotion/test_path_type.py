"""Paths: cut out, made from points, and their speed."""

import numpy as np
import pytest

from ethomarkov._core.segments import Segments
from ethomarkov._core.series import Series
from ethomarkov.exceptions import InputFormatError
from ethomarkov.locomotion import Trajectory


def series(n=50, offsets=(0, 20, 50)):
    return Series.from_rows(np.zeros((n, 3)), 10.0, np.array(offsets), ("a", "b"))


def walk(n=50):
    return np.cumsum(np.random.default_rng(0).normal(size=(n, 2)), axis=0)


def test_points_become_a_path():
    points = walk()
    points[3, 0] = np.nan  # one coordinate is not a place
    points[30] = np.inf
    path = Trajectory.from_points(points, series(), "mm")
    assert path.length_unit == "mm"
    assert path.sampling.rate == 10.0
    assert path.segments.individuals == ("a", "b")
    assert path.segments.bounds.tolist() == [[0, 3, 0], [4, 20, 0], [20, 30, 1], [31, 50, 1]]
    known = np.ones(50, dtype=bool)
    known[[3, 30]] = False
    np.testing.assert_array_equal(np.isfinite(path.centroid), np.stack([known, known], axis=1))
    np.testing.assert_array_equal(path.centroid[known], points[known])
    assert np.isnan(path.heading).all()
    assert np.isfinite(points[3, 1])  # the caller's array is left alone


def test_no_point_at_all():
    path = Trajectory.from_points(np.full((50, 2), np.nan), series(), "mm")
    assert len(path.segments) == 0
    assert np.isnan(path.speed()).all()
    assert len(path.cut(1).segments) == 0


def test_points_of_another_recording_are_refused():
    with pytest.raises(InputFormatError, match="50 rows"):
        Trajectory.from_points(walk(40), series(), "mm")


@pytest.mark.parametrize("individual", [0, 1])
def test_one_individual_keeps_its_rows_and_gaps(individual):
    points = walk()
    points[[5, 33]] = np.nan
    whole = Trajectory.from_points(points, series(), "mm")
    alone = whole.cut(individual)
    rows = slice(0, 20) if individual == 0 else slice(20, 50)
    np.testing.assert_array_equal(alone.centroid, whole.centroid[rows])
    np.testing.assert_array_equal(alone.heading, whole.heading[rows])
    assert alone.segments.individuals == (whole.segments.individuals[individual],)
    np.testing.assert_array_equal(alone.segments.valid, whole.segments.valid[rows])
    assert set(alone.segments.bounds[:, 2]) == {0}
    assert alone.segments.n_rows == len(alone.centroid)
    # cut out of a cut
    np.testing.assert_array_equal(alone.cut(0).segments.bounds, alone.segments.bounds)
    np.testing.assert_array_equal(alone.speed(), whole.speed()[rows])


def test_gaps_of_the_runs_stay_where_rows_are_known():
    """A path may have a run boundary without a missing row: a computed path starts anew."""
    segments = Segments(bounds=np.array([[0, 8, 0], [8, 20, 1]]), offsets=np.array([0, 8, 20]), individuals=("a", "b"))
    path = Trajectory(centroid=walk(20), heading=np.zeros(20), segments=segments, sampling=series().sampling)
    assert path.cut(1).segments.bounds.tolist() == [[0, 12, 0]]


def test_speed_of_a_straight_line_and_across_gaps():
    time = np.arange(50) / 10.0
    points = np.stack([3 * time, 4 * time], axis=1)
    points[25] = np.nan
    path = Trajectory.from_points(points, series(), "mm")
    speed = path.speed(0.5)
    known = np.isfinite(speed)
    np.testing.assert_allclose(speed[known], 5.0)
    expected = np.zeros(50, dtype=bool)
    expected[[*range(15), *range(26, 45)]] = True  # 20 to 25 is cut at both ends, and is as long as the window
    np.testing.assert_array_equal(known, expected)


def test_the_window_of_the_speed_is_at_least_a_frame():
    path = Trajectory.from_points(walk(), series(), "mm")
    steps = np.linalg.norm(np.diff(path.centroid[:20], axis=0), axis=1) * 10
    np.testing.assert_allclose(path.speed(1e-6)[:19], steps)
