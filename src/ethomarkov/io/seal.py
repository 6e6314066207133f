"""A digest at the end of a file, by which any change of its content is seen before anything is read from it.

HDF5 says itself where it ends, so that its readers, xarray and R among them, do not see what follows.
"""

import hashlib
import os
import stat
import struct
from pathlib import Path
from typing import BinaryIO

from ethomarkov.exceptions import InputFormatError

MARK = b"EMSEAL01"
SEAL = struct.Struct("<8s32s")
BLOCK_BYTES = 2**20
MAKE_AGAIN = "Make it again, a study with `ethomarkov run`."


def seal(content: bytes) -> bytes:
    """Give the digest of a content as it stands behind it in a file."""
    return SEAL.pack(MARK, _hash(content).digest())


def digest_in(end: bytes) -> bytes:
    """Give the digest that stands in what `seal` gave."""
    digest: bytes = SEAL.unpack(end)[1]
    return digest


def check_seal(path: Path) -> bytes:
    """Make sure that a file is as it was written, and not cut off, damaged or of another kind; give its digest."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise InputFormatError(f"{path}: is not a file. Name one that a study wrote, or its directory.")
        with path.open("rb") as file:
            mark, told, found = _read(file)
    except OSError as error:
        raise InputFormatError(f"{path}: cannot be read ({error.strerror}). Name a file that can.") from error
    if mark != MARK:
        raise InputFormatError(
            f"{path}: is not a study or another result of this version, or it is truncated: it does not end with the "
            f"digest of its content. {MAKE_AGAIN}"
        )
    if told != found:
        raise InputFormatError(f"{path}: is damaged: its content does not agree with its digest. {MAKE_AGAIN}")
    return found


def _read(file: BinaryIO) -> tuple[bytes, bytes, bytes]:
    """Give the mark and the digest at the end of a file, and the digest of all that is before them."""
    left, hasher = os.fstat(file.fileno()).st_size - SEAL.size, _hash()
    while left > 0 and (block := file.read(min(left, BLOCK_BYTES))):
        hasher.update(block)
        left -= len(block)
    mark, told = SEAL.unpack(file.read(SEAL.size).ljust(SEAL.size, b"\0"))
    return mark, told, hasher.digest()


def _hash(content: bytes = b"") -> "hashlib.blake2b":
    return hashlib.blake2b(content, digest_size=32)
