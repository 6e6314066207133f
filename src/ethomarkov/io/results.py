"""Results as groups of a netCDF file: any frozen result in, the same result out, readable with plain xarray.

Behind the netCDF stands a digest of it, which is checked whenever something is read.
"""

import contextlib
import dataclasses
import functools
import re
import types
import typing
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
COMPLEX_TYPES = {"complex128": "_PFNC_DOUBLE_COMPLEX_TYPE", "complex64": "_PFNC_FLOAT_COMPLEX_TYPE"}
KEYS, ITEMS = "keys", "items"
"""Keys of a mapping; dimension of texts and numbers in mappings and tuples. The size joins the latter, because xarray
gives the dimensions of a group to the groups in it, which may be of other sizes."""
REST = "..."
"""Last of the dimensions of an array that may have more."""
NOTHING = np.dtype(">f4")
"""Type of an empty attribute that stands for None, where something must stand."""
PLAIN_KINDS = ((bool, np.bool_), (int, np.integer), (float, np.floating), str)
NO_METADATA: Mapping[str, Any] = {}

_sound: set[bytes] = set()
"""Digests of files that this process has written, or seen to be readable to the end."""
_Variable = tuple[tuple[str, ...], np.ndarray, str]
"""Names of the dimensions, values, unit."""
_Item = tuple[str, object, Mapping[str, Any]]
"""Name, value, metadata of the field that it is in."""
_GroupReader = Callable[[h5py.Group, Mapping[str, Any], Any], Any]
"""Takes a group, its attributes, and the annotation of what it holds."""


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
        From the name of the group, "outer/inner" for a group in a group, to a frozen dataclass, a mapping from text, or
        a tuple. They hold numbers, text, truth values, arrays that `array_field` declares, sparse matrices, None, and
        dataclasses, mappings and tuples of all these. Mappings keep their order.
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
                _write_group(_new_group(file, name), result)
            file.flush()
            image = file.id.get_file_image()
        end = seal(image)
        temporary.write_bytes(image + end)
    _sound.add(digest_in(end))


def group_name(*parts: object) -> str:
    """Make a name that a group of a file can have, from words of any kind."""
    return "_".join(re.sub(r"\W+", "_", str(part)) for part in parts)


def load_results(path: Path, kinds: Mapping[str, Any]) -> dict[str, Any]:
    """Read those of several results that a file holds.

    Parameters
    ----------
    path
        File written by `save_results`.
    kinds
        From the name of the group to its class, or to an annotation such as ``tuple[Runs, ...]``.
    """
    with _opened(path) as file:
        return {name: _read_group(file[name], kind) for name, kind in kinds.items() if name in file}


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
        return typing.cast("Result", _read_group(file[name], kind))


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


def _write_group(group: h5py.Group, value: object, metadata: Mapping[str, Any] = NO_METADATA) -> None:
    """Write into a group whatever has parts: a dataclass, a matrix, a mapping, or a tuple."""
    if isinstance(value, Mapping):
        _write_mapping(group, value, metadata)
    elif isinstance(value, sparse.csr_array):
        _write_matrix(group, value)
    elif isinstance(value, tuple):
        (_write_table if _are_flat_rows(value) else _write_sequence)(group, value, metadata)
    elif dataclasses.is_dataclass(value):
        _write_result(group, value)
    else:
        raise TypeError(f"{group.name}: a {type(value).__name__} is no result that a file can hold.")


def _write_result(group: h5py.Group, result: object) -> None:
    """Lay a dataclass out as variables, attributes and child groups; what is None is not there."""
    group.attrs[TYPE_KEY] = type(result).__name__
    fields = dataclasses.fields(result)  # type: ignore[arg-type]
    items = ((field.name, getattr(result, field.name), field.metadata) for field in fields)
    _write_items(group, (item for item in items if item[1] is not None))


def _write_mapping(group: h5py.Group, entries: Mapping[str, object], metadata: Mapping[str, Any]) -> None:
    """Write the keys as text, and every entry under its number, because a key need not be a name in a file."""
    if not all(isinstance(key, str) for key in entries):
        raise TypeError(f"{group.name}: a mapping in a file has keys of text, not {', '.join(map(repr, entries))}.")
    group.attrs[TYPE_KEY] = "mapping"
    keys = (KEYS, np.array(tuple(entries), dtype=object), {"dims": (f"{ITEMS}_{len(entries)}",), "unit": ""})
    _write_items(group, [keys, *((str(i), value, metadata) for i, value in enumerate(entries.values()))])


def _write_sequence(group: h5py.Group, items: tuple[object, ...], metadata: Mapping[str, Any]) -> None:
    group.attrs[TYPE_KEY] = "sequence"
    _write_items(group, ((str(i), item, metadata) for i, item in enumerate(items)))


def _write_table(group: h5py.Group, rows: tuple[Any, ...], metadata: Mapping[str, Any]) -> None:
    """Write small dataclasses of one kind as columns."""
    group.attrs[TYPE_KEY] = "table"
    names = [field.name for field in dataclasses.fields(rows[0])]
    columns = {name: _plain_array([getattr(row, name) for row in rows]) for name in names}
    _write_variables(group, {name: (("entry",), values, "") for name, values in columns.items()})


