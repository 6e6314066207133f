"""Ctrl-C: answered at any time, with one line that says how to go on."""

import _thread
import contextlib
import os
import shlex
import signal
import sys
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from types import FrameType
from typing import NoReturn

STOPPED = 130
"""Exit code of a program that was stopped by Ctrl-C, as shells have it."""
PATIENCE, SECONDS_BETWEEN_TRIES = 2.0, 0.3
"""Seconds after which a command that does not end by itself is ended, because a library may be deep in compiled code;
and between reminders, because some libraries catch every exception while they are imported."""
READS_ONLY = frozenset({"inspect", "convert", "summary", "report", "figures", "data", "bench", "doctor", "export"})
"""Commands with nothing to resume; files appear only when they are complete."""
SHOW_CURSOR = "\x1b[?25h"


_current: ContextVar["_Stopping | None"] = ContextVar("current", default=None)


class _Stopping:
    """What happens after Ctrl-C: an exception now, reminders if it was lost, and the end in any case."""

    def __init__(self) -> None:
        self.is_asked = False
        self._is_over, self._is_reminder = threading.Event(), False

    def receive(self, _: int, __: FrameType | None) -> None:
        """Answer a signal, in the main thread."""
        if self._is_reminder:
            self._is_reminder = False
            if isinstance(sys.exception(), KeyboardInterrupt):  # it is clearing away already
                return
        elif self.is_asked:  # pressed again
            _leave()
        else:
            self.is_asked = True
            threading.Thread(target=self._watch, daemon=True).start()
        raise KeyboardInterrupt

    def _watch(self) -> None:
        for _ in range(round(PATIENCE / SECONDS_BETWEEN_TRIES)):
            if self._is_over.wait(SECONDS_BETWEEN_TRIES):
                return
            self._is_reminder = True
            _thread.interrupt_main()
        _leave()

    def end(self) -> None:
        """Remind no more."""
        self._is_over.set()


@contextlib.contextmanager
def answered() -> Iterator[None]:
    """Answer Ctrl-C within by one line and exit code 130, also in imports, in threads and in compiled code."""
    if threading.current_thread() is not threading.main_thread():  # signals are not for other threads
        yield
        return
    stopping = _Stopping()
    before, token = signal.signal(signal.SIGINT, stopping.receive), _current.set(stopping)
    try:
        yield
    except BaseException as error:
        # an import that is interrupted may end in any error
        if not stopping.is_asked and not isinstance(error, KeyboardInterrupt):
            raise
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        stopping.end()
        if stopping.is_asked:
            _leave()  # threads that are deep in compiled code would make Python wait, or end badly
        print(how_to_go_on(sys.argv[1:]), file=sys.stderr, flush=True)
        sys.exit(STOPPED)
    finally:
        stopping.end()
        _current.reset(token)
        signal.signal(signal.SIGINT, before)


def is_stopping() -> bool:
    """Tell whether Ctrl-C was pressed: what fails from then on fails because of it."""
    stopping = _current.get()
    return stopping is not None and stopping.is_asked


def how_to_go_on(arguments: list[str]) -> str:
    """Write what to type after a command was stopped.

    Parameters
    ----------
    arguments
        Of the command that was stopped.

    Examples
    --------
    >>> how_to_go_on(["run", "my worm.csv", "--out", "study"])
    "Stopped; what is complete is cached. To go on, type it again: ethomarkov run 'my worm.csv' --out study"
    """
    again = shlex.join(["ethomarkov", *arguments])
    if not arguments or arguments[0] in READS_ONLY:
        return f"Stopped; no file is half-written. To start again: {again}"
    return f"Stopped; what is complete is cached. To go on, type it again: {again}"


def _leave() -> NoReturn:
    """End at once, from whatever thread; the terminal gets its cursor back."""
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
    with contextlib.suppress(OSError):
        cursor = SHOW_CURSOR if os.isatty(2) else ""
        os.write(2, f"{cursor}{how_to_go_on(sys.argv[1:])}\n".encode())
    os._exit(STOPPED)
