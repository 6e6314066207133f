"""The drag ratio that best explains measured paths."""

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy import optimize

from ethomarkov._core.interval import Interval, bootstrap_interval
from ethomarkov._core.random import Rng, as_generator
from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.segments import Segments
from ethomarkov._core.series import Series
from ethomarkov._core.showing import frame_of_columns
from ethomarkov._core.types import BoolArray, ComplexArray, FloatArray, IntArray
from ethomarkov._core.words import count_of
from ethomarkov.exceptions import InputFormatError
from ethomarkov.locomotion.resistive import Scheme, balance_sums, body_modes, individual_lengths, lead_of
from ethomarkov.posture import PostureBasis

if TYPE_CHECKING:
    import pandas as pd

GRID_POINTS = 33
MIRROR_TRIAL = 30.0  # drag ratio at which the two mirror images are compared
FLAT = 1e-3  # a loss that varies by less than this share of its size says nothing about α
PAPER_ROTATIONS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class DragSettings:
    """Settings of the fit of the drag ratio.

    Parameters
    ----------
    window
        Seconds of path compared at once.
    n_windows
        Windows drawn at random; None takes all that fit side by side. Drawn windows overlap, so that intervals over
        them, like the published one, are too narrow.
    bounds
        Least and largest drag ratio.
    loss
        "rms": root mean square distance after the best shift and rotation. "paper": the largest distance, both paths
        starting at the origin, after the best of a thousand rotations.
    mirror
        Whether measured paths are mirror images of what the postures describe; "auto" decides for each individual.
    scheme
        Of the computed path, see `propel`.

    Examples
    --------
    >>> settings = DragSettings(window=50.0, bounds=(2.0, 200.0))
    >>> settings.grid.size, round(float(settings.grid[0]), 6), round(float(settings.grid[-1]), 6)
    (33, 2.0, 200.0)
    """

    window: float = 100.0
    n_windows: int | None = None
    bounds: tuple[float, float] = (1.5, 1000.0)
    loss: Literal["rms", "paper"] = "rms"
    mirror: bool | Literal["auto"] = "auto"
    scheme: Scheme = "midpoint"

    def __post_init__(self) -> None:
        low, high = self.bounds
        if not 0 < low < high < np.inf:
            raise InputFormatError(
                f"bounds={self.bounds}; two ascending positive numbers are needed, such as (1.5, 1000)."
            )

    @property
    def grid(self) -> FloatArray:
        """Drag ratios at which every loss is computed first."""
        return np.geomspace(*self.bounds, GRID_POINTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class DragFit(Result):
    """Drag ratios fitted in windows of a recording.

    Parameters
    ----------
    starts, individual
        First row and individual of every window.
    drag_ratio
        Best α of every window; at a bound where the loss still falls there, NaN where it does not depend on α.
    loss
        Its loss, in the unit of the measured path.
    status
        "ok", "at lower bound", "at upper bound" or "flat", of every window.
    grid, curves
        Drag ratios, and the loss of every window at each.
    median
        Over windows; those at a bound count with the bound, so that leaving out one side does not bias the median.
    median_by_individual
        The same for each individual.
    is_mirrored
        Whether the measured path of each individual was mirrored before it was compared.
    mirror_losses
        Mean loss of each individual without and with mirroring, at a drag ratio of 30.
    settings
        Of the fit.

    Examples
    --------
    >>> from ethomarkov.locomotion import propel
    >>> s, t = np.linspace(0, 1, 30), np.arange(800)[:, None] / 16
    >>> angles = Series.from_rows(np.sin(2 * np.pi * (s / 0.6 - 0.4 * t)), 16.0)  # a travelling wave
    >>> path = propel(angles, 20.0).centroid
    >>> fit = fit_drag_ratio(angles, path, 1.0, settings=DragSettings(window=25.0))
    >>> fit.status_counts, fit.drag_ratio.round(1).tolist(), fit.mean_curve.shape, fit.share_unsolved
    ({'ok': 2}, [20.0, 20.0], (33,), 0.0)
    """

    starts: IntArray = array_field("window")
    individual: IntArray = array_field("window")
    drag_ratio: FloatArray = array_field("window")
    loss: FloatArray = array_field("window", unit="length")
    status: tuple[str, ...]
    grid: FloatArray = array_field("grid")
    curves: FloatArray = array_field("window", "grid", unit="length")
    median: Interval
    median_by_individual: tuple[Interval, ...]
    is_mirrored: BoolArray = array_field("animal")
    mirror_losses: FloatArray = array_field("animal", "mirror", unit="length")
    settings: DragSettings

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def mean_curve(self) -> FloatArray:
        """Mean loss over windows at every drag ratio of the grid."""
        curve: FloatArray = self.curves.mean(axis=0)
        return curve

    @property
    def status_counts(self) -> dict[str, int]:
        """Number of windows of each status."""
        return dict(Counter(self.status))

    @property
    def share_unsolved(self) -> float:
        """Share of windows without an optimum inside the bounds."""
        return 1.0 - self.status_counts.get("ok", 0) / len(self.status)

    def headline(self) -> str:
        """Give the median drag ratio and the number of windows."""
        return f"drag ratio {self.median}, median of {count_of(len(self.status), 'window')}"

    def table(self) -> "pd.DataFrame":
        """List the windows: first row, individual, drag ratio, loss and status."""
        return frame_of_columns(
            {
                "start_row": self.starts,
                "individual": self.individual,
                "drag_ratio": self.drag_ratio,
                "loss": self.loss,
                "status": self.status,
            }
        )


def fit_drag_ratio(
    postures: Series,
    centroid: FloatArray | Series,
    body_length: float | FloatArray,
    *,
    basis: PostureBasis | None = None,
    settings: DragSettings | None = None,
    rng: Rng = 0,
) -> DragFit:
    """Fit the drag ratio to measured paths, window by window.

    Parameters
    ----------
    postures
        Tangent angles, or mode amplitudes with `basis`.
    centroid
        Measured path, ``(frames, 2)``.
    body_length
        In the unit of the measured path; one number, or one per individual. Paths grow with both the body and the drag
        ratio, so that an error of the length shifts the drag ratio.
    basis
        Of amplitudes.
    settings
        Windows, bounds, loss and scheme.
    rng
        Random seed or generator of windows and bootstraps.

    Notes
    -----
    SI, "Resistive force theory simulations", and Fig. S5(a). The loss of each window is computed on a grid of log α
    and refined by bounded minimisation between the neighbours of the least value.

    Examples
    --------
    >>> from ethomarkov.locomotion import propel
    >>> s, t = np.linspace(0, 1, 30), np.arange(800)[:, None] / 16
    >>> angles = Series.from_rows(np.sin(2 * np.pi * (s / 0.6 - 0.4 * t)), 16.0)  # a travelling wave
    >>> fit = fit_drag_ratio(angles, propel(angles, 20.0).centroid, 1.0, settings=DragSettings(window=25.0))
    >>> round(fit.median.estimate, 1)
    20.0
    """
    settings, rng = settings or DragSettings(), as_generator(rng)
    measured = np.asarray(centroid.values if isinstance(centroid, Series) else centroid, dtype=float)
    if measured.shape != (len(postures.values), 2):
        raise InputFormatError(
            f"The measured path has shape {measured.shape}; ({len(postures.values)}, 2) is needed, one row per frame."
        )
    segments = postures.segments.keep(np.isfinite(measured).all(axis=1))
    n_frames = postures.sampling.nearest_frames(settings.window, "window")
    starts = _choose_windows(segments, n_frames, settings.n_windows, rng)
    individual = segments.row_individual[starts]
    lengths = individual_lengths(body_length, segments.n_individuals)
    body = body_modes(postures, basis)
    windows = [
        _Window(
            sums=balance_sums(postures.values[start : start + n_frames], body, settings.scheme),
            measured=_as_complex(measured[start : start + n_frames]),
            body_length=float(lengths[owner]),
            settings=settings,
        )
        for start, owner in zip(starts, individual, strict=True)
    ]
    mirror_losses = _compare_mirrors(windows, individual, segments.n_individuals)
    is_mirrored = _decide_mirrors(mirror_losses, settings.mirror)
    windows = [w.mirrored() if is_mirrored[owner] else w for w, owner in zip(windows, individual, strict=True)]
    curves = np.array([[w.loss(alpha) for alpha in settings.grid] for w in windows])
    optima = [_refine(w, curve) for w, curve in zip(windows, curves, strict=True)]
    drag_ratio = np.array([alpha for alpha, _, _ in optima])
    return DragFit(
        starts=starts,
        individual=individual,
        drag_ratio=drag_ratio,
        loss=np.array([loss for _, loss, _ in optima]),
        status=tuple(status for _, _, status in optima),
        grid=settings.grid,
        curves=curves,
        # The jackknife fails for medians, which are no smooth function of the windows.
        median=bootstrap_interval(drag_ratio, "windows", statistic=np.median, rng=rng),
        median_by_individual=tuple(
            bootstrap_interval(drag_ratio[individual == i], "windows", statistic=np.median, rng=rng)
            for i in range(segments.n_individuals)
        ),
        is_mirrored=is_mirrored,
        mirror_losses=mirror_losses,
        settings=settings,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Window:
    """One window of measured path, and the sums for the computed path; positions are complex numbers."""

    sums: FloatArray
    measured: ComplexArray
    body_length: float
    settings: DragSettings

    def mirrored(self) -> "_Window":
        return _Window(
            sums=self.sums, measured=self.measured.conj(), body_length=self.body_length, settings=self.settings
        )

    def path(self, drag_ratio: float) -> ComplexArray:
        from ethomarkov.locomotion.resistive_kernels import integrate

        place, heading = np.empty((self.measured.size, 2)), np.empty(self.measured.size)
        integrate(self.sums, float(drag_ratio), lead_of(self.settings.scheme), place, heading)
        return _as_complex(place) * self.body_length

    def loss(self, drag_ratio: float) -> float:
        compare = rms_distance if self.settings.loss == "rms" else paper_distance
        return compare(self.path(drag_ratio), self.measured)


def rms_distance(path: ComplexArray, measured: ComplexArray) -> float:
    """Compute the root mean square distance of two paths after the best shift and rotation, in closed form."""
    x, y = path - path.mean(), measured - measured.mean()
    squares = np.vdot(x, x).real + np.vdot(y, y).real - 2 * abs(np.vdot(x, y))
    return float(np.sqrt(max(squares, 0.0) / x.size))


def paper_distance(path: ComplexArray, measured: ComplexArray) -> float:
    """Compute the largest distance of two paths from a common start, for the best of a thousand rotations."""
    from ethomarkov.locomotion.resistive_kernels import least_largest

    x, y = path - path[0], measured - measured[0]
    sizes, product = np.abs(x) ** 2 + np.abs(y) ** 2, np.conj(y) * x
    # distant points and good rotations first: most of the others are then left at once
    order = np.argsort(-sizes)
    turns = np.linspace(0, 2 * np.pi, PAPER_ROTATIONS, endpoint=False)
    turns = turns[np.argsort(-np.cos(turns + np.angle(product.sum())))]
    return float(np.sqrt(least_largest(sizes[order], product.real[order], product.imag[order], turns)))


def _as_complex(points: FloatArray) -> ComplexArray:
    return np.asarray(points[:, 0] + 1j * points[:, 1])


def _choose_windows(segments: Segments, n_frames: int, n_windows: int | None, rng: np.random.Generator) -> IntArray:
    """Choose the first rows of the windows, ascending."""
    if n_windows is None:
        side_by_side = [np.arange(start, stop - n_frames + 1, n_frames) for start, stop, _ in segments]
        starts = np.concatenate([np.empty(0, dtype=np.int64), *side_by_side])
    else:
        all_starts = segments.window_starts(n_frames)
        starts = np.sort(rng.choice(all_starts, min(n_windows, all_starts.size), replace=False))
    if starts.size == 0:
        raise InputFormatError(
            f"No window of {n_frames} frames fits: the longest stretch with posture and path has "
            f"{segments.longest()} frames. Use a shorter window."
        )
    return np.asarray(starts, dtype=np.int64)


def _compare_mirrors(windows: list[_Window], individual: IntArray, n_individuals: int) -> FloatArray:
    """Compute the mean loss of each individual as measured and mirrored; NaN for one without windows."""
    both = np.array([[w.loss(MIRROR_TRIAL), w.mirrored().loss(MIRROR_TRIAL)] for w in windows])
    losses = np.full((n_individuals, 2), np.nan)
    for i in np.unique(individual):
        losses[i] = both[individual == i].mean(axis=0)
    return losses


def _decide_mirrors(losses: FloatArray, mirror: bool | Literal["auto"]) -> BoolArray:
    if mirror == "auto":
        return np.asarray(losses[:, 1] < losses[:, 0])
    return np.full(len(losses), bool(mirror))


def _refine(window: _Window, curve: FloatArray) -> tuple[float, float, str]:
    """Compute drag ratio, loss and status of one window, from its loss on the grid."""
    grid = window.settings.grid
    if np.ptp(curve) <= FLAT * curve.max():
        return np.nan, float(curve.min()), "flat"
    best = int(curve.argmin())
    around = np.log(grid[[max(best - 1, 0), min(best + 1, grid.size - 1)]])
    refined = optimize.minimize_scalar(
        lambda log_alpha: window.loss(np.exp(log_alpha)),
        bounds=tuple(around),
        method="bounded",
        options={"xatol": 1e-4},
    )
    if refined.fun < curve[best]:
        return float(np.exp(refined.x)), float(refined.fun), "ok"
    status = {0: "at lower bound", grid.size - 1: "at upper bound"}.get(best, "ok")
    return float(grid[best]), float(curve[best]), status
