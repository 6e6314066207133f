"""Parts of a recording that are held out in turn."""

from dataclasses import dataclass

import numpy as np

from ethomarkov._core.segments import Segments
from ethomarkov._core.types import BoolArray, FloatArray, IntArray

N_FOLDS = 5
FEWEST_ANIMALS, N_BLOCKS = 5, 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Folds:
    """Animals, or blocks of time of few animals, and the fold in which each is held out.

    Parameters
    ----------
    unit
        Animal or block of every row.
    fold
        Fold of every row.
    n_units, n_folds
        How many there are.
    over
        What the units are: "animals" or "blocks".
    """

    unit: IntArray
    fold: IntArray
    n_units: int
    n_folds: int
    over: str

    @classmethod
    def from_segments(cls, segments: Segments) -> "Folds":
        """Assign animals to folds; blocks of equal length where there are fewer than five animals."""
        if segments.n_individuals >= FEWEST_ANIMALS:
            unit, over = np.asarray(segments.row_individual), "animals"
        else:
            unit, over = _blocks(segments), "blocks"
        n_units = int(unit.max(initial=-1)) + 1
        n_folds = min(N_FOLDS, n_units)
        return cls(unit=unit, fold=unit % max(n_folds, 1), n_units=n_units, n_folds=n_folds, over=over)

    def pairs(self, segments: Segments, lag: int) -> tuple[IntArray, IntArray]:
        """List the pairs of rows that are a lag apart in the same unit."""
        first, last = segments.pairs(lag)
        same = self.unit[first] == self.unit[last]
        return first[same], last[same]

    def learned(self, fold: int) -> BoolArray:
        """Flag the rows of the training set while a fold is held out."""
        return np.asarray(self.fold != fold)


def _blocks(segments: Segments) -> IntArray:
    per_animal = -(-N_BLOCKS // max(segments.n_individuals, 1))
    unit = np.zeros(segments.n_rows, dtype=np.int64)
    edges = zip(segments.offsets[:-1], segments.offsets[1:], strict=True)
    for animal, (start, stop) in enumerate(edges):
        place = np.arange(stop - start) * per_animal // max(stop - start, 1)
        unit[start:stop] = animal * per_animal + place
    return unit


def jackknife_error(left_out: FloatArray) -> FloatArray:
    """Estimate standard errors of statistics from their values with each unit (first axis) left out."""
    n = len(left_out)
    spread = np.square(left_out - left_out.mean(axis=0)).sum(axis=0)
    return np.asarray(np.sqrt((n - 1) / n * spread))
