"""Paths, measured and computed: how they look, how far they lead, how they turn, and the drag ratio behind them."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.ticker import LogLocator, NullFormatter

from ethomarkov._core.interval import RANGE, mean_and_limits
from ethomarkov._core.types import FloatArray, IntArray
from ethomarkov._core.words import count_of
from ethomarkov.exceptions import InputFormatError
from ethomarkov.figures.style import DATA, MISSING, MODES, SIMULATION, plain_text, state_colours, state_labels
from ethomarkov.locomotion import DragFit, Trajectory
from ethomarkov.locomotion.bearing import BearingSpectrum
from ethomarkov.locomotion.displacement import Diffusion, Displacement
from ethomarkov.locomotion.drag_example import DragExample

Band = Literal["runs", "mean"]
"""What a band or an error bar holds: 95 % of the runs (or animals), or the mean with 95 % confidence."""

GUIDE = "#777777"
INK = "#222222"
MOST_WINDOWS_SHOWN = 60
# Above each octave of frequency, a spectrum is averaged within so many bins.
BINS_PER_OCTAVE = 12


# --- paths -----------------------------------------------------------------------------------------------------------


def draw_paths(
    axes: Axes,
    path: Trajectory,
    n_shown: int = 5,
    *,
    measured: Trajectory | None = None,
    seconds: float | None = None,
    scale_bar: bool = False,
) -> None:
    """Draw computed paths from their common start, and measured ones beside them.

    Parameters
    ----------
    axes
        To draw on.
    path
        Computed: each run starts at the origin and is drawn by itself.
    n_shown
        Runs drawn at most, and animals at most.
    measured
        In the same unit of length. Each animal is shifted so that it starts at the origin too; its line is broken
        where the position is unknown, and goes on where the animal was seen again.
    seconds
        Draw only so much from each start: paths of unequal duration do not compare. The legend gives the longest
        duration drawn.
    scale_bar
        Draw a bar instead of the axes.

    Notes
    -----
    Fig. 3a (right).

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> axes = Figure().subplots()
    >>> import numpy as np
    >>> from ethomarkov._core.series import Series
    >>> from ethomarkov.locomotion import Trajectory
    >>> time = np.arange(400) / 4
    >>> points = np.stack([np.cos(time), np.sin(time)], axis=1)
    >>> path = Trajectory.from_points(points, Series.from_rows(points, 4.0), "mm")
    >>> draw_paths(axes, path, measured=path, seconds=10.0)
    >>> axes.get_xlabel()
    'x (mm)'
    """
    runs = [_beginning(path, start, stop, seconds) for start, stop, _ in path.segments][:n_shown]
    shown = f"{len(runs)} of {len(path.segments)}"
    if measured is None:
        for i, points in enumerate(runs):
            _draw_run(axes, points, color=MODES[i % len(MODES)], lw=0.9)
        axes.set_title(f"Simulated paths ({shown})")
    else:
        _check_units({"computed path": path.length_unit, "measured path": measured.length_unit})
        for i, points in enumerate(runs):
            label = None if i else f"simulation, {_duration(path, runs)},\n{shown} runs"
            _draw_run(axes, points, color=SIMULATION, lw=0.8, alpha=0.8, label=label)
        _draw_measured(axes, measured, n_shown, seconds)
        axes.set_title("Paths from a common start")
    axes.plot(0, 0, "k+", ms=8, ls="", zorder=4, label="start (dots: end)")
    if measured is not None:
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    frame_plane(axes, path.length_unit, scale_bar)


def draw_state_path(
    axes: Axes,
    path: Trajectory,
    labels: IntArray,
    names: Sequence[str],
    *,
    individual: int = 0,
    scale_bar: bool = True,
) -> None:
    """Draw the path of one animal in the colours of its states.

    Parameters
    ----------
    axes
        To draw on.
    path
        Measured or computed.
    labels
        State of every frame; ``-1`` is drawn in grey.
    names
        Of the states.
    individual
        Whose path; all of its runs are drawn where they are.
    scale_bar
        Draw a bar instead of the axes.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> axes = Figure().subplots()
    >>> import numpy as np
    >>> from ethomarkov._core.series import Series
    >>> from ethomarkov.locomotion import Trajectory
    >>> time = np.arange(400) / 4
    >>> points = np.stack([np.cos(time), np.sin(time)], axis=1)
    >>> path = Trajectory.from_points(points, Series.from_rows(points, 4.0), "mm")
    >>> draw_state_path(axes, path, (points[:, 0] > 0).astype(int), ("left", "right"))
    >>> axes.get_title()
    'Trajectory of 0'
    """
    if np.shape(labels) != (len(path.centroid),):
        raise InputFormatError(
            f"labels of shape {np.shape(labels)} for a path of {len(path.centroid)} frames; pass one label per frame."
        )
    words = state_labels(names, max(len(names), 1 + int(np.max(labels, initial=-1))))
    colours = np.array([*state_colours(len(names)), MISSING])
    runs = path.segments.mask(individual)
    for start, stop, _ in runs:
        # one line per dwell in a state, joined to the next
        cuts = start + 1 + np.flatnonzero(np.diff(labels[start : stop - 1]))
        dwells = list(pairwise([start, *cuts.tolist(), stop - 1]))
        pieces = [path.centroid[first : last + 1] for first, last in dwells]
        owner = [int(labels[first]) for first, _ in dwells]
        axes.add_collection(LineCollection(pieces, colors=list(colours[owner]), lw=1.4, capstyle="round"))
    for name, colour in zip(words, colours, strict=False):
        axes.plot([], [], color=colour, lw=3, label=name)
    if len(runs):
        axes.plot(*path.centroid[runs.bounds[0, 0]], "k+", ms=8, ls="", label="start", zorder=4)
        axes.plot(*path.centroid[runs.bounds[-1, 1] - 1], "ko", ms=4, ls="", label="end", zorder=4)
    axes.autoscale_view()
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    frame_plane(axes, path.length_unit, scale_bar)
    axes.set_title(f"Trajectory of {plain_text(path.segments.individuals[individual])}")


def draw_path_reconstruction(axes: Axes, example: DragExample) -> None:
    """Draw a stretch of measured path, and what resistive force theory makes of the same postures.

    Parameters
    ----------
    axes
        To draw on.
    example
        Measured and computed paths, as from `typical_window`.

    Notes
    -----
    Fig. S5a (right). Postures do not tell place and direction: each computed path was shifted and turned to where its
    root mean square distance, which the legend gives, is least.
    """
    start = np.flatnonzero(np.isfinite(example.measured).all(axis=1))[:1]
    if start.size == 0:
        raise InputFormatError("No position of the measured path is known; choose another stretch.")
    origin = example.measured[start[0]]
    axes.plot(*(example.measured - origin).T, color=INK, lw=2, label="measured")
    colours = (DATA, SIMULATION, *MODES[2:])
    styles = ("--", "-", "-.", ":")
    computed = zip(example.drag_ratios, example.computed, example.distance, strict=True)
    for i, (drag_ratio, points, distance) in enumerate(computed):
        label = f"α = {drag_ratio:g}, rms {distance:.2g} {example.length_unit}"
        style: dict[str, Any] = {"color": colours[i % len(colours)], "ls": styles[i % len(styles)], "lw": 1.2}
        axes.plot(*(points - origin).T, label=label, **style)
    axes.plot(0, 0, "k+", ms=8, zorder=4)
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    frame_plane(axes, example.length_unit, scale_bar=True)
    axes.set_title("Trajectory from postures")


def _beginning(path: Trajectory, start: int, stop: int, seconds: float | None) -> FloatArray:
    """Positions from a row on, for a while at most."""
    return path.centroid[start : stop if seconds is None else min(stop, start + round(seconds * path.sampling.rate))]


def _draw_run(axes: Axes, points: FloatArray, **style: Any) -> None:  # noqa: ANN401 (as plot)
    axes.plot(*points.T, **style)
    axes.plot(*points[-1:].T, "o", ms=3.5, color=style["color"], zorder=style.get("zorder", 2))


def _draw_measured(axes: Axes, measured: Trajectory, n_shown: int, seconds: float | None) -> None:
    """Draw each animal from the origin on; NaN between runs breaks the line."""
    animals = []
    for k in range(measured.segments.n_individuals):
        runs = measured.segments.mask(k).bounds
        if len(runs):
            points = _beginning(measured, runs[0, 0], runs[-1, 1], seconds)
            known = np.flatnonzero(np.isfinite(points).all(axis=1))
            animals.append(points[: known[-1] + 1] - points[0])
    chosen = animals[:n_shown]
    for i, points in enumerate(chosen):
        label = (
            None if i else f"data, {_duration(measured, chosen)},\n{len(chosen)} of {count_of(len(animals), 'animal')}"
        )
        _draw_run(axes, points, color=DATA, lw=1.5, label=label, zorder=3)


def _duration(path: Trajectory, stretches: Sequence[FloatArray]) -> str:
    seconds = path.sampling.seconds(max(len(points) for points in stretches))
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.3g} min"


def frame_plane(axes: Axes, unit: str, scale_bar: bool) -> None:
    """Make both directions equal, and say how long things are."""
    axes.set_aspect("equal", adjustable="datalim")
    if not scale_bar:
        axes.set(xlabel=f"x ({plain_text(unit)})", ylabel=f"y ({plain_text(unit)})")
        return
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    length = round_length(max(right - left, top - bottom) / 4)
    height = bottom - 0.04 * (top - bottom)
    axes.plot([left, left + length], [height, height], color=INK, lw=3, solid_capstyle="butt")
    axes.annotate(
        f"{length:g} {plain_text(unit)}", (left, height), xytext=(0, -5), textcoords="offset points", va="top"
    )
    # room below the bar for its words; a wide panel may show more, so that both directions stay equal
    lowest = bottom - 0.18 * (top - bottom)
    axes.set_ylim(lowest, top, auto=True)
    axes.update_datalim([(left, lowest)])  # else the room is cut off evenly at both ends, and paths with it
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(False)


def round_length(length: float) -> float:
    """Round a length down to 1, 2 or 5 times a power of ten.

    Examples
    --------
    >>> round_length(0.37), round_length(7.0), round_length(10.0)
    (0.2, 5.0, 10.0)
    """
    power = 10.0 ** np.floor(np.log10(length))
    return float(power * max(step for step in (1.0, 2.0, 5.0) if step <= length / power * (1 + 1e-9)))


# --- displacement and diffusion --------------------------------------------------------------------------------------


def draw_displacement(
    axes: Axes,
    data: Displacement | None,
    simulated: Displacement | None,
    *,
    band: Band = "runs",
    window: tuple[float, float] | None = (60.0, 100.0),
) -> None:
    """Draw the mean squared displacement of data and simulation against the lag.

    Parameters
    ----------
    axes
        To draw on; both become logarithmic.
    data, simulated
        Either may be left out; a row alone, as of one animal, is drawn without a band.
    band
        "runs" holds 95 % of the runs or animals; "mean" is the 95 % confidence interval of their mean, which narrows
        with their number. The legend says which.
    window
        Seconds in which diffusion is fitted, shaded; None for none.

    Notes
    -----
    Fig. 3b (left), S5b. The caption of the paper calls the band an interval of the mean; its code draws percentiles
    over runs.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> axes = Figure().subplots()
    >>> import numpy as np
    >>> from ethomarkov._core.series import Series
    >>> from ethomarkov.locomotion import Trajectory
    >>> time = np.arange(400) / 4
    >>> points = np.stack([np.cos(time), np.sin(time)], axis=1)
    >>> path = Trajectory.from_points(points, Series.from_rows(points, 4.0), "mm")
    >>> from ethomarkov.locomotion.displacement import msd
    >>> draw_displacement(axes, msd(path, np.array([1.0, 2.0, 4.0])), None)
    >>> axes.get_xlabel(), axes.get_xscale()
    ('lag τ (s)', 'log')
    """
    parts = {"data": (data, DATA), "simulation": (simulated, SIMULATION)}
    shown = {name: (found, colour) for name, (found, colour) in parts.items() if found is not None}
    _draw_displacements(axes, shown, band, spell_out=True)
    if window is not None:
        axes.axvspan(*window, color=MISSING, alpha=0.35, lw=0, zorder=0, label=f"fit, {window[0]:g} to {window[1]:g} s")
    axes.set_title("Mean squared displacement")
    axes.legend(loc="lower right", fontsize="small", handlelength=1.2)  # narrow: the curve is above it


def draw_state_displacements(axes: Axes, displacements: Mapping[str, Displacement], *, band: Band = "runs") -> None:
    """Draw the mean squared displacement within each of several states (Fig. S9a).

    Parameters
    ----------
    axes
        To draw on; both become logarithmic.
    displacements
        By the name of the state.
    band
        See `draw_displacement`.
    """
    colours = state_colours(len(displacements))
    kinds = _draw_displacements(
        axes, {name: (found, c) for (name, found), c in zip(displacements.items(), colours, strict=True)}, band
    )
    axes.set_title("Mean squared displacement within states")
    title = "; ".join(sorted(kinds))
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize="small", title=title, title_fontsize="small")


def draw_diffusion(axes: Axes, data: Diffusion, simulated: Sequence[Diffusion], *, band: Band = "runs") -> None:
    """Draw the diffusion coefficient of every animal against that of its simulation.

    Parameters
    ----------
    axes
        To draw on; both become logarithmic.
    data
        One row per animal.
    simulated
        One per animal, in the same order; its rows are the runs.
    band
        What the error bars hold: 95 % of the runs, or the mean over runs with 95 % confidence.

    Notes
    -----
    Fig. 3b (right). One record of one animal has no error bar of its own: pairs of frames are no repetitions. Animals
    whose displacement is not a straight line in the fit window have open circles: their coefficient depends on the
    window. Coefficients that are not positive have no place on these axes; the title counts them.
    """
    _check_diffusions(data, simulated)
    rows = np.array([_centre_and_limits(one, band) for one in simulated]).reshape(-1, 3)
    centre, low, high = rows.T
    placed = (data.coefficient > 0) & (centre > 0)
    bars = np.nan_to_num([centre - low, high - centre])
    for flag, face, word in ((data.diffusive, DATA, "diffusive"), (~data.diffusive, "white", "not diffusive")):
        which = placed & flag
        if which.any():
            x, y, ends = data.coefficient[which], centre[which], np.maximum(bars[:, which], 0)
            label = f"data {word}\nfrom {data.window[0]:g} to {data.window[1]:g} s"
            axes.errorbar(x, y, ends, fmt="o", color=DATA, mfc=face, ms=5, lw=1, label=label)
    if placed.any():
        shown = np.concatenate([data.coefficient[placed], centre[placed], high[placed], low[placed]])
        limits = np.array([0.7, 1.4]) * (np.nanmin(shown[shown > 0]), np.nanmax(shown))
        axes.plot(limits, limits, color=GUIDE, lw=0.9, ls="--", zorder=0, label="equal")
        axes.set(xscale="log", yscale="log", xlim=limits, ylim=limits)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 3.0, 5.0)))
            axis.set_major_formatter("{x:g}")
            axis.set_minor_formatter(NullFormatter())
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize="small")
    axes.set_aspect("equal", adjustable="box")
    letter = "D = slope/4" if data.convention == "slope/4" else "slope of the MSD"
    unit = f"({plain_text(data.length_unit)}²/s)"
    axes.set(xlabel=f"data: {letter} {unit}", ylabel=f"simulation: {letter} {unit}")
    left_out = "" if placed.all() else f"; {int((~placed).sum())} not positive, left out"
    over = "95 % of runs" if band == "runs" else "95 % interval of the mean over runs"
    axes.set_title(f"Diffusion of {count_of(len(placed), 'animal')}{left_out}\n(bars: {over})")


def _draw_displacements(
    axes: Axes, parts: Mapping[str, tuple[Displacement, str]], band: Band, *, spell_out: bool = False
) -> set[str]:
    """Draw a line and a band for each part; say what they are, in each label if `spell_out`."""
    if not parts:
        raise InputFormatError("There is no displacement to draw; pass data, a simulation, or both.")
    _check_units({name: found.length_unit for name, (found, _) in parts.items()})
    kinds, curves = set(), []
    for name, (found, colour) in parts.items():
        mean, low, high, words = displacement_band(found, band)
        curves.append((found.lags, mean))
        kinds |= {words} - {""}
        label = plain_text(name) + (f",\n{words}" if words and spell_out else "")
        # a broad line for data stays visible below that of the simulation
        axes.plot(found.lags, mean, color=colour, lw=2.6 if colour == DATA else 1.3, label=label)
        if np.isfinite(low).any():
            axes.fill_between(found.lags, low, high, color=colour, alpha=0.2, lw=0)
    axes.set_xscale("log")
    axes.set_yscale("log")
    _draw_guides(axes, curves)
    unit = plain_text(next(iter(parts.values()))[0].length_unit)
    axes.set(xlabel="lag τ (s)", ylabel=f"mean squared displacement ({unit}²)")
    return kinds


def displacement_band(displacement: Displacement, band: Band) -> tuple[FloatArray, FloatArray, FloatArray, str]:
    """Average over animals or runs, with the limits of the band and the words that say what they are.

    Parameters
    ----------
    displacement
        Rows that lack a lag are left out there.
    band
        See `draw_displacement`.
    """
    if band not in ("runs", "mean"):
        raise InputFormatError(f"band={band!r} is not known. Use 'runs' or 'mean'.")
    n_rows = int(np.isfinite(displacement.msd).any(axis=1).sum())
    nothing = np.full(displacement.lags.size, np.nan)
    if n_rows < 2:
        row = displacement.msd[np.isfinite(displacement.msd).any(axis=1)]
        return row[0] if n_rows else nothing, nothing, nothing, ""
    if band == "mean":
        words = f"mean of {n_rows} {displacement.over}\n(band: its 95 % interval)"
        return *displacement.mean_band(), words
    mean, low, high = mean_and_limits(displacement.msd)
    return mean, low, high, f"mean of {n_rows} {displacement.over}\n(band: 95 % of {displacement.over})"


def _draw_guides(axes: Axes, curves: Sequence[tuple[FloatArray, FloatArray]]) -> None:
    """Show how straight motion grows, above the start of the curves, and diffusion, above their end."""
    drawn = [(lags[mean > 0], mean[mean > 0]) for lags, mean in curves if (mean > 0).any()]
    if not drawn:
        return
    first = max((mean[0], lags[0]) for lags, mean in drawn)
    last = max((mean[-1], lags[-1]) for lags, mean in drawn)
    for (height, lag), power, factors in ((first, 2, (1.0, 5.0)), (last, 1, (0.2, 1.0))):
        ends, line = lag * np.array(factors), 2.0 * height * np.array(factors) ** power
        axes.plot(ends, line, color=GUIDE, lw=1, ls=":")
        # above the upper end, or left of the lower one, where neither curve nor axis is
        place, words = ((ends[1], line[1]), "straight,\n∝ τ²") if power == 2 else ((ends[0], line[0]), "diffusion, ∝ τ")
        axes.annotate(
            words, place, xytext=(0, 3), textcoords="offset points", ha="right", color=GUIDE, fontsize="small"
        )


def _centre_and_limits(simulated: Diffusion, band: Band) -> tuple[float, float, float]:
    """Mean coefficient over runs, and the ends of its error bar."""
    known = simulated.coefficient[np.isfinite(simulated.coefficient)]
    if band == "mean" or known.size < 2:
        return simulated.interval.estimate, simulated.interval.low, simulated.interval.high
    low, high = np.percentile(known, RANGE)
    return simulated.interval.estimate, float(low), float(high)


def _check_diffusions(data: Diffusion, simulated: Sequence[Diffusion]) -> None:
    if len(simulated) != data.coefficient.size:
        raise InputFormatError(
            f"{count_of(data.coefficient.size, 'animal')}, but {count_of(len(simulated), 'simulation')}; "
            "pass one for each animal."
        )
    _check_units({"data": data.length_unit} | {f"simulation {i}": one.length_unit for i, one in enumerate(simulated)})
    conventions = {data.convention, *(one.convention for one in simulated)}
    if len(conventions) > 1:
        raise InputFormatError(f"Both {' and '.join(sorted(conventions))} were fitted; use one convention for all.")


def _check_units(units: Mapping[str, str]) -> None:
    if len(set(units.values())) > 1:
        listed = ", ".join(f"{name}: {unit}" for name, unit in units.items())
        raise InputFormatError(
            f"Lengths are in different units ({listed}). Compute paths with the body length of the animals (`propel`)."
        )


# --- drag ratio ------------------------------------------------------------------------------------------------------


def draw_drag_loss(axes: Axes, fit: DragFit, length_unit: str) -> None:
    """Draw the distance of computed from measured paths against the drag ratio, window by window and on average.

    Parameters
    ----------
    axes
        To draw on; the horizontal axis is logarithmic.
    fit
        Its windows; of many, every so-many-th is drawn.
    length_unit
        Of the measured path.

    Notes
    -----
    Fig. S5a (left).
    """
    step = -(-len(fit.curves) // MOST_WINDOWS_SHOWN)
    chosen = fit.curves[::step]
    for i, curve in enumerate(chosen):
        label = f"{len(chosen)} of {count_of(len(fit.curves), 'window')} of {fit.settings.window:g} s"
        axes.plot(fit.grid, curve, color=MISSING, lw=0.6, label=None if i else label)
    mean = fit.mean_curve
    best = int(mean.argmin())
    axes.plot(fit.grid, mean, color=DATA, lw=1.8, label="mean over windows")
    axes.plot(
        fit.grid[best], mean[best], "x", color=SIMULATION, ms=8, mew=2, label=f"least mean, α ≈ {fit.grid[best]:.2g}"
    )
    axes.set_xscale("log")
    kind = "rms" if fit.settings.loss == "rms" else "largest"
    axes.set(xlabel="drag ratio α", ylabel=f"{kind} distance of the paths ({plain_text(length_unit)})")
    axes.set(xlim=(fit.grid[0], fit.grid[-1]), ylim=(0, None))
    axes.legend(loc="upper right", fontsize="small")
    axes.set_title("Which drag ratio explains the paths")


def draw_drag_cdf(axes: Axes, fit: DragFit) -> None:
    """Draw the distribution of the best drag ratio over windows, with its median.

    Parameters
    ----------
    axes
        To draw on; the horizontal axis is logarithmic.
    fit
        Windows whose loss still falls at a bound count with the bound, those that say nothing about α are left out,
        and the title counts both.

    Notes
    -----
    Fig. S5a (middle).
    """
    known = np.sort(fit.drag_ratio[np.isfinite(fit.drag_ratio)])
    if known.size:
        share = np.arange(1, known.size + 1) / known.size
        axes.step(np.concatenate([known[:1], known]), np.concatenate([[0], share]), where="post", color=DATA, lw=1.5)
        axes.axvline(fit.median.estimate, color=SIMULATION, lw=1.2, ls="--", label=_median_words(fit))
        if np.isfinite(fit.median.low):
            axes.axvspan(fit.median.low, fit.median.high, color=SIMULATION, alpha=0.2, lw=0)
        axes.legend(loc="lower right", fontsize="small")
    axes.set_xscale("log")
    low, high = fit.settings.bounds
    axes.set(xlabel="best drag ratio α", ylabel="share of windows at most α", xlim=(low * 0.9, high * 1.1))
    axes.set_ylim(0, 1.02)
    others = ", ".join(f"{n} {status}" for status, n in sorted(fit.status_counts.items()) if status != "ok")
    axes.set_title(
        f"{count_of(len(fit.status), 'window')}, {100 * fit.share_unsolved:.0f} % without a best α"
        + (f"\n({others})" if others else "")
    )


def _median_words(fit: DragFit) -> str:
    median = fit.median
    if np.isnan(median.low):
        return f"median {median.estimate:.3g}"
    return f"median {median}\n({100 * median.level:.0f} % over {median.over})"


# --- bearing ---------------------------------------------------------------------------------------------------------


def draw_bearing_spectrum(
    axes: Axes, spectra: Mapping[str, BearingSpectrum], *, body_wave: Mapping[str, float] | None = None
) -> None:
    """Draw the power spectrum of the direction of travel, with the loops of the path marked.

    Parameters
    ----------
    axes
        To draw on; both become logarithmic.
    spectra
        By the name of the state; each is the mean over its animals or runs.
    body_wave
        Frequency of the body wave in hertz, by the name of the state, dashed.

    Notes
    -----
    Fig. S9b. Triangles mark the slow peak, if there is one, and the legend gives its period. Above the first octaves,
    neighbouring frequencies are averaged, twelve bins to an octave.
    """
    if not spectra:
        raise InputFormatError("There is no spectrum to draw; pass at least one.")
    for (name, spectrum), colour in zip(spectra.items(), state_colours(len(spectra)), strict=True):
        seen = spectrum.n_segments > 0
        if not seen.any():
            continue
        frequency, power = octave_means(spectrum.frequency[1:], spectrum.power[seen].mean(axis=0)[1:])
        period = spectrum.loop_period()
        loops = "" if np.isnan(period) else f", loop {period:.2g} s"
        axes.plot(frequency, power, color=colour, lw=1.3, label=plain_text(name) + loops)
        if not np.isnan(period):
            height = np.exp(np.interp(np.log(1 / period), np.log(frequency), np.log(power)))
            axes.plot(1 / period, 1.5 * height, "v", color=colour, mec=INK, mew=0.5, ms=7)
        if body_wave is not None and np.isfinite(body_wave.get(name, np.nan)):
            axes.axvline(body_wave[name], color=colour, lw=1, ls="--")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set(xlabel="frequency (Hz)", ylabel="power of the bearing (1/Hz)")
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize="small")
    marks = "▾ loops" + ("" if body_wave is None else ", dashed: body wave")
    axes.set_title(f"Spectrum of the bearing ({marks})")


def octave_means(frequency: FloatArray, power: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Average a spectrum within bins of equal width in log frequency; a bin without a frequency is left out.

    Parameters
    ----------
    frequency
        Positive, ascending.
    power
        At these frequencies.
    """
    bins = np.floor(BINS_PER_OCTAVE * np.log2(frequency / frequency[0]) + 1e-9).astype(int)
    _, place = np.unique(bins, return_inverse=True)
    count = np.bincount(place)
    return np.bincount(place, frequency) / count, np.bincount(place, power) / count
