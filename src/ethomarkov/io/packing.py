"""Values as bytes and back: a description in JSON, then the bytes of the arrays; reading builds data and runs nothing.

The description is made of JSON's own values where they say exactly what is meant, and of lists that begin with the
name of a kind for all else. The bytes of the arrays follow in the order in which the description mentions them.
"""

import dataclasses
import importlib
import json
import math
import re
import struct
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NoReturn

import numpy as np
from scipy import sparse

from ethomarkov.exceptions import InputFormatError

MAGIC = b"EMPACK01"
HEAD = struct.Struct("<8sQ")
MAX_DEPTH = 64
MAX_DIMENSIONS, MAX_SIZE = 32, 2**63
ARRAY_TYPE = re.compile(r"[<>|][biufcSU][0-9]{1,10}")
OUR_MODULE = re.compile(r"ethomarkov(?!\.cli\b)(\._?[a-z][a-z0-9_]*)+")
"""Where results are defined; options of commands are none, and look for clusters when they are made."""
INDEX_TYPES = (np.dtype(np.int32), np.dtype(np.int64))
HIGHEST_LETTER = 0x10FFFF
"""Last code point; letters beyond it make numpy fail when they are looked at."""

Node = Any
Bytes = bytes | bytearray | memoryview


def pack(value: object) -> bytes:
    """Turn a value into bytes.

    Parameters
    ----------
    value
        None, truth values, numbers, text, bytes, slices, numpy scalars and arrays of numbers, truth values or text,
        sparse `csr_array`, frozen dataclasses of this package, and tuples, lists, sets and dictionaries of these. A
        value of another type, even of a subclass, is a TypeError.

    Examples
    --------
    >>> unpack(pack({"lag": 0.75, "frames": (1, 2)}))
    {'lag': 0.75, 'frames': (1, 2)}
    """
    blocks: list[Bytes] = []
    header = json.dumps(_describe(value, blocks, 0), separators=(",", ":"), allow_nan=False).encode("ascii")
    return b"".join([HEAD.pack(MAGIC, len(header)), header, *blocks])


def unpack(data: Bytes) -> Any:  # noqa: ANN401
    """Give back the value that `pack` made bytes of, equal in every bit and type; arrays are in C order and its own.

    Anything that `pack` cannot have written is an `InputFormatError`.
    """
    view = memoryview(data).cast("B")
    if len(view) < HEAD.size:
        _refuse(f"{len(view)} bytes are too few")
    magic, length = HEAD.unpack_from(view)
    if magic != MAGIC:
        _refuse(f"they begin with {magic!r} instead of {MAGIC!r}")
    blocks = _Blocks(view[HEAD.size :])
    value = _build(_parse(bytes(blocks.take(length))), blocks, 0)
    if blocks.left:
        _refuse(f"{blocks.left} bytes are left over")
    return value


# --- writing ---------------------------------------------------------------------------------------------------------


def _describe(value: object, blocks: list[Bytes], depth: int) -> Node:
    if depth > MAX_DEPTH:
        raise TypeError(f"A value nested more than {MAX_DEPTH} deep cannot be packed.")
    write = _WRITERS.get(type(value))
    if write is not None:
        return write(value, blocks, depth + 1)
    if isinstance(value, np.generic):
        return ["scalar", _array_type(value.dtype), value.tobytes().hex()]
    if isinstance(value, type) or not _is_ours(type(value)):
        raise TypeError(f"A {type(value).__module__}.{type(value).__qualname__} cannot be packed.")
    fields = {item.name: getattr(value, item.name) for item in dataclasses.fields(value)}  # type: ignore[arg-type]
    items = {name: _describe(item, blocks, depth + 1) for name, item in fields.items()}
    return ["dataclass", type(value).__module__, type(value).__name__, items]


def _as_it_is(value: Node, blocks: list[Bytes], depth: int) -> Node:
    return value


def _describe_int(value: int, blocks: list[Bytes], depth: int) -> Node:
    return value if abs(value) < MAX_SIZE else ["int", hex(value)]  # Python limits the digits of long ones


