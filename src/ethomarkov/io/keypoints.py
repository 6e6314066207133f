"""From keypoints as files give them to those of a recording: which are kept, how sure they must be, which way is up."""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ethomarkov._core.types import FloatArray
from ethomarkov.exceptions import InputFormatError
from ethomarkov.io.options import ReadOptions
from ethomarkov.recording import Recording, Track

IMAGE_ATTRS = {"length_unit": "pixel", "y_axis": "up"}


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
    plane = np.array(positions, dtype=np.float32)
    plane[..., 1] *= -1  # images count y from the top, which would mirror left and right turns
    if confidence is not None:
        plane[np.asarray(confidence) < options.min_confidence] = np.nan
    return Track(individual=individual, values=plane, time=time)


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
