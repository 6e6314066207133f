"""Sequences of microstates."""

from dataclasses import dataclass

import numpy as np

from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov._core.types import FloatArray, IntArray
from ethomarkov.exceptions import InputFormatError


@dataclass(frozen=True, slots=True, kw_only=True)
class Symbols(Result):
    """One microstate per frame.

    Parameters
    ----------
    labels
        Int32, ``-1`` where there is none.
    n_states
        Number of microstates, visited or not.
    segments
        Gap-free runs of labelled frames.
    sampling
        Frames per second.
    """

    labels: IntArray = array_field("frame")
    n_states: int
    segments: Segments
    sampling: Sampling

    def __post_init__(self) -> None:
        if self.labels.shape != (self.segments.n_rows,):
            raise InputFormatError(
                f"labels have shape {self.labels.shape}, the segments describe {self.segments.n_rows} rows; "
                "one label per frame is needed."
            )
        freeze_arrays(self)

    def visits(self) -> IntArray:
        """Count the frames in each microstate."""
        return np.bincount(self.labels[self.segments.valid], minlength=self.n_states)

    def mask(self, individual: int) -> "Symbols":
        """Keep the runs of one individual; rows stay as they are."""
        return Symbols(
            labels=self.labels, n_states=self.n_states, segments=self.segments.mask(individual), sampling=self.sampling
        )

    def relabel(self, group: IntArray) -> "Symbols":
        """Replace every microstate by its group; microstates of group ``-1`` become missing."""
        group = np.asarray(group, dtype=np.int32)
        labels = np.where(self.labels >= 0, group[self.labels], np.int32(-1)).astype(np.int32)
        return Symbols(
            labels=labels,
            n_states=int(group.max(initial=-1)) + 1,
            segments=self.segments.keep(labels >= 0),
            sampling=self.sampling,
        )


def mean_by_state(symbols: Symbols, values: FloatArray) -> FloatArray:
    """Average a quantity of frames over every microstate; NaN where none was visited."""
    rows = np.flatnonzero(symbols.segments.valid & np.isfinite(values))
    labels = symbols.labels[rows]
    visits = np.bincount(labels, minlength=symbols.n_states)
    sums = np.bincount(labels, values[rows].astype(float), symbols.n_states)
    return np.where(visits > 0, sums / np.maximum(visits, 1), np.nan)
