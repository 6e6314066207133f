"""Confidence intervals of the package, each of which says over what it was taken.

Animals are few, so intervals are not taken from percentiles of resamples, which cover 80 to 90 % instead of 95 % with
six to twenty animals. They come from the jackknife: the statistic is computed again with each unit (animal, block of
time, run) left out, and Student's t with one degree of freedom less than there are units multiplies the standard error,

    SE² = (n − 1) / n · Σᵢ (θ₍ᵢ₎ − mean θ₍ᵢ₎)².

For a mean over units this is the usual standard error of the mean. The limits are symmetric on a scale that suits the
quantity; see `Scale`. Coverage is measured in ``benchmarks/coverage.py``.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import expit, logit

from ethomarkov._core.random import Rng, as_generator
from ethomarkov._core.result import Result
from ethomarkov._core.types import FloatArray, IntArray
from ethomarkov.exceptions import InputFormatError

Statistic = Callable[..., FloatArray | np.floating]
Scale = Literal["positive", "signed", "share"]
"""What a quantity can be, which decides about the shape of its interval.

"positive" (rates, times, counts): estimate · exp(± x) with x = t · SE / estimate; from x = 1 on the upper limit follows
the tangent, e · t · SE, which stays finite where the estimate is small against its error. "signed": estimate ± t · SE.
"share" (between 0 and 1): symmetric in the logit.
"""

LEVEL = 0.95
RANGE = (2.5, 97.5)
"""Percentiles between which 95 % of animals or runs lie."""
N_RESAMPLES = 2000
WEIGHTS_HELD = 1_000_000  # weights of resamples that are held at once
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval(Result):
    """An estimate with a confidence interval.

    Parameters
    ----------
    estimate
        The statistic of the data themselves.
    low, high
        Limits of the interval; NaN where there are fewer than two units, or none of them shows anything.
    level
        Coverage.
    over
        What the units are: "animals", "blocks" of the recording of a single animal, "events", "runs".
    n
        How many of them there were.
    """

    estimate: float
    low: float
    high: float
    level: float
    over: str
    n: int

    def __str__(self) -> str:
        if np.isnan(self.low):
            return f"{self.estimate:.3g}"
        return f"{self.estimate:.3g} ({self.low:.3g}, {self.high:.3g})"


def interval_of_mean(values: FloatArray, over: str, *, scale: Scale = "positive", level: float = LEVEL) -> Interval:
    """Average one value per animal, block or run, with the interval of the mean.

    Parameters
    ----------
    values
        One per unit; NaN units are left out.
    over
        What the units are, in words; kept with the result.
    scale
        See `Scale`.
    level
        Coverage.

    Notes
    -----
    Where all values are zero, or all shares one, nothing tells how far from it the mean may be: the limits are NaN.

    Examples
    --------
    >>> print(interval_of_mean(np.array([1.0, 2.0, 3.0, 2.0]), "animals", scale="signed"))
    2 (0.701, 3.3)
    """
    units = np.asarray(values, dtype=float)
    units = units[np.isfinite(units)]
    mean, low, high = (float(x) for x in mean_and_interval(units, scale=scale, level=level))
    return Interval(estimate=mean, low=low, high=high, level=level, over=over, n=units.size)


def mean_and_interval(
    values: FloatArray, *, scale: Scale = "positive", level: float = LEVEL
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Average the first axis of an array, with the limits of the mean entry by entry; see `interval_of_mean`.

    Returns
    -------
    mean, low, high
        Without the first axis. NaN is left out; the limits are NaN where fewer than two values are known.
    """
    table = np.asarray(values, dtype=float)
    known = np.isfinite(table)
    n = known.sum(axis=0)
    total = np.where(known, table, 0.0).sum(axis=0)
    mean = np.divide(total, n, out=np.full(total.shape, np.nan), where=n > 0)
    left_out = np.divide(total - table, n - 1, out=np.full(table.shape, np.nan), where=known & (n > 1))
    low, high = _limits(mean, left_out, n, scale, level)
    return mean, low, high


