"""The header of a table: which column holds what.

Optional are ``individual``, ``time`` (s) or ``frame``, ``centroid_x`` and ``centroid_y``; then one of ``a1 …``
(amplitudes), ``theta_0 …`` (angles), ``x_0, y_0 …`` (centerline) or ``nose_x, nose_y …`` (keypoints). Every name must
be understood, because a misspelt ``individual`` would otherwise join two animals without a word.
"""

import csv
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from ethomarkov.exceptions import InputFormatError
from ethomarkov.io.readers.keypoints import suggest
from ethomarkov.io.spreadsheet import plain
from ethomarkov.recording.schema import KIND_WORDS, Kind

COLUMN_SPELLINGS = (
    "a1, a2 … (amplitudes), theta_0, theta_1 … (angles), x_0, y_0, x_1, y_1 … (centerline, head first) or "
    "nose_x, nose_y … (keypoints); beside them individual, time (s) or frame, centroid_x and centroid_y"
)
LONGEST_NAME = 200
MOST_HINTS = 20
COMPANION_COLUMNS = ("individual", "time", "frame", "centroid_x", "centroid_y")
_NUMBER = re.compile(r"[+-]?(nan|inf|(\d+\.?\d*|\.\d+)(e[+-]?\d+)?)", re.ASCII | re.IGNORECASE)
_NUMBERED = re.compile(r"(a|theta_)(\d{1,6})", re.ASCII | re.IGNORECASE)
_POINT = re.compile(r"(?P<name>.+)_(?P<axis>[xy])|(?P<first>[xy])_(?P<rest>.+)", re.IGNORECASE)
_DIGITS = re.compile(r"\d{1,6}", re.ASCII)


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


def is_number(word: str) -> bool:
    """Tell whether a word is a number as spreadsheets and numpy write it; Python would take ``1_5`` for one, too."""
    return _NUMBER.fullmatch(word.strip()) is not None


def split_header(line: str) -> tuple[list[str], str]:
    """Split the first line of a table into names, and tell by which character."""
    delimiter = max(",;\t", key=line.count)
    return [plain(name.strip()) for name in next(csv.reader([line], delimiter=delimiter), [])], delimiter


def sort_columns(header: Sequence[str]) -> Columns:
    """Find out what every column holds."""
    if "" in header:
        raise InputFormatError(
            f"Column {list(header).index('') + 1} has no name. Name it or leave it out (pandas: "
            "to_csv(…, index=False))."
        )
    longest = max(header, key=len)
    if len(longest) > LONGEST_NAME:
        raise InputFormatError(
            f"The name of column {list(header).index(longest) + 1} has {len(longest):,} characters; at most "
            f"{LONGEST_NAME} are allowed. Name it anew."
        )
    meanings = [_meaning(name) for name in header]
    _check_meanings(header, meanings)
    place = {name.lower(): i for i, name in enumerate(header) if name.lower() in COMPANION_COLUMNS}
    found: dict[Kind, dict[str, int]] = {"amplitude": {}, "angle": {}, "position": {}}
    for i, (kind, label) in enumerate(meanings):
        if kind is not None and i not in place.values():
            found[kind][label] = i
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


def _meaning(name: str) -> tuple[Kind | None, str]:
    """Tell which kind of posture a column belongs to, and which number or coordinate of it; nothing if unknown."""
    lower = name.lower()
    if lower in COMPANION_COLUMNS and not lower.startswith("centroid"):
        return None, lower
    if match := _NUMBERED.fullmatch(name):
        return "amplitude" if match[1].lower() == "a" else "angle", str(int(match[2]))
    if match := _POINT.fullmatch(name):
        point = match["name"] or match["rest"]
        label = str(int(point)) if _DIGITS.fullmatch(point) else point
        return "position", f"{(match['axis'] or match['first']).lower()}{label}"
    return None, ""


def _check_meanings(header: Sequence[str], meanings: Sequence[tuple[Kind | None, str]]) -> None:
    """Refuse names that are not understood, and two that mean the same."""
    seen: dict[tuple[Kind | None, str], int] = {}
    for i, (name, (kind, label)) in enumerate(zip(header, meanings, strict=True)):
        if not label:
            raise InputFormatError(
                f"Column {name!r} is not understood.{_suggest_column(name)} Accepted are {COLUMN_SPELLINGS}. "
                "Rename or remove the column."
            )
        first = seen.setdefault((kind, label.lower()), i)
        if first != i:
            other = header[first]
            what = f"Column {name!r} stands twice" if other == name else f"Columns {other!r} and {name!r} mean the same"
            raise InputFormatError(f"{what}; every column needs a name and a meaning of its own. Keep one of them.")


def _suggest_column(name: str) -> str:
    digits = re.search(r"\d+$", name)
    numbered = [f"{stem}{digits[0]}" for stem in ("theta_", "x_", "y_", "a")] if digits else []
    return suggest(name, [*COMPANION_COLUMNS, *numbered])


def _sort_posture(found: Mapping[Kind, Mapping[str, int]]) -> tuple[Kind, tuple[int, ...], tuple[str, ...]]:
    present = {kind: columns for kind, columns in found.items() if columns}
    if len(present) != 1:
        what = " and ".join(KIND_WORDS[kind] for kind in present) or "no posture"
        stray = [f"{name[1:]}_{name[0]}" for name in list(present.get("position", {}))[:MOST_HINTS]]
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
    numbered = [name for name in names if _DIGITS.fullmatch(name)]
    if numbered and len(numbered) < len(names):
        named = next(name for name in names if not _DIGITS.fullmatch(name))
        raise InputFormatError(
            f"Some points are numbered ({numbered[0]!r}) and some named ({named!r}): number all of them for a "
            "centerline from head to tail, or name all of them for keypoints."
        )
    if numbered:
        names = _consecutive(names, "x_")
    places = tuple(columns[axis + name] for name in names for axis in "xy")
    return ("centerline", places, ()) if numbered else ("position", places, tuple(names))


def _consecutive(labels: Collection[str], stem: str) -> list[str]:
    """Sort numbered columns, which must count up from 0 or 1 without a hole."""
    ordered = sorted(labels, key=int)
    numbers = [int(label) for label in ordered]
    start = min(numbers[0], 1)
    absent = next((wanted for wanted, number in enumerate(numbers, start) if number != wanted), None)
    if absent is not None:
        raise InputFormatError(
            f"Columns {stem}{numbers[0]} … {stem}{numbers[-1]} are not numbered without a hole: {stem}{absent} is "
            "missing. Number them from 0 or 1 upwards."
        )
    return ordered


def _centroid_columns(place: Mapping[str, int]) -> tuple[int, int] | None:
    if ("centroid_x" in place) != ("centroid_y" in place):
        raise InputFormatError("Only one of centroid_x and centroid_y is there; both or none are needed.")
    return (place["centroid_x"], place["centroid_y"]) if "centroid_x" in place else None
