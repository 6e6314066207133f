"""Tangent angles without the direction in which the whole body points."""

import numpy as np

from ethomarkov._core.types import FloatArray

ROUNDING = 1e-6
BLOCK_FRAMES = 1024  # of a hundred angles each, which fit into the processor's cache


def remove_orientation(theta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Unwrap tangent angles along the body and subtract the mean of every frame.

    Parameters
    ----------
    theta
        Radians, ``(frames, segments)``; a frame with a missing angle comes back missing as a whole.

    Returns
    -------
    angles
        Zero mean in each frame. A mean of the size of rounding errors is not removed, so that angles that are stored
        and read again are unchanged.
    orientation
        The mean that was removed, ``(frames,)``.
    """
    theta = np.asarray(theta)
    angles, orientation = np.empty(theta.shape), np.empty(len(theta))
    for first in range(0, len(theta), BLOCK_FRAMES):
        rows = slice(first, first + BLOCK_FRAMES)
        unwrapped = np.unwrap(theta[rows].astype(float), axis=1)
        mean = unwrapped.mean(axis=1)
        orientation[rows] = np.where(np.abs(mean) < ROUNDING, 0.0, mean)
        np.subtract(unwrapped, orientation[rows, None], out=angles[rows])
    return angles, orientation
