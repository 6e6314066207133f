"""`ethomarkov states`, `simulate` and `path`: files, words and exit codes."""

import csv
import itertools
import json
import re
import shutil
import tomllib
import warnings
from pathlib import Path

import numpy as np
import pytest

from ethomarkov.io import write_recording
from ethomarkov.recording import Recording, Track
from ethomarkov.study import Settings, Study

QUICK = (
    "--delays",
    "11",
    "--lag",
    "0.75",
    "--microstates",
    "12",
    "--walks",
    "2",
    "--simulated-minutes",
    "0.5",
    "--threads",
    "1",
)
FAST = ("--resamples", "0", "--threads", "1")
SHORT = ("--runs", "2", "--minutes", "0.5", "--threads", "1")
STATE_FILES = {
    "bouts.csv",
    "budget.csv",
    "intervals",
    "states.csv",
    "states_movement.nc",
    "transitions.csv",
}


@pytest.fixture
def copy(study) -> Path:
    """A study that may be written into."""
    return study.directory


@pytest.fixture
def quick(no_figures):
    """Leave out what is slow."""


@pytest.fixture(scope="module")
def fine(finished_study) -> tuple[str, ...]:
    """What the study shows at four states, first a name that it has there alone."""
    grown = Study.load(finished_study.directory).replace().with_settings(n_behaviours=4, n_resamples=0)
    names = grown.given_names(4)
    others = {name for level in (1, 2, 3) for name in grown.given_names(level)}
    old = next(name for name in names if name not in others)
    return (old, *(name for name in names if name != old))


@pytest.fixture(scope="module")
def named(finished_study, fine, ran_once, without_figures):
    """A study with four states, two names of which are new, without figures; and what was said."""
    renames = ("--rename", f"{fine[0]}=head casting", "--rename", "pirouette = reorientation")
    ran = ran_once(
        "named",
        lambda directory: ("states", directory, "--states", "4", *renames, *FAST),
        start=finished_study.directory,
        patched=without_figures,
    )
    assert ran.stderr == ""
    return ran.directory, ran.stdout


@pytest.fixture(scope="module")
def grown(named) -> Study:
    return Study.load(named[0])


