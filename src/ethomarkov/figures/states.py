"""Timescales, the cut into macrostates, and what the animals do in time."""

import numpy as np
from matplotlib.axes import Axes

from ethomarkov._core.types import FloatArray
from ethomarkov.coarse import Cut
from ethomarkov.figures.style import DATA, MACROSTATES, plain_text
from ethomarkov.states import Symbols


def draw_coherence(axes: Axes, cut: Cut, stationary: FloatArray) -> None:
    """Draw coherence against the share of time below the threshold, with the chosen cut."""
    order = np.argsort(cut.phi)
    below = np.cumsum(stationary[order])
    share = np.array([below[np.searchsorted(cut.phi[order], t) - 1] for t in cut.thresholds])
    axes.plot(share, cut.curve, color=DATA, lw=1.2)
    best = cut.curve.argmax()
    axes.plot(share[best], cut.curve[best], "x", color="#D55E00", ms=8, mew=2)
    axes.annotate(
        f"χ = {cut.coherence:.2f}",
        (share[best], cut.curve[best]),
        textcoords="offset points",
        xytext=(0, 7),
        ha="center",
    )
    axes.set(xlabel="share of time below the cut", ylabel="coherence χ", xlim=(0, 1), ylim=(0, 1.05))
    axes.set_title("Where to divide the slow mode")


def draw_ethogram(axes: Axes, symbols: Symbols, names: tuple[str, ...], most_animals: int = 12) -> None:
    """Draw the macrostate of every animal in time."""
    rate, segments = symbols.sampling.rate, symbols.segments
    shown = min(segments.n_individuals, most_animals)
    for start, stop, individual in segments:
        if individual >= shown:
            continue
        labels = symbols.labels[start:stop]
        edges = np.concatenate([[0], np.flatnonzero(np.diff(labels)) + 1, [labels.size]])
        begin = (start - segments.offsets[individual] + edges[:-1]) / rate / 60
        width = np.diff(edges) / rate / 60
        for state, colour in enumerate(MACROSTATES):
            bars = list(zip(begin[labels[edges[:-1]] == state], width[labels[edges[:-1]] == state], strict=True))
            axes.broken_barh(bars, (individual - 0.4, 0.8), color=colour, lw=0)
    for name, colour in zip(names, MACROSTATES, strict=False):
        axes.plot([], [], color=colour, lw=6, label=name)
    axes.set(xlabel="time (min)", xlim=(0, None), ylim=(shown - 0.5, -0.5))
    axes.set_yticks(range(shown), [plain_text(name) for name in segments.individuals[:shown]])
    axes.legend(loc="lower right", ncols=2, bbox_to_anchor=(1.0, 1.0), borderaxespad=0.1)
    axes.set_title("Ethogram")
