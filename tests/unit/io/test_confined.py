"""Files are read in a process that may crash, loop or swell without harm."""

import os
import sys

import numpy as np
import pytest

from ethomarkov.exceptions import InputFormatError
from ethomarkov.io import confined, read
from ethomarkov.io.child import Limits
from ethomarkov.io.confined import limits_of, read_confined

MEGABYTE = 2**20


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "some.bin"
    path.write_bytes(b"1234")
    return path


def test_small_files_share_their_limits_and_larger_ones_get_more():
    small, large = limits_of(100), limits_of(110 * MEGABYTE)
    assert limits_of(10 * MEGABYTE) == small
    assert small.seconds < 10
    assert small.memory < 10**9
    assert large.memory == small.memory + 4000 * MEGABYTE
    assert large.seconds == small.seconds + 100


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_file_that_ends_the_process_is_named_and_the_next_is_read(file):
    file.write_text("#!/bin/sh\nkill -9 $$\n")
    file.chmod(0o700)
    with pytest.raises(InputFormatError, match=rf"{file.name}: cannot be read; the process that tried ended.*SIGKILL"):
        read_confined(os.execv, file, ["some"])
    assert read_confined(os.path.basename, file) == file.name


def test_the_process_is_reused(file, tmp_path):
    np.savez(tmp_path / "a.npz", amplitudes=np.random.default_rng(0).normal(size=(50, 3)), sampling_rate=10.0)
    read(tmp_path / "a.npz")
    first = confined._reader.start()
    read(tmp_path / "a.npz")
    assert confined._reader.start() is first


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_starts_its_own(monkeypatch):
    first = confined._reader.start()
    monkeypatch.setattr(os, "getpid", lambda: -1)
    second = confined._reader.start()
    assert second is not first
    monkeypatch.undo()
    second.end()
    confined._reader._child, confined._reader._owner = first, os.getpid()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of memory and time need Linux")
def test_memory_beyond_the_limit_is_said(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_text("time,a1,a2\n" + "".join(f"{i / 10},0.5,{i}.25\n" for i in range(200_000)))
    monkeypatch.setattr(confined, "limits_of", lambda size: Limits(memory=MEGABYTE, seconds=20, idle_seconds=20))
    with pytest.raises(InputFormatError, match=r"a\.csv: "):
        read(path)


def test_packages_do_not_count_against_the_first_file(tmp_path, monkeypatch):
    np.savez(tmp_path / "a.npz", amplitudes=np.random.default_rng(0).normal(size=(50, 3)), sampling_rate=10.0)
    monkeypatch.setattr(confined, "limits_of", lambda size: Limits(memory=60 * MEGABYTE, seconds=20, idle_seconds=20))
    confined._reader.end()
    assert len(read(tmp_path / "a.npz").values) == 50


def test_errors_of_other_packages_become_one_of_ours_that_names_the_file(file):
    with pytest.raises(InputFormatError, match=r"some\.bin: cannot be read \(NotADirectoryError.*export it again"):
        read_confined(os.listdir, file)


def test_messages_are_one_paragraph_of_bearable_length(file):
    made = confined._readable("a\n\tb\x1b[31m " + "word " * 500 + "x" * 200 + " Do this.", file)
    assert made.startswith(f"{file}: a b\N{REPLACEMENT CHARACTER}[31m word")
    assert made.endswith("x… Do this.")
    assert len(made) <= confined.LONGEST_MESSAGE + len(str(file)) + 3
    assert made.isprintable()
    assert confined._readable(made, file) == made
