"""One picture of every kind of result, for ``result.plot()``: the drawing that says most about it, on given axes."""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ethomarkov._core.interval import Interval
from ethomarkov._core.result import Result
from ethomarkov._core.segments import Segments
from ethomarkov._core.series import Series
from ethomarkov._core.showing import leading_array
from ethomarkov.coarse import Cut
from ethomarkov.coarse.dwell_laws import ExponentialSum, LawChoice
from ethomarkov.coarse.kinetics import Dwells, JumpChain
from ethomarkov.coarse.passage import ChapmanKolmogorov, CoarseTimes, Rates
from ethomarkov.coarse.smoothing import SmoothStates
from ethomarkov.coarse.tree import StateTree
from ethomarkov.exceptions import InputFormatError
from ethomarkov.figures.chain import draw_visits
from ethomarkov.figures.choice import draw_times
from ethomarkov.figures.foraging import draw_food_curve, draw_matching
from ethomarkov.figures.kinetics import (
    draw_chapman_kolmogorov,
    draw_coarse_times,
    draw_dwell_distribution,
    draw_survival,
    draw_transition_graph,
)
from ethomarkov.figures.paths import (
    GUIDE,
    draw_bearing_spectrum,
    draw_displacement,
    draw_drag_cdf,
    draw_path_reconstruction,
    draw_paths,
    draw_state_displacements,
)
from ethomarkov.figures.recording import draw_coverage, draw_traces
from ethomarkov.figures.scan import draw_entropy_rates, draw_lag_scan, draw_spectrum
from ethomarkov.figures.states import draw_ethogram, draw_time_budget
from ethomarkov.figures.style import DATA, MODES, SIMULATION, figure_style
from ethomarkov.figures.tree import draw_tree
from ethomarkov.figures.validation import draw_agreement, draw_held_out, draw_prediction_error
from ethomarkov.foraging.food import FoodCurve, Matching
from ethomarkov.foraging.states import Foraging
from ethomarkov.io.bouts import Bouts
from ethomarkov.locomotion import Trajectory
from ethomarkov.locomotion.bearing import BearingSpectrum
from ethomarkov.locomotion.displacement import Diffusion, Displacement
from ethomarkov.locomotion.drag import DragFit
from ethomarkov.locomotion.drag_example import DragExample
from ethomarkov.markov import MarkovChain, Spectrum
from ethomarkov.markov.lag_scan import LagScan
from ethomarkov.markov.noise_floor import NoiseFloor
from ethomarkov.markov.selection import EntropyTable
from ethomarkov.markov.spectrum import reversible_modes
from ethomarkov.model.application import QUANTITIES, Application
from ethomarkov.model.behaviour import BehaviourModel
from ethomarkov.model.kinetics import Kinetics
from ethomarkov.model.paths import Reconstruction
from ethomarkov.posture import PostureBasis
from ethomarkov.recording import Recording
from ethomarkov.recording.measured import Measured
from ethomarkov.selection import ModelChoice
from ethomarkov.states import Microstates, Symbols
from ethomarkov.states.projection import SequenceMap
from ethomarkov.validation.correlation import Autocorrelation
from ethomarkov.validation.ensembles import AnimalRunSet, RunSet
from ethomarkov.validation.held_out import HeldOut
from ethomarkov.validation.known_truth import KnownTruth
from ethomarkov.validation.prediction import PredictionError
from ethomarkov.validation.runs import Runs
from ethomarkov.validation.simulation_choice import SimulationChoice
from ethomarkov.validation.splits import CrossValidation
from ethomarkov.validation.validate import Predictions, Validation

Kind = TypeVar("Kind", bound=Result)
Draw = Callable[[Axes, Any], None]

SIZE = (6.4, 4.0)
TRACE_SECONDS, MOST_TRACES = 60.0, 6
MOST_STATES = 12
"""States up to which a sequence of them is drawn in colours; a sequence of more as how often each is visited."""
SQUARE = 2
DRAWERS: dict[str, Draw] = {}
"""What draws a kind of result, by the name of its class: some results lie beside this room, and cannot be imported."""
SIZES = {"Validation": (11.0, 6.5)}
"""Inches of a figure of its own, for kinds of results that need more room."""
CATEGORIES = frozenset({"state", "node", "individual", "animal", "law", "candidate", "time_scale", "macrostate"})
"""Dimensions whose entries have no order that a line could follow."""


