"""Measured paths and body lengths of a recording."""

from dataclasses import dataclass

import numpy as np

from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.series import Series
from ethomarkov._core.types import FloatArray
from ethomarkov._core.words import count_of
from ethomarkov.recording.recording import Recording


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured(Result):
    """Measured paths and body lengths; NaN where they were not recorded.

    Parameters
    ----------
    centroid
        Position of every frame.
    body_length
        Of every animal.
    length_unit, source
        Unit of both, and the format of the recording.
    """

    centroid: FloatArray = array_field("frame", "space", unit="length")
    body_length: FloatArray = array_field("individual", unit="length")
    length_unit: str
    source: str

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def has_path(self) -> bool:
        """Whether a path was recorded."""
        return bool(np.isfinite(self.centroid).any())

    def headline(self) -> str:
        """Say for how many animals a body length is known, and whether paths were measured."""
        n_known = int(np.isfinite(self.body_length).sum())
        paths = f"paths in {self.length_unit or 'an unknown unit'}" if self.has_path else "no paths"
        return f"{paths}, body lengths of {n_known} of {count_of(self.body_length.size, 'animal')}"

    def speed(self, postures: Series) -> FloatArray:
        """Compute the distance covered in one second from each frame on, in body lengths per second; NaN if unknown."""
        offsets, rate = postures.segments.offsets, postures.sampling.rate
        lag = max(1, round(rate))
        speed = np.full(len(self.centroid), np.nan)
        for i, length in enumerate(self.body_length):
            track = self.centroid[offsets[i] : offsets[i + 1]]
            steps = np.linalg.norm(track[lag:] - track[:-lag], axis=1)
            speed[offsets[i] : offsets[i] + len(steps)] = steps * rate / lag / length
        return speed


def measured_paths(recording: Recording) -> Measured:
    """Collect measured paths and body lengths of a recording.

    Examples
    --------
    >>> wave = np.sin(np.arange(64)[:, None] / 9 + np.arange(20) / 3)
    >>> path, attrs = np.zeros((64, 2)), {"length_unit": "mm"}
    >>> recording = Recording.from_arrays(wave, rate=16.0, centroid=path, body_length=1.1, attrs=attrs)
    >>> measured_paths(recording).headline()
    'paths in mm, body lengths of 1 of 1 animal'
    """
    lengths = recording.body_lengths
    nowhere = np.full((len(recording.values), 2), np.nan)
    return Measured(
        centroid=nowhere if recording.centroid is None else np.asarray(recording.centroid),
        body_length=np.array([lengths.get(name, np.nan) for name in recording.individuals]),
        length_unit=str(recording.dataset.attrs.get("length_unit", "")),
        source=str(recording.dataset.attrs.get("source_format", "")),
    )
