"""A study: a keyed graph of results, from recordings to simulated paths, and all that is asked of it later."""

import contextlib
import dataclasses
import difflib
import importlib
import inspect
import json
import platform
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ethomarkov import __version__
from ethomarkov._core.ledger import Ledger
from ethomarkov._core.series import Series
from ethomarkov._core.showing import name_and_rows
from ethomarkov._core.types import Progress
from ethomarkov._core.words import count_of
from ethomarkov.coarse import Cut
from ethomarkov.coarse.dwell_laws import ExponentialSum
from ethomarkov.coarse.naming import StateTraits, rename
from ethomarkov.coarse.smoothing import SmoothStates
from ethomarkov.coarse.tree import StateTree
from ethomarkov.exceptions import EthomarkovError, EthomarkovWarning, InputFormatError
from ethomarkov.foraging.states import Foraging
from ethomarkov.io.digest import digest
from ethomarkov.io.results import load_group_attrs
from ethomarkov.locomotion import Trajectory
from ethomarkov.markov import MarkovChain, Spectrum
from ethomarkov.markov.lag_scan import LagScan
from ethomarkov.markov.noise_floor import NoiseFloor
from ethomarkov.markov.selection import EntropyTable
from ethomarkov.model.behaviour import MACRO, BehaviourModel
from ethomarkov.model.kinetics import Kinetics
from ethomarkov.model.names import check_renames, given_names, has_body_wave, traits_at
from ethomarkov.model.paths import Reconstruction
from ethomarkov.model.stability import SeedStability
from ethomarkov.posture import PostureBasis
from ethomarkov.recording import Recording
from ethomarkov.recording.measured import Measured
from ethomarkov.selection import ModelChoice
from ethomarkov.states import Microstates, Symbols
from ethomarkov.states.projection import SequenceMap
from ethomarkov.study import analyses
from ethomarkov.study.analyses import ANALYSES, DwellLaws, Timescales
from ethomarkov.study.asking import Analysis, Stored
from ethomarkov.study.circulation import Circulation
from ethomarkov.study.circulation import circulation as net_transitions
from ethomarkov.study.counts import AnimalTable
from ethomarkov.study.files import find_study
from ethomarkov.study.frames import frame_dataset, frame_table, overview, study_bouts, to_movement
from ethomarkov.study.graph import Graph, PlannedStage
from ethomarkov.study.provenance import PROVENANCE_FILE, read_inputs, write_provenance
from ethomarkov.study.renaming import renamed
from ethomarkov.study.settings import SETTINGS_FILE, CompleteSettings, Settings, write_settings
from ethomarkov.study.source import AnySource, MemorySource, Source
from ethomarkov.study.stage import Stage
from ethomarkov.study.stages import CORE
from ethomarkov.study.store import Entry, Store
from ethomarkov.validation.ensembles import EACH, AnimalRunSet, RunSet
from ethomarkov.validation.simulation_choice import SimulationChoice
from ethomarkov.validation.splits import CrossValidation
from ethomarkov.validation.validate import Predictions, Validation

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from ethomarkov.figures.layout import Drawn
    from ethomarkov.model.application import Application

STAGES: tuple[Stage, ...] = (*CORE, *ANALYSES)
"""Everything that can be computed; to add an analysis is to add its function here."""
KEPT = tuple(one for one in CORE if one.is_kept)
"""Stages in the file of a study."""
STUDY_SCHEMA = "ethomarkov-study/5"
LABELS_FOLDER = "labels"
WORTH_KEEPING = 5.0
"""Seconds of work below which nothing is kept of it if it ends with an error."""
GUESSES = {
    "transition_matrix": "It is study.chain.transition.",
    "timescales": "They are study.spectrum.relaxation_times; study.relaxation_times() measures them above noise.",
    "to_dataframe": "Use study.frames() for a row per frame, study.bouts() for a row per bout, or table() of a result.",
    "to_pandas": "Use study.frames() for a row per frame, study.bouts() for a row per bout, or table() of a result.",
    "simulate": "Use study.model.simulate(duration=600, n_runs=10) for postures, study.runs() for runs of all animals.",
    "ethogram": "Use study.plot.ethogram().",
    "validate": "Use study.validation().",
    "forage": "Use study.foraging().",
    "recording": "A study holds postures, study.postures; recordings are read by ethomarkov.read(files).",
}
"""Names that one could guess, and where to find what is meant."""
TREE_SETTINGS = ("n_behaviours", "min_measure", "n_resamples", "names")
"""Settings that `ethomarkov states` changes."""
DEFAULT_SETTINGS = Settings()
NOTHING_ELSE: Mapping[str, Any] = {}
VIEWS, PLOTS = "ethomarkov.notebook.views", "ethomarkov.notebook.plots"
"""Modules that show a study. They lie above it, so that they are named here and imported when somebody looks."""


