"""Results in a file and back."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Literal

import h5py
import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from ethomarkov._core.ledger import Ledger
from ethomarkov._core.result import array_field
from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov._core.series import Series
from ethomarkov.coarse import Cut, best_cut
from ethomarkov.exceptions import InputFormatError, OutputError
from ethomarkov.foraging import SweepSettings
from ethomarkov.foraging.states import ForageSettings, forage_states
from ethomarkov.io.digest import canonical, digest
from ethomarkov.io.results import load_attrs, load_result, load_results, save_results
from ethomarkov.io.seal import seal
from ethomarkov.locomotion import DragSettings, Trajectory
from ethomarkov.locomotion.ensemble import CrawlSettings
from ethomarkov.markov import MarkovChain, Spectrum, slow_spectrum
from ethomarkov.model.kinetics import state_kinetics
from ethomarkov.model.paths import reconstruct_paths
from ethomarkov.posture import PostureBasis
from ethomarkov.recording.measured import Measured
from ethomarkov.states import Microstates, Symbols
from ethomarkov.study import Settings, Study, run_study
from ethomarkov.study.study import KEPT
from ethomarkov.synthetic import simulate_worms
from ethomarkov.validation.checks import observe_animal
from ethomarkov.validation.runs import simulate_runs
from ethomarkov.validation.validate import predict


def make_series() -> Series:
    rows = np.random.default_rng(0).normal(size=(40, 3))
    rows[[3, 4, 20]] = np.nan
    return Series.from_rows(rows, 16.0, np.array([0, 25, 40]), ("ünï <b>", "worm 2"))


def make_symbols() -> Symbols:
    labels = np.random.default_rng(0).integers(0, 4, 60).astype(np.int32)
    labels[[7, 8]] = -1
    return Symbols(labels=labels, n_states=5, segments=Segments.from_valid(labels >= 0), sampling=Sampling(1 / 0.75))


def make_ring(n: int = 5) -> MarkovChain:
    """A chain that prefers one way round, so that its eigenvalues are complex."""
    counts = 6 * np.roll(np.eye(n), 1, axis=1) + 2 * np.eye(n) + 1
    return MarkovChain.from_counts(sparse.csr_array(counts), lag=0.75)


def make_path() -> Trajectory:
    series = make_series()
    steps = np.cumsum(np.nan_to_num(series.values[:, :2].astype(float)), axis=0)
    return Trajectory(
        centroid=steps, heading=steps[:, 0] / 3, segments=series.segments, sampling=series.sampling, length_unit="mm"
    )


MAKERS = {
    Series: make_series,
    Symbols: make_symbols,
    MarkovChain: make_ring,
    Spectrum: lambda: slow_spectrum(make_ring()),
    Cut: lambda: best_cut(make_ring(6)),
    Microstates: lambda: Microstates(
        centers=np.random.default_rng(0).normal(size=(4, 6)), visits=np.array([3, 0, 5, 1]), inertia=0.25
    ),
    PostureBasis: PostureBasis.analytic,
    Trajectory: make_path,
    Ledger: lambda: Ledger().note("step", ("a", "b"), "frames", np.array([5, 6]), np.array([4, 6]), reason="why – not"),
    Measured: lambda: Measured(
        centroid=np.array([[0.0, np.nan], [1.0, 2.0]]), body_length=np.array([0.7]), length_unit="", source="csv"
    ),
}


def assert_same(one: object, other: object, where: str = "result") -> None:
    """Compare two results part by part: types, dtypes, shapes and values."""
    assert type(one) is type(other), where
    if isinstance(one, np.ndarray):
        assert one.dtype == other.dtype, where
        np.testing.assert_array_equal(one, other, err_msg=where)
    elif isinstance(one, sparse.csr_array):
        assert one.shape == other.shape
        assert_same(one.toarray(), other.toarray(), where)
    elif dataclasses.is_dataclass(one) or isinstance(one, (dict, tuple)):
        assert list(parts_of(one)) == list(parts_of(other)), where
        for name, part in parts_of(one).items():
            assert_same(part, parts_of(other)[name], f"{where}.{name}")
    else:
        assert one == other or (one != one and other != other), where  # noqa: PLR0124 (NaN)


def parts_of(result: object) -> dict[object, object]:
    if dataclasses.is_dataclass(result):
        return {field.name: getattr(result, field.name) for field in dataclasses.fields(result)}
    return dict(enumerate(result)) if isinstance(result, tuple) else dict(result)


def arrays_of(result: object) -> list[np.ndarray]:
    found = []
    for field in dataclasses.fields(result):
        value = getattr(result, field.name)
        if isinstance(value, np.ndarray):
            found.append(value)
        elif dataclasses.is_dataclass(value):
            found += arrays_of(value)
    return found


@pytest.mark.parametrize("kind", MAKERS, ids=lambda kind: kind.__name__)
def test_every_result_comes_back_equal(tmp_path, kind):
    made = MAKERS[kind]()
    save_results(tmp_path / "r.nc", {"it": made}, {})
    assert_same(load_result(tmp_path / "r.nc", "it", kind), made)


@pytest.mark.parametrize("kind", [kind for kind in MAKERS if kind is not Ledger], ids=lambda kind: kind.__name__)
def test_loaded_arrays_are_read_only(tmp_path, kind):
    save_results(tmp_path / "r.nc", {"it": MAKERS[kind]()}, {})
    arrays = arrays_of(load_result(tmp_path / "r.nc", "it", kind))
    assert arrays
    assert not any(array.flags.writeable for array in arrays)


def test_the_spectrum_stays_complex(tmp_path):
    spectrum = slow_spectrum(make_ring())
    assert np.abs(spectrum.eigenvalues.imag).max() > 0.1
    save_results(tmp_path / "r.nc", {"spectrum": spectrum}, {})
    found = load_result(tmp_path / "r.nc", "spectrum", Spectrum).eigenvalues
    assert found.dtype == np.complex128
    np.testing.assert_array_equal(found, spectrum.eigenvalues)


def test_an_empty_ledger_comes_back_empty(tmp_path):
    save_results(tmp_path / "r.nc", {"ledger": Ledger()}, {})
    assert load_result(tmp_path / "r.nc", "ledger", Ledger) == Ledger()


def test_a_series_without_a_valid_frame_comes_back(tmp_path):
    series = Series.from_rows(np.full((5, 2), np.nan), 16.0)
    save_results(tmp_path / "r.nc", {"series": series}, {})
    assert_same(load_result(tmp_path / "r.nc", "series", Series), series)


def test_attributes_come_back_as_plain_values(tmp_path):
    attrs = {"schema": "x/1", "n": 3, "share": 0.25, "words": "é – 虫"}
    save_results(tmp_path / "r.nc", {"series": make_series()}, attrs)
    assert load_attrs(tmp_path / "r.nc") == attrs


def test_plain_xarray_opens_it(tmp_path):
    series, spectrum = make_series(), slow_spectrum(make_ring())
    save_results(tmp_path / "r.nc", {"postures": series, "spectrum": spectrum}, {"schema": "x/1"})
    with xr.open_dataset(tmp_path / "r.nc", group="postures", engine="h5netcdf") as stored:
        assert stored["values"].dims == ("frame", "component")
        np.testing.assert_array_equal(stored["values"].values, series.values)
    with xr.open_datatree(tmp_path / "r.nc", engine="h5netcdf") as tree:
        assert set(tree.children) == {"postures", "spectrum"}
        assert tree["spectrum"]["relaxation_times"].attrs["units"] == "s"
        assert tree["postures/segments"]["individuals"].values.tolist() == ["ünï <b>", "worm 2"]


def test_an_unknown_group_is_named_with_those_that_exist(tmp_path):
    save_results(tmp_path / "r.nc", {"postures": make_series()}, {})
    with pytest.raises(InputFormatError, match=r"r\.nc: holds no 'chain'; found postures"):
        load_result(tmp_path / "r.nc", "chain", MarkovChain)


def test_another_kind_is_refused(tmp_path):
    save_results(tmp_path / "r.nc", {"it": make_series()}, {})
    with pytest.raises(InputFormatError, match="holds 'Series'; a Symbols was asked for"):
        load_result(tmp_path / "r.nc", "it", Symbols)


def test_the_error_of_another_kind_names_the_file(tmp_path):
    save_results(tmp_path / "r.nc", {"it": make_series()}, {})
    with pytest.raises(InputFormatError, match=r"r\.nc"):
        load_result(tmp_path / "r.nc", "it", Symbols)


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt(), RuntimeError("x")])
def test_an_interrupted_write_leaves_the_old_file(tmp_path, monkeypatch, error):
    target = tmp_path / "r.nc"
    save_results(target, {"it": make_series()}, {"version": "old"})
    before = target.read_bytes()

    def half(self: FilePath, content: bytes) -> None:
        with self.open("wb") as stream:
            stream.write(before[: len(before) // 2])
        raise error

    monkeypatch.setattr(FilePath, "write_bytes", half)
    with pytest.raises((OutputError, KeyboardInterrupt, RuntimeError)):
        save_results(target, {"it": make_symbols()}, {"version": "new"})
    assert target.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["r.nc"]


def assert_same_study(one, two):
    for stage in KEPT:
        for name in stage.gives:
            assert_same(one.graph.result(name), two.graph.result(name))
    assert one.settings == two.settings


def test_a_study_comes_back_equal(tmp_path):
    made = simulate_worms(2, 60.0, seed=5)
    study = run_study(
        made.recording, Settings(n_delays=11, lag=0.75, n_states=8, n_walks=2, simulated_minutes=0.2), basis=made.basis
    )
    assert study.save(tmp_path) == tmp_path / "study.nc"
    assert_same_study(Study.load(tmp_path), study)


def test_a_study_without_basis_and_path_comes_back_equal(tmp_path):
    made = simulate_worms(2, 60.0, seed=5)
    study = run_study(made.recording, Settings(n_delays=11, lag=0.75, n_states=8, n_walks=2, simulated_minutes=0.2))
    assert study.basis is None
    assert study.path is None
    study.save(tmp_path)
    assert_same_study(Study.load(tmp_path), study)


finite = st.floats(-1e6, 1e6, width=32)
names = st.lists(
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1), min_size=1, max_size=3, unique=True
)


@st.composite
def animals(draw):
    individuals = tuple(draw(names))
    sizes = [draw(st.integers(1, 8)) for _ in individuals]
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    return individuals, offsets


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_any_series_comes_back_equal(tmp_path_factory, data):
    individuals, offsets = data.draw(animals())
    rows = data.draw(hnp.arrays(np.float32, (int(offsets[-1]), 2), elements=finite | st.just(np.nan)))
    series = Series.from_rows(rows, data.draw(st.floats(0.1, 1000)), offsets, individuals)
    path = tmp_path_factory.mktemp("series") / "r.nc"
    save_results(path, {"it": series}, {})
    assert_same(load_result(path, "it", Series), series)


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_any_symbols_come_back_equal(tmp_path_factory, data):
    individuals, offsets = data.draw(animals())
    labels = data.draw(hnp.arrays(np.int32, int(offsets[-1]), elements=st.integers(-1, 5)))
    segments = Segments.from_valid(labels >= 0, offsets, individuals)
    symbols = Symbols(labels=labels, n_states=6, segments=segments, sampling=Sampling(16.0))
    path = tmp_path_factory.mktemp("symbols") / "r.nc"
    save_results(path, {"it": symbols}, {})
    assert_same(load_result(path, "it", Symbols), symbols)


# --- plain values ----------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Inner:
    limit: float
    is_sure: bool


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Plain:
    """Every kind of plain value that a result may hold."""

    is_set: bool
    is_known: bool | None = None
    mirror: bool | Literal["auto"] = "auto"
    count: int = 0
    size: float = 0.0
    word: str = ""
    bounds: tuple[float, float] = (0.0, 1.0)
    numbers: tuple[int, ...] = ()
    flags: tuple[bool, ...] = ()
    words: tuple[str, ...] = ()
    maybe: float | None = None
    inner: Inner | None = None
    rows: tuple[Inner, ...] = ()


@pytest.mark.parametrize(
    "made",
    [
        Plain(is_set=True),
        Plain(is_set=False, count=-3, size=float("nan"), word="é – 虫"),
        Plain(is_set=True, bounds=(1.5, float("inf")), numbers=(3, -1, 2**40), flags=(True, False), words=("", "x y")),
        Plain(is_set=True, maybe=2.5, inner=Inner(limit=0.1, is_sure=False)),
        Plain(is_set=True, rows=(Inner(limit=1.0, is_sure=True), Inner(limit=-1.0, is_sure=False))),
        Plain(is_set=True, is_known=True, mirror=False),
        Plain(is_set=True, is_known=False),
    ],
    ids=["nothing set", "numbers", "tuples", "inner", "table", "known", "known not"],
)
def test_plain_values_come_back_with_their_types(tmp_path, made):
    save_results(tmp_path / "r.nc", {"it": made}, {})
    assert_same(load_result(tmp_path / "r.nc", "it", Plain), made)


@pytest.fixture(scope="module")
def small_study():
    made = simulate_worms(2, 60.0, seed=5)
    settings = Settings(
        n_delays=11, lag=0.75, n_states=8, n_walks=1, simulated_minutes=0.2, scan=False, n_resamples=0, n_behaviours=3
    )
    return run_study(made.recording, settings, basis=made.basis)


def test_kinetics_runs_and_reconstructions_come_back_equal(tmp_path, small_study):
    """Results within results, optional ones, tables and tuples of numbers."""
    lost = dataclasses.replace(small_study.measured, centroid=np.full_like(small_study.measured.centroid, np.nan))
    rule = CrawlSettings(duration=15.0, n_runs=2)
    made = {
        "kinetics": state_kinetics(small_study.model, 3),
        "runs": simulate_runs(small_study.model, small_study.model.animal(), rule),
        "measured": reconstruct_paths(small_study.model, DragSettings(window=10.0)),
        "unmeasured": reconstruct_paths(dataclasses.replace(small_study.model, measured=lost)),
    }
    assert made["runs"].diffusion is None
    assert made["measured"].drag is not None
    assert made["unmeasured"].measured is None
    save_results(tmp_path / "r.nc", made, {})
    found = load_results(tmp_path / "r.nc", {name: type(one) for name, one in made.items()})
    for name, one in made.items():
        assert_same(found[name], one, name)


def test_validations_and_foraging_come_back_equal(tmp_path, small_study):
    """Mappings of results, and tuples of results that hold arrays."""
    rule = ForageSettings(n_runs=2, seconds=15.0, sweep=SweepSettings(body_length=1.0))
    made = {
        "runs": observe_animal(small_study.model, 0, 2),
        "validation": small_study.compute("validation", n_runs=2, n_repeats=1, n_held_out=1),
        "predictions": predict(small_study.model, n_walks=2),
        "foraging": forage_states(small_study.model, 2, rule),
    }
    assert made["validation"].cross_validation
    save_results(tmp_path / "r.nc", made, {})
    found = load_results(tmp_path / "r.nc", {name: type(one) for name, one in made.items()})
    for name, one in made.items():
        assert_same(found[name], one, name)
        assert digest(found[name]) == digest(one) == digest(canonical(one))


# --- mappings and tuples ---------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    values: np.ndarray = array_field("split", "...")
    note: str | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    text: str
    number: float | None = None
    kind: Literal["a", "b"] = "a"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Every kind of mapping and tuple that a result may hold."""

    curves: Mapping[str, Curve] = dataclasses.field(default_factory=dict)
    arrays: Mapping[str, np.ndarray] = array_field("run", default_factory=dict)
    numbers: Mapping[str, float] = dataclasses.field(default_factory=dict)
    flags: Mapping[str, bool | None] = dataclasses.field(default_factory=dict)
    words: dict[str, str] | None = None
    deep: Mapping[str, Mapping[str, tuple[Curve, ...]]] | None = None
    many: tuple[Curve, ...] = ()
    rows: tuple[Remark, ...] = ()
    either: tuple[Curve | Remark, ...] = ()
    pair: tuple[Curve, Remark] | None = None
    table: tuple[tuple[float, ...], ...] = ()
    unlike: tuple[str, int, bool] | None = None
    gaps: tuple[float | None, ...] | None = None
    mixed: tuple[float, ...] = ()
    pictures: tuple[np.ndarray, ...] | None = array_field("split", "x", default=None)
    matrices: tuple[sparse.csr_array, ...] = ()
    waves: np.ndarray | None = array_field("many", default=None)
    more_waves: np.ndarray | None = array_field("many", default=None)


