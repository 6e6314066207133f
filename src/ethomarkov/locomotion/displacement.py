"""Mean squared displacement and diffusion."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import fft

from ethomarkov._core.interval import Interval, Scale, interval_of_mean, mean_band
from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.types import BoolArray, FloatArray, IntArray
from ethomarkov._core.words import count_of
from ethomarkov.exceptions import InputFormatError, SamplingError
from ethomarkov.locomotion.trajectory import Trajectory

Convention = Literal["slope/4", "slope"]

PAPER_RATE = 16.0
FEW_LAGS = 16  # up to here a subtraction per lag is faster than the transforms
CANCELLATION = 1e-5  # share of the total square below which the transforms lose more than nine digits


@dataclass(frozen=True, slots=True, kw_only=True)
class Displacement(Result):
    """Mean squared displacement against lag, one row per animal or simulated run.

    Parameters
    ----------
    lags
        Seconds, ascending.
    msd
        Time average of the squared displacement, in squared units of length; NaN where a lag has no pair.
    n_pairs
        Pairs of frames behind every value. They overlap: they are not independent observations.
    names
        Of the animals or runs.
    over
        What the rows are, in words: "animals" or "runs".
    length_unit
        Unit of the path.
    """

    lags: FloatArray = array_field("lag", unit="s")
    msd: FloatArray = array_field("unit", "lag", unit="length^2")
    n_pairs: IntArray = array_field("unit", "lag")
    names: tuple[str, ...]
    over: str
    length_unit: str

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def exponent(self) -> FloatArray:
        """Local exponent d ln MSD / d ln τ of every row: 2 for straight motion, 1 for diffusion."""
        if self.lags.size < 2:
            return np.full(self.msd.shape, np.nan)
        logarithm = np.log(self.msd, out=np.full(self.msd.shape, np.nan), where=self.msd > 0)
        exponent: FloatArray = np.gradient(logarithm, np.log(self.lags), axis=1)
        return exponent

    def mean_band(self, level: float = 0.95) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Average over the rows at every lag, with the interval of the mean over rows.

        Returns
        -------
        mean, low, high
            One value per lag; the limits are NaN for a single row.
        """
        return mean_band(self.msd, level, scale="positive")

    def headline(self) -> str:
        """Give the number of animals or runs and the range of lags."""
        longest = f" up to {self.lags.max():.3g} s" if self.lags.size else ""
        return f"{len(self.names)} {self.over}, {count_of(self.lags.size, 'lag')}{longest}, in {self.length_unit}²"


@dataclass(frozen=True, slots=True, kw_only=True)
class Diffusion(Result):
    """Straight-line fits to the mean squared displacement.

    Parameters
    ----------
    coefficient
        Of each row: the slope over four, or the slope itself if so asked, in squared length per second.
    slope, intercept
        Of the fitted lines.
    exponent
        Of the power law fitted in the same window; 1 if the animal diffuses.
    diffusive
        Set where the exponent is within `tolerance` of 1.
    interval
        Mean coefficient, with its interval over rows.
    window
        Seconds, first and last lag that may take part.
    convention
        What `coefficient` is.
    tolerance
        On the exponent.
    names
        Of the rows.
    length_unit
        Unit of the path.
    """

    coefficient: FloatArray = array_field("unit", unit="length^2/s")
    slope: FloatArray = array_field("unit", unit="length^2/s")
    intercept: FloatArray = array_field("unit", unit="length^2")
    exponent: FloatArray = array_field("unit")
    diffusive: BoolArray = array_field("unit")
    interval: Interval
    window: FloatArray = array_field("first_last", unit="s")
    convention: Convention
    tolerance: float
    names: tuple[str, ...]
    length_unit: str

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def headline(self) -> str:
        """Give the mean diffusion coefficient with its interval."""
        window = f" between {self.window[0]:g} and {self.window[1]:g} s" if self.window.size == 2 else ""
        return f"{self.interval} {self.length_unit}²/s ({self.convention}){window}"

    @property
    def caution(self) -> str:
        """Say in a sentence which rows do not diffuse in the window; empty if all do."""
        fitted = np.isfinite(self.exponent)
        odd = np.flatnonzero(fitted & ~self.diffusive)
        if odd.size == 0:
            return ""
        low, high = self.exponent[odd].min(), self.exponent[odd].max()
        return (
            f"Between {self.window[0]:g} and {self.window[1]:g} s the mean squared displacement of {odd.size} of "
            f"{int(fitted.sum())} is not a straight line through the origin (it grows as lag to the power "
            f"{low:.2f} to {high:.2f}, not 1): their coefficients depend on the window."
        )


