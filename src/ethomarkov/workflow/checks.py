"""One animal against runs of its own Markov animal."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from ethomarkov._core.interval import weighted_means
from ethomarkov._core.random import generator
from ethomarkov._core.series import Series
from ethomarkov._core.types import FloatArray, Progress
from ethomarkov.coarse.kinetics import animal_rates, find_dwells, leaving_rate
from ethomarkov.locomotion import Path as AnimalPath
from ethomarkov.locomotion.displacement import Displacement, diffusion, msd
from ethomarkov.locomotion.ensemble import CrawlRule, Measure, crawl, gather, move
from ethomarkov.posture import find_events
from ethomarkov.posture.events import EVENT_KINDS
from ethomarkov.simulation.animal import MarkovAnimal
from ethomarkov.validation.correlation import Autocorrelation, autocorrelation
from ethomarkov.validation.distribution import ModeDensity, default_edges, jensen_shannon, mode_density
from ethomarkov.workflow.paths import body_basis, body_lengths, measured_path
from ethomarkov.workflow.runs import animal_model
from ethomarkov.workflow.states import state_names
from ethomarkov.workflow.study import MACRO, Study

CORRELATION_SECONDS = 10.0
KEPT_RUNS = 200
"""Runs whose curves are kept for figures; numbers rest on all of them."""
FIT_LAGS = np.linspace(60.0, 100.0, 9)
RANGE = (2.5, 97.5)
UNKNOWN = (float("nan"), float("nan"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One statistic of one animal, beside that of its simulated runs.

    Parameters
    ----------
    animal, statistic, unit
        What it is.
    data, data_low, data_high
        Of the animal, with an interval over its own events; NaN where it has none.
    simulation
        Mean over runs of the same duration.
    low, high
        Between which 95 % of the runs lie: where the animal should be if it were one of them.
    n_runs
        How many.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class AnimalCheck:
    """Everything compared for one animal.

    Parameters
    ----------
    name
        Of the animal.
    checks
        One per statistic.
    correlation, run_correlation
        Autocorrelation of the animal's modes, and of some of its runs.
    density, run_density
        The same of the distribution of modes.
    """

    name: str
    checks: tuple[Check, ...]
    correlation: Autocorrelation
    run_correlation: Autocorrelation
    density: ModeDensity
    run_density: ModeDensity


def check_animal(
    study: Study,
    individual: int,
    n_runs: int,
    *,
    seed: int = 0,
    threads: int = 1,
    progress: Progress | None = None,
) -> AnimalCheck:
    """Compare one animal with runs of its own Markov animal, of its own duration.

    Parameters
    ----------
    study, individual
        The animal.
    n_runs
        Simulated runs.
    seed, threads, progress
        Of the runs; cores to use; called after every block of runs.
    """
    model, postures = animal_model(study, individual), study.postures.of(individual)
    # Edges of all animals, so that their histograms can be averaged.
    rule, edges = _rule(study, individual, n_runs), default_edges(study.postures)
    measures: dict[str, Measure] = {
        "correlation": lambda a, _: autocorrelation(a, CORRELATION_SECONDS).values[0],
        "density": lambda a, _: mode_density(a, edges).share[0],
        "numbers": lambda a, path: _numbers(study, a, path),
    }
    runs = _runs(study, model, rule, seed, threads)
    found = gather(runs, measures, threads=threads, n_runs=n_runs, progress=progress).values
    own = _numbers(study, postures, _own_path(study, individual, postures, rule))
    correlation, density = autocorrelation(postures, CORRELATION_SECONDS), mode_density(postures, edges)
    intervals = _number_intervals(study, postures)
    checks = [
        _check((model.name, name, unit), own[k], found["numbers"][:, k], intervals.get(name, UNKNOWN))
        for k, (name, unit) in enumerate(_number_names(study, rule))
    ]
    checks += _kinetic_checks(study, individual, model, rule, seed)
    for name, unit, data, key, distance in (
        ("autocorrelation, distance from the mean run", "rms", correlation.values[0], "correlation", _rms),
        ("distribution, divergence from the mean run", "bit", density.share[0], "density", _divergence),
    ):
        checks.append(_curve_check((model.name, name, unit), data, found[key], distance))
    names = tuple(str(k) for k in range(min(n_runs, KEPT_RUNS)))
    return AnimalCheck(
        name=model.name,
        checks=tuple(checks),
        correlation=correlation,
        run_correlation=Autocorrelation(
            lags=correlation.lags,
            values=found["correlation"][:KEPT_RUNS],
            n_pairs=np.repeat(correlation.n_pairs[:1], len(names), axis=0),
            individuals=names,
            over="runs",
        ),
        density=density,
        run_density=ModeDensity(edges=edges, share=found["density"][:KEPT_RUNS], individuals=names, over="runs"),
    )


def _rule(study: Study, individual: int, n_runs: int) -> CrawlRule:
    """Ask for runs of the animal's own duration and length."""
    path = measured_path(study) if _has_body(study) else None
    length = float(body_lengths(study)[0][individual]) if path is not None else np.nan
    # A body that was measured without its path has a path in body lengths, as one that was not measured.
    in_lengths = path is None or not np.isfinite(length)
    return CrawlRule(
        duration=run_duration(study, int(np.diff(study.postures.segments.offsets)[individual])),
        n_runs=n_runs,
        drag_ratio=study.settings.drag_ratio,
        scheme=study.settings.scheme,
        body_length=1.0 if in_lengths else length,
        length_unit="body lengths" if path is None or in_lengths else path.length_unit,
        method=study.settings.unfolding,
    )


