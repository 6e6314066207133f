"""The commands that reproduce the paper and fetch its data."""

import contextlib
import csv
import functools
import io
import json

import numpy as np
import pytest
from ethomarkov.report.paper_parts import gather_parts
from ethomarkov.workflow import Settings, Study, study_findings, validate
from ethomarkov.workflow.reproduction_stages import ReproduceSettings

from ethomarkov.cli.commands.reproduce import reproduce
from ethomarkov.cli.options import RunningOptions
from ethomarkov.io.download import DownloadError, FetchedFile
from ethomarkov.validation.prediction import PredictionRule


def test_data_explain_needs_no_network(cli, tmp_path):
    code, out, err = cli("data", "explain", "--into", tmp_path)
    assert (code, err) == (0, "")
    assert "https://doi.org/10.34740/kaggle/ds/3882219" in out
    assert f"ethomarkov reproduce --data {tmp_path}" in out


def test_data_fetch_says_what_came(cli, tmp_path, monkeypatch):
    files = (
        FetchedFile(path=tmp_path / "a.mat", size=1234, sha256="ab" * 32, verified=False),
        FetchedFile(path=tmp_path / "b.csv", size=5, sha256="cd" * 32, verified=True),
    )
    monkeypatch.setattr("ethomarkov.cli.commands.data.fetch_dataset", lambda name, into: files)
    code, out, _ = cli("data", "fetch", "costa2024", "--into", tmp_path)
    assert code == 0
    first, second, *_ = out.splitlines()
    assert "1,234 bytes" in first
    assert "ab" * 32 in first
    assert "unverified" in first
    assert second.endswith("(verified)")


def test_data_fetch_without_a_network(cli, tmp_path, monkeypatch):
    def refuse(name, into):
        raise DownloadError("costa2024 could not be fetched (no connection). By hand: open it.")

    monkeypatch.setattr("ethomarkov.cli.commands.data.fetch_dataset", refuse)
    code, out, err = cli("data", "fetch", "--into", tmp_path)
    assert code == 2
    assert "By hand" in err
    assert "Traceback" not in out + err


def test_unknown_datasets(cli, tmp_path):
    code, _, err = cli("data", "fetch", "other2024", "--into", tmp_path)
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


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory):
    """Two synthetic worms of three minutes, with all that the command writes but pictures, and its words."""
    out_folder, words = tmp_path_factory.mktemp("reproduced"), io.StringIO()
    settings = functools.partial(
        ReproduceSettings, study=Settings.paper().model_copy(update={"n_states": 20, "n_behaviours": 2})
    )
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(words):
        patch.setattr(study_findings, "N_RESAMPLES", 5)
        patch.setattr(validate, "prediction_rule", lambda _: PredictionRule(method="paper-filled", n_samples=20))
        patch.setattr("ethomarkov.cli.commands.reproduce.ReproduceSettings", settings)
        patch.setenv("COLUMNS", "1000")
        reproduce(
            out=out_folder,
            worms=2,
            minutes=3.0,
            runs=3,
            shuffles=2,
            repeats=2,
            honest_repeats=1,
            figures=False,
            running=RunningOptions(threads=1),
        )
    return out_folder, words.getvalue()


@pytest.mark.slow
def test_everything_is_written_where_other_commands_write_it(reproduced):
    """So that the figures and the report find it, and take it for that of this study."""
    out_folder, _ = reproduced
    study = Study.load(out_folder)
    parts = gather_parts(study, out_folder)
    assert parts.remarks == ()
    assert parts.scan.n_delays.size == 20
    assert parts.noise_floor.eigenvalues.size == 2
    assert [runs.name for runs in parts.animal_runs] == list(study.symbols.segments.individuals)
    assert len(parts.state_runs) == 2
    assert parts.measured is not None
    assert parts.reconstruction.measured is not None
    assert len(parts.animals) == 2
    assert parts.errors is not None
    assert {row["statistic"] for row in parts.splits} == {"event rates", "leaving rates"}
    assert parts.held_out.n_splits == 1
    assert parts.foraging.level == 2


@pytest.mark.slow
def test_the_time_of_every_stage_is_told(reproduced):
    out_folder, out = reproduced
    lines = (out_folder / "timing.md").read_text(encoding="utf-8").splitlines()
    stages = [line.split("|")[1].strip() for line in lines if line.startswith("| ")]
    assert stages[0] == "stage"
    assert stages[-2:] == ["writing results", "all"]
    assert {"microstates", "entropy scan", "animal runs", "leaky splits", "foraging"} <= set(stages)
    for stage in stages[1:-1]:
        assert stage in out
    told = json.loads((out_folder / "provenance.json").read_text(encoding="utf-8"))["stages"]
    assert [one["stage"].replace("_", " ") for one in told] == stages[1:-2]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--runs", "1"), "--runs"),
        (("--shuffles", "0"), "--shuffles"),
        (("--repeats", "-1"), "--repeats"),
        (("--honest-repeats", "-1"), "--honest-repeats"),
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