def curve(*shape: int, note: str | None = None) -> Curve:
    return Curve(values=np.random.default_rng(sum(shape)).normal(size=shape), note=note)


HOLDERS = {
    "nothing": Holder(),
    "mappings of results": Holder(curves={"z": curve(2), "": curve(2, 3), "a/b <ü>": curve(0, 1), "2": curve(1, 1, 1)}),
    "mappings of arrays": Holder(arrays={"one": np.arange(3), "two": np.arange(4.0), "three": np.empty(0)}),
    "mappings of plain values": Holder(numbers={"b": 0.1, "a": 2.0}, flags={"x": True, "y": None}, words={"k": ""}),
    "empty mappings": Holder(words={}, deep={}),
    "mappings of mappings": Holder(deep={"é": {"x": (curve(1), curve(2)), "y": ()}, "none": {}}),
    "results in a row": Holder(many=(curve(3), curve(2, 2, note="second"), curve(0))),
    "rows of a table": Holder(rows=(Remark(text="a", number=1.0, kind="b"), Remark(text="b", number=2.0))),
    "rows that are none": Holder(rows=(Remark(text="a", number=1.0), Remark(text="b"))),
    "results of two kinds": Holder(either=(curve(1), Remark(text="a")), pair=(curve(2), Remark(text="b", number=0.5))),
    "rows of one of two kinds": Holder(either=(Remark(text="a", number=1.0),)),
    "tuples of tuples": Holder(table=((1.0, 2.0), (), (3.0,)), unlike=("a", 3, True)),
    "numbers that are not one array": Holder(gaps=(None, 1.5, None), mixed=(1, 2.5)),
    "gaps without a gap": Holder(gaps=(0.5, 1.5)),
    "only gaps": Holder(gaps=(None, None)),
    "tuples of arrays": Holder(pictures=(np.eye(2), np.zeros((3, 2)), np.ones((2, 0)))),
    "tuples of matrices": Holder(matrices=(sparse.csr_array(np.eye(3)), sparse.csr_array((2, 4)))),
    "a dimension named as a group": Holder(many=(curve(3),), waves=np.array([1j]), more_waves=np.array([1, 1j])),
}


