"""Damage to files: of any bytes, of text, and of the structure of HDF5, zip, JSON and tables.

A mutation takes the bytes of a file and a source of chance, and gives other bytes. `mutate` chooses among those that
fit the file; the same seed gives the same damage.
"""

import contextlib
import io
import json
import pickle
import re
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import h5py
import numpy as np

from fuzz.samples import SAMPLES, URL, content_of

HDF5, ZIP, JSON, TEXT, BINARY = "hdf5", "zip", "json", "text", "binary"
HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
EXTREMES = (
    "1e308", "-1e308", "-1", "0", "nan", "inf", "-inf", "9223372036854775808", "99999999999", "1_5", "1e-320", "0x10",
    "1" * 400, "١٢", "", "true", "null", '"', "1e999999999",
)  # fmt: skip
ODD_TEXTS = (
    "\0",
    '"',
    "'",
    "=1+1",
    "@cmd|' /C calc'!A0",
    "\r",
    "\n\n\n",
    ",,,,,,",
    "\ufeff",
    "\u202e",
    "é" * 300,
    "\t",
)
ODD_VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 2**63, 10**400, 1e308, float("nan"), "", "x" * 5000, [], {}, [[]], [[[1]]], {"a": {}}, URL,
)  # fmt: skip
HEADER_BYTES, MOST_BYTES = 2048, 10**7
MARKER = "touched"
"""What a payload makes in the working directory, should it ever run."""

Mutation = Callable[[bytes, Random], bytes]


class _Payload:
    def __reduce__(self) -> tuple[Any, ...]:
        import os

        return os.mkdir, (MARKER,)


def payload(protocol: int = 0) -> bytes:
    """Give a pickle that leaves a mark when it is loaded."""
    return pickle.dumps(_Payload(), protocol)


def family(content: bytes) -> str:
    """Tell how a file is built."""
    if content[:8] == HDF5_SIGNATURE or content[512:520] == HDF5_SIGNATURE:
        return HDF5
    if content[:2] == b"PK":
        return ZIP
    if content[:1] == b"{":
        return JSON
    return TEXT if b"\0" not in content[:1000] and content[:1000].isascii() else BINARY


# --- bytes -----------------------------------------------------------------------------------------------------------


def _span(content: bytes, chance: Random, longest: int = 400) -> tuple[int, int]:
    start = chance.randrange(len(content) + 1)
    return start, min(len(content), start + chance.randint(1, longest))


def flip_bits(content: bytes, chance: Random) -> bytes:
    changed = bytearray(content)
    for _ in range(chance.choice((1, 1, 2, 8, 64))):
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def flip_header(content: bytes, chance: Random) -> bytes:
    changed = bytearray(content)
    for _ in range(chance.choice((1, 1, 2, 4))):
        changed[chance.randrange(min(len(changed), HEADER_BYTES))] = chance.choice((0, 1, 127, 128, 255, 64))
    return bytes(changed)


def overwrite(content: bytes, chance: Random) -> bytes:
    start, stop = _span(content, chance)
    fill = chance.choice((b"\0" * (stop - start), b"\xff" * (stop - start), chance.randbytes(stop - start)))
    return content[:start] + fill + content[stop:]


def overwrite_number(content: bytes, chance: Random) -> bytes:
    """Put an extreme number where a size or an address may stand."""
    kind = chance.choice(("<Q", "<I", ">I", "<H", "<d"))
    extreme = {"d": (1e308, -1.0, float("nan"), 0.0)}.get(kind[1]) or (0, 1, 2 ** (8 * struct.calcsize(kind)) - 1)
    number = struct.pack(kind, chance.choice(extreme))
    start = chance.randrange(0, max(1, len(content) - len(number)))
    return content[:start] + number + content[start + len(number) :]


def truncate(content: bytes, chance: Random) -> bytes:
    return content[: chance.randrange(1, len(content) + 1)]


def remove(content: bytes, chance: Random) -> bytes:
    start, stop = _span(content, chance)
    return content[:start] + content[stop:] or b"\0"


