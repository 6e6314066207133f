"""Poses of JABS, the mouse behaviour system of the Jackson Laboratory, in versions 2 to 6 of its HDF5 files.

The layout is the one that JABS documents: a group ``poseest`` with ``points`` (y before x, in pixels) and
``confidence``; from version 3 on several mice with tracklets, from version 4 on with identities that last.
"""

from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

from ethomarkov._core.types import FloatArray, IntArray
from ethomarkov.exceptions import InputFormatError, SamplingError
from ethomarkov.io.hdf5 import open_hdf5, read_values
from ethomarkov.io.options import ReadOptions
from ethomarkov.io.probe import Probe
from ethomarkov.io.readers.keypoints import IMAGE_ATTRS, image_track, position_recording
from ethomarkov.io.registry import reader
from ethomarkov.recording import Recording, Track

POINTS, CONFIDENCE = "poseest/points", "poseest/confidence"
TRACKLETS, COUNTS = "poseest/instance_track_id", "poseest/instance_count"
IDENTITIES, MASK = "poseest/instance_embed_id", "poseest/id_mask"
KEYPOINTS = (
    "NOSE", "LEFT_EAR", "RIGHT_EAR", "BASE_NECK", "LEFT_FRONT_PAW", "RIGHT_FRONT_PAW", "CENTER_SPINE",
    "LEFT_REAR_PAW", "RIGHT_REAR_PAW", "BASE_TAIL", "MID_TAIL", "TIP_TAIL",
)  # fmt: skip
NOBODY = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class _Poses:
    """All instances of all frames, and whose they are."""

    points: FloatArray
    confidence: FloatArray
    identity: IntArray
    scale: float | None


def _is_jabs(probe: Probe) -> bool:
    return {POINTS, CONFIDENCE} <= probe.hdf5_names


@reader(
    "jabs", suffixes=("_pose_est_v6.h5", ".h5"), describes="mouse poses of JABS, versions 2 to 6", recognise=_is_jabs
)
def read_jabs(path: Path, options: ReadOptions) -> Recording:
    """Read the twelve keypoints of every mouse, y up; a confidence of zero marks a missing one.

    Mice are told apart by their lasting identities where the file has them (version 4 and later; instances without one
    are left out), else by tracklets, each of which becomes an animal. Objects of the arena and segmentations are not
    read. The unit is the centimetre where the file gives the size of a pixel. Files hold no frame rate.
    """
    if not _is_jabs(probe := Probe(path)):
        raise InputFormatError(
            f"{path}: lacks {POINTS} or {CONFIDENCE}; a pose file of JABS is needed. It holds "
            f"{probe.contents() or 'no arrays'}."
        )
    if options.sampling_rate is None:
        raise SamplingError("Pose files of JABS hold no frame rate. State it with sampling_rate= (or --rate).")
    with open_hdf5(path) as file:
        poses = _read_poses(file)
    tracks = _split_mice(poses, options)
    if not tracks:
        raise InputFormatError(
            f"{path}: none of {len(poses.points)} frames holds a mouse with an identity. Run JABS's tracking again."
        )
    attrs = IMAGE_ATTRS if poses.scale is None else IMAGE_ATTRS | {"length_unit": "cm"}
    return position_recording(KEYPOINTS, tracks, options, sampling_rate=options.sampling_rate, attrs=attrs)


def _read_poses(file: h5py.File) -> _Poses:
    points, confidence = read_values(file[POINTS]), read_values(file[CONFIDENCE])
    if points.ndim == 3:  # version 2 knows a single mouse
        points, confidence = points[:, None], confidence[:, None] if confidence.ndim == 2 else confidence
    if points.ndim != 4 or points.shape[2:] != (len(KEYPOINTS), 2) or confidence.shape != points.shape[:3]:
        raise InputFormatError(
            f"{POINTS} has shape {file[POINTS].shape} and {CONFIDENCE} {file[CONFIDENCE].shape}; (frames, [mice,] "
            f"{len(KEYPOINTS)}, 2) and the same without the last are needed. Export the file again from JABS."
        )
    scale = np.ravel(file["poseest"].attrs.get("cm_per_pixel", np.nan)).astype(float)
    return _Poses(
        points=points[..., ::-1].astype(np.float32),
        confidence=confidence.astype(np.float32),
        identity=_read_identity(file, points.shape[:2], single=file[POINTS].ndim == 3),
        scale=float(scale[0]) if scale.size == 1 and np.isfinite(scale[0]) and scale[0] > 0 else None,
    )


def _read_identity(file: h5py.File, shape: tuple[int, ...], *, single: bool) -> IntArray:
    """Say whose pose every instance is; `NOBODY` where it is padding or has no identity."""
    if single:
        return np.zeros(shape, dtype=np.int64)
    lasting = IDENTITIES in file
    name = IDENTITIES if lasting else TRACKLETS
    needed = [name, MASK if lasting else COUNTS]
    lacking = [one for one in needed if one not in file]
    if lacking:
        raise InputFormatError(f"Several mice, but {' and '.join(lacking)} is not there to tell them apart.")
    identity, other = read_values(file[name]).astype(np.int64), read_values(file[needed[1]])
    if identity.shape != shape or other.shape != (shape if lasting else shape[:1]):
        raise InputFormatError(
            f"{needed[0]} has shape {identity.shape} and {needed[1]} {other.shape}; {shape} is needed."
        )
    # zero is a tracklet like any other, but no identity
    known = (identity > 0) & (other == 0) if lasting else np.arange(shape[1]) < other[:, None]
    return np.where(known, identity, NOBODY)


def _split_mice(poses: _Poses, options: ReadOptions) -> list[Track]:
    order = np.argsort(poses.identity, axis=None, kind="stable")  # within a mouse the frames stay in order
    names, first = np.unique(poses.identity.ravel()[order], return_index=True)
    parts = np.split(order, first[1:])
    return [_track(int(name), part, poses, options) for name, part in zip(names, parts, strict=True) if name != NOBODY]


def _track(name: int, part: IntArray, poses: _Poses, options: ReadOptions) -> Track:
    """Gather the frames in which a mouse was seen; between them it is missing."""
    frame, instance = np.divmod(part, poses.identity.shape[1])
    twice = np.flatnonzero(np.diff(frame) == 0)
    if twice.size:
        raise InputFormatError(f"Mouse {name} is at two places in frame {frame[twice[0]]}. Run JABS's tracking again.")
    confidence = poses.confidence[frame, instance]
    points = poses.points[frame, instance] * np.float32(poses.scale or 1.0)
    points[~(confidence > 0)] = np.nan
    rate = options.sampling_rate or 1.0
    return image_track(f"mouse_{name}", points, options, confidence=confidence, time=frame / rate)
