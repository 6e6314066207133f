"""Laws of dwell times.

A dwell is observed as a number of samples of its state, one step apart. Its true start lies in the step before the
first sample, and its true end in the step after the last. With the phase u of the start uniform in that step, a dwell
with survival function S(t) = P(T > t) has k samples with probability G(k − 1) − G(k), where
G(j) = ∫₀¹ S((j + u) step) du, and at least k samples with probability G(k − 1), which is the likelihood of a
right-censored dwell. Dwells between two samples are not observed: all is conditional on at least one sample, or on the
shortest duration that is included, by division by G(first − 1). An exponential law becomes a geometric one, and a sum
of exponentials a sum of geometric laws. Dwells with unknown start are left out.
"""

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.optimize import OptimizeWarning, curve_fit, minimize
from scipy.special import log_ndtr

from ethomarkov._core.interval import (
    Interval,
    draw_units,
    jackknife_interval,
    jackknife_limits,
    leave_one_out,
    percentile_interval,
)
from ethomarkov._core.random import Rng, as_generator
from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.types import FloatArray, IntArray
from ethomarkov._core.words import count_of
from ethomarkov.coarse.kinetics import Dwells, Over, units_of_dwells, usual_units
from ethomarkov.exceptions import InputFormatError, SamplingError

KINDS = ("exponential", "stretched", "lognormal", "power", "exponentials-2", "exponentials-3")
N_PHASES = 8
FTOL, GTOL = 1e-12, 1e-8  # nats per dwell; nats per dwell and logarithmic unit of a parameter
LEAST_LOG = -1e4  # log-probability below which a law is simply wrong; keeps the optimisation finite
WIDE = 12.0  # logarithmic units around its start within which a parameter is optimised
PAPER_START = (1.0, 1.0, 1.0, 40.0)
PAPER_START_RESAMPLED = (1.0, 1.0, 1.0, 25.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Law:
    """A family of laws: names of its parameters, log S(t), and the map from free numbers to parameters."""

    names: tuple[str, ...]
    log_survival: Callable[[FloatArray, FloatArray], FloatArray]
    parameters: Callable[[FloatArray, float], FloatArray]
    starts: Callable[[FloatArray, float], list[FloatArray]]


@dataclass(frozen=True, slots=True, kw_only=True)
class LawFit(Result):
    """A law of dwell times, fitted by maximum likelihood.

    Parameters
    ----------
    kind
        One of `KINDS`, or "exponentials-m" for m times.
    names, parameters
        What the parameters are, and their values; times in seconds, the longest first.
    log_likelihood
        Of the dwells it was fitted to, in nats.
    n_ended, n_cut
        Number of dwells with and without an observed end.
    step
        Seconds between two samples of the state sequence.
    shortest
        Seconds; the law is conditional on dwells at least this long.
    """

    kind: str
    names: tuple[str, ...]
    parameters: FloatArray = array_field("parameter")
    log_likelihood: float
    n_ended: int
    n_cut: int
    step: float
    shortest: float

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def survival(self, time: FloatArray) -> FloatArray:
        """Compute the share of dwells that last longer than `time` seconds, short and unobserved ones included."""
        return np.exp(_law(self.kind).log_survival(np.asarray(time, dtype=float), self.parameters))

    def log_likelihood_of(self, dwells: Dwells) -> FloatArray:
        """Compute the log-likelihood of other dwells in nats; they must be long enough and have a known start."""
        return _log_likelihood(_law(self.kind), self.parameters, _samples(dwells), self.step, _first(self))

    def headline(self) -> str:
        """Give the kind of law and its parameters."""
        values = ", ".join(f"{name} {value:.3g}" for name, value in zip(self.names, self.parameters, strict=False))
        return f"{self.kind}: {values}" if values else self.kind


@dataclass(frozen=True, slots=True, kw_only=True)
class LawChoice(Result):
    """Laws of dwell times compared on held-out dwells.

    Parameters
    ----------
    kinds
        The laws.
    nats_per_dwell
        Held-out log-likelihood of each.
    deficit, deficit_low, deficit_high
        Difference of each from the best law in nats per dwell, with its interval over animals.
    winner, runner_up
        The law with the highest held-out log-likelihood, and the second.
    margin
        Difference between the two, in nats per dwell.
    fits
        Each law fitted to all dwells.
    """

    kinds: tuple[str, ...]
    nats_per_dwell: FloatArray = array_field("law", unit="nat")
    deficit: FloatArray = array_field("law", unit="nat")
    deficit_low: FloatArray = array_field("law", unit="nat")
    deficit_high: FloatArray = array_field("law", unit="nat")
    winner: str
    runner_up: str
    margin: Interval
    fits: tuple[LawFit, ...]

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def simplest(self) -> str:
        """The law with fewest parameters among those that the data do not distinguish from the best."""
        equal = [fit for fit, low in zip(self.fits, self.deficit_low, strict=True) if not low > 0]
        return min(equal, key=lambda fit: (_n_free(fit.kind), -fit.log_likelihood)).kind

    def headline(self) -> str:
        """Give the best law and the margin to the second."""
        return f"{self.winner}, ahead of {self.runner_up} by {self.margin.estimate:.3g} nats per dwell"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExponentialSum(Result):
    """A sum of exponentials Σ w e^(−t/τ) fitted to dwell times.

    Parameters
    ----------
    times, times_low, times_high
        τ in seconds, the longest first, with their intervals.
    weights, weights_low, weights_high
        w; they add up to one in fits by maximum likelihood, and are free in the published fit.
    relaxation
        1 / Σ 1/τ: the relaxation time of two states with transition rates 1/τ.
    """

    times: FloatArray = array_field("time_scale", unit="s")
    times_low: FloatArray = array_field("time_scale", unit="s")
    times_high: FloatArray = array_field("time_scale", unit="s")
    weights: FloatArray = array_field("time_scale")
    weights_low: FloatArray = array_field("time_scale")
    weights_high: FloatArray = array_field("time_scale")
    relaxation: Interval

    def __post_init__(self) -> None:
        freeze_arrays(self)


def fit_law(dwells: Dwells, kind: str, *, shortest: float | None = None) -> LawFit:
    """Fit a law to dwell times by maximum likelihood, right-censored dwells included.

    Parameters
    ----------
    dwells
        Of one state or of several; they are pooled.
    kind
        "exponential"; "stretched", S = exp(−(t/τ)^β), a Weibull law; "lognormal"; "power", S = (t/t_min)^(−α) with
        t_min one step; "exponentials-m", a sum of m exponentials with weights that add up to one.
    shortest
        Leave out shorter dwells, in seconds, and fit the law conditional on it. All dwells when None.

    Notes
    -----
    See the docstring of this module for the likelihood of sampled dwells.

    Examples
    --------
    >>> from ethomarkov.coarse.kinetics import find_dwells
    >>> from ethomarkov.synthetic import hopping_chain
    >>> dwells = find_dwells(hopping_chain([[0.9, 0.1], [0.1, 0.9]], 5000))
    >>> fit = fit_law(dwells, "exponential")
    >>> bool(8 < fit.parameters[0] < 11)  # -1 / ln 0.9 = 9.5 s
    True
    """
    fitted, first = _fitted_dwells(dwells, shortest)
    return _fit(fitted, kind, first)


def choose_law(
    dwells: Dwells,
    kinds: Sequence[str] = KINDS,
    *,
    shortest: float | None = None,
    n_folds: int = 5,
    rng: Rng = 0,
) -> LawChoice:
    """Compare laws by how well they predict the dwells of held-out animals.

    Parameters
    ----------
    dwells
        Of one state or of several, pooled. With one animal, held-out dwells of it are predicted instead.
    kinds, shortest
        As in `fit_law`.
    n_folds
        Number of folds held out in turn; at most one per animal.
    rng
        Random seed or generator of the folds.
    """
    if len(kinds) < 2:
        raise InputFormatError(f"{len(kinds)} law was given; at least two are needed to choose between.")
    rng = as_generator(rng)
    dwells, first = _fitted_dwells(dwells, shortest)
    over: Over = "animals" if np.unique(dwells.individual).size > 1 else "events"
    unit = units_of_dwells(dwells, over)
    n_units = int(unit.max()) + 1
    fold = (rng.permutation(n_units) % min(n_folds, n_units))[unit]
    nats = np.array([_held_out(dwells, kind, first, fold) for kind in kinds])
    by_unit = np.array([np.bincount(unit, row, n_units) for row in nats])
    n_dwells = np.bincount(unit, minlength=n_units)
    order = np.argsort(-by_unit.sum(axis=1), kind="stable")
    behind = by_unit[order[0]] - by_unit
    deficit = behind.sum(axis=1) / len(dwells)
    without = leave_one_out(behind.T) / np.maximum(leave_one_out(n_dwells), 1)[:, None]
    low, high = jackknife_limits(deficit, without, scale="signed")
    second = order[1]
    return LawChoice(
        kinds=tuple(kinds),
        nats_per_dwell=by_unit.sum(axis=1) / len(dwells),
        deficit=deficit,
        deficit_low=low,
        deficit_high=high,
        winner=kinds[order[0]],
        runner_up=kinds[second],
        margin=jackknife_interval(float(deficit[second]), without[:, second], over, scale="signed"),
        fits=tuple(_fit(dwells, kind, first) for kind in kinds),
    )


def fit_exponentials(dwells: Dwells, n_times: int = 2, *, shortest: float | None = None) -> ExponentialSum:
    """Fit a sum of exponentials by maximum likelihood, with intervals over animals, or blocks of a single one.

    Parameters
    ----------
    dwells, shortest
        As in `fit_law`.
    n_times
        Number of exponentials.
    """
    dwells, first = _fitted_dwells(dwells, shortest)
    law, steps = _law(f"exponentials-{n_times}"), (dwells.step, first)
    samples, place, n_same = np.unique(_samples(dwells), axis=0, return_inverse=True, return_counts=True)
    whole = _maximise(law, samples, n_same, steps, law.starts(dwells.duration, dwells.step))
    over = usual_units(dwells)
    unit = units_of_dwells(dwells, over)
    n_units = int(unit.max()) + 1
    refitted = [
        # The best numbers of all data are the start without an animal: quick, and each time dwells the same one.
        _maximise(law, samples, np.bincount(place.ravel(), unit != left_out, len(samples)), steps, [whole])
        for left_out in range(n_units if n_units > 1 else 0)
    ]
    parameters = law.parameters(whole, dwells.step)
    without = np.array([law.parameters(free, dwells.step) for free in refitted]).reshape(-1, parameters.size)
    times = jackknife_limits(parameters[:n_times], without[:, :n_times])
    weights = jackknife_limits(parameters[n_times:], without[:, n_times:], scale="share")
    relaxation = jackknife_interval(float(_joint(parameters, n_times)), _joint(without, n_times), over)
    return _exponential_sum(parameters, np.concatenate([times, weights], axis=1), relaxation)


def paper_biexponential(
    dwells: Dwells, *, shortest: float = 0.75, longest: float = 1000.0, n_resamples: int = 1000, rng: Rng = 0
) -> ExponentialSum:
    """Fit a e^(−t/b) + c e^(−t/d) to the distribution of dwells by least squares, exactly as published.

    Every point of the distribution has the same weight, the amplitudes are free, censored dwells count as if they had
    ended, and the two states are pooled. `fit_exponentials` does better on all four.

    Parameters
    ----------
    dwells
        All dwells of both states at the full frame rate, as from ``find_dwells(symbols)``.
    shortest, longest
        Only dwells from `shortest` to `longest` seconds are used.
    n_resamples, rng
        Resamples of animals, 5000 in the published code; random seed or generator.

    Notes
    -----
    Fig. 4(b). The share of dwells longer than t is 1 − k / (n − 1) for the k-th of n sorted ones, averaged over ties.
    """
    # The 1e-9 forgives rounding: 12 frames at 16 Hz are 0.75 s.
    dwells = dwells.select((dwells.duration >= shortest - 1e-9) & (dwells.duration <= longest + 1e-9))
    unit = units_of_dwells(dwells, "animals")
    n_units = int(unit.max(initial=-1)) + 1
    whole = _least_squares(dwells.duration, PAPER_START)
    if np.isnan(whole).any():
        raise SamplingError(
            f"Two exponentials do not fit {len(dwells)} dwells of {shortest:g} to {longest:g} s; more dwells of "
            "several durations are needed. Use more data, or fit_law with one exponential."
        )
    draws = [
        _least_squares(np.repeat(dwells.duration, weights[unit]), PAPER_START_RESAMPLED)
        for weights in draw_units(n_units, n_resamples, rng)
    ]
    # Resampled, as the published intervals are.
    table = np.array(draws).reshape(-1, whole.size)
    relaxation = percentile_interval(float(_joint(whole, 2)), _joint(table, 2), "animals", n_units)
    return _exponential_sum(whole, _quantiles(table), relaxation)


def empirical_survival(durations: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Compute the published share of dwells longer than each duration: 1 − k / (n − 1), averaged over ties."""
    times, place, n_tied = np.unique(durations, return_inverse=True, return_counts=True)
    rank = np.empty(place.size)
    rank[np.argsort(durations, kind="stable")] = np.arange(place.size)
    share = 1 - np.bincount(place, rank, times.size) / n_tied / max(place.size - 1, 1)
    return times, share


def _least_squares(durations: FloatArray, start: tuple[float, ...]) -> FloatArray:
    """Fit τ₁ > τ₂ and their amplitudes; NaN where the fit does not converge, as for a few dwells."""
    times, share = empirical_survival(durations)
    if times.size < len(start):
        return np.full(4, np.nan)
    bounds = ([-np.inf, 1e-6, -np.inf, 1e-6], np.inf)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OptimizeWarning)  # about a covariance that nobody asks for
            fitted = curve_fit(_two_exponentials, times, share, start, bounds=bounds, jac=_slopes)[0]
    except RuntimeError:
        return np.full(4, np.nan)
    a, b, c, d = fitted
    return np.array([d, b, c, a] if d > b else [b, d, a, c])


def _two_exponentials(t: FloatArray, a: float, b: float, c: float, d: float) -> FloatArray:
    return np.asarray(a * np.exp(-t / b) + c * np.exp(-t / d))


def _slopes(t: FloatArray, a: float, b: float, c: float, d: float) -> FloatArray:
    """Give the derivatives of the two exponentials by their parameters."""
    first, second = np.exp(-t / b), np.exp(-t / d)
    return np.stack([first, a * first * t / b**2, second, c * second * t / d**2], axis=1)


def _joint(parameters: FloatArray, n_times: int) -> FloatArray:
    """Compute 1 / Σ 1/τ of times that are listed before their weights."""
    return np.asarray(1 / (1 / parameters[..., :n_times]).sum(axis=-1))


def _exponential_sum(whole: FloatArray, limits: FloatArray, relaxation: Interval) -> ExponentialSum:
    n = whole.size // 2
    low, high = limits
    return ExponentialSum(
        times=whole[:n],
        times_low=low[:n],
        times_high=high[:n],
        weights=whole[n:],
        weights_low=low[n:],
        weights_high=high[n:],
        relaxation=relaxation,
    )


def _quantiles(draws: FloatArray) -> FloatArray:
    columns = [percentile_interval(np.nan, column, "", 0) for column in draws.T]
    return np.array([[column.low for column in columns], [column.high for column in columns]])


def _fitted_dwells(dwells: Dwells, shortest: float | None) -> tuple[Dwells, int]:
    """Select the dwells that a law is fitted to; also give the least number of samples."""
    first = 1 if shortest is None else max(1, math.ceil(shortest / dwells.step - 1e-6))
    begun = dwells.begun
    fitted = begun.select(begun.n_steps >= first)
    n_ended = int((~fitted.ends_cut).sum())
    if n_ended < 2:
        raise SamplingError(
            f"{count_of(n_ended, 'dwell')} of at least {first * dwells.step:g} s with observed start and end; two or "
            "more are needed to fit a law. Use more data, a state that is left more often, or a smaller shortest."
        )
    return fitted, first


def _first(fit: LawFit) -> int:
    return round(fit.shortest / fit.step)


def _fit(dwells: Dwells, kind: str, first: int) -> LawFit:
    law = _law(kind)
    samples, n_same = np.unique(_samples(dwells), axis=0, return_counts=True)
    free = _maximise(law, samples, n_same, (dwells.step, first), law.starts(dwells.duration, dwells.step))
    parameters = law.parameters(free, dwells.step)
    n_cut = int(dwells.ends_cut.sum())
    return LawFit(
        kind=kind,
        names=law.names,
        parameters=parameters,
        log_likelihood=float(_log_likelihood(law, parameters, _samples(dwells), dwells.step, first).sum()),
        n_ended=len(dwells) - n_cut,
        n_cut=n_cut,
        step=dwells.step,
        shortest=first * dwells.step,
    )


def _held_out(dwells: Dwells, kind: str, first: int, fold: IntArray) -> FloatArray:
    nats = np.empty(len(dwells))
    for part in range(int(fold.max()) + 1):
        fit = _fit(dwells.select(fold != part), kind, first)
        nats[fold == part] = fit.log_likelihood_of(dwells.select(fold == part))
    return nats


def _samples(dwells: Dwells) -> IntArray:
    """Pair the number of samples of each dwell with whether its end was censored."""
    return np.stack([dwells.n_steps, dwells.ends_cut], axis=1)


def _maximise(
    law: _Law, samples: IntArray, n_same: FloatArray | IntArray, steps: tuple[float, int], starts: list[FloatArray]
) -> FloatArray:
    """Find the free numbers of greatest likelihood, the best over all starts.

    Parameters
    ----------
    law
        The family.
    samples, n_same
        Distinct rows of `_samples`, and how many dwells have each.
    steps
        Step in seconds, and least number of samples.
    starts
        Starting points of the optimisation.
    """
    step, first = steps
    n_dwells = n_same.sum()

    def loss(free: FloatArray) -> float:
        nats = _log_likelihood(law, law.parameters(free, step), samples, step, first)
        return float(-(n_same @ nats) / n_dwells)

    found = [
        minimize(
            loss,
            start,
            method="L-BFGS-B",
            bounds=[(x - WIDE, x + WIDE) for x in start],
            options={"ftol": FTOL, "gtol": GTOL},
        )
        for start in starts
    ]
    return np.asarray(min(found, key=lambda result: float(result.fun)).x)


@cache
def _phases() -> tuple[FloatArray, FloatArray]:
    """Points and log-weights of the average over the phase of the start."""
    nodes, weights = np.polynomial.legendre.leggauss(N_PHASES)
    root = (nodes + 1) / 2  # Gauss's rule in √u, in which laws that fall steeply at zero are smooth
    return root**2, np.log(weights * root)


def _log_likelihood(law: _Law, parameters: FloatArray, samples: IntArray, step: float, first: int) -> FloatArray:
    phase, log_weight = _phases()

    def log_alive(n_samples: FloatArray) -> FloatArray:
        return law.log_survival((n_samples[:, None] + phase) * step, parameters)

    before, after = log_alive(samples[:, 0] - 1.0), log_alive(samples[:, 0].astype(float))
    with np.errstate(divide="ignore"):
        ends = before + np.log(-np.expm1(np.minimum(after - before, 0.0)))
    nats = _log_sum(np.maximum(np.where(samples[:, 1:] == 1, before, ends), LEAST_LOG) + log_weight)
    condition = _log_sum(log_alive(np.array([first - 1.0])) + log_weight)
    return np.asarray(nats - condition)


def _log_sum(logs: FloatArray) -> FloatArray:
    """Add along the last axis what is given by its finite logarithm."""
    top = logs.max(axis=-1, keepdims=True)
    return np.asarray(top[..., 0] + np.log(np.exp(logs - top).sum(axis=-1)))


def _law(kind: str) -> _Law:
    simple = {"exponential": EXPONENTIAL, "stretched": STRETCHED, "lognormal": LOGNORMAL, "power": POWER}
    if kind in simple:
        return simple[kind]
    head, _, number = kind.partition("-")
    if head == "exponentials" and number.isdigit() and int(number) >= 1:
        return _exponentials(int(number))
    raise InputFormatError(f"The law {kind!r} is not known; use one of {', '.join(KINDS)}.")


def _n_free(kind: str) -> int:
    """Count the free numbers of a law."""
    return len(_law(kind).starts(np.ones(1), 1.0)[0])


def _stretched_log_survival(t: FloatArray, p: FloatArray) -> FloatArray:
    return np.asarray(-((t / p[0]) ** p[1]))


def _lognormal_log_survival(t: FloatArray, p: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.asarray(log_ndtr(-np.log(t / p[0]) / p[1]))


def _log_mean(durations: FloatArray) -> float:
    return float(np.log(durations.mean()))


def _log_middle(durations: FloatArray) -> float:
    return float(np.log(durations).mean())


EXPONENTIAL = _Law(
    names=("time",),
    log_survival=lambda t, p: -t / p[0],
    parameters=lambda free, _: np.exp(free),
    starts=lambda durations, _: [np.array([_log_mean(durations)])],
)
STRETCHED = _Law(
    names=("time", "exponent"),
    log_survival=_stretched_log_survival,
    parameters=lambda free, _: np.exp(np.array([free[0], np.clip(free[1], -4.0, 3.0)])),
    starts=lambda durations, _: [np.array([_log_mean(durations), 0.0])],
)
LOGNORMAL = _Law(
    names=("median", "log_spread"),
    log_survival=_lognormal_log_survival,
    parameters=lambda free, _: np.exp(np.array([free[0], np.clip(free[1], -4.0, 3.0)])),
    starts=lambda durations, _: [np.array([_log_middle(durations), 0.0])],
)
POWER = _Law(
    names=("exponent", "t_min"),
    log_survival=lambda t, p: -p[0] * np.log(np.maximum(t / p[1], 1.0)),
    parameters=lambda free, step: np.array([np.exp(free[0]), step]),
    starts=lambda durations, step: [np.array([-np.log(max(_log_middle(durations) - np.log(step), 0.1))])],
)


@cache
def _exponentials(n_times: int) -> _Law:
    def log_survival(t: FloatArray, p: FloatArray) -> FloatArray:
        parts = np.log(p[n_times:]) - t[..., None] / p[:n_times]
        return _log_sum(parts)

    def parameters(free: FloatArray, _: float) -> FloatArray:
        times, score = np.exp(free[:n_times]), np.append(free[n_times:], 0.0)
        weights = np.exp(score - _log_sum(score))
        order = np.argsort(-times, kind="stable")
        return np.concatenate([times[order], weights[order]])

    def starts(durations: FloatArray, step: float) -> list[FloatArray]:
        mean = float(durations.mean())
        narrow = np.geomspace(3 * mean, mean / 3, n_times)
        wide = np.geomspace(max(float(durations.max()) / 3, mean), min(step, mean / 3), n_times)
        return [np.concatenate([np.log(times), np.zeros(n_times - 1)]) for times in (narrow, wide)]

    names = [f"{what}_{i + 1}" for what in ("time", "weight") for i in range(n_times)]
    return _Law(names=tuple(names), log_survival=log_survival, parameters=parameters, starts=starts)
