import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans

from ethomarkov._core.series import Series
from ethomarkov.states import DelayEmbedding, Partition
from ethomarkov.states.kmeans import SEEDING_TRIALS, NearestCenters, lloyd, seed_order
from ethomarkov.states.partition import compress


def brute_force(points, centers):
    squared = np.square(points[:, None].astype(float) - centers[None].astype(float)).sum(axis=2)
    return squared.argmin(axis=1), squared.min(axis=1)


def smooth_walk(n, d, seed=0):
    rng = np.random.default_rng(seed)
    steps = rng.normal(size=(n, d))
    return np.cumsum(steps, axis=0).astype(np.float32) * 0.3 + 5 * np.sin(np.arange(n)[:, None] / (7.0 + np.arange(d)))


@pytest.mark.parametrize(("n_centers", "d"), [(1, 3), (2, 1), (17, 5), (150, 13), (400, 30)])
@pytest.mark.parametrize("kind", ["walk", "noise"])
def test_every_point_gets_its_nearest_center(n_centers, d, kind):
    rng = np.random.default_rng(1)
    points = smooth_walk(3000, d) if kind == "walk" else rng.normal(size=(3000, d))
    centers = points[rng.choice(len(points), n_centers, replace=False)]
    labels = NearestCenters(centers).label(points)
    _, least = brute_force(points, centers)
    found = np.square(points - centers[labels]).sum(axis=1)
    np.testing.assert_allclose(found, least, rtol=1e-4, atol=1e-5)


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 60), st.integers(1, 9), st.integers(0, 2**31 - 1))
def test_a_wrong_guess_changes_nothing(n_centers, d, seed):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(200, d)) * rng.uniform(0.1, 10, d)
    centers = rng.normal(size=(n_centers, d))
    guess = rng.integers(0, n_centers, 200)
    found = lloyd(points, centers, labels=guess, max_iterations=1)
    np.testing.assert_allclose(
        np.square(points - centers[found.labels]).sum(axis=1), brute_force(points, centers)[1], rtol=1e-3, atol=1e-4
    )


@pytest.mark.parametrize("kind", ["walk", "noise"])
def test_nearest_centers_beyond_every_list(kind):
    """More centers than are listed, and points that are far from all of them or start at a far one."""
    rng = np.random.default_rng(2)
    points = smooth_walk(4000, 6) if kind == "walk" else rng.normal(size=(4000, 6))
    centers = points[rng.choice(len(points), 1500, replace=False)]
    far = np.concatenate([points[:500], points[:50] * 100, points.mean(axis=0) + rng.normal(size=(50, 6)) * 0.01])
    found = lloyd(far, centers, labels=rng.integers(0, 1500, len(far)), max_iterations=1)
    least = brute_force(far, centers)[1]
    for labels in (found.labels, NearestCenters(centers).label(far)):
        np.testing.assert_allclose(np.square(far - centers[labels]).sum(axis=1), least, rtol=1e-3, atol=1e-4)


def test_blocks_get_the_labels_of_the_whole():
    points = smooth_walk(5000, 7)
    nearest = NearestCenters(points[::20], threads=2)
    pieces = [nearest.label(points[k : k + 700]) for k in range(0, 5000, 700)]
    np.testing.assert_array_equal(np.concatenate(pieces), NearestCenters(points[::20]).label(points))


def test_lloyd_is_that_of_scikit_learn():
    points = smooth_walk(4000, 6)
    start = points[::100].copy()
    ours = lloyd(points, start, max_iterations=9, tolerance=0)
    theirs = KMeans(len(start), init=start, n_init=1, max_iter=8, tol=0).fit(points)
    np.testing.assert_allclose(ours.centers, theirs.cluster_centers_, atol=1e-3)
    assert ours.inertia == pytest.approx(theirs.inertia_ / len(points), rel=1e-4)


def test_threads_do_not_matter():
    points = smooth_walk(5000, 7)
    one, two = (lloyd(points, points[:64], threads=n) for n in (1, 3))
    np.testing.assert_array_equal(one.labels, two.labels)
    np.testing.assert_array_equal(one.centers, two.centers)


def test_inertia_never_grows():
    points = smooth_walk(3000, 5)
    inertia = [lloyd(points, points[:50], max_iterations=n, tolerance=0).inertia for n in range(1, 12)]
    assert np.all(np.diff(inertia) <= 1e-6)


def test_a_center_without_points_moves_to_the_farthest_point():
    points = np.array([[0.0], [0.1], [10.0]])
    found = lloyd(points, np.array([[0.0], [500.0]]), max_iterations=5)
    assert sorted(np.round(found.centers.ravel(), 3)) == [0.05, 10.0]