def paper_lags(longest: float = 150.0, n: int = 300) -> FloatArray:
    """List the published lags in seconds: whole frames at 16 Hz, log-spaced from one second on.

    Parameters
    ----------
    longest
        Seconds: 150 for whole worms, 500 for single mesostates.
    n
        Lags before duplicates are dropped: 300 for whole worms, 250 for single mesostates.
    """
    spaced = np.logspace(np.log10(PAPER_RATE), np.log10(round(longest * PAPER_RATE)), n)
    return np.unique(spaced.astype(np.int64)) / PAPER_RATE


def msd(
    path: Trajectory, lags: FloatArray | None = None, *, across_gaps: bool = False, over: str = "animals"
) -> Displacement:
    """Compute the mean squared displacement of every animal over all pairs of frames a lag apart.

    Parameters
    ----------
    path
        Positions; each individual gives one row.
    lags
        Seconds, whole numbers of frames. By default 200 log-spaced ones, from one frame to a quarter of the longest
        stretch, beyond which hardly any independent pair is left.
    across_gaps
        Also take pairs with a gap between them. Right for a measured path, whose positions are all on one plate, and
        then needed: a record cut by a few lost frames otherwise loses most of its long pairs. Wrong for a computed
        path, which restarts at the origin after each gap.
    over
        What the individuals are: "animals" or "runs".

    Notes
    -----
    MSD(τ) = ⟨|x(t + τ) − x(t)|²⟩, main text, Fig. 3(b).

    Examples
    --------
    >>> from ethomarkov._core.series import Series
    >>> points = np.stack([np.arange(100.0), np.zeros(100)], axis=1)  # straight at one unit per second
    >>> path = Trajectory.from_points(points, Series.from_rows(points, 1.0), "mm")
    >>> msd(path, np.array([1.0, 2.0, 10.0])).msd.round(6).tolist()
    [[1.0, 4.0, 100.0]]
    """
    frames = _default_frames(path) if lags is None else _whole_frames(path, lags)
    n_units = path.segments.n_individuals
    total, n_pairs = np.zeros((n_units, frames.size)), np.zeros((n_units, frames.size), dtype=np.int64)
    for unit, rows in path.segments.stretches(across_gaps=across_gaps):
        more, count = squared_displacements(path.centroid[rows], frames)
        total[unit] += more
        n_pairs[unit] += count
    return Displacement(
        lags=frames / path.sampling.rate,
        msd=np.divide(total, n_pairs, out=np.full(total.shape, np.nan), where=n_pairs > 0),
        n_pairs=n_pairs,
        names=path.segments.individuals,
        over=over,
        length_unit=path.length_unit,
    )


def ensemble_msd(paths: Iterable[Trajectory], lags: FloatArray) -> Displacement:
    """Compute the mean squared displacement of simulated runs, with one path in memory at a time.

    Parameters
    ----------
    paths
        Of the same unit of length, best made on the fly by a generator; every individual of every path is a run.
    lags
        Seconds, the same for all.
    """
    parts = [msd(path, lags, over="runs") for path in paths]
    if not parts:
        raise InputFormatError("There is no path to measure. Give at least one.")
    units = {part.length_unit for part in parts}
    if len(units) > 1:
        raise InputFormatError(f"The paths are in {' and '.join(sorted(units))}. Bring them to one unit of length.")
    return Displacement(
        lags=parts[0].lags,
        msd=np.concatenate([part.msd for part in parts]),
        n_pairs=np.concatenate([part.n_pairs for part in parts]),
        names=tuple(name for part in parts for name in part.names),
        over="runs",
        length_unit=parts[0].length_unit,
    )


def squared_displacements(points: FloatArray, lag_frames: IntArray) -> tuple[FloatArray, IntArray]:
    """Sum the squared displacement over all pairs of known points, for each lag.

    Parameters
    ----------
    points
        One row per frame; NaN where unknown.
    lag_frames
        Lags in frames, at least one.

    Returns
    -------
    total
        Sum of squared displacements.
    n_pairs
        Number of pairs.

    Notes
    -----
    With m one at known points and zero elsewhere, and x zero where unknown, Σ m m' |x' − x|² = Σ m |x'|² + Σ |x|² m' −
    2 Σ x·x'. Correlations by fast Fourier transform give all lags at once; without gaps the first two terms are
    cumulative sums. The points are centred first, and lags at which the terms nearly cancel are summed directly.
    """
    lags = np.asarray(lag_frames, dtype=np.int64)
    total, n_pairs = np.zeros(lags.size), np.zeros(lags.size, dtype=np.int64)
    known: BoolArray = np.isfinite(points[:, 0]) & np.isfinite(points[:, 1])
    fits = lags < len(points)
    if not fits.any() or not known.any():
        return total, n_pairs
    whole = bool(known.all())
    rows = np.ascontiguousarray(points.T)
    centred = rows - (rows if whole else rows[:, known]).mean(axis=1, keepdims=True)
    if not whole:
        centred[:, ~known] = 0.0
    direct = fits.copy()
    if fits.sum() > FEW_LAGS:
        total[fits], n_pairs[fits] = _sum_by_transform(centred, known, lags[fits])
        direct = fits & (total < CANCELLATION * np.square(centred).sum())
    for k in np.flatnonzero(direct):
        total[k], n_pairs[k] = _sum_directly(centred, known, int(lags[k]))
    return total, n_pairs


