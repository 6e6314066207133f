"""Bouts of behaviour and the files that carry them to other programs."""

import csv
import itertools
import json

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov.exceptions import InputFormatError, OutputError
from ethomarkov.io.bouts import (
    BORIS_COLUMNS,
    CLOSED_END,
    attach_states,
    find_bouts,
    read_boris,
    states_dataset,
    to_intervals,
    write_boris,
    write_intervals,
)
from ethomarkov.recording import Recording, Track
from ethomarkov.states import Symbols

NAMES = ("run", "pirouette", "pause")
HOSTILE = ('a, "b"', "=1+1", "line\nbreak", " lead", "ümlaut;tab\t", "'quote", "NA", "carriage\rreturn", "-", "@x")


def symbols_of(labels, offsets=None, individuals=None, n_states=3, rate=16.0):
    labels = np.asarray(labels, dtype=np.int32)
    segments = Segments.from_valid(labels >= 0, None if offsets is None else np.array(offsets), individuals)
    return Symbols(labels=labels, n_states=n_states, segments=segments, sampling=Sampling(rate))


def two_worms():
    return symbols_of([0, 0, 1, -1, 1, 1, 1, 1, 0, 2], [0, 6, 10], ("left", "right"))


def listed(bouts):
    rows = zip(bouts.individual, bouts.state, bouts.start_row, bouts.stop_row, strict=True)
    return [tuple(map(int, row)) for row in rows]


def test_bouts_by_hand():
    bouts = find_bouts(two_worms(), NAMES)
    assert listed(bouts) == [(0, 0, 0, 2), (0, 1, 2, 3), (0, 1, 4, 6), (1, 1, 6, 8), (1, 0, 8, 9), (1, 2, 9, 10)]
    np.testing.assert_allclose(bouts.start * 16, [0, 2, 4, 0, 2, 3])
    np.testing.assert_allclose(bouts.stop * 16, [2, 3, 6, 2, 3, 4])
    np.testing.assert_allclose(bouts.duration * 16, [2, 1, 2, 2, 1, 1])
    assert len(bouts) == 6


@given(st.lists(st.integers(-1, 2), min_size=2, max_size=40), st.integers(1, 39))
def test_bouts_rebuild_the_labels(labels, edge):
    edge = min(edge, len(labels) - 1)
    symbols = symbols_of(labels, [0, edge, len(labels)])
    bouts = find_bouts(symbols, NAMES)
    rebuilt = np.full(len(labels), -1)
    for individual, state, start, stop in listed(bouts):
        assert symbols.segments.row_individual[start] == symbols.segments.row_individual[stop - 1] == individual
        assert (rebuilt[start:stop] == -1).all()
        rebuilt[start:stop] = state
    np.testing.assert_array_equal(rebuilt, labels)
    stays = [label for part in (labels[:edge], labels[edge:]) for label, _ in itertools.groupby(part) if label >= 0]
    assert [state for _, state, _, _ in listed(bouts)] == stays


def test_bouts_of_one_animal_only():
    assert listed(find_bouts(two_worms().mask(1), NAMES)) == [(1, 1, 6, 8), (1, 0, 8, 9), (1, 2, 9, 10)]


def test_nothing_is_found_in_nothing():
    bouts = find_bouts(symbols_of([-1, -1]), NAMES)
    assert len(bouts) == 0
    assert to_intervals(bouts)["0"]["run"][0].size == 0


def test_names_must_fit():
    with pytest.raises(InputFormatError, match="2 names for 3 states"):
        find_bouts(two_worms(), NAMES[:2])
    with pytest.raises(InputFormatError, match="Two states are named 'run'"):
        find_bouts(two_worms(), ("run", "run", "pause"))


