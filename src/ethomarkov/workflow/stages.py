"""The stages of a study: what each depends on, and how it is computed."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ethomarkov._core.ledger import Ledger
from ethomarkov._core.random import generator
from ethomarkov._core.result import array_field, freeze_arrays
from ethomarkov._core.series import Series
from ethomarkov._core.types import FloatArray, Progress
from ethomarkov.coarse import Cut
from ethomarkov.coarse.naming import StateTraits
from ethomarkov.coarse.tree import StateTree, grow_with_cut
from ethomarkov.exceptions import ConnectivityError
from ethomarkov.locomotion import Path as AnimalPath
from ethomarkov.locomotion import propel
from ethomarkov.markov import MarkovChain, Spectrum, slow_spectrum
from ethomarkov.markov.entropy_scan import quick_grid, scan_entropy
from ethomarkov.markov.lag_scan import LagScan, lag_grid, scan_lags
from ethomarkov.markov.noise_floor import NoiseFloor, Shuffles, noise_floor
from ethomarkov.markov.selection import EntropyTable
from ethomarkov.posture import PostureBasis
from ethomarkov.posture.basis import amplitude_series
from ethomarkov.recording import Recording
from ethomarkov.selection import Fixed, ModelChoice, choose_model
from ethomarkov.simulation.animal import MarkovAnimal
from ethomarkov.simulation.novelty import novelty
from ethomarkov.simulation.postures import trace_rows, unfold_blocks
from ethomarkov.states import DelayEmbedding, Microstates, Partition, Symbols
from ethomarkov.validation.simulation_choice import SimulationChoice, TrialRule, choose_simulation
from ethomarkov.workflow.config import CompleteSettings, Settings
from ethomarkov.workflow.engine import Size, Stage, Work
from ethomarkov.workflow.states import growth_rule, has_body_wave, tree_traits

LONGEST_LAG, N_MODES, N_LAGS = 5.0, 10, 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What the recording itself says of each animal's path; NaN where it says nothing."""

    centroid: FloatArray = array_field("frame", "space")
    body_length: FloatArray = array_field("individual")
    length_unit: str
    source: str

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def speed(self, postures: Series) -> FloatArray:
        """Distance covered in one second from each frame on, in body lengths per second; NaN where it is unknown."""
        offsets, rate = postures.segments.offsets, postures.sampling.rate
        lag = max(1, round(rate))
        speed = np.full(len(self.centroid), np.nan)
        for i, length in enumerate(self.body_length):
            track = self.centroid[offsets[i] : offsets[i + 1]]
            steps = np.linalg.norm(track[lag:] - track[:-lag], axis=1)
            speed[offsets[i] : offsets[i] + len(steps)] = steps * rate / lag / length
        return speed


def project_postures(
    recording: Recording, n_modes: int, basis: PostureBasis | None
) -> tuple[Series, PostureBasis | None]:
    """Bring any recording to mode amplitudes, fitting a basis where there is none."""
    if recording.kind == "amplitude" and basis is None:
        return amplitude_series(recording, min(n_modes, recording.values.shape[1])), None
    if basis is None:
        n_features = recording.values[0].size if recording.kind != "centerline" else n_modes
        basis = PostureBasis.fit(recording, min(n_modes, n_features))
    return basis.project(recording), basis


def measured_paths(recording: Recording) -> Measured:
    """Collect what the recording says of paths and body lengths."""
    n_rows = len(recording.values)
    lengths = recording.body_lengths
    return Measured(
        centroid=np.full((n_rows, 2), np.nan) if recording.centroid is None else np.asarray(recording.centroid),
        body_length=np.array([lengths.get(name, np.nan) for name in recording.individuals]),
        length_unit=str(recording.dataset.attrs.get("length_unit", "")),
        source=str(recording.dataset.attrs.get("source_format", "")),
    )


def complete_settings(settings: Settings, postures: Series, choice: ModelChoice) -> CompleteSettings:
    """Fill in what was chosen from the data."""
    return settings.model_copy(update={"n_modes": postures.n_components}).complete(choice)


def choose_for(
    settings: Settings, postures: Series, *, threads: int = 1, progress: Progress | None = None
) -> ModelChoice:
    """Choose the length of sequences, the number of microstates and the lag, as far as settings leave them open."""
    fixed = Fixed(n_delays=settings.n_delays, n_states=settings.n_states, lag=settings.lag)
    return choose_model(postures, fixed=fixed, seed=settings.seed, threads=threads, progress=progress)


def simulation_choice(work: Work) -> SimulationChoice:
    """Choose how animals are simulated, or take what the settings say."""
    chain, settings = work.results["chain"], work.settings
    lag = settings.simulation_lag or chain.lag
    if settings.simulation_lag or settings.simulation_passage:
        return SimulationChoice.fixed(lag, settings.simulation_passage or lag, "the settings say so")
    if settings.unfolding == "paper":
        return SimulationChoice.fixed(lag, lag, "it is the lag of the chain, as published")
    postures: Series = work.results["postures"]
    has_events = has_body_wave(work.results["basis"], postures)
    rule = TrialRule(n_delays=settings.n_delays, has_events=has_events, seed=settings.seed)
    return choose_simulation(
        chain, postures, work.results["symbols"], rule, threads=work.threads, progress=work.progress
    )


