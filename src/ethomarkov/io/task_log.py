"""Answers of finished tasks in a file that only grows, so that work goes on after any interruption."""

import hashlib
import io
import os
import pickle
import struct
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

SECONDS_BETWEEN_WRITES = 1.0
RECORD = struct.Struct("<Q16s")
KNOWN_NAMES = {
    ("builtins", "complex"),
    ("builtins", "set"),
    ("builtins", "slice"),
    ("numpy", "dtype"),
    ("numpy", "ndarray"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "scalar"),
    ("numpy._core.numeric", "_frombuffer"),
    ("scipy.sparse._csr", "csr_array"),
}


class TaskLog:
    """Answers of tasks, batch after batch, each kept as soon as it is known.

    Work that is done again in the same order asks for the same batches, so that batches need no names. An interruption
    can only leave the last record incomplete, and that one is forgotten.

    Parameters
    ----------
    path
        Of the file.
    key
        What the answers depend on; those of another key are thrown away.
    """

    def __init__(self, path: Path, key: str) -> None:
        self._batch = -1
        self._unwritten: list[bytes] = []
        self._last_write = time.monotonic()
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file: BinaryIO = path.open("a+b")
        self._known = self._read(key.encode())

    def recall(self, n_tasks: int) -> Mapping[int, Any]:
        """Open the next batch and give the answers that are known, by index."""
        self._batch += 1
        answers = {index: answer for (batch, index), answer in self._known.items() if batch == self._batch}
        return {index: answer for index, answer in answers.items() if index < n_tasks}

    def note(self, index: int, answer: object) -> Any:  # noqa: ANN401
        """Keep an answer of this batch, and give it as it will be recalled; it reaches the disk within a second."""
        body = pickle.dumps((self._batch, index, answer), protocol=5)
        self._unwritten.append(RECORD.pack(len(body), _checksum(body)) + body)
        if time.monotonic() - self._last_write >= SECONDS_BETWEEN_WRITES:
            self._write()
        return _load(body)[2]

    def close(self) -> None:
        """Write what is left and close the file."""
        self._write()
        self._file.close()

    def _write(self) -> None:
        if not self._unwritten:
            return
        self._file.write(b"".join(self._unwritten))
        self._file.flush()
        os.fsync(self._file.fileno())
        self._unwritten, self._last_write = [], time.monotonic()

    def _read(self, key: bytes) -> dict[tuple[int, int], Any]:
        """Read what is whole and of this key, and cut off the rest."""
        self._file.seek(0)
        head = RECORD.pack(len(key), _checksum(key)) + key
        if self._file.read(len(head)) != head:
            self._file.truncate(0)
            self._file.write(head)
            self._file.flush()
            return {}
        known, whole = {}, len(head)
        for body in _records(self._file):
            batch, index, answer = _load(body)
            known[batch, index] = answer
            whole = self._file.tell()
        self._file.truncate(whole)
        self._file.seek(whole)
        return known


def _records(file: BinaryIO) -> Iterator[bytes]:
    """Give records up to the first that is not whole."""
    while True:
        head = file.read(RECORD.size)
        if len(head) < RECORD.size:
            return
        length, checksum = RECORD.unpack(head)
        body = file.read(length)
        if len(body) < length or _checksum(body) != checksum:
            return
        yield body


def _checksum(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=16).digest()


class _Unpickler(pickle.Unpickler):
    """Builds numbers, arrays and results of this package, and nothing else: a file may come from anywhere."""

    def find_class(self, module: str, name: str) -> Any:  # noqa: ANN401
        if (module, name) in KNOWN_NAMES:
            return super().find_class(module, name)
        if module.startswith("ethomarkov."):
            found = super().find_class(module, name)
            if isinstance(found, type):
                return found
        raise pickle.UnpicklingError(f"{module}.{name} is no result.")


def _load(body: bytes) -> tuple[int, int, Any]:
    batch, index, answer = _Unpickler(io.BytesIO(body)).load()
    return int(batch), int(index), answer
