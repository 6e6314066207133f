"""Figures of validation and foraging: complete, without an empty panel, and of the numbers they should show."""

import dataclasses
import io

import numpy as np
import pytest

from ethomarkov.report.commands import draw_command_figures
from ethomarkov.report.results import StudyResults
from ethomarkov.study import Settings, run_study
from ethomarkov.synthetic import simulate_worms
from ethomarkov.synthetic.worm import WormModel

NAMES = {"agreement.png", "autocorrelation.png", "distributions.png", "prediction.png", "rates.png"}


@pytest.fixture(scope="module")
def study():
    worms = simulate_worms(2, 90.0, model=WormModel(missing=0.0), seed=5)
    settings = Settings(
        n_delays=11,
        lag=0.75,
        n_states=15,
        n_walks=1,
        simulated_minutes=0.5,
        simulation_lag=0.75,
        scan=False,
        n_resamples=0,
        n_behaviours=3,
    )
    return run_study(worms.recording, settings, basis=worms.basis)


@pytest.fixture(scope="module")
def found(study):
    return study.compute("validation", n_runs=4, n_held_out=2, n_repeats=2)


@pytest.fixture(scope="module")
def figures(study, found):
    return draw_figures(study, found)


def draw_figures(study, found):
    return draw_command_figures("validate", StudyResults(study, validation=found))


def check_filled(figure):
    """Render a figure, and look for something drawn in every panel besides its frame and guides."""
    figure.savefig(io.BytesIO(), format="png", dpi=40)
    assert figure.axes
    for axes in figure.axes:
        points = [line.get_xydata() for line in axes.lines] + [item.get_offsets() for item in axes.collections]
        points += [path.vertices for item in axes.collections for path in item.get_paths()]
        assert sum(np.isfinite(np.asarray(one, dtype=float)).all(axis=1).sum() for one in points if len(one)) >= 3
        assert axes.get_title(loc="left")


def test_every_figure_is_drawn_and_filled(figures):
    assert set(figures) == NAMES | {"cross_validation.png"}
    for figure in figures.values():
        check_filled(figure)
    panels = {name: len(figure.axes) for name, figure in figures.items()}
    assert panels == {
        "agreement.png": 1,
        "autocorrelation.png": 5,
        "distributions.png": 5,
        "prediction.png": 3,
        "rates.png": 2,
        "cross_validation.png": 7,
    }


def test_curves_are_means_over_all_animals_and_runs(figures, found):
    correlations = np.concatenate([one.correlation.values for one in found.animals])
    runs = np.concatenate([one.run_correlation.values for one in found.animals])
    densities = np.concatenate([one.density.density for one in found.animals])
    for k, axes in enumerate(figures["autocorrelation.png"].axes):
        data, simulated = (line.get_ydata() for line in axes.lines[:2])
        np.testing.assert_allclose(data, correlations[:, k].mean(axis=0))
        np.testing.assert_allclose(simulated, runs[:, k].mean(axis=0))
    for k, axes in enumerate(figures["distributions.png"].axes):
        np.testing.assert_allclose(axes.lines[0].get_ydata(), densities[:, k].mean(axis=0))
    legend = figures["distributions.png"].axes[-1].get_legend()
    assert "mean of 2 animals" in legend.get_texts()[0].get_text()
    assert "mean of 8 runs" in legend.get_texts()[1].get_text()


def test_autocorrelations_have_one_scale(figures):
    assert len({axes.get_ylim() for axes in figures["autocorrelation.png"].axes}) == 1


def test_rates_are_those_of_the_checks(figures, found):
    events, leaving = figures["rates.png"].axes
    by_animal = [{check.statistic: check for check in one.checks} for one in found.animals]
    points = events.containers[0].lines[0].get_xydata()
    np.testing.assert_allclose(points, [[one["reversals"].data, one["reversals"].simulation] for one in by_animal])
    words = " ".join(text.get_text() for text in leaving.get_legend().get_texts())
    assert "transition rate out of" in words
    assert "95 % over events for data, 95 % over runs for simulation" in events.get_title(loc="left")


@pytest.mark.slow
def test_animals_without_a_body_have_no_events(study):
    bare = study.replace(basis=None)
    found = bare.compute("validation", n_runs=3)
    figures = draw_figures(bare, found)
    assert set(figures) == NAMES
    assert len(figures["rates.png"].axes) == 1
    for figure in figures.values():
        check_filled(figure)


@pytest.mark.slow
def test_one_animal(study, found):
    """A single animal has no interval over animals; it is drawn beside its runs."""
    alone = dataclasses.replace(found, animals=found.animals[:1], cross_validation={})
    figures = draw_figures(study, alone)
    assert set(figures) == NAMES
    for figure in figures.values():
        check_filled(figure)
    assert "data, 1 animal" in figures["autocorrelation.png"].axes[-1].get_legend().get_texts()[0].get_text()


def test_foraging_has_a_path_a_curve_and_a_point_per_state(study):
    found = study.compute("foraging", level=3, n_runs=3, seconds=15.0)
    figure = draw_command_figures("forage", StudyResults(study, foraging=found))["forage.png"]
    check_filled(figure)
    paths, curve, matching = figure.axes
    assert "600 s" in paths.get_title(loc="left")
    for k, name in enumerate(found.curve.names):
        np.testing.assert_array_equal(curve.lines[k].get_ydata(), found.curve.probability[k])
        assert name in curve.get_legend().get_texts()[k].get_text()
    assert len(matching.containers) == 3
    again = draw_command_figures("forage", StudyResults(study, foraging=found))["forage.png"].axes[0]
    np.testing.assert_array_equal(again.lines[0].get_xydata(), paths.lines[0].get_xydata())