class Study:
    """Everything that is known of some animals; what is not computed yet is computed when it is asked for.

    Results of a study that lies in a directory are read when they are needed, and new ones are kept there.

    Parameters
    ----------
    graph
        Of stages.

    Examples
    --------
    >>> from ethomarkov.synthetic import simulate_worms
    >>> worms = simulate_worms(2, 60.0, seed=1)
    >>> settings = Settings(n_delays=4, n_states=8, lag=0.5, n_walks=1, simulated_minutes=0.1, scan=False)
    >>> study = run_study(worms.recording, settings, basis=worms.basis)
    >>> study.chain.lag
    0.5
    """

    def __init__(self, graph: Graph) -> None:
        if not isinstance(graph, Graph):
            raise InputFormatError(
                f"A study is not made from a {type(graph).__name__}. Load it with `ethomarkov.load(directory)`, or run "
                "it with `ethomarkov.run(recordings)`."
            )
        self.graph = graph

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 (nothing)
        if name.startswith("_") or name == "graph" or hasattr(type(self), name):  # the last: an error inside of it
            return object.__getattribute__(self, name)
        close = difflib.get_close_matches(name, dir(self), n=3)
        hint = GUESSES.get(name, f"Did you mean {' or '.join(close)}?" if close else "`dir(study)` lists what it has.")
        raise AttributeError(f"A study has no attribute {name!r}. {hint}")

    # --- settings and results of every study --------------------------------------------------------------------------

    @property
    def settings(self) -> CompleteSettings:
        """The choices, with those made from the data filled in."""
        return self.graph.completed()

    @property
    def directory(self) -> Path | None:
        """Where results are kept; None for a study in memory."""
        return None if self.graph.store is None else self.graph.store.directory

    postures: Stored[Series] = Stored("Mode amplitudes of the animals that the study holds.")
    basis: Stored[PostureBasis | None] = Stored("Shapes of the modes; None for amplitudes that came without one.")
    measured: Stored[Measured] = Stored("Measured paths and body lengths.")
    choice: Stored[ModelChoice] = Stored("Why sequences, microstates and lag are what they are.")
    scan: Stored[EntropyTable | None] = Stored("Entropy rates over K and N; None where they were not asked for.")
    microstates: Stored[Microstates] = Stored("The partition of posture sequences.")
    symbols: Stored[Symbols] = Stored("Microstate of every frame.")
    chain: Stored[MarkovChain] = Stored("The Markov chain of all animals at the lag τ.")
    spectrum: Stored[Spectrum] = Stored("Slow modes of the chain.")
    ledger: Stored[Ledger] = Stored("What was lost on the way, per animal and step.")
    lag_scan: Stored[LagScan] = Stored("Relaxation times of each animal against the lag.")
    noise_floor: Stored[NoiseFloor] = Stored("Relaxation times of shuffled state sequences at the lag.")
    cut: Stored[Cut] = Stored("The first division, into two macrostates.")
    tree: Stored[StateTree] = Stored("States at every level.")
    traits: Stored[StateTraits] = Stored("What the body does in each node of the tree.")
    animals: Stored[AnimalTable] = Stored("All animals that the study is about, and of which it holds the frames.")
    simulated: Stored[Series] = Stored("Mode amplitudes of simulated animals.")
    simulation_choice: Stored[SimulationChoice] = Stored("How animals are simulated, and why so.")
    path: Stored[Trajectory | None] = Stored("Paths of simulated animals; None for postures without a body.")
    model: Stored[BehaviourModel] = Stored("What was learned, as one model.")

    # --- what they say together ---------------------------------------------------------------------------------------

    @property
    def is_worm(self) -> bool:
        """Whether the postures describe a body wave: tangent angles in at least three modes."""
        return has_body_wave(self.basis, self.postures)

    @property
    def finest(self) -> int:
        """Number of states at the finest level of the tree."""
        return max(self.tree.levels)

    @property
    def individuals(self) -> tuple[str, ...]:
        """Names of the animals whose frames the study holds."""
        return self.postures.segments.individuals

    def states(self, level: int = MACRO) -> Symbols:
        """State of every frame at a level of the tree, by default the two macrostates, the larger first."""
        return self.symbols.relabel(self.tree.states_at(level))

    def names(self, level: int | None = None) -> tuple[str, ...]:
        """Name the states of a level, the finest by default: by what the body does, or as the settings say."""
        level = self.finest if level is None else level
        given = self.given_names(level)
        return rename(given, {old: new for old, new in self.settings.names.items() if old in given})

    def given_names(self, level: int) -> tuple[str, ...]:
        """Name the states of a level by what the body does."""
        return given_names(self.tree, self.traits, level, is_worm=self.is_worm)

    def traits_at(self, level: int) -> StateTraits:
        """Give what the body does in the states of a level."""
        return traits_at(self.tree, self.traits, level)

    # --- frame by frame -----------------------------------------------------------------------------------------------

    def frames(self, level: int | None = None) -> "pd.DataFrame":
        """Tabulate every frame: individual, time in seconds, microstate, state, slow modes (φ), posture modes.

        Parameters
        ----------
        level
            Number of states; that of the finest level by default.
        """
        return frame_table(self, level)

    def bouts(self, level: int | None = None) -> "pd.DataFrame":
        """Tabulate the bouts of every state: individual, state, start, stop and duration in seconds, censored.

        A bout is censored where its beginning or its end was not seen: at a gap, or at an end of the recording.

        Parameters
        ----------
        level
            Number of states; that of the finest level by default.
        """
        return study_bouts(self, level).table()

    def to_xarray(self) -> "xr.Dataset":
        """Give the study frame by frame as a dataset of xarray, as the root of ``study.nc`` holds it."""
        return frame_dataset(self)

    def to_pynapple(self, level: int | None = None) -> dict[str, Any]:
        """Give the bouts of every animal as intervals of pynapple, by name, with the state of each.

        Parameters
        ----------
        level
            Number of states; that of the finest level by default.
        """
        return study_bouts(self, level).to_pynapple()

    def to_movement(self, level: int | None = None) -> "xr.Dataset":
        """Give measured centroids and states as a dataset of poses of movement.

        Parameters
        ----------
        level
            Number of states; that of the finest level by default.
        """
        return to_movement(self, level)

    # --- analyses -----------------------------------------------------------------------------------------------------

    free_choice: Analysis[ModelChoice] = Analysis(analyses.free_choice)
    entropy_scan: Analysis[EntropyTable] = Analysis(analyses.entropy_scan)
    relaxation_times: Analysis[Timescales] = Analysis(analyses.relaxation_times)
    sequence_map: Analysis[SequenceMap] = Analysis(analyses.sequence_map)
    kinetics: Analysis[Kinetics] = Analysis(analyses.kinetics)
    dwell_law: Analysis[DwellLaws] = Analysis(analyses.dwell_law)
    published_dwell_law: Analysis[ExponentialSum] = Analysis(analyses.published_dwell_law)
    smoothed_states: Analysis[SmoothStates] = Analysis(analyses.smoothed_states)
    circulation: Analysis[Circulation] = Analysis(net_transitions)
    seed_stability: Analysis[SeedStability] = Analysis(analyses.seed_stability)
    runs: Analysis[RunSet] = Analysis(analyses.runs)
    state_runs: Analysis[RunSet] = Analysis(analyses.state_runs)
    reconstruction: Analysis[Reconstruction] = Analysis(analyses.reconstruction)
    foraging: Analysis[Foraging] = Analysis(analyses.foraging)
    animal_runs: Analysis[AnimalRunSet] = Analysis(analyses.animal_runs)
    predictions: Analysis[Predictions] = Analysis(analyses.predictions)
    held_out_splits: Analysis[CrossValidation | None] = Analysis(analyses.held_out_splits)
    published_splits: Analysis[CrossValidation | None] = Analysis(analyses.published_splits)
    validation: Analysis[Validation] = Analysis(analyses.validation, ANALYSES)

    def compute(self, name: str, **options: Any) -> Any:  # noqa: ANN401 (any result)
        """Give the result of an analysis: from the store if it is there, else computed now and kept.

        Parameters
        ----------
        name
            Of the result, such as "foraging".
        options
            Settings of the analysis; see its function in `ethomarkov.study.analyses`.
        """
        options = self._as_given(self._at_level(name, options))
        if not self.graph.is_there(name, **options):
            with self.locked():  # two who ask for the same would write one log
                self.graph.bring([name], **options)
        return self._renamed(name, self.graph.result(name, **options))

    def held(self, name: str, **options: Any) -> Any | None:  # noqa: ANN401 (any result)
        """Give the latest result of an analysis of this very study, whoever asked for it; None where there is none.

        Parameters
        ----------
        name
            Of the result.
        options
            Settings that it must have been computed with; any by default.
        """
        return self._renamed(name, self.graph.held(name, **self._as_given(options)))

    def _at_level(self, name: str, options: dict[str, Any]) -> dict[str, Any]:
        """Ask at the finest level of the tree where a level is needed and none was named."""
        stage = next((one for one in self.graph.stages if one.name == name), None)
        is_open = stage is not None and stage.settings.get("level", 0) is inspect.Parameter.empty
        if options.get("level") is not None or not is_open:
            return options
        return {**options, "level": self.finest}

    def _as_given(self, options: dict[str, Any]) -> dict[str, Any]:
        """Ask for a renamed state by the name that it has by itself, since a new name costs no computing."""
        state, level = options.get("state"), options.get("level")
        if state is None or level is None:
            return options
        names = dict(zip(self.names(level), self.given_names(level), strict=True))
        if state not in (EACH, *names):
            raise InputFormatError(
                f"state is {state!r}; at the level of {level} states there are {', '.join(map(repr, names))}. Name "
                "one of these, or 'each'."
            )
        return {**options, "state": names.get(state, state)}

    def _renamed(self, name: str, result: Any) -> Any:  # noqa: ANN401 (any result)
        return renamed(result, self.settings.names, is_of_states=name == "state_runs")

    def working(self, threads: int = 1, progress: Progress | None = None) -> "Study":
        """Let what is computed from now on use some cores and tell its progress; gives the study itself."""
        self.graph.threads, self.graph.progress = threads, progress
        return self

    @property
    def results_folder(self) -> Path | None:
        """Where results of analyses are kept; None for a study in memory."""
        return None if self.graph.store is None else self.graph.store.parts

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep others from writing into the study's directory; a study in memory has none."""
        with _holding(self.graph):
            yield

    def keep_in(self, directory: Path) -> "Study":
        """Keep results of analyses in another directory from now on; gives the study itself."""
        self.graph.store = Store(directory)
        return self

    # --- views --------------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        width = max(len(name) for name, _ in self._lines())
        return "\n".join([self.headline(), *(f"  {name:<{width}}  {value}" for name, value in self._lines())])

    def _repr_html_(self) -> str:
        return name_and_rows("Study", self.headline().removeprefix("Study "), self._lines())

    def headline(self) -> str:
        """Give what the study is of in one line."""
        if not self.graph.is_there("postures"):
            return "Study of which nothing is computed yet"
        segments, rate = self.postures.segments, self.postures.sampling.rate
        animals = count_of(segments.n_individuals, "animal")
        return f"Study of {animals}, {segments.n_rows / rate / 60:.1f} min at {rate:g} Hz"

    def _lines(self) -> list[tuple[str, str]]:
        """List what is known of the study, computing nothing."""
        lines = []
        if self.graph.is_there("tree"):
            chosen, slowest = self.settings, self.spectrum.relaxation_times[:1]
            seconds = chosen.n_delays / self.postures.sampling.rate
            shares = zip(self.names(self.finest), self.tree.measures_at(self.finest), strict=True)
            lines = [
                ("sequences", f"{chosen.n_delays} frames ({seconds:.3g} s)"),
                ("microstates", f"{chosen.n_states}, lag {chosen.lag:.6g} s"),
                ("slowest relaxation", ", ".join(f"{time:.3g} s" for time in slowest) or "none"),
                ("states", ", ".join(f"{name} {share:.0%}" for name, share in shares)),
            ]
        return [*lines, ("directory", str(self.directory) if self.directory is not None else "in memory")]

    @property
    def plot(self) -> Any:  # noqa: ANN401 (lies above)
        """Pictures of the study by name, such as ``study.plot.tree()``; ``study.plot`` lists them."""
        return importlib.import_module(PLOTS).Plots(self)

    def summary(self) -> dict[str, Any]:
        """Give the key figures, as ``ethomarkov summary --json`` prints them."""
        found: dict[str, Any] = importlib.import_module("ethomarkov.report.summary").summarize(self)
        return found

    def figure(self, number: str | int) -> "Drawn":
        """Draw a figure of the paper for these animals, with its caption.

        Parameters
        ----------
        number
            As in the paper: 1 to 5, "S1" to "S10".
        """
        drawn: Drawn = importlib.import_module(VIEWS).draw_figure(self, number)
        return drawn

    def report(self, out: Path | str | None = None) -> Path:
        """Write the report, and give the path of the page.

        Parameters
        ----------
        out
            The page, or a directory for it; ``report.html`` in the study's own directory by default.
        """
        page: Path = importlib.import_module(VIEWS).write_report(self, out)
        return page

    def explore(self, out: Path | str | None = None, *, method: Literal["umap", "pca"] | None = None) -> Path:
        """Write the explorer, and give the path of the page.

        Parameters
        ----------
        out
            The page, or a directory for it; ``explorer.html`` in the study's own directory by default.
        method
            Of the map; by default the one that the study has, or else UMAP.
        """
        page: Path = importlib.import_module(VIEWS).write_explorer(self, out, method)
        return page

    def movie(self, kind: str = "postures", out: Path | str | None = None, **options: Any) -> Path:  # noqa: ANN401
        """Make a movie, and give its path.

        Parameters
        ----------
        kind
            "postures" shows data above a simulation, "crawl" a simulated animal that draws its path, "tour" a typical
            sequence of every state.
        out
            The file (.mp4 or .gif), or a directory for it; the study's own directory by default.
        options
            ``animal`` (name; the first by default) and ``seconds`` of "postures" and "crawl", ``level`` of a tour.
        """
        file: Path = importlib.import_module(VIEWS).write_movie(self, kind, out, **options)
        return file

    def apply(
        self,
        recordings: Any,  # noqa: ANN401 (files, arrays or a recording)
        out: Path | str | None = None,
        **reading: Any,  # noqa: ANN401 (how they are read)
    ) -> "Application":
        """Label new animals with the states of this study, and tell whether its model covers them.

        Parameters
        ----------
        recordings, reading
            Files, arrays or a `Recording`, at the study's sampling rate, and how they are read; see `ethomarkov.run`.
        out
            Directory in which the result is cached; None keeps it in memory.
        """
        found: Application = importlib.import_module(VIEWS).apply_model(self, recordings, out, reading)
        return found

    # --- changed studies ----------------------------------------------------------------------------------------------

    def replace(self, **results: Any) -> "Study":  # noqa: ANN401 (any results)
        """Give a study in memory with some of its results, or its settings, replaced by others."""
        settings = results.pop("settings", self.settings)
        kept = {name: self._result(name) for one in KEPT for name in one.gives} | results
        graph = Graph(stages=STAGES, asked=settings, settings=settings, size=self.graph.size)
        graph.adopt(kept, KEPT)
        return Study(graph)

    def regrow(self, names: Mapping[str, str] | None = None, **changes: Any) -> "Study":  # noqa: ANN401 (settings)
        """Give the study with another tree of states or new names; in its directory, these take the place of the old.

        Parameters
        ----------
        names
            From names that states have to new ones.
        changes
            Settings of the tree: ``n_behaviours=5`` states at the finest level, ``min_measure``, ``n_resamples``.

        Examples
        --------
        >>> from ethomarkov.synthetic import simulate_worms
        >>> settings = Settings(n_delays=4, n_states=8, lag=0.5, n_walks=1, simulated_minutes=0.1, scan=False)
        >>> worms = simulate_worms(2, 60.0, seed=1)
        >>> study = run_study(worms.recording, settings, basis=worms.basis)
        >>> new = study.regrow({study.names(2)[0]: "crawling"})
        >>> new.names(2)[0]
        'crawling'
        """
        return regrow_study(self, names or {}, **changes)

    def with_settings(self, **changes: Any) -> "Study":  # noqa: ANN401 (any settings)
        """Give the study under other settings, in the same directory; what depends on them is computed anew.

        Parameters
        ----------
        changes
            Settings by name, as of the tree: ``n_behaviours=5``.
        """
        asked = Settings.model_validate(self.graph.asked.model_dump() | changes)
        # what is chosen from the data may come out otherwise
        if any(name in one.settings for one in CORE if one.role == "first" for name in changes):
            return Study(self.graph.under(asked, None))
        settings = CompleteSettings.model_validate(self.settings.model_dump() | changes)
        return Study(self.graph.under(asked, settings))

    # --- files --------------------------------------------------------------------------------------------------------

    def save(self, directory: Path | str) -> Path:
        """Write ``study.nc`` into a directory and return its path. Equal studies make equal bytes."""
        store, entries = Store(Path(directory)), self.entries()
        results = {f"{one.name}/{name}": self._result(name) for one in KEPT for name in one.gives}
        frames = frame_dataset(self)
        attrs = {
            **frames.attrs,
            "schema": STUDY_SCHEMA,
            "settings": self.settings.model_dump_json(),
            "asked": self.graph.asked.model_dump_json(),
            "given": json.dumps(self.graph.digest_given()),
            "version": __version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
        }
        there = {name: one for name, one in results.items() if one is not None}
        store.save_whole(there, attrs, entries, overview(frames))
        return store.whole

    def entries(self) -> list[Entry]:
        """List what is known of the stages that the file of the study holds."""
        return [self.graph.entry(one.name) for one in KEPT]

    @classmethod
    def load(cls, directory: Path | str, stages: tuple[Stage, ...] = STAGES) -> "Study":
        """Read a study back, from its directory or its file; results are read when they are asked for.

        Parameters
        ----------
        directory
            Of the study, or its file.
        stages
            All that can be asked of it.
        """
        file = find_study(Path(directory))
        groups = _study_groups(file)
        store = Store(file.parent)
        entries = {name: Entry.from_attrs(name, attrs, file) for name, attrs in groups.items() if name}
        missing = [one.name for one in KEPT if one.name not in entries]
        if missing:
            raise InputFormatError(f"{file}: lacks {', '.join(missing)}. Run it again.")
        asked, settings, given = _stored_settings(file, groups[""])
        graph = Graph(stages=stages, asked=asked, settings=settings, given_digests=given, store=store, known=entries)
        study = cls(graph)
        segments = study.postures.segments
        graph.size = segments.n_rows, segments.n_individuals
        return study

    def _result(self, name: str) -> Any:  # noqa: ANN401 (any result)
        return self.graph.result(name)


