"""Plain arrays: one of ``amplitudes``, ``angles``, ``centerline``, ``positions``, and optional companions.

NPZ and HDF5 files hold them under the same names, every one of which must be understood.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethomarkov._core.types import FloatArray, IntArray
from ethomarkov.exceptions import InputFormatError
from ethomarkov.io.readers.keypoints import suggest
from ethomarkov.io.readers.table import Table
from ethomarkov.recording.schema import KIND_DIMS, Kind

ARRAY_SPELLINGS = (
    "amplitudes (or modes), angles (or theta), centerline (or points) or positions; beside them individual, time, "
    "sampling_rate (or fps), keypoints, centroid (or centroid_mm), body_length, length_unit"
)
ARRAY_KINDS: dict[str, Kind] = {
    "amplitudes": "amplitude",
    "modes": "amplitude",
    "angles": "angle",
    "theta": "angle",
    "centerline": "centerline",
    "points": "centerline",
    "positions": "position",
}
COMPANION_ARRAYS = (
    "individual", "time", "sampling_rate", "fps", "keypoints", "centroid", "centroid_mm", "body_length",
    "length_unit", "basis",
)  # fmt: skip
NOT_READ = "basis"


def check_names(names: Sequence[str]) -> None:
    """Refuse arrays whose names are not understood, and files that do not hold exactly one kind of posture."""
    known = (*ARRAY_KINDS, *COMPANION_ARRAYS)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise InputFormatError(
            f"Array {unknown[0]!r} is not understood.{suggest(unknown[0], known)} Accepted are {ARRAY_SPELLINGS}. "
            "Rename it or leave it out."
        )
    found = [name for name in names if name in ARRAY_KINDS]
    if len(found) != 1:
        raise InputFormatError(
            f"Found {' and '.join(found) or 'no posture'} among the arrays {', '.join(names)}; exactly one is needed "
            f"of {ARRAY_SPELLINGS}."
        )


def array_table(arrays: Mapping[str, NDArray[Any]], stem: str) -> Table:
    """Make rows of named arrays.

    Parameters
    ----------
    arrays
        Whose names have passed `check_names`.
    stem
        Name of the file, for an animal without one.
    """
    name = next(name for name in arrays if name in ARRAY_KINDS)
    kind = ARRAY_KINDS[name]
    values, centroid = _numbers(arrays, name), _numbers_of(arrays, "centroid", "centroid_mm")
    n_axes = len(KIND_DIMS[kind])
    stacked = values.ndim == n_axes + 2
    if not (stacked or values.ndim == n_axes + 1) or (n_axes == 2 and values.shape[-1] != 2):
        wanted = "(frames, points, 2)" if n_axes == 2 else "(frames, numbers)"
        raise InputFormatError(f"{name} has shape {values.shape}; {wanted}, or the same after (animals, …), is needed.")
    if values.size == 0:
        raise InputFormatError(
            f"{name} has shape {values.shape}, which holds no number; at least two frames are needed."
        )
    rows = values.shape[:2] if stacked else values.shape[:1]
    if centroid is not None and centroid.shape != (*rows, 2):
        raise InputFormatError(f"centroid has shape {centroid.shape}, {name} {values.shape}; {(*rows, 2)} is needed.")
    names = _text(arrays, "keypoints", (values.shape[-2],), "point_{}") if kind == "position" else None
    length = _numbers_of(arrays, "body_length")
    unit = "mm" if "centroid_mm" in arrays else ""
    animals, owner = _owners(arrays, rows, stem)
    return Table(
        kind=kind,
        values=values.reshape(-1, *values.shape[-n_axes:]),
        animals=animals,
        owner=owner,
        time=_times(arrays, rows),
        centroid=None if centroid is None else centroid.reshape(-1, 2),
        names=() if names is None else tuple(names.tolist()),
        body_lengths=None if length is None else length.reshape(-1),
        sampling_rate=_stated_rate(arrays),
        length_unit=str(arrays.get("length_unit", unit)),
    )


def _numbers(arrays: Mapping[str, NDArray[Any]], name: str) -> FloatArray:
    """Take an array as floats, of four bytes where they are enough."""
    kind, size = arrays[name].dtype.kind, arrays[name].dtype.itemsize
    if kind not in "fiu":
        raise InputFormatError(f"{name} holds {arrays[name].dtype}; real numbers are needed.")
    exact = size <= 4 if kind == "f" else size <= 2
    return arrays[name].astype(np.float32 if exact else np.float64, copy=False)


def _numbers_of(arrays: Mapping[str, NDArray[Any]], *names: str) -> FloatArray | None:
    """Load the one of several spellings that is there."""
    found = [name for name in names if name in arrays]
    if len(found) > 1:
        raise InputFormatError(f"Both {' and '.join(found)} are given, which say the same; keep one of them.")
    return _numbers(arrays, found[0]) if found else None


def _text(arrays: Mapping[str, NDArray[Any]], name: str, shape: tuple[int, ...], default: str) -> NDArray[Any]:
    if name not in arrays:
        return np.array([default.format(i + 1) for i in range(shape[0])])
    if arrays[name].shape != shape:
        raise InputFormatError(f"{name} has shape {arrays[name].shape}; {shape} is needed, one name each.")
    return _words(arrays[name])


def _words(names: NDArray[Any]) -> NDArray[Any]:
    return np.char.decode(names, "utf-8", "replace") if names.dtype.kind == "S" else names.astype(str)


def _owners(arrays: Mapping[str, NDArray[Any]], rows: tuple[int, ...], stem: str) -> tuple[tuple[str, ...], IntArray]:
    """Name the animals, and tell which has every row."""
    given = arrays.get("individual")
    if len(rows) == 2:
        names = _text(arrays, "individual", rows[:1], "animal_{}")
        if np.unique(names).size < names.size:
            raise InputFormatError(f"Two of the {names.size} animals have the same name; give each its own.")
        return tuple(names.tolist()), np.repeat(np.arange(rows[0]), rows[1])
    if given is None or given.size == 1:
        names = np.array([stem]) if given is None else _words(given.reshape(-1))
        return tuple(names.tolist()), np.zeros(rows, dtype=np.int64)
    if given.shape != rows:
        raise InputFormatError(f"individual has shape {given.shape}; {rows} is needed, one name each.")
    _, first, owner = np.unique(given, return_index=True, return_inverse=True)
    order = np.argsort(first)  # from the alphabet to the order in which they appear
    return tuple(_words(given[first[order]]).tolist()), np.argsort(order)[owner]


def _times(arrays: Mapping[str, NDArray[Any]], rows: tuple[int, ...]) -> FloatArray | None:
    if "time" not in arrays:
        return None
    time = _numbers(arrays, "time").astype(np.float64, copy=False)
    if time.shape not in (rows, rows[-1:]):
        raise InputFormatError(f"time has shape {time.shape}; {rows[-1:]} is needed, one per frame, in seconds.")
    return np.broadcast_to(time, rows).reshape(-1)


def _stated_rate(arrays: Mapping[str, NDArray[Any]]) -> float | None:
    rate = _numbers_of(arrays, "sampling_rate", "fps")
    if rate is not None and rate.size != 1:
        raise InputFormatError(f"The sampling rate has shape {rate.shape}; a single number is needed.")
    return None if rate is None else float(rate.item())
