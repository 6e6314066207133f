"""The figures of the paper for any study: Fig. 1 to 5 and S1 to S10, as far as its results go."""

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ethomarkov._core.interval import Interval
from ethomarkov._core.types import FloatArray, Progress
from ethomarkov._core.words import count_of
from ethomarkov.coarse.coherence import coherence_of_sets
from ethomarkov.coarse.dwell_laws import paper_biexponential
from ethomarkov.coarse.kinetics import find_dwells, jump_chain
from ethomarkov.exceptions import EthomarkovError, InputFormatError
from ethomarkov.figures.chain import draw_probabilities, draw_successors, draw_visits
from ethomarkov.figures.kinetics import (
    Law,
    draw_coarse_times,
    draw_dwell_distribution,
    draw_survival,
    draw_transition_graph,
)
from ethomarkov.figures.maps import MapPanel, draw_chain_on_map, draw_map, draw_map_states, mode_panels, motion_panels
from ethomarkov.figures.paths import (
    draw_bearing_spectrum,
    draw_diffusion,
    draw_displacement,
    draw_drag_cdf,
    draw_drag_loss,
    draw_paths,
    draw_state_displacements,
    draw_state_path,
)
from ethomarkov.figures.recording import TRACE_SECONDS, draw_traces
from ethomarkov.figures.scan import draw_entropy_rates, draw_gains, draw_lag_scan, draw_spectrum
from ethomarkov.figures.simulation import body_rows, draw_kymograph
from ethomarkov.figures.states import draw_bodies, draw_coherence, draw_state_postures
from ethomarkov.figures.style import figure_style, new_figure, plain_text, save_figure
from ethomarkov.figures.tree import draw_tree
from ethomarkov.figures.validation import (
    draw_autocorrelation,
    draw_entry_rate,
    draw_mode_density,
    draw_prediction_error,
    draw_rates,
)
from ethomarkov.io.atomic import atomic_path
from ethomarkov.locomotion.displacement import Displacement
from ethomarkov.markov import MarkovChain
from ethomarkov.markov.selection import choose_n_states
from ethomarkov.markov.spectrum import modes_on_frames, relaxation_time, reversible_modes
from ethomarkov.posture import phase_velocity
from ethomarkov.posture.events import EVENT_KINDS
from ethomarkov.report.paper_parts import N_RESAMPLES, Parts
from ethomarkov.report.path_figures import animal_row, draw_example
from ethomarkov.report.path_movies import longest_stretch
from ethomarkov.report.state_figures import traits_figure
from ethomarkov.report.validation_figures import (
    collect_intervals,
    draw_forage_figure,
    pooled_correlations,
    pooled_densities,
)
from ethomarkov.workflow.paths import body_basis, measured_path
from ethomarkov.workflow.runs import Runs, fitted_diffusion
from ethomarkov.workflow.states import state_names, traits_at
from ethomarkov.workflow.study import MACRO, Study

CAPTIONS_FILE = "captions.md"
PAGE_WIDTH = 12.0
LEAST_FILLED = 0.6
"""Share of the width that a row fills at least; panels that remain of a row are not stretched further."""
LINE_POINTS, PANEL_GAP = 11, 0.05
LETTERS_PER_INCH, MARGIN_INCHES, LEGEND_LETTERS = 14, 0.6, 30
MOST_MODES, LAST_SLOW_MODE, MOST_ANIMALS, ANIMALS_PER_ROW = 5, 5, 12, 4
KYMOGRAPH_SECONDS, SHOWN_PERCENT = 30.0, 98.0
NO_WAVE = "the postures of this study have no body wave"
NO_BODY = "the postures of this study are no tangent angles, so the body has no outline and no path"
NO_PATH = "no path was measured"
HELD_OUT_ELSEWHERE = "held-out autocorrelations are drawn by `ethomarkov validate STUDY --repeats 50` only"


def _lacking(what: str, command: str) -> str:
    return f"there are no {what} yet; make them with `ethomarkov {command}`"


# --- how figures are put together ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One pair of axes of a figure.

    Parameters
    ----------
    letter
        By which the caption calls it; axes that go on with the same panel have none.
    words
        What it shows, for the caption.
    draw
        Draws it.
    width
        Relative to its neighbours.
    """

    letter: str
    words: str
    draw: Callable[[Axes], None]
    width: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A panel that is not drawn, and why."""

    letter: str
    reason: str
    width: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """Room for a panel that nothing fills."""

    width: float = 1.0


