"""Untrusted files are looked into by another process, because libraries of file formats can crash, loop and swell.

One process serves all files, so that a hundred of them do not cost a hundred starts.
"""

import atexit
import os
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ethomarkov.exceptions import EthomarkovError, InputFormatError
from ethomarkov.io.child import Child, ChildDiedError, Limits
from ethomarkov.io.limits import MEGABYTE, check_regular

SMALL_FILE = 10 * MEGABYTE
SMALL_MEMORY, SMALL_SECONDS, IDLE_SECONDS = 640 * MEGABYTE, 7.0, 30.0
BYTES_PER_BYTE, SECONDS_PER_MEGABYTE = 40, 1.0
"""What a file gets for every byte beyond a small file."""
LONG_WORD, WORD_SHOWN, LONGEST_MESSAGE = re.compile(r"\S{81,}"), 60, 540
REPLACED = "\N{REPLACEMENT CHARACTER}"
_DAMAGED = (
    "It is damaged, or made to harm; copy or export it again, unpack it if it is an archive, or save the postures as "
    "CSV or NPZ."
)


class _Reader:
    """The process that reads, started when it is needed and again when it has ended."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._child: Child | None = None
        self._owner = 0

    def start(self) -> Child:
        """Give a process that can be called; one that was inherited by a fork belongs to another."""
        if self._child is None or self._owner != os.getpid() or not self._child.is_alive:
            self._child, self._owner = Child(get_ready), os.getpid()
        return self._child

    def call(self, function: Callable[..., Any], *arguments: object, limits: Limits) -> Any:  # noqa: ANN401
        """Call a function there; one call at a time."""
        with self._lock:
            return self.start().call(function, *arguments, limits=limits).unwrap()

    def end(self) -> None:
        """End the process."""
        if self._child is not None and self._owner == os.getpid():
            self._child.end(0.0)
            self._child = None


_reader = _Reader()
atexit.register(_reader.end)


def get_ready() -> None:
    """Import what reading needs, before limits are set: what packages take must not count against a file."""
    import numpy as np

    from ethomarkov.io.registry import load_readers
    from ethomarkov.recording import Recording, Track

    load_readers()
    # xarray imports much more when it is first used
    Recording.from_tracks([Track(individual="one", values=np.eye(2))], kind="amplitude", sampling_rate=1.0)


def start_early() -> None:
    """Start the process that reads, so that it is ready when the first file is asked for."""
    _reader.start()


def read_confined(function: Callable[..., Any], path: Path, *arguments: object) -> Any:  # noqa: ANN401
    """Call a function of this package with a file in the process that reads.

    Parameters
    ----------
    function
        Takes the path as text, then the arguments; its answer is what `ethomarkov.io.packing.pack` takes.
    path
        Of the file; what is no regular file is refused.
    arguments
        Of the function.
    """
    check_regular(path)
    limits = limits_of(path.stat().st_size)
    try:
        return _reader.call(function, str(path), *arguments, limits=limits)
    except ChildDiedError as error:
        raise InputFormatError(
            _readable(f"{path}: cannot be read; the process that tried {error.why}. {_DAMAGED}", path)
        ) from error
    except EthomarkovError as error:
        raise type(error)(_readable(str(error), path)) from error
    except RuntimeError as error:  # a damaged file makes libraries raise almost anything
        raise InputFormatError(_readable(f"{path}: cannot be read ({error}). {_DAMAGED}", path)) from error


def _readable(message: str, path: Path) -> str:
    """Keep an error to one paragraph that names the file, whatever names in it and words of other packages are told."""
    named = message if str(path) in message else f"{path}: {message}"
    plain = "".join(letter if letter.isprintable() else REPLACED for letter in " ".join(named.split()))
    before, found, after = plain.partition(str(path))
    after = LONG_WORD.sub(lambda word: f"{word[0][:WORD_SHOWN]}…", after)
    if len(after) > LONGEST_MESSAGE:  # what was found stands at the beginning, what to do at the end
        after = f"{after[: LONGEST_MESSAGE * 2 // 3].rstrip()} … {after[-LONGEST_MESSAGE // 3 :].lstrip()}"
    return before + found + after


def limits_of(size: int) -> Limits:
    """Give the limits for a file of some bytes: the same for all small files, then more with every byte."""
    beyond = max(0, size - SMALL_FILE)
    return Limits(
        memory=SMALL_MEMORY + BYTES_PER_BYTE * beyond,
        seconds=SMALL_SECONDS + SECONDS_PER_MEGABYTE * beyond / MEGABYTE,
        idle_seconds=IDLE_SECONDS,
    )
