"""Panels and layouts: what is drawn, what is left out and why, and the words."""

import inspect
import re

import numpy as np
import pytest
from matplotlib.axes import Axes

from ethomarkov.cli.app import COMMANDS as CLI_COMMANDS
from ethomarkov.cli.app import make_app
from ethomarkov.figures.layout import Layout, can_draw, compose
from ethomarkov.figures.panel import PANELS, REASONS, RESTS_ON, Panel, explain_missing, panel
from ethomarkov.paper.layout import FIGURES
from ethomarkov.report.commands import COMMANDS
from ethomarkov.report.page import IMAGES, SECTIONS
from ethomarkov.report.results import CORE_RESULTS, HELD, MAKERS

LAYOUTS = [
    *FIGURES.values(),
    *(layout for files in COMMANDS.values() for layout in files.values()),
    *IMAGES.values(),
    *(layout for _, _, layout in SECTIONS),
]


def _if_odd(runs):
    return "odd" if len(runs) % 2 else None


@pytest.fixture
def own_panels():
    """Panels of these tests, which are forgotten afterwards."""
    before = set(PANELS)

    @panel(caption=lambda runs: f"{len(runs)} of them.", height=1.5)
    def one_line(axes: Axes, runs: tuple[float, ...], path: "float | None") -> None:
        axes.plot(runs, label="runs" if path is None else "both")
        axes.set_title("one line")

    @panel(caption="Many.", n_axes=lambda runs: 0 + len(runs), columns=2, unless=_if_odd)
    def many(axes, runs: tuple[float, ...]) -> None:
        for height, one in zip(runs, axes, strict=True):
            one.axhline(height)
            one.set_title(str(height))

    yield
    for name in set(PANELS) - before:
        del PANELS[name]


def names_in(layout: Layout) -> list[str]:
    return [place.rpartition(" ")[2] for row in layout.rows for place in row]


# --- all panels and layouts ------------------------------------------------------------------------------------------


def test_every_panel_is_laid_out_somewhere_and_every_layout_names_panels():
    named = {name for layout in LAYOUTS for name in names_in(layout)}
    assert named == set(PANELS)


@pytest.mark.parametrize("found", PANELS.values(), ids=lambda found: found.name)
def test_every_panel_says_what_it_shows_and_why_it_may_be_missing(found: Panel):
    assert found.caption
    assert set(found.needs) <= set(REASONS)
    reason = found.why_not({})
    assert reason
    assert not reason.endswith(".")


def test_every_need_is_a_result_of_a_study():
    known = {*CORE_RESULTS, *HELD, *MAKERS}
    assert {need for one in PANELS.values() for need in (*one.needs, *one.wishes)} <= known
    asked = [question for one in PANELS.values() for question in (one.caption, one.unless, one.n_axes, one.height)]
    assert {name for one in asked if callable(one) for name in inspect.signature(one).parameters} <= known
    assert {need for _, need, _ in SECTIONS} <= known
    assert set(RESTS_ON) <= set(REASONS)


@pytest.mark.parametrize("found", PANELS.values(), ids=lambda found: found.name)
def test_no_size_and_no_reason_rests_on_more_than_the_panel_itself(found: Panel):
    for question in (found.unless, found.n_axes, found.height):
        asked = inspect.signature(question).parameters if callable(question) else ()
        assert set(asked) <= {*found.needs, *found.wishes}


@pytest.mark.parametrize("line", sorted({line for text in REASONS.values() for line in re.findall("`(.*?)`", text)}))
def test_commands_named_by_reasons_exist_with_their_options(line):
    program, command, *_ = words = line.split()
    assert program == "ethomarkov"
    assert command in CLI_COMMANDS
    make_app().parse_args(words[1:], exit_on_error=False, print_error=False)


def test_letters_of_a_figure_stand_once_and_in_order():
    for number, layout in FIGURES.items():
        letters = [own for row in layout.rows for place in row if (own := place.rpartition(" ")[0])]
        assert letters == sorted(set(letters)), number


def test_figures_of_commands_are_those_of_commands_that_exist():
    assert set(COMMANDS) <= set(CLI_COMMANDS)
    assert all(name.endswith(".png") for files in COMMANDS.values() for name in files)


# --- one panel -------------------------------------------------------------------------------------------------------


def test_parameters_are_needs_and_those_that_may_be_none_are_wishes(own_panels):
    found = PANELS["one_line"]
    assert (found.needs, found.wishes) == (("runs",), ("path",))
    assert compose(Layout((("one_line",),)), {"runs": (1.0, 2.0)}).figure.axes[0].lines[0].get_label() == "runs"
    both = compose(Layout((("one_line",),)), {"runs": (1.0, 2.0), "path": 3.0})
    assert both.figure.axes[0].lines[0].get_label() == "both"


def test_what_a_result_rests_on_is_the_reason():
    assert explain_missing("runs", {}) == REASONS["body_basis"]
    assert explain_missing("runs", {"body_basis": 1}) == REASONS["runs"]
    assert explain_missing("drag_example", {"body_basis": 1}) == REASONS["measured_path"]


# --- layouts ---------------------------------------------------------------------------------------------------------


def test_letters_captions_and_what_is_left_out(own_panels):
    layout = Layout((("a one_line", "memory"), ("b memory", "information"), ("c one_line", "many")), "A title")
    found = compose(layout, {"runs": (1.0, 2.0)}, "The end.")
    assert found.caption == "**A title.** (a) 2 of them. (c) 2 of them. Many. The end."
    reason = REASONS["choice"]
    assert found.left_out == (f"(a, memory, b) {reason}.",)
    written = [text.get_text() for axes in found.figure.axes for text in axes.texts]
    assert written == ["a", "c"]


def test_neighbours_that_lack_the_same_are_told_together(own_panels):
    found = compose(Layout((("a memory", "b information", "microstate_numbers"),)), {})
    assert found.figure is None
    assert found.left_out == (f"(a, b) {REASONS['choice']}.",)


def test_a_panel_alone_in_its_row_forms_a_grid(own_panels):
    runs = {"runs": (1.0, 2.0, 3.0, 4.0)}
    grid = compose(Layout((("many",),)), runs).figure
    grid.draw_without_rendering()
    places = np.array([axes.get_position().p0 for axes in grid.axes])
    assert np.unique(places[:, 0].round(2)).size == 2
    row = compose(Layout((("many", "one_line"),)), runs).figure
    row.draw_without_rendering()
    assert np.unique([axes.get_position().y0.round(2) for axes in row.axes]).size == 1
    assert grid.get_figheight() == 2 * 3.4
    assert row.get_figheight() == 3.4


def test_a_panel_may_refuse_its_results(own_panels):
    layout = Layout((("many",),))
    assert compose(layout, {"runs": (1.0,)}).left_out == ("odd.",)
    assert not can_draw(layout, {"runs": (1.0,)})
    assert can_draw(layout, {"runs": (1.0, 2.0)})
