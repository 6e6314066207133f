"""Reversals, ventral and dorsal turns, found by threshold and duration."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov._core.series import Series
from ethomarkov._core.types import BoolArray, FloatArray, IntArray
from ethomarkov.posture.bodywave import paper_gamma, phase_velocity

EVENT_KINDS = ("reversal", "ventral turn", "dorsal turn")


@dataclass(frozen=True, slots=True, kw_only=True)
class EventSettings:
    """What counts as an event.

    Parameters
    ----------
    bend
        The quantity that tells turns: "a3" (third mode amplitude) or "gamma" (the published one, see `paper_gamma`).
    turn
        A turn exceeds this value, ventral in the positive sense of a₃.
    straight
        A reversal stays below this value.
    reversal_velocity
        A reversal has a phase velocity below this, in cycles per second.
    min_duration
        Shortest event in seconds.
    """

    bend: Literal["a3", "gamma"] = "a3"
    turn: float = 15.0
    straight: float = 13.0
    reversal_velocity: float = -0.2
    min_duration: float = 0.5

    @classmethod
    def paper(cls) -> "EventSettings":
        """Give the published rule: thresholds on γ, and nine frames of 1/16 s where the text says half a second."""
        return cls(bend="gamma", turn=3.5e-4, straight=3e-4, min_duration=9 / 16)

    def measure(self, amplitudes: Series) -> FloatArray:
        """Compute the bend, positive when ventral."""
        return amplitudes.values[:, 2].astype(float) if self.bend == "a3" else -paper_gamma(amplitudes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Events(Result):
    """Events found in a series.

    Parameters
    ----------
    kind
        Index into `EVENT_KINDS`.
    start, stop
        First row and one past the last.
    individual
        Index of the animal.
    observed
        Seconds of posture per animal in which events could be seen.
    individuals
        Names of the animals.
    sampling
        Frames per second.
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
        """Events per minute of observed time: one row per animal, one column per kind."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.counts() / (self.observed[:, None] / 60.0)


def find_events(amplitudes: Series, rule: EventSettings | None = None, *, omega: FloatArray | None = None) -> Events:
    """Find reversals and turns.

    Parameters
    ----------
    amplitudes
        Mode amplitudes in the convention of the eigenworms.
    rule
        Thresholds; the default uses a₃, `EventSettings.paper` the published γ.
    omega
        Phase velocity of every frame, where it is known already; else `phase_velocity` measures it.

    Notes
    -----
    SI, "Estimating the rate of reversals, dorsal and ventral turn events". An event ends at a gap.
    """
    rule = rule or EventSettings()
    bend = rule.measure(amplitudes)
    omega = phase_velocity(amplitudes) if omega is None else omega
    with np.errstate(invalid="ignore"):
        flags = ((omega < rule.reversal_velocity) & (np.abs(bend) < rule.straight), bend > rule.turn, bend < -rule.turn)
    min_frames = int(np.ceil(rule.min_duration * amplitudes.sampling.rate - 1e-9))
    found = [_long_runs(amplitudes.segments, flag, min_frames) for flag in flags]
    bounds = np.concatenate(found)
    kind = np.repeat(np.arange(len(found)), [len(one) for one in found])
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
