"""Statistics of one animal beside those of simulated runs of its own model."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ethomarkov._core.interval import weighted_means
from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.series import Series
from ethomarkov._core.showing import frame_of
from ethomarkov._core.types import FloatArray
from ethomarkov.coarse.kinetics import Dwells, animal_rates, find_dwells, transition_rate
from ethomarkov.locomotion import Trajectory
from ethomarkov.locomotion.displacement import Diffusion, diffusion, msd
from ethomarkov.locomotion.ensemble import CrawlSettings, Gathered, move
from ethomarkov.model.behaviour import MACRO, BehaviourModel
from ethomarkov.model.paths import body_lengths, measured_path
from ethomarkov.posture import find_events
from ethomarkov.posture.events import EVENT_KINDS
from ethomarkov.validation.correlation import Autocorrelation, autocorrelation
from ethomarkov.validation.distribution import ModeDensity, default_edges, jensen_shannon, mode_density
from ethomarkov.validation.runs import (
    CORRELATION_SECONDS,
    N_MODES,
    SUMMARY,
    Ensemble,
    Runs,
    deviations,
    displacement_at,
    fit_lags,
    no_path,
    summarise_runs,
)

if TYPE_CHECKING:
    import pandas as pd

CHECKED = ("deviation", "events", "speed", "msd", "correlation", "density")
"""Measures of `run_measures` that a check needs."""
CURVE_RUNS = 200
"""Runs whose curves are kept for figures; numbers rest on all of them."""
RANGE = (2.5, 97.5)
UNKNOWN = (float("nan"), float("nan"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Check(Result):
    """One statistic of one animal, beside that of its simulated runs.

    Parameters
    ----------
    animal
        Name of the animal.
    statistic
        Name of the statistic.
    unit
        Unit of the statistic.
    data
        Value of the animal.
    data_low, data_high
        Limits of the 95 % interval over the animal's own events; NaN where it has none.
    simulation
        Mean over runs of the same duration.
    low, high
        Limits between which 95 % of the runs lie.
    n_runs
        Number of runs.

    Examples
    --------
    >>> check = Check(
    ...     animal="worm 1", statistic="reversals", unit="1/min", data=1.2, data_low=0.9, data_high=1.6,
    ...     simulation=1.4, low=1.0, high=1.9, n_runs=200,
    ... )
    >>> check.agrees
    True
    """

    animal: str
    statistic: str
    unit: str
    data: float
    data_low: float
    data_high: float
    simulation: float
    low: float
    high: float
    n_runs: int

    @property
    def agrees(self) -> bool:
        """Whether the animal lies within 95 % of the runs."""
        return bool(self.low <= self.data <= self.high)

    @property
    def is_known(self) -> bool:
        """Whether both the animal and its runs have the statistic."""
        return bool(np.isfinite([self.data, self.simulation]).all())

    def headline(self) -> str:
        """Give the value of the animal and the range of its runs."""
        value = f"{self.data:.3g} {self.unit}".rstrip()
        return f"{self.statistic} of {self.animal} {value}, 95 % of runs {self.low:.3g} to {self.high:.3g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnimalCheck(Result):
    """All statistics of one animal beside those of its simulated runs.

    Parameters
    ----------
    name
        Name of the animal.
    checks
        Comparison of every statistic.
    correlation
        Autocorrelation of the animal's modes.
    run_correlation
        Autocorrelation of the modes of some of its runs.
    density
        Distribution of the animal's modes.
    run_density
        Distribution of the modes of some of its runs.
    """

    name: str
    checks: tuple[Check, ...]
    correlation: Autocorrelation
    run_correlation: Autocorrelation
    density: ModeDensity
    run_density: ModeDensity

    def headline(self) -> str:
        """Count the statistics in which the animal lies within 95 % of its runs."""
        known = [check for check in self.checks if check.is_known]
        return f"{self.name}, {sum(check.agrees for check in known)} of {len(known)} statistics within 95 % of its runs"

    def table(self) -> "pd.DataFrame":
        """List the statistics of the animal beside those of its runs; `agrees` is empty where one is unknown."""
        return frame_of(asdict(check) | {"agrees": check.agrees if check.is_known else ""} for check in self.checks)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnimalRuns(Result):
    """One animal beside an ensemble of runs of its own model.

    Parameters
    ----------
    check
        The animal against its runs.
    runs
        The runs, summarised; None for animals without a body.
    slope
        Slope of the mean squared displacement of every run between 60 and 100 s, per second; NaN where runs are short.
    event_rates
        Reversals, ventral and dorsal turns per minute as published, mean over runs; NaN without a body wave.
    leaving
        Transition rate out of each macrostate, seen once per passage: one over the mean dwell time in all runs.
    entered
        Entries into the second macrostate per minute.
    """

    check: AnimalCheck
    runs: Runs | None
    slope: FloatArray = array_field("run", unit="length^2/s")
    event_rates: FloatArray = array_field("event", unit="1/min")
    leaving: FloatArray = array_field("state", unit="1/s")
    entered: float

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def headline(self) -> str:
        """Count the statistics in which the animal lies within 95 % of its runs."""
        return self.check.headline()

    def table(self) -> "pd.DataFrame":
        """List the statistics of the animal beside those of its runs."""
        return self.check.table()


def observe_animal(
    model: BehaviourModel,
    individual: int,
    n_runs: int,
    *,
    lengths: FloatArray | None = None,
    seed: int = 0,
    threads: int = 1,
) -> AnimalRuns:
    """Simulate runs of one animal, and compare the animal with them.

    Parameters
    ----------
    model, individual
        Model, and index of the animal.
    n_runs
        Number of simulated runs, as long as the recording.
    lengths
        Body lengths of all animals, as from `body_lengths`, where they are known already.
    seed, threads
        Random seed of the runs; cores to use.
    """
    ensemble = _ensemble(model, individual, n_runs, seed, lengths)
    found = ensemble.gather(tuple(dict.fromkeys((*SUMMARY, *CHECKED))), threads=threads)
    dwells, body = _walked_dwells(ensemble, threads), model.has_body
    return AnimalRuns(
        check=_compare(ensemble, individual, found, dwells),
        runs=summarise_runs(ensemble, found) if body else None,
        slope=_fit(ensemble, found).slope if body else np.full(n_runs, np.nan),
        event_rates=found.values["events"][:, 1].mean(axis=0) if model.is_worm else np.full(len(EVENT_KINDS), np.nan),
        leaving=np.array([1 / dwells.in_state(state).mean for state in range(MACRO)]),
        entered=60 * len(dwells.in_state(MACRO - 1)) / (ensemble.settings.duration * n_runs),
    )


def _ensemble(
    model: BehaviourModel, individual: int, n_runs: int, seed: int, lengths: FloatArray | None = None
) -> Ensemble:
    settings = _crawl_settings(model, individual, n_runs, lengths)
    return Ensemble(model=model, animal=model.animal(individual), settings=settings, seed=seed)


def _walked_dwells(ensemble: Ensemble, threads: int) -> Dwells:
    """List the dwells in macrostates of the walks behind the runs, seen once per passage."""
    return find_dwells(ensemble.walks(threads).relabel(ensemble.model.tree.states_at(MACRO)))


def _compare(ensemble: Ensemble, individual: int, gathered: Gathered, dwells: Dwells) -> AnimalCheck:
    """Compare all statistics of an animal with those of its runs."""
    model, settings, name = ensemble.model, ensemble.settings, ensemble.animal.name
    postures, values = model.postures.cut(individual), gathered.values
    own = _numbers(model, postures, _own_path(model, individual, postures, settings))
    runs = _run_numbers(ensemble, gathered)
    intervals = _number_intervals(model, postures)
    checks = [
        _check((name, what, unit), own[k], runs[:, k], intervals.get(what, UNKNOWN))
        for k, (what, unit) in enumerate(_number_names(model, settings))
    ]
    checks += _kinetic_checks(ensemble, individual, dwells)
    edges = default_edges(model.postures)
    correlation, density = autocorrelation(postures, CORRELATION_SECONDS), mode_density(postures, edges)
    for what, unit, data, key, distance in (
        ("autocorrelation, distance from the mean run", "rms", correlation.values[0], "correlation", _rms),
        ("distribution, divergence from the mean run", "bit", density.share[0], "density", _divergence),
    ):
        checks.append(_curve_check((name, what, unit), data, values[key], distance))
    kept = tuple(str(k) for k in range(min(settings.n_runs, CURVE_RUNS)))
    return AnimalCheck(
        name=name,
        checks=tuple(checks),
        correlation=correlation,
        run_correlation=Autocorrelation(
            lags=correlation.lags,
            values=values["correlation"][:CURVE_RUNS],
            n_pairs=np.repeat(correlation.n_pairs[:1], len(kept), axis=0),
            individuals=kept,
            over="runs",
        ),
        density=density,
        run_density=ModeDensity(edges=edges, share=values["density"][:CURVE_RUNS], individuals=kept, over="runs"),
    )


def _crawl_settings(
    model: BehaviourModel, individual: int, n_runs: int, lengths: FloatArray | None = None
) -> CrawlSettings:
    """Choose settings of runs of the animal's own duration and length."""
    path = measured_path(model) if model.has_body else None
    if path is not None and lengths is None:
        lengths = body_lengths(model)[0]
    length = float(lengths[individual]) if path is not None and lengths is not None else np.nan
    # A body that was measured without its path has a path in body lengths, as one that was not measured.
    in_lengths = path is None or not np.isfinite(length)
    return CrawlSettings(
        duration=run_duration(model, int(np.diff(model.postures.segments.offsets)[individual])),
        n_runs=n_runs,
        drag_ratio=model.drag_ratio,
        scheme=model.scheme,
        body_length=1.0 if in_lengths else length,
        length_unit="body lengths" if path is None or in_lengths else path.length_unit,
        method=model.unfolding,
    )


