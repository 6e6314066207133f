"""Exact k-means for many clusters: Lloyd's algorithm that only looks at centers which can win.

A center c can be nearer to a point x than its present center a only if |a − c| < 2 |x − a| (the triangle inequality).
With the nearest centers of every center listed in order, a point looks at about ten of a thousand. The kernels run on
slices of the points and give the same numbers whatever the number of threads.
"""

import itertools
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numba import njit

from ethomarkov._core.types import FloatArray, IntArray

N_SLICES = 16
CHUNK = 32  # candidates whose distances are computed side by side
MOST_NEIGHBOURS = 4 * CHUNK
SEEDING_TRIALS = 4
BLOCK = 256  # centers handled at once
RELIST = 0.5  # of the usual distance to the nearest center
SHARE_OF_MOVERS = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Clusters:
    """What k-means found.

    Parameters
    ----------
    centers
        One row per cluster.
    labels
        Cluster of every point.
    inertia
        Mean squared distance to the center.
    n_iterations
        Lloyd iterations done.
    """

    centers: FloatArray
    labels: IntArray
    inertia: float
    n_iterations: int


def seed_order(points: FloatArray, n_seeds: int, rng: np.random.Generator) -> IntArray:
    """Choose points far from each other, one after the other (greedy k-means++).

    The first n of them are a seeding for n clusters, so one order serves every number of clusters.
    """
    draws = rng.random((n_seeds, SEEDING_TRIALS))
    return np.asarray(_seed_order(np.ascontiguousarray(points, dtype=np.float32), draws))


def lloyd(
    points: FloatArray,
    centers: FloatArray,
    *,
    max_iterations: int = 50,
    labels: IntArray | None = None,
    tolerance: float = 1e-4,
    threads: int = 1,
) -> Clusters:
    """Move centers to the mean of their points until nothing changes.

    Parameters
    ----------
    points
        ``(n, d)`` float32.
    centers
        Where to begin.
    max_iterations
        At most so many moves.
    labels
        A guess of each point's center, from a similar problem; found by looking at all centers when None.
    tolerance
        Stop when the inertia falls by less than this share.
    threads
        Cores to use; the result does not depend on it.
    """
    points = np.ascontiguousarray(points, dtype=np.float32)
    centers = np.ascontiguousarray(centers, dtype=np.float32)
    is_guess = labels is not None
    labels = np.array(labels, dtype=np.int32) if is_guess else np.zeros(len(points), dtype=np.int32)
    squared = np.empty(len(points), dtype=np.float32)
    previous = np.inf
    with ThreadPoolExecutor(max_workers=threads) as pool:
        worker = _Worker(points, labels, squared, pool)
        surroundings = Surroundings(pool)
        for iteration in range(1, max_iterations + 1):
            surroundings.follow(centers)
            worker.assign(centers, surroundings, follow=iteration == 1 and not is_guess)
            inertia = float(squared.mean(dtype=np.float64))
            if previous - inertia <= tolerance * inertia or iteration == max_iterations:
                break
            previous = inertia
            centers = worker.means(centers)
    return Clusters(centers=centers, labels=labels, inertia=inertia, n_iterations=iteration)


def nearest_centers(points: FloatArray, centers: FloatArray, *, threads: int = 1) -> IntArray:
    """Find the nearest center of every point."""
    found = lloyd(points, centers, max_iterations=1, threads=threads)
    return found.labels


def mean_points(points: FloatArray, labels: IntArray, n_centers: int) -> FloatArray:
    """Give the mean of the points of each label; the mean of all points for a label without any."""
    total = _sum_points(np.ascontiguousarray(points, dtype=np.float32), labels, n_centers)
    means = np.where(total[:, -1:] > 0, total[:, :-1] / np.maximum(total[:, -1:], 1), points.mean(axis=0))
    return np.asarray(means, dtype=np.float32)


