"""What every result of the package promises: a file holds it whole, twice the same, and any damage is seen.

The file is one that any reader of netCDF takes, and every variable in it says what it is.

The results are found, not listed: every public frozen dataclass that declares arrays, is a part of one that does, or
has one as a part. Each is made from its annotations, so that a new one is held to the contract without a line here.
"""

import dataclasses
import importlib
import pkgutil
import random
import types
import typing
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path as FilePath
from typing import Any

import h5py
import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure
from pydantic import BaseModel
from scipy import sparse

import ethomarkov
from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov._core.series import Series
from ethomarkov.coarse.division import Division
from ethomarkov.exceptions import InputFormatError
from ethomarkov.foraging.food import StateCoverage
from ethomarkov.io.digest import canonical, digest
from ethomarkov.io.results import load_result, save_results
from ethomarkov.locomotion.drag import DragSettings
from ethomarkov.locomotion.ensemble import Gathered
from ethomarkov.movies.scenes import Behaviour
from ethomarkov.paper.stages import ALL_STAGES
from ethomarkov.states.symbols import Symbols
from ethomarkov.synthetic.worm import WormTruth

TEXT = "é – <b>, 虫"

# --- which -----------------------------------------------------------------------------------------------------------


def frozen_dataclasses() -> list[type]:
    """List the public frozen dataclasses of all modules of the package."""
    modules = [
        importlib.import_module(found.name) for found in pkgutil.walk_packages(ethomarkov.__path__, "ethomarkov.")
    ]
    kinds = {kind for module in modules for kind in vars(module).values() if is_ours(kind, module)}
    return sorted(kinds, key=lambda kind: (kind.__module__, kind.__name__))


def is_ours(kind: object, module: types.ModuleType) -> bool:
    if not isinstance(kind, type) or not dataclasses.is_dataclass(kind) or kind.__module__ != module.__name__:
        return False
    return kind.__dataclass_params__.frozen and not kind.__name__.startswith("_")


def has_arrays(kind: type) -> bool:
    return any("dims" in field.metadata for field in dataclasses.fields(kind))


def hints_of(kind: type) -> dict[str, Any]:
    try:
        hints = typing.get_type_hints(kind)
    except NameError:  # annotated with what is imported for type checkers alone, as no result can be
        assert not has_arrays(kind)
        return {}
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}


def parts_of(hint: object) -> Iterator[object]:
    """Give every type of which a value with an annotation is made."""
    origin = typing.get_origin(hint) or hint
    yield origin
    if origin not in (np.ndarray, typing.Literal, Callable):
        for part in typing.get_args(hint):
            yield from parts_of(part)


def find_results() -> list[type]:
    kinds = frozen_dataclasses()
    parts = {kind: {part for hint in hints_of(kind).values() for part in parts_of(hint)} for kind in kinds}
    given = {kind for stage in ALL_STAGES for kind in stage.gives.values()}
    found = {kind for kind in kinds if has_arrays(kind) or kind in given}
    for _ in kinds:
        found |= {kind for kind in kinds if parts[kind] & found}
    for _ in kinds:
        found |= {part for kind in found for part in parts[kind] if part in parts}
    return [kind for kind in kinds if kind in found]


# --- one of each -----------------------------------------------------------------------------------------------------

PLAIN = {bool: True, int: 3, float: 0.1, str: TEXT}
NUMBERS = {np.integer: np.int32, np.floating: np.float64, np.complexfloating: np.complex128, np.bool_: np.bool_}


def make(kind: type, is_full: bool) -> Any:
    """Make a result from its annotations; one that is not full has None where it may, and nothing in its tuples."""
    return MAKERS[kind]() if kind in MAKERS else build(kind, is_full)


def build(kind: type, is_full: bool) -> Any:
    metadata = {field.name: field.metadata for field in dataclasses.fields(kind)}
    return kind(**{name: value_of(hint, metadata[name], is_full) for name, hint in hints_of(kind).items()})


