"""The space of posture sequences on a plane, coloured by what the animal does there."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import LinearSegmentedColormap, to_rgba_array
from matplotlib.lines import Line2D

from ethomarkov._core.random import generator
from ethomarkov._core.types import BoolArray, FloatArray, IntArray
from ethomarkov.exceptions import InputFormatError
from ethomarkov.figures.style import DATA, plain_text, state_colours
from ethomarkov.markov import MarkovChain
from ethomarkov.states.projection import SequenceMap

# Purple and orange differ for colour-blind readers too; the middle is grey, since white dots vanish on paper.
DIVERGING = LinearSegmentedColormap.from_list(
    "purple_grey_orange", ["#2D004B", "#6A51A3", "#A79CCB", "#CCCCCC", "#F0AA52", "#CC6A08", "#7F3B08"]
)
SEQUENTIAL = "viridis"
AXIS_NAMES = {"umap": "UMAP", "pca": "principal direction"}
# Of the values, the share that the colours tell apart; the rest has the colour of the nearest limit.
SHOWN_PERCENT = 98.0
OMEGA_LIMITS = (-0.5, 0.5)
# Area in points² that all dots cover together, and the limits of one of them.
DOTS_AREA, SMALLEST_DOT, LARGEST_DOT = 3e4, 0.3, 12.0
# Along the longer side of a map; the smallest dot spans three cells of a panel of three inches.
CELLS = 1000
LARGEST_STATE, WIDEST_LINE = 60.0, 3.0
LINK = "#555555"


@dataclass(frozen=True, slots=True, kw_only=True)
class MapPanel:
    """What one panel of a figure of maps shows.

    Parameters
    ----------
    values
        One per frame; NaN where there is none.
    title
        Above the panel.
    label
        Of the colour bar, with the unit.
    limits
        Values at the ends of the colour bar; by default symmetric, and 98 % of the values lie within.
    """

    values: FloatArray
    title: str
    label: str
    limits: tuple[float, float] | None = None


def draw_map(
    axes: Axes,
    sequence_map: SequenceMap,
    values: FloatArray,
    *,
    label: str,
    limits: tuple[float, float] | None = None,
    diverging: bool = True,
) -> None:
    """Draw one dot per frame, coloured by a quantity; frames without a value are left out.

    Parameters
    ----------
    axes
        To draw on; a colour bar is added beside them.
    sequence_map
        Positions of the frames.
    values
        One per frame.
    label
        Of the colour bar, with the unit.
    limits
        Values at the ends of the colour bar; by default 98 % of the values lie within.
    diverging
        Whether zero is the middle: two hues with grey between them, and limits symmetric about zero.
    """
    values = np.asarray(values, dtype=float)
    shown = _shown_frames(sequence_map, np.isfinite(values), label)
    low, high = limits or _limits(values[shown], diverging)
    colours = DIVERGING if diverging else mpl.colormaps[SEQUENTIAL]
    dots = _dots(axes, sequence_map.frames[shown], values[shown], cmap=colours, vmin=low, vmax=high)
    extend = _extension(values[shown], low, high)
    axes.figure.colorbar(dots, ax=axes, label=label, shrink=0.8, aspect=22, extend=extend, drawedges=False)
    _name_axes(axes, sequence_map)


def draw_map_states(axes: Axes, sequence_map: SequenceMap, labels: IntArray, names: Sequence[str]) -> None:
    """Draw one dot per frame in the colour of its state; frames labelled ``-1`` are left out.

    Parameters
    ----------
    axes
        To draw on.
    sequence_map
        Positions of the frames.
    labels
        State of every frame.
    names
        Of the states, for the legend.
    """
    shown = _shown_frames(sequence_map, np.asarray(labels) >= 0, "The states")
    colours = state_colours(len(names))
    _dots(axes, sequence_map.frames[shown], to_rgba_array(colours)[labels[shown]])
    for colour, name in zip(colours, names, strict=True):
        axes.plot([], [], "o", color=colour, ms=5, label=plain_text(name))
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), handletextpad=0.2)
    _name_axes(axes, sequence_map)


def draw_map_panels(panels: Sequence[Axes], sequence_map: SequenceMap, quantities: Sequence[MapPanel]) -> None:
    """Draw the same map once per quantity, as in Fig. 1c and S6 of the paper.

    Parameters
    ----------
    panels
        To draw on, one for each quantity.
    sequence_map
        Positions of the frames.
    quantities
        What to show, as from `motion_panels` or `mode_panels`.
    """
    if not quantities:
        raise InputFormatError("There is nothing to draw on the map; pass at least one panel.")
    for axes, one in zip(panels, quantities, strict=True):
        draw_map(axes, sequence_map, one.values, label=one.label, limits=one.limits)
        axes.set_title(one.title)


def motion_panels(omega: FloatArray, bend: FloatArray) -> list[MapPanel]:
    """Prepare the panels of Fig. 1c: phase velocity of the body wave in cycles/s, and the amplitude a₃ of the bend."""
    return [
        MapPanel(values=omega, title="Body wave", label="phase velocity ω (cycles/s)", limits=OMEGA_LIMITS),
        MapPanel(values=bend, title="Bend", label="amplitude $a_3$ (rad)"),
    ]


def mode_panels(modes: FloatArray, relaxation_times: FloatArray, first: int = 2) -> list[MapPanel]:
    """Prepare one panel per slow mode of the chain, as in Fig. 4b and S6.

    Parameters
    ----------
    modes
        One row per frame, one column per mode, as from `modes_on_frames`.
    relaxation_times
        Of each mode, in seconds.
    first
        Number of the first column: φ₂ is the slowest mode.
    """
    return [
        MapPanel(
            values=column,
            title=f"Slow mode {k}, relaxes in {time:.2g} s",
            label=rf"eigenfunction $\phi_{{{k}}}$ (unit norm)",
        )
        for k, (column, time) in enumerate(zip(modes.T, relaxation_times, strict=True), start=first)
    ]


def draw_chain_on_map(axes: Axes, sequence_map: SequenceMap, chain: MarkovChain, *, threshold: float = 0.025) -> None:
    """Draw microstates as dots and likely transitions as lines.

    Parameters
    ----------
    axes
        To draw on.
    sequence_map
        Positions of the microstates.
    chain
        At a lag of one frame, as published, its transitions are local and the lines short.
    threshold
        Transitions as likely as this, or less, are not drawn.

    Notes
    -----
    Fig. 4a (left): the area of a dot is the share of time in it, the width of a line the probability.
    """
    positions = sequence_map.centers[chain.states]
    links = chain.transition.tocoo()
    drawn = (links.row != links.col) & (links.data > threshold)
    ends = np.stack([positions[links.row[drawn]], positions[links.col[drawn]]], axis=1)
    widths = WIDEST_LINE * links.data[drawn]
    axes.add_collection(LineCollection(list(ends), linewidths=widths, colors=LINK, alpha=0.6, zorder=1))
    share = chain.stationary / chain.stationary.max()
    axes.scatter(positions[:, 0], positions[:, 1], s=LARGEST_STATE * share, c=DATA, alpha=0.75, linewidths=0, zorder=2)
    axes.autoscale_view()
    _explain_chain(axes, float(chain.stationary.max()))
    axes.set_title(f"Markov chain, lag {chain.lag:.3g} s, P > {threshold:g}")
    _name_axes(axes, sequence_map)


def _explain_chain(axes: Axes, largest_share: float) -> None:
    """Say what sizes and widths mean."""
    dots = [
        Line2D([], [], ls="", marker="o", mec="none", color=DATA, alpha=0.75, ms=np.sqrt(part * LARGEST_STATE))
        for part in (1.0, 0.25)
    ]
    lines = [Line2D([], [], color=LINK, alpha=0.6, lw=WIDEST_LINE * probability) for probability in (0.5, 0.1)]
    words = [f"π = {part * largest_share:.2g}" for part in (1.0, 0.25)] + ["P = 0.5", "P = 0.1"]
    axes.legend(dots + lines, words, loc="upper left", bbox_to_anchor=(1.0, 1.0), handletextpad=0.6)


def _shown_frames(sequence_map: SequenceMap, has_value: BoolArray, name: str) -> IntArray:
    """List the frames to draw, in random order so that no animal covers another."""
    n_frames = len(sequence_map.frames)
    if has_value.shape != (n_frames,):
        raise InputFormatError(
            f"{name}: values of shape {has_value.shape} for a map of {n_frames} frames; pass one value per frame."
        )
    frames = np.flatnonzero(has_value & np.isfinite(sequence_map.frames).all(axis=1))
    if frames.size == 0:
        raise InputFormatError(f"{name}: no frame of the map has a value; pass values of the same recording.")
    return generator(0, "order of dots").permutation(frames)


def _limits(values: FloatArray, diverging: bool) -> tuple[float, float]:
    if diverging:
        reach = float(np.percentile(np.abs(values), SHOWN_PERCENT)) or 1.0
        return -reach, reach
    outside = (100.0 - SHOWN_PERCENT) / 2
    low, high = np.percentile(values, [outside, 100.0 - outside])
    return float(low), float(high)


def _extension(values: FloatArray, low: float, high: float) -> str:
    """Point the colour bar where values lie beyond it."""
    below, above = bool((values < low).any()), bool((values > high).any())
    return {(True, True): "both", (True, False): "min", (False, True): "max", (False, False): "neither"}[below, above]


def _dots(axes: Axes, positions: FloatArray, values: FloatArray, **colours: Any) -> PathCollection:  # noqa: ANN401
    """Draw dots, but for those that others cover; `values` are theirs or their colours, the rest is as for scatter."""
    size = float(np.clip(DOTS_AREA / len(positions), SMALLEST_DOT, LARGEST_DOT))
    seen = topmost_dots(positions)
    style: dict[str, Any] = {"s": size, "linewidths": 0, "rasterized": True, "c": values[seen]}
    return axes.scatter(positions[seen, 0], positions[seen, 1], **style, **colours)


def topmost_dots(positions: FloatArray) -> IntArray:
    """List the dots that are drawn last in their cell of a fine grid, in the order of drawing.

    Examples
    --------
    >>> topmost_dots(np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]]))
    array([1, 2])
    """
    low = positions.min(axis=0)
    reach = float(np.ptp(positions, axis=0).max())
    step = (reach or 1.0) / CELLS
    column, row = ((positions - low) / step).astype(np.int64).T
    _, from_last = np.unique((column * (CELLS + 1) + row)[::-1], return_index=True)
    return np.sort(len(positions) - 1 - from_last)


def _name_axes(axes: Axes, sequence_map: SequenceMap) -> None:
    """Name the axes, whose numbers mean nothing."""
    name = AXIS_NAMES.get(sequence_map.method, sequence_map.method)
    axes.set(xticks=[], yticks=[], xlabel=f"{name} 1", ylabel=f"{name} 2")
    axes.set_aspect("equal", adjustable="box")
    axes.spines[["left", "bottom"]].set_visible(False)
