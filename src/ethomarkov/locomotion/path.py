"""Paths of animals, measured or computed."""

from dataclasses import dataclass

import numpy as np

from ethomarkov._core.result import array_field, freeze_arrays
from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov._core.series import Series
from ethomarkov._core.types import BoolArray, FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
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
    def from_points(cls, points: FloatArray, like: Series, length_unit: str) -> "Path":
        """Make a path of measured points, on the rows of a series; the heading is not known."""
        known: BoolArray = np.asarray(np.isfinite(points).all(axis=1))
        return cls(
            centroid=np.where(known[:, None], points, np.nan),
            heading=np.full(len(points), np.nan),
            segments=Segments.from_valid(known, like.segments.offsets, like.segments.individuals),
            sampling=like.sampling,
            length_unit=length_unit,
        )

    def of(self, individual: int) -> "Path":
        """Cut out one individual."""
        first, stop = self.segments.offsets[individual : individual + 2]
        mine = self.segments.bounds[self.segments.bounds[:, 2] == individual]
        segments = Segments(
            bounds=(mine - np.array([first, first, individual])),
            offsets=np.array([0, stop - first]),
            individuals=(self.segments.individuals[individual],),
        )
        return Path(
            centroid=self.centroid[first:stop],
            heading=self.heading[first:stop],
            segments=segments,
            sampling=self.sampling,
            length_unit=self.length_unit,
        )

    def speed(self, window: float = 1.0) -> FloatArray:
        """Measure the distance covered in about `window` seconds, per second, at the first frame of each window."""
        lag = max(1, round(window * self.sampling.rate))
        first, last = self.segments.pairs(lag)
        speed = np.full(len(self.centroid), np.nan)
        speed[first] = np.linalg.norm(self.centroid[last] - self.centroid[first], axis=1) / self.sampling.seconds(lag)
        return speed
