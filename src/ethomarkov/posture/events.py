"""Reversals, ventral and dorsal turns, detected by threshold and duration."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov._core.series import Series
from ethomarkov._core.showing import frame_of_columns
from ethomarkov._core.types import BoolArray, FloatArray, IntArray
from ethomarkov._core.words import count_of
from ethomarkov.posture.bodywave import paper_gamma, phase_velocity

if TYPE_CHECKING:
    import pandas as pd

EVENT_KINDS = ("reversal", "ventral turn", "dorsal turn")


@dataclass(frozen=True, slots=True, kw_only=True)
class EventSettings:
    """Thresholds and durations that define events.

    Parameters
    ----------
    bend
        The quantity that defines turns: "a3" (third mode amplitude) or "gamma" (as published, see `paper_gamma`).
    turn
        A turn exceeds this value, ventral in the positive sense of a₃.
    straight
        During a reversal the bend is below this value on both sides.
    reversal_velocity
        A reversal has a phase velocity below this, in cycles per second.
    min_duration
        Shortest event in seconds.

    Examples
    --------
    >>> EventSettings(min_duration=1.0).turn
    15.0
    >>> EventSettings.paper().bend
    'gamma'
    """

    bend: Literal["a3", "gamma"] = "a3"
    turn: float = 15.0
    straight: float = 13.0
    reversal_velocity: float = -0.2
    min_duration: float = 0.5

    @classmethod
    def paper(cls) -> "EventSettings":
        """Give the published settings: thresholds on γ, and nine frames of 1/16 s where the text says half a second."""
        return cls(bend="gamma", turn=3.5e-4, straight=3e-4, min_duration=9 / 16)

    def measure(self, amplitudes: Series) -> FloatArray:
        """Compute the bend of every frame, positive when ventral.

        Examples
        --------
        >>> amplitudes = Series.from_rows(np.array([[0.0, 0.0, 16.0, 0.0, 0.0]]), 16.0)
        >>> EventSettings().measure(amplitudes).tolist()
        [16.0]
        """
        return amplitudes.values[:, 2].astype(float) if self.bend == "a3" else -paper_gamma(amplitudes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Events(Result):
    """Reversals and turns of a series.

    Parameters
    ----------
    kind
        Index into `EVENT_KINDS`.
    start, stop
        First row and one past the last.
    individual
        Index of the animal.
    observed
        Seconds of posture per animal in which events could be detected.
    individuals
        Names of the animals.
    sampling
        Frames per second.

    Examples
    --------
    >>> modes = np.zeros((160, 5))
    >>> modes[40:60, 2] = 20.0  # a deep ventral bend
    >>> events = find_events(Series.from_rows(modes, 16.0))
    >>> events.counts().tolist(), events.rates().tolist()
    ([[0, 1, 0]], [[0.0, 6.0, 0.0]])
    >>> events.table()[["kind", "start_row", "duration_s"]].values.tolist()
    [['ventral turn', 40, 1.25]]
    """

    kind: IntArray = array_field("event")
    start: IntArray = array_field("event")
    stop: IntArray = array_field("event")
    individual: IntArray = array_field("event")
    observed: FloatArray = array_field("individual", unit="s")
    individuals: tuple[str, ...]
    sampling: Sampling

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def counts(self) -> IntArray:
        """Count events: one row per animal, one column per kind."""
        table = np.zeros((len(self.individuals), len(EVENT_KINDS)), dtype=np.int64)
        np.add.at(table, (self.individual, self.kind), 1)
        return table

    def rates(self) -> FloatArray:
        """Compute events per minute of observed time: one row per animal, one column per kind."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.counts() / (self.observed[:, None] / 60.0)

    def headline(self) -> str:
        """Say how many events of each kind there are."""
        n = np.bincount(self.kind[(self.kind >= 0) & (self.kind < len(EVENT_KINDS))], minlength=len(EVENT_KINDS))
        counts = ", ".join(count_of(int(k), kind) for k, kind in zip(n, EVENT_KINDS, strict=True))
        return f"{counts} in {count_of(len(self.individuals), 'animal')}"

    def table(self) -> "pd.DataFrame":
        """List the events, one row each: animal, kind, rows of the series, and duration in seconds."""
        interval = 1.0 / self.sampling.rate
        return frame_of_columns(
            {
                "individual": [self.individuals[k] for k in self.individual],
                "kind": [EVENT_KINDS[k] for k in self.kind],
                "start_row": self.start,
                "stop_row": self.stop,
                "duration_s": (self.stop - self.start) * interval,
            }
        )


def find_events(
    amplitudes: Series, settings: EventSettings | None = None, *, omega: FloatArray | None = None
) -> Events:
    """Detect reversals, ventral and dorsal turns.

    Parameters
    ----------
    amplitudes
        Mode amplitudes in the convention of the eigenworms.
    settings
        Thresholds; the default uses a₃, `EventSettings.paper` the published γ.
    omega
        Phase velocity of every frame, if already known; computed by `phase_velocity` otherwise.

    Notes
    -----
    SI, "Estimating the rate of reversals, dorsal and ventral turn events". An event ends at a gap.

    Examples
    --------
    >>> modes = np.zeros((160, 5))
    >>> modes[40:60, 2] = -20.0  # a deep dorsal bend of 1.25 s
    >>> find_events(Series.from_rows(modes, 16.0)).counts().tolist()
    [[0, 0, 1]]
    """
    settings = settings or EventSettings()
    bend = settings.measure(amplitudes)
    omega = phase_velocity(amplitudes) if omega is None else omega
    with np.errstate(invalid="ignore"):
        is_reversal = (omega < settings.reversal_velocity) & (np.abs(bend) < settings.straight)
        flags = (is_reversal, bend > settings.turn, bend < -settings.turn)
    min_frames = int(np.ceil(settings.min_duration * amplitudes.sampling.rate - 1e-9))
    runs = [_long_runs(amplitudes.segments, flag, min_frames) for flag in flags]
    bounds = np.concatenate(runs)
    kind = np.repeat(np.arange(len(runs)), [len(one) for one in runs])
    order = np.lexsort((kind, bounds[:, 0]))
    return Events(
        kind=kind[order],
        start=bounds[order, 0],
        stop=bounds[order, 1],
        individual=bounds[order, 2],
        observed=amplitudes.segments.count_rows() / amplitudes.sampling.rate,
        individuals=amplitudes.segments.individuals,
        sampling=amplitudes.sampling,
    )


def _long_runs(segments: Segments, flag: BoolArray, min_frames: int) -> IntArray:
    """Find runs of set flags: first row, one past the last, and individual; a gap ends them."""
    found = [np.empty((0, 3), dtype=np.int64)]
    for start, stop, individual in segments:
        first, last = start + np.flatnonzero(np.diff(flag[start:stop], prepend=False, append=False)).reshape(-1, 2).T
        found.append(np.stack([first, last, np.full(first.size, individual)], axis=1)[last - first >= min_frames])
    return np.concatenate(found)
