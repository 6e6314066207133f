"""The states of a study: a tree of behaviours with names and kinetics."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Annotated

import numpy as np
from cyclopts import Parameter
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ethomarkov._core.types import FloatArray
from ethomarkov.cli.options import RunningOptions, require_at_least
from ethomarkov.cli.terminal import progress_bar
from ethomarkov.cli.work import at_work
from ethomarkov.coarse.dwell_laws import LawChoice, paper_biexponential
from ethomarkov.coarse.kinetics import Dwells, find_dwells, mean_stay
from ethomarkov.coarse.naming import StateTraits
from ethomarkov.coarse.passage import Rates
from ethomarkov.coarse.smoothing import SmoothStates, smooth_states
from ethomarkov.exceptions import EthomarkovError, InputFormatError
from ethomarkov.figures.style import save_figure
from ethomarkov.io.atomic import atomic_path, check_writable
from ethomarkov.io.bouts import find_bouts, states_dataset, write_boris, write_intervals
from ethomarkov.io.results import save_results
from ethomarkov.io.spreadsheet import write_table
from ethomarkov.report.state_figures import draw_state_figures
from ethomarkov.workflow import Study
from ethomarkov.workflow.kinetics import Kinetics, dwell_laws, study_kinetics
from ethomarkov.workflow.states import rename_states, stability_over_seeds, state_names, traits_at
from ethomarkov.workflow.study import MACRO, STUDY_FILE, regrow_study

DEFAULT = RunningOptions()
OF_TREE = "States of the tree"
SMOOTHED = "States of the tree, smoothed in time by a hidden Markov model; not for rates or dwell times"
MOST_CHANGE = 1.5
"""Factor by which smoothing may change the time in a state without a word of warning."""
TRAIT_TITLES = {
    "velocity": "ω (cycles/s)",
    "wavelength": "wave (L)",
    "bend": "bend a₃",
    "speed": "speed (L/s)",
}


def states(
    study: Path,
    *,
    levels: int | None = None,
    out: Path | None = None,
    rename: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    min_measure: float | None = None,
    resamples: int = 20,
    seeds: int = 0,
    smooth: Annotated[bool, Parameter(negative=())] = False,
    running: RunningOptions = DEFAULT,
) -> None:
    """Divide a study's behaviour into a tree of states; name them, time them, and write them for other programs.

    The study itself takes the new tree and the new names, so that all later figures and tables show them.

    Parameters
    ----------
    study
        Directory that `ethomarkov run` wrote.
    levels
        States at the finest level, whether or not the recording supports them; by default as many as it supports.
    out
        Directory of the results; `states` in the study's own by default.
    rename
        New names, as "slow dorsal=head casting"; may be given several times.
    min_measure
        Share of its parent's time that a state must hold; as in the study by default.
    resamples
        Drawings of animals that tell how stable each state is.
    seeds
        Further partitions into microstates, from other seeds, that tell how stable each state is (slow: each fits all
        microstates anew).
    smooth
        Let every frame's state depend on the frames around it, in bouts and states in time. Shares, dwell times and
        rates stay those of the tree.
    """
    for value, least, name in ((levels or 2, 2, "--levels"), (resamples, 0, "--resamples"), (seeds, 0, "--seeds")):
        require_at_least(value, least, name)
    new_names = _renames(rename)
    loaded, home = Study.load(study), _home(study)
    changes: dict[str, object] = {
        "n_behaviours": levels,
        "n_resamples": resamples,
        "names": {},
    }
    if min_measure is not None:
        if not 0 <= min_measure < 0.5:
            raise InputFormatError(f"--min-measure is {min_measure}; a share from 0 up to 0.5 is needed.")
        changes["min_measure"] = min_measure
    target = out or home / "states"
    for place in (target, home):
        check_writable(place)
    console = Console(quiet=running.quiet)
    with at_work(running) as threads, progress_bar(console, quiet=running.quiet) as progress:
        grown = regrow_study(loaded, changes, threads=threads, progress=progress)
        grown = rename_states(grown, new_names, loaded.settings.names)
        over_seeds = stability_over_seeds(grown, seeds, threads=threads, progress=progress)
        found = {level: study_kinetics(grown, level) for level in dict.fromkeys((MACRO, grown.finest))}
        laws = dwell_laws(grown, found[MACRO])
        smoothed = _smooth(grown) if smooth else None
        _write(grown, found, over_seeds, smoothed, target)
        grown.save(home)
    console.print(_levels_table(grown))
    console.print(_states_table(grown, found[grown.finest], over_seeds))
    for line in (*_findings(grown, found[MACRO], laws), *_said_of(grown, smoothed)):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    console.print(f"\nWritten to {escape(str(target))}, and into the study.", highlight=False, soft_wrap=True)


def _home(study: Path) -> Path:
    """Find the directory whose study takes the new tree."""
    if not study.is_dir() and study.name != STUDY_FILE:
        raise InputFormatError(
            f"{study}: the new tree is written into {STUDY_FILE}, which this file is not. Rename it, or name the "
            "directory that `ethomarkov run` wrote."
        )
    return study if study.is_dir() else study.parent


def _renames(given: Sequence[str]) -> dict[str, str]:
    pairs = [item.partition("=") for item in given]
    for old, sign, new in pairs:
        if not (old.strip() and sign and new.strip()):
            raise InputFormatError(
                f"--rename is {old + sign + new!r}; an old and a new name are needed, as in "
                '--rename "slow dorsal=head casting".'
            )
    return {old.strip(): new.strip() for old, _, new in pairs}


def _smooth(study: Study) -> SmoothStates:
    return smooth_states(study.symbols, study.tree.states_at(study.finest), study.chain.lag)


def _said_of(study: Study, smoothed: SmoothStates | None) -> Iterator[str]:
    """Say which labels are written, where they are not those of the tree."""
    if smoothed is None:
        return
    tree = study.states(study.finest)
    moved = np.mean((smoothed.states.labels != tree.labels)[tree.segments.valid])
    yield (
        "Bouts and states in time (bouts.csv, intervals, states_movement.nc) are smoothed, which gave "
        f"{moved:.1%} of the frames another state; shares, dwell times and rates are those of the tree."
    )
    before, after = tree.visits() / tree.visits().sum(), smoothed.states.visits() / tree.visits().sum()
    for name, old, new in zip(state_names(study, study.finest), before, after, strict=True):
        if not old / MOST_CHANGE < new < old * MOST_CHANGE:
            yield f"Smoothing took {name} from {old:.1%} to {new:.1%} of the time: do not trust its smoothed bouts."


def _write(
    study: Study,
    found: Mapping[int, Kinetics],
    over_seeds: FloatArray,
    smoothed: SmoothStates | None,
    out: Path,
) -> None:
    """Write tables, bouts, results and figures."""
    finest = study.finest
    labels, names = study.states(finest) if smoothed is None else smoothed.states, state_names(study, finest)
    description = OF_TREE if smoothed is None else SMOOTHED
    bouts = find_bouts(labels, names)
    write_boris(bouts, out / "bouts.csv", description)
    write_intervals(bouts, out / "intervals", description)
    with atomic_path(out / "states_movement.nc") as temporary:
        states_dataset(labels, names, description=description).to_netcdf(temporary, engine="h5netcdf")
    write_table(out / "states.csv", _state_rows(study, over_seeds))
    write_table(out / "budget.csv", _budget_rows(study, found[finest]))
    write_table(out / "transitions.csv", _transition_rows(found))
    results: dict[str, object] = {"tree": study.tree, "traits": study.traits}
    results |= {f"kinetics_{level}": kinetics for level, kinetics in found.items()}
    if smoothed is not None:
        results["smoothed"] = smoothed
    save_results(out / "states.nc", results, {"settings": study.settings.model_dump_json()})
    for name, figure in draw_state_figures(study, found).items():
        with atomic_path(out / name) as temporary:
            save_figure(figure, temporary)


def _state_rows(study: Study, over_seeds: FloatArray) -> Iterator[dict[str, object]]:
    """Every state of every level: where it comes from, what it does, how long it lasts, how sure it is."""
    tree = study.tree
    for level in tree.levels[1:]:
        names, traits = state_names(study, level), traits_at(study, level)
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
                "complete_stays": len(dwells.of(k).complete),
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
    mean = mean_stay(dwells, state)
    return {"mean_stay_s": mean.estimate, "mean_stay_low_s": mean.low, "mean_stay_high_s": mean.high}


def _budget_rows(study: Study, kinetics: Kinetics) -> Iterator[dict[str, object]]:
    for name, row in zip(study.symbols.segments.individuals, kinetics.budget, strict=True):
        shares = zip(kinetics.names, row, strict=True)
        yield {"animal": name, **{f"share of {state}": float(share) for state, share in shares}}


def _transition_rows(found: Mapping[int, Kinetics]) -> Iterator[dict[str, object]]:
    for kinetics in found.values():
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


def _levels_table(study: Study) -> Table:
    table = Table(title="Levels (share of time)", title_justify="left", box=None, pad_edge=False, show_header=False)
    for level in study.tree.levels[1:]:
        shares = zip(state_names(study, level), study.tree.measures_at(level), strict=True)
        table.add_row(str(level), escape(", ".join(f"{name} {share:.3f}" for name, share in shares)))
    return table


def _states_table(study: Study, kinetics: Kinetics, over_seeds: FloatArray) -> Table:
    """Lay the finest states out: time, stays, stability, and what the body does."""
    table = Table(title=f"\n{kinetics.level} states", title_justify="left", box=None, pad_edge=False)
    traits = traits_at(study, kinetics.level)
    columns = {name: title for name, title in TRAIT_TITLES.items() if np.isfinite(getattr(traits, name)).any()}
    seeds = ("over seeds",) if len(over_seeds) else ()
    for title in ("state", "share", "mean dwell time (s)", "stability", *seeds, *columns.values()):
        table.add_column(title, justify="left" if title == "state" else "right")
    for k, node in enumerate(study.tree.nodes_at(kinetics.level)):
        table.add_row(
            escape(kinetics.names[k]),
            f"{study.tree.measure[node]:.3f}",
            str(mean_stay(kinetics.dwells, k)),
            f"{study.tree.stability[node]:.2f}",
            *(f"{over_seeds[:, node].mean():.2f}" for _ in seeds),
            *(f"{getattr(traits, name)[k]:.2f}" for name in columns),
        )
    return table


def _findings(study: Study, macro: Kinetics, laws: Mapping[str, LawChoice]) -> Iterator[str]:
    """Say what a reader takes home, in sentences."""
    tree = study.tree
    yield ""
    yield tree.verdict()
    yield (
        f"The first division has a coherence of {tree.coherence[0]:.3f}; cuts that are as good within 0.01 would move "
        f"{tree.undecided[0]:.1%} of the time to the other side."
    )
    rates = macro.rates
    yield (
        f"{macro.names[0]} to {macro.names[1]}: {_limits(rates.rates, rates.low, rates.high, (0, 1))} per s; back: "
        f"{_limits(rates.rates, rates.low, rates.high, (1, 0))} per s; relaxation "
        f"{rates.relaxation} s, from {_lags(rates)} (95 % over {rates.over})."
    )
    if not macro.is_steady:
        yield "The relaxation time of the two states still grows with the lag: they are not quite a Markov chain."
    for name, choice in laws.items():
        yield (
            f"Stays in {name}: best described by {choice.winner} (held out); the simplest law that is as good is "
            f"{choice.simplest}."
        )
    yield from _published_fit(study)
    failed = macro.check.fails("coarse")[1:]
    yield (
        f"Chapman-Kolmogorov: {int(failed.sum())} of {failed.size} probabilities after 2 to {len(macro.check.lags)} "
        "lags are foretold wrongly by the two states alone (interval of the difference leaves out zero)."
    )
    for node, remark in enumerate(tree.remark):
        if remark:
            was = "not supported" if tree.divided[node] > 0 else "not divided"
            yield f"Node {node} ({tree.measure[node]:.1%} of the time): {was}; a division would be {remark}."


def _published_fit(study: Study) -> Iterator[str]:
    try:
        fit = paper_biexponential(find_dwells(study.states(MACRO)), n_resamples=50, rng=study.settings.seed)
    except EthomarkovError as error:
        yield f"The published fit of two exponentials to all stays is not possible here: {error}"
        return
    yield (
        f"Two exponentials fitted to all stays as published: {fit.times[0]:.3g} and {fit.times[1]:.3g} s, which would "
        f"give a relaxation of {fit.relaxation} s."
    )


def _lags(rates: Rates) -> str:
    if rates.method == "two lags":
        return f"what changes between {rates.lag:.3g} and {3 * rates.lag:.3g} s"
    return f"one lag of {rates.lag:.3g} s"


def _limits(estimate: FloatArray, low: FloatArray, high: FloatArray, at: tuple[int, int]) -> str:
    return f"{estimate[at]:.3g} ({low[at]:.3g}, {high[at]:.3g})"
