"""What is no file is not opened, and what declares too much is not read."""

import os
import socket

import pytest

from ethomarkov.exceptions import InputFormatError
from ethomarkov.io.limits import BYTES_PER_BYTE, FREE_BYTES, array_bytes, check_declared, check_regular
from ethomarkov.study.settings import read_settings


def make_pipe(path):
    os.mkfifo(path)


def make_socket(path):
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(path.name)  # in this directory, because addresses of sockets are short


STRANGE = {
    "a directory": lambda path: path.mkdir(),
    "a pipe": make_pipe,
    "a socket": make_socket,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a link to a file that is not there": lambda path: path.symlink_to(path.with_name("gone")),
    "cannot be read": lambda path: path.symlink_to(path),
    "no such file": lambda path: None,
}


@pytest.mark.parametrize("what", STRANGE)
def test_what_is_no_file(tmp_path, monkeypatch, what):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "a.csv"
    STRANGE[what](path)
    with pytest.raises(InputFormatError, match=rf"a\.csv: .*{what}"):
        check_regular(path)
    with pytest.raises(InputFormatError, match=r"a\.csv"):
        read_settings(path)


@pytest.mark.parametrize("name", ["x" * 5000, "nul\0.csv"])
def test_names_that_no_file_can_have(tmp_path, name):
    with pytest.raises(InputFormatError, match=r"cannot be read .*Check the path"):
        check_regular(tmp_path / name)


def test_files_and_links_to_them(tmp_path):
    (tmp_path / "a").write_text("x", encoding="utf-8")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    check_regular(tmp_path / "a")
    check_regular(str(tmp_path / "b"))


def test_the_limit_grows_with_the_file():
    check_declared("x", FREE_BYTES + BYTES_PER_BYTE * 10, 10)
    with pytest.raises(InputFormatError, match="x needs 256 MB, more than the 256 MB"):
        check_declared("x", FREE_BYTES + BYTES_PER_BYTE * 10 + 1, 10)


def test_small_integers_count_as_the_floats_they_become():
    assert array_bytes((10, 3), 1) == 240
    assert array_bytes((10, 3), 16) == 480
    assert array_bytes((10**9, 10**9, 10**9), 8) == 8 * 10**27
    assert array_bytes((), 8) == 8