def diffusion(
    displacement: Displacement,
    window: tuple[float, float] = (60.0, 100.0),
    convention: Convention = "slope/4",
    tolerance: float = 0.1,
) -> Diffusion:
    """Fit a straight line with intercept to the mean squared displacement of every animal or run.

    Parameters
    ----------
    displacement
        Measured at three lags or more in the window.
    window
        Seconds, both ends included.
    convention
        "slope/4" is D of MSD = 4 D τ, as the paper defines it; "slope" is what its figures show under that name.
    tolerance
        How far from 1 the exponent may be for a row to be called diffusive.

    Notes
    -----
    The interval is over animals or runs, never over pairs of frames. Pairs a minute apart share almost all of their
    path with their neighbours, so that an interval over them counts the same path hundreds of times and is far too
    narrow. A persistent walk has MSD = 4 D (τ − τ_p) at long lags: its slope is right, but its exponent,
    τ / (τ − τ_p), comes down to 1 only slowly.
    """
    inside = (displacement.lags >= window[0]) & (displacement.lags <= window[1])
    if inside.sum() < 3:
        raise SamplingError(
            f"Of the {displacement.lags.size} lags up to {displacement.lags[-1]:g} s, {int(inside.sum())} lie between "
            f"{window[0]:g} and {window[1]:g} s; a line needs three. Use another window, or more lags."
        )
    if convention not in ("slope/4", "slope"):
        raise InputFormatError(f"convention={convention!r} is not known. Use 'slope/4' or 'slope'.")
    lags, values = displacement.lags[inside], displacement.msd[:, inside]
    slope, intercept = _fit_lines(lags, values)
    exponent, _ = _fit_lines(np.log(lags), np.log(values, out=np.full(values.shape, np.nan), where=values > 0))
    coefficient = slope / 4 if convention == "slope/4" else slope
    # The slope of a short path may come out negative.
    scale: Scale = "positive" if np.nanmin(coefficient, initial=0.0) >= 0 else "signed"
    return Diffusion(
        coefficient=coefficient,
        slope=slope,
        intercept=intercept,
        exponent=exponent,
        diffusive=np.abs(exponent - 1) <= tolerance,
        interval=interval_of_mean(coefficient, displacement.over, scale=scale),
        window=np.array(window, dtype=float),
        convention=convention,
        tolerance=tolerance,
        names=displacement.names,
        length_unit=displacement.length_unit,
    )


def _default_frames(path: Trajectory) -> IntArray:
    return np.unique(np.rint(np.geomspace(1, max(1, path.segments.longest() // 4), 200)).astype(np.int64))


def _whole_frames(path: Trajectory, lags: FloatArray) -> IntArray:
    frames = np.array([path.sampling.frames(float(lag), "lag") for lag in np.atleast_1d(lags)], dtype=np.int64)
    if frames.size == 0 or (np.diff(frames) <= 0).any():
        raise SamplingError("The lags must be at least one and ascend from frame to frame. Sort them, drop doubles.")
    return frames


def _sum_by_transform(centred: FloatArray, known: BoolArray, lags: IntArray) -> tuple[FloatArray, IntArray]:
    # the zeros behind the data need only be as long as the longest lag
    size = fft.next_fast_len(known.size + int(lags[-1]), real=True)
    if known.all():
        x, y = fft.rfft(centred, size)
        products = fft.irfft(x.real**2 + x.imag**2 + y.real**2 + y.imag**2, size)[lags]
        upto = np.cumsum(np.square(centred).sum(axis=0))
        return upto[-1] - upto[lags - 1] + upto[-1 - lags] - 2 * products, known.size - lags
    mask, square, x, y = fft.rfft(np.stack([known.astype(float), np.square(centred).sum(axis=0), *centred]), size)
    mixed = 2 * (mask.conj() * square).real - 2 * (np.square(np.abs(x)) + np.square(np.abs(y)))
    total, n_pairs = fft.irfft(np.stack([mixed, np.square(np.abs(mask))]), size)[:, lags]
    return total, np.rint(n_pairs).astype(np.int64)


def _sum_directly(centred: FloatArray, known: BoolArray, lag: int) -> tuple[float, int]:
    both = known[lag:] & known[:-lag]
    step = centred[:, lag:] - centred[:, :-lag]
    if not both.all():
        step *= both
    return float(np.einsum("ij,ij->", step, step)), int(both.sum())


def _fit_lines(x: FloatArray, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Slope and intercept of every row; NaN if any of its values is."""
    offset = x - x.mean()
    slope: FloatArray = rows @ offset / (offset @ offset)
    return slope, rows.mean(axis=1) - slope * x.mean()
