"""Poses in Neurodata Without Borders files (ndx-pose)."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from ethomarkov._core.optional import require
from ethomarkov._core.sampling import Sampling
from ethomarkov._core.types import FloatArray
from ethomarkov.exceptions import InputFormatError, SamplingError
from ethomarkov.io.keypoints import IMAGE_ATTRS, image_track, position_recording
from ethomarkov.io.options import ReadOptions
from ethomarkov.io.probe import Probe
from ethomarkov.io.registry import reader
from ethomarkov.recording import Recording, Track
from ethomarkov.recording.recording import RATE_TOLERANCE

PIXEL_SPELLINGS = {"pixel", "pixels", "px"}


def _is_nwb(probe: Probe) -> bool:
    if not {"processing", "specifications"} <= probe.hdf5_names:
        return False
    with h5py.File(probe.path, "r") as file:
        return "nwb_version" in file.attrs


@reader("nwb", suffixes=(".nwb",), describes="NWB with ndx-pose, needs [nwb]", recognise=_is_nwb)
def read_nwb(path: Path, options: ReadOptions) -> Recording:
    """Read every PoseEstimation of an NWB file as one animal."""
    if not _is_nwb(Probe(path)):
        raise InputFormatError(f"{path}: holds no nwb_version with processed data; an NWB file is needed.")
    pynwb = require("pynwb", extra="nwb", purpose="reading NWB files")
    require("ndx_pose", extra="nwb", purpose="reading poses in NWB files")
    with pynwb.NWBHDF5IO(str(path), "r", load_namespaces=True) as source:
        poses = _find_poses(_load(path, source))
        nodes = [_node_order(pose) for pose in poses.values()]
        for name, order in zip(poses, nodes, strict=True):
            if set(order) != set(nodes[0]):
                raise InputFormatError(
                    f"{path}: {name!r} has the keypoints {', '.join(order)}, {next(iter(poses))!r} "
                    f"{', '.join(nodes[0])}; all animals need the same. Save them in files of their own."
                )
        tracks = [_pose_track(name, pose, nodes[0], options) for name, pose in poses.items()]
        rate = options.sampling_rate if options.sampling_rate is not None else _stated_rate(poses)
        unit = _unit(poses)
    return position_recording(nodes[0], tracks, options, sampling_rate=rate, attrs={**IMAGE_ATTRS, "length_unit": unit})


def _load(path: Path, source: Any) -> Any:  # noqa: ANN401 (objects of pynwb have no types)
    try:
        return source.read()
    except (ValueError, OSError, KeyError, TypeError, AttributeError) as error:
        raise InputFormatError(
            f"{path}: pynwb cannot read it ({error}). Check the file with `python -m pynwb.validate`."
        ) from error


def _find_poses(file: Any) -> dict[str, Any]:  # noqa: ANN401
    """Find the pose estimates and name their animals."""
    found = [
        (module.name, item)
        for module in file.processing.values()
        for item in module.data_interfaces.values()
        if item.neurodata_type == "PoseEstimation"
    ]
    if not found:
        inside = [
            f"{module.name}/{item.name} ({item.neurodata_type})"
            for module in file.processing.values()
            for item in module.data_interfaces.values()
        ]
        raise InputFormatError(
            f"No PoseEstimation was found in the processing modules, only {', '.join(inside) or 'nothing'}. Add the "
            "poses with ndx-pose."
        )
    subject = file.subject.subject_id if file.subject is not None else None
    if len(found) == 1 and subject:
        return {str(subject): found[0][1]}
    names = [item.name for _, item in found]
    if len(set(names)) < len(names):
        names = [f"{module}/{item.name}" for module, item in found]
    return dict(zip(names, (item for _, item in found), strict=True))


def _node_order(pose: Any) -> list[str]:  # noqa: ANN401
    """Order the keypoints as their skeleton does, where it names the same ones."""
    names = [_node_name(series) for series in pose.pose_estimation_series.values()]
    if not names:
        raise InputFormatError(f"PoseEstimation {pose.name!r} holds no keypoint; at least one series is needed.")
    skeleton = [str(node) for node in pose.skeleton.nodes[:]] if pose.skeleton is not None else []
    return skeleton if sorted(skeleton) == sorted(names) else names


def _node_name(series: Any) -> str:  # noqa: ANN401
    """Take the name of a series; many programs call it PoseEstimationSeries + node."""
    name = str(series.name)
    return name.removeprefix("PoseEstimationSeries").lstrip("_") or name


def _pose_track(name: str, pose: Any, nodes: list[str], options: ReadOptions) -> Track:  # noqa: ANN401
    series = {_node_name(one): one for one in pose.pose_estimation_series.values()}
    ordered = [series[node] for node in nodes]
    shapes = {node: np.shape(one.data) for node, one in zip(nodes, ordered, strict=True)}
    if len(set(shapes.values())) > 1:
        raise InputFormatError(f"Keypoints of {name!r} differ in shape ({shapes}); one row per frame each is needed.")
    positions = np.stack([np.asarray(one.data[()]) * (one.conversion or 1.0) for one in ordered], axis=1)
    confidence = None
    if all(one.confidence is not None for one in ordered):
        confidence = np.stack([np.asarray(one.confidence[()]) for one in ordered], axis=1)
    return image_track(name, positions, options, confidence=confidence, time=_times(name, ordered, options))


def _times(name: str, ordered: list[Any], options: ReadOptions) -> FloatArray:
    first = ordered[0]
    n_frames = len(first.data)
    if first.timestamps is None:
        rate = first.rate if options.sampling_rate is None else Sampling(options.sampling_rate).rate
        return np.asarray(float(first.starting_time or 0.0) + np.arange(n_frames) / rate)
    time = np.asarray(first.timestamps[()], dtype=np.float64)
    for other in ordered[1:]:
        if other.timestamps is not None and not np.array_equal(time, np.asarray(other.timestamps[()])):
            raise SamplingError(
                f"Keypoints {first.name!r} and {other.name!r} of {name!r} have different timestamps; all keypoints of "
                "an animal need the same. Bring them to one clock first."
            )
    return time


def _stated_rate(poses: Mapping[str, Any]) -> float | None:
    """Take the rate that the series state; None when they have timestamps instead."""
    rates = {name: float(one.rate) for name, one in _all_series(poses) if one.rate is not None}
    if not rates:
        return None
    low, high = min(rates.values()), max(rates.values())
    if high / low - 1 > RATE_TOLERANCE:
        raise SamplingError(
            f"Keypoints are sampled at rates from {low:g} to {high:g} Hz; one rate is needed. Save animals with other "
            "rates in files of their own and resample them."
        )
    return next(iter(rates.values()))


def _unit(poses: Mapping[str, Any]) -> str:
    units = {str(one.unit or "pixels") for _, one in _all_series(poses)}
    if units <= PIXEL_SPELLINGS:
        return "pixel"
    if len(units) > 1:
        raise InputFormatError(f"Keypoints are given in several units ({', '.join(sorted(units))}); one is needed.")
    return units.pop()


def _all_series(poses: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, pose in poses.items():
        for one in pose.pose_estimation_series.values():
            yield f"{name}/{one.name}", one
