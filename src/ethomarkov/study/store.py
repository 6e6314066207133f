"""Results on disk: the file of a study, and a file of its own for every further result.

Every stage is recognised by its key and by nothing else. While a study runs, its stages lie in `results/`, each in a
file that appears when it is complete; once all are there they are written into one file, `study.nc`. Results of
analyses stay in `results/`, one file for every set of settings.
"""

import contextlib
import json
import os
import re
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from ethomarkov.exceptions import EthomarkovWarning, InputFormatError, OutputError
from ethomarkov.io.classic import Variable
from ethomarkov.io.results import load_group_attrs, load_results, save_results
from ethomarkov.io.task_log import TaskLog
from ethomarkov.study.files import RESULTS_FOLDER, STUDY_FILE
from ethomarkov.study.stage import Stage

LOCK_FILE = "lock"
LEFTOVER = re.compile(r"\.[0-9a-f]{12}\.")
"""Names of files that were not complete when a run was stopped."""
RECORD = "record_"
KEY, DIGESTS, NEEDS, SETTINGS = "key", "digests", "needs", "stage_settings"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A stage that is known: what it was computed from, and what its results are, without the results themselves.

    Parameters
    ----------
    stage, key
        Which, and the fingerprint of what it depends on.
    digests
        Of the content of its results, by name.
    needs
        Of the content of what it needed, by name.
    settings
        Values of its settings.
    file
        Where it is; None for one that is nowhere but in memory.
    """

    stage: str
    key: str
    digests: Mapping[str, str]
    needs: Mapping[str, str]
    settings: Mapping[str, Any]
    file: Path | None = None

    def attrs(self) -> dict[str, str]:
        """Write what a file says of it."""
        return {
            KEY: self.key,
            DIGESTS: json.dumps(dict(self.digests)),
            NEEDS: json.dumps(dict(self.needs)),
            SETTINGS: json.dumps(dict(self.settings)),
        }

    @classmethod
    def from_attrs(cls, stage: str, attrs: Mapping[str, Any], file: Path) -> "Entry":
        """Read what a file says."""
        try:
            digests, needs, settings = (json.loads(attrs[name]) for name in (DIGESTS, NEEDS, SETTINGS))
            return cls(stage=stage, key=attrs[KEY], digests=digests, needs=needs, settings=settings, file=file)
        except (KeyError, ValueError, TypeError) as error:
            raise InputFormatError(f"{file}: is of another version ({error!r}). Run it again.") from error


class Store:
    """The directory of a study.

    Parameters
    ----------
    directory
        Of the study.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.whole = directory / STUDY_FILE
        self.parts = directory / RESULTS_FOLDER
        self._attrs: dict[Path, dict[str, dict[str, Any]]] = {}
        self._made: list[Path] = []
        self._is_held = False

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other runs away from this directory, and clear away what an interrupted one left half-written."""
        if self._is_held:
            yield
            return
        self._made = [place for place in (self.parts, self.directory, *self.directory.parents) if not place.exists()]
        lock = FileLock(self.parts / LOCK_FILE)
        try:
            self.parts.mkdir(parents=True, exist_ok=True)
            lock.acquire(blocking=False)
        except Timeout as error:
            raise OutputError(
                f"{self.directory}: another run is writing there. Wait for it, or choose another directory with --out."
            ) from error
        except OSError as error:
            raise OutputError(
                f"{self.directory}: results cannot be written there ({error.strerror}). Choose another directory with "
                "--out."
            ) from error
        self._is_held = True
        try:
            self._clear_leftovers()
            yield
        finally:
            self._is_held = False
            lock.release()
            (self.parts / LOCK_FILE).unlink(missing_ok=True)
            for place in dict.fromkeys((self.parts, *self._made)):
                with contextlib.suppress(OSError):  # something lies there
                    place.rmdir()

    def _clear_leftovers(self) -> None:
        for place in (self.directory, self.parts):
            for leftover in place.iterdir():
                if LEFTOVER.match(leftover.name):
                    leftover.unlink()
        for log in self.parts.glob("*.tasks"):
            if log.with_suffix(".nc").exists():  # the stage was complete, and only its log not yet removed
                log.unlink()

    # --- finding ------------------------------------------------------------------------------------------------------

    def entries(self) -> dict[str, Entry]:
        """List the stages in the file of the study, by name."""
        return self._entries_in(self.whole)

    def find(self, stage: Stage, key: str) -> Entry | None:
        """Look for a stage of this key, in the file of the study or in one of its own."""
        # the file of the study first: files of single stages are removed once it holds them
        for file in (self.whole, self._part(stage.name, key)):
            entry = self._entries_in(file).get(stage.name)
            if entry is not None and entry.key == key:
                return entry
        return None

    def renew(self, entry: Entry) -> None:
        """Count a result that was asked for again as the latest of its kind."""
        with contextlib.suppress(OSError):  # a study that may only be read
            if entry.file is not None:
                os.utime(entry.file, ns=(time.time_ns(), time.time_ns()))

    def variants(self, stage: str) -> list[Entry]:
        """List what is there of an analysis, the one that was asked for last first."""
        files = sorted(self.parts.glob(f"{stage}-*.nc"), key=lambda file: (file.stat().st_mtime_ns, file.name))
        found = (self._entries_in(file).get(stage) for file in reversed(files))
        return [entry for entry in found if entry is not None]

    def load(self, entry: Entry, stage: Stage, names: Sequence[str]) -> dict[str, Any]:
        """Read results of a stage; None for those that do not apply. A damaged file is an `InputFormatError`."""
        if entry.file is None:
            raise InputFormatError(f"{stage.name} is in no file.")
        kinds = {f"{stage.name}/{name}": stage.gives[name] for name in names}
        found = load_results(entry.file, kinds)
        return {name: found.get(f"{stage.name}/{name}") for name in names}

    def attrs(self) -> dict[str, Any]:
        """Read what the file of the study says of itself."""
        return self._attrs_of(self.whole).get("", {})

    def _entries_in(self, file: Path) -> dict[str, Entry]:
        """List the stages in a file, looking once; none where there is no file, or a damaged one."""
        groups = self._attrs_of(file)
        try:
            return {name: Entry.from_attrs(name, attrs, file) for name, attrs in groups.items() if KEY in attrs}
        except InputFormatError:
            note_damage(file)
            self._attrs[file] = {}
            return {}

    def _attrs_of(self, file: Path) -> dict[str, dict[str, Any]]:
        if file not in self._attrs:
            try:
                self._attrs[file] = load_group_attrs(file) if file.exists() else {}
            except InputFormatError:
                note_damage(file)
                self._attrs[file] = {}
        return self._attrs[file]

    # --- keeping ------------------------------------------------------------------------------------------------------

    def keep(self, entry: Entry, results: Mapping[str, Any], record: StageRecord) -> Entry:
        """Write the results of a stage into a file of its own."""
        file = self._part(entry.stage, entry.key)
        self.parts.mkdir(parents=True, exist_ok=True)
        named = {f"{entry.stage}/{name}": value for name, value in results.items() if value is not None}
        attrs = entry.attrs() | {f"{RECORD}{name}": value for name, value in asdict(record).items()}
        save_results(file, named, {}, {entry.stage: attrs})
        self._attrs.pop(file, None)
        self._log(entry.stage, entry.key).unlink(missing_ok=True)
        return replace(entry, file=file)

    @contextlib.contextmanager
    def log(self, stage: Stage, key: str) -> Iterator[TaskLog]:
        """Open the log of a stage's tasks; one that holds no answer in the end is removed."""
        file = self._log(stage.name, key)
        log = TaskLog(file, key)
        try:
            yield log
        finally:
            log.close()
            if log.is_empty:
                file.unlink(missing_ok=True)

    def records(self, entries: Sequence[Entry]) -> dict[str, StageRecord]:
        """Read how stages were computed, as far as their own files still lie there."""
        found = {}
        for entry in entries:
            with contextlib.suppress(KeyError):
                attrs = self._attrs_of(self._part(entry.stage, entry.key))[entry.stage]
                values = {item: attrs[f"{RECORD}{item}"] for item in StageRecord.__dataclass_fields__}
                found[entry.stage] = StageRecord(**values)
        return found

    def save_whole(
        self,
        named: Mapping[str, Any],
        attrs: Mapping[str, Any],
        entries: Sequence[Entry],
        overview: Mapping[str, Variable] | None = None,
    ) -> None:
        """Write the file of the study: results by "stage/name", what is known of their stages, and an overview."""
        save_results(self.whole, named, attrs, {entry.stage: entry.attrs() for entry in entries}, overview)
        self._attrs.pop(self.whole, None)

    def drop_parts(self, stages: Sequence[str]) -> None:
        """Remove the files of single stages, once the file of the study holds them."""
        for stage in stages:
            for file in (*self.parts.glob(f"{stage}-*.nc"), *self.parts.glob(f"{stage}-*.tasks")):
                file.unlink()
                self._attrs.pop(file, None)

    def _part(self, stage: str, key: str) -> Path:
        return self.parts / f"{stage}-{key[:12]}.nc"

    def _log(self, stage: str, key: str) -> Path:
        return self.parts / f"{stage}-{key[:12]}.tasks"


def note_damage(file: Path) -> None:
    """Tell the user that a file of an earlier run is of no use, and that nothing wrong comes of it."""
    warnings.warn(
        f"{file}: is damaged or of an older version; what it held is computed again.", EthomarkovWarning, stacklevel=2
    )
