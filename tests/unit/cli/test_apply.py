"""`ethomarkov apply`: files, words and exit codes."""

import csv
from pathlib import Path

import numpy as np
import pytest

from ethomarkov.io import read, write_recording
from ethomarkov.io.results import load_result
from ethomarkov.model.application import QUANTITIES, Application, apply_model
from ethomarkov.recording import Recording, Track
from ethomarkov.study import Study
from ethomarkov.study.source import MemorySource
from ethomarkov.study.store import Store

PARTS = ["application.csv", "results"]


def names_in(directory) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def result_in(directory) -> Path:
    """Give the one result that is kept in a directory."""
    (file,) = (directory / "results").iterdir()
    assert file.name.startswith("application-")
    return file


def table_in(directory) -> list[dict[str, str]]:
    with (directory / "application.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def scaled(recording: Recording, factor: float) -> Recording:
    offsets = recording.segments.offsets
    tracks = [
        Track(individual=f"[red] {name}", values=factor * recording.values[offsets[i] : offsets[i + 1]])
        for i, name in enumerate(recording.individuals)
    ]
    return Recording.from_tracks(tracks, kind="amplitude", sampling_rate=16.0)


def test_apply_writes_both_files_and_says_that_all_is_covered(cli, finished_study, files, tmp_path):
    code, out, err = cli("apply", finished_study.directory, files["nc"], "--out", tmp_path / "a", "--threads", 1)
    assert (code, err) == (0, "")
    assert names_in(tmp_path / "a") == PARTS
    assert "The model covers all 2 animals." in out
    assert str(tmp_path / "a" / "application.csv") in out
    assert f"labels of all frames are in {tmp_path / 'a' / 'results'}." in out
    assert "training" in out
    assert "nan" not in out


def test_the_files_hold_what_python_gives(cli, finished_study, files, tmp_path):
    assert cli("apply", finished_study.directory, files["csv"], "--out", tmp_path, "--quiet") == (0, "", "")
    whole = Study.load(finished_study.directory)
    expected = apply_model(whole.model, read(files["csv"]))
    found = load_result(result_in(tmp_path), "application/application", Application)
    np.testing.assert_array_equal(found.symbols.labels, expected.symbols.labels)
    # it says of which model and of which recordings it is, and the study itself is left as it was
    entry = Store(tmp_path).variants("application")[0]
    assert entry.needs["model"] == whole.graph.entry("model").digests["model"]
    assert entry.needs["applied"] == MemorySource(read(files["csv"])).content_digest()
    assert not (finished_study.directory / "results").exists()
    rows = table_in(tmp_path)
    assert [row["individual"] for row in rows] == list(expected.individuals)
    assert [row["flag"] for row in rows] == list(expected.flag)
    assert [int(row["frames"]) for row in rows] == expected.frames.tolist()
    for name in QUANTITIES:
        np.testing.assert_allclose([float(row[name]) for row in rows], getattr(expected, name), rtol=1e-5, atol=1e-12)
    shares = [[float(row[f"share_{name}"]) for name in ("run", "pirouette")] for row in rows]
    np.testing.assert_allclose(np.sum(shares, axis=1), 1.0, atol=1e-5)


def test_animals_outside_are_named_with_the_reason(cli, finished_study, worms, tmp_path):
    source = write_recording(scaled(worms.recording, 5.0), tmp_path / "large.nc")
    code, out, err = cli("apply", finished_study.directory, source, "--out", tmp_path / "a")
    assert (code, err) == (0, "")
    assert "The model covers 0 of 2 animals; 0 borderline, 2 outside." in out
    assert "[red] worm_00 (outside): " in out
    assert "times as far from their microstates" in out
    assert [row["flag"] for row in table_in(tmp_path / "a")] == ["outside", "outside"]


def test_animals_too_short_leave_empty_cells(cli, finished_study, worms, tmp_path):
    values = worms.recording.values
    tracks = [Track(individual="long", values=values[:1900]), Track(individual="short", values=values[:5])]
    source = Recording.from_tracks(tracks, kind="amplitude", sampling_rate=16.0)
    write_recording(source, tmp_path / "r.nc")
    code, out, err = cli("apply", finished_study.directory, tmp_path / "r.nc", "--out", tmp_path / "a")
    assert (code, err) == (0, "")
    assert "short (borderline): Too short" in out
    assert "nan" not in out
    assert table_in(tmp_path / "a")[1]["log_likelihood"] == ""


def test_another_rate_names_the_remedy_which_works(cli, finished_study, files, tmp_path):
    assert cli("convert", files["nc"], "--resample", 20, "--out", tmp_path / "faster.nc")[0] == 0
    arguments = ("apply", finished_study.directory, tmp_path / "faster.nc", "--out", tmp_path / "a")
    code, out, err = cli(*arguments)
    assert code == 2
    assert "--resample 16" in err
    assert "Traceback" not in out + err
    assert not (tmp_path / "a").exists()
    assert cli(*arguments, "--resample", 16, "--quiet")[0] == 0
    assert names_in(tmp_path / "a") == PARTS


@pytest.fixture
def in_tmp_path(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("nowhere", "{nc}", "--out", "a"), "no study there"),
        (("{study}", "missing.csv", "--out", "a"), "missing.csv"),
        (("{study}", "{position}", "--out", "a"), "basis"),
        (("{study}", "--out", "a"), "files"),
        (("{study}", "{nc}"), "--out"),
        (("{study}", "{nc}", "--out", "a", "--threads", "0"), "--threads"),
    ],
)
@pytest.mark.usefixtures("in_tmp_path")
def test_mistakes_end_with_one_message(cli, finished_study, files, tmp_path, arguments, named):
    places = {"study": finished_study.directory, **files}
    code, out, err = cli("apply", *(argument.format(**places) for argument in arguments))
    assert code == 2
    assert named in err.lower()
    assert "Traceback" not in out + err
    assert list(tmp_path.iterdir()) == []


def test_nothing_half_written_stays_when_the_second_file_fails(cli, finished_study, files, tmp_path, monkeypatch):
    def fail(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("ethomarkov.study.store.save_results", fail)
    code, _out, err = cli("apply", finished_study.directory, files["nc"], "--out", tmp_path)
    assert code == 2
    assert "No space left" in err
    assert list(tmp_path.iterdir()) == []
