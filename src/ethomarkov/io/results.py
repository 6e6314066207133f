"""Results as groups of a netCDF file: any frozen result in, the same result out, readable with plain xarray."""

import dataclasses
import io
import re
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import h5netcdf
import numpy as np
import xarray as xr
from scipy import sparse

from ethomarkov.exceptions import InputFormatError
from ethomarkov.io.atomic import atomic_path

Result = TypeVar("Result")
TYPE_KEY = "result_type"
COMPRESSION = {"zlib": True, "complevel": 3}


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
    nodes: dict[str, xr.Dataset] = {"/": xr.Dataset(attrs=dict(attrs))}
    nodes |= {f"/{name}": xr.Dataset(attrs=dict(values)) for name, values in (group_attrs or {}).items()}
    for name, result in results.items():
        _add_result(nodes, f"/{name}", result)
    encoding = {
        where: {name: COMPRESSION for name, var in data.data_vars.items() if var.dtype.kind in "fiu" and var.ndim}
        for where, data in nodes.items()
    }
    with atomic_path(path) as temporary:
        # HDF5 takes the process down when the disk fills up under it; a plain write fails as it should.
        stream = io.BytesIO()
        xr.DataTree.from_dict(nodes).to_netcdf(stream, engine="h5netcdf", encoding=encoding)
        temporary.write_bytes(stream.getbuffer())


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
    with xr.open_datatree(path, engine="h5netcdf") as tree:
        found = {name: _group(tree, name) for name in kinds}
        return {name: _build(group.load(), kinds[name]) for name, group in found.items() if group is not None}


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
    with xr.open_datatree(path, engine="h5netcdf") as tree:
        group = _group(tree, name)
        if group is None:
            raise InputFormatError(f"{path}: holds no {name!r}; found {', '.join(tree.children) or 'nothing'}.")
        try:
            return typing.cast("Result", _build(group.load(), kind))
        except InputFormatError as error:
            raise InputFormatError(f"{path}: {error}") from error


def load_attrs(path: Path) -> dict[str, Any]:
    """Read the attributes of a results file as a whole."""
    return load_group_attrs(path)[""]


def load_group_attrs(path: Path) -> dict[str, dict[str, Any]]:
    """Read the attributes of the outer groups of a results file, by name; those of the whole file have no name."""
    with h5netcdf.File(path, "r") as file:
        groups = {"": file, **{str(name): group for name, group in file.groups.items()}}
        return {name: {str(key): _plain(value) for key, value in group.attrs.items()} for name, group in groups.items()}


def _group(tree: xr.DataTree, name: str) -> xr.DataTree | None:
    for part in name.split("/"):
        if part not in tree.children:
            return None
        tree = tree.children[part]
    return tree


def _add_result(nodes: dict[str, xr.Dataset], where: str, result: object) -> None:
    """Lay a dataclass out as variables, attributes and child groups."""
    data = xr.Dataset(attrs={TYPE_KEY: type(result).__name__})
    nodes[where] = data
    for field in dataclasses.fields(result):  # type: ignore[arg-type]
        value = getattr(result, field.name)
        if value is None:
            continue
        if isinstance(value, np.ndarray):
            unit = {"units": field.metadata["unit"]} if field.metadata["unit"] else {}
            data[field.name] = xr.Variable(field.metadata["dims"], value, attrs=unit)
        elif isinstance(value, sparse.csr_array):
            nodes[f"{where}/{field.name}"] = _sparse_dataset(value)
        elif isinstance(value, tuple) and value and dataclasses.is_dataclass(value[0]):
            nodes[f"{where}/{field.name}"] = _table(value)
        elif isinstance(value, tuple):
            data[field.name] = xr.Variable((field.name,), np.array(value, dtype=object if not value else None))
        elif dataclasses.is_dataclass(value):
            _add_result(nodes, f"{where}/{field.name}", value)
        else:
            data.attrs[field.name] = int(value) if isinstance(value, bool) else value  # netCDF has no truth values


def _sparse_dataset(matrix: sparse.csr_array) -> xr.Dataset:
    triplets = matrix.tocoo()
    return xr.Dataset(
        {
            "row": ("entry", triplets.row.astype(np.int32)),
            "column": ("entry", triplets.col.astype(np.int32)),
            "value": ("entry", triplets.data),
        },
        attrs={TYPE_KEY: "csr_array", "shape": np.array(matrix.shape)},
    )


def _table(rows: tuple[Any, ...]) -> xr.Dataset:
    names = [field.name for field in dataclasses.fields(rows[0])]
    columns = {name: ("entry", np.array([getattr(row, name) for row in rows])) for name in names}
    return xr.Dataset(columns, attrs={TYPE_KEY: "table"})


def _build(node: xr.DataTree, kind: type) -> object:
    """Rebuild a dataclass from its group."""
    stored = node.attrs.get(TYPE_KEY)
    if stored != kind.__name__:
        raise InputFormatError(f"Group {node.path} holds a {stored}; a {kind.__name__} was asked for.")
    hints = typing.get_type_hints(kind)
    fields = {field.name: _value(node, field.name, hints[field.name]) for field in dataclasses.fields(kind)}
    return kind(**fields)


def _value(node: xr.DataTree, name: str, hint: object) -> object:
    if name in node.children:
        return _child_value(node.children[name], hint)
    if name in node.dataset.variables:
        values = node.dataset[name].values
        if typing.get_origin(hint) is tuple:
            return tuple(_tuple_item(hint)(value) for value in values)
        return values
    if name not in node.attrs and type(None) in typing.get_args(hint):
        return None
    value = _plain(node.attrs[name])
    is_flag = hint is bool or bool in typing.get_args(hint)
    return bool(value) if is_flag and isinstance(value, int) else value


def _tuple_item(hint: object) -> type:
    """Find the type of the items of a plain tuple."""
    first = typing.get_args(hint)[0]
    return first if first in (int, float, bool) else str


def _plain(value: object) -> object:
    return value.item() if isinstance(value, np.generic) else value


def _child_value(child: xr.DataTree, hint: object) -> object:
    stored = child.attrs[TYPE_KEY]
    data = child.dataset
    if stored == "csr_array":
        entries = (data["row"].values, data["column"].values)
        shape = tuple(int(n) for n in data.attrs["shape"])
        return sparse.csr_array(sparse.coo_array((data["value"].values, entries), shape=shape))
    if stored == "table":
        row_kind = typing.get_args(hint)[0]
        types_of = typing.get_type_hints(row_kind)
        columns = {str(name): [types_of[str(name)](value) for value in data[name].values] for name in data.data_vars}
        return tuple(row_kind(**dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True))
    options = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    chosen = next(option for option in options if getattr(option, "__name__", "") == stored)
    return _build(child, chosen)