def _describe_float(value: float, blocks: list[Bytes], depth: int) -> Node:
    return value if math.isfinite(value) else ["float", struct.pack("<d", value).hex()]


def _describe_complex(value: complex, blocks: list[Bytes], depth: int) -> Node:
    return ["complex", struct.pack("<2d", value.real, value.imag).hex()]


def _describe_str(value: str, blocks: list[Bytes], depth: int) -> Node:
    # JSON joins half letters, as in names of files that are no text, to other ones
    return value if value.isascii() or _is_text(value) else ["str", value.encode("utf-8", "surrogatepass").hex()]


def _describe_numpy_str(value: np.str_, blocks: list[Bytes], depth: int) -> Node:
    return ["numpy_str", _describe_str(value[:], blocks, depth)]  # str() drops the zeros at its end


def _describe_numpy_bytes(value: np.bytes_, blocks: list[Bytes], depth: int) -> Node:
    return ["numpy_bytes", bytes(value).hex()]


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _describe_bytes(value: bytes, blocks: list[Bytes], depth: int) -> Node:
    blocks.append(value)
    return ["bytes", len(value)]


def _describe_items(kind: str) -> Callable[[Any, list[Bytes], int], Node]:
    def describe(value: Iterable[object], blocks: list[Bytes], depth: int) -> Node:
        return [kind, *(_describe(item, blocks, depth) for item in value)]

    return describe


def _describe_dict(value: dict[object, object], blocks: list[Bytes], depth: int) -> Node:
    return ["dict", *(_describe(part, blocks, depth) for item in value.items() for part in item)]


def _describe_slice(value: slice, blocks: list[Bytes], depth: int) -> Node:
    return ["slice", *(_describe(part, blocks, depth) for part in (value.start, value.stop, value.step))]


def _describe_array(value: np.ndarray, blocks: list[Bytes], depth: int) -> Node:
    kind = _array_type(value.dtype)
    blocks.append(np.ascontiguousarray(value).reshape(-1).view(np.uint8).data)
    return ["array", kind, *value.shape]


def _describe_matrix(value: sparse.csr_array, blocks: list[Bytes], depth: int) -> Node:
    parts = (value.data, value.indices, value.indptr)
    if value.ndim != 2 or value.indices.dtype not in INDEX_TYPES or value.indptr.dtype != value.indices.dtype:
        raise TypeError(f"A sparse array of shape {value.shape} with places of {value.indices.dtype} cannot be packed.")
    return ["csr", [int(n) for n in value.shape], *(_describe_array(part, blocks, depth) for part in parts)]


def _array_type(dtype: np.dtype) -> str:
    if ARRAY_TYPE.fullmatch(dtype.str) is None or not dtype.itemsize:
        raise TypeError(f"Arrays of {dtype} cannot be packed.")
    return dtype.str


_WRITERS: dict[type, Callable[[Any, list[Bytes], int], Node]] = {
    type(None): _as_it_is,
    bool: _as_it_is,
    int: _describe_int,
    float: _describe_float,
    complex: _describe_complex,
    str: _describe_str,
    bytes: _describe_bytes,
    tuple: _describe_items("tuple"),
    list: _describe_items("list"),
    set: _describe_items("set"),
    frozenset: _describe_items("frozenset"),
    dict: _describe_dict,
    slice: _describe_slice,
    np.str_: _describe_numpy_str,
    np.bytes_: _describe_numpy_bytes,
    np.ndarray: _describe_array,
    sparse.csr_array: _describe_matrix,
}


# --- reading ---------------------------------------------------------------------------------------------------------


class _Blocks:
    """The bytes behind a description, taken one piece after the other."""

    def __init__(self, view: memoryview) -> None:
        self._view, self._taken = view, 0

    @property
    def left(self) -> int:
        """Bytes that were not taken yet."""
        return len(self._view) - self._taken

    def take(self, size: int) -> memoryview:
        """Give the next bytes; nothing is allocated."""
        if size > self.left:
            _refuse(f"{size} bytes are said to follow where {self.left} are left")
        self._taken += size
        return self._view[self._taken - size : self._taken]


def _refuse(why: str) -> NoReturn:
    raise InputFormatError(f"Packed data cannot be read: {why}. They are damaged, or of another kind; make them again.")


