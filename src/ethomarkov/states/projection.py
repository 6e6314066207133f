"""A two-dimensional map of the space of posture sequences, to look at."""

import contextlib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.spatial import KDTree

from ethomarkov._core.random import generator
from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.series import Series
from ethomarkov._core.types import FloatArray, IntArray, Progress
from ethomarkov._core.words import count_of
from ethomarkov.exceptions import InputFormatError
from ethomarkov.states.partition import Microstates

Method = Literal["umap", "pca"]

N_AXES = 2
FEWEST_SEQUENCES = 3
PAPER_NEIGHBORS, PAPER_MIN_DIST = 50, 0.05
# A neighbourhood is local: never more than a quarter of the points.
POINTS_PER_NEIGHBOR, FEWEST_NEIGHBORS = 4, 2
FEWEST_FOR_SPECTRAL_START = 50
# The middle three of five have no outlier between two islands of the map, where a mean would put one in a hundred.
N_PLACING, N_INNER = 5, 3
BLOCK_SEQUENCES = 50_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceMap(Result):
    """Where sequences and microstates lie on a two-dimensional map.

    Parameters
    ----------
    frames
        Float32, one position per frame; NaN where there is no sequence.
    centers
        One position per microstate.
    method
        "umap" or "pca".
    source
        How the map was made, in words.
    """

    frames: FloatArray = array_field("frame", "axis")
    centers: FloatArray = array_field("state", "axis")
    method: str
    source: str

    def __post_init__(self) -> None:
        freeze_arrays(self)


def map_sequences(
    sequences: Series,
    microstates: Microstates,
    *,
    method: Method = "umap",
    n_fitted: int = 20_000,
    seed: int = 0,
    progress: Progress | None = None,
) -> SequenceMap:
    """Lay out posture sequences and microstates on a plane.

    Parameters
    ----------
    sequences
        Of one animal or of many.
    microstates
        Of the same sequences.
    method
        "umap" keeps neighbours together, distances on the map mean little. "pca" is linear and takes less than a
        second.
    n_fitted
        Sequences that UMAP is fitted to, chosen at random, beside the centers of the microstates. Every further one
        is put in the middle of its five nearest fitted points.
    seed
        Makes the map reproducible on one machine; UMAP gives other coordinates on other machines.
    progress
        Called before and after the fit, and while further sequences are placed.

    Notes
    -----
    SI, "Two-dimensional UMAP embedding": Chebyshev distance, 50 neighbours, minimum distance 0.05; with fewer than 200
    points the neighbours are a quarter of them.

    Neighbours are found exactly, by a k-d tree: posture sequences fill few of their dimensions, so this takes 0.8 s for
    20,000 of them. UMAP's own approximate search takes longer than everything else here, and most of that time to
    compile. Placing by the median keeps as many of the true neighbours near as UMAP's `transform` (52 against 53 %).
    """
    valid = sequences.segments.valid
    _check_request(method, int(valid.sum()), n_fitted)
    microstates.check_components(sequences)
    points = sequences.values[valid]
    if method == "pca":
        placed, centers = _project(points, microstates.centers)
        source = f"First two principal directions of {count_of(len(points), 'sequence')}."
    else:
        placed, centers = _lay_out(points, microstates.centers, n_fitted, seed, progress)
        source = _describe_umap(len(points), n_fitted, microstates.n_states)
    frames = np.full((len(valid), N_AXES), np.nan, dtype=np.float32)
    frames[valid] = placed
    return SequenceMap(frames=frames, centers=centers, method=method, source=source)


