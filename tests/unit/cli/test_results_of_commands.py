"""Results that commands leave behind: computed once, of one study, shown by every view of it."""

import contextlib
import re
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest

from ethomarkov.exceptions import OutputError
from ethomarkov.io import write_recording
from ethomarkov.paper.results import open_results
from ethomarkov.recording import Recording, Track
from ethomarkov.report.page import held_sections
from ethomarkov.study import Study

BRIEF = ("--delays", 11, "--lag", 0.75, "--microstates", 12, "--walks", 2, "--simulated-minutes", 0.5, "--threads", 1)
SECTIONS = {
    "states": ("Kinetics", "Postures of the states"),
    "simulate": ("How far simulated animals get", "Diffusion, animal by animal"),
    "path": ("The drag ratio",),
    "validate": ("Agreement",),
    "forage": ("Foraging",),
}
"""What each command adds to the report."""
ANALYSES = {
    "kinetics": ("kinetics", {}),
    "simulate": ("runs", {"n_runs": 2, "minutes": 8.0}),
    "path": ("reconstruction", {"window": 20.0, "n_windows": 3}),
    "validate": ("validation", {"n_runs": 3}),
    "forage": ("foraging", {"level": 2, "n_runs": 3, "seconds": 10.0}),
}
"""The same asked from Python."""
NOTHING = contextlib.nullcontext()
ESTIMATORS = (
    "choose_model",
    "scan_lags",
    "noise_floor",
    "map_sequences",
    "state_kinetics",
    "dwell_laws",
    "run_animals",
    "run_states",
    "reconstruct_paths",
    "forage_states",
    "observe_animals",
    "predict",
    "cross_validate_model",
)
"""All that the commands compute with."""


def headings(directory: Path) -> list[str]:
    """List the sections of a report."""
    return re.findall("<h2>(.*?)</h2>", (directory / "report.html").read_text(encoding="utf-8"))


def shown_in(directory: Path) -> set[str]:
    """List the sections that a report would have."""
    return set(held_sections(open_results(directory)))


def forbid(patch: pytest.MonkeyPatch, *places: str) -> None:
    def computed(*_: object, **__: object) -> None:
        raise AssertionError("this is computed again")

    for place in places:
        patch.setattr(place, computed)


# --- shown, whoever asked ---------------------------------------------------------------------------------------------


def test_every_command_adds_its_section(asked):
    expected: set[str] = set()
    for command, shown in asked.sections.items():
        expected |= set(SECTIONS.get(command, ()))
        assert set(shown) == expected, command


def test_quiet_commands_say_nothing(asked):
    assert asked.said == dict.fromkeys(asked.said, (0, "", ""))


def test_the_report_shows_what_all_commands_found(cli, asked, no_pictures, tmp_path):
    page = tmp_path / "report.html"
    code, out, err = cli("report", asked.directory, "--out", page)
    assert (code, err) == (0, "")
    assert f"Open {page}; it needs nothing else with 7 sections of other commands." in out
    found = headings(tmp_path)
    assert {title for titles in SECTIONS.values() for title in titles} <= set(found)


@pytest.mark.usefixtures("no_figures")
def test_the_report_shows_what_was_asked_from_python(cli, study):
    """Each result as soon as it is there, in the same directory and in no other place."""
    assert shown_in(study.directory) == set()
    expected: set[str] = set()
    for command, (name, options) in ANALYSES.items():
        whole = Study.load(study.directory)
        levels = [{"level": level} for level in (2, whole.finest)] if name == "kinetics" else [{}]
        for more in levels:
            whole.compute(name, **options, **more)
        expected |= set(SECTIONS["states" if name == "kinetics" else command])
        assert shown_in(study.directory) == expected
    code, _, err = cli("report", study.directory)
    assert (code, err) == (0, "")
    assert expected <= set(headings(study.directory))
    # and the command that asks for the same takes it from there
    with pytest.MonkeyPatch.context() as patch:
        forbid(patch, "ethomarkov.study.analyses.forage_states")
        options = ("--level", 2, "--runs", 3, "--seconds", 10, "--quiet")
        assert cli("forage", study.directory, *options) == (0, "", "")


