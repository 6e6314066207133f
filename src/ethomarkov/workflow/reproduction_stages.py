"""The stages by which the paper is reproduced, after those of the study itself."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from ethomarkov._core.parallel import map_tasks
from ethomarkov._core.result import array_field, freeze_arrays
from ethomarkov._core.series import Series
from ethomarkov._core.types import FloatArray
from ethomarkov.exceptions import EthomarkovError
from ethomarkov.foraging.coverage import SweepRule
from ethomarkov.foraging.food import FoodCurve, Matching, StateCoverage
from ethomarkov.locomotion.ensemble import CrawlRule
from ethomarkov.markov import MarkovChain, Spectrum, entropy_rate
from ethomarkov.markov.entropy_scan import ScanGrid, scan_entropy
from ethomarkov.markov.lag_scan import LagScan, lag_grid, scan_lags
from ethomarkov.markov.noise_floor import NoiseFloor, Shuffles, noise_floor, noise_floors
from ethomarkov.markov.selection import EntropyTable
from ethomarkov.markov.spectrum import relaxation_time, slow_spectrum
from ethomarkov.paper.published import ENTROPY_RATES, GAINS
from ethomarkov.states import DelayEmbedding, Partition, Symbols
from ethomarkov.workflow.checks import AnimalRuns, observe_animal
from ethomarkov.workflow.config import CompleteSettings, Settings
from ethomarkov.workflow.engine import Size, Stage, Work
from ethomarkov.workflow.findings import Evidence, FindingTable
from ethomarkov.workflow.forage import ForageRule, forage_study
from ethomarkov.workflow.kept_splits import KeptSplits
from ethomarkov.workflow.paths import Reconstruction, body_lengths, measured_path, reconstruct_paths
from ethomarkov.workflow.runs import Runs, has_body, simulate_runs, state_model, whole_steps
from ethomarkov.workflow.stages import STAGES
from ethomarkov.workflow.study import Study
from ethomarkov.workflow.study_findings import kinetic_findings
from ethomarkov.workflow.validate import (
    Predictions,
    animal_models,
    cross_validate_study,
    predict_study,
)

MODEL = ("postures", "basis", "measured", "symbols", "chain", "tree", "traits")
"""Results of the study that runs depend on."""
N_SEEDS = 3
LONGEST_LAG, N_LAGS, N_MODES, N_SLOW, N_DISTINCT = 10.0, 30, 10, 30, 20
CONFINED_SECONDS = 525.0


class ReproduceSettings(BaseModel):
    """How much is computed; the defaults are as published.

    Parameters
    ----------
    n_runs
        Simulated runs of every worm, and of every state.
    n_shuffles
        Shuffled sequences behind every noise floor.
    n_repeats
        Repeats of cross-validation as published, whose states are those of all data; 0 for none.
    n_honest
        Repeats of an honest one, which learns all states anew.
    small_scan
        Scan only the sequence lengths and numbers of microstates that published figures need.
    seed
        Of all random choices.
    study
        Settings of the study.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    n_runs: Annotated[int, Field(ge=2)] = 1000
    n_shuffles: Annotated[int, Field(ge=1)] = 100
    n_repeats: Annotated[int, Field(ge=0)] = 50
    n_honest: Annotated[int, Field(ge=0)] = 5
    small_scan: bool = False
    seed: Annotated[int, Field(ge=0)] = 0
    study: Settings = Field(default_factory=Settings.paper)