def run_duration(model: BehaviourModel, n_frames: int) -> float:
    """Round the duration of a recording to whole simulated steps, in seconds."""
    return model.whole_steps(n_frames / model.postures.sampling.rate)


def _own_path(model: BehaviourModel, individual: int, postures: Series, settings: CrawlSettings) -> Trajectory:
    """Give the animal's measured path, else the one computed from its own postures."""
    measured = measured_path(model)
    if measured is not None and measured.length_unit == settings.length_unit:
        path = measured.cut(individual)
        if np.isfinite(path.centroid).any():
            return path
    return move(postures, model.body_basis(), settings) if model.has_body else no_path(postures)


def _number_names(model: BehaviourModel, settings: CrawlSettings) -> list[tuple[str, str]]:
    """Name the statistics that this kind of animal has, with their units."""
    names = [(f"standard deviation of a{k + 1}", "") for k in range(min(model.postures.n_components, N_MODES))]
    if model.is_worm:
        names += [(f"{kind}s", "1/min") for kind in EVENT_KINDS]
    if model.has_body:
        unit = settings.length_unit
        names += [("speed over one second", f"{unit}/s"), ("diffusion coefficient", f"{unit}²/s")]
    return names


def _numbers(model: BehaviourModel, postures: Series, path: Trajectory) -> FloatArray:
    """Measure the statistics of `_number_names`, in this order."""
    values = deviations(postures).tolist()
    if model.is_worm:
        values += find_events(postures).rates()[0].tolist()
    if model.has_body:
        values += [_mean(path.speed()), _diffusion(path)]
    return np.array(values)