@pytest.mark.parametrize("made", HOLDERS.values(), ids=HOLDERS)
def test_mappings_and_tuples_come_back_equal(tmp_path, made):
    for name in ("a.nc", "b.nc"):
        save_results(tmp_path / name, {"it": made}, {})
    found = load_result(tmp_path / "a.nc", "it", Holder)
    assert_same(found, made)
    assert digest(found) == digest(made) == digest(canonical(made))
    assert (tmp_path / "a.nc").read_bytes() == (tmp_path / "b.nc").read_bytes()
    with xr.open_datatree(tmp_path / "a.nc", engine="h5netcdf") as tree:
        assert set(tree.children) == {"it"}


def test_mappings_keep_their_order(tmp_path):
    save_results(tmp_path / "r.nc", {"it": HOLDERS["mappings of results"]}, {})
    assert list(load_result(tmp_path / "r.nc", "it", Holder).curves) == ["z", "", "a/b <ü>", "2"]


def test_mappings_and_tuples_are_results_themselves(tmp_path):
    made = {"by name": {"x": curve(1), "y": curve(2)}, "all": (curve(3), curve(4)), "none": (), "plain": (1, 2)}
    kinds = {"by name": dict[str, Curve], "all": tuple[Curve, ...], "none": tuple[Curve, ...], "plain": tuple[int, ...]}
    save_results(tmp_path / "r.nc", made, {})
    assert_same(load_results(tmp_path / "r.nc", kinds), made)


