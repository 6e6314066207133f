"""From keypoints as files give them to those of a recording: which are kept, how sure they must be, which way is up.

What all pose readers ask of the user is here as well: the rate, the view, and frame numbers that make sense.
"""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethomarkov._core.sampling import Sampling
from ethomarkov._core.types import FloatArray
from ethomarkov.exceptions import InputFormatError, SamplingError
from ethomarkov.io.options import ReadOptions
from ethomarkov.recording import Recording, Track

IMAGE_ATTRS = {"length_unit": "pixel", "y_axis": "up"}
FREE_FRAMES = 1_000_000
FRAMES_PER_ROW = 100
"""Frame numbers may span this many frames per row, beyond the free ones: more is a damaged number, not a hole."""


def position_recording(
    names: Sequence[str],
    tracks: Sequence[Track],
    options: ReadOptions,
    *,
    sampling_rate: float | None = None,
    attrs: Mapping[str, Any] | None = None,
) -> Recording:
    """Keep the keypoints that were asked for, in that order, as keypoints or as points along the body.

    Parameters
    ----------
    names
        Names of all keypoints of the file.
    tracks
        One per animal, values ``(frames, keypoints, 2)``.
    options
        Its ``keypoints`` select and order, its ``as_centerline`` turns keypoints into a centerline.
    sampling_rate
        Frames per second; taken from the times when None.
    attrs
        Kept with the recording.
    """
    if len(set(names)) < len(names):
        raise InputFormatError(f"Two keypoints have the same name among {', '.join(names)}; each needs its own.")
    for track in tracks:
        if track.values.shape[1:2] != (len(names),):
            raise InputFormatError(
                f"{track.individual!r} has postures of shape {track.values.shape}, but there are {len(names)} "
                f"keypoint names ({', '.join(names[:10])}); (frames, keypoints, 2) with one name each is needed."
            )
    kept = _select(names, options.keypoints)
    chosen = [
        Track(
            individual=track.individual,
            values=track.values[:, kept],
            time=track.time,
            centroid=track.centroid,
            body_length=track.body_length,
        )
        for track in tracks
    ]
    if options.as_centerline:
        _check_line([names[i] for i in kept])
        return Recording.from_tracks(chosen, kind="centerline", sampling_rate=sampling_rate, attrs=attrs)
    labels = [names[i] for i in kept]
    return Recording.from_tracks(chosen, kind="position", sampling_rate=sampling_rate, labels=labels, attrs=attrs)


def image_track(
    individual: str,
    positions: FloatArray,
    options: ReadOptions,
    *,
    confidence: FloatArray | None = None,
    time: FloatArray | None = None,
) -> Track:
    """Make a track from image coordinates: unsure keypoints become missing, and y points up.

    Parameters
    ----------
    individual
        Name of the animal.
    positions
        Image coordinates ``(frames, keypoints, 2)``, y down.
    options
        Its ``min_confidence`` is the threshold.
    confidence
        Likelihoods ``(frames, keypoints)``; unknown (NaN) ones do not count against a keypoint.
    time
        Seconds of every frame.
    """
    if positions.shape[-1] != 2:
        raise InputFormatError(
            f"Keypoints of {individual!r} have {positions.shape[-1]} coordinates; only x and y can be used. "
            "Project them onto a plane first, or export the two-dimensional poses."
        )
    with np.errstate(over="ignore"):  # what is too large becomes infinite, and the recording says so
        plane = np.array(positions, dtype=np.float32)
    plane[..., 1] *= -1  # images count y from the top, which would mirror left and right turns
    if confidence is not None:
        plane[np.asarray(confidence) < options.min_confidence] = np.nan
    return Track(individual=individual, values=plane, time=time)


def require_rate(options: ReadOptions, what: str) -> float:
    """Give the rate that the user states, for files that hold none."""
    if options.sampling_rate is None:
        raise SamplingError(f"{what} hold no frame rate. State it with sampling_rate= (or --rate).")
    return Sampling(options.sampling_rate).rate


