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
from ethomarkov.report.extras import Extras
from ethomarkov.report.page import REPORT_FILE
from ethomarkov.synthetic.worm import SyntheticWorms
from ethomarkov.workflow import Settings, run_study
from ethomarkov.workflow.engine import PlannedStage
from ethomarkov.workflow.known_truth import KnownTruth, compare_with_truth, save_truth
from ethomarkov.workflow.paths import reconstruct_paths
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
    _write_page(directory, render_report(study, figures))
    return figures


def run_beside_truth(
    made: SyntheticWorms, settings: Settings, directory: Path, *, threads: int = 1, progress: Progress | None = None
) -> tuple[Figures, KnownTruth]:
    """Run all stages on synthetic worms, set what was found beside the truth, and add the report with both."""
    study = run_study(
        made.recording, settings, basis=made.basis, directory=directory, threads=threads, progress=progress
    )
    figures = summarize(study)
    drag = reconstruct_paths(study, threads=threads).drag
    known = compare_with_truth(study, made.truth, None if drag is None else drag.median)
    save_truth(study, known, directory)
    _write_page(directory, render_report(study, figures, Extras(truth=known)))
    return figures, known


def _write_page(directory: Path, page: str) -> None:
    with atomic_path(directory / REPORT_FILE) as temporary:
        temporary.write_text(page, encoding="utf-8")


def print_truth(console: Console, known: KnownTruth) -> None:
    """Print what was found beside what is true."""
    table = Table(box=None, pad_edge=False)
    for title in ("found beside true", "found", "true", "inside"):
        table.add_column(title, justify="right" if title in ("found", "true") else "left")
    for row in known.rows:
        table.add_row(row.label, " ".join(row.show_found()).strip(), row.show_true(), row.verdict)
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
