"""Our own recording files: netCDF in the layout of `ethomarkov.recording.schema`."""

import io
from pathlib import Path

import xarray as xr

from ethomarkov.exceptions import InputFormatError
from ethomarkov.io.hdf5 import open_hdf5, text_of
from ethomarkov.io.options import ReadOptions
from ethomarkov.io.probe import Probe
from ethomarkov.io.readers.netcdf import read_netcdf
from ethomarkov.io.registry import reader, writer
from ethomarkov.recording import Recording
from ethomarkov.recording.schema import FRAME_COUNT, INDIVIDUAL, SCHEMA, TIME


def _is_native(probe: Probe) -> bool:
    if not {FRAME_COUNT, TIME, INDIVIDUAL} <= probe.hdf5_names:
        return False
    with open_hdf5(probe.path) as file:
        return text_of(file.attrs.get("schema")).startswith("ethomarkov-recording/")


@reader("ethomarkov", suffixes=(".nc",), describes="recording written by ethomarkov", recognise=_is_native)
def read_native(path: Path, options: ReadOptions) -> Recording:
    """Read a recording that was written by `write_native`."""
    if not _is_native(Probe(path)):
        raise InputFormatError(
            f"{path}: holds no schema of a recording; a file written by ethomarkov is needed. If it is of another "
            "program, name that with format= (or --format)."
        )
    dataset = _load(path)
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


def _load(path: Path) -> xr.Dataset:
    data = read_netcdf(path)
    variables = {name: (one.dims, one.values, dict(one.attrs)) for name, one in data.variables.items()}
    try:
        dataset = xr.Dataset(variables, attrs=dict(data.attrs))
    except ValueError as error:
        raise InputFormatError(f"{path}: its arrays do not fit together ({error}). Copy it again.") from error
    return dataset.set_coords([name for name in (TIME, FRAME_COUNT) if name in dataset])


@writer(".nc")
def write_native(recording: Recording, path: Path) -> None:
    """Write a recording as netCDF, readable with plain xarray."""
    dataset = recording.dataset
    packed = {name: {"zlib": True, "complevel": 3} for name in dataset.data_vars}
    stream = io.BytesIO()  # see save_results
    dataset.to_netcdf(stream, engine="h5netcdf", encoding=packed)
    path.write_bytes(stream.getbuffer())