def frame_times(frames: NDArray[Any], rate: float) -> FloatArray:
    """Turn frame numbers into seconds; holes stay holes, what is reversed or repeated is refused.

    Parameters
    ----------
    frames
        Number of the frame of every row, whole and ascending.
    rate
        Frames per second.

    Examples
    --------
    >>> frame_times(np.array([10, 11, 14]), 10.0)
    array([1. , 1.1, 1.4])
    """
    numbers = np.asarray(frames, dtype=np.float64)
    odd = np.flatnonzero(~(np.abs(numbers) < 2**53) | (numbers != np.round(numbers)))
    if odd.size:
        raise InputFormatError(
            f"Row {odd[0] + 1} has the frame number {frames[odd[0]]}; a whole number is needed. Correct the index."
        )
    wrong = np.flatnonzero(np.diff(numbers) <= 0)
    if wrong.size:
        before, after = numbers[wrong[0]], numbers[wrong[0] + 1]
        found = f"{before:.0f} is there twice" if before == after else f"goes back from {before:.0f} to {after:.0f}"
        raise InputFormatError(
            f"The frame number {found} (row {wrong[0] + 2}); each frame is needed once, in order. "
            "Sort the rows, or export the file again."
        )
    if numbers.size and np.ptp(numbers) > FREE_FRAMES + FRAMES_PER_ROW * numbers.size:
        raise InputFormatError(
            f"{numbers.size} rows span the frames {numbers[0]:.0f} to {numbers[-1]:.0f}, so nearly all are missing and "
            "a frame number is probably damaged. Correct it, or cut the recording there."
        )
    return np.asarray(numbers / rate)


def choose_view(names: Sequence[str], wanted: str | None, what: str = "view") -> str:
    """Find the view to read: the only one, or the one that was asked for.

    Parameters
    ----------
    names
        Views, cameras or films of a file.
    wanted
        What the user says.
    what
        What the names are, in one word.

    Examples
    --------
    >>> choose_view(["top", "side"], "side")
    'side'
    """
    listing = ", ".join(dict.fromkeys(names)) or "one without a name"
    if wanted is None:
        if len(set(names)) > 1:
            raise InputFormatError(
                f"There are {len(set(names))} {what}s ({listing}); one at a time can be read. "
                "Name it with view= (or --view)."
            )
        return names[0] if names else ""
    if wanted not in names:
        raise InputFormatError(
            f"There is no {what} {wanted!r}, only {listing}.{suggest(wanted, names)} Correct view= (or --view)."
        )
    return wanted


def suggest(word: str, known: Iterable[str]) -> str:
    """Give a sentence that names the closest known word, or nothing.

    Examples
    --------
    >>> suggest("tial", ["nose", "tail"])
    " Did you mean 'tail'?"
    """
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.7)
    return f" Did you mean {close[0]!r}?" if close else ""


def _select(names: Sequence[str], wanted: tuple[str, ...] | None) -> list[int]:
    if wanted is None:
        return list(range(len(names)))
    for name in wanted:
        if name not in names:
            raise InputFormatError(
                f"There is no keypoint {name!r}; there are {', '.join(names)}.{suggest(name, names)} "
                "Correct keypoints= (or --keypoints)."
            )
    if not wanted or len(set(wanted)) < len(wanted):
        raise InputFormatError(
            f"keypoints= names {', '.join(wanted) or 'nothing'}; at least one is needed, each once. "
            f"There are {', '.join(names)}."
        )
    return [names.index(name) for name in wanted]


def _check_line(names: Sequence[str]) -> None:
    if len(names) < 3:
        raise InputFormatError(
            f"A centerline needs at least three keypoints from head to tail; there are {len(names)} "
            f"({', '.join(names)}). Name more with keypoints=, or leave as_centerline away."
        )
