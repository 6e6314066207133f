"""Simulated animals beside the recorded ones: spectra and kymographs of their postures."""

from collections.abc import Mapping
from typing import Literal

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure

from ethomarkov._core.series import Series
from ethomarkov._core.types import FloatArray
from ethomarkov.exceptions import InputFormatError, SamplingError
from ethomarkov.figures.paths import draw_paths
from ethomarkov.figures.style import DATA, MISSING, MODES, SIMULATION, figure_style, new_figure, plain_text

__all__ = [
    "body_rows",
    "draw_kymograph",
    "draw_kymographs",
    "draw_paths",
    "draw_posture_spectra",
    "posture_speed",
    "welch_spectrum",
]

BodyQuantity = Literal["curvature", "angle"]
BODY_LABELS = {"curvature": "curvature (rad per body length)", "angle": "tangent angle (rad)"}
# White in the middle, since straight is nothing; purple and orange differ for colour-blind readers too.
BODY_COLOURS = "PuOr_r"
# Of the values, the share that the colours tell apart; the rest has the colour of the nearest limit.
SHOWN_PERCENT = 98.0
MOST_TEETH = 12
CURVATURE_PARTS = 10


# --- spectra ---------------------------------------------------------------------------------------------------------


def posture_speed(postures: Series) -> Series:
    """Measure how fast the posture changes: distance between successive frames per second, at the first of them."""
    first, last = postures.segments.pairs(1)
    speed = np.full((len(postures.values), 1), np.nan)
    step = postures.values[last].astype(float) - postures.values[first]
    speed[first, 0] = np.linalg.norm(step, axis=1) * postures.sampling.rate
    return postures.with_rows(speed)


