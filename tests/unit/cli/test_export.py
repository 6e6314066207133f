"""States, bouts and frames for other programs, by the command."""

import csv
import shutil

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from ethomarkov.io.bouts import read_boris
from ethomarkov.study import Study

WRITTEN = {
    "bouts": ["bouts.csv"],
    "frames": ["frames.csv"],
    "intervals": ["intervals"],
    "movement": ["states_movement.nc"],
    "boris": ["boris.csv"],
}


@pytest.fixture(scope="module")
def home(finished_study, tmp_path_factory):
    """The directory of a study."""
    return finished_study.copy_to(tmp_path_factory.mktemp("home") / "study")


@pytest.fixture(scope="module")
def study(home):
    return Study.load(home)


@pytest.fixture
def exported(cli, home, tmp_path):
    out = tmp_path / "exported"
    code, said, error = cli("export", home, "--out", out)
    assert code == 0, error
    return out, said


def test_everything_is_written_and_told(exported):
    out, said = exported
    names = sorted(name for files in WRITTEN.values() for name in files)
    assert sorted(path.name for path in out.iterdir()) == names
    for name in names:
        assert f"Written: {out / name}" in said
    assert "Next: ethomarkov" in said


def test_tables_are_those_of_the_study(exported, study):
    out, _ = exported
    bouts, frames = pd.read_csv(out / "bouts.csv"), pd.read_csv(out / "frames.csv")
    pd.testing.assert_frame_equal(bouts, study.bouts(), check_dtype=False)
    wanted = study.frames()
    assert list(frames) == list(wanted)
    assert frames["state"].fillna("").tolist() == wanted["state"].fillna("").tolist()
    for name in ("time", "phi_2", "mode_1"):  # single precision comes back to the bit
        np.testing.assert_array_equal(frames[name].to_numpy(wanted[name].dtype), wanted[name])


def test_other_programs_get_the_same_bouts(exported, study):
    out, _ = exported
    names = study.names(study.finest)
    pd.testing.assert_frame_equal(read_boris(out / "boris.csv", names=names).table(), study.bouts())
    own = study.bouts()
    for i, individual in enumerate(study.individuals):
        with np.load(sorted((out / "intervals").iterdir())[i], allow_pickle=False) as file:
            assert file["state"].tolist() == own[own["individual"] == individual]["state"].tolist()
    with xr.open_dataset(out / "states_movement.nc", engine="h5netcdf") as data:
        counts = [int((data["state"] == k).sum()) for k in range(len(names))]
    assert counts == study.states(study.finest).visits().tolist()


@pytest.mark.parametrize("what", WRITTEN)
def test_one_thing_at_one_level(cli, home, tmp_path, what):
    code, said, error = cli("export", home, "--out", tmp_path / "o", "--what", what, "--level", 2)
    assert code == 0, error
    assert [path.name for path in (tmp_path / "o").iterdir()] == WRITTEN[what]
    assert said.startswith("2 states: ")


def test_smoothed_states_are_said_to_be(cli, home, tmp_path):
    copy = shutil.copytree(home, tmp_path / "study")
    code, said, error = cli("export", copy, "--what", "bouts", "--level", 2, "--smooth")
    assert code == 0, error
    assert "2 states smoothed in time, not for rates or dwell times" in said
    smoothed = pd.read_csv(copy / "export" / "bouts.csv")
    assert len(smoothed) < len(Study.load(copy).bouts(2))  # fewer and longer


def test_a_name_is_no_formula(cli, study, tmp_path):
    old = study.names(2)[0]
    named = study.replace(settings=study.settings.model_copy(update={"names": {old: "=1+2"}}))
    named.save(tmp_path)
    assert cli("export", tmp_path, "--level", 2, "--out", tmp_path / "o")[0] == 0
    for file in ("bouts.csv", "frames.csv", "boris.csv"):
        with (tmp_path / "o" / file).open(encoding="utf-8", newline="") as handle:
            cells = {cell for row in csv.reader(handle) for cell in row}
        assert "'=1+2" in cells
        assert "=1+2" not in cells


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--level", "99"), "level is 99; this study can be read at 1, 2"),
        (("--what", "everything"), "everything"),
        (("--level", "two"), "two"),
    ],
    ids=["level", "what", "number"],
)
def test_what_is_not_there_is_refused(cli, home, tmp_path, arguments, told):
    code, _, error = cli("export", home, "--out", tmp_path / "o", *arguments)
    assert code != 0
    assert told in error
    assert not (tmp_path / "o").exists()
