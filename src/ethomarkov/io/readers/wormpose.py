"""WormPose: tangent angles predicted by its network, and the centerlines of other trackers that it is trained on."""

from pathlib import Path
from typing import Any

import h5py
import numpy as np

from ethomarkov._core.types import FloatArray
from ethomarkov.exceptions import InputFormatError
from ethomarkov.io.hdf5 import open_hdf5, read_values
from ethomarkov.io.options import ReadOptions
from ethomarkov.io.probe import Probe
from ethomarkov.io.readers.keypoints import IMAGE_ATTRS
from ethomarkov.io.registry import reader
from ethomarkov.recording import Recording, Track
from ethomarkov.recording.tracks import median_length

# The best first: post-processed angles, then those whose head was told from the tail.
GROUPS = ("smooth", "interp", "raw", "resolved", "orig")
UNRESOLVED = "unaligned"
FILE_STEMS = ("results", "processed_results", "features")
CENTERLINES, WIDTHS = "skeletons", "width"


def _is_wormpose(probe: Probe) -> bool:
    return any(f"{group}/theta" in probe.hdf5_names for group in (*GROUPS, UNRESOLVED))


@reader(
    "wormpose",
    suffixes=(".h5",),
    describes="results.h5 or processed_results.h5 of WormPose",
    recognise=_is_wormpose,
)
def read_wormpose(path: Path, options: ReadOptions) -> Recording:
    """Read the tangent angles of one worm.

    Of ``processed_results.h5`` the smoothed angles are taken, else the interpolated, raw or original ones; of
    ``results.h5`` those with the head resolved. Angles are unwrapped along the body and have zero mean. The file
    measures them in images, whose y points down; they are negated so that y points up.

    Notes
    -----
    Where ``dorsal_ventral_flip`` is true, WormPose has mirrored all angles of an animal whose ventral side was
    marked clockwise, so that it is anticlockwise in every file. That is kept, as it makes animals comparable, and
    noted as ``ventral_side``; the attribute ``dorsal_ventral_flip`` tells that a path drawn from the angles is the
    mirror image of the real one.
    """
    with open_hdf5(path) as file:
        group = _best_group(file, path)
        theta = _read_numbers(file[f"{group}/theta"], path)
        stated = {name: _number(file.attrs.get(name)) for name in ("frame_rate", "dorsal_ventral_flip")}
    if theta.ndim != 2:
        raise InputFormatError(
            f"{path}: {group}/theta has shape {theta.shape}; (frames, angles) is needed. Rerun WormPose's prediction."
        )
    rate = options.sampling_rate if options.sampling_rate is not None else stated["frame_rate"]
    attrs = {"wormpose_group": group}
    if stated["dorsal_ventral_flip"] is not None:
        flipped = bool(stated["dorsal_ventral_flip"])
        attrs |= {
            "dorsal_ventral_flip": str(flipped).lower(),
            "ventral_side": "anticlockwise" if flipped else "unknown",
        }
    return Recording.from_tracks(
        [Track(individual=_name_animal(path), values=-theta)],
        kind="angle",
        sampling_rate=rate,
        attrs=attrs,
    )


def _is_features(probe: Probe) -> bool:
    return {CENTERLINES, WIDTHS} <= probe.hdf5_names


@reader(
    "wormpose-features",
    suffixes=(".h5",),
    describes="features.h5 of WormPose's training data: centerlines and widths",
    recognise=_is_features,
)
def read_wormpose_features(path: Path, options: ReadOptions) -> Recording:
    """Read the centerlines of one worm that WormPose takes as training data, from head to tail.

    The layout is that of WormPose's own loader of such files: ``skeletons`` (frames, joints, 2) in pixels, NaN where
    the other tracker found none, ``width`` beside them (not used here) and the attribute ``framerate``; frames follow
    each other without a hole. Images have y down; it is negated, so that it points up.
    """
    if not _is_features(probe := Probe(path)):
        raise InputFormatError(
            f"{path}: lacks {CENTERLINES} or {WIDTHS}; features of WormPose's training data hold both. It holds "
            f"{probe.contents() or 'no arrays'}."
        )
    with open_hdf5(path) as file:
        points = _read_numbers(file[CENTERLINES], path)
        stated = _number(file.attrs.get("framerate"))
    if points.ndim != 3 or points.shape[2] != 2:
        raise InputFormatError(f"{path}: {CENTERLINES} has shape {points.shape}; (frames, joints, 2) is needed.")
    rate = stated if options.sampling_rate is None else options.sampling_rate
    points[..., 1] *= -1
    track = Track(individual=_name_animal(path), values=points, body_length=median_length(points))
    return Recording.from_tracks([track], kind="centerline", sampling_rate=rate, attrs=IMAGE_ATTRS)


def _read_numbers(dataset: h5py.Dataset | h5py.Group, path: Path) -> FloatArray:
    try:
        return read_values(dataset).astype(float)
    except (OSError, RuntimeError, TypeError, ValueError) as error:
        raise InputFormatError(
            f"{path}: {dataset.name} cannot be read ({error}). The file is probably damaged; copy it again, or rerun "
            "WormPose."
        ) from error


def _number(value: Any) -> float | None:  # noqa: ANN401 (whatever an attribute holds)
    """Give an attribute that should be a single number as one; anything else counts as not given."""
    if value is None or np.size(value) != 1:
        return None
    try:
        number = float(np.ravel(value)[0])
    except (TypeError, ValueError):
        return None
    return number if np.isfinite(number) else None


def _best_group(file: h5py.File, path: Path) -> str:
    for group in GROUPS:
        if f"{group}/theta" in file:
            return group
    raise InputFormatError(
        f"{path}: head and tail were not resolved by WormPose (no group 'resolved'), so the angles may run either "
        "way. Predict again with a lower --score_threshold, or train the network longer."
    )


def _name_animal(path: Path) -> str:
    """Name the animal by its video, which is the folder when the file has WormPose's own name."""
    return path.resolve().parent.name or path.stem if path.stem in FILE_STEMS else path.stem
