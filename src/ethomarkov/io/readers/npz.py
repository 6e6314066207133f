"""Archives of numpy with named arrays; what they declare is checked before anything is read."""

import math
import zipfile
import zlib
from collections import Counter
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ethomarkov.exceptions import InputFormatError
from ethomarkov.io.limits import array_bytes, check_declared
from ethomarkov.io.options import ReadOptions
from ethomarkov.io.probe import Probe
from ethomarkov.io.readers.named_arrays import ARRAY_KINDS, NOT_READ, array_table, check_names
from ethomarkov.io.registry import reader, writer
from ethomarkov.recording import Recording
from ethomarkov.recording.schema import FRAME_COUNT

NUMPY_SIGNATURE = b"\x93NUMPY"
ENDING = ".npy"
_DAMAGED = (ValueError, EOFError, OSError, RuntimeError, zipfile.BadZipFile, zlib.error)


def _is_npz(probe: Probe) -> bool:
    if probe.head.startswith(NUMPY_SIGNATURE):
        return True
    return bool(probe.zip_names) and all(name.endswith(ENDING) for name in probe.zip_names)


@reader("npz", suffixes=(".npz",), describes="arrays amplitudes, angles, centerline or positions", recognise=_is_npz)
def read_npz(path: Path, options: ReadOptions) -> Recording:
    """Read named arrays of numpy; pickled ones are refused."""
    probe = Probe(path)
    if probe.head.startswith(NUMPY_SIGNATURE):
        raise InputFormatError(
            f"{path}: is a single array without a name, so that amplitudes cannot be told from angles. Save it as "
            "np.savez(file, amplitudes=…, sampling_rate=…), with angles=, centerline= or positions= for others."
        )
    if not probe.zip_names:
        raise InputFormatError(f"{path}: is not an NPZ archive. Name its format, or save it with np.savez.")
    check_names([name.removesuffix(ENDING) for name in probe.zip_names])
    return array_table(load_arrays(path, without=NOT_READ), path.stem).to_recording(options)


def load_arrays(path: Path, *, without: str = "") -> dict[str, NDArray[Any]]:
    """Load the arrays of an archive, after a look at the sizes and types that they declare.

    Parameters
    ----------
    path
        Of the archive.
    without
        Name of an array to leave there.
    """
    try:
        check_archive(path)
        with np.load(path, allow_pickle=False) as stored:
            return {name: np.asarray(stored[name]) for name in stored.files if name != without}
    except InputFormatError:
        raise
    except _DAMAGED as error:
        raise InputFormatError(f"{path}: cannot be read ({error}). Probably truncated; copy it again.") from error


def check_archive(path: Path) -> None:
    """Refuse an archive whose arrays are pickled, are of another size than they say, or would not fit in memory."""
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        name, times = Counter(member.filename for member in members).most_common(1)[0]
        if times > 1:
            raise InputFormatError(f"{path}: holds {name} {times} times; every array needs a name of its own.")
        declared = 0
        for member in members:
            with archive.open(member) as stream:
                declared += _declared_bytes(f"{path}: {member.filename}", stream, member.file_size)
    check_declared(f"{path}: the sum of its arrays", declared, path.stat().st_size)


def _declared_bytes(what: str, stream: IO[bytes], stored_bytes: int) -> int:
    """Read the head of one array, and tell how many bytes it takes."""
    version = np.lib.format.read_magic(stream)
    if version not in ((1, 0), (2, 0)):
        raise InputFormatError(f"{what} is of version {version[0]}.{version[1]}; save plain arrays of numbers.")
    read_head = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read_head(stream)
    if dtype.hasobject:
        raise InputFormatError(
            f"{what} holds Python objects. Pickled arrays are never loaded, because they can run code; save plain "
            "arrays of numbers (and of text for names)."
        )
    if min(shape, default=1) < 0 or math.prod(shape) * dtype.itemsize != stored_bytes - stream.tell():
        raise InputFormatError(
            f"{what} says that it has shape {shape} of {dtype}, which is not what {stored_bytes:,} bytes hold. It is "
            "damaged; copy it again."
        )
    return array_bytes(shape, dtype.itemsize)


@writer(".npz")
def write_npz(recording: Recording, path: Path) -> None:
    """Write a recording as named arrays, readable with plain numpy."""
    dataset = recording.dataset
    arrays: dict[str, Any] = {
        next(name for name, kind in ARRAY_KINDS.items() if kind == recording.kind): recording.values,
        "individual": np.repeat(np.array(recording.individuals), dataset[FRAME_COUNT].values),
        "time": recording.time,
        "sampling_rate": recording.sampling.rate,
        "length_unit": str(dataset.attrs.get("length_unit", "")),
    }
    if recording.kind == "position":
        arrays["keypoints"] = dataset["keypoint"].values.astype(str)
    if recording.centroid is not None:
        arrays["centroid"] = recording.centroid
    if recording.body_lengths:
        arrays["body_length"] = dataset["body_length"].values
    np.savez_compressed(path, **arrays)
