"""Fig. S1 to S10 of the paper, for any study."""

from functools import partial

import numpy as np
from matplotlib.axes import Axes

from ethomarkov._core.words import count_of
from ethomarkov.coarse.coherence import coherence_of_sets
from ethomarkov.exceptions import EthomarkovError
from ethomarkov.figures.chain import draw_probabilities, draw_successors, draw_visits
from ethomarkov.figures.kinetics import draw_coarse_times
from ethomarkov.figures.paths import draw_bearing_spectrum, draw_state_displacements
from ethomarkov.figures.scan import draw_gains, draw_lag_scan
from ethomarkov.figures.states import draw_coherence, draw_state_postures
from ethomarkov.figures.validation import draw_entry_rate, draw_mode_density, draw_prediction_error
from ethomarkov.markov import MarkovChain
from ethomarkov.markov.selection import choose_n_states
from ethomarkov.posture.events import EVENT_KINDS
from ethomarkov.report.paper_comparison import held_out_pieces, split_piece
from ethomarkov.report.paper_layout import (
    NO_BODY,
    NO_WAVE,
    LeftOut,
    Panel,
    PaperFigure,
    Piece,
    compose,
    describe_study,
    lacking,
    side_by_side,
)
from ethomarkov.report.paper_parts import Parts
from ethomarkov.report.paper_paths import animal_rows, drag_pieces
from ethomarkov.report.paper_postures import MOST_MODES, kymograph_pieces, map_pieces, slow_mode_panels
from ethomarkov.report.state_figures import traits_figure
from ethomarkov.report.validation_figures import pooled_densities
from ethomarkov.workflow.states import state_names, traits_at
from ethomarkov.workflow.study import MACRO, Study

LAST_SLOW_MODE = 5


def figure_s1(study: Study, parts: Parts) -> PaperFigure:
    """Draw how sequence length and lag were chosen."""
    return compose(
        study,
        "Sequence length and lag",
        (3.6, [_gains_piece(study, parts), _lag_piece(study, parts), _coarse_piece(parts)]),
    )


def _gains_piece(study: Study, parts: Parts) -> Piece:
    table = parts.scan
    if table is None:
        return LeftOut(letter="a", reason=lacking("entropy rates", "scan FILES --out STUDY"))
    n_states = int(choose_n_states(table).value)
    return Panel(
        letter="a",
        words="How much each further frame lowers the entropy rate (bars: 95 % over animals).",
        draw=lambda axes: draw_gains(axes, table, n_states, study.settings.n_delays),
    )


def _lag_piece(study: Study, parts: Parts) -> Piece:
    scan = parts.lag_scan
    if scan is None:
        return LeftOut(letter="b", reason=lacking("relaxation times against the lag", "timescales STUDY"))
    return Panel(
        letter="b",
        words="Relaxation times against the lag, mean over animals (band: 95 % over animals).",
        draw=lambda axes: draw_lag_scan(axes, scan, study.chain.lag),
    )


def _coarse_piece(parts: Parts) -> Piece:
    return Panel(
        letter="c",
        words=f"Relaxation time of the chain of two macrostates against the lag (band: 95 % over {parts.times.over}).",
        draw=lambda axes: draw_coarse_times(axes, parts.times),
    )


def figure_s2(study: Study, parts: Parts) -> PaperFigure:
    """Draw data and simulation along the body, and how errors of prediction grow."""
    error: Piece = LeftOut(letter="b", reason=lacking("errors of prediction", "validate STUDY"))
    if parts.errors is not None:
        recorded, simulated = parts.errors
        error = Panel(
            letter="b",
            words=f"Distance of postures that begin in the same microstate (bands: 95 % over {recorded.over}).",
            draw=lambda axes: draw_prediction_error(axes, recorded, simulated),
        )
    return compose(study, "Simulated postures", (2.8, kymograph_pieces(study)), (3.4, [error]))


def figure_s3(study: Study, parts: Parts) -> PaperFigure:
    """Draw how often the modes have each amplitude, in data and simulation."""
    title = "Distributions of the modes"
    if not parts.animals:
        reason = lacking("distributions", "validate STUDY")
        return compose(study, title, (1.0, [LeftOut(letter="a", reason=reason)]))
    data, runs = pooled_densities(parts.animals)
    n_modes = min(MOST_MODES, len(data.edges))

    def draw(mode: int, axes: Axes) -> None:
        draw_mode_density(axes, data, runs, mode, legend=mode == n_modes - 1)
        if mode:
            axes.set_ylabel("")

    n_animals = count_of(len(data.density), "animal")
    words = f"Densities of the amplitudes of {n_animals} and of runs of their models (bands as the legend says)."
    return compose(study, title, (2.8, side_by_side("", words, [partial(draw, mode) for mode in range(n_modes)])))


def figure_s4(study: Study, parts: Parts) -> PaperFigure:
    """Draw cross-validation, and how well the chain is sampled."""
    chains = animal_chains(study)
    held_out: list[Piece] = [
        split_piece(parts, "b", "event rates", EVENT_KINDS) if study.is_worm else LeftOut(letter="b", reason=NO_WAVE),
        split_piece(parts, "c", "leaving rates", state_names(study, MACRO)),
    ]
    sampling: list[Piece] = [
        Panel(
            letter="d",
            words="States reached from a microstate within the lag.",
            draw=lambda axes: draw_successors(axes, chains, study.chain),
        ),
        Panel(
            letter="e",
            words="Frames in the microstates.",
            draw=lambda axes: draw_visits(axes, study.symbols.visits()),
        ),
        Panel(
            letter="f",
            words="Cumulative distribution of the transition probabilities that are not zero.",
            draw=lambda axes: draw_probabilities(axes, chains, study.chain),
        ),
    ]
    return compose(
        study,
        "Cross-validation, and sampling of the chain",
        (2.7, held_out_pieces(parts, "a")),
        (3.6, held_out),
        (3.4, sampling),
    )


