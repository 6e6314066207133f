"""Plain tables: CSV with named columns, separated by comma, semicolon or tab; see `csv_header` for the names."""

import array
import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ethomarkov._core.sampling import Sampling
from ethomarkov._core.types import FloatArray, IntArray
from ethomarkov.exceptions import InputFormatError, SamplingError
from ethomarkov.io.limits import MEGABYTE
from ethomarkov.io.options import ReadOptions
from ethomarkov.io.probe import Probe
from ethomarkov.io.readers.csv_header import COLUMN_SPELLINGS, Columns, is_number, sort_columns, split_header
from ethomarkov.io.readers.table import Table
from ethomarkov.io.registry import reader, writer
from ethomarkov.io.spreadsheet import escape, plain
from ethomarkov.recording import Recording
from ethomarkov.recording.recording import column_names
from ethomarkov.recording.schema import KIND_DIMS

MISSING_WORDS = {"", "nan", "na"}
LARGEST_BASIS = 4 * MEGABYTE


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
            header, delimiter = split_header(file.readline())
            if all(is_number(name) for name in header):
                raise InputFormatError(_without_header(path, len(header)))
            columns = sort_columns(header)
            rows = _Rows(header=header, who=columns.individual)
            rows.parse(csv.reader(file, delimiter=delimiter))
    except UnicodeDecodeError as error:
        raise InputFormatError(f"{path}: is not text in UTF-8 ({error.reason}). Export it again as UTF-8.") from error
    except csv.Error as error:
        raise InputFormatError(f"{path}: is not a table ({error}). Export it again as CSV.") from error
    if not rows.numbers:
        raise InputFormatError(f"{path}: holds a header but no rows; at least two frames are needed.")
    return _table(columns, rows, path.stem, options).to_recording(options)


def _without_header(path: Path, n_columns: int) -> str:
    """Say what a table of nothing but numbers may be."""
    from ethomarkov.io.readers.stephens import read_eigenworms

    found = f"{path}: has no header; its first line holds {n_columns} numbers instead of column names."
    try:
        if path.stat().st_size <= LARGEST_BASIS:
            modes = read_eigenworms(path).shape[1]
            return f"{found} They are {modes} orthonormal shapes, a posture basis: pass it with --basis (basis=)."
    except InputFormatError:
        pass  # then it is none
    return (
        f"{found} If they are a recording, write a line of names above them: {COLUMN_SPELLINGS}. If they are shapes to "
        "project on, as in EigenWorms.csv, make them orthonormal and pass them with --basis (basis=)."
    )


@dataclass(slots=True, kw_only=True)
class _Rows:
    """Cells as numbers, while they are read.

    Parameters
    ----------
    header
        Names of the columns.
    who
        Column of the names of animals, if there is one; NaN among the numbers.
    numbers
        Row after row.
    owner
        Number of the animal of every row.
    animals
        Numbers of the animals by name.
    """

    header: Sequence[str]
    who: int | None
    numbers: "array.array[float]" = field(default_factory=lambda: array.array("d"))
    owner: "array.array[int]" = field(default_factory=lambda: array.array("q"))
    animals: dict[str, int] = field(default_factory=dict)

    def parse(self, lines: Any) -> None:  # noqa: ANN401 (a reader of the module csv)
        """Take all rows of a reader that stands behind the header."""
        n_columns, who = len(self.header), self.who
        for cells in lines:
            if not cells:
                if n_columns == 1:
                    self.numbers.append(np.nan)  # in a table of one column a blank line is a missing number
                continue
            if len(cells) != n_columns:
                raise InputFormatError(
                    f"Line {lines.line_num + 1} has {len(cells)} cells, the header {n_columns}; the same number is "
                    "needed."
                )
            if who is not None:
                self.owner.append(self.animals.setdefault(plain(cells[who]), len(self.animals)))
                cells[who] = "nan"
            self.numbers.extend(self._parse_row(cells, lines.line_num + 1))

    def _parse_row(self, cells: list[str], line: int) -> list[float]:
        """Parse the cells, the quick way as long as they hold nothing that only Python takes for a number."""
        text = "".join(cells)
        if "_" not in text and text.isascii():
            try:
                return list(map(float, cells))
            except ValueError:
                if not text.strip():
                    return [np.nan] * len(cells)
        return [_parse_cell(cell, name, line) for cell, name in zip(cells, self.header, strict=True)]


def _parse_cell(cell: str, column: str, line: int) -> float:
    if not cell or cell.strip().lower() in MISSING_WORDS:
        return np.nan
    if not is_number(cell):
        raise InputFormatError(
            f"Line {line}, column {column!r} holds {cell[:50]!r}, which is not a number. Write numbers with a decimal "
            "point, and leave the cell empty (or nan) where one is missing."
        )
    return float(cell)


def _table(columns: Columns, rows: _Rows, stem: str, options: ReadOptions) -> Table:
    numbers = np.frombuffer(rows.numbers, dtype=np.float64).reshape(-1, len(rows.header))
    named = columns.individual is not None
    values = numbers[:, columns.posture]
    return Table(
        kind=columns.kind,
        values=values.reshape(len(values), -1, 2) if len(KIND_DIMS[columns.kind]) == 2 else values,
        animals=tuple(rows.animals) if named else (stem,),
        owner=np.frombuffer(rows.owner, dtype=np.int64) if named else np.zeros(len(values), dtype=np.int64),
        time=_times(columns, numbers, options),
        centroid=None if columns.centroid is None else numbers[:, columns.centroid],
        names=columns.names,
    )


def _times(columns: Columns, numbers: FloatArray, options: ReadOptions) -> FloatArray | None:
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
            name = escape(individual)
            name = '"' + name.replace('"', '""') + '"' if re.search(r'[",\r\n]', name) else name
            file.writelines(line % (name, *row) for row in numbers[first:stop].tolist())


def _column_names(recording: Recording) -> list[str]:
    columns = column_names(recording)
    if recording.kind != "position":
        return columns
    keypoints = tuple(str(name) for name in recording.dataset["keypoint"].values)
    _check_keypoint_columns(columns, keypoints)
    return columns


def _header_line(columns: Sequence[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow([escape(name) for name in columns])
    return line.getvalue()


def _check_keypoint_columns(columns: Sequence[str], keypoints: tuple[str, ...]) -> None:
    """Refuse names that would be read back as something else, such as numbers."""
    try:
        understood = sort_columns(split_header(_header_line(columns))[0]).names == keypoints
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
