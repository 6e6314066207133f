"""States in time for other programs: tables of bouts and frames, bouts for BORIS and pynapple, states for movement."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ethomarkov.coarse.smoothing import SmoothStates
from ethomarkov.io.atomic import atomic_path
from ethomarkov.io.bouts import find_bouts, states_dataset, write_boris, write_intervals
from ethomarkov.io.spreadsheet import escape
from ethomarkov.states import Symbols
from ethomarkov.study import Study
from ethomarkov.study.frames import frame_table

if TYPE_CHECKING:
    import pandas as pd

OF_TREE = "States of the tree"
SMOOTHED = "States of the tree, smoothed in time by a hidden Markov model; not for rates or dwell times"
EXACT = "%.9g"
"""How numbers are written in tables: as many digits as postures have."""

_Writer = Callable[[Study, int, Symbols, str, Path], Path]
"""Takes a study, a level, the states of every frame, what they are in words, and a directory; gives what it wrote."""


def write_bouts(study: Study, smoothed: SmoothStates | None, out: Path) -> None:
    """Write the states of the finest level as bouts.csv in the layout of BORIS, intervals/ and states_movement.nc.

    Parameters
    ----------
    study
        With its tree.
    smoothed
        States smoothed in time, to be written instead of those of the tree.
    out
        Directory.
    """
    labels, description = _labels(study, study.finest, smoothed)
    write_boris(find_bouts(labels, study.names(study.finest)), out / "bouts.csv", description)
    for write in (_write_intervals, _write_movement):
        write(study, study.finest, labels, description, out)


def export_states(
    study: Study, level: int, out: Path, *, what: str = "all", smoothed: SmoothStates | None = None
) -> tuple[Path, ...]:
    """Write the states of a level, frame by frame and bout by bout, in the forms in which other programs take them.

    Parameters
    ----------
    study
        With its tree.
    level
        Number of states.
    out
        Directory.
    what
        One of `EXPORTS`, or "all".
    smoothed
        States of that level smoothed in time, to be written instead of those of the tree.

    Returns
    -------
    files
        What was written.
    """
    labels, description = _labels(study, level, smoothed)
    chosen = EXPORTS if what == "all" else {what: EXPORTS[what]}
    return tuple(write(study, level, labels, description, out) for write in chosen.values())


def _labels(study: Study, level: int, smoothed: SmoothStates | None) -> tuple[Symbols, str]:
    return (study.states(level), OF_TREE) if smoothed is None else (smoothed.states, SMOOTHED)


def _write_bout_table(study: Study, level: int, labels: Symbols, description: str, out: Path) -> Path:
    return _write_csv(find_bouts(labels, study.names(level)).table(), out / "bouts.csv")


def _write_frames(study: Study, level: int, labels: Symbols, description: str, out: Path) -> Path:
    return _write_csv(frame_table(study, level, labels), out / "frames.csv")


def _write_boris(study: Study, level: int, labels: Symbols, description: str, out: Path) -> Path:
    return write_boris(find_bouts(labels, study.names(level)), out / "boris.csv", description)


def _write_intervals(study: Study, level: int, labels: Symbols, description: str, out: Path) -> Path:
    write_intervals(find_bouts(labels, study.names(level)), out / "intervals", description)
    return out / "intervals"


def _write_movement(study: Study, level: int, labels: Symbols, description: str, out: Path) -> Path:
    target = out / "states_movement.nc"
    with atomic_path(target) as temporary:
        dataset = states_dataset(labels, study.names(level), description=description)
        dataset.to_netcdf(temporary, engine="h5netcdf")
    return target


def _write_csv(table: "pd.DataFrame", target: Path) -> Path:
    """Write a table with the names of animals and states escaped, see `ethomarkov.io.spreadsheet`."""
    names = {column: table[column].map(escape, na_action="ignore") for column in ("individual", "state")}
    with atomic_path(target) as temporary:
        table.assign(**names).to_csv(temporary, index=False, float_format=EXACT, lineterminator="\n")
    return target


EXPORTS: Mapping[str, _Writer] = {
    "bouts": _write_bout_table,
    "frames": _write_frames,
    "intervals": _write_intervals,
    "movement": _write_movement,
    "boris": _write_boris,
}
"""What can be written, by the word of the command line."""