def table(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def everything(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def pairs(options: tuple[str, ...]) -> dict[str, str]:
    return dict(zip(options[::2], options[1::2], strict=True))


def assert_refused(outcome, *words):
    """One line on the error stream, exit code 2."""
    code, out, err = outcome
    assert code == 2
    assert "Traceback" not in out + err
    assert err.startswith("error: ")
    assert err.strip().count("\n") == 0
    for word in words:
        assert word in err


# --- states ----------------------------------------------------------------------------------------------------------


def test_states_writes_its_files_and_the_study(named, grown, fine):
    directory, out = named
    assert {path.name for path in (directory / "states").iterdir()} == STATE_FILES
    assert grown.tree.levels == (1, 2, 3, 4)
    assert grown.settings.names == {fine[0]: "head casting", "pirouette": "reorientation"}
    assert set(grown.given_names(4)) == set(fine)
    for words in ("head casting", "reorientation", "coherence", "per s", "Chapman-Kolmogorov"):
        assert words in out
    assert fine[0] not in out


def test_new_names_are_in_every_table(named, fine):
    folder = named[0] / "states"
    new = {"head casting", *("reorientation" if name == "pirouette" else name for name in fine[1:])}
    assert set(table(folder / "budget.csv")[0]) == {"animal", *(f"share of {name}" for name in new)}
    assert {row["state"] for row in table(folder / "states.csv") if row["level"] == "4"} == new
    assert {row["state"] for row in table(folder / "states.csv") if row["level"] == "2"} == {"run", "reorientation"}
    jumps = table(folder / "transitions.csv")
    assert {row["from"] for row in jumps if row["level"] == "4"} == new
    assert {row["to"] for row in jumps if row["level"] == "2"} == {"run", "reorientation"}
    text = (folder / "bouts.csv").read_text(encoding="utf-8")
    assert "head casting" in text
    for file in ("bouts.csv", "states.csv", "transitions.csv", "budget.csv"):
        rows = table(folder / file)
        words = {word for row in rows for word in row.values()} | {name.removeprefix("share of ") for name in rows[0]}
        assert not {fine[0], "pirouette"} & words


def test_new_names_are_in_later_commands(cli, named, fine):
    code, out, err = cli("summary", named[0])
    assert (code, err) == (0, "")
    lines = (line.strip() for line in out.splitlines() if not line.startswith("Next: "))
    rows = dict(re.split(r" {2,}", line, maxsplit=1) for line in lines if line)
    states = {name.strip() for name in re.findall(r"([^,]+) \d+ %", rows["4 states"])}
    assert states == {"head casting", *("reorientation" if name == "pirouette" else name for name in fine[1:])}
    # rows of two states and of their rates; "ventral turns per min" are events, whatever a state is named
    words = {word for row in rows for word in row.split(" → ")}
    assert {"run", "reorientation", "run → reorientation"} <= words | set(rows)
    assert not {fine[0], "pirouette"} & (states | words)


def test_the_tables_agree_with_the_study(named, grown):
    rows = [row for row in table(named[0] / "states" / "states.csv") if row["level"] == "4"]
    np.testing.assert_allclose([float(row["measure"]) for row in rows], grown.tree.measures_at(4))
    assert [row["state"] for row in rows] == list(grown.names(4))
    budget = table(named[0] / "states" / "budget.csv")
    assert [row["animal"] for row in budget] == list(grown.symbols.segments.individuals)
    for row in budget:
        assert sum(float(share) for name, share in row.items() if name != "animal") == pytest.approx(1.0)


def test_results_of_states_come_back(named, grown):
    stages = {file.name.rpartition("-")[0] for file in (named[0] / "results").iterdir()}
    assert stages == {"kinetics", "dwell_law"}
    assert set(grown.held("dwell_law").laws) <= {"run", "reorientation"}  # rarely visited states have no law
    for level in (2, 4):
        kinetics = grown.held("kinetics", level=level)
        assert kinetics.names == grown.names(level)
        assert isinstance(kinetics.is_steady, bool)
        np.testing.assert_allclose(kinetics.budget.sum(axis=1), 1.0)


def test_the_rest_of_the_study_stays(grown, finished_study):
    before, after = Study.load(finished_study.directory), grown
    for name in ("symbols", "postures", "simulated"):
        one, other = getattr(before, name), getattr(after, name)
        np.testing.assert_array_equal(*(getattr(x, "labels" if name == "symbols" else "values") for x in (one, other)))
    unchanged = {
        key: value for key, value in before.settings.model_dump().items() if key in ("lag", "n_states", "seed")
    }
    assert unchanged.items() <= after.settings.model_dump().items()


def test_settings_and_provenance_follow_the_new_tree(named, grown, fine, finished_study):
    """What lies beside the study says the same as the study."""
    filed = tomllib.loads((named[0] / "settings.toml").read_text(encoding="utf-8"))
    told = json.loads((named[0] / "provenance.json").read_text(encoding="utf-8"))
    names = {fine[0]: "head casting", "pirouette": "reorientation"}
    for settings in (filed, told["settings"]):
        assert (settings["n_behaviours"], settings["n_resamples"], settings["names"]) == (4, 0, names)
    assert {one["stage"]: one["key"] for one in told["stages"]} == {one.stage: one.key for one in grown.entries()}
    # only what depends on the tree was computed anew; the inputs are still known
    anew = {one["stage"] for one in told["stages"] if not one["kept"]}
    assert anew == {"states", "animals"}
    before = json.loads((finished_study.directory / "provenance.json").read_text(encoding="utf-8"))
    assert told["inputs"] == before["inputs"]


@pytest.mark.usefixtures("no_pictures")
def test_run_again_keeps_tree_and_names(cli, named, files, basis_file, tmp_path):
    """A note says so; what is said otherwise wins."""
    copy = Path(shutil.copytree(named[0], tmp_path / "study"))
    whole = (copy / "study.nc").read_bytes()
    again = ("run", files["nc"], "--basis", basis_file, "--out", copy, *QUICK)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        code, out, err = cli(*again)
        assert code == 0
        assert err.startswith(
            "note: The study keeps tree and names as they were set before: n_behaviours = 4, n_resamples = 0, "
        )
        assert "head casting" in out
        assert (copy / "study.nc").read_bytes() == whole
        assert "head casting" in (copy / "report.html").read_text(encoding="utf-8")
        assert cli(*again, "--states", 2)[0] == 0
    smaller = Study.load(copy)
    assert smaller.tree.levels == (1, 2)
    assert smaller.names(2) == ("run", "reorientation")
    assert tomllib.loads((copy / "settings.toml").read_text(encoding="utf-8"))["n_behaviours"] == 2


def test_resamples_are_those_of_the_study_by_default(cli, study, quick):
    code, _, err = cli("states", study.directory, "--states", 3, "--threads", 1, "--quiet")
    assert (code, err) == (0, "")
    settings = Study.load(study.directory).settings
    assert (settings.n_behaviours, settings.n_resamples) == (3, Settings().n_resamples)


@pytest.mark.parametrize(
    ("renames", "words"),
    [
        (("rum=x",), ("No state is named 'rum'", "'run'")),
        (("run=x", "pirouette=x"), ("Two states are named 'x'",)),
        (("run=pirouette",), ("Two states are named 'pirouette'",)),
        (("run=x", "ventral turn=x"), ("Two states are named 'x'",)),  # they meet at three states only
        (("run",), ("--rename is 'run'", "old and a new name")),
        (("=x",), ("--rename is '=x'",)),
        (("run=",), ("--rename is 'run='",)),
        (("run= ",), ("--rename is 'run= '",)),
    ],
    ids=str,
)
def test_bad_renames_change_nothing(cli, copy, quick, renames, words):
    before = everything(copy)
    options = [part for one in renames for part in ("--rename", one)]
    assert_refused(cli("states", copy, "--states", "4", *options, *FAST), *words)
    assert everything(copy) == before


@pytest.mark.parametrize(
    "option",
    [("--states", "1"), ("--resamples", "-1"), ("--seeds", "-1"), ("--min-measure", "0.5"),
     ("--min-measure", "nan")],
    ids=str,
)  # fmt: skip
def test_bad_options_of_states(cli, copy, option):
    before = everything(copy)
    assert_refused(cli("states", copy, *option), option[0])
    assert everything(copy) == before


def test_a_smaller_tree_after_a_rename(cli, named, fine, tmp_path, quick):
    """A name that was given to a state of a larger tree must not stand in the way of a smaller one.

    The study file itself may be named instead of its directory.
    """
    copy = Path(shutil.copytree(named[0], tmp_path / "study"))
    code, out, err = cli("states", copy / "study.nc", "--states", "2", *FAST)
    assert (code, err) == (0, "")
    assert "2 states" in out
    assert "not possible here: left out by the tests" in out
    small = Study.load(copy)
    assert small.tree.levels == (1, 2)
    assert small.settings.names == {fine[0]: "head casting", "pirouette": "reorientation"}
    assert {row["state"] for row in table(copy / "states" / "states.csv")} == {"run", "reorientation"}


def test_a_file_of_another_name_does_not_overwrite_the_study(cli, copy, quick):
    shutil.copy(copy / "study.nc", copy / "other.nc")
    before = everything(copy)
    assert_refused(cli("states", copy / "other.nc", "--states", "2", *FAST), "other.nc", "study.nc")
    assert everything(copy) == before


# --- animals without a body wave or a path ----------------------------------------------------------------------------


@pytest.fixture(scope="session")
def small_settings(tmp_path_factory) -> Path:
    file = tmp_path_factory.mktemp("settings") / "small.toml"
    lines = ("n_delays = 11", "lag = 0.75", "scan = false", "n_resamples = 0", "n_behaviours = 3", "n_states = 10")
    file.write_text("\n".join([*lines, "n_walks = 1", "simulated_minutes = 0.2"]))
    return file


@pytest.mark.slow
def test_animals_without_a_body_have_states_but_no_path(cli, files, small_settings, tmp_path, quick):
    code, _, err = cli(
        "run", files["position"], "--out", tmp_path / "s", "--settings", small_settings, "--threads", "1"
    )
    assert code == 0, err
    code, out, err = cli("states", tmp_path / "s", "--states", "3", "--rename", "state A=still", *FAST)
    assert (code, err) == (0, "")
    assert "still" in out
    assert "state B" in out
    assert "run" not in {row["state"] for row in table(tmp_path / "s" / "states" / "states.csv")}
    before = everything(tmp_path)
    for command in (("simulate", *SHORT), ("path", "--threads", "1")):
        assert_refused(cli(command[0], tmp_path / "s", *command[1:]), "tangent angles")
    assert everything(tmp_path) == before


@pytest.mark.slow
def test_one_short_animal(cli, worms, basis_file, small_settings, tmp_path, quick):
    track = Track(individual="short", values=worms.recording.values[:480], centroid=worms.recording.centroid[:480])
    alone = Recording.from_tracks([track], kind="amplitude", sampling_rate=16.0, attrs={"length_unit": "mm"})
    file = write_recording(alone, tmp_path / "short.nc")
    study = tmp_path / "s"
    for command in (
        ("run", file, "--basis", basis_file, "--out", study, "--settings", small_settings, "--threads", "1"),
        ("states", study, "--states", "3", *FAST),
        ("simulate", study, *SHORT),
        ("path", study, "--window", "5", "--threads", "1"),
    ):
        code, out, err = cli(*command)
        assert (code, err) == (0, ""), command[0]
    assert "fitted" in out
    row = table(study / "path" / "path.csv")[0]
    assert float(row["body_length"]) == pytest.approx(worms.recording.body_lengths["worm_00"], rel=0.03)
    assert row["body_length_is_fitted"] == "True"


# --- simulate --------------------------------------------------------------------------------------------------------


def test_simulated_animals(cli, study, tmp_path, quick):
    code, out, err = cli("simulate", study.directory, *SHORT, "--out", tmp_path)
    assert (code, err) == (0, "")
    assert "worm_00" in out
    assert "worm_01" in out
    assert list(tmp_path.iterdir()) == []
    whole = Study.load(study.directory)
    found = whole.held("runs", n_runs=2, minutes=0.5)
    one, data = found.runs[1], found.measured
    assert one.name == "worm_01"
    assert one.speed.shape == (2,)
    assert one.diffusion is None
    assert one.displacement.length_unit == "mm"
    assert one.path.segments.n_individuals == 2
    np.testing.assert_allclose(data.lags, one.displacement.lags)
    # the body of each animal, and the same runs again from the same seed
    assert cli("simulate", study.directory, *SHORT, "--animal", "worm_01", "--out", tmp_path / "again")[0] == 0
    (again,) = Study.load(study.directory).held("runs", animal="worm_01").runs
    np.testing.assert_array_equal(again.speed, one.speed)
    np.testing.assert_array_equal(again.path.centroid, one.path.centroid)


def test_how_much_is_simulated_follows_the_data(cli, study, quick, monkeypatch):
    """Runs last as long as the recordings, and are as few as needed where they would take long."""
    monkeypatch.setattr("ethomarkov.study.effort.CORE_SECONDS", 1e-6)
    code, out, err = cli("simulate", study.directory, "--threads", 1)
    assert (code, err) == (0, "")
    assert "20 runs of 2 min each; --runs and --minutes ask for more." in out
    found = Study.load(study.directory).held("runs")
    assert {len(one.speed) for one in found.runs} == {20}
    _, out, _ = cli("simulate", study.directory, "--runs", 3, "--minutes", 1, "--threads", 1)
    assert "ask for more" not in out
    assert {len(one.speed) for one in Study.load(study.directory).held("runs").runs} == {3}


def test_simulated_states_stay_in_their_state(cli, study, tmp_path, quick):
    code, out, err = cli("simulate", study.directory, *SHORT, "--state", "each", "--level", "2", "--out", tmp_path)
    assert (code, err) == (0, "")
    assert "body lengths" in out
    whole = Study.load(study.directory)
    found = {one.name: one for one in whole.held("state_runs", level=2, state="each").runs}
    assert tuple(found) == whole.names(2)
    assert found["run"].speed.mean() > found["pirouette"].speed.mean()


def test_a_state_is_simulated_by_its_new_name(cli, named, quick, tmp_path):
    copy = Path(shutil.copytree(named[0], tmp_path / "study"))
    code, out, err = cli("simulate", copy, *SHORT, "--state", "reorientation", "--level", "2", "--out", tmp_path / "s")
    assert (code, err) == (0, "")
    assert "reorientation" in out
    assert "pirouette" not in out
    assert_refused(cli("simulate", copy, *SHORT, "--state", "pirouette", "--level", "2"), "'reorientation'")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--animal", "worm 9"), ("animal is 'worm 9'", "'worm_00'", "'each' or 'all'")),
        (("--state", "swimming", "--level", "2"), ("state is 'swimming'", "'run'", "'each'")),
        (("--state", "run", "--level", "99"), ("no level of 99 states",)),
        (("--state", "run", "--level", "0"), ("no level of 0 states",)),
        (("--state", "run", "--level", "-1"), ("no level of -1 states",)),
        (("--minutes", "0"), ("--minutes is 0", "at least two steps")),
        (("--minutes", "nan"), ("--minutes is nan",)),
        (("--runs", "0"), ("--runs is 0",)),
        (("--ring", "nan"), ("--ring is nan",)),
    ],
    ids=str,
)
def test_bad_options_of_simulate(cli, finished_study, tmp_path, options, words):
    before = everything(finished_study.directory)
    given = pairs(SHORT) | pairs(options)
    arguments = itertools.chain.from_iterable(given.items())
    assert_refused(cli("simulate", finished_study.directory, "--out", tmp_path / "s", *arguments), *words)
    assert not (tmp_path / "s").exists()
    assert everything(finished_study.directory) == before