Piece = Panel | LeftOut | Space


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperFigure:
    """A figure of the paper.

    Parameters
    ----------
    figure
        None where nothing of it could be drawn.
    caption
        What is shown, of how many animals, with which settings.
    left_out
        One sentence for every panel that is missing.
    """

    figure: Figure | None
    caption: str
    left_out: tuple[str, ...] = ()


def _compose(study: Study, title: str, *rows: tuple[float, Sequence[Piece]], width: float = PAGE_WIDTH) -> PaperFigure:
    """Draw rows of panels, each with its height in inches, and write the caption from what was drawn."""
    pieces = [piece for _, row in rows for piece in row]
    drawn = [(height, row) for height, row in rows if any(isinstance(piece, Panel) for piece in row)]
    figure = None
    if drawn:
        with figure_style():
            figure = new_figure(width, sum(height for height, _ in drawn))
            figure.set_layout_engine("constrained", wspace=PANEL_GAP)
            strips = figure.subfigures(len(drawn), 1, height_ratios=[height for height, _ in drawn], squeeze=False)
            for strip, (_, row) in zip(strips[:, 0], drawn, strict=True):
                _fill(strip, row)
    panels = [piece for piece in pieces if isinstance(piece, Panel) and piece.words]
    words = " ".join(f"({panel.letter}) {panel.words}" if panel.letter else panel.words for panel in panels)
    left_out = tuple(f"({piece.letter}) {piece.reason}." for piece in pieces if isinstance(piece, LeftOut))
    return PaperFigure(figure=figure, caption=f"**{title}.** {words} {describe_study(study)}", left_out=left_out)


def _fill(strip: Any, row: Sequence[Piece]) -> None:  # noqa: ANN401 (a SubFigure)
    """Draw the panels of a row side by side, with their letters."""
    kept = [piece for piece in row if not isinstance(piece, LeftOut)]
    rest = LEAST_FILLED * sum(piece.width for piece in row) - sum(piece.width for piece in kept)
    kept += [Space(width=rest)] if rest > 0 else []
    grid = strip.add_gridspec(1, len(kept), width_ratios=[piece.width for piece in kept])
    inches = strip.figure.get_figwidth() / sum(piece.width for piece in kept)
    for k, piece in enumerate(kept):
        if isinstance(piece, Panel):
            axes = strip.add_subplot(grid[0, k])
            piece.draw(axes)
            _fold_title(axes, inches * piece.width)
            _write_letter(axes, piece.letter)
            axes.set_autoscaley_on(True)  # a wide panel may show more, so that both directions stay equal


def _side_by_side(letter: str, words: str, draws: Sequence[Callable[[Axes], None]]) -> list[Piece]:
    """Make several axes that are one panel; letter and words stand at the first."""
    return [Panel(letter="" if k else letter, words="" if k else words, draw=draw) for k, draw in enumerate(draws)]


def _fold_title(axes: Axes, inches: float) -> None:
    """Break lines of a title that would reach into the next panel."""
    letters = round(LETTERS_PER_INCH * (inches - MARGIN_INCHES))
    lines = axes.get_title(loc="left").splitlines()
    axes.set_title("\n".join(textwrap.fill(line, max(letters, 1)) for line in lines))


def _fold_legend(axes: Axes, **style: Any) -> None:  # noqa: ANN401 (as legend)
    """Draw the legend of narrow axes anew, in short lines."""
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(handles, [textwrap.fill(label, LEGEND_LETTERS) for label in labels], **style)


def _write_letter(axes: Axes, letter: str) -> None:
    """Write the letter of a panel left of the first line of its title."""
    above = axes.get_title(loc="left").count("\n")
    axes.annotate(
        letter,
        (0, 1),
        xycoords="axes fraction",
        xytext=(-22, 7 + LINE_POINTS * above),
        textcoords="offset points",
        fontsize="x-large",
        fontweight="bold",
        annotation_clip=False,
    )


def describe_study(study: Study) -> str:
    """Write one sentence about animals and settings, for captions."""
    sampling, settings = study.postures.sampling, study.settings
    minutes = sampling.seconds(len(study.postures.values)) / 60
    n_animals, n_states = study.symbols.segments.n_individuals, study.chain.states.size
    return (
        f"{count_of(n_animals, 'animal')}, {minutes:.3g} min in all at {sampling.rate:g} Hz; {settings.n_modes} modes, "
        f"sequences of {settings.n_delays} frames ({sampling.seconds(settings.n_delays):.3g} s), {n_states} of "
        f"{settings.n_states} microstates in the chain, lag {study.chain.lag:.3g} s, seed {settings.seed}."
    )


