"""Animals with few complete frames: left out by thresholds that the user sets, and reported in any case.

What was left out is stored in the recording, so that it reaches the ledger of every study, whatever file it passed
through.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from ethomarkov._core.ledger import Ledger
from ethomarkov._core.types import BoolArray
from ethomarkov._core.words import count_of
from ethomarkov.exceptions import InputFormatError

if TYPE_CHECKING:
    from ethomarkov.recording.recording import Recording

LEFT_OUT = "left_out"
"""Attribute of a recording that holds what was left out, as JSON."""
STEP = "reading"
HARDLY_SEEN = 0.05
MOST = 2**53


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """The number of animals and frames left out of a recording for one reason.

    Parameters
    ----------
    reason
        Why, in words.
    animals, frames
        Number of animals, and of frames of all of them.
    """

    reason: str
    animals: int
    frames: int

    def __post_init__(self) -> None:
        if not (0 <= self.animals < MOST and 0 <= self.frames < MOST):
            raise InputFormatError(f"{self.animals} animals with {self.frames} frames cannot have been left out.")


def leave_out_short(recording: "Recording", min_frames: int = 0, min_share: float = 0.0) -> "Recording":
    """Leave out the animals with too few complete frames.

    Parameters
    ----------
    recording
        With many tracks, some of them short or full of gaps.
    min_frames
        Animals with fewer complete frames are left out.
    min_share
        Animals with a smaller share of complete frames are left out, too.

    Returns
    -------
    Recording
        The other animals; `left_out_of` and the ledger list what was left out.

    Examples
    --------
    >>> from ethomarkov.recording import Recording
    >>> wave = np.sin(np.arange(100)[:, None] / 9 + np.arange(20) / 3)
    >>> recording = Recording.from_arrays({"long": wave, "short": wave[:5]}, rate=16.0)
    >>> leave_out_short(recording, min_frames=50).individuals
    ('long',)
    """
    if min_frames <= 0 and min_share <= 0:
        return recording
    segments = recording.segments
    frames, complete = np.diff(segments.offsets), segments.count_rows()
    short = complete < min_frames
    sparse = ~short & (complete < min_share * np.maximum(frames, 1))
    parts = [
        LeftOut(reason=reason, animals=int(which.sum()), frames=int(frames[which].sum()))
        for which, reason in (
            (short, f"fewer than {min_frames:,} complete frames"),
            (sparse, f"less than {min_share:.3g} of the frames complete"),
        )
        if which.any()
    ]
    if not parts:
        return recording
    chosen = ~(short | sparse)
    if not chosen.any():
        best = int(complete.argmax())
        counts = "; ".join(f"{one.animals} with {one.reason}" for one in parts)
        raise InputFormatError(
            f"No animal of {chosen.size} would be left: {counts}. The most complete has {complete[best]:,} of "
            f"{frames[best]:,} frames. Ask for less (--min-frames, --min-share)."
        )
    dataset = recording.select(_names(recording.individuals, chosen)).dataset
    return type(recording)(dataset.assign_attrs(left_out_attrs([*left_out_of(dataset), *parts])))


def _names(individuals: tuple[str, ...], flags: BoolArray) -> list[str]:
    return [name for name, flag in zip(individuals, flags, strict=True) if flag]


def left_out_of(dataset: xr.Dataset) -> tuple[LeftOut, ...]:
    """Read what was left out of a recording."""
    text = dataset.attrs.get(LEFT_OUT, "[]")
    try:
        return tuple(
            LeftOut(reason=str(one["reason"]), animals=int(one["animals"]), frames=int(one["frames"]))
            for one in json.loads(text)
        )
    except (TypeError, ValueError, KeyError, OverflowError, RecursionError) as error:
        raise InputFormatError(
            f"The attribute {LEFT_OUT} does not say what was left out of the recording ({error}). Remove it."
        ) from error


def left_out_attrs(parts: Iterable[LeftOut]) -> dict[str, str]:
    """Write what was left out as an attribute, summed for each reason; no attribute where nothing was."""
    sums: dict[str, tuple[int, int]] = {}
    for one in parts:
        animals, frames = sums.get(one.reason, (0, 0))
        sums[one.reason] = (animals + one.animals, frames + one.frames)
    rows = [{"reason": reason, "animals": n, "frames": frames} for reason, (n, frames) in sums.items()]
    return {LEFT_OUT: json.dumps(rows)} if rows else {}


def open_ledger(dataset: xr.Dataset, n_animals: int, n_frames: int) -> Ledger:
    """Begin a ledger with the animals and frames that were left out."""
    parts, book = left_out_of(dataset), Ledger()
    animals = n_animals + sum(one.animals for one in parts)
    frames = n_frames + sum(one.frames for one in parts)
    for one in parts:
        for unit, before, lost in (("animals", animals, one.animals), ("frames", frames, one.frames)):
            book = book.note(STEP, ("all",), unit, np.array([before]), np.array([before - lost]), reason=one.reason)
        animals, frames = animals - one.animals, frames - one.frames
    return book


def reading_notes(ledger: Ledger) -> list[str]:
    """Say which animals were left out, and whether many of the others have few complete frames."""
    lost = {(entry.reason, entry.unit): entry.lost for entry in ledger.entries if entry.step == STEP}
    notes = [
        f"{count_of(animals, 'animal')} with {reason} left out ({count_of(lost[reason, 'frames'], 'frame')})."
        for (reason, unit), animals in lost.items()
        if unit == "animals"
    ]
    frames, complete = _frames_seen(ledger)
    hardly = sum(complete[name] < HARDLY_SEEN * max(frames[name], 1) for name in frames)
    if len(frames) > 1 and hardly > len(frames) / 2:
        notes.append(
            f"{hardly} of {len(frames)} animals have a complete posture in less than {HARDLY_SEEN:.0%} of their frames "
            f"(pieces of tracks?): leave them out with --min-share {HARDLY_SEEN:g} or --min-frames 100."
        )
    return notes


def _frames_seen(ledger: Ledger) -> tuple[dict[str, int], dict[str, int]]:
    """Find the frames of every animal, and how many of them are complete."""
    entries = [entry for entry in ledger.entries if entry.step == "recording" and entry.unit == "frames"]
    frames: dict[str, int] = {}
    for entry in entries:
        frames.setdefault(entry.individual, entry.before)
    return frames, {entry.individual: entry.after for entry in entries}
