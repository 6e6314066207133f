"""One frame for all commands that ask something of a study: loading, working, tables, figures, and what to say."""

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from ethomarkov.cli.options import RunningOptions
from ethomarkov.cli.terminal import progress_bar
from ethomarkov.cli.work import at_work
from ethomarkov.exceptions import OutputError
from ethomarkov.figures.style import save_figures
from ethomarkov.io.atomic import check_writable
from ethomarkov.io.spreadsheet import write_table
from ethomarkov.report.commands import draw_command_figures
from ethomarkov.report.results import StudyResults
from ethomarkov.study import Study

Rows = Iterable[Mapping[str, object]]


@dataclass(kw_only=True)
class Desk:
    """A study that a command works on, and where the command puts what it shows.

    Parameters
    ----------
    study
        That was asked for.
    home
        Its directory, where results are kept.
    out
        Directory for tables and figures.
    running
        How the work is done.
    """

    study: Study
    home: Path
    out: Path
    running: RunningOptions
    console: Console = field(init=False)

    def __post_init__(self) -> None:
        self.console = Console(quiet=self.running.quiet)

    @contextlib.contextmanager
    def working(self) -> Iterator[None]:
        """Hold the study's directory, use the cores that were asked for, and show the progress."""
        check_writable(self.out)
        with (
            at_work(self.running) as threads,
            progress_bar(self.console, quiet=self.running.quiet) as progress,
            self.study.locked(),
        ):
            self.study.working(threads, progress)
            yield

    def compute(self, name: str, **options: Any) -> Any:  # noqa: ANN401 (any result)
        """Ask the study for a result, with the random seed of the command where one was given."""
        seed = {} if self.running.seed is None else {"seed": self.running.seed}
        return self.study.compute(name, **options, **seed)

    def write(self, tables: Mapping[str, Rows]) -> None:
        """Write tables as CSV; those without rows are left out."""
        for name, rows in tables.items():
            write_table(self.out / name, rows)

    def draw(self, command: str, **shown: Any) -> None:  # noqa: ANN401 (any results)
        """Draw the figures of a command from results that it has just asked for."""
        save_figures(draw_command_figures(command, StudyResults(self.study, **shown)), self.out)

    def say(self, *lines: str) -> None:
        """Print sentences as they are."""
        for line in lines:
            self.console.print(line, highlight=False, markup=False, soft_wrap=True)

    def close(self, remark: str = "") -> None:
        """Tell where everything lies."""
        results = f" Results are in {escape(str(self.study.results_folder))}." if self.study.results_folder else ""
        self.console.print(
            f"\nTables and figures are in {escape(str(self.out))}.{results}{remark}", highlight=False, soft_wrap=True
        )


def open_study(study: Path, running: RunningOptions, out: Path | None, folder: str = "") -> Desk:
    """Load a study for a command.

    Parameters
    ----------
    study
        Directory that `ethomarkov run` wrote, or the file in it.
    running
        How the work is done.
    out
        Where tables and figures go; a folder in the study's own directory by default. Results go there too where the
        study may only be read.
    folder
        Its name; empty for the study's directory itself.
    """
    home = study if study.is_dir() else study.parent
    loaded = Study.load(study)
    if out is not None and not _is_writable(home):
        loaded.keep_in(out)
    return Desk(study=loaded, home=home, out=out or home / folder, running=running)


def _is_writable(directory: Path) -> bool:
    try:
        check_writable(directory)
    except OutputError:
        return False
    return True