# --- figures 1 to 5 --------------------------------------------------------------------------------------------------


def figure_1(study: Study, parts: Parts) -> PaperFigure:
    """Draw postures, entropy rates and the map of posture sequences."""
    maps: list[Piece] = [LeftOut(letter="c", reason=NO_WAVE, width=2)]
    if study.is_worm:
        panels = motion_panels(phase_velocity(study.postures), study.postures.values[:, 2])
        words = f"Posture sequences on a map ({parts.sequence_map.source.rstrip('.')}), one dot per frame, by movement."
        maps = _map_pieces(parts, panels, "c", words)
    return _compose(
        study,
        "Posture sequences that predict best, and the space that they form",
        (2.6, [_traces_piece(study), _bodies_piece(study)]),
        (3.3, [_entropy_piece(parts), *maps]),
    )


def _bodies_piece(study: Study) -> Piece:
    if study.basis is None or study.basis.features != "angle":
        return LeftOut(letter="a, bodies", reason=NO_BODY, width=0)
    basis = body_basis(study)

    def draw(axes: Axes) -> None:
        stretch = longest_stretch(study, _longest_animal(study))
        rows = round(TRACE_SECONDS * stretch.sampling.rate)
        draw_bodies(axes, basis.reconstruct(stretch).values[:rows])
        axes.set_title("Bodies from the start to the end of this stretch (dot: head)")

    return Panel(letter="", words="", draw=draw, width=0.5)


def _traces_piece(study: Study) -> Panel:
    own = _longest_animal(study)
    name = study.symbols.segments.individuals[own]
    return Panel(
        letter="a",
        words=f"Mode amplitudes in the longest gap-free stretch, of {name}, and outlines of its body.",
        draw=lambda axes: _draw_stretch(axes, longest_stretch(study, own).values, study, f"data, {name}"),
    )


def _draw_stretch(axes: Axes, values: FloatArray, study: Study, title: str) -> None:
    rate = study.postures.sampling.rate
    rows = values[: max(2, round(TRACE_SECONDS * rate)), :MOST_MODES]
    draw_traces(axes, rows, rate, [f"$a_{{{k + 1}}}$" for k in range(rows.shape[1])], "")
    axes.set_title(plain_text(title))


def _longest_animal(study: Study) -> int:
    """Find the animal with the longest gap-free stretch."""
    segments = study.postures.segments
    return int(segments.bounds[segments.lengths.argmax(), 2])


def _entropy_piece(parts: Parts) -> Piece:
    table = parts.scan
    if table is None:
        return LeftOut(letter="b", reason=_lacking("entropy rates", "scan FILES --out STUDY"))
    words = "Entropy rate against the number of microstates, for several lengths of sequences (bars: standard error)."
    return Panel(letter="b", words=words, draw=lambda axes: draw_entropy_rates(axes, table))


def _map_pieces(parts: Parts, panels: Sequence[MapPanel], letter: str, words: str) -> list[Piece]:
    """Make one panel per quantity on the map; the letter stands at the first."""

    def draw(panel: MapPanel, axes: Axes) -> None:
        draw_map(axes, parts.sequence_map, panel.values, label=panel.label, limits=panel.limits)
        axes.set_title(panel.title)

    return _side_by_side(letter, words, [partial(draw, panel) for panel in panels])


def figure_2(study: Study, parts: Parts) -> PaperFigure:
    """Draw simulated beside recorded postures, and how well the model reproduces the animals."""
    own = _longest_animal(study)
    name = study.symbols.segments.individuals[own]
    recorded, simulated = longest_stretch(study, own).values, study.simulated.of(0).values
    traces: list[Piece] = [
        Panel(
            letter="a",
            words="Mode amplitudes of an animal, and of a simulated one from the chain of all.",
            draw=lambda axes: _draw_stretch(axes, recorded, study, f"data, {name}"),
        ),
        Panel(letter="", words="", draw=lambda axes: _draw_stretch(axes, simulated, study, "simulation, all animals")),
    ]
    leaving = [f"rate of leaving {state}" for state in state_names(study, MACRO)]
    events = [f"{kind}s" for kind in EVENT_KINDS]
    rates = [
        _rates_piece(parts, "c", ("Rates of events", "1/min"), events)
        if study.is_worm
        else LeftOut(letter="c", reason=NO_WAVE),
        _rates_piece(parts, "d", ("Rates of leaving", "1/s"), leaving),
    ]
    return _compose(
        study,
        "The Markov model across timescales",
        (2.6, traces),
        (2.7, _correlation_pieces(study, parts)),
        (3.6, rates),
        (3.4, _macrostate_pieces(study, parts)),
    )


