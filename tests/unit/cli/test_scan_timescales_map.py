"""`ethomarkov scan`, `timescales` and `map`: files, words and exit codes."""

import numpy as np
import pytest

from ethomarkov.io.results import load_attrs, load_result
from ethomarkov.markov.lag_scan import LagScan
from ethomarkov.markov.noise_floor import NoiseFloor
from ethomarkov.markov.selection import EntropyTable
from ethomarkov.states.projection import SequenceMap


def test_scan_writes_its_table_and_says_why(cli, files, tmp_path):
    code, out, err = cli("scan", files["nc"], "--quick", "--out", tmp_path)
    assert (code, err) == (0, "")
    assert "N = " in out
    assert "K = " in out
    assert "second opinion" in out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["scan.nc", "scan.png"]
    table = load_result(tmp_path / "scan.nc", "scan", EntropyTable)
    assert load_attrs(tmp_path / "scan.nc")["n_states"] in table.n_states


def test_timescales_go_into_the_study(cli, study, tmp_path):
    code, out, err = cli("timescales", study.directory, "--out", tmp_path, "--shuffles", 4, "--lags", 6, "--modes", 5)
    assert (code, err) == (0, "")
    for words in ("upper bound", "stand above noise", "τ = "):
        assert words in out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["timescales.nc", "timescales.png"]
    assert load_result(tmp_path / "timescales.nc", "noise_floor", NoiseFloor).eigenvalues.size == 4
    scanned = load_result(tmp_path / "timescales.nc", "lag_scan", LagScan)
    assert scanned.lags[0] == 1 / 16
    assert np.isfinite(scanned.relaxation_times[0]).any()


def test_map_by_pca(cli, study, tmp_path):
    code, _, err = cli("map", study.directory, "--method", "pca", "--out", tmp_path)
    assert (code, err) == (0, "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["chain.png", "map.nc", "map.png"]
    assert load_result(tmp_path / "map.nc", "map", SequenceMap).frames.shape[1] == 2


@pytest.mark.parametrize("options", [("--shuffles", "0"), ("--lags", "0"), ("--modes", "0"), ("--longest-lag", "nan")])
def test_bad_options_of_timescales(cli, study, tmp_path, options):
    code, out, err = cli("timescales", study.directory, "--out", tmp_path / "t", *options)
    assert code == 2
    assert options[0] in err
    assert "Traceback" not in out + err
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize("command", ["timescales", "map"])
def test_no_study_there(cli, tmp_path, command):
    code, out, err = cli(command, tmp_path)
    assert code == 2
    assert "no study" in err
    assert "Traceback" not in out + err
