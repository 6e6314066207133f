"""One study, from a recording to simulated paths."""

import dataclasses
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ethomarkov import __version__
from ethomarkov._core.ledger import Ledger
from ethomarkov._core.series import Series
from ethomarkov._core.types import Progress
from ethomarkov.coarse import Cut
from ethomarkov.coarse.naming import StateTraits
from ethomarkov.coarse.tree import StateTree
from ethomarkov.exceptions import InputFormatError
from ethomarkov.io.results import load_group_attrs, load_results, save_results
from ethomarkov.locomotion import Path as AnimalPath
from ethomarkov.markov import MarkovChain, Spectrum
from ethomarkov.markov.lag_scan import LagScan
from ethomarkov.markov.noise_floor import NoiseFloor
from ethomarkov.markov.selection import EntropyTable
from ethomarkov.posture import PostureBasis
from ethomarkov.recording import Recording
from ethomarkov.selection import ModelChoice
from ethomarkov.states import Microstates, Symbols
from ethomarkov.validation.simulation_choice import SimulationChoice
from ethomarkov.workflow.config import SETTINGS_FILE, CompleteSettings, Settings, write_settings
from ethomarkov.workflow.engine import KEY, Engine, PlannedStage, Shelf, Size, plan_stages
from ethomarkov.workflow.provenance import recording_inputs, write_provenance
from ethomarkov.workflow.stages import STAGES, Measured, choose_for, complete_settings
from ethomarkov.workflow.states import MACRO_LEVEL, check_renames, has_body_wave

STUDY_FILE = "study.nc"
STUDY_SCHEMA = "ethomarkov-study/3"
N_FIRST = 2
"""Stages before all settings are known: postures, and the choice that is made from them."""
FRAMES_PER_STATE = 150
"""Only to estimate times before the number of microstates is chosen."""
MACRO = MACRO_LEVEL
OPTIONAL = frozenset({"basis", "path", "scan", "lag_scan", "noise_floor"})
"""Results that a study may lack, because they do not apply or were not asked for."""


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
    simulated, simulation_choice
        Mode amplitudes of simulated animals, and how they were simulated.
    choice
        Why sequences, microstates and lag are what they are.
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
    keys
        Fingerprints of what the stages depend on, by which they are known again; none for stages that were made in
        another way than `run_study` makes them.
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
    simulation_choice: SimulationChoice
    choice: ModelChoice
    path: AnimalPath | None
    ledger: Ledger
    scan: EntropyTable | None = None
    lag_scan: LagScan | None = None
    noise_floor: NoiseFloor | None = None
    keys: Mapping[str, str] = field(default_factory=dict)

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

    def results(self) -> dict[str, Any]:
        """Give all results of the stages by name; None for those that the study lacks."""
        return {name: getattr(self, name) for stage in STAGES for name in stage.gives}

    def save(self, directory: Path) -> Path:
        """Write ``study.nc`` into a directory and return its path. Equal studies make equal bytes."""
        results = self.results()
        named = {
            f"{stage.name}/{name}": results[name]
            for stage in STAGES
            for name in stage.gives
            if results[name] is not None
        }
        attrs = {
            "schema": STUDY_SCHEMA,
            "settings": self.settings.model_dump_json(),
            "version": __version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
        }
        keys = {stage.name: {KEY: self.keys[stage.name]} if stage.name in self.keys else {} for stage in STAGES}
        target = directory / STUDY_FILE
        save_results(target, named, attrs, keys)
        return target

    @classmethod
    def load(cls, directory: Path | str) -> "Study":
        """Read a study back, from its directory or its file."""
        file = Path(directory)
        file = file / STUDY_FILE if file.is_dir() else file
        attrs = _study_attrs(file)
        kinds = {f"{stage.name}/{name}": kind for stage in STAGES for name, kind in stage.gives.items()}
        parts = load_results(file, kinds)
        keys = {name: found[KEY] for name, found in attrs.items() if KEY in found}
        results: dict[str, Any] = {where.partition("/")[2]: parts.get(where) for where in kinds}
        missing = [name for name, result in results.items() if result is None and name not in OPTIONAL]
        if missing:
            raise InputFormatError(f"{file}: lacks {', '.join(missing)}. Run it again.")
        return cls(settings=_stored_settings(file, attrs[""]), keys=keys, **results)


def _study_attrs(file: Path) -> dict[str, dict[str, Any]]:
    """Read what a study file says about itself and its stages, checking that it is one."""
    if not file.exists():
        raise InputFormatError(f"{file}: no study there. Make one with `ethomarkov run FILES --out DIRECTORY`.")
    attrs = load_group_attrs(file)
    schema = attrs[""].get("schema")
    if schema != STUDY_SCHEMA:
        raise InputFormatError(
            f"{file}: is not a study of this version (schema {schema!r}, {STUDY_SCHEMA!r} is needed). "
            "Name the directory that `ethomarkov run` wrote, or run it again."
        )
    return attrs