def test_a_run_again_shows_them_too(cli, asked, files, basis_file, no_pictures, tmp_path):
    """The report that `run` writes is the one that `report` writes."""
    directory = Path(shutil.copytree(asked.directory, tmp_path / "study"))
    options = ("--basis", basis_file, "--states", 2, "--settings", directory / "settings.toml", "--quiet")
    assert cli("run", files["nc"], "--out", directory, *options) == (0, "", "")
    assert set(headings(directory)) >= {title for titles in SECTIONS.values() for title in titles}


# --- computed once ----------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_figures")
def test_asked_again_nothing_is_computed(cli, asked, everything, monkeypatch, tmp_path):
    directory = Path(shutil.copytree(asked.directory, tmp_path / "study"))
    before = {file: file.read_bytes() for file in directory.rglob("*.nc")}
    tables = {file: file.read_bytes() for file in directory.rglob("*.csv")}
    forbid(monkeypatch, *(f"ethomarkov.study.analyses.{name}" for name in ESTIMATORS))
    began = []
    monkeypatch.setattr("ethomarkov.study.graph.Graph._log", lambda _, stage, key: began.append(stage.name) or NOTHING)
    for name, arguments in everything(directory).items():
        assert cli(*arguments) == (0, "", ""), name
    assert began == ["published_dwell_law"]  # which the tests leave out, so that it is not kept
    assert {file: file.read_bytes() for file in directory.rglob("*.nc")} == before
    assert {file: file.read_bytes() for file in directory.rglob("*.csv")} == tables


@pytest.mark.usefixtures("no_figures")
def test_more_runs_compute_only_what_they_need(cli, validated, monkeypatch, tmp_path):
    """More repeats of cross-validation leave runs and predictions as they are."""
    directory = validated.copy_to(tmp_path / "study")
    forbid(monkeypatch, "ethomarkov.study.analyses.observe_animals", "ethomarkov.study.analyses.predict")
    options = ("--runs", 5, "--repeats", 1, "--threads", 1, "--quiet")
    assert cli("validate", directory, *options) == (0, "", "")
    assert Study.load(directory).held("held_out_splits", n_held_out=1) is not None


@pytest.mark.usefixtures("no_figures")
def test_another_seed_is_another_result(cli, foraged, tmp_path):
    directory = foraged.copy_to(tmp_path / "study")
    options = ("--level", 2, "--runs", 4, "--seconds", 15, "--threads", 1, "--quiet")
    assert cli("forage", directory, *options, "--seed", 5) == (0, "", "")
    whole = Study.load(directory)
    own, other = (whole.held("foraging", seed=seed).coverage.share for seed in (0, 5))
    assert not np.array_equal(own, other)


