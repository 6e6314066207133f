"""Run a study and put it where the user wants it."""

from pathlib import Path

from rich.console import Console

from ethomarkov._core.types import Progress
from ethomarkov.cli.terminal import summary_table
from ethomarkov.exceptions import OutputError
from ethomarkov.posture import PostureBasis
from ethomarkov.recording import Recording
from ethomarkov.report import write_report
from ethomarkov.workflow import Settings, Study, run_study
from ethomarkov.workflow.summary import Figures, summarize


def check_directory(directory: Path) -> None:
    """Refuse a directory that cannot be written to, before any work is done."""
    probe = directory / ".ethomarkov-can-write"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise OutputError(
            f"{directory}: results cannot be written there ({error.strerror}). Choose another directory with --out."
        ) from error


def run_and_write(
    recording: Recording,
    settings: Settings,
    directory: Path,
    *,
    basis: PostureBasis | None = None,
    progress: Progress | None = None,
) -> tuple[Study, Figures]:
    """Run all stages and write study and report."""
    study = run_study(recording, settings, basis=basis, progress=progress)
    figures = summarize(study)
    study.save(directory)
    write_report(study, directory, figures)
    return study, figures


def print_outcome(console: Console, figures: Figures, directory: Path) -> None:
    """Print the key figures and where to find the rest."""
    console.print(summary_table(figures))
    console.print(f"\nOpen {directory / 'report.html'}; all results are in {directory / 'study.nc'}.", highlight=False)
