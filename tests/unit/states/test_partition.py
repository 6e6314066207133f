"""Microstates against brute force and scikit-learn."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans

from ethomarkov._core.series import Series
from ethomarkov.exceptions import InputFormatError
from ethomarkov.states import Partition


@pytest.fixture(scope="module")
def blobs():
    rng = np.random.default_rng(0)
    centers = rng.uniform(-10, 10, size=(40, 6))
    rows = centers[rng.integers(40, size=4000)] + rng.normal(size=(4000, 6))
    rows[rng.random(4000) < 0.05] = np.nan
    return Series.from_rows(rows, 16.0, np.array([0, 1000, 4000]))


def squared_distances(points, centers):
    return ((points[:, None].astype(float) - centers[None].astype(float)) ** 2).sum(axis=2)


def test_labels_are_the_nearest_centers(blobs):
    partition = Partition(60, seed=1).fit(blobs)
    symbols = partition.label(blobs)
    valid = blobs.segments.valid
    distances = squared_distances(blobs.values[valid], partition.microstates_.centers)
    chosen = distances[np.arange(valid.sum()), symbols.labels[valid]]
    np.testing.assert_allclose(chosen, distances.min(axis=1), rtol=1e-5, atol=1e-5)
    assert (symbols.labels[valid] == distances.argmin(axis=1)).mean() > 0.9999
    assert (symbols.labels[~valid] == -1).all()
    assert symbols.labels.dtype == np.int32
    assert symbols.n_states == 60
    assert symbols.segments.bounds.tolist() == blobs.segments.bounds.tolist()


def test_labels_far_from_the_origin(blobs):
    """Distances must not drown in the rounding of large float32 numbers."""
    shifted = blobs.with_rows(blobs.values + np.float32(1000.0))
    partition = Partition(40, seed=1).fit(shifted)
    valid = shifted.segments.valid
    distances = squared_distances(shifted.values[valid], partition.microstates_.centers)
    chosen = distances[np.arange(valid.sum()), partition.label(shifted).labels[valid]]
    assert np.mean(chosen <= distances.min(axis=1) + 0.02) > 0.999


def test_inertia_is_the_mean_squared_distance(blobs):
    partition = Partition(50, seed=0, max_iterations=300).fit(blobs)
    points = blobs.values[blobs.segments.valid]
    brute = squared_distances(points, partition.microstates_.centers).min(axis=1).mean()
    assert partition.microstates_.inertia == pytest.approx(brute, rel=1e-4)


@pytest.mark.parametrize(("n_states", "n_seeds", "tolerance"), [(40, 16, 0.08), (150, 4, 0.03)])
def test_as_good_as_scikit_learn(blobs, n_states, n_seeds, tolerance):
    """Mean inertia over seeds; it scatters by 15 % where there are as many states as blobs, by 0.5 % where more."""
    points = blobs.values[blobs.segments.valid]
    ours = [Partition(n_states, seed=k).fit(blobs).microstates_.inertia for k in range(n_seeds)]
    theirs = [KMeans(n_states, n_init=1, random_state=k).fit(points).inertia_ / len(points) for k in range(n_seeds)]
    assert np.mean(ours) < (1 + tolerance) * np.mean(theirs)


def test_the_same_seed_gives_the_same_partition(blobs):
    first, again, other = (Partition(30, seed=seed).fit(blobs) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first.microstates_.centers, again.microstates_.centers)
    np.testing.assert_array_equal(first.label(blobs).labels, again.label(blobs).labels)
    assert not np.array_equal(first.microstates_.centers, other.microstates_.centers)


def test_global_random_state_is_left_alone(blobs):
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    Partition(10).fit(blobs)
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002


def test_every_microstate_is_visited(blobs):
    partition = Partition(200, seed=0).fit(blobs)
    assert (partition.label(blobs).visits() > 0).all()


def test_as_many_states_as_points():
    series = Series.from_rows(np.arange(6.0) ** 2, 1.0)
    partition = Partition(6).fit(series)
    assert partition.microstates_.inertia == pytest.approx(0, abs=1e-9)
    assert sorted(partition.label(series).labels.tolist()) == list(range(6))


def test_too_few_points():
    series = Series.from_rows(np.array([1.0, np.nan, 2.0, 3.0]), 1.0)
    with pytest.raises(InputFormatError, match="n_states=4 microstates need at least as many sequences; there are 3"):
        Partition(4).fit(series)


def test_other_components(blobs):
    partition = Partition(10).fit(blobs)
    with pytest.raises(InputFormatError, match="5 components, the microstates 6"):
        partition.label(blobs.with_rows(blobs.values[:, :5]))


def test_works_as_an_estimator():
    partition = Partition(7, seed=3)
    assert clone(partition).get_params() == {
        "n_states": 7,
        "method": "lloyd",
        "max_iterations": 50,
        "seed": 3,
        "threads": 1,
    }
    assert partition.set_params(n_states=9).n_states == 9
    assert not hasattr(clone(partition), "microstates_")
