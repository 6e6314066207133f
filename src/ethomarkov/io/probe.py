"""A first look into a file, shared by all readers that ask whether it is theirs."""

import zipfile
from functools import cached_property
from pathlib import Path

import h5py
import numpy as np

from ethomarkov.exceptions import InputFormatError
from ethomarkov.io import matlab
from ethomarkov.io.hdf5 import open_hdf5
from ethomarkov.io.matlab import CELL, STRUCT, Variable

HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
HEAD_BYTES = 4096
LISTED = 10
"""Arrays that are named when a file is not understood."""


class Probe:
    """What can be said of a file without reading it through.

    Parameters
    ----------
    path
        An existing file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def suffix(self) -> str:
        """Lower-case ending of the name, with its dot."""
        return self.path.suffix.lower()

    @cached_property
    def head(self) -> bytes:
        """The first bytes of the file."""
        with self.path.open("rb") as file:
            return file.read(HEAD_BYTES)

    @property
    def text(self) -> str:
        """The first bytes as text, empty when they are none."""
        if b"\x00" in self.head:
            return ""
        return self.head.decode("utf-8-sig", errors="ignore")

    @cached_property
    def zip_names(self) -> tuple[str, ...]:
        """Names of the members of a zip archive; empty for other files."""
        if not self.head.startswith(b"PK"):
            return ()
        try:
            with zipfile.ZipFile(self.path) as archive:
                return tuple(archive.namelist())
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
            raise InputFormatError(
                f"{self.path}: starts like a zip archive but cannot be opened ({error}). It is probably "
                "truncated; copy it again."
            ) from error

    @property
    def is_hdf5(self) -> bool:
        """Is it HDF5? MATLAB v7.3 puts a block of 512 bytes in front."""
        return self.head.startswith(HDF5_SIGNATURE) or self.head[512:520] == HDF5_SIGNATURE

    @property
    def is_matlab(self) -> bool:
        """Is it a MATLAB file up to version 7? Those of version 7.3 are HDF5."""
        return self.head.startswith(matlab.SIGNATURE) and not self.is_hdf5

    @property
    def hdf5_names(self) -> frozenset[str]:
        """Names of the groups and datasets of an HDF5 file, one and two levels down ("a", "a/b")."""
        return frozenset(self._hdf5_items)

    @cached_property
    def matlab_variables(self) -> dict[str, Variable]:
        """Variables of a MATLAB file; of an HDF5 file what stands at its top. Empty for other files."""
        if self.is_matlab:
            return matlab.list_variables(self.path)
        return {name: item for name, item in self._hdf5_items.items() if "/" not in name and name != "#refs#"}

    def contents(self) -> str:
        """Name up to ten arrays of an HDF5, MATLAB or NPZ file with their shapes; empty for other files.

        Examples
        --------
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "a.npz"
        >>> np.savez(path, angles=np.zeros((3, 2)), rate=16)
        >>> Probe(path).contents()
        'angles (3, 2) float64, rate () int64'
        """
        found = self._npz_arrays() or self._hdf5_arrays() or self.matlab_variables
        named = [f"{name} {item.shape} {item.kind}" for name, item in list(found.items())[:LISTED]]
        more = len(found) - len(named)
        return ", ".join(named) + (f" and {more} more" if more > 0 else "")

    @cached_property
    def _hdf5_items(self) -> dict[str, Variable]:
        if not self.is_hdf5:
            return {}
        items = {}
        with open_hdf5(self.path) as file:
            for name, item in file.items():
                items[name] = _describe(item)
                if isinstance(item, h5py.Group):
                    items |= {f"{name}/{child}": _describe(item.get(child)) for child in item}
        return items

    def _hdf5_arrays(self) -> dict[str, Variable]:
        found: dict[str, Variable] = {}
        if not self.is_hdf5:
            return found

        def visit(name: str, item: h5py.Dataset | h5py.Group) -> None:
            if isinstance(item, h5py.Dataset) and not name.startswith("#"):
                found[name] = _describe(item)

        with open_hdf5(self.path) as file:
            file.visititems(visit)
        return found

    def _npz_arrays(self) -> dict[str, Variable]:
        names = [name for name in self.zip_names if name.endswith(".npy")]
        found = {}
        if names:
            with zipfile.ZipFile(self.path) as archive:
                found = {name.removesuffix(".npy"): _describe_npy(archive, name) for name in names[:LISTED]}
        return found | {name.removesuffix(".npy"): Variable(shape=(), kind="") for name in names[LISTED:]}


def _describe(item: h5py.Dataset | h5py.Group | None) -> Variable:
    if not isinstance(item, h5py.Dataset):
        return Variable(shape=(), kind=STRUCT)
    try:
        kind = CELL if h5py.check_ref_dtype(item.dtype) is h5py.Reference else str(item.dtype)
    except (TypeError, ValueError):  # types that numpy does not have
        kind = "of an unknown type"
    return Variable(shape=tuple(item.shape or ()), kind=kind)


def _describe_npy(archive: zipfile.ZipFile, name: str) -> Variable:
    try:
        with archive.open(name) as member:
            version = np.lib.format.read_magic(member)
            read_header = (
                np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            )
            shape, _, dtype = read_header(member)
    except (ValueError, OSError, zipfile.BadZipFile, NotImplementedError, RuntimeError):
        return Variable(shape=(), kind="that cannot be read")
    return Variable(shape=shape, kind=str(dtype))