def _run_numbers(ensemble: Ensemble, gathered: Gathered) -> FloatArray:
    """Collect the same statistics of all runs."""
    values = gathered.values
    columns = [values["deviation"]]
    if ensemble.model.is_worm:
        columns.append(values["events"][:, 0])
    if ensemble.model.has_body:
        columns += [values["speed"][:, None], _fit(ensemble, gathered).coefficient[:, None]]
    return np.concatenate(columns, axis=1)


def _fit(ensemble: Ensemble, gathered: Gathered) -> Diffusion:
    """Fit the diffusion of runs between 60 and 100 s; NaN for runs that are too short."""
    return diffusion(displacement_at(fit_lags(gathered.path.sampling.rate), gathered, ensemble.settings))


def _number_intervals(model: BehaviourModel, postures: Series) -> dict[str, tuple[float, float]]:
    """Limits of event rates, as of Poisson processes with as many events."""
    from scipy import stats

    if not model.is_worm:
        return {}
    events = find_events(postures)
    minutes = float(events.observed[0]) / 60
    limits = {}
    for kind, count in zip(EVENT_KINDS, events.counts()[0].tolist(), strict=True):
        low = float(stats.chi2.ppf(0.025, 2 * count)) / 2 if count else 0.0
        limits[f"{kind}s"] = (low / minutes, float(stats.chi2.ppf(0.975, 2 * count + 2)) / 2 / minutes)
    return limits