def value_of(hint: Any, metadata: Mapping[str, Any], is_full: bool) -> Any:
    origin, arguments = typing.get_origin(hint) or hint, typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        first = next(part for part in arguments if part is not type(None))
        return value_of(first, metadata, is_full) if is_full or type(None) not in arguments else None
    if origin is typing.Literal:
        return arguments[-1 if is_full else 0]
    if origin is tuple:
        items = (arguments[0],) * (2 if is_full else 0) if arguments[-1] is Ellipsis else arguments
        return tuple(numbered(value_of(item, metadata, is_full), i) for i, item in enumerate(items))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {key: value_of(arguments[1], metadata, is_full) for key in ("b/c", TEXT, "")[: 3 * is_full]}
    return part_of(origin, arguments, metadata, is_full)


def part_of(origin: Any, arguments: tuple[Any, ...], metadata: Mapping[str, Any], is_full: bool) -> Any:
    if origin is np.ndarray:
        return array_of(metadata["dims"], arguments)
    if origin is sparse.csr_array:
        return sparse.csr_array(np.diag([0.5, 0.0, 2.0]))
    return make(origin, is_full) if dataclasses.is_dataclass(origin) else PLAIN[origin]


def numbered(value: Any, i: int) -> Any:
    """Make names that differ."""
    return f"{value} {i}" if isinstance(value, str) else value


def array_of(dims: tuple[str, ...], arguments: tuple[Any, ...]) -> np.ndarray:
    """Make an array whose dimensions have the same size wherever their name appears."""
    sizes = [2 + zlib.crc32(dim.encode()) % 3 for dim in dims]
    numbers = typing.get_args(arguments[1])[0] if arguments else np.floating
    dtype = NUMBERS.get(typing.get_origin(numbers) or numbers, np.float64)
    values = np.random.default_rng(sum(sizes)).normal(0, 9, sizes)
    if dtype is np.float64 and values.size:
        values.flat[0] = np.nan
    return values.astype(dtype)


def make_series() -> Series:
    return Series.from_rows(np.arange(20.0).reshape(10, 2), 16.0, np.array([0, 4, 10]), ("a", TEXT))


def make_symbols() -> Symbols:
    labels, segments = np.arange(10, dtype=np.int32) % 3, make_series().segments
    return Symbols(labels=labels, n_states=4, segments=segments, sampling=Sampling(16.0))


MAKERS: dict[type, Callable[[], object]] = {
    Sampling: lambda: Sampling(16.0),
    Segments: lambda: make_series().segments,
    Series: make_series,
    Symbols: make_symbols,
    DragSettings: DragSettings,
    StateCoverage: lambda: build(StateCoverage, is_full=True),
    Behaviour: lambda: Behaviour(labels=np.array([0, 1, -1]), names=("a", TEXT), colours=("red", "blue")),
}
"""Results whose parts must fit each other."""

# --- which are no files ----------------------------------------------------------------------------------------------

NOT_IN_FILES: dict[object, str] = {
    Callable: "functions are code",
    Any: "what it holds is not said",
    list: "a list can be changed, and a result cannot",
    Sequence: "it may be a list",
    FilePath: "a path means nothing on another machine",
    xr.Dataset: "a recording has a format of its own",
    BaseModel: "settings are attributes of a file",
    Figure: "pictures have formats of their own",
    Division: "what a division is judged by; the tree keeps what is told of it",
    Gathered: "what goes into the statistics of runs",
    WormTruth: "parameters of a recording that is made anew from its seed",
}
"""Why something cannot be in a file, and with it all that holds it."""


def why_not(kind: Any) -> str:
    """Say why there is no file of a type; empty if there is one."""
    bases = [reason for unfit, reason in NOT_IN_FILES.items() if kind is unfit or is_a(kind, unfit)]
    parts = [part for hint in hints_of(kind).values() for part in parts_of(hint)] if is_dataclass(kind) else []
    return next((reason for reason in (*bases, *map(why_not, parts)) if reason), "")


def is_a(kind: object, other: object) -> bool:
    return (
        isinstance(kind, type)
        and isinstance(other, type)
        and other not in (Callable, Sequence)
        and issubclass(kind, other)
    )


def is_dataclass(kind: object) -> bool:
    return isinstance(kind, type) and dataclasses.is_dataclass(kind)


# --- the contract ----------------------------------------------------------------------------------------------------

FOUND = find_results()
RESULTS = [kind for kind in FOUND if not why_not(kind)]


@pytest.fixture(params=[True, False], ids=["full", "sparse"])
def is_full(request):
    return request.param


