"""WCON files (Worm tracker Commons Object Notation): spines of worms as JSON, plain or zipped."""

import json
import lzma
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethomarkov import __version__
from ethomarkov._core.types import BoolArray, FloatArray
from ethomarkov.exceptions import InputFormatError
from ethomarkov.io.limits import FREE_BYTES, MEGABYTE
from ethomarkov.io.options import ReadOptions
from ethomarkov.io.probe import HEAD_BYTES, Probe
from ethomarkov.io.readers.units import parse_unit
from ethomarkov.io.registry import reader, writer
from ethomarkov.recording import Recording, Track
from ethomarkov.recording.tracks import median_length, restate_rate

TEXT_BYTES_PER_BYTE = 100
"""Text packs well: a member may unpack to this many bytes per byte of its archive, beyond the free ones."""
ZIP_SIGNATURE = b"PK"
NUMBERS = {int, float, type(None)}
NO_LIST = -1
VENTRAL_SIDES = {"CW": "clockwise", "CCW": "anticlockwise", "?": "unknown"}
OPPOSITE = {"CW": "CCW", "CCW": "CW", "?": "?"}

_DIMENSION = {"t": "time", "x": "length", "y": "length", "ox": "length", "oy": "length", "cx": "length", "cy": "length"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    """One record of a file: some frames of one animal, in seconds and millimetres, head first."""

    individual: str
    time: FloatArray
    spines: list[FloatArray]
    centroid: FloatArray | None
    ventral: frozenset[str]
    head_known: bool


# --- recognising -----------------------------------------------------------------------------------------------------


def _is_wcon(probe: Probe) -> bool:
    if probe.zip_names:
        return bool(_wcon_members(probe.zip_names, (".wcon", ".json") if probe.suffix == ".zip" else (".wcon",)))
    if probe.suffix == ".wcon":
        return True
    if not probe.text.lstrip().startswith("{"):
        return False
    # The units may follow the data, which can be long; so look at both ends.
    ends = probe.text + _read_end(probe.path)
    keys = {key for key in ("units", "data", "id", "t", "x", "y") if f'"{key}"' in ends}
    return {"units", "data"} <= keys or {"units", "id", "t", "x", "y"} <= keys


def _read_end(path: Path) -> str:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - HEAD_BYTES))
        return file.read().decode("utf-8", errors="ignore")


def _wcon_members(names: Sequence[str], endings: tuple[str, ...] = (".wcon", ".json")) -> list[str]:
    # macOS adds a shadow of every member under __MACOSX.
    return [name for name in names if name.lower().endswith(endings) and not name.startswith("__MACOSX")]


# --- reading ---------------------------------------------------------------------------------------------------------


@reader(
    "wcon",
    suffixes=(".wcon", ".json", ".wcon.zip"),
    describes="spines from a worm tracker (Worm tracker Commons Object Notation)",
    recognise=_is_wcon,
)
def read_wcon(path: Path, options: ReadOptions) -> Recording:
    """Read the spines of a WCON file and of the chunk files that belong to it.

    Times become seconds and lengths millimetres. Spines whose number of points differs from the most frequent one
    are resampled along their length. Points are turned to begin at the head where the file says that they end
    there; ``ventral_side`` is then as seen from the head. Where no centroid is recorded, it is the mean of the
    points. A stated sampling rate replaces the file's own, frame by frame.
    """
    chunks = _load_chunks(path)
    pieces = [piece for chunk, document in chunks.items() for piece in _read_document(document, str(chunk))]
    pieces = [piece for piece in pieces if piece.time.size]
    n_points = _common_count(pieces)
    individuals = dict.fromkeys(piece.individual for piece in pieces)
    tracks = [_join([piece for piece in pieces if piece.individual == name], n_points) for name in individuals]
    attrs = {
        "length_unit": "mm",
        "ventral_side": _ventral_side(pieces),
        "head_first": "true" if all(piece.head_known for piece in pieces) else "unknown",
    }
    if len(chunks) > 1:
        attrs["source_chunks"] = ", ".join(chunk.name for chunk in chunks)
    if options.sampling_rate is not None:
        tracks = restate_rate(tracks, options.sampling_rate)
    return Recording.from_tracks(tracks, kind="centerline", sampling_rate=options.sampling_rate, attrs=attrs)


