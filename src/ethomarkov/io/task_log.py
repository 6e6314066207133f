"""Answers of finished tasks in a file that only grows, so that work goes on after any interruption."""

import hashlib
import os
import struct
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from ethomarkov.exceptions import InputFormatError
from ethomarkov.io.packing import pack, unpack

SECONDS_BETWEEN_WRITES = 1.0
RECORD = struct.Struct("<Q16s")


class TaskLog:
    """Answers of tasks, batch after batch, each kept as soon as it is known.

    Work that is done again in the same order asks for the same batches, so that batches need no names. An interruption
    can only leave the last record incomplete, and that one is forgotten; a damaged record is forgotten with all that
    follows it.

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
        self.is_empty = not self._known

    def recall(self, n_tasks: int) -> Mapping[int, Any]:
        """Open the next batch and give the answers that are known, by index."""
        self._batch += 1
        answers = {index: answer for (batch, index), answer in self._known.items() if batch == self._batch}
        return {index: answer for index, answer in answers.items() if 0 <= index < n_tasks}

    def note(self, index: int, answer: object) -> Any:  # noqa: ANN401
        """Keep an answer of this batch, and give it as it will be recalled; it reaches the disk within a second.

        An answer that cannot be packed is a TypeError: a task must give what is known to come back as it was.
        """
        body = pack((self._batch, index, answer))
        self._unwritten += [_head(body), body]
        self.is_empty = False
        if time.monotonic() - self._last_write >= SECONDS_BETWEEN_WRITES:
            self._write()
        return unpack(body)[2]

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
        head = _head(key) + key
        if self._file.read(len(head)) != head:
            self._file.truncate(0)
            self._file.write(head)
            self._file.flush()
            return {}
        known, whole = {}, len(head)
        for batch, index, answer in _records(self._file):
            known[batch, index] = answer
            whole = self._file.tell()
        self._file.truncate(whole)
        self._file.seek(whole)
        return known


def _records(file: BinaryIO) -> Iterator[tuple[int, int, Any]]:
    """Give batch, index and answer of every record up to the first that is not whole."""
    size = os.fstat(file.fileno()).st_size
    while len(head := file.read(RECORD.size)) == RECORD.size:
        length, _ = RECORD.unpack(head)
        if length > size - file.tell():  # known before anything is read, for a damaged length can be of any size
            return
        body = file.read(length)
        if _head(body) != head:
            return
        try:
            record = unpack(body)
        except InputFormatError:  # nothing that was written here
            return
        if not (isinstance(record, tuple) and [type(item) for item in record[:-1]] == [int, int]):
            return
        yield record


def _head(body: bytes) -> bytes:
    """Give what goes before a record: its length, and a checksum by which damage is seen."""
    return RECORD.pack(len(body), hashlib.blake2b(body, digest_size=16).digest())
