"""Panels that set data beside simulation."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes

from ethomarkov._core.interval import Interval
from ethomarkov._core.types import FloatArray
from ethomarkov._core.words import count_of
from ethomarkov.figures.panel import lacking, panel
from ethomarkov.figures.panels.postures import MOST_MODES
from ethomarkov.figures.validation import (
    draw_agreement,
    draw_autocorrelation,
    draw_cross_validation,
    draw_entry_rate,
    draw_held_out,
    draw_held_out_correlation,
    draw_mode_density,
    draw_prediction_error,
    draw_rates,
)
from ethomarkov.posture.events import EVENT_KINDS
from ethomarkov.validation.correlation import Autocorrelation
from ethomarkov.validation.distribution import ModeDensity
from ethomarkov.validation.held_out_correlation import HeldOutCorrelation
from ethomarkov.validation.split_means import SplitMeans
from ethomarkov.validation.splits import CrossValidation

if TYPE_CHECKING:
    from ethomarkov.validation.checks import AnimalCheck, Check
    from ethomarkov.validation.validate import Agreement, Predictions

Names = Mapping[int, Sequence[str]]
MACRO = 2
EVENTS, TRANSITIONS = "event rates", "transition rates"
UNITS = {EVENTS: "1/min", TRANSITIONS: "1/s"}


# --- mode by mode ----------------------------------------------------------------------------------------------------


def _draw_modes(axes: Sequence[Axes], draw: Callable[[Axes, int], None], *, one_scale: bool = True) -> None:
    """Draw the modes side by side, with one label on the left and one legend on the right."""
    for mode, one in enumerate(axes):
        if one_scale and mode:
            one.sharey(axes[0])
            one.tick_params(labelleft=False)
        draw(one, mode)
        if mode:
            one.set_ylabel("")
    axes[-1].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize="small")


@panel(
    caption="Autocorrelation of the posture modes of recorded and of simulated animals.",
    n_axes=lambda posture_correlation: min(MOST_MODES, posture_correlation.values.shape[1]),
    height=2.7,
)
def simulated_autocorrelations(
    axes: Sequence[Axes], posture_correlation: Autocorrelation, simulated_correlation: Autocorrelation
) -> None:
    """Draw the autocorrelation of the modes, of animals and of runs of the model of all."""
    data, runs = posture_correlation, simulated_correlation
    _draw_modes(axes, lambda one, mode: draw_autocorrelation(one, data, runs, mode, legend=False))


@panel(
    caption=lambda checks: (
        f"Autocorrelation of the modes of {count_of(len(checks), 'animal')} and of runs of their models (bands as the "
        "legend says)."
    ),
    n_axes=lambda animal_correlation: min(MOST_MODES, animal_correlation.values.shape[1]),
    height=2.7,
)
def autocorrelations(
    axes: Sequence[Axes], animal_correlation: Autocorrelation, run_correlation: Autocorrelation
) -> None:
    """Draw the autocorrelation of the modes, of animals and of runs of their own models (Fig. 2b)."""
    data, runs = animal_correlation, run_correlation
    _draw_modes(axes, lambda one, mode: draw_autocorrelation(one, data, runs, mode, legend=False))


@panel(
    caption=lambda animal_density: (
        f"Densities of the amplitudes of {count_of(len(animal_density.density), 'animal')} and of runs of their models "
        "(bands as the legend says)."
    ),
    n_axes=lambda animal_density: min(MOST_MODES, len(animal_density.edges)),
    height=2.8,
)
def mode_densities(axes: Sequence[Axes], animal_density: ModeDensity, run_density: ModeDensity) -> None:
    """Draw how often the modes have each amplitude (Fig. S3)."""
    data, runs = animal_density, run_density
    _draw_modes(axes, lambda one, mode: draw_mode_density(one, data, runs, mode, legend=False), one_scale=False)


@panel(
    caption=lambda held_out_correlation: (
        f"Autocorrelation of the modes in held-out data of {held_out_correlation.individuals[0]} and in runs learned "
        "from the rest of it (bands as the legend says)."
    ),
    n_axes=lambda held_out_correlation: min(MOST_MODES, held_out_correlation.test.shape[2]),
    height=2.7,
)
def held_out_correlations(axes: Sequence[Axes], held_out_correlation: HeldOutCorrelation) -> None:
    """Draw the autocorrelation of the modes in held-out data of the first animal (Fig. S4a)."""
    _draw_modes(axes, lambda one, mode: draw_held_out_correlation(one, held_out_correlation, mode))


# --- one against the other -------------------------------------------------------------------------------------------


def collect_intervals(
    checks: "Sequence[AnimalCheck]", kinds: Sequence[str]
) -> tuple[Mapping[str, list[Interval]], Mapping[str, list[Interval]]]:
    """Collect a statistic of every animal: its own interval over events, and the range of its runs."""
    data: dict[str, list[Interval]] = {kind: [] for kind in kinds}
    runs: dict[str, list[Interval]] = {kind: [] for kind in kinds}
    for animal in checks:
        by_name: dict[str, Check] = {check.statistic: check for check in animal.checks}
        for kind in kinds:
            check = by_name[kind]
            data[kind].append(_interval(check.data, check.data_low, check.data_high, "events", 1))
            runs[kind].append(_interval(check.simulation, check.low, check.high, "runs", check.n_runs))
    return data, runs


def _interval(estimate: float, low: float, high: float, over: str, n: int) -> Interval:
    return Interval(estimate=estimate, low=low, high=high, level=0.95, over=over, n=n)


def _are_known(checks: "Sequence[AnimalCheck]", kinds: Sequence[str]) -> bool:
    return all(set(kinds) <= {check.statistic for check in one.checks} for one in checks)


RATE_CAPTION = (
    "{} of every animal and of its own model (bars: 95 % intervals over events for data, 95 % of the runs for "
    "simulation)."
)
EVENT_RATES = tuple(f"{kind}s" for kind in EVENT_KINDS)


def _no_events(checks: "Sequence[AnimalCheck]") -> str | None:
    return None if _are_known(checks, EVENT_RATES) else lacking("rates of events", "validate STUDY")


@panel(caption=RATE_CAPTION.format("Rates of events"), unless=_no_events, height=3.6)
def rates_of_events(axes: Axes, phase_velocity: FloatArray, checks: "Sequence[AnimalCheck]") -> None:
    """Draw how often every animal and its runs reverse and turn (Fig. 2c)."""
    draw_rates(axes, *collect_intervals(checks, EVENT_RATES), title="Rates of events", unit="1/min")


def _transition_names(names: Names) -> list[str]:
    return [f"transition rate out of {state}" for state in names[MACRO]]


def _other_states(checks: "Sequence[AnimalCheck]", names: Names) -> str | None:
    known = _are_known(checks, _transition_names(names))
    return None if known else lacking("transition rates out of these states", "validate STUDY")


@panel(caption=RATE_CAPTION.format("Transition rates out of the macrostates"), unless=_other_states, height=3.6)
def transition_rates(axes: Axes, checks: "Sequence[AnimalCheck]", names: Names) -> None:
    """Draw how often every animal and its runs leave the macrostates (Fig. 2d)."""
    draw_rates(axes, *collect_intervals(checks, _transition_names(names)), title="Transition rates", unit="1/s")


@panel(
    caption="Every statistic of the simulations as a ratio to that of the data.",
    height=lambda agreements: 1.2 + 0.42 * len(agreements),
)
def agreement(axes: Axes, agreements: "Sequence[Agreement]") -> None:
    """Draw the overview of all statistics."""
    draw_agreement(axes, agreements)


# --- cross-validation ------------------------------------------------------------------------------------------------


def _statistic_missing(statistic: str) -> Callable[..., str | None]:
    def unless(split_means: SplitMeans) -> str | None:
        found = statistic in split_means.tests
        return None if found else lacking(f"cross-validated {statistic}", "validate STUDY --repeats 50")

    return unless


def _draw_split_means(axes: Axes, means: SplitMeans, statistic: str, names: Sequence[str]) -> None:
    """Draw held-out data against runs learned from the rest, as means over splits."""
    unit = UNITS[statistic]
    sides = [
        {name: [_point(value) for value in table[:, k]] for k, name in enumerate(names)}
        for table in (means.tests[statistic], means.simulated[statistic])
    ]
    draw_rates(axes, *sides, unit=unit)
    axes.set_title(f"Cross-validated {statistic}\n(means of {means.n_splits} splits)")
    axes.set_xlabel(f"held-out data ({unit})")


def _point(value: float) -> Interval:
    return _interval(float(value), np.nan, np.nan, "splits", 1)


SPLIT_CAPTION = "Held-out {} of every animal against runs learned from the rest of it, means of {} splits."


@panel(
    caption=lambda split_means: SPLIT_CAPTION.format(EVENTS, split_means.n_splits),
    unless=_statistic_missing(EVENTS),
    height=3.6,
)
def held_out_events(axes: Axes, phase_velocity: FloatArray, split_means: SplitMeans) -> None:
    """Draw held-out rates of events (Fig. S4b)."""
    _draw_split_means(axes, split_means, EVENTS, EVENT_KINDS)


@panel(
    caption=lambda split_means: SPLIT_CAPTION.format(TRANSITIONS, split_means.n_splits),
    unless=_statistic_missing(TRANSITIONS),
    height=3.6,
)
def held_out_transition_rates(axes: Axes, split_means: SplitMeans, names: Names) -> None:
    """Draw held-out transition rates out of the macrostates (Fig. S4c)."""
    _draw_split_means(axes, split_means, TRANSITIONS, names[MACRO])


def _not_cross_validated(splits: Mapping[str, CrossValidation]) -> str | None:
    known = all(EVENTS in one.comparisons for one in splits.values())
    return None if known else lacking(f"cross-validated {EVENTS}", "validate STUDY --repeats 50")


@panel(caption="Held-out rates of events, and runs learned from the rest.", unless=_not_cross_validated, height=4.3)
def cross_validated_events(axes: Axes, splits: Mapping[str, CrossValidation]) -> None:
    """Draw held-out rates of events, learned both ways."""
    draw_cross_validation(axes, list(splits.values()), EVENTS, EVENT_KINDS, unit=UNITS[EVENTS])


@panel(caption="Held-out transition rates out of the macrostates, and runs learned from the rest.", height=4.3)
def cross_validated_transition_rates(axes: Axes, splits: Mapping[str, CrossValidation], names: Names) -> None:
    """Draw held-out transition rates out of the macrostates, learned both ways."""
    draw_cross_validation(axes, list(splits.values()), TRANSITIONS, names[MACRO], unit=UNITS[TRANSITIONS])


# --- predictions -----------------------------------------------------------------------------------------------------


@panel(
    caption=lambda predictions: (
        f"Distance of postures that begin in the same microstate (bands: 95 % over {predictions.recorded_error.over})."
    ),
    height=3.6,
)
def prediction_errors(axes: Axes, predictions: "Predictions") -> None:
    """Draw how predictions of the posture go wrong with time (Fig. S2b)."""
    draw_prediction_error(axes, predictions.recorded_error, predictions.simulated_error)


@panel(caption="How much better than two nulls the chain predicts held-out animals.", height=3.6)
def held_out_gain(axes: Axes, predictions: "Predictions") -> None:
    """Draw the gain of the chain in held-out data."""
    draw_held_out(axes, predictions.held_out)


@panel(
    caption=lambda predictions, names: (
        f"Entries into {names[MACRO][1]} in sliding windows of {predictions.entries.window / 60:g} min (bars: 95 % "
        f"over {predictions.entries.over})."
    ),
    height=3.6,
)
def entries(axes: Axes, predictions: "Predictions", names: Names) -> None:
    """Draw how often the second macrostate is entered as time goes by (Fig. S10)."""
    draw_entry_rate(axes, predictions.entries, predictions.run_entries, names[MACRO][1], predictions.drift)