def repeat(content: bytes, chance: Random) -> bytes:
    start, stop = _span(content, chance)
    return content[:stop] + content[start:stop] * chance.choice((1, 2, 50)) + content[stop:]


def insert(content: bytes, chance: Random) -> bytes:
    start, _ = _span(content, chance)
    return content[:start] + chance.randbytes(chance.choice((1, 4, 100))) + content[start:]


def swap(content: bytes, chance: Random) -> bytes:
    a, b, c, d = sorted(chance.randrange(len(content) + 1) for _ in range(4))
    return content[:a] + content[c:d] + content[b:c] + content[a:b] + content[d:]


def splice(content: bytes, chance: Random) -> bytes:
    """Go on with the rest of another file."""
    others = [sample.name for sample in SAMPLES if not sample.seals]  # a sealed one takes seconds to make
    other = content_of(chance.choice(others))
    at = chance.randrange(len(content) + 1)
    return content[:at] + other[chance.choice((at, chance.randrange(len(other)))) :] or b"\0"


def whole_payload(content: bytes, chance: Random) -> bytes:
    """Put a pickle in some place."""
    start, stop = _span(content, chance)
    return content[:start] + payload(chance.choice((0, 2, 5))) + content[stop:]


# --- text ------------------------------------------------------------------------------------------------------------


def replace_number(content: bytes, chance: Random) -> bytes:
    numbers = list(re.finditer(rb"-?\d+(\.\d+)?(e[-+]?\d+)?", content))
    if not numbers:
        return content
    one = chance.choice(numbers)
    return content[: one.start()] + chance.choice(EXTREMES).encode() + content[one.end() :]


def insert_text(content: bytes, chance: Random) -> bytes:
    start = chance.randrange(len(content) + 1)
    return content[:start] + chance.choice(ODD_TEXTS).encode() + content[start:]


def ragged(content: bytes, chance: Random) -> bytes:
    """Change the number of cells of a line, or the order of lines."""
    rows = content.split(b"\n")
    at = chance.randrange(len(rows))
    how = chance.randrange(4)
    if how == 0:
        rows[at] += b"," * chance.choice((1, 2, 10_000))
    elif how == 1:
        rows[at] = rows[at].rpartition(b",")[0]
    elif how == 2:
        chance.shuffle(rows)
    else:
        rows.insert(at, rows[at])
    return b"\n".join(rows)


def change_cell(content: bytes, chance: Random) -> bytes:
    rows = [row.split(b",") for row in content.split(b"\n")]
    row = chance.choice(rows)
    row[chance.randrange(len(row))] = chance.choice((*EXTREMES, *ODD_TEXTS)).encode()
    return b"\n".join(b",".join(cells) for cells in rows)


def other_encoding(content: bytes, chance: Random) -> bytes:
    return content.decode(errors="replace").encode(chance.choice(("utf-16", "utf-32", "utf-8-sig", "utf-16-le")))


# --- JSON ------------------------------------------------------------------------------------------------------------


def change_json(content: bytes, chance: Random) -> bytes:
    """Replace, remove or rename something at some depth."""
    try:
        tree = json.loads(content)
    except (ValueError, RecursionError):
        return content
    node: Any = tree
    for _ in range(chance.randrange(5)):
        inner = [one for one in _children(node) if isinstance(one, dict | list) and one]
        node = chance.choice(inner) if inner else node
    if isinstance(node, dict):
        name = chance.choice(sorted(node))
        if chance.random() < 0.3:
            node[chance.choice(("", "id", "t", "x", "@", "\0"))] = node.pop(name)
        else:
            node[name] = chance.choice(ODD_VALUES)
    elif node:
        node[chance.randrange(len(node))] = chance.choice(ODD_VALUES)
    return json.dumps(tree).encode()


def _children(node: Any) -> list[Any]:
    return list(node.values()) if isinstance(node, dict) else list(node) if isinstance(node, list) else []


def nest_json(content: bytes, chance: Random) -> bytes:
    depth = chance.choice((50, 2000, 200_000))
    deep = chance.choice((b"[" * depth + b"]" * depth, b'{"a":' * depth + b"1" + b"}" * depth, b"[" * depth))
    places = [found.end() for found in re.finditer(rb":\s*", content)]
    at = chance.choice(places) if places else 0
    return content[:at] + deep + b"," + content[at:]


