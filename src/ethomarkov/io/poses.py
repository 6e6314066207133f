"""Poses of the tracking programs: movement netCDF, SLEAP, DeepLabCut and LightningPose.

All of them count pixels of an image from its upper left corner; y is negated on the way in.
"""

import json
import pickletools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import xarray as xr

from ethomarkov._core.optional import require
from ethomarkov._core.sampling import Sampling
from ethomarkov._core.types import FloatArray
from ethomarkov.exceptions import InputFormatError, SamplingError
from ethomarkov.io.keypoints import IMAGE_ATTRS, image_track, position_recording
from ethomarkov.io.options import ReadOptions
from ethomarkov.io.probe import Probe
from ethomarkov.io.registry import reader
from ethomarkov.recording import Recording

NETCDF3_SIGNATURE = b"CDF"
DLC_KEY = "df_with_missing"
SLEAP_DIMS = ("track", "xy", "node", "frame")
SCORE_DIMS = ("track", "node", "frame")
# what an unpickler must see before it can call anything
CALLING_OPCODES = {
    "GLOBAL", "STACK_GLOBAL", "INST", "OBJ", "NEWOBJ", "NEWOBJ_EX", "REDUCE", "BUILD", "EXT1", "EXT2", "EXT4",
    "PERSID", "BINPERSID",
}  # fmt: skip


# --- movement ----------------------------------------------------------------------------------------------


def _is_movement(probe: Probe) -> bool:
    if probe.head.startswith(NETCDF3_SIGNATURE):
        return b"position" in probe.head and b"keypoint" in probe.head
    names = probe.hdf5_names
    return {"position", "time"} <= names and bool(names & {"keypoint", "keypoints"})


@reader("movement", suffixes=(".nc",), describes="poses written by movement as netCDF", recognise=_is_movement)
def read_movement(path: Path, options: ReadOptions) -> Recording:
    """Read poses that movement has written, with dimension names of any of its versions."""
    engine = "scipy" if Probe(path).head.startswith(NETCDF3_SIGNATURE) else "h5netcdf"
    try:
        with xr.open_dataset(path, engine=engine, decode_times=False) as stored:
            dataset = stored.load()
    except (OSError, ValueError, TypeError) as error:
        raise InputFormatError(f"{path}: cannot be read as netCDF ({error}). Copy or export it again.") from error
    return _movement_recording(dataset, options)


def _movement_recording(dataset: xr.Dataset, options: ReadOptions) -> Recording:
    dataset = dataset.rename({plural: plural[:-1] for plural in ("keypoints", "individuals") if plural in dataset.dims})
    dims = dataset["position"].dims if "position" in dataset else ()
    if not {"time", "space", "keypoint", "individual"} <= set(dims):
        raise InputFormatError(
            f"position has the dimensions {', '.join(map(str, dims)) or '(there is none)'}; time, space, keypoint and "
            "individual are needed. Only poses can be read, not bounding boxes."
        )
    positions = dataset["position"].transpose("time", "individual", "keypoint", "space").values
    confidence = _movement_confidence(dataset)
    rate, time = _movement_times(dataset, options)
    tracks = [
        image_track(
            str(name),
            positions[:, i],
            options,
            confidence=None if confidence is None else confidence[:, i],
            time=time,
        )
        for i, name in enumerate(dataset["individual"].values)
    ]
    names = [str(name) for name in dataset["keypoint"].values]
    return position_recording(names, tracks, options, sampling_rate=rate, attrs=IMAGE_ATTRS)


def _movement_confidence(dataset: xr.Dataset) -> FloatArray | None:
    if "confidence" not in dataset:
        return None
    return np.asarray(dataset["confidence"].transpose("time", "individual", "keypoint").values)


