"""Resistive force theory against invariances, an independent scalar solver, Gray and Hancock, and a real worm."""

import numpy as np
import pytest
from scipy import linalg

from ethomarkov._core.series import Series
from ethomarkov.exceptions import InputFormatError
from ethomarkov.locomotion import Trajectory, propel, resistive, resistive_kernels, skeletons
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


def wavy_basis(rng, n_segments, n_modes):
    """Modes without order about a mean posture that is not straight."""
    return PostureBasis(
        vectors=np.linalg.qr(rng.normal(size=(n_segments, n_modes)))[0],
        mean=0.3 * np.cos(np.arange(n_segments)),
        explained_variance=np.full(n_modes, 1 / n_modes),
        features="angle",
        source="test",
    )


def numpy_path(theta, alpha):
    """Block-free numpy version of the default scheme, on a body of unit length."""

    def centred(angles):
        step = np.stack([np.cos(angles), np.sin(angles)], axis=-1) / angles.shape[1]
        middle = np.cumsum(step, axis=1) - step / 2
        return middle - middle.mean(axis=1, keepdims=True)

    def cross(a, b):
        return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]

    u = np.diff(centred(theta), axis=0)
    middle = (theta[1:] + theta[:-1]) / 2
    t, r = np.stack([np.cos(middle), np.sin(middle)], axis=-1), centred(middle)
    basis = np.concatenate([t, cross(r, t)[..., None]], axis=-1)
    matrix = (1 - alpha) * np.einsum("fsi,fsj->fij", basis, basis)
    matrix[:, [0, 1], [0, 1]] += alpha * theta.shape[1]
    matrix[:, 2, 2] += alpha * np.einsum("fsk,fsk->f", r, r)
    pull = (alpha - 1) * np.einsum("fsi,fsk,fsk->fi", basis, t, u)
    pull[:, 2] -= alpha * cross(r, u).sum(axis=1)
    moves = np.concatenate([np.zeros((1, 3)), np.linalg.solve(matrix, pull[..., None])[..., 0]])
    heading = np.cumsum(moves[:, 2])
    steps = (moves[:, 0] + 1j * moves[:, 1]) * np.exp(1j * (heading - moves[:, 2] / 2))
    place = np.cumsum(steps)
    return np.stack([place.real, place.imag], axis=1), heading


def published_path(theta, alpha, dt=1 / 16):
    """Plain transcription of the published procedure, with its rotations to the body frame and its two slips."""
    n_frames, n = theta.shape
    weights = np.full(n + 1, 1 / n)
    weights[[0, -1]] /= 2
    step = np.exp(1j * theta) / n
    x = np.concatenate([np.zeros((n_frames, 1)), np.cumsum(step, axis=1)], axis=1)
    delta = x - (x @ weights)[:, None]
    moment = np.abs(delta) ** 2 @ weights
    place, turned, orientation, places = 0j, 0.0, 0.0, [0j]
    for i in range(1, n_frames):
        rate = (delta[i] - delta[i - 1]) / dt
        apparent = (np.conj(delta[i]) * rate).imag @ weights / moment[i - 1]
        before, orientation = orientation, orientation + apparent * dt
        v = (rate - 1j * apparent * delta[i]) * np.exp(-1j * before)
        d = delta[i] * np.exp(-1j * orientation)
        t = -np.gradient(d)
        t /= np.abs(t)
        motions = np.stack([np.ones(n + 1), 1j * np.ones(n + 1), 1j * d])  # unit translations and rotation
        along = (np.conj(t) * motions).real
        matrix = alpha * np.einsum("ik,jk,k->ij", np.conj(motions), motions, weights).real
        matrix += (1 - alpha) * (along * weights) @ along.T
        # force and torque of the deformation: its mean and rotation were taken out, what the slips leave is ignored
        vx, vy, omega = np.linalg.lstsq(matrix, (alpha - 1) * (along * weights) @ (np.conj(t) * v).real)[0]
        place += (vx + 1j * vy) * np.exp(1j * turned) * dt
        turned += omega * dt
        places.append(place)
    return np.stack([np.real(places), np.imag(places)], axis=1)


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


