"""Results of WormPose: tangent angles predicted by a network, before or after its post-processing."""

from pathlib import Path

import h5py
import numpy as np

from ethomarkov.exceptions import InputFormatError
from ethomarkov.io.options import ReadOptions
from ethomarkov.io.probe import Probe
from ethomarkov.io.registry import reader
from ethomarkov.recording import Recording, Track

# The best first: post-processed angles, then those whose head was told from the tail.
GROUPS = ("smooth", "interp", "raw", "resolved", "orig")
UNRESOLVED = "unaligned"
FILE_STEMS = ("results", "processed_results")


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
    try:
        with h5py.File(path, "r") as file:
            group = _best_group(file, path)
            theta = np.asarray(file[group]["theta"][()], dtype=float)
            stated = {name: file.attrs.get(name) for name in ("frame_rate", "dorsal_ventral_flip")}
    except (OSError, RuntimeError, KeyError, TypeError) as error:
        raise InputFormatError(
            f"{path}: the angles cannot be read ({error}). The file is probably damaged; copy it again, or rerun "
            "WormPose."
        ) from error
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
        sampling_rate=None if rate is None else float(rate),
        attrs=attrs,
    )


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