def _movement_times(dataset: xr.Dataset, options: ReadOptions) -> tuple[float | None, FloatArray]:
    """Find the rate and the seconds of every frame.

    Seconds in a file with a rate were made from frame numbers, so another rate that the user states turns them
    back into frames first.
    """
    time = np.asarray(dataset["time"].values, dtype=np.float64)
    stated = _stated_fps(dataset)
    in_seconds = str(dataset.attrs.get("time_unit", "frames" if stated is None else "seconds")) == "seconds"
    wanted = None if options.sampling_rate is None else Sampling(options.sampling_rate).rate
    if in_seconds and (wanted is None or stated is None):
        return wanted or stated, time
    rate = wanted or stated
    if rate is None:
        raise SamplingError(
            "Times are frame numbers and the file holds no rate (fps). State it with sampling_rate= (or --rate)."
        )
    frames = np.round(time * stated) if in_seconds and stated is not None else time
    return rate, frames / rate


def _stated_fps(dataset: xr.Dataset) -> float | None:
    try:
        fps = float(dataset.attrs.get("fps", np.nan))
    except (TypeError, ValueError):  # movement has written None in several spellings
        return None
    return fps if np.isfinite(fps) and fps > 0 else None


# --- SLEAP -------------------------------------------------------------------------------------------------


def _is_sleap_analysis(probe: Probe) -> bool:
    return {"tracks", "node_names"} <= probe.hdf5_names


def _is_sleap_labels(probe: Probe) -> bool:
    return probe.suffix == ".slp" and {"metadata", "frames", "instances"} <= probe.hdf5_names


@reader(
    "sleap",
    suffixes=(".h5", ".hdf5"),
    describes="SLEAP analysis file (*.analysis.h5)",
    recognise=_is_sleap_analysis,
)
def read_sleap(path: Path, options: ReadOptions) -> Recording:
    """Read an analysis file of SLEAP, whatever the order of its dimensions.

    Read here and not through movement, which expects one order; newer files state theirs in ``dims``.
    """
    if not _is_sleap_analysis(Probe(path)):
        raise InputFormatError(f"{path}: holds no tracks with node_names; an analysis file of SLEAP is needed.")
    rate = _require_rate(options, "SLEAP analysis files")
    with h5py.File(path, "r") as file:
        nodes, tracks = _decode(file["node_names"]), _decode(file["track_names"]) if "track_names" in file else []
        positions = _ordered(file["tracks"], SLEAP_DIMS, ("frame", "track", "node", "xy"))
        scores = (
            _ordered(file["point_scores"], SCORE_DIMS, ("frame", "track", "node")) if "point_scores" in file else None
        )
    n_tracks, n_nodes = positions.shape[1:3]
    names = tracks or [f"individual_{i}" for i in range(n_tracks)]
    if (len(names), len(nodes)) != (n_tracks, n_nodes) or (scores is not None and scores.shape != positions.shape[:3]):
        raise InputFormatError(
            f"{path}: tracks hold {n_tracks} animals with {n_nodes} points, but there are {len(names)} track names, "
            f"{len(nodes)} node names and scores of shape {None if scores is None else scores.shape}. Dimensions in "
            "an order other than SLEAP's own need the attribute dims; export the file again with SLEAP or sleap-io."
        )
    found = [
        image_track(name, positions[:, i], options, confidence=None if scores is None else scores[:, i])
        for i, name in enumerate(names)
    ]
    return position_recording(nodes, found, options, sampling_rate=rate, attrs=IMAGE_ATTRS)


@reader("sleap-labels", suffixes=(".slp",), describes="SLEAP labels file, needs [pose]", recognise=_is_sleap_labels)
def read_sleap_labels(path: Path, options: ReadOptions) -> Recording:
    """Read a labels file of SLEAP through movement."""
    return _read_with_movement(path, "SLEAP", options)


def _decode(dataset: h5py.Dataset) -> list[str]:
    return [name.decode() if isinstance(name, bytes) else str(name) for name in dataset[()].ravel()]


