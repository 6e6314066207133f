"""A study of more recordings than fit into memory."""

import functools
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.markup import escape

from ethomarkov._core.words import count_of
from ethomarkov.cli.commands.run import ModelOptions, chosen_settings
from ethomarkov.cli.options import ReadingOptions, RunningOptions
from ethomarkov.cli.reading import read_recordings
from ethomarkov.cli.study_output import print_outcome
from ethomarkov.cli.terminal import progress_bar
from ethomarkov.cli.work import at_work
from ethomarkov.io.atomic import atomic_path, check_writable
from ethomarkov.io.spreadsheet import write_rows
from ethomarkov.posture import PostureBasis
from ethomarkov.recording import Recording
from ethomarkov.report import render_report
from ethomarkov.report.page import REPORT_FILE
from ethomarkov.workflow.streaming import LABELS_FOLDER, AnimalTable, Source, StreamedStudy, stream_study
from ethomarkov.workflow.summary import Figures, summarize

TABLE_FILE = "animals.csv"
DEFAULT_MODEL, DEFAULT_READING, DEFAULT_RUNNING = ModelOptions(), ReadingOptions(), RunningOptions()


def stream(
    files: Annotated[tuple[Path, ...], Parameter(negative=())],
    *,
    out: Path,
    basis: Path | None = None,
    model: ModelOptions = DEFAULT_MODEL,
    reading: ReadingOptions = DEFAULT_READING,
    running: RunningOptions = DEFAULT_RUNNING,
) -> None:
    """Run a study on any number of recordings, a few at a time.

    The chain and the tree of states come from all animals; what needs frames (simulations, figures, the report) comes
    from whole animals of a million frames together, drawn by hash. A run that was stopped goes on where it was.

    Parameters
    ----------
    files
        Recordings, in any format that `ethomarkov inspect` understands.
    out
        Directory of the results.
    basis
        Posture modes (EigenWorms.csv or .mat); fitted to the data when left out.
    """
    settings, cluster = chosen_settings(model, running.seed)
    source = Source(files=files, read=functools.partial(_read_file, options=reading), reading=repr(reading))
    modes = PostureBasis.from_file(basis, settings.n_modes) if basis is not None else None
    check_writable(out)
    console = Console(quiet=running.quiet)
    with at_work(running, cluster) as threads, progress_bar(console, quiet=running.quiet) as progress:
        found = stream_study(source, out, settings, basis=modes, threads=threads, progress=progress)
    notes = _notes(found, len(files))
    figures = summarize(found.study)
    figures["warnings"] = [*figures["warnings"], *notes]
    _write(found, figures, out)
    print_outcome(console, figures, out)
    console.print(
        f"Every animal: {escape(str(out / TABLE_FILE))}; labels of its frames: {escape(str(out / LABELS_FOLDER))}.",
        highlight=False,
        soft_wrap=True,
    )


def _read_file(file: Path, options: ReadingOptions) -> Recording:
    return read_recordings((file,), options)


def _write(found: StreamedStudy, figures: Figures, directory: Path) -> None:
    """Write report and table, which appear together."""
    page = render_report(found.study, figures)
    with atomic_path(directory / REPORT_FILE) as report, atomic_path(directory / TABLE_FILE) as table:
        report.write_text(page, encoding="utf-8")
        with table.open("w", newline="", encoding="utf-8") as file:
            write_rows(file, _rows(found.animals))


def _rows(animals: AnimalTable) -> list[list[object]]:
    shares = [f"share_{name.replace(' ', '_')}" for name in animals.states]
    header = ["individual", "file", "frames", "windows", "transitions", "entropy_rate_nat_per_s", *shares]
    columns = zip(
        animals.individuals,
        animals.files,
        animals.frames.tolist(),
        animals.windows.tolist(),
        animals.transitions.tolist(),
        animals.entropy_rates.tolist(),
        animals.shares.tolist(),
        strict=True,
    )
    return [header, *([*row[:5], *(_number(x) for x in (row[5], *row[6]))] for row in columns)]


def _number(value: float) -> str:
    return "" if value != value else f"{value:.6g}"  # noqa: PLR0124 (NaN is not equal to itself)


def _notes(found: StreamedStudy, n_files: int) -> list[str]:
    """Say which numbers come from all animals, and which from the examples."""
    animals, examples = found.animals, found.study.postures.segments.individuals
    lines = [
        f"Chain and states come from {count_of(len(animals.individuals), 'animal')} of {count_of(n_files, 'file')}, "
        f"{int(animals.frames.sum()):,} frames, with an entropy rate of {found.entropy_rate:.2f} nat/s; all other "
        f"figures from {count_of(len(examples), 'example animal')}."
    ]
    if found.n_unseen:
        lines.append(
            f"{count_of(found.n_unseen, 'microstate')} that no example animal visits: left out of the chain, because "
            "nothing could be simulated there."
        )
    return lines