def _study_groups(file: Path) -> dict[str, dict[str, Any]]:
    """Read what a study file says about itself and its stages, checking that it is one."""
    groups = load_group_attrs(file)
    schema = groups[""].get("schema")
    if schema != STUDY_SCHEMA:
        raise InputFormatError(
            f"{file}: is not a study of this version (schema {schema!r}, {STUDY_SCHEMA!r} is needed). Name the "
            "directory that `ethomarkov run` wrote; one of an earlier version has to be run again, into the same place."
        )
    return groups


def _stored_settings(file: Path, attrs: Mapping[str, Any]) -> tuple[Settings, CompleteSettings, dict[str, str]]:
    try:
        asked = Settings.model_validate_json(attrs["asked"])
        return asked, CompleteSettings.model_validate_json(attrs["settings"]), json.loads(attrs["given"])
    except (KeyError, ValueError) as error:
        raise InputFormatError(f"{file}: its settings are not those of this version. Run it again.") from error


# --- running ---------------------------------------------------------------------------------------------------------


def run_study(  # noqa: PLR0913 (what is run, where, and how)
    recording: Recording | Source,
    settings: Settings | None = None,
    *,
    basis: PostureBasis | None = None,
    directory: Path | str | None = None,
    stages: tuple[Stage, ...] = STAGES,
    given: Mapping[str, Any] = NOTHING_ELSE,
    threads: int = 1,
    progress: Progress | None = None,
) -> Study:
    """Run all stages of a study.

    Parameters
    ----------
    recording
        Of one animal or of many; or a source of files that are worked through a few at a time.
    settings
        Choices; the default chooses from the data.
    basis
        Posture modes; by default they are fitted to angles, centerlines and keypoints, and amplitudes are taken as they
        are.
    directory
        Where every stage is kept as soon as it is complete, and the study in the end. Run again after any
        interruption, or with other settings, it computes only what is not there yet. Nothing is written by default.
    stages
        All that can be asked of the study; the package's own by default.
    given
        What some of them need beside the recording, by name: the "truth" of synthetic worms.
    threads
        Cores to use; the result does not depend on it.
    progress
        Called as the work goes on.

    Examples
    --------
    >>> wave = np.sin(np.arange(800)[:, None] / 5 + np.arange(20) / 3) * (2 + np.sin(np.arange(800)[:, None] / 90))
    >>> recording = Recording.from_arrays(wave, rate=16.0)
    >>> settings = Settings(n_modes=3, n_delays=4, n_states=8, lag=0.5, n_walks=1, simulated_minutes=0.1, scan=False)
    >>> run_study(recording, settings).chain.n_states
    8
    """
    graph = _graph(recording, settings or DEFAULT_SETTINGS, basis, directory)
    graph = dataclasses.replace(graph, stages=stages, given={**graph.given, **given})
    graph.threads, graph.progress = threads, progress
    asked = graph.asked.names if "names" in graph.asked.model_fields_set else {}
    graph.asked = _remembered(graph)
    with written(graph):
        return finish_study(Study(graph), asked)


