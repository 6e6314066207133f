"""Analyses of a study beyond its own stages; to add an analysis, add a function and its name in the list.

Parameters before the star are results that the analysis needs, those after it are its settings with their defaults; see
`ethomarkov.study.stage`. Results are cached in the study's directory, and taken from there when they are asked again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from ethomarkov._core.result import Result
from ethomarkov._core.series import Series
from ethomarkov._core.showing import frame_of
from ethomarkov._core.types import Progress
from ethomarkov.coarse.dwell_laws import ExponentialSum, LawChoice, paper_biexponential
from ethomarkov.coarse.kinetics import find_dwells
from ethomarkov.coarse.smoothing import SmoothStates, smooth_states
from ethomarkov.foraging.coverage import SweepSettings
from ethomarkov.foraging.states import ForageSettings, Foraging, forage_states
from ethomarkov.locomotion.drag import DragSettings
from ethomarkov.locomotion.resistive import Scheme
from ethomarkov.markov import MarkovChain, Spectrum, slow_spectrum
from ethomarkov.markov.entropy_scan import ScanSettings, quick_scan_settings, scan_entropy
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
from ethomarkov.study.defaults import (
    BODY_WIDTH,
    DRAG_WINDOW,
    ENTRY_WALKS,
    FORAGING_RUNS,
    FORAGING_SECONDS,
    MOST_RUNS,
    N_SHUFFLES,
    RUN_MINUTES,
    VALIDATION_RUNS,
)
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

if TYPE_CHECKING:
    import pandas as pd

FRAME_RATE = 16.0
"""About, for estimates of time; a recording's own rate matters little for these."""
SLOWEST_TIMES = 4.0
"""Longest lag at which relaxation times are measured, in units of the slowest relaxation time."""


# --- choice and timescales -------------------------------------------------------------------------------------------


@stage(role="analysis", seconds=lambda size: (8.0 + 1.1e-4 * size.n_frames) / min(size.threads, 8))
def free_choice(postures: Series, *, seed: int, threads: int, progress: Progress | None) -> ModelChoice:
    """Choose sequence length, number of microstates and lag from the data alone, whatever the study uses.

    Parameters
    ----------
    seed
        Random seed; that of the study by default.
    """
    return choose_model(postures, seed=seed, threads=threads, progress=progress)


def _entropy_seconds(size: Size) -> float:
    return (9e-4 if size.settings["entropy_grid"] == "full" else 1e-4) * size.n_frames / size.threads


@stage(role="analysis", seconds=_entropy_seconds)
def entropy_scan(
    postures: Series,
    *,
    entropy_grid: Literal["small", "full"] = "small",
    seed: int,
    threads: int,
    progress: Progress | None,
) -> EntropyTable:
    """Measure entropy rates over sequence lengths and numbers of microstates, as published.

    Parameters
    ----------
    entropy_grid
        "small" for a few sequence lengths and numbers of microstates, "full" for all that were published.
    seed
        Random seed; that of the study by default.
    """
    settings = ScanSettings(seed=seed) if entropy_grid == "full" else quick_scan_settings(postures, seed)
    return scan_entropy(postures, settings, threads=threads, progress=progress)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timescales(Result):
    """Relaxation times of the chain, against the lag, and of shuffled state sequences.

    Parameters
    ----------
    lag_scan
        Relaxation times of every animal against the lag.
    noise_floor
        Relaxation times of shuffled state sequences at the lag of the chain.
    spectrum
        Slow modes of the chain of all animals.
    """

    lag_scan: LagScan
    noise_floor: NoiseFloor
    spectrum: Spectrum

    def headline(self) -> str:
        """Give the slowest relaxation time and the noise floor."""
        return f"{self.spectrum.headline()}; shuffled: {self.noise_floor.headline()}"

    def table(self) -> "pd.DataFrame":
        """List the slow modes of the chain, and whether they lie above the noise floor."""
        modes = self.spectrum.table()
        n_above = self.noise_floor.significant_modes(self.spectrum) if self.noise_floor.eigenvalues.size else 0
        return modes.assign(is_above_noise=[k < n_above for k in range(len(modes))])


