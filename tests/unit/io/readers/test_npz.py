"""Archives that are not what they say are refused before anything of them is read."""

import io
import struct
import zipfile

import numpy as np
import pytest

from ethomarkov.exceptions import InputFormatError
from ethomarkov.io import read
from ethomarkov.io.readers.npz import check_archive, load_arrays


def head(descr="<f8", shape=(3, 2), version=(1, 0)):
    """Write the head of an array, whatever it says."""
    text = repr({"descr": descr, "fortran_order": False, "shape": shape}).encode()
    size = struct.pack("<H" if version == (1, 0) else "<I", len(text) + 1)
    return b"\x93NUMPY" + bytes(version) + size + text + b"\n"


def archive(path, **members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for name, data in members.items():
            out.writestr(f"{name}.npy", data)
    return path


def refused(path, message):
    with pytest.raises(InputFormatError, match=message) as caught:
        read(path, sampling_rate=1)
    assert path.name in str(caught.value)


@pytest.mark.parametrize("shape", [(4, 2), (2, 2), (10**12, 10**9), (-3, 2), (3, -2), (-3, -2), (3,), ()])
@pytest.mark.parametrize("version", [(1, 0), (2, 0)])
def test_a_shape_that_is_not_that_of_the_bytes(tmp_path, shape, version):
    path = archive(tmp_path / "a.npz", amplitudes=head(shape=shape, version=version) + bytes(48))
    refused(path, "says that it has shape")


@pytest.mark.parametrize("version", [(1, 0), (2, 0)])
def test_both_versions_are_read(tmp_path, version):
    values = np.random.default_rng(0).normal(size=(3, 2))
    path = archive(tmp_path / "a.npz", amplitudes=head(version=version) + values.tobytes())
    np.testing.assert_array_equal(read(path, sampling_rate=1).values, values.astype(np.float32))


def test_objects_are_not_unpickled(tmp_path):
    hostile = b"cbuiltins\nexec\n(S'raise SystemExit'\ntR."
    refused(archive(tmp_path / "a.npz", amplitudes=head("|O") + hostile), "Pickled arrays are never loaded")
    hidden = head([("x", "|O"), ("y", "<f8")], (3,)) + hostile
    refused(archive(tmp_path / "b.npz", amplitudes=head() + bytes(48), time=hidden), "Pickled arrays are never loaded")


@pytest.mark.usefixtures("reads_here")
def test_too_much_for_its_file(tmp_path, monkeypatch):
    monkeypatch.setattr("ethomarkov.io.limits.FREE_BYTES", 1000)
    path = archive(tmp_path / "a.npz", amplitudes=head(shape=(500, 50)) + bytes(200_000))
    assert path.stat().st_size < 1000
    refused(path, "the sum of its arrays needs")


@pytest.mark.usefixtures("reads_here")
def test_many_that_are_too_much_together(tmp_path, monkeypatch):
    monkeypatch.setattr("ethomarkov.io.limits.FREE_BYTES", 30_000)
    part = head(shape=(500, 5)) + bytes(20_000)
    check_archive(archive(tmp_path / "one.npz", amplitudes=part))
    refused(archive(tmp_path / "more.npz", amplitudes=part, time=part, centroid=part), "the sum of its arrays needs")


def test_bytes_that_the_directory_does_not_tell_of(tmp_path):
    path = archive(tmp_path / "a.npz", amplitudes=head(shape=(30, 2)) + bytes(480))
    data = path.read_bytes()
    real = struct.pack("<I", len(head(shape=(30, 2))) + 480)
    assert data.count(real) >= 1
    path.write_bytes(data.replace(real, struct.pack("<I", 10**9)))
    refused(path, r"says that it has shape|cannot be read")


def test_one_array_twice(tmp_path):
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(tmp_path / "a.npz", "w") as out:
        for name in ("amplitudes", "time", "time"):
            out.writestr(f"{name}.npy", head() + bytes(48))
    refused(tmp_path / "a.npz", r"time\.npy 2 times")


@pytest.mark.parametrize("data", [b"", b"\x93NUMPY", head()[:20], head(version=(9, 9)), b"PK", head("<nonsense")])
def test_heads_that_are_none(tmp_path, data):
    refused(archive(tmp_path / "a.npz", amplitudes=data), r"cannot be read|version")


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (10**12, 0), (0, 10**12)])
def test_arrays_without_numbers(tmp_path, shape):
    refused(archive(tmp_path / "a.npz", amplitudes=head(shape=shape)), "holds no number")


@pytest.mark.parametrize("dtype", ["i1", "u2", "<i4", ">i8", "f2", ">f4", "f8", "g"])
def test_numbers_of_any_size_come_in_whole(tmp_path, dtype):
    values = (np.arange(600) % 121).reshape(-1, 2).astype(dtype)
    np.savez(tmp_path / "a.npz", amplitudes=values, fps=2)
    np.testing.assert_array_equal(read(tmp_path / "a.npz").values, values.astype(np.float32))


def test_names_as_bytes_and_as_numbers(tmp_path):
    values = np.random.default_rng(0).normal(size=(4, 2))
    np.savez(tmp_path / "a.npz", amplitudes=values, individual=np.array([b"b", b"b", b"a", b"a"]), fps=2)
    assert read(tmp_path / "a.npz").individuals == ("b", "a")
    np.savez(tmp_path / "a.npz", amplitudes=values, individual=np.array([12, 3, 12, 3]), fps=2)
    recording = read(tmp_path / "a.npz")
    assert recording.individuals == ("12", "3")
    np.testing.assert_array_equal(recording.values, values[[0, 2, 1, 3]].astype(np.float32))
    np.savez(tmp_path / "a.npz", amplitudes=values, individual=np.array(b"one"), fps=2)
    assert read(tmp_path / "a.npz").individuals == ("one",)


def test_an_array_may_stay_in_its_archive(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.arange(3), y=np.arange(4))
    assert set(load_arrays(tmp_path / "a.npz")) == {"x", "y"}
    assert set(load_arrays(tmp_path / "a.npz", without="x")) == {"y"}


def test_an_archive_that_is_none(tmp_path):
    (tmp_path / "a.npz").write_bytes(io.BytesIO(b"PK\x03\x04 and no more").getvalue())
    with pytest.raises(InputFormatError, match="cannot be read"):
        load_arrays(tmp_path / "a.npz")
