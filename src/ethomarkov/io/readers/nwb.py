"""Poses in Neurodata Without Borders files (ndx-pose), read as the plain HDF5 that they are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

from ethomarkov._core.sampling import Sampling
from ethomarkov._core.types import FloatArray
from ethomarkov.exceptions import InputFormatError, SamplingError
from ethomarkov.io.hdf5 import open_hdf5, read_numbers, read_text, text_of
from ethomarkov.io.options import ReadOptions
from ethomarkov.io.probe import Probe
from ethomarkov.io.readers.keypoints import IMAGE_ATTRS, choose_view, image_track, position_recording
from ethomarkov.io.registry import reader
from ethomarkov.recording import Recording, Track
from ethomarkov.recording.recording import RATE_TOLERANCE

PIXEL_SPELLINGS = {"pixel", "pixels", "px"}
DEVICES = "/general/devices/"
FILMS = ("source_video", "original_videos")


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Positions of one keypoint.

    Parameters
    ----------
    name
        Of the keypoint.
    data
        Positions ``(frames, 2 or 3)`` in ``unit``.
    unit
        Of length.
    confidence
        One per frame, where they are stored.
    timestamps
        Seconds of every frame, where they are stored.
    start, rate
        Time of the first frame and frames per second, where there are no timestamps.
    """

    name: str
    data: FloatArray
    unit: str
    confidence: FloatArray | None
    timestamps: FloatArray | None
    start: float
    rate: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pose:
    """All keypoints of one animal in one view.

    Parameters
    ----------
    name
        Of the animal.
    series
        By the names of the keypoints.
    nodes
        The keypoints in the order of their skeleton.
    """

    name: str
    series: Mapping[str, Series]
    nodes: tuple[str, ...]


def _is_nwb(probe: Probe) -> bool:
    if not {"general", "session_description"} & probe.hdf5_names and "processing" not in probe.hdf5_names:
        return False
    with open_hdf5(probe.path) as file:
        return "nwb_version" in file.attrs


@reader("nwb", suffixes=(".nwb",), describes="NWB with poses (ndx-pose)", recognise=_is_nwb)
def read_nwb(path: Path, options: ReadOptions) -> Recording:
    """Read every PoseEstimation of one view of an NWB file as one animal."""
    if not _is_nwb(Probe(path)):
        raise InputFormatError(
            f"{path}: holds no nwb_version; an NWB file is needed. If it is of another program, name that with "
            "format= (or --format)."
        )
    with open_hdf5(path) as file:
        poses = [_read_pose(name, group) for name, group in _find_poses(file, options).items()]
    nodes = poses[0].nodes
    for pose in poses:
        if set(pose.nodes) != set(nodes):
            raise InputFormatError(
                f"{path}: {pose.name!r} has the keypoints {', '.join(pose.nodes)}, {poses[0].name!r} "
                f"{', '.join(nodes)}; all animals need the same. Save them in files of their own."
            )
    tracks = [_pose_track(pose, nodes, options) for pose in poses]
    rate = options.sampling_rate if options.sampling_rate is not None else _stated_rate(poses)
    attrs = {**IMAGE_ATTRS, "length_unit": _unit(poses)}
    return position_recording(nodes, tracks, options, sampling_rate=rate, attrs=attrs)


# --- which groups are poses, of which animal and camera --------------------------------------------------------


def _find_poses(file: h5py.File, options: ReadOptions) -> dict[str, h5py.Group]:
    """Find the pose estimates of one view and name their animals."""
    found = {group.name: group for group in _typed_groups(file, "PoseEstimation")}
    if not found:
        inside = [f"{group.name} ({_type(group)})" for group in _typed_groups(file, None)]
        raise InputFormatError(
            f"No PoseEstimation was found, only {', '.join(inside[:10]) or 'nothing'}. Add the poses with ndx-pose."
        )
    views = {place: _camera(group) for place, group in found.items()}
    by_name = [place for place, group in found.items() if options.view in (_last(group), place.lstrip("/"))]
    if options.view in views.values() or not by_name:
        view = choose_view(list(views.values()), options.view)
        chosen = [group for place, group in found.items() if views[place] == view]
    else:  # a pose may be asked for by its own name as well
        chosen = [found[place] for place in by_name]
    return dict(zip(_animal_names(file, chosen), chosen, strict=True))


