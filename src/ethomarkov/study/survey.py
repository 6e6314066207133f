"""The first pass over a source: posture basis, a bounded sample, and which animals there are."""

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ethomarkov._core.random import generator
from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov._core.series import Series
from ethomarkov._core.types import FloatArray, IntArray, Progress
from ethomarkov.exceptions import InputFormatError, SamplingError
from ethomarkov.model.labelling import fit_basis, project_postures
from ethomarkov.posture import PostureBasis
from ethomarkov.posture.basis import DEFAULT_SEGMENTS, feature_rows
from ethomarkov.recording import Recording, merge_recordings
from ethomarkov.recording.recording import RATE_TOLERANCE
from ethomarkov.recording.schema import KIND_WORDS, Kind
from ethomarkov.selection.choice import LONGEST_CHOSEN
from ethomarkov.study.source import MemorySource, Source, map_parts, read_part

SAMPLE_FRAMES = 1_000_000
"""Frames, at most, on which the microstates are found."""
EXAMPLE_FRAMES = 1_000_000
"""Frames, at most, of the whole animals that a study keeps."""
MOST_SHARES = 4
"""A file gives at most so many times the mean share of the sample, so that what waits to be joined is bounded."""
STRETCH_SEQUENCES = 10  # lengths of a sequence: nine tenths of the frames of a stretch begin a whole one


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey(Result):
    """What the first pass over a source learned.

    Parameters
    ----------
    files, animals
        Label of the file and name in it of every animal.
    frames, windows
        Frames with a complete posture, and posture sequences, of every animal; frames where the length of sequences is
        still to be chosen.
    sample
        Mode amplitudes of gap-free stretches from all files; None where all frames are at hand.
    """

    files: tuple[str, ...]
    animals: tuple[str, ...]
    frames: IntArray = array_field("animal")
    windows: IntArray = array_field("animal")
    sample: Series | None

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def has_clash(self) -> bool:
        """Whether animals of different files have the same name."""
        return len(set(self.animals)) < len(self.animals)


class Surveyed(NamedTuple):
    """What the first pass gives."""

    survey: Survey
    basis: PostureBasis | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveySettings:
    """What the first pass is asked for.

    Parameters
    ----------
    n_modes
        Posture modes to fit, at most.
    n_delays
        Frames per sequence; None where it is still to be chosen.
    seed
        Random seed of the sample.
    """

    n_modes: int
    n_delays: int | None
    seed: int


def survey_recording(recording: Recording, basis: PostureBasis | None, settings: SurveySettings) -> Surveyed:
    """Survey a recording that is in memory: nothing has to be drawn."""
    frames = recording.segments
    windows = frames if settings.n_delays is None else _sequences(frames, settings.n_delays)
    survey = Survey(
        files=("",) * len(recording.individuals),
        animals=recording.individuals,
        frames=frames.count_rows(),
        windows=windows.count_rows(),
        sample=None,
    )
    return Surveyed(survey, fit_basis(recording, settings.n_modes, basis))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stretch:
    """A gap-free piece of an animal's postures, and its place in the hash order."""

    key: float
    label: str
    individual: int
    start: int
    rows: FloatArray

    @property
    def order(self) -> tuple[float, str, int, int]:
        return self.key, self.label, self.individual, self.start


