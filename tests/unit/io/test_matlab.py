"""MATLAB files of both kinds: what is found, and what is refused before it is read."""

import struct
import zlib

import h5py
import numpy as np
import pytest
import scipy.io

from ethomarkov.exceptions import InputFormatError
from ethomarkov.io import limits, matlab
from ethomarkov.io.matlab import list_variables, read_cells, read_matlab


def write_structure(path, version):
    numbers = np.arange(6.0).reshape(2, 3)
    if version == 5:
        scipy.io.savemat(path, {"a": {"b": {"c": numbers, "word": "left"}}, "d": numbers, "e": np.zeros((0, 0))})
        return
    with h5py.File(path, "w") as file:
        file["a/b/c"], file["d"] = numbers.T, numbers.T
        file["a/b/word"] = np.array([[ord(letter)] for letter in "left"], np.uint16)
        file["a/b/word"].attrs["MATLAB_class"] = np.bytes_("char")
        file["e"] = np.zeros(2, np.uint64)
        file["e"].attrs["MATLAB_empty"] = np.uint8(1)


@pytest.mark.parametrize("version", [5, 7.3])
def test_places_in_structures(tmp_path, version):
    path = tmp_path / "s.mat"
    write_structure(path, version)
    found = read_matlab(path, ("a/b/c", "a/b/word", "a/b/absent", "a/b", "a", "d", "d/b", "e", "f/g"))
    assert set(found) == {"a/b/c", "a/b/word", "d", "e"}
    np.testing.assert_array_equal(found["a/b/c"], [[0, 1, 2], [3, 4, 5]])
    assert found["a/b/word"].tolist() == ["left"]
    assert found["e"].size == 0


@pytest.mark.parametrize("compress", [False, True])
def test_variables_are_listed(tmp_path, compress):
    cells = np.empty((1, 2), dtype=object)
    cells[0, :] = [np.ones(3), np.ones(4)]
    scipy.io.savemat(tmp_path / "v.mat", {"tr": cells, "s": {"x": 1}, "n": np.ones((2, 3))}, do_compression=compress)
    found = list_variables(tmp_path / "v.mat")
    assert {name: (item.kind, item.shape) for name, item in found.items()} == {
        "tr": ("cell", (1, 2)),
        "s": ("struct", (1, 1)),
        "n": ("double", (2, 3)),
    }
    assert [cell.size for cell in read_cells(tmp_path / "v.mat", "tr")] == [3, 4]


@pytest.mark.parametrize("order", ["<", ">"])
def test_a_compressed_variable_declares_its_size(tmp_path, order):
    header = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack(f"{order}HH", 0x0100, 0x4D49)
    packed = zlib.compress(struct.pack(f"{order}II", 14, 2**31) + bytes(4096))
    path = tmp_path / "bomb.mat"
    path.write_bytes(header + struct.pack(f"{order}II", 15, len(packed)) + packed)
    with pytest.raises(InputFormatError, match=r"needs 2,048 MB, more than the 256 MB"):
        list_variables(path)


@pytest.mark.parametrize("compress", [False, True])
def test_a_cell_array_of_absurd_shape(tmp_path, compress, monkeypatch):
    cells = np.empty((1, 2000), dtype=object)
    cells[0, :] = [np.zeros((0, 0))] * 2000
    scipy.io.savemat(tmp_path / "c.mat", {"tr": cells}, do_compression=compress)
    monkeypatch.setattr(matlab, "_check_elements", lambda path: None)
    monkeypatch.setattr(limits, "FREE_BYTES", 0)
    monkeypatch.setattr(limits, "BYTES_PER_BYTE", 0)
    with pytest.raises(InputFormatError, match="tr needs"):
        list_variables(tmp_path / "c.mat")


def test_two_variables_of_one_name(tmp_path):
    path = tmp_path / "twice.mat"
    with path.open("wb") as file:
        scipy.io.savemat(file, {"tr": np.ones(3)})
    again = tmp_path / "again.mat"
    scipy.io.savemat(again, {"tr": np.zeros(3)})
    path.write_bytes(path.read_bytes() + again.read_bytes()[128:])
    with pytest.raises(InputFormatError, match="two variables have the same name"):
        read_matlab(path, ("tr",))


@pytest.mark.parametrize("keep", [130, 140, 180, 230])
def test_truncated_files(tmp_path, keep):
    path = tmp_path / "short.mat"
    scipy.io.savemat(path, {"tr": np.arange(40.0)}, do_compression=True)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(InputFormatError, match=r"short\.mat"):
        read_matlab(path, ("tr",))


def test_a_name_alone_is_no_file(tmp_path):
    path = tmp_path / "head.mat"
    path.write_bytes(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")
    with pytest.raises(InputFormatError, match="cannot be opened"):
        list_variables(path)