def _animal_names(file: h5py.File, poses: Sequence[h5py.Group]) -> list[str]:
    subject = file.get("general/subject/subject_id")
    if len(poses) == 1 and isinstance(subject, h5py.Dataset) and _text(subject):
        return [_text(subject)]
    names = [_last(group) for group in poses]
    if len(set(names)) == len(names):
        return names
    return [group.name.removeprefix("/processing").lstrip("/") for group in poses]


def _typed_groups(parent: h5py.Group, kind: str | None) -> list[h5py.Group]:
    """Walk the groups of a type, or of any; hard links alone are followed, each group once."""
    found: list[h5py.Group] = []

    def visit(_: str, item: h5py.Group | h5py.Dataset) -> None:
        if isinstance(item, h5py.Group) and _type(item) and kind in (None, _type(item)):
            found.append(item)

    parent.visititems(visit)
    return found


def _type(item: h5py.Group) -> str:
    return text_of(item.attrs.get("neurodata_type"))


def _last(group: h5py.Group) -> str:
    return str(group.name).rpartition("/")[2]


def _camera(group: h5py.Group) -> str:
    """Name the camera of a pose estimate: its devices, else its film, else nothing."""
    links = {name: group.get(name, getlink=True) for name in group}
    paths = {name: str(link.path) for name, link in links.items() if isinstance(link, h5py.SoftLink)}
    devices = [path.removeprefix(DEVICES) for path in paths.values() if path.startswith(DEVICES)]
    films = [paths[name].rpartition("/")[2] if name in paths else _text(group[name]) for name in FILMS if name in group]
    return ", ".join(devices) or next((film for film in films if film), "")


def _text(dataset: h5py.Dataset) -> str:
    return ", ".join(str(word) for word in read_text(dataset).ravel())


# --- what a pose holds -----------------------------------------------------------------------------------------


def _read_pose(name: str, group: h5py.Group) -> Pose:
    groups = _children(group, "PoseEstimationSeries")
    series = {one.name: one for one in map(_read_series, groups)}
    if not series or len(series) < len(groups):
        raise InputFormatError(
            f"PoseEstimation {name!r} holds {len(groups)} series for the keypoints {', '.join(series) or '(none)'}; "
            "at least one keypoint is needed, each once."
        )
    skeleton = _skeleton(group)
    return Pose(name=name, series=series, nodes=skeleton if sorted(skeleton) == sorted(series) else tuple(series))


def _skeleton(group: h5py.Group) -> tuple[str, ...]:
    """Order the keypoints as their skeleton does, where there is one."""
    nodes = [item["nodes"] for item in _children(group, "Skeleton") if "nodes" in item]
    return tuple(str(node) for node in read_text(nodes[0]).ravel()) if nodes else ()


def _children(group: h5py.Group, kind: str) -> list[h5py.Group]:
    items = [group.get(name) for name in group]  # a link that leads nowhere gives None
    return [item for item in items if isinstance(item, h5py.Group) and _type(item) == kind]


