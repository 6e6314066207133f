"""A study's model on new recordings."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from rich.markup import escape
from rich.table import Table

from ethomarkov._core.words import count_of
from ethomarkov.cli.desk import open_study
from ethomarkov.cli.next_step import next_step
from ethomarkov.cli.options import ReadingOptions, RunningOptions
from ethomarkov.cli.reading import read_recordings
from ethomarkov.cli.terminal import make_table

if TYPE_CHECKING:
    from ethomarkov.model.application import Application

TABLE_FILE = "application.csv"
COLOURS = {"covered": "green", "borderline": "yellow", "outside": "red"}
MOST_ROWS = 60
DEFAULT_READING, DEFAULT_RUNNING = ReadingOptions(), RunningOptions()


def apply(
    study: Path,
    files: Annotated[tuple[Path, ...], Parameter(negative=())],
    *,
    out: Path,
    reading: ReadingOptions = DEFAULT_READING,
    running: RunningOptions = DEFAULT_RUNNING,
) -> None:
    """Label new recordings with the states of a study, and tell whether its model may be trusted there.

    Parameters
    ----------
    study
        Directory that `ethomarkov run` wrote.
    files
        New recordings, in any format that `ethomarkov inspect` understands, at the study's sampling rate.
    out
        Directory of the results.
    """
    from ethomarkov.report.tables import application_tables
    from ethomarkov.study.study import apply_study

    desk = open_study(study, running, out)
    desk.study = apply_study(desk.study, read_recordings(files, reading), directory=out)
    with desk.working():
        found: Application = desk.compute("application")
        desk.write(application_tables(found))
    desk.show(_table(found))
    desk.say(*_verdict(found))
    desk.say(f"\nWritten to {out / TABLE_FILE}; labels of all frames are in {desk.study.results_folder}.")
    desk.next(next_step(desk.home))


def _table(found: "Application") -> Table:
    from ethomarkov.model.application import QUANTITIES

    titles = ("frames", "distance", "out of reach", "unseen", "nat/s", *found.macrostate_names)
    table = make_table("animal", "flag", *titles, left=("animal", "flag"))
    for i, name in enumerate(found.individuals[:MOST_ROWS]):
        table.add_row(escape(name), f"[{COLOURS[found.flag[i]]}]{found.flag[i]}[/]", *_cells(found, i))
    if len(found.individuals) > MOST_ROWS:
        table.add_row(f"… {len(found.individuals) - MOST_ROWS} more")
    known = found.reference
    ranges = [getattr(known, name) for name in QUANTITIES]
    limits = [(float(min(one[one == one])), float(max(one[one == one]))) for one in ranges]  # noqa: PLR0124
    table.add_row("[dim]training[/]", "", "", *(_span(k, *limit) for k, limit in enumerate(limits)))
    return table


def _cells(found: "Application", i: int) -> list[str]:
    from ethomarkov.model.application import QUANTITIES

    values = [float(getattr(found, name)[i]) for name in QUANTITIES]
    shares = [float(share) for share in found.macrostate_shares[i]]
    return [
        f"{found.frames[i]:,}",
        *("none" if x != x else _show(k, x) for k, x in enumerate(values)),  # noqa: PLR0124
        *("none" if x != x else f"{x:.0%}" for x in shares),  # noqa: PLR0124
    ]


def _show(quantity: int, value: float) -> str:
    return f"{value:.1%}" if quantity in (1, 2) else f"{value:.2f}"


def _span(quantity: int, low: float, high: float) -> str:
    return f"[dim]{_show(quantity, low)} to {_show(quantity, high)}[/]"


def _verdict(found: "Application") -> list[str]:
    """Say plainly which animals the model may be used for."""
    counts, n_animals = Counter(found.flag), len(found.individuals)
    if counts["covered"] == n_animals:
        lines = [f"The model covers {'the animal' if n_animals == 1 else f'all {n_animals} animals'}."]
    else:
        lines = [
            f"The model covers {counts['covered']} of {count_of(n_animals, 'animal')}; {counts['borderline']} "
            f"borderline, {counts['outside']} outside. Do not trust its states and rates where an animal is outside."
        ]
    doubtful = [i for i, flag in enumerate(found.flag) if flag != "covered"][:MOST_ROWS]
    return lines + [f"{found.individuals[i]} ({found.flag[i]}): {found.reason[i]}" for i in doubtful]
