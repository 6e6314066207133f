"""Simulated animals of a study: postures and paths of many runs."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from cyclopts import Parameter
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ethomarkov._core.interval import Interval, interval_of_mean
from ethomarkov.cli.options import RunningOptions, require_at_least, require_minutes
from ethomarkov.cli.terminal import progress_bar
from ethomarkov.cli.work import at_work
from ethomarkov.exceptions import EthomarkovError, InputFormatError
from ethomarkov.figures.style import save_figures
from ethomarkov.io.atomic import check_writable
from ethomarkov.io.results import group_name, save_results
from ethomarkov.locomotion.displacement import Diffusion, Displacement
from ethomarkov.locomotion.ensemble import CrawlRule
from ethomarkov.report.path_figures import draw_run_figures
from ethomarkov.report.path_movies import write_movies
from ethomarkov.simulation.animal import MarkovAnimal
from ethomarkov.workflow import Study
from ethomarkov.workflow.paths import body_basis, body_lengths, measured_path
from ethomarkov.workflow.runs import (
    Runs,
    animal_model,
    fitted_diffusion,
    measured_displacement,
    simulate_runs,
    state_model,
)
from ethomarkov.workflow.states import state_names

DEFAULT = RunningOptions()
EACH, ALL = "each", "all"


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
        Directory for simulation.nc, figures and movies; `simulation` in the study's own by default.
    """
    require_at_least(runs, 1, "--runs")
    require_minutes(runs, minutes, "--runs and --minutes")
    if level is not None and state is None:
        raise InputFormatError(f"--level is {level}, but no state was asked for. Add --state NAME, or --state each.")
    loaded = Study.load(study)
    body_basis(loaded)
    duration = _duration(loaded, minutes)
    models = _state_models(loaded, state, level) if state is not None else _animal_models(loaded, animal)
    target = out or (study if study.is_dir() else study.parent) / "simulation"
    check_writable(target)
    console = Console(quiet=running.quiet)
    lengths, fitted = body_lengths(loaded)
    with at_work(running) as threads, progress_bar(console, quiet=running.quiet) as progress:
        found: list[Runs] = []
        for individual, model in models:
            body_length, unit = _length(loaded, lengths, individual)
            rule = CrawlRule(
                duration=duration,
                n_runs=runs,
                drag_ratio=loaded.settings.drag_ratio,
                scheme=loaded.settings.scheme,
                body_length=body_length,
                length_unit=unit,
                method=unfolding or loaded.settings.unfolding,
                ring_radius=ring,
            )
            found.append(
                simulate_runs(loaded, model, rule, seed=running.chosen_seed, threads=threads, progress=progress)
            )
        if not found:
            raise InputFormatError("Nothing of this study has enough data for a model of its own. Use --animal all.")
        data = None if state is not None else measured_displacement(loaded, duration)
        write_runs(loaded, found, data, target)
        save_figures(draw_run_figures(loaded, found, data), target)
        if movies:
            write_movies(loaded, found[0], target, progress)
    console.print(_table(found, data))
    console.print(f"\n{loaded.simulation_choice.explain()}", highlight=False, markup=False, soft_wrap=True)
    for line in _remarks(found, fitted and state is None, lengths):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    console.print(f"\nWritten to {escape(str(target))}.", highlight=False, soft_wrap=True)


def _duration(study: Study, minutes: float) -> float:
    """Seconds of a run: a whole number of steps, two at least."""
    lag = study.simulation_choice.chosen_lag
    n_steps = round(minutes * 60 / lag) if np.isfinite(minutes) else 0
    if n_steps < 2:
        raise InputFormatError(
            f"--minutes is {minutes:g}; at least two steps of the simulation are needed, {2 * lag / 60:.3g} min."
        )
    return n_steps * lag


def _animal_models(study: Study, animal: str) -> Iterator[tuple[int | None, MarkovAnimal]]:
    names = study.symbols.segments.individuals
    if animal == ALL:
        yield None, animal_model(study)
        return
    if animal not in (EACH, *names):
        raise InputFormatError(
            f"--animal is {animal!r}; the study has {', '.join(map(repr, names))}. Name one of these, 'each' or 'all'."
        )
    for individual, name in enumerate(names):
        if animal in (EACH, name):
            try:
                yield individual, animal_model(study, individual)
            except EthomarkovError:
                if animal != EACH:
                    raise


def _state_models(study: Study, state: str, level: int | None) -> Iterator[tuple[int | None, MarkovAnimal]]:
    at = study.finest if level is None else level
    names = state_names(study, at)
    if state not in (EACH, *names):
        raise InputFormatError(
            f"--state is {state!r}; at the level of {at} states there are {', '.join(map(repr, names))}. Name one of "
            "these, or 'each'."
        )
    for k, name in enumerate(names):
        if state in (EACH, name):
            try:
                yield None, state_model(study, at, k)
            except EthomarkovError:  # a state of a single microstate has nowhere to go
                if state != EACH:
                    raise


def _length(study: Study, lengths: np.ndarray, individual: int | None) -> tuple[float, str]:
    """Body length in the unit of the measured path where there is one animal; body lengths otherwise."""
    if individual is None or not np.isfinite(lengths[individual]):
        return 1.0, "body lengths"
    path = measured_path(study)
    unit = path.length_unit if path is not None else study.measured.length_unit or "mm"
    return float(lengths[individual]), unit


def write_runs(study: Study, found: Sequence[Runs], data: Displacement | None, out: Path) -> None:
    """Write runs into a directory.

    Parameters
    ----------
    study, found
        The runs of its animals or states.
    data
        How far the animals themselves got.
    out
        Directory.
    """
    results: dict[str, object] = {group_name("runs", k, one.name): one for k, one in enumerate(found)}
    if data is not None:
        results["measured"] = data
    save_results(out / "simulation.nc", results, {"settings": study.settings.model_dump_json()})


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


def _remarks(found: Sequence[Runs], fitted: bool, lengths: np.ndarray) -> Iterator[str]:
    if fitted:
        shown = ", ".join(f"{length:.3g}" for length in lengths)
        yield f"\nBody lengths were not recorded; they were fitted to the measured speeds: {shown}."
    cautions = [one.diffusion.caution for one in found if one.diffusion is not None and one.diffusion.caution]
    if cautions:
        yield f"Not all runs are diffusive at 60 to 100 s. {cautions[0]}"
