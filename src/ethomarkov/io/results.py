"""Results as groups of a netCDF file: any frozen result in, the same result out, readable with plain xarray.

Behind the netCDF stands a digest of it, which is checked whenever something is read.
"""

import contextlib
import dataclasses
import re
import types
import typing
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import h5py
import numpy as np
from scipy import sparse

from ethomarkov.exceptions import InputFormatError
from ethomarkov.io.atomic import atomic_path
from ethomarkov.io.confined import read_confined
from ethomarkov.io.hdf5 import check_dataset, open_hdf5, read_values
from ethomarkov.io.seal import MAKE_AGAIN, check_seal, digest_in, seal

Result = TypeVar("Result")
TYPE_KEY = "result_type"
COMPRESSION: dict[str, Any] = {"compression": "gzip", "compression_opts": 1, "shuffle": True}
WORTH_PACKING, CHUNK_BYTES = 4096, 2**20
# As netCDF has them.
ONLY_DIMENSION = "This is a netCDF dimension but not a netCDF variable."
HIDDEN = "_nc4_non_coord_"
COMPLEX_TYPE = "_PFNC_DOUBLE_COMPLEX_TYPE"

_sound: set[bytes] = set()
"""Digests of files that this process has written, or seen to be readable to the end."""
_Variable = tuple[tuple[str, ...], np.ndarray, str]
"""Names of the dimensions, values, unit."""


def save_results(
    path: Path,
    results: Mapping[str, object],
    attrs: Mapping[str, Any],
    group_attrs: Mapping[str, Mapping[str, Any]] | None = None,
) -> None:
    """Write results into one file, a group each. Equal results make equal bytes.

    Parameters
    ----------
    path
        Of the netCDF file; it appears when it is complete.
    results
        From the name of the group, "outer/inner" for a group in a group, to a frozen dataclass.
    attrs
        Of the file as a whole: settings, versions, seeds.
    group_attrs
        Of outer groups, by name.
    """
    with atomic_path(path) as temporary:
        # HDF5 takes the process down when the disk fills up under it; a plain write fails as it should.
        with h5py.File(temporary, "w", driver="core", backing_store=False, track_order=True) as file:
            file.attrs.update(attrs)
            for name, values in (group_attrs or {}).items():
                _new_group(file, name).attrs.update(values)
            for name, result in results.items():
                _write_result(_new_group(file, name), result)
            file.flush()
            image = file.id.get_file_image()
        end = seal(image)
        temporary.write_bytes(image + end)
    _sound.add(digest_in(end))


def group_name(*parts: object) -> str:
    """Make a name that a group of a file can have, from words of any kind."""
    return "_".join(re.sub(r"\W+", "_", str(part)) for part in parts)


def load_results(path: Path, kinds: Mapping[str, type]) -> dict[str, Any]:
    """Read those of several results that a file holds.

    Parameters
    ----------
    path
        File written by `save_results`.
    kinds
        From the name of the group to its class.
    """
    with _opened(path) as file:
        return {name: _build(file[name], kind) for name, kind in kinds.items() if name in file}


def load_result(path: Path, name: str, kind: type[Result]) -> Result:
    """Read one result back.

    Parameters
    ----------
    path
        File written by `save_results`.
    name
        Its group.
    kind
        Its class.
    """
    with _opened(path) as file:
        if name not in file:
            raise InputFormatError(f"holds no {name!r}; found {', '.join(file) or 'nothing'}.")
        return typing.cast("Result", _build(file[name], kind))


def load_attrs(path: Path) -> dict[str, Any]:
    """Read the attributes of a results file as a whole."""
    with _opened(path) as file:
        return _attrs(file)


def load_group_attrs(path: Path) -> dict[str, dict[str, Any]]:
    """Read the attributes of the outer groups of a results file, by name; those of the whole file have no name."""
    with _opened(path) as file:
        groups = {name: group for name, group in file.items() if isinstance(group, h5py.Group)}
        return {name: _attrs(group) for name, group in {"": file, **groups}.items()}


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[h5py.File]:
    """Open a results file that is as it was written; all that is wrong with it is an error that names it.

    A digest can be made to fit any content, so that a file which is not known yet is read in another process first,
    where HDF5 may loop or crash without harm.
    """
    digest = check_seal(path)
    try:
        if digest not in _sound:
            read_confined(read_through, path)
            _sound.add(digest)
        with open_hdf5(path) as file, warnings.catch_warnings():
            warnings.simplefilter("error", np.exceptions.ComplexWarning)  # numbers of another kind than was written
            yield file
    except InputFormatError as error:
        raise InputFormatError(str(error) if str(path) in str(error) else f"{path}: {error}") from error
    except Exception as error:  # HDF5 and what is built from it raise almost anything on another layout
        raise InputFormatError(f"{path}: is not of this version ({error!r}). {MAKE_AGAIN}") from error


