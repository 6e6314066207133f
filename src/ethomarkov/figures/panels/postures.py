"""Panels of recorded postures: where they are, what they look like, and the space that they form."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from ethomarkov._core.series import Series
from ethomarkov._core.types import FloatArray
from ethomarkov.figures.maps import draw_map_panels, draw_map_states, motion_panels
from ethomarkov.figures.panel import panel
from ethomarkov.figures.recording import TRACE_SECONDS, draw_coverage, draw_traces
from ethomarkov.figures.simulation import draw_kymograph
from ethomarkov.figures.states import draw_bodies
from ethomarkov.figures.style import plain_text
from ethomarkov.posture import PostureBasis
from ethomarkov.posture.curvature import body_rows
from ethomarkov.posture.stretch import longest_animal, longest_stretch
from ethomarkov.states import Symbols
from ethomarkov.states.projection import SequenceMap

MOST_MODES = 5
"""Modes that a figure shows at most."""
MOST_BARS = 40
KYMOGRAPH_SECONDS, SHOWN_PERCENT = 30.0, 98.0


@panel(
    caption="Posture of every animal; sequences and transitions are only ever taken from the blue stretches.",
    height=lambda postures: 0.8 + 0.2 * min(postures.segments.n_individuals, MOST_BARS),
)
def coverage(axes: Axes, postures: Series) -> None:
    """Draw where there is posture, animal by animal."""
    draw_coverage(axes, postures.segments, postures.sampling.rate)


@panel(caption="Mode amplitudes in the longest gap-free stretch.", height=2.6)
def traces(axes: Axes, postures: Series) -> None:
    """Draw the first modes in the longest stretch."""
    _draw_minute(axes, longest_stretch(postures).values, postures.sampling.rate, "mode amplitudes")


def _draw_minute(axes: Axes, values: FloatArray, rate: float, unit: str = "") -> None:
    """Draw the first modes of the first minute of a stretch; two frames at least, where there are few in a minute."""
    rows = values[: max(2, round(TRACE_SECONDS * rate)), :MOST_MODES]
    draw_traces(axes, rows, rate, [f"$a_{{{k + 1}}}$" for k in range(rows.shape[1])], unit)


def _longest_name(postures: Series) -> str:
    return postures.segments.individuals[longest_animal(postures)]


@panel(
    caption=lambda postures: f"Mode amplitudes in the longest gap-free stretch, of {_longest_name(postures)}.",
    height=2.6,
)
def recorded_traces(axes: Axes, postures: Series) -> None:
    """Draw the modes of the animal with the longest stretch."""
    _draw_minute(axes, longest_stretch(postures).values, postures.sampling.rate)
    axes.set_title(plain_text(f"data, {_longest_name(postures)}"))


@panel(caption="The same of a simulated animal, from the chain of all.", height=2.6)
def simulated_traces(axes: Axes, simulated: Series) -> None:
    """Draw the modes of the first simulated animal."""
    _draw_minute(axes, simulated.cut(0).values, simulated.sampling.rate)
    axes.set_title("simulation, all animals")


@panel(caption="Outlines of the body from the start to the end of this stretch.", width=0.5, height=2.6)
def bodies(axes: Axes, postures: Series, body_basis: PostureBasis) -> None:
    """Draw the body a few times along the longest stretch."""
    stretch = longest_stretch(postures)
    rows = round(TRACE_SECONDS * stretch.sampling.rate)
    draw_bodies(axes, body_basis.reconstruct(stretch).values[:rows])
    axes.set_title("Bodies from the start to the end of this stretch (dot: head)")


@panel(
    caption="Curvature along the body in time, of an animal and of a simulated one.",
    n_axes=2,
    height=2.8,
)
def kymographs(axes: Sequence[Axes], postures: Series, body_basis: PostureBasis, simulated: Series) -> None:
    """Draw the curvature of the longest stretch and of the first simulated animal, on the scale of the data."""
    angles = {
        f"data, {_longest_name(postures)}": body_basis.reconstruct(longest_stretch(postures)),
        "simulation, all animals": body_basis.reconstruct(simulated.cut(0)),
    }
    first = next(iter(angles.values()))
    shown = body_rows(first, "curvature")[: round(KYMOGRAPH_SECONDS * first.sampling.rate)]
    limit = float(np.nanpercentile(np.abs(shown), SHOWN_PERCENT))
    for one, (title, rows) in zip(axes, angles.items(), strict=True):
        draw_kymograph(one, rows, seconds=KYMOGRAPH_SECONDS, limit=limit)
        one.set_title(plain_text(title))


# --- on the map ------------------------------------------------------------------------------------------------------


@panel(
    caption=lambda sequence_map: (
        f"Posture sequences on a map ({sequence_map.source.rstrip('.')}), one dot per frame, by movement."
    ),
    n_axes=2,
    height=3.3,
)
def motion_on_map(
    axes: Sequence[Axes], phase_velocity: FloatArray, sequence_map: SequenceMap, postures: Series
) -> None:
    """Draw the map by the velocity of the body wave, and by the bend."""
    draw_map_panels(axes, sequence_map, motion_panels(phase_velocity, postures.values[:, 2]))


@panel(caption="The macrostates on the map.")
def macrostates_on_map(
    axes: Axes, sequence_map: SequenceMap, macrostates: Symbols, names: Mapping[int, Sequence[str]]
) -> None:
    """Draw the map by macrostate."""
    draw_map_states(axes, sequence_map, macrostates.labels, names[macrostates.n_states])
    axes.set_title("Macrostates on the map")
