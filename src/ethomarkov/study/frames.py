"""A study frame by frame: time, microstate, state at every level, slow modes and postures, and the bouts of states.

This is what the root of ``study.nc`` holds, for people who open it with R, MATLAB or xarray alone.
"""

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ethomarkov import __version__
from ethomarkov._core.optional import require
from ethomarkov._core.parallel import run_alone
from ethomarkov._core.types import FloatArray, IntArray
from ethomarkov._core.words import count_of
from ethomarkov.exceptions import InputFormatError
from ethomarkov.io.bouts import Bouts, attach_states, find_bouts, plain_words, states_dataset
from ethomarkov.io.classic import Variable
from ethomarkov.markov.spectrum import relaxation_time, reversible_modes
from ethomarkov.states import Symbols

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from ethomarkov.study.study import Study

N_SLOW_MODES = 4
FRAME, INDIVIDUAL, MICROSTATE, COMPONENT = "frame", "individual", "n_microstates", "component"
COORDINATES = ("time", "individual_index", "individual_name")
"""Of frames and individuals; states have their names."""
CONVENTIONS = "CF-1.11"
NOTHING_ELSE: Mapping[str, Any] = {}
SUMMARY = (
    "Posture dynamics of animals as a Markov chain. The variables of this level are a view of the study for any reader "
    "of netCDF: one entry per video frame, the frames of all individuals one after the other. The groups hold every "
    "result in full; the Python package reads those."
)
HOW_TO_OPEN = (
    "Python: ethomarkov.load(directory), or open_dataset of xarray. R: nc_open(file), ncvar_get(nc, 'state_2') of "
    "ncdf4. MATLAB: ncread(file, 'state_2'). Indices count from 0; -1 stands for missing in labels, NaN elsewhere."
)


def frame_dataset(study: "Study") -> "xr.Dataset":
    """Lay out a study frame by frame, with the names of individuals and states, and the microstates beside them.

    Parameters
    ----------
    study
        With its tree.

    Returns
    -------
    dataset
        Labels are whole numbers from 0, and -1 where there is none; all else that is missing is NaN.
    """
    import xarray as xr

    variables = dict((*_of_frames(study), *_of_states(study), *_of_slow_modes(study)))
    names = _coordinate_names(study)
    return xr.Dataset(
        {name: one for name, one in variables.items() if name not in names},
        coords={name: one for name, one in variables.items() if name in names},
        attrs=_attrs(study),
    )


def overview(dataset: "xr.Dataset") -> dict[str, Variable]:
    """Give the variables of a dataset as a file holds them, each with the names of its coordinates.

    Parameters
    ----------
    dataset
        From `frame_dataset`.
    """
    found = {}
    for name in (*dataset.coords, *dataset.data_vars):
        one = dataset[name].variable
        own = [str(label) for label in dataset.coords if set(dataset[label].dims) <= set(one.dims)]
        along = {"coordinates": " ".join(own)} if own and name not in dataset.coords else {}
        dims = tuple(map(str, one.dims))
        found[str(name)] = Variable(dims=dims, values=one.values, attrs={**one.attrs, **along})
    return found


def frame_table(study: "Study", level: int | None = None, states: Symbols | None = None) -> "pd.DataFrame":
    """Tabulate every frame: individual, time, microstate, state, slow modes, posture modes.

    Parameters
    ----------
    study
        With its tree.
    level
        Number of states; that of the finest level by default.
    states
        State of every frame at that level, such as smoothed ones; those of the tree by default.
    """
    import pandas as pd

    level = checked_level(study, level)
    data = frame_dataset(study)
    names = np.array([*study.names(level), None], dtype=object)
    individuals = np.array(study.individuals, dtype=object)
    columns: dict[str, Any] = {
        "individual": individuals[data["individual_index"].values],
        "time": data["time"].values,
        "microstate": data["microstate"].values,
        "state": names[_known(study.states(level) if states is None else states)],
    }
    columns |= {str(name): data[name].values for name in data.data_vars if str(name).removeprefix("phi_").isdigit()}
    columns |= {f"mode_{k + 1}": column for k, column in enumerate(data["modes"].values.T)}
    table = pd.DataFrame(columns)
    table.attrs["units"] = {"time": "s"}
    return table