def test_the_dimensions_of_a_mapping_are_those_of_its_field(tmp_path):
    save_results(tmp_path / "r.nc", {"it": HOLDERS["mappings of arrays"]}, {})
    with xr.open_dataset(tmp_path / "r.nc", group="it/arrays", engine="h5netcdf") as data:
        assert data["keys"].values.tolist() == ["one", "two", "three"]
        assert [data[name].dims for name in "012"] == [("run",), ("run_4",), ("run_0",)]


def test_further_dimensions_are_numbered(tmp_path):
    save_results(tmp_path / "r.nc", {"it": curve(4, 2, 3)}, {})
    with xr.open_dataset(tmp_path / "r.nc", group="it", engine="h5netcdf") as data:
        assert data["values"].dims == ("split", "axis_0", "axis_1")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Undeclared:
    value: object


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (np.zeros(2), "value: the dimensions of the array have no names; declare them with `array_field`"),
        (curve(), r"values: an array of shape \(\) is declared with split, \.\.\."),
        ({1: 2.0}, "value: a mapping in a file has keys of text, not 1"),
        ([1, 2], "value: a list is no result that a file can hold"),
        (len, "value: a builtin_function_or_method is no result"),
    ],
    ids=["no dimensions", "other dimensions", "keys", "list", "function"],
)
def test_what_a_file_cannot_hold_is_named(tmp_path, value, told):
    with pytest.raises(TypeError, match=told):
        save_results(tmp_path / "r.nc", {"it": Undeclared(value=value)}, {})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (dict[str, Remark], "holds 'sequence'; a mapping was asked for"),
        (tuple[Curve, Curve, Curve], "2 items are stored; 3 were asked for"),
        (tuple[Series, ...], "holds 'Curve'; a Series was asked for"),
        (Series | Symbols, "holds 'sequence'; a Series or Symbols was asked for"),
    ],
    ids=["a mapping", "more", "of another kind", "a union"],
)
def test_another_annotation_is_refused(tmp_path, asked, told):
    save_results(tmp_path / "r.nc", {"it": (curve(1), curve(2))}, {})
    with pytest.raises(InputFormatError, match=rf"r\.nc: .*{told}"):
        load_results(tmp_path / "r.nc", {"it": asked})


