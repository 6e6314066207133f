"""Predictions of DeepLabCut, and of LightningPose in the same layout, from HDF5 or CSV.

Pixels are counted from the upper left corner of the image; y is negated on the way in.
"""

import array
import contextlib
import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethomarkov._core.types import FloatArray
from ethomarkov.exceptions import InputFormatError
from ethomarkov.io.hdf5 import open_hdf5
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
from ethomarkov.io.readers.pandas_hdf5 import NamedTable, frame_groups, read_frame
from ethomarkov.io.registry import reader
from ethomarkov.recording import Recording

KEY = "df_with_missing"
LEVELS = ("scorer", "individuals", "bodyparts", "coords")
UNIQUE = "single"
"""Where DeepLabCut puts body parts that belong to none of several animals, such as corners of the arena."""
IMAGE_ENDINGS = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp")
MISSING_WORDS = {"", "nan"}
NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)

Parts = Mapping[str, Mapping[str, int]]
"""Columns of one animal: body part, then x, y or likelihood."""


def _is_deeplabcut(probe: Probe) -> bool:
    if KEY in probe.hdf5_names or _is_scorer_line(probe):
        return True
    if not probe.is_hdf5:
        return False
    with open_hdf5(probe.path) as file:
        by_pytables = "PYTABLES_FORMAT_VERSION" in file.attrs
        return by_pytables and any(_has_levels(group.attrs) for group in frame_groups(file).values())


def _is_scorer_line(probe: Probe) -> bool:
    return not probe.is_hdf5 and probe.text.lstrip('"').startswith("scorer")


def _has_levels(attrs: Mapping[str, Any]) -> bool:
    """Tell from a first look whether the columns of a table are named as those of DeepLabCut."""
    info = attrs.get("info", b"")
    return attrs.get("axis0_nlevels", 0) in (3, 4) or (isinstance(info, bytes) and b"coords" in info)


@reader(
    "deeplabcut",
    suffixes=(".h5", ".csv"),
    describes="DeepLabCut or LightningPose predictions",
    recognise=_is_deeplabcut,
)
def read_deeplabcut(path: Path, options: ReadOptions) -> Recording:
    """Read predictions of DeepLabCut, or of LightningPose in the same layout."""
    probe = Probe(path)
    if not (probe.is_hdf5 or _is_scorer_line(probe)):
        raise InputFormatError(
            f"{path}: is neither HDF5 nor starts with a line of scorers; a file of DeepLabCut is needed. If it is of "
            "another program, name that with format= (or --format)."
        )
    if path.name.startswith("CollectedData"):
        raise _training_labels(path.name)
    table = _read_hdf5(path) if probe.is_hdf5 else _read_csv(path)
    _check_index(table.index)
    animals = _choose_animals(_sort_columns(table, options), options)
    parts = list(next(iter(animals.values())))
    rate = require_rate(options, "DeepLabCut files")
    time = frame_times(table.index, rate)
    tracks = []
    for name, columns in animals.items():
        positions, confidence = _poses(table.values, columns, parts)
        tracks.append(image_track(name, positions, options, confidence=confidence, time=time))
    return position_recording(parts, tracks, options, sampling_rate=rate, attrs=IMAGE_ATTRS)


def _read_hdf5(path: Path) -> NamedTable:
    with open_hdf5(path) as file:
        groups = frame_groups(file)
        if not groups:
            raise InputFormatError(f"{path}: holds no table of pandas, only {', '.join(file) or 'nothing'}.")
        name = KEY if KEY in groups else next(iter(groups))
        if name != KEY and len(groups) > 1:
            raise InputFormatError(
                f"{path}: holds the tables {', '.join(groups)}; one, or one named {KEY}, is needed. Save them in "
                "files of their own."
            )
        return read_frame(groups[name])


# --- CSV -------------------------------------------------------------------------------------------------------


def _read_csv(path: Path) -> NamedTable:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return _parse(csv.reader(file))
    except UnicodeDecodeError as error:
        raise InputFormatError(f"{path}: is not UTF-8 text ({error}). Save it as CSV in UTF-8.") from error
    except csv.Error as error:
        raise InputFormatError(f"{path}: is no CSV ({error}). Export it again.") from error


def _parse(rows: Any) -> NamedTable:  # noqa: ANN401 (a reader of the csv module has no public type)
    header: dict[str, list[str]] = {}
    cells: list[str] = next(rows, [])
    while cells and cells[0] in LEVELS and cells[0] not in header:
        header[cells[0]] = [cell.strip() for cell in cells[1:]]
        cells = next(rows, [])
    if not {"bodyparts", "coords"} <= set(header) or len({len(names) for names in header.values()}) > 1:
        raise InputFormatError(
            f"The first lines name {', '.join(header) or 'nothing'}; scorer, bodyparts and coords (for several "
            "animals individuals too), with the same number of columns, are needed. Export the file again."
        )
    columns = tuple(zip(*header.values(), strict=True))
    index, numbers = _parse_rows(cells, rows, columns)
    return NamedTable(levels=tuple(header), columns=columns, index=index, values=numbers)