def _ventral_side(pieces: Sequence[_Piece]) -> str:
    known = {side for piece in pieces for side in piece.ventral} - {"?"}
    return VENTRAL_SIDES[known.pop()] if len(known) == 1 else "mixed" if known else "unknown"


# --- files, archives and chunks --------------------------------------------------------------------------------------


def _load_chunks(path: Path) -> dict[Path, object]:
    """Load a file and every chunk beside it that it leads to, in the order of their names."""
    found: dict[Path, object] = {}
    waiting = [path]
    while waiting:
        chunk = waiting.pop()
        if chunk not in found:
            found[chunk] = _parse_json(_read_bytes(chunk), chunk)
            waiting.extend(_neighbours(found[chunk], chunk))
    return dict(sorted(found.items()))


def _parse_json(content: bytes, path: Path) -> object:
    try:
        document: object = json.loads(content, parse_constant=_refuse_constant, object_pairs_hook=_unique_keys)
    except json.JSONDecodeError as error:
        raise InputFormatError(
            f"{path}: is not valid JSON at line {error.lineno}, column {error.colno} ({error.msg}). It is probably "
            "truncated or edited by hand; copy or export it again."
        ) from error
    except RecursionError as error:
        raise InputFormatError(
            f"{path}: is JSON with lists in lists beyond all depth, which no tracker writes. Export it again."
        ) from error
    except ValueError as error:
        raise InputFormatError(f"{path}: is not valid JSON ({error}). Export it again as UTF-8 text.") from error
    return document


def _refuse_constant(word: str) -> None:
    raise ValueError(f"it holds {word}; JSON has null for what is missing and no infinite numbers")


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for key, n in Counter(key for key, _ in pairs).items() if n > 1)
        raise ValueError(f"the key {twice!r} stands twice in one object")
    return found


def _read_bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        if file.read(len(ZIP_SIGNATURE)) != ZIP_SIGNATURE:
            file.seek(0)
            return file.read()
    try:
        return _read_member(path)
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, OSError, lzma.LZMAError) as error:
        raise InputFormatError(
            f"{path}: the zip archive cannot be read ({error}). It is truncated, encrypted or packed in an unusual "
            "way; copy it again or unpack it first."
        ) from error


def _read_member(path: Path) -> bytes:
    """Read the one WCON member of an archive in memory; nothing is extracted."""
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        unsafe = next((name for name in names if _leaves_folder(name)), None)
        if unsafe is not None:
            raise InputFormatError(
                f"{path}: the archive holds {unsafe!r}, a path that leaves its folder; it was not opened. "
                "Ask for the plain .wcon file."
            )
        members = _wcon_members(names)
        if len(members) != 1:
            raise InputFormatError(
                f"{path}: the archive holds {len(members)} .wcon or .json files; exactly one is needed. "
                "Unpack it and name the files to read."
            )
        size, allowed = archive.getinfo(members[0]).file_size, FREE_BYTES + TEXT_BYTES_PER_BYTE * path.stat().st_size
        if size > allowed:
            raise InputFormatError(
                f"{path}: {members[0]!r} would unpack to {size / MEGABYTE:,.0f} MB; at most "
                f"{allowed / MEGABYTE:,.0f} MB are read from an archive of this size. Unpack it first if you trust it."
            )
        return archive.read(members[0])


def _leaves_folder(name: str) -> bool:
    posix = PurePosixPath(name.replace("\\", "/"))
    return posix.is_absolute() or ".." in posix.parts or bool(PureWindowsPath(name).drive)


