"""Directions, circles and loops of tracks whose answers are known."""

import numpy as np
import pytest
from scipy import signal

from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov.exceptions import InputFormatError, SamplingError
from ethomarkov.locomotion.bearing import (
    bearing,
    bearing_spectrum,
    circle_radii,
    curvature,
    describe_path,
    fit_circle,
    loop_times,
    turning_rate,
)
from ethomarkov.locomotion.trajectory import Trajectory

RATE = 8.0


def path_of(points, offsets=None):
    points = np.asarray(points, dtype=float)
    segments = Segments.from_valid(np.isfinite(points).all(axis=1), offsets)
    return Trajectory(centroid=points, heading=np.zeros(len(points)), segments=segments, sampling=Sampling(RATE))


def circle(radius=3.0, period=40.0, seconds=400.0, clockwise=False):
    phase = 2 * np.pi * np.arange(int(seconds * RATE)) / (RATE * period) * (-1 if clockwise else 1)
    return radius * np.stack([np.cos(phase), np.sin(phase)], axis=1) + [7.0, -2.0]


def test_bearing_of_a_square():
    corners = np.array([[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]])
    found = bearing(path_of(corners))
    np.testing.assert_allclose(found[:4], [0, np.pi / 2, np.pi, -np.pi / 2], atol=1e-12)
    assert np.isnan(found[4])
    np.testing.assert_allclose(turning_rate(path_of(corners))[1:4], np.pi / 2 * RATE)


def test_gaps_and_rest_have_no_bearing():
    points = np.stack([np.arange(12.0), np.zeros(12)], axis=1)
    points[4] = np.nan
    points[8] = points[9]
    found = bearing(path_of(points, np.array([0, 7, 12])))
    # the gap and the frame before it, the last frame of each animal, and the rest
    assert np.flatnonzero(np.isnan(found)).tolist() == [3, 4, 6, 8, 11]
    turning = turning_rate(path_of(points, np.array([0, 7, 12])))
    assert np.flatnonzero(np.isfinite(turning)).tolist() == [1, 2, 10]


@pytest.mark.parametrize("clockwise", [False, True])
@pytest.mark.parametrize("interval", [None, 1.0, 5.0])
def test_a_circular_track(clockwise, interval):
    path = path_of(circle(clockwise=clockwise))
    sign = -1 if clockwise else 1
    turning, bend = turning_rate(path, interval), curvature(path, interval)
    np.testing.assert_allclose(turning[np.isfinite(turning)], sign * 2 * np.pi / 40, rtol=1e-9)
    np.testing.assert_allclose(bend[np.isfinite(bend)], sign / 3, rtol=1e-9)
    assert np.isfinite(turning).sum() == np.isfinite(bend).sum() == 3200 - 2 * int((interval or 1 / RATE) * RATE)


def test_radius_and_period_of_a_circle():
    path = path_of(np.concatenate([circle(), circle(1.5, 25.0, clockwise=True)]), np.array([0, 3200, 6400]))
    shape = describe_path(path, interval=1.0, window=10.0)
    np.testing.assert_allclose(shape.radius, [3, 1.5], rtol=1e-9)
    np.testing.assert_allclose(shape.loop_time, [40, 25], rtol=1e-9)
    np.testing.assert_allclose(shape.turning_rate, [2 * np.pi / 40, -2 * np.pi / 25], rtol=1e-9)
    chord = 2 * np.array([3, 1.5]) * np.sin(np.pi / np.array([40, 25]))
    np.testing.assert_allclose(shape.speed, chord, rtol=1e-9)
    # ten turns fit into the first track but its last second has no bearing; likewise sixteen into the second
    assert shape.n_loops.tolist() == [9, 15]


def test_loops_start_anew_at_gaps():
    points = circle(seconds=100.0)
    points[500] = np.nan
    seconds, owner = loop_times(path_of(points))
    assert seconds.size == 1
    assert owner.tolist() == [0]


def test_a_straight_track_has_no_loop():
    time = np.arange(800.0)
    shape = describe_path(path_of(np.stack([time, 2 * time], axis=1)), window=10.0)
    assert shape.radius[0] > 1e6
    assert np.isnan(shape.loop_time[0])
    assert shape.n_loops[0] == 0


def test_circle_fit_of_exact_and_hopeless_points():
    angle = np.array([0.1, 0.2, 0.25, 0.4])
    arc = np.stack([5 + 2 * np.cos(angle), 2 * np.sin(angle) - 1], axis=1)
    centre, radius = fit_circle(np.stack([arc, 10 * arc]))
    np.testing.assert_allclose(centre, [[5, -1], [50, -10]], rtol=1e-9)
    np.testing.assert_allclose(radius, [2, 20], rtol=1e-9)
    line = np.stack([np.arange(-2.0, 3), np.zeros(5)], axis=1)
    assert fit_circle(line)[1] > 1e10
    assert np.isnan(fit_circle(np.ones((5, 2)))[1])
    with pytest.raises(InputFormatError, match="three"):
        fit_circle(arc[:2])


