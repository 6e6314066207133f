"""Which reader takes which file."""

import json
import random
import shutil
import subprocess
import sys

import h5py
import numpy as np
import pytest
import scipy.io
import xarray as xr

from ethomarkov.exceptions import InputFormatError
from ethomarkov.io import ReadOptions, formats, read, registry, write_recording
from ethomarkov.io.probe import Probe
from ethomarkov.recording import Recording, Track

RNG = np.random.default_rng(0)
VALUES = RNG.normal(size=(30, 4))
POINTS = RNG.normal(size=(30, 5, 2)).cumsum(axis=1)


def make_native(path):
    track = Track(individual="one", values=VALUES)
    return write_recording(Recording.from_tracks([track], kind="amplitude", sampling_rate=16.0), path)


def make_stephens(path):
    cells = np.empty((1, 2), dtype=object)
    cells[0, :] = [VALUES, VALUES + 1]
    with path.open("wb") as file:
        scipy.io.savemat(file, {"tr": cells})
    return path


def make_tierpsy(path):
    with h5py.File(path, "w") as file:
        file["coordinates/skeletons"] = POINTS
        file["trajectories_data"] = np.zeros(30, dtype=[("worm_index_joined", "i4"), ("frame_number", "i4")])
    return path


def make_wormpose(path):
    with h5py.File(path, "w") as file:
        file["resolved/theta"] = VALUES
    return path


def make_wormpose_features(path):
    with h5py.File(path, "w") as file:
        file["skeletons"], file["width"] = POINTS, VALUES
    return path


def make_worm_tracker2(path):
    with path.open("wb") as file:
        scipy.io.savemat(file, {"worm": {"posture": {"skeleton": {"x": VALUES}}}, "info": {"video": {}}})
    return path


def make_jabs(path):
    with h5py.File(path, "w") as file:
        file["poseest/points"] = np.ones((30, 12, 2), np.uint16)
        file["poseest/confidence"] = np.ones((30, 12), np.float32)
    return path


def make_leap(path):
    with h5py.File(path, "w") as file:
        file["positions_pred"] = np.ones((30, 2, 3), np.int32)
        file["conf_pred"] = np.ones((30, 3), np.float32)
    return path


def make_wcon(path):
    record = {"id": "w", "t": (np.arange(30) / 16).tolist(), "x": POINTS[..., 0].tolist(), "y": POINTS[..., 1].tolist()}
    path.write_text(json.dumps({"units": {"t": "s", "x": "mm", "y": "mm"}, "data": [record]}))
    return path


def make_movement(path):
    data = xr.Dataset(
        {"position": (("time", "space", "keypoint", "individual"), RNG.normal(size=(30, 2, 3, 1)))},
        coords={
            "time": np.arange(30) / 25,
            "space": ["x", "y"],
            "keypoint": ["a", "b", "c"],
            "individual": ["m"],
        },
        attrs={"fps": 25.0},
    )
    data.to_netcdf(path, engine="h5netcdf")
    return path


def make_sleap(path):
    with h5py.File(path, "w") as file:
        file["tracks"] = RNG.normal(size=(1, 2, 3, 30))
        file["node_names"] = np.array([b"a", b"b", b"c"])
    return path


def make_deeplabcut(path):
    head = ["scorer,net,net,net", "bodyparts,nose,nose,nose", "coords,x,y,likelihood"]
    path.write_text("\n".join([*head, *(f"{i},{i}.5,{2 * i}.5,0.9" for i in range(30))]))
    return path


def make_csv(path):
    path.write_text("time,a1\n" + "\n".join(f"{i / 16},{np.sin(i)}" for i in range(30)))
    return path


def make_npz(path):
    with path.open("wb") as file:
        np.savez(file, amplitudes=VALUES, sampling_rate=16.0)
    return path


def make_hdf5(path):
    with h5py.File(path, "w") as file:
        file["amplitudes"] = VALUES
        file["sampling_rate"] = 16.0
    return path


MAKERS = {
    "ethomarkov": (make_native, "r.nc"),
    "stephens": (make_stephens, "PNAS2011-DataStitched.mat"),
    "tierpsy": (make_tierpsy, "video_featuresN.hdf5"),
    "wormpose": (make_wormpose, "results.h5"),
    "wormpose-features": (make_wormpose_features, "features.h5"),
    "worm-tracker-2": (make_worm_tracker2, "N2_features.mat"),
    "jabs": (make_jabs, "video_pose_est_v2.h5"),
    "leap": (make_leap, "preds.h5"),
    "wcon": (make_wcon, "w.wcon"),
    "movement": (make_movement, "poses.nc"),
    "sleap": (make_sleap, "s.analysis.h5"),
    "deeplabcut": (make_deeplabcut, "videoDLC_resnet.csv"),
    "csv": (make_csv, "t.csv"),
    "npz": (make_npz, "t.npz"),
    "hdf5": (make_hdf5, "t.h5"),
}
MISLEADING = {
    "ethomarkov": "r.h5",
    "stephens": "r.txt",
    "tierpsy": "video.mat",
    "wormpose": "processed.mat",
    "wormpose-features": "poses.mat",
    "worm-tracker-2": "worm.h5",
    "jabs": "mouse.nc",
    "leap": "labels.mat",
    "wcon": "w.json",
    "movement": "poses.h5",
    "sleap": "s.mat",
    "deeplabcut": "poses.txt",
    "npz": "t.csv",
    "hdf5": "t.mat",
}


