"""Centerlines as tangent angles in the animal's own frame, and back."""

import numpy as np

from ethomarkov._core.types import FloatArray
from ethomarkov.recording.orientation import remove_orientation


def tangent_angles(centerline: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Measure the tangent angle of every segment relative to the mean orientation of its frame.

    Parameters
    ----------
    centerline
        Evenly spaced points, head to tail, ``(frames, points, 2)``.

    Returns
    -------
    angles
        Radians, unwrapped along the body, zero mean in each frame, ``(frames, points - 1)``.
    orientation
        The mean that was removed, ``(frames,)``.

    Examples
    --------
    >>> angles, orientation = tangent_angles(np.array([[[0, 0], [1, 0], [1, 1]]]))
    >>> np.degrees(angles[0]).round().tolist(), np.degrees(orientation).round().tolist()
    ([-45.0, 45.0], [45.0])
    """
    step = np.diff(np.asarray(centerline), axis=1)
    return remove_orientation(np.arctan2(step[..., 1], step[..., 0]))


def centerline_from_angles(
    angles: FloatArray, orientation: FloatArray | float = 0.0, length: float = 1.0
) -> FloatArray:
    """Draw the centerline of given tangent angles, head at the origin.

    Parameters
    ----------
    angles
        Radians, ``(frames, segments)``.
    orientation
        Added to all angles of a frame.
    length
        Body length.

    Examples
    --------
    >>> centerline_from_angles(np.array([[0.0, np.pi / 2]]), length=2.0).round(3).tolist()
    [[[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]]
    """
    absolute = np.asarray(angles) + np.broadcast_to(orientation, len(angles))[:, None]
    step = np.stack([np.cos(absolute), np.sin(absolute)], axis=-1) * (length / absolute.shape[1])
    return np.concatenate([np.zeros_like(step[:, :1]), np.cumsum(step, axis=1)], axis=1)


def flip_head_tail(angles: FloatArray) -> FloatArray:
    """Reverse the order of the tangent angles: the head becomes the tail.

    Every tangent turns by π, which is removed with the mean of the frame; what remains is the reversed order.

    Examples
    --------
    >>> flip_head_tail(np.array([[0.1, 0.2, -0.3]])).tolist()
    [[-0.3, 0.2, 0.1]]
    """
    return np.asarray(angles)[:, ::-1]


def flip_dorsal_ventral(angles: FloatArray) -> FloatArray:
    """Negate the tangent angles: dorsal bends become ventral.

    Examples
    --------
    >>> flip_dorsal_ventral(np.array([[0.1, 0.2, -0.3]])).tolist()
    [[-0.1, -0.2, 0.3]]
    """
    return -np.asarray(angles)