def simulate_animals(animal: MarkovAnimal, settings: CompleteSettings, *, threads: int = 1) -> tuple[Series, float]:
    """Walk the chain and unfold the postures of every walk; also give the share that copies nothing recorded.

    Parameters
    ----------
    animal
        Of all individuals.
    settings
        Of the study.
    threads
        Cores to use; the result does not depend on it.
    """
    seed, n_walks, method = settings.seed, settings.n_walks, settings.unfolding
    walks = animal.walk(settings.simulated_minutes * 60, n_walks, rng=generator(seed, "walks"), threads=threads)
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


def keep_ledger(recording: Recording, postures: Series, symbols: Symbols, chain: MarkovChain) -> Ledger:
    """Write down what every step lost, per animal."""
    names = postures.segments.individuals
    frames, windows = postures.segments.count_rows(), symbols.segments.count_rows()
    book = recording.ledger().note(
        "sequences", names, "windows", frames, windows, reason="too close to a gap or an end"
    )
    first, last = symbols.segments.pairs(symbols.sampling.frames(chain.lag))
    owner = symbols.segments.row_individual[first]
    connected = chain.state_index >= 0
    inside = connected[symbols.labels[first]] & connected[symbols.labels[last]]
    n_animals = len(names)
    pairs = np.bincount(owner, minlength=n_animals)
    kept = np.bincount(owner, inside, n_animals).astype(int)
    book = book.note("transitions", names, "transitions", windows, pairs, reason="no partner one lag later")
    book = book.note("transitions", names, "transitions", pairs, kept, reason="state outside the connected chain")
    return book.note(
        "chain",
        ("all",),
        "states",
        np.array([chain.n_states]),
        np.array([chain.states.size]),
        reason="not connected with the others",
    )


# --- what each stage computes ----------------------------------------------------------------------------------------


def _postures(work: Work) -> Mapping[str, Any]:
    recording: Recording = work.results["recording"]
    postures, basis = project_postures(recording, work.settings.n_modes, work.results["given_basis"])
    return {"postures": postures, "basis": basis, "measured": measured_paths(recording)}


def _choice(work: Work) -> Mapping[str, Any]:
    postures: Series = work.results["postures"]
    return {"choice": choose_for(work.settings, postures, threads=work.threads, progress=work.progress)}


def _scan(work: Work) -> Mapping[str, Any]:
    postures: Series = work.results["postures"]
    if not work.settings.scan:
        return {"scan": None}
    grid = quick_grid(postures, work.settings.seed)
    return {"scan": scan_entropy(postures, grid, threads=work.threads, progress=work.progress)}


def _microstates(work: Work) -> Mapping[str, Any]:
    settings: CompleteSettings = work.settings
    sequences = DelayEmbedding(n_delays=settings.n_delays).transform(work.results["postures"])
    method, seed = settings.partition, settings.seed
    partition = Partition(n_states=settings.n_states, method=method, seed=seed, threads=work.threads).fit(sequences)
    return {"microstates": partition.microstates_, "symbols": partition.label(sequences)}


def _chain(work: Work) -> Mapping[str, Any]:
    symbols: Symbols = work.results["symbols"]
    chain = MarkovChain.from_symbols(symbols, work.settings.lag)
    ledger = keep_ledger(work.results["recording"], work.results["postures"], symbols, chain)
    return {"chain": chain, "spectrum": slow_spectrum(chain, N_MODES), "ledger": ledger}


def _timescales(work: Work) -> Mapping[str, Any]:
    symbols: Symbols = work.results["symbols"]
    threads, progress = work.threads, work.progress
    lags = lag_grid(symbols, LONGEST_LAG, N_LAGS)
    shuffles = Shuffles(n=10, seed=work.settings.seed)
    return {
        "lag_scan": scan_lags(symbols, lags, n_modes=N_MODES, threads=threads, progress=progress),
        "noise_floor": noise_floor(symbols, work.settings.lag, shuffles=shuffles, threads=threads),
    }


def _states(work: Work) -> Mapping[str, Any]:
    chain, symbols, postures = (work.results[name] for name in ("chain", "symbols", "postures"))
    tree, cut = grow_with_cut(chain, growth_rule(work.settings), symbols=symbols)
    if cut is None:
        raise ConnectivityError(f"The microstates cannot be divided into two states: {tree.remark[0]}")
    speed = work.results["measured"].speed(postures)
    traits = tree_traits(tree, symbols, postures, work.results["basis"], speed)
    return {"cut": cut, "tree": tree, "traits": traits}


