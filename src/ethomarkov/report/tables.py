"""Results as tables: rows of named values, by file name, as commands write them."""

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np

from ethomarkov._core.types import FloatArray
from ethomarkov.coarse.kinetics import Dwells, find_dwells, mean_dwell
from ethomarkov.coarse.naming import StateTraits
from ethomarkov.foraging.states import Foraging
from ethomarkov.locomotion.displacement import Diffusion
from ethomarkov.model.application import Application
from ethomarkov.model.kinetics import Kinetics
from ethomarkov.model.paths import Reconstruction, measured_diffusion
from ethomarkov.validation.validate import Validation

if TYPE_CHECKING:
    import pandas as pd

    from ethomarkov.study import Study

Row = dict[str, object]
Tables = dict[str, Iterator[Row]]


def held_tables(study: "Study") -> Tables:
    """List the tables of all analyses that a study has, by file within its directory."""
    found = dict(animal_tables(study))
    validation, rebuilt, food = (study.held(name) for name in ("validation", "reconstruction", "foraging"))
    if validation is not None:
        found |= {f"validation/{name}": rows for name, rows in validation_tables(validation).items()}
    if rebuilt is not None:
        found |= {f"path/{name}": rows for name, rows in path_tables(rebuilt, measured_diffusion(rebuilt)).items()}
    if food is not None:
        found |= {f"forage/{name}": rows for name, rows in foraging_tables(food).items()}
    return found


# --- animals ---------------------------------------------------------------------------------------------------------


def animal_tables(study: "Study") -> Tables:
    """List all animals of a study with a few numbers of each."""
    return {"animals.csv": _animal_rows(study)}


def _animal_rows(study: "Study") -> Iterator[Row]:
    table = study.animals.table().drop(columns="is_example")
    names = [f"share_{name.replace(' ', '_')}" for name in study.names(study.finest)]
    table.columns = [*table.columns[: -len(names)], *names]
    for row in _rows(table):
        yield {name: _number(value) if isinstance(value, float) else value for name, value in row.items()}


def application_tables(application: Application) -> Tables:
    """List new animals, and whether the model covers them."""
    return {"application.csv": _application_rows(application)}


def _application_rows(application: Application) -> Iterator[Row]:
    for row in _rows(application.table()):
        yield {name: _number(value) if isinstance(value, float) else value for name, value in row.items()}


def _number(value: float) -> str:
    """Write six digits; nothing where there is no number."""
    return "" if np.isnan(value) else f"{value:.6g}"


# --- states ----------------------------------------------------------------------------------------------------------


def state_tables(study: "Study", kinetics: Mapping[int, Kinetics], over_seeds: FloatArray) -> Tables:
    """List states, time budgets and transitions.

    Parameters
    ----------
    study
        With its tree.
    kinetics
        By level.
    over_seeds
        Overlap of every node with partitions from other seeds, one row per seed.
    """
    return {
        "states.csv": _state_rows(study, over_seeds),
        "budget.csv": _budget_rows(study, kinetics[study.finest]),
        "transitions.csv": _transition_rows(kinetics),
    }


def _state_rows(study: "Study", over_seeds: FloatArray) -> Iterator[Row]:
    """Every state of every level: where it comes from, what it does, how long it lasts, how sure it is."""
    tree = study.tree
    for level in tree.levels[1:]:
        names, traits = study.names(level), study.traits_at(level)
        dwells = find_dwells(study.states(level), study.chain.lag)
        for k, node in enumerate(tree.nodes_at(level)):
            yield {
                "level": level,
                "state": names[k],
                "node": node,
                "parent_node": int(tree.parent[node]),
                "measure": float(tree.measure[node]),
                **{item.name: float(getattr(traits, item.name)[k]) for item in fields(StateTraits)},
                **_dwell_columns(dwells, k),
                "complete_dwells": len(dwells.in_state(k).complete),
                "stability_resampled": float(tree.stability[node]),
                "stability_seeds": float(over_seeds[:, node].mean()) if len(over_seeds) else float("nan"),
                "divided_because_s": float(tree.relaxation[node]),
                "is_supported": bool(tree.is_supported[node]),
                "coherence": float(tree.coherence[node]),
                "persistence": float(tree.persistence[node]),
                "persistence_held_out": float(tree.held_out[node]),
                "persistence_of_noise": float(tree.noise[node]),
                "undecided": float(tree.undecided[node]),
                "leftover_microstates": int(tree.left_over[node]),
                "remark": tree.remark[node],
            }


def _dwell_columns(dwells: Dwells, state: int) -> dict[str, float]:
    mean = mean_dwell(dwells, state)
    return {"mean_dwell_s": mean.estimate, "mean_dwell_low_s": mean.low, "mean_dwell_high_s": mean.high}


def _budget_rows(study: "Study", kinetics: Kinetics) -> Iterator[Row]:
    for name, row in zip(study.individuals, kinetics.budget, strict=True):
        shares = zip(kinetics.names, row, strict=True)
        yield {"animal": name, **{f"share of {state}": float(share) for state, share in shares}}


def _transition_rows(by_level: Mapping[int, Kinetics]) -> Iterator[Row]:
    for kinetics in by_level.values():
        yield from _rows(kinetics.transitions())


# --- paths and foraging ----------------------------------------------------------------------------------------------


def path_tables(rebuilt: Reconstruction, spread: Diffusion | None) -> Tables:
    """List computed paths beside measured ones, animal by animal.

    Parameters
    ----------
    rebuilt
        Computed paths.
    spread
        Diffusion of the measured ones; see `measured_diffusion`.
    """
    return {"path.csv": _path_rows(rebuilt, spread)}


def _path_rows(rebuilt: Reconstruction, spread: Diffusion | None) -> Iterator[Row]:
    for k, row in enumerate(_rows(rebuilt.table())):
        if spread is not None:
            row |= {"diffusion": float(spread.coefficient[k]), "exponent": float(spread.exponent[k])}
        yield row


def foraging_tables(foraging: Foraging) -> Tables:
    """List the probability to find food in every state, against its distance."""
    return {"forage.csv": _rows(foraging.table())}


# --- validation ------------------------------------------------------------------------------------------------------


def validation_tables(validation: Validation) -> Tables:
    """List agreements over all animals, checks of every animal, and cross-validations."""
    splits = validation.cross_validation.items()
    return {
        "validation.csv": _rows(validation.table()),
        "checks.csv": (row for one in validation.animals for row in _rows(one.table())),
        "cross_validation.csv": ({"kind": kind, **row} for kind, one in splits for row in _rows(one.table())),
    }


def _rows(table: "pd.DataFrame") -> Iterator[Row]:
    yield from ({str(name): value for name, value in row.items()} for row in table.to_dict("records"))
