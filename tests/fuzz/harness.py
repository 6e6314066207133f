"""Damaged files are made and read, one after the other, and what must never happen is looked for.

A file is either read or refused by an error of this package: one paragraph that names the file. No other error, no
warning of another library, no new or changed file, no connection, no memory beyond the limit.
"""

import contextlib
import hashlib
import importlib
import json
import os
import random
import resource
import shutil
import signal
import socket
import tempfile
import threading
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ethomarkov.exceptions import EthomarkovError, EthomarkovWarning
from ethomarkov.io import confined
from fuzz.mutations import mutate
from fuzz.samples import BY_NAME, Sample, content_of

MEGABYTE = 2**20
MOST_CHARACTERS = 600
MOST_MEMORY = 1000 * MEGABYTE
MOST_GROWTH = 500 * MEGABYTE
LONG_SECONDS = 10.0
CPU_SECONDS = 20
READ, REFUSED, FAILED = "read", "refused", "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A damaged file, which can be made again from its format, seed and index.

    Parameters
    ----------
    sample
        What it was made from.
    content
        Its bytes.
    seed, index
        From which its damage was drawn.
    how
        What was done to it.
    """

    sample: Sample
    content: bytes
    seed: int = 0
    index: int = 0
    how: str = "nothing"

    def __str__(self) -> str:
        return f"--format {self.sample.name} --seed {self.seed} --first {self.index} --files 1 ({self.how})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a file.

    Parameters
    ----------
    case
        The file.
    kind
        "read", "refused" or "failed".
    seconds
        Until it was known.
    message
        Of the error, without the folder of the file.
    wrong
        What must not happen and did.
    """

    case: Case
    kind: str
    seconds: float
    message: str = ""
    wrong: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class Summary:
    """What became of many files.

    Parameters
    ----------
    counts
        By format and kind.
    failures
        Files that did what must not happen.
    slow
        Files that took longer than `LONG_SECONDS`.
    peak, grown
        Bytes of memory: the most of a process that reads, and what this one has more than at the start.
    """

    counts: dict[str, Counter[str]] = field(default_factory=dict)
    failures: list[Outcome] = field(default_factory=list)
    slow: list[Outcome] = field(default_factory=list)
    peak: int = 0
    grown: int = 0

    @property
    def n_files(self) -> int:
        return sum(sum(of_format.values()) for of_format in self.counts.values())

    def add(self, outcome: Outcome) -> None:
        of_format = self.counts.setdefault(outcome.case.sample.name, Counter())
        of_format[FAILED if outcome.wrong else outcome.kind] += 1
        if outcome.wrong:
            self.failures.append(outcome)
        if outcome.seconds > LONG_SECONDS:
            self.slow.append(outcome)

    def __str__(self) -> str:
        kinds = (READ, REFUSED, FAILED)
        rows = [f"{'format':<22}" + "".join(f"{kind:>9}" for kind in kinds)]
        total: Counter[str] = sum(self.counts.values(), Counter())
        for name, of_format in [*self.counts.items(), ("all", total)]:
            rows.append(f"{name:<22}" + "".join(f"{of_format[kind]:>9}" for kind in kinds))
        rows.append(f"memory of the process that reads at most {self.peak / MEGABYTE:.0f} MB")
        rows.append(f"memory of this process grown by {self.grown / MEGABYTE:.0f} MB")
        rows += [f"took {one.seconds:.1f} s: {one.case}" for one in self.slow]
        rows += [f"{one.case}\n    {'; '.join(one.wrong)}\n    {one.message}" for one in self.failures]
        return "\n".join(rows)


