"""One frame for all commands: loading, working, tables, figures, what to say, and what to type next."""

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console, RenderableType

from ethomarkov.cli.next_step import next_step
from ethomarkov.cli.options import RunningOptions
from ethomarkov.cli.progress import current_progress, end_progress, tell
from ethomarkov.cli.terminal import show_duration
from ethomarkov.study.files import find_study

if TYPE_CHECKING:  # the frame itself needs no numerical package
    from ethomarkov._core.types import Progress
    from ethomarkov.study import Study
    from ethomarkov.study.cluster_settings import ClusterSettings

Rows = Iterable[Mapping[str, object]]
WORTH_TELLING = 20.0
"""Seconds of computing from which on they are told beforehand."""


@dataclass(kw_only=True)
class Frame:
    """What every command has: where it writes, how it works, and how it speaks.

    Parameters
    ----------
    out
        Where it writes; None for a command that writes nothing.
    running
        How the work is done.
    """

    out: Path | None = None
    running: RunningOptions = field(default_factory=RunningOptions)
    console: Console = field(init=False)

    def __post_init__(self) -> None:
        self.console = Console(quiet=self.running.quiet)

    @contextlib.contextmanager
    def working(self, cluster: "ClusterSettings | None" = None) -> Iterator[tuple[int, "Progress | None"]]:
        """Use the cores or the cluster that were asked for; give the number of cores and whom to tell the progress."""
        from ethomarkov.cli.work import at_work
        from ethomarkov.io.atomic import check_writable

        if self.out is not None:
            check_writable(self.out)
        with at_work(self.running, cluster) as threads:
            yield threads, current_progress()

    def announce(self, seconds: float) -> None:
        """Tell how long the work will take, if that is long."""
        if seconds >= WORTH_TELLING and not self.running.quiet:
            tell(f"About {show_duration(seconds)} of computing; stop with Ctrl-C, it can be resumed.")

    def doing(self, what: str) -> None:
        """Show what is being done, where no more can be told of its progress."""
        progress = current_progress()
        if progress is not None:
            progress(what, 0, 1)

    def say(self, *lines: str) -> None:
        """Print sentences as they are."""
        end_progress()
        for line in lines:
            self.console.print(line, highlight=False, markup=False, soft_wrap=True)

    def show(self, *tables: RenderableType) -> None:
        """Print tables."""
        end_progress()
        for table in tables:
            self.console.print(table, highlight=False)

    def note(self, *lines: str) -> None:
        """Print what a reader should know before believing anything."""
        from rich.markup import escape

        end_progress()
        for line in lines:
            self.console.print(f"[yellow]note[/] {escape(line)}", highlight=False, soft_wrap=True)

    def next(self, command: str) -> None:
        """Say what to type next."""
        self.say(f"Next: {command}")


@dataclass(kw_only=True)
class Desk(Frame):
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

    study: "Study"
    home: Path
    out: Path

    @contextlib.contextmanager
    def working(self, cluster: "ClusterSettings | None" = None) -> Iterator[tuple[int, "Progress | None"]]:
        """Hold the study's directory, use the cores that were asked for, and show the progress."""
        with super().working(cluster) as (threads, progress), self.study.locked():
            self.study.working(threads, progress)
            yield threads, progress

    def compute(self, name: str, **options: Any) -> Any:  # noqa: ANN401 (any result)
        """Ask the study for a result, with the random seed of the command where one was given."""
        if self.running.seed is not None:
            options["seed"] = self.running.seed
        self.announce(sum(one.seconds for one in self.study.graph.plan([name], **options)))
        return self.study.compute(name, **options)

    def write(self, tables: Mapping[str, Rows]) -> None:
        """Write tables as CSV; those without rows are left out."""
        from ethomarkov.io.spreadsheet import write_table

        for name, rows in tables.items():
            write_table(self.out / name, rows)

    def draw(self, command: str, **shown: Any) -> None:  # noqa: ANN401 (any results)
        """Draw the figures of a command from results that it has just asked for."""
        from ethomarkov.figures.style import save_figures
        from ethomarkov.report import commands
        from ethomarkov.report.results import StudyResults

        self.doing("drawing figures")
        save_figures(commands.draw_command_figures(command, StudyResults(self.study, **shown)), self.out)

    def close(self, remark: str = "") -> None:
        """Tell where everything lies, and what to type next."""
        results = f" Results are in {self.study.results_folder}." if self.study.results_folder else ""
        self.say(f"\nTables and figures are in {self.out}.{results}{remark}")
        self.suggest()

    def suggest(self) -> None:
        """Say what to type next, by what the study holds already."""
        basis = self.study.basis
        crawls = basis is not None and basis.features == "angle"
        # results of a study that may only be read lie elsewhere
        kept = self.study.directory or self.home
        self.next(next_step(self.home, kept=kept, crawls=crawls))


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
    file = find_study(study)
    from ethomarkov.study import Study

    home = file.parent
    loaded = Study.load(study)
    if out is not None and not is_writable(home):
        loaded.keep_in(out)
    return Desk(study=loaded, home=home, out=out or home / folder, running=running)


def is_writable(directory: Path) -> bool:
    """Tell whether results can be written into a directory."""
    from ethomarkov.exceptions import OutputError
    from ethomarkov.io.atomic import check_writable

    try:
        check_writable(directory)
    except OutputError:
        return False
    return True