def animal_chains(study: Study) -> list[MarkovChain]:
    """Count a chain for every animal that has enough data for one."""
    found = []
    for individual in range(study.symbols.segments.n_individuals):
        try:
            found.append(MarkovChain.from_symbols(study.symbols.of(individual), study.chain.lag))
        except EthomarkovError:  # an animal too short for the lag
            continue
    return found


def figure_s5(study: Study, parts: Parts) -> PaperFigure:
    """Draw how the drag ratio was found, and the displacement of every animal."""
    title = "From postures to paths"
    if study.path is None:
        return compose(study, title, (1.0, [LeftOut(letter="a, b", reason=NO_BODY)]))
    return compose(study, title, (3.6, drag_pieces(study, parts)), *animal_rows(parts))


def figure_s6(study: Study, parts: Parts) -> PaperFigure:
    """Draw the slow modes after the slowest on the map."""
    title = "Further slow modes"
    panels = slow_mode_panels(study, LAST_SLOW_MODE - 1, 2)
    if not panels:
        return compose(study, title, (1.0, [LeftOut(letter="a", reason="the chain has no further mode")]))
    words = f"Eigenfunctions of the reversibilised chain on the map ({parts.sequence_map.source.rstrip('.')})."
    return compose(study, title, (3.3, map_pieces(parts, panels, "", words)))


def figure_s7(study: Study, _: Parts) -> PaperFigure:
    """Draw where the slowest mode is divided."""
    sets = coherence_of_sets(study.cut.phi, study.chain)[1]
    piece = Panel(
        letter="",
        words=(
            "Coherence of the two sets on both sides of a cut along the slowest mode, the smaller of the two, and the "
            "chosen cut."
        ),
        draw=lambda axes: draw_coherence(axes, study.cut, study.chain.stationary, sets, against="mode"),
    )
    return compose(study, "Where to divide the slowest mode", (4.2, [piece]), width=6.5)


def figure_s8a(study: Study, _: Parts) -> PaperFigure:
    """Draw how phase velocity and bend are distributed in the finest states."""
    title = "What the body does in the states"
    if not study.is_worm:
        return compose(study, title, (1.0, [LeftOut(letter="a", reason=NO_WAVE)]))
    words = "(a) Densities of phase velocity and bend over the frames of each state; triangles are means."
    return PaperFigure(figure=traits_figure(study), caption=f"**{title}.** {words} {describe_study(study)}")


def figure_s8b(study: Study, _: Parts) -> PaperFigure:
    """Draw the longest stay in each of the finest states."""
    title = "Postures in the states"
    if study.basis is None or study.basis.features != "angle":
        return compose(study, title, (1.0, [LeftOut(letter="b", reason=NO_BODY)]))
    names = state_names(study, study.finest)
    figure = draw_state_postures(study.states(study.finest), study.postures, study.basis, names)
    words = "(b) Tangent angles along the body in the longest stay in each state, and outlines of the body in it."
    return PaperFigure(figure=figure, caption=f"**{title}.** {words} {describe_study(study)}")


def figure_s9(study: Study, parts: Parts) -> PaperFigure:
    """Draw how far the states lead, and how their paths turn."""
    title = "Paths within the states"
    if study.path is None:
        return compose(study, title, (1.0, [LeftOut(letter="a, b", reason=NO_BODY)]))
    if not parts.state_runs:
        reason = lacking("runs of the states", "simulate STUDY --state each --out STUDY/simulation_states")
        return compose(study, title, (1.0, [LeftOut(letter="a, b", reason=reason)]))
    n_runs = count_of(len(parts.state_runs[0].displacement.msd), "run")
    far = {one.name: one.displacement for one in parts.state_runs}
    turns = {one.name: one.spectrum for one in parts.state_runs}
    pieces = [
        Panel(
            letter="a",
            words=f"Mean squared displacement of {n_runs} that never leave a state (bands: 95 % of runs).",
            draw=lambda axes: draw_state_displacements(axes, far),
        ),
        Panel(
            letter="b",
            words="Power spectrum of the direction of travel; dashed is the body wave of the fastest state.",
            draw=lambda axes: draw_bearing_spectrum(axes, turns, body_wave=_fastest_wave(study)),
        ),
    ]
    return compose(study, title, (3.8, pieces))


def _fastest_wave(study: Study) -> dict[str, float]:
    """Give the frequency of the body wave in the state where it is fastest, by name."""
    velocity = np.abs(traits_at(study, study.finest).velocity)
    if not np.isfinite(velocity).any():
        return {}
    fastest = int(np.nanargmax(velocity))
    return {state_names(study, study.finest)[fastest]: float(velocity[fastest])}


def figure_s10(study: Study, parts: Parts) -> PaperFigure:
    """Draw whether behaviour changes in the course of a recording."""
    piece: Piece = LeftOut(letter="a", reason=lacking("rates of entries", "validate STUDY"))
    if parts.entries is not None:
        data, runs, drift = parts.entries
        name = state_names(study, MACRO)[1]
        piece = Panel(
            letter="",
            words=f"Entries into {name} in sliding windows of {data.window / 60:g} min (bars: 95 % over {data.over}).",
            draw=lambda axes: draw_entry_rate(axes, data, runs, name, drift),
        )
    return compose(study, "Behaviour in the course of time", (3.8, [piece]), width=8.0)