def _shuffle_seconds(size: Size) -> float:
    chains = int(size.settings["n_lags"]) * size.n_animals + int(size.settings["n_shuffles"])
    return 3e-5 * chains * int(size.settings["n_states"]) / size.threads


@stage(role="analysis", seconds=_shuffle_seconds)
def relaxation_times(
    chain: MarkovChain,
    symbols: Symbols,
    *,
    n_shuffles: int = N_SHUFFLES,
    n_lags: int = 30,
    n_slow: int = 30,
    seed: int,
    threads: int,
    progress: Progress | None,
) -> Timescales:
    """Measure relaxation times against the lag, up to four times the slowest, and those of shuffled state sequences.

    Parameters
    ----------
    n_shuffles
        Number of shuffled state sequences behind the noise floor.
    n_lags
        Number of lags, log-spaced up to four times the slowest relaxation time.
    n_slow
        Number of slow modes of the chain.
    seed
        Random seed; that of the study by default.
    """
    spectrum = slow_spectrum(chain, n_slow)
    longest = max(SLOWEST_TIMES * float(spectrum.relaxation_times[0]), 2 * chain.lag)
    scanned = scan_lags(symbols, lag_grid(symbols, longest, n_lags), threads=threads, progress=progress)
    how = Shuffles(n=n_shuffles, seed=seed)
    floor = noise_floor(symbols, chain.lag, shuffles=how, threads=threads, progress=progress)
    return Timescales(lag_scan=scanned, noise_floor=floor, spectrum=spectrum)


def _map_seconds(size: Size) -> float:
    return 12.0 + 8e-5 * size.n_frames if size.settings["method"] == "umap" else 0.2 + 2e-6 * size.n_frames


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
    """Project posture sequences and microstates on a map of two dimensions.

    Parameters
    ----------
    n_delays
        Frames per sequence; those of the study by default.
    method
        "umap", or "pca" for the first two principal components, which is much faster.
    seed
        Random seed; that of the study by default.
    """
    sequences = DelayEmbedding(n_delays).transform(postures)
    return map_sequences(sequences, microstates, method=method, seed=seed, progress=progress)


# --- states ----------------------------------------------------------------------------------------------------------


@stage(role="analysis", seconds=lambda size: 0.1 + 1e-6 * size.n_frames)
def kinetics(model: BehaviourModel, *, level: int = MACRO) -> Kinetics:
    """Measure dwell times, transition rates and jumps of the states of a level.

    Parameters
    ----------
    level
        Number of states at the level; the two macrostates by default.
    """
    return state_kinetics(model, level)


@dataclass(frozen=True, slots=True, kw_only=True)
class DwellLaws(Result):
    """Laws of the dwell times of the two macrostates.

    Parameters
    ----------
    laws
        Held-out comparison of laws, by name of the state; rarely visited states have none.
    """

    laws: Mapping[str, LawChoice]

    def headline(self) -> str:
        """Give the best law of every state."""
        return "; ".join(f"{state}: {one.winner}" for state, one in self.laws.items())

    def table(self) -> "pd.DataFrame":
        """List the laws of every state: held-out log-likelihood, and deficit from the best in nats per dwell."""
        return frame_of(
            {
                "state": state,
                "law": kind,
                "nats_per_dwell": float(one.nats_per_dwell[k]),
                "deficit": float(one.deficit[k]),
                "deficit_low": float(one.deficit_low[k]),
                "deficit_high": float(one.deficit_high[k]),
                "is_best": kind == one.winner,
            }
            for state, one in self.laws.items()
            for k, kind in enumerate(one.kinds)
        )


