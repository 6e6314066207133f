"""Progress of long work as one line that is written over itself."""

import sys
import time
from typing import TextIO

from ethomarkov._core.types import Progress

PATIENCE, INTERVAL = 1.0, 0.2
"""Seconds of work before the line appears, and between two of its states."""


class LineOfProgress:
    """Write how far work is, in a terminal or a notebook, once it takes longer than a moment.

    Parameters
    ----------
    stream
        Where to; standard error by default.

    Examples
    --------
    >>> import io
    >>> line = LineOfProgress(io.StringIO())
    >>> line("microstates", 1, 2)  # too early to say anything
    >>> line.stream.getvalue()
    ''
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stderr
        self._began = self._shown = time.monotonic()
        self._width = 0

    def __call__(self, what: str, done: int, total: int) -> None:
        """Tell that a part of the work is done."""
        now = time.monotonic()
        is_over = total > 0 and done >= total
        if is_over:
            self._clear()
        elif now - self._began > PATIENCE and now - self._shown > INTERVAL:
            self._shown = now
            share = f"{100 * done / total:3.0f} %" if total else ""
            self._write(f"{what.replace('_', ' ')} {share}  {now - self._began:.0f} s")

    def _write(self, text: str) -> None:
        self.stream.write("\r" + text.ljust(self._width))
        self.stream.flush()
        self._width = len(text)

    def _clear(self) -> None:
        if self._width:
            self._write("")
            self.stream.write("\r")
        self._began, self._width = time.monotonic(), 0


def shown_progress(show: bool) -> Progress | None:
    """Give a line of progress where somebody looks: in a terminal or a notebook, not in a pipe."""
    if not show:
        return None
    if "ipykernel" in sys.modules:
        return LineOfProgress(sys.stdout)  # what notebooks get on standard error they show as an error
    return LineOfProgress() if sys.stderr.isatty() else None
