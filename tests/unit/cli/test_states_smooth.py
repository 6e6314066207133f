"""`ethomarkov states --smooth`: other labels in bouts, the same kinetics."""

import csv
import dataclasses

import numpy as np
import pytest
import xarray as xr

from ethomarkov.coarse.smoothing import smooth_states
from ethomarkov.io.bouts import find_bouts
from ethomarkov.report.bouts import OF_TREE, SMOOTHED
from ethomarkov.study import Study

pytestmark = pytest.mark.usefixtures("no_figures")

FAST = ("--states", "2", "--resamples", "0", "--threads", "1")
OF_THE_TREE = ("states.csv", "budget.csv", "transitions.csv")


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
    home, plain, smooth = study.directory, tmp_path / "plain", tmp_path / "smooth"
    code, said, err = cli("states", home, "--out", plain, *FAST)
    assert code == 0, err
    assert "are smoothed" not in said
    assert Study.load(home).held("smoothed_states") is None
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
    found = grown.held("smoothed_states", level=2)
    bouts = find_bouts(found.states, grown.names(2))
    with (smooth / "bouts.csv").open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    assert [row["Behavior"] for row in rows] == [bouts.names[state] for state in bouts.state]
    assert len(rows) < len(find_bouts(grown.states(2), bouts.names))
    np.testing.assert_array_equal(found.states.segments.valid, grown.states(2).segments.valid)


def test_a_state_that_vanishes_is_told(cli, study, monkeypatch):
    """All frames in the first state."""

    def swallow(symbols, group, lag):
        found = smooth_states(symbols, group, lag)
        labels = np.minimum(found.states.labels, 0)
        return dataclasses.replace(found, states=dataclasses.replace(found.states, labels=labels))

    monkeypatch.setattr("ethomarkov.study.analyses.smooth_states", swallow)
    code, said, err = cli("states", study.directory, "--smooth", *FAST)
    assert code == 0, err
    assert "to 0.0% of the time: do not trust its smoothed bouts." in said
