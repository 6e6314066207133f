"""Options that several commands share."""

from dataclasses import dataclass
from typing import Annotated

from cyclopts import Parameter

from ethomarkov.exceptions import InputFormatError


@Parameter(name="*")
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


@Parameter(name="*")
@dataclass(frozen=True)
class RunningOptions:
    """How the work is done."""

    seed: int | None = None
    """Of all random choices, 0 by default; the same seed gives the same result."""
    threads: int | None = None
    """Cores to use; all of them by default."""
    cluster: str = ""
    """Where tasks run: local, slurm, or tcp://host:port of a Dask scheduler; here by default."""
    quiet: Annotated[bool, Parameter(negative=())] = False
    """Print nothing but errors."""

    def __post_init__(self) -> None:
        if self.seed is not None:
            require_at_least(self.seed, 0, "--seed")
        if self.threads is not None:
            require_at_least(self.threads, 1, "--threads")
        if self.cluster:
            from ethomarkov.workflow.cluster import check_place

            check_place(self.cluster)

    @property
    def chosen_seed(self) -> int:
        """The seed that was asked for, or 0."""
        return self.seed or 0


def require_at_least(value: float, least: float, option: str) -> None:
    """Refuse an option below a limit, or one that is no number."""
    if not least <= value < float("inf"):
        raise InputFormatError(f"{option} is {value}; a number of at least {least} is needed.")