def study_bouts(study: "Study", level: int | None = None) -> Bouts:
    """Find the bouts of the states of a level.

    Parameters
    ----------
    study
        With its tree.
    level
        Number of states; that of the finest level by default.
    """
    level = checked_level(study, level)
    return find_bouts(study.states(level), study.names(level))


def to_movement(study: "Study", level: int | None = None) -> "xr.Dataset":
    """Give measured centroids and states as a dataset of poses as `movement` has them.

    Parameters
    ----------
    study
        With its tree.
    level
        Number of states; that of the finest level by default.

    Returns
    -------
    dataset
        ``position`` of the one keypoint "centroid", NaN where no path was measured, with the coordinate ``state``.
        Times count from the start of each individual's recording.
    """
    level = checked_level(study, level)
    loading = require("movement.io.load_poses", extra="movement", purpose="datasets of movement")
    segments, measured = study.postures.segments, study.measured
    lengths = np.diff(segments.offsets)
    position = np.full((int(lengths.max()), 2, 1, segments.n_individuals), np.nan)
    for i, n_frames in enumerate(lengths):
        first = segments.offsets[i]
        position[:n_frames, :, 0, i] = measured.centroid[first : first + n_frames, :2]
    poses: xr.Dataset = loading.from_numpy(
        position,
        confidence_array=np.where(np.isfinite(position).all(axis=1), 1.0, np.nan),
        individual_names=list(segments.individuals),
        keypoint_names=["centroid"],
        fps=study.postures.sampling.rate,
        source_software="ethomarkov",
    )
    poses["position"].attrs["units"] = measured.length_unit or "unknown"
    return attach_states(poses, states_dataset(study.states(level), study.names(level)))


def checked_level(study: "Study", level: int | None) -> int:
    """Give a level that the study has, the finest by default.

    Parameters
    ----------
    study
        With its tree.
    level
        Number of states.
    """
    if level is None:
        return study.finest
    if level not in study.tree.levels:
        raise InputFormatError(
            f"level is {level}; this study can be read at {', '.join(map(str, study.tree.levels))} states. Name one of "
            f"these, or grow its tree with `ethomarkov states STUDY --states {level}`."
        )
    return level


# --- variables -------------------------------------------------------------------------------------------------------

_Named = tuple[str, tuple[tuple[str, ...], np.ndarray, dict[str, Any]]]
"""Name, and what xarray makes a variable of: dimensions, values, attributes."""


def _of_frames(study: "Study") -> Iterator[_Named]:
    postures, symbols = study.postures, study.symbols
    segments = postures.segments
    owner = segments.row_individual.astype(np.int32)
    time = (np.arange(segments.n_rows) - segments.offsets[owner]) / postures.sampling.rate
    yield _named("time", FRAME, time, "time from the start of the individual's recording", {"axis": "T"}, "s")
    told = {"instance_dimension": INDIVIDUAL, **_flags(segments.individuals, has_missing=False)}
    yield _named("individual_index", FRAME, owner, "individual of the frame, from 0", told)
    yield _named("individual_name", INDIVIDUAL, _text(segments.individuals), "name of the individual")
    first, n_frames = segments.offsets[:-1].astype(np.int32), np.diff(segments.offsets).astype(np.int32)
    yield _named("first_frame", INDIVIDUAL, first, "first frame of the individual, from 0")
    yield _named("n_frames", INDIVIDUAL, n_frames, "number of frames of the individual, missing ones included")
    yield _named("microstate", FRAME, _known(symbols), "microstate, from 0; -1 where there is none")
    modes = np.where(segments.valid[:, None], postures.values, np.float32(np.nan))
    told = {"comment": "amplitudes of the posture modes, the first mode first; see the group survey/basis"}
    yield "modes", ((FRAME, COMPONENT), modes, {"long_name": "posture mode amplitudes", "units": "1", **told})


