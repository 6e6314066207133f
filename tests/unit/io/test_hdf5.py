"""The door to HDF5 files: what leads out of a file is refused before anything is read."""

import re
from pathlib import Path

import h5py
import numpy as np
import pytest

from ethomarkov.exceptions import InputFormatError
from ethomarkov.io import hdf5
from ethomarkov.io.hdf5 import open_hdf5, read_numbers, read_text, read_values, text_of

SOURCE = Path(hdf5.__file__).parents[1]


@pytest.fixture
def secret(tmp_path):
    path = tmp_path / "secret.h5"
    with h5py.File(path, "w") as file:
        file["x"] = np.arange(4.0)
    return path


def external_link(file, secret):
    file["group/out"] = h5py.ExternalLink(str(secret), "/x")


def soft_through_external(file, secret):
    file["hidden/door"] = h5py.ExternalLink(str(secret), "/")
    file["x"] = h5py.SoftLink("/hidden/door/x")


def external_storage(file, secret):
    file.create_dataset("x", (4,), "f8", external=[(str(secret), 0, 32)])


def virtual(file, secret):
    layout = h5py.VirtualLayout((4,), "f8")
    layout[:] = h5py.VirtualSource(str(secret), "x", (4,))
    file.create_virtual_dataset("deep/in/here", layout)


@pytest.mark.parametrize("lead_out", [external_link, soft_through_external, external_storage, virtual])
def test_what_leads_out_of_the_file_is_refused(tmp_path, secret, lead_out):
    path = tmp_path / "door.h5"
    with h5py.File(path, "w") as file:
        lead_out(file, secret)
    with pytest.raises(InputFormatError, match=r"(another file|other files)\. Copy the data"), open_hdf5(path):
        pass


def test_a_dataset_that_only_a_reference_leads_to_is_looked_at_when_it_is_read(tmp_path, secret):
    path = tmp_path / "anonymous.h5"
    with h5py.File(path, "w") as file:
        hidden = file.create_dataset(None, (4,), "f8", external=[(str(secret), 0, 32)])
        file.create_dataset("cells", data=[hidden.ref], dtype=h5py.ref_dtype)
        file["kept"] = hidden  # HDF5 forgets what nothing links to
        del file["kept"]
        with pytest.raises(InputFormatError, match="another file"):
            read_values(hidden)


def test_soft_and_hard_links_within_the_file_are_followed(tmp_path):
    path = tmp_path / "inside.h5"
    with h5py.File(path, "w") as file:
        file["a/x"] = [1, 2]
        file["soft"], file["hard"], file["a/top"] = h5py.SoftLink("/a/x"), file["a/x"], file["/"]
    with open_hdf5(path) as file:
        assert read_values(file["soft"]).tolist() == read_values(file["hard"]).tolist() == [1, 2]


def test_sizes_are_checked_before_they_are_read(tmp_path):
    path = tmp_path / "bomb.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", (10**12,), "f8", chunks=(2**20,), compression="gzip")
    assert path.stat().st_size < 10_000
    with open_hdf5(path) as file, pytest.raises(InputFormatError, match=r"needs 7,629,395 MB.*save it again"):
        read_values(file["x"])


@pytest.mark.parametrize(("length", "chunk"), [(10, 10**8), (10**7, 8)], ids=["large", "many"])
def test_chunks_are_checked_as_well(tmp_path, length, chunk):
    with h5py.File(tmp_path / "chunk.h5", "w") as file:
        file.create_dataset("x", (length,), "f8", maxshape=(None,), chunks=(chunk,), compression="gzip")
    with open_hdf5(tmp_path / "chunk.h5") as file, pytest.raises(InputFormatError, match=r"chunks of shape .* needs"):
        read_values(file["x"])


@pytest.mark.parametrize("keep", [8, 100, 900])
def test_a_truncated_file_is_named(tmp_path, secret, keep):
    path = tmp_path / "short.h5"
    path.write_bytes(secret.read_bytes()[:keep])
    with pytest.raises(InputFormatError, match=r"short\.h5: starts like HDF5 but cannot be opened"), open_hdf5(path):
        pass


def test_text_of_any_storage(tmp_path):
    path = tmp_path / "words.h5"
    with h5py.File(path, "w") as file:
        file["fixed"], file["free"], file["number"] = np.array([b"nose", b"tail"]), ["Schwanz", "queue"], [1.0]
        file.attrs["bytes"], file.attrs["one"] = np.bytes_("head"), np.array([b"foot"])
    with open_hdf5(path) as file:
        assert read_text(file["fixed"]).tolist() == ["nose", "tail"]
        assert read_text(file["free"]).tolist() == ["Schwanz", "queue"]
        assert [text_of(file.attrs[name]) for name in ("bytes", "one")] == ["head", "foot"]
        assert text_of(file.attrs.get("absent"), "default") == "default"
        with pytest.raises(InputFormatError, match="text is needed"):
            read_text(file["number"])


def test_a_group_is_no_array(tmp_path):
    with h5py.File(tmp_path / "group.h5", "w") as file, pytest.raises(InputFormatError, match="is a group"):
        read_values(file.create_group("x"))


@pytest.mark.parametrize(
    "values", [np.array([b"x"]), np.ones(3, complex), np.ones(3, bool), np.zeros(3, [("a", "f8")])]
)
def test_what_is_no_number_is_told(tmp_path, values):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["x"] = values
        with pytest.raises(InputFormatError, match="numbers are needed"):
            read_numbers(file["x"])


def test_there_is_one_door():
    ways_in = re.compile(r"h5py\.File\([^)]*\"r\"|open_dataset\(|open_datatree\(|read_hdf\(|load_dataset\(|NWBHDF5IO\(")
    found = [
        f"{path.relative_to(SOURCE)}: {line.strip()}"
        for path in SOURCE.rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if ways_in.search(line) and path.name != "hdf5.py"
    ]
    assert found == []
