"""Laws of the durations of stays.

A stay is seen as a number of looks at its state, one step apart. Its true start lies somewhere in the step before the
first look, and its true end in the step after the last. With the phase u of the start uniform in that step, a stay of
law S(t) = P(T > t) is seen k times with probability G(k − 1) − G(k), where G(j) = ∫₀¹ S((j + u) step) du, and at least
k times with probability G(k − 1), which is what a stay cut at its end tells. Stays that fall between two looks are
never seen: all is conditional on at least one look, or on at least the shortest duration that is kept, by division by
G(first − 1). An exponential law becomes a geometric one, and a sum of exponentials a sum of geometric laws. Stays with
unknown start are left out.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.optimize import curve_fit, minimize
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
from ethomarkov.coarse.kinetics import Dwells, Over, units_of_dwells, usual_units
from ethomarkov.exceptions import InputFormatError, SamplingError

KINDS = ("exponential", "stretched", "lognormal", "power", "exponentials-2", "exponentials-3")
N_PHASES = 8
FTOL, GTOL = 1e-12, 1e-8  # nats per stay; nats per stay and logarithmic unit of a parameter
LEAST_LOG = -1e4  # log-probability below which a law is simply wrong; keeps the search finite
WIDE = 12.0  # logarithmic units around its start in which a parameter is looked for
PAPER_START = (1.0, 1.0, 1.0, 40.0)
PAPER_START_RESAMPLED = (1.0, 1.0, 1.0, 25.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Law:
    """A family of laws: names of its parameters, log S(t), and how the free numbers of the search become parameters."""

    names: tuple[str, ...]
    log_survival: Callable[[FloatArray, FloatArray], FloatArray]
    parameters: Callable[[FloatArray, float], FloatArray]
    starts: Callable[[FloatArray, float], list[FloatArray]]


@dataclass(frozen=True, slots=True, kw_only=True)
class LawFit(Result):
    """A law fitted to stays by maximum likelihood.

    Parameters
    ----------
    kind
        One of `KINDS`, or "exponentials-m" for m times.
    names, parameters
        What the parameters are, and their values; times in seconds, the longest first.
    log_likelihood
        Of the stays it was fitted to, in nats.
    n_ended, n_cut
        Stays with and without a seen end.
    step
        Seconds between two looks.
    shortest
        Seconds; the law is that of stays seen for at least so long.
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
        """Give the share of stays that truly last longer than `time` seconds, shortest and unseen ones included."""
        return np.exp(_law(self.kind).log_survival(np.asarray(time, dtype=float), self.parameters))

    def log_likelihood_of(self, dwells: Dwells) -> FloatArray:
        """Give the log-likelihood of each of other stays, in nats; they must be long enough and have a known start."""
        return _log_likelihood(_law(self.kind), self.parameters, _looks(dwells), self.step, _first(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class LawChoice(Result):
    """Laws compared on stays that they were not fitted to.

    Parameters
    ----------
    kinds
        The laws.
    nats_per_dwell
        Held-out log-likelihood of each.
    deficit, deficit_low, deficit_high
        By how much each falls short of the winner, in nats per stay, with its interval over animals.
    winner, runner_up
        The law with the most nats per stay, and the second.
    margin
        Between the two.
    fits
        Each law fitted to all stays.
    """

    kinds: tuple[str, ...]
    nats_per_dwell: FloatArray = array_field("law")
    deficit: FloatArray = array_field("law")
    deficit_low: FloatArray = array_field("law")
    deficit_high: FloatArray = array_field("law")
    winner: str
    runner_up: str
    margin: Interval
    fits: tuple[LawFit, ...]

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def simplest(self) -> str:
        """The law of fewest parameters among those that the data do not tell from the winner."""
        equal = [fit for fit, low in zip(self.fits, self.deficit_low, strict=True) if not low > 0]
        return min(equal, key=lambda fit: (_n_free(fit.kind), -fit.log_likelihood)).kind


@dataclass(frozen=True, slots=True, kw_only=True)
class ExponentialSum(Result):
    """Stays described by a sum of exponentials Σ w e^(−t/τ).

    Parameters
    ----------
    times, times_low, times_high
        τ in seconds, the longest first, with their intervals.
    weights, weights_low, weights_high
        w; they add up to one when found by likelihood, and are free in the paper's fit.
    relaxation
        1 / Σ 1/τ: the relaxation time of two states that are left at rates 1/τ.
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
    """Fit a law to the durations of stays by maximum likelihood, those cut at their end included.

    Parameters
    ----------
    dwells
        Of the states that are meant; pooled as they are.
    kind
        "exponential"; "stretched", S = exp(−(t/τ)^β), a Weibull law; "lognormal"; "power", S = (t/t_min)^(−α) with
        t_min one step; "exponentials-m", a sum of m exponentials with weights that add up to one.
    shortest
        Leave out shorter stays, in seconds, and fit the law conditional on it. All stays when None.

    Notes
    -----
    See the head of this module for the likelihood of stays that are seen in steps.
    """
    stays, first = _kept(dwells, shortest)
    return _fit(stays, kind, first)


def choose_law(
    dwells: Dwells,
    kinds: Sequence[str] = KINDS,
    *,
    shortest: float | None = None,
    n_folds: int = 5,
    rng: Rng = 0,
) -> LawChoice:
    """Compare laws by how well they foresee stays of other animals.

    Parameters
    ----------
    dwells
        Of the states that are meant. With one animal, other stays of it are foreseen instead.
    kinds, shortest
        As in `fit_law`.
    n_folds
        Parts held out in turn; at most one per animal.
    rng
        Seed or generator of the parts.
    """
    if len(kinds) < 2:
        raise InputFormatError(f"{len(kinds)} law was given; at least two are needed to choose between.")
    rng = as_generator(rng)
    stays, first = _kept(dwells, shortest)
    over: Over = "animals" if np.unique(stays.individual).size > 1 else "events"
    unit = units_of_dwells(stays, over)
    n_units = int(unit.max()) + 1
    fold = (rng.permutation(n_units) % min(n_folds, n_units))[unit]
    nats = np.array([_held_out(stays, kind, first, fold) for kind in kinds])
    by_unit = np.array([np.bincount(unit, row, n_units) for row in nats])
    n_stays = np.bincount(unit, minlength=n_units)
    order = np.argsort(-by_unit.sum(axis=1), kind="stable")
    behind = by_unit[order[0]] - by_unit
    deficit = behind.sum(axis=1) / len(stays)
    without = leave_one_out(behind.T) / np.maximum(leave_one_out(n_stays), 1)[:, None]
    low, high = jackknife_limits(deficit, without, scale="signed")
    second = order[1]
    return LawChoice(
        kinds=tuple(kinds),
        nats_per_dwell=by_unit.sum(axis=1) / len(stays),
        deficit=deficit,
        deficit_low=low,
        deficit_high=high,
        winner=kinds[order[0]],
        runner_up=kinds[second],
        margin=jackknife_interval(float(deficit[second]), without[:, second], over, scale="signed"),
        fits=tuple(_fit(stays, kind, first) for kind in kinds),
    )


def fit_exponentials(dwells: Dwells, n_times: int = 2, *, shortest: float | None = None) -> ExponentialSum:
    """Fit a sum of exponentials by maximum likelihood, with intervals over animals, or over blocks of a single one.

    Parameters
    ----------
    dwells, shortest
        As in `fit_law`.
    n_times
        Number of exponentials.
    """
    stays, first = _kept(dwells, shortest)
    law, grid = _law(f"exponentials-{n_times}"), (stays.step, first)
    looks, place, n_same = np.unique(_looks(stays), axis=0, return_inverse=True, return_counts=True)
    whole = _search(law, looks, n_same, grid, law.starts(stays.duration, stays.step))
    over = usual_units(stays)
    unit = units_of_dwells(stays, over)
    n_units = int(unit.max()) + 1
    found = [
        # The best numbers of all data are the start without an animal: quick, and each time stays the same one.
        _search(law, looks, np.bincount(place.ravel(), unit != left_out, len(looks)), grid, [whole])
        for left_out in range(n_units if n_units > 1 else 0)
    ]
    parameters = law.parameters(whole, stays.step)
    without = np.array([law.parameters(free, stays.step) for free in found]).reshape(-1, parameters.size)
    times = jackknife_limits(parameters[:n_times], without[:, :n_times])
    weights = jackknife_limits(parameters[n_times:], without[:, n_times:], scale="share")
    relaxation = jackknife_interval(float(_joint(parameters, n_times)), _joint(without, n_times), over)
    return _exponential_sum(parameters, np.concatenate([times, weights], axis=1), relaxation)


def paper_biexponential(
    dwells: Dwells, *, shortest: float = 0.75, longest: float = 1000.0, n_resamples: int = 1000, rng: Rng = 0
) -> ExponentialSum:
    """Fit a e^(−t/b) + c e^(−t/d) to the distribution of stays by least squares, exactly as published.

    Every point of the distribution weighs the same, the amplitudes are free, stays cut by gaps count as if they had
    ended, and the two states are pooled. `fit_exponentials` does better on all four.

    Parameters
    ----------
    dwells
        All stays of both states at the full frame rate, as from ``find_dwells(symbols)``.
    shortest, longest
        Only stays from `shortest` to `longest` seconds enter.
    n_resamples, rng
        Resamples of animals, 5000 in the published code; seed or generator.

    Notes
    -----
    Fig. 4(b). The share of stays longer than t is 1 − k / (n − 1) for the k-th of n sorted stays, averaged over ties.
    """
    # The 1e-9 forgives rounding: 12 frames at 16 Hz are 0.75 s.
    stays = dwells.select((dwells.duration >= shortest - 1e-9) & (dwells.duration <= longest + 1e-9))
    unit = units_of_dwells(stays, "animals")
    n_units = int(unit.max(initial=-1)) + 1
    whole = _least_squares(stays.duration, PAPER_START)
    if np.isnan(whole).any():
        raise SamplingError(
            f"Two exponentials do not fit {len(stays)} stays of {shortest:g} to {longest:g} s; more stays of several "
            "durations are needed. Use more data, or fit_law with one exponential."
        )
    draws = [
        _least_squares(np.repeat(stays.duration, drawn[unit]), PAPER_START_RESAMPLED)
        for drawn in draw_units(n_units, n_resamples, rng)
    ]
    # Resampled, as the published intervals are.
    table = np.array(draws).reshape(-1, whole.size)
    relaxation = percentile_interval(float(_joint(whole, 2)), _joint(table, 2), "animals", n_units)
    return _exponential_sum(whole, _quantiles(table), relaxation)


def empirical_survival(durations: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Give the paper's share of stays longer than each distinct duration: 1 − k / (n − 1), averaged over ties."""
    times, place, n_tied = np.unique(durations, return_inverse=True, return_counts=True)
    rank = np.empty(place.size)
    rank[np.argsort(durations, kind="stable")] = np.arange(place.size)
    share = 1 - np.bincount(place, rank, times.size) / n_tied / max(place.size - 1, 1)
    return times, share


def _least_squares(durations: FloatArray, start: tuple[float, ...]) -> FloatArray:
    """Find τ₁ > τ₂ and their amplitudes; NaN where the search does not end, as for a handful of stays."""
    times, share = empirical_survival(durations)
    if times.size < len(start):
        return np.full(4, np.nan)
    bounds = ([-np.inf, 1e-6, -np.inf, 1e-6], np.inf)
    try:
        a, b, c, d = curve_fit(_two_exponentials, times, share, start, bounds=bounds)[0]
    except RuntimeError:
        return np.full(4, np.nan)
    return np.array([d, b, c, a] if d > b else [b, d, a, c])


def _two_exponentials(t: FloatArray, a: float, b: float, c: float, d: float) -> FloatArray:
    return np.asarray(a * np.exp(-t / b) + c * np.exp(-t / d))


def _joint(parameters: FloatArray, n_times: int) -> FloatArray:
    """Give 1 / Σ 1/τ of times that stand before their weights."""
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


def _kept(dwells: Dwells, shortest: float | None) -> tuple[Dwells, int]:
    """Keep the stays that a law is fitted to; also give the least number of looks."""
    first = 1 if shortest is None else max(1, math.ceil(shortest / dwells.step - 1e-6))
    stays = dwells.begun
    stays = stays.select(stays.n_steps >= first)
    n_ended = int((~stays.ends_cut).sum())
    if n_ended < 2:
        raise SamplingError(
            f"Stays of at least {first * dwells.step:g} s with a seen start and end: {n_ended}; two or more are needed "
            "for a law. Use more data, a state that is left more often, or a smaller shortest."
        )
    return stays, first


def _first(fit: LawFit) -> int:
    return round(fit.shortest / fit.step)


def _fit(stays: Dwells, kind: str, first: int) -> LawFit:
    law = _law(kind)
    looks, n_same = np.unique(_looks(stays), axis=0, return_counts=True)
    free = _search(law, looks, n_same, (stays.step, first), law.starts(stays.duration, stays.step))
    parameters = law.parameters(free, stays.step)
    n_cut = int(stays.ends_cut.sum())
    return LawFit(
        kind=kind,
        names=law.names,
        parameters=parameters,
        log_likelihood=float(_log_likelihood(law, parameters, _looks(stays), stays.step, first).sum()),
        n_ended=len(stays) - n_cut,
        n_cut=n_cut,
        step=stays.step,
        shortest=first * stays.step,
    )


def _held_out(stays: Dwells, kind: str, first: int, fold: IntArray) -> FloatArray:
    nats = np.empty(len(stays))
    for part in range(int(fold.max()) + 1):
        fit = _fit(stays.select(fold != part), kind, first)
        nats[fold == part] = fit.log_likelihood_of(stays.select(fold == part))
    return nats


def _looks(stays: Dwells) -> IntArray:
    """Pair the number of looks of each stay with whether its end was cut."""
    return np.stack([stays.n_steps, stays.ends_cut], axis=1)


def _search(
    law: _Law, looks: IntArray, n_same: FloatArray | IntArray, grid: tuple[float, int], starts: list[FloatArray]
) -> FloatArray:
    """Find the free numbers of greatest likelihood, the best over all starts.

    Parameters
    ----------
    law
        The family.
    looks, n_same
        Distinct rows of `_looks`, and how many stays have each.
    grid
        Step in seconds, and least number of looks.
    starts
        Where to search from.
    """
    step, first = grid
    n_stays = n_same.sum()

    def loss(free: FloatArray) -> float:
        nats = _log_likelihood(law, law.parameters(free, step), looks, step, first)
        return float(-(n_same @ nats) / n_stays)

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


def _log_likelihood(law: _Law, parameters: FloatArray, looks: IntArray, step: float, first: int) -> FloatArray:
    phase, log_weight = _phases()

    def log_alive(n_looks: FloatArray) -> FloatArray:
        return law.log_survival((n_looks[:, None] + phase) * step, parameters)

    before, after = log_alive(looks[:, 0] - 1.0), log_alive(looks[:, 0].astype(float))
    with np.errstate(divide="ignore"):
        ends = before + np.log(-np.expm1(np.minimum(after - before, 0.0)))
    nats = _log_sum(np.maximum(np.where(looks[:, 1:] == 1, before, ends), LEAST_LOG) + log_weight)
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
