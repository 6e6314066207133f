"""The states of a study: their tree, with names and kinetics."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from rich.markup import escape
from rich.table import Table

from ethomarkov.cli.desk import Desk, open_study
from ethomarkov.cli.options import RunningOptions, require_at_least
from ethomarkov.cli.settings_options import chosen_settings, given_settings, make_options
from ethomarkov.cli.terminal import make_table
from ethomarkov.exceptions import EthomarkovError, InputFormatError
from ethomarkov.study.files import STUDY_FILE, find_study

if TYPE_CHECKING:
    from ethomarkov._core.types import FloatArray
    from ethomarkov.coarse.dwell_laws import LawChoice
    from ethomarkov.coarse.passage import Rates
    from ethomarkov.coarse.smoothing import SmoothStates
    from ethomarkov.model.kinetics import Kinetics
    from ethomarkov.study import Study

    TreeOptions = object
else:
    TreeOptions = make_options("TreeOptions", ["n_behaviours", "min_measure", "n_resamples"], show_defaults=False)
DEFAULT_TREE, DEFAULT = TreeOptions(), RunningOptions()
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
    out: Path | None = None,
    rename: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    seeds: int = 0,
    smooth: Annotated[bool, Parameter(negative=())] = False,
    tree: TreeOptions = DEFAULT_TREE,
    running: RunningOptions = DEFAULT,
) -> None:
    """Divide a study's behaviour into a tree of states; name them, time them, and write them for other programs.

    The study itself takes the new tree and the new names, so that all later figures and tables show them. What is not
    given stays as it is in the study, except the number of states: as many as the recordings support.

    Parameters
    ----------
    study
        Directory that `ethomarkov run` wrote.
    out
        Directory for tables, bouts and figures; `states` in the study's own by default.
    rename
        New names, as "slow dorsal=head casting"; may be given several times.
    seeds
        Further partitions into microstates, from other random seeds, that tell how stable each state is (slow: each
        estimates all microstates again).
    smooth
        Let every frame's state depend on the frames around it, in bouts and states in time. Shares, dwell times and
        rates stay those of the tree.
    """
    require_at_least(seeds, 0, "--seeds")
    chosen_settings(tree, None, None)  # refuses what is not possible
    new_names, changes = _renames(rename), {"n_behaviours": None} | given_settings(tree)
    _check_file(study)
    from ethomarkov.io.atomic import check_writable
    from ethomarkov.model.behaviour import MACRO
    from ethomarkov.report.bouts import write_bouts
    from ethomarkov.report.summary import key_figures
    from ethomarkov.report.tables import state_tables
    from ethomarkov.study.study import regrow_study

    desk = open_study(study, running, out, "states")
    check_writable(desk.home)
    with desk.working():
        desk.study = regrow_study(desk.study, new_names, **changes)
        key_figures(desk.study)
        found = {level: desk.compute("kinetics", level=level) for level in dict.fromkeys((MACRO, desk.study.finest))}
        laws = desk.compute("dwell_law").laws
        over_seeds = _over_seeds(desk, seeds)
        smoothed = desk.compute("smoothed_states", level=desk.study.finest) if smooth else None
        write_bouts(desk.study, smoothed, desk.out)
        desk.write(state_tables(desk.study, found, over_seeds))
        desk.draw("states", kinetics=found)
        fit = _published_fit(desk)
    desk.show(_levels_table(desk.study), _states_table(desk.study, found[desk.study.finest], over_seeds))
    desk.say(*_conclusions(desk.study, found[MACRO], laws, fit), *_said_of(desk.study, smoothed))
    desk.close(" The study has the new tree and names.")


def _over_seeds(desk: Desk, n_seeds: int) -> "FloatArray":
    import numpy as np

    if not n_seeds:
        return np.empty((0, desk.study.tree.n_nodes))
    overlap: FloatArray = desk.compute("seed_stability", n_seeds=n_seeds).overlap
    return overlap


def _check_file(study: Path) -> None:
    """Refuse a file that the new tree could not be written into."""
    if find_study(study).name != STUDY_FILE:
        raise InputFormatError(
            f"{study}: the new tree is written into {STUDY_FILE}, which this file is not. Rename it, or name the "
            "directory that `ethomarkov run` wrote."
        )


def _renames(given: Sequence[str]) -> dict[str, str]:
    pairs = [item.partition("=") for item in given]
    for old, sign, new in pairs:
        if not (old.strip() and sign and new.strip()):
            raise InputFormatError(
                f"--rename is {old + sign + new!r}; an old and a new name are needed, as in "
                '--rename "slow dorsal=head casting".'
            )
    return {old.strip(): new.strip() for old, _, new in pairs}


def _said_of(study: "Study", smoothed: "SmoothStates | None") -> Iterator[str]:
    """Say which labels are written, where they are not those of the tree."""
    if smoothed is None:
        return
    import numpy as np

    tree = study.states(study.finest)
    moved = np.mean((smoothed.states.labels != tree.labels)[tree.segments.valid])
    yield (
        "Bouts and states in time (bouts.csv, intervals, states_movement.nc) are smoothed, which gave "
        f"{moved:.1%} of the frames another state; shares, dwell times and rates are those of the tree."
    )
    before, after = tree.visits() / tree.visits().sum(), smoothed.states.visits() / tree.visits().sum()
    for name, old, new in zip(study.names(study.finest), before, after, strict=True):
        if not old / MOST_CHANGE < new < old * MOST_CHANGE:
            yield f"Smoothing took {name} from {old:.1%} to {new:.1%} of the time: do not trust its smoothed bouts."


def _levels_table(study: "Study") -> Table:
    table = Table(title="Levels (share of time)", title_justify="left", box=None, pad_edge=False, show_header=False)
    for level in study.tree.levels[1:]:
        shares = zip(study.names(level), study.tree.measures_at(level), strict=True)
        table.add_row(str(level), escape(", ".join(f"{name} {share:.3f}" for name, share in shares)))
    return table


def _states_table(study: "Study", kinetics: "Kinetics", over_seeds: "FloatArray") -> Table:
    """Lay the finest states out: time, dwell times, stability, and what the body does."""
    import numpy as np

    from ethomarkov.coarse.kinetics import mean_dwell

    traits = study.traits_at(kinetics.level)
    columns = {name: title for name, title in TRAIT_TITLES.items() if np.isfinite(getattr(traits, name)).any()}
    seeds = ("over seeds",) if len(over_seeds) else ()
    titles = ("state", "share", "mean dwell time (s)", "stability", *seeds, *columns.values())
    table = make_table(*titles, left=["state"], title=f"\n{kinetics.level} states")
    for k, node in enumerate(study.tree.nodes_at(kinetics.level)):
        table.add_row(
            escape(kinetics.names[k]),
            f"{study.tree.measure[node]:.3f}",
            str(mean_dwell(kinetics.dwells, k)),
            f"{study.tree.stability[node]:.2f}",
            *(f"{over_seeds[:, node].mean():.2f}" for _ in seeds),
            *(f"{getattr(traits, name)[k]:.2f}" for name in columns),
        )
    return table


def _conclusions(study: "Study", macro: "Kinetics", laws: Mapping[str, "LawChoice"], fit: str) -> Iterator[str]:
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
            f"Dwell times in {name}: best described by {choice.winner} (held out); the simplest law that is as good is "
            f"{choice.simplest}."
        )
    yield fit
    failed = macro.check.fails("coarse")[1:]
    yield (
        f"Chapman-Kolmogorov: {int(failed.sum())} of {failed.size} probabilities after 2 to {len(macro.check.lags)} "
        "lags are predicted wrongly by the two states alone (interval of the difference leaves out zero)."
    )
    for node, remark in enumerate(tree.remark):
        if remark:
            was = "not supported" if tree.divided[node] > 0 else "not divided"
            yield f"Node {node} ({tree.measure[node]:.1%} of the time): {was}; a division would be {remark}."


def _published_fit(desk: Desk) -> str:
    try:
        fit = desk.compute("published_dwell_law")
    except EthomarkovError as error:
        return f"The published fit of two exponentials to all dwell times is not possible here: {error}"
    return (
        f"Two exponentials fitted to all dwell times as published: {fit.times[0]:.3g} and {fit.times[1]:.3g} s, which "
        f"would give a relaxation of {fit.relaxation} s."
    )


def _lags(rates: "Rates") -> str:
    if rates.method == "two lags":
        return f"what changes between {rates.lag:.3g} and {3 * rates.lag:.3g} s"
    return f"one lag of {rates.lag:.3g} s"


def _limits(estimate: "FloatArray", low: "FloatArray", high: "FloatArray", at: tuple[int, int]) -> str:
    return f"{estimate[at]:.3g} ({low[at]:.3g}, {high[at]:.3g})"
