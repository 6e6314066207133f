"""Results by name, and the contract of panels: each is drawn from them, or says in words why not."""

import io
import re
import shutil

import numpy as np
import pytest

from ethomarkov.cli.app import COMMANDS as CLI_COMMANDS
from ethomarkov.figures.layout import Layout, compose
from ethomarkov.figures.panel import NO_BODY, NO_PATH, NO_WAVE, PANELS, ask
from ethomarkov.model.behaviour import MACRO
from ethomarkov.paper.layout import FIGURES, draw_paper_figure
from ethomarkov.paper.results import open_results
from ethomarkov.report.commands import COMMANDS, draw_command_figures
from ethomarkov.report.page import IMAGES, SECTIONS, held_sections
from ethomarkov.report.results import HELD, StudyResults
from ethomarkov.study import Study

CANNOT = (NO_BODY, NO_WAVE, NO_PATH, "all was given, so nothing was compared")
"""Reasons that no command can mend."""


@pytest.fixture(scope="module", autouse=True)
def few_resamples():
    """Intervals need hundreds of fits; here they are drawn, and tested elsewhere."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ethomarkov.report.results.N_RESAMPLES", 3)
        yield


@pytest.fixture(scope="module")
def complete(full):
    """All results, and the choice that the data alone would make: the study itself was told."""
    return StudyResults(full, choice=full.held("free_choice"))


@pytest.fixture(scope="module")
def few(study):
    """Results of a study of which nothing was asked."""
    return StudyResults(study.replace())


@pytest.fixture(scope="module")
def bodiless(keypoints):
    return StudyResults(keypoints)


# --- names -----------------------------------------------------------------------------------------------------------


def test_every_name_gives_a_result(complete):
    missing = {name for name in complete if complete[name] is None}
    assert missing == set()
    assert len(complete) == len(set(complete))


@pytest.mark.parametrize("whose", ["few", "bodiless"])
def test_every_name_can_be_asked_for(whose, request):
    results = request.getfixturevalue(whose)
    missing = {name for name in results if results[name] is None}
    assert missing >= {*HELD, "kinetics", "runs", "state_runs", "displacement", "checks", "predictions", "splits"}
    assert ("body_basis" in missing) == (whose == "bodiless")


def test_an_unknown_name_is_an_error(few):
    assert "nonsense" not in few
    with pytest.raises(KeyError, match="nonsense"):
        few["nonsense"]


def test_what_is_given_comes_first(study):
    results = StudyResults(study, runs=None, names={2: ("a", "b")})
    assert results["runs"] is None
    assert results["names"] == {2: ("a", "b")}


def test_results_are_made_once(complete):
    assert complete["slow_modes"] is complete["slow_modes"]


def test_what_was_measured_more_exactly_comes_first(full, complete):
    asked = full.held("relaxation_times")
    assert complete["lag_scan"] is asked.lag_scan
    assert complete["noise_floor"] is asked.noise_floor
    assert complete["spectrum"] is asked.spectrum


def test_curves_of_all_animals_are_those_of_each_together(complete):
    each = [one.correlation.values for one in complete["checks"]]
    np.testing.assert_array_equal(complete["animal_correlation"].values, np.concatenate(each))
    assert complete["agreements"] == complete["validation"].agreements


def test_held_out_curves_need_splits_that_hold_out(full):
    """Splits as published, without the held-out ones beside them, are drawn where they belong and nowhere else."""
    whole = full.held("validation")
    alone = {"as published": whole.cross_validation["as published"]}
    results = StudyResults(full, splits=alone)
    assert results["split_means"] is None
    assert results["held_out_correlation"] is None
    assert compose(COMMANDS["validate"]["cross_validation.png"], results).figure is not None


def test_the_run_of_a_movie_takes_no_place_of_others(full, tmp_path):
    """What `movie` asks for later is no reason to forget the runs of each animal; what `simulate` does is shown."""
    shutil.copytree(full.directory, tmp_path / "study")
    study = Study.load(tmp_path / "study")
    first = study.individuals[0]
    study.compute("runs", animal=first, n_runs=1, minutes=0.5)
    results = StudyResults(Study.load(tmp_path / "study"))
    assert [one.name for one in results["runs"]] == list(full.individuals)
    np.testing.assert_array_equal(results["displacement"].lags, full.held("runs").measured.lags)
    study.compute("runs", animal=first, n_runs=3, minutes=0.5)
    assert [one.name for one in StudyResults(Study.load(tmp_path / "study"))["runs"]] == [first]


def test_runs_of_one_animal_are_shown_where_there_are_no_others(study):
    asked = study.replace()
    first = study.individuals[0]
    asked.compute("runs", animal=first, n_runs=1, minutes=0.5)
    assert StudyResults(asked)["runs"] is None
    asked.compute("runs", animal=first, n_runs=2, minutes=0.5)
    results = StudyResults(asked)
    assert [one.name for one in results["runs"]] == [first]
    assert results["displacement"] is asked.held("runs").measured


# --- panels ----------------------------------------------------------------------------------------------------------


def draw_alone(name: str, results):
    return compose(Layout(((f"a {name}",),)), results)


@pytest.mark.parametrize("name", sorted(PANELS))
def test_every_panel_is_drawn_from_a_study_of_which_all_was_asked(name, complete):
    drawn = draw_alone(name, complete)
    assert drawn.left_out == ()
    drawn.figure.savefig(io.BytesIO(), format="png", dpi=20)
    for axes in drawn.figure.axes:
        assert [*axes.lines, *axes.collections, *axes.patches, *axes.images, *axes.texts], axes.get_title()
    assert re.fullmatch(r"\(a\) [A-Z].*\.", drawn.caption, re.DOTALL)
    assert not re.search(r"\b(nan|None|inf)\b", drawn.caption)


@pytest.mark.parametrize("whose", ["few", "bodiless"])
@pytest.mark.parametrize("name", sorted(PANELS))
def test_every_panel_is_drawn_or_says_why_not(name, whose, request):
    results = request.getfixturevalue(whose)
    reason = PANELS[name].why_not(results)
    drawn = draw_alone(name, results)
    assert (drawn.figure is None) == (reason is not None)
    if reason is None:
        assert str(ask(PANELS[name].caption, results)).endswith(".")
    elif not reason.startswith(CANNOT):
        assert re.search(r"`ethomarkov (\w+)", reason)[1] in CLI_COMMANDS, reason


def test_what_a_body_needs_is_not_promised_to_animals_without_one(bodiless):
    """No command is named that could not help."""
    for name in ("displacements", "state_paths", "drag_loss", "food_curve", "foraging_examples", "unfolding_spectra"):
        assert PANELS[name].why_not(bodiless) == NO_BODY


# --- layouts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", FIGURES)
def test_every_figure_of_the_paper_is_complete_and_every_letter_has_words(number, full):
    drawn = draw_paper_figure(number, open_results(full.directory))
    assert drawn.left_out == ()
    letters = [own for row in FIGURES[number].rows for place in row if (own := place.rpartition(" ")[0])]
    for letter in letters:
        assert re.search(rf"\({letter}\) [A-Z][\w-]+ ", drawn.caption), letter
    shown = [text.get_text() for axes in drawn.figure.axes for text in axes.texts]
    assert [one for one in shown if re.fullmatch("[a-z]", one)] == letters


@pytest.mark.parametrize("command", COMMANDS)
def test_every_figure_of_a_command_is_drawn(command, complete):
    assert set(draw_command_figures(command, complete)) == set(COMMANDS[command])


def test_the_page_has_all_pictures_and_sections(complete):
    assert all(compose(layout, complete).left_out == () for layout in IMAGES.values())
    assert list(held_sections(complete)) == [title for title, _, _ in SECTIONS]


def test_new_names_are_in_everything_that_names_states(full):
    """Names that were given after all was computed."""
    first, second = full.names(MACRO)
    results = StudyResults(full.with_settings(names={first: "roaming", second: "turning about"}))
    assert results["names"][MACRO] == ("roaming", "turning about")
    assert results["kinetics"][MACRO].names == ("roaming", "turning about")
    assert any("roaming" in row.name for row in results["agreements"])
    drawn = compose(COMMANDS["validate"]["rates.png"], results)
    assert drawn.left_out == ()
    words = [text.get_text() for axes in drawn.figure.axes for text in axes.get_legend().get_texts()]
    assert any("roaming" in word for word in words)