# --- zip -------------------------------------------------------------------------------------------------------------


def _members(content: bytes) -> list[tuple[zipfile.ZipInfo, bytes]]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return [(one, archive.read(one)) for one in archive.infolist()]


def _zipped(members: list[tuple[zipfile.ZipInfo, bytes]], comment: bytes = b"") -> bytes:
    stream = io.BytesIO()
    import warnings

    with warnings.catch_warnings(), zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        warnings.simplefilter("ignore")  # names may stand twice
        archive.comment = comment
        for one, body in members:
            archive.writestr(one, body)
    return stream.getvalue()


def change_member(content: bytes, chance: Random) -> bytes:
    """Damage what is inside, so that the archive and its checksums are whole."""
    members = _members(content)
    at = chance.randrange(len(members))
    one, body = members[at]
    inner = (flip_bits, flip_header, overwrite, overwrite_number, truncate, remove, repeat, replace_number)
    members[at] = (one, chance.choice(inner)(body, chance) if body else b"x")
    return _zipped(members)


def rename_member(content: bytes, chance: Random) -> bytes:
    members = _members(content)
    names = ("../up.npy", "/abs.npy", "a\\b.npy", "", "x" * 1000 + ".npy", "time.npy", "amplitudes.npy", "\u202e.npy")
    body = chance.choice(members)[1]
    other = zipfile.ZipInfo(chance.choice(names))
    other.compress_type = zipfile.ZIP_DEFLATED
    return _zipped([*members, (other, body)] if chance.random() < 0.5 else [(other, body)])


def bomb_member(content: bytes, chance: Random) -> bytes:
    """Add much that packs well."""
    members = _members(content)
    at = chance.randrange(len(members))
    one, body = members[at]
    members[at] = (one, body + chance.choice((b"\0", b" ", b"[")) * 20_000_000)
    return _zipped(members)


def declare_sizes(content: bytes, chance: Random) -> bytes:
    """Change the sizes that the directory of the archive states."""
    changed = bytearray(content)
    for place in (found.start() for found in re.finditer(b"PK\x01\x02", content)):
        if place + 28 <= len(changed):
            struct.pack_into("<I", changed, place + chance.choice((20, 24)), chance.choice((0, 1, 2**31, 2**32 - 1)))
    return bytes(changed)


# --- HDF5 ------------------------------------------------------------------------------------------------------------


def _with_hdf5(change: Callable[[h5py.File, Random], None]) -> Mutation:
    """Make a mutation from a change of an open file; a damaged file stays as it is."""

    def mutation(content: bytes, chance: Random) -> bytes:
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "file"
            path.write_bytes(content)
            errors = (OSError, KeyError, ValueError, TypeError, RuntimeError, AttributeError)
            with contextlib.suppress(*errors), h5py.File(path, "r+") as file:
                change(file, chance)
            return path.read_bytes()

    mutation.__name__ = change.__name__
    return mutation


def _names(file: h5py.File) -> list[str]:
    found: list[str] = []
    file.visit(found.append)
    return found


def _datasets(file: h5py.File) -> list[str]:
    """Name those that can be read here, which declare no terabytes by an earlier change."""
    found = [name for name in _names(file) if isinstance(file[name], h5py.Dataset)]
    return [name for name in found if (file[name].size or 0) * file[name].dtype.itemsize < MOST_BYTES]


def delete_object(file: h5py.File, chance: Random) -> None:
    del file[chance.choice(_names(file))]


def rename_object(file: h5py.File, chance: Random) -> None:
    names = _names(file)
    one, other = chance.choice(names), chance.choice(names)
    if chance.random() < 0.5:
        file.move(one, f"{one}_\u202e{chance.choice(('', 'x' * 300))}")
    else:  # something else under its name
        del file[one]
        file[one] = file[other]


