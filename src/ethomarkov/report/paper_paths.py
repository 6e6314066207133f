"""Panels of figures of the paper that show paths, and how far they lead."""

from collections.abc import Iterator, Sequence
from functools import partial

from matplotlib.axes import Axes

from ethomarkov._core.words import count_of
from ethomarkov.figures.paths import draw_diffusion, draw_displacement, draw_drag_cdf, draw_drag_loss, draw_paths
from ethomarkov.figures.style import plain_text
from ethomarkov.locomotion.displacement import Displacement
from ethomarkov.report.paper_layout import (
    NO_BODY,
    NO_PATH,
    LeftOut,
    Panel,
    Piece,
    Space,
    fold_legend,
    lacking,
    side_by_side,
)
from ethomarkov.report.paper_parts import Parts
from ethomarkov.report.path_figures import animal_row, draw_example
from ethomarkov.workflow.paths import measured_path
from ethomarkov.workflow.runs import Runs, fitted_diffusion
from ethomarkov.workflow.study import Study

MOST_ANIMALS, ANIMALS_PER_ROW = 12, 4


def paths_piece(study: Study, parts: Parts) -> Piece:
    """Show simulated paths, beside the measured one where it is in the same unit."""
    if not parts.animal_runs:
        path = study.path
        if path is None:
            return LeftOut(letter="a", reason=NO_BODY)
        words = "Paths of simulated animals, from the chain of all, in body lengths."
        return Panel(letter="a", words=words, draw=lambda axes: draw_paths(axes, path))
    one, measured = parts.animal_runs[0], measured_path(study)
    beside = None if measured is None else measured.of(study.symbols.segments.individuals.index(one.name))
    if beside is not None and beside.length_unit != one.path.length_unit:
        beside = None
    seconds = one.path.segments.longest() / one.path.sampling.rate
    return Panel(
        letter="a",
        words=f"Paths of {one.name} and of runs of its model (drag ratio {study.settings.drag_ratio:g}).",
        draw=lambda axes: draw_paths(axes, one.path, measured=beside, seconds=seconds),
    )


def displacement_pieces(parts: Parts) -> list[Piece]:
    """Show how far one animal and its runs get, and the diffusion coefficients of all."""
    if not parts.animal_runs:
        reason = lacking("runs of the animals", "simulate STUDY")
        return [LeftOut(letter="b", reason=reason, width=2)]
    one = parts.animal_runs[0]
    left = Panel(
        letter="b",
        words=(
            f"Left: mean squared displacement of {one.name} and of {count_of(len(one.displacement.msd), 'run')} of its "
            "model. Right: diffusion coefficients of all animals, fitted in the shaded window, against those of their "
            "models (bars: 95 % of runs)."
        ),
        draw=lambda axes: draw_displacement(axes, _measured_displacement(parts, one), one.displacement),
    )
    return [left, _diffusion_piece(parts)]


def _measured_displacement(parts: Parts, one: Runs) -> Displacement | None:
    """Give how far an animal got; None where it is unknown, or in another unit than its runs."""
    data = parts.measured
    if data is None or data.length_unit != one.displacement.length_unit:
        return None
    return animal_row(data, one.name)


def _diffusion_piece(parts: Parts) -> Piece:
    measured = None if parts.measured is None else fitted_diffusion(parts.measured)
    if measured is None:
        return LeftOut(letter="b, right", reason=f"{NO_PATH} that is long enough for a diffusion coefficient")
    by_name = {one.name: one.diffusion for one in parts.animal_runs}
    found = [by_name.get(name) for name in measured.names]
    simulated = [one for one in found if one is not None and one.length_unit == measured.length_unit]
    if len(simulated) < len(measured.names):
        reason = lacking("runs of all animals of at least 7 minutes", "simulate STUDY")
        return LeftOut(letter="b, right", reason=reason)

    def draw(axes: Axes) -> None:
        draw_diffusion(axes, measured, simulated)
        axes.tick_params(axis="x", labelrotation=45)  # several decades need many numbers

    return Panel(letter="", words="", draw=draw)


def drag_pieces(study: Study, parts: Parts) -> list[Piece]:
    """Show how the drag ratio was found."""
    found = parts.reconstruction
    if measured_path(study) is None:
        return [LeftOut(letter="a", reason=f"{NO_PATH} to fit a drag ratio to")]
    if found is None or found.drag is None or found.measured is None:
        return [LeftOut(letter="a", reason=lacking("fits of the drag ratio", "path STUDY"))]
    drag, measured = found.drag, found.measured
    words = (
        f"Left: distance of computed from measured paths in windows of {drag.search.window:g} s by drag ratio. "
        f"Middle: the best drag ratio of every window, with its median (95 % over {drag.median.over}). Right: the "
        "window that fits as well as the median one."
    )
    return [
        Panel(letter="a", words=words, draw=lambda axes: draw_drag_loss(axes, drag, measured.length_unit)),
        Panel(letter="", words="", draw=lambda axes: draw_drag_cdf(axes, drag)),
        Panel(
            letter="",
            words="",
            draw=lambda axes: draw_example(axes, study, drag, measured, found.body_length),
        ),
    ]


def animal_rows(parts: Parts) -> Iterator[tuple[float, Sequence[Piece]]]:
    """Make rows of the displacement of every animal and of its runs."""
    if not parts.animal_runs:
        yield 1.0, [LeftOut(letter="b", reason=lacking("runs of the animals", "simulate STUDY"))]
        return
    shown = parts.animal_runs[:MOST_ANIMALS]
    words = f"Mean squared displacement of {count_of(len(shown), 'animal')} and of runs of their models."

    def draw(one: Runs, axes: Axes) -> None:
        draw_displacement(axes, _measured_displacement(parts, one), one.displacement)
        axes.set_title(plain_text(one.name))
        if one is shown[0]:
            fold_legend(axes, loc="lower right", fontsize="x-small", handlelength=1.0, borderaxespad=0.1)
        elif (legend := axes.get_legend()) is not None:
            legend.remove()

    panels = side_by_side("b", words, [partial(draw, one) for one in shown])
    n_columns = min(ANIMALS_PER_ROW, max(2, len(panels)))
    for first in range(0, len(panels), n_columns):
        row = panels[first : first + n_columns]
        yield 3.0, [*row, *[Space()] * (n_columns - len(row))]
