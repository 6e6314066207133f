"""Centerlines with evenly spaced points."""

import numpy as np
from scipy.interpolate import CubicSpline

from ethomarkov._core.types import FloatArray

OVERSAMPLING = 8
BLOCK_FRAMES = 4096


def even_centerline(points: FloatArray, n_points: int) -> FloatArray:
    """Resample centerlines to points at equal arc length, from the first point to the last.

    A cubic spline through the given points is followed in small steps and cut into equal lengths.

    Parameters
    ----------
    points
        Head to tail, ``(frames, points, 2)``. A frame with any missing point stays missing.
    n_points
        Points of the result.
    """
    points = np.asarray(points)
    even = np.full((len(points), n_points, 2), np.nan, dtype=points.dtype)
    complete = np.flatnonzero(np.isfinite(points).all(axis=(1, 2)))
    for first in range(0, complete.size, BLOCK_FRAMES):
        rows = complete[first : first + BLOCK_FRAMES]
        even[rows] = _cut_evenly(points[rows].astype(float), n_points)
    return even


def _cut_evenly(points: FloatArray, n_points: int) -> FloatArray:
    n_given = points.shape[1]
    fine = np.linspace(0, n_given - 1, OVERSAMPLING * max(n_given, n_points) + 1)
    curve = CubicSpline(np.arange(n_given), points, axis=1)(fine) if n_given > 2 else _straight(points, fine)
    arc = np.concatenate(
        [np.zeros((len(curve), 1)), np.cumsum(np.linalg.norm(np.diff(curve, axis=1), axis=2), axis=1)], axis=1
    )
    wanted = arc[:, -1:] * np.linspace(0, 1, n_points)
    return np.stack([_interpolate_rows(wanted, arc, curve[:, :, axis]) for axis in (0, 1)], axis=2)


def _straight(points: FloatArray, fine: FloatArray) -> FloatArray:
    line: FloatArray = points[:, :1] + fine[None, :, None] * (points[:, 1:] - points[:, :1])
    return line


def _interpolate_rows(at: FloatArray, x: FloatArray, y: FloatArray) -> FloatArray:
    """Interpolate linearly in every row on its own; `x` ascends within each row."""
    n_rows = len(x)
    # Shifting every row beyond the previous one makes all rows one ascending axis.
    shift = np.arange(n_rows)[:, None] * (x.max() + 1.0)
    flat = np.interp((at + shift).ravel(), (x + shift).ravel(), y.ravel())
    return np.asarray(flat.reshape(at.shape))
