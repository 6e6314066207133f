"""The stages that every study has, from recordings to simulated paths.

Each is a function of results and settings; see `ethomarkov.study.stage`. Times are estimated for two cores of a server
of 2024, from `ethomarkov bench`; only their ratios matter for the progress, and a plan says that they are estimates.
"""

from dataclasses import fields, replace
from typing import NamedTuple

import numpy as np
from scipy import sparse

from ethomarkov._core.ledger import Ledger
from ethomarkov._core.random import generator
from ethomarkov._core.series import Series
from ethomarkov._core.types import Progress
from ethomarkov.coarse import Cut
from ethomarkov.coarse.naming import StateTraits
from ethomarkov.coarse.tree import GrowthSettings, StateTree, grow_with_cut
from ethomarkov.exceptions import ConnectivityError, SamplingError
from ethomarkov.locomotion import Trajectory, propel
from ethomarkov.locomotion.resistive import Scheme
from ethomarkov.markov import MarkovChain, Spectrum, entropy_rate, slow_spectrum
from ethomarkov.markov.entropy_scan import quick_scan_settings, scan_entropy
from ethomarkov.markov.lag_scan import LagScan, lag_grid, scan_lags
from ethomarkov.markov.noise_floor import NoiseFloor, Shuffles, noise_floor
from ethomarkov.markov.selection import EntropyTable
from ethomarkov.model.behaviour import MACRO, BehaviourModel
from ethomarkov.model.labelling import label_postures, project_postures
from ethomarkov.model.names import has_body_wave, tree_traits
from ethomarkov.posture import PostureBasis
from ethomarkov.recording.measured import Measured, measured_paths
from ethomarkov.selection import Fixed, ModelChoice, choose_model
from ethomarkov.simulation.animal import MarkovAnimal
from ethomarkov.simulation.novelty import novelty
from ethomarkov.simulation.postures import UnfoldMethod, trace_rows, unfold_blocks
from ethomarkov.states import DelayEmbedding, Microstates, Partition, Symbols
from ethomarkov.study.counts import AnimalTable, Counts, count_files, count_symbols, time_shares
from ethomarkov.study.source import AnySource, MemorySource
from ethomarkov.study.stage import Size, stage
from ethomarkov.study.survey import Survey, Surveyed, SurveySettings, read_examples, survey_files, survey_recording
from ethomarkov.validation.simulation_choice import SimulationChoice, TrialSettings, choose_simulation

LONGEST_LAG, N_MODES, N_LAGS = 5.0, 10, 16


class Projected(NamedTuple):
    """Postures of the animals that a study holds, and what the recording says beside them."""

    postures: Series
    measured: Measured
    read_ledger: Ledger


class Divided(NamedTuple):
    """A partition, and the microstate of every frame."""

    microstates: Microstates
    symbols: Symbols


class Chained(NamedTuple):
    """The chain of all animals, and its slow modes."""

    chain: MarkovChain
    spectrum: Spectrum


class Timed(NamedTuple):
    """Relaxation times against the lag, and of shuffled state sequences."""

    lag_scan: LagScan
    noise_floor: NoiseFloor


class Grown(NamedTuple):
    """The first division, the tree of states, and what the body does in each of its nodes."""

    cut: Cut
    tree: StateTree
    traits: StateTraits


class Simulated(NamedTuple):
    """Mode amplitudes of simulated animals, and how they were simulated."""

    simulated: Series
    simulation_choice: SimulationChoice


# --- recordings and settings -----------------------------------------------------------------------------------------


@stage(role="first", seconds=lambda size: 1e-6 * size.n_frames)
def survey(
    source: AnySource,
    given_basis: PostureBasis | None,
    *,
    n_modes: int,
    n_delays: int | None,
    seed: int,
    threads: int,
    progress: Progress | None,
) -> Surveyed:
    """Survey all recordings: fit posture modes where none are given, and sample recordings that are too large."""
    how = SurveySettings(n_modes=n_modes, n_delays=n_delays, seed=seed)
    if isinstance(source, MemorySource):
        return survey_recording(source.recording, given_basis, how)
    return survey_files(source, given_basis, how, threads=threads, progress=progress)


@stage(role="first", seconds=lambda size: 1e-6 * size.n_frames)
def postures(
    source: AnySource, survey: Survey, basis: PostureBasis | None, *, n_modes: int, seed: int, threads: int
) -> Projected:
    """Project the animals that the study holds on the posture modes."""
    recording = read_examples(source, survey, seed, threads)
    return Projected(project_postures(recording, n_modes, basis), measured_paths(recording), recording.ledger())


def _choice_seconds(size: Size) -> float:
    if size.settings["is_complete"]:
        return 0.0
    return (8.0 + 1.1e-4 * size.n_frames) / min(size.threads, 8)


