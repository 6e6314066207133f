"""The one door to HDF5 files: nothing outside the file is opened, and nothing is allocated on its word alone."""

import contextlib
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from ethomarkov.exceptions import InputFormatError
from ethomarkov.io.limits import array_bytes, check_declared

BYTES_OF_BOOKS = 1000
"""What HDF5 takes for every chunk, at most about."""
_ELSEWHERE = "Copy the data themselves into one file (h5repack or h5copy do it)."


@contextlib.contextmanager
def open_hdf5(path: str | Path) -> Iterator[h5py.File]:
    """Open an HDF5 file for reading, after a look at all of its links and datasets.

    Links that lead elsewhere, data kept in other files and virtual datasets are refused: reading them would open files
    that the user did not name.

    Parameters
    ----------
    path
        Of the file.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "one.h5"
    >>> with h5py.File(path, "w") as file:
    ...     file["here"] = [1.0, 2.0]
    >>> with open_hdf5(path) as file:
    ...     read_values(file["here"])
    array([1., 2.])
    """
    try:
        file = h5py.File(path, "r")
    except (OSError, RuntimeError) as error:
        raise InputFormatError(
            f"{path}: starts like HDF5 but cannot be opened ({error}). It is probably truncated; copy it again."
        ) from error
    with file:
        refuse_links(file, path)
        yield file


def refuse_links(file: h5py.File, path: str | Path) -> None:
    """Refuse a file that leads to others; no link is followed to find out.

    Soft links stay within their file when nothing in it leads out, so they are allowed (NWB uses them).
    """

    def visit(name: bytes, info: Any) -> str | None:  # noqa: ANN401 (h5py has no types)
        if info.type == h5py.h5l.TYPE_HARD:
            kind = _storage_elsewhere(h5py.h5o.open(file.id, name))
        else:
            kind = "" if info.type == h5py.h5l.TYPE_SOFT else "is a link to another file"
        return f"{name.decode(errors='replace')} {kind}" if kind else None

    try:
        found = file.id.links.visit(visit, info=True)  # stops at the first answer; it must not raise in between
    except (OSError, RuntimeError, KeyError, ValueError, TypeError, SystemError) as error:
        raise InputFormatError(
            f"{path}: is damaged; its groups cannot be followed to the end. Copy or export it again."
        ) from error
    if found is not None:
        raise InputFormatError(f"{path}: {found}. {_ELSEWHERE}")


def read_values(dataset: h5py.Dataset, rows: Any = ()) -> NDArray[Any]:  # noqa: ANN401 (whatever h5py indexes with)
    """Read a dataset, or some of it, after a look at the size that it declares.

    Parameters
    ----------
    dataset
        Of a file that `open_hdf5` gave.
    rows
        As in ``dataset[rows]``; all by default.
    """
    if not isinstance(dataset, h5py.Dataset):
        raise InputFormatError(f"{dataset.name} is a group; an array is needed.")
    check_dataset(dataset)
    return np.asarray(dataset[rows])


def read_numbers(dataset: h5py.Dataset) -> NDArray[Any]:
    """Read a dataset that must hold real numbers, whatever their size."""
    if isinstance(dataset, h5py.Dataset) and dataset.dtype.kind not in "fiu":
        raise InputFormatError(f"{dataset.name} holds {dataset.dtype}; numbers are needed.")
    return read_values(dataset)


def check_dataset(dataset: h5py.Dataset) -> None:
    """Refuse a dataset that declares far more numbers than its file can hold, or keeps them elsewhere.

    A dataset without a name, which only a reference leads to, is not seen when a file is opened.
    """
    elsewhere = _storage_elsewhere(dataset.id)
    if elsewhere:
        raise InputFormatError(f"{dataset.name or 'A dataset without a name'} {elsewhere}. {_ELSEWHERE}")
    file_bytes, item_bytes = dataset.file.id.get_filesize(), dataset.dtype.itemsize
    what = f"{dataset.name} of shape {dataset.shape}"
    check_declared(what, array_bytes(dataset.shape or (), item_bytes), file_bytes)
    if dataset.chunks:  # HDF5 makes room for a chunk, and keeps books of all of them
        n_chunks = math.prod(-(-extent // chunk) for extent, chunk in zip(dataset.shape, dataset.chunks, strict=True))
        needed = max(array_bytes(dataset.chunks, item_bytes), BYTES_OF_BOOKS * n_chunks)
        check_declared(f"{what} in chunks of shape {dataset.chunks}", needed, file_bytes)


def read_text(dataset: h5py.Dataset) -> NDArray[Any]:
    """Read words of fixed or variable length as an array of `str`; bytes that are no text are replaced."""
    check_dataset(dataset)
    if h5py.check_string_dtype(dataset.dtype) is None:
        raise InputFormatError(f"{dataset.name} holds {dataset.dtype}; text is needed.")
    return np.asarray(dataset.asstr(errors="replace")[()]).astype(str)


def text_of(value: object, default: str = "") -> str:
    """Give an attribute that should be a word as one, whether it is stored as bytes, text or a single of either."""
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.item()
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return str(value) if isinstance(value, str) else default


def _storage_elsewhere(item: Any) -> str:  # noqa: ANN401 (an identifier of h5py)
    """Say how a dataset keeps its numbers in other files; nothing when it does not, or is no dataset."""
    if not isinstance(item, h5py.h5d.DatasetID):
        return ""
    layout = item.get_create_plist()
    if layout.get_layout() == h5py.h5d.VIRTUAL:
        return "is a virtual dataset, made of parts of other files"
    return "keeps its numbers in another file" if layout.get_external_count() else ""
