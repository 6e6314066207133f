"""Panels of figures of the paper that set data beside simulation."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from matplotlib.axes import Axes

from ethomarkov._core.interval import Interval
from ethomarkov._core.words import count_of
from ethomarkov.figures.validation import draw_autocorrelation, draw_held_out_bands, draw_rates
from ethomarkov.report.held_out import HeldOutCorrelation
from ethomarkov.report.paper_layout import LeftOut, Panel, Piece, lacking, side_by_side
from ethomarkov.report.paper_parts import Parts
from ethomarkov.report.paper_postures import MOST_MODES
from ethomarkov.report.validation_figures import collect_intervals, pooled_correlations
from ethomarkov.workflow.study import Study


def correlation_pieces(study: Study, parts: Parts) -> list[Piece]:
    """Show the autocorrelation of every mode, of all animals and of runs of their models."""
    if not parts.animals:
        return [LeftOut(letter="b", reason=lacking("autocorrelations", "validate STUDY"))]
    data, runs = pooled_correlations(parts.animals)
    words = (
        f"Autocorrelation of the modes of {count_of(len(parts.animals), 'animal')} and of runs of their models (bands "
        "as the legend says)."
    )
    n_modes = min(MOST_MODES, study.postures.n_components)
    return _mode_row("b", words, n_modes, lambda axes, mode: draw_autocorrelation(axes, data, runs, mode, legend=False))


def _mode_row(letter: str, words: str, n_modes: int, draw: Callable[[Axes, int], None]) -> list[Piece]:
    """Make a row of axes, one per mode, with one label on the left and one legend on the right."""

    def draw_mode(mode: int, axes: Axes) -> None:
        draw(axes, mode)
        if mode:
            axes.set_ylabel("")
        if mode == n_modes - 1:
            axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize="small")

    return side_by_side(letter, words, [partial(draw_mode, mode) for mode in range(n_modes)])


def rates_piece(parts: Parts, letter: str, title: tuple[str, str], kinds: Sequence[str]) -> Piece:
    """Show rates of every animal against those of its own model; the title is what they are, and their unit."""
    if not parts.animals:
        return LeftOut(letter=letter, reason=lacking(title[0].lower(), "validate STUDY"))
    known = {check.statistic for one in parts.animals for check in one.checks}
    if not set(kinds) <= known:
        return LeftOut(letter=letter, reason=lacking(f"{title[0].lower()} of these states", "validate STUDY"))
    data, runs = collect_intervals(parts.animals, kinds)
    words = (
        f"{title[0]} of every animal and of its own model (bars: 95 % intervals over events for data, 95 % of the runs "
        "for simulation)."
    )
    return Panel(
        letter=letter, words=words, draw=lambda axes: draw_rates(axes, data, runs, title=title[0], unit=title[1])
    )


def held_out_pieces(parts: Parts, letter: str, individual: int = 0) -> list[Piece]:
    """Show the autocorrelation of every mode in held-out data of an animal, and in runs learned from the rest of it."""
    found = parts.held_out
    if found is None:
        reason = lacking("held-out autocorrelations", "validate STUDY --repeats 50")
        return [LeftOut(letter=letter, reason=reason)]
    words = (
        f"Autocorrelation of the modes in held-out data of {found.individuals[individual]} and in runs learned from "
        "the rest of it (bands as the legend says)."
    )
    n_modes = min(MOST_MODES, found.test.shape[2])
    return _mode_row(
        letter, words, n_modes, lambda axes, mode: draw_held_out_correlation(axes, found, mode, individual)
    )


def draw_held_out_correlation(axes: Axes, found: HeldOutCorrelation, component: int, individual: int = 0) -> None:
    """Draw the autocorrelation of one mode in held-out data of an animal, and in runs learned from the rest.

    Parameters
    ----------
    axes
        To draw on.
    found
        As `ethomarkov validate --repeats` keeps it; `draw_test_autocorrelation` draws the same from all splits.
    component, individual
        Indices of the mode and of the animal.

    Notes
    -----
    Fig. S4a.
    """
    test, simulated = (tuple(side[individual, :, component]) for side in (found.test, found.simulated))
    draw_held_out_bands(axes, found.lags, (test, simulated), (found.n_splits, found.n_runs), component)


def split_piece(parts: Parts, letter: str, statistic: str, names: Sequence[str]) -> Piece:
    """Show held-out data against runs learned from the rest, as means over splits."""
    rows = [row for row in parts.splits if row["statistic"] == statistic]
    if not rows:
        reason = lacking(f"cross-validated {statistic}", "validate STUDY --repeats 50")
        return LeftOut(letter=letter, reason=reason)
    unit, repeats = "1/min" if statistic == "event rates" else "1/s", rows[0]["repeats"]
    sides = [
        {
            name: [_point(float(row[side])) for row in rows if int(row["number"]) == number]
            for number, name in enumerate(names)
        }
        for side in ("test_mean", "simulated_mean")
    ]

    def draw(axes: Axes) -> None:
        draw_rates(axes, *sides, unit=unit)
        axes.set_title(f"Cross-validated {statistic}\n(means of {repeats} splits)")
        axes.set_xlabel(f"held-out data ({unit})")

    words = f"Held-out {statistic} of every animal against runs learned from the rest of it, means of {repeats} splits."
    return Panel(letter=letter, words=words, draw=draw)


def _point(value: float) -> Interval:
    return Interval(estimate=value, low=np.nan, high=np.nan, level=0.95, over="splits", n=1)