def read_through(path: str) -> None:
    """Read everything in an HDF5 file, to find out whether that ends."""
    names = ["/"]
    with open_hdf5(path) as file:
        file.visit(names.append)
        for name in names:
            dict(file[name].attrs)
            if isinstance(file[name], h5py.Dataset):
                read_values(file[name])


# --- writing ---------------------------------------------------------------------------------------------------------
# Plainly as HDF5 too, by the rules of netCDF: a dimension is a dataset that others name as the scale of an axis.


def _new_group(parent: h5py.Group, name: str) -> h5py.Group:
    return parent.create_group(name, track_order=True)


def _write_result(group: h5py.Group, result: object) -> None:
    """Lay a dataclass out as variables, attributes and child groups."""
    group.attrs[TYPE_KEY] = type(result).__name__
    variables: dict[str, _Variable] = {}
    for field in dataclasses.fields(result):  # type: ignore[arg-type]
        value = getattr(result, field.name)
        if value is None:
            continue
        if isinstance(value, np.ndarray):
            variables[field.name] = (field.metadata["dims"], value, field.metadata["unit"])
        elif isinstance(value, tuple) and not (value and dataclasses.is_dataclass(value[0])):
            variables[field.name] = ((field.name,), np.array(value), "")
        elif isinstance(value, (sparse.csr_array, tuple)):
            _write_table(_new_group(group, field.name), value)
        elif dataclasses.is_dataclass(value):
            _write_result(_new_group(group, field.name), value)
        else:
            group.attrs[field.name] = int(value) if isinstance(value, bool) else value  # netCDF has no truth values
    _write_variables(group, variables)


def _write_table(group: h5py.Group, table: sparse.csr_array | tuple[Any, ...]) -> None:
    """Write the entries of a matrix, or small dataclasses of one kind, as columns."""
    if isinstance(table, tuple):
        group.attrs[TYPE_KEY] = "table"
        names = [field.name for field in dataclasses.fields(table[0])]
        columns = {name: np.array([getattr(row, name) for row in table]) for name in names}
    else:
        group.attrs.update({TYPE_KEY: "csr_array", "shape": np.array(table.shape)})
        entries = table.tocoo()
        columns = {"row": entries.row.astype(np.int32), "column": entries.col.astype(np.int32), "value": entries.data}
    _write_variables(group, {name: (("entry",), values, "") for name, values in columns.items()})


def _write_variables(group: h5py.Group, variables: Mapping[str, _Variable]) -> None:
    """Write arrays, and the dimensions that they have in common."""
    sizes = {dim: n for dims, values, _ in variables.values() for dim, n in zip(dims, values.shape, strict=True)}
    written = {}
    for name, (dims, values, unit) in variables.items():
        hidden = name in sizes and dims != (name,)  # a dimension of this name is something else
        written[name] = _write_array(group, f"{HIDDEN}{name}" if hidden else name, values)
        if unit:
            written[name].attrs["units"] = unit
    scales = {}
    for dim, size in sizes.items():
        is_variable = dim in variables and variables[dim][0] == (dim,)
        scales[dim] = written[dim] if is_variable else group.create_dataset(dim, (size,), ">f4")
        scales[dim].make_scale(dim if is_variable else f"{ONLY_DIMENSION}{size:10d}")
    for name, (dims, _, _) in variables.items():
        for axis, dim in enumerate(dims):
            if dims != (name,):  # a scale has none itself
                written[name].dims[axis].attach_scale(scales[dim])