def _write_matrix(group: h5py.Group, matrix: sparse.csr_array) -> None:
    group.attrs.update({TYPE_KEY: "csr_array", "shape": np.array(matrix.shape)})
    entries = matrix.tocoo()
    columns = {"row": entries.row.astype(np.int32), "column": entries.col.astype(np.int32), "value": entries.data}
    _write_variables(group, {name: (("entry",), values, "") for name, values in columns.items()})


def _write_items(group: h5py.Group, items: Iterable[_Item]) -> None:
    """Write named values: arrays and plain tuples as variables, numbers and text as attributes, all else as groups."""
    variables: dict[str, _Variable] = {}
    for name, value, metadata in items:
        if isinstance(value, np.ndarray):
            variables[name] = (_dims(f"{group.name}/{name}", value, metadata), value, metadata["unit"])
        elif isinstance(value, tuple) and _is_plain(value):
            dim = f"{ITEMS}_{len(value)}" if name.isdigit() else name
            variables[name] = ((dim,), _plain_array(value), "")
        elif isinstance(value, (int, float, str, np.generic)):
            group.attrs[name] = int(value) if isinstance(value, bool) else value  # netCDF has no truth values
        elif value is None:
            group.attrs[name] = h5py.Empty(NOTHING)
        else:
            _write_group(_new_group(group, name), value, metadata)
    _write_variables(group, variables)


def _dims(place: str, values: np.ndarray, metadata: Mapping[str, Any]) -> tuple[str, ...]:
    """Give the names of the dimensions of an array, those that "..." stands for with a number each."""
    if "dims" not in metadata:
        raise TypeError(f"{place}: the dimensions of the array have no names; declare them with `array_field`.")
    declared: tuple[str, ...] = metadata["dims"]
    if declared[-1:] == (REST,):
        declared = declared[:-1] + tuple(f"axis_{i}" for i in range(values.ndim - len(declared) + 1))
    if len(declared) != values.ndim:
        raise TypeError(f"{place}: an array of shape {values.shape} is declared with {', '.join(metadata['dims'])}.")
    return declared


def _are_flat_rows(items: tuple[Any, ...]) -> bool:
    """Tell whether items are rows of a table: dataclasses of one kind that hold nothing but numbers and text."""
    kinds = {type(item) for item in items}
    if len(kinds) != 1 or not dataclasses.is_dataclass(items[0]) or not dataclasses.fields(items[0]):
        return False
    names = [field.name for field in dataclasses.fields(items[0])]
    return all(_is_plain([getattr(item, name) for item in items]) for name in names)


def _is_plain(items: Sequence[object]) -> bool:
    """Tell whether one array can hold the items without a change: all truth values, all whole, all real or all text."""
    kinds = {next((kind for kind in PLAIN_KINDS if isinstance(item, kind)), None) for item in items}
    return not kinds or (len(kinds) == 1 and None not in kinds)


def _plain_array(items: Sequence[object]) -> np.ndarray:
    is_text = len(items) > 0 and isinstance(items[0], str)
    return np.array(items, dtype=object if is_text else None)  # numpy's own text ends at a null character


def _write_variables(group: h5py.Group, variables: Mapping[str, _Variable]) -> None:
    """Write arrays, and the dimensions that they have in common."""
    sizes, dims_of = _settle_dims(group, variables)
    written = {}
    for name, (_, values, unit) in variables.items():
        hidden = name in sizes and dims_of[name] != (name,)  # a dimension of this name is something else
        written[name] = _write_array(group, f"{HIDDEN}{name}" if hidden else name, values)
        if unit:
            written[name].attrs["units"] = unit
    scales = {}
    for dim, size in sizes.items():
        is_variable = dims_of.get(dim) == (dim,)
        scales[dim] = written[dim] if is_variable else group.create_dataset(dim, (size,), ">f4")
        scales[dim].make_scale(dim if is_variable else f"{ONLY_DIMENSION}{size:10d}")
    for name, dims in dims_of.items():
        for axis, dim in enumerate(dims):
            if dims != (name,):  # a scale has none itself
                written[name].dims[axis].attach_scale(scales[dim])


def _settle_dims(
    group: h5py.Group, variables: Mapping[str, _Variable]
) -> tuple[dict[str, int], dict[str, tuple[str, ...]]]:
    """Give the sizes of the dimensions of a group, and the dimensions of every variable.

    A dimension has one size in a group, and no group in it has its name; where that fails, the size joins the name.
    """
    sizes: dict[str, int] = {}
    dims_of: dict[str, tuple[str, ...]] = {}
    for name, (dims, values, _) in variables.items():
        sized = list(zip(dims, values.shape, strict=True))
        settled = [(dim if dim not in group and sizes.get(dim, n) == n else f"{dim}_{n}", n) for dim, n in sized]
        sizes.update(settled)
        dims_of[name] = tuple(dim for dim, _ in settled)
    return sizes, dims_of


