"""Panels of figures of the paper that show postures in time, and posture sequences on the map."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from matplotlib.axes import Axes

from ethomarkov._core.types import FloatArray
from ethomarkov.figures.maps import MapPanel, draw_map, draw_map_states, mode_panels
from ethomarkov.figures.paths import draw_state_path
from ethomarkov.figures.recording import TRACE_SECONDS, draw_traces
from ethomarkov.figures.simulation import body_rows, draw_kymograph
from ethomarkov.figures.states import draw_bodies
from ethomarkov.figures.style import plain_text
from ethomarkov.markov.spectrum import modes_on_frames, relaxation_time, reversible_modes
from ethomarkov.report.paper_layout import NO_BODY, NO_PATH, LeftOut, Panel, Piece, side_by_side
from ethomarkov.report.paper_parts import Parts
from ethomarkov.report.path_movies import longest_stretch
from ethomarkov.workflow.paths import body_basis, measured_path
from ethomarkov.workflow.states import state_names
from ethomarkov.workflow.study import MACRO, Study

MOST_MODES = 5
"""Modes that a figure shows at most."""
KYMOGRAPH_SECONDS, SHOWN_PERCENT = 30.0, 98.0


def longest_animal(study: Study) -> int:
    """Find the animal with the longest gap-free stretch."""
    segments = study.postures.segments
    return int(segments.bounds[segments.lengths.argmax(), 2])


def traces_piece(study: Study) -> Panel:
    """Show the modes in the longest gap-free stretch."""
    own = longest_animal(study)
    name = study.symbols.segments.individuals[own]
    return Panel(
        letter="a",
        words=f"Mode amplitudes in the longest gap-free stretch, of {name}, and outlines of its body.",
        draw=lambda axes: draw_stretch(axes, longest_stretch(study, own).values, study, f"data, {name}"),
    )


def draw_stretch(axes: Axes, values: FloatArray, study: Study, title: str) -> None:
    """Draw the first modes of the first minute of a stretch."""
    rate = study.postures.sampling.rate
    rows = values[: max(2, round(TRACE_SECONDS * rate)), :MOST_MODES]
    draw_traces(axes, rows, rate, [f"$a_{{{k + 1}}}$" for k in range(rows.shape[1])], "")
    axes.set_title(plain_text(title))


def bodies_piece(study: Study) -> Piece:
    """Show outlines of the body in the longest gap-free stretch."""
    if study.basis is None or study.basis.features != "angle":
        return LeftOut(letter="a, bodies", reason=NO_BODY, width=0)
    basis = body_basis(study)

    def draw(axes: Axes) -> None:
        stretch = longest_stretch(study, longest_animal(study))
        rows = round(TRACE_SECONDS * stretch.sampling.rate)
        draw_bodies(axes, basis.reconstruct(stretch).values[:rows])
        axes.set_title("Bodies from the start to the end of this stretch (dot: head)")

    return Panel(letter="", words="", draw=draw, width=0.5)


def kymograph_pieces(study: Study) -> list[Piece]:
    """Show the curvature along the body in time, of an animal and of a simulated one."""
    if study.path is None:
        return [LeftOut(letter="a", reason=NO_BODY)]
    own = longest_animal(study)
    name = study.symbols.segments.individuals[own]
    angles = {
        f"data, {name}": body_basis(study).reconstruct(longest_stretch(study, own)),
        "simulation, all animals": body_basis(study).reconstruct(study.simulated.of(0)),
    }
    first = next(iter(angles.values()))
    shown = body_rows(first, "curvature")[: round(KYMOGRAPH_SECONDS * first.sampling.rate)]
    limit = float(np.nanpercentile(np.abs(shown), SHOWN_PERCENT))

    def draw(title: str, axes: Axes) -> None:
        draw_kymograph(axes, angles[title], seconds=KYMOGRAPH_SECONDS, limit=limit)
        axes.set_title(plain_text(title))

    words = "Curvature along the body in time, of an animal and of a simulated one."
    return side_by_side("a", words, [partial(draw, title) for title in angles])


def map_pieces(parts: Parts, panels: Sequence[MapPanel], letter: str, words: str) -> list[Piece]:
    """Make one panel per quantity on the map; the letter stands at the first."""

    def draw(panel: MapPanel, axes: Axes) -> None:
        draw_map(axes, parts.sequence_map, panel.values, label=panel.label, limits=panel.limits)
        axes.set_title(panel.title)

    return side_by_side(letter, words, [partial(draw, panel) for panel in panels])


def slow_mode_panels(study: Study, last: int, first: int = 1) -> list[MapPanel]:
    """Give the slow modes from the first to the last wanted one that the chain has, on frames."""
    n_modes = min(last, study.chain.states.size - 1)
    values, modes = reversible_modes(study.chain, n_modes)
    times = np.array([relaxation_time(float(value), study.chain.lag) for value in values])
    on_frames = modes_on_frames(study.symbols, study.chain, modes)
    return mode_panels(on_frames[:, first - 1 :], times[first - 1 :], first=first + 1)


def macrostate_pieces(study: Study, parts: Parts) -> list[Piece]:
    """Show the two macrostates on the map, and along the path of an animal."""
    labels, names = study.states(MACRO).labels, state_names(study, MACRO)

    def draw_states(axes: Axes) -> None:
        draw_map_states(axes, parts.sequence_map, labels, names)
        axes.set_title("Macrostates on the map")

    states = Panel(
        letter="e",
        words="The macrostates of (d) on the map, and along the measured path of an animal where there is one.",
        draw=draw_states,
    )
    path = measured_path(study)
    if path is None:
        return [states, LeftOut(letter="e, right", reason=NO_PATH)]
    own = int(path.segments.bounds[path.segments.lengths.argmax(), 2])
    draw = partial(draw_state_path, path=path, labels=labels, names=names, individual=own)
    return [states, Panel(letter="", words="", draw=draw)]
