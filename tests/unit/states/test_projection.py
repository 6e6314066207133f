"""Maps: positions where there are sequences, principal directions exact, neighbours in time kept together."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from ethomarkov._core.series import Series
from ethomarkov.exceptions import InputFormatError
from ethomarkov.states import Microstates, Partition
from ethomarkov.states.projection import count_neighbors, map_sequences


@pytest.fixture(scope="module")
def wave():
    """Two animals on a noisy cycle, with gaps."""
    rng = np.random.default_rng(0)
    phase = np.cumsum(rng.normal(0.2, 0.02, 1500))
    shapes = rng.normal(size=(4, 8)) * np.array([5.0, 3.0, 1.0, 0.5])[:, None]
    rows = np.stack([np.cos(phase), np.sin(phase), np.cos(2 * phase), np.sin(2 * phase)], axis=1) @ shapes
    rows += 0.1 * rng.normal(size=rows.shape)
    rows[100:140] = rows[900] = np.nan
    return Series.from_rows(rows, 16.0, np.array([0, 600, 1500]))


@pytest.fixture(scope="module")
def microstates(wave):
    return Partition(30).fit(wave).microstates_


def distances_in_time(series: Series, positions: np.ndarray) -> tuple[float, float]:
    """Median distance of successive frames, and of random ones."""
    first, last = series.segments.pairs(1)
    anywhere = np.random.default_rng(0).permutation(last)
    near, far = (np.linalg.norm(positions[first] - positions[other], axis=1) for other in (last, anywhere))
    return float(np.median(near)), float(np.median(far))


def test_pca_has_a_position_for_every_sequence_and_no_other(wave, microstates):
    found = map_sequences(wave, microstates, method="pca")
    assert found.frames.shape == (1500, 2)
    assert found.frames.dtype == found.centers.dtype == np.float32
    assert found.centers.shape == (30, 2)
    np.testing.assert_array_equal(np.isfinite(found.frames).all(axis=1), wave.segments.valid)
    np.testing.assert_array_equal(np.isnan(found.frames).all(axis=1), ~wave.segments.valid)
    assert not found.frames.flags.writeable
    assert found.method == "pca"
    assert "1,459 sequences" in found.source


def test_pca_equals_scikit_learn_up_to_sign(wave, microstates):
    found = map_sequences(wave, microstates, method="pca")
    points = wave.values[wave.segments.valid].astype(float)
    oracle = PCA(2).fit(points)
    signs = np.sign(oracle.components_[[0, 1], np.abs(oracle.components_).argmax(axis=1)])
    np.testing.assert_allclose(
        found.frames[wave.segments.valid], oracle.transform(points) * signs, rtol=1e-3, atol=1e-3
    )
    np.testing.assert_allclose(found.centers, oracle.transform(microstates.centers) * signs, rtol=1e-3, atol=1e-3)


def test_pca_is_the_same_for_the_same_and_for_any_seed(wave, microstates):
    one, two = (map_sequences(wave, microstates, method="pca", seed=seed) for seed in (0, 1))
    np.testing.assert_array_equal(one.frames, two.frames)
    np.testing.assert_array_equal(one.centers, two.centers)


def test_pca_of_one_component_lies_on_a_line():
    series = Series.from_rows(np.arange(10.0), 16.0)
    found = map_sequences(series, Partition(2).fit(series).microstates_, method="pca")
    np.testing.assert_allclose(found.frames[:, 0], np.arange(10) - 4.5, rtol=1e-6)
    assert (found.frames[:, 1] == 0).all()


@pytest.mark.parametrize(("n_points", "wanted"), [(4, 2), (8, 2), (100, 25), (200, 50), (100_000, 50)])
def test_neighbors_shrink_with_the_points(n_points, wanted):
    assert count_neighbors(n_points) == wanted


@pytest.mark.parametrize("method", ["umap", "pca"])
def test_two_sequences_make_no_map(method):
    series = Series.from_rows(np.array([[0.0, 1.0], [1.0, 0.0], [np.nan, 0.0]]), 16.0)
    microstates = Microstates(centers=np.zeros((1, 2), np.float32), visits=np.array([2]), inertia=0.5)
    with pytest.raises(InputFormatError, match=r"at least 3 sequences; there are 2\. Use shorter"):
        map_sequences(series, microstates, method=method)


def test_requests_that_make_no_sense_are_refused(wave, microstates):
    with pytest.raises(InputFormatError, match="use 'umap' or 'pca'"):
        map_sequences(wave, microstates, method="tsne")
    with pytest.raises(InputFormatError, match="n_fitted=1 "):
        map_sequences(wave, microstates, n_fitted=1)
    with pytest.raises(InputFormatError, match="have 3 components, the microstates 8"):
        map_sequences(wave.with_rows(wave.values[:, :3]), microstates, method="pca")


@pytest.mark.slow
@pytest.mark.parametrize("n_fitted", [20_000, 700])
def test_umap_keeps_neighbours_in_time_together(wave, microstates, n_fitted):
    reported = []
    found = map_sequences(wave, microstates, n_fitted=n_fitted, progress=lambda *step: reported.append(step))
    assert found.frames.shape == (1500, 2)
    np.testing.assert_array_equal(np.isfinite(found.frames).all(axis=1), wave.segments.valid)
    assert np.isfinite(found.centers).all()
    successive, random = distances_in_time(wave, found.frames)
    assert successive < 0.3 * random
    assert reported[0] == ("map", 0, 1459)
    assert reported[-1] == ("map", 1459, 1459)
    assert ("five nearest" in found.source) == (n_fitted == 700)


@pytest.mark.slow
def test_umap_puts_centers_among_their_sequences(wave, microstates):
    found = map_sequences(wave, microstates)
    labels = microstates.label(wave).labels
    own = [np.median(found.frames[labels == state], axis=0) for state in range(30)]
    off = np.linalg.norm(found.centers - own, axis=1)
    assert np.median(off) < 0.1 * np.linalg.norm(np.nanstd(found.frames, axis=0))


@pytest.mark.slow
@pytest.mark.parametrize("n_frames", [3, 12, 80])
def test_umap_of_few_sequences(n_frames):
    series = Series.from_rows(np.random.default_rng(0).normal(size=(n_frames, 3)), 16.0)
    found = map_sequences(series, Partition(2).fit(series).microstates_)
    assert np.isfinite(found.frames).all()
