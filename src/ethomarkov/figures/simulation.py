"""Simulated animals beside the recorded ones: spectra and kymographs of their postures."""

from collections.abc import Mapping, Sequence
from typing import Literal

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh

from ethomarkov._core.series import Series
from ethomarkov._core.types import FloatArray
from ethomarkov.exceptions import InputFormatError
from ethomarkov.figures.style import DATA, MISSING, MODES, SIMULATION, plain_text
from ethomarkov.posture.curvature import BodyQuantity, body_rows
from ethomarkov.simulation.spectra import PostureSpectrum

BODY_LABELS = {"curvature": "curvature (rad per body length)", "angle": "tangent angle (rad)"}
# White in the middle, since straight is nothing; purple and orange differ for colour-blind readers too.
BODY_COLOURS = "PuOr_r"
# Of the values, the share that the colours tell apart; the rest has the colour of the nearest limit.
SHOWN_PERCENT = 98.0
MOST_TEETH = 12


# --- spectra ---------------------------------------------------------------------------------------------------------


def draw_posture_spectra(
    axes: Axes, spectra: Mapping[str, PostureSpectrum], quantity: int | Literal["speed"], *, lag: float
) -> None:
    """Draw the spectrum of a mode, or of the speed of posture, for data and simulations.

    Parameters
    ----------
    axes
        To draw on; the vertical axis is logarithmic.
    spectra
        By name, the data first.
    quantity
        Index of the mode, or "speed".
    lag
        Seconds per step of the simulated walks. Joints between sequences leave peaks at its inverse and multiples of
        it, which are marked; what the data have there too is no artefact.
    """
    if not spectra:
        raise InputFormatError("There are no postures to draw; pass at least one series.")
    colours = (DATA, SIMULATION, *MODES[2:])
    for i, (name, found) in enumerate(spectra.items()):
        power = found.speed if quantity == "speed" else found.modes[quantity]
        # the first value is what is left of the mean, and the last has no neighbour above: neither is a density
        inner = slice(1, -1)
        axes.plot(found.frequency[inner], power[inner], color=colours[i % len(colours)], lw=1.2, label=plain_text(name))
    reach = max(float(found.frequency[-1]) for found in spectra.values())
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

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> axes = Figure().subplots()
    >>> import numpy as np
    >>> from ethomarkov._core.series import Series
    >>> body, time = np.meshgrid(np.linspace(0, 1, 20), np.arange(80) / 16)
    >>> angles = Series.from_rows(np.sin(2 * np.pi * (1.5 * body - time)), 16.0)
    >>> draw_kymograph(axes, angles, seconds=4.0)
    >>> axes.get_xlabel()
    'time (s)'
    """
    rows = _stretch(angles, quantity, start, seconds)
    mesh = _draw_mesh(axes, rows, angles.sampling.rate, start, limit or _reach([rows]))
    axes.figure.colorbar(mesh, ax=axes, label=BODY_LABELS[quantity], extend="both")
    axes.set_xlabel("time (s)")


def draw_kymographs(
    panels: Sequence[Axes],
    stretches: Mapping[str, Series],
    *,
    quantity: BodyQuantity = "curvature",
    starts: Mapping[str, float] | None = None,
    seconds: float = 30.0,
) -> None:
    """Draw kymographs one below the other on one scale of colours, as data and simulation in Fig. S2a.

    Parameters
    ----------
    panels
        To draw on, one for each; a colour bar is added beside them.
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
    for axes, (name, found) in zip(panels, rows.items(), strict=True):
        mesh = _draw_mesh(axes, found, stretches[name].sampling.rate, 0.0, limit)
        axes.set_title(plain_text(name))
        axes.label_outer()
    panels[-1].set_xlabel("time (s)")
    panels[0].figure.colorbar(mesh, ax=list(panels), label=BODY_LABELS[quantity], extend="both")


def _stretch(angles: Series, quantity: BodyQuantity, start: float, seconds: float) -> FloatArray:
    """Rows of the wanted stretch."""
    if angles.segments.n_individuals != 1:
        raise InputFormatError(
            f"The series holds {angles.segments.n_individuals} animals; a kymograph shows one. Pass angles.cut(0)."
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
