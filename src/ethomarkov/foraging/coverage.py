"""The area that a body sweeps on its path."""

import functools
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.series import Series
from ethomarkov._core.types import FloatArray, IntArray
from ethomarkov._core.words import count_of
from ethomarkov.exceptions import InputFormatError
from ethomarkov.locomotion.ensemble import Measure
from ethomarkov.locomotion.resistive import body_modes, skeletons
from ethomarkov.locomotion.trajectory import Trajectory
from ethomarkov.posture import PostureBasis

PAPER_FRAMES, PAPER_POINTS, PAPER_REACH, PAPER_PITCH = 8, 5, 25.0, 0.05
LONGEST_RADIUS, SHORTEST_RADIUS, N_RADII = 25.0, 0.5, 30
MOST_CELLS = 2**31


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepSettings:
    """Settings of the area that a body covers.

    Parameters
    ----------
    width
        Width of the body in body lengths.
    cells_per_width
        Number of cells of the grid across the body. With two, the area that a crawling worm sweeps in 100 s is too
        small by 0.1 to 0.5 %; with four, by less than 0.1 %, in three times the time.
    centre
        Where distances are counted from: the head, as published, or the centroid, at the start of each run.
    body_length
        Length of the animal in the unit of its path; everything here is in body lengths.
    method
        "capsule" draws the body in every frame and in between; "paper" is the published raster of points.

    Examples
    --------
    >>> SweepSettings(width=0.05, cells_per_width=2).pitch
    0.025
    """

    width: float = 0.05
    cells_per_width: float = 2.0
    centre: Literal["head", "centroid"] = "head"
    body_length: float = 1.0
    method: Literal["capsule", "paper"] = "capsule"

    def __post_init__(self) -> None:
        for name in ("width", "cells_per_width", "body_length"):
            if not 0 < getattr(self, name) < np.inf:
                raise InputFormatError(f"{name}={getattr(self, name)!r}; a positive number is needed.")
        if self.centre not in ("head", "centroid") or self.method not in ("capsule", "paper"):
            raise InputFormatError(
                f"centre={self.centre!r}, method={self.method!r}; use centre 'head' or 'centroid', method 'capsule' or "
                "'paper'."
            )

    @property
    def pitch(self) -> float:
        """Side of a cell, in body lengths."""
        return PAPER_PITCH if self.method == "paper" else self.width / self.cells_per_width