def _read_series(group: h5py.Group) -> Series:
    data = group.get("data")
    if not isinstance(data, h5py.Dataset) or data.ndim != 2:
        raise InputFormatError(f"{group.name} holds no data of shape (frames, 2); rows of x and y are needed.")
    scale, offset = _number(data, "conversion", 1.0), _number(data, "offset", 0.0)
    clock = group.get("starting_time")
    return Series(
        name=_last(group).removeprefix("PoseEstimationSeries").lstrip("_") or _last(group),
        data=read_numbers(data) * (scale or 1.0) + offset,
        unit=text_of(data.attrs.get("unit")) or "pixels",
        confidence=_per_frame(group, "confidence", len(data)),
        timestamps=_per_frame(group, "timestamps", len(data)),
        start=0.0 if clock is None else float(read_numbers(clock).ravel()[0]),
        rate=None if clock is None else _number(clock, "rate", np.nan),
    )


def _number(dataset: h5py.Dataset, name: str, default: float) -> float:
    value = np.asarray(dataset.attrs.get(name, default))
    if value.size != 1 or value.dtype.kind not in "fiu":
        raise InputFormatError(f"{name} of {dataset.name} is {value!r}; a number is needed. Export the file again.")
    return float(value.item())


def _per_frame(group: h5py.Group, name: str, n_frames: int) -> FloatArray | None:
    if name not in group:
        return None
    values = read_numbers(group[name])
    if values.shape != (n_frames,):
        raise InputFormatError(
            f"{name} of {group.name} has shape {values.shape} for {n_frames} frames; one number per frame is needed."
        )
    return values.astype(np.float64)


def _pose_track(pose: Pose, nodes: Sequence[str], options: ReadOptions) -> Track:
    ordered = [pose.series[node] for node in nodes]
    shapes = {one.name: one.data.shape for one in ordered}
    if len(set(shapes.values())) > 1:
        raise InputFormatError(
            f"Keypoints of {pose.name!r} differ in shape ({shapes}); one row per frame each is needed."
        )
    positions = np.stack([one.data for one in ordered], axis=1)
    scores = [one.confidence for one in ordered if one.confidence is not None]
    confidence = np.stack(scores, axis=1) if len(scores) == len(ordered) else None
    return image_track(pose.name, positions, options, confidence=confidence, time=_times(pose.name, ordered, options))


# --- time and units --------------------------------------------------------------------------------------------


def _times(name: str, ordered: Sequence[Series], options: ReadOptions) -> FloatArray:
    first = ordered[0]
    for other in ordered[1:]:
        if (first.timestamps is None) != (other.timestamps is None) or not _same_clock(first, other):
            raise SamplingError(
                f"Keypoints {first.name!r} and {other.name!r} of {name!r} have different timestamps; all keypoints of "
                "an animal need the same. Bring them to one clock first."
            )
    if first.timestamps is not None:
        return first.timestamps
    rate = first.rate if options.sampling_rate is None else options.sampling_rate
    if rate is None:
        raise SamplingError(
            f"Keypoints of {name!r} have neither timestamps nor a rate. State it with sampling_rate= (or --rate)."
        )
    return np.asarray(first.start + np.arange(len(first.data)) / Sampling(rate).rate)


def _same_clock(one: Series, other: Series) -> bool:
    if one.timestamps is not None and other.timestamps is not None:
        return np.array_equal(one.timestamps, other.timestamps)
    return one.start == other.start


def _stated_rate(poses: Sequence[Pose]) -> float | None:
    """Take the rate that the series state; None when they have timestamps instead."""
    rates = [one.rate for pose in poses for one in pose.series.values() if one.rate is not None]
    if not rates:
        return None
    low, high = min(rates), max(rates)
    if not high / low - 1 <= RATE_TOLERANCE:
        raise SamplingError(
            f"Keypoints are sampled at rates from {low:g} to {high:g} Hz; one rate is needed. Save animals with other "
            "rates in files of their own and resample them."
        )
    return rates[0]


def _unit(poses: Sequence[Pose]) -> str:
    units = {one.unit for pose in poses for one in pose.series.values()}
    if units <= PIXEL_SPELLINGS:
        return "pixel"
    if len(units) > 1:
        raise InputFormatError(f"Keypoints are given in several units ({', '.join(sorted(units))}); one is needed.")
    return units.pop()
