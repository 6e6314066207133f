"""Second pass over a source: microstates of every frame, transitions of all animals, and shares of time."""

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from ethomarkov import __version__
from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.types import BoolArray, FloatArray, IntArray, Progress
from ethomarkov._core.words import count_of
from ethomarkov.exceptions import EthomarkovError, InputFormatError
from ethomarkov.io.digest import digest
from ethomarkov.io.results import load_attrs, load_results, save_results
from ethomarkov.markov import MarkovChain, entropy_rate
from ethomarkov.markov.counts import count_transitions
from ethomarkov.model.labelling import label_recording
from ethomarkov.posture import PostureBasis
from ethomarkov.recording import Recording
from ethomarkov.states import Microstates, Symbols
from ethomarkov.study.source import Source, map_parts, read_part
from ethomarkov.study.store import note_damage
from ethomarkov.study.survey import Survey
from ethomarkov.study.version import code_version

if TYPE_CHECKING:
    import pandas as pd

LABELS_SCHEMA = "ethomarkov-labels/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts(Result):
    """Transitions of all animals, and the amount of data of each.

    Parameters
    ----------
    lagged
        Transitions of all animals at the lag.
    framewise
        Transitions of all animals from frame to frame.
    individuals
        Names of the animals, prefixed with their file where they collide.
    files
        Labels of their files.
    frames
        Number of complete postures of every animal.
    windows
        Number of posture sequences of every animal.
    transitions
        Number of pairs of posture sequences one lag apart of every animal.
    entropy_rates
        Entropy rate of the animal's own chain from frame to frame; NaN with fewer sequences than microstates.
    visits
        Number of sequences of every animal (row) in each microstate.
    """

    lagged: sparse.csr_array
    framewise: sparse.csr_array
    visits: sparse.csr_array
    individuals: tuple[str, ...]
    files: tuple[str, ...]
    frames: IntArray = array_field("individual")
    windows: IntArray = array_field("individual")
    transitions: IntArray = array_field("individual")
    entropy_rates: FloatArray = array_field("individual", unit="nat/s")

    def __post_init__(self) -> None:
        freeze_arrays(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnimalTable(Result):
    """Amount of data, entropy rate and shares of time of every animal.

    Parameters
    ----------
    individuals
        Names of the animals.
    files
        Labels of their files; empty for a recording in memory.
    is_example
        Whether the study holds the animal's frames; all others only enter the chain.
    frames
        Number of complete postures of every animal.
    windows
        Number of posture sequences of every animal.
    transitions
        Number of pairs of posture sequences one lag apart of every animal.
    entropy_rates
        Entropy rate of the animal's own chain from frame to frame; NaN with fewer sequences than microstates.
    shares
        Share of the animal's time in each state of the finest level; NaN where it has no sequence in any.
    entropy_rate
        Entropy rate of the chain of all animals from frame to frame.
    n_unseen
        Number of microstates left out of the chain because no example visits them, so that nothing could be simulated
        there.
    """

    individuals: tuple[str, ...]
    files: tuple[str, ...]
    is_example: BoolArray = array_field("individual")
    frames: IntArray = array_field("individual")
    windows: IntArray = array_field("individual")
    transitions: IntArray = array_field("individual")
    entropy_rates: FloatArray = array_field("individual", unit="nat/s")
    shares: FloatArray = array_field("individual", "state")
    entropy_rate: float
    n_unseen: int

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def headline(self) -> str:
        """Give the number of animals and frames."""
        return f"{count_of(len(self.individuals), 'animal')}, {count_of(int(self.frames.sum()), 'frame')}"

    def table(self) -> "pd.DataFrame":
        """List the animals: amount of data, entropy rate, and share of time in each state of the finest level."""
        import pandas as pd

        n_animals = len(self.frames)
        shares = {f"share_{k + 1}": self.shares[:, k] for k in range(self.shares.shape[1])}
        return pd.DataFrame(
            {
                "individual": [*self.individuals, *[""] * n_animals][:n_animals],
                "file": [*self.files, *[""] * n_animals][:n_animals],
                "is_example": self.is_example,
                "frames": self.frames,
                "windows": self.windows,
                "transitions": self.transitions,
                "entropy_rate_nat_per_s": self.entropy_rates,
                **shares,
            }
        )

    @property
    def is_whole(self) -> bool:
        """Whether the study holds the frames of all its animals."""
        return bool(self.is_example.all())


@dataclass(frozen=True, slots=True, kw_only=True)
class _LabelTask:
    file: Path
    prefix: str
    read: Callable[[Path], Recording]
    label: Callable[[Recording], Symbols]
    lag_frames: int
    target: Path
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Frames:
    """Complete postures of each animal of a file, which its labels no longer tell."""

    complete: IntArray = array_field("individual")


def count_files(
    source: Source,
    survey: Survey,
    how: tuple[PostureBasis | None, Microstates, int],
    lag_frames: int,
    *,
    threads: int = 1,
    progress: Progress | None = None,
) -> Counts:
    """Label the frames of every file, write the labels, and add up the transitions.

    Parameters
    ----------
    source
        Recording files, and where their labels go; those already there of the same making are taken as they are.
    survey
        Of these files.
    how
        Basis, microstates and frames per sequence, by which frames are labelled; see `label_recording`.
    lag_frames
        Frames of the lag.
    threads, progress
        See `map_tasks`.
    """
    parts, prefixed, (basis, microstates, n_delays) = source.parts(), survey.has_clash, how
    label = functools.partial(label_recording, basis=basis, microstates=microstates, n_delays=n_delays)
    # The lag is no part of it: labels serve any.
    common = digest((how, source.reading, prefixed, code_version(count_files)))
    tasks = (
        _LabelTask(
            file=part.path or Path(),
            prefix=part.stem if prefixed else "",
            read=source.read,
            label=label,
            lag_frames=lag_frames,
            target=source.labels / part.labels_name,
            key=digest((common, part.state())),
        )
        for part in parts
    )
    empty, nobody = sparse.csr_array((microstates.n_states,) * 2), sparse.csr_array((0, microstates.n_states))
    lagged, framewise, visits, rows = empty, empty, [], []
    for found in map_parts(_label_file, tasks, ("labels", len(parts)), threads, progress):
        lagged, framewise = lagged + found.lagged, framewise + found.framewise
        visits.append(found.visits)
        rows.append(replace(found, lagged=empty, framewise=empty, visits=nobody))
    names = ("frames", "windows", "transitions", "entropy_rates")
    columns: dict[str, Any] = {name: np.concatenate([getattr(row, name) for row in rows]) for name in names}
    return Counts(
        lagged=lagged.tocsr(),
        framewise=framewise.tocsr(),
        visits=sparse.vstack(visits, format="csr"),
        individuals=tuple(name for row in rows for name in row.individuals),
        files=survey.files,
        **columns,
    )


def _label_file(task: _LabelTask) -> Counts:
    if _is_of_key(task.target, task.key):
        parts = load_results(task.target, {"symbols": Symbols, "frames": _Frames})
        return count_symbols(parts["symbols"], parts["frames"].complete, task.lag_frames)
    recording = read_part(task.read, task.file, task.prefix)
    symbols, complete = task.label(recording), recording.segments.count_rows()
    attrs = {"schema": LABELS_SCHEMA, "key": task.key, "source_file": task.file.name, "version": __version__}
    save_results(task.target, {"symbols": symbols, "frames": _Frames(complete=complete)}, attrs)
    return count_symbols(symbols, complete, task.lag_frames)


def _is_of_key(file: Path, key: str) -> bool:
    """Tell whether a file of an earlier run is there, whole, and of the same making."""
    if not file.exists():
        return False
    try:
        return load_attrs(file).get("key") == key
    except InputFormatError:
        note_damage(file)
        return False


def count_symbols(symbols: Symbols, frames: IntArray, lag_frames: int) -> Counts:
    """Count the transitions of labelled animals, and the amount of data of each.

    Parameters
    ----------
    symbols
        Microstate of every frame.
    frames
        Complete postures of every animal.
    lag_frames
        Frames of the lag.
    """
    windows = symbols.segments.count_rows()
    firsts = symbols.segments.pairs(lag_frames)[0]
    rates = [
        _own_entropy_rate(symbols.mask(i)) if windows[i] >= symbols.n_states else np.nan for i in range(windows.size)
    ]
    names = symbols.segments.individuals
    return Counts(
        lagged=count_transitions(symbols, lag_frames),
        framewise=count_transitions(symbols, 1),
        visits=_count_visits(symbols),
        individuals=names,
        files=("",) * len(names),
        frames=frames,
        windows=windows,
        transitions=np.bincount(symbols.segments.row_individual[firsts], minlength=len(names)),
        entropy_rates=np.array(rates, dtype=float),
    )


def _count_visits(symbols: Symbols) -> sparse.csr_array:
    known, shape = symbols.segments.valid, (symbols.segments.n_individuals, symbols.n_states)
    place = symbols.segments.row_individual[known], symbols.labels[known]
    return sparse.csr_array((np.ones(int(known.sum())), place), shape)


def _own_entropy_rate(symbols: Symbols) -> float:
    try:
        return entropy_rate(MarkovChain.from_symbols(symbols, symbols.sampling.interval))
    except EthomarkovError:  # an animal that comes back to no state has no chain of its own
        return float("nan")


def time_shares(visits: sparse.csr_array, group: IntArray) -> FloatArray:
    """Measure the share of time of every animal in each state; NaN for animals without any, as `time_budget` does.

    Parameters
    ----------
    visits
        Of every animal (row) in each microstate.
    group
        State of every microstate; ``-1`` for those in none.
    """
    members = group[:, None] == np.arange(int(group.max()) + 1)
    frames = np.asarray(visits @ members.astype(float))
    total = frames.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(frames, total, out=np.full(frames.shape, np.nan), where=total > 0))