def run_duration(study: Study, n_frames: int) -> float:
    """Seconds of runs as long as a recording: a whole number of lags, two at least."""
    return max(2, round(n_frames / study.postures.sampling.rate / study.chain.lag)) * study.chain.lag


def _has_body(study: Study) -> bool:
    return study.basis is not None and study.basis.features == "angle"


def _runs(
    study: Study, model: MarkovAnimal, rule: CrawlRule, seed: int, threads: int
) -> Iterator[tuple[Series, AnimalPath]]:
    rng = generator(seed, "validation", model.name)
    if _has_body(study):
        return crawl(model, body_basis(study), rule, rng=rng, threads=threads)
    blocks = model.behave(rule.duration, rule.n_runs, method=rule.method, rng=rng, threads=threads)
    return ((postures, _no_path(postures)) for postures in blocks)


def _no_path(postures: Series) -> AnimalPath:
    return AnimalPath.from_points(np.full((len(postures.values), 2), np.nan), postures, "body lengths")


def _own_path(study: Study, individual: int, postures: Series, rule: CrawlRule) -> AnimalPath:
    """Give the animal's measured path, else the one computed from its own postures."""
    measured = measured_path(study)
    if measured is not None and measured.length_unit == rule.length_unit:
        path = measured.of(individual)
        if np.isfinite(path.centroid).any():
            return path
    return move(postures, body_basis(study), rule) if _has_body(study) else _no_path(postures)


def _number_names(study: Study, rule: CrawlRule) -> list[tuple[str, str]]:
    """Name the numbers that this kind of animal has, with their units."""
    names = [(f"standard deviation of a{k + 1}", "") for k in range(_n_modes(study))]
    if study.is_worm:
        names += [(f"{kind}s", "1/min") for kind in EVENT_KINDS]
    if _has_body(study):
        unit = rule.length_unit
        names += [("speed over one second", f"{unit}/s"), ("diffusion coefficient", f"{unit}²/s")]
    return names


def _numbers(study: Study, postures: Series, path: AnimalPath) -> FloatArray:
    """Measure them, in this order."""
    values = [float(np.nanstd(postures.values[:, k])) for k in range(_n_modes(study))]
    if study.is_worm:
        values += find_events(postures).rates()[0].tolist()
    if _has_body(study):
        values += [_mean(path.speed()), _diffusion(path)]
    return np.array(values)


def _n_modes(study: Study) -> int:
    return min(study.postures.n_components, 5)


def _number_intervals(study: Study, postures: Series) -> dict[str, tuple[float, float]]:
    """Limits of event rates, as of Poisson processes with as many events."""
    if not study.is_worm:
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


def _diffusion(path: AnimalPath) -> float:
    """Slope over four between 60 and 100 s; NaN for paths that are too short."""
    is_measured = bool(np.isnan(path.heading).all())
    far: Displacement = msd(path, FIT_LAGS, across_gaps=is_measured)
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


def _kinetic_checks(study: Study, individual: int, model: MarkovAnimal, rule: CrawlRule, seed: int) -> list[Check]:
    """Compare the rates of leaving the macrostates, seen every lag; walks alone tell them."""
    group = study.tree.states_at(MACRO)
    rng = generator(seed, "validation walks", model.name)
    walks = model.walk(rule.duration, rule.n_runs, rng=rng).relabel(group)
    rates = animal_rates(find_dwells(walks))
    own = find_dwells(study.states(MACRO).of(individual), study.chain.lag)
    data = animal_rates(own)[individual]
    names = state_names(study, MACRO)
    checks = []
    for state, name in enumerate(names):
        limits = leaving_rate(own, state, over="events", rng=generator(seed, "rates", model.name, state))
        checks.append(
            _check(
                (model.name, f"rate of leaving {name}", "1/s"), data[state], rates[:, state], (limits.low, limits.high)
            )
        )
    return checks


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