@dataclass(frozen=True, slots=True, kw_only=True)
class Footprint(Result):
    """Cells of a grid that a body covered in one run, in the order in which it came to them.

    Parameters
    ----------
    cells
        Cell ``(i, j)`` reaches from ``i`` to ``i + 1`` pitches and from ``j`` to ``j + 1``, counted from the centre.
    first_seen
        Seconds from the start of the run to the frame in which each cell was covered.
    pitch
        Side of a cell, in body lengths.

    Examples
    --------
    >>> import numpy as np
    >>> cells, seconds = np.array([[0, 0], [1, 0], [2, 0]]), np.array([0.0, 0.5, 1.0])
    >>> footprint = Footprint(cells=cells, first_seen=seconds, pitch=0.5)
    >>> footprint.area
    0.75
    """

    cells: IntArray = array_field("cell", "space")
    first_seen: FloatArray = array_field("cell", unit="s")
    pitch: float

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def area(self) -> float:
        """Area covered, in squared body lengths."""
        return len(self.cells) * self.pitch**2

    @property
    def points(self) -> FloatArray:
        """Middles of the cells, in body lengths from the centre."""
        middles: FloatArray = (self.cells + 0.5) * self.pitch
        return middles

    @property
    def distance(self) -> FloatArray:
        """Distance of the middles of the cells from the centre, in body lengths."""
        distance: FloatArray = np.hypot(*self.points.T)
        return distance

    def share(self, radii: FloatArray) -> FloatArray:
        """Give the share of discs around the centre that is covered."""
        covered = np.searchsorted(np.sort(self.distance), radii, side="left")
        n_cells = count_disc_cells(tuple(np.asarray(radii, dtype=float).tolist()), self.pitch)
        return np.asarray(np.divide(covered, n_cells, out=np.full(len(n_cells), np.nan), where=n_cells > 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage(Result):
    """Area that the body covered, and its share of discs around the start, one row per run.

    Parameters
    ----------
    radii
        Radii of the discs in body lengths.
    share
        Covered share of each disc.
    area
        Area covered in the whole plane, in squared body lengths.
    duration
        Duration of each run.

    Examples
    --------
    >>> import numpy as np
    >>> one = np.ones(2)
    >>> share = np.array([[0.3, 0.1], [0.5, 0.1]])
    >>> Coverage(radii=np.array([1.0, 5.0]), share=share, area=one, duration=100 * one).headline()
    '2 runs, mean area 1 body lengths²'
    """

    radii: FloatArray = array_field("radius", unit="body lengths")
    share: FloatArray = array_field("run", "radius")
    area: FloatArray = array_field("run", unit="body lengths²")
    duration: FloatArray = array_field("run", unit="s")

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def headline(self) -> str:
        """Give the number of runs and the mean area that they cover."""
        known = self.area[np.isfinite(self.area)]
        area = f", mean area {known.mean():.3g} body lengths²" if known.size else ""
        return f"{count_of(self.area.size, 'run')}{area}"


def food_radii(n: int = N_RADII) -> FloatArray:
    """List the published radii: log-spaced from half a body length to 25 body lengths."""
    return np.geomspace(SHORTEST_RADIUS, LONGEST_RADIUS, n)


def measure_coverage(
    postures: Series,
    path: Trajectory,
    radii: FloatArray | None = None,
    *,
    basis: PostureBasis | None = None,
    settings: SweepSettings | None = None,
) -> Coverage:
    """Measure the share of discs around the start of each run that the body covers.

    Parameters
    ----------
    postures
        Tangent angles, or mode amplitudes with `basis`.
    path
        Made by `propel` from the same postures.
    radii
        Of the discs, in body lengths; `food_radii` by default.
    basis
        Of amplitudes.
    settings
        Width of the body, and the grid.

    Notes
    -----
    SI, "Probability of finding food". A cell of a square grid counts once, and counts to a disc if its middle lies in
    it. The centre of the discs is a corner of the grid.

    Examples
    --------
    >>> import numpy as np
    >>> from ethomarkov.locomotion import propel
    >>> from ethomarkov._core.series import Series
    >>> body, time = np.meshgrid(np.linspace(0, 1, 20), np.arange(80) / 16)
    >>> angles = Series.from_rows(np.sin(2 * np.pi * (1.5 * body - time)), 16.0)
    >>> covered = measure_coverage(angles, propel(angles), np.array([0.5, 2.0]))
    >>> covered.share.shape, bool(covered.share[0, 0] > covered.share[0, 1])
    ((1, 2), True)
    """
    chosen = food_radii() if radii is None else np.atleast_1d(np.asarray(radii, dtype=float))
    found = footprints(postures, path, basis=basis, settings=settings)
    return Coverage(
        radii=chosen,
        share=np.array([one.share(chosen) for one in found]).reshape(len(found), chosen.size),
        area=np.array([one.area for one in found]),
        duration=path.segments.lengths / path.sampling.rate,
    )


def coverage_measure(
    basis: PostureBasis | None = None, radii: FloatArray | None = None, settings: SweepSettings | None = None
) -> Measure:
    """Prepare a measure for `gather`: the covered share of each disc, for runs of an ensemble."""
    return lambda postures, path: measure_coverage(postures, path, radii, basis=basis, settings=settings).share[0]


def footprints(
    postures: Series, path: Trajectory, *, basis: PostureBasis | None = None, settings: SweepSettings | None = None
) -> list[Footprint]:
    """Find the cells that the body covers, for every gap-free run.

    Parameters
    ----------
    postures, path, basis, settings
        See `measure_coverage`.

    Notes
    -----
    The body is the set of points within half its width of its midline: a chain of capsules on chords no longer than a
    cell where the body has segments enough. Between two frames the joints move on straight lines, in steps of which
    none takes head or tail by more than a cell, or a segment between them by more than a cell sideways and two in all.
    Steps sideways are thus shorter than the body is wide, and a fast body leaves no holes.

    The published raster takes the points of every 8th frame and every 20th part of the body, marks the cells of 0.05
    body lengths in which they fall within ±25 body lengths, and fills nothing in between.

    Examples
    --------
    >>> import numpy as np
    >>> from ethomarkov.locomotion import propel
    >>> from ethomarkov._core.series import Series
    >>> body, time = np.meshgrid(np.linspace(0, 1, 20), np.arange(80) / 16)
    >>> angles = Series.from_rows(np.sin(2 * np.pi * (1.5 * body - time)), 16.0)
    >>> found = footprints(angles, propel(angles))
    >>> len(found), bool(found[0].area > 0.05)  # one gap-free run; a resting body covers about 0.05
    (1, True)
    """
    settings = settings or SweepSettings()
    _check(postures, path)
    draw = _draw_points if settings.method == "paper" else _draw_body
    return [draw(postures, path, (start, stop), basis, settings) for start, stop, _ in path.segments]


@functools.lru_cache(maxsize=64)
def count_disc_cells(radii: tuple[float, ...], pitch: float) -> IntArray:
    """Count the cells whose middle lies in discs around a corner of the grid.

    Examples
    --------
    >>> count_disc_cells((1.0, 2.0), 1.0).tolist()
    [4, 12]
    """
    counts = np.zeros(len(radii), dtype=np.int64)
    for k, radius in enumerate(radii):
        reach = radius / pitch
        middles = np.arange(0.5, reach)
        # of every quarter of a column, the middles 0.5, 1.5, … below the circle
        counts[k] = 4 * np.ceil(np.sqrt(np.maximum(reach**2 - middles**2, 0)) - 0.5).sum()
    counts.setflags(write=False)
    return counts


def _check(postures: Series, path: Trajectory) -> None:
    if len(path.centroid) != len(postures.values):
        raise InputFormatError(
            f"The path has {len(path.centroid)} frames, the postures {len(postures.values)}; give the postures from "
            "which the path was computed."
        )
    placed = path.segments.valid
    if not (postures.segments.valid[placed].all() and np.isfinite(path.heading[placed]).all()):
        raise InputFormatError(
            "The path has frames without a posture or a heading, so that the body cannot be placed. Give the path that "
            "`propel` computes from these postures."
        )


def _draw_body(
    postures: Series, path: Trajectory, run: tuple[int, int], basis: PostureBasis | None, settings: SweepSettings
) -> Footprint:
    from ethomarkov.foraging.coverage_kernels import capsule_window, sweep

    rows = slice(*run)
    modes, mean = body_modes(postures, basis)
    pitch = settings.pitch
    centroid = (path.centroid[rows] / settings.body_length - _centre(postures, path, run[0], basis, settings)) / pitch
    length, radius = 1 / pitch, settings.width / 2 / pitch
    stride = max(1, int(pitch * mean.size))
    # no point of a body is farther from its centroid than half its length; the kernel looks a window farther
    reach = length / 2 + radius + capsule_window(stride * length / mean.size, radius)
    corner = np.floor(centroid.min(axis=0) - reach).astype(np.int64)
    shape = np.ceil(centroid.max(axis=0) + reach).astype(np.int64) - corner
    if shape.prod() > MOST_CELLS:
        raise InputFormatError(
            f"The body moves over {shape[0]:,} x {shape[1]:,} cells of {pitch:g} body lengths, more than can be held. "
            "Use a shorter run or fewer cells per width."
        )
    visited, order = np.zeros(shape, dtype=np.bool_), np.empty(shape.prod(), dtype=np.int64)
    n_after = np.empty(len(centroid), dtype=np.int64)
    # the middle of cell i, i + 1/2, is at i in the kernel
    places = centroid - corner - 0.5
    sweep(
        postures.values[rows], modes, mean, places, path.heading[rows], length, radius, stride, visited, order, n_after
    )
    cells = np.stack(np.divmod(order[: n_after[-1]], shape[1]), axis=1) + corner
    frames = np.repeat(np.arange(n_after.size), np.diff(n_after, prepend=0))
    return Footprint(cells=cells, first_seen=frames / path.sampling.rate, pitch=pitch)


def _draw_points(
    postures: Series, path: Trajectory, run: tuple[int, int], basis: PostureBasis | None, settings: SweepSettings
) -> Footprint:
    rows = np.arange(*run, PAPER_FRAMES)
    joints = skeletons(path, postures, rows, body_length=settings.body_length, basis=basis)
    stride = max(1, round(PAPER_POINTS * (joints.shape[1] - 1) / 100))
    points = joints[:, ::stride] / settings.body_length - _centre(postures, path, run[0], basis, settings)
    n_points = points.shape[1]
    points = points.reshape(-1, 2)
    inside = (np.abs(points) <= PAPER_REACH).all(axis=1)
    half = round(PAPER_REACH / PAPER_PITCH)
    edges = np.linspace(-PAPER_REACH, PAPER_REACH, 2 * half + 1)
    # as a histogram does: a cell owns its lower edge, the last one its upper edge too
    cells = np.minimum(np.searchsorted(edges, points[inside], side="right") - 1, 2 * half - 1)
    _, first = np.unique(cells @ [2 * half, 1], return_index=True)
    first.sort()
    frames = np.repeat(rows - run[0], n_points)[inside][first]
    return Footprint(cells=cells[first] - half, first_seen=frames / path.sampling.rate, pitch=PAPER_PITCH)


def _centre(
    postures: Series, path: Trajectory, row: int, basis: PostureBasis | None, settings: SweepSettings
) -> FloatArray:
    """Where distances are counted from, in body lengths."""
    if settings.centre == "centroid":
        start: FloatArray = path.centroid[row] / settings.body_length
        return start
    joints = skeletons(path, postures, np.array([row]), body_length=settings.body_length, basis=basis)
    head: FloatArray = joints[0, 0] / settings.body_length
    return head
