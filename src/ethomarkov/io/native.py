"""Our own recording files: netCDF in the layout of `ethomarkov.recording.schema`."""

import io
from pathlib import Path

import h5py
import xarray as xr

from ethomarkov.exceptions import InputFormatError
from ethomarkov.io.options import ReadOptions
from ethomarkov.io.probe import Probe
from ethomarkov.io.registry import reader, writer
from ethomarkov.recording import Recording
from ethomarkov.recording.schema import FRAME_COUNT, INDIVIDUAL, SCHEMA, TIME


def _is_native(probe: Probe) -> bool:
    if not {FRAME_COUNT, TIME, INDIVIDUAL} <= probe.hdf5_names:
        return False
    with h5py.File(probe.path, "r") as file:
        schema = file.attrs.get("schema", "")
    return (schema.decode() if isinstance(schema, bytes) else str(schema)).startswith("ethomarkov-recording/")


@reader("ethomarkov", suffixes=(".nc",), describes="recording written by ethomarkov", recognise=_is_native)
def read_native(path: Path, options: ReadOptions) -> Recording:
    """Read a recording that was written by `write_native`."""
    with xr.open_dataset(path, engine="h5netcdf") as stored:
        dataset = stored.load()
    if dataset.attrs["schema"] != SCHEMA:
        raise InputFormatError(
            f"{path}: written with schema {dataset.attrs['schema']!r}, this version reads {SCHEMA!r}. "
            "Update ethomarkov, or convert the file with the version that wrote it."
        )
    if options.sampling_rate is not None:
        raise InputFormatError(
            f"{path}: holds its own rate of {dataset.attrs.get('sampling_rate', '?')} Hz, so a sampling rate cannot be "
            "stated. To change it use resample (--resample)."
        )
    return Recording(dataset)


@writer(".nc")
def write_native(recording: Recording, path: Path) -> None:
    """Write a recording as netCDF, readable with plain xarray."""
    dataset = recording.dataset
    packed = {name: {"zlib": True, "complevel": 3} for name in dataset.data_vars}
    stream = io.BytesIO()  # see save_results
    dataset.to_netcdf(stream, engine="h5netcdf", encoding=packed)
    path.write_bytes(stream.getbuffer())