def _neighbours(document: object, path: Path) -> list[Path]:
    """Find the names of the previous and next chunks: the variable part of this file's name, replaced."""
    links = document.get("files") if isinstance(document, dict) else None
    if not isinstance(links, dict):
        return []
    others = [part for key in ("prev", "next") for part in _as_list(links.get(key)) if isinstance(part, str)]
    for part in others:
        if part == ".." or re.search(r"[/\\:\0]", part):
            raise InputFormatError(
                f"{path}: names the chunk {part!r}; chunks are files in the same folder, so only a part of a file "
                "name is accepted. Correct 'files', or remove it."
            )
    this = links.get("this", links.get("current"))
    if not isinstance(this, str) or not this or this not in path.name:
        return []
    before, _, after = path.name.rpartition(this)
    chunks = [path.with_name(before + part + after) for part in others]
    absent = next((chunk for chunk in chunks if not chunk.is_file()), None)
    if absent is not None:
        raise InputFormatError(
            f"{path}: belongs to a recording in several files, of which {absent.name} is not beside it. Copy it there, "
            "or remove 'files' to read this part alone."
        )
    return chunks


def _as_list(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


# --- documents and records -------------------------------------------------------------------------------------------


def _read_document(document: object, where: str) -> list[_Piece]:
    if not isinstance(document, dict):
        raise InputFormatError(f"{where}: a WCON file is a JSON object with 'units' and 'data'; found another value.")
    lacking = [key for key in ("units", "data") if document.get(key) is None]
    if lacking:
        raise InputFormatError(
            f"{where}: lacks {' and '.join(map(repr, lacking))}; a WCON file needs 'units' and 'data'. "
            "Export it again, or add them."
        )
    scale = _read_units(document["units"], where)
    return [
        _read_record(record, scale, f"{where}: data[{index}]")
        for index, record in enumerate(_as_list(document["data"]))
    ]


def _read_units(units: object, where: str) -> dict[str, float]:
    """Give the size of every unit used here; origin and centroid default to the unit of the points."""
    stated = dict(units) if isinstance(units, dict) else {}
    lacking = [key for key in ("t", "x", "y") if key not in stated]
    if lacking:
        raise InputFormatError(
            f"{where}: 'units' lacks {', '.join(lacking)}; the units of t, x and y are needed. Add them, for "
            'example {"t": "s", "x": "mm", "y": "mm"}.'
        )
    return {
        key: parse_unit(stated.get(key, stated[key[-1]]), dimension, f"{where}: units.{key}")
        for key, dimension in _DIMENSION.items()
    }


def _read_record(record: object, scale: Mapping[str, float], where: str) -> _Piece:
    fields = record if isinstance(record, dict) else {}
    lacking = [key for key in ("id", "t", "x", "y") if fields.get(key) is None]
    if lacking:
        raise InputFormatError(f"{where} lacks {', '.join(lacking)}; every record needs id, t, x and y. Add them.")
    if type(fields["id"]) not in (str, int, float):
        raise InputFormatError(f"{where}.id is no name; text or a number is needed. Correct it.")
    if not isinstance(fields["t"], list):
        fields = fields | {key: [fields[key]] for key in ("t", "x", "y")}
    time = _numbers(fields["t"], f"{where}.t") * scale["t"]
    spines = _read_spines(fields, time.size, scale, where)
    origin = _read_pair(fields, "o", time.size, scale, where)
    centroid = _read_pair(fields, "c", time.size, scale, where)
    if origin is not None:
        spines = [spine + at for spine, at in zip(spines, origin, strict=True)]
        centroid = None if centroid is None else centroid + origin
    heads = _read_labels(fields, "head", ("L", "R", "?"), time.size, where)
    sides = _read_labels(fields, "ventral", ("CW", "CCW", "?"), time.size, where)
    # The side is told from the first point, be it head or tail.
    turned = frozenset(
        OPPOSITE[side or "?"] if head == "R" else side or "?" for head, side in zip(heads, sides, strict=True)
    )
    return _Piece(
        individual=str(fields["id"]),
        time=time,
        spines=[spine[::-1] if head == "R" else spine for spine, head in zip(spines, heads, strict=True)],
        centroid=centroid,
        ventral=turned,
        head_known="?" not in heads,
    )


def _numbers(value: object, where: str) -> FloatArray:
    """Convert a JSON array to numbers; null becomes NaN."""
    cells = np.array(value, dtype=object)
    if cells.ndim != 1:
        raise InputFormatError(f"{where} is nested {cells.ndim} deep; one list of numbers is needed there.")
    found = _to_floats(cells)
    if found is None:
        odd = [one for one in cells if type(one) not in NUMBERS] or [max(cells, key=_magnitude)]
        raise InputFormatError(f"{where} holds something else than numbers and null: {_excerpt(odd[0])}. Correct it.")
    return found


def _to_floats(cells: NDArray[Any]) -> FloatArray | None:
    """Convert cells that are numbers or null; None if any is something else, or beyond the range of numbers.

    Text is not a number, even where it looks like one.
    """
    if not set(map(type, cells.ravel())) <= NUMBERS:
        return None
    try:
        numbers: FloatArray = cells.astype(float)
    except OverflowError:
        return None
    return None if np.isinf(numbers).any() else numbers


def _magnitude(number: float | None) -> float:
    return 0 if number is None else abs(number)


def _excerpt(value: object) -> str:
    text = json.dumps(value) if isinstance(value, str | float | bool) else type(value).__name__
    return text if len(text) <= 40 else text[:40] + "…"


def _read_spines(
    fields: Mapping[str, object], n_frames: int, scale: Mapping[str, float], where: str
) -> list[FloatArray]:
    x, y = (_read_rows(fields[key], n_frames, f"{where}.{key}") for key in ("x", "y"))
    odd = next((i for i, (one, other) in enumerate(zip(x, y, strict=True)) if one.size != other.size), None)
    if odd is not None:
        raise InputFormatError(
            f"{where} has {x[odd].size} x and {y[odd].size} y in frame {odd}; every point needs both. Correct it."
        )
    size = np.array([scale["x"], scale["y"]])
    return [np.stack(pair, axis=1) * size for pair in zip(x, y, strict=True)]


def _read_rows(value: object, n_frames: int, where: str) -> list[FloatArray]:
    """Read one list of numbers per frame; a frame that is null has none, one that is a number has one."""
    if not isinstance(value, list) or len(value) != n_frames:
        found = f"{len(value)} entries" if isinstance(value, list) else "a single value"
        raise InputFormatError(f"{where} has {found} for {n_frames} times; one list of points per time is needed.")
    cells = _as_block(value)
    block = None if cells is None else _to_floats(cells)
    if block is not None:
        return list(block)
    return [_numbers([] if row is None else _as_list(row), f"{where}[{index}]") for index, row in enumerate(value)]


def _as_block(rows: list[object]) -> NDArray[Any] | None:
    """Lay lists of one length out as a table; None when they are no such lists."""
    lengths = {len(row) if isinstance(row, list) else NO_LIST for row in rows}
    if len(lengths) != 1 or NO_LIST in lengths:
        return None
    cells = np.array(rows, dtype=object)
    return cells if cells.ndim == 2 else None


def _read_pair(
    fields: Mapping[str, object], letter: str, n_frames: int, scale: Mapping[str, float], where: str
) -> FloatArray | None:
    """Read ``ox, oy`` or ``cx, cy``, one value for all frames or one for each."""
    keys = (f"{letter}x", f"{letter}y")
    stated = [key for key in keys if fields.get(key) is not None]
    if not stated:
        return None
    if len(stated) == 1:
        raise InputFormatError(f"{where} has {stated[0]} alone; {' and '.join(keys)} are needed together. Add it.")
    columns = [_numbers(_as_list(fields[key]), f"{where}.{key}") * scale[key] for key in keys]
    for key, column in zip(keys, columns, strict=True):
        if column.size not in (1, n_frames):
            raise InputFormatError(
                f"{where}.{key} has {column.size} values for {n_frames} times; one, or one per time, is needed."
            )
    return np.stack([np.broadcast_to(column, n_frames) for column in columns], axis=1)


def _read_labels(
    fields: Mapping[str, object], key: str, allowed: tuple[str, ...], n_frames: int, where: str
) -> list[str]:
    """Read one label per frame; empty where the file says nothing, "?" where it says that it does not know."""
    value = fields.get(key, "")
    labels = ["?" if one is None else one if isinstance(one, str) else _excerpt(one) for one in _as_list(value)]
    labels = labels if isinstance(value, list) else labels * n_frames
    wrong = next((label for label in labels if label not in ("", *allowed)), None)
    if wrong is not None or len(labels) != n_frames:
        found = f"{len(labels)} values" if wrong is None else repr(wrong)
        raise InputFormatError(
            f"{where}.{key} holds {found}; {', '.join(allowed)} is needed, once or for each of {n_frames} times."
        )
    return labels


# --- from spines of any length to arrays -----------------------------------------------------------------------------


def _common_count(pieces: Sequence[_Piece]) -> int:
    """Find the most frequent number of points of a complete spine; the larger where two are as frequent."""
    spines = [spine for piece in pieces for spine in piece.spines]
    complete = [len(spine) for spine in spines if len(spine) and np.isfinite(spine).all()]
    counts = Counter(count for count in complete if count > 1)
    if not counts and 1 in complete:
        raise InputFormatError(
            "x and y are single positions (centroids), so there is no posture in the file. "
            "Spines with at least two points per frame are needed; export them from the tracker."
        )
    if not counts and pieces:
        raise InputFormatError(
            f"None of {len(spines)} frames holds a complete spine. Check how the tracker exports missing frames."
        )
    return max(counts, key=lambda count: (counts[count], count), default=0)


def _join(pieces: Sequence[_Piece], n_points: int) -> Track:
    """Join the records of one animal in the order of time."""
    time = np.concatenate([piece.time for piece in pieces])
    order = np.argsort(time, kind="stable")
    parts = [np.array([_resample(spine, n_points) for spine in piece.spines]) for piece in pieces]
    parts = [part.reshape(-1, n_points, 2) for part in parts]
    centroids = [
        part.mean(axis=1) if piece.centroid is None else piece.centroid
        for piece, part in zip(pieces, parts, strict=True)
    ]
    values = np.concatenate(parts)[order]
    return Track(
        individual=pieces[0].individual,
        values=values,
        time=time[order],
        centroid=np.concatenate(centroids)[order],
        body_length=median_length(values),
    )


def _resample(spine: FloatArray, n_points: int) -> FloatArray:
    """Bring a spine to a number of points, evenly along its length; an incomplete one becomes missing."""
    if len(spine) == n_points:
        return spine
    if len(spine) < 2 or not np.isfinite(spine).all():
        return np.full((n_points, 2), np.nan)
    along = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(spine, axis=0).T))])
    even = np.linspace(0.0, along[-1], n_points)
    return np.stack([np.interp(even, along, column) for column in spine.T], axis=1)


