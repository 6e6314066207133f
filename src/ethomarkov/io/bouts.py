"""Bouts of behaviour, and the forms in which other programs take them: BORIS, pynapple, movement.

Times count from the start of each individual's recording. A bout lasts from its first frame up to the first frame that
no longer belongs to it, and never across a gap.
"""

import csv
import itertools
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ethomarkov._core.names import check_names
from ethomarkov._core.optional import require
from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov._core.types import BoolArray, FloatArray, IntArray
from ethomarkov.exceptions import InputFormatError
from ethomarkov.io.atomic import atomic_path
from ethomarkov.io.spreadsheet import plain, write_rows

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from ethomarkov.recording import Recording

BORIS_COLUMNS = (
    "Observation id", "Observation date", "Description", "Observation type", "Source", "Time offset (s)",
    "Coding duration", "Media duration (s)", "FPS (frame/s)", "Subject",
    "Observation duration by subject by observation", "Behavior", "Behavioral category", "Behavior type", "Start (s)",
    "Stop (s)", "Duration (s)", "Media file name", "Image index start", "Image index stop", "Image file path start",
    "Image file path stop", "Comment start", "Comment stop",
)  # fmt: skip
"""Columns of the aggregated events that BORIS (8 and 9) exports."""

BORIS_NEEDED = ("Subject", "Behavior", "Behavior type", "Start (s)", "Stop (s)")
BORIS_NAMES = ("Observation id", "Subject", "Behavior")
BORIS_MISSING = "NA"

CLOSED_END = 1e-6
"""Seconds by which an interval of pynapple ends before the next frame: its intervals hold both their ends, so that the
first frame of the next bout would otherwise belong to two."""

MISSING_STATE = -1


class StateSequence(Protocol):
    """The state of every frame, as `ethomarkov.states.Symbols` holds it, which is made later than files are read."""

    @property
    def labels(self) -> IntArray:
        """State of every frame, -1 where there is none."""

    @property
    def n_states(self) -> int:
        """Number of states, visited or not."""

    @property
    def segments(self) -> Segments:
        """Gap-free runs of labelled frames."""

    @property
    def sampling(self) -> Sampling:
        """Frames per second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bouts(Result):
    """Uninterrupted bouts of one state, in the order of individuals and time.

    Parameters
    ----------
    individual, state
        Indices into `individuals` and `names`.
    start_row, stop_row
        First row and one past the last, in the stacked rows of all individuals.
    offsets
        Rows ``offsets[i]`` up to ``offsets[i + 1]`` belong to individual ``i``.
    names
        Of the states.
    individuals
        Names of the animals.
    sampling
        Frames per second.
    """

    individual: IntArray = array_field("bout")
    state: IntArray = array_field("bout")
    start_row: IntArray = array_field("bout")
    stop_row: IntArray = array_field("bout")
    offsets: IntArray = array_field("individual_edge")
    names: tuple[str, ...]
    individuals: tuple[str, ...]
    sampling: Sampling

    def __post_init__(self) -> None:
        check_names(self.names)
        freeze_arrays(self)

    def __len__(self) -> int:
        return int(self.state.size)

    @property
    def start(self) -> FloatArray:
        """Seconds from the start of the individual's recording to the first frame of each bout."""
        return np.asarray((self.start_row - self.offsets[self.individual]) / self.sampling.rate)

    @property
    def stop(self) -> FloatArray:
        """Seconds from the start of the individual's recording to the end of each bout."""
        return np.asarray((self.stop_row - self.offsets[self.individual]) / self.sampling.rate)

    @property
    def duration(self) -> FloatArray:
        """Seconds that each bout lasts; one that begins or ends at a gap may have lasted longer."""
        return np.asarray((self.stop_row - self.start_row) / self.sampling.rate)

    @property
    def censored_start(self) -> BoolArray:
        """Flag bouts whose beginning was not seen: no other bout ends where they begin."""
        follows = np.zeros(len(self), dtype=bool)
        follows[1:] = self.start_row[1:] == self.stop_row[:-1]
        follows[1:] &= np.diff(self.individual) == 0
        return ~follows

    @property
    def censored_end(self) -> BoolArray:
        """Flag bouts whose end was not seen: no other bout begins where they end."""
        return np.append(self.censored_start[1:], True)[: len(self)]

    def table(self) -> "pd.DataFrame":
        """Lay the bouts out as a table: individual, state, start, stop, duration, and whether their ends were seen."""
        import pandas as pd

        begins, ends = self.censored_start, self.censored_end
        table = pd.DataFrame(
            {
                "individual": np.array(self.individuals, dtype=object)[self.individual],
                "state": np.array(self.names, dtype=object)[self.state],
                "start": self.start,
                "stop": self.stop,
                "duration": self.duration,
                "censored": begins | ends,
                "censored_start": begins,
                "censored_end": ends,
            }
        )
        table.attrs["units"] = dict.fromkeys(("start", "stop", "duration"), "s")
        return table

    def to_pynapple(self) -> dict[str, Any]:
        """Give the bouts of every individual as a ``pynapple.IntervalSet``, with the metadata state and censored.

        ``bouts["worm 1"]`` restricts what was recorded of this animal; ``one[one["state"] == "run"]`` are its runs.
        Ends lie a microsecond before the next frame, because intervals of pynapple hold both their ends.
        """
        nap = require("pynapple", extra="pynapple", purpose="intervals of pynapple")
        found, table = {}, self.table()
        for i, individual in enumerate(self.individuals):
            start, end = _closed(self, self.individual == i)
            own = table[self.individual == i]
            told = {"state": own["state"].to_numpy(dtype=str), "censored": own["censored"].to_numpy(dtype=bool)}
            # one without intervals takes no metadata
            found[individual] = nap.IntervalSet(start=start, end=end, metadata=told if start.size else None)
        return found