def _correlation_pieces(study: Study, parts: Parts) -> list[Piece]:
    if not parts.animals:
        return [LeftOut(letter="b", reason=_lacking("autocorrelations", "validate STUDY"))]
    data, runs = pooled_correlations(parts.animals)
    n_modes = min(MOST_MODES, study.postures.n_components)

    def draw(mode: int, axes: Axes) -> None:
        draw_autocorrelation(axes, data, runs, mode, legend=False)
        if mode:
            axes.set_ylabel("")
        if mode == n_modes - 1:
            axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize="small")

    words = (
        f"Autocorrelation of the modes of {count_of(len(parts.animals), 'animal')} and of runs of their models (bands "
        "as the legend says)."
    )
    return _side_by_side("b", words, [partial(draw, mode) for mode in range(n_modes)])


def _rates_piece(parts: Parts, letter: str, title: tuple[str, str], kinds: Sequence[str]) -> Piece:
    if not parts.animals:
        return LeftOut(letter=letter, reason=_lacking(title[0].lower(), "validate STUDY"))
    known = {check.statistic for one in parts.animals for check in one.checks}
    if not set(kinds) <= known:
        return LeftOut(letter=letter, reason=_lacking(f"{title[0].lower()} of these states", "validate STUDY"))
    data, runs = collect_intervals(parts.animals, kinds)
    words = (
        f"{title[0]} of every animal and of its own model (bars: 95 % intervals over events for data, 95 % of the runs "
        "for simulation)."
    )
    return Panel(
        letter=letter, words=words, draw=lambda axes: draw_rates(axes, data, runs, title=title[0], unit=title[1])
    )


def _macrostate_pieces(study: Study, parts: Parts) -> list[Piece]:
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


def figure_3(study: Study, parts: Parts) -> PaperFigure:
    """Draw simulated paths beside measured ones, and how far they lead."""
    title = "Paths from simulated postures"
    if study.path is None:
        return _compose(study, title, (1.0, [LeftOut(letter="a, b", reason=NO_BODY)]))
    return _compose(study, title, (4.0, [_paths_piece(study, parts), *_displacement_pieces(parts)]))


def _paths_piece(study: Study, parts: Parts) -> Piece:
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


def _displacement_pieces(parts: Parts) -> list[Piece]:
    if not parts.animal_runs:
        reason = _lacking("runs of the animals", "simulate STUDY")
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
        reason = _lacking("runs of all animals of at least 7 minutes", "simulate STUDY")
        return LeftOut(letter="b, right", reason=reason)

    def draw(axes: Axes) -> None:
        draw_diffusion(axes, measured, simulated)
        axes.tick_params(axis="x", labelrotation=45)  # several decades need many numbers

    return Panel(letter="", words="", draw=draw)


def figure_4(study: Study, parts: Parts) -> PaperFigure:
    """Draw the chain, its slow modes, the two macrostates and the tree of states."""
    frame_chain = MarkovChain.from_symbols(study.symbols, study.symbols.sampling.interval)
    names = state_names(study, study.finest)
    dwells = find_dwells(study.states(study.finest), study.chain.lag)
    jumps = jump_chain(study.states(study.finest), study.chain.lag)
    shares = study.tree.measures_at(study.finest)
    level_names = {level: state_names(study, level) for level in study.tree.levels}
    chain: list[Piece] = [
        Panel(
            letter="a",
            words=(
                "Left: the chain at a lag of one frame on the map; areas are shares of time, widths probabilities. "
                "Right: relaxation times, above what shuffled symbols reach (band)."
            ),
            draw=lambda axes: draw_chain_on_map(axes, parts.sequence_map, frame_chain),
        ),
        Panel(letter="", words="", draw=lambda axes: draw_spectrum(axes, parts.spectrum, parts.noise_floor)),
    ]
    words = "Left: the slowest mode of the reversibilised chain on the map. Middle and right:"
    tree = Panel(
        letter="c",
        words=(
            "The tree of states (numbers: share in which a division is found again in resampled data), how long stays "
            "in its finest states last (means with 95 % intervals in the legend), and which state follows which."
        ),
        draw=lambda axes: draw_tree(axes, study.tree, level_names),
    )
    stays: list[Piece] = [
        Panel(letter="", words="", draw=lambda axes: draw_dwell_distribution(axes, dwells, names)),
        Panel(
            letter="",
            words="",
            draw=lambda axes: draw_transition_graph(axes, jumps, names, time_share=shares),
            width=1.3,
        ),
    ]
    return _compose(
        study,
        "Slow modes, and the states that they divide",
        (3.8, chain),
        (3.3, [*_map_pieces(parts, _mode_panels(study, 1), "b", f"{words} {SURVIVAL_WORDS}"), *_stay_pieces(study)]),
        (1.0 + 0.5 * study.finest, [tree]),
        (4.6, stays),
    )


