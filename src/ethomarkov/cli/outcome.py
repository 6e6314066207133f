"""What a run leaves behind, and what it says in the end."""

from pathlib import Path

from ethomarkov._core.types import Progress
from ethomarkov.cli.desk import Frame
from ethomarkov.cli.next_step import next_step
from ethomarkov.cli.terminal import make_table, summary_table
from ethomarkov.io.spreadsheet import write_table
from ethomarkov.report.page import write_report
from ethomarkov.report.results import StudyResults
from ethomarkov.report.summary import Figures
from ethomarkov.report.summary_file import write_summary
from ethomarkov.report.tables import animal_tables
from ethomarkov.study import Study
from ethomarkov.study.files import REPORT_FILE, STUDY_FILE
from ethomarkov.validation.known_truth import KnownTruth


def write_outcome(study: Study, directory: Path, progress: Progress | None = None) -> Figures:
    """Write report, key figures and table of animals of a study, and give its key figures.

    Parameters
    ----------
    study
        That was run.
    directory
        Where they go.
    progress
        Called as the work goes on.
    """
    if progress is not None:
        progress("writing the report", 0, 1)
    results = StudyResults(study)
    figures = write_summary(directory, results["summary"])
    write_report(results, directory)
    for name, rows in animal_tables(study).items():
        write_table(directory / name, rows)
    return figures


def print_outcome(frame: Frame, figures: Figures, directory: Path, known: KnownTruth | None = None) -> None:
    """Print the key figures, what is known of the truth, where to find the rest, and what to type next."""
    frame.show(summary_table(figures))
    if known is not None:
        print_truth(frame, known)
    frame.say(f"\nOpen {directory / REPORT_FILE}; all results are in {directory / STUDY_FILE}.")
    frame.next(next_step(directory, crawls=crawls(figures)))


def crawls(figures: Figures) -> bool:
    """Tell from its key figures whether a study has paths."""
    return "speed_body_lengths_per_s" in figures["simulation"]


def print_truth(frame: Frame, known: KnownTruth) -> None:
    """Print estimates beside what is true."""
    table = make_table("estimate beside truth", "estimate", "truth", "inside", left=("estimate beside truth", "inside"))
    for row in known.rows:
        table.add_row(row.label, " ".join(row.show_estimate()).strip(), row.show_true(), row.verdict)
    frame.show("", table)
    frame.say(f"\nThese worms are synthetic, so the truth is known. {known.sentence}")
    frame.say(*(f"{row.quantity}: {row.note}" for row in known.rows if row.note))