def find_bouts(symbols: StateSequence, names: Sequence[str]) -> Bouts:
    """Find the bouts of every state.

    Parameters
    ----------
    symbols
        State of every frame.
    names
        One per state.
    """
    _check_names_of(symbols, names)
    segments = symbols.segments.keep(symbols.labels >= 0)
    is_first = np.zeros(segments.n_rows, dtype=bool)
    is_first[1:] = np.diff(symbols.labels) != 0
    is_first[segments.bounds[:, 0]] = True
    start = np.flatnonzero(is_first & segments.valid)
    run = np.searchsorted(segments.bounds[:, 0], start, side="right") - 1
    return Bouts(
        individual=segments.bounds[run, 2],
        state=symbols.labels[start],
        start_row=start,
        stop_row=np.minimum(np.append(start[1:], segments.n_rows)[: start.size], segments.bounds[run, 1]),
        offsets=segments.offsets,
        names=tuple(names),
        individuals=segments.individuals,
        sampling=symbols.sampling,
    )


def _check_names_of(symbols: StateSequence, names: Sequence[str]) -> None:
    if len(names) != symbols.n_states:
        raise InputFormatError(f"There are {len(names)} names for {symbols.n_states} states; give one name each.")
    check_names(names)


# --- BORIS -------------------------------------------------------------------------------------------------


def write_boris(bouts: Bouts, file: Path, description: str = "") -> Path:
    """Write bouts as the table of aggregated events that BORIS exports, one row per bout.

    Every individual is an observation of its own, because its times count from its own start. The image index is the
    number of the frame in that recording, from 0. The description is that of every observation.
    """
    described = ({**row, "Description": description} for row in _boris_rows(bouts))
    with atomic_path(file) as temporary, temporary.open("w", encoding="utf-8", newline="") as handle:
        rows = ([row.get(column, BORIS_MISSING) for column in BORIS_COLUMNS] for row in described)
        write_rows(handle, [BORIS_COLUMNS, *rows])
    return file