def count_neighbors(n_points: int) -> int:
    """Choose how many neighbours UMAP looks at: 50 as published, at most a quarter of the points, at least two."""
    return max(FEWEST_NEIGHBORS, min(PAPER_NEIGHBORS, n_points // POINTS_PER_NEIGHBOR))


def _check_request(method: str, n_sequences: int, n_fitted: int) -> None:
    if method not in ("umap", "pca"):
        raise InputFormatError(f"method={method!r} is no way to make a map; use 'umap' or 'pca'.")
    if n_sequences < FEWEST_SEQUENCES:
        raise InputFormatError(
            f"A map needs at least {FEWEST_SEQUENCES} sequences; there {'is' if n_sequences == 1 else 'are'} "
            f"{n_sequences}. Use shorter sequences (n_delays), or more data."
        )
    if n_fitted < FEWEST_SEQUENCES:
        raise InputFormatError(f"n_fitted={n_fitted} sequences make no map; use at least {FEWEST_SEQUENCES}.")


def _describe_umap(n_sequences: int, n_fitted: int, n_states: int) -> str:
    sequences, states = count_of(n_sequences, "sequence"), count_of(n_states, "microstate")
    if n_sequences <= n_fitted:
        return f"UMAP of {sequences} and {states}."
    return f"UMAP of {n_fitted:,} of {sequences} and {states}; the rest in the middle of their five nearest."


def _project(points: FloatArray, centers: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Project on the first two principal directions, the largest loading of each positive."""
    mean = points.mean(axis=0, dtype=np.float64)
    deviation = points - mean.astype(np.float32)
    covariance = (deviation.T @ deviation).astype(np.float64)
    directions = np.zeros((points.shape[1], N_AXES))
    leading = np.linalg.eigh(covariance)[1][:, ::-1][:, :N_AXES]
    largest = np.abs(leading).argmax(axis=0)
    directions[:, : leading.shape[1]] = leading * np.sign(leading[largest, np.arange(leading.shape[1])])
    placed = (deviation @ directions).astype(np.float32)
    return placed, ((centers - mean) @ directions).astype(np.float32)


def _lay_out(
    points: FloatArray, centers: FloatArray, n_fitted: int, seed: int, progress: Progress | None
) -> tuple[FloatArray, FloatArray]:
    """Fit UMAP to some of the points and all centers, and place the other points among them."""
    rng = generator(seed, "map")
    rows = np.sort(rng.choice(len(points), min(n_fitted, len(points)), replace=False))
    report = progress or _stay_silent
    report("map", 0, len(points))
    anchors = np.concatenate([points[rows], centers])
    tree = KDTree(anchors)
    positions = _fit_umap(anchors, tree, int(rng.integers(2**31)))
    report("map", len(rows), len(points))
    placed = np.empty((len(points), N_AXES), dtype=np.float32)
    placed[rows] = positions[: len(rows)]
    rest = np.setdiff1d(np.arange(len(points)), rows)
    for first in range(0, rest.size, BLOCK_SEQUENCES):
        block = rest[first : first + BLOCK_SEQUENCES]
        placed[block] = _middle_of_nearest(tree, positions, points[block])
        report("map", len(rows) + first + block.size, len(points))
    return placed, positions[len(rows) :]


def _stay_silent(what: str, done: int, total: int) -> None:
    pass


def _nearest(tree: KDTree, points: FloatArray, n_nearest: int) -> tuple[FloatArray, IntArray]:
    distances, indices = tree.query(points, list(range(1, n_nearest + 1)), p=np.inf)
    return distances.astype(np.float32), indices.astype(np.int32)


def _middle_of_nearest(tree: KDTree, positions: FloatArray, points: FloatArray) -> FloatArray:
    """Average those three of the nearest that are closest to their median, which alone would leave a lattice."""
    found = positions[_nearest(tree, points, min(N_PLACING, tree.n))[1]]
    apart = np.square(found - np.median(found, axis=1, keepdims=True)).sum(axis=2)
    inner = np.argsort(apart, axis=1, kind="stable")[:, :N_INNER, None]
    middle: FloatArray = np.take_along_axis(found, inner, axis=1).mean(axis=1)
    return middle


def _fit_umap(anchors: FloatArray, tree: KDTree, random_state: int) -> FloatArray:
    n_neighbors = count_neighbors(len(anchors))
    distances, indices = _nearest(tree, anchors, n_neighbors)
    with _quiet_umap():
        from umap import UMAP

        reducer = UMAP(
            n_components=N_AXES,
            n_neighbors=n_neighbors,
            min_dist=PAPER_MIN_DIST,
            metric="chebyshev",
            init="spectral" if len(anchors) >= FEWEST_FOR_SPECTRAL_START else "random",
            precomputed_knn=(indices, distances),
            random_state=random_state,
            n_jobs=1,  # what a seed makes of it in any case
        )
        return np.asarray(reducer.fit_transform(anchors), dtype=np.float32)


@contextlib.contextmanager
def _quiet_umap() -> Iterator[None]:
    """Silence what UMAP says about features that are not used here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Tensorflow not installed", category=ImportWarning)
        warnings.filterwarnings("ignore", message=r"precomputed_knn\[2\]", category=UserWarning)
        yield
