"""Simulated animals of a study: postures and paths of many runs."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter
from rich.markup import escape
from rich.table import Table

from ethomarkov.cli.desk import Desk, open_study
from ethomarkov.cli.options import RunningOptions, require_at_least, require_minutes
from ethomarkov.cli.terminal import make_table
from ethomarkov.exceptions import InputFormatError

if TYPE_CHECKING:
    from ethomarkov._core.interval import Interval
    from ethomarkov._core.types import FloatArray
    from ethomarkov.locomotion.displacement import Diffusion, Displacement
    from ethomarkov.validation.ensembles import RunSet
    from ethomarkov.validation.runs import Runs

DEFAULT = RunningOptions()


def simulate(
    study: Path,
    *,
    runs: int | None = None,
    minutes: float | None = None,
    animal: str = "each",
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
        Of every animal or state; by default as many as take about a minute on two cores. 1000 as published.
    minutes
        Of every run; by default as long as the recordings, in the median. 35 as published.
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
    if runs is not None:
        require_at_least(runs, 1, "--runs")
        require_minutes(runs, minutes or 0, "--runs and --minutes")
    if level is not None and state is None:
        raise InputFormatError(f"--level is {level}, but no state was asked for. Add --state NAME, or --state each.")
    from ethomarkov.study.effort import scaled_options

    desk = open_study(study, running, out, "simulation")
    desk.study.model.body_basis()
    if minutes is not None:
        _check_minutes(desk, minutes)
    options: dict[str, Any] = {"n_runs": runs, "minutes": minutes, "run_unfolding": unfolding, "ring": ring}
    if state is None:
        name, options = "runs", options | {"animal": animal}
    else:
        at = desk.study.finest if level is None else level
        name, options = "state_runs", options | {"level": at, "state": state}
    options = scaled_options(desk.study, name, options)
    n_runs, lasting = options["n_runs"], options["minutes"]
    require_minutes(n_runs, lasting, "--runs and --minutes")
    with desk.working() as (_, progress):
        found: RunSet = desk.compute(name, **options)
        shown = dict.fromkeys(("runs", "state_runs")) | {name: found.runs}
        desk.draw("simulate", displacement=found.measured, **shown)
        if movies:
            from ethomarkov.report.movies import write_movies
            from ethomarkov.report.results import StudyResults

            write_movies(StudyResults(desk.study), found.runs[0], desk.out, progress)
    desk.show(_table(found.runs, found.measured))
    desk.say(f"\n{desk.study.simulation_choice.explain()}", *_remarks(found))
    if runs is None or minutes is None:
        desk.say(f"{n_runs} runs of {lasting:.3g} min each; --runs and --minutes ask for more.")
    desk.close()


def _check_minutes(desk: Desk, minutes: float) -> None:
    step = desk.study.model.steps[0]
    if not 2 * step <= (minutes * 60 + step / 2) < float("inf"):
        raise InputFormatError(
            f"--minutes is {minutes:g}; at least two steps of the simulation are needed, {2 * step / 60:.3g} min."
        )


def _table(found: Sequence["Runs"], data: "Displacement | None") -> Table:
    import numpy as np

    from ethomarkov._core.interval import interval_of_mean
    from ethomarkov.validation.runs import fitted_diffusion

    unit = found[0].displacement.length_unit
    table = make_table("", "D of data", f"D of simulation ({unit}²/s)", f"speed ({unit}/s)", "reversals per min")
    measured = fitted_diffusion(data) if data is not None else None
    for one in found:
        here = "" if measured is None or one.name not in measured.names else _data_value(measured, one.name)
        mean = one.diffusion.interval if one.diffusion is not None else None
        table.add_row(
            escape(one.name),
            here,
            _mean_and_spread(mean, one.diffusion.coefficient) if mean and one.diffusion else "runs too short",
            str(interval_of_mean(one.speed, "runs")),
            str(interval_of_mean(one.event_rates[:, 0], "runs")) if np.isfinite(one.event_rates).any() else "",
        )
    return table


def _data_value(measured: "Diffusion", name: str) -> str:
    return f"{measured.coefficient[measured.names.index(name)]:.3g}"


def _mean_and_spread(mean: "Interval", values: "FloatArray") -> str:
    import numpy as np

    low, high = np.percentile(values, [2.5, 97.5])
    return f"{mean.estimate:.3g}, 95 % of runs {low:.3g} to {high:.3g}"


def _remarks(found: "RunSet") -> Iterator[str]:
    if found.is_fitted:
        shown = ", ".join(f"{length:.3g}" for length in found.body_length)
        yield f"\nBody lengths were not recorded; they were fitted to the measured speeds: {shown}."
    cautions = [one.diffusion.caution for one in found.runs if one.diffusion is not None and one.diffusion.caution]
    if cautions:
        yield f"Not all runs are diffusive at 60 to 100 s. {cautions[0]}"