def _boris_rows(bouts: Bouts) -> list[dict[str, str]]:
    n_individuals = len(bouts.individuals)
    observed = np.bincount(bouts.individual, bouts.duration, minlength=n_individuals)
    lengths = np.diff(bouts.offsets) / bouts.sampling.rate
    first, last = np.full(n_individuals, np.inf), np.full(n_individuals, -np.inf)
    np.minimum.at(first, bouts.individual, bouts.start)
    np.maximum.at(last, bouts.individual, bouts.stop)
    rows = []
    for k, i in enumerate(bouts.individual):
        rows.append(
            {
                "Observation id": bouts.individuals[i],
                "Observation date": "",
                "Observation type": "Media file",
                "Time offset (s)": "0",
                "Coding duration": _seconds(last[i] - first[i]),
                "Media duration (s)": _seconds(lengths[i]),
                "FPS (frame/s)": repr(bouts.sampling.rate),
                "Subject": bouts.individuals[i],
                "Observation duration by subject by observation": _seconds(observed[i]),
                "Behavior": bouts.names[bouts.state[k]],
                "Behavioral category": "Not defined",
                "Behavior type": "STATE",
                "Start (s)": _seconds(bouts.start[k]),
                "Stop (s)": _seconds(bouts.stop[k]),
                "Duration (s)": _seconds(bouts.duration[k]),
                "Image index start": str(bouts.start_row[k] - bouts.offsets[i]),
                "Image index stop": str(bouts.stop_row[k] - bouts.offsets[i]),
                "Comment start": "",
                "Comment stop": "",
            }
        )
    return rows


def _seconds(time: float) -> str:
    # BORIS writes milliseconds, which would move frames of 1/16 s off their grid
    return f"{time:.6f}"


def read_boris(file: Path, *, sampling_rate: float | None = None, names: Sequence[str] | None = None) -> Bouts:
    """Read the state events of a table of aggregated events; point events have no duration and are left out.

    Parameters
    ----------
    file
        CSV as written by BORIS or by `write_boris`.
    sampling_rate
        Frames per second; taken from the table when None.
    names
        Order of the states; that of the table when None. Animals come in the order of the table, and those without a
        bout are not in it.
    """
    events = [row for row in _read_table(file) if row["Behavior type"] == "STATE"]
    if not events:
        raise InputFormatError(f"{file}: holds no state events; at least one is needed. Export state events as well.")
    sampling = Sampling(_stated_rate(file, events) if sampling_rate is None else sampling_rate)
    individuals = _subjects(file, events)
    states = tuple(dict.fromkeys(row["Behavior"] for row in events) if names is None else names)
    unknown = {row["Behavior"] for row in events} - set(states)
    if unknown:
        raise InputFormatError(
            f"{file}: holds the behaviours {', '.join(map(repr, sorted(unknown)))}, which are not among the names "
            f"{', '.join(map(repr, states))}. Add them to names, or leave names out."
        )
    individual = np.array([individuals.index(row["Subject"]) for row in events])
    edges = np.array([[_number(file, row, column) for column in ("Start (s)", "Stop (s)")] for row in events])
    frames = np.round(edges * sampling.rate).astype(np.int64)
    media = np.array([_number(file, row, "Media duration (s)", 0.0) for row in events]) * sampling.rate
    length = np.zeros(len(individuals), dtype=np.int64)
    np.maximum.at(length, individual, np.maximum(frames[:, 1], np.round(media).astype(np.int64)))
    offsets = np.concatenate([[0], np.cumsum(length)])
    order = np.lexsort((frames[:, 0], individual))
    rows = (frames + offsets[individual][:, None])[order]
    return Bouts(
        individual=individual[order],
        state=np.array([states.index(row["Behavior"]) for row in events], dtype=np.int32)[order],
        start_row=rows[:, 0],
        stop_row=rows[:, 1],
        offsets=offsets,
        names=states,
        individuals=individuals,
        sampling=sampling,
    )


def _read_table(file: Path) -> list[dict[str, str]]:
    try:
        with file.open(encoding="utf-8-sig", newline="") as handle:
            reader = csv.DictReader(handle, strict=True, restval="")
            rows, columns = list(reader), reader.fieldnames or []
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputFormatError(f"{file}: is not a CSV table in UTF-8 ({error}). Export it again as CSV.") from error
    absent = [column for column in BORIS_NEEDED if column not in columns]
    if absent:
        raise InputFormatError(
            f"{file}: lacks the columns {', '.join(absent)}. Export the aggregated events of BORIS as CSV "
            "(Observations > Export events > Aggregated events)."
        )
    return [row | {column: plain(row.get(column, "")) for column in BORIS_NAMES} for row in rows]