@pytest.mark.parametrize("alpha", [0.5, 1.0, 30.0, 1e4])
def test_the_kernel_equals_numpy(alpha):
    theta = gait(400, n_segments=100).astype(np.float32)
    path = path_of(theta, drag_ratio=alpha)
    centroid, heading = numpy_path(theta.astype(float), alpha)
    np.testing.assert_allclose(path.centroid, centroid, atol=1e-9)
    np.testing.assert_allclose(path.heading, heading, atol=1e-9)


def test_wild_postures_equal_numpy():
    """Jumps of more than half a turn between frames, angles of many turns."""
    theta = np.random.default_rng(0).normal(0, 4, (60, 23)).astype(np.float32)
    centroid, heading = numpy_path(theta.astype(float), 30.0)
    path = path_of(theta)
    np.testing.assert_allclose(path.centroid, centroid, atol=1e-9)
    np.testing.assert_allclose(path.heading, heading, atol=1e-9)


def test_sine_and_cosine_of_the_kernel():
    angles = np.linspace(-50, 50, 20_001)
    sines = [resistive_kernels.sin(angle) for angle in angles]
    cosines = [resistive_kernels.cos(angle) for angle in angles]
    np.testing.assert_allclose(sines, np.sin(angles), atol=2e-13)
    np.testing.assert_allclose(cosines, np.cos(angles), atol=2e-13)


@pytest.mark.parametrize("turns", [0.0, 0.5, 1e3, -1e6])
def test_direction_takes_off_whole_turns(turns):
    """To 1e-13 of the angle that is left after so many turns, which is known to the rounding of the whole."""
    angles = np.linspace(-3.5, 3.5, 7_001)
    given = turns + angles / (2 * np.pi)
    found = np.array([resistive_kernels.direction(angle) for angle in given])
    left = 2 * np.pi * (given - np.rint(given))  # exact but for the last product
    np.testing.assert_allclose(found, np.stack([np.cos(left), np.sin(left)], axis=1), atol=1e-13)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-13)


@pytest.mark.parametrize("jump", [1.0, 3.1, 3.2, 40.0])
def test_jumps_of_any_size_between_frames(jump):
    """Up to half a turn the short polynomial holds; beyond, the full one is needed."""
    theta = gait(70, n_segments=20)
    theta[::2, 7] += jump
    theta = theta.astype(np.float32)
    centroid, heading = numpy_path(theta.astype(float), 30.0)
    path = path_of(theta)
    np.testing.assert_allclose(path.centroid, centroid, atol=1e-9)
    np.testing.assert_allclose(path.heading, heading, atol=1e-9)


@pytest.mark.parametrize("n_modes", [1, 5, 6, 13])
@pytest.mark.parametrize("scale", [0.2, 6.0])
def test_any_number_of_modes_and_segments(n_modes, scale):
    """Modes and segments are taken in groups; amplitudes of size 6 jump by more than half a turn."""
    rng = np.random.default_rng(n_modes)
    basis = wavy_basis(rng, 33, n_modes)
    waves = Series.from_rows(rng.normal(0, scale, (101, n_modes)), 16.0)
    path = propel(waves, basis=basis)
    centroid, heading = numpy_path(waves.values.astype(float) @ basis.vectors.T + basis.mean, 30.0)
    np.testing.assert_allclose(path.centroid, centroid, atol=1e-9)
    np.testing.assert_allclose(path.heading, heading, atol=1e-9)


@pytest.mark.parametrize("scheme", ["midpoint", "paper"])
def test_blocks_of_frames_do_not_matter(scheme, monkeypatch):
    whole = path_of(gait(300), scheme=scheme)
    monkeypatch.setattr(resistive, "BLOCK_FRAMES", 64)
    blocks = path_of(gait(300), scheme=scheme)
    np.testing.assert_array_equal(blocks.centroid, whole.centroid)
    np.testing.assert_array_equal(blocks.heading, whole.heading)