def plot_result(result: Result, ax: Axes | None = None) -> Axes:
    """Draw a result, on new axes or on given ones, and give the axes.

    Parameters
    ----------
    result
        Of any kind. One without a drawing of its own shows its first array: names as bars, a row of numbers as a line,
        a matrix as an image.
    ax
        To draw on.
    """
    if ax is not None and not isinstance(ax, Axes):
        raise InputFormatError(f"ax is a {type(ax).__name__}; axes of matplotlib are needed, or None for new ones.")
    name = type(result).__name__
    draw = DRAWERS.get(name, _draw_array)
    place = ax or new_figure_shown(SIZES.get(name, SIZE))
    with figure_style():
        axes = place if isinstance(place, Axes) else place.add_subplot()
        draw(axes, result)
    return axes


def new_figure_shown(size: tuple[float, float]) -> Figure:
    """Make a figure of pyplot, so that notebooks and windows show it; size in inches.

    It is made outside of `figure_style`: a notebook switches its way of showing figures on when the first is made, and
    the style would switch it off again when it ends.
    """
    import matplotlib.pyplot as plt

    return plt.figure(figsize=size, layout="constrained")


def _draws(kind: type[Result] | str) -> Callable[[Draw], Draw]:
    def register(function: Draw) -> Draw:
        DRAWERS[kind if isinstance(kind, str) else kind.__name__] = function
        return function

    return register


# --- postures --------------------------------------------------------------------------------------------------------


@_draws(Segments)
def _segments(axes: Axes, segments: Segments) -> None:
    draw_coverage(axes, segments, 1.0 / 60)
    axes.set_xlabel("frame")


@_draws(Recording)
def _recording(axes: Axes, recording: Recording) -> None:
    values = recording.values.reshape(len(recording.values), -1)
    _draw_stretch(axes, values, recording.segments, recording.sampling.rate)


@_draws(Series)
def _series(axes: Axes, series: Series) -> None:
    _draw_stretch(axes, series.values, series.segments, series.sampling.rate)


def _draw_stretch(axes: Axes, values: np.ndarray, segments: Segments, rate: float) -> None:
    """Draw a few columns in the first minute of the longest gap-free stretch."""
    if not len(segments.bounds):
        raise InputFormatError("There is no frame without a gap; nothing can be drawn.")
    start, stop, _ = segments.bounds[segments.lengths.argmax()]
    stop = min(stop, start + max(2, round(TRACE_SECONDS * rate)))
    columns = np.unique(np.linspace(0, values.shape[1] - 1, min(values.shape[1], MOST_TRACES)).round().astype(int))
    draw_traces(axes, values[start:stop][:, columns], rate, [str(column + 1) for column in columns], "")


@_draws(PostureBasis)
def _basis(axes: Axes, basis: PostureBasis) -> None:
    for k, mode in enumerate(basis.vectors.T):
        axes.plot(np.linspace(0, 1, len(mode)), mode, color=MODES[k % len(MODES)], label=f"mode {k + 1}")
    along = "along the body, from head to tail" if basis.features == "angle" else "feature (first to last)"
    axes.set(xlabel=along, ylabel="mode", title=f"Posture modes ({basis.source})")
    axes.legend(fontsize="small", loc="upper right")


@_draws(Trajectory)
def _trajectory(axes: Axes, path: Trajectory) -> None:
    draw_paths(axes, path)


@_draws(Measured)
def _measured(axes: Axes, measured: Measured) -> None:
    if measured.centroid is None:
        raise InputFormatError("No path was measured, so that there is none to draw.")
    axes.plot(*measured.centroid.T, ".", color=DATA, ms=0.7)  # a line would cross gaps, and from animal to animal
    unit = f" ({measured.length_unit})" if measured.length_unit else ""
    axes.set(aspect="equal", xlabel=f"x{unit}", ylabel=f"y{unit}", title="Measured paths")


