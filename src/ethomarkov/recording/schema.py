"""Names of dimensions, variables and attributes of a recording, and the check that a dataset keeps them.

One layout serves single animals, a dozen worms and plates with hundreds of short tracks: the frames of all
individuals are stacked along ``frame``, each individual on its own regular grid of times, and ``frame_count``
says how many frames each has (the contiguous ragged array of the CF conventions). A frame is valid when all
of its numbers are finite.
"""

from typing import Literal, get_args

import numpy as np
import xarray as xr

from ethomarkov._core.sampling import Sampling
from ethomarkov._core.types import BoolArray, FloatArray, IntArray
from ethomarkov.exceptions import InputFormatError, SamplingError
from ethomarkov.recording.left_out import left_out_of

SCHEMA = "ethomarkov-recording/1"
FRAME, INDIVIDUAL, TIME, FRAME_COUNT = "frame", "individual", "time", "frame_count"
CENTROID, BODY_LENGTH = "centroid", "body_length"
SPACE = ("x", "y")
GRID_TOLERANCE = 0.01
BLOCK_FRAMES = 2**20

Kind = Literal["amplitude", "angle", "centerline", "position"]
KIND_DIMS: dict[Kind, tuple[str, ...]] = {
    "amplitude": ("mode",),
    "angle": ("segment",),
    "centerline": ("point", "space"),
    "position": ("keypoint", "space"),
}
KIND_WORDS: dict[Kind, str] = {
    "amplitude": "posture mode amplitudes",
    "angle": "tangent angles (rad)",
    "centerline": "centerline points, head first",
    "position": "keypoints",
}


def kind_of(dataset: xr.Dataset) -> Kind:
    """Find which of the four posture variables a dataset holds."""
    found = [kind for kind in get_args(Kind) if kind in dataset.data_vars]
    if len(found) != 1:
        raise InputFormatError(
            f"A recording holds exactly one of {', '.join(get_args(Kind))}; found {found or 'none of them'}."
        )
    kind: Kind = found[0]
    return kind


def frame_is_valid(dataset: xr.Dataset) -> BoolArray:
    """Flag the frames whose posture is complete."""
    values = dataset[kind_of(dataset)].values
    valid: BoolArray = np.isfinite(values).all(axis=tuple(range(1, values.ndim)))
    return valid


def row_offsets(dataset: xr.Dataset) -> IntArray:
    """Find where one individual ends and the next begins along the stacked frames."""
    return np.concatenate([[0], np.cumsum(dataset[FRAME_COUNT].values)]).astype(np.int64)


def validate(dataset: xr.Dataset) -> None:
    """Raise unless a dataset keeps the schema and holds something to analyse."""
    kind = kind_of(dataset)
    expected = {
        kind: (FRAME, *KIND_DIMS[kind]),
        TIME: (FRAME,),
        INDIVIDUAL: (INDIVIDUAL,),
        FRAME_COUNT: (INDIVIDUAL,),
    }
    for name, dims in expected.items():
        if name not in dataset.variables or dataset[name].dims != dims:
            found = dataset[name].dims if name in dataset.variables else "nothing"
            raise InputFormatError(f"{name} has dimensions {found}; {dims} are needed.")
    _check_rate(dataset.attrs.get("sampling_rate"))
    _check_grid(dataset)
    _check_content(dataset, kind)
    left_out_of(dataset)


def _check_rate(rate: object) -> None:
    try:
        Sampling(float(rate))  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        raise SamplingError(
            f"The attribute sampling_rate is {rate!r}; a positive number of frames per second is needed. Correct it."
        ) from error


def _check_grid(dataset: xr.Dataset) -> None:
    names = dataset[INDIVIDUAL].values.astype(str)
    if np.unique(names).size < names.size:
        repeated = next(name for name in names if (names == name).sum() > 1)
        raise InputFormatError(f"Two animals are named {str(repeated)!r}; give each its own name.")
    offsets = row_offsets(dataset)
    if (np.diff(offsets) < 0).any():
        raise InputFormatError(
            f"{FRAME_COUNT} holds {np.diff(offsets).min()}; numbers of frames from 0 upwards are needed."
        )
    if offsets[-1] != dataset.sizes[FRAME]:
        raise InputFormatError(f"{FRAME_COUNT} adds up to {offsets[-1]} frames, but there are {dataset.sizes[FRAME]}.")
    if not np.isfinite(dataset[TIME].values).all():
        raise SamplingError("Some times are not numbers; every frame needs one.")
    borders = offsets[(offsets > 0) & (offsets < dataset.sizes[FRAME])]
    at = _irregular_step(dataset[TIME].values, dataset.attrs["sampling_rate"], borders)
    if at is not None:
        name = names[np.searchsorted(offsets, at, side="right") - 1]
        raise SamplingError(
            f"Times of {str(name)!r} are not on a regular grid of {dataset.attrs['sampling_rate']:g} Hz; use "
            "Recording.from_tracks, which puts them on one."
        )


def _irregular_step(time: FloatArray, rate: float, borders: IntArray) -> int | None:
    """Find a step that is none of the grid, other than those from one animal to the next; a few frames at a time."""
    for first in range(0, len(time) - 1, BLOCK_FRAMES):
        with np.errstate(over="ignore"):  # a step without bounds is no step of the grid
            away = np.abs(np.diff(time[first : first + BLOCK_FRAMES + 1]) * rate - 1)
        away[borders[(borders > first) & (borders <= first + away.size)] - first - 1] = 0
        if not (away <= GRID_TOLERANCE).all():  # true of NaN, too
            return first + int(away.argmax())
    return None


def _check_content(dataset: xr.Dataset, kind: Kind) -> None:
    values = dataset[kind].values
    values = values.reshape(len(values), int(np.prod(values.shape[1:])))
    if np.isinf(values).any():
        raise InputFormatError(
            f"{np.isinf(values).any(axis=1).sum()} frames hold infinite numbers; use NaN for what is missing."
        )
    if CENTROID in dataset and np.isinf(dataset[CENTROID].values).any():
        raise InputFormatError("Some centroids are infinite; use NaN for what is missing.")
    valid = np.isfinite(values).all(axis=1)
    if valid.sum() < 2:
        raise InputFormatError(
            f"{valid.sum()} of {valid.size} frames hold a complete posture; at least two are needed. "
            "Check the missing-value marker, the confidence threshold and the choice of keypoints."
        )
    complete = valid[:, None]
    low, high = (end(values, axis=0, where=complete, initial=far) for end, far in ((np.min, np.inf), (np.max, -np.inf)))
    constant = np.flatnonzero(low == high)
    if constant.size and (kind in ("amplitude", "angle") or constant.size == low.size):
        label = f"{kind} {', '.join(str(c + 1) for c in constant[:5])}{' …' if constant.size > 5 else ''}"
        raise InputFormatError(
            f"{label} never changes (constant column). Remove it, or check that the file was read as meant."
        )
