"""What a run leaves behind, and what it says in the end."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ethomarkov.cli.terminal import summary_table
from ethomarkov.io.spreadsheet import write_table
from ethomarkov.report.page import REPORT_FILE, write_report
from ethomarkov.report.results import StudyResults
from ethomarkov.report.summary import Figures
from ethomarkov.report.tables import animal_tables
from ethomarkov.study import Study
from ethomarkov.study.graph import PlannedStage
from ethomarkov.study.store import STUDY_FILE
from ethomarkov.validation.known_truth import KnownTruth


def write_outcome(study: Study, directory: Path, **given: Any) -> Figures:  # noqa: ANN401 (any results)
    """Write the report and the table of animals of a study, and give its key figures.

    Parameters
    ----------
    study
        That was run.
    directory
        Where they go.
    given
        Results that are known already, by name.
    """
    results = StudyResults(study, **given)
    figures: Figures = results["summary"]
    write_report(results, directory)
    for name, rows in animal_tables(study).items():
        write_table(directory / name, rows)
    return figures


def print_truth(console: Console, known: KnownTruth) -> None:
    """Print what was found beside what is true."""
    table = Table(box=None, pad_edge=False)
    for title in ("found beside true", "found", "true", "inside"):
        table.add_column(title, justify="right" if title in ("found", "true") else "left")
    for row in known.rows:
        table.add_row(row.label, " ".join(row.show_estimate()).strip(), row.show_true(), row.verdict)
    console.print("\n", table, sep="")
    console.print(f"\nThese worms are synthetic, so the truth is known. {known.sentence}", highlight=False)
    for row in known.rows:
        if row.note:
            console.print(f"{row.quantity}: {row.note}", highlight=False, markup=False, style="dim")


def print_plan(console: Console, planned: Sequence[PlannedStage], directory: Path) -> None:
    """Print what a run would do."""
    table = Table(box=None, pad_edge=False)
    for title in ("stage", "would be", "because", "about"):
        table.add_column(title, justify="right" if title == "about" else "left")
    words = {"keep": "kept", "compute": "computed", "check": "computed, unless its input proves the same"}
    for one in planned:
        time = "" if one.action == "keep" else show_duration(one.seconds)
        table.add_row(one.stage, words[one.action], one.reason, time)
    console.print(table)
    total = sum(one.seconds for one in planned)
    console.print(
        f"\nAbout {show_duration(total)} of computing into {escape(str(directory))}; times are estimates. "
        "Nothing was computed or written.",
        highlight=False,
        soft_wrap=True,
    )


def show_duration(seconds: float) -> str:
    """Write a time as one would say it."""
    if seconds < 1:
        return "< 1 s"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def print_outcome(console: Console, figures: Figures, directory: Path, known: KnownTruth | None = None) -> None:
    """Print the key figures, what is known of the truth, and where to find the rest."""
    console.print(summary_table(figures))
    if known is not None:
        print_truth(console, known)
    report, study = escape(str(directory / REPORT_FILE)), escape(str(directory / STUDY_FILE))
    console.print(f"\nOpen {report}; all results are in {study}.", highlight=False, soft_wrap=True)