SURVIVAL_WORDS = (
    "share of stays in the two macrostates that last longer than a time, taken together with the published sum of two "
    "exponentials, and each by itself (bands: 95 % over stays)."
)


def _mode_panels(study: Study, last: int, first: int = 1) -> list[MapPanel]:
    """Give the slow modes from the first to the last wanted one that the chain has, on frames."""
    n_modes = min(last, study.chain.states.size - 1)
    values, modes = reversible_modes(study.chain, n_modes)
    times = np.array([relaxation_time(float(value), study.chain.lag) for value in values])
    on_frames = modes_on_frames(study.symbols, study.chain, modes)
    return mode_panels(on_frames[:, first - 1 :], times[first - 1 :], first=first + 1)


def _stay_pieces(study: Study) -> list[Piece]:
    """Stays in the macrostates, at the full frame rate as published."""
    states, names = study.states(MACRO), state_names(study, MACRO)
    every, seen = find_dwells(states), find_dwells(states, study.chain.lag)
    laws: dict[str, Law] = {}
    try:
        law = paper_biexponential(every, shortest=study.chain.lag, n_resamples=N_RESAMPLES, rng=study.settings.seed)
        laws["two exponentials"] = law
    except EthomarkovError:  # too few stays for four parameters
        pass

    def draw_pooled(axes: Axes) -> None:
        draw_survival(axes, every, names, pooled=True, laws=laws, shortest=study.chain.lag)
        _fold_legend(axes, loc="upper right", fontsize="small")

    return [
        Panel(letter="", words="", draw=draw_pooled),
        Panel(letter="", words="", draw=lambda axes: draw_survival(axes, seen, names)),
    ]


def figure_5(study: Study, parts: Parts) -> PaperFigure:
    """Draw what each state finds when food is at a distance."""
    title = "What the states are good for"
    found = parts.foraging
    if study.path is None:
        return _compose(study, title, (1.0, [LeftOut(letter="a, b, c", reason=NO_BODY)]))
    if found is None:
        reason = _lacking("foraging animals", "forage STUDY")
        return _compose(study, title, (1.0, [LeftOut(letter="a, b, c", reason=reason)]))
    figure = draw_forage_figure(study, found, seed=study.settings.seed)
    for axes, letter in zip(figure.axes, "abc", strict=False):
        _write_letter(axes, letter)
        axes.set_autoscaley_on(True)
    caption = (
        f"**{title}.** (a) Ten minutes of animals that never leave a state. (b) Probability that food in a disc of "
        f"radius r is found by each of {count_of(len(found.curve.names), 'state')}, from "
        f"{count_of(found.curve.n_runs, 'run')} each (bands: 95 % intervals of the mean over runs), and by an animal "
        f"that divides its time among them as recorded. (c) The same in a disc of {found.matching.radius:g} body "
        "lengths, against the share of time in the state (horizontal bars: 95 % over animals; vertical as the title "
        f"says). {describe_study(study)}"
    )
    return PaperFigure(figure=figure, caption=caption)


# --- figures S1 to S10 -----------------------------------------------------------------------------------------------


def figure_s1(study: Study, parts: Parts) -> PaperFigure:
    """Draw how sequence length and lag were chosen."""
    return _compose(
        study,
        "Sequence length and lag",
        (3.6, [_gains_piece(study, parts), _lag_piece(study, parts), _coarse_piece(parts)]),
    )


def _gains_piece(study: Study, parts: Parts) -> Piece:
    table = parts.scan
    if table is None:
        return LeftOut(letter="a", reason=_lacking("entropy rates", "scan FILES --out STUDY"))
    n_states = int(choose_n_states(table).value)
    return Panel(
        letter="a",
        words="How much each further frame lowers the entropy rate (bars: 95 % over animals).",
        draw=lambda axes: draw_gains(axes, table, n_states, study.settings.n_delays),
    )


