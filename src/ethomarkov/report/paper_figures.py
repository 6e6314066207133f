"""The figures of the paper for any study: Fig. 1 to 5 and S1 to S10, as far as its results go."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from ethomarkov._core.types import Progress
from ethomarkov.exceptions import InputFormatError
from ethomarkov.figures.style import save_figure
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
from ethomarkov.report.paper_parts import Parts
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
    study: Study, parts: Parts, out: Path, wanted: Sequence[str] = (), progress: Progress | None = None
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

    Returns
    -------
    drawn
        By number.
    """
    numbers = choose_figures(wanted)
    drawn: dict[str, PaperFigure] = {}
    for k, number in enumerate(numbers):
        drawn[number] = FIGURES[number](study, parts)
        _save(drawn[number].figure, out, f"fig{number}")
        if progress is not None:
            progress("figures", k + 1, len(numbers))
    with atomic_path(out / CAPTIONS_FILE) as temporary:
        temporary.write_text(write_captions(drawn), encoding="utf-8")
    return drawn


def _save(figure: Figure | None, out: Path, name: str) -> None:
    """Write a figure as PDF with embedded fonts, and as PNG."""
    if figure is None:
        return
    with mpl.rc_context({"pdf.fonttype": 42}):  # TrueType: letters stay letters in programs that edit the file
        for ending, options in ((".pdf", {"dpi": 300, "metadata": {"CreationDate": None}}), (".png", {})):
            with atomic_path(out / f"{name}{ending}") as temporary:
                save_figure(figure, temporary, **options)


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
