"""The space of posture sequences in two dimensions."""

from pathlib import Path
from typing import Literal

import numpy as np
from matplotlib.figure import Figure
from rich.console import Console

from ethomarkov.cli.options import RunningOptions
from ethomarkov.cli.terminal import progress_bar
from ethomarkov.cli.work import at_work
from ethomarkov.figures.chain import draw_probabilities, draw_successors, draw_visits
from ethomarkov.figures.maps import (
    draw_chain_on_map,
    draw_map_panels,
    draw_map_states,
    mode_panels,
    motion_panels,
)
from ethomarkov.figures.style import figure_style, new_figure, save_figure
from ethomarkov.io.atomic import atomic_path, check_writable
from ethomarkov.io.results import save_results
from ethomarkov.markov import MarkovChain
from ethomarkov.markov.spectrum import modes_on_frames, relaxation_time, reversible_modes
from ethomarkov.posture import phase_velocity
from ethomarkov.report.paper_figures_si import animal_chains
from ethomarkov.states import DelayEmbedding
from ethomarkov.states.projection import SequenceMap, map_sequences
from ethomarkov.workflow import Study
from ethomarkov.workflow.states import state_names
from ethomarkov.workflow.study import MACRO

DEFAULT = RunningOptions()
N_MODES = 4


def map(
    study: Path,
    *,
    out: Path | None = None,
    method: Literal["umap", "pca"] = "umap",
    running: RunningOptions = DEFAULT,
) -> None:
    """Draw the space of posture sequences, coloured by movement, slow modes and states.

    Parameters
    ----------
    study
        Directory that `ethomarkov run` wrote.
    out
        Directory for map.nc, map.png and chain.png; the study's own by default.
    method
        "umap" as published (half a minute for one worm), or "pca" at once.
    """
    loaded = Study.load(study)
    target = out or (study if study.is_dir() else study.parent)
    check_writable(target)
    console = Console(quiet=running.quiet)
    with at_work(running), progress_bar(console, quiet=running.quiet):
        sequences = DelayEmbedding(loaded.settings.n_delays).transform(loaded.postures)
        found = map_sequences(sequences, loaded.microstates, method=method, seed=running.chosen_seed)
        pictures = {"map.png": _draw_map(loaded, found), "chain.png": _draw_chain(loaded, found)}
        for name, figure in pictures.items():
            with atomic_path(target / name) as temporary:
                save_figure(figure, temporary)
        save_results(target / "map.nc", {"map": found}, {"method": method, "seed": running.chosen_seed})
    console.print(
        f"Drawn in {target / 'map.png'} and {target / 'chain.png'}; positions in {target / 'map.nc'}.",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )


def _draw_map(study: Study, found: SequenceMap) -> Figure:
    """Fig. 1c and S6: movement, and the slow modes that the chain has."""
    n_modes = min(N_MODES, study.chain.states.size - 1)
    values, modes = reversible_modes(study.chain, n_modes)
    times = np.array([relaxation_time(float(value), study.chain.lag) for value in values])
    panels = mode_panels(modes_on_frames(study.symbols, study.chain, modes), times)
    if study.postures.n_components >= 3:
        panels = [*motion_panels(phase_velocity(study.postures), study.postures.values[:, 2]), *panels]
    return draw_map_panels(found, panels)


def _draw_chain(study: Study, found: SequenceMap) -> Figure:
    """Fig. 4a, left, the macrostates, and S4 d-f."""
    frame_chain = MarkovChain.from_symbols(study.symbols, study.symbols.sampling.interval)
    chains = animal_chains(study)
    with figure_style():
        figure = new_figure(11, 7)
        grid = figure.add_gridspec(2, 6, height_ratios=[1.5, 1])
        draw_chain_on_map(figure.add_subplot(grid[0, :3]), found, frame_chain)
        draw_map_states(figure.add_subplot(grid[0, 3:]), found, study.states().labels, state_names(study, MACRO))
        draw_successors(figure.add_subplot(grid[1, :2]), chains, study.chain)
        draw_visits(figure.add_subplot(grid[1, 2:4]), study.symbols.visits())
        draw_probabilities(figure.add_subplot(grid[1, 4:]), chains, study.chain)
    return figure