@stage(role="first", seconds=_choice_seconds)
def choice(
    postures: Series,
    *,
    n_delays: int | None,
    n_states: int | None,
    lag: float | None,
    seed: int,
    threads: int,
    progress: Progress | None,
) -> ModelChoice:
    """Choose the length of sequences, the number of microstates and the lag, as far as settings leave them open."""
    fixed = Fixed(n_delays=n_delays, n_states=n_states, lag=lag)
    return choose_model(postures, fixed=fixed, seed=seed, threads=threads, progress=progress)


def _scan_seconds(size: Size) -> float:
    return 1e-4 * size.n_frames / min(size.threads, size.n_animals) if size.settings["scan"] else 0.0


@stage(seconds=_scan_seconds)
def scan(postures: Series, *, scan: bool, seed: int, threads: int, progress: Progress | None) -> EntropyTable | None:
    """Measure the published entropy rates over sequence lengths and numbers of microstates."""
    if not scan:
        return None
    return scan_entropy(postures, quick_scan_settings(postures, seed), threads=threads, progress=progress)


# --- microstates and chain -------------------------------------------------------------------------------------------


def _partition_seconds(size: Size) -> float:
    return (1.2e-5 * size.n_frames + 2e-3 * int(size.settings["n_states"])) * 2 / (1 + size.threads)


@stage(seconds=_partition_seconds)
def microstates(
    survey: Survey, postures: Series, *, n_delays: int, n_states: int, partition: str, seed: int, threads: int
) -> Divided:
    """Divide the space of posture sequences into microstates, on the sample where there is one."""
    sequences = DelayEmbedding(n_delays).transform(postures if survey.sample is None else survey.sample)
    method = "minibatch" if partition == "minibatch" else "lloyd"
    found = Partition(n_states=n_states, method=method, seed=seed, threads=threads).fit(sequences).microstates_  # type: ignore[arg-type]
    return Divided(found, label_postures(postures, found, n_delays, threads=threads))


@stage(seconds=lambda size: 3e-7 * size.n_frames)
def counts(
    source: AnySource,
    survey: Survey,
    basis: PostureBasis | None,
    microstates: Microstates,
    symbols: Symbols,
    *,
    n_delays: int,
    lag: float,
    threads: int,
    progress: Progress | None,
) -> Counts:
    """Count the transitions of all animals; of files that do not fit into memory part by part."""
    lag_frames = symbols.sampling.frames(lag, "lag")
    if isinstance(source, MemorySource):
        return count_symbols(symbols, survey.frames, lag_frames)
    how = (basis, microstates, n_delays)
    return count_files(source, survey, how, lag_frames, threads=threads, progress=progress)


@stage(seconds=lambda size: 2e-4 * size.settings["n_states"] + 2e-7 * size.n_frames)
def chain(counts: Counts, symbols: Symbols, *, lag: float) -> Chained:
    """Estimate the chain of all animals on the microstates that the study can show, and its slow modes."""
    if counts.lagged.nnz == 0:
        longest = symbols.segments.longest() / symbols.sampling.rate
        raise SamplingError(
            f"lag={lag:g} s leaves no transition: the longest gap-free stretch is {longest:g} s. Use a lag below "
            f"{longest:g} s."
        )
    shown = sparse.diags_array((symbols.visits() > 0).astype(float))
    seen = (shown @ counts.lagged @ shown).tocsr()
    seen.eliminate_zeros()
    lag_frames = symbols.sampling.frames(lag, "lag")
    found = MarkovChain.from_counts(seen, symbols.sampling.seconds(lag_frames))
    return Chained(found, slow_spectrum(found, N_MODES))


@stage()
def ledger(read_ledger: Ledger, postures: Series, symbols: Symbols, chain: MarkovChain) -> Ledger:
    """Count the frames, sequences and transitions that every step lost, per animal."""
    names = postures.segments.individuals
    frames, windows = postures.segments.count_rows(), symbols.segments.count_rows()
    book = read_ledger.note("sequences", names, "windows", frames, windows, reason="too close to a gap or an end")
    first, last = symbols.segments.pairs(symbols.sampling.frames(chain.lag))
    owner = symbols.segments.row_individual[first]
    connected = chain.state_index >= 0
    inside = connected[symbols.labels[first]] & connected[symbols.labels[last]]
    n_animals = len(names)
    pairs = np.bincount(owner, minlength=n_animals)
    kept = np.bincount(owner, inside, n_animals).astype(int)
    book = book.note("transitions", names, "transitions", windows, pairs, reason="no partner one lag later")
    book = book.note("transitions", names, "transitions", pairs, kept, reason="microstate outside the connected chain")
    sizes = np.array([chain.n_states]), np.array([chain.states.size])
    return book.note("chain", ("all",), "states", *sizes, reason="not connected with the others")