# --- writing ---------------------------------------------------------------------------------------------------------


@writer(".wcon")
def write_wcon(recording: Recording, path: Path) -> None:
    """Write centerlines, or tangent angles drawn as centerlines, as WCON; zipped when the name ends with .zip.

    Missing points are null. Lengths are kept to a nanometre, times to a nanosecond. Angles are drawn with steps of
    equal length from head to tail, about the recorded centroid or, where there is none, about the origin.
    """
    unit, decimals = _length_unit(recording)
    points = _as_centerlines(recording)
    keys = ("x", "y") if recording.centroid is None else ("x", "y", "cx", "cy")
    document = {
        "units": {"t": "s"} | dict.fromkeys(keys, unit),
        "metadata": {"software": {"name": "ethomarkov", "version": __version__}},
        "data": _write_records(recording, points, decimals),
    }
    text = json.dumps(document, allow_nan=False, separators=(",", ":"))
    if path.suffix.lower() == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("recording.wcon", text)
    else:
        path.write_text(text, encoding="utf-8")


def _length_unit(recording: Recording) -> tuple[str, int]:
    """Give the unit in WCON's spelling and the decimals that keep a nanometre."""
    if recording.kind not in ("centerline", "angle"):
        raise InputFormatError(
            f"WCON holds spines, but the recording holds {recording.kind}s. Project them back to angles with a basis "
            "first, read keypoints with as_centerline=True, or write the recording as .nc."
        )
    unit = str(recording.dataset.attrs.get("length_unit", ""))
    try:
        size = parse_unit(unit, "length", "length_unit")
    except InputFormatError as error:
        raise InputFormatError(
            f"WCON needs lengths in a unit such as mm, but length_unit is {unit!r}. Multiply the lengths by the size "
            "of a pixel and set the attribute length_unit, or write the recording as .nc."
        ) from error
    return re.sub("[\u00b5\u03bc]", "u", unit), max(0, 6 + round(float(np.log10(size))))


