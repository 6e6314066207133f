"""Stages that know what they depend on: computed once, kept, and computed again only when that changes."""

import contextlib
import os
import re
import shutil
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel

from ethomarkov import __version__
from ethomarkov._core.parallel import noted_in
from ethomarkov._core.types import Progress
from ethomarkov.exceptions import EthomarkovError, EthomarkovWarning, InputFormatError, OutputError
from ethomarkov.io.digest import canonical, digest
from ethomarkov.io.results import load_group_attrs, load_results, save_results
from ethomarkov.io.task_log import TaskLog

STAGES_DIRECTORY = ".stages"
WORTH_KEEPING = 5.0
"""Seconds of computing below which nothing is kept of a run that ended with an error."""
KEY = "key"
TICKS = 1000
"""Steps of the progress of a whole study; each stage takes as many as its share of the estimated time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a stage computes from.

    Parameters
    ----------
    results
        What was given, and what earlier stages gave.
    settings
        All choices; a stage may look at those it declares.
    threads
        Cores to use; results do not depend on it.
    progress
        Called with the tasks of the stage.
    """

    results: Mapping[str, Any]
    settings: Any
    threads: int
    progress: Progress | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """What the time of a stage depends on.

    Parameters
    ----------
    n_frames, n_animals
        Recorded.
    settings
        All choices.
    threads
        Cores.
    """

    n_frames: int
    n_animals: int
    settings: Any
    threads: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One step of a study.

    Parameters
    ----------
    name
        Of the stage, and of its group in the file of results.
    needs
        Results that it depends on.
    settings
        Settings that it depends on.
    gives
        Classes of its results, by name. A result may be None: then the stage does not apply.
    compute
        Gives them.
    seconds
        Estimates its time.
    version
        To be raised when the computation changes, so that results of the former one are not taken for it.
    """

    name: str
    needs: tuple[str, ...]
    settings: tuple[str, ...]
    gives: Mapping[str, type]
    compute: Callable[[Work], Mapping[str, Any]]
    seconds: Callable[[Size], float]
    version: int = 1

    def key(self, settings: BaseModel, digests: Mapping[str, str]) -> str:
        """Give the fingerprint of everything that the results depend on."""
        chosen = settings.model_dump(include=set(self.settings))
        needed = {name: digests[name] for name in self.needs}
        return digest((self.name, self.version, __version__, chosen, needed))


@dataclass(frozen=True, slots=True, kw_only=True)
class StageRecord:
    """How one stage was computed.

    Parameters
    ----------
    stage, key
        Which, and the fingerprint of what it depends on.
    finished
        Date and time, UTC.
    seconds, cpu_seconds
        On the clock and of all processors, since the last interruption.
    peak_gb
        Largest memory of the process up to then.
    threads
        Cores that it was allowed.
    """

    stage: str
    key: str
    finished: str
    seconds: float
    cpu_seconds: float
    peak_gb: float
    threads: int


class Stopwatch:
    """Runs from when it is made."""

    def __init__(self) -> None:
        self._started, self._cpu = time.monotonic(), time.process_time()

    def record(self, stage: str, key: str, threads: int) -> StageRecord:
        """Tell how a stage was computed, which ends now."""
        return StageRecord(
            stage=stage,
            key=key,
            finished=datetime.now(UTC).isoformat(timespec="seconds"),
            seconds=round(time.monotonic() - self._started, 3),
            cpu_seconds=round(time.process_time() - self._cpu, 3),
            peak_gb=round(peak_memory(), 3),
            threads=threads,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStage:
    """What a run would do with a stage.

    Parameters
    ----------
    stage
        Its name.
    action
        "keep" it, "compute" it, or "check" whether its inputs really changed, once they have been computed.
    reason
        Why.
    seconds
        Estimated time.
    """

    stage: str
    action: Literal["keep", "compute", "check"]
    reason: str
    seconds: float


class Shelf:
    """A directory in which stages are kept, each as soon as it is complete.

    Until the whole study is written, stages lie in files of their own in a hidden directory. They are taken from there,
    or from the file of a study that was completed before.

    Parameters
    ----------
    directory
        Of the study.
    file
        Name of the file of the whole study.
    stages
        That it has.
    """

    def __init__(self, directory: Path, file: str, stages: Sequence[Stage]) -> None:
        self.directory = directory
        self.whole = directory / file
        self.parts = directory / STAGES_DIRECTORY
        self._stages = stages
        self._keys: dict[Path, dict[str, str]] = {}
        self._former: dict[str, Any] | None = None
        self._made: list[Path] = []

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other runs away from this directory, and clear away what an interrupted one left half-written."""
        self._made = [place for place in (self.directory, *self.directory.parents) if not place.exists()]
        try:
            self.parts.mkdir(parents=True, exist_ok=True)
            lock = (self.parts / "lock").open("w")
        except OSError as error:
            raise OutputError(
                f"{self.directory}: results cannot be written there ({error.strerror}). Choose another directory with "
                "--out."
            ) from error
        with lock:
            _lock(lock.fileno(), self.directory)
            for place in (self.directory, self.parts):
                for leftover in place.iterdir():
                    if re.match(r"\.[0-9a-f]{12}\.", leftover.name):
                        leftover.unlink()
            yield

    def keys(self) -> dict[str, str]:
        """List the stages that are kept, with their keys."""
        found = dict(self._keys_in(self.whole))
        for part in sorted(self.parts.glob("*.nc")):
            found |= self._keys_in(part)
        return found

    def find(self, stage: Stage, key: str) -> dict[str, Any] | None:
        """Read the results of a stage, if they are kept under this key and undamaged."""
        for file in (self._part(stage.name), self.whole):
            if self._keys_in(file).get(stage.name) == key:
                try:
                    return _results_of(stage, self._load(file, stage))
                except InputFormatError:
                    note_damage(file)
        return None

    def keep(self, stage: Stage, results: Mapping[str, Any], record: StageRecord) -> None:
        """Write the results of a stage into a file of its own."""
        named = {f"{stage.name}/{name}": value for name, value in results.items() if value is not None}
        attrs = {f"record_{name}": value for name, value in asdict(record).items()}
        save_results(self._part(stage.name), named, {}, {stage.name: {KEY: record.key} | attrs})
        self._keys.pop(self._part(stage.name), None)
        self._log(stage.name).unlink(missing_ok=True)

    def records(self, kept: Mapping[str, str]) -> dict[str, StageRecord]:
        """Read how the stages with these keys were computed, as far as their files still lie there."""
        found = {}
        for name, key in kept.items():
            with contextlib.suppress(InputFormatError, KeyError):
                attrs = load_group_attrs(self._part(name))[name]
                values = {item: attrs[f"record_{item}"] for item in StageRecord.__dataclass_fields__}
                if values["key"] == key:
                    found[name] = StageRecord(**values)
        return found

    @contextlib.contextmanager
    def notebook(self, stage: Stage, key: str) -> Iterator[TaskLog]:
        """Open the log of a stage's tasks."""
        log = TaskLog(self._log(stage.name), key)
        try:
            yield log
        finally:
            log.close()

    def clear(self) -> None:
        """Remove the files of single stages, once the whole study is written."""
        shutil.rmtree(self.parts, ignore_errors=True)

    @contextlib.contextmanager
    def spared(self, engine: "Engine") -> Iterator[None]:
        """Leave no trace of a run that ends with an error, unless it had computed for a while."""
        try:
            yield
        except EthomarkovError:
            if sum(record.seconds for record in engine.records.values()) < WORTH_KEEPING:
                self.clear()
                for place in self._made:
                    with contextlib.suppress(OSError):  # something else lies there
                        place.rmdir()
            raise

    def _keys_in(self, file: Path) -> dict[str, str]:
        """List the stages in a file with their keys, looking once; none where there is no file, or a damaged one."""
        if file not in self._keys:
            self._keys[file] = _read_keys(file)
        return self._keys[file]

    def _load(self, file: Path, stage: Stage) -> Mapping[str, Any]:
        if file != self.whole:
            return load_results(file, _kinds(stage))
        if self._former is None:  # opening costs more than reading, so all stages are read at once
            kinds = {where: kind for one in self._stages for where, kind in _kinds(one).items()}
            self._former = load_results(file, kinds)
        return self._former

    def _part(self, name: str) -> Path:
        return self.parts / f"{name}.nc"

    def _log(self, name: str) -> Path:
        return self.parts / f"{name}.tasks"


