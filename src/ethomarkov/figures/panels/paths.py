"""Panels of paths: how they look, how far they lead, how they turn, and the drag ratio behind them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes

from ethomarkov._core.words import count_of
from ethomarkov.coarse.naming import StateTraits
from ethomarkov.figures.panel import lacking, panel
from ethomarkov.figures.paths import (
    draw_bearing_spectrum,
    draw_diffusion,
    draw_displacement,
    draw_drag_cdf,
    draw_drag_loss,
    draw_path_reconstruction,
    draw_paths,
    draw_state_displacements,
    draw_state_path,
)
from ethomarkov.figures.style import fold_legend, plain_text, remove_legend
from ethomarkov.locomotion import Trajectory
from ethomarkov.locomotion.displacement import Diffusion, Displacement
from ethomarkov.locomotion.drag_example import DragExample
from ethomarkov.states import Symbols

if TYPE_CHECKING:
    from ethomarkov.model.paths import Reconstruction
    from ethomarkov.study.settings import CompleteSettings
    from ethomarkov.validation.runs import Runs

MOST_ANIMALS, ANIMALS_PER_ROW = 12, 4


@panel(caption="Paths of simulated animals from a common start (cross); dots mark their ends.", height=4.2)
def simulated_paths(axes: Axes, path: Trajectory) -> None:
    """Draw paths of simulated animals, from the chain of all."""
    draw_paths(axes, path)


def _paths_caption(path: Trajectory, runs: "Sequence[Runs] | None", settings: "CompleteSettings") -> str:
    if not runs:
        return f"Paths of simulated animals, from the chain of all, in {path.length_unit}."
    return f"Paths of {runs[0].name} and of runs of its model (drag ratio {settings.drag_ratio:g})."


@panel(caption=_paths_caption, height=4.0)
def example_paths(
    axes: Axes, path: Trajectory, runs: "Sequence[Runs] | None", measured_path: Trajectory | None
) -> None:
    """Draw runs of an animal if there are any, else simulated animals of the chain of all (Fig. 3a)."""
    if runs:
        run_paths(axes, runs, measured_path)
    else:
        draw_paths(axes, path)


@panel(caption=lambda runs: f"Paths of {runs[0].name} and of runs of its model.", height=4.8)
def run_paths(axes: Axes, runs: "Sequence[Runs]", measured_path: Trajectory | None) -> None:
    """Draw the first runs of an animal, beside the measured path where it is in the same unit (Fig. 3a)."""
    one = runs[0]
    beside = None
    if measured_path is not None and one.name in measured_path.segments.individuals:
        beside = measured_path.cut(measured_path.segments.individuals.index(one.name))
    if beside is not None and beside.length_unit != one.path.length_unit:
        beside = None
    draw_paths(axes, one.path, measured=beside, seconds=one.path.segments.longest() / one.path.sampling.rate)


@panel(caption="Macrostates along the measured path of an animal.")
def path_in_states(
    axes: Axes, measured_path: Trajectory, macrostates: Symbols, names: Mapping[int, Sequence[str]]
) -> None:
    """Draw the longest measured path in the colours of the macrostates (Fig. 2e)."""
    segments = measured_path.segments
    own = int(segments.bounds[segments.lengths.argmax(), 2])
    draw_state_path(axes, measured_path, macrostates.labels, names[macrostates.n_states], individual=own)


# --- how far ---------------------------------------------------------------------------------------------------------


def animal_row(data: Displacement | None, run: "Runs") -> Displacement | None:
    """Give the displacement of the animal of a run; None where it has none, or in another unit."""
    if data is None or run.name not in data.names or data.length_unit != run.displacement.length_unit:
        return None
    k = data.names.index(run.name)
    return Displacement(
        lags=data.lags,
        msd=data.msd[[k]],
        n_pairs=data.n_pairs[[k]],
        names=(run.name,),
        over=data.over,
        length_unit=data.length_unit,
    )


@panel(
    caption=lambda runs: (
        f"Mean squared displacement of {runs[0].name} and of {count_of(len(runs[0].displacement.msd), 'run')} of its "
        "model."
    ),
    height=4.0,
)
def first_displacement(axes: Axes, runs: "Sequence[Runs]", displacement: Displacement | None) -> None:
    """Draw how far one animal and its runs get (Fig. 3b)."""
    draw_displacement(axes, animal_row(displacement, runs[0]), runs[0].displacement)


@panel(
    caption=lambda runs: (
        f"Mean squared displacement of {count_of(min(len(runs), MOST_ANIMALS), 'animal')} and of runs of their models."
    ),
    n_axes=lambda runs: min(len(runs), MOST_ANIMALS),
    columns=ANIMALS_PER_ROW,
    height=3.0,
)
def displacements(axes: Sequence[Axes], runs: "Sequence[Runs]", displacement: Displacement | None) -> None:
    """Draw how far every animal and its runs get (Fig. S5b)."""
    for k, (one, run) in enumerate(zip(axes, runs, strict=False)):
        draw_displacement(one, animal_row(displacement, run), run.displacement)
        one.set_title(plain_text(run.name))
        if k == 0:
            fold_legend(one, loc="lower right", fontsize="x-small", handlelength=1.0, borderaxespad=0.1)
        else:
            remove_legend(one)


def _simulated_diffusions(diffusion: Diffusion, runs: "Sequence[Runs]") -> list[Diffusion]:
    """Give the diffusion of the runs of each animal, as far as there are any in its unit."""
    by_name = {run.name: run.diffusion for run in runs}
    found = [by_name.get(name) for name in diffusion.names]
    return [one for one in found if one is not None and one.length_unit == diffusion.length_unit]


def _runs_missing(diffusion: Diffusion, runs: "Sequence[Runs]") -> str | None:
    if len(_simulated_diffusions(diffusion, runs)) == len(diffusion.names):
        return None
    return lacking("runs of all animals of at least 7 minutes", "simulate STUDY")


@panel(
    caption=(
        "Diffusion coefficients of all animals, fitted in the shaded window, against those of their models (bars: 95 % "
        "of runs)."
    ),
    unless=_runs_missing,
    height=4.0,
)
def diffusion_coefficients(axes: Axes, runs: "Sequence[Runs]", diffusion: Diffusion) -> None:
    """Draw the diffusion coefficient of every animal and of its runs (Fig. 3b)."""
    draw_diffusion(axes, diffusion, _simulated_diffusions(diffusion, runs))
    axes.tick_params(axis="x", labelrotation=45)  # several decades need many numbers


# --- drag ratio ------------------------------------------------------------------------------------------------------


def _no_drag(reconstruction: "Reconstruction") -> str | None:
    if reconstruction.drag is None:
        return "no gap-free stretch is as long as a window, so no drag ratio was fitted"
    return None


@panel(
    caption=lambda reconstruction: (
        f"Distance of computed from measured paths in windows of {reconstruction.drag.settings.window:g} s by drag "
        "ratio."
    ),
    unless=_no_drag,
    height=3.6,
)
def drag_loss(axes: Axes, reconstruction: "Reconstruction") -> None:
    """Draw the distance of computed paths against the drag ratio (Fig. S5a)."""
    if reconstruction.drag is not None:
        draw_drag_loss(axes, reconstruction.drag, reconstruction.computed.length_unit)


@panel(
    caption=lambda reconstruction: (
        f"The best drag ratio of every window, with its median (95 % over {reconstruction.drag.median.over})."
    ),
    unless=_no_drag,
    height=3.6,
)
def best_drag_ratios(axes: Axes, reconstruction: "Reconstruction") -> None:
    """Draw the distribution of the best drag ratio (Fig. S5a)."""
    if reconstruction.drag is not None:
        draw_drag_cdf(axes, reconstruction.drag)


@panel(caption="The window that fits as well as the median one.", unless=_no_drag, height=3.6)
def drag_window(axes: Axes, reconstruction: "Reconstruction", drag_example: DragExample) -> None:
    """Draw a measured path and those computed with several drag ratios (Fig. S5a)."""
    draw_path_reconstruction(axes, drag_example)


# --- states ----------------------------------------------------------------------------------------------------------


def _n_states(state_runs: "Sequence[Runs]") -> int:
    return len(state_runs)


@panel(
    caption="Paths of animals that never leave a state.",
    n_axes=_n_states,
    columns=4,
    height=2.4,
)
def state_paths(axes: Sequence[Axes], state_runs: "Sequence[Runs]") -> None:
    """Draw example paths within every state (Fig. 5a)."""
    for one, run in zip(axes, state_runs, strict=True):
        draw_paths(one, run.path, 3, scale_bar=True)
        one.set_title(plain_text(run.name))
        remove_legend(one)


@panel(
    caption=lambda state_runs: (
        f"Mean squared displacement of {count_of(len(state_runs[0].displacement.msd), 'run')} that never leave a state "
        "(bands: 95 % of runs)."
    ),
    height=3.8,
)
def state_displacements(axes: Axes, state_runs: "Sequence[Runs]") -> None:
    """Draw how far animals get that never leave a state (Fig. S9a)."""
    draw_state_displacements(axes, {run.name: run.displacement for run in state_runs})


@panel(caption="Power spectrum of the direction of travel; dashed is the body wave of the fastest state.", height=3.8)
def state_bearings(
    axes: Axes,
    state_runs: "Sequence[Runs]",
    finest_traits: StateTraits | None,
    names: Mapping[int, Sequence[str]] | None,
) -> None:
    """Draw how paths within the states turn (Fig. S9b)."""
    wave = {} if finest_traits is None or names is None else _fastest_wave(finest_traits, names)
    spectra = {run.name: run.spectrum for run in state_runs}
    draw_bearing_spectrum(axes, spectra, body_wave=wave if set(wave) & set(spectra) else None)


def _fastest_wave(traits: StateTraits, names: Mapping[int, Sequence[str]]) -> dict[str, float]:
    """Give the frequency of the body wave in the state where it is fastest, by name."""
    velocity = np.abs(traits.velocity)
    if not np.isfinite(velocity).any():
        return {}
    fastest = int(np.nanargmax(velocity))
    return {names[velocity.size][fastest]: float(velocity[fastest])}
