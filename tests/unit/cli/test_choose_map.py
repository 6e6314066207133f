"""`ethomarkov choose` and `map`: files, words and exit codes."""

import numpy as np
import pytest

from ethomarkov.io.results import load_attrs, load_result
from ethomarkov.markov.lag_scan import LagScan
from ethomarkov.markov.noise_floor import NoiseFloor
from ethomarkov.markov.selection import EntropyTable
from ethomarkov.selection import ModelChoice
from ethomarkov.states.projection import SequenceMap


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
    assert sorted(path.name for path in tmp_path.iterdir()) == ["choice.nc", "choice.png", "scan.nc", "scan.png"]
    choice = load_result(tmp_path / "choice.nc", "choice", ModelChoice)
    assert load_attrs(tmp_path / "choice.nc")["n_states"] == choice.n_states
    assert load_result(tmp_path / "scan.nc", "scan", EntropyTable).n_states.size > 2


def test_choose_on_a_study_adds_timescales(cli, study, tmp_path):
    code, out, err = cli("choose", study.directory, "--out", tmp_path, "--shuffles", 4)
    assert (code, err) == (0, "")
    for words in ("The study itself uses 11 frames, 12 microstates", "upper bound", "stand above noise"):
        assert words in out
    found = sorted(path.name for path in tmp_path.iterdir())
    assert found == ["choice.nc", "choice.png", "timescales.nc", "timescales.png"]
    assert load_result(tmp_path / "timescales.nc", "noise_floor", NoiseFloor).eigenvalues.size == 4
    scanned = load_result(tmp_path / "timescales.nc", "lag_scan", LagScan)
    assert scanned.lags[0] == 1 / 16
    assert np.isfinite(scanned.relaxation_times[0]).any()


@pytest.mark.parametrize("old", ["scan", "timescales"])
def test_old_names_answer_with_the_new_one(cli, old):
    code, out, err = cli(old, "a.csv")
    assert (code, out) == (2, "")
    assert "ethomarkov choose" in err


def test_map_by_pca(cli, study, tmp_path):
    code, _, err = cli("map", study.directory, "--method", "pca", "--out", tmp_path)
    assert (code, err) == (0, "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["chain.png", "map.nc", "map.png"]
    assert load_result(tmp_path / "map.nc", "map", SequenceMap).frames.shape[1] == 2


@pytest.mark.parametrize("options", [("--shuffles", "0"), ("--modes", "0")])
def test_bad_options_of_choose(cli, study, tmp_path, options):
    code, out, err = cli("choose", study.directory, "--out", tmp_path / "t", *options)
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


def test_recordings_need_a_directory_and_a_study_stands_alone(cli, files, study):
    code, _, err = cli("choose", files["nc"])
    assert code == 2
    assert "--out" in err
    code, _, err = cli("choose", files["nc"], study.directory)
    assert code == 2
    assert "name it alone" in err
