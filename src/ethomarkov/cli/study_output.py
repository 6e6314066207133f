"""Run a study and put it where the user wants it."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ethomarkov._core.types import Progress
from ethomarkov.cli.terminal import summary_table
from ethomarkov.io.atomic import atomic_path
from ethomarkov.posture import PostureBasis
from ethomarkov.recording import Recording
from ethomarkov.report import render_report
from ethomarkov.report.page import REPORT_FILE
from ethomarkov.workflow import Settings, run_study
from ethomarkov.workflow.engine import PlannedStage
from ethomarkov.workflow.study import STUDY_FILE
from ethomarkov.workflow.summary import Figures, summarize


def run_and_write(
    recording: Recording,
    settings: Settings,
    directory: Path,
    *,
    basis: PostureBasis | None = None,
    threads: int = 1,
    progress: Progress | None = None,
) -> Figures:
    """Run all stages into a directory and add the report."""
    study = run_study(recording, settings, basis=basis, directory=directory, threads=threads, progress=progress)
    figures = summarize(study)
    page = render_report(study, figures)
    with atomic_path(directory / REPORT_FILE) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return figures


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


def print_outcome(console: Console, figures: Figures, directory: Path) -> None:
    """Print the key figures and where to find the rest."""
    console.print(summary_table(figures))
    report, study = escape(str(directory / REPORT_FILE)), escape(str(directory / STUDY_FILE))
    console.print(f"\nOpen {report}; all results are in {study}.", highlight=False, soft_wrap=True)
