"""From time-stamped rows, as files hold them, to rows on a regular grid."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ethomarkov._core.sampling import Sampling
from ethomarkov._core.types import FloatArray, IntArray
from ethomarkov.exceptions import SamplingError


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """What a file says about one animal, before it is put on a grid of times.

    Parameters
    ----------
    individual
        Name of the animal.
    values
        Posture, one row per frame, shaped as its kind asks: ``(n, modes)``, ``(n, segments)``,
        ``(n, points, 2)``; NaN where missing.
    time
        Seconds, ascending; None when the frames follow each other without a hole.
    centroid
        Measured position ``(n, 2)``, if there is one.
    body_length
        In the same unit as the centroid, if known.
    """

    individual: str
    values: FloatArray
    time: FloatArray | None = None
    centroid: FloatArray | None = None
    body_length: float | None = None


def median_length(centerline: FloatArray) -> float | None:
    """Find the median length of centerlines ``(frames, points, 2)``; None when all are incomplete."""
    lengths = np.linalg.norm(np.diff(centerline, axis=1), axis=2).sum(axis=1)
    known = lengths[np.isfinite(lengths)]
    return float(np.median(known)) if known.size else None


def infer_rate(tracks: Sequence[Track]) -> float:
    """Estimate the frame rate from the times of all tracks.

    The median step tells how many frames each step spans; the mean over all of them gives a rate that does
    not drift along a long recording.
    """
    steps = [np.diff(track.time) for track in tracks if track.time is not None and len(track.time) > 1]
    if not steps and any(track.time is not None for track in tracks):
        raise SamplingError(
            "There is 1 frame with its time; at least two frames are needed to know the rate. State it with "
            "sampling_rate= (or --rate)."
        )
    if not steps:
        raise SamplingError(
            "The sampling rate is unknown: the file holds neither times nor a rate. "
            "State it with sampling_rate= (or --rate on the command line)."
        )
    every = np.concatenate(steps)
    every = every[every > 0]
    if every.size == 0:
        raise SamplingError(
            "All times are equal, so the sampling rate is unknown; state it with sampling_rate= (or --rate)."
        )
    spans = np.maximum(np.round(every / np.median(every)), 1)
    return float(spans.sum() / every.sum())


def restate_rate(tracks: Sequence[Track], rate: float) -> list[Track]:
    """Stretch the times of tracks so that their frames stay frames at another rate.

    For files whose own times or rate are known to be wrong.
    """
    if all(track.time is None or len(track.time) < 2 for track in tracks):
        return list(tracks)
    stretch = infer_rate(tracks) / Sampling(rate).rate
    return [track if track.time is None else replace(track, time=track.time * stretch) for track in tracks]


def grid_positions(track: Track, sampling: Sampling) -> IntArray:
    """Give every row of a track its place on the regular grid that starts at its first time."""
    if track.time is None or len(track.time) == 0:
        return np.arange(len(track.values))
    time = np.asarray(track.time, dtype=float)
    if not np.isfinite(time).all():
        raise SamplingError(
            f"{np.sum(~np.isfinite(time))} times of {track.individual!r} are not numbers; every frame needs one."
        )
    if np.any(np.diff(time) < 0):
        at = int(np.flatnonzero(np.diff(time) < 0)[0])
        raise SamplingError(
            f"Times of {track.individual!r} go back from {time[at]:g} s to {time[at + 1]:g} s. "
            "Sort the frames by time, or give each animal its own name."
        )
    place: IntArray = np.round((time - time[0]) * sampling.rate).astype(np.int64)
    repeated = np.flatnonzero(np.diff(place) == 0)
    if repeated.size:
        at = int(repeated[0])
        raise SamplingError(
            f"{track.individual!r} has {repeated.size} duplicate times at {sampling.rate:g} Hz, the first at "
            f"{time[at]:g} s ({time[at]:g} and {time[at + 1]:g}). Keep one row per frame, check the rate, and give "
            "each animal its own name."
        )
    return place


def to_grid(rows: FloatArray, place: IntArray) -> FloatArray:
    """Lay rows out on a regular grid; places without a row become NaN."""
    if place.size == 0 or place[-1] == place.size - 1:
        return np.asarray(rows, dtype=np.float32)
    grid = np.full((int(place[-1]) + 1, *rows.shape[1:]), np.nan, dtype=np.float32)
    grid[place] = rows
    return grid