def _of_states(study: "Study") -> Iterator[_Named]:
    """Give states at every level, of frames and of microstates, with their names and shares of time."""
    for level in _levels(study):
        name, dim, names = f"state_{level}", f"n_states_{level}", study.names(level)
        told = {**_flags(names, has_missing=True), "state_names": json.dumps(list(names), ensure_ascii=False)}
        words = f"state at the level of {count_of(level, 'state')}, from 0; -1 where there is none"
        yield _named(name, FRAME, _known(study.states(level)), words, told)
        yield _named(f"{name}_name", dim, _text(names), f"name of the state at the level of {count_of(level, 'state')}")
        shares = study.tree.measures_at(level)
        yield _named(f"{name}_share", dim, shares, "share of time by the stationary law of the chain")
        of_microstates = study.tree.states_at(level).astype(np.int32)
        yield _named(f"{name}_of_microstate", MICROSTATE, of_microstates, f"of each microstate: {words}", told)


def _of_slow_modes(study: "Study") -> Iterator[_Named]:
    """Give the stationary law and the slow modes, of microstates and of frames; NaN outside the chain."""
    chain, symbols = study.chain, study.symbols
    values, modes = run_alone(_slow_modes, study)
    law = np.full(chain.n_states, np.nan)
    law[chain.states] = chain.stationary
    yield _named("stationary", MICROSTATE, law, "stationary law of the Markov chain; NaN outside the chain")
    place = np.where(symbols.segments.valid, symbols.labels, chain.n_states)
    for k, (value, mode) in enumerate(zip(values, modes.T, strict=True), start=2):
        table = np.full(chain.n_states + 1, np.nan)
        table[chain.states] = mode
        words = f"slow mode {k} of the reversibilised chain (φ{k}); NaN outside the chain"
        told = {"relaxation_time_seconds": relaxation_time(float(value), chain.lag)}
        yield _named(f"phi_{k}", FRAME, table[place].astype(np.float32), words, told)
        yield _named(f"phi_{k}_of_microstate", MICROSTATE, table[:-1], f"of each microstate: {words}", told)


def _slow_modes(study: "Study") -> tuple[FloatArray, FloatArray]:
    n_states = study.chain.states.size
    if n_states < 2:
        return np.empty(0), np.empty((n_states, 0))
    return reversible_modes(study.chain, min(N_SLOW_MODES, n_states - 1))


def _levels(study: "Study") -> tuple[int, ...]:
    """List the levels that divide something; that of a single state where nothing is divided."""
    return study.tree.levels[1:] or study.tree.levels


def _known(states: Symbols) -> IntArray:
    """Give the state of every frame, -1 outside the gap-free runs."""
    return np.where(states.segments.valid, states.labels, np.int32(-1)).astype(np.int32)


def _named(
    name: str, dim: str, values: np.ndarray, words: str, told: Mapping[str, Any] = NOTHING_ELSE, units: str = "1"
) -> _Named:
    return name, ((dim,), values, {"long_name": words, "units": units, **told})


def _text(words: tuple[str, ...]) -> np.ndarray:
    return np.array(words, dtype=object)


def _flags(names: tuple[str, ...], *, has_missing: bool) -> dict[str, Any]:
    """Say what labels mean as the CF conventions do, in words without blanks.

    There is no fill value: xarray would turn labels into real numbers to put NaN in its place.
    """
    missing = ["missing"] if has_missing else []
    values = np.arange(-len(missing), len(names), dtype=np.int32)
    return {"flag_values": values, "flag_meanings": " ".join(plain_words([*missing, *names]))}


def _coordinate_names(study: "Study") -> set[str]:
    return {*COORDINATES, *(f"state_{level}_name" for level in _levels(study))}


def _attrs(study: "Study") -> dict[str, Any]:
    animals = study.animals
    n_all, n_here = len(animals.individuals), len(study.individuals)
    about = f"All {n_all} animals of the study." if n_all > 1 else "The one animal of the study."
    if n_here < n_all:
        about = (
            f"{count_of(n_here, 'animal')} of {n_all}, as examples: the recordings were read a few at a time. The "
            "chain is that of all animals."
        )
    return {
        "title": f"Study of {count_of(n_all, 'animal')}: posture, microstates and states of every frame",
        "summary": SUMMARY,
        "Conventions": CONVENTIONS,
        "source": f"ethomarkov {__version__}",
        "how_to_open": HOW_TO_OPEN,
        "individuals": about,
        "sampling_rate_hertz": study.postures.sampling.rate,
        "lag_seconds": study.chain.lag,
    }