def cases(formats: Sequence[str], n_files: int, seed: int, first: int = 0) -> Iterator[Case]:
    """Make damaged files, in turn of each format."""
    for index in range(first, first + -(-n_files // len(formats))):
        for name in formats[: n_files - (index - first) * len(formats)]:
            yield make_case(name, seed, index)


def make_case(name: str, seed: int, index: int) -> Case:
    """Make one damaged file; the same arguments give the same damage."""
    chance = random.Random(f"{seed}/{name}/{index}")
    content, how = mutate(content_of(name), chance)
    if BY_NAME[name].seals and chance.random() < 0.7:
        content, how = _sealed(content), f"{how} + sealed"
    return Case(sample=BY_NAME[name], content=content, seed=seed, index=index, how=how)


def _sealed(content: bytes) -> bytes:
    """Put the digest of a changed content behind it, in place of the old one."""
    from ethomarkov.io.seal import SEAL, seal

    body = content[: -SEAL.size]
    return body + seal(body)


def run(
    formats: Sequence[str],
    n_files: int,
    *,
    seed: int = 0,
    first: int = 0,
    keep: Path | None = None,
    tell: Callable[[Summary], None] | None = None,
) -> Summary:
    """Make and read damaged files.

    Parameters
    ----------
    formats
        Names of samples.
    n_files
        In all, shared among the formats.
    seed, first
        Seed of the damage, and where to begin counting.
    keep
        Folder for files that do what must not happen.
    tell
        Called with the summary after every file.
    """
    summary = Summary()
    with watching() as watch:
        for case in cases(formats, n_files, seed, first):
            outcome = watch.read(case)
            summary.add(outcome)
            summary.peak, summary.grown = watch.peak, watch.grown
            if outcome.wrong and keep is not None:
                _keep(outcome, keep)
            if tell is not None:
                tell(summary)
    return summary


def _keep(outcome: Outcome, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    case = outcome.case
    stem = f"{case.sample.name}-{case.seed}-{case.index}"
    (folder / f"{stem}-{case.sample.file}").write_bytes(case.content)
    told = f"{case}\n{'; '.join(outcome.wrong)}\n{outcome.message}\n"
    (folder / f"{stem}.txt").write_text(told, encoding="utf-8", errors="backslashreplace")


# --- watching --------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def watching() -> Iterator["Watch"]:
    """Give a reader of files that sees what they do, in a folder of its own that is the working directory.

    The process that reads is started anew, so that its temporary files would be seen, too.
    """
    before = {name: os.environ.get(name) for name in ("TMPDIR", "HOME")}
    with tempfile.TemporaryDirectory() as made, Listener() as listener:
        folder = Path(made).resolve()
        for name in ("work", "files", "temporary", "home"):
            (folder / name).mkdir()
        os.environ |= {"TMPDIR": str(folder / "temporary"), "HOME": str(folder / "home")}
        confined._reader.end()
        try:
            with contextlib.chdir(folder / "work"):
                yield Watch(folder, listener)
        finally:
            confined._reader.end()
            for name, value in before.items():
                os.environ.pop(name)
                if value is not None:
                    os.environ[name] = value


class Listener:
    """Counts connections to a port of this machine."""

    def __init__(self) -> None:
        self.n_connections = 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                self.n_connections += 1
                connection.close()

    def __enter__(self) -> "Listener":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()


class Watch:
    """Reads files and tells what must not happen.

    Parameters
    ----------
    folder
        Of this watch alone; nothing in it may change.
    listener
        On the port that files name.
    """

    def __init__(self, folder: Path, listener: Listener) -> None:
        self.folder, self.listener, self.peak = folder, listener, 0
        self._start, self._ended = _memory("self", "VmRSS"), _most_of_ended()

    @property
    def grown(self) -> int:
        """Bytes that this process has more than at the start."""
        return _memory("self", "VmRSS") - self._start

    def read(self, case: Case) -> Outcome:
        """Write a file of its name and read it."""
        path = self.folder / "files" / case.sample.file
        path.write_bytes(case.content.replace(b"PORT0", b"%05d" % self.listener.port))
        try:
            return self.read_path(path, case)
        finally:
            path.unlink(missing_ok=True)

    def read_path(self, path: Path, case: Case) -> Outcome:
        """Read what is there, be it a file or something that only looks like one."""
        before, connections = self._state(path, case), self.listener.n_connections
        began = time.monotonic()
        kind, message, wrong = (_try_in_fork if case.sample.here else _try)(path, case)
        seconds = time.monotonic() - began
        after = self._state(path, case)
        changed = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
        if changed:
            wrong.append(f"changed or made {', '.join(changed)}")
            self._clear(after.keys() - before.keys())
        if self.listener.n_connections > connections:
            wrong.append("connected to the network")
        wrong += self._look_at_memory()
        return Outcome(case=case, kind=kind, seconds=seconds, message=message, wrong=tuple(wrong))

    def _state(self, path: Path, case: Case) -> Mapping[str, str]:
        """Give all that is there; a file that may be repaired only by its name."""
        found = {}
        for one in sorted(self.folder.rglob("*")):
            plain = one.is_file() and not one.is_symlink() and not (one == path and case.sample.writes)
            found[str(one.relative_to(self.folder))] = _digest(one) if plain else ""
        return found

    def _clear(self, names: set[str]) -> None:
        for name in names:
            one = self.folder / name
            if one.is_dir():
                shutil.rmtree(one, ignore_errors=True)
            else:
                one.unlink(missing_ok=True)

    def _look_at_memory(self) -> list[str]:
        """Look at the most that a process that reads has had, also one that has ended."""
        ended = _most_of_ended()
        child = confined._reader._child
        alive = _memory(child._process.pid, "VmHWM") if child is not None and child.is_alive else 0
        before, self.peak = self.peak, max(self.peak, alive, ended if ended > self._ended else 0)
        wrong = []
        if self.peak > max(before, MOST_MEMORY):
            wrong.append(f"a process that reads took {self.peak / MEGABYTE:.0f} MB")
        if self.grown > MOST_GROWTH:
            wrong.append(f"this process has grown by {self.grown / MEGABYTE:.0f} MB")
            self._start += self.grown
        return wrong


def _most_of_ended() -> int:
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024


def _digest(path: Path) -> str:
    return hashlib.blake2b(path.read_bytes()).hexdigest()


def _memory(process: int | str, name: str) -> int:
    """Give a figure of a process in bytes; 0 where the system does not tell."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{process}/status").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) * 1024
    return 0


def _try(path: Path, case: Case) -> tuple[str, str, list[str]]:
    """Read a file, and give what became of it, the message, and what is wrong with either."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            case.sample.load(path, case.sample.options)
            kind, message, wrong = READ, "", []
        except EthomarkovError as error:
            kind, message = REFUSED, str(error).replace(str(path.parent) + os.sep, "")
            wrong = check_message(message, path.name) + _check_room(error, case)
        except Exception as error:  # nothing else may come out: that is what is looked for
            kind, message = FAILED, _last_lines(error)
            wrong = [f"{type(error).__name__} came out"]
    wrong += [f"warned: {one.category.__name__}: {one.message}" for one in warned if not _is_own(one)]
    return kind, message, wrong


def _try_in_fork(path: Path, case: Case) -> tuple[str, str, list[str]]:
    """Do the same in a copy of this process, which may crash or compute for ever."""
    importlib.import_module("ethomarkov.study.study")  # once here rather than in every copy
    out, into = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads, which only listen here
        pid = os.fork()
    if pid == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (_memory("self", "VmSize") + MOST_MEMORY,) * 2)
        with os.fdopen(into, "w") as stream:
            json.dump(_try(path, case), stream)
            stream.flush()
            os._exit(0)
    os.close(into)
    with os.fdopen(out) as stream:
        told = stream.read()
    _, status = os.waitpid(pid, 0)
    if told and not status:
        kind, message, wrong = json.loads(told)
        return kind, message, wrong
    return FAILED, "", [f"the process ended ({signal.Signals(os.WTERMSIG(status)).name})"]


def _check_room(error: BaseException | None, case: Case) -> list[str]:
    """Find whether a reader without limits of its own asked for more memory than it has here."""
    while error is not None and case.sample.here:
        if isinstance(error, MemoryError):
            return [f"asked for too much memory ({error})"]
        error = error.__cause__ or error.__context__
    return []


def _last_lines(error: Exception) -> str:
    return "".join(traceback.format_exception(error))[-2000:]


def _is_own(one: warnings.WarningMessage) -> bool:
    return issubclass(one.category, EthomarkovWarning) and not check_message(str(one.message), "")


def check_message(message: str, file: str) -> list[str]:
    """Find what makes a message of an error unfit to be shown: it is one paragraph that names the file."""
    wrong = []
    if file not in message:
        wrong.append("the message does not name the file")
    if len(message) > MOST_CHARACTERS:
        wrong.append(f"the message has {len(message)} characters")
    if "\n" in message or "Traceback" in message:
        wrong.append("the message has several lines")
    elif not message.isprintable():
        wrong.append("the message holds what cannot be printed")
    return wrong
