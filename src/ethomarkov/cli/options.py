"""Options that several commands share, and what every number and path of the command line must be."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Group, Parameter

from ethomarkov.exceptions import InputFormatError

MOST_THREADS = 1024
LARGEST_COUNT, LARGEST_SEED = 1_000_000, 2**63 - 1
SMALLEST_NUMBER, LARGEST_NUMBER = 1e-9, 1e9
MOST_MINUTES = 100_000
"""Of all animals or runs together: at 16 Hz two gigabytes of postures."""
READING_GROUP = Group("Reading files", sort_key=3)
RUNNING_GROUP = Group("Running", sort_key=4)


@Parameter(name="*", group=READING_GROUP)
@dataclass(frozen=True)
class ReadingOptions:
    """How files are read."""

    format: str = "auto"
    """Format of the files; recognised by content when auto."""
    rate: float | None = None
    """Frames per second, for files that do not hold it or hold it wrong."""
    min_confidence: float = 0.6
    """Keypoints of lower likelihood are missing."""
    keypoints: Annotated[tuple[str, ...] | None, Parameter(consume_multiple=True, negative=())] = None
    """Keypoints to keep, head first; the rest is left out."""
    as_centerline: Annotated[bool, Parameter(negative=())] = False
    """Take the keypoints, in order, as points along the body from head to tail."""
    view: str | None = None
    """Camera or view to read, where a file holds several."""
    untracked: Annotated[bool, Parameter(negative=())] = False
    """Take instances that no track holds together as animals of their own, one per place in the frame."""
    min_frames: int = 0
    """Leave out animals with fewer complete frames."""
    min_share: float = 0.0
    """Leave out animals with a smaller share of complete frames."""
    fill_gaps: float | None = None
    """Fill gaps of at most this many seconds."""
    resample: float | None = None
    """Bring the recordings to this rate (Hz)."""


@Parameter(name="*", group=RUNNING_GROUP)
@dataclass(frozen=True)
class RunningOptions:
    """How the work is done."""

    seed: int | None = None
    """Random seed, 0 by default; the same seed gives the same result."""
    threads: int | None = None
    """Cores to use; all of them by default."""
    cluster: str = ""
    """Where tasks run: local, slurm, or tls://host:port or tcp://host:port of a Dask scheduler; here by default."""
    quiet: Annotated[bool, Parameter(negative=())] = False
    """Print nothing but errors."""

    def __post_init__(self) -> None:
        if self.seed is not None:
            require_at_least(self.seed, 0, "--seed")
        if self.threads is not None:
            require_at_least(self.threads, 1, "--threads")
            require_at_most(self.threads, MOST_THREADS, "--threads")
        if self.cluster:
            from ethomarkov.study.cluster import check_place

            check_place(self.cluster)

    @property
    def chosen_seed(self) -> int:
        """The seed that was asked for, or 0."""
        return self.seed or 0


def require_at_least(value: float, least: float, option: str) -> None:
    """Refuse an option below a limit, or one that is no number."""
    if not least <= value < float("inf"):
        raise InputFormatError(f"{option} is {value}; a number of at least {least} is needed.")


def require_at_most(value: float, most: float, option: str) -> None:
    """Refuse an option above a limit."""
    if value > most:
        raise InputFormatError(f"{option} is {value}; a number of at most {most:,} is needed.")


def require_minutes(animals: int, minutes: float, options: str) -> None:
    """Refuse more minutes of animals than could be computed with."""
    if animals * minutes > MOST_MINUTES:
        raise InputFormatError(
            f"{options} ask for {animals * minutes:,.0f} minutes together; at most {MOST_MINUTES:,} are possible. Ask "
            "for fewer or shorter ones."
        )


def check_arguments(arguments: Mapping[str, object]) -> None:
    """Refuse numbers and paths of a command that nothing could be done with, before anything is.

    Parameters
    ----------
    arguments
        Of the command, by name; groups of options are looked into.
    """
    for name, value in arguments.items():
        if is_dataclass(value):  # of which a setting may have another name as an option
            names = {field.name: field.metadata.get("option", field.name) for field in fields(value)}
            check_arguments({option: getattr(value, name) for name, option in names.items()})
        for one in value if isinstance(value, tuple) else (value,):
            _check_argument(f"--{name.strip('-_').replace('_', '-')}", one)


def _check_argument(option: str, value: object) -> None:
    if isinstance(value, Path):
        _check_path(value)
    elif isinstance(value, int):
        most = LARGEST_SEED if option == "--seed" else LARGEST_COUNT
        if abs(value) > most:
            raise InputFormatError(f"{option} is larger than {most:,} in size; a number of at most that is needed.")
    elif isinstance(value, float) and value and not SMALLEST_NUMBER <= abs(value) <= LARGEST_NUMBER:
        raise InputFormatError(
            f"{option} is {value:g}; a number is needed that is 0, or between {SMALLEST_NUMBER:g} and "
            f"{LARGEST_NUMBER:g} in size."
        )


def _check_path(path: Path) -> None:
    """Refuse a path that no file can have: too long, with zero bytes, or a link that leads to itself."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        named = str(path).replace("\0", "?")[:200]
        raise InputFormatError(f"{named}: cannot be the path of a file ({reason}). Name another one.") from error
