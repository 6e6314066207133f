"""Paths of animals, measured or computed."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov._core.series import Series
from ethomarkov._core.types import BoolArray, FloatArray


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
    """

    centroid: FloatArray = array_field("frame", "space")
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