def test_the_shortest_run(cli, study, tmp_path, quick):
    """Two steps of the simulation are the least that --minutes takes, and they work."""
    least = 2 * Study.load(study.directory).simulation_choice.chosen_lag / 60
    code, out, err = cli(
        "simulate",
        study.directory,
        "--runs",
        "1",
        "--minutes",
        f"{least:.9f}",
        "--threads",
        "1",
        "--animal",
        "all",
        "--out",
        tmp_path,
    )
    assert (code, err) == (0, "")
    assert "runs too short" in out


def test_runs_in_a_ring(cli, study, tmp_path, quick):
    code, _, err = cli("simulate", study.directory, *SHORT, "--animal", "all", "--ring", "0.5", "--out", tmp_path)
    assert (code, err) == (0, "")
    path = Study.load(study.directory).held("runs", animal="all", ring=0.5).runs[0].path
    assert np.linalg.norm(path.centroid, axis=1).max() <= 0.5 * (1 + 1e-6)


# --- path ------------------------------------------------------------------------------------------------------------


def test_path(cli, study, tmp_path, quick):
    code, out, err = cli("path", study.directory, "--window", "20", "--out", tmp_path, "--threads", "1")
    assert (code, err) == (0, "")
    for words in ("as recorded", "correlation 0.99", "Drag ratio: median 30", "Diffusion of the measured paths"):
        assert words in out
    assert [file.name for file in tmp_path.iterdir()] == ["path.csv"]
    found = Study.load(study.directory).held("reconstruction", window=20.0)
    assert found.is_fitted is False
    assert found.drag.settings.window == 20.0
    assert found.drag.settings.n_windows is None
    assert found.drag.settings.bounds == (1.5, 1000.0)
    rows = table(tmp_path / "path.csv")
    assert [row["animal"] for row in rows] == list(found.computed.segments.individuals)
    np.testing.assert_allclose([float(row["body_length"]) for row in rows], found.body_length)
    np.testing.assert_allclose([float(row["drag_ratio"]) for row in rows], 30, rtol=0.1)


