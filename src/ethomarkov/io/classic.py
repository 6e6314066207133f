"""Arrays and attributes of a netCDF file in the types of its classic model, exact to the last bit.

Those are bytes, characters, whole numbers of 16 and 32 bits, and real numbers: what R, MATLAB and every other reader of
netCDF take. Anything else is stored as one of them, with an attribute that says what it was. Written plainly as HDF5,
by the rules of netCDF: a dimension is a dataset that others name as the scale of an axis.
"""

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import h5py
import numpy as np

from ethomarkov.exceptions import InputFormatError
from ethomarkov.io.hdf5 import check_dataset, read_values
from ethomarkov.io.seal import MAKE_AGAIN

COMPRESSION: dict[str, Any] = {"compression": "gzip", "compression_opts": 1, "shuffle": True}
WORTH_PACKING, CHUNK_BYTES = 4096, 2**20
# As netCDF has them.
ONLY_DIMENSION = "This is a netCDF dimension but not a netCDF variable."
HIDDEN = "_nc4_non_coord_"
REAL, IMAGINARY = "_real", "_imag"
"""Ends of the names of the two variables that are a complex one."""
WAS = "numpy_dtype"
"""Attribute of a variable whose numbers were of a type that netCDF does not have; xarray knows that of truth values."""
WAS_FLAG = {"dtype": "bool"}
AS_THEY_ARE = ("int8", "int16", "int32", "float32", "float64")
MOST_WHOLE, MOST_EXACT = 2**31 - 1, 2**53
"""Largest whole numbers of 32 bits, and of those that real numbers hold one by one."""
LONGEST_TEXT = 2**15
"""Bytes of text above which an attribute is no array of characters, because HDF5 has no room for it in its header."""
WORDY = "whole_numbers"
"""Attribute of a group with the names of others, in JSON, that are whole numbers of more than 32 bits, as text."""
NOTHING = np.dtype(">f4")
"""Type of an empty attribute that stands for None, where something must stand."""
_BOOKS = ("_NC", "_Netcdf4", WORDY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """An array with names for its dimensions.

    Parameters
    ----------
    dims
        Names of the dimensions.
    values
        Numbers, truth values or text.
    attrs
        What is to be said of it.
    """

    dims: tuple[str, ...]
    values: np.ndarray
    attrs: Mapping[str, Any] = field(default_factory=dict)


# --- writing ---------------------------------------------------------------------------------------------------------


def write_variables(group: h5py.Group, variables: Mapping[str, Variable], groups: Collection[str] = ()) -> None:
    """Write arrays, and the dimensions that they have in common.

    Parameters
    ----------
    group
        Where to. Its own variables are written before any group in it.
    variables
        By name.
    groups
        Names of groups that will be in it.
    """
    stored = dict(part for name, one in variables.items() for part in _stored(name, one))
    sizes, dims_of = _settle_dims(group, stored, groups)
    outer = {dim: _outer(group, dim) for dim in sizes if dim not in stored}
    scales = {dim: scale for dim, scale in outer.items() if scale is not None}
    written = {}
    for name, one in stored.items():
        hidden = name in sizes and dims_of[name] != (name,)  # a dimension of this name is something else
        written[name] = _write_array(group, f"{HIDDEN}{name}" if hidden else name, one, dims_of[name])
    for dim, size in sizes.items():
        if dim in scales:
            continue
        is_variable = dims_of.get(dim) == (dim,)
        scales[dim] = written[dim] if is_variable else group.create_dataset(dim, (size,), ">f4")
        scales[dim].make_scale(dim if is_variable else f"{ONLY_DIMENSION}{size:10d}")
    for name, dims in dims_of.items():
        if dims != (name,) and not _has_scales(written[name]):  # a scale has none itself
            for axis, dim in enumerate(dims):
                written[name].dims[axis].attach_scale(scales[dim])


def write_attrs(node: h5py.Group | h5py.Dataset, attrs: Mapping[str, Any]) -> None:
    """Write numbers, text, truth values (as 0 and 1), arrays of numbers, and None as attributes.

    Parameters
    ----------
    node
        A file, group or dataset.
    attrs
        By name.
    """
    wordy = [name for name, value in attrs.items() if _is_long(value)]
    for name, value in attrs.items():
        _write_attr(node, name, str(value) if name in wordy else value)
    if wordy:
        _write_attr(node, WORDY, json.dumps(wordy))


def _write_attr(node: h5py.Group | h5py.Dataset, name: str, value: Any) -> None:  # noqa: ANN401
    value = value.item() if isinstance(value, np.generic) else value
    if value is None:
        node.attrs[name] = h5py.Empty(NOTHING)
    elif isinstance(value, str):
        _write_text(node, name, value)
    elif isinstance(value, int):
        node.attrs[name] = np.int32(value)
    elif isinstance(value, np.ndarray):
        node.attrs[name] = _classic(value)[0]
    else:
        node.attrs[name] = np.float64(value)


def _is_long(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not -MOST_WHOLE <= int(value) <= MOST_WHOLE


def _write_text(node: h5py.Group | h5py.Dataset, name: str, text: str) -> None:
    _check_text(f"{node.name}: attribute {name}", text)
    data = text.encode()
    if not data:
        node.attrs[name] = h5py.Empty("S1")
    elif len(data) > LONGEST_TEXT:
        node.attrs[name] = text
    else:
        node.attrs.create(name, np.array(data), dtype=h5py.string_dtype("utf-8", len(data)))


def _check_text(place: str, text: str) -> None:
    if "\0" in text:
        raise ValueError(f"{place} holds a null character, which no text of a netCDF file can: {text!r:.80}.")


def _stored(name: str, variable: Variable) -> Iterator[tuple[str, Variable]]:
    """Give what a variable is stored as: itself, one of other numbers, one of characters, or two of real numbers."""
    values, attrs = variable.values, variable.attrs
    if values.dtype.kind == "c":
        parts = ((REAL, values.real, "real part"), (IMAGINARY, values.imag, "imaginary part"))
        for end, part, words in parts:
            told = {key: f"{text} ({words})" if key == "long_name" else text for key, text in attrs.items()}
            yield name + end, Variable(dims=variable.dims, values=part, attrs={**told, WAS: str(values.dtype)})
        return
    classic, noted = _classic(values) if values.dtype.kind not in "OU" else (values, {})
    if classic.dtype.kind in "OU":
        classic = _characters(name, classic)
        dims = (*variable.dims, f"string_{classic.shape[-1]}")
        yield name, Variable(dims=dims, values=classic, attrs={**attrs, **noted, "_Encoding": "utf-8"})
    else:
        yield name, Variable(dims=variable.dims, values=classic, attrs={**attrs, **noted})


def _classic(values: np.ndarray) -> tuple[np.ndarray, dict[str, str]]:
    """Give numbers in a type of the classic model, and what to note of it; as text where no such type holds them."""
    kind = values.dtype.kind
    if kind == "b":
        return values.astype(np.int8), WAS_FLAG
    if values.dtype.name in AS_THEY_ARE:
        return values, {}
    noted = {WAS: str(values.dtype)}
    if values.dtype == np.float16:
        return values.astype(np.float32), noted
    if kind not in "iu":
        raise TypeError(f"Numbers of type {values.dtype} cannot be in a netCDF file.")
    largest = max(-int(values.min(initial=0)), int(values.max(initial=0)))
    if largest <= MOST_WHOLE:
        return values.astype(np.int32), noted
    if largest <= MOST_EXACT:
        return values.astype(np.float64), noted
    return values.astype(str).astype(object), noted


def _characters(name: str, words: np.ndarray) -> np.ndarray:
    """Lay text out as characters, all of one length, along a further dimension."""
    data = []
    for word in words.ravel().tolist():
        _check_text(name, word)
        data.append(word.encode())
    length = max(1, *map(len, data)) if data else 1
    return np.array(data, dtype=f"S{length}").view("S1").reshape(*words.shape, length)


def _settle_dims(
    group: h5py.Group, variables: Mapping[str, Variable], groups: Collection[str]
) -> tuple[dict[str, int], dict[str, tuple[str, ...]]]:
    """Give the sizes of the dimensions of a group, and the dimensions of every variable.

    A dimension has one size in a group and in those around it, because xarray gives the dimensions of a group to the
    groups in it; and no group in it has its name. Where that fails, the size joins the name.
    """
    sizes: dict[str, int] = {}
    dims_of: dict[str, tuple[str, ...]] = {}
    for name, one in variables.items():
        settled = []
        for dim, n in zip(one.dims, one.values.shape, strict=True):
            outer = _outer(group, dim)
            is_free = dim not in groups and (outer is None or outer.shape[0] == n)
            settled.append((dim if is_free and sizes.get(dim, n) == n else f"{dim}_{n}", n))
        sizes.update(settled)
        dims_of[name] = tuple(dim for dim, _ in settled)
    return sizes, dims_of


def _outer(group: h5py.Group, dim: str) -> h5py.Dataset | None:
    """Find a dimension of this name in the groups around a group."""
    while group.name != "/":
        group = group.parent
        found = group.get(dim)
        if isinstance(found, h5py.Dataset) and found.is_scale:
            return found
    return None


def _write_array(group: h5py.Group, name: str, variable: Variable, dims: tuple[str, ...]) -> h5py.Dataset:
    values = variable.values
    twin = _twin(group, values, dims)
    if twin is not None:
        group[name] = twin
        return twin
    packing: dict[str, Any] = {}
    if values.nbytes >= WORTH_PACKING:
        row_bytes = values.nbytes // len(values)
        packing = COMPRESSION | {"chunks": (max(1, min(len(values), CHUNK_BYTES // row_bytes)), *values.shape[1:])}
    dataset = group.create_dataset(name, data=values, **packing)
    write_attrs(dataset, variable.attrs)
    return dataset


def _twin(group: h5py.Group, values: np.ndarray, dims: tuple[str, ...]) -> h5py.Dataset | None:
    """Find the same array in the file as a whole: what is there need not be stored twice."""
    if group.name == "/" or values.nbytes < WORTH_PACKING or any(dim not in group.file for dim in dims):
        return None
    scales = tuple(f"/{dim}" for dim in dims)
    return next((one for one in group.file.values() if _is_same(one, values, scales)), None)


def _is_same(stored: h5py.Group | h5py.Dataset, values: np.ndarray, scales: tuple[str, ...]) -> bool:
    if not isinstance(stored, h5py.Dataset) or (stored.shape, stored.dtype) != (values.shape, values.dtype):
        return False
    if not _has_scales(stored) or tuple(axis[0].name for axis in stored.dims) != scales:
        return False
    return bool(stored[()].tobytes() == values.tobytes())


def _has_scales(dataset: h5py.Dataset) -> bool:
    return dataset.ndim > 0 and all(len(axis) > 0 for axis in dataset.dims)


# --- reading ---------------------------------------------------------------------------------------------------------


def read_attrs(node: h5py.Group) -> dict[str, Any]:
    """Read the attributes of a group, but for those with which netCDF keeps its own books."""
    found = {name: _plain(value) for name, value in node.attrs.items() if not name.startswith(_BOOKS)}
    if WORDY in node.attrs:
        found |= {name: int(found[name]) for name in json.loads(_plain(node.attrs[WORDY]))}
    return found


def _plain(value: Any) -> Any:  # noqa: ANN401 (whatever HDF5 holds)
    if isinstance(value, h5py.Empty):
        return None if value.dtype == NOTHING else ""
    if isinstance(value, bytes):
        return value.decode()
    is_single = isinstance(value, (np.generic, np.ndarray)) and value.size == 1
    return value.item() if is_single else value


def find_variable(group: h5py.Group, name: str) -> h5py.Group | h5py.Dataset | None:
    """Find what is stored under a name in a group: another group, a variable, or the real part of a complex one.

    Parameters
    ----------
    group
        Of a file that `write_variables` wrote.
    name
        As it was given there.
    """
    for stored in (f"{HIDDEN}{name}", name, f"{HIDDEN}{name}{REAL}", f"{name}{REAL}"):
        found = group.get(stored)
        if isinstance(found, h5py.Group) or (isinstance(found, h5py.Dataset) and _is_variable(found)):
            is_part = stored.endswith(REAL) and not name.endswith(REAL)
            if not is_part or _written_from(found).kind == "c":
                return found
    return None


def variable_names(group: h5py.Group) -> list[str]:
    """List the variables of a group in their order, a complex one once."""
    names = []
    for name, stored in group.items():
        plain = name.removeprefix(HIDDEN)
        if not isinstance(stored, h5py.Dataset) or not _is_variable(stored):
            continue
        if _written_from(stored).kind != "c":
            names.append(plain)
        elif plain.endswith(REAL):
            names.append(plain.removesuffix(REAL))
    return names


def read_array(stored: h5py.Dataset) -> np.ndarray:
    """Read a variable that `find_variable` found, in the type that it was written from."""
    was = _written_from(stored)
    if was.kind == "c":
        name = str(stored.name).rpartition("/")[2].removeprefix(HIDDEN).removesuffix(REAL) + IMAGINARY
        other = stored.parent.get(f"{HIDDEN}{name}", stored.parent.get(name))
        whole = np.empty(stored.shape, dtype=was)
        whole.real, whole.imag = read_values(stored), read_values(other)  # a sum would change zeros with a sign
        return whole
    if stored.dtype == "S1":
        words = _words(stored)
        return words.astype(was) if was.kind in "iu" else words
    if was.kind not in "biuf":
        raise InputFormatError(f"{stored.name}: holds {was}, as an earlier version wrote it. {MAKE_AGAIN}")
    values = read_values(stored)
    return values if values.dtype == was else values.astype(was)


def _written_from(stored: h5py.Dataset) -> np.dtype:
    """Give the type of the array that a variable was written from."""
    noted = stored.attrs.get(WAS, stored.attrs.get("dtype"))
    was: np.dtype = stored.dtype if noted is None else np.dtype(_plain(noted))
    if noted is None:
        return was
    if was.kind not in "biufc":
        raise InputFormatError(f"{stored.name}: is said to be of {was}; numbers or text are needed.")
    return was


def _words(stored: h5py.Dataset) -> np.ndarray:
    check_dataset(stored)
    characters = np.ascontiguousarray(stored[()])
    words = characters.view(f"S{characters.shape[-1]}").reshape(characters.shape[:-1])
    return np.array([word.decode() for word in words.ravel().tolist()], dtype=object).reshape(words.shape)


def _is_variable(stored: h5py.Dataset) -> bool:
    """Tell a variable from the mere length of a dimension."""
    return not bytes(stored.attrs.get("NAME", b"")).startswith(ONLY_DIMENSION.encode())