@pytest.mark.parametrize("scheme", ["midpoint", "paper"])
def test_amplitudes_with_their_basis(scheme):
    rng = np.random.default_rng(1)
    basis = wavy_basis(rng, 30, 4)
    waves = Series.from_rows(np.cumsum(rng.normal(0, 0.2, (200, 4)), axis=0), 16.0)
    path = propel(waves, basis=basis, scheme=scheme)
    same = propel(basis.reconstruct(waves), scheme=scheme)  # angles in single precision
    np.testing.assert_allclose(path.centroid, same.centroid, atol=1e-5)
    np.testing.assert_allclose(path.heading, same.heading, atol=1e-5)
    if scheme == "midpoint":
        centroid, heading = numpy_path(waves.values.astype(float) @ basis.vectors.T + basis.mean, 30.0)
        np.testing.assert_allclose(path.centroid, centroid, atol=1e-9)
        np.testing.assert_allclose(path.heading, heading, atol=1e-9)


def test_a_basis_that_does_not_fit():
    with pytest.raises(InputFormatError, match="5 modes"):
        path_of(gait(5), basis=PostureBasis.analytic())


def test_threads_do_not_matter():
    theta = gait(200)
    theta[[50, 51, 120]] = np.nan
    np.testing.assert_array_equal(path_of(theta, threads=2).centroid, path_of(theta).centroid)


def test_one_length_per_individual():
    series = Series.from_rows(gait(20), 16.0, np.array([0, 10, 20]))
    plain, scaled = propel(series), propel(series, body_length=np.array([2.0, 3.0]), length_unit="mm")
    np.testing.assert_allclose(scaled.centroid[:10], 2 * plain.centroid[:10], rtol=1e-12)
    np.testing.assert_allclose(scaled.centroid[10:], 3 * plain.centroid[10:], rtol=1e-12)
    assert scaled.length_unit == "mm"
    with pytest.raises(InputFormatError, match="2 individuals"):
        propel(series, body_length=np.ones(3))


class TestPublishedScheme:
    @pytest.mark.parametrize("alpha", [0.5, 5.0, 30.0])
    def test_equals_a_plain_transcription(self, alpha):
        theta = gait(80).astype(np.float32)
        path = path_of(theta, drag_ratio=alpha, scheme="paper")
        np.testing.assert_allclose(path.centroid, published_path(theta.astype(float), alpha), atol=1e-9)

    @pytest.mark.parametrize("n_frames", [2, 32, 33, 34, 97])
    def test_runs_of_any_length(self, n_frames):
        """Frames are taken in lanes, each next to the frame before it."""
        theta = gait(n_frames).astype(np.float32)
        path = path_of(theta, scheme="paper")
        np.testing.assert_allclose(path.centroid, published_path(theta.astype(float), 30.0), atol=1e-9)
        assert np.abs(path.centroid[-1]).max() > 1e-4

    @pytest.mark.parametrize("n_segments", [2, 3, 4, 5, 101])
    def test_any_number_of_segments(self, n_segments):
        """Wild postures: jumps of more than half a turn along the body and from frame to frame."""
        theta = np.random.default_rng(n_segments).normal(0, 4, (60, n_segments)).astype(np.float32)
        path = path_of(theta, scheme="paper")
        expected = published_path(theta.astype(float), 30.0)
        np.testing.assert_allclose(path.centroid, expected, rtol=1e-9, atol=1e-9)

    @pytest.mark.parametrize("n_modes", [1, 5, 6, 13])
    def test_any_number_of_modes(self, n_modes):
        rng = np.random.default_rng(n_modes)
        basis = wavy_basis(rng, 33, n_modes)
        waves = Series.from_rows(np.cumsum(rng.normal(0, 0.2, (101, n_modes)), axis=0), 16.0)
        path = propel(waves, basis=basis, scheme="paper")
        theta = waves.values.astype(float) @ basis.vectors.T + basis.mean
        np.testing.assert_allclose(path.centroid, published_path(theta, 30.0), atol=1e-9)

    @pytest.mark.parametrize("dt", [1.0, 1 / 32])
    def test_the_frame_interval_cancels(self, dt):
        theta = gait(30)
        np.testing.assert_allclose(published_path(theta, 30.0, dt), published_path(theta, 30.0), atol=1e-10)

    def test_invariances(self):
        path = path_of(gait(), scheme="paper")
        mirrored, longer = path_of(-gait(), scheme="paper"), path_of(gait(), body_length=1.7, scheme="paper")
        np.testing.assert_allclose(mirrored.centroid, path.centroid * [1, -1], atol=1e-12)
        np.testing.assert_allclose(mirrored.heading, -path.heading, atol=1e-12)
        np.testing.assert_allclose(longer.centroid, 1.7 * path.centroid, rtol=1e-12)
        still = path_of(np.repeat(gait(1), 9, axis=0), scheme="paper")
        np.testing.assert_allclose(still.centroid, 0, atol=1e-14)
        even = path_of(gait(), drag_ratio=1.0, scheme="paper")
        np.testing.assert_allclose(even.centroid, 0, atol=1e-12)

    def test_is_of_first_order(self):
        ends = [path_of(gait(10 * rate + 1, rate), rate, scheme="paper").centroid[-1] for rate in (128, 256, 512, 1024)]
        steps = np.linalg.norm(np.diff(ends, axis=0), axis=1)
        np.testing.assert_allclose(steps[:-1] / steps[1:], 2, rtol=0.1)

    def test_tends_to_the_path_of_the_other_scheme(self):
        """With short intervals and many segments; the two sum over the body by different rules."""
        theta = gait(1281, 128.0, n_segments=200)
        ends = [path_of(theta, 128.0, scheme=scheme).centroid[-1] for scheme in ("midpoint", "paper")]
        assert np.linalg.norm(ends[0] - ends[1]) < 0.01 * np.linalg.norm(ends[0])

    def test_unknown_scheme(self):
        with pytest.raises(InputFormatError, match="'midpoint', 'paper'"):
            path_of(gait(5), scheme="euler")