def _timescale_seconds(size: Size) -> float:
    chains = N_LAGS * size.n_animals + 10
    return 2.5e-5 * chains * int(size.settings["n_states"]) / size.threads + 1e-6 * size.n_frames


@stage(seconds=_timescale_seconds)
def timescales(symbols: Symbols, *, lag: float, seed: int, threads: int, progress: Progress | None) -> Timed:
    """Measure relaxation times against the lag, and those of shuffled state sequences."""
    lags, shuffles = lag_grid(symbols, LONGEST_LAG, N_LAGS), Shuffles(n=10, seed=seed)
    scanned = scan_lags(symbols, lags, n_modes=N_MODES, threads=threads, progress=progress)
    return Timed(scanned, noise_floor(symbols, lag, shuffles=shuffles, threads=threads))


# --- states ----------------------------------------------------------------------------------------------------------


def growth_settings(
    cut: str, n_behaviours: int | None, min_measure: float, n_resamples: int, seed: int
) -> GrowthSettings:
    """Translate settings of a study into settings of the tree of states.

    Parameters
    ----------
    cut, n_behaviours, min_measure, n_resamples, seed
        See `Settings`.
    """
    if cut == "paper":
        published = GrowthSettings.paper()
        n_states = n_behaviours or published.n_states
        return replace(published, n_states=n_states, min_measure=min_measure, seed=seed)
    return GrowthSettings(n_states=n_behaviours, min_measure=min_measure, n_resamples=n_resamples, seed=seed)


def _state_seconds(size: Size) -> float:
    trees = size.n_animals + int(size.settings["n_resamples"])
    return 2.5e-4 * int(size.settings["n_states"]) * trees + 1e-5 * size.n_frames


@stage(seconds=_state_seconds)
def states(
    chain: MarkovChain,
    symbols: Symbols,
    postures: Series,
    basis: PostureBasis | None,
    measured: Measured,
    *,
    min_measure: float,
    n_behaviours: int | None,
    n_resamples: int,
    cut: str,
    seed: int,
) -> Grown:
    """Divide the microstates into a tree of states, and measure what the body does in each."""
    tree, found = grow_with_cut(
        chain, growth_settings(cut, n_behaviours, min_measure, n_resamples, seed), symbols=symbols
    )
    if found is None:
        raise ConnectivityError(f"The microstates cannot be divided into two states: {tree.remark[0]}")
    return Grown(found, tree, tree_traits(tree, symbols, postures, basis, measured.speed(postures)))


@stage(seconds=lambda size: 1e-7 * size.n_frames)
def animals(
    counts: Counts,
    symbols: Symbols,
    tree: StateTree,
) -> AnimalTable:
    """Measure amount of data, entropy rate and shares of time of every animal, and flag those whose frames are held."""
    used = np.asarray(counts.lagged.sum(axis=0) + counts.lagged.sum(axis=1)) > 0
    return AnimalTable(
        individuals=counts.individuals,
        files=counts.files,
        is_example=np.isin(counts.individuals, symbols.segments.individuals),
        frames=counts.frames,
        windows=counts.windows,
        transitions=counts.transitions,
        entropy_rates=counts.entropy_rates,
        shares=time_shares(counts.visits, tree.states_at(max(tree.levels))),
        entropy_rate=entropy_rate(MarkovChain.from_counts(counts.framewise, symbols.sampling.interval)),
        n_unseen=int((used & (symbols.visits() == 0)).sum()),
    )


# --- simulated animals -----------------------------------------------------------------------------------------------


def _simulated_frames(size: Size) -> float:
    rate = 16.0  # about; the recording's own rate matters little for an estimate
    return float(size.settings["n_walks"] * size.settings["simulated_minutes"] * 60 * rate)


def _trial_seconds(size: Size) -> float:
    known = size.settings
    is_set = known["simulation_lag"] or known["simulation_passage"] or known["unfolding"] == "paper"
    return 0.0 if is_set else (1.5 + 1.5e-5 * size.n_frames) / min(size.threads, 8)


@stage(seconds=_trial_seconds)
def simulation_trial(
    chain: MarkovChain,
    postures: Series,
    symbols: Symbols,
    basis: PostureBasis | None,
    *,
    n_delays: int,
    simulation_lag: float | None,
    simulation_passage: float | None,
    unfolding: UnfoldMethod,
    seed: int,
    threads: int,
    progress: Progress | None,
) -> SimulationChoice:
    """Choose the step and the passages of simulated animals by held-out data, or take those of the settings."""
    lag = simulation_lag or chain.lag
    if simulation_lag or simulation_passage:
        return SimulationChoice.fixed(lag, simulation_passage or lag, "the settings say so")
    if unfolding == "paper":
        return SimulationChoice.fixed(lag, lag, "it is the lag of the chain, as published")
    how = TrialSettings(n_delays=n_delays, has_events=has_body_wave(basis, postures), seed=seed)
    return choose_simulation(chain, postures, symbols, how, threads=threads, progress=progress)


