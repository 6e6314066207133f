"""Results as tables: rows of named values, by file name, as commands write them."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields
from typing import TYPE_CHECKING

import numpy as np

from ethomarkov._core.types import FloatArray
from ethomarkov.coarse.kinetics import Dwells, find_dwells, mean_dwell
from ethomarkov.coarse.naming import StateTraits
from ethomarkov.foraging.states import Foraging
from ethomarkov.locomotion.displacement import Diffusion
from ethomarkov.model.application import QUANTITIES, Application
from ethomarkov.model.kinetics import Kinetics
from ethomarkov.model.paths import Reconstruction, measured_diffusion
from ethomarkov.validation.splits import CrossValidation
from ethomarkov.validation.validate import Validation

if TYPE_CHECKING:
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
    table, names = study.animals, study.names(study.finest)
    for k, individual in enumerate(table.individuals):
        yield {
            "individual": individual,
            "file": table.files[k],
            "frames": int(table.frames[k]),
            "windows": int(table.windows[k]),
            "transitions": int(table.transitions[k]),
            "entropy_rate_nat_per_s": _number(table.entropy_rates[k]),
            **{f"share_{name.replace(' ', '_')}": _number(table.shares[k, j]) for j, name in enumerate(names)},
        }


def application_tables(application: Application) -> Tables:
    """List new animals, and whether the model covers them."""
    return {"application.csv": _application_rows(application)}


def _application_rows(application: Application) -> Iterator[Row]:
    frames, shares = application.frames, application.macrostate_shares
    for k, individual in enumerate(application.individuals):
        yield {
            "individual": individual,
            "frames": int(frames[k]),
            "flag": application.flag[k],
            **{name: _number(getattr(application, name)[k]) for name in QUANTITIES},
            **{
                f"share_{name.replace(' ', '_')}": _number(shares[k, j])
                for j, name in enumerate(application.macrostate_names)
            },
            "reason": application.reason[k],
        }


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
        for i, before in enumerate(kinetics.names):
            for j, after in enumerate(kinetics.names):
                if i != j:
                    yield {
                        "level": kinetics.level,
                        "from": before,
                        "to": after,
                        "jumps": int(kinetics.jumps.counts[i, j]),
                        "jump_probability": float(kinetics.jumps.probabilities[i, j]),
                        "rate_per_s": float(kinetics.rates.rates[i, j]),
                        "rate_low": float(kinetics.rates.low[i, j]),
                        "rate_high": float(kinetics.rates.high[i, j]),
                        "first_passage_s": float(kinetics.passage[i, j]),
                    }


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
    for k, name in enumerate(rebuilt.computed.segments.individuals):
        computed = rebuilt.computed.cut(k).speed()
        row: Row = {
            "animal": name,
            "length_unit": rebuilt.computed.length_unit,
            "body_length": float(rebuilt.body_length[k]),
            "body_length_is_fitted": rebuilt.is_fitted,
            "speed_computed": float(np.nanmean(computed)) if np.isfinite(computed).any() else float("nan"),
            "speed_correlation": float(rebuilt.speed_correlation[k]),
        }
        if rebuilt.drag is not None:
            fit = rebuilt.drag.median_by_individual[k]
            row |= {"drag_ratio": fit.estimate, "drag_low": fit.low, "drag_high": fit.high}
        if spread is not None:
            row |= {"diffusion": float(spread.coefficient[k]), "exponent": float(spread.exponent[k])}
        yield row


def foraging_tables(found: Foraging) -> Tables:
    """List what states find, against the distance of food."""
    return {"forage.csv": _foraging_rows(found)}


def _foraging_rows(found: Foraging) -> Iterator[Row]:
    curve = found.curve
    for k, name in enumerate(curve.names):
        for r, radius in enumerate(curve.radii):
            yield {
                "state": name,
                "radius": float(radius),
                "coverage": float(found.coverage.share[k, :, r].mean()),
                "probability": float(curve.probability[k, r]),
                "low": float(curve.low[k, r]),
                "high": float(curve.high[k, r]),
                "time_share": float(found.matching.time_share[k]),
            }


# --- validation ------------------------------------------------------------------------------------------------------


def validation_tables(found: Validation) -> Tables:
    """List agreements over all animals, checks of every animal, and cross-validations."""
    checks = (
        asdict(check) | {"agrees": check.agrees if check.is_known else ""}
        for one in found.animals
        for check in one.checks
    )
    return {
        "validation.csv": _agreement_rows(found),
        "checks.csv": checks,
        "cross_validation.csv": _split_rows(found.cross_validation),
    }


def _agreement_rows(found: Validation) -> Iterator[Row]:
    for row in found.agreements:
        yield {
            "statistic": row.name,
            "unit": row.unit,
            "data": row.data.estimate,
            "data_low": row.data.low,
            "data_high": row.data.high,
            "simulation": row.simulation.estimate,
            "simulation_low": row.simulation.low,
            "simulation_high": row.simulation.high,
            "over": row.data.over,
            "animals_agree": row.n_agree,
            "animals": row.n_animals,
            "agrees": row.agrees,
        }


def _split_rows(found: Mapping[str, CrossValidation]) -> Iterator[Row]:
    for kind, one in found.items():
        for name, comparison in one.comparisons.items():
            if comparison.test.ndim != 3:  # curves are drawn, not listed
                continue
            inside, bias = comparison.inside(), comparison.bias()
            for animal in range(len(inside)):
                for column in range(inside.shape[1]):
                    yield {
                        "kind": kind,
                        "statistic": name,
                        "number": column,
                        "animal": one.individuals[animal],
                        "test_mean": _known_mean(comparison.test[:, animal, column]),
                        "simulated_mean": _known_mean(comparison.simulated[:, animal, :, column]),
                        "bias": float(bias[animal, column]),
                        "share_inside": float(inside[animal, column]),
                        "expected_inside": comparison.level,
                        "repeats": len(comparison.test),
                    }


def _known_mean(values: FloatArray) -> float:
    """Average what is known; NaN where nothing is, as rates of states that were never left."""
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else float("nan")
