"""Tangent angles of shapes known in closed form."""

import numpy as np
import pytest

from ethomarkov.posture import centerline_from_angles, flip_dorsal_ventral, flip_head_tail, tangent_angles
from ethomarkov.recording.orientation import remove_orientation


def arc(turn, n_points=101, start=0.3, length=2.0):
    """Points on an arc of a circle that turns by `turn` radians from head to tail."""
    radius = length / turn
    phase = start + np.linspace(0, turn, n_points)
    return radius * np.stack([np.sin(phase), -np.cos(phase)], axis=1)[None]


@pytest.mark.parametrize("turn", [0.5, -1.0, 3.0, 9.0])
def test_an_arc_has_angles_linear_along_the_body(turn):
    """Also for spirals that turn by more than one circle, where arctangents wrap."""
    angles, orientation = tangent_angles(arc(turn))
    segment = (np.arange(100) + 0.5) / 100
    np.testing.assert_allclose(angles[0], turn * (segment - 0.5), atol=1e-9)
    assert np.exp(1j * orientation[0]) == pytest.approx(np.exp(1j * (0.3 + turn / 2)), abs=1e-9)


def test_angles_have_zero_mean_and_one_entry_per_segment():
    rng = np.random.default_rng(0)
    points = np.cumsum(rng.normal(size=(7, 12, 2)) + [1.0, 0], axis=1)
    angles, orientation = tangent_angles(points)
    assert angles.shape == (7, 11)
    assert orientation.shape == (7,)
    np.testing.assert_allclose(angles.mean(axis=1), 0, atol=1e-12)


def test_a_missing_point_makes_only_its_frame_missing():
    points = np.repeat(arc(1.0), 3, axis=0)
    points[1, 40] = np.nan
    angles, orientation = tangent_angles(points)
    assert np.isnan(angles[1]).all()
    assert np.isnan(orientation[1])
    assert np.isfinite(angles[[0, 2]]).all()


def test_drawing_starts_at_the_head_and_has_the_asked_length():
    angles = np.random.default_rng(0).normal(size=(5, 50))
    drawn = centerline_from_angles(angles, orientation=np.arange(5.0), length=3.0)
    np.testing.assert_array_equal(drawn[:, 0], 0)
    np.testing.assert_allclose(np.linalg.norm(np.diff(drawn, axis=1), axis=2), 3.0 / 50)


def test_drawing_a_straight_body():
    drawn = centerline_from_angles(np.zeros((1, 4)), orientation=np.pi / 2, length=2.0)
    np.testing.assert_allclose(drawn[0], np.stack([np.zeros(5), np.linspace(0, 2, 5)], axis=1), atol=1e-15)


def test_reading_the_body_from_the_other_end():
    """The flip of the angles is the angles of the flipped points."""
    points = np.cumsum(np.random.default_rng(1).normal(size=(6, 20, 2)) * 0.1 + [0.3, 0], axis=1)
    angles, _ = tangent_angles(points)
    backward, _ = tangent_angles(points[:, ::-1])
    np.testing.assert_allclose(flip_head_tail(angles), backward, atol=1e-12)


def test_the_mirrored_body():
    points = arc(1.4)
    np.testing.assert_allclose(
        flip_dorsal_ventral(tangent_angles(points)[0]), tangent_angles(points * [1, -1])[0], atol=1e-12
    )


def test_removing_the_orientation_of_wrapped_angles():
    smooth = np.linspace(2.0, 6.0, 30)[None]
    wrapped = np.angle(np.exp(1j * smooth))
    angles, orientation = remove_orientation(wrapped)
    np.testing.assert_allclose(angles, smooth - 4.0, atol=1e-12)
    assert np.exp(1j * orientation[0]) == pytest.approx(np.exp(4j))
