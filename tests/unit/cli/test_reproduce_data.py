"""The commands that reproduce the paper and fetch its data."""

import csv
import functools
import json

import numpy as np
import pytest

from ethomarkov.io.download import DownloadError, FetchedFile
from ethomarkov.paper.reproduce import ReproduceSettings
from ethomarkov.paper.results import open_results
from ethomarkov.study import Settings
from ethomarkov.validation.prediction import PredictionSettings


def test_data_explain_needs_no_network(cli, tmp_path):
    code, out, err = cli("data", "explain", "--out", tmp_path)
    assert (code, err) == (0, "")
    assert "https://doi.org/10.34740/kaggle/ds/3882219" in out
    assert f"ethomarkov reproduce --data {tmp_path}" in out


def test_data_fetch_says_what_came(cli, tmp_path, monkeypatch):
    files = (
        FetchedFile(path=tmp_path / "a.mat", size=1234, sha256="ab" * 32, verified=False),
        FetchedFile(path=tmp_path / "b.csv", size=5, sha256="cd" * 32, verified=True),
    )
    monkeypatch.setattr("ethomarkov.io.download.fetch_dataset", lambda name, into: files)
    code, out, _ = cli("data", "fetch", "costa2024", "--out", tmp_path)
    assert code == 0
    first, second, *_ = out.splitlines()
    assert "1,234 bytes" in first
    assert "ab" * 32 in first
    assert "unverified" in first
    assert second.endswith("(verified)")


def test_data_fetch_without_a_network(cli, tmp_path, monkeypatch):
    def refuse(name, into):
        raise DownloadError("costa2024 could not be fetched (no connection). By hand: open it.")

    monkeypatch.setattr("ethomarkov.io.download.fetch_dataset", refuse)
    code, out, err = cli("data", "fetch", "--out", tmp_path)
    assert code == 2
    assert "By hand" in err
    assert "Traceback" not in out + err


def test_unknown_datasets(cli, tmp_path):
    code, _, err = cli("data", "fetch", "other2024", "--out", tmp_path)
    assert code == 2
    assert "costa2024" in err


@pytest.fixture
def paths(tmp_path):
    """Measured paths of twelve animals that go straight on at 0.1 mm/s."""
    folder = tmp_path / "data"
    folder.mkdir()
    line = np.stack([np.arange(3200) * 0.1 / 16, np.zeros(3200)], axis=1)
    np.savez(folder / "paths.npz", centroid_mm=np.tile(line, (12, 1, 1)), fps=16.0)
    return folder


def test_reproduce_from_paths_alone(cli, paths, tmp_path):
    out_folder = tmp_path / "out"
    code, out, err = cli("reproduce", "--data", paths, "--out", out_folder, "--quick", "--threads", "1")
    assert (code, err) == (0, "")
    assert "measured paths of all twelve" in out
    assert sorted(file.name for file in out_folder.iterdir()) == ["scoreboard.csv", "scoreboard.html", "scoreboard.md"]
    with (out_folder / "scoreboard.csv").open(encoding="utf-8", newline="") as handle:
        rows = {row["key"]: row for row in csv.DictReader(handle)}
    assert float(rows["worm 6 speed"]["ours"]) == pytest.approx(0.1)
    assert rows["worm 6 speed"]["verdict"] == "differs"
    assert rows["drag ratio"]["verdict"] == "cannot be judged"
    page = (out_folder / "scoreboard.html").read_text(encoding="utf-8")
    assert "The paper reproduced from measured paths of all twelve" in page
    assert "cannot be judged" in page


AMOUNTS = {"worms": 2, "minutes": 3, "runs": 3, "shuffles": 2, "repeats": 2, "held-out-repeats": 1, "threads": 1}
SMALL = {
    "ethomarkov.paper.kinetics.N_RESAMPLES": 5,
    "ethomarkov.validation.validate.prediction_settings": lambda _: PredictionSettings(
        method="paper-filled", n_samples=20
    ),
    "ethomarkov.paper.reproduce.ReproduceSettings": functools.partial(
        ReproduceSettings, study=Settings.paper().model_copy(update={"n_states": 20, "n_behaviours": 2})
    ),
}
"""Replacements that keep a reproduction small."""


