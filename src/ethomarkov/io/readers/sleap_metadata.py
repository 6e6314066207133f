"""What a labels file of SLEAP says in JSON: skeletons, tracks and films.

Films are only named here, never opened, wherever they are.
"""

import json
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

import h5py
import numpy as np

from ethomarkov._core.types import IntArray
from ethomarkov.exceptions import InputFormatError
from ethomarkov.io.hdf5 import read_text

NEXT_LAYOUT = 3.0


def read_metadata(file: h5py.File) -> Mapping[str, Any]:
    """Read the metadata, of a format that is known."""
    attrs = file["metadata"].attrs
    stated = attrs.get("json", b"")
    metadata = _parse_json(stated.tobytes() if isinstance(stated, np.ndarray) else stated, "metadata")
    if not isinstance(metadata, dict):
        raise InputFormatError("The metadata hold no skeletons; a labels file of SLEAP is needed. Save it again.")
    if format_id(file) >= NEXT_LAYOUT:
        raise InputFormatError(
            f"Its format is {format_id(file):g}; formats below {NEXT_LAYOUT:g} can be read. Export an analysis file "
            "(.h5) from SLEAP instead."
        )
    return metadata


def format_id(file: h5py.File) -> float:
    """Tell the version of the format."""
    stated = np.asarray(file["metadata"].attrs.get("format_id", 1.0))
    if stated.dtype.kind not in "fiu" or stated.size != 1:
        raise InputFormatError(f"format_id is {stated!r}; a number is needed. Save the file again.")
    return float(stated.item())


def _parse_json(text: str | bytes, what: str) -> Any:  # noqa: ANN401 (whatever JSON holds)
    try:
        return json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise InputFormatError(f"{what} hold no JSON ({error}). The file is damaged; save it again.") from error


def read_words(file: h5py.File, name: str) -> list[str]:
    """Read a list of texts; SLEAP stores an empty one as numbers, or leaves it out."""
    return read_text(file[name]).ravel().tolist() if name in file and file[name].size else []


def node_names(metadata: Mapping[str, Any], skeletons: IntArray) -> list[str]:
    """Name the points of the only skeleton that the instances use, in its own order."""
    if skeletons.size != 1:
        raise InputFormatError(f"Instances have {skeletons.size} skeletons; one is needed. Save them in two files.")
    try:
        skeleton = metadata["skeletons"][int(skeletons[0])]
        nodes = skeleton.get("nx_graph", skeleton)["nodes"]  # nested since SLEAP 1.3.2
        return [str(metadata["nodes"][node["id"]]["name"]) for node in nodes]
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise InputFormatError(
            f"The skeleton is not stored as SLEAP does ({error!r}). Open the file in SLEAP and save it again."
        ) from error


def track_names(file: h5py.File) -> list[str]:
    """Name the tracks."""
    tracks = [_parse_json(row, "tracks_json") for row in read_words(file, "tracks_json")]
    if not all(isinstance(track, list) and len(track) > 1 for track in tracks):
        raise InputFormatError("tracks_json holds no pairs of a frame and a name. Save the file again with SLEAP.")
    return [str(track[1]) or f"track_{place}" for place, track in enumerate(tracks)]


def film_names(file: h5py.File, used: IntArray) -> dict[int, str]:
    """Name the films by the numbers that frames use: places in the list, or those in names of embedded images."""
    rows = read_words(file, "videos_json")
    backends = [_backend(_parse_json(row, "videos_json")) for row in rows]
    embedded = [_embedded_number(backend) for backend in backends]
    in_list = set(np.unique(used).tolist()) == set(range(len(rows)))
    return {
        place if in_list or number is None else number: _film_name(backend) or f"video {place}"
        for place, (backend, number) in enumerate(zip(backends, embedded, strict=True))
    }


def _backend(video: object) -> dict[str, Any]:
    stated = video if isinstance(video, dict) else {}
    backend = stated.get("backend")
    return {**stated, **(backend if isinstance(backend, dict) else {})}


def _embedded_number(backend: Mapping[str, Any]) -> int | None:
    number = str(backend.get("dataset") or "").partition("/")[0].removeprefix("video")
    return int(number) if number.isdecimal() and len(number) < 10 else None


def _film_name(backend: Mapping[str, Any]) -> str:
    name = backend.get("filename") or backend.get("filenames") or ""
    first = name[0] if isinstance(name, list) and name else name
    return str(backend.get("dataset") or "") if first == "." else str(first)


def full_name(view: str | None, names: Mapping[int, str]) -> str | None:
    """Let the last part of a film's name do, with or without its ending, where it is clear."""
    short = [
        name
        for name in names.values()
        if view in (PurePosixPath(name.replace("\\", "/")).name, PurePosixPath(name.replace("\\", "/")).stem)
    ]
    return short[0] if len(short) == 1 else view
