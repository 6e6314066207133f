"""The body wave and the bend, on waves that are known."""

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from ethomarkov._core.series import Series
from ethomarkov.posture import PostureBasis, head_tail_bend, paper_gamma, phase_velocity, wavelength


def rotating(frequency, rate=16.0, n=200, amplitude=6.0):
    """Amplitudes of a wave at constant phase velocity, in the sign convention of the eigenworms."""
    phase = 2 * np.pi * frequency * np.arange(n) / rate
    modes = np.zeros((n, 5))
    modes[:, 0], modes[:, 1] = amplitude * np.cos(phase), -amplitude * np.sin(phase)
    return modes


@pytest.mark.parametrize("n_frames", [4, 5, 60])
def test_phase_velocity_is_the_slope_of_a_cubic_spline(n_frames):
    series = Series.from_rows(np.cumsum(np.random.default_rng(n_frames).normal(size=(n_frames, 5)), axis=0), 16.0)
    a1, a2 = series.values[:, :2].T.astype(float)
    frames = np.arange(n_frames)
    slope = CubicSpline(frames, -np.unwrap(np.arctan2(a2, a1)))(frames, 1)
    np.testing.assert_allclose(phase_velocity(series), slope * 16 / (2 * np.pi), atol=1e-12)


class TestPhaseVelocity:
    @pytest.mark.parametrize("frequency", [0.5, -0.3, 0.0, 2.7, -7.9])
    @pytest.mark.parametrize("rate", [16.0, 30.0])
    def test_a_constant_wave_is_measured_exactly(self, frequency, rate):
        """Any phase velocity below half the frame rate; forward is positive."""
        omega = phase_velocity(Series.from_rows(rotating(frequency, rate), rate))
        np.testing.assert_allclose(omega, frequency, atol=2e-5)

    def test_a_changing_velocity(self):
        time = np.arange(400) / 16
        phase = 2 * np.pi * (0.5 * time + 0.2 * np.sin(time))
        modes = 5 * np.stack([np.cos(phase), -np.sin(phase)], axis=1)
        omega = phase_velocity(Series.from_rows(modes, 16.0))
        np.testing.assert_allclose(omega[2:-2], (0.5 + 0.2 * np.cos(time))[2:-2], atol=1e-4)

    def test_missing_exactly_at_gaps(self):
        modes = rotating(0.5)
        modes[[50, 51, 120]] = np.nan
        omega = phase_velocity(Series.from_rows(modes, 16.0))
        assert np.flatnonzero(np.isnan(omega)).tolist() == [50, 51, 120]
        np.testing.assert_allclose(omega[np.isfinite(omega)], 0.5, atol=2e-5)

    def test_runs_of_fewer_than_four_frames_have_none(self):
        modes = rotating(0.5, n=12)
        modes[[3, 8]] = np.nan
        omega = phase_velocity(Series.from_rows(modes, 16.0))
        assert np.isfinite(omega).tolist() == [False] * 4 + [True] * 4 + [False] * 4

    def test_animals_are_not_joined(self):
        rows = np.concatenate([rotating(0.5, n=20), rotating(-0.5, n=20)])
        omega = phase_velocity(Series.from_rows(rows, 16.0, np.array([0, 20, 40])))
        np.testing.assert_allclose(omega, np.repeat([0.5, -0.5], 20), atol=2e-5)


class TestWavelength:
    @pytest.mark.parametrize("length", [0.5, 0.6, 0.7, 0.8, 0.9])
    @pytest.mark.parametrize("n_segments", [48, 100])
    def test_pure_waves_of_any_phase(self, length, n_segments):
        """To 5 % in every frame: the fast run states of the paper differ by 20 % (0.62 and 0.75 body lengths)."""
        s = (np.arange(n_segments) + 0.5) / n_segments
        phase = np.linspace(0, 2 * np.pi, 36, endpoint=False)
        theta = 0.8 * np.sin(2 * np.pi * s / length + phase[:, None])
        found = wavelength(Series.from_rows(theta, 16.0))
        np.testing.assert_allclose(found, length, rtol=0.05)

    def test_the_mean_angle_and_the_amplitude_do_not_matter(self):
        s = (np.arange(100) + 0.5) / 100
        theta = np.sin(2 * np.pi * s / 0.55)[None] * np.array([[0.1], [1.0], [1.0]]) + np.array([[0], [0], [4.0]])
        found = wavelength(Series.from_rows(theta, 16.0))
        np.testing.assert_array_equal(found, found[0])

    def test_missing_where_the_posture_is(self):
        theta = np.sin(np.linspace(0, 9, 50)) * np.ones((5, 1))
        theta[2, 4] = np.nan
        assert np.isnan(wavelength(Series.from_rows(theta, 16.0))).tolist() == [False, False, True, False, False]

    def test_blocks_do_not_matter(self, monkeypatch):
        s = (np.arange(60) + 0.5) / 60
        theta = np.sin(2 * np.pi * s / np.linspace(0.5, 0.9, 25)[:, None])
        whole = wavelength(Series.from_rows(theta, 16.0))
        monkeypatch.setattr("ethomarkov.posture.bodywave.BLOCK_FRAMES", 4)
        np.testing.assert_array_equal(wavelength(Series.from_rows(theta, 16.0)), whole)


class TestBend:
    def test_sign_and_size(self):
        """A body whose angle grows by one radian from head to tail bends ventrally by nine tenths of it."""
        s = (np.arange(100) + 0.5) / 100
        bend = head_tail_bend(Series.from_rows(np.stack([s, -s, 0 * s + 3.0]), 16.0))
        np.testing.assert_allclose(bend, [0.9, -0.9, 0.0], atol=1e-6)

    def test_positive_third_mode_bends_ventrally(self):
        basis = PostureBasis.analytic()
        amplitudes = np.zeros((2, 5))
        amplitudes[:, 2] = [15.0, -15.0]
        ventral, dorsal = head_tail_bend(basis.reconstruct(Series.from_rows(amplitudes, 16.0)))
        assert ventral > 2
        assert dorsal == pytest.approx(-ventral, rel=1e-6)

    def test_short_bodies(self):
        assert head_tail_bend(Series.from_rows(np.array([[0.0, 1.0, 3.0]]), 1.0))[0] == 3.0


@pytest.mark.real
def test_paper_gamma_is_the_sum_of_angles_of_the_published_file(shared_data):
    eigenworms = np.loadtxt(shared_data("eigenworms.csv"), delimiter=",").astype(np.float32)[:, :5]
    amplitudes = np.load(shared_data("worm6.npz"))["modes"][:3000]
    summed = (amplitudes @ eigenworms.T.astype(float)).sum(axis=1)
    # the published residues have five digits; γ has a scale of 3e-4
    np.testing.assert_allclose(paper_gamma(Series.from_rows(amplitudes, 16.0)), summed, atol=2e-8)


@pytest.mark.real
def test_wave_of_the_eigenworms_moves_forward_and_has_their_length(shared_data):
    basis = PostureBasis.from_file(shared_data("eigenworms.csv"))
    series = Series.from_rows(rotating(0.5), 16.0)
    np.testing.assert_allclose(phase_velocity(series), 0.5, atol=2e-5)
    theta = basis.reconstruct(series).values
    # the crests of the angles travel from head to tail
    early, late = theta[0], theta[2]
    shifts = [np.dot(early[10 - k : 90 - k], late[10:90]) for k in range(-8, 9)]
    assert np.argmax(shifts) - 8 > 0