# --- chain -----------------------------------------------------------------------------------------------------------


@_draws(Symbols)
def _symbols(axes: Axes, symbols: Symbols) -> None:
    if symbols.n_states <= MOST_STATES:
        draw_ethogram(axes, symbols, [f"state {k}" for k in range(symbols.n_states)])
    else:
        draw_visits(axes, symbols.visits())


@_draws(Microstates)
def _microstates(axes: Axes, microstates: Microstates) -> None:
    draw_visits(axes, microstates.visits)


@_draws(MarkovChain)
def _chain(axes: Axes, chain: MarkovChain) -> None:
    order, ordered = _slow_order(chain)
    matrix = chain.transition.toarray()[np.ix_(order, order)]
    image = axes.imshow(matrix**0.5, cmap="Blues", vmin=0, interpolation="nearest")
    axes.figure.colorbar(image, ax=axes, label="square root of the transition probability")
    axes.set(xlabel=f"to microstate ({ordered})", ylabel="from", title=f"Transitions in {chain.lag:.3g} s")


def _slow_order(chain: MarkovChain) -> tuple[np.ndarray, str]:
    """Order microstates along the slowest mode, which shows metastable states as blocks."""
    if chain.states.size < 3:
        return np.arange(chain.states.size), "in the order of their numbers"
    return np.argsort(reversible_modes(chain, 1)[1][:, 0]), "in the order of the slowest mode"


@_draws(Spectrum)
def _spectrum(axes: Axes, spectrum: Spectrum) -> None:
    draw_spectrum(axes, spectrum)


@_draws("Timescales")
def _timescales(axes: Axes, found: Any) -> None:  # noqa: ANN401 (lies beside)
    draw_spectrum(axes, found.spectrum, found.noise_floor)


@_draws(NoiseFloor)
def _noise_floor(axes: Axes, floor: NoiseFloor) -> None:
    axes.hist(floor.eigenvalues, bins="auto", color=DATA)
    axes.set(
        xlabel="largest eigenvalue of a shuffled state sequence", ylabel="shuffles", title=f"Lag {floor.lag:.3g} s"
    )


@_draws(LagScan)
def _lag_scan(axes: Axes, scan: LagScan) -> None:
    draw_lag_scan(axes, scan)


@_draws(EntropyTable)
def _entropy_table(axes: Axes, table: EntropyTable) -> None:
    draw_entropy_rates(axes, table)


@_draws(ModelChoice)
def _choice(axes: Axes, choice: ModelChoice) -> None:
    if not choice.lags.size:
        raise InputFormatError(
            "Sequence length, microstates and lag were set, so that nothing was tried that could be drawn. Ask for "
            "`study.free_choice()`."
        )
    draw_times(axes, choice)


@_draws(SequenceMap)
def _sequence_map(axes: Axes, found: SequenceMap) -> None:
    known = np.isfinite(found.frames).all(axis=1)
    axes.plot(*found.frames[known].T, ".", ms=1, color=GUIDE, alpha=0.4, label="sequences")
    axes.plot(*found.centers.T, ".", ms=3, color=DATA, label="microstates")
    axes.set(xticks=[], yticks=[], title=f"Posture sequences by {found.method.upper()}")
    axes.legend(fontsize="small")


# --- states ----------------------------------------------------------------------------------------------------------


@_draws(Cut)
def _cut(axes: Axes, cut: Cut) -> None:
    axes.plot(cut.thresholds, cut.curve, color=DATA)
    axes.axvline(cut.threshold, color=SIMULATION, ls="--", label="cut")
    axes.set(xlabel=f"slow mode {cut.mode}", ylabel="quality of a cut there")
    axes.legend(fontsize="small")


@_draws(StateTree)
def _tree(axes: Axes, tree: StateTree) -> None:
    draw_tree(axes, tree, {level: [f"node {node}" for node in tree.nodes_at(level)] for level in tree.levels})


@_draws(Dwells)
def _dwells(axes: Axes, dwells: Dwells) -> None:
    draw_survival(axes, dwells, [f"state {k}" for k in range(dwells.n_states)])