def _ordered(dataset: h5py.Dataset, usual: Sequence[str], wanted: Sequence[str]) -> FloatArray:
    """Load an array with its dimensions in the wanted order, going by the ones it states."""
    stated = dataset.attrs.get("dims")
    dims = list(usual) if stated is None else json.loads(stated)
    if sorted(dims) != sorted(wanted) or dataset.ndim != len(wanted):
        raise InputFormatError(
            f"{dataset.name} has shape {dataset.shape} and the dimensions {', '.join(map(str, dims))}; "
            f"{', '.join(wanted)} in any order are needed. Export the file again."
        )
    values: FloatArray = np.transpose(dataset[()], [dims.index(dim) for dim in wanted])
    return values


# --- DeepLabCut and LightningPose --------------------------------------------------------------------------


def _is_deeplabcut(probe: Probe) -> bool:
    if DLC_KEY in probe.hdf5_names:
        return True
    return probe.text.lstrip('"').startswith("scorer")


@reader(
    "deeplabcut",
    suffixes=(".h5", ".csv"),
    describes="DeepLabCut or LightningPose predictions, needs [pose]",
    recognise=_is_deeplabcut,
)
def read_deeplabcut(path: Path, options: ReadOptions) -> Recording:
    """Read predictions of DeepLabCut, or of LightningPose in the same layout, through movement."""
    probe = Probe(path)
    if not _is_deeplabcut(probe):
        raise InputFormatError(
            f"{path}: holds neither the table {DLC_KEY} nor a first line that starts with scorer; a file of "
            "DeepLabCut is needed."
        )
    if probe.is_hdf5:
        _refuse_code(path)
    return _read_with_movement(path, "DeepLabCut", options)


def _refuse_code(path: Path) -> None:
    """Refuse a pandas file whose attributes could run code when pandas unpickles them.

    Column names of such files are pickled lists of text, which are harmless; anything that could call a function
    is not, and DeepLabCut writes none.
    """
    found: list[str] = []

    def visit(name: str, item: h5py.Dataset | h5py.Group) -> None:
        found.extend(f"{name}@{key}" for key, value in item.attrs.items() if _may_run(key, value))

    with h5py.File(path, "r") as file:
        visit("", file)
        file.visititems(visit)
    if found:
        raise InputFormatError(
            f"{path}: the attribute {found[0]} holds a pickled object, which could run code; only text and numbers "
            "are accepted. Use the CSV file that DeepLabCut writes beside it."
        )


def _may_run(key: str, value: Any) -> bool:  # noqa: ANN401 (whatever an attribute holds)
    if key == "PSEUDOATOM":
        return value not in (b"vlstring", b"vlunicode")
    data = value.encode() if isinstance(value, str) else value
    if not isinstance(data, bytes) or not data.endswith(b"."):
        return False
    try:
        return any(opcode.name in CALLING_OPCODES for opcode, _, _ in pickletools.genops(data))
    except ValueError:
        return True


# --- through movement --------------------------------------------------------------------------------------


def _require_rate(options: ReadOptions, what: str) -> float:
    if options.sampling_rate is None:
        raise SamplingError(f"{what} hold no frame rate. State it with sampling_rate= (or --rate).")
    return Sampling(options.sampling_rate).rate


def _read_with_movement(path: Path, software: str, options: ReadOptions) -> Recording:
    loaders = require("movement.io.load_poses", extra="pose", purpose=f"reading {software} files")
    rate = _require_rate(options, f"{software} files")
    # load_dataset replaces the loaders of the single programs in movement 0.15
    package = require("movement.io", extra="pose", purpose=f"reading {software} files")
    try:
        if hasattr(package, "load_dataset"):
            dataset = package.load_dataset(path, source_software=software, fps=rate)
        else:
            load = loaders.from_dlc_file if software == "DeepLabCut" else loaders.from_sleap_file
            dataset = load(path, fps=rate)
    except (ValueError, OSError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise InputFormatError(
            f"{path}: movement cannot read it as a {software} file ({error}). Check that the export is complete, or "
            "name another format."
        ) from error
    return _movement_recording(dataset, options)
