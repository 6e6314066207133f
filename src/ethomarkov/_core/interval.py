"""Intervals that say over what they were resampled."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import stats

from ethomarkov._core.random import Rng, as_generator
from ethomarkov._core.types import FloatArray

Statistic = Callable[..., FloatArray | np.floating]


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
    n_resamples: int = 2000,
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