def begin_study(
    recording: Recording | Source,
    settings: Settings | None = None,
    *,
    basis: PostureBasis | None = None,
    directory: Path | str | None = None,
) -> Study:
    """Give a study of which nothing is computed before it is asked for; `run_study` takes over what is there.

    Parameters
    ----------
    recording, settings, basis, directory
        As for `run_study`.
    """
    return Study(_graph(recording, settings or DEFAULT_SETTINGS, basis, directory))


def regrow_study(study: Study, names: Mapping[str, str], **changes: Any) -> Study:  # noqa: ANN401 (settings)
    """Give a study another tree and new names, and write what changes into its directory.

    Parameters
    ----------
    study
        That was loaded from a directory.
    names
        From names that the study gives to new ones; earlier ones stay.
    changes
        Settings of the tree, see `Settings`.
    """
    grown = study.with_settings(names={**study.settings.names, **names}, **changes)
    with written(grown.graph):
        return finish_study(grown, names)


def apply_study(study: Study, recording: Recording, *, directory: Path) -> Study:
    """Set new recordings beside a study, to ask for "application"; results are kept in a directory of their own.

    Parameters
    ----------
    study
        With its model.
    recording
        Of new animals, at the study's sampling rate.
    directory
        Where results are kept.
    """
    given = {**study.graph.given, "applied": MemorySource(recording)}
    return Study(study.graph.with_given(given)).keep_in(directory)


