"""Sampling of a chain: successors, visits and transition probabilities."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from ethomarkov._core.types import FloatArray, IntArray
from ethomarkov.exceptions import InputFormatError
from ethomarkov.figures.style import DATA, MISSING
from ethomarkov.markov import MarkovChain

ENSEMBLE = "#000000"
MOST_BINS = 60
N_LOG_BINS = 30


def draw_successors(axes: Axes, chains: Sequence[MarkovChain], ensemble: MarkovChain) -> None:
    """Draw how many microstates follow a microstate within one lag, for every animal and for all of them.

    Parameters
    ----------
    axes
        To draw on.
    chains
        One per animal.
    ensemble
        Of all animals.

    Notes
    -----
    Fig. S4d. A microstate that follows itself counts among its successors.
    """
    drawn = _lines(chains, ensemble)
    counts = [np.diff(chain.transition.indptr) for chain, _ in drawn]
    edges = whole_number_edges(int(max(count.max() for count in counts)))
    for count, (_, style) in zip(counts, drawn, strict=True):
        axes.stairs(np.histogram(count, edges)[0] / count.size, edges, **style)
    middle = float(np.median(counts[-1]))
    axes.axvline(middle, color=DATA, lw=1, ls="--", label=f"median {middle:g}")
    axes.set(xlabel=f"microstates reached within {ensemble.lag:.3g} s", ylabel="share of microstates")
    axes.set(xlim=(0, None), ylim=(0, None))
    axes.set_title("Successors of a microstate")
    axes.legend(loc="upper right")


def draw_visits(axes: Axes, visits: IntArray) -> None:
    """Draw how many frames the microstates hold.

    Parameters
    ----------
    axes
        To draw on; the horizontal axis is logarithmic.
    visits
        Frames in each microstate, as from `Symbols.visits`; empty ones are counted in the title.

    Notes
    -----
    Fig. S4e.
    """
    visited = visits[visits > 0]
    if visited.size == 0:
        raise InputFormatError(
            f"None of {visits.size} microstates was visited; count visits where there are sequences."
        )
    edges = np.geomspace(visited.min() * 0.9, visited.max() * 1.1, N_LOG_BINS + 1)
    counts = np.histogram(visited, edges)[0]
    axes.stairs(counts, edges, fill=True, color=DATA)
    middle = float(np.median(visited))
    axes.axvline(middle, color=ENSEMBLE, lw=1, ls="--", label=f"median {middle:g}")
    axes.set_xscale("log")
    axes.set(xlabel="frames in the microstate", ylabel="microstates", ylim=(0, 1.2 * counts.max()))
    n_empty = visits.size - visited.size
    axes.set_title("Visits" + (f" ({n_empty} microstates empty)" if n_empty else ""))
    axes.legend(loc="upper right")


def draw_probabilities(axes: Axes, chains: Sequence[MarkovChain], ensemble: MarkovChain) -> None:
    """Draw the cumulative distribution of the transition probabilities that are not zero.

    Parameters
    ----------
    axes
        To draw on; the horizontal axis is logarithmic.
    chains
        One per animal.
    ensemble
        Of all animals.

    Notes
    -----
    Fig. S4f.
    """
    for chain, style in _lines(chains, ensemble):
        axes.plot(*cumulative_share(chain.transition.data), drawstyle="steps-post", **style)
    axes.set_xscale("log")
    axes.set(xlabel="transition probability $P_{ij}$", ylabel="share of transitions at most $P_{ij}$", ylim=(0, 1.02))
    axes.set_title("Transition probabilities")
    axes.legend(loc="upper left")


def whole_number_edges(largest: int) -> FloatArray:
    """Make bins for whole numbers from one: all of the same width, at most 60.

    Examples
    --------
    >>> whole_number_edges(3)
    array([0.5, 1.5, 2.5, 3.5])
    """
    width = -(-largest // MOST_BINS)
    n_bins = -(-largest // width)
    return 0.5 + width * np.arange(n_bins + 1.0)


def cumulative_share(sample: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Give the positive values that occur, ascending, and the share of the sample at most as large."""
    values, counts = np.unique(sample[sample > 0], return_counts=True)
    return values, np.cumsum(counts) / counts.sum()


def _lines(chains: Sequence[MarkovChain], ensemble: MarkovChain) -> list[tuple[MarkovChain, dict[str, Any]]]:
    """Grey for every animal, black for all of them; one animal alone is its own ensemble."""
    if len(chains) < 2:
        return [(ensemble, {"color": ENSEMBLE, "lw": 1.4, "label": "one animal"})]
    animals = [
        (chain, {"color": MISSING, "lw": 0.8, "label": None if i else "each animal"}) for i, chain in enumerate(chains)
    ]
    return [*animals, (ensemble, {"color": ENSEMBLE, "lw": 1.4, "label": "all animals"})]