def takers(path) -> list[str]:
    return [one.name for one in formats() if one.recognise(Probe(path))]


@pytest.mark.parametrize("name", MAKERS)
def test_content_tells_the_format(tmp_path, name):
    make, usual = MAKERS[name]
    make(tmp_path / usual)
    assert takers(tmp_path / usual)[0] == name


@pytest.mark.parametrize("name", MISLEADING)
def test_content_tells_the_format_whatever_the_ending(tmp_path, name):
    make, usual = MAKERS[name]
    make(tmp_path / usual)
    path = shutil.copy(tmp_path / usual, tmp_path / MISLEADING[name])
    assert takers(path)[0] == name


@pytest.mark.parametrize("name", ["ethomarkov", "stephens", "wcon", "movement", "csv", "npz", "hdf5"])
def test_the_recording_says_where_it_came_from(tmp_path, name):
    make, usual = MAKERS[name]
    make(tmp_path / usual)
    stated = {"sampling_rate": 16.0} if name == "stephens" else {}
    attrs = read(tmp_path / usual, **stated).dataset.attrs
    assert attrs["source_format"] == name
    assert attrs["source_file"] == usual


def test_a_named_format_is_believed(tmp_path):
    make_csv(tmp_path / "t.weird")
    with pytest.raises(InputFormatError, match="recognised"):
        read(tmp_path / "t.weird")
    assert read(tmp_path / "t.weird", "csv").kind == "amplitude"


def test_an_unknown_format_is_named_with_the_known_ones(tmp_path):
    make_csv(tmp_path / "t.csv")
    with pytest.raises(InputFormatError, match="'matlab'") as caught:
        read(tmp_path / "t.csv", "matlab")
    for one in formats():
        assert one.name in str(caught.value)


def test_every_format_describes_itself():
    for one in formats():
        assert one.describes
        assert one.suffixes


def test_the_order_of_formats_does_not_depend_on_imports():
    script = (
        "import importlib, sys\n"
        "for name in sys.argv[1:]: importlib.import_module(f'ethomarkov.io.readers.{name}')\n"
        "from ethomarkov.io import ReadOptions, formats\n"
        "print([one.name for one in formats()])\n"
    )
    modules = list(registry.MODULES)
    random.Random(1).shuffle(modules)
    done = subprocess.run(
        [sys.executable, "-c", script, *modules], capture_output=True, text=True, check=True, timeout=300
    )
    assert done.stdout.strip() == str([one.name for one in formats()])


def test_the_plain_formats_come_last():
    names = [one.name for one in formats()]
    assert names[0] == "ethomarkov"
    assert set(names[-3:]) == {"csv", "npz", "hdf5"}


@pytest.mark.parametrize("name", ["r.xyz", "r", "r.nc.bak", ".nc"])
def test_writing_an_unknown_ending_names_the_known_ones(tmp_path, name):
    recording = read(make_csv(tmp_path / "t.csv"))
    with pytest.raises(InputFormatError) as caught:
        write_recording(recording, tmp_path / name)
    assert str(tmp_path / name) in str(caught.value)
    for ending in (".nc", ".csv", ".npz", ".wcon"):
        assert ending in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


def test_no_file_at_all():
    with pytest.raises(InputFormatError, match="No file"):
        read([])


def test_files_of_the_same_stem_are_told_apart_by_their_folder(tmp_path):
    for folder in ("monday", "tuesday"):
        (tmp_path / folder).mkdir()
        make_csv(tmp_path / folder / "t.csv")
    names = read([tmp_path / "monday" / "t.csv", tmp_path / "tuesday" / "t.csv"]).individuals
    assert len(set(names)) == 2
    assert "monday" in names[0]
    assert "tuesday" in names[1]


def test_readers_may_raise_what_they_like(tmp_path, monkeypatch):
    """Damaged files make libraries raise anything; the user sees the file's name and what to do."""
    path = make_npz(tmp_path / "t.npz")

    def explode(*args: object, **kwargs: object) -> None:
        raise IndexError("tuple index out of range")

    monkeypatch.setattr(np, "load", explode)
    with pytest.raises(InputFormatError, match=r"t\.npz"):
        registry.read_here(str(path), "auto", ReadOptions())


@pytest.mark.parametrize("option", [{"view": "left"}, {"untracked": True}])
def test_options_that_a_format_has_no_choice_for_are_refused(tmp_path, option):
    with pytest.raises(InputFormatError, match=r"t\.csv: .* was given, but files of the format csv.*leave it out"):
        read(make_csv(tmp_path / "t.csv"), **option)