def _subjects(file: Path, events: Sequence[Mapping[str, str]]) -> tuple[str, ...]:
    """List the animals; one that appears in two observations would have two clocks."""
    seen = dict.fromkeys((row["Subject"], row.get("Observation id", "")) for row in events)
    subjects = [subject for subject, _ in seen]
    twice = next((subject for subject in subjects if subjects.count(subject) > 1), None)
    if twice is not None:
        raise InputFormatError(
            f"{file}: subject {twice!r} appears in several observations, each with its own clock. Export every "
            "observation to a file of its own."
        )
    return tuple(subjects)


def _stated_rate(file: Path, events: Sequence[Mapping[str, str]]) -> float:
    stated = {row.get("FPS (frame/s)", row.get("FPS", "")) for row in events}
    try:
        (rate,) = {float(rate) for rate in stated}
    except ValueError as error:
        raise InputFormatError(
            f"{file}: states the frame rates {', '.join(map(repr, sorted(stated)))}; one number is needed. "
            "State it with sampling_rate=."
        ) from error
    return rate


def _number(file: Path, row: Mapping[str, str], column: str, default: float | None = None) -> float:
    try:
        return float(row[column])
    except (KeyError, ValueError) as error:
        if default is not None:
            return default
        raise InputFormatError(
            f"{file}: {column} of {row['Behavior']!r} is {row[column]!r}; seconds are needed. Pair the state events "
            "in BORIS (Observations > Check state events), and export again."
        ) from error


# --- pynapple ----------------------------------------------------------------------------------------------


def to_intervals(bouts: Bouts) -> dict[str, dict[str, tuple[FloatArray, FloatArray]]]:
    """Give start and end of the bouts of every state of every individual, ready for ``pynapple.IntervalSet``.

    Ends lie a microsecond before the next frame, so that intervals that hold both their ends hold the frames of the
    bout and no other.
    """
    return {
        individual: {
            name: _closed(bouts, (bouts.individual == i) & (bouts.state == state))
            for state, name in enumerate(bouts.names)
        }
        for i, individual in enumerate(bouts.individuals)
    }


def _closed(bouts: Bouts, which: np.ndarray) -> tuple[FloatArray, FloatArray]:
    return bouts.start[which], bouts.stop[which] - CLOSED_END


def write_intervals(bouts: Bouts, folder: Path, description: str = "") -> tuple[Path, ...]:
    """Write one ``.npz`` per individual that ``pynapple.load_file`` reads as an IntervalSet with states.

    ``intervals[intervals["state"] == "run"]`` are the runs. Individuals have files of their own because their times
    count from their own starts, and an IntervalSet joins what overlaps. The state is there twice: as metadata of
    pynapple, which is pickled, and as a plain array for all others, as the description is.

    Returns
    -------
    files
        In the order of the individuals.
    """
    files = tuple(folder / f"{word}.npz" for word in plain_words(bouts.individuals))
    with ExitStack() as stack:
        for i, file in enumerate(files):
            which = bouts.individual == i
            start, end = _closed(bouts, which)
            states = [bouts.names[state] for state in bouts.state[which]]
            np.savez(
                stack.enter_context(atomic_path(file)),
                start=start,
                end=end,
                type=np.array(["IntervalSet"]),
                state=np.array(states, dtype=np.str_),
                description=np.array([description]),
                _metadata=np.array({"state": states} if states else {}, dtype=object),
            )
    return files


def plain_words(names: Sequence[str]) -> list[str]:
    """Turn names into words without blanks or signs, each its own, for file names and attributes."""
    words: list[str] = []
    for name in names:
        word = re.sub(r"[^\w.+-]+", "_", name).strip("._") or "unnamed"
        # without regard to case, because some file systems have none
        taken = {other.lower() for other in words}
        numbered = (f"{word}_{number}" for number in itertools.count(2))
        words.append(next(one for one in itertools.chain([word], numbered) if one.lower() not in taken))
    return words


# --- movement ----------------------------------------------------------------------------------------------