def _write_array(group: h5py.Group, name: str, values: np.ndarray) -> h5py.Dataset:
    if values.dtype.kind in "OU":
        return group.create_dataset(name, data=values.astype(object), dtype=h5py.string_dtype())
    if values.dtype.kind == "c":
        # netCDF knows a number with two parts by the name of its type.
        group[COMPLEX_TYPE] = values.dtype
        return group.create_dataset(name, data=values, dtype=group[COMPLEX_TYPE])
    is_flag = values.dtype.kind == "b"
    packing: dict[str, Any] = {}
    if values.nbytes >= WORTH_PACKING:
        row_bytes = values.nbytes // len(values)
        packing = COMPRESSION | {"chunks": (max(1, min(len(values), CHUNK_BYTES // row_bytes)), *values.shape[1:])}
    dataset = group.create_dataset(name, data=values.astype(np.int8) if is_flag else values, **packing)
    if is_flag:
        dataset.attrs["dtype"] = "bool"
    return dataset


# --- reading ---------------------------------------------------------------------------------------------------------
# Plainly as HDF5: xarray looks at every variable of the file, which takes longer than to read those that are wanted.


def _build(node: h5py.Group, kind: type) -> object:
    """Rebuild a dataclass from its group."""
    attrs = _attrs(node)
    stored = attrs.get(TYPE_KEY)
    if stored != kind.__name__:
        raise InputFormatError(f"Group {node.name} holds {stored!r:.80}; a {kind.__name__} was asked for.")
    hints = typing.get_type_hints(kind)
    return kind(
        **{field.name: _value(node, attrs, field.name, hints[field.name]) for field in dataclasses.fields(kind)}
    )


def _value(node: h5py.Group, attrs: Mapping[str, Any], name: str, hint: object) -> object:
    stored = node.get(f"{HIDDEN}{name}", node.get(name))
    if isinstance(stored, h5py.Group):
        return _child_value(stored, hint)
    if stored is not None and _is_variable(stored):
        values = _values(stored)
        return tuple(_tuple_item(hint)(value) for value in values) if typing.get_origin(hint) is tuple else values
    if name not in attrs and type(None) in typing.get_args(hint):
        return None
    value = attrs[name]
    is_flag = hint is bool or bool in typing.get_args(hint)
    return bool(value) if is_flag and isinstance(value, int) else value


def _is_variable(stored: h5py.Dataset) -> bool:
    """Tell a variable from the mere length of a dimension."""
    return not bytes(stored.attrs.get("NAME", b"")).startswith(ONLY_DIMENSION.encode())


def _values(stored: h5py.Dataset) -> np.ndarray:
    if h5py.check_string_dtype(stored.dtype) is not None:
        check_dataset(stored)
        return np.asarray(stored.asstr()[()])
    values = read_values(stored)
    return values.astype(bool) if stored.attrs.get("dtype") == "bool" else values  # netCDF has no truth values


def _attrs(node: h5py.Group) -> dict[str, Any]:
    """Read the attributes of a group, but for those with which netCDF keeps its own books."""
    return {name: _plain(value) for name, value in node.attrs.items() if not name.startswith(("_NC", "_Netcdf4"))}


def _plain(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, h5py.Empty):
        return ""
    is_single = isinstance(value, (np.generic, np.ndarray)) and value.size == 1
    return value.item() if is_single else value


def _tuple_item(hint: object) -> type:
    """Find the type of the items of a plain tuple."""
    first = typing.get_args(hint)[0]
    return first if first in (int, float, bool) else str


def _child_value(child: h5py.Group, hint: object) -> object:
    attrs = _attrs(child)
    stored = attrs[TYPE_KEY]
    if stored in ("csr_array", "table"):
        columns = {name: _values(data) for name, data in child.items() if _is_variable(data)}
        return _matrix(columns, attrs["shape"]) if stored == "csr_array" else _rows(columns, typing.get_args(hint)[0])
    options = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    return _build(child, next(option for option in options if getattr(option, "__name__", "") == stored))


def _matrix(entries: Mapping[str, np.ndarray], shape: np.ndarray) -> sparse.csr_array:
    places = (entries["row"], entries["column"])
    return sparse.csr_array(sparse.coo_array((entries["value"], places), shape=tuple(int(n) for n in shape)))


def _rows(columns: Mapping[str, np.ndarray], kind: type) -> tuple[object, ...]:
    types_of = typing.get_type_hints(kind)
    typed = {name: [types_of[name](value) for value in values] for name, values in columns.items()}
    return tuple(kind(**dict(zip(typed, row, strict=True))) for row in zip(*typed.values(), strict=True))
