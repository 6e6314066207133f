"""Figures of validation and foraging (Fig. 2b-d, 5, S2b, S3, S4a-c, S10)."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from ethomarkov._core.interval import Interval
from ethomarkov.figures.foraging import draw_example_paths, draw_food_curve, draw_matching
from ethomarkov.figures.style import figure_style, new_figure
from ethomarkov.figures.validation import (
    draw_agreement,
    draw_autocorrelations,
    draw_cross_validation,
    draw_entry_rate,
    draw_held_out,
    draw_mode_densities,
    draw_prediction_error,
    draw_rates,
    draw_test_autocorrelation,
)
from ethomarkov.locomotion.ensemble import CrawlRule, crawl
from ethomarkov.posture.events import EVENT_KINDS
from ethomarkov.validation.correlation import Autocorrelation
from ethomarkov.validation.distribution import ModeDensity
from ethomarkov.workflow.checks import AnimalCheck, Check
from ethomarkov.workflow.forage import Foraging
from ethomarkov.workflow.paths import body_basis
from ethomarkov.workflow.runs import state_model, whole_steps
from ethomarkov.workflow.states import state_names
from ethomarkov.workflow.study import MACRO, Study
from ethomarkov.workflow.validate import CORRELATION, CORRELATION_SECONDS, Validation

EXAMPLE_SECONDS = 600.0


def draw_validation_figures(study: Study, found: Validation) -> dict[str, Figure]:
    """Draw all figures of a validation, by file name."""
    figures = {
        "agreement.png": _agreement(found),
        "autocorrelation.png": draw_autocorrelations(*pooled_correlations(found.animals)),
        "distributions.png": draw_mode_densities(*pooled_densities(found.animals)),
        "prediction.png": _prediction(study, found),
        "rates.png": _rates(study, found),
    }
    if found.cross_validation:
        figures["cross_validation.png"] = _cross_validation(study, found)
    return figures


def _agreement(found: Validation) -> Figure:
    with figure_style():
        figure = new_figure(10.5, 1.2 + 0.42 * len(found.agreements))
        draw_agreement(figure.subplots(), found.agreements)
    return figure


def pooled_correlations(animals: Sequence[AnimalCheck]) -> tuple[Autocorrelation, Autocorrelation]:
    """Stack the curves of all animals, and of their runs."""
    return (
        _stack_correlations([one.correlation for one in animals], "animals"),
        _stack_correlations([one.run_correlation for one in animals], "runs"),
    )


def _stack_correlations(parts: Sequence[Autocorrelation], over: str) -> Autocorrelation:
    return Autocorrelation(
        lags=parts[0].lags,
        values=np.concatenate([part.values for part in parts]),
        n_pairs=np.concatenate([part.n_pairs for part in parts]),
        individuals=tuple(name for part in parts for name in part.individuals),
        over=over,
    )


def pooled_densities(animals: Sequence[AnimalCheck]) -> tuple[ModeDensity, ModeDensity]:
    """Stack the histograms of all animals, and of their runs."""
    return (
        _stack_densities([one.density for one in animals], "animals"),
        _stack_densities([one.run_density for one in animals], "runs"),
    )


def _stack_densities(parts: Sequence[ModeDensity], over: str) -> ModeDensity:
    return ModeDensity(
        edges=parts[0].edges,
        share=np.concatenate([part.share for part in parts]),
        individuals=tuple(name for part in parts for name in part.individuals),
        over=over,
    )


def _prediction(study: Study, found: Validation) -> Figure:
    with figure_style():
        figure = new_figure(14.0, 3.8)
        error, bits, entries = figure.subplots(1, 3)
        draw_prediction_error(error, found.recorded_error, found.simulated_error)
        draw_held_out(bits, found.held_out)
        draw_entry_rate(entries, found.entries, found.run_entries, state_names(study, MACRO)[1], found.drift)
    return figure


def _rates(study: Study, found: Validation) -> Figure:
    """Fig. 2c and d: rates of events, and of leaving the macrostates."""
    panels: dict[str, tuple[str, Sequence[str]]] = {}
    if study.is_worm:
        panels["Rates of events"] = ("1/min", [f"{kind}s" for kind in EVENT_KINDS])
    panels["Rates of leaving"] = ("1/s", [f"rate of leaving {name}" for name in state_names(study, MACRO)])
    with figure_style():
        figure = new_figure(5.8 * len(panels), 4.0)
        grid = figure.subplots(1, len(panels), squeeze=False)[0]
        for axes, (title, (unit, kinds)) in zip(grid, panels.items(), strict=True):
            data, runs = collect_intervals(found.animals, kinds)
            draw_rates(axes, data, runs, title=title, unit=unit)
    return figure


def collect_intervals(
    animals: Sequence[AnimalCheck], kinds: Sequence[str]
) -> tuple[Mapping[str, list[Interval]], Mapping[str, list[Interval]]]:
    """Collect a statistic of every animal: its own interval over events, and the range of its runs."""
    data: dict[str, list[Interval]] = {kind: [] for kind in kinds}
    runs: dict[str, list[Interval]] = {kind: [] for kind in kinds}
    for one in animals:
        by_name: dict[str, Check] = {check.statistic: check for check in one.checks}
        for kind in kinds:
            check = by_name[kind]
            data[kind].append(_interval(check.data, check.data_low, check.data_high, "events", 1))
            runs[kind].append(_interval(check.simulation, check.low, check.high, "runs", check.n_runs))
    return data, runs


def _interval(estimate: float, low: float, high: float, over: str, n: int) -> Interval:
    return Interval(estimate=estimate, low=low, high=high, level=0.95, over=over, n=n)


def _cross_validation(study: Study, found: Validation) -> Figure:
    names = {"event rates": EVENT_KINDS, "leaving rates": state_names(study, MACRO)}
    units = {"event rates": "1/min", "leaving rates": "1/s"}
    both = list(found.cross_validation.values())
    shown = [name for name in names if name in both[0].comparisons]
    correlation = both[0].comparisons[CORRELATION]
    n_modes = min(correlation.test.shape[2], 5)
    with figure_style():
        figure = new_figure(6.8 * len(shown), 7.2)
        upper, lower = figure.subfigures(2, 1, height_ratios=[1, 1.5], squeeze=False)[:, 0]
        for k, axes in enumerate(upper.subplots(1, n_modes, squeeze=False, sharey=True)[0]):
            lags = np.linspace(0, CORRELATION_SECONDS, correlation.test.shape[3])
            draw_test_autocorrelation(axes, correlation, lags, k)
            if k and axes.get_legend() is not None:
                axes.get_legend().remove()
        for axes, name in zip(lower.subplots(1, len(shown), squeeze=False)[0], shown, strict=True):
            draw_cross_validation(axes, both, name, names[name], unit=units[name])
    return figure


def draw_forage_figure(study: Study, found: Foraging, *, seed: int = 0) -> Figure:
    """Fig. 5: example paths of every state, what they find, and the time that animals spend in them."""
    rule = CrawlRule(
        duration=whole_steps(study, EXAMPLE_SECONDS),
        n_runs=1,
        drag_ratio=study.settings.drag_ratio,
        scheme=study.settings.scheme,
        method=study.settings.unfolding,
    )
    paths = {}
    for k, name in enumerate(found.curve.names):
        animal = state_model(study, found.level, k, start="stationary")
        paths[name] = next(crawl(animal, body_basis(study), rule, rng=seed))[1]
    with figure_style():
        figure = new_figure(15.0, 4.4)
        left, middle, right = figure.subplots(1, 3)
        draw_example_paths(left, paths, seconds=EXAMPLE_SECONDS)
        draw_food_curve(middle, found.curve)
        draw_matching(right, found.matching)
    return figure