@_draws(Kinetics)
def _kinetics(axes: Axes, kinetics: Kinetics) -> None:
    draw_dwell_distribution(axes, kinetics.dwells, kinetics.names)


@_draws(JumpChain)
def _jumps(axes: Axes, jumps: JumpChain) -> None:
    draw_transition_graph(axes, jumps, [f"state {k}" for k in range(len(jumps.counts))])


@_draws(Rates)
def _rates(axes: Axes, rates: Rates) -> None:
    _draw_matrix(axes, rates.rates, [str(k) for k in range(len(rates.rates))], "transition rate (1/s)")


@_draws(CoarseTimes)
def _coarse_times(axes: Axes, times: CoarseTimes) -> None:
    draw_coarse_times(axes, times)


@_draws(ChapmanKolmogorov)
def _check(axes: Axes, check: ChapmanKolmogorov) -> None:
    draw_chapman_kolmogorov(axes, check, (0, 0), [f"state {k}" for k in range(MOST_STATES)])


@_draws(SmoothStates)
def _smoothed(axes: Axes, smoothed: SmoothStates) -> None:
    _symbols(axes, smoothed.states)


@_draws("Circulation")
def _circulation(axes: Axes, found: Any) -> None:  # noqa: ANN401 (lies beside)
    _draw_matrix(axes, found.net, list(found.names), "net transitions (1/s)")
    axes.set(xlabel="to", ylabel="from")


@_draws("AnimalTable")
def _animals(axes: Axes, found: Any) -> None:  # noqa: ANN401 (lies beside)
    draw_time_budget(axes, found.shares, [f"state {k}" for k in range(found.shares.shape[1])])


@_draws("DwellLaws")
def _dwell_laws(axes: Axes, found: Any) -> None:  # noqa: ANN401 (lies beside)
    if not found.laws:
        raise InputFormatError("No state was visited often enough to compare laws of its dwell times.")
    name, first = next(iter(found.laws.items()))
    _laws(axes, first)
    axes.set_title(f"Dwell times in {name}")


@_draws(LawChoice)
def _laws(axes: Axes, found: LawChoice) -> None:
    places = np.arange(len(found.kinds))
    axes.barh(places, found.deficit, color=DATA)
    axes.hlines(places, found.deficit_low, found.deficit_high, color="black", lw=1)
    axes.set_yticks(places, found.kinds)
    axes.set(xlabel="held-out nats per dwell below the best law", ylim=(len(places) - 0.5, -0.5))


@_draws(ExponentialSum)
def _exponentials(axes: Axes, found: ExponentialSum) -> None:
    time = np.linspace(0, 4 * float(found.times.max()), 200)
    parts = found.weights[:, None] * np.exp(-time / found.times[:, None])
    axes.plot(time, parts.sum(axis=0), color=DATA, label="sum")
    for part, own in zip(parts, found.times, strict=True):
        axes.plot(time, part, color=GUIDE, ls="--", lw=1, label=f"{own:.3g} s")
    axes.set(yscale="log", xlabel="dwell time (s)", ylabel="share of dwells that last longer", ylim=(1e-3, None))
    axes.legend(fontsize="small")


@_draws(BehaviourModel)
def _model(axes: Axes, model: BehaviourModel) -> None:
    draw_tree(axes, model.tree, {level: model.names(level) for level in model.tree.levels})


@_draws(Bouts)
def _bouts(axes: Axes, bouts: Bouts) -> None:
    for k, name in enumerate(bouts.names):
        here = bouts.state == k
        colour = MODES[k % len(MODES)]
        axes.barh(bouts.individual[here], bouts.duration[here], 0.8, bouts.start[here], color=colour, lw=0, label=name)
    axes.set_yticks(range(len(bouts.individuals)), bouts.individuals)
    axes.set(xlabel="time (s)")
    if bouts.names:
        axes.legend(fontsize="small", loc="lower left", bbox_to_anchor=(0, 1), ncols=4)


