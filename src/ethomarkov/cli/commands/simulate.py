"""Simulated animals of a study: postures and paths of many runs."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from cyclopts import Parameter
from rich.markup import escape
from rich.table import Table

from ethomarkov._core.interval import Interval, interval_of_mean
from ethomarkov.cli.desk import Desk, open_study
from ethomarkov.cli.options import RunningOptions, require_at_least, require_minutes
from ethomarkov.exceptions import InputFormatError
from ethomarkov.locomotion.displacement import Diffusion, Displacement
from ethomarkov.report.movies import write_movies
from ethomarkov.report.results import StudyResults
from ethomarkov.validation.ensembles import EACH, RunSet
from ethomarkov.validation.runs import Runs, fitted_diffusion

DEFAULT = RunningOptions()


def simulate(
    study: Path,
    *,
    runs: int = 1000,
    minutes: float = 35.0,
    animal: str = EACH,
    state: Annotated[str | None, Parameter(negative=())] = None,
    level: int | None = None,
    unfolding: Literal["matched", "paper"] | None = None,
    ring: float | None = None,
    movies: Annotated[bool, Parameter(negative=())] = False,
    out: Path | None = None,
    running: RunningOptions = DEFAULT,
) -> None:
    """Simulate many runs of a study's animals, let them crawl, and compare how far they get with the data.

    Parameters
    ----------
    study
        Directory that `ethomarkov run` wrote.
    runs
        Of every animal or state.
    minutes
        Of every run.
    animal
        Name of one animal; "each" gives every animal its own model, "all" learns one model from all.
    state
        Name of a state that is never left, or "each" for all states of the level; learned from all animals.
    level
        Of the tree at which states are named; the finest by default.
    unfolding
        How microstates become postures: "matched", or "paper" as published; as in the study by default.
    ring
        Radius of a ring around the start that keeps paths inside, in the unit of the path; none by default.
    movies
        Also make movies of the first run: data above simulation, and the animal drawing its path.
    out
        Directory for figures and movies; `simulation` in the study's own by default.
    """
    require_at_least(runs, 1, "--runs")
    require_minutes(runs, minutes, "--runs and --minutes")
    if level is not None and state is None:
        raise InputFormatError(f"--level is {level}, but no state was asked for. Add --state NAME, or --state each.")
    desk = open_study(study, running, out, "simulation")
    desk.study.model.body_basis()
    _check_minutes(desk, minutes)
    at = desk.study.finest if level is None else level
    options = {"n_runs": runs, "minutes": minutes, "run_unfolding": unfolding, "ring": ring}
    with desk.working():
        found: RunSet = (
            desk.compute("runs", animal=animal, **options)
            if state is None
            else desk.compute("state_runs", level=at, state=state, **options)
        )
        shown = {"runs": found.runs, "state_runs": None} if state is None else {"runs": None, "state_runs": found.runs}
        desk.draw("simulate", displacement=found.measured, **shown)
        if movies:
            write_movies(StudyResults(desk.study), found.runs[0], desk.out, desk.study.graph.progress)
    desk.console.print(_table(found.runs, found.measured))
    desk.say(f"\n{desk.study.simulation_choice.explain()}", *_remarks(found))
    desk.close()


def _check_minutes(desk: Desk, minutes: float) -> None:
    step = desk.study.model.steps[0]
    if not np.isfinite(minutes) or round(minutes * 60 / step) < 2:
        raise InputFormatError(
            f"--minutes is {minutes:g}; at least two steps of the simulation are needed, {2 * step / 60:.3g} min."
        )


def _table(found: Sequence[Runs], data: Displacement | None) -> Table:
    unit = found[0].displacement.length_unit
    table = Table(box=None, pad_edge=False)
    for title in ("", "D of data", f"D of simulation ({unit}²/s)", f"speed ({unit}/s)", "reversals per min"):
        table.add_column(title, justify="left" if not title else "right")
    measured = fitted_diffusion(data) if data is not None else None
    for one in found:
        here = "" if measured is None or one.name not in measured.names else _data_value(measured, one.name)
        runs = one.diffusion.interval if one.diffusion is not None else None
        table.add_row(
            escape(one.name),
            here,
            _mean_and_spread(runs, one.diffusion.coefficient) if runs and one.diffusion else "runs too short",
            str(interval_of_mean(one.speed, "runs")),
            str(interval_of_mean(one.event_rates[:, 0], "runs")) if np.isfinite(one.event_rates).any() else "",
        )
    return table


def _data_value(measured: Diffusion, name: str) -> str:
    return f"{measured.coefficient[measured.names.index(name)]:.3g}"


def _mean_and_spread(mean: Interval, values: np.ndarray) -> str:
    low, high = np.percentile(values, [2.5, 97.5])
    return f"{mean.estimate:.3g}, 95 % of runs {low:.3g} to {high:.3g}"


def _remarks(found: RunSet) -> Iterator[str]:
    if found.is_fitted:
        shown = ", ".join(f"{length:.3g}" for length in found.body_length)
        yield f"\nBody lengths were not recorded; they were fitted to the measured speeds: {shown}."
    cautions = [one.diffusion.caution for one in found.runs if one.diffusion is not None and one.diffusion.caution]
    if cautions:
        yield f"Not all runs are diffusive at 60 to 100 s. {cautions[0]}"
