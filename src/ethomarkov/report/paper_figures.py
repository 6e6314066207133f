"""The figures of the paper for any study: Fig. 1 to 5 and S1 to S10, as far as its results go."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from ethomarkov._core.types import Progress
from ethomarkov.exceptions import InputFormatError
from ethomarkov.figures.style import laid_out, save_figure
from ethomarkov.io.atomic import atomic_path
from ethomarkov.report.paper_figures_main import figure_1, figure_2, figure_3, figure_4, figure_5
from ethomarkov.report.paper_figures_si import (
    figure_s1,
    figure_s2,
    figure_s3,
    figure_s4,
    figure_s5,
    figure_s6,
    figure_s7,
    figure_s8a,
    figure_s8b,
    figure_s9,
    figure_s10,
)
from ethomarkov.report.paper_layout import PaperFigure
from ethomarkov.report.paper_parts import Parts, gather_parts
from ethomarkov.report.side_by_side import Begun, SecondProcess
from ethomarkov.workflow.study import Study

CAPTIONS_FILE = "captions.md"
FIGURES: dict[str, Callable[[Study, Parts], PaperFigure]] = {
    "1": figure_1,
    "2": figure_2,
    "3": figure_3,
    "4": figure_4,
    "5": figure_5,
    "S1": figure_s1,
    "S2": figure_s2,
    "S3": figure_s3,
    "S4": figure_s4,
    "S5": figure_s5,
    "S6": figure_s6,
    "S7": figure_s7,
    "S8a": figure_s8a,
    "S8b": figure_s8b,
    "S9": figure_s9,
    "S10": figure_s10,
}
"""Figures by their number in the paper."""
FEWEST_SHARED = 4
Words = tuple[bool, str, tuple[str, ...]]
"""Of a figure drawn by another process: whether there is one, its caption, what it lacks."""
"""Figures from which on a second process saves more than the few seconds that it needs to start."""


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


def write_paper_figures(
    study: Study,
    parts: Parts,
    out: Path,
    wanted: Sequence[str] = (),
    progress: Progress | None = None,
    begun: Mapping[str, Begun[Words]] | None = None,
) -> dict[str, PaperFigure]:
    """Draw figures of the paper into a directory, each as PDF and PNG, with a file of captions.

    Parameters
    ----------
    study, parts
        What to draw; see `gather_parts`.
    out
        Directory; every file appears when it is complete.
    wanted
        Numbers of figures; all by default.
    progress
        Called after every figure.
    begun
        Figures that a second process has been asked for; see `begin_figures`. Those whose turn has not come are drawn
        here.

    Returns
    -------
    drawn
        By number; figures of the second process are blank here.
    """
    numbers, begun = choose_figures(wanted), begun or {}
    drawn: dict[str, PaperFigure] = {}
    # It draws the last first, so that both meet: what can be taken back first, then what cannot.
    for is_late in (False, True):
        for number in numbers:
            if number in drawn or (not is_late and number in begun and not begun[number].take_back()):
                continue
            words = begun[number].answer() if is_late else None
            drawn[number] = _write_figure(study, parts, out, number) if words is None else _blank_figure(*words)
            if progress is not None:
                progress("figures", len(drawn), len(numbers))
    drawn = {number: drawn[number] for number in numbers}
    with atomic_path(out / CAPTIONS_FILE) as temporary:
        temporary.write_text(write_captions(drawn), encoding="utf-8")
    return drawn


def is_worth_sharing(threads: int, wanted: Sequence[str] = ()) -> bool:
    """Tell whether a second process would draw figures in less time."""
    return threads > 1 and len(choose_figures(wanted)) >= FEWEST_SHARED


def begin_figures(
    beside: SecondProcess, source: Path, out: Path, wanted: Sequence[str] = ()
) -> dict[str, Begun[Words]]:
    """Have a second process draw figures of the paper, the last one first.

    Parameters
    ----------
    beside
        The second process.
    source
        Study to read, and results beside it; all must be written.
    out, wanted
        As for `write_paper_figures`, which then takes its share of them.
    """
    places = str(source), str(out)
    return {number: beside.begin(_draw_apart, *places, number) for number in reversed(choose_figures(wanted))}


def get_ready() -> None:
    """Do nothing: to be asked for it, a second process imports all that drawing needs."""


def _draw_apart(source: str, out: str, number: str) -> Words:
    """Draw a figure in the second process; only its words are sent back."""
    found = _write_figure(*_open(Path(source)), Path(out), number)
    return found.figure is not None, found.caption, found.left_out


def _blank_figure(is_drawn: bool, caption: str, left_out: tuple[str, ...]) -> PaperFigure:
    return PaperFigure(figure=Figure() if is_drawn else None, caption=caption, left_out=left_out)


@lru_cache(maxsize=1)
def _open(source: Path) -> tuple[Study, Parts]:
    study = Study.load(source)
    return study, gather_parts(study, source if source.is_dir() else source.parent)


def _write_figure(study: Study, parts: Parts, out: Path, number: str) -> PaperFigure:
    found = FIGURES[number](study, parts)
    _save(found.figure, out, f"fig{number}")
    return found


def _save(figure: Figure | None, out: Path, name: str) -> None:
    """Write a figure as PDF with embedded fonts, and as PNG."""
    if figure is None:
        return
    # TrueType: letters stay letters in programs that edit the file
    with mpl.rc_context({"pdf.fonttype": 42}), laid_out(figure) as filled:
        for ending, options in ((".pdf", {"dpi": 300, "metadata": {"CreationDate": None}}), (".png", {})):
            with atomic_path(out / f"{name}{ending}") as temporary:
                save_figure(figure, temporary, filled=filled, **options)


def write_captions(drawn: Mapping[str, PaperFigure]) -> str:
    """Write the captions of figures, and what they lack, as Markdown."""
    parts = []
    for number, found in drawn.items():
        lines = [f"## Fig. {number}", ""]
        if found.figure is not None:
            lines += [f"![Fig. {number}](fig{number}.png)", "", found.caption, ""]
        lines += [f"- Left out: {reason}" for reason in found.left_out]
        parts.append("\n".join(lines).rstrip())
    return "\n\n".join(parts) + "\n"