@_draws(Application)
def _application(axes: Axes, found: Application) -> None:
    n = len(QUANTITIES)
    for k, name in enumerate(QUANTITIES):
        axes.plot(found.excess[:, k], np.arange(len(found.individuals)) + 0.15 * (k - n / 2), "o", ms=4, label=name)
    for limit in (3, 6):
        axes.axvline(limit, color=GUIDE, ls=":")
    axes.set_yticks(range(len(found.individuals)), found.individuals)
    axes.set(xlabel="spreads worse than the training animals (3: borderline, 6: outside)")
    axes.legend(fontsize="small")


# --- simulated animals -----------------------------------------------------------------------------------------------


@_draws(Displacement)
def _displacement(axes: Axes, found: Displacement) -> None:
    is_data = found.over == "animals"
    draw_displacement(axes, found if is_data else None, None if is_data else found)


@_draws(Diffusion)
def _diffusion(axes: Axes, found: Diffusion) -> None:
    axes.hist(found.coefficient[np.isfinite(found.coefficient)], bins="auto", color=DATA)
    axes.set(xlabel="diffusion coefficient (squared length per second)", ylabel="rows")


@_draws(BearingSpectrum)
def _bearing(axes: Axes, found: BearingSpectrum) -> None:
    draw_bearing_spectrum(axes, {"": found})


@_draws(Runs)
def _runs(axes: Axes, found: Runs) -> None:
    draw_displacement(axes, None, found.displacement)


@_draws(RunSet)
def _run_set(axes: Axes, found: RunSet) -> None:
    draw_state_displacements(axes, {one.name: one.displacement for one in found.runs})


@_draws(Reconstruction)
def _reconstruction(axes: Axes, found: Reconstruction) -> None:
    if found.drag is None:
        draw_paths(axes, found.computed)
    else:
        draw_drag_cdf(axes, found.drag)


@_draws(DragFit)
def _drag(axes: Axes, found: DragFit) -> None:
    draw_drag_cdf(axes, found)


@_draws(DragExample)
def _drag_example(axes: Axes, found: DragExample) -> None:
    draw_path_reconstruction(axes, found)


@_draws(SimulationChoice)
def _simulation_choice(axes: Axes, found: SimulationChoice) -> None:
    places = np.arange(found.lag.size)
    axes.errorbar(places, found.score, found.error, fmt="o", color=DATA)
    axes.plot([found.chosen], [found.score[found.chosen]], "o", ms=12, mfc="none", color=SIMULATION, label="taken")
    axes.set_xticks(
        places, [f"{lag:.3g}, {passage:.3g}" for lag, passage in zip(found.lag, found.passage, strict=True)]
    )
    axes.set(xlabel="step, passage (s)", ylabel="distance from held-out data (1: perfect)", ylim=(0, None))
    axes.legend(fontsize="small")


@_draws(Foraging)
def _foraging(axes: Axes, found: Foraging) -> None:
    draw_food_curve(axes, found.curve)


@_draws(FoodCurve)
def _food_curve(axes: Axes, curve: FoodCurve) -> None:
    draw_food_curve(axes, curve)


@_draws(Matching)
def _matching(axes: Axes, matching: Matching) -> None:
    draw_matching(axes, matching)


# --- validation ------------------------------------------------------------------------------------------------------


@_draws(Validation)
def _validation(axes: Axes, found: Validation) -> None:
    draw_agreement(axes, found.agreements)


@_draws(Predictions)
def _predictions(axes: Axes, found: Predictions) -> None:
    draw_prediction_error(axes, found.recorded_error, found.simulated_error)


@_draws(PredictionError)
def _prediction_error(axes: Axes, found: PredictionError) -> None:
    draw_prediction_error(axes, found, found)


@_draws(HeldOut)
def _held_out(axes: Axes, found: HeldOut) -> None:
    draw_held_out(axes, found)


@_draws(Autocorrelation)
def _autocorrelation(axes: Axes, found: Autocorrelation) -> None:
    mean = np.nanmean(found.values, axis=0)
    for k, row in enumerate(mean):
        axes.plot(found.lags, row, color=MODES[k % len(MODES)], label=f"mode {k + 1}")
    axes.axhline(0, color=GUIDE, lw=0.6)
    axes.set(xlabel="lag (s)", ylabel=f"autocorrelation, mean over {found.over}")
    axes.legend(fontsize="small")


