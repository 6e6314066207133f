"""Functions called in another process, within limits of memory and time.

What goes in and comes out is packed as plain data (`ethomarkov.io.packing`); the other process ends with this one.
"""

import contextlib
import importlib
import math
import os
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from ethomarkov import exceptions
from ethomarkov._core.parallel import ONE_THREAD
from ethomarkov.exceptions import EthomarkovError

if sys.platform != "win32":
    import resource

LENGTH = struct.Struct("<Q")
SECONDS_BETWEEN_LOOKS = 0.5
SECONDS_TO_END = 5.0
WORN = 0.6
"""Share of its memory that a process may hold between calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a call may use.

    Parameters
    ----------
    memory
        Bytes of address space beyond those that the process has before its first call.
    seconds
        Of computing, however busy the machine is.
    idle_seconds
        Without computing and without reading a byte.
    """

    memory: int
    seconds: float
    idle_seconds: float


class ChildDiedError(EthomarkovError):
    """The other process ended during a call.

    Parameters
    ----------
    why
        In words, to follow "the process that …".
    """

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(f"A process of this program {why}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """A function and what it is called with."""

    module: str
    name: str
    arguments: tuple[Any, ...]
    directory: str
    limits: Limits | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a call.

    Parameters
    ----------
    answer
        What the function gave.
    error, message, trace
        Name, text and origin of the error that it raised instead; empty otherwise.
    warned
        Name and text of the warnings on the way.
    is_last
        Whether the process holds so much memory after it that it should end.
    """

    answer: Any = None
    error: str = ""
    message: str = ""
    trace: str = ""
    warned: tuple[tuple[str, str], ...] = ()
    is_last: bool = False

    def unwrap(self) -> Any:  # noqa: ANN401
        """Give the answer, with errors and warnings as if the function had been called here.

        Warnings of other packages are left out: they tell of their code, not of the user's.
        """
        for kind, message in self.warned:
            category = getattr(exceptions, kind, None)
            if category is not None:
                warnings.warn(message, category, stacklevel=3)
        if not self.error:
            return self.answer
        family = getattr(exceptions, self.error, None)
        if family is not None:  # its message says all that a user needs
            raise family(self.message)
        error = RuntimeError(f"{self.error}: {self.message}")
        error.add_note(f"In the other process:\n{self.trace}")
        raise error


class Child:
    """A process of this interpreter that does one call after the other.

    Unlike a process of `multiprocessing` it does not run the user's script again, which needs no main guard.

    Parameters
    ----------
    prepare
        Function that the process calls at its start, as to import what its calls will need.
    """

    def __init__(self, prepare: Callable[[], None] | None = None) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the process)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _program(prepare)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=child_environment(),
            start_new_session=True,  # Ctrl-C is for the first process, which ends this one
        )

    @property
    def is_alive(self) -> bool:
        """Tell whether it can be called."""
        return self._process.poll() is None

    def call(self, function: Callable[..., Any], *arguments: object, limits: Limits | None = None) -> Outcome:
        """Call a function, and wait for what becomes of it.

        Parameters
        ----------
        function
            At the top of a module; arguments and answer are what `pack` takes.
        arguments
            Of the function.
        limits
            Of this call; none by default.
        """
        from ethomarkov.io.packing import pack, unpack  # late, so that the process starts before numpy is imported

        if not self.is_alive:
            raise ChildDiedError("has ended")
        call = _Call(
            module=function.__module__,
            name=function.__qualname__,
            arguments=arguments,
            directory=str(Path.cwd()),
            limits=limits,
        )
        request = pack(call)
        stalled = threading.Event()
        try:
            with _watched(self._process, limits, stalled):
                _send(self._process.stdin, request)
                body = _receive(self._process.stdout)
        except OSError:
            body = None
        except BaseException:  # as by Ctrl-C: its answer would be taken for that of the next call
            self.end(0.0)
            raise
        if body is None:
            raise ChildDiedError(self._why(stalled.is_set(), limits))
        outcome: Outcome = unpack(body)
        if outcome.is_last:
            self.end(0.0)
        return outcome

    def interrupt(self, seconds: float = SECONDS_TO_END) -> None:
        """Stop what the process is doing; it has some seconds to clear away what is half-written."""
        if seconds:
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(seconds)
        self._process.kill()
        self._process.wait()

    def end(self, seconds: float = SECONDS_TO_END) -> None:
        """End the process and close what led to it; nothing may wait for an answer any more."""
        if not self._errors.closed:
            self.interrupt(seconds)
            self._process.communicate()
            self._errors.close()

    def _why(self, stalled: bool, limits: Limits | None) -> str:
        """Say why the process ended, as far as it can be known."""
        code = self._process.wait()
        self._errors.seek(0)
        last = (self._errors.read().decode(errors="replace").strip().splitlines() or [""])[-1]
        self.end(0.0)
        if stalled and limits is not None:
            return f"did nothing for {limits.idle_seconds:g} s"
        if limits is not None and -code == getattr(signal, "SIGXCPU", None):
            return f"computed for more than {limits.seconds:g} s"
        return f"ended without an answer ({_end_in_words(code)}{': ' + last if last else ''})"


