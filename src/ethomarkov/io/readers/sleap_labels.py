"""Labels files of SLEAP (*.slp): instances frame by frame, predicted or drawn by a person.

Films are named in such a file and never opened here, wherever they are. Pixels are counted from the upper left
corner of the image; y is negated on the way in.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from ethomarkov._core.types import BoolArray, FloatArray, IntArray
from ethomarkov.exceptions import InputFormatError
from ethomarkov.io.hdf5 import open_hdf5, read_values
from ethomarkov.io.options import ReadOptions
from ethomarkov.io.probe import Probe
from ethomarkov.io.readers.keypoints import (
    IMAGE_ATTRS,
    choose_view,
    frame_times,
    image_track,
    position_recording,
    require_rate,
)
from ethomarkov.io.readers.sleap_metadata import (
    film_names,
    format_id,
    full_name,
    node_names,
    read_metadata,
    track_names,
)
from ethomarkov.io.registry import reader
from ethomarkov.recording import Recording

USER, PREDICTED = 0, 1
UNTRACKED = -1
PIXEL_CENTRE_FORMAT = 1.1
"""Older files count pixels from the corner of the first one, newer ones from its centre."""
FRAME_COLUMNS = ("video", "frame_idx", "instance_id_start", "instance_id_end")
INSTANCE_COLUMNS = (
    "instance_id",
    "instance_type",
    "skeleton",
    "track",
    "from_predicted",
    "point_id_start",
    "point_id_end",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Instances:
    """Instances of one film, one per row.

    Parameters
    ----------
    frame
        Number of the frame.
    row
        Place in the table of instances.
    track
        Number of the track, −1 for none.
    predicted
        Is it predicted, and not drawn by a person?
    """

    frame: IntArray
    row: IntArray
    track: IntArray
    predicted: BoolArray

    def keep(self, kept: BoolArray) -> "Instances":
        """Leave out the others."""
        return Instances(
            frame=self.frame[kept], row=self.row[kept], track=self.track[kept], predicted=self.predicted[kept]
        )


def _is_sleap_labels(probe: Probe) -> bool:
    return {"metadata", "frames", "instances", "pred_points"} <= probe.hdf5_names


@reader("sleap-labels", suffixes=(".slp",), describes="SLEAP labels file", recognise=_is_sleap_labels)
def read_sleap_labels(path: Path, options: ReadOptions) -> Recording:
    """Read the instances of one film of a labels file, each track as an animal."""
    if not _is_sleap_labels(Probe(path)):
        raise InputFormatError(
            f"{path}: holds no metadata with frames and instances; a labels file of SLEAP is needed. If it is of "
            "another program, name that with format= (or --format)."
        )
    rate = require_rate(options, "SLEAP labels files")
    with open_hdf5(path) as file:
        metadata = read_metadata(file)
        table = _columns(file["instances"], INSTANCE_COLUMNS)
        found = _prefer_user(_of_film(file, table, options), table)
        nodes = node_names(metadata, np.unique(table["skeleton"][found.row]))
        positions, scores = _points(file, table, found, len(nodes))
        animals = list(_animals(found, track_names(file), options))
    tracks = []
    for name, rows in animals:
        time = _times(name, found.frame[rows], rate)
        tracks.append(image_track(name, positions[rows], options, confidence=scores[rows], time=time))
    return position_recording(nodes, tracks, options, sampling_rate=rate, attrs=IMAGE_ATTRS)


def _times(name: str, frames: IntArray, rate: float) -> FloatArray:
    repeated = frames[1:][np.diff(frames) == 0]
    if repeated.size:
        raise InputFormatError(
            f"{name!r} has two instances in frame {repeated[0]}; one is needed. Delete the wrong one in SLEAP."
        )
    return frame_times(frames, rate)


# --- tables of the file ----------------------------------------------------------------------------------------


def _columns(dataset: h5py.Dataset, whole: Sequence[str] = (), real: Sequence[str] = ()) -> dict[str, NDArray[Any]]:
    """Read the columns of a table that must be there: whole numbers, which come signed, and others."""
    found = getattr(dataset, "dtype", np.dtype("V1"))
    wrong = [
        name
        for names, kinds in ((whole, "iu"), (real, "fiub"))
        for name in names
        if name not in (found.names or ()) or found[name].kind not in kinds
    ]
    if wrong:
        raise InputFormatError(
            f"{dataset.name} is no table with numbers in the columns {', '.join(wrong)}, as SLEAP writes it. Open the "
            "file in SLEAP and save it again."
        )
    rows = read_values(dataset).ravel()
    signed = {name: rows[name].astype(np.int64) for name in whole}  # what is too large becomes negative: out of range
    return signed | {name: rows[name] for name in real}


# --- films -----------------------------------------------------------------------------------------------------


def _of_film(file: h5py.File, table: Mapping[str, NDArray[Any]], options: ReadOptions) -> Instances:
    """Find the instances of the film that was asked for, or of the only one with any."""
    frames = _columns(file["frames"], FRAME_COLUMNS)
    start, stop = frames["instance_id_start"], frames["instance_id_end"]
    n_rows = len(table["track"])
    counts = stop - start
    if np.any((start < 0) | (stop > n_rows) | (counts < 0)) or counts.sum() > n_rows:
        raise InputFormatError(
            f"Frames point to instances beyond the {n_rows} of the file. It is damaged; save it again with SLEAP."
        )
    seen = np.unique(frames["video"][counts > 0])
    films = film_names(file, frames["video"])
    names = {int(video): films.get(int(video), f"video {video}") for video in seen}
    repeated = len(set(names.values())) < len(names)
    names = {video: f"{name} ({video})" for video, name in names.items()} if repeated else names
    chosen = choose_view(list(names.values()), full_name(options.view, names), "film")
    kept = np.isin(frames["video"], [video for video, name in names.items() if name == chosen])
    row = np.concatenate([np.arange(*pair) for pair in zip(start[kept], stop[kept], strict=True)] or [np.arange(0)])
    return Instances(
        frame=np.repeat(frames["frame_idx"][kept], counts[kept]),
        row=row,
        track=table["track"][row],
        predicted=table["instance_type"][row] == PREDICTED,
    )


# --- which instances count, and whose they are -----------------------------------------------------------------


def _prefer_user(found: Instances, table: Mapping[str, NDArray[Any]]) -> Instances:
    """Leave out predictions that a person has corrected: those linked to, and those of the same frame and track.

    Where no frame holds more than one of each and there are no tracks, a person's instance replaces the prediction.
    """
    if not found.row.size:
        raise InputFormatError("There are no instances; predict poses in SLEAP first.")
    by_user = ~found.predicted
    replaced = np.isin(table["instance_id"][found.row], table["from_predicted"][found.row[by_user]])
    tracks = found.track.max() + 2
    key = found.frame * tracks + found.track
    alone = _is_single(found.keep(by_user)) and _is_single(found.keep(found.predicted))
    counted = (found.track >= 0) | alone
    replaced |= np.isin(key, key[by_user & counted]) & counted
    return found.keep(by_user | ~replaced)


def _is_single(found: Instances) -> bool:
    """Tell whether there is at most one instance per frame, and none with a track."""
    return bool(np.all(found.track < 0) and np.unique(found.frame).size == found.frame.size)


def _animals(found: Instances, names: list[str], options: ReadOptions) -> Iterator[tuple[str, IntArray]]:
    """Give the rows of every animal in the order of their frames."""
    order = np.lexsort((found.row, found.frame))
    track = found.track[order]
    if track.max() >= len(names):
        raise InputFormatError(f"Instances are of track {track.max()}, but there are {len(names)} tracks. Save again.")
    for number, rows in _split(order[track >= 0], track[track >= 0]):
        yield names[number], rows
    loose = order[track < 0]
    if not loose.size:
        return
    place = _place_in_frame(found.frame[loose])
    if (place.max() > 0 or loose.size < order.size) and not options.untracked:
        raise InputFormatError(
            f"{loose.size} of {order.size} instances belong to no track, up to {place.max() + 1} in one frame, so "
            "nothing says which animal is which. Track them in SLEAP, or read the instances of each frame as animals "
            "of their own with untracked=True (or --untracked)."
        )
    for number, rows in _split(loose, place):
        yield f"individual_{number}", rows


def _split(rows: IntArray, owner: IntArray) -> Iterator[tuple[int, IntArray]]:
    """Give the rows of each owner, in the order in which they are."""
    order = np.argsort(owner, kind="stable")
    owners, first = np.unique(owner[order], return_index=True)
    parts = np.split(rows[order], first[1:])
    return zip(owners.tolist(), parts, strict=False)  # nobody owns the one empty part of nothing


def _place_in_frame(frames: IntArray) -> IntArray:
    """Count the instances of each frame from 0; frames are sorted."""
    _, first, counts = np.unique(frames, return_index=True, return_counts=True)
    return np.arange(frames.size) - np.repeat(first, counts)


def _points(
    file: h5py.File, table: Mapping[str, NDArray[Any]], found: Instances, n_nodes: int
) -> tuple[FloatArray, FloatArray]:
    """Gather positions ``(instances, nodes, 2)`` and scores; points by hand have no score, hidden ones are missing."""
    start, stop = table["point_id_start"][found.row], table["point_id_end"][found.row]
    if np.any(stop - start != n_nodes):
        raise InputFormatError(f"Instances do not have {n_nodes} points each, as their skeleton does. Save it again.")
    parts = {}
    for name, kept in (("pred_points", found.predicted), ("points", ~found.predicted)):
        columns = ("x", "y", "visible", "score") if name == "pred_points" else ("x", "y", "visible")
        points = _columns(file[name], real=columns) if kept.any() else dict.fromkeys(columns, np.empty(0))
        n_points = len(points["x"])
        if np.any(start[kept] < 0) or np.any(stop[kept] > n_points) or kept.sum() * n_nodes > n_points:
            raise InputFormatError(f"Instances point beyond the {n_points} rows of {name}. Save the file again.")
        parts[name] = points, start[kept, None] + np.arange(n_nodes)
    return _gather(parts, found, n_nodes, 0.5 if format_id(file) < PIXEL_CENTRE_FORMAT else 0.0)


def _gather(
    parts: Mapping[str, tuple[Mapping[str, NDArray[Any]], IntArray]], found: Instances, n_nodes: int, shift: float
) -> tuple[FloatArray, FloatArray]:
    positions = np.full((found.row.size, n_nodes, 2), np.nan)
    scores = np.full((found.row.size, n_nodes), np.nan)
    for name, kept in (("pred_points", found.predicted), ("points", ~found.predicted)):
        points, places = parts[name]
        where = np.stack([points["x"][places], points["y"][places]], axis=-1) - shift
        positions[kept] = np.where(points["visible"][places, None].astype(bool), where, np.nan)
        scores[kept] = points["score"][places] if "score" in points else np.nan
    return positions, scores