@pytest.mark.usefixtures("no_figures")
def test_an_interrupt_keeps_what_was_complete(cli, finished_study, tmp_path):
    directory = finished_study.copy_to(tmp_path / "study")

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    options = ("--runs", 3, "--threads", 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ethomarkov.study.analyses.predict", interrupt)
        code, out, err = cli("validate", directory, *options)
    assert code == 130
    assert "type it again" in err
    assert "Traceback" not in out + err
    assert [file.name.rpartition("-")[0] for file in (directory / "results").iterdir()] == ["animal_runs"]
    assert not (directory / "validation").exists()
    with pytest.MonkeyPatch.context() as patch:
        forbid(patch, "ethomarkov.study.analyses.observe_animals")
        assert cli("validate", directory, *options, "--quiet") == (0, "", "")


# --- studies that may only be read ------------------------------------------------------------------------------------


@pytest.fixture
def read_only(finished_study, monkeypatch) -> Path:
    """A study into which nothing can be written, also by those who may write anywhere."""
    directory = finished_study.directory

    def refuse(asked: Path) -> None:
        if asked.is_relative_to(directory):
            raise OutputError(f"{asked}: results cannot be written there. Choose another directory with --out.")

    monkeypatch.setattr("ethomarkov.io.atomic.check_writable", refuse)
    return directory


@pytest.mark.usefixtures("no_figures")
def test_results_of_a_study_that_may_only_be_read_go_to_out(cli, read_only, tmp_path):
    before = sorted(read_only.rglob("*"))
    options = ("--level", 2, "--runs", 2, "--seconds", 10, "--threads", 1)
    code, out, err = cli("forage", read_only, *options)
    assert code == 2
    assert "--out" in err
    code, out, err = cli("forage", read_only, *options, "--out", tmp_path / "food")
    assert (code, err) == (0, "")
    assert f"Results are in {tmp_path / 'food' / 'results'}." in out
    assert (tmp_path / "food" / "forage.csv").is_file()
    assert len(list((tmp_path / "food" / "results").glob("foraging-*.nc"))) == 1
    page = tmp_path / "page" / "explorer.html"
    assert cli("explore", read_only, "--method", "pca", "--out", page, "--quiet") == (0, "", "")
    assert sorted(file.name for file in page.parent.iterdir()) == ["explorer.html", "results"]
    assert cli("states", read_only, "--states", 2, "--out", tmp_path / "states")[0] == 2
    assert not (tmp_path / "states").exists()
    assert sorted(read_only.rglob("*")) == before


# --- of one study -----------------------------------------------------------------------------------------------------


@pytest.fixture
def others(recordings, tmp_path) -> Path:
    """A file of other animals, which have the same names."""
    first = recordings["amplitude"]
    offsets = first.segments.offsets
    tracks = [
        Track(individual=name, values=first.values[offsets[i] : offsets[i + 1]][::-1].copy())
        for i, name in enumerate(first.individuals)
    ]
    recording = Recording.from_tracks(tracks, kind="amplitude", sampling_rate=16.0)
    return write_recording(recording, tmp_path / "others.nc")


@pytest.mark.usefixtures("no_pictures", "no_figures")
def test_food_of_other_animals_enters_no_report(cli, foraged, files, others, basis_file, tmp_path):
    directory = foraged.copy_to(tmp_path / "study")
    first = Study.load(directory).held("foraging")

    def run(file: Path) -> tuple[int, str, str]:
        return cli("run", file, "--basis", basis_file, "--out", directory, *BRIEF, "--quiet")

    assert cli("report", directory)[0] == 0
    assert "Foraging" in headings(directory)
    assert run(others) == (0, "", "")
    assert "Foraging" not in headings(directory)
    code, out, err = cli("report", directory)
    assert (code, err) == (0, "")
    assert f"{directory / 'results'}: results of foraging are of another study" in out
    assert "Foraging" not in headings(directory)
    assert Study.load(directory).held("foraging") is None
    assert "`ethomarkov forage STUDY`" in cli("figures", directory, "--only", "5", "--threads", 1)[1]
    # their own is shown, and that of the first animals when these come back
    options = ("--level", 2, "--runs", 4, "--seconds", 15, "--threads", 1, "--quiet")
    assert cli("forage", directory, *options) == (0, "", "")
    assert shown_in(directory) == {"Foraging"}
    own = Study.load(directory).held("foraging").coverage.share
    assert not np.array_equal(own, first.coverage.share)
    assert run(files["nc"]) == (0, "", "")
    assert "Foraging" in headings(directory)
    np.testing.assert_array_equal(Study.load(directory).held("foraging").coverage.share, first.coverage.share)


def test_a_damaged_result_is_not_shown_and_asked_again_it_is_mended(cli, foraged, no_figures, tmp_path):
    directory = foraged.copy_to(tmp_path / "study")
    (file,) = (directory / "results").iterdir()
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    with pytest.warns(match="is damaged or of an older version"):
        assert Study.load(directory).held("foraging") is None
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        options = ("--level", 2, "--runs", 4, "--seconds", 15, "--threads", 1, "--quiet")
        code, _, err = cli("forage", directory, *options)
    assert code == 0
    assert err == f"note: {file}: is damaged or of an older version; what it held is computed again.\n"
    assert file.stat().st_size == len(whole)
    assert Study.load(directory).held("foraging") is not None
