"""What each state finds when food is at a distance."""

from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from ethomarkov.cli.desk import open_study
from ethomarkov.cli.options import RunningOptions, require_at_least, require_minutes
from ethomarkov.cli.terminal import make_table
from ethomarkov.exceptions import InputFormatError
from ethomarkov.study.defaults import BODY_WIDTH, FORAGING_RUNS, FORAGING_SECONDS

if TYPE_CHECKING:
    from ethomarkov.foraging.states import Foraging

DEFAULT = RunningOptions()
NARROWEST = 0.005
SHOWN_RADII = (0.55, 1.0, 2.0, 5.0, 10.0, 24.0)


def forage(
    study: Path,
    *,
    level: int | None = None,
    runs: int = FORAGING_RUNS,
    seconds: float = FORAGING_SECONDS,
    width: float = BODY_WIDTH,
    raster: bool = False,
    out: Path | None = None,
    running: RunningOptions = DEFAULT,
) -> None:
    """Let animals forage that never leave a state; compare what they find with the time that animals spend in it.

    Parameters
    ----------
    study
        Directory that `ethomarkov run` wrote.
    level
        Number of states; the finest by default.
    runs
        In every state.
    seconds
        Of every run.
    width
        Of the body, in body lengths.
    raster
        Count cells as published (points every half second) instead of sweeping the whole body.
    out
        Directory for forage.csv and forage.png; `forage` in the study's own by default.
    """
    require_at_least(runs, 2, "--runs")
    require_minutes(runs, seconds / 60, "--runs and --seconds")
    from ethomarkov.report.tables import foraging_tables

    desk = open_study(study, running, out, "forage")
    desk.study.model.body_basis()
    lag = desk.study.chain.lag
    if not 2 * lag <= seconds < float("inf") or not NARROWEST <= width < 1:
        raise InputFormatError(
            f"--seconds is {seconds:g} and --width {width:g}; runs of at least {2 * lag:g} s and a width between "
            f"{NARROWEST} and 1 body length are needed."
        )
    at = desk.study.finest if level is None else level
    desk.study.tree.nodes_at(at)
    with desk.working():
        found: Foraging = desk.compute("foraging", level=at, n_runs=runs, seconds=seconds, width=width, raster=raster)
        desk.write(foraging_tables(found))
        desk.draw("forage", foraging=found)
    desk.show(_table(found))
    matching = found.matching
    desk.say(
        f"\nIn a disc of {matching.radius:g} body lengths, what states find follows the time spent in them with a "
        f"correlation of {matching.correlation}; {matching.mismatch} of the time would have to move for a match."
    )
    desk.close()


def _table(found: "Foraging") -> Table:
    shown = [radius for radius in SHOWN_RADII if found.curve.radii[0] <= radius <= found.curve.radii[-1]]
    title = "Share of the food within r body lengths that is found in a state"
    table = make_table("state", *(f"{radius:g}" for radius in shown), "time", left=["state"], title=title)
    columns = [found.curve.at(radius) for radius in shown]
    for k, name in enumerate(found.curve.names):
        cells = (f"{column[k]:.3f}" for column in columns)
        table.add_row(escape(name), *cells, f"{found.matching.time_share[k]:.3f}")
    return table
