"""The float time series that every stage takes and gives."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ethomarkov._core.arrays import named_arrays, one_rate
from ethomarkov._core.frame_table import describe_frames, frame_table
from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov._core.types import BoolArray, FloatArray, IntArray, PlainArrays
from ethomarkov._core.words import count_of
from ethomarkov.exceptions import InputFormatError

if TYPE_CHECKING:
    import pandas as pd

BLOCK_ROWS = 16_384


@dataclass(frozen=True, slots=True, kw_only=True)
class Series(Result):
    """Rows of numbers in time, with their gaps and sampling.

    Parameters
    ----------
    values
        Float32, one row per frame; rows outside `segments` mean nothing: NaN, or numbers that belong to no animal.
    segments
        The gap-free runs of rows.
    sampling
        Frames per second.

    Examples
    --------
    >>> series = Series.from_rows([[0.1, 0.2], [np.nan, 0.3], [0.5, 0.6]], 16.0)
    >>> series.headline(), series.segments.bounds.tolist()
    ('3 frames x 2 components of 1 animal, 0.188 s at 16 Hz, 33 % missing', [[0, 1, 0], [2, 3, 0]])
    """

    values: FloatArray = array_field("frame", "component")
    segments: Segments
    sampling: Sampling

    def __post_init__(self) -> None:
        if self.values.ndim != 2 or len(self.values) != self.segments.n_rows:
            raise InputFormatError(
                f"values have shape {self.values.shape}, the segments describe {self.segments.n_rows} rows; "
                "one row per frame is needed."
            )
        freeze_arrays(self)

    @classmethod
    def from_rows(
        cls,
        rows: FloatArray,
        sampling: Sampling | float,
        offsets: np.ndarray | None = None,
        individuals: tuple[str, ...] | None = None,
    ) -> "Series":
        """Make a series from plain rows; a row with any non-finite entry is missing as a whole."""
        rows = np.array(rows, dtype=np.float32)
        if rows.ndim == 1:
            rows = rows[:, None]
        valid: BoolArray = np.asarray(np.isfinite(rows).all(axis=1))
        rows[~valid] = np.nan
        return cls(
            values=rows,
            segments=Segments.from_valid(valid, offsets, individuals),
            sampling=sampling if isinstance(sampling, Sampling) else Sampling(sampling),
        )

    @classmethod
    def from_arrays(cls, arrays: PlainArrays, rate: float) -> "Series":
        """Make a series of plain rows of one animal or of several.

        Parameters
        ----------
        arrays
            ``(frames, columns)``; or a list of these, one for each animal, or a mapping from names. Rows with NaN are
            missing.
        rate
            Frames per second.

        Examples
        --------
        >>> two = Series.from_arrays({"a": [[0.1], [0.2]], "b": [[0.3]]}, rate=16.0)
        >>> two.segments.individuals, two.segments.offsets.tolist()
        (('a', 'b'), [0, 2, 3])
        """
        named = named_arrays(arrays, 2, "The rows")
        sampling = one_rate(rate, None, "The rows")
        widths = {name: rows.shape[1:] for name, rows in named.items()}
        if len(set(widths.values())) > 1 or len(next(iter(widths.values()))) != 1:
            raise InputFormatError(
                f"The rows have shapes {', '.join(f'{rows.shape} ({name})' for name, rows in named.items())}; "
                "(frames, columns) with the same columns for all animals is needed."
            )
        offsets = np.cumsum([0, *(len(rows) for rows in named.values())])
        return cls.from_rows(np.concatenate(list(named.values())), sampling, offsets, tuple(named))

    def headline(self) -> str:
        """Give the size, the duration and what is missing in one line."""
        size = f"{count_of(self.segments.n_rows, 'frame')} x {count_of(self.n_components, 'component')}"
        return f"{size} of {describe_frames(self.segments, self.sampling)}"

    def table(self) -> "pd.DataFrame":
        """Lay out one row per frame: animal, time, and a column for each component; NaN where a frame is missing.

        Examples
        --------
        >>> list(Series.from_rows([[0.1, 0.2], [0.3, 0.4]], 16.0).table().columns)
        ['individual', 'time', 'component_1', 'component_2']
        """
        known = np.where(self.segments.valid[:, None], self.values, np.nan)
        return frame_table(
            self.segments, self.sampling, {f"component_{k}": column for k, column in enumerate(known.T, start=1)}
        )

    @property
    def n_components(self) -> int:
        """Number of columns."""
        return int(self.values.shape[1])

    def with_rows(self, rows: FloatArray) -> "Series":
        """Give new rows to the same animals and times."""
        return Series.from_rows(rows, self.sampling, self.segments.offsets, self.segments.individuals)

    def cut(self, individual: int) -> "Series":
        """Cut out one individual."""
        first, stop = self.segments.offsets[individual : individual + 2]
        return Series(values=self.values[first:stop], segments=self.segments.cut(individual), sampling=self.sampling)

    def blocks(self, n_rows: int = BLOCK_ROWS) -> Iterator[tuple[IntArray, FloatArray]]:
        """Give the rows of the runs piece by piece, with their index: sequences need not be in memory all at once."""
        rows = np.flatnonzero(self.segments.valid)
        for first in range(0, rows.size, n_rows):
            block = rows[first : first + n_rows]
            yield block, self.values[block]
