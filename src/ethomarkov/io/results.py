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

from ethomarkov._core.result import field_notes
from ethomarkov.exceptions import InputFormatError
from ethomarkov.io.atomic import atomic_path
from ethomarkov.io.classic import (
    Variable,
    find_variable,
    read_array,
    read_attrs,
    variable_names,
    write_attrs,
    write_variables,
)
from ethomarkov.io.confined import read_confined
from ethomarkov.io.hdf5 import open_hdf5, read_values
from ethomarkov.io.seal import MAKE_AGAIN, check_seal, digest_in, seal

Result = TypeVar("Result")
TYPE_KEY = "result_type"
KEYS, ITEMS = "keys", "items"
"""Keys of a mapping; dimension of texts and numbers in mappings and tuples. The size joins the latter, because xarray
gives the dimensions of a group to the groups in it, which may be of other sizes."""
REST = "..."
"""Last of the dimensions of an array that may have more."""
NOTE, NO_UNIT = "note", "1"
"""Where metadata say what a value is; the unit of what has none, as the CF conventions write it."""
LENGTH_UNIT = "length_unit"
"""Field of a result with the unit that "length" stands for in the units of its other fields."""
PLAIN_KINDS = ((bool, np.bool_), (int, np.integer), (float, np.floating), str)
NO_METADATA: Mapping[str, Any] = {}

_sound: set[bytes] = set()
"""Digests of files that this process has written, or seen to be readable to the end."""
_Item = tuple[str, object, Mapping[str, Any]]
"""Name, value, metadata of the field that it is in."""
_GroupReader = Callable[[h5py.Group, Mapping[str, Any], Any], Any]
"""Takes a group, its attributes, and the annotation of what it holds."""


def save_results(
    path: Path,
    results: Mapping[str, object],
    attrs: Mapping[str, Any],
    group_attrs: Mapping[str, Mapping[str, Any]] | None = None,
    overview: Mapping[str, Variable] | None = None,
) -> None:
    """Write results into one file, a group each. Equal results make equal bytes.

    All of it is of the classic model of netCDF, and every variable has units and a long name.

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
    overview
        Variables of the file as a whole, for those who open it with something else; nothing here reads them. An array
        of a result that is among them, with the same dimensions, is stored once.
    """
    with atomic_path(path) as temporary:
        # HDF5 takes the process down when the disk fills up under it; a plain write fails as it should.
        with h5py.File(temporary, "w", driver="core", backing_store=False, track_order=True) as file:
            write_attrs(file, attrs)
            write_variables(file, overview or {})
            for name, values in (group_attrs or {}).items():
                write_attrs(_new_group(file, name), values)
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
        return read_attrs(file)


def load_group_attrs(path: Path) -> dict[str, dict[str, Any]]:
    """Read the attributes of the outer groups of a results file, by name; those of the whole file have no name."""
    with _opened(path) as file:
        groups = {name: group for name, group in file.items() if isinstance(group, h5py.Group)}
        return {name: read_attrs(group) for name, group in {"": file, **groups}.items()}


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
            item = file[name]
            dict(item.attrs)
            if isinstance(item, h5py.Dataset):
                read_values(item)


# --- writing ---------------------------------------------------------------------------------------------------------


def _new_group(parent: h5py.Group, name: str) -> h5py.Group:
    return parent.create_group(name, track_order=True)


def _write_group(group: h5py.Group, value: object, metadata: Mapping[str, Any] = NO_METADATA) -> None:
    """Write into a group whatever has parts: a dataclass, a matrix, a mapping, or a tuple."""
    if isinstance(value, Mapping):
        _write_mapping(group, value, metadata)
    elif isinstance(value, sparse.csr_array):
        _write_matrix(group, value, metadata)
    elif isinstance(value, tuple):
        (_write_table if _are_flat_rows(value) else _write_sequence)(group, value, metadata)
    elif dataclasses.is_dataclass(value):
        _write_result(group, value)
    else:
        raise TypeError(f"{group.name}: a {type(value).__name__} is no result that a file can hold.")


