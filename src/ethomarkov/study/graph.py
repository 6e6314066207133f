"""A study as a keyed graph: results are asked for by name, taken from the store, or computed and kept."""

import contextlib
import dataclasses
import inspect
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from ethomarkov._core.parallel import noted_in
from ethomarkov._core.types import Progress
from ethomarkov.exceptions import EthomarkovError, InputFormatError, SettingsError
from ethomarkov.io.digest import canonical, digest
from ethomarkov.study.settings import CompleteSettings, Settings
from ethomarkov.study.stage import Size, Stage, producers
from ethomarkov.study.store import Entry, StageRecord, Store, note_damage

TICKS = 1000
"""Steps of the progress of all work together; each stage takes as many as its share of the estimated time."""
CHOICE = "choice"
FRAMES_PER_STATE = 150
"""Only to estimate times before the number of microstates is chosen."""
Complete = Callable[[Settings, Any, Any], CompleteSettings]


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


@dataclass(kw_only=True)
class Graph:
    """Results of a study by name, each computed when it is first asked for and not known yet.

    Parameters
    ----------
    stages
        All that can be computed.
    asked
        Settings as they were given; what is None is chosen from the data.
    given
        What the first stages need: the source of the recordings, and posture modes.
    given_digests
        Of these, for a study that is read back without them.
    store
        Where results are kept; None keeps them in memory alone.
    known
        Stages that a file of the study holds, by name: taken as they are as long as settings and needs are the same,
        whatever code computed them.
    settings
        With what was chosen from the data, where that is known.
    size
        Frames and animals, for estimates of time.
    threads
        Cores to use; results do not depend on it.
    progress
        Called as the work goes on, with a total of `TICKS` for all stages together.
    records
        How each stage was obtained, by name.
    """

    stages: tuple[Stage, ...]
    asked: Settings
    given: Mapping[str, Any] = field(default_factory=dict)
    given_digests: dict[str, str] = field(default_factory=dict)
    store: Store | None = None
    known: Mapping[str, Entry] = field(default_factory=dict)
    settings: CompleteSettings | None = None
    size: tuple[int, int] = (0, 1)
    threads: int = 1
    progress: Progress | None = None
    records: dict[str, StageRecord] = field(default_factory=dict, init=False)
    _entries: dict[str, Entry] = field(default_factory=dict, init=False)
    _by_digest: dict[tuple[str, str], Any] = field(default_factory=dict, init=False)
    _expected: dict[str, float] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._by_name = {one.name: one for one in self.stages}
        self._producer = producers(self.stages)

    # --- asking -------------------------------------------------------------------------------------------------------

    def result(self, name: str, **options: Any) -> Any:  # noqa: ANN401 (any result)
        """Give a result, computing it and what it needs where that is not known yet.

        Parameters
        ----------
        name
            Of the result.
        options
            Settings of analyses; those of the stages that every study has are the study's own.
        """
        if name in self.given:
            return self.given[name]
        stage = self._stage_of(name)
        return self._load(self._ensure(stage, options), name)

    def bring(self, names: Sequence[str], **options: Any) -> None:  # noqa: ANN401
        """Compute results that are not known yet, with one progress for all of them."""
        with self._expecting(names, options):
            self._follow(names, options, set())

    def attempt(self, names: Sequence[str], **options: Any) -> dict[str, EthomarkovError]:  # noqa: ANN401
        """Compute results as `bring` does; one that cannot be had does not cost the others.

        Returns
        -------
        errors
            By name of the result that could not be had.
        """
        errors, done = {}, set[str]()
        with self._expecting(names, options):
            for name in names:
                try:
                    self._follow([name], options, done)
                except EthomarkovError as error:
                    errors[name] = error
        return errors

    def _follow(self, names: Sequence[str], options: Mapping[str, Any], done: set[str]) -> None:
        """Bring all stages that some results need, each once; adds to what is done."""
        for one in self.order(names):
            if one.name not in done:
                self._report(one.name, 0, 1)
                self._ensure(one, options)
                self._report(one.name, 1, 1)
                done.add(one.name)

    @contextlib.contextmanager
    def _expecting(self, names: Sequence[str], options: Mapping[str, Any]) -> Iterator[None]:
        """Tell one progress for all stages that some results need."""
        self._check_options(names, options)
        self._expected = {one.name: self._seconds(one, options) for one in self.order(names)}
        try:
            yield
        finally:
            self._expected = {}

    def _check_options(self, names: Sequence[str], options: Mapping[str, Any]) -> None:
        known = {name for one in self.order(names) if one.role == "analysis" for name in one.settings}
        unknown = sorted(set(options) - known)
        if unknown:
            raise SettingsError(
                f"{', '.join(names)} has no setting {', '.join(unknown)}; there are {', '.join(sorted(known))}."
            )

    def order(self, names: Sequence[str]) -> list[Stage]:
        """List the stages that results need, in the order in which they can run."""
        reached: set[str] = set()

        def follow(name: str) -> None:
            if name in self._producer and self._producer[name].name not in reached:
                stage = self._producer[name]
                reached.add(stage.name)
                for need in (*stage.needs, *self._choice_of(stage)):
                    follow(need)

        for name in names:
            follow(name)
        return [one for one in self.stages if one.name in reached]

    def entry(self, stage: str, **options: Any) -> Entry:  # noqa: ANN401
        """Tell what is known of a stage, which is computed if need be."""
        return self._ensure(self._by_name[stage], options)

    def is_there(self, name: str, **options: Any) -> bool:  # noqa: ANN401
        """Tell whether a result could be given without computing anything that is kept."""
        self._check_options([name], options)
        wanted = [one for one in self.order([name]) if one.is_kept]
        return all(self._peek_entry(one, options) is not None for one in wanted)

    def held(self, name: str, **options: Any) -> Any | None:  # noqa: ANN401 (any result)
        """Give the latest result of an analysis that belongs to this very study; None where there is none.

        A result belongs to the study if its key is the one that the study's own results give with its settings; results
        of other analyses among them may be any that belong to it.

        Parameters
        ----------
        name
            Of the result.
        options
            Settings that it must have been computed with; any by default.
        """
        stage = self._stage_of(name)
        if not stage.is_kept:
            return self._held_together(stage, name)
        for entry in self._variants(stage):
            is_wanted = all(entry.settings.get(one) == value for one, value in options.items())
            if is_wanted and self._belongs(stage, entry):
                try:
                    return self._load(entry, name)
                except InputFormatError:
                    if entry.file is not None:
                        note_damage(entry.file)
        return None

    def _held_together(self, stage: Stage, name: str) -> Any | None:  # noqa: ANN401 (any result)
        """Put together what is there of a stage that is not kept itself."""
        is_analysis = {need: self._stage_of(need).role == "analysis" for need in stage.needs}
        needed = {need: self.held(need) if is_analysis[need] else self.result(need) for need in stage.needs}
        if any(value is None and need not in stage.optional for need, value in needed.items()):
            return None
        return stage.compute(needed, self.values(stage, {}), self.threads, None)[name]

    def strangers(self) -> list[str]:
        """List the analyses in the store of which there is a result of another study, and none of this one."""
        analyses = [one for one in self.stages if one.role == "analysis" and one.is_kept]
        return [
            one.name
            for one in analyses
            if (entries := self._variants(one)) and not any(self._belongs(one, entry) for entry in entries)
        ]

    def _belongs(self, stage: Stage, entry: Entry) -> bool:
        """Tell whether a result was computed from results of this very study, by the code of today."""
        if set(entry.settings) != set(stage.settings) or set(entry.needs) != set(stage.needs):
            return False
        if entry.key != stage.key(self.values(stage, entry.settings), entry.needs):
            return False
        return all(self._is_own(name, mark) for name, mark in entry.needs.items())

    def _is_own(self, name: str, mark: str) -> bool:
        """Tell whether a result of some content is one of this study, computing nothing."""
        if name not in self._producer:
            return self._digest(name, {}) == mark
        stage = self._producer[name]
        if stage.role == "analysis":
            variants = self._variants(stage)
            return any(one.digests.get(name) == mark and self._belongs(stage, one) for one in variants)
        entry = self._peek_entry(stage, {})
        return entry is not None and entry.digests[name] == mark

    def adopt(self, results: Mapping[str, Any], stages: Sequence[Stage]) -> None:
        """Take results as they are, whatever would have computed them.

        Parameters
        ----------
        results
            By name.
        stages
            That would give them; all of their results are needed.
        """
        digests = {name: _content(value) for name, value in results.items()}
        self._by_digest |= {(name, digests[name]): value for name, value in results.items()}
        entries = {}
        for one in stages:
            needs = {name: digests.get(name) or self._digest(name, {}) for name in one.needs}
            entries[one.name] = Entry(
                stage=one.name,
                key=one.key(self.values(one, {}), needs),
                digests={name: digests[name] for name in one.gives},
                needs=needs,
                settings=self.values(one, {}),
            )
        self.known = entries

    def under(self, asked: Settings, settings: CompleteSettings | None) -> "Graph":
        """Give the same graph under other settings; what is known already is shared, by key and content.

        Parameters
        ----------
        asked, settings
            As for the graph itself; settings are None where something is to be chosen anew.
        """
        changed = dataclasses.replace(self, asked=asked, settings=settings)
        changed._entries, changed._by_digest = self._entries, self._by_digest
        return changed

    def with_given(self, given: Mapping[str, Any]) -> "Graph":
        """Give the same graph with more that is given; what is known already is shared."""
        changed = dataclasses.replace(self, given=given, given_digests=dict(self.given_digests))
        changed._entries, changed._by_digest = self._entries, self._by_digest
        return changed

    def _variants(self, stage: Stage) -> list[Entry]:
        here = [entry for entry in reversed(self._entries.values()) if entry.stage == stage.name]
        there = self.store.variants(stage.name) if self.store is not None else []
        return [*here, *(entry for entry in there if entry.key not in self._entries)]

    # --- computing ----------------------------------------------------------------------------------------------------

    def _stage_of(self, name: str) -> Stage:
        if name not in self._producer:
            raise InputFormatError(f"There is no result {name!r}; there are {', '.join(sorted(self._producer))}.")
        return self._producer[name]

    def _ensure(self, stage: Stage, options: Mapping[str, Any]) -> Entry:
        """Bring what a stage needs, then its own results: known ones, kept ones, or computed ones."""
        values = self.values(stage, options)
        needs = {name: self._digest(name, options) for name in stage.needs}
        if not stage.is_kept:
            return self._assembled(stage, values, needs)
        if self._is_as_known(stage, values, needs):
            return self.known[stage.name]
        key = stage.key(values, needs)
        entry = self._entries.pop(key, None) or self._find(stage, key) or self._compute(stage, values, needs, key)
        self._entries[key] = entry  # at the end, as the latest that was asked for
        return entry

    def _find(self, stage: Stage, key: str) -> Entry | None:
        """Take a stage from the store, where an analysis is then the latest of its kind."""
        entry = self.store.find(stage, key) if self.store is not None else None
        if self.store is not None and entry is not None and stage.role == "analysis":
            self.store.renew(entry)
        return entry

    def _assembled(self, stage: Stage, values: dict[str, Any], needs: dict[str, str]) -> Entry:
        """Tell what is known of a stage that only puts others together: these tell all, and nothing is computed yet."""
        mark = digest((stage.name, values, needs))
        if mark not in self._entries:
            digests = self._put_together(stage, values, needs) if stage.by_content else dict.fromkeys(stage.gives, mark)
            self._entries[mark] = Entry(stage=stage.name, key=mark, digests=digests, needs=needs, settings=values)
        return self._entries[mark]

    def _is_as_known(self, stage: Stage, values: Mapping[str, Any], needs: Mapping[str, str]) -> bool:
        entry = self.known.get(stage.name)
        return entry is not None and dict(entry.settings) == dict(values) and dict(entry.needs) == dict(needs)

    def _put_together(self, stage: Stage, values: dict[str, Any], needs: dict[str, str]) -> dict[str, str]:
        """Make small results at once, to recognise them by their content."""
        made = stage.compute(self._needed(stage, needs), values, self.threads, None)
        digests = {name: _content(value) for name, value in made.items()}
        self._by_digest |= {(name, digests[name]): value for name, value in made.items()}
        return digests

    def _compute(self, stage: Stage, values: dict[str, Any], needs: dict[str, str], key: str) -> Entry:
        needed, watch = self._needed(stage, needs), Stopwatch()
        with self._log(stage, key):
            computed = stage.compute(needed, values, self.threads, self._progress_of(stage))
        results = {name: canonical(value) for name, value in computed.items()}
        digests = {name: _content(value) for name, value in results.items()}
        entry = Entry(stage=stage.name, key=key, digests=digests, needs=needs, settings=values)
        for name, value in results.items():
            self._by_digest[name, digests[name]] = value
        self.records[stage.name] = watch.record(stage.name, key, self.threads)
        return entry if self.store is None else self.store.keep(entry, results, self.records[stage.name])

    def _needed(self, stage: Stage, needs: Mapping[str, str]) -> dict[str, Any]:
        """Give what a stage needs, by the digests that its key rests on."""
        return {name: self._content_of(stage, name, mark) for name, mark in needs.items()}

    def _content_of(self, stage: Stage, name: str, mark: str) -> Any:  # noqa: ANN401 (any result)
        if name in self.given:
            return self.given[name]
        if name not in self._producer:
            raise InputFormatError(
                f"{stage.name} has to be computed again, and that needs the recordings. Run the study again: "
                "`ethomarkov run FILES --out DIRECTORY`."
            )
        if (name, mark) not in self._by_digest:
            entries = (*self.known.values(), *self._entries.values())
            entry = next(one for one in entries if one.digests.get(name) == mark)
            return self._load(entry, name)
        return self._by_digest[name, mark]

    def _digest(self, name: str, options: Mapping[str, Any]) -> str:
        if name in self._producer:
            return self._ensure(self._producer[name], options).digests[name]
        return self.given_digest(name)

    def given_digest(self, name: str) -> str:
        """Give the fingerprint of something that is given; empty where it never was."""
        if name not in self.given_digests:
            self.given_digests[name] = _content(self.given[name]) if name in self.given else ""
        return self.given_digests[name]

    def digest_given(self) -> dict[str, str]:
        """Give the digests of all that was given, by which results of a study that is read back are recognised."""
        for name in self.given:
            self._digest(name, {})
        return {name: mark for name, mark in sorted(self.given_digests.items()) if mark}

    def _load(self, entry: Entry, name: str) -> Any:  # noqa: ANN401 (any result)
        place = name, entry.digests[name]
        if place not in self._by_digest:
            stage = self._by_name[entry.stage]
            if not stage.is_kept:
                made = stage.compute(self._needed(stage, entry.needs), entry.settings, self.threads, None)
                self._by_digest |= {(one, entry.digests[one]): value for one, value in made.items()}
            elif self.store is None:
                raise InputFormatError(f"{name} is neither in memory nor in a file.")
            else:
                self._by_digest[place] = self.store.load(entry, stage, [name])[name]
        return self._by_digest[place]

    @contextlib.contextmanager
    def _log(self, stage: Stage, key: str) -> Iterator[None]:
        if self.store is None:
            yield
            return
        with self.store.log(stage, key) as log, noted_in(log):
            yield

    # --- settings -----------------------------------------------------------------------------------------------------

    def values(self, stage: Stage, options: Mapping[str, Any]) -> dict[str, Any]:
        """Find the values of a stage's settings: options of analyses, the study's settings, defaults."""
        found = {}
        settings = self.asked if stage.role == "first" else self.completed() if stage.settings else self.asked
        for name, default in stage.settings.items():
            if stage.role == "analysis" and options.get(name) is not None:
                found[name] = options[name]
            elif name in type(settings).model_fields:
                found[name] = getattr(settings, name)
            elif default is inspect.Parameter.empty:
                raise SettingsError(f"{stage.name} needs {name}, which nothing tells. Give it: {name}=...")
            else:
                found[name] = default
        return found

    def completed(self) -> CompleteSettings:
        """Give the settings with what was chosen from the data, which is chosen now if need be."""
        if self.settings is None:
            postures, choice = self.result("postures"), self.result(CHOICE)
            modes = self.asked.model_copy(update={"n_modes": postures.n_components})
            self.settings = modes.complete(choice)
        return self.settings

    def _choice_of(self, stage: Stage) -> tuple[str, ...]:
        return () if stage.role == "first" or not stage.settings else ("postures", CHOICE)

    # --- looking without computing ------------------------------------------------------------------------------------

    def _peek(self, stage: Stage, options: Mapping[str, Any]) -> str | None:
        """Give the key that a stage would have, computing nothing; None where it depends on what is not known."""
        if self.settings is None and stage.role != "first" and stage.settings:
            return None
        values, needs = self.values(stage, options), {}
        for name in stage.needs:
            entry = self._peek_entry(self._producer[name], options) if name in self._producer else None
            found = entry.digests[name] if entry is not None else None
            if name not in self._producer:
                found = self._digest(name, options)
            if found is None:
                return None
            needs[name] = found
        if not stage.is_kept:
            return self._assembled(stage, values, needs).key
        return self.known[stage.name].key if self._is_as_known(stage, values, needs) else stage.key(values, needs)

    def _peek_entry(self, stage: Stage, options: Mapping[str, Any]) -> Entry | None:
        key = self._peek(stage, options)
        if key is None:
            return None
        entry = self.known.get(stage.name)
        if entry is not None and entry.key == key:
            return entry
        if key in self._entries:
            return self._entries[key]
        return self.store.find(stage, key) if self.store is not None else None

    def plan(self, names: Sequence[str], **options: Any) -> list[PlannedStage]:  # noqa: ANN401
        """Tell what would be computed and about how long it would take; nothing is computed or written."""
        planned = []
        in_file = self.store.entries() if self.store is not None else {}
        for stage in self.order(names):
            if not stage.is_kept:
                continue
            self._settle()
            entry = self._peek_entry(stage, options)
            if entry is not None:
                planned.append(PlannedStage(stage=stage.name, action="keep", reason="nothing changed", seconds=0.0))
                continue
            planned.append(self._plan_one(stage, options, in_file.get(stage.name) or self._part_of(stage)))
        return planned

    def _part_of(self, stage: Stage) -> Entry | None:
        """Give the latest of what lies in files of their own."""
        there = self.store.variants(stage.name) if self.store is not None else []
        return there[0] if there else None

    def _settle(self) -> None:
        """Complete the settings once postures are known, and the choice is known or leaves nothing open."""
        if self.settings is not None or self._peek_entry(self._producer["postures"], {}) is None:
            return
        if self._peek_entry(self._by_name[CHOICE], {}) is not None:
            self.completed()
        elif self.asked.is_complete:
            modes = {"n_modes": self.result("postures").n_components}
            self.settings = CompleteSettings.model_validate(self.asked.model_dump() | modes)

    def _plan_one(self, stage: Stage, options: Mapping[str, Any], there: Entry | None) -> PlannedStage:
        unknown = [name for name in stage.needs if name in self._producer and self._unknown(name, options)]
        is_open = bool(unknown) and (there is None or not self._is_reset(stage, options, there))
        action: Literal["check", "compute"] = "check" if is_open and there is not None else "compute"
        reason = "not computed yet" if there is None else "its settings or inputs changed"
        reason = f"depends on {', '.join(unknown)}" if is_open else reason
        return PlannedStage(stage=stage.name, action=action, reason=reason, seconds=self._seconds(stage, options))

    def _is_reset(self, stage: Stage, options: Mapping[str, Any], there: Entry) -> bool:
        """Tell whether settings of a stage changed, as far as they are known."""
        is_known = stage.role == "first" or self.settings is not None
        return is_known and self.values(stage, options) != dict(there.settings)

    def _unknown(self, name: str, options: Mapping[str, Any]) -> bool:
        return self._peek_entry(self._producer[name], options) is None

    # --- progress -----------------------------------------------------------------------------------------------------

    def estimate(self, stage: str, **options: Any) -> float:  # noqa: ANN401
        """Estimate the seconds that a stage would take on one core."""
        return self._seconds(self._by_name[stage], options, threads=1)

    def _seconds(self, stage: Stage, options: Mapping[str, Any], threads: int | None = None) -> float:
        """Estimate the time of a stage."""
        known = self.settings or self.asked
        values = known.model_dump() | {name: value for name, value in options.items() if value is not None}
        values = {name: value for name, value in stage.settings.items() if name not in values} | values
        n_frames, n_animals = self.size
        values["is_complete"] = self.asked.is_complete
        if values.get("n_states") is None:
            values["n_states"] = max(2, min(1000, n_frames // FRAMES_PER_STATE))
        size = Size(n_frames=n_frames, n_animals=n_animals, settings=values, threads=threads or self.threads)
        return float(stage.seconds(size))

    def _progress_of(self, stage: Stage) -> Progress | None:
        if self.progress is None:
            return None
        return lambda _, done, total: self._report(stage.name, done, total)

    def _report(self, stage: str, done: int, total: int) -> None:
        """Say how far all of the work is, by the time that its stages are expected to take."""
        if self.progress is None:
            return
        names = list(self._expected)
        if stage not in names:
            self.progress(stage, done, total)
            return
        before = sum(self._expected[name] for name in names[: names.index(stage)])
        here = before + self._expected[stage] * done / max(total, 1)
        self.progress(stage, round(TICKS * here / max(sum(self._expected.values()), 1e-9)), TICKS)


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


def peak_memory() -> float:
    """Give the largest memory of this process so far, in GB; NaN where the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows
        return float("nan")
    unit = 1e9 if os.uname().sysname == "Darwin" else 1e6  # bytes there, kilobytes elsewhere
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def _content(value: object) -> str:
    """Give the digest of a result; a source of recordings tells its own."""
    own = getattr(value, "content_digest", None)
    return own() if own is not None else digest(value)
