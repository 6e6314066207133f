"""Digests of results and recordings: equal content, equal digest, whatever file or process it came through."""

import dataclasses
import hashlib
import struct
from collections.abc import Iterator, Mapping
from functools import singledispatch
from typing import TypeVar, cast

import numpy as np
import xarray as xr
from scipy import sparse

NOT_CONTENT = frozenset({"source_file"})
"""Attributes of a recording that say where it lay, not what it is."""
Value = TypeVar("Value")


def digest(value: object) -> str:
    """Give a short fingerprint of what a value holds.

    Parameters
    ----------
    value
        Numbers, words, arrays, sparse matrices, datasets, and dataclasses, tuples and mappings of these.

    Examples
    --------
    >>> digest({"lag": 0.75}) == digest({"lag": np.float64(0.75)})
    True
    """
    hasher = hashlib.blake2b(digest_size=16)
    for piece in _pieces(value):
        hasher.update(piece)
    return hasher.hexdigest()


def canonical(value: Value) -> Value:
    """Lay the arrays of a result out as they would come back from a file.

    Sums depend on the order in memory in their last digit, so that work which goes on from a file and work which goes
    on from memory agree only if both begin with the same layout.
    """
    laid_out: object = value
    if isinstance(value, np.ndarray) and value.ndim:
        laid_out = np.ascontiguousarray(value)
    elif isinstance(value, sparse.csr_array):
        laid_out = _sorted_matrix(value)
    elif isinstance(value, tuple):
        laid_out = tuple(canonical(item) for item in value)
    elif isinstance(value, Mapping) and not isinstance(value, xr.Dataset):
        laid_out = {key: canonical(item) for key, item in value.items()}
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        items = {item.name: canonical(getattr(value, item.name)) for item in dataclasses.fields(value)}
        laid_out = type(value)(**items)
    return cast("Value", laid_out)


def _sorted_matrix(matrix: sparse.csr_array) -> sparse.csr_array:
    parts = (matrix.data.copy(), matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32))
    same = sparse.csr_array(parts, shape=matrix.shape)
    same.sum_duplicates()
    return same


@singledispatch
def _pieces(value: object) -> Iterator[bytes]:
    """Give a value as bytes, with a mark of its kind so that no two kinds are confused."""
    if not dataclasses.is_dataclass(value):
        raise TypeError(f"A {type(value).__name__} has no digest.")
    yield from _pieces(type(value).__name__)
    for item in dataclasses.fields(value):
        yield from _pieces(item.name)
        yield from _pieces(getattr(value, item.name))


@_pieces.register
def _(value: None) -> Iterator[bytes]:
    yield b"none;"


@_pieces.register(bool)
@_pieces.register(np.bool_)
def _(value: bool) -> Iterator[bytes]:
    yield b"bool:%d;" % int(value)


@_pieces.register(int)
@_pieces.register(np.integer)
def _(value: int) -> Iterator[bytes]:
    yield b"int:%d;" % int(value)


@_pieces.register(float)
@_pieces.register(np.floating)
def _(value: float) -> Iterator[bytes]:
    yield b"float:" + struct.pack("<d", float(value))


@_pieces.register
def _(value: str) -> Iterator[bytes]:
    text = value.encode()
    yield b"str:%d;" % len(text) + text


@_pieces.register
def _(value: np.ndarray) -> Iterator[bytes]:
    if value.dtype.kind in "OUST":
        yield from _pieces((tuple(value.shape), [str(item) for item in value.ravel()]))
        return
    yield f"array:{value.dtype.newbyteorder('=').str}:{value.shape};".encode()
    yield np.ascontiguousarray(value).tobytes()


@_pieces.register
def _(value: sparse.csr_array) -> Iterator[bytes]:
    matrix = _sorted_matrix(value)
    for part in (np.array(matrix.shape), matrix.indptr, matrix.indices, matrix.data):
        yield from _pieces(part)


@_pieces.register
def _(value: xr.Dataset) -> Iterator[bytes]:
    for name in sorted(map(str, value.variables)):
        yield from _pieces((name, value[name].dims, value[name].values))
    yield from _pieces({str(key): item for key, item in value.attrs.items() if key not in NOT_CONTENT})


@_pieces.register(Mapping)
def _(value: Mapping[str, object]) -> Iterator[bytes]:
    yield b"map:%d;" % len(value)
    for key in sorted(value):
        yield from _pieces(str(key))
        yield from _pieces(value[key])


@_pieces.register(tuple)
@_pieces.register(list)
def _(value: tuple[object, ...]) -> Iterator[bytes]:
    yield b"tuple:%d;" % len(value)
    for item in value:
        yield from _pieces(item)