def _write_result(group: h5py.Group, result: object) -> None:
    """Lay a dataclass out as variables, attributes and child groups; what is None is not there."""
    write_attrs(group, {TYPE_KEY: type(result).__name__})
    unit_of_length = getattr(result, LENGTH_UNIT, "")
    items = ((field.name, getattr(result, field.name), field.metadata) for field in dataclasses.fields(result))  # type: ignore[arg-type]
    _write_items(
        group,
        (
            (name, value, _described(type(result), name, metadata, unit_of_length))
            for name, value, metadata in items
            if value is not None
        ),
    )


def _write_mapping(group: h5py.Group, entries: Mapping[str, object], metadata: Mapping[str, Any]) -> None:
    """Write the keys as text, and every entry under its number, because a key need not be a name in a file."""
    if not all(isinstance(key, str) for key in entries):
        raise TypeError(f"{group.name}: a mapping in a file has keys of text, not {', '.join(map(repr, entries))}.")
    write_attrs(group, {TYPE_KEY: "mapping"})
    told = {"dims": (f"{ITEMS}_{len(entries)}",), NOTE: "names of the entries, in their order"}
    items = ((str(i), value, _entry(metadata, key)) for i, (key, value) in enumerate(entries.items()))
    _write_items(group, [(KEYS, np.array(tuple(entries), dtype=object), told), *items])


def _write_sequence(group: h5py.Group, items: tuple[object, ...], metadata: Mapping[str, Any]) -> None:
    write_attrs(group, {TYPE_KEY: "sequence"})
    _write_items(group, ((str(i), item, _entry(metadata, f"number {i}")) for i, item in enumerate(items)))


def _write_table(group: h5py.Group, rows: tuple[Any, ...], metadata: Mapping[str, Any]) -> None:
    """Write small dataclasses of one kind as columns."""
    write_attrs(group, {TYPE_KEY: "table"})
    kind, columns = type(rows[0]), {}
    for field in dataclasses.fields(kind):
        values = _plain_array([getattr(row, field.name) for row in rows])
        about = _about(field.name, _described(kind, field.name, field.metadata))
        columns[field.name] = Variable(dims=("entry",), values=values, attrs=about)
    write_variables(group, columns)


def _write_matrix(group: h5py.Group, matrix: sparse.csr_array, metadata: Mapping[str, Any]) -> None:
    write_attrs(group, {TYPE_KEY: "csr_array", "shape": np.array(matrix.shape)})
    entries = matrix.tocoo()
    columns = {"row": entries.row.astype(np.int32), "column": entries.col.astype(np.int32), "value": entries.data}
    told = {"row": {NOTE: "row of each entry, from 0"}, "column": {NOTE: "column of each entry, from 0"}}
    whole = {**metadata, NOTE: f"entries that are not zero: {metadata.get(NOTE) or group.name}"}
    write_variables(
        group,
        {
            name: Variable(dims=("entry",), values=values, attrs=_about(name, told.get(name, whole)))
            for name, values in columns.items()
        },
    )


def _write_items(group: h5py.Group, items: Iterable[_Item]) -> None:
    """Write named values: arrays and plain tuples as variables, numbers and text as attributes, all else as groups."""
    variables: dict[str, Variable] = {}
    attrs: dict[str, Any] = {}
    parts: dict[str, tuple[object, Mapping[str, Any]]] = {}
    for name, value, metadata in items:
        if isinstance(value, np.ndarray):
            dims = _dims(f"{group.name}/{name}", value, metadata)
            variables[name] = Variable(dims=dims, values=value, attrs=_about(name, metadata))
        elif isinstance(value, tuple) and _is_plain(value):
            values = _plain_array(value)
            variables[name] = Variable(dims=(_tuple_dim(name, values),), values=values, attrs=_about(name, metadata))
        elif value is None or isinstance(value, (int, float, str, np.generic)):
            attrs[name] = value
        else:
            parts[name] = value, metadata
    write_attrs(group, attrs)
    write_variables(group, variables, parts)
    for name, (value, metadata) in parts.items():
        _write_group(_new_group(group, name), value, metadata)


