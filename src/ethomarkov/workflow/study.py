"""One study, from a recording to simulated paths."""

import dataclasses
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from ethomarkov import __version__
from ethomarkov._core.ledger import Ledger
from ethomarkov._core.random import generator
from ethomarkov._core.result import array_field, freeze_arrays
from ethomarkov._core.series import Series
from ethomarkov._core.types import FloatArray, Progress
from ethomarkov.coarse import Cut, best_cut
from ethomarkov.coarse.naming import StateTraits
from ethomarkov.coarse.stability import resample_tree
from ethomarkov.coarse.tree import GrowthRule, StateTree, grow_tree
from ethomarkov.exceptions import InputFormatError
from ethomarkov.io.results import load_attrs, load_results, save_results
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
from ethomarkov.simulation import simulate_symbols, unfold_postures
from ethomarkov.states import DelayEmbedding, Microstates, Partition, Symbols
from ethomarkov.workflow.config import CompleteSettings, Settings
from ethomarkov.workflow.states import MACRO_LEVEL, check_renames, has_body_wave, tree_traits

STUDY_FILE = "study.nc"
STUDY_SCHEMA = "ethomarkov-study/1"
STAGES = (
    "postures", "scan", "sequences", "microstates", "chain", "timescales", "macrostates", "tree", "simulation", "paths",
)  # fmt: skip
MACRO = MACRO_LEVEL
LONGEST_LAG, N_MODES = 5.0, 10


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """Everything that a study found.

    Parameters
    ----------
    settings
        The choices, with those made from the data filled in.
    postures
        Mode amplitudes.
    basis
        Shapes of the modes; None for amplitudes that came without one.
    measured
        Measured paths and body lengths.
    microstates, symbols
        The partition, and the microstate of every frame.
    chain, spectrum
        The Markov chain of all animals at the lag τ and its slow modes.
    cut
        The first division, into two macrostates.
    tree, traits
        The states at every level, and what the body does in each of its nodes.
    simulated
        Mode amplitudes of simulated animals.
    path
        Their paths; None when postures cannot be turned into a body.
    ledger
        What was lost on the way.
    scan
        Entropy rates over K and N, from which they would be chosen.
    lag_scan
        Relaxation times of each animal against the lag.
    noise_floor
        The same at the lag from shuffled symbols.
    """

    settings: CompleteSettings
    postures: Series
    basis: PostureBasis | None
    measured: Measured
    microstates: Microstates
    symbols: Symbols
    chain: MarkovChain
    spectrum: Spectrum
    cut: Cut
    tree: StateTree
    traits: StateTraits
    simulated: Series
    path: AnimalPath | None
    ledger: Ledger
    scan: EntropyTable | None = None
    lag_scan: LagScan | None = None
    noise_floor: NoiseFloor | None = None

    @property
    def is_worm(self) -> bool:
        """Whether the postures describe a body wave: tangent angles in at least three modes."""
        return has_body_wave(self.basis, self.postures)

    @property
    def finest(self) -> int:
        """Number of states at the finest level of the tree."""
        return max(self.tree.levels)

    def states(self, level: int = MACRO) -> Symbols:
        """State of every frame at a level of the tree, by default the two macrostates, the larger first."""
        return self.symbols.relabel(self.tree.states_at(level))

    def save(self, directory: Path) -> Path:
        """Write ``study.nc`` into a directory and return its path."""
        results = {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if field.name != "settings" and getattr(self, field.name) is not None
        }
        attrs = {
            "schema": STUDY_SCHEMA,
            "settings": self.settings.model_dump_json(),
            "version": __version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        target = directory / STUDY_FILE
        save_results(target, results, attrs)
        return target

    @classmethod
    def load(cls, directory: Path) -> "Study":
        """Read a study back."""
        file = directory / STUDY_FILE if directory.is_dir() else directory
        attrs = study_attrs(file)
        kinds: dict[str, type] = {
            "postures": Series,
            "measured": Measured,
            "microstates": Microstates,
            "symbols": Symbols,
            "chain": MarkovChain,
            "spectrum": Spectrum,
            "cut": Cut,
            "tree": StateTree,
            "traits": StateTraits,
            "simulated": Series,
            "ledger": Ledger,
        }
        optional: dict[str, type] = {
            "basis": PostureBasis,
            "path": AnimalPath,
            "scan": EntropyTable,
            "lag_scan": LagScan,
            "noise_floor": NoiseFloor,
        }
        try:
            parts = load_results(file, kinds | optional)
            settings = CompleteSettings.model_validate_json(attrs["settings"])
        except Exception as error:  # a damaged file makes HDF5 and its readers raise almost anything
            raise InputFormatError(f"{file}: a part of it is damaged ({error}). Run it again.") from error
        missing = [name for name in kinds if name not in parts]
        if missing:
            raise InputFormatError(f"{file}: lacks {', '.join(missing)}. Run it again.")
        empty: dict[str, Any] = dict.fromkeys(optional)
        return cls(settings=settings, **(empty | parts))


def study_attrs(file: Path) -> dict[str, str]:
    """Read settings and provenance of a study file, checking that it is one."""
    if not file.exists():
        raise InputFormatError(f"{file}: no study there. Make one with `ethomarkov run FILES --out DIRECTORY`.")
    try:
        attrs = load_attrs(file)
    except (OSError, ValueError) as error:
        raise InputFormatError(
            f"{file}: cannot be opened as a study ({error}). It is not netCDF, or it is truncated; run it again."
        ) from error
    if attrs.get("schema") != STUDY_SCHEMA:
        raise InputFormatError(
            f"{file}: is not a study of this version (schema {attrs.get('schema')!r}, {STUDY_SCHEMA!r} is needed). "
            "Name the directory that `ethomarkov run` wrote, or run it again."
        )
    return attrs


def run_study(
    recording: Recording,
    settings: Settings | None = None,
    *,
    basis: PostureBasis | None = None,
    threads: int = 1,
    progress: Progress | None = None,
) -> Study:
    """Run all stages on a recording.

    Parameters
    ----------
    recording
        Of one animal or of many.
    settings
        Choices; the default chooses from the data.
    basis
        Posture modes; by default they are fitted to angles, centerlines and keypoints, and amplitudes are taken as they
        are.
    threads
        Cores to use; the result does not depend on it.
    progress
        Called before each stage.
    """
    settings = settings or Settings()
    report = _stage_reporter(progress)
    report("postures")
    postures, basis = project_postures(recording, settings.n_modes, basis)
    report("scan")
    scan = scan_entropy(postures, quick_grid(postures, settings.seed), threads=threads) if settings.scan else None
    report("sequences")
    sequences = DelayEmbedding(n_delays=settings.sequence_frames(postures.sampling)).transform(postures)
    used = settings.model_copy(update={"n_modes": postures.n_components})
    chosen = used.complete(postures.sampling, int(sequences.segments.lengths.sum()))
    report("microstates")
    partition = Partition(n_states=chosen.n_states, seed=chosen.seed, threads=threads).fit(sequences)
    symbols = partition.label(sequences)
    report("chain")
    chain = MarkovChain.from_symbols(symbols, chosen.lag)
    spectrum = slow_spectrum(chain, N_MODES)
    report("timescales")
    lag_scan = scan_lags(symbols, lag_grid(symbols, LONGEST_LAG, 16), n_modes=N_MODES, threads=threads)
    floor = noise_floor(symbols, chosen.lag, shuffles=Shuffles(n=10, seed=chosen.seed), threads=threads)
    report("macrostates")
    cut = best_cut(chain, chosen.min_measure)
    report("tree")
    tree = stable_tree(chain, symbols, chosen, threads=threads)
    measured = measured_paths(recording)
    traits = tree_traits(tree, symbols, postures, basis, measured.speed(postures))
    report("simulation")
    simulated = simulate_animals(chain, postures, symbols, chosen)
    report("paths")
    has_body = basis is not None and basis.features == "angle"
    path = _paths(simulated, basis, chosen, threads) if has_body else None
    report(None)
    study = Study(
        settings=chosen,
        postures=postures,
        basis=basis,
        measured=measured,
        microstates=partition.microstates_,
        symbols=symbols,
        chain=chain,
        spectrum=spectrum,
        cut=cut,
        tree=tree,
        traits=traits,
        simulated=simulated,
        path=path,
        ledger=keep_ledger(recording, postures, symbols, chain),
        scan=scan,
        lag_scan=lag_scan,
        noise_floor=floor,
    )
    check_renames(study)
    return study


def stable_tree(
    chain: MarkovChain,
    symbols: Symbols,
    settings: CompleteSettings,
    *,
    n_shuffles: int = 0,
    threads: int = 1,
    progress: Progress | None = None,
) -> StateTree:
    """Grow the tree of states and measure how well its nodes are found again.

    Parameters
    ----------
    chain, symbols, settings
        Of the study.
    n_shuffles
        Divide a state only where its slow mode exceeds what so many shuffles reach.
    threads, progress
        See `map_tasks`.
    """
    growth = GrowthRule(
        n_states=settings.n_behaviours,
        min_measure=settings.min_measure,
        seed=settings.seed,
        n_shuffles=n_shuffles,
    )
    tree = grow_tree(chain, growth, symbols=symbols)
    if settings.n_resamples == 0:
        return tree
    n_resamples = settings.n_resamples
    return resample_tree(tree, symbols, growth, n_resamples=n_resamples, threads=threads, progress=progress)


def regrow_study(
    study: Study,
    changes: Mapping[str, Any],
    *,
    n_shuffles: int = 0,
    threads: int = 1,
    progress: Progress | None = None,
) -> Study:
    """Give a study a new tree of states, with names, and leave all else as it is.

    Parameters
    ----------
    study
        To begin with.
    changes
        Settings that concern the tree: `n_behaviours`, `min_measure`, `n_resamples`, `names`.
    n_shuffles, threads, progress
        See `stable_tree`.
    """
    settings = CompleteSettings.model_validate(study.settings.model_dump() | dict(changes))
    tree = stable_tree(study.chain, study.symbols, settings, n_shuffles=n_shuffles, threads=threads, progress=progress)
    traits = tree_traits(tree, study.symbols, study.postures, study.basis, study.measured.speed(study.postures))
    grown = dataclasses.replace(study, settings=settings, tree=tree, traits=traits)
    check_renames(grown)
    return grown


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


def simulate_animals(chain: MarkovChain, postures: Series, symbols: Symbols, settings: CompleteSettings) -> Series:
    """Walk the chain and unfold the postures of every walk."""
    walks = simulate_symbols(
        chain,
        settings.simulated_minutes * 60,
        n_walks=settings.n_walks,
        rng=generator(settings.seed, "walks"),
    )
    return unfold_postures(
        walks,
        postures,
        symbols,
        settings.n_delays,
        rng=generator(settings.seed, "postures"),
        method=settings.unfolding,
    )


def _paths(simulated: Series, basis: PostureBasis | None, settings: CompleteSettings, threads: int) -> AnimalPath:
    return propel(simulated, settings.drag_ratio, basis=basis, scheme=settings.scheme, threads=threads)


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


def _stage_reporter(progress: Progress | None) -> Callable[[str | None], None]:
    def report(stage: str | None) -> None:
        if progress is not None:
            done = STAGES.index(stage) if stage is not None else len(STAGES)
            progress(stage or STAGES[-1], done, len(STAGES))

    return report