def _parse(header: bytes) -> Node:
    try:
        return json.loads(header.decode("ascii"), parse_constant=_refuse)
    except InputFormatError:
        raise
    except (ValueError, RecursionError) as error:
        _refuse(f"their description is no JSON ({error})")


def _build(node: Node, blocks: _Blocks, depth: int) -> Any:  # noqa: ANN401
    if depth > MAX_DEPTH:
        _refuse(f"they are nested more than {MAX_DEPTH} deep")
    if not isinstance(node, list):
        return node if not isinstance(node, dict) else _refuse("a value of no kind is described")
    kind, parts = (node[0], node[1:]) if node else (None, [])
    read = _READERS.get(kind) if isinstance(kind, str) else None
    if read is None:
        _refuse(f"the kind {str(kind)[:40]!r} is unknown")
    try:
        return read(parts, blocks, depth + 1)
    except InputFormatError:
        raise
    except Exception as error:  # what the parts are is not known: almost anything may be wrong with them
        _refuse(f"{kind} is not as it should be ({type(error).__name__}: {str(error)[:200]})")


def _build_all(nodes: Iterable[Node], blocks: _Blocks, depth: int) -> Iterator[Any]:
    return (_build(node, blocks, depth) for node in nodes)


def _build_int(parts: list[Node], blocks: _Blocks, depth: int) -> int:
    (text,) = parts
    return int(text, 16)


def _build_float(parts: list[Node], blocks: _Blocks, depth: int) -> float:
    (text,) = parts
    value: float = struct.unpack("<d", bytes.fromhex(text))[0]
    return value


def _build_complex(parts: list[Node], blocks: _Blocks, depth: int) -> complex:
    (text,) = parts
    return complex(*struct.unpack("<2d", bytes.fromhex(text)))


def _build_str(parts: list[Node], blocks: _Blocks, depth: int) -> str:
    (text,) = parts
    return bytes.fromhex(text).decode("utf-8", "surrogatepass")


def _build_bytes(parts: list[Node], blocks: _Blocks, depth: int) -> bytes:
    (size,) = parts
    return bytes(blocks.take(_sizes([size])[0]))


def _build_tuple(parts: list[Node], blocks: _Blocks, depth: int) -> tuple[Any, ...]:
    return tuple(_build_all(parts, blocks, depth))


def _build_list(parts: list[Node], blocks: _Blocks, depth: int) -> list[Any]:
    return list(_build_all(parts, blocks, depth))


def _build_set(parts: list[Node], blocks: _Blocks, depth: int) -> set[Any]:
    return set(_build_all(parts, blocks, depth))


def _build_frozenset(parts: list[Node], blocks: _Blocks, depth: int) -> frozenset[Any]:
    return frozenset(_build_all(parts, blocks, depth))


def _build_dict(parts: list[Node], blocks: _Blocks, depth: int) -> dict[Any, Any]:
    built = _build_list(parts, blocks, depth)
    return dict(zip(built[::2], built[1::2], strict=True))


def _build_slice(parts: list[Node], blocks: _Blocks, depth: int) -> slice:
    start, stop, step = _build_all(parts, blocks, depth)
    return slice(start, stop, step)


def _build_numpy_str(parts: list[Node], blocks: _Blocks, depth: int) -> np.str_:
    (text,) = _build_all(parts, blocks, depth)
    return np.str_(text)


def _build_numpy_bytes(parts: list[Node], blocks: _Blocks, depth: int) -> np.bytes_:
    (text,) = parts
    return np.bytes_(bytes.fromhex(text))


def _build_scalar(parts: list[Node], blocks: _Blocks, depth: int) -> np.generic:
    kind, text = parts
    scalar: np.generic = _array(_dtype(kind), (1,), memoryview(bytes.fromhex(text)))[0]
    return scalar


def _build_array(parts: list[Node], blocks: _Blocks, depth: int) -> np.ndarray:
    kind, *shape = parts
    dtype, sizes = _dtype(kind), _sizes(shape)
    return _array(dtype, sizes, blocks.take(math.prod(sizes) * dtype.itemsize))


