"""Is the model of a study right? Every animal against runs of its own Markov animal."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from ethomarkov._core.interval import Interval, Scale, interval_of_mean
from ethomarkov._core.parallel import map_tasks
from ethomarkov._core.random import generator
from ethomarkov._core.series import Series
from ethomarkov._core.types import Progress
from ethomarkov.exceptions import EthomarkovError
from ethomarkov.simulation.animal import MarkovAnimal
from ethomarkov.simulation.symbols import simulate_symbols
from ethomarkov.states.symbols import Symbols
from ethomarkov.validation.correlation import autocorrelation
from ethomarkov.validation.drifting import Drift, EntryRate, drift, entry_rate
from ethomarkov.validation.held_out import HeldOut, predict_held_out
from ethomarkov.validation.prediction import PredictionError, PredictionRule, recorded_error, simulated_error
from ethomarkov.validation.splits import (
    CrossValidation,
    FitRule,
    block_splits,
    cross_validate,
    worm_statistics,
)
from ethomarkov.workflow.checks import AnimalCheck, Check, check_animal
from ethomarkov.workflow.runs import animal_model
from ethomarkov.workflow.study import MACRO, Study
from ethomarkov.workflow.summary import study_warnings

RARE_SHARE = 0.25
MOST_WALKS = 200
FEWEST_SAMPLES = 10_000
"""Comparisons of futures in all animals together."""
EVENTS, LEAVING = "event rates", "leaving rates"
CORRELATION, CORRELATION_SECONDS = "autocorrelation", 6.0
ENTRY_STEP = 150.0
"""Seconds from one window of entry rates to the next, half of its five minutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """One statistic over all animals.

    Parameters
    ----------
    name, unit
        Of the statistic.
    data, simulation
        Mean over animals with its interval over animals; of a single animal its own intervals.
    n_agree, n_animals
        Animals that lie within 95 % of their own runs, and animals in which it could be judged.
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
        outside = self.n_animals - self.n_agree
        return bool(stats.binom.sf(outside - 1, self.n_animals, 0.05) > 0.05) if outside else True


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """Answers to the question whether a study's model can be trusted.

    Parameters
    ----------
    animals
        Every animal against its own runs.
    agreements
        The same over all animals, one per statistic.
    recorded_error, simulated_error
        How errors of prediction grow, from data and from the model.
    held_out
        Prediction of animals (or blocks) that were not learned from.
    entries, run_entries, drift
        Rate of entering the second macrostate in sliding windows, of animals and of runs of the model of all, and
        whether that of the animals drifts.
    cross_validation
        In blocks, where it was asked for.
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


def validate_study(
    study: Study,
    *,
    n_runs: int = 200,
    n_repeats: int = 0,
    seed: int = 0,
    threads: int = 1,
    progress: Progress | None = None,
) -> Validation:
    """Compare every animal of a study with runs of its own Markov animal.

    Parameters
    ----------
    study
        To be judged.
    n_runs
        Simulated runs of each animal, of its own duration.
    n_repeats
        Repeats of block cross-validation; none by default, 50 as published.
    seed
        Of all random choices.
    threads, progress
        Cores to use; called now and then.
    """
    models = animal_models(study)
    animals = _check_animals(study, list(models), n_runs, seed, threads, progress)
    predictions = predict_study(
        study, models, n_walks=min(n_runs, MOST_WALKS), seed=seed, threads=threads, progress=progress
    )
    found = {}
    for kind in ("honest", "leaky") if n_repeats else ():
        found[kind] = cross_validate_study(
            study, n_repeats, leaky=kind == "leaky", seed=seed, threads=threads, progress=progress
        )
    return assemble_validation(study, animals, predictions, found)