def test_boris_table(tmp_path):
    file = write_boris(find_bouts(two_worms(), NAMES), tmp_path / "bouts.csv")
    table = pd.read_csv(file)
    assert tuple(table.columns) == BORIS_COLUMNS
    assert list(table["Behavior"]) == ["run", "pirouette", "pirouette", "pirouette", "run", "pause"]
    assert set(table["Behavior type"]) == {"STATE"}
    np.testing.assert_allclose(table["Stop (s)"] - table["Start (s)"], table["Duration (s)"])
    np.testing.assert_allclose(table["Start (s)"], np.array([0, 2, 4, 0, 2, 3]) / 16)
    np.testing.assert_allclose(table["Media duration (s)"], np.repeat([6, 4], 3) / 16)
    np.testing.assert_allclose(
        table["Observation duration by subject by observation"], np.repeat([5, 4], 3) / 16, atol=1e-6
    )
    assert list(table["Image index start"]) == [0, 2, 4, 0, 2, 3]
    assert [path.name for path in tmp_path.iterdir()] == ["bouts.csv"]


def same(one, other):
    assert listed(one) == listed(other)
    assert (one.names, one.individuals, one.sampling) == (other.names, other.individuals, other.sampling)
    np.testing.assert_array_equal(one.offsets, other.offsets)


def test_boris_round_trip(tmp_path):
    bouts = find_bouts(two_worms(), NAMES)
    same(read_boris(write_boris(bouts, tmp_path / "bouts.csv"), names=NAMES), bouts)
    assert read_boris(tmp_path / "bouts.csv").names == ("run", "pirouette", "pause")


def test_hostile_names_survive(tmp_path):
    n = len(HOSTILE)
    animals = ('"worm", 1', "=cmd|' /C calc'!A0")
    symbols = symbols_of([*range(n), *range(n)], [0, n, 2 * n], animals, n_states=n)
    bouts = find_bouts(symbols, HOSTILE)
    same(read_boris(write_boris(bouts, tmp_path / "bouts.csv"), names=HOSTILE), bouts)


def test_no_cell_of_boris_is_a_formula(tmp_path):
    bouts = find_bouts(symbols_of([0, 1], individuals=("@worm",), n_states=2), ("=1+1", "-2+3"))
    file = write_boris(bouts, tmp_path / "bouts.csv")
    with file.open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    assert [(row["Subject"], row["Behavior"]) for row in rows] == [("'@worm", "'=1+1"), ("'@worm", "'-2+3")]


@settings(max_examples=30)
@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip), min_size=1, unique=True)
)
def test_any_names_survive(tmp_path_factory, names):
    bouts = find_bouts(symbols_of(range(len(names)), n_states=len(names), rate=29.97), names)
    same(read_boris(write_boris(bouts, tmp_path_factory.mktemp("boris") / "bouts.csv"), names=names), bouts)


def boris_file(tmp_path, *rows, columns=("Observation id", "Subject", "Behavior", "Behavior type", "Start (s)",
                                        "Stop (s)", "FPS (frame/s)")):  # fmt: skip
    file = tmp_path / "scored.csv"
    with file.open("w", newline="", encoding="utf-8") as handle:
        csv.writer(handle).writerows([columns, *rows])
    return file


def test_tables_scored_by_hand(tmp_path):
    """BORIS sorts by behaviour, writes milliseconds, and mixes in point events."""
    file = boris_file(
        tmp_path,
        ("o", "w", "run", "STATE", "1.067", "2.000", "30.000"),
        ("o", "w", "sniff", "POINT", "1.500", "1.500", "30.000"),
        ("o", "w", "turn", "STATE", "0.000", "1.067", "30.000"),
    )
    bouts = read_boris(file)
    assert bouts.names == ("run", "turn")
    assert listed(bouts) == [(0, 1, 0, 32), (0, 0, 32, 60)]
    assert listed(read_boris(file, sampling_rate=15.0)) == [(0, 1, 0, 16), (0, 0, 16, 30)]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("o", "w", "sniff", "POINT", "1", "1", "30")], "holds no state events"),
        ([("o", "w", "run", "STATE", "1", "NA", "30")], r"Stop \(s\) of 'run' is 'NA'"),
        ([("o", "w", "run", "STATE", "1", "2", "NA")], "states the frame rates 'NA'"),
        ([("o", "w", "run", "STATE", "1", "2", "30"), ("p", "w", "run", "STATE", "1", "2", "30")], "several observ"),
    ],
)
def test_tables_that_cannot_be_read(tmp_path, rows, message):
    with pytest.raises(InputFormatError, match=message):
        read_boris(boris_file(tmp_path, *rows))


