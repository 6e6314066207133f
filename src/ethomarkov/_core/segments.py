"""Gap-free runs of frames: the only source of windows and of lagged pairs.

Rows of all individuals are stacked one after the other. Windows and pairs are made from the segments
alone, so that nothing can cross a gap or pass from one animal to the next.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.types import BoolArray, IntArray
from ethomarkov._core.words import count_of
from ethomarkov.exceptions import InputFormatError


@dataclass(frozen=True, slots=True, kw_only=True)
class Segments(Result):
    """Gap-free runs of rows, per individual.

    Parameters
    ----------
    bounds
        One row per run, ascending: first row, one past the last row, index of the individual.
    offsets
        Rows ``offsets[i]`` up to ``offsets[i + 1]`` belong to individual ``i``.
    individuals
        Names, in the order of their index.
    """

    bounds: IntArray = array_field("segment_run", "start_stop_individual")
    offsets: IntArray = array_field("individual_edge")
    individuals: tuple[str, ...]

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @classmethod
    def from_valid(
        cls, valid: BoolArray, offsets: IntArray | None = None, individuals: tuple[str, ...] | None = None
    ) -> "Segments":
        """Find the runs of valid rows.

        Parameters
        ----------
        valid
            One flag per row.
        offsets
            Row ranges of the individuals; a single individual by default.
        individuals
            Their names; numbered by default.

        Examples
        --------
        >>> Segments.from_valid(np.array([1, 1, 0, 1], dtype=bool)).bounds.tolist()
        [[0, 2, 0], [3, 4, 0]]
        """
        valid = np.asarray(valid, dtype=bool)
        offsets = np.array([0, valid.size] if offsets is None else offsets, dtype=np.int64)
        if offsets[-1] != valid.size:
            raise InputFormatError(f"The individuals have {offsets[-1]} rows, but {valid.size} flags were given.")
        names = individuals or tuple(str(i) for i in range(offsets.size - 1))
        rows = np.flatnonzero(valid)
        owner = np.searchsorted(offsets, rows, side="right") - 1
        breaks = np.flatnonzero((np.diff(rows) > 1) | (np.diff(owner) > 0)) + 1
        first = np.concatenate([[0], breaks]).astype(np.int64)[: None if rows.size else 0]
        last = np.concatenate([breaks, [rows.size]]).astype(np.int64)[: None if rows.size else 0] - 1
        bounds = np.stack([rows[first], rows[last] + 1, owner[first]], axis=1).astype(np.int64)
        return cls(bounds=bounds, offsets=offsets, individuals=names)

    def headline(self) -> str:
        """Give the number and the longest of the runs in one line.

        Examples
        --------
        >>> Segments.from_valid(np.array([1, 1, 0, 1], dtype=bool)).headline()
        '2 gap-free runs of 1 animal, longest 2 frames'
        """
        runs = f"{count_of(len(self), 'gap-free run')} of {count_of(self.n_individuals, 'animal')}"
        return f"{runs}, longest {count_of(self.longest(), 'frame')}"

    @property
    def n_rows(self) -> int:
        """Rows of the stacked series, valid or not."""
        return int(self.offsets[-1])

    @property
    def n_individuals(self) -> int:
        """Number of individuals, including those without a valid frame."""
        return len(self.individuals)

    @property
    def lengths(self) -> IntArray:
        """Number of rows of each run."""
        lengths: IntArray = self.bounds[:, 1] - self.bounds[:, 0]
        return lengths

    @property
    def valid(self) -> BoolArray:
        """One flag per row, set where it belongs to a run."""
        flag = np.zeros(self.n_rows, dtype=bool)
        for start, stop, _ in self:
            flag[start:stop] = True
        return flag

    @property
    def row_individual(self) -> IntArray:
        """Index of the individual of every row."""
        return np.repeat(np.arange(self.n_individuals), np.diff(self.offsets))

    def __iter__(self) -> Iterator[tuple[int, int, int]]:
        yield from map(tuple, self.bounds.tolist())

    def __len__(self) -> int:
        return len(self.bounds)

    def count_rows(self) -> IntArray:
        """Count the valid rows of each individual."""
        return np.bincount(self.bounds[:, 2], weights=self.lengths, minlength=self.n_individuals).astype(np.int64)

    def longest(self, individual: int | None = None) -> int:
        """Length in rows of the longest run, of one individual or of all."""
        lengths = self.lengths if individual is None else self.lengths[self.bounds[:, 2] == individual]
        return int(lengths.max(initial=0))

    def time_blocks(self, n_blocks: int) -> IntArray:
        """Give every row the number of its block, of equal time within each individual, from 0 on.

        Examples
        --------
        >>> Segments.from_valid(np.ones(7, dtype=bool), np.array([0, 4, 7])).time_blocks(2).tolist()
        [0, 0, 1, 1, 0, 0, 1]
        """
        return np.concatenate([np.arange(n) * n_blocks // max(n, 1) for n in np.diff(self.offsets)]).astype(np.int64)

    def stretches(self, *, across_gaps: bool = False) -> Iterator[tuple[int, slice]]:
        """Give the individual and the rows of every run, or, across gaps, of everything that was recorded of it."""
        if across_gaps:
            edges = self.offsets.tolist()
            yield from ((unit, slice(*edges[unit : unit + 2])) for unit in range(self.n_individuals))
        else:
            yield from ((unit, slice(start, stop)) for start, stop, unit in self)

    def window_starts(self, length: int) -> IntArray:
        """List the first row of every window of `length` rows that fits into a run."""
        return self._first_rows(length - 1)

    def pairs(self, lag: int) -> tuple[IntArray, IntArray]:
        """List all pairs of rows `lag` apart within a run."""
        first = self._first_rows(lag)
        return first, first + lag

    def trim(self, before: int, after: int) -> "Segments":
        """Shorten every run by `before` rows at its start and `after` at its end; drop what vanishes."""
        bounds = self.bounds + np.array([before, -after, 0])
        return Segments(bounds=bounds[bounds[:, 1] > bounds[:, 0]], offsets=self.offsets, individuals=self.individuals)

    def keep(self, valid: BoolArray) -> "Segments":
        """Split the runs further at rows that are not `valid`."""
        return Segments.from_valid(self.valid & valid, self.offsets, self.individuals)

    def mask(self, individual: int) -> "Segments":
        """Keep the runs of one individual; rows and names stay as they are."""
        return Segments(
            bounds=self.bounds[self.bounds[:, 2] == individual],
            offsets=self.offsets,
            individuals=self.individuals,
        )

    def cut(self, individual: int) -> "Segments":
        """Keep the rows and runs of one individual only, counted from its first row."""
        first, stop = self.offsets[individual : individual + 2]
        own = self.bounds[self.bounds[:, 2] == individual]
        return Segments(
            bounds=own - np.array([first, first, individual]),
            offsets=np.array([0, stop - first]),
            individuals=(self.individuals[individual],),
        )

    def _first_rows(self, reach: int) -> IntArray:
        """Rows whose `reach`-th successor lies in the same run."""
        counts = np.maximum(self.lengths - reach, 0)
        jumps = np.repeat(self.bounds[:, 0] - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
        rows: IntArray = np.arange(counts.sum(), dtype=np.int64) + jumps
        return rows