def _check_animals(
    study: Study, individuals: Sequence[int], n_runs: int, seed: int, threads: int, progress: Progress | None
) -> tuple[AnimalCheck, ...]:
    inside = threads if len(individuals) == 1 else 1
    found = map_tasks(
        lambda k: check_animal(study, k, n_runs, seed=seed, threads=inside),
        individuals,
        threads=threads,
        progress=progress,
        what="animals",
    )
    return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Predictions:
    """What a study's model foretells, and what it takes to be steady.

    Parameters
    ----------
    recorded_error, simulated_error, held_out, entries, run_entries, drift
        See `Validation`.
    """

    recorded_error: PredictionError
    simulated_error: PredictionError
    held_out: HeldOut
    entries: EntryRate
    run_entries: EntryRate
    drift: Drift


def predict_study(
    study: Study,
    models: Mapping[int, MarkovAnimal],
    *,
    n_walks: int = MOST_WALKS,
    seed: int = 0,
    threads: int = 1,
    progress: Progress | None = None,
) -> Predictions:
    """Measure how far ahead a study's model predicts, in what it has learned from and in what it has not.

    Parameters
    ----------
    study
        To be judged.
    models
        Of its animals; see `animal_models`.
    n_walks
        Walks of the model of all animals, in which entries into the second macrostate are counted.
    seed, threads, progress
        Of all random choices; cores to use; called now and then.
    """
    entries = _entries(study, study.states(MACRO))
    rule, postures = prediction_rule(study), _modelled(study, models)
    return Predictions(
        recorded_error=recorded_error(study.postures, study.symbols, rule, rng=generator(seed, "recorded error")),
        simulated_error=simulated_error(
            study.postures,
            study.symbols,
            _every_animal(study, models),
            rule,
            rng=generator(seed, "simulated error"),
        ),
        held_out=predict_held_out(postures, fit_rule(study, seed), threads=threads, progress=progress),
        entries=entries,
        run_entries=_run_entries(study, n_walks, seed),
        drift=drift(entries, rng=generator(seed, "drift")),
    )


def prediction_rule(study: Study) -> PredictionRule:
    """Compare futures as the study unfolds postures; the published way without its smoothing, which hides seams."""
    method, n_animals = study.settings.unfolding, study.symbols.segments.n_individuals
    return PredictionRule(
        method="paper-filled" if method == "paper" else method,
        n_samples=max(PredictionRule().n_samples, FEWEST_SAMPLES // n_animals),
    )


def assemble_validation(
    study: Study,
    animals: Sequence[AnimalCheck],
    predictions: Predictions,
    cross_validation: Mapping[str, CrossValidation],
) -> Validation:
    """Put the parts of a validation together and draw its conclusions.

    Parameters
    ----------
    study
        That is judged.
    animals, predictions, cross_validation
        What was measured.
    """
    agreements = _agreements(animals)
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
        warnings=tuple(_warnings(study, agreements, predictions.held_out, predictions.drift)),
    )


def fit_rule(study: Study, seed: int = 0) -> FitRule:
    """Learn held-out models as the study learned its own."""
    return FitRule(
        n_delays=study.settings.n_delays,
        n_states=study.settings.n_states,
        lag=study.chain.lag,
        simulation_lag=study.simulation_choice.chosen_lag,
        passage=study.simulation_choice.chosen_passage,
        min_measure=study.settings.min_measure,
        method=study.settings.unfolding,
        seed=seed,
    )


def animal_models(study: Study) -> dict[int, MarkovAnimal]:
    """Give the Markov animals of the individuals that have enough data for one, by index."""
    found = {}
    for k in range(study.symbols.segments.n_individuals):
        try:
            found[k] = animal_model(study, k)
        except EthomarkovError:  # too short for the lag, or nothing is visited twice
            continue
    if not found:
        found[0] = animal_model(study, 0)  # raises the reason
    return found


def _every_animal(study: Study, models: Mapping[int, MarkovAnimal]) -> list[MarkovAnimal]:
    """One Markov animal per individual; those without a model of their own take that of all."""
    whole = None if len(models) == study.symbols.segments.n_individuals else animal_model(study)
    return [models.get(k) or whole or models[0] for k in range(study.symbols.segments.n_individuals)]