def test_a_table_with_other_columns_is_refused(tmp_path):
    save_results(tmp_path / "r.nc", {"it": (Inner(limit=1.0, is_sure=True),)}, {})
    with pytest.raises(InputFormatError, match=r"holds a table of limit, is_sure; other columns are needed"):
        load_results(tmp_path / "r.nc", {"it": tuple[Remark, ...]})


def test_an_item_that_is_missing_is_an_error(tmp_path):
    """A digest can be made to fit any content."""
    save_results(tmp_path / "r.nc", {"it": (curve(1), curve(2))}, {})
    with h5py.File(tmp_path / "r.nc", "r+") as file:
        file.move("it/1", "it/2")
    content = (tmp_path / "r.nc").read_bytes()
    (tmp_path / "r.nc").write_bytes(content + seal(content))
    with pytest.raises(InputFormatError, match=r"r\.nc: is not of this version"):
        load_results(tmp_path / "r.nc", {"it": tuple[Curve, ...]})


@settings(max_examples=25, deadline=None)
@given(words=st.dictionaries(st.text(st.characters(codec="utf-8", exclude_characters="\0")), st.integers(-9, 9)))
def test_any_text_is_a_key(tmp_path_factory, words):
    path = tmp_path_factory.mktemp("words") / "r.nc"
    save_results(path, {"it": words}, {})
    found = load_results(path, {"it": dict[str, int]})["it"]
    assert list(found.items()) == list(words.items())
