"""The numbers behind the figures of states and kinetics."""

import itertools

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch
from scipy import sparse

from ethomarkov._core.interval import interval_of_mean, percentile_interval
from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov._core.series import Series
from ethomarkov.coarse import best_cut
from ethomarkov.coarse.coherence import coherence_of_sets
from ethomarkov.coarse.dwell_laws import ExponentialSum, LawFit, fit_law
from ethomarkov.coarse.kinetics import (
    find_dwells,
    jump_chain,
    mean_dwell,
    survival,
    time_budget,
)
from ethomarkov.coarse.passage import CoarseTimes, chapman_kolmogorov, two_state_times
from ethomarkov.coarse.tree import StateTree, grow_tree
from ethomarkov.exceptions import InputFormatError
from ethomarkov.figures import states
from ethomarkov.figures.kinetics import (
    draw_chapman_kolmogorov,
    draw_coarse_times,
    draw_dwell_distribution,
    draw_survival,
    draw_transition_graph,
    place_labels,
    seen_survival,
)
from ethomarkov.figures.states import (
    draw_bodies,
    draw_coherence,
    draw_ethogram,
    draw_state_postures,
    draw_time_budget,
    draw_trait_distribution,
)
from ethomarkov.figures.style import DATA, MACROSTATES, MISSING, figure_style, state_colours, state_labels
from ethomarkov.figures.tree import LARGEST_DISC, draw_tree, node_heights
from ethomarkov.markov import MarkovChain
from ethomarkov.posture import PostureBasis
from ethomarkov.states import Symbols

HOSTILE = ("$x_", "a very long name of a state that nobody would ever choose " * 4, "{\\frac}^")


@pytest.fixture
def axes():
    with figure_style():
        yield Figure(layout="constrained").subplots()


def render(axes) -> None:
    """Draw everything; any warning is an error."""
    axes.figure.canvas.draw()


def symbols_of(labels, n_states: int, offsets=None, rate: float = 1.0) -> Symbols:
    labels = np.asarray(labels, dtype=np.int32)
    segments = Segments.from_valid(labels >= 0, None if offsets is None else np.array(offsets))
    return Symbols(labels=labels, n_states=n_states, segments=segments, sampling=Sampling(rate))


def random_symbols(n_states: int, n_animals: int = 1, n_rows: int = 3000, seed: int = 0) -> Symbols:
    """Sticky labels of several animals."""
    rng = np.random.default_rng(seed)
    changes = rng.random(n_animals * n_rows) < 0.1
    labels = rng.integers(n_states, size=changes.size)[np.cumsum(changes)]
    return symbols_of(labels, n_states, np.arange(n_animals + 1) * n_rows, rate=4.0)


def title_of(axes) -> str:
    return axes.get_title(loc="left")


def legend_of(axes) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]


# --- style -----------------------------------------------------------------------------------------------------------

# Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB.
SIGHT = {
    "normal": np.eye(3),
    "red-blind": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "green-blind": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
}


def lab(colour: str, sight: np.ndarray) -> np.ndarray:
    """CIELAB of a colour as it is seen."""
    rgb = np.array(mpl.colors.to_rgb(colour))
    linear = np.clip(sight @ np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4), 0, 1)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = to_xyz @ linear / (0.9505, 1.0, 1.089)
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize(("n_states", "least"), [(2, 30), (7, 20), (12, 15)])
def test_colours_of_states_differ_for_all_eyes(sight, n_states, least):
    seen = [lab(colour, SIGHT[sight]) for colour in state_colours(n_states)]
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > least


@pytest.mark.parametrize("n_states", [0, 1, 2, 3, 12, 13, 40])
def test_every_state_has_its_own_colour(n_states):
    colours = state_colours(n_states)
    assert len(set(colours)) == len(colours) == n_states
    assert MISSING not in colours


def test_two_states_are_run_and_pirouette():
    assert state_colours(2) == MACROSTATES


def test_labels_are_short_and_plain():
    labels = state_labels(HOSTILE, 3, width=20)
    assert labels[0] == r"\$x_"
    assert labels[1].count("\n") == 2
    assert labels[1].endswith("…")
    assert max(len(line) for label in labels for line in label.split("\n")) <= 20


def test_a_name_too_few_is_refused():
    with pytest.raises(InputFormatError, match="1 names for 2 states"):
        state_labels(["run"], 2)


