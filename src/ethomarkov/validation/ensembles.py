"""Ensembles of runs of a model's animals or states, as `ethomarkov simulate` asks for them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ethomarkov._core.interval import interval_of_mean
from ethomarkov._core.parallel import map_tasks
from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.showing import frame_of
from ethomarkov._core.types import FloatArray, Progress
from ethomarkov._core.words import count_of
from ethomarkov.exceptions import EthomarkovError, InputFormatError
from ethomarkov.locomotion.displacement import Displacement
from ethomarkov.locomotion.ensemble import CrawlSettings
from ethomarkov.model.behaviour import BehaviourModel
from ethomarkov.model.paths import body_lengths, measured_path
from ethomarkov.simulation.animal import MarkovAnimal, Start
from ethomarkov.simulation.postures import UnfoldMethod
from ethomarkov.validation.checks import RANGE, AnimalRuns, observe_animal
from ethomarkov.validation.runs import Runs, fitted_diffusion, measured_displacement, simulate_runs

if TYPE_CHECKING:
    import pandas as pd

EACH, ALL = "each", "all"
SHOWN = 4
"""Names that a headline shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """How many runs, how long, and how they move.

    Parameters
    ----------
    n_runs
        Number of runs of every animal or state.
    seconds
        Duration of every run in seconds, rounded to simulated steps.
    unfolding
        How microstates become postures; as in the model where None.
    ring
        Radius of a ring around the start that keeps paths inside, in the unit of the path; None for an endless plate.
    seed
        Random seed of the runs.
    """

    n_runs: int
    seconds: float
    unfolding: UnfoldMethod | None = None
    ring: float | None = None
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSet(Result):
    """Runs of several animals or states.

    Parameters
    ----------
    runs
        Summary of the runs of each animal or state.
    measured
        Mean squared displacement of the recorded animals; None for states, and where no path was measured.
    body_length
        Body length of every recorded animal in the unit of its path; NaN where unknown.
    is_fitted
        Whether a body length was not recorded and had to be fitted to the measured speed.
    reasons
        Why some states cannot be simulated alone, in words.
    """

    runs: tuple[Runs, ...]
    measured: Displacement | None
    body_length: FloatArray = array_field("individual", unit="length")
    is_fitted: bool
    reasons: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def headline(self) -> str:
        """Give the number of runs, and of what."""
        n_runs = sum(one.speed.size for one in self.runs)
        names = ", ".join([*(one.name for one in self.runs[:SHOWN]), *(["…"] if len(self.runs) > SHOWN else [])])
        return f"{count_of(n_runs, 'run')} of {names}"

    def table(self) -> "pd.DataFrame":
        """List diffusion, speed and reversals of every animal or state.

        Diffusion coefficients of runs are means with the range that holds 95 % of the runs; speed and reversals are
        means over runs with their 95 % intervals. Lengths are in `length_unit`, times in seconds, reversals per minute.
        """
        measured = None if self.measured is None else fitted_diffusion(self.measured)
        known = {} if measured is None else dict(zip(measured.names, measured.coefficient.tolist(), strict=True))
        return frame_of(_run_row(one, known.get(one.name, float("nan"))) for one in self.runs)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnimalRunSet(Result):
    """Every animal against runs of its own model.

    Parameters
    ----------
    animals
        The animals that have enough data for a model of their own, each against its runs.
    numbers
        Indices of these animals among all animals.
    reasons
        Why the other animals have no model, in words.
    """

    animals: tuple[AnimalRuns, ...]
    numbers: tuple[int, ...]
    reasons: tuple[str, ...]

    def headline(self) -> str:
        """Give the number of animals, and the share of statistics that agree."""
        known = [check for one in self.animals for check in one.check.checks if check.is_known]
        agree = sum(check.agrees for check in known)
        return f"{count_of(len(self.animals), 'animal')}, {agree} of {len(known)} statistics within 95 % of their runs"

    def table(self) -> "pd.DataFrame":
        """List the statistics of every animal beside those of its runs."""
        import pandas as pd

        tables = [one.table() for one in self.animals]
        return pd.concat(tables, ignore_index=True) if tables else frame_of([])


def _run_row(runs: Runs, measured: float) -> dict[str, object]:
    """Give the row of a table of runs."""
    coefficient = np.full(1, np.nan) if runs.diffusion is None else runs.diffusion.coefficient
    low, high = np.percentile(coefficient, RANGE)
    speed, reversals = (interval_of_mean(values, "runs") for values in (runs.speed, runs.event_rates[:, 0]))
    return {
        "name": runs.name,
        "length_unit": runs.displacement.length_unit,
        "diffusion_data": measured,
        "diffusion": float(coefficient.mean()),
        "diffusion_low": float(low),
        "diffusion_high": float(high),
        "speed": speed.estimate,
        "speed_low": speed.low,
        "speed_high": speed.high,
        "reversals_per_min": reversals.estimate,
        "reversals_low": reversals.low,
        "reversals_high": reversals.high,
        "runs": runs.speed.size,
    }


