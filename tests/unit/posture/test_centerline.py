"""Even spacing along curves whose arc length is known."""

import numpy as np
import pytest

from ethomarkov.posture import even_centerline


def spiral(parameter):
    """Logarithmic spiral r = exp(0.2 φ); its arc length is √(1 + 1/0.04) r."""
    r = np.exp(0.2 * parameter)
    return r[:, None] * np.stack([np.cos(parameter), np.sin(parameter)], axis=1)


def test_a_spiral_from_unevenly_spaced_points():
    parameter = 4.0 * np.linspace(0, 1, 60) ** 1.5
    even = even_centerline(spiral(parameter)[None], 41)[0]
    radius = np.linspace(1.0, np.exp(0.8), 41)  # equal steps in arc length are equal steps in r
    expected = spiral(np.log(radius) / 0.2)
    length = np.sqrt(1 + 1 / 0.04) * (np.exp(0.8) - 1)
    np.testing.assert_allclose(even, expected, atol=1e-3 * length)
    steps = np.linalg.norm(np.diff(even, axis=0), axis=1)
    np.testing.assert_allclose(steps, length / 40, rtol=1e-3)


def test_random_spacing_does_not_matter():
    rng = np.random.default_rng(0)
    phase = np.concatenate([[0], np.sort(rng.uniform(0, 2, 48)), [2]])
    points = np.stack([np.cos(phase), np.sin(phase)], axis=1)
    even = even_centerline(points[None], 50)[0]
    expected = np.linspace(0, 2, 50)
    np.testing.assert_allclose(even, np.stack([np.cos(expected), np.sin(expected)], axis=1), atol=2e-3)


def test_ends_are_kept():
    points = np.cumsum(np.random.default_rng(0).normal(size=(4, 15, 2)) * 0.2 + [1, 0], axis=1)
    even = even_centerline(points, 33)
    np.testing.assert_allclose(even[:, [0, -1]], points[:, [0, -1]], atol=1e-12)


def test_even_points_stay_where_they_are():
    phase = np.linspace(0, 2.0, 60)
    points = np.stack([np.cos(phase), np.sin(phase)], axis=1)[None]
    np.testing.assert_allclose(even_centerline(points, 60), points, atol=1e-4)


def test_two_points_make_a_straight_line():
    even = even_centerline(np.array([[[0.0, 0.0], [3.0, 6.0]]]), 4)
    np.testing.assert_allclose(even[0], [[0, 0], [1, 2], [2, 4], [3, 6]])


def test_a_frame_with_a_missing_point_stays_missing():
    points = np.repeat(spiral(np.linspace(0, 2, 9))[None], 3, axis=0)
    points[1, 4, 0] = np.nan
    even = even_centerline(points, 5)
    assert np.isnan(even[1]).all()
    np.testing.assert_allclose(even[0], even[2], atol=1e-12)
    assert np.isfinite(even[0]).all()


def test_frames_do_not_influence_each_other():
    """All frames are interpolated as one long axis; a large frame must not blur a small one."""
    small, large = spiral(np.linspace(0, 2, 20)), 1e4 * spiral(np.linspace(0, 3, 20))
    alone = even_centerline(small[None], 30)[0]
    np.testing.assert_allclose(even_centerline(np.stack([large, small]), 30)[1], alone, atol=1e-9)


def test_more_frames_than_a_block(monkeypatch):
    monkeypatch.setattr("ethomarkov.posture.centerline.BLOCK_FRAMES", 7)
    points = np.cumsum(np.random.default_rng(0).normal(size=(20, 6, 2)) + [2, 0], axis=1)
    points[9] = np.nan
    singly = np.concatenate([even_centerline(one[None], 11) for one in points])
    np.testing.assert_allclose(even_centerline(points, 11), singly, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_precision_is_kept(dtype):
    assert even_centerline(np.ones((2, 3, 2), dtype=dtype) * np.arange(3)[:, None].astype(dtype), 5).dtype == dtype


def test_whole_pixels_are_points_too():
    even = even_centerline(np.array([[[0, 0], [2, 0], [4, 0]]]), 9)
    np.testing.assert_allclose(even[0, :, 0], np.linspace(0, 4, 9))


@pytest.mark.parametrize("n_points", [7, 11, 21])
def test_keypoints_at_one_and_three_apart(n_points):
    """Body parts of pose trackers are not evenly spaced; the curve through them must not overshoot."""
    gaps = np.where(np.arange(n_points - 1) % 2, 1.0, 3.0)
    phase = 2 * np.concatenate([[0], np.cumsum(gaps)]) / gaps.sum()
    even = even_centerline(np.stack([np.cos(phase), np.sin(phase)], axis=1)[None], 50)[0]
    expected = np.linspace(0, 2, 50)
    np.testing.assert_allclose(even, np.stack([np.cos(expected), np.sin(expected)], axis=1), atol=2e-3)
