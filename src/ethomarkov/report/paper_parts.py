"""Results of other commands that figures of a study need."""

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ethomarkov.coarse.passage import CoarseTimes
from ethomarkov.exceptions import EthomarkovError
from ethomarkov.foraging.food import FoodCurve, Matching, StateCoverage
from ethomarkov.io.results import group_name, load_attrs, load_results
from ethomarkov.locomotion.displacement import Displacement
from ethomarkov.markov import Spectrum
from ethomarkov.markov.lag_scan import LagScan
from ethomarkov.markov.noise_floor import NoiseFloor
from ethomarkov.markov.selection import EntropyTable
from ethomarkov.report.held_out import HeldOutCorrelation
from ethomarkov.states import DelayEmbedding
from ethomarkov.states.projection import SequenceMap, map_sequences
from ethomarkov.validation.drifting import Drift, EntryRate
from ethomarkov.validation.prediction import PredictionError
from ethomarkov.workflow.checks import AnimalCheck
from ethomarkov.workflow.forage import Foraging
from ethomarkov.workflow.kinetics import Kinetics, steady_rates
from ethomarkov.workflow.paths import Reconstruction
from ethomarkov.workflow.runs import Runs
from ethomarkov.workflow.states import state_names
from ethomarkov.workflow.study import MACRO, Study

N_RESAMPLES = 200
FREE_SETTINGS = {
    "names",
    "n_behaviours",
    "n_resamples",
    "min_measure",
    "cut",
    "n_walks",
    "simulated_minutes",
    "scan",
}
"""Settings that may change without making the results of other commands those of another model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Results beside the study that figures need; None or empty where there are none.

    Parameters
    ----------
    sequence_map
        From `ethomarkov map`, or principal directions.
    scan
        Entropy rates, from `ethomarkov scan` or the study's own.
    lag_scan, noise_floor, spectrum
        From `ethomarkov timescales`, or the study's own.
    times
        Relaxation times of the two macrostates against the lag.
    animal_runs, state_runs, measured
        From `ethomarkov simulate`: runs of animals and of states, and how far the animals themselves got.
    reconstruction
        From `ethomarkov path`.
    animals, errors, entries
        From `ethomarkov validate`: every animal against its runs, errors of prediction of data and model, entries into
        the second macrostate of data and model with their drift.
    splits, held_out
        From `ethomarkov validate --repeats`: means of honest cross-validation, and its autocorrelations.
    foraging
        From `ethomarkov forage`.
    remarks
        About results that were found and not used.
    """

    sequence_map: SequenceMap
    scan: EntropyTable | None
    lag_scan: LagScan | None
    noise_floor: NoiseFloor | None
    spectrum: Spectrum
    times: CoarseTimes
    animal_runs: tuple[Runs, ...] = ()
    state_runs: tuple[Runs, ...] = ()
    measured: Displacement | None = None
    reconstruction: Reconstruction | None = None
    animals: tuple[AnimalCheck, ...] = ()
    errors: tuple[PredictionError, PredictionError] | None = None
    entries: tuple[EntryRate, EntryRate, Drift] | None = None
    splits: tuple[Mapping[str, str], ...] = ()
    held_out: HeldOutCorrelation | None = None
    foraging: Foraging | None = None
    remarks: tuple[str, ...] = ()


def gather_parts(study: Study, directory: Path) -> Parts:
    """Collect the results of other commands in a study's directory, and compute what is missing and quick.

    Parameters
    ----------
    study
        Whose figures are drawn. Results of another model are not used, and a remark says so.
    directory
        Of the study; results lie in it, and in directories inside it.
    """
    shelf = _Shelf(study, directory)
    found: dict[str, Any] = {
        "sequence_map": _sequence_map(study, shelf),
        "scan": shelf.read("scan.nc", {"scan": EntropyTable}).get("scan", study.scan),
        "times": _coarse_times(study, shelf),
        "reconstruction": shelf.read("path.nc", {"reconstruction": Reconstruction}).get("reconstruction"),
        **_timescales(study, shelf),
        **_simulations(study, shelf),
        **_validation(study, shelf),
        "foraging": _foraging(study, shelf),
    }
    return Parts(**found, remarks=tuple(shelf.remarks))


def belongs_to(study: Study, file: Path) -> bool:
    """Tell whether a results file exists, can be read and is of the model of a study."""
    if not file.is_file():
        return False
    try:
        settings = str(load_attrs(file).get("settings", ""))
        return bool(settings) and is_same_model(study, settings)
    except (OSError, ValueError):
        return False


def is_same_model(study: Study, settings: str) -> bool:
    """Compare the settings of a results file with those of a study, as far as they make the model."""
    there, here = json.loads(settings), json.loads(study.settings.model_dump_json())
    return all(there.get(key) == value for key, value in here.items() if key not in FREE_SETTINGS)