def _as_centerlines(recording: Recording) -> FloatArray:
    if recording.kind == "centerline":
        return recording.values
    lengths = recording.body_lengths
    unknown = [name for name in recording.individuals if name not in lengths]
    if unknown:
        raise InputFormatError(
            f"The body length of {', '.join(unknown)} is unknown, so the angles cannot be drawn in millimetres. "
            "Add body_length to the recording, or write it as .nc."
        )
    of_frame = np.repeat([lengths[name] for name in recording.individuals], np.diff(recording.segments.offsets))
    points = _draw_angles(recording.values, of_frame)
    centroid = recording.centroid
    if centroid is not None:
        known: BoolArray = np.asarray(np.isfinite(centroid).all(axis=1))
        points[known] += centroid[known, None]
    return points


def _draw_angles(angles: FloatArray, body_length: FloatArray) -> FloatArray:
    """Lay steps of equal length along the tangent angles and centre the mean of the points on the origin."""
    step = (body_length / angles.shape[1])[:, None, None]
    steps = step * np.stack([np.cos(angles), np.sin(angles)], axis=2)
    points = np.concatenate([np.zeros((len(angles), 1, 2)), np.cumsum(steps, axis=1)], axis=1)
    centred: FloatArray = points - points.mean(axis=1, keepdims=True)
    return centred


def _write_records(recording: Recording, points: FloatArray, decimals: int) -> list[dict[str, object]]:
    attrs, offsets = recording.dataset.attrs, recording.segments.offsets
    labels = {
        "head": "L" if attrs.get("head_first") == "true" else "?",
        "ventral": {side: key for key, side in VENTRAL_SIDES.items()}.get(attrs.get("ventral_side", ""), "?"),
    }
    columns = {"t": _nullable(recording.time, 9), "x": _nullable(points[..., 0], decimals)}
    columns["y"] = _nullable(points[..., 1], decimals)
    if recording.centroid is not None:
        columns["cx"], columns["cy"] = (_nullable(column, decimals) for column in recording.centroid.T)
    return [
        {"id": name, **labels, **{key: column[first:stop] for key, column in columns.items()}}
        for name, first, stop in zip(recording.individuals, offsets[:-1], offsets[1:], strict=True)
    ]


def _nullable(values: FloatArray, decimals: int) -> list[object]:
    """Convert to lists for JSON, which has no NaN."""
    rounded = np.round(values.astype(float), decimals)
    cells = rounded.astype(object)
    cells[~np.isfinite(rounded)] = None
    rows: list[object] = cells.tolist()
    return rows