@pytest.mark.parametrize(
    "option", [("--window", "-1"), ("--window", "nan"), ("--window", "0"), ("--windows", "0")], ids=str
)
def test_bad_options_of_path(cli, finished_study, tmp_path, option):
    before = everything(finished_study.directory)
    assert_refused(cli("path", finished_study.directory, "--out", tmp_path / "p", *option), option[0].strip("-"))
    assert not (tmp_path / "p").exists()
    assert everything(finished_study.directory) == before


def test_windows_that_do_not_fit(cli, study, tmp_path, quick):
    code, out, err = cli("path", study.directory, "--window", "1000", "--out", tmp_path, "--threads", "1")
    assert (code, err) == (0, "")
    assert "shorter --window" in out
    assert Study.load(study.directory).held("reconstruction").drag is None


@pytest.mark.parametrize("command", ["states", "simulate", "path"])
def test_no_study_there(cli, tmp_path, command):
    assert_refused(cli(command, tmp_path), "no study")
    assert list(tmp_path.iterdir()) == []


# --- settings file with names -----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_settings_file_with_names(cli, files, basis_file, small_settings, tmp_path, quick):
    file = tmp_path / "s.toml"
    text = small_settings.read_text() + "\nseed = 4\n"
    file.write_text(f'{text}[names]\npirouette = "turning about"\n')
    options = ("--basis", basis_file, "--settings", file, "--threads", "1", "--quiet")
    code, out, err = cli("run", files["nc"], "--out", tmp_path / "named", "--microstates", "12", *options)
    assert (code, out, err) == (0, "", "")
    made = Study.load(tmp_path / "named")
    assert (made.settings.n_states, made.settings.seed) == (12, 4)
    assert "turning about" in made.names(2)
    file.write_text(f'{text}[names]\npirouet = "x"\n')
    assert_refused(cli("run", files["nc"], "--out", tmp_path / "bad", *options), "No state is named 'pirouet'")
    assert not (tmp_path / "bad").exists()
