"""The direction of travel: its spectrum, the curvature of the path, and its loops.

The path of the centroid wiggles with the body wave. Directions are therefore taken over a stated interval, which
should cover about one wave if the wave is not what is asked for.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import fft

from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.segments import Segments
from ethomarkov._core.types import FloatArray, IntArray
from ethomarkov.exceptions import InputFormatError, SamplingError
from ethomarkov.locomotion.trajectory import Trajectory


@dataclass(frozen=True, slots=True, kw_only=True)
class BearingSpectrum(Result):
    """Power of the direction of travel at each frequency.

    Parameters
    ----------
    frequency
        Hertz.
    power
        Density per hertz, one row per individual; NaN for those without a stretch as long as a segment.
    n_segments
        Overlapping segments averaged for each individual.
    individuals
        Names.
    """

    frequency: FloatArray = array_field("frequency", unit="Hz")
    power: FloatArray = array_field("individual", "frequency", unit="1/Hz")
    n_segments: IntArray = array_field("individual")
    individuals: tuple[str, ...]

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def loop_period(self, band: tuple[float, float] = (0.005, 0.1), prominence: float = 2.0) -> float:
        """Find the slow peak of the mean spectrum, in seconds: the period of loops of the path.

        Parameters
        ----------
        band
            Hertz. The upper end must be below the frequency of the body wave.
        prominence
            How many times the peak must exceed the higher of the valleys on its sides; NaN if no peak does.
        """
        from scipy.signal import find_peaks

        inside = (self.frequency >= band[0]) & (self.frequency <= band[1])
        seen = self.n_segments > 0
        mean = np.log(np.maximum(self.power[seen].mean(axis=0)[inside], np.finfo(float).tiny))
        peaks, _ = find_peaks(mean, prominence=np.log(prominence))
        if peaks.size == 0:
            return float("nan")
        top = peaks[mean[peaks].argmax()]
        before, at, after = mean[top - 1 : top + 2]
        shift = (before - after) / (2 * (before - 2 * at + after))  # vertex of the parabola through three points
        return float(1 / (self.frequency[inside][top] + shift * (self.frequency[1] - self.frequency[0])))


@dataclass(frozen=True, slots=True, kw_only=True)
class PathShape(Result):
    """Speed, turning and loops of every individual.

    Parameters
    ----------
    speed
        Median distance covered in one interval, per second.
    turning_rate
        Median change of bearing, counter-clockwise, radians per second.
    radius
        Median radius of the circles fitted to stretches of the path.
    loop_time
        Median time in which the bearing turns once around, seconds; NaN without a complete loop.
    n_loops
        Complete loops.
    individuals
        Names.
    length_unit
        Unit of the path.
    """

    speed: FloatArray = array_field("individual", unit="length/s")
    turning_rate: FloatArray = array_field("individual", unit="rad/s")
    radius: FloatArray = array_field("individual", unit="length")
    loop_time: FloatArray = array_field("individual", unit="s")
    n_loops: IntArray = array_field("individual")
    individuals: tuple[str, ...]
    length_unit: str

    def __post_init__(self) -> None:
        freeze_arrays(self)


def bearing(path: Trajectory, interval: float | None = None) -> FloatArray:
    """Measure the direction of travel, radians between −π and π, at the first frame of each interval.

    Parameters
    ----------
    path
        Positions.
    interval
        Seconds between the two positions; one frame by default.

    Returns
    -------
    bearing
        One value per frame; NaN at gaps, and where the animal did not move at all.
    """
    values = np.full(len(path.centroid), np.nan)
    for rows, steps in path.steps(_interval_frames(path, interval)):
        values[rows] = _angle(steps)
    return values


def turning_rate(path: Trajectory, interval: float | None = None) -> FloatArray:
    """Measure the change of bearing between one interval and the next, radians per second, counter-clockwise.

    The value stands at the frame where the intervals meet. A turn is taken the shorter way round.
    """
    lag = _interval_frames(path, interval)
    middle, before, after = _successive_steps(path, lag)
    turn = np.angle(np.exp(1j * (_angle(after) - _angle(before))))
    return _per_row(path, middle, turn / path.sampling.seconds(lag))


def curvature(path: Trajectory, interval: float | None = None) -> FloatArray:
    """Measure the curvature of the circle through three positions an interval apart, positive to the left.

    Notes
    -----
    Menger curvature: four times the area of the triangle over the product of its sides.
    """
    middle, before, after = _successive_steps(path, _interval_frames(path, interval))
    sides = [np.hypot(*step.T) for step in (before, after, before + after)]
    product = np.prod(sides, axis=0)
    cross = before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0]
    return _per_row(path, middle, np.divide(2 * cross, product, out=np.full(product.size, np.nan), where=product > 0))


def fit_circle(points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Fit circles to sets of points.

    Parameters
    ----------
    points
        ``(..., points, 2)``.

    Returns
    -------
    centre
        ``(..., 2)``; NaN where the radius is not a finite number.
    radius
        ``(...)``; infinite for points on a line, NaN for points that coincide.

    Notes
    -----
    Taubin's algebraic fit (1991): exact for points on a circle, and far less biased to small circles by scatter on
    short arcs than plain least squares.
    """
    points = np.asarray(points, dtype=float)
    if points.shape[-2] < 3:
        raise InputFormatError(f"A circle needs three points, not {points.shape[-2]}. Use a longer stretch.")
    middle = points.mean(axis=-2, keepdims=True)
    offset = points - middle
    square = np.square(offset).sum(axis=-1)
    size = square.mean(axis=-1)
    scale = np.sqrt(np.where(size > 0, size, np.nan))
    unit = np.where(size > 0, scale, 1.0)[..., None]
    columns = np.stack([(square / unit**2 - 1) / 2, offset[..., 0] / unit, offset[..., 1] / unit], axis=-1)
    a, b, c = np.moveaxis(np.linalg.svd(columns, full_matrices=False)[2][..., -1, :], -1, 0)
    # in units of the scale the circle is (a/2)(z − 1) + b x + c y = 0, with z = x² + y²
    flat = np.abs(a) < np.finfo(float).eps
    a = np.where(flat, np.nan, a)
    centre = middle[..., 0, :] - np.stack([b, c], axis=-1) / a[..., None] * unit
    radius = np.where(flat, np.inf, np.sqrt(b**2 + c**2 + a**2) / np.abs(a)) * scale
    return centre, radius