def _read_keys(file: Path) -> dict[str, str]:
    if not file.exists():
        return {}
    try:
        return {name: attrs[KEY] for name, attrs in load_group_attrs(file).items() if KEY in attrs}
    except InputFormatError:
        note_damage(file)
        return {}


def note_damage(file: Path) -> None:
    """Tell the user that a file of an earlier run is of no use, and that nothing wrong comes of it."""
    warnings.warn(
        f"{file}: is damaged or of an older version; what it held is computed again.", EthomarkovWarning, stacklevel=2
    )


def _kinds(stage: Stage) -> dict[str, type]:
    return {f"{stage.name}/{name}": kind for name, kind in stage.gives.items()}


def _results_of(stage: Stage, found: Mapping[str, Any]) -> dict[str, Any]:
    return {name: found.get(f"{stage.name}/{name}") for name in stage.gives}


def _lock(handle: int, directory: Path) -> None:
    try:
        import fcntl
    except ImportError:  # Windows: two runs into one directory are the user's own affair there
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise OutputError(
            f"{directory}: another run is writing there. Wait for it, or choose another directory with --out."
        ) from error
    except OSError:  # a file system without locks
        return


@dataclass(kw_only=True)
class Engine:
    """Runs stages one after the other, taking from a shelf what is already there.

    Parameters
    ----------
    results
        What the first stages need; results of stages are added.
    shelf
        Where stages are kept; None keeps nothing.
    threads
        Cores to use; results do not depend on it.
    progress
        Called as the work goes on, with a total of `TICKS` for all stages together.
    expected
        Estimated seconds of every stage, for the progress.
    """

    results: dict[str, Any]
    shelf: Shelf | None = None
    threads: int = 1
    progress: Progress | None = None
    expected: Mapping[str, float] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict, init=False)
    records: dict[str, StageRecord] = field(default_factory=dict, init=False)
    _digests: dict[str, str] = field(default_factory=dict, init=False)

    def run(self, stage: Stage, settings: BaseModel) -> None:
        """Bring the results of a stage: from the shelf if nothing that they depend on has changed."""
        key = self.key(stage, settings)
        self._report(stage.name, 0, 1)
        found = self.shelf.find(stage, key) if self.shelf is not None else None
        if found is None:
            found = self._compute(stage, settings, key)
        self.keys[stage.name] = key
        self.results.update(found)
        self._report(stage.name, 1, 1)

    def note(self, record: StageRecord) -> None:
        """Remember how something was computed that is no stage."""
        self.keys[record.stage], self.records[record.stage] = record.key, record

    def key(self, stage: Stage, settings: BaseModel) -> str:
        """Give the fingerprint of all that a stage depends on; what it needs must be there."""
        for name in stage.needs:
            if name not in self._digests:
                self._digests[name] = digest(self.results[name])
        return stage.key(settings, self._digests)

    def _compute(self, stage: Stage, settings: BaseModel, key: str) -> dict[str, Any]:
        watch = Stopwatch()
        work = Work(
            results=self.results,
            settings=settings,
            threads=self.threads,
            progress=lambda _, done, total: self._report(stage.name, done, total),
        )
        with self._notebook(stage, key):
            computed = stage.compute(work)
        results = {name: canonical(computed[name]) for name in stage.gives}
        record = watch.record(stage.name, key, self.threads)
        if self.shelf is not None:
            self.shelf.keep(stage, results, record)
        self.records[stage.name] = record
        return results

    @contextlib.contextmanager
    def _notebook(self, stage: Stage, key: str) -> Iterator[None]:
        if self.shelf is None:
            yield
            return
        with self.shelf.notebook(stage, key) as notebook, noted_in(notebook):
            yield

    def _report(self, stage: str, done: int, total: int) -> None:
        """Say how far the whole study is, by the time that its stages are expected to take."""
        if self.progress is None:
            return
        names = list(self.expected)
        if stage not in names:
            self.progress(stage, done, total)
            return
        before = sum(self.expected[name] for name in names[: names.index(stage)])
        here = before + self.expected[stage] * done / max(total, 1)
        self.progress(stage, round(TICKS * here / max(sum(self.expected.values()), 1e-9)), TICKS)


def plan_stages(
    stages: Sequence[Stage],
    settings: BaseModel,
    engine: Engine,
    expected: Mapping[str, float],
) -> Iterator[PlannedStage]:
    """Tell what a run would do, loading what is kept and computing nothing."""
    shelf = engine.shelf
    kept = shelf.keys() if shelf is not None else {}
    for stage in stages:
        unknown = [name for name in stage.needs if name not in engine.results]
        if unknown:
            action: Literal["check", "compute"] = "check" if stage.name in kept else "compute"
            reason = f"depends on {', '.join(unknown)}"
        else:
            found = shelf.find(stage, engine.key(stage, settings)) if shelf is not None else None
            if found is not None:
                engine.results.update(found)
                yield PlannedStage(stage=stage.name, action="keep", reason="nothing changed", seconds=0.0)
                continue
            action, reason = "compute", "its settings or inputs changed" if stage.name in kept else "not computed yet"
        yield PlannedStage(stage=stage.name, action=action, reason=reason, seconds=expected[stage.name])


def peak_memory() -> float:
    """Give the largest memory of this process so far, in GB; NaN where the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows
        return float("nan")
    unit = 1e9 if os.uname().sysname == "Darwin" else 1e6  # bytes there, kilobytes elsewhere
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
