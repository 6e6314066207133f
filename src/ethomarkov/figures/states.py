"""The cut into macrostates, what the animals do in time, and what the body does in each state."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.patches import Patch

from ethomarkov._core.interval import interval_of_mean
from ethomarkov._core.series import Series
from ethomarkov._core.types import FloatArray, IntArray
from ethomarkov._core.words import count_of
from ethomarkov.coarse import Cut
from ethomarkov.coarse.coherence import FLAT
from ethomarkov.coarse.examples import longest_dwells
from ethomarkov.exceptions import InputFormatError
from ethomarkov.figures.style import (
    DATA,
    MISSING,
    SIMULATION,
    plain_text,
    state_colours,
    state_labels,
)
from ethomarkov.posture import PostureBasis, centerline_from_angles
from ethomarkov.states import Symbols

MOST_COLUMNS = 1200
LEGEND_COLUMNS = 4
N_BINS = 60
SHOWN_PERCENT = 99.0
DARK = "#333333"
SET_STYLES = (("lower set", "--"), ("upper set", ":"))
DWELL_SECONDS = 8.0
N_BODIES, BODY_STEP, BODY_WIDTH = 5, 0.85, 0.07
STEEPEST = 1.5
"""Tangent angle in radians at the ends of the colours; deep turns go beyond."""


def draw_coherence(
    axes: Axes,
    cut: Cut,
    stationary: FloatArray,
    sets: FloatArray | None = None,
    *,
    against: Literal["share", "mode"] = "share",
) -> None:
    """Draw coherence against the place of the cut, with the chosen one and those that are as good.

    Parameters
    ----------
    axes
        To draw on.
    cut
        The chosen one, with the coherence of all others.
    stationary
        Share of time in each microstate of the chain.
    sets
        Coherence of each set alone, from `coherence_of_sets`.
    against
        The share of time below the cut, or the value φ of the slow mode at it.

    Notes
    -----
    Fig. S7.
    """
    where = _share_below(cut, stationary) if against == "share" else cut.thresholds
    flat_from, best, flat_to = np.interp((cut.flat_from, cut.threshold, cut.flat_to), cut.thresholds, where)
    axes.axvspan(flat_from, flat_to, color=MISSING, alpha=0.4, lw=0, label=f"within {FLAT:g} of the best")
    published = cut.rule == "paper"
    label = "smaller of the two sets" if published else "persistence × share explained"
    axes.plot(where, cut.curve, color=DATA, lw=1.5, label=label if sets is not None or not published else None)
    for (name, style), curve in zip(SET_STYLES, () if sets is None else sets, strict=False):
        axes.plot(where, curve, color=DARK, lw=0.9, ls=style, label=name, zorder=1.5)
    mark = "best cut" if cut.is_interior else "best cut, at an end of the curve"
    height = cut.coherence if published else np.interp(cut.threshold, cut.thresholds, cut.curve)
    axes.plot(best, height, "x", color=SIMULATION, ms=8, mew=2, ls="", label=f"{mark}, χ = {cut.coherence:.2f}")
    axes.set(ylabel="coherence χ" if published else "score of the cut", ylim=(0, 1.05))
    if against == "share":
        axes.set(xlabel="share of time below the cut", xlim=(0, 1))
    else:
        axes.set(xlabel=rf"slow mode $\phi_{{{cut.mode}}}$ at the cut")
    # curves fill the panel: where none is free, words stand before them
    axes.legend(loc="best", fontsize="small", frameon=True, framealpha=0.85, edgecolor="none", facecolor="white")
    axes.set_title("Where to divide the slow mode")


def _share_below(cut: Cut, stationary: FloatArray) -> FloatArray:
    """Share of time below every threshold."""
    place = np.searchsorted(cut.thresholds, cut.phi, side="right")
    return np.cumsum(np.bincount(place, stationary, cut.thresholds.size + 1).astype(float))[:-1]


def draw_ethogram(
    axes: Axes,
    symbols: Symbols,
    names: Sequence[str],
    most_animals: int = 12,
    *,
    window: tuple[float, float] | None = None,
) -> None:
    """Draw the state of every animal in time.

    Parameters
    ----------
    axes
        To draw on; the legend lies above them.
    symbols
        States in time.
    names
        Of the states.
    most_animals
        The first ones are drawn, up to this number.
    window
        First and last second to show, from the start of each recording; all when None.

    Notes
    -----
    Long recordings are drawn in columns of several frames, each in the colour of its most frequent state.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> axes = Figure().subplots()
    >>> from ethomarkov.synthetic import hopping_chain
    >>> states = hopping_chain([[0.9, 0.1], [0.2, 0.8]], 500, n_walks=2, rate=10.0, rng=1)
    >>> draw_ethogram(axes, states, ("run", "pirouette"))
    >>> axes.get_xlabel(), len(axes.get_yticks())
    ('time (min)', 2)
    """
    labels = state_labels(names, symbols.n_states)
    colours = state_colours(symbols.n_states)
    segments, rate = symbols.segments, symbols.sampling.rate
    shown = min(segments.n_individuals, most_animals)
    lengths = np.diff(segments.offsets)[:shown]
    first, last = (0, int(lengths.max(initial=1))) if window is None else (round(t * rate) for t in window)
    if not 0 <= first < last:
        raise InputFormatError(f"window={window} shows nothing; give a first and a later last second from zero on.")
    width = -(-(last - first) // MOST_COLUMNS)
    for i in range(shown):
        row = symbols.labels[segments.offsets[i] : segments.offsets[i + 1]][first:last]
        if row.size == 0:  # it ended before the window
            continue
        image = _commonest(row, width, symbols.n_states)
        extent = (first / rate / 60, (first + image.size * width) / rate / 60, i + 0.4, i - 0.4)
        axes.imshow(
            image[None] + 1,  # the first colour is for missing frames
            cmap=ListedColormap([MISSING, *colours]),
            vmin=-0.5,
            vmax=symbols.n_states + 0.5,
            extent=extent,
            aspect="auto",
            interpolation="nearest",
        )
    is_missing = bool((symbols.labels[: segments.offsets[shown]] < 0).any())
    entries = [*zip(labels, colours, strict=True), *([("missing", MISSING)] if is_missing else [])]
    handles = [Patch(color=colour, label=label) for label, colour in entries]
    axes.set(xlabel="time (min)", xlim=(first / rate / 60, last / rate / 60), ylim=(shown - 0.5, -0.5))
    axes.set_yticks(range(shown), [plain_text(name) for name in segments.individuals[:shown]])
    columns = min(len(handles), LEGEND_COLUMNS)
    axes.legend(handles=handles, loc="lower left", ncols=columns, bbox_to_anchor=(0.0, 1.0), borderaxespad=0.3)
    if width > 1:
        axes.set_xlabel(f"time (min); each column is the most frequent state of {width / rate:.2g} s")


def _commonest(row: IntArray, width: int, n_states: int) -> IntArray:
    """Find the most frequent state among every `width` frames; ``-1`` where all are missing."""
    column = np.arange(row.size) // width
    n_columns = -(-row.size // width)
    seen = row >= 0
    counts = np.bincount(column[seen] * n_states + row[seen], minlength=n_columns * n_states)
    counts = counts.reshape(n_columns, n_states)
    commonest: IntArray = np.where(counts.any(axis=1), counts.argmax(axis=1), -1)
    return commonest


def draw_time_budget(axes: Axes, shares: FloatArray, names: Sequence[str]) -> None:
    """Draw how much time the animals spend in each state: every animal, and the mean with its interval.

    Parameters
    ----------
    axes
        To draw on.
    shares
        ``(animals, states)`` as from `time_budget`.
    names
        Of the states.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> axes = Figure().subplots()
    >>> draw_time_budget(axes, np.array([[0.8, 0.2], [0.7, 0.3], [0.9, 0.1]]), ("run", "pirouette"))
    >>> axes.get_xlabel()
    'share of time (%)'
    """
    n_animals, n_states = shares.shape
    colours = state_colours(n_states)
    across = 0.24 * np.linspace(-1, 1, n_animals) if n_animals > 1 else np.zeros(1)
    for state, colour in enumerate(colours):
        axes.plot(100 * shares[:, state], state + across, "o", color=colour, ms=4, mew=0, zorder=3)
        if n_animals > 1:
            found = interval_of_mean(shares[:, state], "animals", scale="share")
            axes.plot(100 * found.estimate, state, "|", color=DARK, ms=16, mew=1.5)
            axes.plot([100 * found.low, 100 * found.high], [state, state], color=DARK, lw=1.5)
    name_rows(axes, state_labels(names, n_states))
    axes.set(xlabel="share of time (%)", xlim=(0, None))
    counted = count_of(n_animals, "animal")
    axes.set_title(f"Time budget, {counted}" + (" (mean, 95 % over animals)" if n_animals > 1 else ""))


def name_rows(axes: Axes, labels: Sequence[str]) -> None:
    """Write names on the vertical axis, one per row, the first on top."""
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)


def draw_trait_distribution(
    axes: Axes,
    values: FloatArray,
    labels: IntArray,
    names: Sequence[str],
    *,
    label: str,
    limits: tuple[float, float] | None = None,
) -> None:
    """Draw how a quantity is distributed within each state.

    Parameters
    ----------
    axes
        To draw on.
    values
        One per frame, such as the phase velocity ω or the bend a₃; NaN where there is none.
    labels
        State of every frame, ``-1`` for none.
    names
        Of the states; those without a frame stand in the legend without a line.
    label
        Of the axis, with the unit.
    limits
        Of the axis; by default 99 % of all values lie within.

    Notes
    -----
    Fig. S8(a). Densities are those of all frames of a state, also of those outside the limits. Triangles are means.
    """
    if len(values) != len(labels):
        raise InputFormatError(f"{len(values)} values for {len(labels)} labels; one of each per frame is needed.")
    known = np.isfinite(values) & (labels >= 0)
    if not known.any():
        raise InputFormatError(f"{label}: no frame has both a value and a state; pass values of the same recording.")
    outside = (100 - SHOWN_PERCENT) / 2
    low, high = limits or np.percentile(values[known], [outside, 100 - outside])
    edges = np.linspace(low, high if high > low else low + 1.0, N_BINS + 1)
    texts = state_labels(names, len(names))
    for state, (colour, text) in enumerate(zip(state_colours(len(names)), texts, strict=True)):
        mine = values[known & (labels == state)]
        density = np.histogram(mine, edges)[0] / (max(mine.size, 1) * (edges[1] - edges[0]))
        axes.stairs(density if mine.size else np.full(N_BINS, np.nan), edges, color=colour, lw=1.5, label=text)
        if mine.size:
            axes.plot(mine.mean(), 0, "^", color=colour, ms=6, mec="white", mew=0.5, clip_on=False, zorder=3)
    axes.set(xlabel=label, ylabel="density", xlim=(edges[0], edges[-1]), ylim=(0, None))
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2)
    axes.set_title("Frames of each state (triangles: means)")


def _draw_angles(axes: Axes, angles: FloatArray, rate: float) -> None:
    """Draw the tangent angles along the body in time, the head on top.

    Parameters
    ----------
    axes
        To draw on; the figure needs one colour bar for all of them, for which see `draw_state_postures`.
    angles
        Radians, ``(frames, segments)``.
    rate
        Frames per second.
    """
    axes.imshow(
        angles.T,
        cmap="PuOr_r",
        vmin=-STEEPEST,
        vmax=STEEPEST,
        extent=(0, len(angles) / rate, 1, 0),
        aspect="auto",
        interpolation="nearest",
    )
    axes.set(ylim=(1, 0), yticks=[0, 1], yticklabels=["head", "tail"])


def draw_bodies(axes: Axes, angles: FloatArray, colour: str = DATA) -> None:
    """Draw a few outlines of the body, evenly spaced in time from left to right, a dot at the head.

    Parameters
    ----------
    axes
        To draw on; lengths are body lengths.
    angles
        Radians, ``(frames, segments)``; few frames are all drawn.
    colour
        Of the body.
    """
    frames = np.unique(np.linspace(0, len(angles) - 1, N_BODIES).round().astype(int))
    # Upright, so that bodies stand side by side, the head on top.
    lines = centerline_from_angles(angles[frames], -np.pi / 2)
    s = np.linspace(0, 1, lines.shape[1])
    half = BODY_WIDTH / 2 * np.sqrt(1 - (2 * s - 1) ** 4)[:, None]
    for k, line in enumerate(lines):
        body = line - (line.max(axis=0) + line.min(axis=0)) / 2 + (k * BODY_STEP, 0)
        tangent = np.gradient(body, axis=0)
        normal = np.stack([-tangent[:, 1], tangent[:, 0]], axis=1) / np.linalg.norm(tangent, axis=1)[:, None]
        outline = np.concatenate([body + half * normal, (body - half * normal)[::-1]])
        axes.fill(outline[:, 0], outline[:, 1], color=colour, ec=DARK, lw=0.5)
        axes.plot(*body[0], "o", color=DARK, ms=3.5)
    axes.set_aspect("equal", adjustable="box")
    axes.set(xlim=(-0.55, (N_BODIES - 1) * BODY_STEP + 0.55), ylim=(-0.55, 0.55))
    axes.set_axis_off()


def draw_state_postures(
    panels: Sequence[Axes],
    symbols: Symbols,
    postures: Series,
    basis: PostureBasis,
    names: Sequence[str],
    *,
    seconds: float = DWELL_SECONDS,
) -> None:
    """Draw the longest dwell in each state: the angles along the body in time, and a few outlines of it.

    Parameters
    ----------
    panels
        To draw on, two for each state; a colour bar is added below them.
    symbols
        State of every frame.
    postures
        Mode amplitudes on the same rows.
    basis
        Of the modes; it must be one of tangent angles.
    names
        Of the states.
    seconds
        Longer dwells are cut to this length, about their middle.

    Notes
    -----
    Fig. S8(b), where one state was represented by its second longest dwell.
    """
    if basis.features != "angle":
        raise InputFormatError(f"The basis is one of {basis.features}s; body shapes need tangent angles.")
    labels, rate = state_labels(names, symbols.n_states), symbols.sampling.rate
    longest = 0.0
    for state, (start, stop) in enumerate(longest_dwells(symbols).tolist()):
        left, right = panels[2 * state : 2 * state + 2]
        left.set_ylabel(labels[state], rotation=0, ha="right", va="center", labelpad=6)
        right.set_axis_off()
        if start < 0:
            left.set(xticks=[], yticks=[])
            left.text(0.5, 0.5, "never visited", transform=left.transAxes, ha="center", va="center")
            continue
        shown = _middle(start, stop, round(seconds * rate))
        rows = Series.from_rows(postures.values[shown], postures.sampling)
        angles = basis.reconstruct(rows).values
        _draw_angles(left, angles, rate)
        part = f" (middle {len(angles) / rate:.3g} s)" if len(angles) < stop - start else ""
        left.set_title(f"longest dwell {(stop - start) / rate:.1f} s{part}", fontsize="small", loc="right", pad=2)
        draw_bodies(right, angles, state_colours(symbols.n_states)[state])
        longest = max(longest, len(angles) / rate)
    _finish_kymographs(list(panels[::2]), longest)


def _middle(start: int, stop: int, most: int) -> slice:
    """Cut a stretch to at most so many rows about its middle."""
    first = start + max(stop - start - most, 0) // 2
    return slice(first, min(stop, first + most))


def _finish_kymographs(column: list[Axes], longest: float) -> None:
    """Give all the same time axis, and one colour bar."""
    for axes in column:
        axes.set_xlim(0, longest or 1.0)
        axes.tick_params(labelbottom=axes is column[-1])
    column[-1].set_xlabel("time (s)")
    image = next((axes.images[0] for axes in column if axes.images), None)
    if image is not None:
        column[0].figure.colorbar(
            image, ax=column, location="bottom", label="tangent angle (rad)", extend="both", aspect=40
        )
