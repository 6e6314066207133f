"""Panels of kinetics: how long the states last, what follows, and whether they form a chain."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from matplotlib.axes import Axes

from ethomarkov._core.types import FloatArray
from ethomarkov.coarse.dwell_laws import ExponentialSum
from ethomarkov.coarse.kinetics import Dwells, JumpChain
from ethomarkov.coarse.passage import CoarseTimes
from ethomarkov.coarse.tree import StateTree
from ethomarkov.figures.kinetics import (
    draw_chapman_kolmogorov,
    draw_coarse_times,
    draw_dwell_distribution,
    draw_survival,
    draw_transition_graph,
)
from ethomarkov.figures.panel import panel
from ethomarkov.figures.states import draw_time_budget
from ethomarkov.figures.style import fold_legend
from ethomarkov.markov import MarkovChain

if TYPE_CHECKING:
    from ethomarkov.model.kinetics import Kinetics

Names = Mapping[int, Sequence[str]]


@panel(
    caption=(
        "Share of dwells in the two macrostates that last longer than a time, taken together, with the published sum "
        "of two exponentials (band: 95 % over dwells)."
    ),
    height=3.3,
)
def pooled_survival(
    axes: Axes, frame_dwells: Dwells, names: Names, chain: MarkovChain, two_exponentials: ExponentialSum | None
) -> None:
    """Draw the survival of all dwells together, at the full frame rate as published (Fig. 4b)."""
    laws = {} if two_exponentials is None else {"two exponentials": two_exponentials}
    named = names[frame_dwells.n_states]
    draw_survival(axes, frame_dwells, named, pooled=True, laws=laws, shortest=chain.lag)
    fold_legend(axes, loc="upper right", fontsize="small")


@panel(caption="Share of dwells in each macrostate that last longer than a time (bands: 95 % over dwells).", height=3.3)
def survival(axes: Axes, macro_dwells: Dwells, names: Names) -> None:
    """Draw the survival of each macrostate (Fig. 4b)."""
    draw_survival(axes, macro_dwells, names[macro_dwells.n_states])


@panel(
    caption=lambda coarse_times: (
        f"Relaxation time of the chain of two macrostates against the lag (band: 95 % over {coarse_times.over})."
    ),
    height=3.4,
)
def macrostate_times(axes: Axes, coarse_times: CoarseTimes) -> None:
    """Draw the relaxation time of the two macrostates against the lag (Fig. S1c)."""
    draw_coarse_times(axes, coarse_times)


def _macro(kinetics: "Mapping[int, Kinetics]") -> "Kinetics":
    return kinetics[min(kinetics)]


@panel(
    caption="Probability to be in the same macrostate again after many lags, measured and predicted.",
    n_axes=lambda kinetics: _macro(kinetics).level,
    height=3.2,
)
def chapman_kolmogorov(axes: Sequence[Axes], kinetics: "Mapping[int, Kinetics]") -> None:
    """Draw the Chapman-Kolmogorov test of the macrostates."""
    found = _macro(kinetics)
    for k, one in enumerate(axes):
        draw_chapman_kolmogorov(one, found.check, (k, k), found.names)
    axes[0].legend(fontsize="small", loc="lower left")


@panel(caption="Share of time of each animal in the macrostates.", height=3.2)
def macro_time_budget(axes: Axes, macro_budget: FloatArray, names: Names) -> None:
    """Draw the time in the macrostates."""
    draw_time_budget(axes, macro_budget, names[macro_budget.shape[1]])


@panel(caption="Share of time of each animal in each state.", height=4.4)
def time_budget(axes: Axes, budget: FloatArray, names: Names) -> None:
    """Draw the time in the finest states."""
    draw_time_budget(axes, budget, names[budget.shape[1]])


@panel(
    caption="How long dwells in the finest states last (means with 95 % intervals in the legend).",
    height=4.2,
)
def dwell_distribution(axes: Axes, dwells: Dwells, names: Names) -> None:
    """Draw how dwells in the finest states end (Fig. 4c)."""
    draw_dwell_distribution(axes, dwells, names[dwells.n_states])


@panel(caption="Which state follows which.", width=1.3, height=4.6)
def transitions(axes: Axes, jumps: JumpChain, names: Names, tree: StateTree) -> None:
    """Draw which of the finest states follows which (Fig. 4c)."""
    n_states = len(jumps.counts)
    draw_transition_graph(axes, jumps, names[n_states], time_share=tree.measures_at(n_states))