def each_result(function):
    names = [f"{kind.__module__.removeprefix('ethomarkov.')}.{kind.__name__}" for kind in RESULTS]
    return pytest.mark.parametrize("kind", RESULTS, ids=names)(function)


@each_result
def test_a_result_comes_back_equal_from_a_file(kind, is_full, tmp_path):
    made = make(kind, is_full)
    save_results(tmp_path / "r.nc", {"it": made}, {})
    found = load_result(tmp_path / "r.nc", "it", kind)
    assert digest(found) == digest(made) == digest(canonical(made))


@each_result
def test_equal_results_make_equal_bytes(kind, is_full, tmp_path):
    save_results(tmp_path / "a.nc", {"it": make(kind, is_full)}, {})
    save_results(tmp_path / "b.nc", {"it": load_result(tmp_path / "a.nc", "it", kind)}, {})
    assert (tmp_path / "a.nc").read_bytes() == (tmp_path / "b.nc").read_bytes()


@each_result
def test_a_flipped_byte_is_an_error_that_names_the_file(kind, tmp_path):
    save_results(tmp_path / "r.nc", {"it": make(kind, is_full=True)}, {})
    whole, draw = (tmp_path / "r.nc").read_bytes(), random.Random(kind.__name__)
    for place in draw.sample(range(len(whole)), 10):
        flipped = whole[place] ^ 1 << draw.randrange(8)
        (tmp_path / "r.nc").write_bytes(whole[:place] + bytes([flipped]) + whole[place + 1 :])
        with pytest.raises(InputFormatError, match=r"r\.nc: .*Make it again"):
            load_result(tmp_path / "r.nc", "it", kind)


CLASSIC = {"int8", "int16", "int32", "float32", "float64", "bytes8"}
"""Types of the classic model of netCDF; characters are bytes."""


def variables_in(group: h5py.Group) -> Iterator[h5py.Dataset]:
    """Give every variable of a file, mere lengths of dimensions left out."""
    for item in group.values():
        if isinstance(item, h5py.Group):
            yield from variables_in(item)
        elif not bytes(item.attrs.get("NAME", b"")).startswith(b"This is a netCDF dimension but not"):
            yield item


def is_classic(stored: h5py.AttributeManager, name: str) -> bool:
    """Tell whether an attribute is characters, numbers of classic netCDF, or one of the books that netCDF keeps."""
    kind = stored.get_id(name).dtype
    return kind.kind == "S" or kind.name in CLASSIC or name in ("DIMENSION_LIST", "REFERENCE_LIST")


@each_result
def test_any_reader_of_netcdf_takes_it_and_learns_what_it_is(kind, is_full, tmp_path):
    save_results(tmp_path / "r.nc", {"it": make(kind, is_full)}, {})
    with h5py.File(tmp_path / "r.nc") as file:
        for data in variables_in(file):
            assert data.dtype.name in CLASSIC, data.name
            assert data.attrs["units"], data.name
            assert len(data.attrs["long_name"]) > 2, data.name
            assert all(is_classic(data.attrs, name) for name in data.attrs), data.name
        groups = [file]
        file.visititems(lambda _, item: groups.append(item) if isinstance(item, h5py.Group) else None)
        assert all(is_classic(group.attrs, name) for group in groups for name in group.attrs)
    with xr.open_datatree(tmp_path / "r.nc", engine="h5netcdf") as tree:
        assert set(tree.children) == {"it"}


def test_the_results_are_found():
    """If the search found nothing, nothing would be tested."""
    names = {kind.__name__ for kind in RESULTS}
    assert names >= {"Series", "MarkovChain", "StateTree", "Interval", "AnimalRuns", "Runs", "CrossValidation"}
    assert names >= {"Foraging", "Validation", "Predictions", "Reconstruction", "Kinetics", "Ledger"}
    assert len(RESULTS) > 70


def test_what_is_no_file_has_a_reason():
    reasons = {kind.__name__: why_not(kind) for kind in FOUND if kind not in RESULTS}
    assert reasons["Recording"] == NOT_IN_FILES[xr.Dataset]
    assert set(NOT_IN_FILES.values()) >= set(reasons.values())
    assert len(reasons) < len(FOUND) / 5
