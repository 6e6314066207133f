"""Values come back from bytes as they were, and nothing else can come out of bytes."""

import dataclasses
import json
import math
import struct

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from scipy import sparse

from ethomarkov._core.interval import Interval
from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov._core.series import Series
from ethomarkov.exceptions import InputFormatError
from ethomarkov.io.packing import HEAD, MAGIC, MAX_DEPTH, pack, unpack

INTERVAL = Interval(estimate=1.0, low=0.5, high=math.nan, level=0.95, over="animals", n=3)
MATRIX = sparse.csr_array(np.array([[0.0, 1.5, 0.0], [2.5, 0.0, -0.0], [0.0, 0.0, 3.0]]))


def form(value):
    """Give types and bits as nested tuples that can be compared."""
    parts = value
    if isinstance(value, (np.ndarray, np.generic)):
        parts = (value.dtype.str, value.shape, value.tobytes())
    elif isinstance(value, (float, complex)):
        parts = struct.pack("2d", value.real, value.imag)
    elif isinstance(value, (tuple, list)):
        parts = tuple(map(form, value))
    elif isinstance(value, dict):
        parts = tuple(map(form, value.items()))
    elif isinstance(value, sparse.csr_array):
        parts = form([value.shape, value.data, value.indices, value.indptr])
    elif dataclasses.is_dataclass(value):
        parts = form([getattr(value, item.name) for item in dataclasses.fields(value)])
    return type(value), parts


def same(one, other):
    """Equal in type and in every bit."""
    return form(one) == form(other)


def described(node, blocks=b""):
    """Packed data with a description of one's own."""
    header = node if isinstance(node, bytes) else json.dumps(node).encode()
    return HEAD.pack(MAGIC, len(header)) + header + blocks


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.complex_numbers(),
    st.text(st.characters()),
    st.binary(),
    npst.from_dtype(np.dtype(np.float32)),
    npst.from_dtype(np.dtype(np.int16)),
    npst.from_dtype(np.dtype(np.complex128)),
    npst.from_dtype(np.dtype(bool)),
)
ARRAYS = st.one_of(
    npst.arrays(kind, npst.array_shapes(min_dims=0, min_side=0, max_side=3))
    for kind in ("<f8", ">f4", "<f2", "|b1", "<i8", "|u1", "<c16", "<U3", "|S2")
)
VALUES = st.recursive(
    st.one_of(SCALARS, ARRAYS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(st.one_of(st.integers(), st.text()), inner, max_size=4),
    ),
    max_leaves=8,
)


@given(VALUES)
@settings(max_examples=150, deadline=None)
def test_values_come_back_as_they_were(value):
    assert same(unpack(pack(value)), value)


