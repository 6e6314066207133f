"""The first look into a file."""

import h5py
import numpy as np
import pytest
import scipy.io

from ethomarkov.exceptions import InputFormatError
from ethomarkov.io.probe import Probe


def test_contents_of_hdf5(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["deep/in/here"], file["top"] = np.zeros((3, 2), np.float32), 1
        file["#refs#/a"] = 1
        file["cells"] = np.array([file["top"].ref], dtype=h5py.ref_dtype)
        file["empty"] = h5py.Empty("f4")
    assert Probe(tmp_path / "a.h5").contents() == (
        "cells (1,) cell, deep/in/here (3, 2) float32, empty () float32, top () int64"
    )


def test_contents_of_matlab(tmp_path):
    scipy.io.savemat(tmp_path / "a.mat", {"states": np.ones((5, 1)), "setup": {"rate": 3}})
    assert Probe(tmp_path / "a.mat").contents() == "states (5, 1) double, setup (1, 1) struct"


def test_contents_of_npz(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.zeros((2, 2)), **{f"y{i:02d}": i for i in range(12)})
    listed = Probe(tmp_path / "a.npz").contents()
    assert listed.startswith("x (2, 2) float64, y00 () int64")
    assert listed.endswith("y08 () int64 and 3 more")


def test_damaged_members_are_named(tmp_path):
    import zipfile

    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("x.npy", b"not an array")
    assert Probe(tmp_path / "a.npz").contents() == "x () that cannot be read"


def test_other_files_have_no_contents(tmp_path):
    (tmp_path / "a.txt").write_text("hello")
    assert Probe(tmp_path / "a.txt").contents() == ""


def test_a_dangling_link_is_no_array(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["nowhere"] = h5py.SoftLink("/absent")
    probe = Probe(tmp_path / "a.h5")
    assert "nowhere" in probe.hdf5_names
    assert probe.contents() == "nowhere () struct"


def test_a_broken_archive_is_named(tmp_path):
    (tmp_path / "a.npz").write_bytes(b"PK\x03\x04 and nothing more")
    with pytest.raises(InputFormatError, match=r"a\.npz: starts like a zip archive"):
        _ = Probe(tmp_path / "a.npz").zip_names
