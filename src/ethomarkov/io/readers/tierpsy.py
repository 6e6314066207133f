"""Results of Tierpsy Tracker: skeletons of all animals of a plate, in its three file layouts."""

import json
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

from ethomarkov._core.types import BoolArray, FloatArray, IntArray
from ethomarkov.exceptions import InputFormatError, SamplingError
from ethomarkov.io.hdf5 import open_hdf5, read_values
from ethomarkov.io.options import ReadOptions
from ethomarkov.io.probe import Probe
from ethomarkov.io.registry import reader
from ethomarkov.recording import Recording, Track
from ethomarkov.recording.tracks import median_length

SMOOTHED, RAW = "coordinates/skeletons", "skeleton"
TRAJECTORIES, FEATURES = "trajectories_data", "features_timeseries"
VENTRAL_SIDES = ("clockwise", "anticlockwise")
MM_PER_MICRON = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """Where one kind of file keeps what is needed."""

    points: str
    table: str
    worm: str
    frame: str
    skeleton: str | None


FEATURES_N = _Layout(
    points=SMOOTHED, table=TRAJECTORIES, worm="worm_index_joined", frame="frame_number", skeleton="skeleton_id"
)
# Row i of the older features table goes with row i of the coordinates; its skeleton_id points elsewhere.
OLD_FEATURES = _Layout(points=SMOOTHED, table=FEATURES, worm="worm_index", frame="timestamp", skeleton=None)
SKELETONS = _Layout(
    points=RAW, table=TRAJECTORIES, worm="worm_index_joined", frame="frame_number", skeleton="skeleton_id"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Facts:
    """What a file says about all of its animals."""

    rate: float
    scale: float
    length_unit: str
    pixel_scale: float | None
    ventral_side: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """One row per animal and frame, sorted by animal and then frame."""

    worm: IntArray
    frame: IntArray
    points: FloatArray
    centroid: FloatArray


def _find_layout(names: frozenset[str] | h5py.File) -> _Layout | None:
    for layout in (OLD_FEATURES, FEATURES_N, SKELETONS):
        if layout.points in names and layout.table in names:
            return layout
    return None


def _is_tierpsy(probe: Probe) -> bool:
    return _find_layout(probe.hdf5_names) is not None


@reader(
    "tierpsy",
    suffixes=("_featuresN.hdf5", "_features.hdf5", "_skeletons.hdf5"),
    describes="skeletons from Tierpsy Tracker",
    recognise=_is_tierpsy,
)
def read_tierpsy(path: Path, options: ReadOptions) -> Recording:
    """Read the skeletons of every tracked animal (``worm_index_joined``), head first.

    Smoothed skeletons become millimetres; those of ``*_skeletons.hdf5`` too where the size of a pixel is known, else
    they stay in pixels. Tierpsy measures in images, whose y points down: y is negated, so that it points up and the
    animal looks as in the video. Rows of no animal are left out; frames without a skeleton are missing. The frame
    rate is that of the video's time stamps, else the one in the attributes, unless one is stated here. The centroid
    is that of the blob, or the mean of the skeleton where the blob is not in the same coordinates (no pixel size,
    or a moving stage).
    """
    try:
        with open_hdf5(path) as file:
            layout = _find_layout(file)
            if layout is None:
                raise InputFormatError(
                    f"{path}: holds no skeletons of Tierpsy ({SMOOTHED} or {RAW}, with {TRAJECTORIES}). "
                    f"It holds {Probe(path).contents() or 'no arrays'}. Give the *_featuresN.hdf5 file of the results."
                )
            facts = _read_facts(file, layout, options)
            rows = _read_rows(file, layout, facts)
    except (OSError, RuntimeError, KeyError) as error:
        raise InputFormatError(
            f"{path}: a part of it cannot be read ({error}). The file is probably damaged; copy it again, or rerun "
            "Tierpsy."
        ) from error
    return Recording.from_tracks(
        _split_animals(rows, facts.rate),
        kind="centerline",
        sampling_rate=facts.rate,
        attrs={"length_unit": facts.length_unit, "ventral_side": facts.ventral_side},
    )


def _split_animals(rows: _Rows, rate: float) -> list[Track]:
    worms, counts = np.unique(rows.worm, return_counts=True)
    stops = np.cumsum(counts)
    return [
        Track(
            individual=f"worm_{worm}",
            values=rows.points[first:stop],
            time=rows.frame[first:stop] / rate,
            centroid=rows.centroid[first:stop],
            body_length=median_length(rows.points[first:stop]),
        )
        for worm, first, stop in zip(worms, stops - counts, stops, strict=True)
    ]


def _median(values: FloatArray) -> float | None:
    known = values[np.isfinite(values)]
    return float(np.median(known)) if known.size else None


# --- rows ------------------------------------------------------------------------------------------------------------


def _read_rows(file: h5py.File, layout: _Layout, facts: _Facts) -> _Rows:
    table = _read_table(file, layout)
    kept = table[table[layout.worm] >= 0]
    kept = kept[np.lexsort((kept[layout.frame], kept[layout.worm]))]
    up = np.array([1.0, -1.0], dtype=np.float32)
    points = _read_points(file, layout, kept) * (up * np.float32(facts.scale))
    centroid = points.mean(axis=1)
    if facts.pixel_scale is not None and {"coord_x", "coord_y"} <= set(kept.dtype.names or ()):
        centroid = np.stack([kept["coord_x"], kept["coord_y"]], axis=1) * (up * facts.pixel_scale)
    return _Rows(
        worm=kept[layout.worm].astype(np.int64),
        frame=kept[layout.frame].astype(np.int64),
        points=points,
        centroid=centroid,
    )


def _read_table(file: h5py.File, layout: _Layout) -> np.ndarray:
    table = file[layout.table]
    names = set(table.dtype.names or ()) if isinstance(table, h5py.Dataset) else set()
    lacking = [name for name in (layout.worm, layout.frame, layout.skeleton) if name and name not in names]
    if lacking:
        raise InputFormatError(
            f"the table {layout.table} lacks {', '.join(lacking)}; Tierpsy's own columns are needed. Rerun Tierpsy, "
            "or give the *_featuresN.hdf5 file."
        )
    rows: np.ndarray = read_values(table)
    # The old table is matched to the skeletons by its row, which must survive the sorting.
    if layout.skeleton is None:
        rows = _with_row_number(rows, layout)
    return rows


def _with_row_number(rows: np.ndarray, layout: _Layout) -> np.ndarray:
    numbered = np.empty(rows.size, dtype=[(layout.worm, np.int64), (layout.frame, np.int64), ("row", np.int64)])
    numbered[layout.worm], numbered[layout.frame] = rows[layout.worm], rows[layout.frame]
    numbered["row"] = np.arange(rows.size)
    return numbered


def _read_points(file: h5py.File, layout: _Layout, rows: np.ndarray) -> FloatArray:
    """Give every row its skeleton, NaN where there is none."""
    stored = file[layout.points]
    if not isinstance(stored, h5py.Dataset):
        raise InputFormatError(f"{layout.points} is a group; an array (skeletons, points, 2) is needed. Rerun Tierpsy.")
    if stored.ndim != 3 or stored.shape[2] != 2 or stored.shape[1] < 2:
        raise InputFormatError(
            f"{layout.points} has shape {stored.shape}; (skeletons, points, 2) is needed. Rerun Tierpsy."
        )
    number = rows[layout.skeleton or "row"].astype(np.int64)
    if number.size and number.max() >= len(stored):
        raise InputFormatError(
            f"{layout.table} refers to skeleton {number.max()}, but {layout.points} holds {len(stored)}. The file is "
            "incomplete; copy it again or rerun Tierpsy."
        )
    skeletons = np.asarray(read_values(stored), dtype=np.float32)
    points = np.full((number.size, *skeletons.shape[1:]), np.nan, dtype=np.float32)
    good = (number >= 0) & _passed_filter(rows, layout)
    points[good] = skeletons[number[good]]
    return points


def _passed_filter(rows: np.ndarray, layout: _Layout) -> BoolArray:
    """Flag the raw skeletons that Tierpsy itself would use; smoothed ones have passed already."""
    passed = np.ones(rows.size, dtype=bool)
    if layout is SKELETONS:
        for column in ("has_skeleton", "is_good_skel"):
            # All zero means that this step of Tierpsy was not run, not that everything failed it.
            if column in (rows.dtype.names or ()) and (rows[column] > 0).any():
                passed &= rows[column] > 0
    return passed


# --- facts -----------------------------------------------------------------------------------------------------------


def _read_facts(file: h5py.File, layout: _Layout, options: ReadOptions) -> _Facts:
    attrs = file[layout.table].attrs
    microns = _number(attrs, "microns_per_pixel")
    in_pixels = _text(attrs.get("xy_units")).startswith("pixel")
    # Tierpsy writes 1 for a size that nobody gave.
    pixel = None if microns is None or microns == 1 or in_pixels else microns * MM_PER_MICRON
    scale = pixel if layout is SKELETONS else None if in_pixels else MM_PER_MICRON
    moving_stage = "stage_position_pix" in file or bool(_number(attrs, "is_WT2"))
    return _Facts(
        rate=_read_rate(file, attrs, options),
        scale=1.0 if scale is None else scale,
        length_unit="pixel" if scale is None else "mm",
        pixel_scale=None if moving_stage else 1.0 if scale is None else pixel,
        ventral_side=_read_ventral_side(file, attrs),
    )


def _read_rate(file: h5py.File, attrs: h5py.AttributeManager, options: ReadOptions) -> float:
    if options.sampling_rate is not None:
        return options.sampling_rate
    candidates = [_rate_of_times(file)]
    # In these units the rate is a placeholder of 1.
    if _text(attrs.get("time_units")) != "frames":
        candidates += [_number(attrs, "fps"), _number(attrs, "expected_fps")]
    rate = next((rate for rate in candidates if rate is not None), None)
    if rate is None:
        raise SamplingError(
            "The frame rate is unknown: the file holds neither valid time stamps nor fps. State it with "
            "sampling_rate= (or --rate on the command line)."
        )
    return rate


def _rate_of_times(file: h5py.File) -> float | None:
    if "timestamp/time" not in file:
        return None
    step = _median(np.diff(np.asarray(read_values(file["timestamp/time"]), dtype=float).ravel()))
    return 1.0 / step if step is not None and step > 0 else None


def _read_ventral_side(file: h5py.File, attrs: h5py.AttributeManager) -> str:
    """Read the ventral side from the notes of the experiment, which Tierpsy trusts first, or the attributes."""
    side = ""
    if "experiment_info" in file:
        try:
            side = str(json.loads(_text(read_values(file["experiment_info"])))["ventral_side"])
        except (ValueError, KeyError, TypeError, RecursionError):
            side = ""
    side = side or _text(attrs.get("ventral_side"))
    return side if side in VENTRAL_SIDES else "unknown"


def _number(attrs: h5py.AttributeManager, name: str) -> float | None:
    """Read a positive number; anything else counts as not given."""
    try:
        value = float(np.ravel(attrs[name])[0])
    except (KeyError, IndexError, TypeError, ValueError):
        return None
    return value if np.isfinite(value) and value > 0 else None


def _text(value: object) -> str:
    if isinstance(value, np.ndarray):
        value = value.tobytes() if value.dtype.kind in "Su" else ""
    return value.decode("utf-8", errors="replace").rstrip("\0") if isinstance(value, bytes) else str(value or "")