def welch_spectrum(series: Series, component: int, segment: float = 30.0) -> tuple[FloatArray, FloatArray]:
    """Estimate the power spectrum of one component, over all gap-free stretches of all animals.

    Parameters
    ----------
    series
        Rows in time.
    component
        Which column.
    segment
        Seconds per Hann-windowed segment, half overlapping; the mean of each is removed.

    Returns
    -------
    frequency
        Hertz.
    power
        Density, squared unit of the component per hertz.
    """
    from scipy.signal import periodogram

    length = series.sampling.frames(segment, "segment")
    starts = [np.arange(start, stop - length + 1, max(1, length // 2)) for start, stop, _ in series.segments]
    rows = np.concatenate([np.empty(0, dtype=np.int64), *starts])
    if rows.size == 0:
        raise SamplingError(
            f"segment={segment:g} s is longer than the longest gap-free stretch, "
            f"{series.sampling.seconds(series.segments.longest()):g} s. Use a shorter segment."
        )
    pieces = series.values[rows[:, None] + np.arange(length), component].astype(float)
    frequency, power = periodogram(pieces, series.sampling.rate, "hann", detrend="constant")
    return frequency, power.mean(axis=0)


def draw_posture_spectra(
    axes: Axes, postures: Mapping[str, Series], quantity: int | Literal["speed"], *, lag: float, segment: float = 30.0
) -> None:
    """Draw the spectrum of a mode, or of the speed of posture, for data and simulations.

    Parameters
    ----------
    axes
        To draw on; the vertical axis is logarithmic.
    postures
        Mode amplitudes by name, the data first.
    quantity
        Index of the mode, or "speed".
    lag
        Seconds per step of the simulated walks. Joints between sequences leave peaks at its inverse and multiples of
        it, which are marked; what the data have there too is no artefact.
    segment
        Seconds, see `welch_spectrum`.
    """
    if not postures:
        raise InputFormatError("There are no postures to draw; pass at least one series.")
    colours = (DATA, SIMULATION, *MODES[2:])
    reach = 0.0
    for i, (name, series) in enumerate(postures.items()):
        chosen, component = (posture_speed(series), 0) if quantity == "speed" else (series, quantity)
        frequency, power = welch_spectrum(chosen, component, segment)
        # the first value is what is left of the mean, and the last has no neighbour above: neither is a density
        inner = slice(1, -1)
        axes.plot(frequency[inner], power[inner], color=colours[i % len(colours)], lw=1.2, label=plain_text(name))
        reach = max(reach, float(frequency[-1]))
    teeth = np.arange(1, min(MOST_TEETH, int(reach * lag * (1 + 1e-9))) + 1) / lag
    for k, tooth in enumerate(teeth):
        label = None if k else f"multiples of {1 / lag:.3g} Hz, one per step"
        axes.axvline(tooth, color=MISSING, lw=0.9, ls=":", zorder=0, label=label)
    axes.set_yscale("log")
    unit = "rad²/s" if quantity == "speed" else "rad²/Hz"
    axes.set(xlabel="frequency (Hz)", ylabel=f"power ({unit})", xlim=(0, reach))
    axes.legend(loc="upper right", fontsize="small")
    axes.set_title("Speed of posture" if quantity == "speed" else f"Mode $a_{{{quantity + 1}}}$")


# --- kymographs ------------------------------------------------------------------------------------------------------


def body_rows(angles: Series, quantity: BodyQuantity) -> FloatArray:
    """Give curvature or tangent angle along the body, one row per frame, head first.

    Parameters
    ----------
    angles
        Tangent angles, as from `PostureBasis.reconstruct`.
    quantity
        "curvature" is the slope of the angle along the body, of parabolas fitted to a tenth of it, which takes out the
        rounding of published modes; "angle" is the tangent angle, whose mean over the body is zero.
    """
    from scipy.signal import savgol_filter

    if angles.n_components < 3:
        raise InputFormatError(f"The body has {angles.n_components} segments; at least three have a curvature.")
    if quantity == "angle":
        return angles.values
    if quantity == "curvature":
        n = angles.n_components
        width = max(3, 2 * (n // CURVATURE_PARTS // 2) + 1)
        known, rows = angles.segments.valid, np.full(angles.values.shape, np.nan)
        rows[known] = savgol_filter(angles.values[known], width, 2, deriv=1, delta=1 / n, axis=1)
        return rows
    raise InputFormatError(f"quantity={quantity!r} is not known. Use 'curvature' or 'angle'.")


def draw_kymograph(
    axes: Axes,
    angles: Series,
    *,
    quantity: BodyQuantity = "curvature",
    start: float = 0.0,
    seconds: float = 30.0,
    limit: float | None = None,
) -> None:
    """Draw curvature or angle along the body against time, head at the top.

    Parameters
    ----------
    axes
        To draw on; a colour bar is added beside them.
    angles
        Tangent angles of one animal or run.
    quantity
        See `body_rows`.
    start, seconds
        Stretch of the series; frames without posture are grey.
    limit
        Value at the ends of the colour bar, on both sides of zero; by default 98 % of the values lie within.

    Notes
    -----
    Fig. S2a.
    """
    rows = _stretch(angles, quantity, start, seconds)
    mesh = _draw_mesh(axes, rows, angles.sampling.rate, start, limit or _reach([rows]))
    axes.figure.colorbar(mesh, ax=axes, label=BODY_LABELS[quantity], extend="both")
    axes.set_xlabel("time (s)")


def draw_kymographs(
    stretches: Mapping[str, Series],
    *,
    quantity: BodyQuantity = "curvature",
    starts: Mapping[str, float] | None = None,
    seconds: float = 30.0,
) -> Figure:
    """Draw kymographs one below the other on one scale of colours, as data and simulation in Fig. S2a.

    Parameters
    ----------
    stretches
        Tangent angles of one animal or run each, by title.
    quantity
        See `body_rows`.
    starts
        Seconds at which the stretch of each begins; the beginning by default.
    seconds
        Length of all of them. Time is counted from the beginning of the stretch.
    """
    if not stretches:
        raise InputFormatError("There is no series to draw; pass at least one.")
    starts = starts or {}
    rows = {name: _stretch(angles, quantity, starts.get(name, 0.0), seconds) for name, angles in stretches.items()}
    limit = _reach(list(rows.values()))
    with figure_style():
        figure = new_figure(8.0, 0.6 + 1.5 * len(rows))
        grid = figure.subplots(len(rows), 1, sharex=True, squeeze=False)[:, 0]
        for axes, (name, found) in zip(grid, rows.items(), strict=True):
            mesh = _draw_mesh(axes, found, stretches[name].sampling.rate, 0.0, limit)
            axes.set_title(plain_text(name))
        grid[-1].set_xlabel("time (s)")
        figure.colorbar(mesh, ax=list(grid), label=BODY_LABELS[quantity], extend="both")
    return figure


def _stretch(angles: Series, quantity: BodyQuantity, start: float, seconds: float) -> FloatArray:
    """Rows of the wanted stretch."""
    if angles.segments.n_individuals != 1:
        raise InputFormatError(
            f"The series holds {angles.segments.n_individuals} animals; a kymograph shows one. Pass angles.of(0)."
        )
    first = round(start * angles.sampling.rate)
    rows = body_rows(angles, quantity)[first : first + round(seconds * angles.sampling.rate)]
    if not np.isfinite(rows).any():
        raise InputFormatError(
            f"There is no posture between {start:g} and {start + seconds:g} s, in a series of "
            f"{angles.sampling.seconds(len(angles.values)):g} s. Choose another stretch."
        )
    return rows


def _reach(stretches: list[FloatArray]) -> float:
    sizes = np.concatenate([np.abs(rows[np.isfinite(rows)]) for rows in stretches])
    return float(np.percentile(sizes, SHOWN_PERCENT)) or 1.0


def _draw_mesh(axes: Axes, rows: FloatArray, rate: float, start: float, limit: float) -> QuadMesh:
    time = start + np.arange(len(rows) + 1) / rate
    place = np.linspace(0, 1, rows.shape[1] + 1)
    colours = mpl.colormaps[BODY_COLOURS].with_extremes(bad=MISSING)
    mesh = axes.pcolormesh(
        time, place, np.ma.masked_invalid(rows.T), cmap=colours, vmin=-limit, vmax=limit, rasterized=True
    )
    axes.set_ylim(1, 0)
    axes.set_yticks([0, 1], ["head", "tail"])
    return mesh
