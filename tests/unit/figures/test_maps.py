"""The numbers behind the maps."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.figure import Figure
from scipy import sparse

from ethomarkov.exceptions import InputFormatError
from ethomarkov.figures.maps import (
    draw_chain_on_map,
    draw_map,
    draw_map_panels,
    draw_map_states,
    mode_panels,
    motion_panels,
)
from ethomarkov.figures.style import MACROSTATES, figure_style
from ethomarkov.markov import MarkovChain
from ethomarkov.states.projection import SequenceMap


@pytest.fixture
def axes():
    return Figure(layout="constrained").subplots()


@pytest.fixture
def sequence_map():
    rng = np.random.default_rng(0)
    frames = rng.normal(size=(60, 2)).astype(np.float32)
    frames[10:15] = np.nan
    return SequenceMap(frames=frames, centers=frames[20:25], method="umap", source="test")


def dots_of(axes) -> PathCollection:
    return next(one for one in axes.collections if isinstance(one, PathCollection))


def in_frame_order(dots: PathCollection, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    order = np.lexsort(np.asarray(dots.get_offsets()).T)
    return np.asarray(dots.get_offsets())[order], np.asarray(values)[order]


def test_dots_are_the_frames_with_a_value_in_random_order(axes, sequence_map):
    values = np.linspace(-1, 1, 60)
    values[[0, 30]] = np.nan
    draw_map(axes, sequence_map, values, label="ω (cycles/s)")
    dots = dots_of(axes)
    kept = np.isfinite(values) & np.isfinite(sequence_map.frames[:, 0])
    order = np.lexsort(sequence_map.frames[kept].T)
    offsets, drawn = in_frame_order(dots, dots.get_array())
    np.testing.assert_allclose(offsets, sequence_map.frames[kept][order])
    np.testing.assert_array_equal(drawn, values[kept][order])
    assert (np.diff(dots.get_array()) < 0).any()  # not in the order of time
    assert dots.get_rasterized()
    assert [bar.get_ylabel() for bar in axes.figure.axes[1:]] == ["ω (cycles/s)"]
    assert axes.get_xlabel() == "UMAP 1"


def test_limits_are_symmetric_and_hold_98_percent(axes, sequence_map):
    values = np.linspace(-1, 3, 60)
    draw_map(axes, sequence_map, values, label="x")
    shown = values[np.isfinite(sequence_map.frames[:, 0])]
    low, high = dots_of(axes).get_clim()
    assert low == -high
    assert high == pytest.approx(np.percentile(np.abs(shown), 98))


def test_limits_of_quantities_without_a_middle(axes, sequence_map):
    values = np.linspace(5, 9, 60)
    draw_map(axes, sequence_map, values, label="x", diverging=False)
    shown = values[np.isfinite(sequence_map.frames[:, 0])]
    np.testing.assert_allclose(dots_of(axes).get_clim(), np.percentile(shown, [1, 99]))


def test_the_colour_bar_points_where_values_lie_beyond(axes, sequence_map):
    draw_map(axes, sequence_map, np.linspace(-0.2, 0.9, 60), label="ω", limits=(-0.5, 0.5))
    assert dots_of(axes).get_clim() == (-0.5, 0.5)
    assert dots_of(axes).colorbar.extend == "max"


def test_zero_everywhere_can_be_drawn(axes, sequence_map):
    draw_map(axes, sequence_map, np.zeros(60), label="x")
    axes.figure.canvas.draw()
    assert dots_of(axes).get_clim() == (-1.0, 1.0)


def test_zero_is_grey_and_seen_on_white(axes, sequence_map):
    draw_map(axes, sequence_map, np.linspace(-1, 1, 60), label="x")
    middle = dots_of(axes).to_rgba([0.0])[0, :3]
    assert np.ptp(middle) < 0.03
    assert 0.6 < middle.mean() < 0.85


def test_states_have_the_colours_of_the_ethogram(axes, sequence_map):
    labels = np.repeat([0, 1, -1], 20)
    draw_map_states(axes, sequence_map, labels, ("run", "pirouette"))
    dots = dots_of(axes)
    kept = (labels >= 0) & np.isfinite(sequence_map.frames[:, 0])
    _, drawn = in_frame_order(dots, dots.get_facecolor()[:, :3])
    wanted = np.array([mpl.colors.to_rgb(MACROSTATES[state]) for state in labels[kept]])
    np.testing.assert_allclose(drawn, wanted[np.lexsort(sequence_map.frames[kept].T)])
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["run", "pirouette"]


def test_values_that_do_not_belong_to_the_map_are_refused(axes, sequence_map):
    with pytest.raises(InputFormatError, match=r"\(59,\) for a map of 60 frames"):
        draw_map(axes, sequence_map, np.zeros(59), label="x")
    with pytest.raises(InputFormatError, match="no frame of the map has a value"):
        draw_map(axes, sequence_map, np.full(60, np.nan), label="x")
    with pytest.raises(InputFormatError, match="at least one panel"):
        draw_map_panels([], sequence_map, [])


def test_panels_of_motion_and_of_slow_modes(sequence_map):
    rng = np.random.default_rng(1)
    omega, bend, modes = rng.normal(size=60), rng.normal(size=60), rng.normal(size=(60, 3))
    panels = motion_panels(omega, bend) + mode_panels(modes, np.array([6.39, 4.3, 3.4]), first=3)
    with figure_style():
        figure = Figure(layout="constrained")
        draw_map_panels(figure.subplots(1, 5), sequence_map, panels)
    figure.canvas.draw()
    maps = [one for one in figure.axes if one.collections and isinstance(one.collections[0], PathCollection)]
    assert len(maps) == 5
    assert len(figure.axes) == 10  # a colour bar each, and no empty panel
    assert dots_of(maps[0]).get_clim() == (-0.5, 0.5)
    kept = np.isfinite(sequence_map.frames[:, 0])
    for one, values in zip(maps, (omega, bend, *modes.T), strict=True):
        np.testing.assert_array_equal(np.sort(dots_of(one).get_array()), np.sort(values[kept]))
    assert maps[2].get_title(loc="left") == "Slow mode 3, relaxes in 6.4 s"
    assert r"$\phi_{5}$" in panels[-1].label


def test_the_chain_is_drawn_with_its_measure_and_likely_transitions(axes, sequence_map):
    counts = np.array([[60, 38, 2, 0], [0, 50, 50, 0], [1, 0, 60, 39], [30, 0, 0, 70]])
    chain = MarkovChain.from_counts(sparse.csr_array(np.pad(counts, ((0, 1), (0, 1)))), lag=1 / 16)
    assert chain.states.tolist() == [0, 1, 2, 3]
    draw_chain_on_map(axes, sequence_map, chain, threshold=0.025)
    dots = dots_of(axes)
    np.testing.assert_allclose(dots.get_offsets(), sequence_map.centers[:4])
    np.testing.assert_allclose(dots.get_sizes() / dots.get_sizes().sum(), chain.stationary)
    lines = next(one for one in axes.collections if isinstance(one, LineCollection))
    wanted = [(0, 1), (1, 2), (2, 3), (3, 0)]
    ends = sequence_map.centers[np.array(wanted)]
    np.testing.assert_allclose(np.array(lines.get_segments()), ends)
    widths = np.asarray(lines.get_linewidths())
    np.testing.assert_allclose(widths / widths[0], np.array([38, 50, 39, 30]) / 38)
    axes.figure.canvas.draw()


def test_a_chain_without_likely_transitions_shows_its_states(axes, sequence_map):
    chain = MarkovChain.from_counts(sparse.csr_array(np.ones((5, 5))), lag=0.5)
    draw_chain_on_map(axes, sequence_map, chain, threshold=0.5)
    axes.figure.canvas.draw()
    assert len(dots_of(axes).get_offsets()) == 5