# --- coherence -------------------------------------------------------------------------------------------------------


def two_wells(n: int = 8) -> MarkovChain:
    rng = np.random.default_rng(0)
    counts = rng.integers(5, 50, (n, n)).astype(float)
    counts[: n // 2, n // 2 :] = counts[n // 2 :, : n // 2] = 1
    return MarkovChain.from_counts(sparse.csr_array(counts), lag=0.5)


def test_coherence_of_each_set_is_the_probability_to_stay():
    chain = two_wells()
    cut = best_cut(chain)
    transition, law = chain.transition.toarray(), chain.stationary
    for k, threshold in enumerate(cut.thresholds):
        sides = (cut.phi < threshold, cut.phi >= threshold)
        for found, members in zip(coherence_of_sets(cut.phi, chain)[1][:, k], sides, strict=True):
            stays = law[members] @ transition[np.ix_(members, members)].sum(axis=1)
            assert found == pytest.approx(stays / law[members].sum())
    best = np.searchsorted(cut.thresholds, cut.threshold)
    assert coherence_of_sets(cut.phi, chain)[1][:, best].min() == pytest.approx(cut.coherence)


@pytest.mark.parametrize("against", ["share", "mode"])
def test_the_cut_and_its_flat_stretch_are_marked(axes, against):
    chain = two_wells()
    cut = best_cut(chain)
    draw_coherence(axes, cut, chain.stationary, coherence_of_sets(cut.phi, chain)[1], against=against)
    place = {"mode": lambda t: t, "share": lambda t: chain.stationary[cut.phi < t].sum()}[against]
    (span,) = axes.patches
    assert span.get_x() == pytest.approx(place(cut.flat_from))
    assert span.get_x() + span.get_width() == pytest.approx(place(cut.flat_to))
    cross = next(line for line in axes.lines if line.get_marker() == "x")
    assert cross.get_xdata()[0] == pytest.approx(place(cut.threshold))
    assert cross.get_ydata()[0] == pytest.approx(cut.curve.max())
    curves = [line.get_ydata() for line in axes.lines if line is not cross]
    np.testing.assert_allclose(curves, [cut.curve, *coherence_of_sets(cut.phi, chain)[1]])
    assert "within 0.01 of the best" in legend_of(axes)
    render(axes)


# --- ethogram --------------------------------------------------------------------------------------------------------


def test_the_ethogram_shows_every_frame_once(axes):
    symbols = symbols_of([0, 0, 1, 1, 1, -1, 0, 1, 0, 0], 2, [0, 7, 10])
    draw_ethogram(axes, symbols, ("run", "pirouette"))
    first, second = axes.images
    assert (first.get_array()[0] - 1).tolist() == [0, 0, 1, 1, 1, -1, 0]
    assert (second.get_array()[0] - 1).tolist() == [1, 0, 0]
    np.testing.assert_allclose(first.get_extent(), (0, 7 / 60, 0.4, -0.4))
    np.testing.assert_allclose(second.get_extent(), (0, 3 / 60, 1.4, 0.6))
    shown = [mpl.colors.to_hex(first.cmap(first.norm(value))) for value in (0, 1, 2)]
    assert shown == [colour.lower() for colour in (MISSING, *MACROSTATES)]
    assert legend_of(axes) == ["run", "pirouette", "missing"]
    render(axes)


def test_long_recordings_show_the_most_frequent_state(axes):
    labels = np.zeros(3600, dtype=int)  # three frames per column
    labels[0:3], labels[3:6], labels[6:9] = (1, 1, 0), (2, -1, -1), (-1, -1, -1)
    draw_ethogram(axes, symbols_of(labels, 3), ("a", "b", "c"))
    assert (axes.images[0].get_array()[0, :4] - 1).tolist() == [1, 2, -1, 0]
    assert "3 s" in axes.get_xlabel()


def test_a_window_is_cut_out(axes):
    symbols = symbols_of(np.arange(200) // 10 % 2, 2, [0, 150, 200], rate=2.0)
    draw_ethogram(axes, symbols, ("a", "b"), window=(10.0, 40.0))
    long, short = axes.images
    np.testing.assert_array_equal(long.get_array()[0] - 1, symbols.labels[20:80])
    np.testing.assert_array_equal(short.get_array()[0] - 1, symbols.labels[170:200])  # it ends early
    np.testing.assert_allclose(axes.get_xlim(), (10 / 60, 40 / 60))
    np.testing.assert_allclose(short.get_extent()[:2], (10 / 60, 25 / 60))
    render(axes)


def test_a_window_after_the_end_of_an_animal_leaves_its_row_empty(axes):
    draw_ethogram(axes, symbols_of(np.zeros(110, dtype=int), 1, [0, 100, 110]), ("a",), window=(50.0, 90.0))
    assert len(axes.images) == 1
    render(axes)


def test_an_empty_window_is_refused(axes):
    with pytest.raises(InputFormatError, match="shows nothing"):
        draw_ethogram(axes, random_symbols(2), ("a", "b"), window=(5.0, 5.0))


# --- time budget -----------------------------------------------------------------------------------------------------


def test_shares_of_time_are_those_of_each_animal():
    symbols = symbols_of([0, 0, 1, -1, 1, 1, -1, -1], 3, [0, 4, 6, 8])
    np.testing.assert_allclose(time_budget(symbols), [[2 / 3, 1 / 3, 0], [0, 1, 0], [np.nan] * 3])


def test_the_budget_shows_animals_mean_and_interval(axes):
    shares = np.random.default_rng(0).dirichlet([2, 3, 1], size=9)
    draw_time_budget(axes, shares, HOSTILE)
    for state in range(3):
        animals, mean, bar = axes.lines[3 * state : 3 * state + 3]
        np.testing.assert_allclose(animals.get_xdata(), 100 * shares[:, state])
        found = interval_of_mean(shares[:, state], "animals", scale="share")
        assert mean.get_xdata()[0] == pytest.approx(100 * shares[:, state].mean())
        np.testing.assert_allclose(bar.get_xdata(), [100 * found.low, 100 * found.high])
    assert "95 % over animals" in title_of(axes)
    render(axes)


def test_one_animal_has_no_interval(axes):
    draw_time_budget(axes, np.array([[0.7, 0.3, 0.0]]), HOSTILE)
    assert [line.get_xdata().tolist() for line in axes.lines] == [[70], [30], [0]]
    assert "95 %" not in title_of(axes)
    render(axes)


# --- what the body does ----------------------------------------------------------------------------------------------


def test_densities_are_those_of_each_state(axes):
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=5000)
    values = rng.normal(3.0 * labels, 1.0)
    values[:100], labels[100:200] = np.nan, -1
    draw_trait_distribution(axes, values, labels, HOSTILE, label="ω (cycles/s)", limits=(-8.0, 10.0))
    known = np.isfinite(values)
    for state, stairs in enumerate(axes.patches):
        density, edges, _ = stairs.get_data()
        if state == 2:  # never visited
            assert np.isnan(density).all()
            continue
        assert (density * np.diff(edges)).sum() == pytest.approx(1.0)
        middle = (edges[1:] + edges[:-1]) / 2
        mine = values[known & (labels == state)]
        assert (middle * density * np.diff(edges)).sum() == pytest.approx(mine.mean(), abs=0.02)
        assert axes.lines[state].get_xdata()[0] == pytest.approx(mine.mean())
    assert len(axes.lines) == 2
    render(axes)


def test_values_outside_the_limits_still_count(axes):
    draw_trait_distribution(
        axes, np.array([0.5, 0.5, 5.0, 9.0]), np.zeros(4, dtype=int), ["a"], label="x", limits=(0.0, 1.0)
    )
    density, edges, _ = axes.patches[0].get_data()
    assert (density * np.diff(edges)).sum() == pytest.approx(0.5)


def test_distributions_without_any_frame_are_refused(axes):
    with pytest.raises(InputFormatError, match="no frame"):
        draw_trait_distribution(axes, np.array([np.nan, 1.0]), np.array([0, -1]), ["a"], label="x")
    with pytest.raises(InputFormatError, match="2 values for 1 labels"):
        draw_trait_distribution(axes, np.zeros(2), np.zeros(1, dtype=int), ["a"], label="x")


def test_postures_are_those_of_the_longest_dwell():
    basis = PostureBasis.analytic(40)
    rows = np.random.default_rng(0).normal(size=(60, 5))
    labels = np.repeat([0, 1, 0], [10, 40, 10])
    series = Series.from_rows(rows, 4.0)
    figure = Figure(layout="constrained")
    panels = figure.subplots(3, 2).ravel()
    draw_state_postures(panels, symbols_of(labels, 3, rate=4.0), series, basis, HOSTILE, seconds=5.0)
    images = [axes.images[0] for axes in figure.axes if axes.images]
    angles = rows.astype(np.float32) @ basis.vectors.T
    np.testing.assert_allclose(images[0].get_array(), angles[:10].T, atol=1e-5)
    np.testing.assert_allclose(images[1].get_array(), angles[20:40].T, atol=1e-5)  # five seconds about the middle
    assert images[1].get_extent() == [0, 5.0, 1, 0]
    texts = [text.get_text() for axes in figure.axes for text in axes.texts]
    assert texts == ["never visited"]
    figure.canvas.draw()


def test_kymographs_have_the_head_on_top(axes):
    angles = np.linspace(-1, 1, 50)[None].repeat(8, axis=0)
    states._draw_angles(axes, angles, rate=4.0)
    assert axes.images[0].get_array()[0, 0] == -1  # the first segment is in the first row,
    assert axes.get_ylim() == (1, 0)  # which is the upper one
    assert axes.images[0].get_extent() == [0, 2, 1, 0]


def test_a_straight_body_stands_upright_and_has_length_one(axes):
    draw_bodies(axes, np.zeros((1, 100)))
    (outline,) = axes.patches
    across, along = np.ptp(outline.get_xy(), axis=0)
    assert along == pytest.approx(1.0)
    assert across == pytest.approx(0.07, rel=0.01)
    assert axes.lines[0].get_ydata()[0] == pytest.approx(0.5)  # head


def test_shapes_without_tangent_angles_are_refused():
    basis = PostureBasis(
        vectors=np.eye(4, 3), mean=np.zeros(4), explained_variance=np.ones(3), features="keypoint", source="test"
    )
    with pytest.raises(InputFormatError, match="tangent angles"):
        draw_state_postures([], random_symbols(2), Series.from_rows(np.zeros((3000, 3)), 4.0), basis, ("a", "b"))


# --- tree ------------------------------------------------------------------------------------------------------------


def small_tree(stability: bool = True) -> StateTree:
    """Divide 1 into 0.7 and 0.3, then 0.7 into 0.5 and 0.2."""
    nodes = 5
    return StateTree(
        parent=np.array([-1, 0, 0, 1, 1]),
        born=np.array([1, 2, 2, 3, 3]),
        divided=np.array([2, 3, -1, -1, -1]),
        measure=np.array([1.0, 0.7, 0.3, 0.5, 0.2]),
        node_of=np.array([3, 4, 2]),
        coherence=np.full(nodes, np.nan),
        persistence=np.full(nodes, np.nan),
        undecided=np.full(nodes, np.nan),
        held_out=np.full(nodes, np.nan),
        is_supported=np.full(nodes, True),
        mode=np.zeros(nodes, dtype=int),
        relaxation=np.full(nodes, np.nan),
        noise=np.full(nodes, np.nan),
        left_over=np.zeros(nodes, dtype=int),
        stability=np.array([1.0, 0.9, 0.8, 0.6, 0.4]) if stability else np.full(nodes, np.nan),
        remark=("",) * nodes,
        leftover="flux",
        lag=0.75,
    )


NAMES = {1: ("all",), 2: ("run", "pirouette"), 3: ("fast", "slow", "turn")}


def test_nodes_lie_between_their_children():
    assert node_heights(small_tree(), 3) == {3: 0, 4: 1, 2: 2, 1: 0.5, 0: 1.25}
    assert node_heights(small_tree(), 2) == {1: 0, 2: 1, 0: 0.5}


def test_discs_have_the_area_of_their_time(axes):
    tree = small_tree()
    draw_tree(axes, tree, NAMES)
    inner, leaves = axes.collections
    np.testing.assert_allclose(inner.get_sizes(), LARGEST_DISC * np.array([0.7, 1.0]))
    np.testing.assert_allclose(leaves.get_sizes(), LARGEST_DISC * np.array([0.5, 0.2, 0.3]))
    np.testing.assert_allclose(leaves.get_offsets(), [[3, 0], [3, 1], [2, 2]])
    np.testing.assert_allclose(leaves.get_facecolors(), mpl.colors.to_rgba_array(state_colours(3)))
    written = [text.get_text() for text in axes.texts]
    assert {"0.80", "0.40"} <= set(written)  # the less stable child
    assert {"fast, 50 %", "slow, 20 %", "turn, 30 %", "run\n70 %", "all"} <= set(written)
    render(axes)


def test_a_tree_can_be_cut_at_a_level(axes):
    draw_tree(axes, small_tree(), NAMES, level=2)
    assert {"run, 70 %", "pirouette, 30 %"} <= {text.get_text() for text in axes.texts}
    assert len(axes.collections[1].get_sizes()) == 2


def test_unknown_stability_is_not_written(axes):
    draw_tree(axes, small_tree(stability=False), {3: HOSTILE})
    assert not any("nan" in text.get_text() for text in axes.texts)
    assert "stability" not in title_of(axes)
    render(axes)


def test_a_tree_of_the_root_alone_is_one_disc(axes):
    draw_tree(axes, grow_tree(two_wells(), 1), {1: ("all",)})
    assert [len(dots.get_sizes()) for dots in axes.collections] == [0, 1]
    render(axes)


def test_names_of_the_last_level_are_needed(axes):
    with pytest.raises(InputFormatError, match="no names for level 3"):
        draw_tree(axes, small_tree(), {2: ("run", "pirouette")})


# --- dwells ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_animals", [1, 4])
def test_mean_stays_are_time_per_end(n_animals):
    dwells = find_dwells(random_symbols(3, n_animals))
    for state in range(3):
        mine = dwells.in_state(state)
        expected = (mine.duration.sum() - mine.ends_cut.sum() * mine.step) / (~mine.ends_cut).sum()
        found = mean_dwell(dwells, state)
        assert found.estimate == pytest.approx(expected)
        assert found.low < found.estimate < found.high
        assert found.over == ("animals" if n_animals > 1 else "blocks")


def test_a_state_that_is_never_left_has_no_mean_stay():
    assert np.isnan(mean_dwell(find_dwells(symbols_of([1, 1, 1], 2)), 1).estimate)
    assert np.isnan(mean_dwell(find_dwells(symbols_of([1, 1, 1], 2)), 0).estimate)


def test_survival_is_that_of_kaplan_and_meier(axes):
    dwells = find_dwells(random_symbols(2, 3))
    draw_survival(axes, dwells, ("a", "b"))
    for state, line in enumerate(axes.lines):
        found = survival(dwells, state)
        alive = found.survival > 0
        np.testing.assert_allclose(line.get_xdata(), np.append(0, found.time[alive]))
        np.testing.assert_allclose(line.get_ydata(), np.append(1, found.survival[alive]))
    assert axes.get_yscale() == "log"
    render(axes)


def test_pooled_stays_and_their_law(axes):
    dwells = find_dwells(random_symbols(2, 3))
    law = fit_law(dwells, "exponential", shortest=1.0)
    draw_survival(axes, dwells, ("a", "b"), pooled=True, laws={"$x_ law": law}, shortest=1.0)
    curve, fitted = axes.lines
    assert curve.get_xdata()[0] == pytest.approx(0.75)  # the look before
    kept = dwells.begun.select(dwells.begun.duration > 0.99)
    at = np.searchsorted(curve.get_xdata(), 3.0, side="right") - 1
    assert curve.get_ydata()[at] == pytest.approx(np.mean(kept.duration > 3.0), abs=0.01)
    # An exponential forgets how long it has lasted.
    time_constant = law.parameters[0]
    np.testing.assert_allclose(fitted.get_ydata(), np.exp(-(fitted.get_xdata() - 0.75) / time_constant))
    assert f"{time_constant:.3g} s" in legend_of(axes)[1]
    render(axes)


def test_laws_are_seen_through_the_looks():
    """A long simulation of dwells at random phase, seen every second."""
    rng = np.random.default_rng(0)
    true = rng.lognormal(0.5, 0.8, size=400_000)
    phase = rng.random(true.size)  # from the start to the first look
    looks = np.floor(true - phase).astype(int) + 1
    looks = looks[looks >= 2]
    law = LawFit(
        kind="lognormal",
        names=("median", "log_spread"),
        parameters=np.array([np.exp(0.5), 0.8]),
        log_likelihood=0.0,
        n_ended=1,
        n_cut=0,
        step=1.0,
        shortest=2.0,
    )
    times = np.arange(1.0, 8.0)
    expected = [(looks > t).mean() for t in times]
    np.testing.assert_allclose(seen_survival(law, times, 1.0, 2.0), expected, atol=0.004)


def test_sums_of_exponentials_show_their_times(axes):
    law = ExponentialSum(
        times=np.array([20.0, 4.0]),
        times_low=np.array([18.0, np.nan]),
        times_high=np.array([29.0, np.nan]),
        weights=np.array([0.4, 0.6]),
        weights_low=np.full(2, np.nan),
        weights_high=np.full(2, np.nan),
        relaxation=percentile_interval(3.3, np.empty(0), "animals", 1),
    )
    draw_survival(axes, find_dwells(random_symbols(2)), ("a", "b"), laws={"paper": law})
    assert legend_of(axes)[-1] == "paper: τ = 20 (18, 29) s, 4 s"
    start, rest = seen_survival(law, np.array([0.0, 1e-9]), 0.25, 0.25)
    assert start == pytest.approx(1.0)
    assert rest == pytest.approx(1.0)


def test_stays_of_an_unvisited_state_leave_no_line(axes):
    dwells = find_dwells(symbols_of([0, 1, 1, 0, 0, 1, 0, 0, 0, 1], 3))
    draw_survival(axes, dwells, HOSTILE)
    assert axes.lines[2].get_ydata().tolist() == [1.0]
    assert legend_of(axes)[2].endswith("n = 0")
    render(axes)


def test_the_distribution_of_stays_names_their_means(axes):
    dwells = find_dwells(random_symbols(2, 4), step=0.5)
    draw_dwell_distribution(axes, dwells, ("a", "b"))
    for state, line in enumerate(axes.lines):
        found = survival(dwells, state)
        np.testing.assert_allclose(line.get_ydata(), 1 - np.append(1, found.survival))
        assert legend_of(axes)[state] == f"{'ab'[state]}\n{mean_dwell(dwells, state)} s"
    assert axes.get_legend().get_title().get_text() == "mean dwell time (95 % over animals)"
    assert "0.5 s" in title_of(axes)
    render(axes)


def test_states_never_left_are_said_to_be_so(axes):
    draw_dwell_distribution(axes, find_dwells(symbols_of([0, 0, 1, 0, 1, 1], 3)), ("a", "b", "c"))
    assert legend_of(axes)[2] == "c\nnever left"
    render(axes)


# --- transitions -----------------------------------------------------------------------------------------------------


def arrows_of(axes) -> list[FancyArrowPatch]:
    return [patch for patch in axes.patches if isinstance(patch, FancyArrowPatch)]


def test_arrows_are_the_likely_jumps(axes):
    symbols = random_symbols(4, 2)
    jumps = jump_chain(symbols)
    threshold = float(np.sort(jumps.probabilities.ravel())[8])
    draw_transition_graph(axes, jumps, ("a", "b", "c", "d"), threshold=threshold)
    likely = np.sort(jumps.probabilities[jumps.probabilities >= threshold])[::-1]
    assert len(arrows_of(axes)) == likely.size == 8
    widths = [arrow.get_linewidth() for arrow in arrows_of(axes)]
    np.testing.assert_allclose(np.diff(widths), 3.9 * np.diff(likely), atol=1e-12)
    written = [text.get_text() for text in axes.texts]
    assert written[:8] == [f"{100 * p:.0f}" for p in likely]
    assert written[8:] == ["a", "b", "c", "d"]
    render(axes)


@pytest.mark.parametrize("by_time", [False, True])
def test_areas_of_nodes_are_shares(axes, by_time):
    symbols = random_symbols(3, 2)
    jumps = jump_chain(symbols)
    share = np.array([0.5, 0.3, 0.2]) if by_time else None
    draw_transition_graph(axes, jumps, HOSTILE, time_share=share)
    radii = np.array([patch.radius for patch in axes.patches if isinstance(patch, Circle)])
    wanted = jumps.stationary if share is None else share
    np.testing.assert_allclose(radii**2 / (radii**2).sum(), wanted)
    assert ("share of time" if by_time else "share of dwells") in title_of(axes)
    render(axes)


def test_arrows_lead_from_edge_to_edge(axes):
    draw_transition_graph(axes, jump_chain(symbols_of([0, 1, 0, 1, 0], 2)), ("a", "b"))
    upper, lower = (patch for patch in axes.patches if isinstance(patch, Circle))
    assert len(arrows_of(axes)) == 2
    for arrow in arrows_of(axes):
        way = arrow._path_original.vertices
        for node in (upper, lower):
            assert np.linalg.norm(way - node.center, axis=1).min() > node.radius


@pytest.mark.parametrize("labels", [[0, 0, 0], [0, 0, 1], [0, 1, 0, 1, 0]])
def test_graphs_of_few_jumps_can_be_drawn(axes, labels):
    draw_transition_graph(axes, jump_chain(symbols_of(labels, 3)), HOSTILE)
    assert (
        len(arrows_of(axes))
        == np.unique(np.column_stack([labels[:-1], labels[1:]])[np.diff(labels) != 0], axis=0).shape[0]
    )
    render(axes)


def test_labels_keep_apart():
    """Two curves cross in the middle; neither label may lie there."""
    t = np.linspace(-1, 1, 61)
    first, second = np.stack([t, t], axis=1), np.stack([t, -t], axis=1)
    places = place_labels([first, second], np.empty((0, 2)))
    assert np.abs(places).max(axis=1).min() > 0.05
    assert np.abs(places[0] - places[1]).max() > 0.2
    assert np.allclose(places[0, 0], places[0, 1])
    assert np.allclose(places[1, 0], -places[1, 1])


# --- the chain of states ---------------------------------------------------------------------------------------------


def test_coarse_times_are_drawn_with_band_and_steady_lag(axes):
    times = two_state_times(random_symbols(2, 4), np.arange(2), np.array([0.25, 0.5, 1.0, 2.0]))
    draw_coarse_times(axes, times)
    np.testing.assert_allclose(axes.lines[0].get_xydata(), np.column_stack([times.lags, times.times[:, 0]]))
    np.testing.assert_allclose(axes.lines[1].get_ydata(), times.lags)
    (band,) = axes.collections
    corners = band.get_paths()[0].vertices
    assert corners[:, 1].min() == pytest.approx(times.low.min())
    assert corners[:, 1].max() == pytest.approx(times.high.max())
    assert "95 % over animals" in legend_of(axes)
    lag, is_steady = times.steady_lag()
    assert is_steady
    assert axes.lines[2].get_xdata()[0] == lag
    render(axes)


def test_times_that_never_settle_have_no_mark(axes):
    lags = np.array([1.0, 2.0, 4.0])
    column = 3 * lags[:, None]
    nothing = np.full((3, 1), np.nan)
    times = CoarseTimes(lags=lags, times=column, low=nothing, high=nothing, by_unit=column[None], over="animals")
    draw_coarse_times(axes, times)
    assert len(axes.lines) == 2
    assert "not steady up to 4 s" in title_of(axes)
    assert not any("95 %" in text for text in legend_of(axes))
    render(axes)


def test_observed_and_predicted_probabilities_are_drawn(axes):
    test = chapman_kolmogorov(random_symbols(2, 3, 600), np.arange(2), 0.5, n_steps=4)
    draw_chapman_kolmogorov(axes, test, (0, 1), ("$x_", "b"))
    coarse, micro, observed = axes.lines[:3]
    np.testing.assert_allclose(coarse.get_ydata(), test.coarse[:, 0, 1])
    np.testing.assert_allclose(micro.get_ydata(), test.micro[:, 0, 1])
    np.testing.assert_allclose(observed.get_ydata(), test.observed[:, 0, 1])
    bars = np.array([bar[:, 1] for bar in axes.collections[-1].get_segments()])
    np.testing.assert_allclose(bars[:, 0], np.minimum(test.observed_low, test.observed)[:, 0, 1])
    np.testing.assert_allclose(bars[:, 1], np.maximum(test.observed_high, test.observed)[:, 0, 1])
    assert title_of(axes) == r"\$x_ → b"
    render(axes)


def test_data_colour_is_kept_for_pooled_dwells(axes):
    draw_survival(axes, find_dwells(random_symbols(2)), ("a", "b"), pooled=True)
    assert axes.lines[0].get_color() == DATA
