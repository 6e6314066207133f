"""Validation of a model: every animal against runs of its own model, and held-out data."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ethomarkov._core.interval import Interval, Scale, interval_of_mean
from ethomarkov._core.random import generator
from ethomarkov._core.result import Result
from ethomarkov._core.series import Series
from ethomarkov._core.showing import frame_of
from ethomarkov._core.types import Progress
from ethomarkov._core.words import count_of
from ethomarkov.exceptions import EthomarkovError
from ethomarkov.model.behaviour import MACRO, BehaviourModel
from ethomarkov.simulation.animal import MarkovAnimal
from ethomarkov.simulation.symbols import simulate_symbols
from ethomarkov.states.symbols import Symbols
from ethomarkov.validation.checks import AnimalCheck, Check
from ethomarkov.validation.correlation import autocorrelation
from ethomarkov.validation.drifting import Drift, EntryRate, drift, entry_rate
from ethomarkov.validation.held_out import HeldOut, predict_held_out
from ethomarkov.validation.prediction import PredictionError, PredictionSettings, recorded_error, simulated_error
from ethomarkov.validation.splits import (
    CrossValidation,
    FitSettings,
    block_splits,
    cross_validate,
    worm_statistics,
)

if TYPE_CHECKING:
    import pandas as pd

RARE_SHARE = 0.25
MOST_WALKS = 200
FEWEST_SAMPLES = 10_000
"""Comparisons of futures in all animals together."""
EVENTS, TRANSITIONS = "event rates", "transition rates"
CORRELATION, CORRELATION_SECONDS = "autocorrelation", 6.0
ENTRY_STEP = 150.0
"""Seconds from one window of entry rates to the next, half of its five minutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement(Result):
    """One statistic over all animals.

    Parameters
    ----------
    name
        Name of the statistic.
    unit
        Unit of the statistic.
    data
        Mean over animals, with its interval over animals; for a single animal the interval over its own events.
    simulation
        Mean over the runs of all animals, with its interval; for a single animal the range of 95 % of its runs.
    n_agree
        Number of animals that lie within 95 % of their own runs.
    n_animals
        Number of animals in which the statistic could be measured.

    Examples
    --------
    >>> mean = Interval(estimate=1.2, low=0.9, high=1.6, level=0.95, over="animals", n=12)
    >>> one = Agreement(name="reversals", unit="1/min", data=mean, simulation=mean, n_agree=11, n_animals=12)
    >>> one.agrees, one.headline()
    (True, 'reversals, 11 of 12 animals within 95 % of their runs')
    """

    name: str
    unit: str
    data: Interval
    simulation: Interval
    n_agree: int
    n_animals: int

    @property
    def agrees(self) -> bool:
        """Whether no more animals fall outside than chance explains: at most 5 % are expected to."""
        from scipy import stats

        outside = self.n_animals - self.n_agree
        return bool(stats.binom.sf(outside - 1, self.n_animals, 0.05) > 0.05) if outside else True

    def headline(self) -> str:
        """Say in how many animals the statistic agrees."""
        return f"{self.name}, {self.n_agree} of {self.n_animals} animals within 95 % of their runs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation(Result):
    """Comparison of a model with the animals it was learned from, and with held-out data.

    Parameters
    ----------
    animals
        Every animal against its own runs.
    agreements
        Comparison over all animals, one per statistic.
    recorded_error
        Growth of the prediction error, predicting from recorded futures.
    simulated_error
        Growth of the prediction error, predicting from simulated futures.
    held_out
        Prediction of held-out animals, or of held-out blocks of a single one.
    entries
        Rate at which the animals enter the second macrostate, in sliding windows.
    run_entries
        Rate at which runs of the model of all animals enter the second macrostate, in sliding windows.
    drift
        Whether the rate of the animals drifts with time.
    cross_validation
        Cross-validations in blocks by kind, "held-out" and "as published", where they were asked for.
    warnings
        What a reader should know, in plain words.
    """

    animals: tuple[AnimalCheck, ...]
    agreements: tuple[Agreement, ...]
    recorded_error: PredictionError
    simulated_error: PredictionError
    held_out: HeldOut
    entries: EntryRate
    run_entries: EntryRate
    drift: Drift
    cross_validation: Mapping[str, CrossValidation]
    warnings: tuple[str, ...]

    def headline(self) -> str:
        """Count the statistics that agree."""
        agree = sum(row.agrees for row in self.agreements)
        return f"{agree} of {len(self.agreements)} statistics agree, {count_of(len(self.animals), 'animal')}"

    def table(self) -> "pd.DataFrame":
        """List every statistic over all animals: data, simulation, and in how many animals they agree."""
        return frame_of(
            {
                "statistic": row.name,
                "unit": row.unit,
                "data": row.data.estimate,
                "data_low": row.data.low,
                "data_high": row.data.high,
                "simulation": row.simulation.estimate,
                "simulation_low": row.simulation.low,
                "simulation_high": row.simulation.high,
                "over": row.data.over,
                "animals_agree": row.n_agree,
                "animals": row.n_animals,
                "agrees": row.agrees,
            }
            for row in self.agreements
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Predictions(Result):
    """Prediction errors, held-out prediction and drift of a model.

    Parameters
    ----------
    recorded_error
        Growth of the prediction error, predicting from recorded futures.
    simulated_error
        Growth of the prediction error, predicting from simulated futures.
    held_out
        Prediction of held-out animals, or of held-out blocks of a single one.
    entries
        Rate at which the animals enter the second macrostate, in sliding windows.
    run_entries
        Rate at which runs of the model of all animals enter the second macrostate, in sliding windows.
    drift
        Whether the rate of the animals drifts with time.
    """

    recorded_error: PredictionError
    simulated_error: PredictionError
    held_out: HeldOut
    entries: EntryRate
    run_entries: EntryRate
    drift: Drift

    def headline(self) -> str:
        """Give the growth of prediction errors and the gain in held-out data."""
        return f"{self.simulated_error.headline()}; {self.held_out.headline()}"

    def table(self) -> "pd.DataFrame":
        """List mixing times, held-out gains and drift, each with its 95 % interval."""
        quantities = (
            ("mixing time, predicted from data", "s", self.recorded_error.mixing_time()),
            ("mixing time, predicted from simulation", "s", self.simulated_error.mixing_time()),
            ("held-out gain over occupancy", "bit/s", self.held_out.mean_gain()),
            ("held-out gain over shuffled state sequences", "bit/s", self.held_out.mean_gain("shuffled")),
            ("drift of the entry rate", "1/min/h", self.drift.interval),
        )
        return frame_of(
            {
                "quantity": name,
                "unit": unit,
                "estimate": one.estimate,
                "low": one.low,
                "high": one.high,
                "over": one.over,
            }
            for name, unit, one in quantities
        )


def predict(
    model: BehaviourModel,
    *,
    min_measure: float = 0.02,
    n_walks: int = MOST_WALKS,
    seed: int = 0,
    threads: int = 1,
    progress: Progress | None = None,
) -> Predictions:
    """Measure how far ahead a model predicts, in training data and in held-out data.

    Parameters
    ----------
    model
        Model to be validated.
    min_measure
        Least share of time of a state in models of the training parts.
    n_walks
        Number of walks of the model of all animals, in which entries into the second macrostate are counted.
    seed, threads, progress
        Random seed; cores to use; called now and then.
    """
    models, entries = animal_models(model), _entries(model, model.states(MACRO))
    settings, postures = prediction_settings(model), _modelled(model, models)
    return Predictions(
        recorded_error=recorded_error(model.postures, model.symbols, settings, rng=generator(seed, "recorded error")),
        simulated_error=simulated_error(
            model.postures,
            model.symbols,
            _every_animal(model, models),
            settings,
            rng=generator(seed, "simulated error"),
        ),
        held_out=predict_held_out(postures, fit_settings(model, min_measure, seed), threads=threads, progress=progress),
        entries=entries,
        run_entries=_run_entries(model, n_walks, seed),
        drift=drift(entries, rng=generator(seed, "drift")),
    )


def prediction_settings(model: BehaviourModel) -> PredictionSettings:
    """Choose settings of prediction errors that unfold postures as the model does.

    The published unfolding is taken without its smoothing, which hides the seams between sequences.
    """
    method, n_animals = model.unfolding, model.symbols.segments.n_individuals
    return PredictionSettings(
        method="paper-filled" if method == "paper" else method,
        n_samples=max(PredictionSettings().n_samples, FEWEST_SAMPLES // n_animals),
    )


def assemble_validation(
    model: BehaviourModel,
    animals: Sequence[AnimalCheck],
    predictions: Predictions,
    cross_validation: Mapping[str, CrossValidation],
) -> Validation:
    """Combine the parts of a validation, average every statistic over animals, and collect warnings.

    Parameters
    ----------
    model
        Model to be validated.
    animals, predictions, cross_validation
        Results of the parts.
    """
    agreements = agree(animals)
    return Validation(
        animals=tuple(animals),
        agreements=agreements,
        recorded_error=predictions.recorded_error,
        simulated_error=predictions.simulated_error,
        held_out=predictions.held_out,
        entries=predictions.entries,
        run_entries=predictions.run_entries,
        drift=predictions.drift,
        cross_validation=cross_validation,
        warnings=tuple(_warnings(model, agreements, predictions.held_out, predictions.drift)),
    )


def fit_settings(model: BehaviourModel, min_measure: float = 0.02, seed: int = 0) -> FitSettings:
    """Give the settings by which models of training parts are learned as this one was."""
    return FitSettings(
        n_delays=model.n_delays,
        n_states=model.microstates.n_states,
        lag=model.chain.lag,
        simulation_lag=model.steps[0],
        passage=model.steps[1],
        min_measure=min_measure,
        method=model.unfolding,
        seed=seed,
    )


def animal_models(model: BehaviourModel) -> dict[int, MarkovAnimal]:
    """Give the Markov animals of the individuals that have enough data for one, by index."""
    found = {}
    for k in range(model.symbols.segments.n_individuals):
        try:
            found[k] = model.animal(k)
        except EthomarkovError:  # too short for the lag, or nothing is visited twice
            continue
    if not found:
        found[0] = model.animal(0)  # raises the reason
    return found


def _every_animal(model: BehaviourModel, models: Mapping[int, MarkovAnimal]) -> list[MarkovAnimal]:
    """One Markov animal per individual; those without a model of their own take that of all."""
    whole = None if len(models) == model.symbols.segments.n_individuals else model.animal()
    return [models.get(k) or whole or models[0] for k in range(model.symbols.segments.n_individuals)]


def _modelled(model: BehaviourModel, models: Mapping[int, MarkovAnimal]) -> Series:
    """Keep the postures of the individuals that have a model; the others are too short to be held out."""
    postures, chosen = model.postures, list(models)
    n_rows = np.diff(postures.segments.offsets)[chosen]
    return Series.from_rows(
        postures.values[np.isin(postures.segments.row_individual, chosen)],
        postures.sampling,
        np.concatenate([[0], np.cumsum(n_rows)]),
        tuple(postures.segments.individuals[k] for k in chosen),
    )


def _entries(model: BehaviourModel, states: Symbols, over: str = "animals") -> EntryRate:
    """Count entries into the second macrostate, in windows of five minutes or of a third of shorter recordings."""
    lag = model.chain.lag
    longest = float(np.diff(model.postures.segments.offsets).max()) / model.postures.sampling.rate
    # Whole lags, so that windows are as long in walks, which step by the lag, as in recordings.
    step = max(1, int(min(ENTRY_STEP, longest / 6) / lag + 1e-6)) * lag
    return entry_rate(states, 1, 2 * step, step, shortest=lag, over=over)


def _run_entries(model: BehaviourModel, n_runs: int, seed: int) -> EntryRate:
    """Count entries into the second macrostate in walks of the model of all animals."""
    seconds = float(np.diff(model.postures.segments.offsets).max()) / model.postures.sampling.rate
    walks = simulate_symbols(model.chain, seconds, n_walks=n_runs, rng=generator(seed, "entries"))
    return _entries(model, walks.relabel(model.tree.states_at(MACRO)), "runs")


def agree(animals: Sequence[AnimalCheck]) -> tuple[Agreement, ...]:
    """Average every statistic over the animals that have it.

    Parameters
    ----------
    animals
        Every animal against its own runs.
    """
    rows: dict[tuple[str, str], list[Check]] = {}
    for animal in animals:
        for check in animal.checks:
            rows.setdefault((check.statistic, check.unit), []).append(check)
    found = []
    for (name, unit), checks in rows.items():
        known = [check for check in checks if check.is_known]
        if known:
            data, simulation = _over_animals(known)
            found.append(
                Agreement(
                    name=name,
                    unit=unit,
                    data=data,
                    simulation=simulation,
                    n_agree=sum(check.agrees for check in known),
                    n_animals=len(known),
                )
            )
    return tuple(found)


def _over_animals(checks: Sequence[Check]) -> tuple[Interval, Interval]:
    """Average over animals; a single one keeps its own interval over events, and the range of its runs."""
    if len(checks) == 1:
        one = checks[0]
        return (
            Interval(estimate=one.data, low=one.data_low, high=one.data_high, level=0.95, over="events", n=1),
            Interval(estimate=one.simulation, low=one.low, high=one.high, level=0.95, over="runs", n=one.n_runs),
        )
    return _mean_of([check.data for check in checks]), _mean_of([check.simulation for check in checks])


def _mean_of(values: Sequence[float]) -> Interval:
    """Average over animals. All statistics are positive, but the slope of a short path may come out otherwise."""
    scale: Scale = "positive" if min(values) >= 0 else "signed"
    return interval_of_mean(np.array(values), "animals", scale=scale)


def cross_validate_model(  # noqa: PLR0913 (what is judged, and how)
    model: BehaviourModel,
    n_repeats: int,
    *,
    min_measure: float = 0.02,
    as_published: bool = False,
    seed: int = 0,
    threads: int = 1,
    progress: Progress | None = None,
) -> CrossValidation:
    """Cross-validate in blocks, three of ten held out; the first splits are the same whatever their number.

    Parameters
    ----------
    model
        Model to be validated. Microstates, chain and states are learned again from every training part.
    n_repeats
        Number of splits; 50 as published.
    min_measure
        Least share of time of a state.
    as_published
        Learn states from all data, as published; see `FitSettings`.
    seed, threads, progress
        Random seed of splits and runs; splits worked on at once; called after each.
    """
    postures, fit = (
        _modelled(model, animal_models(model)),
        replace(fit_settings(model, min_measure, seed), as_published=as_published),
    )
    splits = block_splits(postures.segments, n_repeats=n_repeats, rng=generator(seed, "splits"))
    statistics = worm_statistics(fit.steps[1])
    statistics = statistics if model.is_worm else {TRANSITIONS: statistics[TRANSITIONS]}
    statistics |= {CORRELATION: lambda postures, _: autocorrelation(postures, CORRELATION_SECONDS).values[0]}
    return cross_validate(postures, fit, splits, statistics, threads=threads, progress=progress)


def _warnings(
    model: BehaviourModel, agreements: Sequence[Agreement], held_out: HeldOut, drifting: Drift
) -> Iterator[str]:
    """Say plainly what speaks against the model."""
    wrong = [row.name for row in agreements if not row.agrees]
    if wrong:
        yield f"Not reproduced by the model: {', '.join(wrong)}."
    if np.isfinite(drifting.p_value) and drifting.p_value < 0.05:
        yield f"Behaviour is not stationary, as the model takes it to be. {drifting.sentence}"
    unseen = float(held_out.unseen.mean())
    if unseen > RARE_SHARE:
        yield (
            f"{unseen:.0%} of the transitions of held-out {held_out.over} do not occur in the training part: use fewer "
            "microstates or more data."
        )
    gain = held_out.mean_gain()
    if not gain.estimate > 0:
        yield "The model predicts held-out data no better than occupancy alone: use fewer microstates."
    if model.unfolding == "paper":
        yield "Postures are joined as published: seams between sequences add fast movement and reversals."
