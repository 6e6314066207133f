"""Ctrl-C: answered at any time, with one line that says how to go on."""

import contextlib
import os
import shlex
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType

STOPPED = 130
"""Exit code of a program that was stopped by Ctrl-C, as shells have it."""
PATIENCE = 2.0
"""Seconds after which a command that does not end by itself is ended: a library may be deep in compiled code."""
READS_ONLY = frozenset({"inspect", "convert", "summary", "report", "figures", "data", "bench", "doctor", "export"})
"""Commands with nothing to resume; files appear only when they are complete."""
SHOW_CURSOR = "\x1b[?25h"


@contextlib.contextmanager
def answered() -> Iterator[None]:
    """Answer Ctrl-C within by one line and exit code 130, also in imports, in threads and in compiled code."""
    if threading.current_thread() is not threading.main_thread():  # signals are not for other threads
        yield
        return
    deadline: list[threading.Timer] = []

    def stop(_: int, __: FrameType | None) -> None:
        if deadline:  # pressed again
            _leave()
        deadline.append(threading.Timer(PATIENCE, _leave))
        deadline[0].daemon = True
        deadline[0].start()
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    except BaseException as error:
        # an import that is interrupted may end in any error; the deadline stays, since threads may go on
        if deadline or isinstance(error, KeyboardInterrupt):
            print(how_to_go_on(sys.argv[1:]), file=sys.stderr, flush=True)
            sys.exit(STOPPED)
        raise
    else:
        for timer in deadline:
            timer.cancel()
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN if deadline else before)


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


def _leave() -> None:
    """End at once, from whatever thread; the terminal gets its cursor back."""
    with contextlib.suppress(OSError):
        cursor = SHOW_CURSOR if os.isatty(2) else ""
        os.write(2, f"{cursor}\n{how_to_go_on(sys.argv[1:])}\n".encode())
    os._exit(STOPPED)
