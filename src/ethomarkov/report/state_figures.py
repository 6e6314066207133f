"""Figures of a study's states: the tree, its kinetics, what the body does (Fig. 4b,c, S1c, S7, S8)."""

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from ethomarkov.coarse.coherence import coherence_of_sets
from ethomarkov.figures.kinetics import (
    draw_chapman_kolmogorov,
    draw_coarse_times,
    draw_dwell_distribution,
    draw_survival,
    draw_transition_graph,
)
from ethomarkov.figures.states import (
    draw_coherence,
    draw_ethogram,
    draw_state_postures,
    draw_time_budget,
    draw_trait_distribution,
)
from ethomarkov.figures.style import figure_style, new_figure
from ethomarkov.figures.tree import draw_tree
from ethomarkov.posture import phase_velocity
from ethomarkov.workflow.kinetics import Kinetics
from ethomarkov.workflow.states import state_names
from ethomarkov.workflow.study import MACRO, Study

ROW_INCHES, MOST_ANIMALS = 0.28, 24


def draw_state_figures(study: Study, kinetics: Mapping[int, Kinetics]) -> dict[str, Figure]:
    """Draw all figures of the states, by file name.

    Parameters
    ----------
    study
        With its tree.
    kinetics
        Of the two macrostates and of the finest level.
    """
    finest = kinetics[study.finest]
    figures = {
        "tree.png": tree_figure(study),
        "ethogram.png": ethogram_figure(study, study.finest),
        "kinetics.png": kinetics_figure(study, kinetics[MACRO]),
        "states.png": states_figure(study, finest),
    }
    if study.is_worm and study.basis is not None:
        figures["traits.png"] = traits_figure(study)
        names = state_names(study, study.finest)
        figures["postures.png"] = draw_state_postures(study.states(study.finest), study.postures, study.basis, names)
    return figures


def tree_figure(study: Study) -> Figure:
    """Draw the tree of states."""
    with figure_style():
        figure = new_figure(10.5, 1.2 + 0.55 * study.finest)
        draw_tree(figure.subplots(), study.tree, {level: state_names(study, level) for level in study.tree.levels})
    return figure


def ethogram_figure(study: Study, level: int) -> Figure:
    """Draw the state of every animal in time."""
    with figure_style():
        figure = new_figure(9.5, 1.3 + ROW_INCHES * min(study.symbols.segments.n_individuals, MOST_ANIMALS))
        draw_ethogram(figure.subplots(), study.states(level), state_names(study, level), MOST_ANIMALS)
    return figure


def kinetics_figure(study: Study, macro: Kinetics) -> Figure:
    """Draw cut, stays, relaxation against lag and the Chapman-Kolmogorov test of the two macrostates."""
    with figure_style():
        figure = new_figure(11.0, 6.4)
        (cut, stays, times), (stay_0, stay_1, budget) = figure.subplots(2, 3)
        draw_coherence(
            cut, study.cut, study.chain.stationary, coherence_of_sets(study.cut.phi, study.chain)[1], against="mode"
        )
        draw_survival(stays, macro.dwells, macro.names)
        draw_coarse_times(times, macro.times)
        for axes, k in ((stay_0, 0), (stay_1, 1)):
            draw_chapman_kolmogorov(axes, macro.check, (k, k), macro.names)
        stay_0.legend(fontsize="small", loc="lower left")
        draw_time_budget(budget, macro.budget, macro.names)
    return figure


def states_figure(study: Study, finest: Kinetics) -> Figure:
    """Draw stays, time budget and transitions of the finest level."""
    with figure_style():
        figure = new_figure(12.0, 7.0)
        grid = figure.add_gridspec(2, 2, width_ratios=[1, 1.25])
        draw_time_budget(figure.add_subplot(grid[0, 0]), finest.budget, finest.names)
        draw_dwell_distribution(figure.add_subplot(grid[1, 0]), finest.dwells, finest.names)
        shares = study.tree.measures_at(finest.level)
        draw_transition_graph(figure.add_subplot(grid[:, 1]), finest.jumps, finest.names, time_share=shares)
    return figure


def traits_figure(study: Study) -> Figure:
    """Draw the distributions of phase velocity and bend in the finest states."""
    labels, names = study.states(study.finest).labels, state_names(study, study.finest)
    bend = study.postures.values[:, 2].astype(float)
    reach = float(np.nanquantile(np.abs(bend), 0.998))
    with figure_style():
        figure = new_figure(10.5, 4.0)
        left, right = figure.subplots(1, 2)
        draw_trait_distribution(
            left, phase_velocity(study.postures), labels, names, label="phase velocity ω (cycles/s)", limits=(-1.0, 1.2)
        )
        draw_trait_distribution(right, bend, labels, names, label="bend a₃ (ventral > 0)", limits=(-reach, reach))
        left.get_legend().remove()
    return figure