@stage(role="analysis", seconds=lambda size: 1.0 + 4.5e-5 * size.n_frames)
def dwell_law(macro_model: BehaviourModel, *, seed: int) -> DwellLaws:
    """Compare laws of the dwell times of the two macrostates on held-out dwells.

    Parameters
    ----------
    seed
        Random seed; that of the study by default.
    """
    return DwellLaws(laws=dwell_laws(state_kinetics(macro_model, MACRO), seed))


@stage(role="analysis", seconds=lambda size: 0.1 + 1e-6 * size.n_frames)
def published_dwell_law(
    macro_model: BehaviourModel, *, shortest_dwell: float = 0.75, n_dwell_resamples: int = 50, seed: int
) -> ExponentialSum:
    """Fit two exponentials to the dwell times of the two macrostates, as published.

    Parameters
    ----------
    shortest_dwell
        Shortest dwell time in seconds that enters the fit.
    n_dwell_resamples
        Number of bootstrap resamples over animals behind the intervals.
    seed
        Random seed; that of the study by default.
    """
    dwells = find_dwells(macro_model.states(MACRO))
    return paper_biexponential(dwells, shortest=shortest_dwell, n_resamples=n_dwell_resamples, rng=seed)


@stage(role="analysis", seconds=lambda size: 1.5e-6 * size.n_frames)
def smoothed_states(model: BehaviourModel, *, level: int) -> SmoothStates:
    """Smooth the states of every frame in time by a hidden Markov model; for labels, not for rates.

    Parameters
    ----------
    level
        Number of states at the level; the finest by default.
    """
    return smooth_states(model.symbols, model.tree.states_at(level), model.chain.lag)


@stage(role="analysis", seconds=lambda size: 3.3e-5 * size.n_frames * int(size.settings["n_seeds"]))
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
    """Measure how well the states are recovered with microstates from other random seeds.

    Parameters
    ----------
    n_seeds
        Number of further random seeds; each partitions the posture sequences again.
    partition
        "lloyd" or "minibatch" k-means; that of the study by default.
    cut
        How the slow mode is divided: "best" or "paper"; as in the study by default.
    min_measure
        Least share of time of a state; that of the study by default.
    seed
        Random seed before the further ones; that of the study by default.
    """
    growth = replace(growth_settings(cut, None, min_measure, 0, seed), n_states=model.finest, n_resamples=0)
    seeds = range(seed + 1, seed + 1 + n_seeds)
    return stability_over_seeds(model, growth, seeds, partition=partition, threads=threads, progress=progress)


# --- simulated animals -----------------------------------------------------------------------------------------------


def _run_seconds(size: Size) -> float:
    """Estimate the time of runs of every animal or state, or of one of them."""
    known = size.settings
    if "level" in known:  # of states
        n_kinds = known["level"] if known["state"] == "each" else 1
    else:
        n_kinds = size.n_animals if known["animal"] == "each" else 1
    frames = known["minutes"] * 60 * FRAME_RATE * n_kinds
    return float(5.5e-7 * frames * known["n_runs"] / size.threads)


@stage(role="analysis", seconds=_run_seconds)
def runs(
    macro_model: BehaviourModel,
    *,
    n_runs: int = MOST_RUNS,
    minutes: float = RUN_MINUTES,
    animal: str = "each",
    run_unfolding: UnfoldMethod | None = None,
    ring: float | None = None,
    seed: int,
    threads: int,
    progress: Progress | None,
) -> RunSet:
    """Simulate runs of the animals, and measure their displacement, speed and events.

    Parameters
    ----------
    n_runs
        Number of runs of every animal.
    minutes
        Duration of every run in minutes.
    animal
        Name of one animal; "each" gives every animal its own model, "all" learns one from all animals.
    run_unfolding
        How microstates become postures: "matched" or "paper"; as in the study where None.
    ring
        Radius of a ring around the start that keeps paths inside, in the unit of the path; None for an endless plate.
    seed
        Random seed; that of the study by default.
    """
    how = RunSettings(n_runs=n_runs, seconds=60 * minutes, unfolding=run_unfolding, ring=ring, seed=seed)
    return run_animals(macro_model, animal, how, threads=threads, progress=progress)


