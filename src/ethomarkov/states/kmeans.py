"""Exact k-means for many clusters: Lloyd's algorithm that only looks at centers which can win.

A center c can be nearer to a point x than its present center a, or than the best b found so far, only if
|a − c| < |x − a| + |x − b| (the triangle inequality). With the nearest centers of every center listed in order, a point
looks at a few dozen of thousands. Points of one center are handled together, so that the coordinates of its neighbours
are gathered once. The kernels give the same numbers whatever the number of threads.
"""

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numba import njit

from ethomarkov._core.types import FloatArray, IntArray

SLICES_PER_THREAD = 4
WALKS, WALK_LOOKS_AT = 16, 16  # stretches of points that are followed on their own, and neighbours tried
CHUNK = 32  # candidates whose distances are computed side by side
MOST_NEIGHBOURS = 8 * CHUNK
SEEDING_TRIALS = 4
TOGETHER = 4  # components added up in one pass
BIN_SHIFT = 19  # bits of a float32 left out, so that squared distances are sorted to 6 %
N_BINS = 1 << (31 - BIN_SHIFT)
ROUNDING = np.float32(1.0001)  # a little more than a distance, for the rounding of single precision
TINY = np.float32(1e-6)
WINS_BELOW = np.float32(0.2499)  # of the squared distance to its seed, a point may be nearer to another
LARGEST = np.finfo(np.float32).max


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
    return np.asarray(_seed_order(_padded(points), draws))


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
        A guess of each point's center, from a similar problem; found by following the points when None.
    tolerance
        Stop when the inertia falls by less than this share.
    threads
        Cores to use; the result does not depend on it.
    """
    n_components = centers.shape[1]
    points, centers = _padded(points), _padded(centers)
    previous = np.inf
    with ThreadPoolExecutor(max_workers=threads) as pool:
        team = Team(pool, threads)
        labels = Surroundings(centers, team).guess(points) if labels is None else np.array(labels, dtype=np.int32)
        crowd = Crowd(points, labels, team)
        for iteration in range(1, max_iterations + 1):
            crowd.assign(centers)
            inertia = float(crowd.squared.mean(dtype=np.float64))
            if previous - inertia <= tolerance * inertia or iteration == max_iterations:
                break
            previous = inertia
            centers = crowd.means(centers)
    return Clusters(centers=centers[:, :n_components], labels=crowd.labels, inertia=inertia, n_iterations=iteration)


class NearestCenters:
    """Find the nearest of some centers for one block of points after the other.

    Parameters
    ----------
    centers
        One row each.
    threads
        Cores to use; the result does not depend on it.
    """

    def __init__(self, centers: FloatArray, *, threads: int = 1) -> None:
        self.threads = threads
        with ThreadPoolExecutor(max_workers=threads) as pool:
            self.around = Surroundings(_padded(centers), Team(pool, threads))

    def label(self, points: FloatArray) -> IntArray:
        """Give every point the index of its nearest center."""
        points = _padded(points)
        with ThreadPoolExecutor(max_workers=self.threads) as pool:
            self.around.team = Team(pool, self.threads)
            crowd = Crowd(points, self.around.guess(points), self.around.team)
            crowd.assign(self.around.centers, self.around)
        return crowd.labels


def mean_points(points: FloatArray, labels: IntArray, n_centers: int) -> FloatArray:
    """Give the mean of the points of each label; the mean of all points for a label without any."""
    points = np.ascontiguousarray(points, dtype=np.float32)
    order, starts = _group(np.asarray(labels, dtype=np.int32), n_centers)
    means = np.repeat(points.mean(axis=0)[None], n_centers, axis=0)
    _mean_members(points, order, starts, 0, n_centers, means)
    return means


def _padded(rows: FloatArray) -> FloatArray:
    """Add columns of zeros for kernels that take several components at once."""
    n_missing = -rows.shape[1] % TOGETHER
    return np.ascontiguousarray(np.pad(rows, ((0, 0), (0, n_missing))) if n_missing else rows, dtype=np.float32)


class Team:
    """Threads that share work on ranges of rows."""

    def __init__(self, pool: ThreadPoolExecutor, threads: int) -> None:
        self.pool = pool
        self.n_slices = 1 if threads == 1 else SLICES_PER_THREAD * threads

    def share(self, work: Callable[[int, int], None], slices: list[tuple[int, int]]) -> None:
        """Do some work on ranges of rows side by side."""
        list(self.pool.map(lambda part: work(*part), slices))

    def slices(self, starts: IntArray) -> list[tuple[int, int]]:
        """Cut the centers into ranges of about as many points each, given where the points of each begin."""
        wanted = np.linspace(0, starts[-1], self.n_slices + 1)[1:-1]
        edges = [0, *np.searchsorted(starts, wanted).tolist(), len(starts) - 1]
        return [(a, b) for a, b in itertools.pairwise(edges) if b > a]


class Crowd:
    """Points and the center of each.

    Attributes
    ----------
    labels
        Index of the center.
    squared
        Squared distance to it.
    """

    def __init__(self, points: FloatArray, labels: IntArray, team: Team) -> None:
        self.points, self.labels, self.team = points, labels, team
        self.squared = np.empty(len(points), dtype=np.float32)

    def assign(self, centers: FloatArray, around: "Surroundings | None" = None) -> None:
        """Give every point its nearest center, looking around its present one."""
        order, starts = _group(self.labels, len(centers))
        radius = np.zeros(len(centers), dtype=np.float32)
        groups, slices = (self.points, order, starts), self.team.slices(starts)
        self.team.share(lambda a, b: _measure(*groups, a, b, centers, self.squared, radius), slices)
        around = around or Surroundings(centers, self.team, radius)
        near = (centers, around.columns, around.neighbours, around.gaps, around.covered)
        self.team.share(lambda a, b: _assign(groups, a, b, near, self.labels, self.squared), slices)

    def means(self, centers: FloatArray) -> FloatArray:
        """Move every center to the mean of its points; a center without points takes the farthest point."""
        order, starts = _group(self.labels, len(centers))
        moved = centers.copy()
        slices = self.team.slices(starts)
        self.team.share(lambda a, b: _mean_members(self.points, order, starts, a, b, moved), slices)
        empty = np.flatnonzero(np.diff(starts) == 0)
        if empty.size:
            farthest = np.argsort(self.squared, kind="stable")[::-1][: empty.size]
            moved[empty] = self.points[farthest]
        return moved


class Surroundings:
    """The nearest other centers of every center.

    Parameters
    ----------
    centers
        One row each.
    team
        Who does the work.
    radius
        Distance of the farthest point of each center; the lists then reach no farther than these points can ask for.

    Attributes
    ----------
    neighbours
        Index of the nearest centers, nearer chunks first, ``(centers, listed)``; padded by the center itself.
    gaps
        Least distance in every chunk of them and all further ones, ``(centers, chunks)``; infinite where there are
        none.
    covered
        Distance up to which all others are listed.
    """

    def __init__(self, centers: FloatArray, team: Team, radius: FloatArray | None = None) -> None:
        n = len(centers)
        self.centers, self.columns, self.team = centers, np.ascontiguousarray(centers.T), team
        n_chunks = min(MOST_NEIGHBOURS // CHUNK, max(1, -(-(n - 1) // CHUNK)))
        self.neighbours: IntArray = np.repeat(np.arange(n, dtype=np.int32)[:, None], n_chunks * CHUNK, axis=1)
        self.gaps = np.full((n, n_chunks), np.inf, dtype=np.float32)
        self.covered = np.full(n, np.inf, dtype=np.float32)
        if radius is not None:
            self.covered = 2 * ROUNDING * ROUNDING * radius + 2 * TINY
        answers = (self.neighbours, self.gaps, self.covered)
        team.share(lambda a, b: _list(centers, self.columns, a, b, *answers), team.slices(np.arange(n + 1)))

    def guess(self, points: FloatArray) -> IntArray:
        """Walk from the center of each point to a near one of the next: those of a time series lie near each other."""
        labels = np.empty(len(points), dtype=np.int32)
        edges = np.linspace(0, len(points), WALKS + 1).astype(int).tolist()

        def walk(first: int, stop: int) -> None:
            _walk(points[first:stop], self.centers, self.neighbours, labels[first:stop])

        self.team.share(walk, list(itertools.pairwise(edges)))
        return labels


@njit(cache=True, nogil=True, fastmath=True)
def _squared_distance(x, y):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    total = np.float32(0.0)
    for k in range(x.size):
        total += (x[k] - y[k]) * (x[k] - y[k])
    return total


@njit(cache=True, nogil=True, fastmath=True, inline="always")
def _add_distances(x, columns, first, out):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    # The length is left open on purpose: a constant one is unrolled into scalars instead of vector registers.
    x0, x1, x2, x3 = x[first], x[first + 1], x[first + 2], x[first + 3]
    for m in range(out.size):
        s0, s1 = x0 - columns[first, m], x1 - columns[first + 1, m]
        s2, s3 = x2 - columns[first + 2, m], x3 - columns[first + 3, m]
        out[m] += (s0 * s0 + s1 * s1) + (s2 * s2 + s3 * s3)


@njit(cache=True, nogil=True, fastmath=True)
def _least_distance(x, columns, out):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    for m in range(out.size):
        out[m] = np.float32(0.0)
    for k in range(0, x.size, TOGETHER):
        _add_distances(x, columns, k, out)
    least = np.float32(np.inf)
    for m in range(out.size):
        least = min(least, out[m])
    return least


@njit(cache=True, nogil=True)
def _index_of(value, row):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    for m in range(row.size):
        if row[m] == value:
            return m
    return 0


@njit(cache=True, nogil=True)
def _group(labels, n_centers):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """List the points of every center one after the other, and where each begins."""
    starts = np.zeros(n_centers + 1, dtype=np.int64)
    for i in range(labels.size):
        starts[labels[i] + 1] += 1
    for c in range(n_centers):
        starts[c + 1] += starts[c]
    place, order = starts.copy(), np.empty(labels.size, dtype=np.int64)
    for i in range(labels.size):
        order[place[labels[i]]] = i
        place[labels[i]] += 1
    return order, starts


@njit(cache=True, nogil=True)
def _mean_members(points, order, starts, first, stop, means):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    total = np.empty(points.shape[1])
    for c in range(first, stop):
        n = starts[c + 1] - starts[c]
        if n == 0:
            continue
        total[:] = 0.0
        for m in range(starts[c], starts[c + 1]):
            for k in range(total.size):
                total[k] += points[order[m], k]
        for k in range(total.size):
            means[c, k] = total[k] / n


@njit(cache=True, nogil=True)
def _measure(points, order, starts, first, stop, centers, squared, radius):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, PLR0913, PLR0917
    """Measure the distance of the points to their present centers, and that of the farthest of each center."""
    for c in range(first, stop):
        most = np.float32(0.0)
        for m in range(starts[c], starts[c + 1]):
            i = order[m]
            squared[i] = _squared_distance(points[i], centers[c])
            most = max(most, squared[i])
        radius[c] = np.sqrt(most)


@njit(cache=True, nogil=True)
def _list(centers, columns, first, stop, neighbours, gaps, covered):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, PLR0913, PLR0917
    """List the nearest centers of each, sorting squared distances into bins of equal ratio."""
    n, most = centers.shape[0], neighbours.shape[1]
    squared, within = np.empty(n, dtype=np.float32), np.empty(n, dtype=np.int32)
    bits = squared.view(np.int32)
    place = np.zeros(N_BINS + 1, dtype=np.int32)
    for c in range(first, stop):
        n_within = _within(centers, columns, c, min(covered[c] * covered[c], LARGEST), squared, within)
        least, largest = N_BINS, 0
        for m in range(n_within):
            here = bits[m] >> BIN_SHIFT
            place[here + 1] += 1
            least, largest = min(least, here), max(largest, here)
        for b in range(least, largest + 1):
            place[b + 1] += place[b]
        for m in range(n_within):
            here, gap = bits[m] >> BIN_SHIFT, np.sqrt(squared[m])
            rank = place[here]
            place[here] += 1
            if rank < most:
                neighbours[c, rank] = within[m]
                gaps[c, rank // CHUNK] = min(gaps[c, rank // CHUNK], gap)
            else:
                covered[c] = min(covered[c], gap)
        place[least : largest + 2] = 0
        for k in range(gaps.shape[1] - 1, 0, -1):
            gaps[c, k - 1] = min(gaps[c, k - 1], gaps[c, k])


@njit(cache=True, nogil=True)
def _within(centers, columns, c, far, squared, within):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Find the centers up to a squared distance: by the first components, which vary most, then by all."""
    squared[:] = np.float32(0.0)
    _add_distances(centers[c], columns, 0, squared)
    squared[c] = np.float32(np.inf)
    n_within = 0
    for j in range(squared.size):
        within[n_within] = j
        n_within += squared[j] <= far
    n_near = 0
    for m in range(n_within):
        distance = _squared_distance(centers[c], centers[within[m]])
        within[n_near], squared[n_near] = within[m], distance
        n_near += distance <= far
    return n_near


