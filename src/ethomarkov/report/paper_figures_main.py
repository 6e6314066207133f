"""Fig. 1 to 5 of the paper, for any study."""

from matplotlib.axes import Axes

from ethomarkov._core.words import count_of
from ethomarkov.coarse.dwell_laws import paper_biexponential
from ethomarkov.coarse.kinetics import find_dwells, jump_chain
from ethomarkov.exceptions import EthomarkovError
from ethomarkov.figures.kinetics import Law, draw_dwell_distribution, draw_survival, draw_transition_graph
from ethomarkov.figures.maps import draw_chain_on_map, motion_panels
from ethomarkov.figures.scan import draw_entropy_rates, draw_spectrum
from ethomarkov.figures.tree import draw_tree
from ethomarkov.markov import MarkovChain
from ethomarkov.posture import phase_velocity
from ethomarkov.posture.events import EVENT_KINDS
from ethomarkov.report.paper_comparison import correlation_pieces, rates_piece
from ethomarkov.report.paper_layout import (
    NO_BODY,
    NO_WAVE,
    LeftOut,
    Panel,
    PaperFigure,
    Piece,
    compose,
    describe_study,
    fold_legend,
    lacking,
    write_letter,
)
from ethomarkov.report.paper_parts import N_RESAMPLES, Parts
from ethomarkov.report.paper_paths import displacement_pieces, paths_piece
from ethomarkov.report.paper_postures import (
    bodies_piece,
    draw_stretch,
    longest_animal,
    macrostate_pieces,
    map_pieces,
    slow_mode_panels,
    traces_piece,
)
from ethomarkov.report.path_movies import longest_stretch
from ethomarkov.report.validation_figures import draw_forage_figure
from ethomarkov.workflow.states import state_names
from ethomarkov.workflow.study import MACRO, Study

SURVIVAL_WORDS = (
    "share of stays in the two macrostates that last longer than a time, taken together with the published sum of two "
    "exponentials, and each by itself (bands: 95 % over stays)."
)


def figure_1(study: Study, parts: Parts) -> PaperFigure:
    """Draw postures, entropy rates and the map of posture sequences."""
    maps: list[Piece] = [LeftOut(letter="c", reason=NO_WAVE, width=2)]
    if study.is_worm:
        panels = motion_panels(phase_velocity(study.postures), study.postures.values[:, 2])
        words = f"Posture sequences on a map ({parts.sequence_map.source.rstrip('.')}), one dot per frame, by movement."
        maps = map_pieces(parts, panels, "c", words)
    return compose(
        study,
        "Posture sequences that predict best, and the space that they form",
        (2.6, [traces_piece(study), bodies_piece(study)]),
        (3.3, [_entropy_piece(parts), *maps]),
    )


def _entropy_piece(parts: Parts) -> Piece:
    table = parts.scan
    if table is None:
        return LeftOut(letter="b", reason=lacking("entropy rates", "scan FILES --out STUDY"))
    words = "Entropy rate against the number of microstates, for several lengths of sequences (bars: standard error)."
    return Panel(letter="b", words=words, draw=lambda axes: draw_entropy_rates(axes, table))


def figure_2(study: Study, parts: Parts) -> PaperFigure:
    """Draw simulated beside recorded postures, and how well the model reproduces the animals."""
    own = longest_animal(study)
    name = study.symbols.segments.individuals[own]
    recorded, simulated = longest_stretch(study, own).values, study.simulated.of(0).values
    traces: list[Piece] = [
        Panel(
            letter="a",
            words="Mode amplitudes of an animal, and of a simulated one from the chain of all.",
            draw=lambda axes: draw_stretch(axes, recorded, study, f"data, {name}"),
        ),
        Panel(letter="", words="", draw=lambda axes: draw_stretch(axes, simulated, study, "simulation, all animals")),
    ]
    leaving = [f"rate of leaving {state}" for state in state_names(study, MACRO)]
    events = [f"{kind}s" for kind in EVENT_KINDS]
    rates = [
        rates_piece(parts, "c", ("Rates of events", "1/min"), events)
        if study.is_worm
        else LeftOut(letter="c", reason=NO_WAVE),
        rates_piece(parts, "d", ("Rates of leaving", "1/s"), leaving),
    ]
    return compose(
        study,
        "The Markov model across timescales",
        (2.6, traces),
        (2.7, correlation_pieces(study, parts)),
        (3.6, rates),
        (3.4, macrostate_pieces(study, parts)),
    )


def figure_3(study: Study, parts: Parts) -> PaperFigure:
    """Draw simulated paths beside measured ones, and how far they lead."""
    title = "Paths from simulated postures"
    if study.path is None:
        return compose(study, title, (1.0, [LeftOut(letter="a, b", reason=NO_BODY)]))
    return compose(study, title, (4.0, [paths_piece(study, parts), *displacement_pieces(parts)]))


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
    return compose(
        study,
        "Slow modes, and the states that they divide",
        (3.8, chain),
        (3.3, [*map_pieces(parts, slow_mode_panels(study, 1), "b", f"{words} {SURVIVAL_WORDS}"), *_stay_pieces(study)]),
        (1.0 + 0.5 * study.finest, [tree]),
        (4.6, stays),
    )


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
        fold_legend(axes, loc="upper right", fontsize="small")

    return [
        Panel(letter="", words="", draw=draw_pooled),
        Panel(letter="", words="", draw=lambda axes: draw_survival(axes, seen, names)),
    ]


def figure_5(study: Study, parts: Parts) -> PaperFigure:
    """Draw what each state finds when food is at a distance."""
    title = "What the states are good for"
    found = parts.foraging
    if study.path is None:
        return compose(study, title, (1.0, [LeftOut(letter="a, b, c", reason=NO_BODY)]))
    if found is None:
        reason = lacking("foraging animals", "forage STUDY")
        return compose(study, title, (1.0, [LeftOut(letter="a, b, c", reason=reason)]))
    figure = draw_forage_figure(study, found, seed=study.settings.seed)
    for axes, letter in zip(figure.axes, "abc", strict=False):
        write_letter(axes, letter)
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