def change_dtype(file: h5py.File, chance: Random) -> None:
    name = chance.choice(_datasets(file))
    values = file[name][()]
    attrs = dict(file[name].attrs)
    kinds = ("i1", "f2", "c16", "S3", "u8", "?", ">f8", [("a", "f8"), ("b", "i4")], h5py.string_dtype(), h5py.ref_dtype)
    kinds += (h5py.vlen_dtype("f8"), h5py.enum_dtype({"a": 1}), "V7", "f4")
    del file[name]
    made = file.create_dataset(name, np.shape(values), dtype=chance.choice(kinds))
    if {made.dtype.kind, np.asarray(values).dtype.kind} <= set("fiu"):  # h5py crashes at some other conversions
        with np.errstate(all="ignore"):
            made[()] = values
    for key, value in attrs.items():
        made.attrs[key] = value


def change_shape(file: h5py.File, chance: Random) -> None:
    name = chance.choice(_datasets(file))
    values = np.asarray(file[name][()])
    attrs = dict(file[name].attrs)
    ways = (
        lambda: values[None],
        values.ravel,
        lambda: values[:0] if values.ndim else values,
        lambda: values.T,
        lambda: values[:1] if values.ndim else values,
        lambda: np.concatenate([values, values]) if values.ndim else values,
        lambda: h5py.Empty("f4"),
    )
    del file[name]
    file[name] = chance.choice(ways)()
    for key, value in attrs.items():
        file[name].attrs[key] = value


def change_values(file: h5py.File, chance: Random) -> None:
    """Put extreme numbers into a dataset, also into a field of a table."""
    dataset = file[chance.choice(_datasets(file))]
    values = np.atleast_1d(dataset[()]).copy()
    if values.dtype.hasobject:  # text and references; h5py crashes at some that are written back
        return
    where = values[chance.choice(values.dtype.names)] if values.dtype.names else values
    extremes = (-1, 0, 2**31, 2**63, 2**62, 1e308, np.nan, np.inf, 1e-320) if where.dtype.kind in "fiu" else (b"\xff",)
    at = chance.choice((slice(None), chance.randrange(max(1, len(where)))))
    with np.errstate(all="ignore"):
        where[at] = np.array(chance.choice(extremes)).astype(where.dtype)
    dataset[()] = values.reshape(dataset.shape)


def change_attribute(file: h5py.File, chance: Random) -> None:
    places = [(name, key) for name in ["/", *_names(file)] for key in file[name].attrs]
    values: tuple[Any, ...] = (
        np.bytes_(payload()), np.bytes_(payload(2)), np.bytes_(payload(5)), np.bytes_(b"(lp0\n."), URL, "x" * 5000, -1,
        np.nan, 1e308, 2**62, np.zeros((3, 3)), h5py.Empty("f4"), b"\xff\xfe", np.bytes_(b"[" * 3000), "",
    )  # fmt: skip
    name, key = chance.choice(places)
    if chance.random() < 0.2:
        del file[name].attrs[key]
    else:
        file[name].attrs[key] = chance.choice(values)


def change_words(file: h5py.File, chance: Random) -> None:
    """Replace text, which may be JSON."""
    texts = [name for name in _datasets(file) if h5py.check_string_dtype(file[name].dtype) is not None]
    dataset = file[chance.choice(texts)]
    odd = ("", "\0", "[" * 3000, "{}", "null", URL, "é" * 500, '{"a": 1e999}', "nose", "\x1b[31m\n\n")
    word = chance.choice(odd).encode()
    dataset[...] = word[:200] if dataset.dtype.kind == "S" else word.replace(b"\0", b"")


def lead_out(file: h5py.File, chance: Random) -> None:
    """Put something that leads to another file in the place of something, or beside it."""
    name = chance.choice(_datasets(file)) if chance.random() < 0.7 else f"new_{chance.randrange(100)}"
    shape = file[name].shape if name in file else (4,)
    how = chance.randrange(4)
    if name in file:
        del file[name]
    if how == 0:
        file[name] = h5py.ExternalLink(chance.choice(("/etc/hostname", "other.h5", URL)), "/x")
    elif how == 1:
        file["door"] = h5py.ExternalLink("other.h5", "/")
        file[name] = h5py.SoftLink(chance.choice(("/door/x", "/nowhere", f"/{name}")))
    elif how == 2:
        layout = h5py.VirtualLayout(shape or (1,), "f8")
        layout[...] = h5py.VirtualSource("other.h5", "x", shape or (1,))
        file.create_virtual_dataset(name, layout)
    else:
        file.create_dataset(name, shape or (1,), "f8", external=[("/dev/zero", 0, h5py.h5f.UNLIMITED)])


