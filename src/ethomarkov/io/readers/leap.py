"""Predictions of LEAP, as its Python program writes them (HDF5) or as they are saved from MATLAB; not its labels.

The layout is that of the program itself: ``positions_pred`` (frames, [x, y], joints) in pixels of the images, which
show the animal already centred and turned, and ``conf_pred`` (frames, joints). The file does not name the joints.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from ethomarkov._core.types import FloatArray
from ethomarkov.exceptions import InputFormatError, SamplingError
from ethomarkov.io.hdf5 import open_hdf5, read_values
from ethomarkov.io.matlab import STRUCT, read_matlab
from ethomarkov.io.options import ReadOptions
from ethomarkov.io.probe import Probe
from ethomarkov.io.readers.keypoints import IMAGE_ATTRS, image_track, position_recording
from ethomarkov.io.registry import reader
from ethomarkov.recording import Recording

POSITIONS, CONFIDENCE = "positions_pred", "conf_pred"
IN_STRUCTURE = "preds"
"""What LEAP's MATLAB function calls its result, when that is saved as it is."""
LABELS = {"positions", "skeleton"}


def _is_leap(probe: Probe) -> bool:
    found = probe.matlab_variables
    return POSITIONS in found or _is_structure(probe) or _is_labels(probe)


def _is_structure(probe: Probe) -> bool:
    found = probe.matlab_variables
    if probe.is_hdf5:
        return f"{IN_STRUCTURE}/{POSITIONS}" in probe.hdf5_names
    return set(found) == {IN_STRUCTURE} and found[IN_STRUCTURE].kind == STRUCT


def _is_labels(probe: Probe) -> bool:
    found = probe.matlab_variables
    return found.keys() >= LABELS and found["skeleton"].kind == STRUCT and len(found["positions"].shape) == 3


@reader("leap", suffixes=(".h5", ".mat"), describes="predictions of LEAP", recognise=_is_leap)
def read_leap(path: Path, options: ReadOptions) -> Recording:
    """Read the predicted joints of one animal, y up; those of low confidence are missing.

    Joints are called ``joint_0``, ``joint_1`` … in LEAP's order. Training labels, which are of chosen frames and not
    of consecutive ones, are refused.
    """
    probe = Probe(path)
    if _is_labels(probe) and POSITIONS not in probe.matlab_variables:
        raise InputFormatError(
            f"{path}: holds training labels of LEAP, made by hand for chosen frames, which do not follow each other in "
            "time. Give the predictions for the whole video (predict_box), or save consecutive frames as NPZ."
        )
    if options.sampling_rate is None:
        raise SamplingError("Files of LEAP hold no frame rate. State it with sampling_rate= (or --rate).")
    positions, confidence = _read_predictions(path)
    names = [f"joint_{i}" for i in range(positions.shape[1])]
    track = image_track(path.stem, positions, options, confidence=confidence)
    return position_recording(names, [track], options, sampling_rate=options.sampling_rate, attrs=IMAGE_ATTRS)


def _read_predictions(path: Path) -> tuple[FloatArray, FloatArray | None]:
    """Give positions (frames, joints, 2) and confidences (frames, joints), if there are any."""
    stored = _read_python(path) or _read_matlab(path)
    if POSITIONS not in stored:
        raise InputFormatError(
            f"{path}: lacks {POSITIONS}; predictions of LEAP are needed. It holds "
            f"{Probe(path).contents() or 'no arrays'}."
        )
    positions, confidence = stored[POSITIONS], stored.get(CONFIDENCE)
    if positions.ndim != 3 or positions.shape[1] != 2:
        raise InputFormatError(f"{path}: {POSITIONS} has shape {positions.shape}; (frames, 2, joints) is needed.")
    n_frames, _, n_joints = positions.shape
    if confidence is not None and confidence.shape != (n_frames, n_joints):
        raise InputFormatError(
            f"{path}: {CONFIDENCE} has shape {confidence.shape}, {POSITIONS} {positions.shape}; one value for every "
            "joint of every frame is needed."
        )
    return positions.transpose(0, 2, 1).astype(np.float32), confidence


def _read_python(path: Path) -> Mapping[str, NDArray[Any]]:
    """Read what the Python program wrote; HDF5 keeps its order of dimensions, be it in a MATLAB file or not."""
    if not Probe(path).is_hdf5:
        return {}
    with open_hdf5(path) as file:
        home = file[IN_STRUCTURE] if _is_structure(Probe(path)) else file
        return {
            name: read_values(home[name])
            for name in (POSITIONS, CONFIDENCE)
            if isinstance(home.get(name), h5py.Dataset)
        }


def _read_matlab(path: Path) -> Mapping[str, NDArray[Any]]:
    """Read a file of an older MATLAB, which has all dimensions the other way round."""
    place = f"{IN_STRUCTURE}/" if _is_structure(Probe(path)) else ""
    stored = read_matlab(path, (f"{place}{POSITIONS}", f"{place}{CONFIDENCE}"))
    return {name.removeprefix(place): values.T for name, values in stored.items()}