@stage(seconds=lambda size: 2e-7 * _simulated_frames(size))
def simulation(
    chain: MarkovChain,
    postures: Series,
    symbols: Symbols,
    simulation_trial: SimulationChoice,
    *,
    n_delays: int,
    n_walks: int,
    simulated_minutes: float,
    unfolding: UnfoldMethod,
    seed: int,
    threads: int,
) -> Simulated:
    """Walk the chain of all animals, unfold the postures of every walk, and measure how much of it is new."""
    step, passage = simulation_trial.chosen_lag, simulation_trial.chosen_passage
    animal = MarkovAnimal.from_symbols("all", symbols, postures, n_delays, step, passage=passage, start="stationary")
    if step == chain.lag:
        animal = replace(animal, chain=chain)  # which may know more animals than those whose postures are at hand
    runs, new = _simulate(animal, simulated_minutes * 60, n_walks, unfolding, seed, threads)
    return Simulated(runs, replace(simulation_trial, simulated_novelty=new))


def _simulate(
    animal: MarkovAnimal, seconds: float, n_walks: int, method: UnfoldMethod, seed: int, threads: int
) -> tuple[Series, float]:
    """Walk the chain and unfold the postures of every walk; also give the share that copies nothing recorded."""
    walks = animal.walk(seconds, n_walks, rng=generator(seed, "walks"), threads=threads)
    ends = animal.passages(walks, rng=generator(seed, "passages"))
    unfolded = unfold_blocks(
        ends,
        animal.repertoire,
        walks_per_block=n_walks,
        rng=generator(seed, "postures"),
        method=method,
        threads=threads,
    )
    runs = next(unfolded)
    rows = trace_rows(ends, animal.repertoire, rng=generator(seed, "postures"), method=method)
    return runs, float(novelty(runs, rows, animal.repertoire, method=method).mean())


@stage(seconds=lambda size: 8e-7 * _simulated_frames(size) / size.threads)
def path(
    simulated: Series, basis: PostureBasis | None, *, drag_ratio: float, scheme: Scheme, threads: int
) -> Trajectory | None:
    """Compute the paths of simulated animals by resistive force theory; None for bodies without tangent angles."""
    if basis is None or basis.features != "angle":
        return None
    return propel(simulated, drag_ratio, basis=basis, scheme=scheme, threads=threads)


class MacroStates(NamedTuple):
    """The two macrostates alone, which most analyses need of the tree, and which do not change when it grows finer."""

    macro_tree: StateTree
    macro_traits: StateTraits


@stage(is_kept=False, by_content=True)
def macrostates(tree: StateTree, traits: StateTraits) -> MacroStates:
    """Cut the tree down to its first two levels."""
    level = min(MACRO, max(tree.levels))
    nodes = np.flatnonzero(tree.born <= level)
    rows = {item.name: getattr(traits, item.name)[nodes] for item in fields(StateTraits)}
    return MacroStates(tree.upto(level), StateTraits(**rows))


@stage(is_kept=False)
def macro_model(
    basis: PostureBasis | None,
    microstates: Microstates,
    chain: MarkovChain,
    macro_tree: StateTree,
    macro_traits: StateTraits,
    postures: Series,
    symbols: Symbols,
    measured: Measured,
    simulation_trial: SimulationChoice,
    *,
    n_delays: int,
    unfolding: UnfoldMethod,
    drag_ratio: float,
    scheme: Scheme,
) -> BehaviourModel:
    """Assemble the model, with the two macrostates alone."""
    return BehaviourModel(
        basis=basis,
        n_delays=n_delays,
        microstates=microstates,
        chain=chain,
        tree=macro_tree,
        postures=postures,
        symbols=symbols,
        traits=macro_traits,
        measured=measured,
        step=simulation_trial.chosen_lag,
        passage=simulation_trial.chosen_passage,
        unfolding=unfolding,
        drag_ratio=drag_ratio,
        scheme=scheme,
    )


@stage(is_kept=False)
def model(macro_model: BehaviourModel, tree: StateTree, traits: StateTraits) -> BehaviourModel:
    """Assemble the model, with the whole tree."""
    return replace(macro_model, tree=tree, traits=traits)


CORE = (
    survey,
    postures,
    choice,
    scan,
    microstates,
    counts,
    chain,
    ledger,
    timescales,
    states,
    animals,
    simulation_trial,
    simulation,
    path,
    macrostates,
    macro_model,
    model,
)
"""Stages of every study, in the order in which they run."""
