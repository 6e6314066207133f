"""Tables that pandas has written to HDF5, in its fixed and its table layout, read without PyTables."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from ethomarkov._core.types import FloatArray
from ethomarkov.exceptions import InputFormatError
from ethomarkov.io.hdf5 import read_numbers, read_text, read_values, text_of
from ethomarkov.io.readers.plain_pickle import read_plain_pickle

FRAME_TYPES = ("frame", "frame_table")
INDEX_KINDS = ("integer", "float", "string")
_AGAIN = "Use the CSV file beside it, or save the table again with a current pandas."

Column = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedTable:
    """Numbers under columns that several levels of names tell apart.

    Parameters
    ----------
    levels
        Names of the levels, such as scorer, bodyparts, coords; empty where they have none.
    columns
        One name for each level.
    index
        Name of every row: numbers or words.
    values
        Numbers ``(rows, columns)``.
    """

    levels: tuple[str, ...]
    columns: tuple[Column, ...]
    index: NDArray[Any]
    values: FloatArray


def frame_groups(file: h5py.File) -> dict[str, h5py.Group]:
    """Find the groups in which pandas has stored a table, by their names."""
    found: dict[str, h5py.Group] = {}

    def visit(name: str, item: h5py.Group | h5py.Dataset) -> None:
        if isinstance(item, h5py.Group) and text_of(item.attrs.get("pandas_type")) in FRAME_TYPES:
            found[name] = item

    file.visititems(visit)
    return found


def read_frame(group: h5py.Group) -> NamedTable:
    """Read a table of either layout.

    Parameters
    ----------
    group
        One that `frame_groups` has found.
    """
    try:
        table = _read_table(group) if "table" in group else _read_fixed(group)
    except KeyError as error:
        raise InputFormatError(f"{group.name} is not complete ({error}). {_AGAIN}") from error
    if len(table.index) != len(table.values):
        raise InputFormatError(f"{group.name} has {len(table.index)} names for {len(table.values)} rows. {_AGAIN}")
    return table


# --- fixed layout: one array per block of columns, names as levels and labels into them ------------------------


def _read_fixed(group: h5py.Group) -> NamedTable:
    levels, columns = _read_labels(group, "axis0")
    found: dict[Column, FloatArray] = {}
    for name in _blocks(group):
        _, items = _read_labels(group, f"{name}_items")
        dataset = group[f"{name}_values"]
        values = read_numbers(dataset)
        rows = values if dataset.attrs.get("transposed", 0) else values.T
        _add_block(found, items, rows, group)
    return NamedTable(
        levels=levels, columns=tuple(columns), index=_fixed_index(group), values=_in_order(found, columns, group)
    )


def _blocks(group: h5py.Group) -> Iterator[str]:
    place = 0
    while f"block{place}_values" in group:
        yield f"block{place}"
        place += 1


def _fixed_index(group: h5py.Group) -> NDArray[Any]:
    if text_of(group.attrs.get("axis1_variety")) == "multi":
        return np.array(["/".join(row) for row in _read_labels(group, "axis1")[1]])
    dataset = group["axis1"]
    _check_index_kind(text_of(dataset.attrs.get("kind"), "integer"), group)
    return _read_words(dataset) if dataset.dtype.kind not in "fiu" else read_values(dataset)


def _read_labels(group: h5py.Group, stem: str) -> tuple[tuple[str, ...], list[Column]]:
    """Put the names of a MultiIndex together: per level its words, and for every column which of them."""
    names: list[str] = []
    parts: list[NDArray[Any]] = []
    while f"{stem}_level{len(parts)}" in group:
        level, label = group[f"{stem}_level{len(parts)}"], group[f"{stem}_label{len(parts)}"]
        words, places = _read_words(level), read_numbers(label)
        if places.size and not (places.dtype.kind in "iu" and 0 <= places.min() <= places.max() < len(words)):
            raise InputFormatError(f"{label.name} points to names that {level.name} does not have. {_AGAIN}")
        parts.append(words[places.astype(np.int64)] if places.size else np.array([], dtype=str))
        names.append(text_of(level.attrs.get("name")))
    if not parts or len({len(part) for part in parts}) > 1:
        raise InputFormatError(f"{group.name} has no columns with several levels of names ({stem}). {_AGAIN}")
    return tuple(names), [tuple(map(str, row)) for row in zip(*parts, strict=True)]


def _read_words(dataset: h5py.Dataset) -> NDArray[Any]:
    if dataset.dtype.kind in "iu":
        return read_values(dataset).astype(str)
    if h5py.check_string_dtype(dataset.dtype) is None:
        raise InputFormatError(
            f"{dataset.name} holds {dataset.dtype}, perhaps pickled objects; only text and numbers are accepted. "
            f"{_AGAIN}"
        )
    return read_text(dataset)


# --- table layout: rows of a compound array, names pickled in attributes ---------------------------------------


def _read_table(group: h5py.Group) -> NamedTable:
    dataset = group["table"]
    names = dataset.dtype.names or ()
    _check_index_kind(text_of(dataset.attrs.get("index_kind"), "integer"), group)
    if "index" not in names or dataset.ndim != 1:
        raise InputFormatError(f"{dataset.name} has no index; the rows of a table are needed. {_AGAIN}")
    rows = read_values(dataset)
    found: dict[Column, FloatArray] = {}
    columns: list[Column] = []
    for name in (name for name in names if name.startswith("values_block_")):
        items = _pickled_columns(dataset, f"{name}_kind")
        if rows[name].dtype.kind not in "fiu":
            raise InputFormatError(f"{name} of {dataset.name} holds {rows[name].dtype}; numbers are needed. {_AGAIN}")
        _add_block(found, items, rows[name].reshape(len(rows), -1), group)
        columns += items
    index = rows["index"]
    return NamedTable(
        levels=_pickled_levels(group),
        columns=tuple(columns),
        index=np.char.decode(index, "utf-8", "replace") if index.dtype.kind == "S" else index,
        values=_in_order(found, columns, group),
    )


def _pickled_columns(dataset: h5py.Dataset, name: str) -> list[Column]:
    items = _unpickled(dataset, name)
    if not isinstance(items, list) or not all(isinstance(item, tuple) for item in items):
        raise InputFormatError(f"{dataset.name} has columns with one name each; several levels of names are needed.")
    return [tuple(_word(part) for part in item) for item in items]


def _pickled_levels(group: h5py.Group) -> tuple[str, ...]:
    info = _unpickled(group, "info") if "info" in group.attrs else None
    columns = info.get(1) if isinstance(info, dict) else None
    names = columns.get("names") if isinstance(columns, dict) else None
    return tuple(_word(name) for name in names) if isinstance(names, list) else ()


def _word(part: object) -> str:
    """Take a name that is text or a number; anything else has no meaning here."""
    return str(part) if isinstance(part, str | int) else ""


def _unpickled(item: h5py.Group | h5py.Dataset, name: str) -> Any:  # noqa: ANN401 (any plain value)
    value = item.attrs[name]
    if not isinstance(value, bytes | str):
        raise InputFormatError(f"The attribute {name} of {item.name} holds no names of columns. {_AGAIN}")
    try:
        return read_plain_pickle(value if isinstance(value, bytes) else value.encode())
    except InputFormatError as error:
        raise InputFormatError(f"The attribute {name} of {item.name} {error}. {_AGAIN}") from error


# --- both ------------------------------------------------------------------------------------------------------


def _check_index_kind(kind: str, group: h5py.Group) -> None:
    if kind not in INDEX_KINDS:
        raise InputFormatError(
            f"Rows of {group.name} are named by {kind or 'nothing that can be understood'}; frame numbers are needed. "
            "Save the table with frame numbers as its index."
        )


def _add_block(found: dict[Column, FloatArray], items: Sequence[Column], rows: FloatArray, group: h5py.Group) -> None:
    if rows.ndim != 2 or rows.shape[1] != len(items):
        raise InputFormatError(f"{group.name} has {len(items)} columns for numbers of shape {rows.shape}. {_AGAIN}")
    for place, item in enumerate(items):
        if item in found:
            raise InputFormatError(f"{group.name} has two columns {', '.join(item)}; each is needed once. {_AGAIN}")
        found[item] = rows[:, place]


def _in_order(found: dict[Column, FloatArray], columns: Sequence[Column], group: h5py.Group) -> FloatArray:
    missing = [", ".join(column) for column in columns if column not in found]
    if missing or not columns:
        raise InputFormatError(f"{group.name} holds no numbers for {missing[0] if missing else 'any column'}. {_AGAIN}")
    return np.stack([found[column] for column in columns], axis=1).astype(np.float64, copy=False)
