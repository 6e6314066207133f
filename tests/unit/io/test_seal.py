"""A change of a sealed file is seen, whatever it is."""

import os
import random

import pytest

from ethomarkov.exceptions import InputFormatError
from ethomarkov.io.seal import BLOCK_BYTES, SEAL, check_seal, seal


@pytest.fixture
def file(tmp_path):
    """Longer than what is read at once."""
    content = random.Random(3).randbytes(BLOCK_BYTES + 1000)
    path = tmp_path / "sealed"
    path.write_bytes(content + seal(content))
    return path


def test_what_is_whole_passes(file, tmp_path):
    check_seal(file)
    (tmp_path / "empty").write_bytes(seal(b""))
    check_seal(tmp_path / "empty")


@pytest.mark.parametrize("place", [0, BLOCK_BYTES - 1, BLOCK_BYTES, -SEAL.size - 1, -SEAL.size, -32, -1])
def test_a_flipped_bit_is_seen(file, place):
    content = bytearray(file.read_bytes())
    content[place] ^= 1
    file.write_bytes(content)
    with pytest.raises(InputFormatError, match=r"sealed: is .* digest.* Make it again"):
        check_seal(file)


@pytest.mark.parametrize("length", [0, 1, SEAL.size - 1, SEAL.size, BLOCK_BYTES, -1])
def test_what_is_cut_off_is_seen(file, length):
    file.write_bytes(file.read_bytes()[:length])
    with pytest.raises(InputFormatError, match="truncated"):
        check_seal(file)


def test_what_was_added_is_seen(file):
    file.write_bytes(file.read_bytes() + b"more")
    with pytest.raises(InputFormatError, match="digest"):
        check_seal(file)


def test_what_is_no_file_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path):
        with pytest.raises(InputFormatError, match="is not a file"):
            check_seal(path)
    with pytest.raises(InputFormatError, match="No such file"):
        check_seal(tmp_path / "nowhere")
