"""MATLAB files of both kinds: up to version 7 through scipy, version 7.3 through the door to HDF5."""

import contextlib
import math
import struct
import warnings
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from ethomarkov.exceptions import EthomarkovError, InputFormatError
from ethomarkov.io.hdf5 import open_hdf5, read_values, text_of
from ethomarkov.io.limits import check_declared

SIGNATURE = b"MATLAB"
CELL, STRUCT = "cell", "struct"
HEADER_BYTES = 128
MATRIX, COMPRESSED = 14, 15
"""Types of the elements that variables are stored as."""
POINTER_BYTES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """What a file says of an array before it is read.

    Parameters
    ----------
    shape
        As the file gives it.
    kind
        "cell", "struct" or a type of numbers.
    """

    shape: tuple[int, ...]
    kind: str


def list_variables(path: Path) -> dict[str, Variable]:
    """Name the variables of a MATLAB file up to version 7; sizes are checked on the way."""
    from scipy.io import whosmat

    with _mat_errors(path):
        _check_elements(path)
        listed = whosmat(path)
    found = {name: Variable(shape=tuple(shape), kind=kind) for name, shape, kind in listed}
    if len(found) < len(listed):
        raise InputFormatError(f"{path}: two variables have the same name among {', '.join(n for n, _, _ in listed)}.")
    size = path.stat().st_size
    for name, variable in found.items():
        check_declared(f"{path}: {name}", math.prod(int(n) for n in variable.shape) * POINTER_BYTES, size)
    return found


def read_matlab(path: Path, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Read numbers and words in MATLAB's order, with all of their dimensions.

    Parameters
    ----------
    path
        Of a file of either kind.
    names
        Places of the arrays, fields of structures behind slashes: ``"worm/posture/skeleton/x"``. Those that are not
        there, or are neither numbers nor words, are left out.
    """
    with _mat_errors(path):
        if h5py.is_hdf5(path):
            with open_hdf5(path) as file:
                found = {name: _stored_array(file.get(name)) for name in names}
        else:
            stored = _load(path, {name.partition("/")[0] for name in names})
            found = {name: _field(stored, name) for name in names}
    return {name: values for name, values in found.items() if values is not None}


def read_cells(path: Path, name: str) -> list[NDArray[Any]]:
    """Read the cells of a cell array in MATLAB's own order."""
    with _mat_errors(path):
        if not h5py.is_hdf5(path):
            return [np.asarray(cell) for cell in _load(path, {name})[name].ravel(order="F")]
        with open_hdf5(path) as file:
            # the references stand in the order of the cells; their names in #refs# do not
            cells = [file[reference] for reference in read_values(file[name]).ravel()]
            needed = sum(cell.size * cell.dtype.itemsize for cell in cells if isinstance(cell, h5py.Dataset))
            check_declared(f"{path}: {name}", needed, path.stat().st_size)  # many cells may refer to the same one
            return [np.empty((0, 0)) if (values := _stored_array(cell)) is None else values for cell in cells]


# --- version 7.3 -----------------------------------------------------------------------------------------------------


def _stored_array(item: h5py.Dataset | h5py.Group | None) -> NDArray[Any] | None:
    if not isinstance(item, h5py.Dataset):
        return None
    if item.attrs.get("MATLAB_empty", 0):
        return np.empty((0, 0))
    values = read_values(item).T  # MATLAB stores columns first
    if text_of(item.attrs.get("MATLAB_class")) == "char" and values.dtype.kind == "u":
        return np.array(["".join(chr(code) for code in row) for row in np.atleast_2d(values)])
    return values if values.dtype.kind in "fiub" else None


# --- up to version 7 -------------------------------------------------------------------------------------------------


def _load(path: Path, variables: set[str]) -> dict[str, Any]:
    from scipy.io import loadmat

    list_variables(path)
    stored: dict[str, Any] = loadmat(path, variable_names=sorted(variables), struct_as_record=False)
    return stored


def _field(stored: dict[str, Any], place: str) -> NDArray[Any] | None:
    first, *fields = place.split("/")
    value = stored.get(first)
    for field in fields:
        value = _only(value).get(field)
    return value if isinstance(value, np.ndarray) and value.dtype.kind in "fiubU" else None


def _only(value: object) -> dict[str, Any]:
    """Give the fields of a single structure; nothing for anything else."""
    from scipy.io.matlab import mat_struct

    if isinstance(value, np.ndarray) and value.dtype == object and value.size == 1:
        value = value.item()
    return vars(value) if isinstance(value, mat_struct) else {}


def _check_elements(path: Path) -> None:
    """Look at the sizes that the variables declare; compressed ones begin with theirs."""
    size = path.stat().st_size
    with path.open("rb") as file:
        header = file.read(HEADER_BYTES)
        order = ">" if header[126:128] == b"MI" else "<"
        while len(tag := file.read(8)) == 8:
            kind, n_bytes = struct.unpack(f"{order}II", tag)
            if kind not in (MATRIX, COMPRESSED):
                return  # damaged; scipy says how
            after = file.tell() + n_bytes
            if kind == COMPRESSED:
                inner = zlib.decompressobj().decompress(file.read(min(n_bytes, 4096)), 8)
                n_bytes = struct.unpack(f"{order}II", inner)[1]
            check_declared(f"{path}: a variable", n_bytes, size)
            file.seek(after)


# --- both ------------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _mat_errors(path: Path) -> Iterator[None]:
    """Turn the many errors of a broken MATLAB file into one that names the file."""
    from scipy.io.matlab import MatReadError

    broken = (
        ValueError, OSError, TypeError, KeyError, IndexError, EOFError, OverflowError, NotImplementedError,
        struct.error, zlib.error, MatReadError,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        except EthomarkovError:
            raise
        except broken as error:
            raise InputFormatError(
                f"{path}: starts like a MATLAB file but cannot be opened ({error}). It is probably truncated; "
                "copy it again."
            ) from error