def link_to_self(file: h5py.File, chance: Random) -> None:
    groups = ["/", *(name for name in _names(file) if isinstance(file[name], h5py.Group))]
    where = file[chance.choice(groups)]
    where[f"loop{chance.randrange(10)}"] = chance.choice((file["/"], where, h5py.SoftLink("loop1")))


def declare_huge(file: h5py.File, chance: Random) -> None:
    """Declare terabytes in a few bytes."""
    name = chance.choice(_datasets(file))
    shape, dtype = file[name].shape or (1,), file[name].dtype
    attrs = dict(file[name].attrs)
    huge = list(shape)
    huge[chance.randrange(len(huge))] = chance.choice((10**5, 10**7, 10**9, 2**40))
    del file[name]
    chunks = tuple(min(n, 8) for n in huge)
    made = file.create_dataset(name, tuple(huge), dtype, chunks=chunks, compression=chance.choice((None, "gzip")))
    for key, value in attrs.items():
        made.attrs[key] = value


def object_array(file: h5py.File, chance: Random) -> None:
    """Put a list of pickled objects as PyTables stores it in the place of something."""
    name = chance.choice(_datasets(file))
    del file[name]
    made = file.create_dataset(name, (1,), dtype=h5py.vlen_dtype("u1"), maxshape=(None,), chunks=(1,))
    made[0] = np.frombuffer(payload(chance.choice((0, 2, 4))), dtype="u1")
    about = {"CLASS": b"VLARRAY", "FLAVOR": b"Object", "VERSION": b"1.0", "PSEUDOATOM": b"object", "kind": b"object"}
    for key, value in about.items():
        if chance.random() < 0.8:
            made.attrs[key] = np.bytes_(value)
    file.attrs["PYTABLES_FORMAT_VERSION"] = np.bytes_(chance.choice((b"1.0", b"2.1")))


# --- choice ----------------------------------------------------------------------------------------------------------

OF_BYTES: tuple[Mutation, ...] = (
    flip_bits, flip_header, overwrite, overwrite_number, truncate, remove, repeat, insert, swap, splice, whole_payload,
)  # fmt: skip
OF_TEXT: tuple[Mutation, ...] = (replace_number, replace_number, insert_text, other_encoding)
OF_HDF5: tuple[Mutation, ...] = tuple(
    _with_hdf5(change)
    for change in (
        delete_object, rename_object, change_dtype, change_shape, change_values, change_attribute, change_words,
        lead_out, link_to_self, declare_huge, object_array,
    )
)  # fmt: skip
BY_FAMILY: dict[str, tuple[Mutation, ...]] = {
    HDF5: OF_HDF5,
    ZIP: (change_member, change_member, rename_member, bomb_member, declare_sizes),
    JSON: (*OF_TEXT, change_json, change_json, nest_json),
    TEXT: (*OF_TEXT, ragged, change_cell, change_cell),
    BINARY: (flip_header,),
}


def mutate(content: bytes, chance: Random) -> tuple[bytes, str]:
    """Damage a file in one to three ways, and say in which.

    Changes of the structure come first: only a valid file may be opened here, without limits.
    """
    n_changes = chance.choice((1, 1, 1, 2, 3))
    n_own = sum(chance.random() < 0.6 for _ in range(n_changes))
    own = BY_FAMILY[family(content)]
    chosen = [*(chance.choice(own) for _ in range(n_own)), *(chance.choice(OF_BYTES) for _ in range(n_changes - n_own))]
    for mutation in chosen:
        with contextlib.suppress(IndexError, zipfile.BadZipFile):  # nothing there to change; sizes changed before
            content = mutation(content, chance) or b"\0"
    return content, " + ".join(mutation.__name__ for mutation in chosen)