def _simulation(work: Work) -> Mapping[str, Any]:
    chain, postures, symbols = (work.results[name] for name in ("chain", "postures", "symbols"))
    choice, n_delays = simulation_choice(work), work.settings.n_delays
    lag, passage = choice.chosen_lag, choice.chosen_passage
    animal = MarkovAnimal.from_symbols("all", symbols, postures, n_delays, lag, passage=passage, start="stationary")
    if lag == chain.lag:
        animal = replace(animal, chain=chain)  # which may know more animals than those whose postures are at hand
    simulated, new = simulate_animals(animal, work.settings, threads=work.threads)
    return {"simulated": simulated, "simulation_choice": replace(choice, simulated_novelty=new)}


def _paths(work: Work) -> Mapping[str, Any]:
    basis: PostureBasis | None = work.results["basis"]
    if basis is None or basis.features != "angle":
        return {"path": None}
    ratio, scheme = work.settings.drag_ratio, work.settings.scheme
    return {"path": propel(work.results["simulated"], ratio, basis=basis, scheme=scheme, threads=work.threads)}


# Estimated times: seconds on two cores of a server of 2024, from `ethomarkov bench`; only their ratios matter for
# the progress, and a plan says that they are estimates. Compiling on first use is not counted.


def _choice_seconds(size: Size) -> float:
    if size.settings.is_complete:
        return 0.0
    return (2.0 + 3e-4 * size.n_frames) / min(size.threads, 8)


def _scan_seconds(size: Size) -> float:
    return 2.5e-4 * size.n_frames / min(size.threads, size.n_animals)


def _partition_seconds(size: Size) -> float:
    return (1.2e-5 * size.n_frames + 2e-3 * int(size.settings.n_states)) * 2 / (1 + size.threads)


def _timescale_seconds(size: Size) -> float:
    chains = N_LAGS * size.n_animals + 10
    return 2e-4 * chains * int(size.settings.n_states) / size.threads + 1e-6 * size.n_frames


def _state_seconds(size: Size) -> float:
    trees = size.n_animals + int(size.settings.n_resamples)
    return 1e-3 * int(size.settings.n_states) * trees + 2e-5 * size.n_frames


def _simulated_frames(size: Size) -> float:
    rate = 16.0  # about; the recording's own rate matters little for an estimate
    return float(size.settings.n_walks * size.settings.simulated_minutes * 60 * rate)


def _simulation_seconds(size: Size) -> float:
    settings = size.settings
    is_set = settings.simulation_lag or settings.simulation_passage or settings.unfolding == "paper"
    trials = 0.0 if is_set else (5.0 + 2e-5 * size.n_frames) / min(size.threads, 8)
    return trials + 2e-7 * _simulated_frames(size)


STAGES = (
    Stage(
        name="postures",
        needs=("recording", "given_basis"),
        settings=("n_modes",),
        gives={"postures": Series, "basis": PostureBasis, "measured": Measured},
        compute=_postures,
        seconds=lambda size: 1e-6 * size.n_frames,
    ),
    Stage(
        name="choice",
        needs=("postures",),
        settings=("n_delays", "n_states", "lag", "seed"),
        gives={"choice": ModelChoice},
        compute=_choice,
        seconds=_choice_seconds,
    ),
    Stage(
        name="scan",
        needs=("postures",),
        settings=("scan", "seed"),
        gives={"scan": EntropyTable},
        compute=_scan,
        seconds=lambda size: _scan_seconds(size) if size.settings.scan else 0.0,
    ),
    Stage(
        name="microstates",
        needs=("postures",),
        settings=("n_delays", "n_states", "partition", "seed"),
        gives={"microstates": Microstates, "symbols": Symbols},
        compute=_microstates,
        seconds=_partition_seconds,
    ),
    Stage(
        name="chain",
        needs=("recording", "postures", "symbols"),
        settings=("lag",),
        gives={"chain": MarkovChain, "spectrum": Spectrum, "ledger": Ledger},
        compute=_chain,
        seconds=lambda size: 2e-4 * size.settings.n_states + 2e-7 * size.n_frames,
    ),
    Stage(
        name="timescales",
        needs=("symbols",),
        settings=("lag", "seed"),
        gives={"lag_scan": LagScan, "noise_floor": NoiseFloor},
        compute=_timescales,
        seconds=_timescale_seconds,
    ),
    Stage(
        name="states",
        needs=("chain", "symbols", "postures", "basis", "measured"),
        settings=("min_measure", "n_behaviours", "n_resamples", "cut", "seed"),
        gives={"cut": Cut, "tree": StateTree, "traits": StateTraits},
        compute=_states,
        seconds=_state_seconds,
    ),
    Stage(
        name="simulation",
        needs=("chain", "postures", "symbols", "basis"),
        settings=(
            "n_delays",
            "n_walks",
            "simulated_minutes",
            "simulation_lag",
            "simulation_passage",
            "unfolding",
            "seed",
        ),
        gives={"simulated": Series, "simulation_choice": SimulationChoice},
        compute=_simulation,
        seconds=_simulation_seconds,
    ),
    Stage(
        name="paths",
        needs=("simulated", "basis"),
        settings=("drag_ratio", "scheme"),
        gives={"path": AnimalPath},
        compute=_paths,
        seconds=lambda size: 8e-7 * _simulated_frames(size) / size.threads,
    ),
)