def _build_matrix(parts: list[Node], blocks: _Blocks, depth: int) -> sparse.csr_array:
    shape, *arrays = parts
    data, indices, indptr = (_build_array(array[1:], blocks, depth) for array in arrays)
    rows, columns = _sizes(shape)
    if indices.dtype not in INDEX_TYPES or indptr.dtype != indices.dtype:
        _refuse(f"places of a matrix are {indices.dtype} and {indptr.dtype}")
    matrix = sparse.csr_array((data, indices, indptr), shape=(rows, columns))
    matrix.check_format(full_check=True)  # scipy's compiled code trusts the indices
    matrix.data, matrix.indices, matrix.indptr = data, indices, indptr  # it shortens them where it can
    return matrix


def _build_dataclass(parts: list[Node], blocks: _Blocks, depth: int) -> object:
    module, name, nodes = parts
    kind = _our_class(module, name)
    if list(nodes) != [item.name for item in dataclasses.fields(kind)]:
        _refuse(f"{name} has other parts")
    values = dict(zip(nodes, _build_all(nodes.values(), blocks, depth), strict=True))
    return kind(**values)


_READERS: dict[str, Callable[[list[Node], _Blocks, int], Any]] = {
    "int": _build_int,
    "float": _build_float,
    "complex": _build_complex,
    "str": _build_str,
    "bytes": _build_bytes,
    "tuple": _build_tuple,
    "list": _build_list,
    "set": _build_set,
    "frozenset": _build_frozenset,
    "dict": _build_dict,
    "slice": _build_slice,
    "numpy_str": _build_numpy_str,
    "numpy_bytes": _build_numpy_bytes,
    "scalar": _build_scalar,
    "array": _build_array,
    "csr": _build_matrix,
    "dataclass": _build_dataclass,
}


def _sizes(shape: list[Node]) -> tuple[int, ...]:
    if len(shape) > MAX_DIMENSIONS or not all(type(n) is int and 0 <= n < MAX_SIZE for n in shape):
        _refuse(f"a size is {str(shape)[:40]}")
    return tuple(shape)


def _dtype(kind: Node) -> np.dtype:
    if not isinstance(kind, str) or ARRAY_TYPE.fullmatch(kind) is None:
        _refuse(f"arrays of {str(kind)[:40]!r} are not read")
    dtype = np.dtype(kind)
    if dtype.str != kind or not dtype.itemsize:
        _refuse(f"arrays of {kind!r} are not read")
    return dtype


def _array(dtype: np.dtype, shape: tuple[int, ...], block: memoryview) -> np.ndarray:
    """Make an array of its own from bytes: aligned, writable, and keeping nothing else in memory."""
    values = np.empty(shape, dtype)
    raw = values.reshape(-1).view(np.uint8)
    raw[...] = np.frombuffer(block, np.uint8)
    if dtype.kind == "b" and raw.size and raw.max() > 1:
        _refuse("a truth value is neither true nor false")
    if dtype.kind == "U" and raw.size and raw.view(f"{dtype.byteorder}u4").max() > HIGHEST_LETTER:
        _refuse("a text holds what is no letter")
    return values


def _is_ours(kind: type) -> bool:
    """Tell whether instances are plain data of this package: frozen dataclasses at the top of one of its modules."""
    parameters = getattr(kind, "__dataclass_params__", None)
    frozen = parameters is not None and parameters.frozen and "__dataclass_fields__" in vars(kind)
    at_top = OUR_MODULE.fullmatch(kind.__module__) is not None and kind.__qualname__ == kind.__name__
    return frozen and at_top


def _our_class(module: Node, name: Node) -> type:
    """Find a class by its name, looking at nothing but frozen dataclasses that a module of this package defines."""
    if not isinstance(module, str) or OUR_MODULE.fullmatch(module) is None or not isinstance(name, str):
        _refuse(f"{str(module)[:80]!r} is no module of this package")
    found = vars(importlib.import_module(module)).get(name)
    if not isinstance(found, type) or not _is_ours(found) or (found.__module__, found.__name__) != (module, name):
        _refuse(f"{module} has no result {name[:80]!r}")
    return found
