"""Rows with times, as stored in files, placed on a regular grid of times."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ethomarkov._core.sampling import Sampling
from ethomarkov._core.types import FloatArray, IntArray
from ethomarkov.exceptions import SamplingError

Places = IntArray | slice
MEGABYTE = 2**20
FREE_GRID_BYTES = 256 * MEGABYTE
GRID_BYTES_PER_BYTE = 4
"""A grid may take this many times the bytes of its rows, beyond the free ones: hours without a row fit in."""
REGULAR_STEP = 0.75
"""Times whose smallest step is at least this share of the median are regular, with holes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """The data of one animal in a file, before they are placed on a regular grid of times.

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

    Examples
    --------
    >>> from ethomarkov.recording import Recording
    >>> track = Track(individual="worm", values=np.array([[1.0], [2.0], [4.0]]), time=np.array([0.0, 0.1, 0.3]))
    >>> Recording.from_tracks([track], kind="amplitude", sampling_rate=10.0).values[:, 0].tolist()
    [1.0, 2.0, nan, 4.0]
    """

    individual: str
    values: FloatArray
    time: FloatArray | None = None
    centroid: FloatArray | None = None
    body_length: float | None = None


def median_length(centerline: FloatArray) -> float | None:
    """Compute the median length of centerlines ``(frames, points, 2)``; None when all are incomplete."""
    lengths = np.linalg.norm(np.diff(centerline, axis=1), axis=2).sum(axis=1)
    known = lengths[np.isfinite(lengths)]
    return float(np.median(known)) if known.size else None


def infer_rate(tracks: Sequence[Track]) -> float:
    """Estimate the frame rate from the times of all tracks.

    The median step gives the number of frames that each step spans; the mean over all steps gives a rate that
    does not drift along a long recording.
    """
    with np.errstate(all="ignore"):  # times may be anything here, and are refused by name when the grid is made
        return _pooled_rate(tracks)


def _pooled_rate(tracks: Sequence[Track]) -> float:
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
    every = every[(every > 0) & np.isfinite(every)]
    if every.size == 0:
        raise SamplingError(
            "All times are equal, so the sampling rate is unknown; state it with sampling_rate= (or --rate)."
        )
    spans = np.maximum(np.round(every / np.median(every)), 1)
    return float(spans.sum() / every.sum())


def restate_rate(tracks: Sequence[Track], rate: float) -> list[Track]:
    """Scale the times of tracks so that their frames are frames at another rate.

    For files whose own times or rate are known to be wrong.
    """
    if all(track.time is None or len(track.time) < 2 for track in tracks):
        return list(tracks)
    stretch = infer_rate(tracks) / Sampling(rate).rate
    return [track if track.time is None else replace(track, time=track.time * stretch) for track in tracks]


def grid_positions(tracks: Sequence[Track], sampling: Sampling) -> list[Places]:
    """Give every row its place on the regular grid that starts at the first time of its track.

    Places that follow each other without a hole are a slice.

    The grids of all tracks together may take `GRID_BYTES_PER_BYTE` times as much memory as their rows and
    `FREE_GRID_BYTES` more, so that one wrong time is an error and not millions of missing frames.
    """
    for track in tracks:
        if track.time is not None:
            _check_times(track.individual, np.asarray(track.time, dtype=float))
    _check_size(tracks, sampling)
    return [_positions(track, sampling) for track in tracks]


def _check_times(name: str, time: FloatArray) -> None:
    unknown = ~np.isfinite(time)
    if unknown.any():
        raise SamplingError(f"{unknown.sum()} times of {name!r} are not numbers; every frame needs one.")
    back = np.flatnonzero(time[1:] < time[:-1])
    if back.size:
        at = int(back[0])
        raise SamplingError(
            f"Times of {name!r} go back from {time[at]:g} s to {time[at + 1]:g} s. "
            "Sort the frames by time, or give each animal its own name."
        )