class _Worker:
    """The steps of one Lloyd iteration on slices of the points."""

    def __init__(self, points: FloatArray, labels: IntArray, squared: FloatArray, pool: ThreadPoolExecutor) -> None:
        self.points, self.labels, self.squared, self.pool = points, labels, squared, pool
        edges = np.linspace(0, len(points), N_SLICES + 1).astype(int)
        self.slices = [slice(a, b) for a, b in itertools.pairwise(edges) if b > a]

    def assign(self, centers: FloatArray, around: "Surroundings", *, follow: bool) -> None:
        """Give every point its nearest center.

        The search starts from the point's present center or, to `follow`, from that of the point before it: points of
        a time series lie near each other.
        """
        columns = np.ascontiguousarray(centers.T)
        near = (around.neighbours, around.gaps, around.blocks)
        slack = around.moved + np.float32(around.drift)
        movers = (around.movers, np.ascontiguousarray(columns[:, around.movers]))

        def assign_slice(part: slice) -> None:
            points, labels, squared = self.points[part], self.labels[part], self.squared[part]
            _assign(points, centers, columns, *near, slack, *movers, labels, squared, follow)

        list(self.pool.map(assign_slice, self.slices))

    def means(self, centers: FloatArray) -> FloatArray:
        """Move every center to the mean of its points; a center without points takes the farthest point."""
        parts = self.pool.map(lambda part: _sum_points(self.points[part], self.labels[part], len(centers)), self.slices)
        total = np.zeros((len(centers), centers.shape[1] + 1))
        for part in parts:  # in the order of the slices, so that rounding does not depend on the threads
            total += part
        moved = centers.copy()
        seen = total[:, -1] > 0
        moved[seen] = total[seen, :-1] / total[seen, -1:]
        empty = np.flatnonzero(~seen)
        if empty.size:
            farthest = np.argsort(self.squared, kind="stable")[::-1][: empty.size]
            moved[empty] = self.points[farthest]
        return moved


