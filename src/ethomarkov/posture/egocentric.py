"""Keypoints of any animal in its own frame of reference."""

import numpy as np

from ethomarkov._core.types import FloatArray


def align_keypoints(positions: FloatArray, head: int = 0, tail: int = -1) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Move every frame to the animal's centre and turn it to face along +x.

    Parameters
    ----------
    positions
        ``(frames, keypoints, 2)``.
    head, tail
        Index of the keypoints whose direction, from tail to head, is the heading.

    Returns
    -------
    aligned
        ``(frames, keypoints, 2)`` in the animal's frame.
    centroid
        Mean of the keypoints, ``(frames, 2)``.
    heading
        Radians, ``(frames,)``.

    Examples
    --------
    >>> aligned, centroid, heading = align_keypoints(np.array([[[2.0, 2.0], [2.0, 0.0]]]))
    >>> (aligned.round(6) + 0.0).tolist(), centroid.tolist(), np.degrees(heading).tolist()
    ([[[1.0, 0.0], [-1.0, 0.0]]], [[2.0, 1.0]], [90.0])
    """
    positions = np.asarray(positions, dtype=float)
    centroid = positions.mean(axis=1)
    axis = positions[:, head] - positions[:, tail]
    heading = np.arctan2(axis[:, 1], axis[:, 0])
    centred = positions - centroid[:, None]
    cos, sin = np.cos(heading)[:, None], np.sin(heading)[:, None]
    x, y = centred[..., 0], centred[..., 1]
    aligned = np.stack([cos * x + sin * y, cos * y - sin * x], axis=-1)
    return aligned, centroid, heading
