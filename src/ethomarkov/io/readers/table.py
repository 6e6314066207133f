"""Rows of a plain table or of plain arrays, before they are given to their animals."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ethomarkov._core.types import FloatArray, IntArray
from ethomarkov.exceptions import InputFormatError
from ethomarkov.io.options import ReadOptions
from ethomarkov.io.readers.csv_header import LONGEST_NAME
from ethomarkov.io.readers.keypoints import position_recording
from ethomarkov.io.readers.labels import refuse_labels
from ethomarkov.recording import Recording, Track
from ethomarkov.recording.schema import Kind

MANY_ANIMALS, MOST_ANIMALS = 1000, 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of a table, before they are given to their animals.

    Parameters
    ----------
    kind
        What the values are.
    values
        One row per frame of one animal, shaped as the kind asks.
    animals
        Names of the animals, in the order in which they first appear.
    owner
        Number of the animal of every row, from 0.
    time
        Seconds of every row, if known.
    centroid
        Measured position of every row, if known.
    names
        Names of keypoints; empty for other kinds.
    body_lengths
        One per animal, if known.
    sampling_rate
        Frames per second, if stated.
    length_unit
        Unit of positions and lengths, if stated.
    """

    kind: Kind
    values: FloatArray
    animals: tuple[str, ...]
    owner: IntArray
    time: FloatArray | None = None
    centroid: FloatArray | None = None
    names: tuple[str, ...] = ()
    body_lengths: FloatArray | None = None
    sampling_rate: float | None = None
    length_unit: str = ""

    def to_recording(self, options: ReadOptions) -> Recording:
        """Give the rows to their animals and put them on a grid of times."""
        self._check()
        rate = self.sampling_rate if options.sampling_rate is None else options.sampling_rate
        attrs = {"length_unit": self.length_unit}
        tracks = list(self._tracks())
        if self.kind == "position":
            return position_recording(self.names, tracks, options, sampling_rate=rate, attrs=attrs)
        return Recording.from_tracks(tracks, kind=self.kind, sampling_rate=rate, attrs=attrs)

    def _check(self) -> None:
        if self.kind == "amplitude":
            refuse_labels(self.values, "The amplitude" if self.values.shape[1] == 1 else "Every amplitude")
        if "" in self.animals:
            nameless = int((self.owner == self.animals.index("")).sum())
            raise InputFormatError(f"{nameless} rows name no individual; every row needs one.")
        _check_names(self.animals, len(self.owner))
        lengths = self.body_lengths
        if lengths is not None and lengths.shape != (len(self.animals),):
            raise InputFormatError(
                f"body_length has shape {lengths.shape}, but there are {len(self.animals)} animals; one each is needed."
            )

    def _tracks(self) -> Iterator[Track]:
        lengths = self.body_lengths
        for i, (name, rows) in enumerate(zip(self.animals, self._rows(), strict=True)):
            yield Track(
                individual=name,
                values=self.values[rows],
                time=None if self.time is None else self.time[rows],
                centroid=None if self.centroid is None else self.centroid[rows],
                body_length=None if lengths is None or np.isnan(lengths[i]) else float(lengths[i]),
            )

    def _rows(self) -> Iterator[slice | IntArray]:
        """Give the rows of one animal after the other; without a copy where they stand together."""
        if len(self.animals) == 1:
            yield slice(None)
            return
        together = bool((self.owner[1:] >= self.owner[:-1]).all())
        order = None if together else np.argsort(self.owner, kind="stable")
        ends = np.cumsum(np.bincount(self.owner, minlength=len(self.animals)))
        for first, stop in zip([0, *ends[:-1]], ends, strict=True):
            yield slice(first, stop) if order is None else order[first:stop]


def _check_names(animals: tuple[str, ...], n_rows: int) -> None:
    """Refuse names that are none: longer than a line, or another one in almost every row."""
    longest = max(animals, key=len, default="")
    if len(longest) > LONGEST_NAME:
        raise InputFormatError(
            f"An individual is named {longest[:20]!r} … with {len(longest):,} characters; at most {LONGEST_NAME} are "
            "allowed. Give it a shorter name."
        )
    if len(animals) > min(max(MANY_ANIMALS, n_rows / 2), MOST_ANIMALS):
        raise InputFormatError(
            f"{n_rows:,} rows name {len(animals):,} individuals; at most {MOST_ANIMALS:,} can be read, with two or "
            "more frames each. Check what stands in individual, which is the animal and not the frame."
        )