class Surroundings:
    """The nearest other centers of every center, kept while the centers move a little.

    Attributes
    ----------
    neighbours
        Index of the nearest centers, nearest first, ``(centers, listed)``; padded by the center itself.
    gaps
        Their distances when they were listed, ascending; infinite where padded.
    blocks
        Their coordinates now, in chunks, ``(centers, chunks, components, CHUNK)``, for reading side by side.
    moved
        How far every center has moved since they were listed.
    drift
        How far all centers but a few have moved at most: a center and a listed one may have come closer by its own
        movement and this.
    movers
        Index of those few, which every point looks at.
    """

    neighbours: IntArray
    gaps: FloatArray
    blocks: FloatArray
    moved: FloatArray
    drift: float
    movers: IntArray

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self.pool = pool
        self._listed: FloatArray = np.empty((0, 0), dtype=np.float32)

    def follow(self, centers: FloatArray) -> None:
        """Take note of new centers, listing their neighbours anew only where they have moved too far."""
        if not self._listed.size or self._measure(centers) > RELIST * float(np.median(self.gaps[:, 0])):
            self._list(centers)
            self._measure(centers)
        n, listed = self.neighbours.shape
        self.blocks = np.empty((n, listed // CHUNK, centers.shape[1], CHUNK), dtype=np.float32)
        list(self.pool.map(lambda first: self._gather(centers, slice(first, first + BLOCK)), range(0, n, BLOCK)))

    def _measure(self, centers: FloatArray) -> float:
        """Measure how far the centers have moved, and tell how far most of them have."""
        self.moved = np.sqrt(np.square(centers - self._listed).sum(axis=1)).astype(np.float32)
        self.drift = float(np.quantile(self.moved, 1 - SHARE_OF_MOVERS))
        self.movers = np.flatnonzero(self.moved > self.drift).astype(np.int32)
        return self.drift

    def _list(self, centers: FloatArray) -> None:
        n = len(centers)
        kept = min(MOST_NEIGHBOURS, n - 1)
        width = max(1, -(-kept // CHUNK)) * CHUNK
        self.neighbours = np.repeat(np.arange(n, dtype=np.int32)[:, None], width, axis=1)
        self.gaps = np.full(self.neighbours.shape, np.inf, dtype=np.float32)
        self._listed = centers
        norms = np.square(centers).sum(axis=1)

        def fill(first: int) -> None:
            rows = np.arange(first, min(first + BLOCK, n))
            squared = norms[rows, None] + norms[None] - 2 * (centers[rows] @ centers.T)
            squared[rows - first, rows] = np.inf
            chosen = np.argpartition(squared, kept - 1, axis=1)[:, :kept]
            found = np.take_along_axis(squared, chosen, axis=1)
            order = np.argsort(found, axis=1, kind="stable")
            self.gaps[rows, :kept] = np.sqrt(np.maximum(np.take_along_axis(found, order, axis=1), 0))
            self.neighbours[rows, :kept] = np.take_along_axis(chosen, order, axis=1)

        if kept:
            list(self.pool.map(fill, range(0, n, BLOCK)))

    def _gather(self, centers: FloatArray, rows: slice) -> None:
        around = centers[self.neighbours[rows]]
        self.blocks[rows] = around.reshape(len(around), -1, CHUNK, centers.shape[1]).swapaxes(2, 3)


@njit(cache=True, nogil=True, fastmath=True)
def _squared_distance(x, y):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    total = np.float32(0.0)
    for k in range(x.size):
        total += (x[k] - y[k]) * (x[k] - y[k])
    return total


@njit(cache=True, nogil=True, fastmath=True)
def _least_distance(x, columns, out):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    # The length is left open on purpose: a constant one is unrolled into scalars instead of vector registers.
    n = out.size
    for m in range(n):
        out[m] = np.float32(0.0)
    for k in range(x.size):
        here = x[k]
        for m in range(n):
            step = here - columns[k, m]
            out[m] += step * step
    least = np.float32(np.inf)
    for m in range(n):
        least = min(least, out[m])
    return least


@njit(cache=True, nogil=True)
def _index_of(value, row):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    for m in range(row.size):
        if row[m] == value:
            return m
    return 0


@njit(cache=True, nogil=True)
def _assign(points, centers, columns, neighbours, gaps, blocks, slack, movers, mover_columns, labels, squared, follow):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, PLR0913, PLR0917
    n_listed = neighbours.shape[1]
    all_listed = centers.shape[0] - 1 <= n_listed
    chunk, whole = np.empty(CHUNK, dtype=np.float32), np.empty(centers.shape[0], dtype=np.float32)
    far = np.empty(movers.size, dtype=np.float32)
    for i in range(points.shape[0]):
        here = labels[i - 1] if follow and i > 0 else labels[i]
        best = _squared_distance(points[i], centers[here])
        # a little more than twice the distance, for the rounding of single precision
        reach = np.float32(2.0002) * np.sqrt(best) + np.float32(1e-6) + slack[here]
        label, looked = here, 0
        if not all_listed and gaps[here, n_listed - 1] <= reach:
            best = _least_distance(points[i], columns, whole)
            label = _index_of(best, whole)
            looked = n_listed
        while looked < n_listed and gaps[here, looked] <= reach:
            least = _least_distance(points[i], blocks[here, looked // CHUNK], chunk)
            if least < best:
                best = least
                label = neighbours[here, looked + _index_of(least, chunk)]
            looked += CHUNK
        if movers.size > 0:
            least = _least_distance(points[i], mover_columns, far)
            if least < best:
                best = least
                label = movers[_index_of(least, far)]
        labels[i] = label
        squared[i] = best


@njit(cache=True, nogil=True)
def _sum_points(points, labels, n_centers):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    n_components = points.shape[1]
    total = np.zeros((n_centers, n_components + 1))
    for i in range(points.shape[0]):
        label = labels[i]
        for k in range(n_components):
            total[label, k] += points[i, k]
        total[label, n_components] += 1.0
    return total


@njit(cache=True, nogil=True)
def _seed_order(points, draws):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    n, n_seeds, n_trials = points.shape[0], draws.shape[0], draws.shape[1]
    order = np.empty(n_seeds, dtype=np.int64)
    nearest = np.empty(n, dtype=np.float32)
    trial, kept = np.empty(n, dtype=np.float32), np.empty(n, dtype=np.float32)
    cumulative = np.empty(n, dtype=np.float64)
    order[0] = min(int(draws[0, 0] * n), n - 1)
    for i in range(n):
        nearest[i] = _squared_distance(points[i], points[order[0]])
    for s in range(1, n_seeds):
        total = 0.0
        for i in range(n):
            total += nearest[i]
            cumulative[i] = total
        best_total, best = np.inf, 0
        for t in range(n_trials):
            candidate = min(np.searchsorted(cumulative, draws[s, t] * total), n - 1)
            remaining = 0.0
            for i in range(n):
                distance = min(nearest[i], _squared_distance(points[i], points[candidate]))
                trial[i] = distance
                remaining += distance
            if remaining < best_total:
                best_total, best = remaining, candidate
                kept[:] = trial
        order[s] = best
        nearest[:] = kept
    return order