def jackknife_interval(
    estimate: float,
    left_out: FloatArray,
    over: str,
    *,
    scale: Scale = "positive",
    exposure: float | None = None,
    level: float = LEVEL,
) -> Interval:
    """Give a statistic of pooled units its interval, from its values with each unit left out.

    Parameters
    ----------
    estimate
        From all units together.
    left_out
        The same without each of the units in turn.
    over
        What the units are, in words; kept with the result.
    scale
        See `Scale`.
    exposure
        Time (or trials) in which events were counted. Where none was seen, the rate has no spread; its lower limit is
        then 0 and its upper one −ln(1 − level) / exposure, three events for 95 %. Both are NaN without the exposure.
    level
        Coverage.

    Notes
    -----
    A statistic that does not exist without one of the units, such as the transition rate out of a state that a single
    animal visited, hangs on that unit: its limits are NaN.

    Examples
    --------
    >>> events, minutes = np.array([3.0, 5.0, 4.0]), np.array([10.0, 12.0, 9.0])
    >>> without = (events.sum() - events) / (minutes.sum() - minutes)
    >>> print(jackknife_interval(12 / 31, without, "animals"))
    0.387 (0.243, 0.616)
    """
    table = np.asarray(left_out, dtype=float)
    low, high = jackknife_limits(np.asarray(estimate), table, scale=scale, exposure=exposure, level=level)
    return Interval(estimate=float(estimate), low=float(low), high=float(high), level=level, over=over, n=len(table))


def jackknife_limits(
    estimate: FloatArray,
    left_out: FloatArray,
    *,
    scale: Scale = "positive",
    exposure: FloatArray | float | None = None,
    level: float = LEVEL,
) -> tuple[FloatArray, FloatArray]:
    """Give the limits of many statistics at once; `left_out` has the units along its first axis."""
    table = np.asarray(left_out, dtype=float)
    n = np.where(np.isfinite(table).all(axis=0), len(table), 0)
    low, high = _limits(np.asarray(estimate, dtype=float), table, n, scale, level)
    if scale == "positive" and exposure is not None and len(table):
        seen = np.broadcast_to(np.asarray(exposure, dtype=float), high.shape)
        bound = np.divide(-np.log1p(-level), seen, out=np.full(high.shape, np.nan), where=seen > 0)
        unseen = (np.asarray(estimate) == 0) & np.isnan(high)
        low, high = np.where(unseen & np.isfinite(bound), 0.0, low), np.where(unseen, bound, high)
    return low, high


def leave_one_out(counts: FloatArray | IntArray) -> FloatArray:
    """Sum the units along the first axis, without each of them in turn."""
    return np.asarray(counts.sum(axis=0) - counts)


def _limits(
    estimate: FloatArray, left_out: FloatArray, n: IntArray, scale: Scale, level: float
) -> tuple[FloatArray, FloatArray]:
    from scipy import stats

    _check_range(estimate, scale)
    with np.errstate(all="ignore"):  # what is not defined is NaN in the end
        t = np.where(n > 1, stats.t.ppf((1 + level) / 2, np.maximum(n - 1, 1)), np.nan)
        reach = t * _standard_error(left_out, n)
        if scale == "signed":
            return estimate - reach, estimate + reach
        if scale == "share":
            return _share_limits(estimate, left_out, n, t)
        return _positive_limits(estimate, reach)


def _check_range(estimate: FloatArray, scale: Scale) -> None:
    if scale not in ("positive", "signed", "share"):
        raise InputFormatError(f"scale={scale!r} is not known; use 'positive', 'signed' or 'share'.")
    most = 1.0 if scale == "share" else np.inf
    wrong = (estimate < -ROUNDING) | (estimate > most + ROUNDING)
    if scale != "signed" and np.any(wrong):
        found = float(np.asarray(estimate)[wrong].flat[0])
        raise InputFormatError(f"{found:g} was to be given the interval of a {scale} quantity; use scale='signed'.")