# --- what stages give ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """Why something could not be computed."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SeededEntropy:
    """Entropy rates of the paper's worms at the published K and N, from partitions with several seeds.

    Parameters
    ----------
    rates
        Nat per second.
    worms
        Numbers in the paper.
    """

    rates: FloatArray = array_field("worm", "seed", unit="nat/s")
    worms: tuple[int, ...]

    def __post_init__(self) -> None:
        freeze_arrays(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Relaxation:
    """Relaxation times of every animal's own chain, and of its shuffled symbols; NaN where it has no chain.

    Parameters
    ----------
    chain_times
        Of P, complex pairs counted once, as in the published figure.
    floor_of_chain, floor_of_reversible
        What shuffled symbols reach, for P and for P_r.
    """

    chain_times: FloatArray = array_field("individual", "mode", unit="s")
    floor_of_chain: FloatArray = array_field("individual", unit="s")
    floor_of_reversible: FloatArray = array_field("individual", unit="s")

    def __post_init__(self) -> None:
        freeze_arrays(self)


# --- how they are computed -------------------------------------------------------------------------------------------


def scan_grid(settings: ReproduceSettings) -> ScanGrid:
    """Give the grid of the scan, with all cells that were published."""
    n_delays = {k for k, _ in ENTROPY_RATES} | {k + step for k in GAINS for step in (0, 1)}
    n_states = {n for _, n in ENTROPY_RATES}
    if not settings.small_scan:
        n_delays, n_states = n_delays | set(ScanGrid().n_delays), n_states | set(ScanGrid().n_states)
    return ScanGrid(n_delays=tuple(sorted(n_delays)), n_states=tuple(sorted(n_states)), seed=settings.seed)


def _study(work: Work) -> Study:
    """Put the study together from the results of its stages."""
    settings = CompleteSettings.model_validate(work.settings.study.model_dump())
    return Study(settings=settings, **{name: work.results[name] for stage in STAGES for name in stage.gives})


def _scan(work: Work) -> Mapping[str, Any]:
    postures: Series = work.results["postures"]
    table = scan_entropy(postures, scan_grid(work.settings), threads=work.threads, progress=work.progress)
    named = [(i, worm) for i, worm in enumerate(work.results["worms"]) if worm >= 0]
    rates = map_tasks(
        lambda task: _seeded_rate(postures.of(task[0]), task[1]),
        [(i, work.settings.seed + k) for i, _ in named for k in range(N_SEEDS)],
        threads=work.threads,
    )
    worms = tuple(worm for _, worm in named)
    seeded = SeededEntropy(rates=np.array(rates).reshape(-1, N_SEEDS), worms=worms) if worms else None
    return {"entropy_scan": table, "seeded_entropy": seeded}


def _seeded_rate(postures: Series, seed: int) -> float:
    """Measure the entropy rate of one worm at the published K and N."""
    sequences = DelayEmbedding(11).transform(postures)
    symbols = Partition(1000, seed=seed).fit(sequences).label(sequences)
    return entropy_rate(MarkovChain.from_symbols(symbols, postures.sampling.interval))


def _relaxation(work: Work) -> Mapping[str, Any]:
    symbols, chain = work.results["symbols"], work.results["chain"]
    lags = np.union1d(lag_grid(symbols, LONGEST_LAG, N_LAGS), [chain.lag])
    n_animals, how = symbols.segments.n_individuals, Shuffles(n=work.settings.n_shuffles, seed=work.settings.seed)
    published = Shuffles(n=how.n, recipe="resample", seed=how.seed)

    def floor_times(animal: int) -> list[float]:
        try:
            floors = noise_floors(symbols.of(animal), chain.lag, ("chain", "reversibilized"), shuffles=published)
        except EthomarkovError:  # too short for the lag
            return [float("nan")] * 2
        return [floor.time() for floor in floors]

    floors = map_tasks(floor_times, range(n_animals), threads=work.threads, progress=work.progress, what="noise floors")
    times = map_tasks(
        lambda i: _distinct_times(symbols.of(i), chain.lag),
        range(n_animals),
        threads=work.threads,
        progress=work.progress,
    )
    return {
        "worm_lag_scan": scan_lags(symbols, lags, n_modes=N_MODES, threads=work.threads, progress=work.progress),
        "relaxation": Relaxation(
            chain_times=np.array(times),
            floor_of_chain=np.array([of_chain for of_chain, _ in floors]),
            floor_of_reversible=np.array([of_reversible for _, of_reversible in floors]),
        ),
        "pooled_floor": noise_floor(symbols, chain.lag, shuffles=how, threads=work.threads, progress=work.progress),
        "long_spectrum": slow_spectrum(chain, N_SLOW),
    }


def _distinct_times(symbols: Symbols, lag: float) -> FloatArray:
    """Relaxation times of P, complex pairs counted once."""
    times = np.full(N_DISTINCT, np.nan)
    try:
        chain = MarkovChain.from_symbols(symbols, lag)
    except EthomarkovError:  # too short for the lag
        return times
    real = np.unique(slow_spectrum(chain, 45).eigenvalues.real.round(9))[::-1][: times.size]
    times[: real.size] = [relaxation_time(float(value), chain.lag) for value in real]
    return times


def _kinetics(work: Work) -> Mapping[str, Any]:
    evidence = Evidence(study=_study(work), worms=work.results["worms"], seed=work.settings.seed, results={})
    found, reasons = kinetic_findings(evidence)
    trouble = Trouble(reason=reasons) if reasons else None
    return {"kinetics": FindingTable.from_findings(found), "kinetics_trouble": trouble}


def _animal_runs(work: Work) -> Mapping[str, Any]:
    study, n_runs, seed = _study(work), work.settings.n_runs, work.settings.seed
    n_animals = study.symbols.segments.n_individuals
    is_measured = has_body(study) and measured_path(study) is not None
    lengths = body_lengths(study)[0] if is_measured else np.full(n_animals, np.nan)
    inside = work.threads if n_animals == 1 else 1

    def observe(individual: int) -> AnimalRuns | Trouble:
        try:
            return observe_animal(study, individual, n_runs, lengths=lengths, seed=seed, threads=inside)
        except EthomarkovError as error:  # too short for the lag, or nothing is visited twice
            return Trouble(reason=str(error))

    found = map_tasks(observe, range(n_animals), threads=work.threads, progress=work.progress, what="animals")
    return _by_name("animal", found)


def _state_runs(work: Work) -> Mapping[str, Any]:
    # Tasks must not hold the work itself: they may be sent to other computers, and its progress cannot.
    study, seed = _study(work), work.settings.seed
    how = CrawlRule(
        duration=whole_steps(study, CONFINED_SECONDS),
        n_runs=work.settings.n_runs,
        drag_ratio=study.settings.drag_ratio,
        scheme=study.settings.scheme,
        method=study.settings.unfolding,
    )

    def confine(state: int) -> Runs | Trouble:
        try:
            animal = state_model(study, study.finest, state, start="stationary")
            return simulate_runs(study, animal, how, seed=seed)
        except EthomarkovError as error:  # a state of a single microstate has nowhere to go
            return Trouble(reason=str(error))

    found = map_tasks(confine, range(study.finest), threads=work.threads, progress=work.progress, what="states")
    return _by_name("state", found)


def _by_name(kind: str, found: list[Any]) -> Mapping[str, Any]:
    """Name answers by their number; what could not be had is None, and the first reason is told."""
    reasons = [one for one in found if isinstance(one, Trouble)]
    answers = {f"{kind}_{k}": None if isinstance(one, Trouble) else one for k, one in enumerate(found)}
    return answers | {f"{kind}_runs_trouble": reasons[0] if reasons else None}


def _foraging(work: Work) -> Mapping[str, Any]:
    study = _study(work)
    how = ForageRule(n_runs=work.settings.n_runs, sweep=SweepRule(method="paper"), seed=work.settings.seed)
    found = forage_study(study, study.finest, how, threads=work.threads, progress=work.progress)
    return {"coverage": found.coverage, "food_curve": found.curve, "matching": found.matching}


def _predictions(work: Work) -> Mapping[str, Any]:
    study = _study(work)
    found = predict_study(
        study, animal_models(study), seed=work.settings.seed, threads=work.threads, progress=work.progress
    )
    return {"predictions": found}


def _reconstruction(work: Work) -> Mapping[str, Any]:
    return {"reconstruction": reconstruct_paths(_study(work), threads=work.threads)}


def _splits(kind: str, setting: str) -> Callable[[Work], Mapping[str, Any]]:
    def split(work: Work) -> Mapping[str, Any]:
        n_repeats = getattr(work.settings, setting)
        if n_repeats == 0:
            return {f"{kind}_splits": None}
        found = cross_validate_study(
            _study(work),
            n_repeats,
            leaky=kind == "leaky",
            seed=work.settings.seed,
            threads=work.threads,
            progress=work.progress,
        )
        return {f"{kind}_splits": KeptSplits.from_cross_validation(found)}

    return split


# --- the stages ------------------------------------------------------------------------------------------------------


def reproduction_stages(n_animals: int, n_states: int) -> tuple[Stage, ...]:
    """List the stages of the reproduction, for a number of animals and of states at the finest level."""
    animals: dict[str, type] = {f"animal_{k}": AnimalRuns for k in range(n_animals)}
    states: dict[str, type] = {f"state_{k}": Runs for k in range(n_states)}
    food: dict[str, type] = {"coverage": StateCoverage, "food_curve": FoodCurve, "matching": Matching}
    times: dict[str, type] = {
        "worm_lag_scan": LagScan,
        "relaxation": Relaxation,
        "pooled_floor": NoiseFloor,
        "long_spectrum": Spectrum,
    }
    scans: dict[str, type] = {"entropy_scan": EntropyTable, "seeded_entropy": SeededEntropy}
    return (
        _stage("entropy_scan", ("postures", "worms"), ("small_scan",), scans, _scan),
        _stage("relaxation", ("symbols", "chain"), ("n_shuffles",), times, _relaxation),
        replace(
            _stage("kinetics", (*MODEL, "cut", "worms"), ("study",), {"kinetics": FindingTable}, _kinetics), version=2
        ),
        _stage("animal_runs", MODEL, ("study", "n_runs"), animals, _animal_runs),
        _stage("state_runs", MODEL, ("study", "n_runs"), states, _state_runs),
        _stage("foraging", MODEL, ("study", "n_runs"), food, _foraging),
        _stage("predictions", MODEL, ("study",), {"predictions": Predictions}, _predictions),
        _stage("reconstruction", MODEL, ("study",), {"reconstruction": Reconstruction}, _reconstruction),
        _stage(
            "leaky_splits", MODEL, ("study", "n_repeats"), {"leaky_splits": KeptSplits}, _splits("leaky", "n_repeats")
        ),
        _stage(
            "honest_splits", MODEL, ("study", "n_honest"), {"honest_splits": KeptSplits}, _splits("honest", "n_honest")
        ),
    )


def _stage(
    name: str,
    needs: tuple[str, ...],
    settings: tuple[str, ...],
    gives: Mapping[str, type],
    compute: Callable[[Work], Mapping[str, Any]],
) -> Stage:
    """Make a stage that tells its trouble instead of failing: one figure that cannot be had must not cost all."""
    trouble = f"{name}_trouble"

    def attempt(work: Work) -> Mapping[str, Any]:
        try:
            return {trouble: None} | dict(compute(work))
        except EthomarkovError as error:
            return dict.fromkeys(gives) | {trouble: Trouble(reason=str(error))}

    return Stage(
        name=name,
        needs=needs,
        settings=(*settings, "seed"),
        gives={**gives, trouble: Trouble},
        compute=attempt,
        seconds=SECONDS[name],
    )


def _run_seconds(size: Size) -> float:
    return 1e-6 * size.n_frames * float(size.settings.n_runs) / size.threads


# Processor seconds of one server of 2024 by what they grow with; only their ratios matter.
SECONDS: Mapping[str, Callable[[Size], float]] = {
    "entropy_scan": lambda size: (1.5e-4 if size.settings.small_scan else 9e-4) * size.n_frames / size.threads,
    "relaxation": lambda size: 0.06 * size.n_animals * (10 + size.settings.n_shuffles) / size.threads,
    "kinetics": lambda size: 2e-5 * size.n_frames,
    "animal_runs": _run_seconds,
    "state_runs": lambda size: 1.5e-6 * 7 * CONFINED_SECONDS * 16 * size.settings.n_runs / size.threads,
    "foraging": lambda size: 5e-6 * 7 * 1600 * size.settings.n_runs / size.threads,
    "predictions": lambda size: (5.0 + 2e-5 * size.n_frames) * size.n_animals / size.threads,
    "reconstruction": lambda size: 3e-5 * size.n_frames,
    "leaky_splits": lambda size: 1.5e-5 * size.n_frames * size.settings.n_repeats / size.threads,
    "honest_splits": lambda size: 4e-5 * size.n_frames * size.settings.n_honest / size.threads,
}
