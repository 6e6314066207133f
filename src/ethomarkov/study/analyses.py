"""What can be asked of a study beyond its own stages; to add an analysis, add a function and its name in the list.

Parameters before the star are results that the analysis needs, those after it are its settings with their defaults; see
`ethomarkov.study.stage`. Everything here is kept in the study's directory, and taken from there when it is asked again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from ethomarkov._core.result import Result
from ethomarkov._core.series import Series
from ethomarkov._core.types import Progress
from ethomarkov.coarse.dwell_laws import ExponentialSum, LawChoice, paper_biexponential
from ethomarkov.coarse.kinetics import find_dwells
from ethomarkov.coarse.smoothing import SmoothStates, smooth_states
from ethomarkov.foraging.coverage import SweepSettings
from ethomarkov.foraging.states import ForageSettings, Foraging, forage_states
from ethomarkov.locomotion.drag import DragSettings
from ethomarkov.locomotion.resistive import Scheme
from ethomarkov.markov import MarkovChain, Spectrum, slow_spectrum
from ethomarkov.markov.entropy_scan import ScanSettings, quick_grid, scan_entropy
from ethomarkov.markov.lag_scan import LagScan, lag_grid, scan_lags
from ethomarkov.markov.noise_floor import NoiseFloor, Shuffles, noise_floor
from ethomarkov.markov.selection import EntropyTable
from ethomarkov.model.application import Application, apply_model
from ethomarkov.model.behaviour import MACRO, BehaviourModel
from ethomarkov.model.kinetics import Kinetics, dwell_laws, state_kinetics
from ethomarkov.model.paths import Reconstruction, reconstruct_paths
from ethomarkov.model.stability import SeedStability, stability_over_seeds
from ethomarkov.selection import ModelChoice, choose_model
from ethomarkov.simulation.animal import Start
from ethomarkov.simulation.postures import UnfoldMethod
from ethomarkov.states import DelayEmbedding, Microstates, Symbols
from ethomarkov.states.projection import Method, SequenceMap, map_sequences
from ethomarkov.study.circulation import circulation
from ethomarkov.study.source import MemorySource
from ethomarkov.study.stage import Size, Stage, stage
from ethomarkov.study.stages import growth_settings
from ethomarkov.synthetic.worm import WormTruth
from ethomarkov.validation.ensembles import (
    AnimalRunSet,
    RunSet,
    RunSettings,
    observe_animals,
    run_animals,
    run_states,
)
from ethomarkov.validation.known_truth import KnownTruth, compare_with_truth
from ethomarkov.validation.splits import CrossValidation
from ethomarkov.validation.validate import (
    Predictions,
    Validation,
    assemble_validation,
    cross_validate_model,
    predict,
)

SLOWEST_TIMES = 4.0
"""Longest lag of the table of relaxation times, in slowest times."""


# --- choice and timescales -------------------------------------------------------------------------------------------


@stage(role="analysis", seconds=lambda size: (2.0 + 3e-4 * size.n_frames) / min(size.threads, 8))
def free_choice(postures: Series, *, seed: int, threads: int, progress: Progress | None) -> ModelChoice:
    """Choose sequence length, number of microstates and lag from the data alone, whatever the study uses."""
    return choose_model(postures, seed=seed, threads=threads, progress=progress)


@stage(role="analysis", seconds=lambda size: 9e-4 * size.n_frames / size.threads)
def entropy_scan(
    postures: Series,
    *,
    entropy_grid: Literal["small", "full"] = "small",
    seed: int,
    threads: int,
    progress: Progress | None,
) -> EntropyTable:
    """Measure the published entropy rates, over a small grid or the whole published one."""
    grid = ScanSettings(seed=seed) if entropy_grid == "full" else quick_grid(postures, seed)
    return scan_entropy(postures, grid, threads=threads, progress=progress)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timescales(Result):
    """Relaxation times above noise.

    Parameters
    ----------
    lag_scan
        Against the lag, of every animal.
    noise_floor
        Of shuffled microstates at the lag of the chain.
    spectrum
        Of the chain.
    """

    lag_scan: LagScan
    noise_floor: NoiseFloor
    spectrum: Spectrum


def _shuffle_seconds(size: Size) -> float:
    chains = int(size.settings["n_lags"]) * size.n_animals + int(size.settings["n_shuffles"])
    return 2e-4 * chains * int(size.settings["n_states"]) / size.threads


@stage(role="analysis", seconds=_shuffle_seconds)
def relaxation_times(
    chain: MarkovChain,
    symbols: Symbols,
    *,
    n_shuffles: int = 100,
    n_lags: int = 30,
    n_slow: int = 30,
    seed: int,
    threads: int,
    progress: Progress | None,
) -> Timescales:
    """Measure relaxation times against the lag, up to four times the slowest, and above a noise floor."""
    spectrum = slow_spectrum(chain, n_slow)
    longest = max(SLOWEST_TIMES * float(spectrum.relaxation_times[0]), 2 * chain.lag)
    scanned = scan_lags(symbols, lag_grid(symbols, longest, n_lags), threads=threads, progress=progress)
    how = Shuffles(n=n_shuffles, seed=seed)
    floor = noise_floor(symbols, chain.lag, shuffles=how, threads=threads, progress=progress)
    return Timescales(lag_scan=scanned, noise_floor=floor, spectrum=spectrum)


def _map_seconds(size: Size) -> float:
    return 6e-4 * size.n_frames if size.settings.get("method") == "umap" else 2e-6 * size.n_frames


@stage(role="analysis", seconds=_map_seconds)
def sequence_map(
    postures: Series,
    microstates: Microstates,
    *,
    n_delays: int,
    method: Method = "umap",
    seed: int,
    progress: Progress | None,
) -> SequenceMap:
    """Place posture sequences and microstates on a map of two dimensions."""
    sequences = DelayEmbedding(n_delays).transform(postures)
    return map_sequences(sequences, microstates, method=method, seed=seed, progress=progress)


# --- states ----------------------------------------------------------------------------------------------------------


@stage(role="analysis", seconds=lambda size: 2e-5 * size.n_frames)
def kinetics(model: BehaviourModel, *, level: int = MACRO) -> Kinetics:
    """Measure dwell times, rates and transitions of the states of a level."""
    return state_kinetics(model, level)


@dataclass(frozen=True, slots=True, kw_only=True)
class DwellLaws(Result):
    """Laws of the dwell times of the two macrostates.

    Parameters
    ----------
    laws
        Held-out comparison of laws, by name of the state; states that were visited rarely have none.
    """

    laws: Mapping[str, LawChoice]


@stage(role="analysis", seconds=lambda size: 1e-5 * size.n_frames)
def dwell_law(macro_model: BehaviourModel, *, seed: int) -> DwellLaws:
    """Compare laws of the dwell times of the two macrostates on what was held out."""
    return DwellLaws(laws=dwell_laws(state_kinetics(macro_model, MACRO), seed))


@stage(role="analysis", seconds=lambda size: 1e-5 * size.n_frames)
def published_dwell_law(
    macro_model: BehaviourModel, *, shortest_dwell: float = 0.75, n_dwell_resamples: int = 50, seed: int
) -> ExponentialSum:
    """Fit two exponentials to all dwell times of the two macrostates, as published."""
    dwells = find_dwells(macro_model.states(MACRO))
    return paper_biexponential(dwells, shortest=shortest_dwell, n_resamples=n_dwell_resamples, rng=seed)


@stage(role="analysis", seconds=lambda size: 1e-5 * size.n_frames)
def smoothed_states(model: BehaviourModel, *, level: int) -> SmoothStates:
    """Smooth the states of every frame in time by a hidden Markov model; for labels, not for rates."""
    return smooth_states(model.symbols, model.tree.states_at(level), model.chain.lag)


@stage(role="analysis", seconds=lambda size: 1.2e-5 * size.n_frames * int(size.settings["n_seeds"]))
def seed_stability(
    model: BehaviourModel,
    *,
    n_seeds: int = 1,
    partition: Literal["lloyd", "minibatch"],
    cut: str,
    min_measure: float,
    seed: int,
    threads: int,
    progress: Progress | None,
) -> SeedStability:
    """Measure how well the states are found again with microstates from other seeds."""
    growth = replace(growth_settings(cut, None, min_measure, 0, seed), n_states=model.finest, n_resamples=0)
    seeds = range(seed + 1, seed + 1 + n_seeds)
    return stability_over_seeds(model, growth, seeds, partition=partition, threads=threads, progress=progress)


# --- simulated animals -----------------------------------------------------------------------------------------------


def _run_seconds(size: Size) -> float:
    frames = size.settings["minutes"] * 60 * 16 * size.n_animals
    return float(1e-6 * frames * size.settings["n_runs"] / size.threads)


@stage(role="analysis", seconds=_run_seconds)
def runs(
    macro_model: BehaviourModel,
    *,
    n_runs: int = 1000,
    minutes: float = 35.0,
    animal: str = "each",
    run_unfolding: UnfoldMethod | None = None,
    ring: float | None = None,
    seed: int,
    threads: int,
    progress: Progress | None,
) -> RunSet:
    """Simulate runs of the animals, and measure how far they get."""
    how = RunSettings(n_runs=n_runs, seconds=60 * minutes, unfolding=run_unfolding, ring=ring, seed=seed)
    return run_animals(macro_model, animal, how, threads=threads, progress=progress)


@stage(role="analysis", seconds=_run_seconds)
def state_runs(
    model: BehaviourModel,
    *,
    level: int,
    state: str = "each",
    start: Start = "first",
    n_runs: int = 1000,
    minutes: float = 35.0,
    run_unfolding: UnfoldMethod | None = None,
    ring: float | None = None,
    seed: int,
    threads: int,
    progress: Progress | None,
) -> RunSet:
    """Simulate runs of animals that never leave a state, and measure how far they get."""
    how = RunSettings(n_runs=n_runs, seconds=60 * minutes, unfolding=run_unfolding, ring=ring, seed=seed)
    return run_states(model, level, state, how, start=start, threads=threads, progress=progress)


@stage(role="analysis", seconds=lambda size: 3e-5 * size.n_frames)
def reconstruction(
    macro_model: BehaviourModel,
    *,
    window: float = 100.0,
    n_windows: int | None = None,
    drag_scheme: Scheme = "midpoint",
    seed: int,
    threads: int,
) -> Reconstruction:
    """Compute the paths of recorded animals from their postures, beside the measured ones, and fit the drag ratio."""
    search = DragSettings(window=window, n_windows=n_windows, scheme=drag_scheme)
    return reconstruct_paths(macro_model, search, rng=seed, threads=threads)


@stage(role="analysis", seconds=lambda size: 5e-6 * 7 * 1600 * size.settings["n_runs"] / size.threads)
def foraging(
    model: BehaviourModel,
    *,
    level: int,
    n_runs: int = 1000,
    seconds: float = 100.0,
    width: float = 0.05,
    raster: bool = False,
    seed: int,
    threads: int,
    progress: Progress | None,
) -> Foraging:
    """Let animals forage that never leave a state, and compare the states."""
    sweep = SweepSettings(width=width, method="paper" if raster else "capsule")
    how = ForageSettings(n_runs=n_runs, seconds=seconds, sweep=sweep, seed=seed)
    return forage_states(model, level, how, threads=threads, progress=progress)


# --- validation ------------------------------------------------------------------------------------------------------


@stage(role="analysis", seconds=lambda size: 1e-6 * size.n_frames * size.settings["n_runs"] / size.threads)
def animal_runs(
    macro_model: BehaviourModel, *, n_runs: int = 200, seed: int, threads: int, progress: Progress | None
) -> AnimalRunSet:
    """Set every animal beside runs of its own model."""
    return observe_animals(macro_model, n_runs, seed=seed, threads=threads, progress=progress)


@stage(role="analysis", seconds=lambda size: (5.0 + 2e-5 * size.n_frames) * size.n_animals / size.threads)
def predictions(
    macro_model: BehaviourModel,
    *,
    min_measure: float,
    entry_walks: int = 200,
    seed: int,
    threads: int,
    progress: Progress | None,
) -> Predictions:
    """Measure how far ahead the model predicts, in what it has learned from and in what it has not."""
    return predict(
        macro_model, min_measure=min_measure, n_walks=entry_walks, seed=seed, threads=threads, progress=progress
    )


@stage(role="analysis", seconds=lambda size: 4e-5 * size.n_frames * size.settings["n_held_out"] / size.threads)
def held_out_splits(
    macro_model: BehaviourModel,
    *,
    n_held_out: int = 0,
    min_measure: float,
    seed: int,
    threads: int,
    progress: Progress | None,
) -> CrossValidation | None:
    """Cross-validate in blocks, learning all states anew from what is not held out."""
    if not n_held_out:
        return None
    return cross_validate_model(
        macro_model, n_held_out, min_measure=min_measure, seed=seed, threads=threads, progress=progress
    )


@stage(role="analysis", seconds=lambda size: 1.5e-5 * size.n_frames * size.settings["n_repeats"] / size.threads)
def published_splits(
    macro_model: BehaviourModel,
    *,
    n_repeats: int = 0,
    min_measure: float,
    seed: int,
    threads: int,
    progress: Progress | None,
) -> CrossValidation | None:
    """Cross-validate in blocks as published: states come from all data, those held out too."""
    if not n_repeats:
        return None
    return cross_validate_model(
        macro_model,
        n_repeats,
        min_measure=min_measure,
        as_published=True,
        seed=seed,
        threads=threads,
        progress=progress,
    )


@stage(role="analysis", is_kept=False)
def validation(
    macro_model: BehaviourModel,
    animal_runs: AnimalRunSet,
    predictions: Predictions,
    held_out_splits: CrossValidation | None,
    published_splits: CrossValidation | None,
) -> Validation:
    """Put the parts of a validation together and draw its conclusions."""
    both = {"held-out": held_out_splits, "as published": published_splits}
    splits = {name: one for name, one in both.items() if one is not None}
    return assemble_validation(macro_model, [one.check for one in animal_runs.animals], predictions, splits)


@stage(role="analysis", seconds=lambda size: 2e-5 * size.n_frames)
def known_truth(
    model: BehaviourModel, spectrum: Spectrum, reconstruction: Reconstruction, truth: WormTruth
) -> KnownTruth:
    """Set what the model of synthetic worms says beside the truth that is hidden in them."""
    drag = reconstruction.drag
    return compare_with_truth(model, truth, spectrum, None if drag is None else drag.median)


@stage(role="analysis", seconds=lambda size: 2e-6 * size.n_frames)
def application(model: BehaviourModel, applied: MemorySource, *, threads: int) -> Application:
    """Label new recordings with the model's microstates, and tell whether it covers them."""
    return apply_model(model, applied.recording, threads=threads)


ANALYSES: tuple[Stage, ...] = (
    free_choice,
    entropy_scan,
    relaxation_times,
    sequence_map,
    kinetics,
    dwell_law,
    published_dwell_law,
    smoothed_states,
    circulation,
    seed_stability,
    runs,
    state_runs,
    reconstruction,
    foraging,
    animal_runs,
    predictions,
    held_out_splits,
    published_splits,
    validation,
    application,
    known_truth,
)
