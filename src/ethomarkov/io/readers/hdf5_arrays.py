"""Plain arrays in an HDF5 file, named as those of an NPZ."""

from pathlib import Path
from typing import Any

import h5py
from numpy.typing import NDArray

from ethomarkov.exceptions import InputFormatError
from ethomarkov.io.hdf5 import open_hdf5, read_text, read_values
from ethomarkov.io.limits import array_bytes, check_declared
from ethomarkov.io.options import ReadOptions
from ethomarkov.io.probe import Probe
from ethomarkov.io.readers.named_arrays import ARRAY_KINDS, NOT_READ, array_table, check_names
from ethomarkov.io.registry import reader
from ethomarkov.recording import Recording


def _is_hdf5(probe: Probe) -> bool:
    return probe.suffix in (".h5", ".hdf5", ".mat") and bool(probe.hdf5_names & set(ARRAY_KINDS))


@reader("hdf5", suffixes=(".h5", ".hdf5"), describes="HDF5 with arrays named as in the NPZ format", recognise=_is_hdf5)
def read_hdf5(path: Path, options: ReadOptions) -> Recording:
    """Read arrays at the root of an HDF5 file, named as those of an NPZ."""
    if not Probe(path).is_hdf5:
        raise InputFormatError(
            f"{path}: cannot be read as HDF5, which it is not. Name its format, or leave it to auto."
        )
    try:
        with open_hdf5(path) as file:
            check_names(list(file))
            found = {name: file[name] for name in file if name != NOT_READ}
            for name, item in found.items():
                _check_array(name, item)
            declared = sum(array_bytes(item.shape or (), item.dtype.itemsize) for item in found.values())
            check_declared(f"{path}: the sum of its arrays", declared, path.stat().st_size)
            arrays = {name: _load(item) for name, item in found.items()}
    except (OSError, RuntimeError, KeyError) as error:
        raise InputFormatError(f"{path}: cannot be read ({error}). Probably truncated; copy it again.") from error
    return array_table(arrays, path.stem).to_recording(options)


def _check_array(name: str, item: object) -> None:
    if not isinstance(item, h5py.Dataset):
        raise InputFormatError(f"{name} is a group; an array is needed.")
    if item.dtype.kind not in "fiu" and h5py.check_string_dtype(item.dtype) is None:
        raise InputFormatError(f"{name} holds {item.dtype}; real numbers (or text for names) are needed.")


def _load(item: h5py.Dataset) -> NDArray[Any]:
    if h5py.check_string_dtype(item.dtype) is not None:
        return read_text(item)
    values = read_values(item)
    return values.T if "MATLAB_class" in item.attrs else values  # MATLAB stores columns first
