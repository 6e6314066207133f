"""Paths of animals, measured or computed."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ethomarkov._core.frame_table import describe_frames, frame_table
from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov._core.series import Series
from ethomarkov._core.types import BoolArray, FloatArray

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory(Result):
    """Where the body was.

    Parameters
    ----------
    centroid
        One row per frame; NaN outside the runs.
    heading
        Radians: mean orientation of the body from head to tail, counted on without wrapping.
    segments
        Gap-free runs; a computed path starts anew at the origin in each.
    sampling
        Frames per second.
    length_unit
        Unit of the centroid.

    Examples
    --------
    >>> from ethomarkov.locomotion import propel
    >>> crawl = np.sin(2 * np.pi * (np.arange(20) / 13 - np.arange(161)[:, None] / 32))
    >>> path = propel(crawl, rate=16.0)
    >>> path.headline()
    'path of 1 animal, 10.1 s at 16 Hz, 0 % missing, up to 2.21 body lengths away'
    >>> float(path.speed(2.0)[0].round(3))
    0.221
    """

    centroid: FloatArray = array_field("frame", "space", unit="length")
    heading: FloatArray = array_field("frame", unit="rad")
    segments: Segments
    sampling: Sampling
    length_unit: str = "body lengths"

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @classmethod
    def from_points(cls, points: FloatArray, like: Series, length_unit: str) -> "Trajectory":
        """Make a path of measured points, on the rows of a series; the heading is not known."""
        known: BoolArray = np.asarray(np.isfinite(points).all(axis=1))
        return cls(
            centroid=np.where(known[:, None], points, np.nan),
            heading=np.full(len(points), np.nan),
            segments=Segments.from_valid(known, like.segments.offsets, like.segments.individuals),
            sampling=like.sampling,
            length_unit=length_unit,
        )

    def headline(self) -> str:
        """Give the duration, what is missing, and how far the animals got, gap-free run after run."""
        first, last = self.segments.bounds[:, 0], self.segments.bounds[:, 1] - 1
        far = float(np.linalg.norm(self.centroid[last] - self.centroid[first], axis=1).max(initial=0.0))
        return f"path of {describe_frames(self.segments, self.sampling)}, up to {far:.3g} {self.length_unit} away"

    def table(self) -> "pd.DataFrame":
        """Lay out one row per frame: animal, time, x, y, heading; NaN outside the runs.

        Examples
        --------
        >>> series = Series.from_rows(np.zeros((2, 1)), 4.0)
        >>> path = Trajectory.from_points(np.array([[0.0, 0.0], [1.0, 0.5]]), series, "mm")
        >>> path.table()[["time", "x", "y"]].to_numpy().tolist(), path.table().attrs["units"]["x"]
        ([[0.0, 0.0, 0.0], [0.25, 1.0, 0.5]], 'mm')
        """
        x, y = self.centroid.T
        units = {"x": self.length_unit, "y": self.length_unit, "heading": "rad"}
        return frame_table(self.segments, self.sampling, {"x": x, "y": y, "heading": self.heading}, units)

    def cut(self, individual: int) -> "Trajectory":
        """Cut out one individual."""
        first, stop = self.segments.offsets[individual : individual + 2]
        return Trajectory(
            centroid=self.centroid[first:stop],
            heading=self.heading[first:stop],
            segments=self.segments.cut(individual),
            sampling=self.sampling,
            length_unit=self.length_unit,
        )

    def speed(self, window: float = 1.0) -> FloatArray:
        """Measure the distance covered in about `window` seconds, per second, at the first frame of each window."""
        lag = max(1, round(window * self.sampling.rate))
        speed = np.full(len(self.centroid), np.nan)
        for rows, steps in self.steps(lag):
            x, y = steps.T
            speed[rows] = np.sqrt(x * x + y * y) / self.sampling.seconds(lag)
        return speed

    def steps(self, lag_frames: int) -> Iterator[tuple[slice, FloatArray]]:
        """Give the displacements over `lag_frames`, run after run, and the rows at which they begin."""
        for start, stop, _ in self.segments.trim(0, lag_frames):
            last = self.centroid[start + lag_frames : stop + lag_frames]
            yield slice(start, stop), last - self.centroid[start:stop]