def test_other_tables_are_refused(tmp_path):
    with pytest.raises(InputFormatError, match="lacks the columns Subject, Behavior, Behavior type"):
        read_boris(boris_file(tmp_path, ("1", "2"), columns=("a1", "a2")))
    with pytest.raises(InputFormatError, match="holds the behaviours 'run', which are not among the names 'fly'"):
        read_boris(boris_file(tmp_path, ("o", "w", "run", "STATE", "1", "2", "30")), names=["fly"])


def test_unwritable_places(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(OutputError):
        write_boris(find_bouts(two_worms(), NAMES), tmp_path / "taken" / "bouts.csv")


def test_intervals_hold_the_frames_of_their_bouts_and_no_other():
    symbols = two_worms()
    intervals = to_intervals(find_bouts(symbols, NAMES))
    assert list(intervals) == ["left", "right"]
    for i, animal in enumerate(intervals):
        first, stop = symbols.segments.offsets[i : i + 2]
        time = np.arange(stop - first) / 16
        for state, name in enumerate(NAMES):
            start, end = intervals[animal][name]
            inside = ((time[:, None] >= start) & (time[:, None] <= end)).any(axis=1)
            np.testing.assert_array_equal(inside, symbols.labels[first:stop] == state)


def test_interval_files(tmp_path):
    symbols = symbols_of([0, 1, 1, 0], [0, 2, 4], ("a:b", "A b"))
    files = write_intervals(find_bouts(symbols, NAMES), tmp_path / "intervals")
    assert [file.name for file in files] == ["a_b.npz", "A_b_2.npz"]
    with np.load(files[1]) as stored:
        assert stored["type"].tolist() == ["IntervalSet"]
        assert stored["state"].tolist() == ["pirouette", "run"]
        np.testing.assert_allclose(stored["start"], [0, 1 / 16])
        np.testing.assert_allclose(stored["end"], np.array([1, 2]) / 16 - CLOSED_END)


@pytest.mark.filterwarnings("default::DeprecationWarning")
def test_pynapple_reads_the_files(tmp_path):
    nap = pytest.importorskip("pynapple")
    symbols = two_worms()
    for i, file in enumerate(write_intervals(find_bouts(symbols, NAMES), tmp_path)):
        intervals = nap.load_file(str(file))
        assert isinstance(intervals, nap.IntervalSet)
        first, stop = symbols.segments.offsets[i : i + 2]
        labels = symbols.labels[first:stop]
        frames = nap.Tsd(t=np.arange(stop - first) / 16, d=labels)
        for state, name in enumerate(NAMES):
            kept = frames.restrict(intervals[np.asarray(intervals["state"]) == name])
            assert len(kept) == np.sum(labels == state)
            assert (np.asarray(kept.values) == state).all()


def test_a_table_of_bouts_tells_which_ends_were_not_seen():
    """A bout is complete where another begins and ends beside it; gaps and the ends of a recording hide the rest."""
    table = find_bouts(two_worms(), NAMES).table()
    rows = table[["individual", "state", "start", "stop", "censored_start", "censored_end"]]
    assert list(rows.itertuples(index=False, name=None)) == [
        ("left", "run", 0.0, 2 / 16, True, False),
        ("left", "pirouette", 2 / 16, 3 / 16, False, True),
        ("left", "pirouette", 4 / 16, 6 / 16, True, True),
        ("right", "pirouette", 0.0, 2 / 16, True, False),
        ("right", "run", 2 / 16, 3 / 16, False, False),
        ("right", "pause", 3 / 16, 4 / 16, False, True),
    ]
    assert table["censored"].tolist() == [True, True, True, True, False, True]
    assert table.attrs["units"] == {"start": "s", "stop": "s", "duration": "s"}


def test_a_table_without_bouts_has_its_columns():
    table = find_bouts(symbols_of([-1, -1]), NAMES).table()
    assert len(table) == 0
    assert "censored_end" in table


def test_pynapple_objects_hold_the_frames_of_their_bouts():
    nap = pytest.importorskip("pynapple", reason="pynapple is not installed (extra peers)")
    symbols = two_worms()
    for i, (name, intervals) in enumerate(find_bouts(symbols, NAMES).to_pynapple().items()):
        first, stop = symbols.segments.offsets[i : i + 2]
        labels = symbols.labels[first:stop]
        assert name == symbols.segments.individuals[i]
        frames = nap.Tsd(t=np.arange(stop - first) / 16, d=labels)
        for state, word in enumerate(NAMES):
            kept = frames.restrict(intervals[intervals["state"] == word])
            assert np.asarray(kept.values).tolist() == labels[labels == state].tolist()


def test_pynapple_takes_an_animal_without_bouts():
    pytest.importorskip("pynapple", reason="pynapple is not installed (extra peers)")
    (intervals,) = find_bouts(symbols_of([-1, -1]), NAMES).to_pynapple().values()
    assert len(intervals) == 0


def test_dataset_of_states():
    dataset = states_dataset(two_worms(), NAMES)
    assert dataset["state"].dims == ("time", "individual")
    assert dataset["state"].sel(individual="left").values.tolist() == [0, 0, 1, -1, 1, 1]
    assert dataset["state"].sel(individual="right").values.tolist() == [1, 1, 0, 2, -1, -1]
    assert dataset["state"].attrs["flag_values"].tolist() == [-1, 0, 1, 2]
    assert dataset["state"].attrs["flag_meanings"] == "missing run pirouette pause"
    np.testing.assert_allclose(dataset["time"], np.arange(6) / 16)


def test_dataset_keeps_names_and_goes_through_a_file(tmp_path):
    symbols = symbols_of([0, 1], n_states=2)
    dataset = states_dataset(symbols, ("fast wide run", 'b "c"'))
    assert dataset["state"].attrs["flag_meanings"].split() == ["missing", "fast_wide_run", "b_c"]
    dataset.to_netcdf(tmp_path / "states.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "states.nc", engine="h5netcdf") as stored:
        xr.testing.assert_identical(stored.load(), dataset)
        assert json.loads(stored["state"].attrs["state_names"]) == ["fast wide run", 'b "c"']


def late_recording():
    rng = np.random.default_rng(0)
    tracks = [
        Track(individual="left", values=rng.normal(size=(6, 2)), time=2 + np.arange(6) / 16),
        Track(individual="right", values=rng.normal(size=(4, 2)), time=2.25 + np.arange(4) / 16),
    ]
    return Recording.from_tracks(tracks, kind="amplitude", sampling_rate=16.0)


def test_dataset_at_true_times():
    dataset = states_dataset(two_worms(), NAMES, late_recording())
    np.testing.assert_allclose(dataset["time"], 2 + np.arange(8) / 16)
    assert dataset["state"].sel(individual="right").values.tolist() == [-1, -1, -1, -1, 1, 1, 0, 2]
    with pytest.raises(InputFormatError, match="10 frames of 2 animals, the states 2 of 1"):
        states_dataset(symbols_of([0, 1]), NAMES, late_recording())


def poses(dim, time, unit):
    return xr.Dataset(
        {"position": (("time", "space", dim), np.zeros((len(time), 2, 2)))},
        coords={"time": time, "space": ["x", "y"], dim: ["right", "stranger"]},
        attrs={"time_unit": unit, "ds_type": "poses"},
    )


@pytest.mark.parametrize("dim", ["individual", "individuals"])
@pytest.mark.parametrize(("unit", "scale"), [("seconds", 1 / 16), ("frames", 1)])
def test_states_are_attached_to_poses(dim, unit, scale):
    attached = attach_states(poses(dim, np.arange(1, 7) * scale, unit), states_dataset(two_worms(), NAMES))
    assert attached["state"].dims == ("time", dim)
    assert attached["state"].values.T.tolist() == [[1, 0, 2, -1, -1, -1], [-1] * 6]
    assert attached["state"].attrs["flag_meanings"] == "missing run pirouette pause"
    assert attached["position"].where(attached["state"] == 1, drop=True).sizes["time"] == 1


def test_poses_of_other_animals_are_refused():
    states = states_dataset(symbols_of([0, 1, 2], individuals=("w",)), NAMES)
    with pytest.raises(InputFormatError, match="The poses are of right, stranger, the states of w"):
        attach_states(poses("individual", np.arange(3.0), "frames"), states)
    with pytest.raises(InputFormatError, match="time and individual are needed"):
        attach_states(xr.Dataset({"x": ("time", [1.0])}), states)
