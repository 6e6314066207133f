"""Run a study and put it where the user wants it."""

from pathlib import Path

from rich.console import Console
from rich.markup import escape

from ethomarkov._core.types import Progress
from ethomarkov.cli.terminal import summary_table
from ethomarkov.io.atomic import atomic_path
from ethomarkov.posture import PostureBasis
from ethomarkov.recording import Recording
from ethomarkov.report import render_report
from ethomarkov.report.page import REPORT_FILE
from ethomarkov.workflow import Settings, run_study
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
    """Run all stages and write study and report, which appear together."""
    study = run_study(recording, settings, basis=basis, threads=threads, progress=progress)
    figures = summarize(study)
    page = render_report(study, figures)
    with atomic_path(directory / REPORT_FILE) as temporary:
        temporary.write_text(page, encoding="utf-8")
        study.save(directory)
    return figures


def print_outcome(console: Console, figures: Figures, directory: Path) -> None:
    """Print the key figures and where to find the rest."""
    console.print(summary_table(figures))
    report, study = escape(str(directory / REPORT_FILE)), escape(str(directory / STUDY_FILE))
    console.print(f"\nOpen {report}; all results are in {study}.", highlight=False, soft_wrap=True)
