"""netCDF files of both kinds as plain arrays: version 4 through the door to HDF5, version 3 by scipy."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from ethomarkov.exceptions import InputFormatError
from ethomarkov.io.hdf5 import open_hdf5, read_text, read_values, text_of

SIGNATURE, CLASSIC_VERSIONS = b"CDF", (1, 2)
"""How netCDF of version 3 begins."""
DAMAGE = (OSError, ValueError, IndexError, KeyError, TypeError, AssertionError, MemoryError, OverflowError)
"""What scipy raises on a header that says what cannot be."""
PACKING = ("_FillValue", "missing_value", "scale_factor", "add_offset")
HOUSEKEEPING = {
    "CLASS", "NAME", "REFERENCE_LIST", "DIMENSION_LIST", "DIMENSION_LABELS", "_NCProperties", "_Netcdf4Dimid",
    "_Netcdf4Coordinates", "_nc3_strict", "coordinates", "_Encoding", *PACKING,
}  # fmt: skip
DIMENSION_ALONE = "This is a netCDF dimension but not a netCDF variable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """An array with named dimensions.

    Parameters
    ----------
    dims
        One name for each dimension.
    values
        Numbers, unpacked and NaN where missing, or words.
    attrs
        Text and numbers about it.
    """

    dims: tuple[str, ...]
    values: NDArray[Any]
    attrs: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class NetcdfData:
    """What a netCDF file holds, groups aside.

    Parameters
    ----------
    variables
        By their names.
    attrs
        Text and numbers about the whole file.
    """

    variables: Mapping[str, Variable]
    attrs: Mapping[str, Any]


def read_netcdf(path: Path, names: Collection[str] | None = None) -> NetcdfData:
    """Read variables of a netCDF file of version 3 or 4.

    Parameters
    ----------
    path
        Of the file.
    names
        Variables to read where they exist; all by default.
    """
    with path.open("rb") as file:
        head = file.read(len(SIGNATURE) + 1)
    if not head.startswith(SIGNATURE):
        return _read_hdf5(path, names)
    if head[-1] not in CLASSIC_VERSIONS:
        raise InputFormatError(
            f"It starts with {head!r}; netCDF of the versions 3 (classic, 64-bit offsets) and 4 can be read. Save it "
            "again as netCDF4."
        )
    try:
        return _read_classic(path, names)
    except DAMAGE as error:
        raise InputFormatError(f"The netCDF is damaged or truncated ({error!r}). Copy or export it again.") from error


def _read_classic(path: Path, names: Collection[str] | None) -> NetcdfData:
    from scipy.io import netcdf_file

    with netcdf_file(path, "r", mmap=False) as file:
        variables = {
            name: _decode(tuple(one.dimensions), np.array(one.data), _plain_attributes(one))
            for name, one in file.variables.items()
            if names is None or name in names
        }
        return NetcdfData(variables=variables, attrs=_plain_attributes(file))


def _plain_attributes(item: Any) -> dict[str, Any]:  # noqa: ANN401 (scipy has no types)
    return {name: _plain_attribute(value) for name, value in item._attributes.items()}


def _plain_attribute(value: Any) -> Any:  # noqa: ANN401 (text, a number or several)
    single = value.item() if isinstance(value, np.ndarray | np.generic) and value.size == 1 else value
    return text_of(single) if isinstance(single, bytes) else single


def _read_hdf5(path: Path, names: Collection[str] | None) -> NetcdfData:
    variables = {}
    with open_hdf5(path) as file:
        for name, item in file.items():
            wanted = isinstance(item, h5py.Dataset) and (names is None or name in names)
            if wanted and not text_of(item.attrs.get("NAME")).startswith(DIMENSION_ALONE):
                text = h5py.check_string_dtype(item.dtype)
                words = text is not None and text.length != 1
                values = read_text(item) if words else read_values(item)
                variables[name] = _decode(_dims(file, name, item), values, _attributes(item))
        return NetcdfData(variables=variables, attrs=_attributes(file))


def _dims(file: h5py.File, name: str, dataset: h5py.Dataset) -> tuple[str, ...]:
    """Name the dimensions by the scales that are attached; a scale is its own dimension."""
    if dataset.ndim == 1 and text_of(dataset.attrs.get("CLASS")) == "DIMENSION_SCALE":
        return (name,)
    scales = dataset.attrs.get("DIMENSION_LIST", ())
    try:
        found = tuple(file[scale[0]].name.lstrip("/") for scale in scales)
    except (ValueError, TypeError, IndexError, AttributeError, KeyError) as error:
        raise InputFormatError(f"Dimensions of {name} are damaged ({error}). Copy or export the file again.") from error
    if len(found) != dataset.ndim:
        raise InputFormatError(f"{name} has {dataset.ndim} dimensions and names for {len(found)}; netCDF names all.")
    return found


def _attributes(item: h5py.Dataset | h5py.File) -> dict[str, Any]:
    """Take the attributes that are text or numbers; other kinds belong to HDF5 itself."""
    found = {}
    for name in item.attrs:
        if name not in HOUSEKEEPING - set(PACKING):
            found[name] = _plain_attribute(item.attrs[name])
    return found


def _decode(dims: tuple[str, ...], values: NDArray[Any], attrs: Mapping[str, Any]) -> Variable:
    if values.dtype == np.dtype("S1"):
        dims, values = dims[:-1], _join_characters(values)
    elif values.dtype.kind in "fiu":
        values = _unpack(values, attrs)
    return Variable(
        dims=dims, values=values, attrs={name: value for name, value in attrs.items() if name not in HOUSEKEEPING}
    )


def _join_characters(values: NDArray[Any]) -> NDArray[Any]:
    """Make words of the letters along the last dimension."""
    if not values.ndim or not values.shape[-1]:
        return np.full(values.shape[:-1], "")
    words = np.ascontiguousarray(values).view(f"S{values.shape[-1]}")[..., 0]
    return np.char.decode(words, "utf-8", "replace")


def _unpack(values: NDArray[Any], attrs: Mapping[str, Any]) -> NDArray[Any]:
    """Undo what saves space (CF conventions): a number for missing ones, a scale and an offset."""
    numbers = values.astype(values.dtype.newbyteorder("="))
    packing = {name: attrs[name] for name in PACKING if name in attrs}
    if not all(isinstance(value, int | float) for value in packing.values()):
        raise InputFormatError(f"Numbers are packed with {packing}; single numbers are needed. Export the file again.")
    fills = [packing[name] for name in PACKING[:2] if name in packing and not np.isnan(packing[name])]
    scale, offset = packing.get("scale_factor", 1.0), packing.get("add_offset", 0.0)
    if not fills and (scale, offset) == (1.0, 0.0):
        return numbers
    with np.errstate(over="ignore", invalid="ignore"):
        unpacked: NDArray[Any] = numbers.astype(np.float64) * scale + offset
    unpacked[np.isin(numbers, fills)] = np.nan
    return unpacked
