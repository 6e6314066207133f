"""Resistive force theory against invariances, an independent scalar solver, Gray and Hancock, and a real worm."""

import numpy as np
import pytest
from scipy import linalg

from ethomarkov._core.series import Series
from ethomarkov.exceptions import InputFormatError
from ethomarkov.locomotion import Path, propel
from ethomarkov.posture import PostureBasis


def gait(n_frames=160, rate=16.0, n_segments=40, bend=0.3):
    """A body wave of slowly changing amplitude on a breathing bend, so that the path turns."""
    time = np.arange(n_frames)[:, None] / rate
    s = (np.arange(n_segments) + 0.5) / n_segments
    wave = (0.8 + 0.2 * np.sin(0.7 * time)) * np.cos(2 * np.pi * (s / 0.65 - 0.5 * time))
    theta = wave + bend * (1 + 0.5 * np.sin(1.1 * time)) * (s - 0.5) * 4
    return theta - theta.mean(axis=1, keepdims=True)


def path_of(theta, rate=16.0, **options):
    return propel(Series.from_rows(theta, rate), **options)


def scalar_path(theta, alpha, length):
    """Plain loops: drag on each segment from its normal and tangent, unit motions as columns of the balance."""
    n_frames, n_segments = theta.shape
    step = length / n_segments

    def centres(angles):
        x = y = 0.0
        points = []
        for angle in angles:
            points.append((x + step / 2 * np.cos(angle), y + step / 2 * np.sin(angle)))
            x, y = x + step * np.cos(angle), y + step * np.sin(angle)
        mean = np.mean(points, axis=0)
        return [(px - mean[0], py - mean[1]) for px, py in points]

    place, turned = np.zeros(2), 0.0
    track, heading = [place.copy()], [turned]
    for frame in range(n_frames - 1):
        before, after = centres(theta[frame]), centres(theta[frame + 1])
        angles = [(a + b) / 2 for a, b in zip(theta[frame], theta[frame + 1], strict=True)]
        middle = centres(angles)

        def load(motion, with_deformation, before=before, after=after, middle=middle, angles=angles):
            vx, vy, spin = motion
            fx = fy = torque = 0.0
            for k, angle in enumerate(angles):
                rx, ry = middle[k]
                wx, wy = vx - spin * ry, vy + spin * rx
                if with_deformation:
                    wx, wy = wx + after[k][0] - before[k][0], wy + after[k][1] - before[k][1]
                tx, ty = np.cos(angle), np.sin(angle)
                along, across = wx * tx + wy * ty, -wx * ty + wy * tx
                gx, gy = -(along * tx - alpha * across * ty), -(along * ty + alpha * across * tx)
                fx, fy, torque = fx + gx, fy + gy, torque + rx * gy - ry * gx
            return np.array([fx, fy, torque])

        unit = np.column_stack([load(column, False) for column in np.eye(3)])
        vx, vy, spin = linalg.solve(unit, -load((0, 0, 0), True))
        angle = turned + spin / 2
        place = place + [vx * np.cos(angle) - vy * np.sin(angle), vx * np.sin(angle) + vy * np.cos(angle)]
        turned += spin
        track.append(place.copy())
        heading.append(turned)
    return np.array(track), np.array(heading)


@pytest.mark.parametrize("alpha", [1.5, 30.0, 0.5])
def test_equals_an_independent_scalar_solver(alpha):
    theta = gait(25, n_segments=17).astype(np.float32).astype(float)
    path = path_of(theta, drag_ratio=alpha, body_length=1.3)
    track, heading = scalar_path(theta, alpha, 1.3)
    np.testing.assert_allclose(path.centroid, track, atol=1e-9)
    np.testing.assert_allclose(path.heading, heading, atol=1e-9)
    assert np.ptp(track, axis=0).max() > 0.05


def test_a_static_posture_does_not_move():
    path = path_of(np.repeat(gait(1), 50, axis=0))
    np.testing.assert_allclose(path.centroid, 0, atol=1e-12)
    np.testing.assert_allclose(path.heading, 0, atol=1e-12)


def test_equal_drag_along_and_across_does_not_move_the_centroid():
    path = path_of(gait(), drag_ratio=1.0)
    np.testing.assert_allclose(path.centroid, 0, atol=1e-9)


def test_the_mirrored_gait_gives_the_mirrored_path():
    path, mirrored = path_of(gait()), path_of(-gait())
    np.testing.assert_allclose(mirrored.centroid, path.centroid * [1, -1], atol=1e-9)
    np.testing.assert_allclose(mirrored.heading, -path.heading, atol=1e-9)
    assert np.abs(path.heading).max() > 0.1


def test_the_gait_run_backwards_retraces_the_path():
    """Without inertia only the sequence of shapes matters (the scallop theorem)."""
    theta = gait()
    path = path_of(np.concatenate([theta, theta[-2::-1]]))
    np.testing.assert_allclose(path.centroid[-1], 0, atol=1e-9)
    np.testing.assert_allclose(path.heading[-1], 0, atol=1e-9)
    np.testing.assert_allclose(path.centroid[::-1], path.centroid, atol=1e-9)


def test_lengths_scale():
    np.testing.assert_allclose(
        path_of(gait(), body_length=0.7).centroid, 0.7 * path_of(gait()).centroid, rtol=1e-12, atol=1e-15
    )
    np.testing.assert_array_equal(path_of(gait(), body_length=0.7).heading, path_of(gait()).heading)


@pytest.mark.parametrize("rate", [1.0, 30.0])
def test_the_frame_rate_does_not_change_the_path(rate):
    np.testing.assert_array_equal(path_of(gait(), rate).centroid, path_of(gait()).centroid)


