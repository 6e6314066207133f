"""`ethomarkov choose` and `map`: files, words and exit codes."""

import numpy as np
import pytest

from ethomarkov.io.results import load_result
from ethomarkov.markov.selection import EntropyTable
from ethomarkov.selection import ModelChoice
from ethomarkov.study import Study
from ethomarkov.study.store import Store


def names_in(folder) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def result_in(directory, stage, kind):
    """Read the one result of a stage that a directory keeps."""
    (entry,) = Store(directory).variants(stage)
    return load_result(entry.file, f"{stage}/{stage}", kind)


def test_choose_writes_what_it_compared_and_says_why(cli, files, tmp_path):
    code, out, err = cli("choose", files["nc"], "--entropy", "--out", tmp_path)
    assert (code, err) == (0, "")
    for words in (
        "memory",
        "information",
        "used, ",
        "Used sequences of",
        "because",
        "To do otherwise",
        "Next: ethomarkov run",
    ):
        assert words in out
    assert names_in(tmp_path) == ["choice.png", "results", "scan.png"]
    choice = result_in(tmp_path, "choice", ModelChoice)
    assert f"{choice.n_states} microstates" in out
    assert result_in(tmp_path, "entropy_scan", EntropyTable).n_states.size > 2
    # `run` into the same directory, which is what it says comes next, takes the choice from there
    code, plan, err = cli("run", files["nc"], "--out", tmp_path, "--dry-run")
    assert (code, err) == (0, "")
    assert [line.split()[0] for line in plan.splitlines() if " cached " in line] == ["survey", "postures", "choice"]


def test_choose_on_a_study_adds_timescales(cli, study, tmp_path):
    code, out, err = cli("choose", study.directory, "--out", tmp_path, "--shuffles", 4)
    assert (code, err) == (0, "")
    for words in ("The study itself uses 11 frames, 12 microstates", "upper bound", "stand above noise"):
        assert words in out
    assert names_in(tmp_path) == ["choice.png", "timescales.png"]
    whole = Study.load(study.directory)
    assert whole.held("free_choice").explain() in out
    found = whole.held("relaxation_times")
    assert found.noise_floor.eigenvalues.size == 4
    assert found.lag_scan.lags[0] == 1 / 16
    assert np.isfinite(found.lag_scan.relaxation_times[0]).any()


@pytest.mark.parametrize(("old", "new"), [("scan", "choose"), ("timescales", "choose"), ("stream", "run --stream")])
def test_old_names_answer_with_the_new_one(cli, old, new):
    code, out, err = cli(old, "a.csv")
    assert (code, out) == (2, "")
    assert f"`{old}` is now `ethomarkov {new}`; see `ethomarkov {new.split()[0]} --help`." in err


def test_map_by_pca(cli, study, tmp_path):
    code, _, err = cli("map", study.directory, "--method", "pca", "--out", tmp_path)
    assert (code, err) == (0, "")
    assert names_in(tmp_path) == ["chain.png", "map.png"]
    assert Study.load(study.directory).held("sequence_map", method="pca").frames.shape[1] == 2


@pytest.mark.parametrize("options", [("--shuffles", "0"), ("--modes", "0")])
def test_bad_options_of_choose(cli, finished_study, tmp_path, options):
    code, out, err = cli("choose", finished_study.directory, "--out", tmp_path / "t", *options)
    assert code == 2
    assert options[0] in err
    assert "Traceback" not in out + err
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize("command", ["choose", "map"])
def test_no_study_there(cli, tmp_path, command):
    code, out, err = cli(command, tmp_path)
    assert code == 2
    assert "no study" in err
    assert "Traceback" not in out + err


def test_recordings_need_a_directory_and_a_study_stands_alone(cli, files, finished_study):
    code, _, err = cli("choose", files["nc"])
    assert code == 2
    assert "--out" in err
    code, _, err = cli("choose", files["nc"], finished_study.directory)
    assert code == 2
    assert "name it alone" in err