def _mean(values: FloatArray) -> float:
    return float(np.nanmean(values)) if np.isfinite(values).any() else float("nan")


def _diffusion(path: Trajectory) -> float:
    """Slope over four between 60 and 100 s; NaN for paths that are too short."""
    is_measured = bool(np.isnan(path.heading).all())
    far = msd(path, fit_lags(path.sampling.rate), across_gaps=is_measured)
    return float(diffusion(far).coefficient[0])


def _check(what: tuple[str, str, str], data: float, runs: FloatArray, interval: tuple[float, float] = UNKNOWN) -> Check:
    """Set a number of the animal beside those of its runs."""
    known = runs[np.isfinite(runs)]
    low, high = np.percentile(known, RANGE) if known.size else (np.nan, np.nan)
    return Check(
        animal=what[0],
        statistic=what[1],
        unit=what[2],
        data=float(data),
        data_low=float(interval[0]),
        data_high=float(interval[1]),
        simulation=float(known.mean()) if known.size else float("nan"),
        low=float(low),
        high=float(high),
        n_runs=int(known.size),
    )


def _kinetic_checks(ensemble: Ensemble, individual: int, dwells: Dwells) -> Iterator[Check]:
    """Compare the transition rates out of the macrostates, seen once per passage; walks alone give them."""
    model, name = ensemble.model, ensemble.animal.name
    rates = animal_rates(dwells)
    own = find_dwells(model.states(MACRO).mask(individual), model.steps[1])
    data = animal_rates(own)[individual]
    for state, what in enumerate(model.names(MACRO)):
        limits = transition_rate(own, state, over="events")
        about = (name, f"transition rate out of {what}", "1/s")
        yield _check(about, data[state], rates[:, state], (limits.low, limits.high))


def _curve_check(
    what: tuple[str, str, str],
    data: FloatArray,
    runs: FloatArray,
    distance: Callable[[FloatArray, FloatArray], float],
) -> Check:
    """Ask whether the animal's curve is as near to the mean run as runs are; low values are always fine."""
    mean = weighted_means(runs.reshape(len(runs), -1), np.ones((1, len(runs)))).reshape(runs.shape[1:])
    check = _check(what, distance(data, mean), np.array([distance(run, mean) for run in runs]))
    return replace(check, low=0.0)


def _rms(one: FloatArray, other: FloatArray) -> float:
    return float(np.sqrt(_mean(np.square(one - other))))


def _divergence(one: FloatArray, other: FloatArray) -> float:
    return float(np.mean(jensen_shannon(one, other)))
