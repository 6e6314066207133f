"""Simulated animals beside the recorded ones."""

import numpy as np
from matplotlib.axes import Axes

from ethomarkov._core.series import Series
from ethomarkov._core.types import FloatArray
from ethomarkov.figures.style import DATA, SIMULATION
from ethomarkov.locomotion import Path


def autocorrelation(series: Series, component: int, max_lag: int) -> FloatArray:
    """Correlate a component with itself, over all gap-free pairs."""
    values = series.values[:, component].astype(float)
    values = values - values[series.segments.valid].mean()
    variance = np.square(values[series.segments.valid]).mean()
    out = np.full(max_lag, np.nan)
    for lag in range(max_lag):
        first, last = series.segments.pairs(lag)
        if first.size:
            out[lag] = (values[first] * values[last]).mean() / variance
    return out


def draw_autocorrelation(axes: Axes, data: Series, simulated: Series, component: int, seconds: float = 8.0) -> None:
    """Draw the autocorrelation of one mode in data and simulation."""
    max_lag = round(seconds * data.sampling.rate)
    lags = np.arange(max_lag) / data.sampling.rate
    for series, colour, label in ((data, DATA, "data"), (simulated, SIMULATION, "simulation")):
        axes.plot(lags, autocorrelation(series, component, max_lag), color=colour, label=label, lw=1.3)
    axes.axhline(0, color="#888888", lw=0.6)
    axes.set(xlabel="lag (s)", xlim=(0, seconds))
    axes.set_title(f"Autocorrelation of $a_{component + 1}$")


def draw_paths(axes: Axes, path: Path, n_shown: int = 5) -> None:
    """Draw the paths of a few simulated animals, each from its own start."""
    for i, (start, stop, _) in enumerate(path.segments):
        if i == n_shown:
            break
        x, y = path.centroid[start:stop].T
        (line,) = axes.plot(x, y, lw=0.9)
        axes.plot(x[-1], y[-1], "o", color=line.get_color(), ms=3)
    axes.plot(0, 0, "k+", ms=8)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set(xlabel=f"x ({path.length_unit})", ylabel=f"y ({path.length_unit})")
    axes.set_title(f"Simulated paths ({min(n_shown, len(path.segments))} of {len(path.segments)})")
