"""Panels of the states: how they are divided, when they are visited, what the body does in them."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from ethomarkov._core.series import Series
from ethomarkov._core.types import FloatArray
from ethomarkov.coarse import Cut
from ethomarkov.coarse.tree import StateTree
from ethomarkov.figures.panel import panel
from ethomarkov.figures.states import draw_coherence, draw_ethogram, draw_state_postures, draw_trait_distribution
from ethomarkov.figures.style import remove_legend
from ethomarkov.figures.tree import draw_tree
from ethomarkov.markov import MarkovChain
from ethomarkov.posture import PostureBasis
from ethomarkov.states import Symbols

Names = Mapping[int, Sequence[str]]
ROW_INCHES, MOST_ANIMALS, FEWER_ANIMALS = 0.28, 24, 12


@panel(
    caption=(
        "For every possible division along the slow mode, the eigenvalue of the chain of the two sides times the share "
        "of the mode that they explain."
    ),
    height=3.0,
)
def cut_by_share(axes: Axes, cut: Cut, chain: MarkovChain) -> None:
    """Draw the score of a cut against the share of time below it."""
    draw_coherence(axes, cut, chain.stationary)


@panel(
    caption=(
        "Score of every cut along the slowest mode, with the coherence of the two sets on both sides of it, and the "
        "chosen cut."
    ),
    height=3.4,
)
def cut_by_mode(axes: Axes, cut: Cut, chain: MarkovChain, set_coherence: FloatArray) -> None:
    """Draw the score of a cut against the slow mode at it, with the coherence of both sides (Fig. S7)."""
    draw_coherence(axes, cut, chain.stationary, set_coherence, against="mode")


@panel(
    caption="The tree of states (numbers: stability of the division when animals are resampled, 1 is best).",
    height=lambda tree: 1.0 + 0.53 * max(tree.levels),
)
def tree_of_states(axes: Axes, tree: StateTree, names: Names) -> None:
    """Draw how states are divided (Fig. 4c)."""
    draw_tree(axes, tree, names)


@panel(
    caption="Macrostate of every animal in time; grey where there is no posture sequence.",
    height=lambda macrostates: 1.0 + ROW_INCHES * min(macrostates.segments.n_individuals, FEWER_ANIMALS),
)
def macro_ethogram(axes: Axes, macrostates: Symbols, names: Names) -> None:
    """Draw the macrostates in time."""
    draw_ethogram(axes, macrostates, names[macrostates.n_states], FEWER_ANIMALS)


@panel(
    caption="State of every animal in time; grey where there is no posture sequence.",
    height=lambda finest_states: 1.3 + ROW_INCHES * min(finest_states.segments.n_individuals, MOST_ANIMALS),
)
def ethogram(axes: Axes, finest_states: Symbols, names: Names) -> None:
    """Draw the finest states in time."""
    draw_ethogram(axes, finest_states, names[finest_states.n_states], MOST_ANIMALS)


@panel(
    caption="Densities of phase velocity and bend over the frames of each state; triangles are means.",
    n_axes=2,
    height=4.0,
)
def traits_of_states(
    axes: Sequence[Axes], phase_velocity: FloatArray, postures: Series, finest_states: Symbols, names: Names
) -> None:
    """Draw the distributions of phase velocity and bend in the finest states (Fig. S8a)."""
    labels, named = finest_states.labels, names[finest_states.n_states]
    bend = postures.values[:, 2].astype(float)
    reach = float(np.nanquantile(np.abs(bend), 0.998))
    wave, bent = "phase velocity ω (cycles/s)", "bend a₃ (ventral > 0)"
    draw_trait_distribution(axes[0], phase_velocity, labels, named, label=wave, limits=(-1.0, 1.2))
    draw_trait_distribution(axes[1], bend, labels, named, label=bent, limits=(-reach, reach))
    remove_legend(axes[0])


@panel(
    caption="Tangent angles along the body in the longest dwell in each state, and outlines of the body in it.",
    n_axes=lambda finest_states: 2 * finest_states.n_states,
    columns=2,
    height=lambda finest_states: 0.85 + 1.0 / finest_states.n_states,  # and an inch for the colour bar
)
def postures_of_states(
    axes: Sequence[Axes], body_basis: PostureBasis, finest_states: Symbols, postures: Series, names: Names
) -> None:
    """Draw the longest dwell in each of the finest states (Fig. S8b)."""
    draw_state_postures(axes, finest_states, postures, body_basis, names[finest_states.n_states])
