"""Figures of states and paths: something in every panel, no warning, names as the study gives them."""

import dataclasses
import io
import logging

import numpy as np
import pytest

from ethomarkov.locomotion.ensemble import CrawlSettings
from ethomarkov.report.commands import draw_command_figures
from ethomarkov.report.results import StudyResults
from ethomarkov.study import Settings, run_study
from ethomarkov.synthetic import simulate_worms
from ethomarkov.validation.runs import measured_displacement, simulate_runs

RULE = CrawlSettings(duration=15.0, n_runs=2)


@pytest.fixture(scope="module")
def study():
    made = simulate_worms(2, 90.0, seed=3)
    settings = Settings(
        n_delays=11, lag=0.75, n_states=12, n_walks=1, simulated_minutes=0.2, scan=False, n_resamples=0, n_behaviours=3
    )
    return run_study(made.recording, settings, basis=made.basis)


def assert_drawn(figures, caplog):
    """Draw every figure; matplotlib neither warns nor logs, and no panel is empty."""
    assert figures
    with caplog.at_level(logging.WARNING, logger="matplotlib"):
        for name, figure in figures.items():
            figure.savefig(io.BytesIO(), dpi=30)
            for axes in figure.get_axes():
                shown = [*axes.lines, *axes.collections, *axes.patches, *axes.images, *axes.texts]
                assert shown, (name, axes.get_title())
    assert caplog.messages == []


def words_in(figure) -> str:
    return " ".join(text.get_text() for text in figure.findobj(lambda item: hasattr(item, "get_text")))


def kinetics_of(study):
    return {level: study.compute("kinetics", level=level) for level in dict.fromkeys((2, study.finest))}


def animal_figures(study, found, displacement):
    return draw_command_figures("simulate", StudyResults(study, runs=tuple(found), displacement=displacement))


@pytest.mark.slow
def test_figures_of_states_with_new_names(study, caplog):
    """Hostile names are shown as they are: no mathematics, no markup."""
    names = {study.names(study.finest)[0]: r"$\frac$ <b>", "pirouette": "reorientation"}
    renamed = study.replace(settings=study.settings.model_copy(update={"names": names}))
    figures = draw_command_figures("states", StudyResults(renamed, kinetics=kinetics_of(renamed)))
    assert set(figures) == {"tree.png", "ethogram.png", "kinetics.png", "states.png", "traits.png", "postures.png"}
    assert_drawn(figures, caplog)
    for name in ("tree.png", "states.png", "ethogram.png"):
        assert "frac" in words_in(figures[name]), name
    for name in ("tree.png", "kinetics.png"):
        assert "reorientation" in words_in(figures[name]), name
        assert "pirouette" not in words_in(figures[name]), name


def test_figures_of_animals_without_a_body_wave(study, caplog):
    bare = study.replace(basis=None)
    figures = draw_command_figures("states", StudyResults(bare, kinetics=kinetics_of(bare)))
    assert set(figures) == {"tree.png", "ethogram.png", "kinetics.png", "states.png"}
    assert_drawn(figures, caplog)
    assert "state A" in words_in(figures["tree.png"])


def test_figures_of_simulated_animals(study, caplog):
    rule = dataclasses.replace(RULE, length_unit="mm", body_length=0.7)
    found = [simulate_runs(study.model, study.model.animal(k), rule) for k in (0, 1)]
    figures = animal_figures(study, found, measured_displacement(study.model, RULE.duration))
    assert {"kymographs.png", "displacement.png", "paths.png"} <= set(figures)
    assert "diffusion.png" not in figures  # the runs are too short for it
    assert_drawn(figures, caplog)
    assert study.symbols.segments.individuals[1] in words_in(figures["displacement.png"])


def test_figures_of_the_ensemble_of_all(study, caplog):
    """Its name is no animal's, and its unit not that of the data."""
    found = [simulate_runs(study.model, study.model.animal(), RULE)]
    assert_drawn(animal_figures(study, found, measured_displacement(study.model, RULE.duration)), caplog)


@pytest.mark.parametrize("names", [("run",), ("run", r"$\frac$ <b>", "pirouette")], ids=["one", "three"])
def test_figures_of_single_states(study, caplog, names):
    """One wide panel or several, whatever the states are called."""
    largest = int(study.tree.measures_at(2).argmax())
    runs = simulate_runs(study.model, study.model.confined(2, largest), RULE)
    state_runs = tuple(dataclasses.replace(runs, name=name) for name in names)
    figures = draw_command_figures("simulate", StudyResults(study, state_runs=state_runs))
    assert "states.png" in figures
    assert_drawn(figures, caplog)
    for name in names:
        assert name.strip("$").replace("<b>", "").strip("\\ $") in words_in(figures["states.png"])


def test_figures_when_the_first_animal_was_never_seen(study, caplog):
    """The data beside a simulation of all come from an animal that has some."""
    values = study.postures.values.copy()
    values[: study.postures.segments.offsets[1]] = np.nan
    half = study.replace(postures=study.postures.with_rows(values))
    found = [simulate_runs(study.model, study.model.animal(), RULE)]
    assert_drawn(animal_figures(half, found, None), caplog)


def test_figures_of_the_drag_ratio(study, caplog):
    found = study.compute("reconstruction", window=10.0)
    figures = draw_command_figures("path", StudyResults(study, reconstruction=found))
    assert list(figures) == ["drag.png"]
    assert_drawn(figures, caplog)


def test_no_figure_without_a_fitted_drag_ratio(study):
    found = study.compute("reconstruction", window=1000.0)
    assert draw_command_figures("path", StudyResults(study, reconstruction=found)) == {}