def circle_radii(path: Trajectory, window: float = 60.0) -> tuple[FloatArray, IntArray]:
    """Fit a circle to successive stretches of the path.

    Parameters
    ----------
    path
        Positions.
    window
        Seconds per stretch; stretches do not overlap.

    Returns
    -------
    radius
        Of each stretch, in the unit of the path.
    individual
        To whom the stretch belongs.
    """
    length = path.sampling.nearest_frames(window, "window")
    starts = [start for begin, stop, _ in path.segments for start in range(begin, stop - length + 1, length)]
    rows = np.array(starts, dtype=np.int64)[:, None] + np.arange(length)
    owner = path.segments.row_individual[rows[:, 0]]
    return fit_circle(path.centroid[rows])[1], owner


def loop_times(path: Trajectory, interval: float = 1.0) -> tuple[FloatArray, IntArray]:
    """Measure the time in which the bearing turns once around, loop after loop.

    Timing restarts at the frame after each completed turn, and at each gap; rests keep the direction. Reversals turn
    the bearing by about half a turn to an unknown side, so that the times are those of loops only where reversals are
    rare.

    Returns
    -------
    seconds
        Of every complete loop, either way round.
    individual
        To whom it belongs.
    """
    steps, segments = _held_steps(path, interval)
    times, owners = [], []
    for start, stop, owner in segments:
        loops = _turns_around(np.unwrap(_angle(steps[start:stop])))
        times += loops
        owners += [owner] * len(loops)
    return np.array(times, dtype=float) / path.sampling.rate, np.array(owners, dtype=np.int64)


def describe_path(path: Trajectory, interval: float = 1.0, window: float = 60.0) -> PathShape:
    """Summarise speed, turning, radius and loops by their medians over time.

    Parameters
    ----------
    path
        Positions.
    interval
        Seconds over which directions are taken.
    window
        Seconds of path to which each circle is fitted.
    """
    radius, radius_owner = circle_radii(path, window)
    loops, loop_owner = loop_times(path, interval)
    row_owner = path.segments.row_individual
    n = path.segments.n_individuals
    return PathShape(
        speed=_medians(path.speed(interval), row_owner, n),
        turning_rate=_medians(turning_rate(path, interval), row_owner, n),
        radius=_medians(radius, radius_owner, n),
        loop_time=_medians(loops, loop_owner, n),
        n_loops=np.bincount(loop_owner, minlength=n),
        individuals=path.segments.individuals,
        length_unit=path.length_unit,
    )


