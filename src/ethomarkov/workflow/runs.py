"""Ensembles of simulated animals of a study, and how far they get."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ethomarkov._core.random import generator
from ethomarkov._core.result import array_field, freeze_arrays
from ethomarkov._core.series import Series
from ethomarkov._core.types import FloatArray, Progress
from ethomarkov.exceptions import ConnectivityError
from ethomarkov.locomotion import Path as AnimalPath
from ethomarkov.locomotion.bearing import BearingSpectrum, bearing_spectrum
from ethomarkov.locomotion.displacement import Diffusion, Displacement, diffusion, msd
from ethomarkov.locomotion.ensemble import CrawlRule, Measure, crawl, gather
from ethomarkov.posture import find_events
from ethomarkov.simulation.animal import MarkovAnimal, Start
from ethomarkov.workflow.paths import body_basis, measured_path
from ethomarkov.workflow.states import state_names
from ethomarkov.workflow.study import Study

SHORTEST_LAG, N_LAGS = 1.0, 120
FIT_WINDOW = (60.0, 100.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """An ensemble of simulated runs, summarised; only a few runs are kept.

    Parameters
    ----------
    name
        Of the animal, or of the state that is never left.
    displacement
        Mean squared displacement, one row per run.
    diffusion
        Fitted to it; None where runs are too short for the window.
    speed
        Mean distance covered in one second, per run, in units of length per second.
    event_rates
        Reversals, ventral and dorsal turns per minute, per run; NaN for animals without a body wave.
    spectrum
        Of the bearing, averaged over runs.
    body_length
        In the unit of the path.
    postures, path
        Of the first runs.
    """

    name: str
    displacement: Displacement
    diffusion: Diffusion | None
    speed: FloatArray = array_field("run")
    event_rates: FloatArray = array_field("run", "event", unit="1/min")
    spectrum: BearingSpectrum
    body_length: float
    postures: Series
    path: AnimalPath

    def __post_init__(self) -> None:
        freeze_arrays(self)


def animal_model(study: Study, individual: int | None = None, *, start: Start = "first") -> MarkovAnimal:
    """Give the Markov animal of one individual, or of all together.

    Parameters
    ----------
    study
        Of the individuals.
    individual
        Its index; None for the ensemble of all.
    start
        Where walks begin; see `MarkovAnimal.from_symbols`.
    """
    symbols = study.symbols if individual is None else study.symbols.of(individual)
    name = "all" if individual is None else study.symbols.segments.individuals[individual]
    return MarkovAnimal.from_symbols(
        name, symbols, study.postures, study.settings.n_delays, study.chain.lag, start=start
    )


def state_model(study: Study, level: int, state: int, *, start: Start = "first") -> MarkovAnimal:
    """Give the Markov animal that never leaves a state, learned from all individuals."""
    members = np.asarray(study.tree.states_at(level) == state)
    name, whole = state_names(study, level)[state], animal_model(study)
    try:
        return whole.confined(name, members, study.symbols, start=start)
    except ConnectivityError as error:
        raise ConnectivityError(
            f"{name!r} cannot be simulated alone: {error} Use a coarser level, or more microstates."
        ) from error


def run_measures(rate: float, duration: float, *, is_worm: bool) -> dict[str, Measure]:
    """List what is measured on every run."""
    lags = displacement_lags(rate, duration)
    measures: dict[str, Measure] = {
        "msd": lambda _, path: msd(path, lags, over="runs").msd[0],
        "speed": lambda _, path: np.asarray(np.nanmean(path.speed())),
        "bearing": lambda _, path: bearing_spectrum(path, segment=spectrum_segment(duration)).power[0],
    }
    if is_worm:
        measures["events"] = lambda postures, _: find_events(postures).rates()[0]
    return measures


def displacement_lags(rate: float, duration: float) -> FloatArray:
    """List lags in seconds, log-spaced from one second to a quarter of a run."""
    longest = max(duration / 4, 2 / rate)
    frames = np.geomspace(max(1.0, min(SHORTEST_LAG, longest / 2) * rate), longest * rate, N_LAGS)
    return np.unique(np.rint(frames).astype(int)) / rate


def spectrum_segment(duration: float) -> float:
    """Seconds of a segment of the bearing's spectrum: ten minutes as published, or a third of a shorter run."""
    return min(600.0, duration / 3)


def simulate_runs(
    study: Study,
    animal: MarkovAnimal,
    rule: CrawlRule,
    *,
    seed: int = 0,
    threads: int = 1,
    progress: Progress | None = None,
) -> Runs:
    """Simulate an ensemble and summarise it.

    Parameters
    ----------
    study
        To which the animal belongs.
    animal
        As from `animal_model` or `state_model`.
    rule
        How many runs, how long, and how they move.
    seed
        Of the runs.
    threads
        Cores to use; the result does not depend on it.
    progress
        Called after every block of runs.
    """
    rate = study.postures.sampling.rate
    measures = run_measures(rate, rule.duration, is_worm=study.is_worm)
    # By what the animal is made of, not by its name: a new name must not make other runs.
    rng = generator(seed, "runs", int(animal.chain.states.sum()), int(animal.repertoire.rows[0]))
    runs = crawl(animal, body_basis(study), rule, rng=rng, threads=threads)
    found = gather(runs, measures, threads=threads, n_runs=rule.n_runs, progress=progress)
    return _summarise(animal.name, found.values, found.postures, found.path, rule)


def _summarise(
    name: str, values: Mapping[str, FloatArray], postures: Series, path: AnimalPath, rule: CrawlRule
) -> Runs:
    n_runs = len(values["msd"])
    lags = displacement_lags(path.sampling.rate, rule.duration)
    n_frames = round(rule.duration * path.sampling.rate)
    far = Displacement(
        lags=lags,
        msd=values["msd"],
        n_pairs=np.broadcast_to(n_frames - np.rint(lags * path.sampling.rate).astype(int), values["msd"].shape),
        names=tuple(str(k) for k in range(n_runs)),
        over="runs",
        length_unit=rule.length_unit,
    )
    return Runs(
        name=name,
        displacement=far,
        diffusion=fitted_diffusion(far),
        speed=values["speed"],
        event_rates=values.get("events", np.full((n_runs, 3), np.nan)),
        spectrum=BearingSpectrum(
            frequency=bearing_spectrum(path.of(0), segment=spectrum_segment(rule.duration)).frequency,
            power=values["bearing"].mean(axis=0, keepdims=True),
            n_segments=np.array([n_runs]),
            individuals=(name,),
        ),
        body_length=rule.body_length,
        postures=postures,
        path=path,
    )


def fitted_diffusion(displacement: Displacement) -> Diffusion | None:
    """Fit the diffusion coefficient in the published window; None where too few lags lie in it."""
    inside = (displacement.lags >= FIT_WINDOW[0]) & (displacement.lags <= FIT_WINDOW[1])
    return diffusion(displacement, FIT_WINDOW) if inside.sum() >= 3 else None


def measured_displacement(study: Study, duration: float) -> Displacement | None:
    """Measure how far the recorded animals got, at the lags of simulated runs of a duration."""
    path = measured_path(study)
    if path is None:
        return None
    return msd(path, displacement_lags(path.sampling.rate, duration), across_gaps=True)