@_draws(KnownTruth)
def _known_truth(axes: Axes, found: KnownTruth) -> None:
    rows = [row for row in found.rows if np.isfinite([row.estimate, row.true]).all() and row.true]
    for k, row in enumerate(rows):
        _draw_interval(axes, row.interval, k, scale=1 / row.true)
    axes.axvline(1, color=GUIDE, ls=":")
    axes.set_yticks(range(len(rows)), [row.quantity for row in rows])
    axes.set(xlabel="estimate over truth", ylim=(len(rows) - 0.5, -0.5))


@_draws(Interval)
def _interval(axes: Axes, found: Interval) -> None:
    _draw_interval(axes, found, 0)
    axes.set(yticks=[], xlabel=f"estimate, {100 * found.level:g} % over {found.n} {found.over}")


@_draws(AnimalRunSet)
def _animal_runs(axes: Axes, found: AnimalRunSet) -> None:
    checks = [check for one in found.animals for check in one.check.checks if check.is_known]
    names = list(dict.fromkeys(check.statistic for check in checks))
    shares = [np.mean([check.agrees for check in checks if check.statistic == name]) for name in names]
    axes.barh(range(len(names)), shares, color=DATA)
    axes.set_yticks(range(len(names)), names)
    axes.set(xlabel="share of animals within 95 % of their own runs", xlim=(0, 1), ylim=(len(names) - 0.5, -0.5))


@_draws(CrossValidation)
def _cross_validation(axes: Axes, found: CrossValidation) -> None:
    names = list(found.comparisons)
    shares = [float(np.nanmean(one.inside())) for one in found.comparisons.values()]
    axes.barh(range(len(names)), shares, color=DATA)
    axes.plot([one.level for one in found.comparisons.values()], range(len(names)), "|", ms=24, color="black")
    axes.set_yticks(range(len(names)), names)
    axes.set(xlabel="share of held-out values within the simulated range (line: expected)", xlim=(0, 1))
    axes.invert_yaxis()


def _draw_interval(axes: Axes, found: Interval, place: int, scale: float = 1.0) -> None:
    axes.plot([scale * found.low, scale * found.high], [place, place], color=DATA, lw=2)
    axes.plot([scale * found.estimate], [place], "o", color=DATA)


# --- anything else ---------------------------------------------------------------------------------------------------


def _draw_array(axes: Axes, result: Result) -> None:
    """Draw the first array of a result that has no drawing of its own."""
    found = leading_array(result)
    if found is None:
        raise InputFormatError(
            f"A {type(result).__name__} holds no array that could be drawn; its `table()` lists what it holds."
        )
    if found.values.ndim == SQUARE:
        _draw_matrix(axes, found.values, found.labels, found.label)
        axes.set(xlabel=found.dims[1], ylabel=found.dims[0])
        return
    places = np.arange(found.values.size)
    if found.labels or found.dims[0] in CATEGORIES:
        axes.bar(places, found.values, color=DATA)
        axes.set_xlabel(found.dims[0].replace("_", " "))
        if found.labels:
            axes.set_xticks(places, found.labels, rotation=20, ha="right")
    else:
        axes.plot(places, found.values, color=DATA, marker="o" if places.size < 40 else "", ms=3)
        axes.set_xlabel(found.dims[0].replace("_", " "))
    axes.set(ylabel=found.label, title=type(result).__name__)


def _draw_matrix(axes: Axes, values: np.ndarray, labels: list[str], label: str) -> None:
    is_signed = bool(np.nanmin(values) < 0 < np.nanmax(values))
    reach = float(np.nanmax(np.abs(values))) if is_signed else None
    colours = {"cmap": "RdBu_r", "vmin": -reach, "vmax": reach} if reach else {"cmap": "Blues"}
    image = axes.imshow(values, aspect="auto", interpolation="nearest", **colours)
    axes.figure.colorbar(image, ax=axes, label=label)
    if labels and len(labels) == len(values) <= MOST_STATES:
        axes.set_yticks(range(len(labels)), labels)
    if labels and len(labels) == values.shape[1] <= MOST_STATES:
        axes.set_xticks(range(len(labels)), labels)
