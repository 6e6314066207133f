"""Centerlines with evenly spaced points."""

import numpy as np

from ethomarkov._core.types import FloatArray

OVERSAMPLING = 8
BLOCK_FRAMES = 4096
SHORTEST_STEP = 1e-9


def even_centerline(points: FloatArray, n_points: int) -> FloatArray:
    """Resample centerlines to points at equal arc length, from the first point to the last.

    A cubic spline through the given points, in their distance along the body, is followed in small steps and cut into
    equal lengths.

    Parameters
    ----------
    points
        Head to tail, ``(frames, points, 2)``. A frame with any missing point is missing in the result.
    n_points
        Points of the result.

    Examples
    --------
    >>> even_centerline(np.array([[[0.0, 0.0], [1.0, 0.0], [4.0, 0.0]]]), 3).round(6).tolist()
    [[[0.0, 0.0], [2.0, 0.0], [4.0, 0.0]]]
    """
    points = np.asarray(points)
    if points.dtype.kind != "f":
        points = points.astype(float)
    even: FloatArray = np.full((len(points), n_points, 2), np.nan, dtype=points.dtype)
    complete = np.flatnonzero(np.isfinite(points).all(axis=(1, 2)))
    for first in range(0, complete.size, BLOCK_FRAMES):
        rows = complete[first : first + BLOCK_FRAMES]
        even[rows] = _cut_evenly(points[rows].astype(float), n_points)
    return even


def _cut_evenly(points: FloatArray, n_points: int) -> FloatArray:
    curve = _follow_spline(points, max(1, -(-OVERSAMPLING * n_points // points.shape[1])) + OVERSAMPLING)
    step = np.linalg.norm(np.diff(curve, axis=1), axis=2)
    arc = np.concatenate([np.zeros((len(curve), 1)), np.cumsum(step, axis=1)], axis=1)
    wanted = arc[:, -1:] * np.linspace(0, 1, n_points)
    return np.stack([_interpolate_rows(wanted, arc, curve[:, :, axis]) for axis in (0, 1)], axis=2)


def _follow_spline(points: FloatArray, steps: int) -> FloatArray:
    """Follow the spline of every frame, `steps` per interval between given points."""
    chord = np.linalg.norm(np.diff(points, axis=1), axis=2)
    # Points on top of each other must not stop the parameter.
    chord = np.maximum(chord, SHORTEST_STEP * (chord.sum(axis=1, keepdims=True) + 1.0))[..., None]
    slope = np.diff(points, axis=1) / chord
    tangent = _spline_tangents(chord, slope)
    u = (np.arange(steps) / steps)[None, None, :, None]
    left, right = points[:, :-1, None], points[:, 1:, None]
    pull = [tangent[:, :-1, None] * chord[:, :, None], tangent[:, 1:, None] * chord[:, :, None]]
    inner = (
        (1 + 2 * u) * (1 - u) ** 2 * left
        + u * (1 - u) ** 2 * pull[0]
        + u**2 * (3 - 2 * u) * right
        + u**2 * (u - 1) * pull[1]
    )
    return np.concatenate([inner.reshape(len(points), -1, 2), points[:, -1:]], axis=1)


def _spline_tangents(dx: FloatArray, slope: FloatArray) -> FloatArray:
    """Find the tangents of the not-a-knot cubic splines of all frames at once.

    The knots differ from frame to frame, so the tridiagonal systems are eliminated point by point over all frames.
    """
    n_intervals = dx.shape[1]
    if n_intervals == 1:
        return np.repeat(slope, 2, axis=1)
    if n_intervals == 2:  # a parabola
        middle = (dx[:, 1] * slope[:, 0] + dx[:, 0] * slope[:, 1]) / (dx[:, 0] + dx[:, 1])
        return np.stack([2 * slope[:, 0] - middle, middle, 2 * slope[:, 1] - middle], axis=1)
    start, end = dx[:, 0] + dx[:, 1], dx[:, -1] + dx[:, -2]
    ratio = start / dx[:, 1]
    first = ((dx[:, 0] + 2 * start) * dx[:, 1] * slope[:, 0] + dx[:, 0] ** 2 * slope[:, 1]) / start
    known = [first / dx[:, 1]]
    ratios = [ratio]
    for i in range(1, n_intervals):
        pivot = 2 * (dx[:, i - 1] + dx[:, i]) - dx[:, i] * ratios[-1]
        right = 3 * (dx[:, i] * slope[:, i - 1] + dx[:, i - 1] * slope[:, i])
        known.append((right - dx[:, i] * known[-1]) / pivot)
        ratios.append(dx[:, i - 1] / pivot)
    last = (dx[:, -1] ** 2 * slope[:, -2] + (2 * end + dx[:, -1]) * dx[:, -2] * slope[:, -1]) / end
    tangents = [(last - end * known[-1]) / (dx[:, -2] - end * ratios[-1])]
    for value, ratio in zip(known[::-1], ratios[::-1], strict=True):
        tangents.append(value - ratio * tangents[-1])
    return np.stack(tangents[::-1], axis=1)


def _interpolate_rows(at: FloatArray, x: FloatArray, y: FloatArray) -> FloatArray:
    """Interpolate linearly in every row on its own; `x` ascends within each row."""
    # Shifting every row beyond the previous one makes all rows one ascending axis.
    shift = np.arange(len(x))[:, None] * (x.max() + 1.0)
    flat = np.interp((at + shift).ravel(), (x + shift).ravel(), y.ravel())
    return np.asarray(flat.reshape(at.shape))
