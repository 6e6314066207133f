"""Symmetries of postures."""

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from ethomarkov.posture import (
    align_keypoints,
    centerline_from_angles,
    even_centerline,
    flip_dorsal_ventral,
    flip_head_tail,
    tangent_angles,
)
from ethomarkov.recording.orientation import ROUNDING

modest = settings(max_examples=50, deadline=None)
angle = st.floats(-1.5, 1.5)
bodies = arrays.arrays(float, st.tuples(st.integers(1, 4), st.integers(2, 12)), elements=angle)
anywhere = st.floats(-100, 100)


def turned(points, by):
    cos, sin = np.cos(by), np.sin(by)
    return points @ np.array([[cos, sin], [-sin, cos]])


@modest
@given(bodies, st.floats(-10, 10), st.floats(0.1, 10))
@example(np.zeros((1, 2)), 1e-7, 1.0)
@example(np.zeros((1, 2)), 2 * np.pi + 1e-7, 1.0)
@example(np.zeros((1, 2)), 1e-5, 1.0)
def test_angles_to_centerline_and_back(theta, orientation, length):
    theta = theta - theta.mean(axis=1, keepdims=True)
    drawn = centerline_from_angles(theta, orientation, length)
    again, found = tangent_angles(drawn)
    # an orientation that is nothing but rounding is left in the angles
    left = np.where(found == 0, np.angle(np.exp(1j * orientation)), 0.0)
    assert np.abs(left).max() < 1.001 * ROUNDING
    # neighbours differ by less than π, so that nothing wraps along the body
    np.testing.assert_allclose(again, theta + left[:, None], atol=1e-9)
    np.testing.assert_allclose(np.exp(1j * (found + left)), np.exp(1j * orientation), atol=1e-9)


@modest
@given(bodies, anywhere, anywhere, st.floats(-10, 10), st.floats(0.1, 10))
def test_place_orientation_and_size_leave_the_angles_alone(theta, x, y, by, size):
    points = centerline_from_angles(theta)
    moved = size * turned(points, by) + [x, y]
    np.testing.assert_allclose(tangent_angles(moved)[0], tangent_angles(points)[0], atol=1e-6)


@modest
@given(bodies)
def test_flips_undo_themselves_and_commute(theta):
    np.testing.assert_array_equal(flip_head_tail(flip_head_tail(theta)), theta)
    np.testing.assert_array_equal(flip_dorsal_ventral(flip_dorsal_ventral(theta)), theta)
    np.testing.assert_array_equal(
        flip_head_tail(flip_dorsal_ventral(theta)), flip_dorsal_ventral(flip_head_tail(theta))
    )


@modest
@given(bodies, st.integers(5, 40), st.floats(-10, 10), anywhere)
def test_even_spacing_moves_with_the_body(theta, n_points, by, x):
    points = centerline_from_angles(theta)
    even = even_centerline(points, n_points)
    np.testing.assert_allclose(
        even_centerline(turned(points, by) + [x, 0], n_points), turned(even, by) + [x, 0], atol=1e-6
    )
    np.testing.assert_allclose(even[:, [0, -1]], points[:, [0, -1]], atol=1e-9)


@modest
@given(bodies, st.floats(-10, 10), anywhere, anywhere)
def test_aligned_keypoints_forget_place_and_orientation(theta, by, x, y):
    points = centerline_from_angles(theta)
    # an animal whose head is on its tail has no heading
    closed = np.linalg.norm(points[:, 0] - points[:, -1], axis=1) < 1e-3
    moved = turned(points, by) + [x, y]
    before, after = align_keypoints(points)[0], align_keypoints(moved)[0]
    np.testing.assert_allclose(after[~closed], before[~closed], atol=1e-6)
