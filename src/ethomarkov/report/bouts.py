"""States in time for other programs: bouts for BORIS and pynapple, states of every frame for movement."""

from pathlib import Path

from ethomarkov.coarse.smoothing import SmoothStates
from ethomarkov.io.atomic import atomic_path
from ethomarkov.io.bouts import find_bouts, states_dataset, write_boris, write_intervals
from ethomarkov.study import Study

OF_TREE = "States of the tree"
SMOOTHED = "States of the tree, smoothed in time by a hidden Markov model; not for rates or dwell times"


def write_bouts(study: Study, smoothed: SmoothStates | None, out: Path) -> None:
    """Write the states of the finest level as bouts.csv, intervals/ and states_movement.nc.

    Parameters
    ----------
    study
        With its tree.
    smoothed
        States smoothed in time, to be written instead of those of the tree.
    out
        Directory.
    """
    labels = study.states(study.finest) if smoothed is None else smoothed.states
    names, description = study.names(study.finest), OF_TREE if smoothed is None else SMOOTHED
    bouts = find_bouts(labels, names)
    write_boris(bouts, out / "bouts.csv", description)
    write_intervals(bouts, out / "intervals", description)
    with atomic_path(out / "states_movement.nc") as temporary:
        states_dataset(labels, names, description=description).to_netcdf(temporary, engine="h5netcdf")