@njit(cache=True, nogil=True)
def _walk(points, centers, neighbours, labels):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Go from center to center as long as one of the nearest neighbours is nearer to the point."""
    here = 0
    for i in range(points.shape[0]):
        best, start = _squared_distance(points[i], centers[here]), -1
        while start != here:
            start = here
            for m in range(WALK_LOOKS_AT):
                other = neighbours[start, m]
                distance = _squared_distance(points[i], centers[other])
                if distance < best:
                    best, here = distance, other
        labels[i] = here


@njit(cache=True, nogil=True)
def _search(point, start, squared, centers, neighbours, gaps, covered):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, PLR0913, PLR0917
    """Look at the neighbours of a center for one point; tell whether they are enough to be sure."""
    own = ROUNDING * np.sqrt(squared) + TINY
    reach, label = 2 * own, start
    for k in range(gaps.shape[1]):
        if gaps[start, k] > reach:
            break
        for other in neighbours[start, k * CHUNK : (k + 1) * CHUNK]:
            distance = _squared_distance(point, centers[other])
            if distance < squared:
                squared, label = distance, other
        reach = own + ROUNDING * np.sqrt(squared)
    return label, squared, covered[start] > reach


@njit(cache=True, nogil=True)
def _assign(groups, first, stop, near, labels, squared):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Give the points of some centers their nearest center, which may be any."""
    points, order, starts = groups
    centers, columns, neighbours, gaps, covered = near
    whole, own = np.empty(centers.shape[0], dtype=np.float32), np.empty(points.shape[0], dtype=np.float32)
    block, chunk = np.empty((centers.shape[1], CHUNK), dtype=np.float32), np.empty(CHUNK, dtype=np.float32)
    for c in range(first, stop):
        members = order[starts[c] : starts[c + 1]]
        for m in range(members.size):
            own[m] = ROUNDING * np.sqrt(squared[members[m]]) + TINY
        for k in range(gaps.shape[1]):
            listed = neighbours[c, k * CHUNK : (k + 1) * CHUNK]
            if not _look_at(points, members, own, gaps[c, k], listed, centers, block, chunk, labels, squared):
                break
        for m in range(members.size):
            i = members[m]
            if covered[c] > own[m] + ROUNDING * np.sqrt(squared[i]):
                continue
            start, before = labels[i], squared[i]
            labels[i], squared[i], is_sure = _search(points[i], start, before, centers, neighbours, gaps, covered)
            if not is_sure:
                squared[i] = _least_distance(points[i], columns, whole)
                labels[i] = _index_of(squared[i], whole)