def _check_size(tracks: Sequence[Track], sampling: Sampling) -> None:
    """Refuse times that would need a grid far larger than what was recorded, before it is made."""
    spans = [_span(track, sampling) for track in tracks]
    row_bytes = [_row_bytes(track) for track in tracks]
    given = sum(len(track.values) * size for track, size in zip(tracks, row_bytes, strict=True))
    needed = sum(span * size for span, size in zip(spans, row_bytes, strict=True))
    allowed = FREE_GRID_BYTES + GRID_BYTES_PER_BYTE * given
    if needed <= allowed:
        return
    longest = int(np.argmax([span - len(track.values) for span, track in zip(spans, tracks, strict=True)]))
    name, time = tracks[longest].individual, np.asarray(tracks[longest].time, dtype=float)
    with np.errstate(over="ignore"):
        at = int(np.diff(time).argmax())
    raise SamplingError(
        f"Times of {name!r} jump from {time[at]:.10g} s to {time[at + 1]:.10g} s: at {sampling.rate:g} Hz its "
        f"{len(time):,} rows would become {spans[longest]:.3g} frames (all frames {needed / MEGABYTE:,.0f} MB, more "
        f"than the {allowed / MEGABYTE:,.0f} MB allowed). Correct the time or the rate, or give what comes before "
        "and after as two animals."
    )


def _span(track: Track, sampling: Sampling) -> float:
    """Count the frames of a grid, as a number that cannot overflow."""
    if track.time is None or len(track.time) == 0:
        return float(len(track.values))
    with np.errstate(over="ignore"):
        return float((np.float64(track.time[-1]) - np.float64(track.time[0])) * sampling.rate + 1)


def _row_bytes(track: Track) -> int:
    """Count the bytes of one frame on a grid: its time, its numbers, its centroid."""
    numbers = int(np.prod(np.shape(track.values)[1:])) + (0 if track.centroid is None else 2)
    return 8 + 4 * numbers


def _positions(track: Track, sampling: Sampling) -> Places:
    whole = slice(0, len(track.values))
    if track.time is None or len(track.time) == 0:
        return whole
    time = np.asarray(track.time, dtype=float)
    place: IntArray = np.round((time - time[0]) * sampling.rate).astype(np.int64)
    shared = np.flatnonzero(place[1:] == place[:-1])
    if shared.size:
        raise SamplingError(_shared_place(track.individual, time, shared, sampling))
    return whole if place[-1] == len(place) - 1 else place


def _shared_place(name: str, time: FloatArray, shared: IntArray, sampling: Sampling) -> str:
    """Say why rows fall on one frame: equal times, too low a rate, or irregular times."""
    steps = np.diff(time)
    same = np.flatnonzero(steps == 0)
    if same.size:
        return (
            f"{name!r} has {same.size} duplicate times, the first at {time[same[0]]:.10g} s. Keep one row per frame, "
            "write times with all their digits, and give each animal its own name."
        )
    first, second = time[shared[0]], time[shared[0] + 1]
    low, middle, high = steps.min(), float(np.median(steps)), steps.max()
    if low > REGULAR_STEP * middle:
        return (
            f"The rows of {name!r} follow each other in steps of {middle:.6g} s ({1 / middle:.6g} Hz), too close for "
            f"{sampling.rate:g} Hz: {first:.10g} s and {second:.10g} s are one frame. Leave out the rate (--rate); "
            "resample (--resample) brings a recording to another one."
        )
    return (
        f"Times of {name!r} are irregular: steps from {low:.3g} s to {high:.3g} s, median {middle:.3g} s, so that "
        f"{shared.size} rows share a frame with the row before at {sampling.rate:g} Hz (first {first:.10g} s and "
        f"{second:.10g} s). Interpolate them to regular times first; or, if the camera was regular, leave the times "
        "out and state its rate (--rate)."
    )


def to_grid(parts: Sequence[FloatArray | None], places: Sequence[Places]) -> FloatArray:
    """Place the rows of all tracks on their grids, one after the other.

    Parameters
    ----------
    parts
        Rows of every track, of one shape; None where a track has none.
    places
        As from `grid_positions`.

    Returns
    -------
    FloatArray
        Float32; places without a row are NaN.
    """
    stops = np.cumsum([grid_size(place) for place in places])
    shape = next(np.shape(part)[1:] for part in parts if part is not None)
    grid = np.full((int(stops[-1]), *shape), np.nan, dtype=np.float32)
    for rows, place, stop in zip(parts, places, stops, strict=True):
        if rows is not None:
            with np.errstate(over="ignore"):  # infinite then, and refused as such
                grid[stop - grid_size(place) : stop][place] = rows
    return grid


def grid_size(place: Places) -> int:
    """Count the frames of a grid."""
    if isinstance(place, slice):
        return int(place.stop)
    return int(place[-1]) + 1 if place.size else 0