def states_dataset(
    symbols: StateSequence, names: Sequence[str], recording: "Recording | None" = None, description: str = ""
) -> "xr.Dataset":
    """Lay out the states as movement lays out poses: one value per time and individual.

    Parameters
    ----------
    symbols
        State of every frame.
    names
        One per state; kept word for word in the attribute ``state_names`` as JSON.
    recording
        With its true times; otherwise all individuals start at 0 s.
    description
        Kept in the attribute ``comment`` of the states.

    Returns
    -------
    dataset
        ``state`` with dimensions time and individual; -1 where there is none. Its attributes ``flag_values`` and
        ``flag_meanings`` follow the CF conventions.
    """
    import xarray as xr

    _check_names_of(symbols, names)
    offsets, rate = symbols.segments.offsets, symbols.sampling.rate
    lengths = np.diff(offsets)
    begin = _first_times(symbols, recording)
    shift = np.round((begin - begin.min()) * rate).astype(int)
    table = np.full((int((shift + lengths).max()), lengths.size), MISSING_STATE, dtype=np.int32)
    labels = np.where(symbols.segments.valid, symbols.labels, MISSING_STATE)
    for i, (first, n_frames) in enumerate(zip(shift, lengths, strict=True)):
        table[first : first + n_frames, i] = labels[offsets[i] : offsets[i + 1]]
    attrs = {
        "long_name": "behavioural state",
        "flag_values": np.arange(MISSING_STATE, len(names), dtype=np.int32),
        "flag_meanings": " ".join(plain_words(["missing", *names])),
        "state_names": json.dumps(list(names), ensure_ascii=False),
    }
    if description:
        attrs["comment"] = description
    return xr.Dataset(
        {"state": (("time", "individual"), table, attrs)},
        coords={
            "time": begin.min() + np.arange(len(table)) / rate,
            "individual": list(symbols.segments.individuals),
        },
        attrs={"fps": rate, "time_unit": "seconds", "source_software": "ethomarkov"},
    )


def _first_times(symbols: StateSequence, recording: "Recording | None") -> FloatArray:
    offsets = symbols.segments.offsets
    if recording is None:
        return np.zeros(offsets.size - 1)
    if not np.array_equal(recording.segments.offsets, offsets):
        raise InputFormatError(
            f"The recording has {recording.segments.n_rows} frames of {len(recording.individuals)} animals, the states "
            f"{symbols.segments.n_rows} of {symbols.segments.n_individuals}; give the recording they were found in."
        )
    known = np.diff(offsets) > 0
    begin = np.full(known.size, recording.time.min())
    begin[known] = recording.time[offsets[:-1][known]]
    return begin


def attach_states(poses: "xr.Dataset", states: "xr.Dataset") -> "xr.Dataset":
    """Add the states to a dataset of movement, as the coordinate ``state`` along its own times and individuals.

    Parameters
    ----------
    poses
        Dataset of any version of movement, whether it says individual or individuals, in seconds or in frames.
    states
        From `states_dataset`.
    """
    dim = next((name for name in ("individual", "individuals") if name in poses.dims), None)
    if dim is None or "time" not in poses.dims:
        raise InputFormatError(
            f"The dataset has the dimensions {', '.join(map(str, poses.dims))}; time and individual are needed. "
            "Give a dataset that movement has loaded."
        )
    names = [str(name) for name in poses[dim].values]
    if not set(names) & set(states["individual"].values.tolist()):
        raise InputFormatError(
            f"The poses are of {', '.join(names)}, the states of {', '.join(states['individual'].values)}; common "
            "names are needed. Rename the individuals of one of them (assign_coords)."
        )
    rate = float(states.attrs["fps"])
    in_seconds = str(poses.attrs.get("time_unit", "seconds")) == "seconds"
    time = np.asarray(poses["time"].values, dtype=float) / (1.0 if in_seconds else rate)
    found = states["state"].reindex(individual=names, fill_value=MISSING_STATE)
    found = found.reindex(time=time, method="nearest", tolerance=0.5 / rate, fill_value=MISSING_STATE)
    return poses.assign_coords(state=(("time", dim), found.values, states["state"].attrs))
