"""Panels of simulated runs: their postures beside those of the animals."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from matplotlib.axes import Axes

from ethomarkov._core.series import Series
from ethomarkov.figures.panel import explain_missing, panel
from ethomarkov.figures.simulation import draw_kymographs, draw_posture_spectra
from ethomarkov.figures.style import remove_legend
from ethomarkov.posture import PostureBasis
from ethomarkov.posture.stretch import longest_animal
from ethomarkov.simulation.spectra import PostureSpectrum
from ethomarkov.validation.simulation_choice import SimulationChoice

if TYPE_CHECKING:
    from ethomarkov.validation.runs import Runs


def _no_runs(runs: "Sequence[Runs] | None", state_runs: "Sequence[Runs] | None") -> str | None:
    return None if runs or state_runs else explain_missing("runs", {"body_basis": True})


@panel(
    caption="Curvature along the body in time, of an animal and of a run.",
    unless=_no_runs,
    n_axes=2,
    columns=1,
    height=1.8,
)
def run_kymographs(
    axes: Sequence[Axes],
    body_basis: PostureBasis,
    postures: Series,
    runs: "Sequence[Runs] | None",
    state_runs: "Sequence[Runs] | None",
) -> None:
    """Draw the curvature of a run below that of its animal, or of the one with the longest stretch (Fig. S2a)."""
    run, segments = (runs or state_runs or ())[0], postures.segments
    names = segments.individuals
    own = names.index(run.name) if run.name in names else longest_animal(postures)
    mine = segments.mask(own)
    start, _, _ = mine.bounds[mine.lengths.argmax()]
    title = f"data, {names[own]}"
    begin = float((start - segments.offsets[own]) / postures.sampling.rate)
    stretches = {
        title: body_basis.reconstruct(postures.cut(own)),
        f"simulation, {run.name}": body_basis.reconstruct(run.postures.cut(0)),
    }
    draw_kymographs(axes, stretches, starts={title: begin})


@panel(caption="Power spectra of a mode and of the speed of posture, of data and of both ways of unfolding.", n_axes=2)
def unfolding_spectra(
    axes: Sequence[Axes], posture_spectra: Mapping[str, PostureSpectrum], simulation_choice: SimulationChoice
) -> None:
    """Draw spectra, in which joints between sequences would show."""
    draw_posture_spectra(axes[0], posture_spectra, 0, lag=simulation_choice.chosen_passage)
    draw_posture_spectra(axes[1], posture_spectra, "speed", lag=simulation_choice.chosen_passage)
    remove_legend(axes[0])
