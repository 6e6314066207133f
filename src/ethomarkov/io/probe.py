"""A first look into a file, shared by all readers that ask whether it is theirs."""

import zipfile
from functools import cached_property
from pathlib import Path

import h5py

from ethomarkov.exceptions import InputFormatError
from ethomarkov.io.hdf5 import open_hdf5

HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
HEAD_BYTES = 4096


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
        except (zipfile.BadZipFile, OSError) as error:
            raise InputFormatError(
                f"{self.path}: starts like a zip archive but cannot be opened ({error}). It is probably "
                "truncated; copy it again."
            ) from error

    @property
    def is_hdf5(self) -> bool:
        """Is it HDF5? MATLAB v7.3 puts a block of 512 bytes in front."""
        return self.head.startswith(HDF5_SIGNATURE) or self.head[512:520] == HDF5_SIGNATURE

    @cached_property
    def hdf5_names(self) -> frozenset[str]:
        """Names of the groups and datasets of an HDF5 file, one and two levels down ("a", "a/b")."""
        if not self.is_hdf5:
            return frozenset()
        names = set()
        with open_hdf5(self.path) as file:
            for name, item in file.items():
                names.add(name)
                if isinstance(item, h5py.Group):
                    names.update(f"{name}/{child}" for child in item)
        return frozenset(names)
