"""Figures are laid out once, and look as matplotlib would draw them."""

import io

import numpy as np
from matplotlib.image import imread

from ethomarkov.figures.maps import CELLS, topmost_dots
from ethomarkov.figures.style import figure_style, laid_out, new_figure, save_figure, save_figures


def draw():
    with figure_style():
        figure = new_figure(5, 3)
        upper, lower = figure.subplots(2, 1)
        upper.plot([1, 1e5], [1, 1e4], label="line")
        upper.set(xscale="log", yscale="log", title="a title", xlabel="x")
        upper.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        mesh = lower.scatter([0, 1], [0, 1], c=[0, 1], rasterized=True)
        lower.set_aspect("equal")
        figure.colorbar(mesh, ax=lower, label="colour", extend="both")
    return figure


def pixels(write):
    stream = io.BytesIO()
    write(stream)
    stream.seek(0)
    return imread(stream, format="png")


def test_saved_pixels_are_those_of_matplotlib():
    with figure_style():
        theirs = pixels(lambda stream: draw().savefig(stream, format="png", dpi=150))
    ours = pixels(lambda stream: save_figure(draw(), stream, format="png"))
    np.testing.assert_array_equal(ours, theirs)


def test_layout_is_shared_by_formats_and_given_back(tmp_path):
    figure = draw()
    engine, dpi = figure.get_layout_engine(), figure.dpi
    with laid_out(figure) as filled:
        assert figure.get_layout_engine() is None
        first = pixels(lambda stream: save_figure(figure, stream, filled, format="png"))
        save_figure(figure, tmp_path / "f.pdf", filled=filled)
    assert figure.get_layout_engine() is engine
    assert figure.dpi == dpi
    np.testing.assert_array_equal(first, pixels(lambda stream: save_figure(draw(), stream, format="png")))


def test_labels_of_minor_ticks_that_say_something_stay():
    with figure_style():
        figure = new_figure(4, 3)
        axes = figure.subplots()
        axes.plot([2, 8], [2, 8])
        axes.set(xscale="log")
        theirs = pixels(lambda stream: figure.savefig(stream, format="png", dpi=150))
    assert any(label.get_text() for label in axes.get_xticklabels(minor=True))
    np.testing.assert_array_equal(pixels(lambda stream: save_figure(figure, stream, format="png")), theirs)


def test_several_figures_by_file_name(tmp_path):
    save_figures({"a.png": draw(), "b.png": draw()}, tmp_path / "new")
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["a.png", "b.png"]


def test_topmost_dots_are_the_last_of_every_cell():
    rng = np.random.default_rng(0)
    positions = np.round(rng.normal(size=(5000, 2)), 1)  # many at the same place
    kept = topmost_dots(positions)
    last = {tuple(place): k for k, place in enumerate(positions.tolist())}
    assert kept.tolist() == sorted(last.values())
    far = np.stack([np.arange(0, CELLS, 3.0), np.zeros(len(range(0, CELLS, 3)))], axis=1)
    assert topmost_dots(far).size == len(far)
    assert topmost_dots(np.zeros((4, 2))).tolist() == [3]