def _lag_piece(study: Study, parts: Parts) -> Piece:
    scan = parts.lag_scan
    if scan is None:
        return LeftOut(letter="b", reason=_lacking("relaxation times against the lag", "timescales STUDY"))
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
    error: Piece = LeftOut(letter="b", reason=_lacking("errors of prediction", "validate STUDY"))
    if parts.errors is not None:
        recorded, simulated = parts.errors
        error = Panel(
            letter="b",
            words=f"Distance of postures that begin in the same microstate (bands: 95 % over {recorded.over}).",
            draw=lambda axes: draw_prediction_error(axes, recorded, simulated),
        )
    return _compose(study, "Simulated postures", (2.8, _kymograph_pieces(study)), (3.4, [error]))


def _kymograph_pieces(study: Study) -> list[Piece]:
    if study.path is None:
        return [LeftOut(letter="a", reason=NO_BODY)]
    own = _longest_animal(study)
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
    return _side_by_side("a", words, [partial(draw, title) for title in angles])


def figure_s3(study: Study, parts: Parts) -> PaperFigure:
    """Draw how often the modes have each amplitude, in data and simulation."""
    title = "Distributions of the modes"
    if not parts.animals:
        reason = _lacking("distributions", "validate STUDY")
        return _compose(study, title, (1.0, [LeftOut(letter="a", reason=reason)]))
    data, runs = pooled_densities(parts.animals)
    n_modes = min(MOST_MODES, len(data.edges))

    def draw(mode: int, axes: Axes) -> None:
        draw_mode_density(axes, data, runs, mode, legend=mode == n_modes - 1)
        if mode:
            axes.set_ylabel("")

    n_animals = count_of(len(data.density), "animal")
    words = f"Densities of the amplitudes of {n_animals} and of runs of their models (bands as the legend says)."
    return _compose(study, title, (2.8, _side_by_side("", words, [partial(draw, mode) for mode in range(n_modes)])))