@dataclass(frozen=True, slots=True, kw_only=True)
class _Moments:
    """Mean and scatter of rows, which can be added up."""

    n: int
    mean: FloatArray
    scatter: FloatArray

    @classmethod
    def of(cls, rows: FloatArray) -> "_Moments":
        rows = rows[np.isfinite(rows).all(axis=1)].astype(float)
        mean = rows.mean(axis=0) if len(rows) else np.zeros(rows.shape[1])
        return cls(n=len(rows), mean=mean, scatter=(rows - mean).T @ (rows - mean))

    def __add__(self, other: "_Moments") -> "_Moments":
        n = max(self.n + other.n, 1)
        step = other.mean - self.mean
        return _Moments(
            n=self.n + other.n,
            mean=self.mean + step * (other.n / n),
            scatter=self.scatter + other.scatter + np.outer(step, step) * (self.n * other.n / n),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _SurveyTask:
    label: str
    file: Path
    read: Callable[[Path], Recording]
    settings: SurveySettings
    basis: PostureBasis | None
    most_frames: int
    below: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Surveyed:
    """What one file says."""

    label: str
    kind: Kind
    sampling: Sampling
    shape: tuple[int, ...]
    individuals: tuple[str, ...]
    frames: IntArray
    windows: IntArray
    moments: _Moments | None
    stretches: tuple[_Stretch, ...]


def survey_files(
    source: Source,
    basis: PostureBasis | None,
    settings: SurveySettings,
    *,
    threads: int = 1,
    progress: Progress | None = None,
) -> Surveyed:
    """Read every file once: fit the posture basis, and draw a sample of stretches.

    Every stretch has a random key that depends on the seed, its file, its animal and its place; those with the smallest
    keys make up the sample.

    Parameters
    ----------
    source
        Recording files.
    basis
        Posture modes; fitted where None.
    settings
        What is asked for.
    threads, progress
        See `map_tasks`.
    """
    files, limit = source.parts(), float("inf")
    share = min(SAMPLE_FRAMES, max(1, MOST_SHARES * SAMPLE_FRAMES // len(files)))
    # Tasks are made batch by batch, each with the limit that is known by then.
    tasks = (
        _SurveyTask(
            label=file.label,
            file=file.path or Path(),
            read=source.read,
            settings=settings,
            basis=basis,
            most_frames=share,
            below=limit,
        )
        for file in files
    )
    kept: list[_Stretch] = []
    facts: list[_Surveyed] = []
    total: _Moments | None = None
    for found in map_parts(_survey_file, tasks, ("reading", len(files)), threads, progress):
        _check_same(facts[0] if facts else found, found)
        if found.moments is not None:
            total = found.moments if total is None else total + found.moments
        if found.stretches:
            kept, limit = _first_by_key([*kept, *found.stretches], SAMPLE_FRAMES)
        facts.append(replace(found, moments=None, stretches=()))
    if total is not None:
        basis = _basis_of(total, settings.n_modes, facts)
    fitted = basis if total is not None else None
    survey = Survey(
        files=tuple(one.label for one in facts for _ in one.individuals),
        animals=tuple(name for one in facts for name in one.individuals),
        frames=np.concatenate([one.frames for one in facts]),
        windows=np.concatenate([one.windows for one in facts]),
        sample=_join_stretches(kept, fitted, facts[0].sampling),
    )
    return Surveyed(survey, basis)


def _survey_file(task: _SurveyTask) -> _Surveyed:
    recording = task.read(task.file)
    moments = None
    if recording.kind == "amplitude" or task.basis is not None:
        postures = project_postures(recording, task.settings.n_modes, task.basis)
    else:
        rows, runs = feature_rows(recording, DEFAULT_SEGMENTS), recording.segments
        moments = _Moments.of(rows)
        postures = Series.from_rows(rows, recording.sampling, runs.offsets, runs.individuals)
    n_delays = task.settings.n_delays or LONGEST_CHOSEN
    known = postures.segments if task.settings.n_delays is None else _sequences(postures.segments, n_delays)
    return _Surveyed(
        label=task.label,
        kind=recording.kind,
        sampling=recording.sampling,
        shape=recording.values.shape[1:],
        individuals=recording.individuals,
        frames=postures.segments.count_rows(),
        windows=known.count_rows(),
        moments=moments,
        stretches=tuple(_draw_stretches(postures, task, STRETCH_SEQUENCES * n_delays)),
    )


def _sequences(segments: Segments, n_delays: int) -> Segments:
    before = (n_delays - 1) // 2
    return segments.trim(before, n_delays - 1 - before)


def _draw_stretches(postures: Series, task: _SurveyTask, length: int) -> list[_Stretch]:
    """Cut gap-free runs into stretches, and take those of the smallest keys."""
    places = [
        (individual, first, min(first + length, stop))
        for start, stop, individual in postures.segments
        for first in range(start, stop, length)
    ]
    names, seed = postures.segments.individuals, task.settings.seed
    n_places = np.bincount([place[0] for place in places], minlength=len(names))
    drawn = [generator(seed, "sample", task.label, name).random(n) for name, n in zip(names, n_places, strict=True)]
    bare = [
        _Stretch(key=float(key), label=task.label, individual=k, start=first, rows=postures.values[first:stop])
        for key, (k, first, stop) in zip(np.concatenate(drawn), places, strict=True)
    ]
    chosen, _ = _first_by_key([one for one in bare if one.key < task.below], max(task.most_frames, length))
    return [replace(one, rows=np.array(one.rows)) for one in chosen]  # a view would hold the whole file


def _first_by_key(stretches: Sequence[_Stretch], n_frames: int) -> tuple[list[_Stretch], float]:
    """Keep the stretches of the smallest keys that fit, and tell from which key on none can ever fit."""
    ordered = sorted(stretches, key=lambda one: one.order)
    ends = np.cumsum([len(one.rows) for one in ordered])
    n_kept = int(np.searchsorted(ends, n_frames, side="right"))
    return ordered[:n_kept], ordered[n_kept].key if n_kept < len(ordered) else float("inf")


def _join_stretches(stretches: Iterable[_Stretch], basis: PostureBasis | None, sampling: Sampling) -> Series:
    """Put the sample in the order of files and times; a missing row keeps apart what did not touch.

    Parameters
    ----------
    stretches
        Of mode amplitudes, or of what `basis` was fitted to.
    basis
        To project on, if it was fitted.
    sampling
        Frames per second.
    """
    by_animal = itertools.groupby(
        sorted(stretches, key=lambda one: one.order[1:]), key=lambda one: (one.label, one.individual)
    )
    names, animals = [], []
    for (label, individual), group in by_animal:
        parts: list[FloatArray] = []
        end = None
        for one in group:
            rows = one.rows if basis is None else ((one.rows - basis.mean) @ basis.vectors).astype(np.float32)
            if end is not None and end != one.start:
                parts.append(np.full((1, rows.shape[1]), np.nan, dtype=np.float32))
            parts.append(rows)
            end = one.start + len(rows)
        names.append(f"{label}:{individual}")
        animals.append(np.concatenate(parts))
    if not animals:
        raise InputFormatError("No file holds a complete posture; check the files with `ethomarkov inspect`.")
    offsets = np.concatenate([[0], np.cumsum([len(rows) for rows in animals])])
    return Series.from_rows(np.concatenate(animals), sampling, offsets, tuple(names))


def _basis_of(total: _Moments, n_modes: int, facts: Sequence[_Surveyed]) -> PostureBasis:
    """Find the principal shapes from the scatter of all postures, as `PostureBasis.fit` does from the postures."""
    n_modes = min(n_modes, len(total.mean))
    if total.n <= n_modes:
        raise InputFormatError(f"{n_modes} modes were asked for; there are only {total.n} complete frames.")
    n_animals = sum(len(one.individuals) for one in facts)
    covariance = total.scatter / (total.n - 1)
    return PostureBasis.from_moments(total.mean, covariance, n_modes, kind=facts[0].kind, n_animals=n_animals)


def _check_same(one: _Surveyed, other: _Surveyed) -> None:
    if one.kind != other.kind or one.shape != other.shape:
        raise InputFormatError(
            f"{one.label} holds {KIND_WORDS[one.kind]} of shape {one.shape} and {other.label} "
            f"{KIND_WORDS[other.kind]} of shape {other.shape}. Give recordings of one kind and size."
        )
    if abs(one.sampling.rate / other.sampling.rate - 1) > RATE_TOLERANCE:
        raise SamplingError(
            f"{one.label} is sampled at {one.sampling.rate:g} Hz and {other.label} at {other.sampling.rate:g} Hz. "
            "Bring them to one rate with --resample."
        )


# --- whole animals that are kept ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _ExampleTask:
    file: Path
    prefix: str
    read: Callable[[Path], Recording]
    individuals: tuple[str, ...]


def choose_examples(survey: Survey, seed: int) -> IntArray:
    """Choose whole animals in a hash order until their frames fill what a study may keep; at least one.

    Parameters
    ----------
    survey
        Of all animals.
    seed
        Of the study.

    Returns
    -------
    chosen
        Indices of animals, ascending.
    """
    usable = np.flatnonzero(survey.windows > 0)
    keys = [float(generator(seed, "example", survey.files[i], survey.animals[i]).random()) for i in usable]
    order = usable[np.argsort(keys, kind="stable")]
    n_chosen = int(np.searchsorted(np.cumsum(survey.frames[order]), EXAMPLE_FRAMES, side="right"))
    return np.sort(order[: max(1, n_chosen)])


def read_examples(source: Source | MemorySource, survey: Survey, seed: int, threads: int = 1) -> Recording:
    """Read the whole animals that a study keeps: all of a recording in memory, else those that `choose_examples` names.

    Parameters
    ----------
    source, survey
        Of all animals.
    seed
        Of the study.
    threads
        Cores to use.
    """
    if isinstance(source, MemorySource):
        return source.recording
    chosen = choose_examples(survey, seed).tolist()
    wanted = {
        label: tuple(survey.animals[i] for i in group)
        for label, group in itertools.groupby(chosen, key=lambda i: survey.files[i])
    }
    tasks = [
        _ExampleTask(
            file=file.path or Path(),
            prefix=file.stem if survey.has_clash else "",
            read=source.read,
            individuals=wanted[file.label],
        )
        for file in source.parts()
        if file.label in wanted
    ]
    parts = map_parts(_read_example, tasks, ("examples", len(tasks)), threads, None)
    return merge_recordings(dict(zip(wanted, parts, strict=True)))


def _read_example(task: _ExampleTask) -> Recording:
    chosen = [f"{task.prefix}:{name}" if task.prefix else name for name in task.individuals]
    return read_part(task.read, task.file, task.prefix).select(chosen)
