"""What animals find in each state: its paths, the food that it finds near and far, and the time spent in it."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullFormatter

from ethomarkov._core.types import FloatArray
from ethomarkov._core.words import count_of
from ethomarkov.exceptions import InputFormatError
from ethomarkov.figures.paths import GUIDE, INK, frame_plane
from ethomarkov.figures.style import state_colours, state_labels
from ethomarkov.foraging import FoodCurve, Matching
from ethomarkov.locomotion import Trajectory

ROOM = 1.08  # of the axes of shares, beyond the largest error bar


def draw_example_paths(
    axes: Axes, paths: Mapping[str, Trajectory], *, n_shown: int = 1, seconds: float = 600.0
) -> None:
    """Draw paths of animals that never leave a state, from a common start.

    Parameters
    ----------
    axes
        To draw on.
    paths
        Simulated, by the name of the state; all in the same unit of length.
    n_shown
        Runs drawn of each state.
    seconds
        Drawn of each run at most; ten minutes, as published.

    Notes
    -----
    Fig. 5a.
    """
    units = {path.length_unit for path in paths.values()}
    if len(units) != 1:
        raise InputFormatError(
            f"There are {len(paths)} paths, in {len(units)} units of length; pass one or more, in the same unit."
        )
    words = state_labels(list(paths), len(paths))
    longest = 0
    for path, colour, word in zip(paths.values(), state_colours(len(paths)), words, strict=True):
        for k, (start, stop, _) in enumerate(list(path.segments)[:n_shown]):
            points = path.centroid[start : min(stop, start + round(seconds * path.sampling.rate))]
            points = points - points[0]
            longest = max(longest, round(len(points) / path.sampling.rate))
            axes.plot(*points.T, color=colour, lw=1.1, label=None if k else word)
            axes.plot(*points[-1:].T, "o", ms=3.5, color=colour)
    axes.plot(0, 0, "+", color=INK, ms=8, ls="", zorder=4, label="start (dots: end)")
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize="small")
    frame_plane(axes, units.pop(), scale_bar=True)
    axes.set_title(f"Within one state for {longest} s")


def draw_food_curve(axes: Axes, curve: FoodCurve) -> None:
    """Draw how likely each state is to find food that is spread over a disc, against the radius of the disc.

    Parameters
    ----------
    axes
        To draw on; the horizontal axis is logarithmic.
    curve
        As from `food_curve`.

    Notes
    -----
    Fig. 5b. Bands are 95 % intervals of the mean over runs. The dashed line is the animal that divides its time among
    the states as recorded, the dotted one where states are equal.
    """
    words = state_labels(curve.names, len(curve.names))
    for k, (word, colour) in enumerate(zip(words, state_colours(len(words)), strict=True)):
        axes.plot(curve.radii, curve.probability[k], color=colour, lw=1.6, label=word)
        axes.fill_between(curve.radii, curve.low[k], curve.high[k], color=colour, alpha=0.25, lw=0)
    axes.plot(curve.radii, curve.average, color=INK, lw=1.8, ls="--", label="average animal")
    axes.fill_between(curve.radii, curve.average_low, curve.average_high, color=INK, alpha=0.15, lw=0)
    axes.axhline(1 / len(words), color=GUIDE, lw=0.9, ls=":", zorder=0)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set(xlim=(curve.radii[0], curve.radii[-1]), ylim=(0, None))
    axes.set(xlabel="radius r of the food patch (body lengths)", ylabel="p(food | r, state)")
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize="small")
    axes.set_title(f"Finding food ({count_of(curve.n_runs, 'run')} of each state)")


def draw_matching(axes: Axes, matching: Matching) -> None:
    """Draw how likely each state is to find food in a large patch, against the time that animals spend in it.

    Parameters
    ----------
    axes
        To draw on.
    matching
        As from `match_time`.

    Notes
    -----
    Fig. 5c. On the dashed line animals divide their time as their states find food. Horizontal bars are 95 % intervals
    over animals; the title says what the vertical ones are.
    """
    words = state_labels(matching.names, len(matching.names))
    across = _bars(matching.time_share, matching.time_low, matching.time_high)
    upright = _bars(matching.efficiency, matching.efficiency_low, matching.efficiency_high)
    for k, (word, colour) in enumerate(zip(words, state_colours(len(words)), strict=True)):
        axes.errorbar(
            matching.time_share[k],
            matching.efficiency[k],
            xerr=across[:, k : k + 1],
            yerr=upright[:, k : k + 1],
            fmt="o",
            color=colour,
            ms=6,
            lw=1.2,
            label=word,
        )
    ends = [matching.time_high, matching.efficiency_high, matching.time_share, matching.efficiency]
    limit = ROOM * float(np.nanmax(ends))
    axes.plot([0, limit], [0, limit], color=GUIDE, lw=0.9, ls="--", zorder=0, label="equal")
    axes.set(xlim=(0, limit), ylim=(0, limit), xlabel="share of time in the state")
    axes.set_ylabel(f"p(food | {matching.radius:g} body lengths, state)")
    axes.set_aspect("equal", adjustable="box")
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize="small")
    over = "95 % interval of the mean over runs" if matching.spread == "mean" else "95 % of runs"
    axes.set_title(f"Time and food: r = {matching.correlation}\n(vertical bars: {over})")


def _bars(centre: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Lengths of error bars to both sides; none where there is no interval."""
    return np.asarray(np.maximum(np.nan_to_num([centre - low, high - centre]), 0))