def _stored_settings(file: Path, attrs: Mapping[str, Any]) -> CompleteSettings:
    try:
        return CompleteSettings.model_validate_json(attrs["settings"])
    except (KeyError, ValueError) as error:
        raise InputFormatError(f"{file}: its settings are not those of this version. Run it again.") from error


def run_study(
    recording: Recording,
    settings: Settings | None = None,
    *,
    basis: PostureBasis | None = None,
    directory: Path | None = None,
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
    directory
        Where every stage is kept as soon as it is complete, and the study in the end. Run again after any
        interruption, or with other settings, it computes only what is not there yet. Nothing is written by default.
    threads
        Cores to use; the result does not depend on it.
    progress
        Called as the work goes on.
    """
    settings = settings or Settings()
    given = {"recording": recording, "given_basis": basis}
    expected = expected_seconds(recording, settings, threads)
    if directory is None:
        return run_stages(Engine(results=given, threads=threads, progress=progress, expected=expected), settings)
    shelf = Shelf(directory, STUDY_FILE, STAGES)
    engine = Engine(results=given, shelf=shelf, threads=threads, progress=progress, expected=expected)
    with shelf.locked(), shelf.spared(engine):
        study = run_stages(engine, settings)
        if not is_written(study, directory):
            write_settings(directory / SETTINGS_FILE, study.settings)
            study.save(directory)
        write_provenance(directory, study.settings, engine, recording_inputs(recording, basis))
    shelf.clear()
    return study


def plan_study(
    recording: Recording,
    settings: Settings,
    *,
    basis: PostureBasis | None = None,
    directory: Path,
    threads: int = 1,
) -> Sequence[PlannedStage]:
    """Tell what a run would compute, and about how long it would take; nothing is computed or written.

    Parameters
    ----------
    recording, settings, basis, directory, threads
        As for `run_study`.
    """
    expected = expected_seconds(recording, settings, threads)
    engine = Engine(results={"recording": recording, "given_basis": basis}, shelf=Shelf(directory, STUDY_FILE, STAGES))
    planned = list(plan_stages(STAGES[:N_FIRST], settings, engine, expected))
    if "postures" in engine.results and settings.is_complete:  # then nothing is compared
        engine.results["choice"] = choose_for(settings, engine.results["postures"])
    if "choice" in engine.results:
        settings = complete_settings(settings, engine.results["postures"], engine.results["choice"])
    return [*planned, *plan_stages(STAGES[N_FIRST:], settings, engine, expected)]


def run_stages(engine: Engine, settings: Settings) -> Study:
    """Run all stages of a study, filling in the settings that are chosen from the postures."""
    for stage in STAGES[:N_FIRST]:
        engine.run(stage, settings)
    chosen = complete_settings(settings, engine.results["postures"], engine.results["choice"])
    for stage in STAGES[N_FIRST:]:
        engine.run(stage, chosen)
    results = {name: engine.results[name] for stage in STAGES for name in stage.gives}
    study = Study(settings=chosen, keys=dict(engine.keys), **results)
    check_renames(study)
    return study


def is_written(study: Study, directory: Path) -> bool:
    """Tell whether the directory holds this very study already."""
    try:
        attrs = load_group_attrs(directory / STUDY_FILE)
    except InputFormatError:
        return False
    keys = {name: found[KEY] for name, found in attrs.items() if KEY in found}
    return keys == study.keys and attrs[""].get("settings") == study.settings.model_dump_json()


def expected_seconds(recording: Recording, settings: Settings, threads: int) -> dict[str, float]:
    """Estimate the time of every stage."""
    segments = recording.segments
    guess = settings.n_states or max(2, min(1000, segments.n_rows // FRAMES_PER_STATE))
    sizes = [
        Size(n_frames=segments.n_rows, n_animals=segments.n_individuals, settings=used, threads=threads)
        for used in (settings, settings.model_copy(update={"n_states": guess}))
    ]
    return {stage.name: stage.seconds(sizes[k >= N_FIRST]) for k, stage in enumerate(STAGES)}


def regrow_study(
    study: Study, changes: Mapping[str, Any], *, threads: int = 1, progress: Progress | None = None
) -> Study:
    """Give a study a new tree of states, with names, and leave all else as it is.

    Parameters
    ----------
    study
        To begin with.
    changes
        Settings that concern the tree: `n_behaviours`, `min_measure`, `n_resamples`, `names`.
    threads, progress
        See `map_tasks`.
    """
    settings = CompleteSettings.model_validate(study.settings.model_dump() | dict(changes))
    engine = Engine(results=study.results(), threads=threads, progress=progress)
    stage = next(stage for stage in STAGES if stage.name == "states")
    engine.run(stage, settings)
    found = {name: engine.results[name] for name in stage.gives}
    grown = dataclasses.replace(study, settings=settings, keys={**study.keys, **engine.keys}, **found)
    check_renames(grown)
    return grown
