"""Resistive force theory: the rigid motion that balances the drag on a deforming body."""

import numpy as np

from ethomarkov._core.series import Series
from ethomarkov._core.types import FloatArray
from ethomarkov.exceptions import InputFormatError
from ethomarkov.locomotion.path import Path

BLOCK_FRAMES = 1024


def propel(
    angles: Series, drag_ratio: float = 30.0, body_length: float = 1.0, length_unit: str = "body lengths"
) -> Path:
    """Compute the path of a body from its tangent angles.

    Parameters
    ----------
    angles
        Tangent angles along the body, radians, ``(frames, segments)``.
    drag_ratio
        Normal over tangential drag, α; above 1 for crawling.
    body_length
        In the unit of the path.
    length_unit
        Name of that unit.

    Notes
    -----
    SI, "Resistive force theory simulations". In every interval the deformation is taken between two frames and the
    geometry half-way between them, so that the path is accurate to second order in the frame interval.
    """
    if not (0 < drag_ratio < np.inf and 0 < body_length < np.inf):
        raise InputFormatError(
            f"drag_ratio={drag_ratio:g} and body_length={body_length:g} must both be positive numbers."
        )
    n_rows = len(angles.values)
    centroid, heading = np.full((n_rows, 2), np.nan), np.full(n_rows, np.nan)
    for start, stop, _ in angles.segments:
        steps = [
            rigid_steps(angles.values[first : min(first + BLOCK_FRAMES, stop - 1) + 1].astype(float), drag_ratio)
            for first in range(start, stop - 1, BLOCK_FRAMES)
        ]
        moves = np.concatenate([np.zeros((1, 3)), *steps])
        turned = np.cumsum(moves[:, 2])
        centroid[start:stop] = np.cumsum(_rotate(moves[:, :2], turned - moves[:, 2] / 2), axis=0) * body_length
        heading[start:stop] = turned
    return Path(
        centroid=centroid,
        heading=heading,
        segments=angles.segments,
        sampling=angles.sampling,
        length_unit=length_unit,
    )


def rigid_steps(theta: FloatArray, drag_ratio: float) -> FloatArray:
    """Solve force and torque balance between successive frames of a unit-length body.

    Returns displacement (two columns) and rotation between each frame and the next, in the frame of the body.

    Notes
    -----
    With tangent t, distance r from the centroid, c = r × t and deformation u over the interval, the drag on a segment
    is α w + (1 − α)(t·w) t for w = u + V + Ω × r. Zero total force and torque give three linear equations for V and Ω.
    """
    alpha, ell = drag_ratio, 1.0 / theta.shape[1]
    u = np.diff(_centred_segments(theta, ell), axis=0)
    theta_mid = (theta[1:] + theta[:-1]) / 2
    t = np.stack([np.cos(theta_mid), np.sin(theta_mid)], axis=-1)
    r = _centred_segments(theta_mid, ell)
    c = _cross(r, t)
    tu = np.einsum("fsk,fsk->fs", t, u)
    basis = np.concatenate([t, c[..., None]], axis=-1)  # how V and Ω move a segment along its tangent
    matrix = (1 - alpha) * np.einsum("fsi,fsj->fij", basis, basis)
    matrix[:, [0, 1], [0, 1]] += alpha * theta.shape[1]
    matrix[:, 2, 2] += alpha * np.einsum("fsk,fsk->f", r, r)
    pull = (alpha - 1) * np.einsum("fsi,fs->fi", basis, tu)
    pull[:, 2] -= alpha * _cross(r, u).sum(axis=1)
    return np.linalg.solve(matrix, pull[..., None])[..., 0]


def _centred_segments(theta: FloatArray, ell: float) -> FloatArray:
    """Mid-points of the segments relative to their mean."""
    step = np.stack([np.cos(theta), np.sin(theta)], axis=-1) * ell
    middle = np.cumsum(step, axis=1) - step / 2
    centred: FloatArray = middle - middle.mean(axis=1, keepdims=True)
    return centred


def _cross(a: FloatArray, b: FloatArray) -> FloatArray:
    product: FloatArray = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    return product


def _rotate(vectors: FloatArray, angle: FloatArray) -> FloatArray:
    cos, sin = np.cos(angle), np.sin(angle)
    x, y = vectors.T
    return np.stack([cos * x - sin * y, sin * x + cos * y], axis=1)