def test_orientation_given_with_the_angles_turns_the_path():
    theta, angle = gait(), 0.8
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    np.testing.assert_allclose(path_of(theta + angle).centroid, path_of(theta).centroid @ turn, atol=1e-6)


def test_blocks_do_not_matter(monkeypatch):
    whole = path_of(gait())
    monkeypatch.setattr("ethomarkov.locomotion.resistive.BLOCK_FRAMES", 7)
    np.testing.assert_allclose(path_of(gait()).centroid, whole.centroid, atol=1e-12)


def test_second_order_in_the_frame_interval():
    def end(rate):
        path = path_of(gait(n_frames=int(10 * rate) + 1, rate=rate), rate)
        return np.array([*path.centroid[-1], path.heading[-1]])

    exact = end(512.0)
    errors = [np.linalg.norm(end(rate) - exact) for rate in (8.0, 16.0, 32.0)]
    assert 3.5 < errors[0] / errors[1] < 4.6
    assert 3.5 < errors[1] / errors[2] < 4.6


@pytest.mark.parametrize("alpha", [1.5, 2.0, 10.0, 30.0])
def test_gray_and_hancock(alpha):
    """A long slender swimmer of small amplitude a.

    U / V = (α − 1) ε / (1 + α ε) with ε = 2 π² a² / λ², which is half the mean square of the largest angle
    (Gray & Hancock 1955, without a head).
    """
    n_waves, peak = 8, 0.12
    s = (np.arange(400) + 0.5) / 400
    time = np.arange(65)[:, None] / 32
    theta = peak * np.sin(2 * np.pi * (n_waves * s - time))
    path = path_of(theta - theta.mean(axis=1, keepdims=True), 32.0, drag_ratio=alpha)
    speed = np.linalg.norm(path.centroid[-1]) / 2.0
    epsilon = peak**2 / 2
    assert speed == pytest.approx((alpha - 1) * epsilon / (1 + alpha * epsilon) / n_waves, rel=0.03)
    assert path.centroid[-1, 0] < 0, "a wave that travels from head to tail drives the body head first"


def test_a_gap_breaks_the_path():
    theta = gait()
    theta[60:63] = np.nan
    path = path_of(theta)
    assert np.flatnonzero(np.isnan(path.heading)).tolist() == [60, 61, 62]
    np.testing.assert_array_equal(path.centroid[[0, 63]], 0)
    np.testing.assert_allclose(path.centroid[63:], path_of(gait()[63:]).centroid, atol=1e-12)
    assert path.segments.bounds.tolist() == [[0, 60, 0], [63, 160, 0]]


def test_animals_and_single_frames_start_at_the_origin():
    theta = gait(20)
    theta[18] = np.nan
    path = propel(Series.from_rows(theta, 16.0, np.array([0, 10, 20]), ("a", "b")))
    np.testing.assert_array_equal(path.centroid[[0, 10, 19]], 0)
    np.testing.assert_array_equal(path.heading[[0, 10, 19]], 0)


@pytest.mark.parametrize("options", [{"drag_ratio": bad} for bad in (0.0, -3.0, np.nan, np.inf)])
def test_impossible_drag(options):
    with pytest.raises(InputFormatError, match="positive"):
        path_of(gait(5), **options)


@pytest.mark.parametrize("length", [0.0, -1.0, np.nan])
def test_impossible_lengths(length):
    with pytest.raises(InputFormatError, match="positive"):
        path_of(gait(5), body_length=length)


def test_speed_of_a_path_known_by_hand():
    series = Series.from_rows(np.zeros((20, 1)), 4.0, np.array([0, 10, 20]))
    centroid = np.stack([3.0 * np.arange(20), 4.0 * np.arange(20)], axis=1) / 4
    path = Path(centroid=centroid, heading=np.zeros(20), segments=series.segments, sampling=series.sampling)
    speed = path.speed(1.0)
    np.testing.assert_allclose(speed[[0, 5, 10, 15]], 5.0)
    assert np.flatnonzero(np.isnan(speed)).tolist() == [6, 7, 8, 9, 16, 17, 18, 19]


@pytest.mark.real
@pytest.mark.parametrize(
    ("alpha", "published"), [(2, 0.0527), (5, 0.1274), (30, 0.2161), (100, 0.2348), (1000, 0.2426)]
)
def test_published_speeds(shared_data, alpha, published):
    """Of the paper's first-order scheme; ours is of second order and differs by up to 1 %."""
    phase = 2 * np.pi * 0.5 * np.arange(960) / 16
    waves = Series.from_rows(np.stack([6 * np.cos(phase), -6 * np.sin(phase)], axis=1), 16.0)
    theta = PostureBasis.from_file(shared_data("eigenworms.csv"), n_modes=2).reconstruct(waves)
    path = propel(theta, alpha)
    assert np.linalg.norm(path.centroid[-1]) / 60 == pytest.approx(published, rel=0.015)


@pytest.mark.real
def test_a_real_worm_crawls_as_it_was_seen_to(shared_data):
    worm = np.load(shared_data("worm6.npz"))
    basis = PostureBasis.from_file(shared_data("eigenworms.csv"))
    path = propel(basis.reconstruct(Series.from_rows(worm["modes"], 16.0)))
    measured = np.full(len(path.centroid), np.nan)
    measured[:-16] = np.linalg.norm(worm["centroid_mm"][16:] - worm["centroid_mm"][:-16], axis=1)
    computed = path.speed(1.0)
    seen = np.isfinite(measured) & np.isfinite(computed)
    assert np.corrcoef(measured[seen], computed[seen])[0, 1] > 0.9
    length = (measured[seen] @ computed[seen]) / (computed[seen] @ computed[seen])
    assert length == pytest.approx(0.687, rel=0.02), "body length in mm that fits best"