@stage(role="analysis", seconds=_run_seconds)
def state_runs(
    model: BehaviourModel,
    *,
    level: int,
    state: str = "each",
    start: Start = "first",
    n_runs: int = MOST_RUNS,
    minutes: float = RUN_MINUTES,
    run_unfolding: UnfoldMethod | None = None,
    ring: float | None = None,
    seed: int,
    threads: int,
    progress: Progress | None,
) -> RunSet:
    """Simulate runs that never leave a state, and measure their displacement, speed and events.

    Parameters
    ----------
    level
        Number of states at the level; the finest by default.
    state
        Name of one state of the level, or "each".
    start
        Where runs begin: in the "first" recorded microstate of the state, or by its "stationary" law.
    n_runs
        Number of runs of every state.
    minutes
        Duration of every run in minutes.
    run_unfolding
        How microstates become postures: "matched" or "paper"; as in the study where None.
    ring
        Radius of a ring around the start that keeps paths inside, in the unit of the path; None for an endless plate.
    seed
        Random seed; that of the study by default.
    """
    how = RunSettings(n_runs=n_runs, seconds=60 * minutes, unfolding=run_unfolding, ring=ring, seed=seed)
    return run_states(model, level, state, how, start=start, threads=threads, progress=progress)


@stage(role="analysis", seconds=lambda size: 0.1 + 2e-6 * size.n_frames)
def reconstruction(
    macro_model: BehaviourModel,
    *,
    window: float = DRAG_WINDOW,
    n_windows: int | None = None,
    drag_scheme: Scheme = "midpoint",
    seed: int,
    threads: int,
) -> Reconstruction:
    """Compute the paths of recorded animals from their postures, and fit the drag ratio to measured paths.

    Parameters
    ----------
    window
        Seconds of a window in which paths are compared.
    n_windows
        Number of random windows; None for all that fit side by side.
    drag_scheme
        How frames are integrated: "midpoint" or "paper".
    seed
        Random seed of the windows; that of the study by default.
    """
    settings = DragSettings(window=window, n_windows=n_windows, scheme=drag_scheme)
    return reconstruct_paths(macro_model, settings, rng=seed, threads=threads)


def _foraging_seconds(size: Size) -> float:
    known = size.settings
    frames = known["level"] * known["n_runs"] * known["seconds"] * FRAME_RATE
    return float(1.8e-6 * frames / size.threads)


@stage(role="analysis", seconds=_foraging_seconds)
def foraging(
    model: BehaviourModel,
    *,
    level: int,
    n_runs: int = FORAGING_RUNS,
    seconds: float = FORAGING_SECONDS,
    width: float = BODY_WIDTH,
    raster: bool = False,
    seed: int,
    threads: int,
    progress: Progress | None,
) -> Foraging:
    """Measure how likely animals that never leave a state are to find food, and compare the states.

    Parameters
    ----------
    level
        Number of states at the level; the finest by default.
    n_runs
        Number of runs in every state.
    seconds
        Duration of every run in seconds.
    width
        Width of the body in body lengths.
    raster
        Use the published raster of points instead of the swept body.
    seed
        Random seed; that of the study by default.
    """
    sweep = SweepSettings(width=width, method="paper" if raster else "capsule")
    how = ForageSettings(n_runs=n_runs, seconds=seconds, sweep=sweep, seed=seed)
    return forage_states(model, level, how, threads=threads, progress=progress)


# --- validation ------------------------------------------------------------------------------------------------------


