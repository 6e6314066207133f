"""Figures of simulated and computed paths (Fig. 3, S2a, S5, S9)."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ethomarkov._core.types import BoolArray, FloatArray
from ethomarkov.figures.paths import (
    draw_bearing_spectrum,
    draw_diffusion,
    draw_displacement,
    draw_drag_cdf,
    draw_drag_loss,
    draw_path_reconstruction,
    draw_paths,
    draw_state_displacements,
)
from ethomarkov.figures.simulation import draw_kymographs, draw_posture_spectra
from ethomarkov.figures.style import figure_style, new_figure, plain_text
from ethomarkov.locomotion import Path as AnimalPath
from ethomarkov.locomotion import propel
from ethomarkov.locomotion.displacement import Displacement
from ethomarkov.locomotion.drag import DragFit
from ethomarkov.workflow.paths import Reconstruction, body_basis, measured_path
from ethomarkov.workflow.runs import Runs, animal_model, fitted_diffusion
from ethomarkov.workflow.study import Study

SPECTRUM_SECONDS = 600.0
SHOWN_DRAG_RATIOS = (5.0, 30.0, 1000.0)
MOST_PANELS = 12


def draw_run_figures(study: Study, found: Sequence[Runs], data: Displacement | None) -> dict[str, Figure]:
    """Draw simulated runs beside the data, by file name.

    Parameters
    ----------
    study
        Of the animals.
    found
        Runs of animals, or of single states.
    data
        How far the animals themselves got; None for states.
    """
    figures = {"kymographs.png": _kymographs(study, found[0])}
    if found[0].name in study.symbols.segments.individuals:
        figures["spectra.png"] = _spectra(study, found[0])
    if data is None:
        figures["states.png"] = _state_runs(found)
        return figures
    figures["displacement.png"] = _displacements(found, data)
    figures["paths.png"] = _example_paths(study, found)
    measured = fitted_diffusion(data)
    by_name = {one.name: one.diffusion for one in found if one.diffusion is not None}
    if measured is not None and set(measured.names) <= set(by_name):
        with figure_style():
            figure = new_figure(5.0, 4.4)
            draw_diffusion(figure.subplots(), measured, [by_name[name] for name in measured.names])
        figures["diffusion.png"] = figure
    return figures


def _kymographs(study: Study, runs: Runs) -> Figure:
    """Fig. S2a: curvature along the body in time, of data and of a run."""
    basis, segments = body_basis(study), study.postures.segments
    fullest = int(segments.bounds[segments.lengths.argmax(), 2])
    own = segments.individuals.index(runs.name) if runs.name in segments.individuals else fullest
    mine = segments.of(own)
    start, _, _ = mine.bounds[mine.lengths.argmax()]
    begin = (start - segments.offsets[own]) / study.postures.sampling.rate
    stretches = {
        f"data, {segments.individuals[own]}": basis.reconstruct(study.postures.of(own)),
        f"simulation, {runs.name}": basis.reconstruct(runs.postures.of(0)),
    }
    return draw_kymographs(stretches, starts={next(iter(stretches)): float(begin)})


def _spectra(study: Study, runs: Runs) -> Figure:
    """Draw spectra of data and of both ways of unfolding, where joints between sequences would show."""
    own = study.symbols.segments.individuals.index(runs.name)
    animal, passage = animal_model(study, own), study.simulation_choice.chosen_passage
    minutes = [
        next(animal.behave(SPECTRUM_SECONDS, 4, method=method, rng=study.settings.seed))
        for method in ("matched", "paper")
    ]
    postures = {"data": study.postures.of(own), "matched": minutes[0], "as published": minutes[1]}
    with figure_style():
        figure = new_figure(9.5, 3.4)
        left, right = figure.subplots(1, 2)
        draw_posture_spectra(left, postures, 0, lag=passage)
        draw_posture_spectra(right, postures, "speed", lag=passage)
        left.get_legend().remove()
    return figure


def _displacements(found: Sequence[Runs], data: Displacement) -> Figure:
    """Fig. 3b and S5b: one panel per animal."""
    shown = [one for one in found if one.name in data.names][:MOST_PANELS] or list(found[:1])
    n_columns = min(len(shown), 4)
    n_rows = -(-len(shown) // n_columns)
    with figure_style():
        figure = new_figure(max(5.0, 3.4 * n_columns), max(4.0, 2.9 * n_rows))
        grid = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
        for k, (axes, one) in enumerate(zip(grid, shown, strict=False)):
            draw_displacement(axes, animal_row(data, one.name), one.displacement)
            axes.set_title(plain_text(one.name))
            if k and len(shown) > 1:
                axes.get_legend().remove()
        for axes in grid[len(shown) :]:
            axes.remove()
    return figure


def animal_row(data: Displacement, name: str) -> Displacement | None:
    """Give the displacement of one animal; None where it has none."""
    if name not in data.names:
        return None
    k = data.names.index(name)
    return Displacement(
        lags=data.lags,
        msd=data.msd[[k]],
        n_pairs=data.n_pairs[[k]],
        names=(name,),
        over=data.over,
        length_unit=data.length_unit,
    )


def _example_paths(study: Study, found: Sequence[Runs]) -> Figure:
    """Fig. 3a, right: an animal and some of its simulated runs."""
    one = found[0]
    measured = measured_path(study)
    names = study.symbols.segments.individuals
    with figure_style():
        figure = new_figure(5.6, 4.8)
        beside = measured.of(names.index(one.name)) if measured is not None and one.name in names else None
        seconds = one.path.segments.longest() / one.path.sampling.rate
        draw_paths(figure.subplots(), one.path, measured=beside, seconds=seconds)
    return figure


def _state_runs(found: Sequence[Runs]) -> Figure:
    """Fig. 5a and S9: example paths, displacement and bearing of every state."""
    n_columns = min(len(found), 4)
    n_rows = -(-len(found) // n_columns)
    with figure_style():
        figure = new_figure(12.0, 4.2 + 2.4 * n_rows)
        upper, lower = figure.subfigures(2, 1, height_ratios=[2.4 * n_rows, 4.2], squeeze=False)[:, 0]
        grid = upper.subplots(n_rows, n_columns, squeeze=False).ravel()
        for axes, one in zip(grid, found, strict=False):
            draw_paths(axes, one.path, 3, scale_bar=True)
            axes.set_title(plain_text(one.name))
            if axes.get_legend() is not None:
                axes.get_legend().remove()
        for axes in grid[len(found) :]:
            axes.remove()
        left, right = lower.subplots(1, 2)
        draw_state_displacements(left, {one.name: one.displacement for one in found})
        left.get_legend().remove()
        draw_bearing_spectrum(right, {one.name: one.spectrum for one in found})
    return figure


def draw_reconstruction_figures(study: Study, found: Reconstruction) -> dict[str, Figure]:
    """Draw computed against measured paths, and how the drag ratio was found; nothing without measured paths."""
    if found.measured is None or found.drag is None:
        return {}
    with figure_style():
        figure = new_figure(14.0, 4.2)
        loss, cdf, example = figure.subplots(1, 3)
        draw_drag_loss(loss, found.drag, found.measured.length_unit)
        draw_drag_cdf(cdf, found.drag)
        draw_example(example, study, found.drag, found.measured, found.body_length)
    return {"drag.png": figure}


def draw_example(axes: Axes, study: Study, drag: DragFit, measured: AnimalPath, body_length: FloatArray) -> None:
    """Fig. S5a, right: the window that fits as well as the median one."""
    window = int(np.argsort(drag.loss)[len(drag.loss) // 2])
    start, owner = int(drag.starts[window]), int(drag.individual[window])
    rows = slice(start, start + study.postures.sampling.frames(drag.search.window))
    piece = study.postures.with_rows(np.where(_inside(study, rows)[:, None], study.postures.values, np.nan))
    computed = {
        alpha: propel(piece, alpha, body_length, basis=study.basis).centroid[rows] for alpha in SHOWN_DRAG_RATIOS
    }
    draw_path_reconstruction(
        axes,
        measured.centroid[rows],
        computed,
        measured.length_unit,
        mirrored=bool(drag.is_mirrored[owner]),
    )


def _inside(study: Study, rows: slice) -> BoolArray:
    flags = np.zeros(len(study.postures.values), dtype=bool)
    flags[rows] = True
    return flags