def _write_array(group: h5py.Group, name: str, values: np.ndarray) -> h5py.Dataset:
    if values.dtype.kind in "OU":
        return group.create_dataset(name, data=values.astype(object), dtype=h5py.string_dtype())
    if values.dtype.kind == "c":
        # netCDF knows a number with two parts by the name of its type.
        known = COMPLEX_TYPES[values.dtype.name]
        if known not in group:
            group[known] = values.dtype
        return group.create_dataset(name, data=values, dtype=group[known])
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


def _read_group(node: h5py.Group, hint: object) -> Any:  # noqa: ANN401 (whatever the hint says)
    """Rebuild what a group holds, as that part of its annotation which it was written as."""
    attrs = _attrs(node)
    stored = attrs.get(TYPE_KEY)
    found = next((part for part in _union_parts(hint) if stored in _stored_names(part)), None)
    if found is None:
        wanted = " or ".join(name for part in _union_parts(hint) for name in _stored_names(part))
        raise InputFormatError(f"Group {node.name} holds {stored!r:.80}; a {wanted} was asked for.")
    read: _GroupReader = _READERS.get(str(stored), _build)
    return read(node, attrs, found)


def _union_parts(hint: object) -> tuple[Any, ...]:
    """Give the types of a union, None left out; of anything else, itself."""
    is_union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    return tuple(part for part in typing.get_args(hint) if part is not type(None)) if is_union else (hint,)


def _stored_names(hint: object) -> tuple[str, ...]:
    """Give what the group of a value with an annotation may be called."""
    origin = typing.get_origin(hint) or hint
    if not isinstance(origin, type):
        return (str(hint),)
    if issubclass(origin, tuple):
        return ("table", "sequence")
    return ("mapping",) if issubclass(origin, Mapping) else (origin.__name__,)


def _build(node: h5py.Group, attrs: Mapping[str, Any], kind: type) -> object:
    hints = _field_hints(kind)
    return kind(**{name: _value(node, attrs, name, hint) for name, hint in hints.items()})


@functools.cache
def _field_hints(kind: type) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}


def _read_mapping(node: h5py.Group, attrs: Mapping[str, Any], hint: object) -> dict[str, Any]:
    keys, (_, item) = _values(node[KEYS]), typing.get_args(hint)
    return {str(key): _value(node, attrs, str(i), item) for i, key in enumerate(keys)}


def _read_sequence(node: h5py.Group, attrs: Mapping[str, Any], hint: object) -> tuple[Any, ...]:
    # The file does not say how many there are: it could say so many that memory ends.
    n = sum(name.isdigit() for name in (*attrs, *node))
    return tuple(_value(node, attrs, str(i), item) for i, item in enumerate(_item_hints(hint, n)))


def _item_hints(hint: object, n: int) -> tuple[Any, ...]:
    items = typing.get_args(hint)
    items = items[:1] * n if items[1:] == (Ellipsis,) else items
    if len(items) != n:
        raise InputFormatError(f"{n} items are stored; {len(items)} were asked for.")
    return items


def _value(node: h5py.Group, attrs: Mapping[str, Any], name: str, hint: object) -> Any:  # noqa: ANN401
    stored = node.get(f"{HIDDEN}{name}", node.get(name))
    if isinstance(stored, h5py.Group):
        return _read_group(stored, hint)
    if isinstance(stored, h5py.Dataset) and _is_variable(stored):
        is_tuple = any(typing.get_origin(part) is tuple for part in _union_parts(hint))
        return tuple(_values(stored).tolist()) if is_tuple else _values(stored)
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
        return None if value.dtype == NOTHING else ""
    is_single = isinstance(value, (np.generic, np.ndarray)) and value.size == 1
    return value.item() if is_single else value


def _read_matrix(node: h5py.Group, attrs: Mapping[str, Any], hint: object) -> sparse.csr_array:
    entries = _columns(node)
    places = (entries["row"], entries["column"])
    shape = tuple(int(n) for n in attrs["shape"])
    return sparse.csr_array(sparse.coo_array((entries["value"], places), shape=shape))


def _read_table(node: h5py.Group, attrs: Mapping[str, Any], hint: object) -> tuple[Any, ...]:
    columns = {name: values.tolist() for name, values in _columns(node).items()}
    parts = _union_parts(typing.get_args(hint)[0])
    kind = next((part for part in parts if _has_fields(part, columns)), None)
    if kind is None:
        raise InputFormatError(f"Group {node.name} holds a table of {', '.join(columns)}; other columns are needed.")
    return tuple(kind(**dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True))


def _has_fields(kind: object, names: Iterable[str]) -> bool:
    return dataclasses.is_dataclass(kind) and {field.name for field in dataclasses.fields(kind)} == set(names)


def _columns(node: h5py.Group) -> dict[str, np.ndarray]:
    return {name: _values(data) for name, data in node.items() if _is_variable(data)}


_READERS: dict[str, _GroupReader] = {
    "csr_array": _read_matrix,
    "table": _read_table,
    "sequence": _read_sequence,
    "mapping": _read_mapping,
}
