"""Tangent angles without the direction in which the whole body points."""

import numpy as np

from ethomarkov._core.types import FloatArray

ROUNDING = 1e-6


def remove_orientation(theta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Unwrap tangent angles along the body and take out the mean of every frame.

    Parameters
    ----------
    theta
        Radians, ``(frames, segments)``; a frame with a missing angle comes back missing as a whole.

    Returns
    -------
    angles
        Zero mean in each frame. A mean that is nothing but rounding stays, so that angles which are stored and read
        again come back unchanged.
    orientation
        The mean that was taken out, ``(frames,)``.
    """
    unwrapped = np.unwrap(np.asarray(theta, dtype=np.float64), axis=1)
    mean = unwrapped.mean(axis=1)
    orientation = np.where(np.abs(mean) < ROUNDING, 0.0, mean)
    return unwrapped - orientation[:, None], orientation