@njit(cache=True, nogil=True)
def _look_at(points, members, own, gap, listed, centers, block, chunk, labels, squared):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, PLR0913, PLR0917
    """Hold points of one center against a chunk of its neighbours; tell whether it was near enough for any of them."""
    is_gathered = False
    for m in range(members.size):
        i = members[m]
        if gap > own[m] + ROUNDING * np.sqrt(squared[i]):
            continue
        if not is_gathered:
            _gather(centers, listed, block)
            is_gathered = True
        least = _least_distance(points[i], block, chunk)
        if least < squared[i]:
            squared[i] = least
            labels[i] = listed[_index_of(least, chunk)]
    return is_gathered


@njit(cache=True, nogil=True)
def _gather(centers, listed, block):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    for m in range(listed.size):
        for k in range(block.shape[0]):
            block[k, m] = centers[listed[m], k]


@njit(cache=True, nogil=True)
def _seed_order(points, draws):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    n, n_seeds, n_trials = points.shape[0], draws.shape[0], draws.shape[1]
    order = np.zeros(n_seeds, dtype=np.int64)
    nearest, cumulative = np.empty(n, dtype=np.float32), np.empty(n, dtype=np.float64)
    # points of the same seed are chained: the first of each seed, and the next of each point
    heads, following = np.full(n_seeds, -1, dtype=np.int64), np.arange(-1, n - 1, dtype=np.int64)
    reach = np.zeros(n_seeds, dtype=np.float32)  # squared distance of the farthest of them, or more
    gaps, columns = np.empty(n_seeds, dtype=np.float32), np.empty((points.shape[1], n_seeds), dtype=np.float32)
    order[0] = min(int(draws[0, 0] * n), n - 1)
    columns[:, 0], heads[0] = points[order[0]], n - 1
    for i in range(n):
        nearest[i] = _squared_distance(points[i], points[order[0]])
        reach[0] = max(reach[0], nearest[i])
    for s in range(1, n_seeds):
        total = 0.0
        for i in range(n):
            total += nearest[i]
            cumulative[i] = total
        most, best = -1.0, 0
        for t in range(n_trials):
            candidate = min(np.searchsorted(cumulative, draws[s, t] * total), n - 1)
            _least_distance(points[candidate], columns[:, :s], gaps[:s])
            gain = _gain(points, candidate, nearest, heads[:s], following, reach, gaps)
            if gain > most:
                most, best = gain, candidate
        order[s], columns[:, s] = best, points[best]
        _least_distance(points[best], columns[:, :s], gaps[:s])
        _take(points, best, s, nearest, heads, following, reach, gaps)
    return order


