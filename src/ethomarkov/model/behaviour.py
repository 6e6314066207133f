"""The model that is learned from recordings: basis, posture sequences, microstates, chain, tree of states."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ethomarkov._core.random import Rng, as_generator
from ethomarkov._core.result import Result
from ethomarkov._core.series import Series
from ethomarkov._core.words import count_of
from ethomarkov.coarse.naming import StateTraits
from ethomarkov.coarse.tree import StateTree
from ethomarkov.exceptions import ConnectivityError, InputFormatError, SamplingError
from ethomarkov.io.results import load_result, save_results
from ethomarkov.locomotion.resistive import Scheme
from ethomarkov.markov import MarkovChain
from ethomarkov.model.labelling import label_postures, project_postures
from ethomarkov.model.names import given_names, has_body_wave
from ethomarkov.posture import PostureBasis
from ethomarkov.recording import Recording
from ethomarkov.recording.measured import Measured
from ethomarkov.recording.recording import RATE_TOLERANCE
from ethomarkov.recording.schema import KIND_WORDS
from ethomarkov.simulation.animal import MarkovAnimal, Start
from ethomarkov.simulation.postures import UnfoldMethod
from ethomarkov.states import Microstates, Symbols

MACRO = 2
"""Level of the two macrostates."""
GROUP = "model"


@dataclass(frozen=True, slots=True, kw_only=True)
class BehaviourModel(Result):
    """A predictive model of behaviour, and the recordings that it was learned from.

    Parameters
    ----------
    basis
        Shapes of the posture modes; None for amplitudes that came without one.
    n_delays
        Frames per posture sequence, K.
    microstates
        Partition of the posture sequences.
    chain
        Markov chain of the microstates at the lag τ.
    tree
        States at every level.
    postures, symbols
        Mode amplitudes and microstates of the training animals; simulations are assembled from them.
    traits
        Movements of the body in each node of the tree, by which states are named; None where not computed.
    measured
        Measured paths and body lengths of these animals; None where not computed.
    step, passage
        Seconds of a step of simulated animals, and seconds for which they follow a recording; the lag where None.
    unfolding
        How simulated microstates become postures: "matched", or "paper" as published; see `unfold_postures`.
    drag_ratio, scheme
        Normal over tangential drag of the body, and how paths are integrated; see `propel`.

    Examples
    --------
    >>> from ethomarkov.synthetic import simulate_worms
    >>> from ethomarkov.study import Settings, run_study
    >>> worms = simulate_worms(2, 60.0, seed=1)
    >>> settings = Settings(n_delays=4, n_states=8, lag=0.5, n_walks=1, simulated_minutes=0.1, scan=False)
    >>> model = run_study(worms.recording, settings, basis=worms.basis).model
    >>> model.label(worms.recording).n_states
    8
    >>> model.simulate(duration=5.0, n_runs=2, rng=1).segments.n_individuals
    2
    >>> model.headline()
    '8 microstates of 4 frames, lag 0.5 s, 2 states, learned from 2 animals'
    """

    basis: PostureBasis | None
    n_delays: int
    microstates: Microstates
    chain: MarkovChain
    tree: StateTree
    postures: Series
    symbols: Symbols
    traits: StateTraits | None = None
    measured: Measured | None = None
    step: float | None = None
    passage: float | None = None
    unfolding: UnfoldMethod = "matched"
    drag_ratio: float = 30.0
    scheme: Scheme = "midpoint"

    # --- what it is about ---------------------------------------------------------------------------------------------

    @property
    def individuals(self) -> tuple[str, ...]:
        """Names of the training animals."""
        return self.symbols.segments.individuals

    @property
    def is_worm(self) -> bool:
        """Whether the postures describe a body wave: tangent angles in at least three modes."""
        return has_body_wave(self.basis, self.postures)

    @property
    def has_body(self) -> bool:
        """Whether postures are tangent angles, which have a path."""
        return self.basis is not None and self.basis.features == "angle"

    @property
    def finest(self) -> int:
        """Number of states at the finest level of the tree."""
        return max(self.tree.levels)

    def headline(self) -> str:
        """Give the number of microstates, states and training animals, and the lag."""
        n_delays, n_microstates = count_of(self.n_delays, "frame"), count_of(self.microstates.n_states, "microstate")
        n_states, n_animals = count_of(self.finest, "state"), count_of(len(self.individuals), "animal")
        return f"{n_microstates} of {n_delays}, lag {self.chain.lag:.3g} s, {n_states}, learned from {n_animals}"

    @property
    def steps(self) -> tuple[float, float]:
        """Seconds of a step and of a passage of simulated animals."""
        step = self.chain.lag if self.step is None else self.step
        return step, step if self.passage is None else self.passage

    def states(self, level: int = MACRO) -> Symbols:
        """Give the state of every frame at a level of the tree, by default the two macrostates, the larger first."""
        return self.symbols.relabel(self.tree.states_at(level))

    def names(self, level: int) -> tuple[str, ...]:
        """Name the states of a level by the movements of the body in them."""
        if self.traits is None:
            raise InputFormatError(
                "This model has no traits of its states, so they have no names. Use the model of a study (study.model)."
            )
        return given_names(self.tree, self.traits, level, is_worm=self.is_worm)

    def body_basis(self) -> PostureBasis:
        """Give the basis of tangent angles, which computes bodies from postures; raise if there is none."""
        if self.basis is None or not self.has_body:
            raise InputFormatError(
                "Paths need tangent angles along the body, and this study has none. For amplitudes, run it again with "
                "the shapes of their modes (--basis)."
            )
        return self.basis

    # --- new recordings -----------------------------------------------------------------------------------------------

    def project(self, recording: Recording) -> Series:
        """Compute the mode amplitudes of a new recording; raise if it does not fit the model."""
        self._check(recording)
        postures = project_postures(recording, self.postures.n_components, self.basis)
        longest = postures.segments.longest()
        if longest < self.n_delays:
            raise SamplingError(
                f"The longest gap-free stretch of the recording is {longest} frames; a posture sequence of the study "
                f"takes {self.n_delays}. Fill short gaps first (--fill-gaps), or give a longer recording."
            )
        return postures

    def label(self, recording: Recording | Series, *, threads: int = 1) -> Symbols:
        """Label every posture sequence of a new recording with its microstate.

        Parameters
        ----------
        recording
            At the model's sampling rate; or mode amplitudes, as from `project`.
        threads
            Cores to use; the result does not depend on it.
        """
        postures = self.project(recording) if isinstance(recording, Recording) else recording
        return label_postures(postures, self.microstates, self.n_delays, threads=threads)

    def _check(self, recording: Recording) -> None:
        here, there = recording.sampling.rate, self.postures.sampling.rate
        if abs(here / there - 1) > RATE_TOLERANCE:
            raise SamplingError(
                f"The recording is sampled at {here:g} Hz, the study at {there:g} Hz; one rate is needed. Bring it to "
                f"the study's rate: resample(recording, {there:g}), or --resample {there:g} on the command line."
            )
        n_modes = self.postures.n_components
        if recording.kind == "amplitude" and recording.values.shape[1] < n_modes:
            raise InputFormatError(
                f"The recording holds {recording.values.shape[1]} modes, the study was made with {n_modes}; at least "
                "as many are needed. Give recordings projected on all of its modes, or run the study again with fewer."
            )
        if self.basis is None and recording.kind != "amplitude":
            raise InputFormatError(
                f"The recording holds {KIND_WORDS[recording.kind]}, the study was made from mode amplitudes without "
                "their shapes. Give amplitudes of the same modes, or run the study again with --basis."
            )

    # --- simulated animals --------------------------------------------------------------------------------------------

    def animal(self, individual: int | None = None, *, start: Start = "first") -> MarkovAnimal:
        """Build the simulated counterpart of one individual, or of all together.

        Parameters
        ----------
        individual
            Its index; None for the ensemble of all.
        start
            Where walks begin; see `MarkovAnimal.from_symbols`.
        """
        symbols = self.symbols if individual is None else self.symbols.mask(individual)
        name = "all" if individual is None else self.individuals[individual]
        step, passage = self.steps
        return MarkovAnimal.from_symbols(
            name, symbols, self.postures, self.n_delays, step, passage=passage, start=start
        )

    def confined(self, level: int, state: int, *, start: Start = "first") -> MarkovAnimal:
        """Build a simulated animal that never leaves a state, learned from all individuals.

        Parameters
        ----------
        level, state
            Number of states at the level, and index of the state in it.
        start
            Where walks begin; see `MarkovAnimal.from_symbols`.
        """
        members = np.asarray(self.tree.states_at(level) == state)
        name, whole = self.names(level)[state], self.animal()
        try:
            return whole.confined(name, members, self.symbols, start=start)
        except ConnectivityError as error:
            raise ConnectivityError(
                f"{name!r} cannot be simulated alone: {error} Use a coarser level, or more microstates."
            ) from error

    def whole_steps(self, seconds: float) -> float:
        """Round a duration to a whole number of simulated steps, at least two."""
        step = self.steps[0]
        return max(2, round(seconds / step)) * step

    def simulate(self, duration: float, n_runs: int = 1, *, rng: Rng = 0, threads: int = 1) -> Series:
        """Simulate mode amplitudes of animals that follow the chain of all training animals.

        Parameters
        ----------
        duration
            Seconds of every run, to the nearest simulated step.
        n_runs
            Number of runs.
        rng, threads
            Random seed or generator, and cores; the postures do not depend on cores.
        """
        animal = self.animal(start="stationary")
        runs = animal.behave(
            self.whole_steps(duration),
            n_runs,
            method=self.unfolding,
            walks_per_block=n_runs,
            rng=as_generator(rng),
            threads=threads,
        )
        return next(runs)

    # --- files --------------------------------------------------------------------------------------------------------

    def save(self, path: Path | str) -> Path:
        """Write the model into one netCDF file; equal models make equal bytes."""
        target = Path(path)
        save_results(target, {GROUP: self}, {"schema": "ethomarkov-model/1"})
        return target

    @classmethod
    def load(cls, path: Path | str) -> "BehaviourModel":
        """Read a model that `save` wrote."""
        return load_result(Path(path), GROUP, cls)