def bearing_spectrum(
    path: Trajectory,
    segment: float = 600.0,
    interval: float | None = None,
    component: Literal["both", "cosine"] = "both",
) -> BearingSpectrum:
    """Estimate the power spectrum of the direction of travel by Welch's method.

    Parameters
    ----------
    path
        Positions.
    segment
        Seconds per Hann-windowed segment, half overlapping.
    interval
        Seconds over which directions are taken; one frame by default.
    component
        "both" averages the spectra of cos η and sin η, so that the result does not depend on how the plate was
        turned; "cosine" takes cos η alone, as published.

    Notes
    -----
    SI, Fig. S10(b). The mean of every segment is removed. Gaps end a stretch, and stretches shorter than a segment are
    left out. An animal that rests keeps its direction.
    """
    if component not in ("both", "cosine"):
        raise InputFormatError(f"component={component!r} is not known. Use 'both' or 'cosine'.")
    steps, segments = _held_steps(path, interval)
    length = path.sampling.nearest_frames(segment, "segment")
    if segments.longest() < length:
        raise SamplingError(
            f"segment={segment:g} s is longer than the longest gap-free stretch of directions, "
            f"{path.sampling.seconds(segments.longest()):g} s. Use a shorter segment."
        )
    n_segments = _welch_segments(segments, length)
    total = np.zeros((segments.n_individuals, length // 2 + 1))
    for (start, stop, owner), weight in zip(segments, n_segments, strict=True):
        if weight:
            x, y = steps[start:stop].T
            size = np.hypot(x, y)
            parts = (x / size, y / size) if component == "both" else (x / size,)
            density = np.mean([_welch_power(part, length) for part in parts], axis=0)
            total[owner] += weight * density / path.sampling.rate
    weights = np.bincount(segments.bounds[:, 2], n_segments, segments.n_individuals).astype(np.int64)
    return BearingSpectrum(
        frequency=np.fft.rfftfreq(length, path.sampling.interval),
        power=np.divide(total, weights[:, None], out=np.full(total.shape, np.nan), where=weights[:, None] > 0),
        n_segments=weights,
        individuals=segments.individuals,
    )


def _welch_power(signal: FloatArray, length: int) -> FloatArray:
    """Average the one-sided power of half-overlapping Hann-windowed segments, per unit of the sampling rate."""
    segments = np.lib.stride_tricks.sliding_window_view(signal, length)[:: length - length // 2]
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(length) / length)
    spectrum = fft.rfft((segments - segments.mean(axis=1, keepdims=True)) * window)
    power: FloatArray = (np.square(spectrum.real) + np.square(spectrum.imag)).mean(axis=0) / np.square(window).sum()
    power[1 : (length + 1) // 2] *= 2  # zero and the highest frequency of even lengths have no mirror image
    return power


def _welch_segments(segments: Segments, length: int) -> IntArray:
    """Half-overlapping segments in each run."""
    counts: IntArray = np.maximum(0, (segments.lengths - length // 2) // (length - length // 2))
    return counts


def _interval_frames(path: Trajectory, interval: float | None) -> int:
    return 1 if interval is None else path.sampling.nearest_frames(interval, "interval")


def _successive_steps(path: Trajectory, lag: int) -> tuple[IntArray, FloatArray, FloatArray]:
    """Frames in the middle of two intervals, and the displacements over both."""
    middle = path.segments.window_starts(2 * lag + 1) + lag
    here = path.centroid[middle]
    return middle, here - path.centroid[middle - lag], path.centroid[middle + lag] - here


def _angle(steps: FloatArray) -> FloatArray:
    """Direction of each step; NaN for none."""
    x, y = steps.T
    return np.where((x != 0) | (y != 0), np.arctan2(y, x), np.nan)


def _held_steps(path: Trajectory, interval: float | None) -> tuple[FloatArray, Segments]:
    """Displacements that last through rests, and the runs in which they are known."""
    lag = _interval_frames(path, interval)
    held = np.full(path.centroid.shape, np.nan)
    bounds = path.segments.trim(0, lag).bounds.copy()
    for run, (rows, steps) in enumerate(path.steps(lag)):
        moving = (steps[:, 0] != 0) | (steps[:, 1] != 0)
        latest = np.maximum.accumulate(np.where(moving, np.arange(moving.size), -1))
        held[rows] = steps if moving.all() else steps[latest]
        bounds[run, 0] += np.count_nonzero(latest < 0)
    known = bounds[bounds[:, 1] > bounds[:, 0]]
    return held, Segments(bounds=known, offsets=path.segments.offsets, individuals=path.segments.individuals)


def _per_row(path: Trajectory, rows: IntArray, found: FloatArray) -> FloatArray:
    values = np.full(len(path.centroid), np.nan)
    values[rows] = found
    return values


def _turns_around(angle: FloatArray) -> list[float]:
    """Durations, in frames, in which an unwrapped angle moves by 2π from where it last completed a turn."""
    durations: list[float] = []
    start = 0
    while True:
        away = np.abs(angle[start:] - angle[start])
        # a hair below 2π, so that rounding does not delay a turn that ends on a frame
        done = int((away >= 2 * np.pi * (1 - 1e-12)).argmax())
        if done == 0:
            return durations
        durations.append(done - 1 + (2 * np.pi - away[done - 1]) / (away[done] - away[done - 1]))
        start += done


def _medians(values: FloatArray, owner: IntArray, n: int) -> FloatArray:
    """Median of the known values of each individual; NaN for none."""
    known = ~np.isnan(values)
    groups = [values[known & (owner == k)] for k in range(n)]
    return np.array([np.median(group) if group.size else np.nan for group in groups])
