"""Analysis files of SLEAP (*.analysis.h5): the tracks of one film as arrays.

Pixels are counted from the upper left corner of the image; y is negated on the way in.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import h5py
import numpy as np

from ethomarkov._core.types import FloatArray
from ethomarkov.exceptions import InputFormatError
from ethomarkov.io.hdf5 import open_hdf5, read_numbers, text_of
from ethomarkov.io.options import ReadOptions
from ethomarkov.io.probe import Probe
from ethomarkov.io.readers.keypoints import IMAGE_ATTRS, choose_view, image_track, position_recording, require_rate
from ethomarkov.io.readers.sleap_metadata import read_words
from ethomarkov.io.registry import reader
from ethomarkov.recording import Recording

TRACK_DIMS = ("track", "xy", "node", "frame")
SCORE_DIMS = ("track", "node", "frame")


def _is_sleap_analysis(probe: Probe) -> bool:
    return {"tracks", "node_names"} <= probe.hdf5_names


@reader(
    "sleap",
    suffixes=(".h5", ".hdf5"),
    describes="SLEAP analysis file (*.analysis.h5)",
    recognise=_is_sleap_analysis,
)
def read_sleap(path: Path, options: ReadOptions) -> Recording:
    """Read an analysis file of SLEAP, whatever the order of its dimensions; newer files state theirs in ``dims``."""
    if not _is_sleap_analysis(Probe(path)):
        raise InputFormatError(
            f"{path}: holds no tracks with node_names; an analysis file of SLEAP is needed. If it is of another "
            "program, name that with format= (or --format)."
        )
    rate = require_rate(options, "SLEAP analysis files")
    with open_hdf5(path) as file:
        choose_view(read_words(file, "video_path"), options.view, "film")
        nodes, tracks = read_words(file, "node_names"), read_words(file, "track_names")
        positions = _ordered(file["tracks"], TRACK_DIMS, ("frame", "track", "node", "xy"))
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


def _ordered(dataset: h5py.Dataset, usual: Sequence[str], wanted: Sequence[str]) -> FloatArray:
    """Load an array with its dimensions in the wanted order, going by the ones it states."""
    dims = _stated_dims(dataset) or list(usual)
    if sorted(dims) != sorted(wanted) or dataset.ndim != len(wanted):
        raise InputFormatError(
            f"{dataset.name} has shape {dataset.shape} and the dimensions {', '.join(dims)}; "
            f"{', '.join(wanted)} in any order are needed. Export the file again."
        )
    return np.transpose(read_numbers(dataset), [dims.index(dim) for dim in wanted])


def _stated_dims(dataset: h5py.Dataset) -> list[str]:
    if "dims" not in dataset.attrs:
        return []
    try:
        dims = json.loads(text_of(dataset.attrs["dims"]))
    except (ValueError, RecursionError):
        dims = None
    if not isinstance(dims, list):
        raise InputFormatError(
            f"{dataset.name} states its dimensions as {dataset.attrs['dims']!r}; a list of names is needed. Export "
            "the file again."
        )
    return [str(dim) for dim in dims]