def run_animals(
    model: BehaviourModel, animal: str, how: RunSettings, *, threads: int = 1, progress: Progress | None = None
) -> RunSet:
    """Simulate runs of animals, and measure their displacement, speed and events.

    Parameters
    ----------
    model
        With tangent angles.
    animal
        Name of one animal; "each" gives every animal its own model, "all" learns one from all.
    how
        How many runs, how long, and how they move.
    threads, progress
        Cores to use; called after every block of runs.
    """
    lengths, is_fitted = body_lengths(model)
    duration, found = model.whole_steps(how.seconds), []
    for individual, one in _animals(model, animal):
        length, unit = _length(model, lengths, individual)
        settings = replace(_crawl_settings(model, how, duration), body_length=length, length_unit=unit)
        found.append(simulate_runs(model, one, settings, seed=how.seed, threads=threads, progress=progress))
    if not found:
        raise InputFormatError(
            "No animal has enough data for a model of its own. Use animal 'all': one model of all animals."
        )
    measured = measured_displacement(model, duration)
    return RunSet(runs=tuple(found), measured=measured, body_length=lengths, is_fitted=is_fitted)


def run_states(  # noqa: PLR0913 (what is simulated, and how)
    model: BehaviourModel,
    level: int,
    state: str,
    how: RunSettings,
    *,
    start: Start = "first",
    threads: int = 1,
    progress: Progress | None = None,
) -> RunSet:
    """Simulate runs that never leave a state, from the model of all animals, in body lengths.

    Parameters
    ----------
    model
        With tangent angles.
    level, state
        Number of states at the level, and the name of one of them or "each".
    how
        How many runs, how long, and how they move.
    start
        Where runs begin; see `MarkovAnimal.from_symbols`.
    threads, progress
        Cores to use; called after every state.
    """
    settings = _crawl_settings(model, how, model.whole_steps(how.seconds))
    asked = list(_states(model, level, state, start))
    chosen = [one for one in asked if isinstance(one, MarkovAnimal)]
    inside = threads if len(chosen) == 1 else 1

    def simulate(one: MarkovAnimal) -> Runs:
        return simulate_runs(model, one, settings, seed=how.seed, threads=inside)

    found = map_tasks(simulate, chosen, threads=threads, progress=progress, what="states")
    if not found:
        raise InputFormatError("No state of this level can be simulated alone. Use a coarser level.")
    unknown = np.full(len(model.individuals), np.nan)
    reasons = tuple(one for one in asked if isinstance(one, str))
    return RunSet(runs=tuple(found), measured=None, body_length=unknown, is_fitted=False, reasons=reasons)


def observe_animals(
    model: BehaviourModel, n_runs: int, *, seed: int = 0, threads: int = 1, progress: Progress | None = None
) -> AnimalRunSet:
    """Compare every animal with simulated runs of its own model, as long as its recording.

    Parameters
    ----------
    model
        To be judged.
    n_runs
        Simulated runs of each animal.
    seed, threads, progress
        Random seed of the runs; cores to use; called after every animal.
    """
    n_animals = len(model.individuals)
    is_measured = model.has_body and measured_path(model) is not None
    lengths = body_lengths(model)[0] if is_measured else np.full(n_animals, np.nan)
    inside = threads if n_animals == 1 else 1

    def observe(individual: int) -> AnimalRuns | str:
        try:
            return observe_animal(model, individual, n_runs, lengths=lengths, seed=seed, threads=inside)
        except EthomarkovError as error:  # too short for the lag, or nothing is visited twice
            return str(error)

    found = map_tasks(observe, range(n_animals), threads=threads, progress=progress, what="animals")
    known = {k: one for k, one in enumerate(found) if isinstance(one, AnimalRuns)}
    reasons = tuple(one for one in found if isinstance(one, str))
    if not known:
        raise InputFormatError(f"No animal has enough data for a model of its own: {reasons[0]}")
    return AnimalRunSet(animals=tuple(known.values()), numbers=tuple(known), reasons=reasons)


def _crawl_settings(model: BehaviourModel, how: RunSettings, duration: float) -> CrawlSettings:
    return CrawlSettings(
        duration=duration,
        n_runs=how.n_runs,
        drag_ratio=model.drag_ratio,
        scheme=model.scheme,
        method=how.unfolding or model.unfolding,
        ring_radius=how.ring,
    )


def _animals(model: BehaviourModel, animal: str) -> Iterator[tuple[int | None, MarkovAnimal]]:
    names = model.individuals
    if animal == ALL:
        yield None, model.animal()
        return
    if animal not in (EACH, *names):
        raise InputFormatError(
            f"animal is {animal!r}; the study has {', '.join(map(repr, names))}. Name one of these, 'each' or 'all'."
        )
    for individual, name in enumerate(names):
        if animal in (EACH, name):
            try:
                yield individual, model.animal(individual)
            except EthomarkovError:
                if animal != EACH:
                    raise


def _states(model: BehaviourModel, level: int, state: str, start: Start) -> Iterator[MarkovAnimal | str]:
    """Give what simulates each state that is asked for, or the reason why nothing does."""
    names = model.names(level)
    if state not in (EACH, *names):
        raise InputFormatError(
            f"state is {state!r}; at the level of {level} states there are {', '.join(map(repr, names))}. Name one "
            "of these, or 'each'."
        )
    for k, name in enumerate(names):
        if state in (EACH, name):
            try:
                yield model.confined(level, k, start=start)
            except EthomarkovError as error:  # a state of a single microstate has nowhere to go
                if state != EACH:
                    raise
                yield str(error)


def _length(model: BehaviourModel, lengths: FloatArray, individual: int | None) -> tuple[float, str]:
    """Body length in the unit of the measured path where there is one animal; body lengths otherwise."""
    if individual is None or not np.isfinite(lengths[individual]):
        return 1.0, "body lengths"
    path, measured = measured_path(model), model.measured
    unit = path.length_unit if path is not None else (measured.length_unit if measured is not None else "") or "mm"
    return float(lengths[individual]), unit