@pytest.mark.parametrize(
    "value",
    [
        2**70000,
        -(2**63),
        -0.0,
        math.inf,
        struct.unpack("<d", b"\x01\x00\x00\x00\x00\x00\xf8\xff")[0],
        complex(-0.0, math.nan),
        "\ud800\udc00 half letters",
        np.str_("zero at the end\0"),
        np.str_(""),
        np.bytes_(b"\0"),
        np.longdouble("1.1"),
        np.array(3.5),
        np.empty((0, 5)),
        {1, "two"},
        frozenset({(1, 2)}),
        slice(None, 3, -1),
        {(1, 2): {"a": [()]}},
        INTERVAL,
        (INTERVAL, [INTERVAL]),
        MATRIX,
        sparse.csr_array((0, 4)),
        Series(
            values=np.ones((4, 2), np.float32), segments=Segments.from_valid(np.ones(4, bool)), sampling=Sampling(16.0)
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_kind_comes_back(value):
    assert same(unpack(pack(value)), value)


def test_places_of_a_matrix_keep_their_type_and_order():
    matrix = MATRIX.copy()
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    unsorted = sparse.csr_array((np.array([1.0, 2.0]), np.array([2, 0]), np.array([0, 2])), shape=(1, 3))
    assert same(unpack(pack(matrix)), matrix)
    assert same(unpack(pack(unsorted)), unsorted)


def test_any_layout_comes_back_in_c_order():
    grid = np.arange(24.0).reshape(2, 3, 4)
    for array in (np.asfortranarray(grid), grid[:, ::-1], grid.T):
        back = unpack(pack(array))
        assert back.flags.c_contiguous
        np.testing.assert_array_equal(back, array)


def test_arrays_are_aligned_and_their_own():
    data = pack((b"odd", np.arange(3.0)))
    back = unpack(memoryview(b"x" + data)[1:])[1]
    assert back.flags.owndata
    assert back.flags.writeable
    assert back.flags.aligned


@dataclasses.dataclass(frozen=True)
class Stranger:
    """A class that is not of the package."""

    n: int


def cycle():
    items = []
    items.append(items)
    return items


@pytest.mark.parametrize(
    "value",
    [
        np.array([None]),
        np.array([(1, 2.0)], dtype="i4,f8"),
        np.ma.masked_array([1.0]),
        sparse.csc_array((2, 2)),
        Stranger(n=1),
        Interval,
        struct.unpack,
        bytearray(b"a"),
        cycle(),
        type("Words", (str,), {})("word"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_other_values_are_refused(value):
    with pytest.raises(TypeError, match="cannot be packed"):
        pack(value)


SAMPLE = pack({"a": [np.arange(6.0), np.array(["ab", "c"]), True], "b": (INTERVAL, MATRIX, slice(1, 2), "é", b"raw")})


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_mutated_bytes_give_a_value_or_the_error_of_the_package(data):
    mutated = bytearray(SAMPLE)
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(mutated) - 1))
        action = data.draw(st.sampled_from(("flip", "cut", "insert", "delete")))
        if action == "flip":
            mutated[place] ^= data.draw(st.integers(1, 255))
        elif action == "cut":
            del mutated[max(place, 1) :]
        elif action == "insert":
            mutated[place:place] = data.draw(st.binary(max_size=5))
        elif len(mutated) > 1:
            del mutated[place]
    try:
        unpack(bytes(mutated))
    except InputFormatError as error:
        assert "cannot be read" in str(error)


@given(st.binary(max_size=60))
@example(b"")
@example(MAGIC)
def test_rubbish_is_refused(data):
    with pytest.raises(InputFormatError, match="cannot be read"):
        unpack(data)


@pytest.mark.parametrize(
    "module, name",
    [
        ("ethomarkov.study.cluster", "subprocess.Popen"),
        ("ethomarkov.study.cluster", "pickle"),
        ("ethomarkov.io.task_log", "TaskLog"),
        ("ethomarkov.io.atomic", "atomic_path"),
        ("ethomarkov._core.interval", "dataclass"),
        ("ethomarkov.markov", "Interval"),
        ("ethomarkov.study.graph", "Graph"),
        ("ethomarkov.validation.splits", "Interval"),
        ("ethomarkov.__main__", "Interval"),
        ("ethomarkov.cli.options", "RunningOptions"),
        ("ethomarkov.nowhere", "Interval"),
        ("ethomarkov._core.interval ", "Interval"),
        ("ethomarkov", "Settings"),
        ("os", "system"),
        ("subprocess", "Popen"),
        (None, None),
        (["ethomarkov"], {}),
    ],
)
def test_no_other_name_is_built(module, name):
    with pytest.raises(InputFormatError, match="cannot be read"):
        unpack(described(["dataclass", module, name, {}]))


@pytest.mark.parametrize(
    "node, blocks",
    [
        (["array", "<f8", 10**12], b""),
        (["array", "<f8", 2**62, 2**62], b""),
        (["array", "<f8", *[0] * 40], b""),
        (["array", "<f8", -1], b""),
        (["array", "<f8", 1.0], b"12345678"),
        (["array", "|O8", 1], b"12345678"),
        (["array", "<U0", 10**12], b""),
        (["array", "f8,f8", 1], b"1" * 16),
        (["array", "<U1", 1], b"\xff\xff\xff\x7f"),
        (["array", "|b1", 1], b"\x02"),
        (["bytes", 10**12], b""),
        (["bytes", True], b"1"),
        (
            ["csr", [1, 2], ["array", "<f8", 1], ["array", "<i4", 1], ["array", "<i4", 2]],
            b"1" * 8 + b"\2\0\0\0" + b"\0\0\0\0\1\0\0\0",
        ),
        (["csr", [1, 9], ["array", "<f8", 1], ["array", "<f4", 1], ["array", "<f4", 2]], b"\0" * 20),
        (["dict", 1], b""),
        (["dict", ["list"], 1], b""),
        (["dataclass", "ethomarkov._core.interval", "Interval", {"estimate": 1.0}], b""),
        (["dataclass", "ethomarkov._core.segments", "Segments", {}], b""),
        (["list"], b"left over"),
        (["nothing known"], b""),
        ({"a": 1}, b""),
        ([], b""),
        (b"NaN", b""),
        (b"9" * 10000, b""),
        (b"[" * 100000, b""),
        (b'["list",' * (MAX_DEPTH + 2) + b"1" + b"]" * (MAX_DEPTH + 2), b""),
        ("é".encode(), b""),
    ],
)
def test_descriptions_that_lie_are_refused(node, blocks):
    with pytest.raises(InputFormatError, match="cannot be read"):
        unpack(described(node, blocks))
