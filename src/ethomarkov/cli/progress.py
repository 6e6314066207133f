"""Progress: a bar in a terminal, plain lines in a pipe, from the first moment of a command to its answer.

It is written to the standard error, so that what a command prints can be piped on.
"""

import contextlib
import threading
import time
from collections.abc import Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # numpy is not needed before the work begins
    from rich.console import Console

    from ethomarkov._core.types import Progress as Report

STARTING = "starting"
SECONDS_BETWEEN_LINES = 2.0
"""Of plain progress, when the work has come to another stage."""
FIRST_SIGN = 0.25
"""Seconds after which the first line is printed, unless the command has answered by then."""
LONGEST_SILENCE = 10.0
"""Seconds after which a line is printed though nothing is new."""


class Display(Protocol):
    """Something that shows how far the work is."""

    console: "Console"

    def report(self, what: str, done: int, total: int) -> None:
        """Show what is being done, and how much of it."""
        ...

    def stop(self) -> None:
        """Show nothing more."""
        ...


_shown: ContextVar[Display | None] = ContextVar("shown", default=None)


@contextlib.contextmanager
def showing_progress(console: "Console") -> Iterator[None]:
    """Show the progress of a command, from now until something is printed.

    Parameters
    ----------
    console
        Of the standard error.
    """
    display: Display = Bar(console) if console.is_terminal else Lines(console)
    token = _shown.set(display)
    try:
        yield
    finally:
        _shown.reset(token)
        display.stop()


def current_progress() -> "Report | None":
    """Give what work tells its progress to; None where nobody looks."""
    display = _shown.get()
    return None if display is None else display.report


def end_progress() -> None:
    """Take the progress away, because something is printed now."""
    display = _shown.get()
    if display is not None:
        display.stop()


def tell(sentence: str) -> None:
    """Print a sentence beside the progress; where none is shown, nothing is said."""
    display = _shown.get()
    if display is not None:
        display.console.print(sentence, highlight=False, markup=False, soft_wrap=True)


class Bar:
    """One bar in a terminal.

    Parameters
    ----------
    console
        Of the terminal.
    """

    def __init__(self, console: "Console") -> None:
        from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
        from rich.progress import TimeRemainingColumn as Remaining

        columns = (SpinnerColumn(), TextColumn("{task.description:<18}"), BarColumn(), TaskProgressColumn())
        times = (TimeElapsedColumn(), TextColumn("remaining"), Remaining())
        self.console = console
        self._bars = Progress(*columns, *times, console=console, transient=True)
        self._task = self._bars.add_task(STARTING, total=None)
        self._bars.start()

    def report(self, what: str, done: int, total: int) -> None:
        """Move the bar."""
        self._bars.update(self._task, description=what.replace("_", " "), completed=done, total=total)

    def stop(self) -> None:
        """Remove the bar."""
        self._bars.stop()


class Lines:
    """Plain lines, few enough for a log: when the stage changes, and now and then.

    Parameters
    ----------
    console
        Of the pipe or the file.
    """

    def __init__(self, console: "Console") -> None:
        self.console, self._began = console, time.monotonic()
        self._what, self._share = STARTING, 0.0
        self._said, self._said_at = "", self._began
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def report(self, what: str, done: int, total: int) -> None:
        """Note how far the work is."""
        self._what, self._share = what.replace("_", " "), done / max(total, 1)

    def stop(self) -> None:
        """Print nothing more."""
        self._is_over.set()

    def _run(self) -> None:
        # a thread of its own, because some work tells nothing for minutes
        while not self._is_over.wait(FIRST_SIGN):
            now = time.monotonic()
            pause = SECONDS_BETWEEN_LINES if self._what != self._said else LONGEST_SILENCE
            if not self._said or now - self._said_at >= pause:
                self._said, self._said_at = self._what, now
                share = f"{self._share:5.0%}" if self._share else ""
                line = f"{now - self._began:6.0f} s  {self._what:<18} {share}".rstrip()
                self.console.print(line, highlight=False, markup=False, soft_wrap=True)