def reproduce_into(out):
    options = (word for name, value in AMOUNTS.items() for word in (f"--{name}", value))
    return "reproduce", "--out", out, "--no-figures", *options


@pytest.fixture(scope="module")
def reproduced(ran_once):
    """Two synthetic worms of three minutes, with all that the command writes but pictures, and its words."""
    return ran_once("reproduced", reproduce_into, patched=SMALL)


@pytest.mark.slow
def test_figures_and_report_find_everything(reproduced):
    """And take it for that of this study."""
    results = open_results(reproduced.directory)
    study = results.study
    assert results.remarks == ()
    assert results["scan"].n_delays.size == 20
    assert results["noise_floor"].eigenvalues.size == 2
    assert [runs.name for runs in results["runs"]] == list(study.individuals)
    assert len(results["state_runs"]) == 2
    assert results["displacement"] is not None
    assert results["reconstruction"].measured is not None
    assert len(results["checks"]) == 2
    assert results["predictions"] is not None
    assert set(results["splits"]["as published"].comparisons) >= {"event rates", "transition rates"}
    assert results["held_out_correlation"].n_splits == 1
    assert results["foraging"].level == 2
    assert results["known_truth"] is not None


@pytest.mark.slow
def test_tables_lie_where_other_commands_write_them(reproduced):
    """And nothing else does: results are kept once, and read from where they are."""
    files = {str(file.relative_to(reproduced.directory)) for file in reproduced.directory.rglob("*") if file.is_file()}
    kept = {file for file in files if file.startswith("results/")}
    assert files - kept == {
        "animals.csv",
        "forage/forage.csv",
        "path/path.csv",
        "provenance.json",
        "scoreboard.csv",
        "scoreboard.html",
        "scoreboard.md",
        "settings.toml",
        "study.nc",
        "timing.md",
        "validation/checks.csv",
        "validation/cross_validation.csv",
        "validation/validation.csv",
    }
    assert all(file.endswith(".nc") for file in kept)


@pytest.mark.slow
def test_the_time_of_every_stage_is_told(reproduced):
    out_folder, out = reproduced.directory, reproduced.stdout
    lines = (out_folder / "timing.md").read_text(encoding="utf-8").splitlines()
    stages = [line.split("|")[1].strip() for line in lines if line.startswith("| ")]
    assert stages[0] == "stage"
    assert stages[-2:] == ["writing tables", "all"]
    assert {"microstates", "published scan", "animal runs", "published splits", "foraging"} <= set(stages)
    for stage in stages[1:-1]:
        assert stage in out
    # the stages of the study come first, as in its provenance
    told = json.loads((out_folder / "provenance.json").read_text(encoding="utf-8"))["stages"]
    own = [one["stage"].replace("_", " ") for one in told]
    assert stages[1 : 1 + len(own)] == own


@pytest.mark.slow
def test_reproduced_again_nothing_is_computed(cli, reproduced, monkeypatch, tmp_path):
    directory = reproduced.copy_to(tmp_path / "again")
    before = {file: file.read_bytes() for file in directory.rglob("*.nc")}

    def forbidden(self, stage, *_):
        raise AssertionError(f"{stage.name} is computed again")

    for place, instead in {**SMALL, "ethomarkov.study.graph.Graph._compute": forbidden}.items():
        monkeypatch.setattr(place, instead)
    code, _, err = cli(*reproduce_into(directory))
    assert (code, err) == (0, "")
    assert {file: file.read_bytes() for file in directory.rglob("*.nc")} == before
    assert (directory / "scoreboard.csv").read_bytes() == (reproduced.directory / "scoreboard.csv").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--runs", "1"), "--runs"),
        (("--shuffles", "0"), "--shuffles"),
        (("--repeats", "-1"), "--repeats"),
        (("--held-out-repeats", "-1"), "--held-out-repeats"),
        (("--worms", "0"), "--worms"),
        (("--data", "absent"), "absent"),
    ],
)
def test_mistakes_are_named(cli, tmp_path, monkeypatch, arguments, named):
    monkeypatch.chdir(tmp_path)
    code, out, err = cli("reproduce", *arguments)
    assert code == 2
    assert named in err
    assert "Traceback" not in out + err
    assert list(tmp_path.iterdir()) == []