def test_circle_fit_withstands_the_body_wave():
    """A third of a turn, wiggling by a tenth of the radius: within 2 %."""
    angle = np.linspace(0, 2 * np.pi / 3, 400)
    reach = 3 + 0.3 * np.sin(20 * np.pi * angle)
    radius = fit_circle(np.stack([reach * np.cos(angle), reach * np.sin(angle)], axis=1))[1]
    assert radius == pytest.approx(3, rel=0.02)


def test_no_stretch_long_enough_for_a_circle():
    radius, owner = circle_radii(path_of(circle(seconds=5.0)), 10.0)
    assert (radius.size, owner.size) == (0, 0)


def test_spectrum_of_a_circle():
    """A pure line of the power of a cosine, 1/2, at the turning frequency."""
    spectrum = bearing_spectrum(path_of(circle(period=40.0, seconds=1000.0)), segment=400.0)
    assert spectrum.frequency[spectrum.power[0].argmax()] == pytest.approx(1 / 40)
    assert spectrum.power[0].sum() * spectrum.frequency[1] == pytest.approx(0.5, rel=1e-9)
    assert spectrum.n_segments.tolist() == [3]
    assert spectrum.loop_period() == pytest.approx(40, rel=1e-6)


def test_rests_keep_the_direction():
    """Every position seen twice: half of the steps are rests, and the loop takes twice as long."""
    path = path_of(np.repeat(circle(period=20.0, seconds=500.0), 2, axis=0))
    assert np.isnan(bearing(path)[::2]).all()
    spectrum = bearing_spectrum(path, segment=400.0)
    assert spectrum.loop_period() == pytest.approx(40, rel=1e-3)
    rested = np.concatenate([circle(seconds=50.0), np.repeat(circle(seconds=50.0)[-1:], 160, axis=0)])
    assert loop_times(path_of(rested))[0] == pytest.approx(40, rel=1e-9)
    still = path_of(np.ones((100, 2)))
    assert loop_times(still)[0].size == 0
    with pytest.raises(SamplingError, match=" 0 s"):
        bearing_spectrum(still, segment=5.0)


def test_loop_period_between_frequencies():
    spectrum = bearing_spectrum(path_of(circle(period=37.0, seconds=1000.0)), segment=400.0)
    assert spectrum.loop_period() == pytest.approx(37, rel=0.01)


def test_published_spectrum_is_welch_of_the_cosine():
    rng = np.random.default_rng(3)
    points = np.cumsum(rng.normal(size=(2001, 2)), axis=0)
    found = bearing_spectrum(path_of(points), segment=50.0, component="cosine")
    steps = np.diff(points, axis=0)
    frequency, power = signal.welch(np.cos(np.arctan2(steps[:, 1], steps[:, 0])), fs=RATE, nperseg=400)
    np.testing.assert_allclose(found.frequency, frequency)
    np.testing.assert_allclose(found.power[0], power, rtol=1e-10)


def test_spectrum_does_not_depend_on_the_orientation_of_the_plate():
    rng = np.random.default_rng(3)
    points = np.cumsum(rng.normal(size=(2001, 2)) + [0.5, 0], axis=0)
    turn = np.array([[0.6, 0.8], [-0.8, 0.6]])
    upright, turned = (bearing_spectrum(path_of(p), 50.0).power for p in (points, points @ turn))
    np.testing.assert_allclose(upright, turned, rtol=1e-9)
    upright, turned = (bearing_spectrum(path_of(p), 50.0, component="cosine").power for p in (points, points @ turn))
    assert np.abs(upright / turned - 1).max() > 0.1


def test_runs_count_by_their_segments():
    rng = np.random.default_rng(4)
    points = np.cumsum(rng.normal(size=(2000, 2)), axis=0)
    points[1201] = np.nan
    points[1900:] = np.nan  # leaves a run of 698 frames, and an animal of none
    found = bearing_spectrum(path_of(points, np.array([0, 1900, 2000])), segment=50.0)
    assert found.n_segments.tolist() == [5 + 2, 0]
    alone = [bearing_spectrum(path_of(part), segment=50.0).power[0] for part in (points[:1201], points[1202:1900])]
    np.testing.assert_allclose(found.power[0], (5 * alone[0] + 2 * alone[1]) / 7, rtol=1e-10)
    assert np.isnan(found.power[1]).all()
    assert np.isfinite(found.loop_period((0.05, 3.0), prominence=1.01))


def test_a_flat_spectrum_has_no_period():
    rng = np.random.default_rng(5)
    found = bearing_spectrum(path_of(np.cumsum(rng.normal(size=(40_000, 2)), axis=0)), segment=100.0)
    assert np.isnan(found.loop_period((0.02, 1.0)))


def test_segments_longer_than_the_data():
    with pytest.raises(SamplingError, match="shorter segment"):
        bearing_spectrum(path_of(circle(seconds=100.0)))
    with pytest.raises(InputFormatError, match="cosine"):
        bearing_spectrum(path_of(circle(seconds=100.0)), 50.0, component="sine")
