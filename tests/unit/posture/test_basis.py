"""Principal shapes against scikit-learn, and projections against linear algebra."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from ethomarkov._core.series import Series
from ethomarkov.exceptions import InputFormatError
from ethomarkov.posture import PostureBasis, align_keypoints, centerline_from_angles
from ethomarkov.recording import Recording, Track


def record(values, kind, rate=16.0):
    return Recording.from_tracks([Track(individual="a", values=values)], kind=kind, sampling_rate=rate)


@pytest.fixture(scope="module")
def shapes():
    """Random smooth bodies: 300 frames of 30 angles with unequal variances."""
    rng = np.random.default_rng(0)
    s = (np.arange(30) + 0.5) / 30
    modes = np.stack([np.cos(np.pi * k * s) for k in range(1, 8)])
    return rng.normal(size=(300, 7)) * [0.8, 0.5, 0.4, 0.2, 0.1, 0.05, 0.02] @ modes


class TestFit:
    def test_equals_principal_components_up_to_sign(self, shapes):
        basis = PostureBasis.fit(record(shapes, "angle"), n_modes=4)
        oracle = PCA(4).fit((shapes - shapes.mean(axis=1, keepdims=True)).astype(np.float32).astype(float))
        overlap = np.abs(np.sum(basis.vectors * oracle.components_.T, axis=0))
        np.testing.assert_allclose(overlap, 1, atol=1e-6)
        np.testing.assert_allclose(basis.explained_variance, oracle.explained_variance_ratio_, rtol=1e-5)
        np.testing.assert_allclose(basis.mean, oracle.mean_, atol=1e-6)
        assert basis.features == "angle"

    def test_orthonormal_with_the_largest_entry_positive(self, shapes):
        basis = PostureBasis.fit(record(shapes, "angle"), n_modes=5)
        np.testing.assert_allclose(basis.vectors.T @ basis.vectors, np.eye(5), atol=1e-12)
        largest = np.abs(basis.vectors).argmax(axis=0)
        assert (basis.vectors[largest, np.arange(5)] > 0).all()

    def test_incomplete_frames_do_not_count(self, shapes):
        holes = np.insert(shapes, 50, 1e3, axis=0)
        holes[50, 3] = np.nan
        whole, with_hole = (PostureBasis.fit(record(one, "angle"), n_modes=3) for one in (shapes, holes))
        np.testing.assert_allclose(with_hole.vectors, whole.vectors, atol=1e-6)

    def test_orientation_does_not_count(self, shapes):
        turned = shapes + np.random.default_rng(1).normal(size=(300, 1)) * 5
        straight, tilted = (PostureBasis.fit(record(one, "angle"), n_modes=3) for one in (shapes, turned))
        np.testing.assert_allclose(tilted.vectors, straight.vectors, atol=1e-4)

    def test_centerlines_give_the_modes_of_their_angles(self, shapes):
        lines = centerline_from_angles(shapes, orientation=np.linspace(0, 9, 300))
        from_lines = PostureBasis.fit(record(lines, "centerline"), n_modes=3, n_segments=30)
        from_angles = PostureBasis.fit(record(shapes, "angle"), n_modes=3)
        assert from_lines.n_features == 30
        overlap = np.abs(np.sum(from_lines.vectors * from_angles.vectors, axis=0))
        np.testing.assert_allclose(overlap, 1, atol=0.01)

    def test_keypoints(self):
        points = np.random.default_rng(0).normal(size=(200, 4, 2)) * 0.1 + np.arange(4)[:, None]
        basis = PostureBasis.fit(record(points, "position"), n_modes=3)
        assert basis.features == "keypoint"
        assert basis.n_features == 8
        oracle = PCA(3).fit(align_keypoints(points.astype(np.float32))[0].reshape(200, -1))
        np.testing.assert_allclose(np.abs(np.sum(basis.vectors * oracle.components_.T, axis=0)), 1, atol=1e-6)

    def test_amplitudes_need_no_basis(self, shapes):
        with pytest.raises(InputFormatError, match="amplitudes already"):
            PostureBasis.fit(record(shapes, "amplitude"))

    def test_more_modes_than_numbers(self, shapes):
        with pytest.raises(InputFormatError, match="at most 30"):
            PostureBasis.fit(record(shapes, "angle"), n_modes=31)


class TestProject:
    def test_vectors_in_the_span_come_back(self):
        basis = PostureBasis.analytic(60)
        amplitudes = np.random.default_rng(0).normal(size=(50, 5)) * 5
        amplitudes[7] = np.nan
        series = Series.from_rows(amplitudes, 16.0)
        angles = basis.reconstruct(series)
        again = basis.project(record(angles.values, "angle"))
        np.testing.assert_allclose(again.values, series.values, atol=1e-5)
        assert again.segments.bounds.tolist() == [[0, 7, 0], [8, 50, 0]]

    def test_back_and_forth_of_a_full_fitted_basis_is_the_identity(self, shapes):
        recording = record(shapes, "angle")
        basis = PostureBasis.fit(recording, n_modes=7)
        back = basis.reconstruct(basis.project(recording)).values
        np.testing.assert_allclose(back, shapes - shapes.mean(axis=1, keepdims=True), atol=1e-5)

    def test_amplitudes_are_the_matrix_product(self, shapes):
        basis = PostureBasis.fit(record(shapes, "angle"), n_modes=2)
        centred = shapes - shapes.mean(axis=1, keepdims=True)
        expected = [[np.dot(frame - basis.mean, mode) for mode in basis.vectors.T] for frame in centred]
        np.testing.assert_allclose(basis.project(record(shapes, "angle")).values, expected, atol=1e-5)

    def test_amplitudes_are_cut_to_the_modes_of_the_basis(self, shapes):
        recording = record(shapes, "amplitude")
        cut = PostureBasis.analytic().project(recording)
        np.testing.assert_array_equal(cut.values, recording.values[:, :5])

    def test_too_few_modes(self, shapes):
        with pytest.raises(InputFormatError, match="holds 3 modes; 5 were asked for"):
            PostureBasis.analytic().project(record(shapes[:, :3], "amplitude"))

    def test_wrong_number_of_segments(self, shapes):
        with pytest.raises(InputFormatError, match="describes 100 numbers"):
            PostureBasis.analytic().project(record(shapes, "angle"))

    def test_a_basis_of_angles_does_not_fit_keypoints(self):
        points = np.random.default_rng(0).normal(size=(20, 4, 2))
        with pytest.raises(InputFormatError, match="keypoints"):
            PostureBasis.analytic(8).project(record(points, "position"))

    def test_reconstruct_needs_the_modes_of_the_basis(self):
        with pytest.raises(InputFormatError, match="4 components, the basis 5 modes"):
            PostureBasis.analytic().reconstruct(Series.from_rows(np.ones((3, 4)), 16.0))

    def test_a_basis_of_another_resolution_serves_centerlines(self, shapes):
        basis = PostureBasis.analytic(60)
        angles = basis.reconstruct(Series.from_rows(np.random.default_rng(0).normal(size=(20, 5)) * 3, 16.0)).values
        lines = centerline_from_angles(angles)[:, ::2]
        again = basis.project(record(lines, "centerline")).values
        direct = basis.project(record(angles, "angle")).values
        np.testing.assert_allclose(again, direct, atol=0.05 * np.abs(direct).max())


@pytest.mark.parametrize("n_segments", [20, 48, 100])
def test_analytic_modes_are_orthonormal_and_free_of_rotation(n_segments):
    basis = PostureBasis.analytic(n_segments)
    assert basis.vectors.shape == (n_segments, 5)
    np.testing.assert_allclose(basis.vectors.T @ basis.vectors, np.eye(5), atol=1e-12)
    np.testing.assert_allclose(basis.vectors.sum(axis=0), 0, atol=1e-12)
    np.testing.assert_array_equal(basis.mean, 0)


def test_analytic_mode_3_turns_ventral_as_the_eigenworm_does():
    third = PostureBasis.analytic().vectors[:, 2]
    assert third[0] < 0 < third[-1]
    assert np.sum(np.diff(np.sign(third)) != 0) == 1


@pytest.mark.real
def test_analytic_modes_resemble_the_eigenworms(shared_data):
    eigenworms = PostureBasis.from_file(shared_data("eigenworms.csv"))
    overlap = eigenworms.vectors.T @ PostureBasis.analytic().vectors
    assert (np.diag(overlap) > 0.8).all()


@pytest.mark.real
def test_eigenworms_from_file(shared_data):
    path = shared_data("eigenworms.csv")
    basis = PostureBasis.from_file(path, n_modes=3)
    raw = np.loadtxt(path, delimiter=",")
    assert basis.vectors.shape == (100, 3)
    np.testing.assert_allclose(basis.vectors, raw[:, :3], atol=1e-7)
    np.testing.assert_allclose(basis.vectors.T @ basis.vectors, np.eye(3), atol=2e-5)
    with pytest.raises(InputFormatError, match="holds 100 modes; 101"):
        PostureBasis.from_file(path, n_modes=101)