def _program(prepare: Callable[[], None] | None) -> str:
    first = (
        "" if prepare is None else f"from {prepare.__module__} import {prepare.__qualname__} as prepare; prepare(); "
    )
    return f"{first}from {__name__} import serve; serve()"


def child_environment() -> dict[str, str]:
    """Give the environment of a process that this one starts: one thread, no module from the working directory.

    It finds the packages that this process finds, also those of a path that was extended by hand.
    """
    here = Path.cwd().resolve()
    home = Path(exceptions.__file__).resolve().parents[1]
    paths = [path for path in sys.path if path and (Path(path).resolve() != here or here == home)]
    return os.environ | ONE_THREAD | {"PYTHONPATH": os.pathsep.join(paths), "PYTHONSAFEPATH": "1"}


def _end_in_words(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    with contextlib.suppress(ValueError):
        return signal.Signals(-code).name
    return f"signal {-code}"


@contextlib.contextmanager
def _watched(process: "subprocess.Popen[bytes]", limits: Limits | None, stalled: threading.Event) -> Iterator[None]:
    """End the process when it does nothing for too long; a busy one ends itself, see `_limited`."""
    if limits is None:
        yield
        return
    done = threading.Event()
    watcher = threading.Thread(target=_watch, args=(process, limits, stalled, done), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def _watch(process: "subprocess.Popen[bytes]", limits: Limits, stalled: threading.Event, done: threading.Event) -> None:
    last, since = None, time.monotonic()
    # Where its activity is not to be seen, it may compute for as long as it is allowed to before it counts as idle.
    patience = limits.idle_seconds + (0 if _activity(process.pid) else limits.seconds)
    while not done.wait(SECONDS_BETWEEN_LOOKS):
        now = _activity(process.pid)
        if now != last:
            last, since = now, time.monotonic()
        elif time.monotonic() - since > patience:
            stalled.set()
            process.kill()
            return


def _activity(pid: int) -> tuple[str, ...]:
    """Give the ticks computed and the bytes read by a process; empty where the system does not tell."""
    with contextlib.suppress(OSError, IndexError):
        ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        return (*ticks, Path(f"/proc/{pid}/io").read_text().split()[1])
    return ()


# --- in the other process --------------------------------------------------------------------------------------------


def serve() -> None:
    """Do the calls of another process until it ends: in by the standard input, out by the standard output."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # an exception, so that files are cleared away
    calls, outcomes = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what is printed must not come among the outcomes
    if sys.platform != "win32":
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    from ethomarkov.io.packing import unpack

    at_first = _address_space()
    while (body := _receive(calls)) is not None:
        _send(outcomes, _answer(unpack(body), at_first))


def _answer(call: _Call, at_first: int) -> bytes:
    from ethomarkov.io.packing import pack

    with _limited(call.limits, at_first), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("default")
        try:
            os.chdir(call.directory)  # names of files are relative to it
            answer = _find(call.module, call.name)(*call.arguments)
            told = tuple((one.category.__name__, str(one.message)) for one in warned)
            return pack(Outcome(answer=answer, warned=told, is_last=_is_worn(call.limits, at_first)))
        except Exception as error:  # it is raised where the answer is asked for
            failed = error
    trace = "".join(traceback.format_exception(failed))
    is_last = _is_worn(call.limits, at_first)
    return pack(Outcome(error=type(failed).__name__, message=str(failed), trace=trace, is_last=is_last))


def _is_worn(limits: Limits | None, at_first: int) -> bool:
    """Tell whether memory that was not given back leaves too little for further calls."""
    return limits is not None and _address_space() - at_first > WORN * limits.memory


def _find(module: str, name: str) -> Callable[..., Any]:
    found: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return found


@contextlib.contextmanager
def _limited(limits: Limits | None, at_first: int) -> Iterator[None]:
    """Keep to limits where the system has them: too much memory is a MemoryError, too much computing the end."""
    if limits is None or sys.platform == "win32":
        yield
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    soft = {resource.RLIMIT_CPU: math.ceil(used.ru_utime + used.ru_stime + limits.seconds)}
    if at_first:
        soft[resource.RLIMIT_AS] = at_first + limits.memory
    for kind, most in soft.items():
        _set_soft(kind, most)
    try:
        yield
    finally:
        for kind in soft:
            _set_soft(kind, resource.getrlimit(kind)[1])


def _set_soft(kind: int, most: int) -> None:
    hard = resource.getrlimit(kind)[1]
    resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _address_space() -> int:
    """Count the bytes of address space of this process; 0 where the system does not tell."""
    with contextlib.suppress(OSError):
        return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    return 0


# --- both sides ------------------------------------------------------------------------------------------------------


def _send(stream: IO[bytes] | None, body: bytes) -> None:
    if stream is None:
        raise BrokenPipeError
    stream.write(LENGTH.pack(len(body)))
    stream.write(body)
    stream.flush()


def _receive(stream: IO[bytes] | None) -> bytes | None:
    """Take the next message; None when the other side has ended."""
    if stream is None:
        raise BrokenPipeError
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(head)
    body = stream.read(length)
    return body if len(body) == length else None
