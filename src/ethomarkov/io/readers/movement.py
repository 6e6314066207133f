"""Poses that movement has written as netCDF, with dimension names of any of its versions.

Pixels are counted from the upper left corner of the image; y is negated on the way in.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethomarkov._core.sampling import Sampling
from ethomarkov._core.types import FloatArray
from ethomarkov.exceptions import InputFormatError, SamplingError
from ethomarkov.io.options import ReadOptions
from ethomarkov.io.probe import Probe
from ethomarkov.io.readers.keypoints import IMAGE_ATTRS, choose_view, frame_times, image_track, position_recording
from ethomarkov.io.readers.netcdf import SIGNATURE, NetcdfData, Variable, read_netcdf
from ethomarkov.io.registry import reader
from ethomarkov.recording import Recording

PLURALS = {"keypoints": "keypoint", "individuals": "individual", "views": "view"}
POSITION_DIMS = ("time", "individual", "keypoint", "space")
NAMES = ("position", "confidence", "time", "individual", "keypoint", "view", "space", *PLURALS)


def _is_movement(probe: Probe) -> bool:
    if probe.head.startswith(SIGNATURE):
        return b"position" in probe.head and b"keypoint" in probe.head
    names = probe.hdf5_names
    return {"position", "time"} <= names and bool(names & {"keypoint", "keypoints"})


@reader("movement", suffixes=(".nc",), describes="poses written by movement as netCDF", recognise=_is_movement)
def read_movement(path: Path, options: ReadOptions) -> Recording:
    """Read poses that movement has written."""
    data = _singular(read_netcdf(path, NAMES))
    position = data.variables.get("position")
    dims = position.dims if position is not None else ()
    if position is None or set(POSITION_DIMS) - set(dims) or set(dims) - {*POSITION_DIMS, "view"}:
        raise InputFormatError(
            f"position has the dimensions {', '.join(dims) or '(there is none)'}; time, space, keypoint and "
            "individual are needed. Only poses can be read, not bounding boxes."
        )
    view = _view(data, position, options)
    positions = _ordered("position", position, POSITION_DIMS, view)
    stated = data.variables.get("confidence")
    confidence = None if stated is None else _ordered("confidence", stated, POSITION_DIMS[:3], view)
    if confidence is not None and confidence.shape != positions.shape[:3]:
        raise InputFormatError(
            f"confidence has shape {confidence.shape}, position {positions.shape[:3]}; the same is needed."
        )
    rate, time = _times(data, options, len(positions))
    tracks = [
        image_track(
            name, positions[:, i], options, confidence=None if confidence is None else confidence[:, i], time=time
        )
        for i, name in enumerate(_words(data, "individual", positions.shape[1]))
    ]
    names = _words(data, "keypoint", positions.shape[2])
    return position_recording(names, tracks, options, sampling_rate=rate, attrs=IMAGE_ATTRS)


def _singular(data: NetcdfData) -> NetcdfData:
    """Call dimensions and coordinates as current versions of movement do."""
    variables = {
        PLURALS.get(name, name): Variable(
            dims=tuple(PLURALS.get(dim, dim) for dim in one.dims), values=one.values, attrs=one.attrs
        )
        for name, one in data.variables.items()
    }
    return NetcdfData(variables=variables, attrs=data.attrs)


def _view(data: NetcdfData, position: Variable, options: ReadOptions) -> int | None:
    if "view" not in position.dims:
        choose_view([], options.view)
        return None
    names = _words(data, "view", position.values.shape[position.dims.index("view")])
    return names.index(choose_view(names, options.view))


def _ordered(name: str, variable: Variable, wanted: tuple[str, ...], view: int | None) -> NDArray[Any]:
    values, dims = variable.values, list(variable.dims)
    if view is not None and "view" in dims:
        values = np.take(values, view, axis=dims.index("view"))
        dims.remove("view")
    if sorted(dims) != sorted(wanted) or values.dtype.kind not in "fiu":
        raise InputFormatError(
            f"{name} holds {values.dtype} with the dimensions {', '.join(dims)}; numbers with {', '.join(wanted)} are "
            "needed. Export it again with movement."
        )
    return np.transpose(values, [dims.index(dim) for dim in wanted])


def _words(data: NetcdfData, name: str, length: int) -> list[str]:
    found = data.variables.get(name)
    words = [] if found is None else [str(word) for word in found.values.ravel()]
    if len(words) != length:
        raise InputFormatError(f"{len(words)} names are given for {length} of {name}; one each is needed.")
    return words


def _times(data: NetcdfData, options: ReadOptions, n_frames: int) -> tuple[float | None, FloatArray]:
    """Find the rate and the seconds of every frame.

    Seconds in a file with a rate were made from frame numbers, so another rate that the user states turns them
    back into frames first.
    """
    time = _time_values(data, n_frames)
    stated = _stated_fps(data)
    in_seconds = str(data.attrs.get("time_unit", "frames" if stated is None else "seconds")) == "seconds"
    wanted = None if options.sampling_rate is None else Sampling(options.sampling_rate).rate
    if in_seconds and (wanted is None or stated is None):
        return wanted or stated, time
    rate = wanted or stated
    if rate is None:
        raise SamplingError(
            "Times are frame numbers and the file holds no rate (fps). State it with sampling_rate= (or --rate)."
        )
    return rate, frame_times(np.round(time * stated) if in_seconds and stated is not None else time, rate)


def _time_values(data: NetcdfData, n_frames: int) -> FloatArray:
    time = data.variables.get("time")
    if time is None or time.values.shape != (n_frames,) or time.values.dtype.kind not in "fiu":
        raise InputFormatError(f"There is no time for each of the {n_frames} frames; export it again with movement.")
    return time.values.astype(np.float64)


def _stated_fps(data: NetcdfData) -> float | None:
    try:
        fps = float(data.attrs.get("fps", np.nan))
    except (TypeError, ValueError):  # movement has written None in several spellings
        return None
    return fps if np.isfinite(fps) and fps > 0 else None