class TestSkeletons:
    @pytest.mark.parametrize("scheme", ["midpoint", "paper"])
    def test_the_body_lies_on_its_path(self, scheme):
        theta = gait()
        series = Series.from_rows(theta, 16.0)
        path = propel(series, body_length=0.7, scheme=scheme)
        rows = np.array([5, 100])
        joints = skeletons(path, series, rows, body_length=0.7)
        middles = skeletons(path, series, rows, body_length=0.7, points="midpoints")
        assert joints.shape == (2, 41, 2)
        np.testing.assert_allclose((joints[:, 1:] + joints[:, :-1]) / 2, middles, atol=1e-12)
        np.testing.assert_allclose(middles.mean(axis=1), path.centroid[rows], atol=1e-12)
        steps = np.diff(joints, axis=1) @ [1, 1j]
        np.testing.assert_allclose(steps, 0.7 / 40 * np.exp(1j * (theta + path.heading[:, None])[rows]), atol=1e-8)

    def test_with_huge_normal_drag_segments_move_along_themselves(self):
        """A wave of one shape that passes through the body: each point follows the one before it."""
        s = (np.arange(100) + 0.5) / 100
        theta = 0.7 * np.cos(2 * np.pi * (s / 0.5 - np.arange(200)[:, None] / 200))
        series = Series.from_rows(theta, 200.0)
        path = propel(series, 1e6)
        middles = skeletons(path, series, points="midpoints") @ [1, 1j]
        tangent = np.exp(1j * (theta + path.heading[:, None]))
        move = np.diff(middles, axis=0) * np.conj((tangent[1:] + tangent[:-1]) / 2)
        assert np.abs(move.imag).max() < 0.02 * np.abs(move.real).max()
        assert (move.real < 0).all(), "head first"

    def test_gaps_and_amplitudes(self):
        basis = PostureBasis.analytic(20)
        waves = np.random.default_rng(0).normal(size=(12, 5))
        waves[4] = np.nan
        series = Series.from_rows(waves, 16.0)
        path = propel(series, basis=basis)
        found = skeletons(path, series, basis=basis)
        assert np.flatnonzero(np.isnan(found).any(axis=(1, 2))).tolist() == [4]
        np.testing.assert_allclose(found, skeletons(path, basis.reconstruct(series)), atol=1e-6)

    def test_of_another_recording(self):
        with pytest.raises(InputFormatError, match="5 frames"):
            skeletons(path_of(gait(5)), Series.from_rows(gait(6), 16.0))


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
    path = Trajectory(centroid=centroid, heading=np.zeros(20), segments=series.segments, sampling=series.sampling)
    speed = path.speed(1.0)
    np.testing.assert_allclose(speed[[0, 5, 10, 15]], 5.0)
    assert np.flatnonzero(np.isnan(speed)).tolist() == [6, 7, 8, 9, 16, 17, 18, 19]