@njit(cache=True, nogil=True)
def _gain(points, candidate, nearest, heads, following, reach, gaps):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, PLR0913, PLR0917
    """Add up by how much squared distances to the nearest seed would fall; far seeds lose no point."""
    gain = 0.0
    for g in range(heads.size):
        near = gaps[g] * WINS_BELOW
        if near > reach[g]:
            continue
        i = heads[g]
        while i >= 0:
            if near <= nearest[i]:
                gain += max(nearest[i] - _squared_distance(points[i], points[candidate]), np.float32(0.0))
            i = following[i]
    return gain


@njit(cache=True, nogil=True)
def _take(points, best, seed, nearest, heads, following, reach, gaps):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, PLR0913, PLR0917
    """Give a new seed the points that are nearest to it."""
    for g in range(seed):
        near = gaps[g] * WINS_BELOW
        if near > reach[g]:
            continue
        i, kept = heads[g], np.int64(-1)
        reach[g] = np.float32(0.0)
        while i >= 0:
            after = following[i]
            distance = _squared_distance(points[i], points[best]) if near <= nearest[i] else nearest[i]
            owner = seed if distance < nearest[i] else g
            nearest[i] = min(distance, nearest[i])
            reach[owner] = max(reach[owner], nearest[i])
            if owner == seed:
                following[i], heads[seed] = heads[seed], i
            else:
                following[i], kept = kept, i
            i = after
        heads[g] = kept
