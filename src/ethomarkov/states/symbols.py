"""Sequences of microstates."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ethomarkov._core.arrays import named_arrays, one_rate, whole_numbers
from ethomarkov._core.frame_table import describe_frames, frame_table
from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov._core.types import FloatArray, IntArray, PlainArrays
from ethomarkov._core.words import count_of
from ethomarkov.exceptions import InputFormatError

if TYPE_CHECKING:
    import pandas as pd


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

    Examples
    --------
    >>> symbols = Symbols.from_labels([[0, 1, 1, -1, 2], [2, 0]], rate=4.0)
    >>> symbols.visits().tolist(), symbols.segments.bounds.tolist()
    ([2, 2, 2], [[0, 3, 0], [4, 5, 0], [5, 7, 1]])
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

    @classmethod
    def from_labels(cls, labels: PlainArrays, rate: float | None = None, *, n_states: int | None = None) -> "Symbols":
        """Make symbols of plain labels, one whole number per frame.

        Parameters
        ----------
        labels
            Of one animal; or a list of these, one for each animal, or a mapping from names. −1 and NaN are missing.
        rate
            Frames per second.
        n_states
            Number of states, visited or not; one more than the largest label by default.

        Examples
        --------
        >>> Symbols.from_labels([0, 0, 1, 0], rate=4.0).headline()
        '2 states in 4 frames of 1 animal, 1 s at 4 Hz, 0 % missing'
        """
        parts = {
            name: whole_numbers(_one_column(part, name), f"The labels of {name!r}")
            for name, part in named_arrays(labels, 1, "The labels").items()
        }
        sampling = one_rate(rate, None, "The labels")
        stacked = np.concatenate(list(parts.values()))
        largest = int(stacked.max(initial=-1))
        if n_states is not None and largest >= n_states:
            raise InputFormatError(
                f"A label is {largest}, but n_states={n_states} allows 0 to {n_states - 1}. Use n_states={largest + 1}."
            )
        offsets = np.cumsum([0, *(part.size for part in parts.values())])
        return cls(
            labels=stacked.astype(np.int32),
            n_states=largest + 1 if n_states is None else n_states,
            segments=Segments.from_valid(stacked >= 0, offsets, tuple(parts)),
            sampling=sampling,
        )

    def headline(self) -> str:
        """Give the number of states, the duration and what is missing in one line."""
        frames = f"{count_of(self.n_states, 'state')} in {count_of(self.segments.n_rows, 'frame')}"
        return f"{frames} of {describe_frames(self.segments, self.sampling)}"

    def table(self) -> "pd.DataFrame":
        """Lay out one row per frame: animal, time, microstate; −1 where there is none.

        Examples
        --------
        >>> print(Symbols.from_labels([0, 1, -1], rate=4.0).table().to_string(index=False))
        individual  time  microstate
          animal_1  0.00           0
          animal_1  0.25           1
          animal_1  0.50          -1
        """
        known = np.where(self.segments.valid, self.labels, -1)
        return frame_table(self.segments, self.sampling, {"microstate": known})

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


def _one_column(labels: FloatArray, name: str) -> FloatArray:
    if labels.ndim != 1:
        raise InputFormatError(
            f"The labels of {name!r} have shape {labels.shape}; one whole number per frame is needed. Give several "
            "animals as a list of arrays, one for each."
        )
    return labels


def mean_by_state(symbols: Symbols, values: FloatArray) -> FloatArray:
    """Average a quantity of frames over every microstate; NaN where none was visited."""
    rows = np.flatnonzero(symbols.segments.valid & np.isfinite(values))
    labels = symbols.labels[rows]
    visits = np.bincount(labels, minlength=symbols.n_states)
    sums = np.bincount(labels, values[rows].astype(float), symbols.n_states)
    return np.where(visits > 0, sums / np.maximum(visits, 1), np.nan)
