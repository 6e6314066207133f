"""A study of more recordings than fit into memory.

Files are read twice, a few at a time. The first pass fits the posture basis and draws a bounded sample, on which the
microstates are found; the second labels every file and counts its transitions. The chain, its spectrum and the tree of
states come from the counts of all animals; postures, simulations and what else needs frames come from a bounded number
of whole animals, the examples. Files are worked through in the order of their names and drawn by hash, so that neither
the order in which they are given nor the number of workers matters.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from ethomarkov import __version__
from ethomarkov._core.parallel import map_tasks
from ethomarkov._core.random import generator
from ethomarkov._core.result import array_field, freeze_arrays
from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov._core.series import Series
from ethomarkov._core.types import FloatArray, IntArray, Progress
from ethomarkov.exceptions import EthomarkovError, InputFormatError, SamplingError
from ethomarkov.io import read
from ethomarkov.io.digest import canonical, digest
from ethomarkov.io.results import load_attrs, load_results, save_results
from ethomarkov.markov import MarkovChain, entropy_rate, slow_spectrum
from ethomarkov.markov.counts import count_transitions
from ethomarkov.posture import PostureBasis
from ethomarkov.posture.basis import DEFAULT_SEGMENTS, feature_rows
from ethomarkov.recording import Recording, merge_recordings
from ethomarkov.recording.recording import RATE_TOLERANCE
from ethomarkov.recording.schema import INDIVIDUAL, KIND_WORDS, Kind
from ethomarkov.selection import ModelChoice
from ethomarkov.selection.choice import LONGEST_CHOSEN
from ethomarkov.states import DelayEmbedding, Microstates, Partition, Symbols
from ethomarkov.workflow.config import SETTINGS_FILE, CompleteSettings, Settings, write_settings
from ethomarkov.workflow.engine import Engine, Shelf, Stopwatch, note_damage
from ethomarkov.workflow.provenance import write_provenance
from ethomarkov.workflow.stages import (
    N_MODES,
    STAGES,
    choose_for,
    complete_settings,
    keep_ledger,
    measured_paths,
    project_postures,
)
from ethomarkov.workflow.states import check_renames, state_names
from ethomarkov.workflow.study import STUDY_FILE, Study

SAMPLE_FRAMES = 1_000_000
"""Frames, at most, on which the microstates are found."""
EXAMPLE_FRAMES = 1_000_000
"""Frames, at most, of the whole animals that a study keeps."""
MOST_SHARES = 4
"""A file gives at most so many times the mean share of the sample, so that what waits to be joined is bounded."""
STRETCH_SEQUENCES = 10  # lengths of a sequence: nine tenths of the frames of a stretch begin a whole one
BATCH_FILES = 256  # answers held at a time; enough to keep a hundred workers busy
LABELS_FOLDER, SURVEY_FILE = "labels", "survey.nc"
LABELS_SCHEMA = "ethomarkov-labels/1"

Task = TypeVar("Task")
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Recording files, and how they are read.

    Parameters
    ----------
    files
        In any order.
    read
        Reads one file; a function of a module, so that it can be sent to other computers.
    reading
        How files are read, in words; when it changes, nothing of an earlier run is used.
    """

    files: tuple[Path, ...]
    read: Callable[[Path], Recording] = read
    reading: str = ""

    def __post_init__(self) -> None:
        if not self.files:
            raise InputFormatError("No file was given; name at least one.")
        seen: set[Path] = set()
        for file in self.files:
            if not file.is_file():
                raise InputFormatError(f"{file}: no such file. Check the path.")
            if file.resolve() in seen:
                raise InputFormatError(f"{file}: named twice; name each file once.")
            seen.add(file.resolve())

    def listed(self) -> "tuple[SourceFile, ...]":
        """List the files in the order of their labels: names of files where these tell them apart, otherwise paths."""
        is_short = len({file.name for file in self.files}) == len(self.files)
        by_label = sorted((file.name if is_short else str(file), file) for file in self.files)
        is_bare = len({file.stem for file in self.files}) == len(self.files)
        return tuple(
            SourceFile(
                label=label,
                path=file,
                stem=file.stem if is_bare else label,
                labels_name=f"{file.stem}.nc" if is_bare else f"{file.stem}-{digest(label)[:8]}.nc",
            )
            for label, file in by_label
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """A recording file among others.

    Parameters
    ----------
    label
        Its name among the others.
    path
        Where it is.
    stem
        What animals are named after where their names collide.
    labels_name
        Name of the file of its labels.
    """

    label: str
    path: Path
    stem: str
    labels_name: str

    def state(self) -> tuple[str, int, int]:
        """Tell by what a change of the file shows, without reading it."""
        facts = self.path.stat()
        return self.label, facts.st_size, facts.st_mtime_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """What the first pass learned.

    Parameters
    ----------
    files, animals
        Label of the file and name in it of every animal.
    frames, windows
        Frames with a complete posture, and posture sequences, of every animal; frames where the length of sequences is
        still to be chosen.
    sample
        Mode amplitudes of gap-free stretches from all files.
    basis
        Posture modes, given or fitted; None for amplitudes that came without.
    """

    files: tuple[str, ...]
    animals: tuple[str, ...]
    frames: IntArray = array_field("animal")
    windows: IntArray = array_field("animal")
    sample: Series
    basis: PostureBasis | None

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def has_clash(self) -> bool:
        """Whether animals of different files have the same name."""
        return len(set(self.animals)) < len(self.animals)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnimalTable:
    """A few numbers of every animal.

    Parameters
    ----------
    individuals, files
        Names of the animals, and labels of their files.
    frames, windows, transitions
        Complete postures, posture sequences, and pairs of them one lag apart.
    entropy_rates
        Of the animal's own chain from frame to frame; NaN with fewer sequences than microstates.
    states
        Names of the states at the finest level of the tree.
    shares
        Share of the animal's time in each state; NaN where it has no sequence in any.
    """

    individuals: tuple[str, ...]
    files: tuple[str, ...]
    frames: IntArray = array_field("individual")
    windows: IntArray = array_field("individual")
    transitions: IntArray = array_field("individual")
    entropy_rates: FloatArray = array_field("individual", unit="nat/s")
    states: tuple[str, ...]
    shares: FloatArray = array_field("individual", "state")

    def __post_init__(self) -> None:
        freeze_arrays(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamedStudy:
    """A study of all animals, of which it keeps some.

    Parameters
    ----------
    study
        Chain, spectrum, cut and tree of all animals; frames of the examples.
    animals
        All of them.
    entropy_rate
        Of the chain of all animals from frame to frame, in nats per second.
    n_unseen
        Microstates left out of the chain because no example visits them, so that nothing could be simulated there.
    """

    study: Study
    animals: AnimalTable
    entropy_rate: float
    n_unseen: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledCounts:
    """What the second pass keeps.

    Parameters
    ----------
    lagged, framewise
        Transitions of all animals at the lag, and from frame to frame.
    individuals, files
        Names of the animals, prefixed with their file where they collide, and labels of their files.
    frames, windows, transitions, entropy_rates
        As in `AnimalTable`.
    """

    lagged: sparse.csr_array
    framewise: sparse.csr_array
    individuals: tuple[str, ...]
    files: tuple[str, ...]
    frames: IntArray = array_field("individual")
    windows: IntArray = array_field("individual")
    transitions: IntArray = array_field("individual")
    entropy_rates: FloatArray = array_field("individual", unit="nat/s")

    def __post_init__(self) -> None:
        freeze_arrays(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameModel:
    """All that is needed to label frames.

    Parameters
    ----------
    basis
        Posture modes, if any.
    n_modes, n_delays
        Modes, and frames per sequence.
    microstates
        The partition.
    lag_frames
        Frames of the lag.
    """

    basis: PostureBasis | None
    n_modes: int
    n_delays: int
    microstates: Microstates
    lag_frames: int

    def label(self, recording: Recording) -> Symbols:
        """Give every sequence of a recording its microstate; a recording too short for any has none."""
        postures = project_postures(recording, self.n_modes, self.basis)[0]
        if postures.segments.longest() < self.n_delays:
            nowhere = np.full(postures.segments.n_rows, -1, dtype=np.int32)
            segments = postures.segments.keep(nowhere >= 0)
            n_states = self.microstates.n_states
            return Symbols(labels=nowhere, n_states=n_states, segments=segments, sampling=postures.sampling)
        return self.microstates.label(DelayEmbedding(self.n_delays).transform(postures))


# --- the whole -------------------------------------------------------------------------------------------------------


def stream_study(
    source: Source,
    directory: Path,
    settings: Settings | None = None,
    *,
    basis: PostureBasis | None = None,
    threads: int = 1,
    progress: Progress | None = None,
) -> StreamedStudy:
    """Study recordings of any total size in bounded memory.

    The study is written into the directory, and the labels of every file into ``labels/`` there as they are found. A
    run that was stopped goes on with what is there, as far as neither files nor choices have changed.

    Parameters
    ----------
    source
        Recording files of one kind and rate.
    directory
        Of the results.
    settings, basis, threads, progress
        See `run_study`.
    """
    settings = settings or Settings()
    shelf = Shelf(directory, STUDY_FILE, STAGES)
    engine = Engine(results={}, shelf=shelf, threads=threads, progress=progress)
    with shelf.locked(), shelf.spared(engine):
        found = _stream(source, directory, settings, basis, engine)
        inputs = {"files": [file.state() for file in source.listed()], "basis": digest(basis)}
        write_provenance(directory, found.study.settings, engine, inputs)
    shelf.clear()
    return found


def _stream(
    source: Source, directory: Path, settings: Settings, basis: PostureBasis | None, engine: Engine
) -> StreamedStudy:
    """Make both passes, run the stages of the study that need no more, and write it."""
    threads, progress, watch = engine.threads, engine.progress, Stopwatch()
    survey = _survey_once(source, directory, settings, basis=basis, threads=threads, progress=progress)
    engine.note(watch.record("survey", digest(survey), threads))
    _announce(progress, "choice and microstates")
    watch = Stopwatch()
    examples = _read_examples(source, survey, settings.seed, threads)
    choice = _choose(examples, survey, settings, engine)
    chosen, model = _fit_model(survey, settings, choice, threads)
    engine.note(watch.record("partition", digest(model), threads))
    folder, watch = directory / LABELS_FOLDER, Stopwatch()
    counted = label_files(source, model, survey, folder, threads=threads, progress=progress)
    engine.note(watch.record("labels", digest(counted), threads))
    given, n_unseen = _given_results(counted, examples, model, chosen)
    engine.results |= given | {"choice": choice}
    study = _finish_study(engine, chosen)
    shares = _state_shares(source, folder, study, threads=threads, progress=progress)
    study.save(directory)
    write_settings(directory / SETTINGS_FILE, chosen)
    framewise = MarkovChain.from_counts(counted.framewise, study.symbols.sampling.interval)
    animals = AnimalTable(
        individuals=counted.individuals,
        files=counted.files,
        frames=counted.frames,
        windows=counted.windows,
        transitions=counted.transitions,
        entropy_rates=counted.entropy_rates,
        states=state_names(study, study.finest),
        shares=shares,
    )
    return StreamedStudy(study=study, animals=animals, entropy_rate=entropy_rate(framewise), n_unseen=n_unseen)


def _announce(progress: Progress | None, stage: str, total: int = 1) -> None:
    if progress is not None:
        progress(stage, 0, total)


def _answers(
    function: Callable[[Task], Answer],
    tasks: Iterable[Task],
    what: tuple[str, int],
    threads: int,
    progress: Progress | None,
) -> Iterator[Answer]:
    """Give the answers in order, holding a bounded number; tasks are made only when they are needed."""
    from threadpoolctl import threadpool_limits

    stage, total = what
    _announce(progress, stage, total)
    pending, done = iter(tasks), 0
    while batch := list(itertools.islice(pending, BATCH_FILES)):

        def report(_: str, n: int, __: int, before: int = done) -> None:
            if progress is not None:
                progress(stage, before + n, total)

        # Sums of linear algebra depend on its threads in their last digit.
        with threadpool_limits(1, user_api="blas"):
            answers = map_tasks(function, batch, threads=threads, progress=report)
        done += len(batch)
        yield from answers


# --- first pass: basis and sample ------------------------------------------------------------------------------------


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
    settings: Settings
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
    settings: Settings,
    *,
    basis: PostureBasis | None = None,
    threads: int = 1,
    progress: Progress | None = None,
) -> Survey:
    """Read every file once: fit the posture basis, and draw a sample of stretches.

    Every stretch has a random key that depends on the seed, its file, its animal and its place; those with the smallest
    keys make up the sample.

    Parameters
    ----------
    source, settings, basis, threads, progress
        See `stream_study`.
    """
    files, limit = source.listed(), float("inf")
    share = min(SAMPLE_FRAMES, max(1, MOST_SHARES * SAMPLE_FRAMES // len(files)))
    # Tasks are made batch by batch, each with the limit that is known by then.
    tasks = (
        _SurveyTask(
            label=file.label,
            file=file.path,
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
    for found in _answers(_survey_file, tasks, ("reading", len(files)), threads, progress):
        _check_same(facts[0] if facts else found, found)
        if found.moments is not None:
            total = found.moments if total is None else total + found.moments
        if found.stretches:
            kept, limit = _first_by_key([*kept, *found.stretches], SAMPLE_FRAMES)
        facts.append(replace(found, moments=None, stretches=()))
    if total is not None:
        basis = _basis_of(total, settings.n_modes, facts)
    fitted = basis if total is not None else None
    return Survey(
        files=tuple(one.label for one in facts for _ in one.individuals),
        animals=tuple(name for one in facts for name in one.individuals),
        frames=np.concatenate([one.frames for one in facts]),
        windows=np.concatenate([one.windows for one in facts]),
        sample=_join_stretches(kept, fitted, facts[0].sampling),
        basis=basis,
    )


def _survey_file(task: _SurveyTask) -> _Surveyed:
    recording = task.read(task.file)
    moments = None
    if recording.kind == "amplitude" or task.basis is not None:
        postures = project_postures(recording, task.settings.n_modes, task.basis)[0]
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


def _survey_once(
    source: Source,
    directory: Path,
    settings: Settings,
    *,
    basis: PostureBasis | None,
    threads: int,
    progress: Progress | None,
) -> Survey:
    """Read the first pass of an earlier run back if nothing has changed since, or do it now and keep it."""
    states = tuple(file.state() for file in source.listed())
    choices = (settings.n_modes, settings.n_delays, settings.seed, SAMPLE_FRAMES)
    key, file = digest((states, source.reading, choices, basis, __version__)), directory / SURVEY_FILE
    if _is_of_key(file, key):
        known: Survey = load_results(file, {"survey": Survey})["survey"]
        return known
    survey = survey_files(source, settings, basis=basis, threads=threads, progress=progress)
    save_results(file, {"survey": survey}, {"key": key})
    return survey


def _is_of_key(file: Path, key: str) -> bool:
    """Tell whether a file of an earlier run is there, whole, and of the same making."""
    if not file.exists():
        return False
    try:
        return load_attrs(file).get("key") == key
    except InputFormatError:
        note_damage(file)
        return False


# --- second pass: labels and counts ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _LabelTask:
    file: Path
    prefix: str
    read: Callable[[Path], Recording]
    model: FrameModel
    target: Path
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Frames:
    """Complete postures of each animal of a file, which its labels no longer tell."""

    complete: IntArray = array_field("individual")


def _choose(examples: Recording, survey: Survey, settings: Settings, engine: Engine) -> ModelChoice:
    """Choose from the whole animals that serve as examples; the sample holds stretches too short for slow modes."""
    postures, _ = project_postures(examples, survey.sample.n_components, survey.basis)
    choice: ModelChoice = canonical(choose_for(settings, postures, threads=engine.threads, progress=engine.progress))
    return choice


def _fit_model(
    survey: Survey, settings: Settings, choice: ModelChoice, threads: int
) -> tuple[CompleteSettings, FrameModel]:
    """Find the microstates of the sample."""
    sample = survey.sample
    chosen = complete_settings(settings, sample, choice)
    sequences = DelayEmbedding(chosen.n_delays).transform(sample)
    method, seed = chosen.partition, chosen.seed
    partition = Partition(n_states=chosen.n_states, method=method, seed=seed, threads=threads).fit(sequences)
    model = FrameModel(
        basis=survey.basis,
        n_modes=chosen.n_modes,
        n_delays=chosen.n_delays,
        microstates=partition.microstates_,
        lag_frames=sample.sampling.frames(chosen.lag, "lag"),
    )
    return chosen, model


def label_files(
    source: Source,
    model: FrameModel,
    survey: Survey,
    folder: Path,
    *,
    threads: int = 1,
    progress: Progress | None = None,
) -> LabelledCounts:
    """Read every file again: label its frames, write the labels, and add up the transitions.

    Parameters
    ----------
    source
        Recording files.
    model
        With which frames are labelled.
    survey
        Of these files.
    folder
        Of the labels, one file for each recording file; those already there of the same model are taken as they are.
    threads, progress
        See `map_tasks`.
    """
    files, prefixed = source.listed(), survey.has_clash
    # The lag is no part of it: labels serve any.
    labels_of = (model.basis, model.n_modes, model.n_delays, model.microstates)
    common = digest((labels_of, source.reading, prefixed, __version__))
    tasks = (
        _LabelTask(
            file=file.path,
            prefix=file.stem if prefixed else "",
            read=source.read,
            model=model,
            target=folder / file.labels_name,
            key=digest((common, file.state())),
        )
        for file in files
    )
    empty = sparse.csr_array((model.microstates.n_states,) * 2)
    lagged, framewise, rows = empty, empty, []
    for found in _answers(_label_file, tasks, ("labels", len(files)), threads, progress):
        lagged, framewise = lagged + found.lagged, framewise + found.framewise
        rows.append(replace(found, lagged=empty, framewise=empty))
    names = ("frames", "windows", "transitions", "entropy_rates")
    columns: dict[str, Any] = {name: np.concatenate([getattr(row, name) for row in rows]) for name in names}
    return LabelledCounts(
        lagged=lagged.tocsr(),
        framewise=framewise.tocsr(),
        individuals=tuple(name for row in rows for name in row.individuals),
        files=survey.files,
        **columns,
    )


def _label_file(task: _LabelTask) -> LabelledCounts:
    if _is_of_key(task.target, task.key):
        parts = load_results(task.target, {"symbols": Symbols, "frames": _Frames})
        return _count(parts["symbols"], parts["frames"].complete, task.model.lag_frames)
    recording = _named(task.read(task.file), task.prefix)
    symbols, complete = task.model.label(recording), recording.segments.count_rows()
    attrs = {"schema": LABELS_SCHEMA, "key": task.key, "source_file": task.file.name, "version": __version__}
    save_results(task.target, {"symbols": symbols, "frames": _Frames(complete=complete)}, attrs)
    return _count(symbols, complete, task.model.lag_frames)


def _named(recording: Recording, prefix: str) -> Recording:
    """Name animals after their file too, as is done when recordings with equal names are joined."""
    names = [f"{prefix}:{name}" for name in recording.individuals]
    return Recording(recording.dataset.assign_coords({INDIVIDUAL: names})) if prefix else recording


def _count(symbols: Symbols, frames: IntArray, lag_frames: int) -> LabelledCounts:
    """Count the transitions of a file as a whole, and a few numbers of its animals."""
    windows = symbols.segments.count_rows()
    firsts = symbols.segments.pairs(lag_frames)[0]
    rates = [
        _own_entropy_rate(symbols.of(i)) if windows[i] >= symbols.n_states else np.nan for i in range(windows.size)
    ]
    names = symbols.segments.individuals
    return LabelledCounts(
        lagged=count_transitions(symbols, lag_frames),
        framewise=count_transitions(symbols, 1),
        individuals=names,
        files=(),
        frames=frames,
        windows=windows,
        transitions=np.bincount(symbols.segments.row_individual[firsts], minlength=len(names)),
        entropy_rates=np.array(rates, dtype=float),
    )


def _own_entropy_rate(symbols: Symbols) -> float:
    try:
        return entropy_rate(MarkovChain.from_symbols(symbols, symbols.sampling.interval))
    except EthomarkovError:  # an animal that comes back to no state has no chain of its own
        return float("nan")


# --- the study -------------------------------------------------------------------------------------------------------


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


def _read_examples(source: Source, survey: Survey, seed: int, threads: int) -> Recording:
    chosen = choose_examples(survey, seed).tolist()
    wanted = {
        label: tuple(survey.animals[i] for i in group)
        for label, group in itertools.groupby(chosen, key=lambda i: survey.files[i])
    }
    tasks = [
        _ExampleTask(
            file=file.path,
            prefix=file.stem if survey.has_clash else "",
            read=source.read,
            individuals=wanted[file.label],
        )
        for file in source.listed()
        if file.label in wanted
    ]
    parts = _answers(_read_example, tasks, ("examples", len(tasks)), threads, None)
    return merge_recordings(dict(zip(wanted, parts, strict=True)))


def _read_example(task: _ExampleTask) -> Recording:
    return _named(task.read(task.file).select(task.individuals), task.prefix)


def _given_results(
    counted: LabelledCounts, examples: Recording, model: FrameModel, settings: CompleteSettings
) -> tuple[dict[str, Any], int]:
    """Give the first results of a study: its chain from the counts of all animals, its frames from the examples."""
    postures, basis = project_postures(examples, settings.n_modes, model.basis)
    symbols = model.label(examples)
    chain, n_unseen = _chain_of(counted, symbols, settings.lag)
    given = {
        "postures": postures,
        "basis": basis,
        "measured": measured_paths(examples),
        "microstates": model.microstates,
        "symbols": symbols,
        "chain": chain,
        "spectrum": slow_spectrum(chain, N_MODES),
        "ledger": keep_ledger(examples, postures, symbols, chain),
    }
    return {name: canonical(result) for name, result in given.items()}, n_unseen


def _finish_study(engine: Engine, settings: CompleteSettings) -> Study:
    """Run the stages whose results are not given."""
    for stage in STAGES:
        if not engine.results.keys() >= stage.gives.keys():
            engine.run(stage, settings)
    results = {name: engine.results[name] for stage in STAGES for name in stage.gives}
    keys = {stage.name: engine.keys[stage.name] for stage in STAGES if stage.name in engine.keys}
    study = Study(settings=settings, keys=keys, **results)
    check_renames(study)
    return study


def _chain_of(counted: LabelledCounts, examples: Symbols, lag: float) -> tuple[MarkovChain, int]:
    """Estimate the chain of all animals on the microstates that the examples can show."""
    if counted.lagged.nnz == 0:
        raise SamplingError(
            f"lag={lag:g} s leaves no transition: no gap-free stretch of any animal is that long. Use a shorter lag."
        )
    seen = examples.visits() > 0
    used = np.asarray(counted.lagged.sum(axis=0) + counted.lagged.sum(axis=1)) > 0
    shown = sparse.diags_array(seen.astype(float))
    counts = (shown @ counted.lagged @ shown).tocsr()
    counts.eliminate_zeros()
    lag_frames = examples.sampling.frames(lag, "lag")
    return MarkovChain.from_counts(counts, examples.sampling.seconds(lag_frames)), int((used & ~seen).sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class _ShareTask:
    labels: Path
    group: IntArray


def _state_shares(source: Source, folder: Path, study: Study, *, threads: int, progress: Progress | None) -> FloatArray:
    """Measure the share of time of every animal in the states of the finest level, from the labels on the disk."""
    group = study.tree.states_at(study.finest)
    tasks = (_ShareTask(labels=folder / file.labels_name, group=group) for file in source.listed())
    what = ("shares of time", len(source.files))
    return np.concatenate(list(_answers(_shares_of, tasks, what, threads, progress)))


def _shares_of(task: _ShareTask) -> FloatArray:
    symbols: Symbols = load_results(task.labels, {"symbols": Symbols})["symbols"]
    states, n_states = symbols.relabel(task.group), int(task.group.max()) + 1
    valid, n_animals = states.segments.valid, states.segments.n_individuals
    place = states.segments.row_individual[valid] * n_states + states.labels[valid]
    visits = np.bincount(place, minlength=n_animals * n_states).reshape(n_animals, n_states)
    total = visits.sum(axis=1, keepdims=True)
    return np.where(total > 0, visits / np.maximum(total, 1), np.nan)