def figure_s4(study: Study, parts: Parts) -> PaperFigure:
    """Draw cross-validation, and how well the chain is sampled."""
    chains = animal_chains(study)
    held_out: list[Piece] = [
        LeftOut(letter="a", reason=HELD_OUT_ELSEWHERE, width=0),
        _split_piece(parts, "b", "event rates", EVENT_KINDS) if study.is_worm else LeftOut(letter="b", reason=NO_WAVE),
        _split_piece(parts, "c", "leaving rates", state_names(study, MACRO)),
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
    return _compose(study, "Cross-validation, and sampling of the chain", (3.6, held_out), (3.4, sampling))


def animal_chains(study: Study) -> list[MarkovChain]:
    """Count a chain for every animal that has enough data for one."""
    found = []
    for individual in range(study.symbols.segments.n_individuals):
        try:
            found.append(MarkovChain.from_symbols(study.symbols.of(individual), study.chain.lag))
        except EthomarkovError:  # an animal too short for the lag
            continue
    return found


def _split_piece(parts: Parts, letter: str, statistic: str, names: Sequence[str]) -> Piece:
    """Draw held-out data against runs learned from the rest, as means over splits."""
    rows = [row for row in parts.splits if row["statistic"] == statistic]
    if not rows:
        reason = _lacking(f"cross-validated {statistic}", "validate STUDY --repeats 50")
        return LeftOut(letter=letter, reason=reason)
    unit, repeats = "1/min" if statistic == "event rates" else "1/s", rows[0]["repeats"]
    sides = [
        {
            name: [_point(float(row[side])) for row in rows if int(row["number"]) == number]
            for number, name in enumerate(names)
        }
        for side in ("test_mean", "simulated_mean")
    ]

    def draw(axes: Axes) -> None:
        draw_rates(axes, *sides, unit=unit)
        axes.set_title(f"Cross-validated {statistic}\n(means of {repeats} splits)")
        axes.set_xlabel(f"held-out data ({unit})")

    words = f"Held-out {statistic} of every animal against runs learned from the rest of it, means of {repeats} splits."
    return Panel(letter=letter, words=words, draw=draw)


def _point(value: float) -> Interval:
    return Interval(estimate=value, low=np.nan, high=np.nan, level=0.95, over="splits", n=1)


def figure_s5(study: Study, parts: Parts) -> PaperFigure:
    """Draw how the drag ratio was found, and the displacement of every animal."""
    title = "From postures to paths"
    if study.path is None:
        return _compose(study, title, (1.0, [LeftOut(letter="a, b", reason=NO_BODY)]))
    return _compose(study, title, (3.6, _drag_pieces(study, parts)), *_animal_rows(parts))


def _drag_pieces(study: Study, parts: Parts) -> list[Piece]:
    found = parts.reconstruction
    if measured_path(study) is None:
        return [LeftOut(letter="a", reason=f"{NO_PATH} to fit a drag ratio to")]
    if found is None or found.drag is None or found.measured is None:
        return [LeftOut(letter="a", reason=_lacking("fits of the drag ratio", "path STUDY"))]
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


def _animal_rows(parts: Parts) -> Iterator[tuple[float, Sequence[Piece]]]:
    """Make rows of the displacement of every animal and of its runs."""
    if not parts.animal_runs:
        yield 1.0, [LeftOut(letter="b", reason=_lacking("runs of the animals", "simulate STUDY"))]
        return
    shown = parts.animal_runs[:MOST_ANIMALS]
    words = f"Mean squared displacement of {count_of(len(shown), 'animal')} and of runs of their models."

    def draw(one: Runs, axes: Axes) -> None:
        draw_displacement(axes, _measured_displacement(parts, one), one.displacement)
        axes.set_title(plain_text(one.name))
        if one is shown[0]:
            _fold_legend(axes, loc="lower right", fontsize="x-small", handlelength=1.0, borderaxespad=0.1)
        elif (legend := axes.get_legend()) is not None:
            legend.remove()

    panels = _side_by_side("b", words, [partial(draw, one) for one in shown])
    n_columns = min(ANIMALS_PER_ROW, max(2, len(panels)))
    for first in range(0, len(panels), n_columns):
        row = panels[first : first + n_columns]
        yield 3.0, [*row, *[Space()] * (n_columns - len(row))]


def figure_s6(study: Study, parts: Parts) -> PaperFigure:
    """Draw the slow modes after the slowest on the map."""
    title = "Further slow modes"
    panels = _mode_panels(study, LAST_SLOW_MODE - 1, 2)
    if not panels:
        return _compose(study, title, (1.0, [LeftOut(letter="a", reason="the chain has no further mode")]))
    words = f"Eigenfunctions of the reversibilised chain on the map ({parts.sequence_map.source.rstrip('.')})."
    return _compose(study, title, (3.3, _map_pieces(parts, panels, "", words)))


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
    return _compose(study, "Where to divide the slowest mode", (4.2, [piece]), width=6.5)


def figure_s8a(study: Study, _: Parts) -> PaperFigure:
    """Draw how phase velocity and bend are distributed in the finest states."""
    title = "What the body does in the states"
    if not study.is_worm:
        return _compose(study, title, (1.0, [LeftOut(letter="a", reason=NO_WAVE)]))
    words = "(a) Densities of phase velocity and bend over the frames of each state; triangles are means."
    return PaperFigure(figure=traits_figure(study), caption=f"**{title}.** {words} {describe_study(study)}")


def figure_s8b(study: Study, _: Parts) -> PaperFigure:
    """Draw the longest stay in each of the finest states."""
    title = "Postures in the states"
    if study.basis is None or study.basis.features != "angle":
        return _compose(study, title, (1.0, [LeftOut(letter="b", reason=NO_BODY)]))
    names = state_names(study, study.finest)
    figure = draw_state_postures(study.states(study.finest), study.postures, study.basis, names)
    words = "(b) Tangent angles along the body in the longest stay in each state, and outlines of the body in it."
    return PaperFigure(figure=figure, caption=f"**{title}.** {words} {describe_study(study)}")


def figure_s9(study: Study, parts: Parts) -> PaperFigure:
    """Draw how far the states lead, and how their paths turn."""
    title = "Paths within the states"
    if study.path is None:
        return _compose(study, title, (1.0, [LeftOut(letter="a, b", reason=NO_BODY)]))
    if not parts.state_runs:
        reason = _lacking("runs of the states", "simulate STUDY --state each --out STUDY/simulation_states")
        return _compose(study, title, (1.0, [LeftOut(letter="a, b", reason=reason)]))
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
    return _compose(study, title, (3.8, pieces))


def _fastest_wave(study: Study) -> dict[str, float]:
    """Give the frequency of the body wave in the state where it is fastest, by name."""
    velocity = np.abs(traits_at(study, study.finest).velocity)
    if not np.isfinite(velocity).any():
        return {}
    fastest = int(np.nanargmax(velocity))
    return {state_names(study, study.finest)[fastest]: float(velocity[fastest])}


def figure_s10(study: Study, parts: Parts) -> PaperFigure:
    """Draw whether behaviour changes in the course of a recording."""
    piece: Piece = LeftOut(letter="a", reason=_lacking("rates of entries", "validate STUDY"))
    if parts.entries is not None:
        data, runs, drift = parts.entries
        name = state_names(study, MACRO)[1]
        piece = Panel(
            letter="",
            words=f"Entries into {name} in sliding windows of {data.window / 60:g} min (bars: 95 % over {data.over}).",
            draw=lambda axes: draw_entry_rate(axes, data, runs, name, drift),
        )
    return _compose(study, "Behaviour in the course of time", (3.8, [piece]), width=8.0)


# --- files -----------------------------------------------------------------------------------------------------------

FIGURES: dict[str, Callable[[Study, Parts], PaperFigure]] = {
    "1": figure_1,
    "2": figure_2,
    "3": figure_3,
    "4": figure_4,
    "5": figure_5,
    "S1": figure_s1,
    "S2": figure_s2,
    "S3": figure_s3,
    "S4": figure_s4,
    "S5": figure_s5,
    "S6": figure_s6,
    "S7": figure_s7,
    "S8a": figure_s8a,
    "S8b": figure_s8b,
    "S9": figure_s9,
    "S10": figure_s10,
}
"""Figures by their number in the paper."""


def choose_figures(wanted: Sequence[str]) -> list[str]:
    """Find the numbers of figures that are asked for, in the order of the paper; all when nothing is.

    Parameters
    ----------
    wanted
        Numbers such as "1" or "S3"; "S8" is both of its parts.
    """
    asked = {number.strip().upper().removeprefix("FIG").lstrip(". ") for number in wanted}
    known = {number: {number.upper(), number.rstrip("ab").upper()} for number in FIGURES}
    unknown = asked - set().union(*known.values())
    if unknown:
        raise InputFormatError(
            f"There is no figure {', '.join(sorted(unknown))}; there are {', '.join(FIGURES)}. Name some of these."
        )
    return [number for number, names in known.items() if not asked or names & asked]


def write_paper_figures(
    study: Study, parts: Parts, out: Path, wanted: Sequence[str] = (), progress: Progress | None = None
) -> dict[str, PaperFigure]:
    """Draw figures of the paper into a directory, each as PDF and PNG, with a file of captions.

    Parameters
    ----------
    study, parts
        What to draw; see `gather_parts`.
    out
        Directory; every file appears when it is complete.
    wanted
        Numbers of figures; all by default.
    progress
        Called after every figure.

    Returns
    -------
    drawn
        By number.
    """
    numbers = choose_figures(wanted)
    drawn: dict[str, PaperFigure] = {}
    for k, number in enumerate(numbers):
        drawn[number] = FIGURES[number](study, parts)
        _save(drawn[number].figure, out, f"fig{number}")
        if progress is not None:
            progress("figures", k + 1, len(numbers))
    with atomic_path(out / CAPTIONS_FILE) as temporary:
        temporary.write_text(write_captions(drawn), encoding="utf-8")
    return drawn


def _save(figure: Figure | None, out: Path, name: str) -> None:
    """Write a figure as PDF with embedded fonts, and as PNG."""
    if figure is None:
        return
    with mpl.rc_context({"pdf.fonttype": 42}):  # TrueType: letters stay letters in programs that edit the file
        for ending, options in ((".pdf", {"dpi": 300, "metadata": {"CreationDate": None}}), (".png", {})):
            with atomic_path(out / f"{name}{ending}") as temporary:
                save_figure(figure, temporary, **options)


def write_captions(drawn: Mapping[str, PaperFigure]) -> str:
    """Write the captions of figures, and what they lack, as Markdown."""
    parts = []
    for number, found in drawn.items():
        lines = [f"## Fig. {number}", ""]
        if found.figure is not None:
            lines += [f"![Fig. {number}](fig{number}.png)", "", found.caption, ""]
        lines += [f"- Left out: {reason}" for reason in found.left_out]
        parts.append("\n".join(lines).rstrip())
    return "\n\n".join(parts) + "\n"
