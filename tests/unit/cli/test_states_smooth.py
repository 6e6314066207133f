"""`ethomarkov states --smooth`: other labels in bouts, the same kinetics."""

import csv
import dataclasses
import shutil

import numpy as np
import pytest
import xarray as xr
from ethomarkov.workflow import Study
from ethomarkov.workflow.states import state_names

from ethomarkov.cli.commands.states import OF_TREE, SMOOTHED
from ethomarkov.coarse.smoothing import SmoothStates, smooth_states
from ethomarkov.exceptions import SamplingError
from ethomarkov.io.bouts import find_bouts
from ethomarkov.io.results import load_results

FAST = ("--levels", "2", "--resamples", "0", "--threads", "1")
OF_THE_TREE = ("states.csv", "budget.csv", "transitions.csv")


@pytest.fixture(autouse=True)
def quick(monkeypatch, no_pictures):
    """Leave out figures and the bootstrap of the published fit."""

    def no_fit(*_, **__):
        raise SamplingError("left out by the tests")

    monkeypatch.setattr("ethomarkov.cli.commands.states.draw_state_figures", lambda *_: {})
    monkeypatch.setattr("ethomarkov.cli.commands.states.paper_biexponential", no_fit)


def descriptions(folder):
    """Say which labels each file claims to hold."""
    with (folder / "bouts.csv").open(encoding="utf-8", newline="") as handle:
        said = {row["Description"] for row in csv.DictReader(handle)}
    with xr.open_dataset(folder / "states_movement.nc", engine="h5netcdf") as stored:
        said.add(stored["state"].attrs["comment"])
    for file in (folder / "intervals").iterdir():
        with np.load(file) as stored:
            said.add(str(stored["description"][0]))
    return said


def test_smoothed_labels_and_the_kinetics_of_the_tree(cli, study, tmp_path):
    home, plain, smooth = tmp_path / "study", tmp_path / "plain", tmp_path / "smooth"
    shutil.copytree(study.directory, home)
    code, said, err = cli("states", home, "--out", plain, *FAST)
    assert code == 0, err
    assert "are smoothed" not in said
    kept = (home / "study.nc").read_bytes()
    code, said, err = cli("states", home, "--out", smooth, "--smooth", *FAST)
    assert code == 0, err
    assert "are smoothed" in said
    assert "rates are those of the tree" in said
    assert (home / "study.nc").read_bytes() == kept
    assert descriptions(plain) == {OF_TREE}
    assert descriptions(smooth) == {SMOOTHED}
    for file in OF_THE_TREE:
        assert (smooth / file).read_bytes() == (plain / file).read_bytes()

    grown = Study.load(home)
    found = load_results(smooth / "states.nc", {"smoothed": SmoothStates})["smoothed"]
    bouts = find_bouts(found.states, state_names(grown, 2))
    with (smooth / "bouts.csv").open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    assert [row["Behavior"] for row in rows] == [bouts.names[state] for state in bouts.state]
    assert len(rows) < len(find_bouts(grown.states(2), bouts.names))
    np.testing.assert_array_equal(found.states.segments.valid, grown.states(2).segments.valid)
    assert not load_results(plain / "states.nc", {"smoothed": SmoothStates})


def test_a_state_that_vanishes_is_told(cli, study, tmp_path, monkeypatch):
    """All frames in the first state."""

    def swallow(symbols, group, lag):
        found = smooth_states(symbols, group, lag)
        labels = np.minimum(found.states.labels, 0)
        return dataclasses.replace(found, states=dataclasses.replace(found.states, labels=labels))

    monkeypatch.setattr("ethomarkov.cli.commands.states.smooth_states", swallow)
    shutil.copytree(study.directory, tmp_path / "study")
    code, said, err = cli("states", tmp_path / "study", "--smooth", *FAST)
    assert code == 0, err
    assert "to 0.0% of the time: do not trust its smoothed bouts." in said
