"""Figures of the choice: the numbers behind them."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from ethomarkov.figures.choice import draw_information, draw_memory, draw_numbers, draw_times
from ethomarkov.selection import choose_model
from ethomarkov.synthetic.labelled import make_system


@pytest.fixture(scope="module")
def choice():
    return choose_model(make_system("overlapping", 6, 60.0, 0).series)


@pytest.fixture
def axes():
    return Figure().subplots()


@pytest.mark.parametrize(("draw", "name"), [(draw_memory, "memory"), (draw_information, "information")])
def test_lengths_in_seconds_with_what_was_used(axes, choice, draw, name):
    draw(axes, choice, 1 / 16)
    line = axes.lines[0]
    np.testing.assert_allclose(line.get_xdata(), choice.delays / 16)
    np.testing.assert_allclose(line.get_ydata(), getattr(choice, name))
    used = next(line for line in axes.lines if line.get_linestyle() == "--")
    assert used.get_xdata()[0] == pytest.approx(choice.n_delays / 16)


def test_numbers_as_shares_of_their_best(axes, choice):
    draw_numbers(axes, choice)
    for line, values in zip(axes.lines, (choice.states_memory, choice.states_information), strict=False):
        np.testing.assert_allclose(line.get_ydata(), values / values.max())


def test_times_with_noise_and_plateau(axes, choice):
    draw_times(axes, choice, noise=0.3)
    np.testing.assert_allclose(axes.lines[0].get_ydata(), choice.times)
    assert [0.3] in [list(line.get_ydata()) for line in axes.lines]
    words = [text.get_text() for text in axes.get_legend().get_texts()]
    assert any("no plateau" in word for word in words) is not choice.is_flat
