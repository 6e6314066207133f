"""The figures of the paper as files: PDF, PNG and captions."""

import contextlib
import io
import os
import threading
import warnings
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from ethomarkov._core.types import Progress
from ethomarkov.exceptions import InputFormatError
from ethomarkov.figures.layout import Drawn
from ethomarkov.figures.panel import Results
from ethomarkov.figures.style import laid_out, save_figure
from ethomarkov.io.atomic import atomic_path
from ethomarkov.paper.layout import FIGURES, draw_paper_figure
from ethomarkov.paper.results import open_results

CAPTIONS_FILE = "captions.md"
FEWEST_SHARED = 4
"""Figures from which on a second process saves more than the few seconds that it needs to start."""
ENDINGS: dict[str, dict[str, Any]] = {".pdf": {"dpi": 300, "metadata": {"CreationDate": None}}, ".png": {}}
"""Files of a figure, and how they are written."""
CHILD_ENVIRONMENT = {"PYTHONSAFEPATH": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
"""No module beside the data is imported, and both processes do not fight for cores."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A figure, its files, and the warnings of the process that drew it.

    Parameters
    ----------
    drawn
        The figure with its panels.
    files
        Content of its files, by ending.
    heard
        Warnings while it was drawn.
    """

    drawn: Drawn
    files: Mapping[str, bytes]
    heard: Sequence[warnings.WarningMessage] = ()


def choose_figures(wanted: Sequence[str]) -> list[str]:
    """Find the numbers of figures that are asked for, in the order of the paper; all when nothing is.

    Parameters
    ----------
    wanted
        Numbers such as "1" or "S3"; "S8" is both of its parts.
    """
    asked = {number.strip().upper().removeprefix("FIG").lstrip(". ") for number in wanted}
    known = {number: {number.upper(), number.rstrip("ab").upper()} for number in FIGURES}
    unknown = asked - set().union(*known.values())
    if unknown:
        raise InputFormatError(
            f"There is no figure {', '.join(sorted(unknown))}; there are {', '.join(FIGURES)}. Name some of these."
        )
    return [number for number, names in known.items() if not asked or names & asked]


class SharedFigures:
    """Figures that two processes draw: this one takes the first that waits, the other the last, until both meet.

    The other process writes no file, so that it leaves none behind whatever becomes of it.

    Parameters
    ----------
    executor
        The other process.
    source
        Study that it reads, and results beside it.
    numbers
        Of the figures.
    """

    def __init__(self, executor: Executor, source: Path, numbers: Sequence[str]) -> None:
        self._executor, self._source, self._lock = executor, str(source), threading.Lock()
        self._waiting, self._begun = deque(numbers), dict[str, Future[Answer]]()
        self._hand_over()

    def take(self) -> str | None:
        """Take the next figure to be drawn here; None if none waits."""
        with self._lock:
            return self._waiting.popleft() if self._waiting else None

    def collect(self) -> Iterator[tuple[str, Answer]]:
        """Wait for the figures of the other process, with its errors and warnings."""
        for number, future in self._begun.items():
            answer = future.result()
            for one in answer.heard:
                warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
            yield number, answer

    def _hand_over(self, done: Future[Answer] | None = None) -> None:
        """Give the other process one figure after the other; what fails there is told by `collect`."""
        with self._lock:
            if not self._waiting or (done is not None and done.exception() is not None):
                return
            number = self._waiting.pop()
            future = self._executor.submit(_draw_apart, self._source, number)
            self._begun[number] = future
        future.add_done_callback(self._hand_over)


@contextlib.contextmanager
def share_figures(source: Path, wanted: Sequence[str] = (), *, threads: int = 2) -> Iterator[SharedFigures | None]:
    """Have a second process draw figures of the paper; it ends with the block, whatever it is at.

    Parameters
    ----------
    source
        Study to read, and results beside it; all must be written.
    wanted
        As for `write_paper_figures`, which then takes its share of them.
    threads
        Cores; None is given where sharing would not save time.
    """
    if not is_worth_sharing(threads, wanted):
        yield None
        return
    from joblib.externals.loky import ProcessPoolExecutor

    with _child_environment():  # of the process that watches over what the others leave behind
        executor = ProcessPoolExecutor(max_workers=1)
    try:
        with _child_environment():
            shared = SharedFigures(executor, source, choose_figures(wanted))
        yield shared
    finally:
        executor.shutdown(kill_workers=True)


@contextlib.contextmanager
def _child_environment() -> Iterator[None]:
    """Start processes that import no module beside the data, and do not fight for cores."""
    before = dict(os.environ)
    os.environ.update(CHILD_ENVIRONMENT)
    try:
        yield
    finally:
        for name in CHILD_ENVIRONMENT:
            os.environ.pop(name)
        os.environ.update(before)


def is_worth_sharing(threads: int, wanted: Sequence[str] = ()) -> bool:
    """Tell whether a second process would draw figures in less time."""
    return threads > 1 and len(choose_figures(wanted)) >= FEWEST_SHARED


def write_paper_figures(
    results: Results,
    out: Path,
    wanted: Sequence[str] = (),
    progress: Progress | None = None,
    shared: SharedFigures | None = None,
) -> dict[str, Drawn]:
    """Draw figures of the paper into a directory, each as PDF and PNG, with a file of captions.

    Parameters
    ----------
    results
        What to draw, by name.
    out
        Directory; every file appears when it is complete.
    wanted
        Numbers of figures; all by default.
    progress
        Called after every figure.
    shared
        The same figures, where a second process draws some of them; see `share_figures`.

    Returns
    -------
    drawn
        By number; figures of the second process are blank here.
    """
    numbers = choose_figures(wanted)
    drawn: dict[str, Drawn] = {}
    for number, answer in _draw_all(results, numbers, shared):
        _write(answer.files, out / f"fig{number}")
        drawn[number] = answer.drawn
        if progress is not None:
            progress("figures", len(drawn), len(numbers))
    drawn = {number: drawn[number] for number in numbers}
    with atomic_path(out / CAPTIONS_FILE) as temporary:
        temporary.write_text(write_captions(drawn), encoding="utf-8")
    return drawn


def _draw_all(results: Results, numbers: list[str], shared: SharedFigures | None) -> Iterator[tuple[str, Answer]]:
    """Draw the figures that nobody else does, and collect the others."""
    take = iter(numbers) if shared is None else iter(shared.take, None)
    for number in take:
        yield str(number), _draw(results, str(number))
    if shared is not None:
        yield from shared.collect()


def _draw_apart(source: str, number: str) -> Answer:
    """Draw a figure in the second process; the figure itself stays there."""
    with warnings.catch_warnings(record=True) as heard:
        answer = _draw(_open(Path(source)), number)
    blank = None if answer.drawn.figure is None else Figure()
    return Answer(drawn=replace(answer.drawn, figure=blank), files=answer.files, heard=heard)


@lru_cache(maxsize=1)
def _open(source: Path) -> Results:
    return open_results(source)


def _draw(results: Results, number: str) -> Answer:
    """Draw a figure as PDF with embedded fonts, and as PNG."""
    found = draw_paper_figure(number, results)
    files: dict[str, bytes] = {}
    if found.figure is not None:
        # TrueType: letters stay letters in programs that edit the file
        with mpl.rc_context({"pdf.fonttype": 42}), laid_out(found.figure) as filled:
            for ending, options in ENDINGS.items():
                stream = io.BytesIO()
                save_figure(found.figure, stream, filled=filled, format=ending[1:], **options)
                files[ending] = stream.getvalue()
    return Answer(drawn=found, files=files)


def _write(files: Mapping[str, bytes], target: Path) -> None:
    for ending, content in files.items():
        with atomic_path(target.with_name(f"{target.name}{ending}")) as temporary:
            temporary.write_bytes(content)


def write_captions(drawn: Mapping[str, Drawn]) -> str:
    """Write the captions of figures, and what they lack, as Markdown."""
    parts = []
    for number, found in drawn.items():
        lines = [f"## Fig. {number}", ""]
        if found.figure is not None:
            lines += [f"![Fig. {number}](fig{number}.png)", "", found.caption, ""]
        lines += [f"- Left out: {reason}" for reason in found.left_out]
        parts.append("\n".join(lines).rstrip())
    return "\n\n".join(parts) + "\n"