def test_seeds_are_nested_distinct_and_spread():
    points = np.concatenate([np.random.default_rng(k).normal(20 * k, 1, (100, 2)) for k in range(8)])
    many = seed_order(points, 30, np.random.default_rng(0))
    few = seed_order(points, 8, np.random.default_rng(0))
    np.testing.assert_array_equal(many[:8], few)
    assert len(set(many.tolist())) == 30
    assert set((many[:8] // 100).tolist()) == set(range(8))


def naive_seeds(points, draws):
    """Greedy k-means++ that measures every point at every trial."""
    order = [min(int(draws[0, 0] * len(points)), len(points) - 1)]
    nearest = np.square(points - points[order[0]]).sum(axis=1)
    for trials in draws[1:]:
        drawn = np.minimum(np.searchsorted(np.cumsum(nearest), trials * nearest.sum()), len(points) - 1)
        left = [np.minimum(nearest, np.square(points - points[c]).sum(axis=1)) for c in drawn]
        best = int(np.argmin([row.sum() for row in left]))
        order.append(int(drawn[best]))
        nearest = left[best]
    return order


@pytest.mark.parametrize("d", [1, 3, 8])
def test_seeds_are_those_of_a_search_over_all_points(d):
    points = np.random.default_rng(d).normal(size=(600, d))
    draws = np.random.default_rng(7).random((120, SEEDING_TRIALS))
    assert seed_order(points, 120, np.random.default_rng(7)).tolist() == naive_seeds(points, draws)


def spread_apart(variances, n=4000, seed=0):
    """Rows of exactly these variances in principal directions that are turned at random."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, len(variances)))
    white = np.linalg.qr(rows - rows.mean(axis=0))[0] * np.sqrt(n - 1)
    turn = np.linalg.qr(rng.normal(size=(len(variances), len(variances))))[0]
    return (white * np.sqrt(variances)) @ turn


def water_level(variances, n_states):
    """Squared size D of cells with Σ ½ ln(σ²/D) = ln N over directions wider than D, by bisection."""
    low, high = 1e-30, max(variances)
    for _ in range(200):
        middle = np.sqrt(low * high)
        held = sum(0.5 * np.log(v / middle) for v in variances if v > middle)
        low, high = (middle, high) if held > np.log(n_states) else (low, middle)
    return low


@pytest.mark.parametrize("n_states", [2, 10, 100, 1000])
@pytest.mark.parametrize("ratio", [0.12, 0.3, 0.8])
def test_compression_keeps_what_so_many_microstates_resolve(ratio, n_states):
    """Directions of at least a hundredth of the squared size of a cell; all distances but for the others."""
    variances = 5.0 * ratio ** np.arange(12)
    rows = spread_apart(variances)
    compact = compress(Series.from_rows(rows, 16.0), n_states)
    kept = variances > 0.01 * water_level(variances, n_states)
    assert compact.shape[1] == kept.sum()
    np.testing.assert_allclose(np.cov(compact.T).reshape(kept.sum(), -1), np.diag(variances[kept]), atol=1e-4)
    pairs = np.random.default_rng(1).integers(0, len(rows), (2, 5000))
    near, far = (np.square(x[pairs[0]] - x[pairs[1]]).sum(axis=1) for x in (compact, rows))
    assert (near <= far * (1 + 1e-4) + 1e-5).all()
    assert np.mean(far - near) == pytest.approx(2 * variances[~kept].sum(), rel=0.1, abs=1e-4)


def test_compression_of_smooth_sequences():
    """Sequences of eleven smooth postures have fewer directions than components, whatever is asked of them here."""
    postures = Series.from_rows(smooth_walk(3000, 5), 16.0)
    sequences = DelayEmbedding(11).transform(postures)
    points = sequences.values[sequences.segments.valid]
    few, many = (compress(sequences, n_states).shape[1] for n_states in (10, 1000))
    assert few < many <= points.shape[1]
    variance = compress(sequences, 1000).var(axis=0).sum() / points.var(axis=0).sum()
    assert 0.998 < variance <= 1.0 + 1e-6


def test_compression_keeps_velocity():
    """A finely sampled variable and its next value: their difference holds a ten-thousandth of the variance."""
    rows = spread_apart([1.0, 1e-4])
    assert compress(Series.from_rows(rows, 16.0), 316).shape[1] == 2
    assert compress(Series.from_rows(rows, 16.0), 2).shape[1] == 1  # two cells cannot resolve it


def test_pieces_give_the_same_centers_as_a_running_mean():
    rng = np.random.default_rng(0)
    blobs = np.array([[0.0, 0], [30, 0], [0, 30]])
    pieces = [Series.from_rows(blobs[rng.integers(0, 3, 500)] + rng.normal(size=(500, 2)), 1.0) for _ in range(4)]
    partition = Partition(3, seed=1)
    for piece in pieces:
        partition.partial_fit(piece)
    whole = np.concatenate([piece.values for piece in pieces])
    labels = brute_force(whole, partition.microstates_.centers)[0]
    expected = np.stack([whole[labels == k].mean(axis=0) for k in range(3)])
    np.testing.assert_allclose(partition.microstates_.centers, expected, rtol=1e-4, atol=1e-3)
    np.testing.assert_array_equal(partition.microstates_.visits, np.bincount(labels, minlength=3))


def test_minibatch_is_available():
    series = Series.from_rows(smooth_walk(2000, 4), 1.0)
    ours, paper = Partition(40).fit(series), Partition(40, method="minibatch").fit(series)
    assert paper.microstates_.n_states == 40
    assert ours.microstates_.inertia < paper.microstates_.inertia