def _standard_error(left_out: FloatArray, n: IntArray) -> FloatArray:
    """Take the jackknife's standard error; NaN entries are left out, NaN where fewer than two are left."""
    known = ~np.isnan(left_out)
    middle = np.where(known, left_out, 0.0).sum(axis=0) / n
    squares = np.where(known, np.square(left_out - middle), 0.0).sum(axis=0)
    return np.asarray(np.where(n > 1, np.sqrt((n - 1) / n * squares), np.nan))


def _positive_limits(estimate: FloatArray, reach: FloatArray) -> tuple[FloatArray, FloatArray]:
    x = np.where(reach > 0, reach / estimate, 0.0)  # infinite where the estimate is zero
    high = np.where(x <= 1, estimate * np.exp(np.minimum(x, 1.0)), np.e * reach)
    low = np.where(estimate > 0, estimate * np.exp(-x), 0.0)
    # No spread at zero tells nothing: no event was seen in any unit.
    unknown = np.isnan(reach) | np.isnan(estimate) | ((estimate <= 0) & (reach == 0))
    return np.where(unknown, np.nan, low), np.where(unknown, np.nan, high)


def _share_limits(
    estimate: FloatArray, left_out: FloatArray, n: IntArray, t: FloatArray
) -> tuple[FloatArray, FloatArray]:
    middle = np.clip(estimate, 0.0, 1.0)
    error = _standard_error(logit(np.clip(left_out, 0.0, 1.0)), n)
    # A share that is 0 or 1 without one of the units has no logit there: the error is then carried over by the slope.
    error = np.where(np.isfinite(error), error, _standard_error(left_out, n) / (middle * (1 - middle)))
    low, high = expit(logit(middle) - t * error), expit(logit(middle) + t * error)
    known = (n > 1) & (middle > 0) & (middle < 1)
    return np.where(known, low, np.nan), np.where(known, high, np.nan)


# --- resampling, where a published interval is compared or a statistic has no jackknife ------------------------------


def bootstrap_interval(
    sample: FloatArray,
    over: str,
    *,
    statistic: Statistic = np.mean,
    level: float = LEVEL,
    n_resamples: int = N_RESAMPLES,
    rng: Rng = 0,
) -> Interval:
    """Estimate a statistic and its percentile interval by resampling animals, events or runs.

    For statistics that are no smooth function of their units, such as medians, and to compare with published intervals
    that were found in this way. With few units it is too narrow; use `interval_of_mean` for means.

    Parameters
    ----------
    sample
        One value per unit; NaN units are left out.
    over
        What the units are, in words; kept with the result.
    statistic
        Function of the sample and of a keyword `axis`.
    level, n_resamples, rng
        Coverage, number of resamples, seed or generator.
    """
    from scipy import stats

    units = np.asarray(sample, dtype=float)
    units = units[np.isfinite(units)]
    if units.size == 0:
        return Interval(estimate=np.nan, low=np.nan, high=np.nan, level=level, over=over, n=0)
    estimate = float(statistic(units, axis=0))
    if units.size < 2:
        return Interval(estimate=estimate, low=np.nan, high=np.nan, level=level, over=over, n=1)
    found = stats.bootstrap(
        (units,),
        statistic,
        vectorized=True,
        confidence_level=level,
        n_resamples=n_resamples,
        method="percentile",
        rng=as_generator(rng),
    ).confidence_interval
    return Interval(
        estimate=estimate, low=float(found.low), high=float(found.high), level=level, over=over, n=units.size
    )