def _tuple_dim(name: str, values: np.ndarray) -> str:
    """Name the dimension of a plain tuple: numbers are a coordinate of their own, which characters cannot be."""
    if name.isdigit():
        return f"{ITEMS}_{len(values)}"
    return f"n_{name}" if values.dtype.kind == "O" else name


# --- what is said of a variable --------------------------------------------------------------------------------------


@functools.cache
def _notes(kind: type) -> dict[str, str]:
    """Read what every field of a class is, without the marks of code in docstrings."""
    return {name: note.replace("`", "") for name, note in field_notes(kind).items()}


def _described(kind: type, name: str, metadata: Mapping[str, Any], unit_of_length: str = "") -> dict[str, Any]:
    """Add to what a field declares what its class says of it, and the unit in which the result counts lengths."""
    note, words = _notes(kind).get(name, ""), name.strip("_").replace("_", " ")
    told = f"{words} {note[0].lower()}{note[1:]}" if note.startswith("Of ") else f"{words}: {note}" if note else words
    unit = str(metadata.get("unit", ""))
    if unit_of_length:
        unit = re.sub(r"\blength\b", unit_of_length, unit)
    return {**metadata, NOTE: told, "unit": unit}


def _entry(metadata: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Say of one of several values which it is."""
    told = metadata.get(NOTE, "")
    return {**metadata, NOTE: f"{key}, of {told}" if told else key}


def _about(name: str, metadata: Mapping[str, Any]) -> dict[str, str]:
    """Give the attributes of a variable: what it is in a sentence, more if more is known, and its units."""
    told = str(metadata.get(NOTE) or name)
    first = re.split(r"(?<=\w\w)\. (?=[A-Z])", told, maxsplit=1)[0].rstrip(".")
    about = {"long_name": first, "units": metadata.get("unit") or NO_UNIT}
    return about if len(told.rstrip(".")) == len(first) else about | {"comment": told}


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


# --- reading ---------------------------------------------------------------------------------------------------------
# Plainly as HDF5: xarray looks at every variable of the file, which takes longer than to read those that are wanted.


def _read_group(node: h5py.Group, hint: object) -> Any:  # noqa: ANN401 (whatever the hint says)
    """Rebuild what a group holds, as that part of its annotation which it was written as."""
    attrs = read_attrs(node)
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
    keys, (_, item) = read_array(node[KEYS]), typing.get_args(hint)
    return {str(key): _value(node, attrs, str(i), item) for i, key in enumerate(keys)}


def _read_sequence(node: h5py.Group, attrs: Mapping[str, Any], hint: object) -> tuple[Any, ...]:
    # The file does not say how many there are: it could say so many that memory ends.
    groups = (name for name, stored in node.items() if isinstance(stored, h5py.Group))
    n = sum(name.isdigit() for name in (*attrs, *groups, *variable_names(node)))
    return tuple(_value(node, attrs, str(i), item) for i, item in enumerate(_item_hints(hint, n)))


def _item_hints(hint: object, n: int) -> tuple[Any, ...]:
    items = typing.get_args(hint)
    items = items[:1] * n if items[1:] == (Ellipsis,) else items
    if len(items) != n:
        raise InputFormatError(f"{n} items are stored; {len(items)} were asked for.")
    return items


def _value(node: h5py.Group, attrs: Mapping[str, Any], name: str, hint: object) -> Any:  # noqa: ANN401
    stored = None if name in attrs else find_variable(node, name)
    if isinstance(stored, h5py.Group):
        return _read_group(stored, hint)
    if stored is not None:
        is_tuple = any(typing.get_origin(part) is tuple for part in _union_parts(hint))
        return tuple(read_array(stored).tolist()) if is_tuple else read_array(stored)
    if name not in attrs and type(None) in typing.get_args(hint):
        return None
    value = attrs[name]
    is_flag = hint is bool or bool in typing.get_args(hint)
    return bool(value) if is_flag and isinstance(value, int) else value


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
    found = {name: find_variable(node, name) for name in variable_names(node)}
    return {name: read_array(stored) for name, stored in found.items()}


_READERS: dict[str, _GroupReader] = {
    "csr_array": _read_matrix,
    "table": _read_table,
    "sequence": _read_sequence,
    "mapping": _read_mapping,
}
