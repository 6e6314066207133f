"""Feature files of Worm Tracker 2, the single-worm tracker of the Schafer lab and its database of strains.

The layout is known from the MATLAB code that writes these files and from programs that read them: two structures,
``worm`` with the features and ``info`` with the experiment. The skeleton has 49 points in micrometres, in the frame of
the moving stage: a pixel is subtracted from the position of the stage, scaled by a signed number of micrometres. So
both axes run against those of the image where that number is positive, and with them where it is negative.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethomarkov._core.types import FloatArray
from ethomarkov.exceptions import InputFormatError, SamplingError
from ethomarkov.io.matlab import STRUCT, read_matlab
from ethomarkov.io.options import ReadOptions
from ethomarkov.io.probe import Probe
from ethomarkov.io.registry import reader
from ethomarkov.recording import Recording, Track
from ethomarkov.recording.tracks import median_length

SKELETON = ("worm/posture/skeleton/x", "worm/posture/skeleton/y")
CENTROID = ("worm/path/coordinates/x", "worm/path/coordinates/y")
SCALE = ("info/video/resolution/micronsPerPixels/x", "info/video/resolution/micronsPerPixels/y")
RATE = "info/video/resolution/fps"
VENTRAL_SIDE = "info/experiment/worm/ventralSide"
VENTRAL_SIDES = ("clockwise", "anticlockwise")
N_POINTS = 49
MM_PER_MICRON = 1e-3
FILE_ENDING = "_features"


def _is_features(probe: Probe) -> bool:
    if probe.is_hdf5:
        return "worm/posture" in probe.hdf5_names
    found = probe.matlab_variables
    return all(name in found and found[name].kind == STRUCT for name in ("worm", "info"))


@reader(
    "worm-tracker-2",
    suffixes=("_features.mat",),
    describes="features of Worm Tracker 2 (Schafer lab)",
    recognise=_is_features,
)
def read_worm_tracker2(path: Path, options: ReadOptions) -> Recording:
    """Read the skeleton of one worm, head first, in millimetres and as it looks in the video, y up.

    Frames without a skeleton (stage moving, dropped, coiled) are NaN. The centroid is that of the contour, or the
    mean of the skeleton where there is none. The rate is that of the video, unless one is stated.
    """
    stored = read_matlab(path, (*SKELETON, *CENTROID, *SCALE, RATE, VENTRAL_SIDE))
    points = _read_skeleton(stored, path)
    centroid = _read_centroid(stored, points)
    up = _to_image(stored) * MM_PER_MICRON
    track = Track(
        individual=path.stem.removesuffix(FILE_ENDING) or path.stem,
        values=points * up,
        centroid=centroid * up,
        body_length=median_length(points * MM_PER_MICRON),
    )
    return Recording.from_tracks(
        [track],
        kind="centerline",
        sampling_rate=_read_rate(stored, options),
        attrs={"length_unit": "mm", "ventral_side": _read_ventral_side(stored)},
    )


def _read_skeleton(stored: Mapping[str, NDArray[Any]], path: Path) -> FloatArray:
    """Join x and y, each (points, frames), to (frames, points, 2)."""
    if any(name not in stored for name in SKELETON):
        raise InputFormatError(
            f"{path}: holds no skeleton ({' and '.join(SKELETON)} as numbers), but "
            f"{Probe(path).contents() or 'no arrays'}; give the features of a single worm."
        )
    x, y = (stored[name] for name in SKELETON)
    if x.shape != y.shape or x.ndim != 2 or x.shape[0] != N_POINTS:
        raise InputFormatError(
            f"{path}: the skeleton has x of shape {x.shape} and y of shape {y.shape}; ({N_POINTS}, frames) is needed, "
            "points in rows from head to tail."
        )
    return np.stack([x.T, y.T], axis=2).astype(float)


def _read_centroid(stored: Mapping[str, NDArray[Any]], points: FloatArray) -> FloatArray:
    found = [stored[name].astype(float).ravel() for name in CENTROID if name in stored]
    if [column.size for column in found] != [len(points)] * 2:
        centre: FloatArray = points.mean(axis=1)
        return centre
    return np.stack(found, axis=1)


def _to_image(stored: Mapping[str, NDArray[Any]]) -> FloatArray:
    """Give the signs that turn the frame of the stage to that of the image with y up.

    Where the scale is not given, its signs are taken as equal; which they are does then not matter to the posture.
    """
    signs = [-np.sign(_number(stored, name) or 1.0) for name in SCALE]
    return np.array([signs[0], -signs[1]])


def _read_rate(stored: Mapping[str, NDArray[Any]], options: ReadOptions) -> float:
    rate = _number(stored, RATE) if options.sampling_rate is None else options.sampling_rate
    if rate is None:
        raise SamplingError(f"The file lacks the frame rate ({RATE}). State it with sampling_rate= (or --rate).")
    return rate


def _number(stored: Mapping[str, NDArray[Any]], name: str) -> float | None:
    values = stored.get(name)
    if values is None or values.size != 1 or values.dtype.kind not in "fiu" or not np.isfinite(values).all():
        return None
    return float(values.ravel()[0])


def _read_ventral_side(stored: Mapping[str, NDArray[Any]]) -> str:
    words = stored.get(VENTRAL_SIDE, np.empty(0))
    side = str(words.ravel()[0]).strip() if words.size == 1 else ""
    return side if side in VENTRAL_SIDES else "unknown"