def mean_band(
    values: FloatArray, level: float = LEVEL, *, scale: Scale = "signed", size: int | None = None, rng: Rng = 0
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Average the first axis of an array, with pointwise limits of the mean.

    Parameters
    ----------
    values
        One entry per animal or run along the first axis; NaN is left out.
    level
        Coverage.
    scale
        Of the interval of the mean; see `Scale`.
    size
        Instead of that interval, give the band in which the means of so many animals or runs would lie, by a bootstrap.
        With the number of recorded animals it is what was published for simulations.
    rng
        Seed or generator of the bootstrap.

    Returns
    -------
    mean, low, high
        Without the first axis; the limits are NaN for a single row.
    """
    if size is None:
        return mean_and_interval(values, scale=scale, level=level)
    table = np.asarray(values, dtype=float).reshape(len(values), -1)
    limits = np.full((3, table.shape[1]), np.nan)
    limits[0] = weighted_means(table, np.ones((1, len(table))))[0]
    enough = np.isfinite(table).sum(axis=0) > 1
    if enough.any():
        draws = resample_weights(len(table), size, rng)
        means = np.concatenate([weighted_means(table[:, enough], weights) for weights in draws])
        limits[1:, enough] = np.nanquantile(means, [(1 - level) / 2, (1 + level) / 2], axis=0)
    mean, low, high = limits.reshape(3, *np.shape(values)[1:])
    return mean, low, high


def draw_units(n_units: int, n_resamples: int, rng: Rng) -> Iterator[IntArray]:
    """Resample units with replacement; give how often each was drawn, resample after resample.

    Nothing is drawn from fewer than two units, because their spread is unknown.
    """
    rng = as_generator(rng)
    for _ in range(n_resamples if n_units > 1 else 0):
        yield np.bincount(rng.integers(n_units, size=n_units), minlength=n_units)


def percentile_interval(estimate: float, draws: FloatArray, over: str, n: int, *, level: float = LEVEL) -> Interval:
    """Set the percentiles of resampled estimates beside the estimate; NaN draws are left out.

    Parameters
    ----------
    estimate
        From all data.
    draws
        The same from resamples; none when there was nothing to resample.
    over, n
        What was resampled, and how many of them there were.
    level
        Coverage.
    """
    draws = np.asarray(draws, dtype=float)
    draws = draws[~np.isnan(draws)]
    tails = [(1 - level) / 2, (1 + level) / 2]
    low, high = np.quantile(draws, tails) if draws.size else (np.nan, np.nan)
    return Interval(estimate=float(estimate), low=float(low), high=float(high), level=level, over=over, n=n)


def resample_weights(n_units: int, size: int | None = None, rng: Rng = 0) -> Iterator[FloatArray]:
    """Draw how often each unit occurs in each of 2000 bootstrap resamples, a few resamples at a time."""
    random, even = as_generator(rng), np.full(n_units, 1 / n_units)
    at_once = max(1, WEIGHTS_HELD // n_units)
    for first in range(0, N_RESAMPLES, at_once):
        yield random.multinomial(size or n_units, even, min(at_once, N_RESAMPLES - first)).astype(float)


def weighted_means(table: FloatArray, weights: FloatArray) -> FloatArray:
    """Average the rows of a table under each row of weights, leaving out what is NaN."""
    known = np.isfinite(table)
    if known.all():
        plain: FloatArray = weights @ table / weights.sum(axis=1, keepdims=True)
        return plain
    total, share = weights @ np.where(known, table, 0.0), weights @ known
    means: FloatArray = np.divide(total, share, out=np.full(total.shape, np.nan), where=share > 0)
    return means


def mean_and_limits(rows: FloatArray) -> FloatArray:
    """Give the mean of every column and the two limits that hold 95 % of it; NaN is left out, and where all is, given.

    Parameters
    ----------
    rows
        Columns may have several axes.
    """
    known = np.isfinite(rows)
    found = np.full((3, *rows.shape[1:]), np.nan)
    whole = known.all(axis=0)
    found[0, whole] = rows[:, whole].mean(axis=0)
    found[1:, whole] = np.percentile(rows[:, whole], RANGE, axis=0)
    broken = known.any(axis=0) & ~whole  # numpy takes a hundred times as long for these
    found[0, broken] = np.nanmean(rows[:, broken], axis=0)
    found[1:, broken] = np.nanpercentile(rows[:, broken], RANGE, axis=0)
    return found
