"""How long dwells last, where they lead, and whether the states form a chain."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle, FancyArrowPatch
from matplotlib.path import Path as Outline

from ethomarkov._core.types import FloatArray
from ethomarkov.coarse.dwell_laws import ExponentialSum, LawFit
from ethomarkov.coarse.kinetics import Dwells, JumpChain, Survival, mean_dwell, survival
from ethomarkov.coarse.passage import ChapmanKolmogorov, CoarseTimes
from ethomarkov.figures.states import DARK
from ethomarkov.figures.style import (
    DATA,
    MODES,
    SIMULATION,
    plain_text,
    state_colours,
    state_labels,
)

Law = LawFit | ExponentialSum
ALL_DWELLS = "all dwells"
N_PHASES, N_POINTS = 16, 400
LAW_STYLES = ("--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)))
LONGEST_SHOWN = 0.02
"""Dwells are shown up to the time by which all but this share have ended."""
MOST_INSIDE = 3
"""Legends of more lines than this lie beside the axes."""
BESIDE: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "borderaxespad": 0.2}
# Geometry of the graph of transitions, whose nodes lie on a circle of radius one.
BEND, LABEL_HALF, CLEARANCE, N_CURVE = 0.16, (0.085, 0.05), 0.02, 60
LARGEST_NODE, NAME_GAP, NAME_WIDTH = 0.2, 0.08, 14
WIDEST_ARROW, THINNEST_ARROW = 4.5, 0.6


def draw_survival(
    axes: Axes,
    dwells: Dwells,
    names: Sequence[str],
    *,
    pooled: bool = False,
    laws: Mapping[str, Law] | None = None,
    shortest: float | None = None,
) -> None:
    """Draw the share of dwells that last longer than a time, with its interval, and laws fitted to it.

    Parameters
    ----------
    axes
        To draw on; the vertical axis is logarithmic.
    dwells
        From `find_dwells`.
    names
        Of the states.
    pooled
        Whether the dwells of all states are taken together, as published.
    laws
        By the name they have in the legend, which also gives their times. A law with the name of a state has its
        colour.
    shortest
        Show only dwells of at least so many seconds, and laws given that they last so long.

    Notes
    -----
    Fig. 4(b), there by counting all dwells as if they had ended; here by Kaplan and Meier.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> axes = Figure().subplots()
    >>> from ethomarkov.synthetic import hopping_chain
    >>> states = hopping_chain([[0.9, 0.1], [0.2, 0.8]], 2000, n_walks=2, rate=10.0, rng=1)
    >>> from ethomarkov.coarse.kinetics import find_dwells
    >>> draw_survival(axes, find_dwells(states), ("run", "pirouette"))
    >>> axes.get_xlabel(), axes.get_yscale()
    ('time in the state (s)', 'log')
    """
    labels = [ALL_DWELLS] if pooled else state_labels(names, dwells.n_states)
    colours = (DATA,) if pooled else state_colours(dwells.n_states)
    first = dwells.step if shortest is None else shortest
    shown = dwells.select(dwells.duration > first - dwells.step / 2)
    last = first
    for k, (label, colour) in enumerate(zip(labels, colours, strict=True)):
        mine = (shown if pooled else shown.in_state(k)).begun
        found = survival(mine)
        last = max(last, float(found.time.max(initial=0.0)))
        _draw_steps(axes, found, first - dwells.step, colour, f"{label}, n = {len(mine):,}")
    for k, (name, law) in enumerate((laws or {}).items()):
        colour = colours[list(names).index(name)] if not pooled and name in names else DARK
        time = np.geomspace(first, last, N_POINTS) - dwells.step
        label = f"{plain_text(name)}: {_law_times(law)}"
        seen = seen_survival(law, time, dwells.step, first)
        axes.plot(time, seen, color=colour, lw=1.1, ls=LAW_STYLES[k % len(LAW_STYLES)], label=label)
    n_dwells = max(len(shown), 2)
    axes.set(xlabel="time in the state (s)", ylabel="share of dwells that last longer", yscale="log")
    axes.set(xlim=(0, None), ylim=(0.5 / n_dwells, 1.3))
    beside: dict[str, Any] = BESIDE if len(labels) > MOST_INSIDE else {"loc": "upper right"}
    axes.legend(fontsize="small", **beside)
    given = "" if shortest is None else f" of at least {shortest:.3g} s"
    axes.set_title(f"Dwells{given} (band: 95 % over dwells)")


def seen_survival(law: Law, time: FloatArray, step: float, shortest: float) -> FloatArray:
    """Give the share of seen dwells that last longer than a time according to a law, given that they last long enough.

    Parameters
    ----------
    law
        Of true durations.
    time
        Seconds during which the state was seen.
    step
        Seconds between two looks; a dwell may begin anywhere between them.
    shortest
        Seconds that a dwell must be seen to count.

    Notes
    -----
    G(t) / G(shortest − step), with G(t) = ∫₀¹ S(t + u step) du as in the fits.
    """
    phases = (np.arange(N_PHASES) + 0.5) / N_PHASES * step

    def seen(t: FloatArray) -> FloatArray:
        true = t[..., None] + phases
        if isinstance(law, LawFit):
            return np.asarray(law.survival(true).mean(axis=-1))
        return np.asarray((law.weights * np.exp(-true[..., None] / law.times)).sum(axis=-1).mean(axis=-1))

    return np.asarray(seen(np.asarray(time, dtype=float)) / seen(np.array(shortest - step)))


def _law_times(law: Law) -> str:
    """Write the times of a law, with intervals where it has them."""
    if isinstance(law, LawFit):
        named = {name: float(x) for name, x in zip(law.names, law.parameters, strict=True)}
        times = [f"{x:.3g} s" for name, x in named.items() if name.startswith(("time", "median"))]
        shape = [f"{name.replace('_', ' ')} {named[name]:.2g}" for name in ("exponent", "log_spread") if name in named]
        return ", ".join(times + shape)
    times = [
        f"{time:.3g} ({low:.3g}, {high:.3g}) s" if np.isfinite(low) else f"{time:.3g} s"
        for time, low, high in zip(law.times, law.times_low, law.times_high, strict=True)
    ]
    return "τ = " + ", ".join(times)


def _draw_steps(axes: Axes, survival: Survival, start: float, colour: str, label: str) -> None:
    """Draw a survival curve from one on, with its band."""
    alive = survival.survival > 0  # zero is not on a logarithmic axis
    time = np.concatenate([[start], survival.time[alive]])
    axes.step(time, np.append(1.0, survival.survival[alive]), where="post", color=colour, lw=1.4, label=label)
    low, high = np.append(1.0, survival.low[alive]), np.append(1.0, survival.high[alive])
    axes.fill_between(time, low, high, step="post", color=colour, alpha=0.2, lw=0)


def draw_dwell_distribution(axes: Axes, dwells: Dwells, names: Sequence[str]) -> None:
    """Draw the share of dwells that have ended by a time, and the mean dwell time in the legend.

    Parameters
    ----------
    axes
        To draw on; the legend lies beside them.
    dwells
        From `find_dwells`, with the lag of the chain as step to leave out flicker, as published.
    names
        Of the states.

    Notes
    -----
    Fig. 4(c).
    """
    labels, colours = state_labels(names, dwells.n_states), state_colours(dwells.n_states)
    last = dwells.step
    over = "blocks"
    for state, (label, colour) in enumerate(zip(labels, colours, strict=True)):
        found, mean = survival(dwells, state), mean_dwell(dwells, state)
        over = "animals" if mean.over == "animals" else over
        text = f"{label}\n{mean} s" if np.isfinite(mean.estimate) else f"{label}\nnever left"
        time, ended = np.append(0.0, found.time), 1 - np.append(1.0, found.survival)
        axes.step(time, ended, where="post", color=colour, lw=1.4, label=text)
        last = max(last, float(time[np.searchsorted(ended, 1 - LONGEST_SHOWN).clip(max=time.size - 1)]))
    axes.set(xlabel="time in the state (s)", ylabel="share of dwells that have ended", xlim=(0, last), ylim=(0, 1.02))
    title = f"mean dwell time (95 % over {over})"
    axes.legend(title=title, fontsize="small", title_fontsize="small", **BESIDE)
    axes.set_title(f"Dwells, seen every {dwells.step:.3g} s")


def draw_transition_graph(
    axes: Axes, jumps: JumpChain, names: Sequence[str], *, time_share: FloatArray | None = None, threshold: float = 0.05
) -> None:
    """Draw which state follows which: nodes on a circle, arrows as wide as the jump is likely.

    Parameters
    ----------
    axes
        To draw on; three inches or more in both directions for seven states.
    jumps
        From `jump_chain`.
    names
        Of the states.
    time_share
        Of the states, for the area of the nodes; the share of dwells when None, as published.
    threshold
        Less likely jumps are not drawn.

    Notes
    -----
    Inset of Fig. 4(c). An arrow has the colour of the state that it leaves.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> axes = Figure().subplots()
    >>> from ethomarkov.coarse.kinetics import jump_chain
    >>> from ethomarkov.synthetic import hopping_chain
    >>> ring = hopping_chain([[0.8, 0.2, 0.0], [0.0, 0.8, 0.2], [0.2, 0.0, 0.8]], 500, rng=1)
    >>> draw_transition_graph(axes, jump_chain(ring), ("run", "reversal", "turn"))
    >>> axes.get_title()
    'Next state in %, from 5 % on (discs: share of dwells)'
    """
    n = len(jumps.counts)
    labels, colours = state_labels(names, n, NAME_WIDTH), state_colours(n)
    sizes = jumps.stationary if time_share is None else np.asarray(time_share, dtype=float)
    radii = _node_radii(sizes)
    angle = np.pi / 2 - 2 * np.pi * np.arange(n) / n  # clockwise from the top
    centres = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    probable = np.nan_to_num(jumps.probabilities)
    pairs = sorted(np.argwhere(probable >= max(threshold, 1e-12)).tolist(), key=lambda pair: -probable[tuple(pair)])
    curves = [_arrow_curve(centres, radii, a, b) for a, b in pairs]
    for (a, b), curve in zip(pairs, curves, strict=True):
        width = THINNEST_ARROW + (WIDEST_ARROW - THINNEST_ARROW) * probable[a, b]
        arrow = {"arrowstyle": "-|>", "mutation_scale": 5 + 3 * width, "shrinkA": 0, "shrinkB": 0}
        axes.add_patch(FancyArrowPatch(path=Outline(curve), lw=width, color=colours[a], zorder=2, **arrow))
    turn = np.linspace(0, 2 * np.pi, N_CURVE)
    edges = centres[:, None] + radii[:, None, None] * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    for (a, b), place in zip(pairs, place_labels(curves, edges.reshape(-1, 2)), strict=True):
        box = {"boxstyle": "round,pad=0.1", "fc": "white", "ec": colours[a], "lw": 0.5}
        axes.text(
            place[0], place[1], _percent(probable[a, b]), fontsize=7, ha="center", va="center", bbox=box, zorder=4
        )
    for k in range(n):
        axes.add_patch(Circle(centres[k], radii[k], fc=colours[k], ec=DARK, lw=0.6, zorder=3))
        _name_node(axes, centres[k], radii[k], labels[k])
    axes.set_aspect("equal", adjustable="box")
    axes.set(xlim=(-1.75, 1.75), ylim=(-1.5, 1.5))
    axes.set_axis_off()
    kind = "dwells" if time_share is None else "time"
    axes.set_title(f"Next state in %, from {_percent(threshold)} % on (discs: share of {kind})")


def _percent(probability: float) -> str:
    return f"{100 * probability:.0f}"


def _node_radii(sizes: FloatArray) -> FloatArray:
    """Radii of discs whose area is proportional to the sizes; a dot where a size is zero or unknown."""
    known = np.nan_to_num(sizes)
    largest = min(LARGEST_NODE, 0.45 * np.sin(np.pi / max(len(sizes), 2)))
    radii: FloatArray = np.maximum(largest * np.sqrt(known / max(known.max(initial=0.0), 1e-300)), 0.015)
    return radii


def _arrow_curve(centres: FloatArray, radii: FloatArray, start: int, end: int) -> FloatArray:
    """Bend the way between two nodes to its left, and cut it at their edges, so that there and back lie apart."""
    a, b = centres[start], centres[end]
    across = np.array([a[1] - b[1], b[0] - a[0]])
    middle = (a + b) / 2 + BEND * across
    t = np.linspace(0, 1, 4 * N_CURVE)[:, None]
    curve = (1 - t) ** 2 * a + 2 * t * (1 - t) * middle + t**2 * b
    gaps = [np.linalg.norm(curve - centres[node], axis=1) - radii[node] for node in (start, end)]
    free = np.flatnonzero((gaps[0] > CLEARANCE) & (gaps[1] > CLEARANCE))
    return np.asarray(curve[free[np.linspace(0, free.size - 1, N_CURVE).astype(int)]])


def place_labels(curves: Sequence[FloatArray], edges: FloatArray) -> FloatArray:
    """Choose a place for a label on every curve where it hides as little as possible of curves, edges and labels.

    Parameters
    ----------
    curves
        Points of each; the labels of the first are placed first.
    edges
        Points that no label should hide.
    """
    places: list[FloatArray] = []
    for k, curve in enumerate(curves):
        candidates = _inner(curve)
        others = [other for j, other in enumerate(curves) if j != k]
        cost = _hidden(candidates, np.concatenate([edges, *others]), 1.0)
        cost = cost + 1000 * _hidden(candidates, np.array(places).reshape(-1, 2), 2.0)
        places.append(candidates[cost.argmin()])
    return np.array(places).reshape(-1, 2)


def _inner(curve: FloatArray) -> FloatArray:
    """Points of a curve away from its ends, those near the start first."""
    inner: FloatArray = curve[np.unique((np.linspace(0.18, 0.75, 24) * (len(curve) - 1)).astype(int))]
    return inner


def _hidden(candidates: FloatArray, points: FloatArray, scale: float) -> FloatArray:
    """Count the points under a label at each candidate."""
    apart = np.abs(candidates[:, None] - points[None]) / (scale * np.array(LABEL_HALF))
    return np.asarray((apart < 1).all(axis=2).sum(axis=1), dtype=float)


def _name_node(axes: Axes, centre: FloatArray, radius: float, label: str) -> None:
    """Write a name outside the circle of nodes."""
    x, y = centre * (1 + radius + NAME_GAP)
    sideways = "center" if abs(centre[0]) < 0.2 else "left" if centre[0] > 0 else "right"
    upright = "center" if abs(centre[1]) < 0.8 else "bottom" if centre[1] > 0 else "top"
    axes.text(x, y, label, ha=sideways, va=upright, zorder=5)


def draw_coarse_times(axes: Axes, times: CoarseTimes, n_modes: int = 3, *, tolerance: float = 0.1) -> None:
    """Draw the relaxation times of the chain of states against the lag at which it is counted.

    Parameters
    ----------
    axes
        To draw on; both axes are logarithmic.
    times
        From `two_state_times`.
    n_modes
        Times drawn at most, the slowest with its interval.
    tolerance
        Of `CoarseTimes.steady_lag`, which is marked.

    Notes
    -----
    Fig. S1(c). A time below the dotted line is shorter than the lag, and cannot be trusted.
    """
    shown = min(n_modes, times.times.shape[1])
    for mode in range(shown):
        label = None if shown == 1 else f"mode {mode + 2}"
        axes.plot(times.lags, times.times[:, mode], "o-", color=MODES[mode % len(MODES)], ms=3, lw=1.2, label=label)
    if np.isfinite(times.low[:, 0]).any():
        label = f"95 % over {times.over}"
        axes.fill_between(times.lags, times.low[:, 0], times.high[:, 0], color=MODES[0], alpha=0.2, lw=0, label=label)
    axes.plot(times.lags, times.lags, color=DARK, lw=1, ls=":", label="time = lag")
    lag, is_steady = times.steady_lag(tolerance)
    if is_steady:
        axes.axvline(lag, color=SIMULATION, lw=1, ls="--", label=f"steady from {lag:.3g} s on")
    axes.set(xscale="log", yscale="log", xlabel="lag τ (s)", ylabel="relaxation time (s)")
    beside: dict[str, Any] = BESIDE if shown > 1 else {"loc": "upper left"}
    axes.legend(fontsize="small", **beside)
    axes.set_title("Chain of states" + ("" if is_steady else f", not steady up to {times.lags[-1]:.3g} s"))


def draw_chapman_kolmogorov(axes: Axes, test: ChapmanKolmogorov, pair: tuple[int, int], names: Sequence[str]) -> None:
    """Draw one transition probability after many lags: measured, and predicted from one lag.

    Parameters
    ----------
    axes
        To draw on.
    test
        From `chapman_kolmogorov`.
    pair
        The state at first and the state at last; twice the same for the probability to be in it again.
    names
        Of the states.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> axes = Figure().subplots()
    >>> from ethomarkov.synthetic import hopping_chain
    >>> states = hopping_chain([[0.9, 0.1], [0.2, 0.8]], 2000, n_walks=2, rate=10.0, rng=1)
    >>> from ethomarkov.coarse.passage import chapman_kolmogorov
    >>> test = chapman_kolmogorov(states, np.array([0, 1]), 0.1)
    >>> draw_chapman_kolmogorov(axes, test, (0, 0), ("run", "pirouette"))
    >>> axes.get_xlabel()
    'time (s)'
    """
    at = (slice(None), *pair)
    labels = state_labels(names, test.observed.shape[1])
    for what, colour, style in (("coarse", SIMULATION, "--"), ("micro", DATA, ":")):
        predicted, low, high = (getattr(test, f"{what}{end}")[at] for end in ("", "_low", "_high"))
        label = {"coarse": "predicted by states", "micro": "predicted by microstates"}[what]
        axes.plot(test.lags, predicted, color=colour, ls=style, lw=1.4, label=label)
        axes.fill_between(test.lags, low, high, color=colour, alpha=0.15, lw=0)
    observed = test.observed[at]
    error = np.stack([observed - test.observed_low[at], test.observed_high[at] - observed])
    bars: dict[str, Any] = {"yerr": np.maximum(error, 0)} if np.isfinite(error).any() else {}
    axes.errorbar(test.lags, observed, fmt="o", color="black", ms=3.5, lw=1, label="observed", **bars)
    axes.set(xlabel="time (s)", ylabel="probability", xlim=(0, None), ylim=(0, 1.02))
    start, end = (labels[k].replace("\n", " ") for k in pair)
    axes.set_title(f"{start} again" if pair[0] == pair[1] else f"{start} → {end}")