@stage(role="analysis", seconds=lambda size: 5.5e-7 * size.n_frames * size.settings["n_runs"] / size.threads)
def animal_runs(
    macro_model: BehaviourModel, *, n_runs: int = VALIDATION_RUNS, seed: int, threads: int, progress: Progress | None
) -> AnimalRunSet:
    """Compare every animal with simulated runs of its own model.

    Parameters
    ----------
    n_runs
        Number of runs of every animal, as long as its recording.
    seed
        Random seed; that of the study by default.
    """
    return observe_animals(macro_model, n_runs, seed=seed, threads=threads, progress=progress)


@stage(role="analysis", seconds=lambda size: (1.0 + 4e-5 * size.n_frames) / size.threads)
def predictions(
    macro_model: BehaviourModel,
    *,
    min_measure: float,
    entry_walks: int = ENTRY_WALKS,
    seed: int,
    threads: int,
    progress: Progress | None,
) -> Predictions:
    """Measure how far ahead the model predicts, in training data and in held-out data.

    Parameters
    ----------
    min_measure
        Least share of time of a state; that of the study by default.
    entry_walks
        Number of simulated walks in which entries into the second macrostate are counted.
    seed
        Random seed; that of the study by default.
    """
    return predict(
        macro_model, min_measure=min_measure, n_walks=entry_walks, seed=seed, threads=threads, progress=progress
    )


@stage(role="analysis", seconds=lambda size: 8e-6 * size.n_frames * size.settings["n_held_out"] / size.threads)
def held_out_splits(
    macro_model: BehaviourModel,
    *,
    n_held_out: int = 0,
    min_measure: float,
    seed: int,
    threads: int,
    progress: Progress | None,
) -> CrossValidation | None:
    """Cross-validate in blocks of time: microstates, chain and states come from the training part alone.

    Parameters
    ----------
    n_held_out
        Number of random splits; 0 for no cross-validation.
    min_measure
        Least share of time of a state; that of the study by default.
    seed
        Random seed; that of the study by default.
    """
    if not n_held_out:
        return None
    return cross_validate_model(
        macro_model, n_held_out, min_measure=min_measure, seed=seed, threads=threads, progress=progress
    )


@stage(role="analysis", seconds=lambda size: 9e-6 * size.n_frames * size.settings["n_repeats"] / size.threads)
def published_splits(
    macro_model: BehaviourModel,
    *,
    n_repeats: int = 0,
    min_measure: float,
    seed: int,
    threads: int,
    progress: Progress | None,
) -> CrossValidation | None:
    """Cross-validate in blocks of time as published: microstates and states come from all data.

    Parameters
    ----------
    n_repeats
        Number of random splits, 50 as published; 0 for no cross-validation.
    min_measure
        Least share of time of a state; that of the study by default.
    seed
        Random seed; that of the study by default.
    """
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
    """Validate the model: every animal against runs of its own model, prediction errors, held-out prediction, drift.

    Settings are those of its parts: `n_runs` of `animal_runs`, `entry_walks` of `predictions`, `n_held_out` of
    `held_out_splits`, `n_repeats` of `published_splits`.
    """
    both = {"held-out": held_out_splits, "as published": published_splits}
    splits = {name: one for name, one in both.items() if one is not None}
    return assemble_validation(macro_model, [one.check for one in animal_runs.animals], predictions, splits)


@stage(role="analysis", seconds=lambda size: 2e-5 * size.n_frames)
def known_truth(
    model: BehaviourModel, spectrum: Spectrum, reconstruction: Reconstruction, truth: WormTruth
) -> KnownTruth:
    """Compare the estimates of a model of synthetic worms with the hidden truth."""
    drag = reconstruction.drag
    return compare_with_truth(model, truth, spectrum, None if drag is None else drag.median)


@stage(role="analysis", seconds=lambda size: 2e-6 * size.n_frames)
def application(model: BehaviourModel, applied: MemorySource, *, threads: int) -> Application:
    """Label new recordings with the model's microstates, and measure whether the model covers them."""
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
