"""Plain tables: CSV with named columns, NPZ and HDF5 with named arrays.

Columns of a CSV: optional ``individual``, ``time`` (s) or ``frame``, ``centroid_x`` and ``centroid_y``; then one
of ``a1 …`` (amplitudes), ``theta_0 …`` (angles), ``x_0, y_0 …`` (centerline) or ``nose_x, nose_y …`` (keypoints).
Arrays of an NPZ: one of ``amplitudes``, ``angles``, ``centerline``, ``positions``, and optional companions. Every
name must be understood, because a misspelt ``individual`` would otherwise join two animals without a word.
"""

import array
import csv
import io
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from ethomarkov._core.sampling import Sampling
from ethomarkov._core.types import FloatArray, IntArray
from ethomarkov.exceptions import InputFormatError, SamplingError
from ethomarkov.io.keypoints import position_recording, suggest
from ethomarkov.io.options import ReadOptions
from ethomarkov.io.probe import Probe
from ethomarkov.io.registry import reader, writer
from ethomarkov.recording import Recording, Track
from ethomarkov.recording.schema import FRAME_COUNT, KIND_DIMS, KIND_WORDS, Kind

COLUMN_SPELLINGS = (
    "a1, a2 … (amplitudes), theta_0, theta_1 … (angles), x_0, y_0, x_1, y_1 … (centerline, head first) or "
    "nose_x, nose_y … (keypoints); beside them individual, time (s) or frame, centroid_x and centroid_y"
)
ARRAY_SPELLINGS = (
    "amplitudes (or modes), angles (or theta), centerline (or points) or positions; beside them individual, time, "
    "sampling_rate (or fps), keypoints, centroid (or centroid_mm), body_length, length_unit"
)
COMPANION_COLUMNS = ("individual", "time", "frame", "centroid_x", "centroid_y")
ARRAY_KINDS: dict[str, Kind] = {
    "amplitudes": "amplitude",
    "modes": "amplitude",
    "angles": "angle",
    "theta": "angle",
    "centerline": "centerline",
    "points": "centerline",
    "positions": "position",
}
COMPANION_ARRAYS = (
    "individual", "time", "sampling_rate", "fps", "keypoints", "centroid", "centroid_mm", "body_length",
    "length_unit", "basis",
)  # fmt: skip
MISSING_WORDS = {"", "nan", "na"}
BASIS_COLUMNS = 20
NUMPY_SIGNATURE = b"\x93NUMPY"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of a table, before they are given to their animals.

    Parameters
    ----------
    kind
        What the values are.
    values
        One row per frame of one animal, shaped as the kind asks.
    individual
        Name of the animal of every row.
    time
        Seconds of every row, if known.
    centroid
        Measured position of every row, if known.
    names
        Names of keypoints; empty for other kinds.
    body_lengths
        One per animal in the order in which they first appear, if known.
    sampling_rate
        Frames per second, if stated.
    length_unit
        Unit of positions and lengths, if stated.
    """

    kind: Kind
    values: FloatArray
    individual: NDArray[Any]
    time: FloatArray | None = None
    centroid: FloatArray | None = None
    names: tuple[str, ...] = ()
    body_lengths: FloatArray | None = None
    sampling_rate: float | None = None
    length_unit: str = ""

    def to_recording(self, options: ReadOptions) -> Recording:
        """Give the rows to their animals and put them on a grid of times."""
        rate = self.sampling_rate if options.sampling_rate is None else options.sampling_rate
        attrs = {"length_unit": self.length_unit}
        tracks = list(self._tracks())
        if self.kind == "position":
            return position_recording(self.names, tracks, options, sampling_rate=rate, attrs=attrs)
        return Recording.from_tracks(tracks, kind=self.kind, sampling_rate=rate, attrs=attrs)

    def _tracks(self) -> Iterator[Track]:
        names, first, owner = np.unique(self.individual, return_index=True, return_inverse=True)
        lengths = self.body_lengths
        if lengths is not None and lengths.shape != names.shape:
            raise InputFormatError(
                f"body_length has shape {lengths.shape}, but there are {names.size} animals; one each is needed."
            )
        for place, i in enumerate(np.argsort(first)):
            rows = owner == i
            yield Track(
                individual=str(names[i]),
                values=self.values[rows],
                time=None if self.time is None else self.time[rows],
                centroid=None if self.centroid is None else self.centroid[rows],
                body_length=None if lengths is None or np.isnan(lengths[place]) else float(lengths[place]),
            )


# --- CSV ---------------------------------------------------------------------------------------------------


def _is_csv(probe: Probe) -> bool:
    is_deeplabcut = probe.text.lstrip('"').startswith("scorer")
    return probe.suffix in (".csv", ".tsv", ".txt") and bool(probe.text.strip()) and not is_deeplabcut


@reader(
    "csv", suffixes=(".csv", ".tsv"), describes="table with the columns a1 …, theta_0 …, x_0, y_0 …", recognise=_is_csv
)
def read_csv(path: Path, options: ReadOptions) -> Recording:
    """Read a table with named columns, separated by comma, semicolon or tab; empty or nan is missing."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            header, delimiter = _split_header(file.readline())
            columns = _sort_columns(header)
            individual, numbers = _parse_rows(csv.reader(file, delimiter=delimiter), header, columns.individual)
    except UnicodeDecodeError as error:
        raise InputFormatError(f"{path}: is not text in UTF-8 ({error.reason}). Export it again as UTF-8.") from error
    except csv.Error as error:
        raise InputFormatError(f"{path}: is not a table ({error}). Export it again as CSV.") from error
    if not len(numbers):
        raise InputFormatError(f"{path}: holds a header but no rows; at least two frames are needed.")
    names = np.array(individual) if individual else np.full(len(numbers), path.stem)
    return _csv_table(columns, names, numbers, options).to_recording(options)


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Which column of a table holds what; None where there is none.

    Parameters
    ----------
    kind
        What the posture columns are.
    posture
        Their places, in the order of modes, segments or points (x before y).
    names
        Names of keypoints; empty for other kinds.
    individual, time, frame
        Places of these columns.
    centroid
        Places of its x and y.
    """

    kind: Kind
    posture: tuple[int, ...]
    names: tuple[str, ...]
    individual: int | None
    time: int | None
    frame: int | None
    centroid: tuple[int, int] | None


def _split_header(line: str) -> tuple[list[str], str]:
    delimiter = max(",;\t", key=line.count)
    return [name.strip() for name in next(csv.reader([line], delimiter=delimiter), [])], delimiter


def _sort_columns(header: Sequence[str]) -> Columns:
    _check_header(header)
    place = {name.lower(): i for i, name in enumerate(header) if name.lower() in COMPANION_COLUMNS}
    found: dict[Kind, dict[str, int]] = {"amplitude": {}, "angle": {}, "position": {}}
    unknown = []
    for i, name in enumerate(header):
        kind, label = _posture_column(name)
        if kind is not None:
            found[kind][label] = i
        elif name.lower() not in place:
            unknown.append(name)
    if unknown:
        raise InputFormatError(
            f"Column {unknown[0]!r} is not understood.{_suggest_column(unknown[0])} Accepted are {COLUMN_SPELLINGS}. "
            "Rename or remove the column."
        )
    kind, posture, names = _sort_posture(found)
    return Columns(
        kind=kind,
        posture=posture,
        names=names,
        individual=place.get("individual"),
        time=place.get("time"),
        frame=place.get("frame"),
        centroid=_centroid_columns(place),
    )


def _check_header(header: Sequence[str]) -> None:
    if all(_is_number(name) for name in header):
        basis = (
            " It looks like a posture basis such as EigenWorms.csv: pass it with --basis (basis=)."
            if len(header) >= BASIS_COLUMNS
            else ""
        )
        raise InputFormatError(
            f"The first line holds {len(header)} numbers instead of column names.{basis} A recording needs a header: "
            f"{COLUMN_SPELLINGS}."
        )
    if "" in header:
        raise InputFormatError(
            f"Column {list(header).index('') + 1} has no name. Name it or leave it out (pandas: "
            "to_csv(…, index=False))."
        )
    lower = [name.lower() for name in header]
    twice = [name for name in header if lower.count(name.lower()) > 1]
    if twice:
        raise InputFormatError(f"Column {twice[0]!r} stands twice in the header; every column needs its own name.")


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _posture_column(name: str) -> tuple[Kind | None, str]:
    """Tell which kind of posture a column belongs to, and which number or coordinate of it."""
    if name.lower() in COMPANION_COLUMNS:
        return None, ""
    if match := re.fullmatch(r"a(\d+)", name, re.IGNORECASE):
        return "amplitude", str(int(match[1]))
    if match := re.fullmatch(r"theta_(\d+)", name, re.IGNORECASE):
        return "angle", str(int(match[1]))
    if match := re.fullmatch(r"(.+)_([xy])", name, re.IGNORECASE):
        return "position", f"{match[2].lower()}{match[1]}"
    if match := re.fullmatch(r"([xy])_(.+)", name, re.IGNORECASE):
        return "position", f"{match[1].lower()}{match[2]}"
    return None, ""


def _suggest_column(name: str) -> str:
    digits = re.search(r"\d+$", name)
    numbered = [f"{stem}{digits[0]}" for stem in ("theta_", "x_", "y_", "a")] if digits else []
    return suggest(name, [*COMPANION_COLUMNS, *numbered])


def _sort_posture(found: Mapping[Kind, Mapping[str, int]]) -> tuple[Kind, tuple[int, ...], tuple[str, ...]]:
    present = {kind: columns for kind, columns in found.items() if columns}
    if len(present) != 1:
        what = " and ".join(KIND_WORDS[kind] for kind in present) or "no posture"
        stray = [f"{name[1:]}_{name[0]}" for name in present.get("position", {})]
        hint = next((sentence for name in stray if (sentence := suggest(name, COMPANION_COLUMNS))), "")
        raise InputFormatError(f"The columns hold {what}; exactly one kind is needed.{hint} {COLUMN_SPELLINGS}.")
    kind, columns = next(iter(present.items()))
    if kind == "position":
        return _sort_points(columns)
    numbers = _consecutive(columns, "a" if kind == "amplitude" else "theta_")
    return kind, tuple(columns[number] for number in numbers), ()


def _sort_points(columns: Mapping[str, int]) -> tuple[Kind, tuple[int, ...], tuple[str, ...]]:
    names = list(dict.fromkeys(name[1:] for name in columns))
    for name in names:
        lonely = [axis for axis in "xy" if axis + name not in columns]
        if lonely:
            raise InputFormatError(f"Point {name!r} has no {lonely[0]} column; x and y of every point are needed.")
    numbered = [name for name in names if name.isdecimal()]
    if numbered and len(numbered) < len(names):
        named = next(name for name in names if not name.isdecimal())
        raise InputFormatError(
            f"Some points are numbered ({numbered[0]!r}) and some named ({named!r}): number all of them for a "
            "centerline from head to tail, or name all of them for keypoints."
        )
    if numbered:
        names = _consecutive(names, "x_")
    places = tuple(columns[axis + name] for name in names for axis in "xy")
    return ("centerline", places, ()) if numbered else ("position", places, tuple(names))


def _consecutive(labels: Mapping[str, int] | Sequence[str], stem: str) -> list[str]:
    """Sort numbered columns, which must count up from 0 or 1 without a hole."""
    ordered = sorted(labels, key=int)
    numbers = [int(label) for label in ordered]
    wanted = range(min(numbers[0], 1), min(numbers[0], 1) + len(numbers))
    if numbers != list(wanted):
        absent = next(number for number in wanted if number not in numbers)
        raise InputFormatError(
            f"Columns {stem}{numbers[0]} … {stem}{numbers[-1]} are not numbered without a hole: {stem}{absent} is "
            "missing. Number them from 0 or 1 upwards."
        )
    return ordered


def _centroid_columns(place: Mapping[str, int]) -> tuple[int, int] | None:
    if ("centroid_x" in place) != ("centroid_y" in place):
        raise InputFormatError("Only one of centroid_x and centroid_y is there; both or none are needed.")
    return (place["centroid_x"], place["centroid_y"]) if "centroid_x" in place else None


def _parse_rows(rows: Any, header: Sequence[str], who: int | None) -> tuple[list[str], FloatArray]:  # noqa: ANN401
    """Parse the cells; the column of names, if there is one, comes back apart and as NaN among the numbers."""
    numbers = array.array("d")
    names: list[str] = []
    for found in rows:
        if not found and len(header) > 1:
            continue
        cells = found or [""]  # in a table of one column a blank line is a missing number
        if len(cells) != len(header):
            raise InputFormatError(
                f"Line {rows.line_num + 1} has {len(cells)} cells, the header {len(header)}; the same number is needed."
            )
        if who is not None:
            names.append(cells[who])
            cells[who] = "nan"
        try:
            row = list(map(float, cells))
        except ValueError:
            row = [_parse_cell(cell, name, rows.line_num + 1) for cell, name in zip(cells, header, strict=True)]
        numbers.extend(row)
    return names, np.frombuffer(numbers, dtype=np.float64).reshape(-1, len(header))


def _parse_cell(cell: str, column: str, line: int) -> float:
    if cell.strip().lower() in MISSING_WORDS:
        return np.nan
    try:
        return float(cell)
    except ValueError as error:
        raise InputFormatError(
            f"Line {line}, column {column!r} holds {cell!r}, which is not a number. Write numbers with a decimal "
            "point, and leave the cell empty (or nan) where one is missing."
        ) from error


def _csv_table(columns: Columns, individual: NDArray[Any], numbers: FloatArray, options: ReadOptions) -> Table:
    nameless = np.sum(individual == "")
    if nameless:
        raise InputFormatError(f"{nameless} rows name no individual; every row needs one.")
    values = numbers[:, columns.posture]
    return Table(
        kind=columns.kind,
        values=values.reshape(len(values), -1, 2) if len(KIND_DIMS[columns.kind]) == 2 else values,
        individual=individual,
        time=_csv_time(columns, numbers, options),
        centroid=None if columns.centroid is None else numbers[:, columns.centroid],
        names=columns.names,
    )


def _csv_time(columns: Columns, numbers: FloatArray, options: ReadOptions) -> FloatArray | None:
    if columns.time is not None:
        return numbers[:, columns.time]
    if columns.frame is None:
        return None
    if options.sampling_rate is None:
        raise SamplingError(
            "Rows are counted in frames and the file holds no rate. State it with sampling_rate= (or --rate), or add "
            "a column time in seconds."
        )
    return np.asarray(numbers[:, columns.frame] / Sampling(options.sampling_rate).rate)


# --- NPZ and HDF5 ------------------------------------------------------------------------------------------


def _is_npz(probe: Probe) -> bool:
    if probe.head.startswith(NUMPY_SIGNATURE):
        return True
    return bool(probe.zip_names) and all(name.endswith(".npy") for name in probe.zip_names)


def _is_hdf5(probe: Probe) -> bool:
    return probe.suffix in (".h5", ".hdf5", ".mat") and bool(probe.hdf5_names & set(ARRAY_KINDS))


@reader("npz", suffixes=(".npz",), describes="arrays amplitudes, angles, centerline or positions", recognise=_is_npz)
def read_npz(path: Path, options: ReadOptions) -> Recording:
    """Read named arrays of numpy; pickled ones are refused."""
    probe = Probe(path)
    if probe.head.startswith(NUMPY_SIGNATURE):
        raise InputFormatError(
            f"{path}: is a single array without a name, so that amplitudes cannot be told from angles. Save it as "
            "np.savez(file, amplitudes=…, sampling_rate=…), with angles=, centerline= or positions= for others."
        )
    if not probe.zip_names:
        raise InputFormatError(f"{path}: is not an NPZ archive. Name its format, or save it with np.savez.")
    try:
        with np.load(path, allow_pickle=False) as stored:
            _check_array_names(stored.files)
            arrays = {name: np.asarray(stored[name]) for name in stored.files if name != "basis"}
    except (ValueError, EOFError, OSError, zipfile.BadZipFile, zlib.error) as error:
        if isinstance(error, InputFormatError):
            raise
        if "allow_pickle" in str(error):
            raise InputFormatError(
                f"{path}: holds an array of Python objects. Pickled arrays are never loaded, because they can run "
                "code; save plain arrays of numbers (and of text for names)."
            ) from error
        raise InputFormatError(f"{path}: cannot be read ({error}). Probably truncated; copy it again.") from error
    return _array_table(arrays, path.stem).to_recording(options)


@reader("hdf5", suffixes=(".h5", ".hdf5"), describes="HDF5 with arrays named as in the NPZ format", recognise=_is_hdf5)
def read_hdf5(path: Path, options: ReadOptions) -> Recording:
    """Read arrays at the root of an HDF5 file, named as those of an NPZ."""
    try:
        with h5py.File(path, "r") as file:
            _check_array_names(list(file))
            arrays = {name: _load_dataset(name, item) for name, item in file.items() if name != "basis"}
    except (OSError, RuntimeError) as error:
        raise InputFormatError(f"{path}: cannot be read ({error}). Probably truncated; copy it again.") from error
    return _array_table(arrays, path.stem).to_recording(options)


def _load_dataset(name: str, item: h5py.Dataset | h5py.Group) -> NDArray[Any]:
    if not isinstance(item, h5py.Dataset):
        raise InputFormatError(f"{name} is a group; an array is needed.")
    if h5py.check_string_dtype(item.dtype) is not None:
        return np.asarray(item.asstr()[()]).astype(str)
    values = np.asarray(item[()])
    return values.T if "MATLAB_class" in item.attrs else values  # MATLAB stores columns first


def _check_array_names(names: Sequence[str]) -> None:
    known = (*ARRAY_KINDS, *COMPANION_ARRAYS)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise InputFormatError(
            f"Array {unknown[0]!r} is not understood.{suggest(unknown[0], known)} Accepted are {ARRAY_SPELLINGS}. "
            "Rename it or leave it out."
        )
    found = [name for name in names if name in ARRAY_KINDS]
    if len(found) != 1:
        raise InputFormatError(
            f"Found {' and '.join(found) or 'no posture'} among the arrays {', '.join(names)}; exactly one is needed "
            f"of {ARRAY_SPELLINGS}."
        )


def _array_table(arrays: Mapping[str, NDArray[Any]], stem: str) -> Table:
    name = next(name for name in arrays if name in ARRAY_KINDS)
    kind = ARRAY_KINDS[name]
    values, centroid = _numbers(arrays, name), _numbers_of(arrays, "centroid", "centroid_mm")
    n_axes = len(KIND_DIMS[kind])
    stacked = values.ndim == n_axes + 2
    if not (stacked or values.ndim == n_axes + 1) or (n_axes == 2 and values.shape[-1] != 2):
        wanted = "(frames, points, 2)" if n_axes == 2 else "(frames, numbers)"
        raise InputFormatError(f"{name} has shape {values.shape}; {wanted}, or the same after (animals, …), is needed.")
    rows = values.shape[:2] if stacked else values.shape[:1]
    if centroid is not None and centroid.shape != (*rows, 2):
        raise InputFormatError(f"centroid has shape {centroid.shape}, {name} {values.shape}; {(*rows, 2)} is needed.")
    names = _text(arrays, "keypoints", (values.shape[-2],), "point_{}") if kind == "position" else None
    length = _numbers_of(arrays, "body_length")
    unit = "mm" if "centroid_mm" in arrays else ""
    return Table(
        kind=kind,
        values=values.reshape(-1, *values.shape[-n_axes:]),
        individual=_owners(arrays, rows, stem),
        time=_times(arrays, rows),
        centroid=None if centroid is None else centroid.reshape(-1, 2),
        names=() if names is None else tuple(names.tolist()),
        body_lengths=None if length is None else length.reshape(-1),
        sampling_rate=_stated_rate(arrays),
        length_unit=str(arrays.get("length_unit", unit)),
    )


def _numbers(arrays: Mapping[str, NDArray[Any]], name: str) -> FloatArray:
    if arrays[name].dtype.kind not in "fiu":
        raise InputFormatError(f"{name} holds {arrays[name].dtype}; real numbers are needed.")
    return arrays[name].astype(np.float64, copy=False)


def _numbers_of(arrays: Mapping[str, NDArray[Any]], *names: str) -> FloatArray | None:
    """Load the one of several spellings that is there."""
    found = [name for name in names if name in arrays]
    if len(found) > 1:
        raise InputFormatError(f"Both {' and '.join(found)} are given, which say the same; keep one of them.")
    return _numbers(arrays, found[0]) if found else None


def _text(arrays: Mapping[str, NDArray[Any]], name: str, shape: tuple[int, ...], default: str) -> NDArray[Any]:
    if name not in arrays:
        return np.array([default.format(i + 1) for i in range(shape[0])])
    if arrays[name].shape != shape:
        raise InputFormatError(f"{name} has shape {arrays[name].shape}; {shape} is needed, one name each.")
    return np.char.decode(arrays[name], "utf-8") if arrays[name].dtype.kind == "S" else arrays[name].astype(str)


def _owners(arrays: Mapping[str, NDArray[Any]], rows: tuple[int, ...], stem: str) -> NDArray[Any]:
    """Name the animal of every row."""
    if len(rows) == 2:
        names = _text(arrays, "individual", rows[:1], "animal_{}")
        if np.unique(names).size < names.size:
            raise InputFormatError(f"Two of the {names.size} animals have the same name; give each its own.")
        return np.repeat(names, rows[1])
    if "individual" in arrays and arrays["individual"].size == 1:
        return np.full(rows, str(arrays["individual"].item()))
    return _text(arrays, "individual", rows, "") if "individual" in arrays else np.full(rows, stem)


def _times(arrays: Mapping[str, NDArray[Any]], rows: tuple[int, ...]) -> FloatArray | None:
    if "time" not in arrays:
        return None
    time = _numbers(arrays, "time")
    if time.shape not in (rows, rows[-1:]):
        raise InputFormatError(f"time has shape {time.shape}; {rows[-1:]} is needed, one per frame, in seconds.")
    return np.broadcast_to(time, rows).reshape(-1)


def _stated_rate(arrays: Mapping[str, NDArray[Any]]) -> float | None:
    rate = _numbers_of(arrays, "sampling_rate", "fps")
    if rate is not None and rate.size != 1:
        raise InputFormatError(f"The sampling rate has shape {rate.shape}; a single number is needed.")
    return None if rate is None else float(rate.item())


# --- writing -----------------------------------------------------------------------------------------------


@writer(".npz")
def write_npz(recording: Recording, path: Path) -> None:
    """Write a recording as named arrays, readable with plain numpy."""
    dataset = recording.dataset
    arrays: dict[str, Any] = {
        next(name for name, kind in ARRAY_KINDS.items() if kind == recording.kind): recording.values,
        "individual": _row_names(recording),
        "time": recording.time,
        "sampling_rate": recording.sampling.rate,
        "length_unit": str(dataset.attrs.get("length_unit", "")),
    }
    if recording.kind == "position":
        arrays["keypoints"] = dataset["keypoint"].values.astype(str)
    if recording.centroid is not None:
        arrays["centroid"] = recording.centroid
    if recording.body_lengths:
        arrays["body_length"] = dataset["body_length"].values
    np.savez_compressed(path, **arrays)


@writer(".csv")
def write_csv(recording: Recording, path: Path) -> None:
    """Write a recording as a table with named columns; missing numbers are nan."""
    names = _column_names(recording)
    blocks = [recording.values.reshape(len(recording.values), -1)]
    if recording.centroid is not None:
        blocks.append(recording.centroid)
        names += ["centroid_x", "centroid_y"]
    numbers = np.column_stack([recording.time, *blocks])
    line = ",".join(["%s", "%.12g", *["%.7g"] * (numbers.shape[1] - 1)]) + "\n"
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(_header_line(["individual", "time", *names]))
        for individual, first, stop in _animal_rows(recording):
            name = '"' + individual.replace('"', '""') + '"' if re.search(r'[",\r\n]', individual) else individual
            file.writelines(line % (name, *row) for row in numbers[first:stop].tolist())


def _column_names(recording: Recording) -> list[str]:
    n_features = recording.values.shape[1]
    if recording.kind == "amplitude":
        return [f"a{i + 1}" for i in range(n_features)]
    if recording.kind == "angle":
        return [f"theta_{i}" for i in range(n_features)]
    if recording.kind == "centerline":
        return [f"{axis}_{i}" for i in range(n_features) for axis in "xy"]
    keypoints = tuple(str(name) for name in recording.dataset["keypoint"].values)
    columns = [f"{name}_{axis}" for name in keypoints for axis in "xy"]
    _check_keypoint_columns(columns, keypoints)
    return columns


def _header_line(columns: Sequence[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(columns)
    return line.getvalue()


def _check_keypoint_columns(columns: Sequence[str], keypoints: tuple[str, ...]) -> None:
    """Refuse names that would be read back as something else, such as numbers."""
    try:
        understood = _sort_columns(_split_header(_header_line(columns))[0]).names == keypoints
    except (InputFormatError, csv.Error):
        understood = False
    if not understood:
        raise InputFormatError(
            f"The keypoints {', '.join(map(repr, keypoints[:5]))} cannot be told apart as columns of a CSV; "
            "write .npz or .nc, or give them names that are not numbers."
        )


def _animal_rows(recording: Recording) -> Iterator[tuple[str, int, int]]:
    offsets: IntArray = recording.segments.offsets
    for name, first, stop in zip(recording.individuals, offsets[:-1], offsets[1:], strict=True):
        yield name, int(first), int(stop)


def _row_names(recording: Recording) -> NDArray[Any]:
    return np.repeat(np.array(recording.individuals), recording.dataset[FRAME_COUNT].values)