def plan_study(
    recording: Recording | Source,
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
    graph = _graph(recording, settings, basis, directory)
    graph.threads = threads
    return graph.plan([name for one in KEPT for name in one.gives])


def _graph(
    recording: Recording | Source, settings: Settings, basis: PostureBasis | None, directory: Path | str | None
) -> Graph:
    """Make the graph of a study that is to be run."""
    home = None if directory is None else Path(directory)
    source: AnySource = MemorySource(recording) if isinstance(recording, Recording) else recording
    size = (0, 1)
    if isinstance(source, MemorySource):
        size = source.recording.segments.n_rows, source.recording.segments.n_individuals
    elif home is not None:
        source = dataclasses.replace(source, labels=home / LABELS_FOLDER)
        size = sum(file.stat().st_size for file in source.files) // 26, len(source.files)  # five numbers a frame
    store = None if home is None else Store(home)
    return Graph(stages=STAGES, asked=settings, given={"source": source, "given_basis": basis}, store=store, size=size)


def _remembered(graph: Graph) -> Settings:
    """Keep the tree and the names that a study in the same directory was given, as far as nothing else is said now.

    It must be the same study: of the same recordings, with the same settings otherwise.
    """
    attrs = {} if graph.store is None else graph.store.attrs()
    try:
        former, given = Settings.model_validate_json(attrs["asked"]), json.loads(attrs["given"])
    except (KeyError, ValueError):  # no study there, or one of another version
        return graph.asked
    of_tree = set(TREE_SETTINGS)
    free = of_tree - graph.asked.model_fields_set
    is_same = all(graph.given_digest(name) == given.get(name) for name in ("source", "given_basis"))
    if not is_same or former.model_dump(exclude=of_tree) != graph.asked.model_dump(exclude=of_tree):
        return graph.asked
    changed = {name: getattr(former, name) for name in free if getattr(former, name) != getattr(graph.asked, name)}
    if changed:
        said = ", ".join(f"{name} = {value!r}" for name, value in sorted(changed.items()))
        warnings.warn(
            f"The study keeps tree and names as they were set before: {said}.", EthomarkovWarning, stacklevel=3
        )
    return Settings.model_validate(graph.asked.model_dump() | changed)


def finish_study(study: Study, asked: Mapping[str, str] | None = None) -> Study:
    """Compute all that every study has, and refuse names for states that it does not have.

    Parameters
    ----------
    study
        To be computed.
    asked
        New names whose states must be there; all of its settings by default. Others wait until the tree has them.
    """
    study.graph.bring([name for one in KEPT for name in one.gives])
    given = {level: study.given_names(level) for level in study.tree.levels}
    check_renames(given, study.settings.names if asked is None else asked)
    for level in study.tree.levels:
        study.names(level)
    return study


@contextlib.contextmanager
def written(graph: Graph) -> Iterator[None]:
    """Hold the directory of a study while it is computed, then write what is new of it: file, settings, provenance."""
    with _holding(graph) as store:
        yield
        if store is not None:
            _write(Study(graph), store)


@contextlib.contextmanager
def _holding(graph: Graph) -> Iterator[Store | None]:
    """Hold the directory of a study; work that soon ends with an error leaves no trace in it."""
    store = graph.store
    if store is None:
        yield None
        return
    with store.locked():
        before, began = set(store.parts.glob("*")), time.monotonic()
        try:
            yield store
        except (EthomarkovError, OSError):
            if time.monotonic() - began < WORTH_KEEPING:
                for file in set(store.parts.glob("*")) - before:
                    file.unlink()
            raise


def _write(study: Study, store: Store) -> None:
    graph, entries = study.graph, study.entries()
    if not _is_written(study, store, entries):
        write_settings(store.directory / SETTINGS_FILE, study.settings)
        study.save(store.directory)
    write_provenance(store.directory, graph, entries, _inputs(graph, store.directory))
    store.drop_parts([one.name for one in KEPT])


def _is_written(study: Study, store: Store, entries: Sequence[Entry]) -> bool:
    """Tell whether the directory holds this very study already."""
    there, attrs = store.entries(), store.attrs()
    keys = {one.stage: one.key for one in entries}
    is_same = attrs.get("settings") == study.settings.model_dump_json()
    is_asked = attrs.get("asked") == study.graph.asked.model_dump_json()
    is_given = json.loads(attrs.get("given", "{}")).items() >= study.graph.digest_given().items()
    return is_same and is_asked and is_given and {name: one.key for name, one in there.items()} == keys


def _inputs(graph: Graph, directory: Path) -> dict[str, object]:
    """Give the fingerprints of what went in; of a study that was read back, those that were written before."""
    source = graph.given.get("source")
    if source is None:
        return read_inputs(directory / PROVENANCE_FILE)
    files: object = ""
    if isinstance(source, MemorySource):
        files = str(source.recording.dataset.attrs.get("source_file", ""))
    elif isinstance(source, Source):
        files = [part.state() for part in source.parts()]
    digests = graph.given_digests
    return {"recording": digests.get("source", ""), "files": files, "basis": digests.get("given_basis", digest(None))}