def _modelled(study: Study, models: Mapping[int, MarkovAnimal]) -> Series:
    """Keep the postures of the individuals that have a model; the others are too short to be held out."""
    postures, chosen = study.postures, list(models)
    n_rows = np.diff(postures.segments.offsets)[chosen]
    return Series.from_rows(
        postures.values[np.isin(postures.segments.row_individual, chosen)],
        postures.sampling,
        np.concatenate([[0], np.cumsum(n_rows)]),
        tuple(postures.segments.individuals[k] for k in chosen),
    )


def _entries(study: Study, states: Symbols, over: str = "animals") -> EntryRate:
    """Count entries into the second macrostate, in windows of five minutes or of a third of shorter recordings."""
    lag = study.chain.lag
    longest = float(np.diff(study.postures.segments.offsets).max()) / study.postures.sampling.rate
    # Whole lags, so that windows are as long in walks, which step by the lag, as in recordings.
    step = max(1, int(min(ENTRY_STEP, longest / 6) / lag + 1e-6)) * lag
    return entry_rate(states, 1, 2 * step, step, shortest=lag, over=over)


def _run_entries(study: Study, n_runs: int, seed: int) -> EntryRate:
    """Count entries into the second macrostate in walks of the model of all animals."""
    seconds = float(np.diff(study.postures.segments.offsets).max()) / study.postures.sampling.rate
    walks = simulate_symbols(study.chain, seconds, n_walks=n_runs, rng=generator(seed, "entries"))
    return _entries(study, walks.relabel(study.tree.states_at(MACRO)), "runs")


def _agreements(animals: Sequence[AnimalCheck]) -> tuple[Agreement, ...]:
    """Average every statistic over the animals that have it."""
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


def cross_validate_study(
    study: Study,
    n_repeats: int,
    *,
    leaky: bool = False,
    seed: int = 0,
    threads: int = 1,
    progress: Progress | None = None,
) -> CrossValidation:
    """Cross-validate in blocks, three of ten held out; the first splits are the same whatever their number.

    Parameters
    ----------
    study
        To be judged. All is learned anew.
    n_repeats
        Splits; 50 as published.
    leaky
        Do as published; see `FitRule`.
    seed, threads, progress
        Of splits and runs; splits worked on at once; called after each.
    """
    postures, fit = _modelled(study, animal_models(study)), replace(fit_rule(study, seed), leaky=leaky)
    splits = block_splits(postures.segments, n_repeats=n_repeats, rng=generator(seed, "splits"))
    statistics = worm_statistics(fit.steps[1])
    statistics = statistics if study.is_worm else {LEAVING: statistics[LEAVING]}
    statistics |= {CORRELATION: lambda postures, _: autocorrelation(postures, CORRELATION_SECONDS).values[0]}
    return cross_validate(postures, fit, splits, statistics, threads=threads, progress=progress)


def _warnings(study: Study, agreements: Sequence[Agreement], held_out: HeldOut, drifting: Drift) -> Iterator[str]:
    """Say plainly what speaks against the model."""
    yield from study_warnings(study)
    wrong = [row.name for row in agreements if not row.agrees]
    if wrong:
        yield f"Not reproduced by the model: {', '.join(wrong)}."
    if np.isfinite(drifting.p_value) and drifting.p_value < 0.05:
        yield f"Behaviour is not stationary, as the model takes it to be. {drifting.sentence}"
    unseen = float(held_out.unseen.mean())
    if unseen > RARE_SHARE:
        yield (
            f"{unseen:.0%} of the transitions of {held_out.over} that were not learned from had never been seen: use "
            "fewer microstates or more data."
        )
    gain = held_out.mean_gain()
    if not gain.estimate > 0:
        yield "The model does not predict what it has not seen better than occupancy alone: use fewer microstates."
    if study.settings.unfolding == "paper":
        yield "Postures are joined as published: seams between sequences add fast movement and reversals."
