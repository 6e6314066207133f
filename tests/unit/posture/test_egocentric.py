"""Keypoints in the animal's own frame."""

import numpy as np

from ethomarkov.posture import align_keypoints


def turn(points, angle):
    cos, sin = np.cos(angle), np.sin(angle)
    return points @ np.array([[cos, sin], [-sin, cos]])


def animals(n=6):
    return np.random.default_rng(0).normal(size=(n, 5, 2))


def test_rotation_and_translation_leave_the_posture_alone():
    points = animals()
    aligned, centroid, heading = align_keypoints(points)
    for k, angle in enumerate(np.linspace(-3, 3, 6)):
        moved = turn(points[k], angle) + [10.0 * k, -4.0]
        posture, place, direction = align_keypoints(moved[None])
        np.testing.assert_allclose(posture[0], aligned[k], atol=1e-12)
        np.testing.assert_allclose(place[0], turn(centroid[k], angle) + [10.0 * k, -4.0], atol=1e-12)
        np.testing.assert_allclose(np.exp(1j * direction[0]), np.exp(1j * (heading[k] + angle)), atol=1e-12)


def test_the_animal_faces_along_x_and_sits_at_the_origin():
    aligned, _, _ = align_keypoints(animals())
    np.testing.assert_allclose(aligned.mean(axis=1), 0, atol=1e-12)
    axis = aligned[:, 0] - aligned[:, -1]
    np.testing.assert_allclose(axis[:, 1], 0, atol=1e-12)
    assert (axis[:, 0] > 0).all()


def test_distances_and_handedness_are_kept():
    points = animals()
    aligned, _, _ = align_keypoints(points)

    def area(p):
        a, b = p[:, 1] - p[:, 0], p[:, 2] - p[:, 0]
        return a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]

    np.testing.assert_allclose(area(aligned), area(points), atol=1e-12)
    np.testing.assert_allclose(
        np.linalg.norm(np.diff(aligned, axis=1), axis=2), np.linalg.norm(np.diff(points, axis=1), axis=2)
    )


def test_by_hand():
    """Tail at (1, 1), head at (1, 3): the animal looks up."""
    aligned, centroid, heading = align_keypoints(np.array([[[1.0, 3.0], [0.0, 2.0], [1.0, 1.0]]]))
    np.testing.assert_allclose(heading, np.pi / 2)
    np.testing.assert_allclose(centroid, [[2 / 3, 2.0]])
    np.testing.assert_allclose(aligned[0], [[1, -1 / 3], [0, 2 / 3], [-1, -1 / 3]], atol=1e-12)


def test_head_and_tail_may_be_any_keypoints():
    points = animals()
    order = [2, 0, 1, 4, 3]
    chosen, _, heading = align_keypoints(points, head=2, tail=3)
    reordered, _, expected = align_keypoints(points[:, order])
    np.testing.assert_allclose(heading, expected)
    np.testing.assert_allclose(chosen[:, order], reordered)


def test_a_missing_keypoint_makes_its_frame_missing():
    points = animals()
    points[3, 1] = np.nan
    aligned, _, _ = align_keypoints(points)
    assert np.isnan(aligned[3]).all()
    assert np.isfinite(np.delete(aligned, 3, axis=0)).all()