class _Shelf:
    """Results files of a study, read where they belong to its model."""

    def __init__(self, study: Study, directory: Path) -> None:
        self.remarks: list[str] = []
        self._study, self._directory = study, directory

    def files(self, name: str) -> list[Path]:
        """List the files of a name, in the directory itself and in those inside it."""
        return [file for file in (self._directory / name, *sorted(self._directory.glob(f"*/{name}"))) if file.is_file()]

    def read(self, name: str, kinds: Mapping[str, type]) -> dict[str, Any]:
        """Read results from all files of a name; the first that holds a result wins."""
        found: dict[str, Any] = {}
        for file in self.files(name):
            found = self.open(file, kinds) | found
        return found

    def open(self, file: Path, kinds: Mapping[str, type]) -> dict[str, Any]:
        """Read results from a file; nothing, and a remark, where it is damaged or of another model."""
        try:
            settings = load_attrs(file).get("settings")
            if settings is not None and not is_same_model(self._study, str(settings)):
                return self.refuse(file, "belongs to a study with other settings")
            return load_results(file, kinds)
        except (EthomarkovError, OSError, KeyError, ValueError, TypeError, StopIteration):
            return self.refuse(file, "cannot be read: it is damaged or of another version,")

    def refuse(self, file: Path, reason: str) -> dict[str, Any]:
        """Remember that a file was not used."""
        self.remarks.append(f"{file} {reason} and was not used; make it again.")
        return {}


def _sequence_map(study: Study, shelf: _Shelf) -> SequenceMap:
    """Read the map, or make one by principal directions, which is quick."""
    found: SequenceMap | None = shelf.read("map.nc", {"map": SequenceMap}).get("map")
    shapes = (len(study.postures.values), len(study.microstates.centers))
    if found is not None and (len(found.frames), len(found.centers)) == shapes:
        return found
    if found is not None:
        shelf.refuse(shelf.files("map.nc")[0], "belongs to another study")
    sequences = DelayEmbedding(study.settings.n_delays).transform(study.postures)
    return map_sequences(sequences, study.microstates, method="pca", seed=study.settings.seed)


def _timescales(study: Study, shelf: _Shelf) -> dict[str, Any]:
    own = {"lag_scan": study.lag_scan, "noise_floor": study.noise_floor, "spectrum": study.spectrum}
    kinds = {"lag_scan": LagScan, "noise_floor": NoiseFloor, "spectrum": Spectrum}
    found = shelf.read("timescales.nc", kinds)
    if not found:
        return own
    there, here = found["spectrum"].eigenvalues[:1], study.spectrum.eigenvalues[:1]
    if found["spectrum"].lag != study.spectrum.lag or not np.allclose(there, here, atol=1e-6):
        return own | shelf.refuse(shelf.files("timescales.nc")[0], "belongs to another study")
    return own | found


def _coarse_times(study: Study, shelf: _Shelf) -> CoarseTimes:
    """Read the relaxation times of the two macrostates, or measure them."""
    found = shelf.read("states.nc", {f"kinetics_{MACRO}": Kinetics}).get(f"kinetics_{MACRO}")
    if found is not None and found.names == state_names(study, MACRO):
        times: CoarseTimes = found.times
        return times
    return steady_rates(study, MACRO)[0]


def _simulations(study: Study, shelf: _Shelf) -> dict[str, Any]:
    """Tell runs of animals from runs of states by their names."""
    animals, states = study.symbols.segments.individuals, state_names(study, study.finest)
    runs: dict[str, Runs] = {}
    measured = None
    for file in shelf.files("simulation.nc"):
        names = (*animals, "all", *states)
        kinds: dict[str, type] = {group_name("runs", k, name): Runs for name in names for k in range(len(names))}
        found = shelf.open(file, kinds | {"measured": Displacement})
        measured = found.pop("measured", measured)
        runs |= {one.name: one for one in found.values()}
    return {
        "animal_runs": tuple(runs[name] for name in animals if name in runs),
        "state_runs": tuple(runs[name] for name in states if name in runs) if set(states) <= set(runs) else (),
        "measured": measured,
    }


def _validation(study: Study, shelf: _Shelf) -> dict[str, Any]:
    names = study.symbols.segments.individuals
    kinds: dict[str, type] = {
        "recorded_error": PredictionError,
        "simulated_error": PredictionError,
        "entries": EntryRate,
        "run_entries": EntryRate,
        "drift": Drift,
        "honest_correlation": HeldOutCorrelation,
    }
    # Animals are numbered among those that have a model, which can only be fewer.
    kinds |= {group_name("animal", k, names[i]): AnimalCheck for i in range(len(names)) for k in range(i + 1)}
    for file in shelf.files("validation.nc"):
        found = shelf.open(file, kinds)
        if found:
            held_out = found.get("honest_correlation")
            return {
                "animals": tuple(one for one in found.values() if isinstance(one, AnimalCheck)),
                "errors": (found["recorded_error"], found["simulated_error"]),
                "entries": (found["entries"], found["run_entries"], found["drift"]),
                # Without it this validation had no repeats, and a table beside it is of an earlier one.
                "splits": () if held_out is None else _split_means(file.with_name("cross_validation.csv")),
                "held_out": held_out,
            }
    return {}


def _split_means(file: Path) -> tuple[Mapping[str, str], ...]:
    """Read the rows of honest cross-validation; none where the table was taken away."""
    if not file.is_file():
        return ()
    with file.open(encoding="utf-8", newline="") as stream:
        return tuple(row for row in csv.DictReader(stream) if row["kind"] == "honest")


def _foraging(study: Study, shelf: _Shelf) -> Foraging | None:
    found = shelf.read("forage.nc", {"coverage": StateCoverage, "curve": FoodCurve, "matching": Matching})
    if not found:
        return None
    level = len(found["curve"].names)
    if level not in study.tree.levels or found["curve"].names != state_names(study, level):
        shelf.refuse(shelf.files("forage.nc")[0], "is about other states")
        return None
    return Foraging(level=level, **found)