def _parse_rows(first: list[str], rows: Any, columns: Sequence[tuple[str, ...]]) -> tuple[NDArray[Any], FloatArray]:  # noqa: ANN401
    index: list[str] = []
    numbers = array.array("d")
    for cells in _chain(first, rows):
        if len(cells) != len(columns) + 1:
            raise InputFormatError(
                f"Line {rows.line_num} has {len(cells)} cells, the header {len(columns) + 1}; the same is needed."
            )
        index.append(cells[0].strip())
        if NUMBER.fullmatch(cells[0]):  # rows named by words are refused by the caller, whatever they hold
            numbers.extend(_parse_cells(cells[1:], columns, rows.line_num))
        else:
            numbers.extend([np.nan] * len(columns))
    values = np.array(numbers, dtype=np.float64).reshape(len(index), len(columns))
    if all(NUMBER.fullmatch(name) for name in index):
        return np.array([float(name) for name in index]), values
    return np.array(index), values


def _chain(first: list[str], rows: Any) -> Iterator[list[str]]:  # noqa: ANN401
    if first:
        yield first
    yield from (cells for cells in rows if cells)


def _parse_cells(cells: Sequence[str], columns: Sequence[tuple[str, ...]], line: int) -> list[float]:
    """Parse numbers; `float` alone would take 1_5 for 15 and digits of any script."""
    text = "".join(cells)
    if text.isascii() and "_" not in text:
        with contextlib.suppress(ValueError):  # empty cells are parsed one by one
            return list(map(float, cells))
    for cell, column in zip(cells, columns, strict=True):
        if cell.strip().lower() not in MISSING_WORDS and not NUMBER.fullmatch(cell):
            raise InputFormatError(
                f"Line {line}, column {' '.join(column)} holds {cell!r}, which is not a number. Write numbers with a "
                "decimal point, and leave the cell empty (or nan) where one is missing."
            )
    return [float(cell) if cell.strip() else np.nan for cell in cells]


# --- what the columns and rows mean ----------------------------------------------------------------------------


def _check_index(index: NDArray[Any]) -> None:
    if index.dtype.kind in "fiu":
        return
    name = next((str(name) for name in index if not NUMBER.fullmatch(str(name))), "")
    if name.lower().endswith(IMAGE_ENDINGS) or "labeled-data" in name or "/" in name:
        raise _training_labels(name)
    raise InputFormatError(
        f"A row is named {name!r}; the number of its frame is needed. Export the predictions for a video again."
    )


def _training_labels(name: str) -> InputFormatError:
    return InputFormatError(
        f"These are training labels: single images ({name}), not the frames of a film one after the other. Analyse "
        "a video with DeepLabCut and give the predictions that it writes."
    )


def _sort_columns(table: NamedTable, options: ReadOptions) -> dict[str, dict[str, dict[str, int]]]:
    """Find the columns of every animal: animal, body part, coordinate."""
    levels = table.levels if set(table.levels) <= set(LEVELS) and "coords" in table.levels else ()
    n_levels = len(table.columns[0])
    levels = levels or (LEVELS if n_levels == len(LEVELS) else LEVELS[:1] + LEVELS[2:])
    if len(levels) != n_levels:
        raise InputFormatError(f"Columns have {n_levels} levels of names; {', '.join(LEVELS)} are needed.")
    named = [dict(zip(levels, column, strict=True)) for column in table.columns]
    scorer = choose_view([column.get("scorer", "") for column in named], options.view, "scorer")
    animals: dict[str, dict[str, dict[str, int]]] = {}
    for place, column in enumerate(named):
        if column.get("scorer", "") == scorer:
            parts = animals.setdefault(column.get("individuals", "individual_0"), {})
            coords = parts.setdefault(column["bodyparts"], {})
            if coords.setdefault(column["coords"], place) != place:
                raise InputFormatError(f"Two columns are named {', '.join(column.values())}; each is needed once.")
    return animals


def _choose_animals(animals: Mapping[str, Parts], options: ReadOptions) -> dict[str, Parts]:
    """Leave out the body parts that belong to no animal, unless they are what was asked for."""
    chosen = dict(animals)
    unique = chosen.get(UNIQUE, {})
    if len(chosen) > 1 and unique:
        asked = options.keypoints is not None and set(options.keypoints) <= set(unique)
        chosen = {UNIQUE: unique} if asked else {name: parts for name, parts in chosen.items() if name != UNIQUE}
    first = next(iter(chosen))
    for name, parts in chosen.items():
        if set(parts) != set(chosen[first]):
            raise InputFormatError(
                f"{name!r} has the body parts {', '.join(parts)}, {first!r} {', '.join(chosen[first])}; all animals "
                "need the same. Save them in files of their own."
            )
        _check_coords(parts)
    return chosen


def _check_coords(parts: Parts) -> None:
    for part, coords in parts.items():
        if "z" in coords:
            raise InputFormatError(
                f"{part!r} has the coordinates x, y and z; only x and y can be used. Project them onto a plane first, "
                "or give the two-dimensional predictions of one camera."
            )
        if not {"x", "y"} <= set(coords):
            raise InputFormatError(f"{part!r} has the columns {', '.join(coords)}; x and y are needed. Export again.")


def _poses(values: FloatArray, columns: Parts, parts: Sequence[str]) -> tuple[FloatArray, FloatArray | None]:
    positions = values[:, [[columns[part][axis] for axis in ("x", "y")] for part in parts]]
    if not all("likelihood" in columns[part] for part in parts):
        return positions, None
    return positions, values[:, [columns[part]["likelihood"] for part in parts]]
