"""Intervals that say over what they were resampled."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy import stats

from ethomarkov._core.random import Rng, as_generator
from ethomarkov._core.types import FloatArray

Statistic = Callable[..., FloatArray | np.floating]

N_RESAMPLES = 2000
WEIGHTS_HELD = 1_000_000  # weights of resamples that are held at once


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """An estimate with a confidence interval.

    Parameters
    ----------
    estimate
        The statistic of the data themselves.
    low, high
        Limits of the interval; NaN where there are fewer than two units to resample.
    level
        Coverage.
    over
        What was resampled: "animals", "events" or "runs".
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


def bootstrap_interval(
    sample: FloatArray,
    over: str,
    *,
    statistic: Statistic = np.mean,
    level: float = 0.95,
    n_resamples: int = N_RESAMPLES,
    rng: Rng = 0,
) -> Interval:
    """Estimate a statistic and its percentile interval by resampling animals, events or runs.

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
    values: FloatArray, level: float = 0.95, *, size: int | None = None, rng: Rng = 0
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Average the first axis of an array, with the pointwise limits of a bootstrap over it.

    Parameters
    ----------
    values
        One entry per animal or run along the first axis; NaN is left out.
    level
        Coverage.
    size
        Animals or runs drawn for every resample, as many as there are by default. The number of recorded animals gives
        the band in which the mean of as many simulated ones would lie, as published for simulations.
    rng
        Seed or generator.

    Returns
    -------
    mean, low, high
        Without the first axis; the limits are NaN for a single row.
    """
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
