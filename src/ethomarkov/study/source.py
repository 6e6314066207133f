"""Where recordings come from: a source of parts, of which a recording in memory is the special case with one.

The parts of a source are worked through in the order of their names and drawn by hash, so that neither the order in
which they are given nor the number of workers matters.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from ethomarkov._core.parallel import map_tasks, noted_in
from ethomarkov._core.types import Progress
from ethomarkov.exceptions import InputFormatError
from ethomarkov.io import read
from ethomarkov.io.digest import digest
from ethomarkov.recording import Recording
from ethomarkov.recording.schema import INDIVIDUAL

BATCH_PARTS = 256  # answers held at a time; enough to keep a hundred workers busy

Task = TypeVar("Task")
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of a source.

    Parameters
    ----------
    label
        Its name among the others.
    path
        Of its file; None for a recording in memory.
    stem
        What animals are named after where their names collide.
    labels_name
        Name of the file of its labels.
    """

    label: str
    path: Path | None
    stem: str
    labels_name: str

    def state(self) -> tuple[str, int, int]:
        """Tell by what a change of the file shows, without reading it."""
        if self.path is None:
            return self.label, 0, 0
        facts = self.path.stat()
        return self.label, facts.st_size, facts.st_mtime_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Recording files that are worked through a few at a time, and how they are read.

    Parameters
    ----------
    files
        In any order.
    read
        Reads one file; a function of a module, so that it can be sent to other computers.
    reading
        How files are read, in words; when it changes, nothing of an earlier run is used.
    labels
        Folder for the labels of every file.
    """

    files: tuple[Path, ...]
    read: Callable[[Path], Recording] = read
    reading: str = ""
    labels: Path = field(default=Path("labels"))

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

    def parts(self) -> tuple[Part, ...]:
        """List the files in the order of their labels: names of files where these tell them apart, otherwise paths."""
        is_short = len({file.name for file in self.files}) == len(self.files)
        by_label = sorted((file.name if is_short else str(file), file) for file in self.files)
        is_bare = len({file.stem for file in self.files}) == len(self.files)
        return tuple(
            Part(
                label=label,
                path=file,
                stem=file.stem if is_bare else label,
                labels_name=f"{file.stem}.nc" if is_bare else f"{file.stem}-{digest(label)[:8]}.nc",
            )
            for label, file in by_label
        )

    def content_digest(self) -> str:
        """Give the fingerprint of the files, by their size and time of change, and of how they are read."""
        return digest((tuple(part.state() for part in self.parts()), self.reading))


@dataclass(frozen=True, slots=True)
class MemorySource:
    """A recording in memory: a source with one part that is at hand.

    Parameters
    ----------
    recording
        Of one animal or of many.
    """

    recording: Recording

    def content_digest(self) -> str:
        """Give the fingerprint of the recording."""
        return digest(self.recording.dataset)


AnySource = Source | MemorySource


def read_part(reader: Callable[[Path], Recording], path: Path, prefix: str = "") -> Recording:
    """Read a part, and name its animals after their file too where names collide, as when recordings are joined."""
    recording = reader(path)
    names = [f"{prefix}:{name}" for name in recording.individuals]
    return Recording(recording.dataset.assign_coords({INDIVIDUAL: names})) if prefix else recording


def map_parts(
    function: Callable[[Task], Answer],
    tasks: Iterable[Task],
    what: tuple[str, int],
    threads: int,
    progress: Progress | None,
) -> Iterator[Answer]:
    """Give the answers in order, holding a bounded number; tasks are made only when they are needed.

    Parameters
    ----------
    function, tasks
        What is done with every part.
    what
        In a word, and how many parts there are.
    threads, progress
        See `map_tasks`.
    """
    from threadpoolctl import threadpool_limits

    stage, total = what
    pending, done = iter(tasks), 0
    while batch := list(itertools.islice(pending, BATCH_PARTS)):

        def report(_: str, n: int, __: int, before: int = done) -> None:
            if progress is not None:
                progress(stage, before + n, total)

        # Sums of linear algebra depend on its threads in their last digit. Answers are not logged: they may be as large
        # as the recordings, and what is worth keeping of a part is written by its task.
        with threadpool_limits(1, user_api="blas"), noted_in(None):
            answers = map_tasks(function, batch, threads=threads, progress=report)
        done += len(batch)
        yield from answers
