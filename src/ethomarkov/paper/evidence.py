"""A model of worms, and how an estimate of a published figure gets its interval."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ethomarkov._core.interval import Interval, Scale, interval_of_mean, jackknife_interval
from ethomarkov._core.types import FloatArray
from ethomarkov.model.behaviour import BehaviourModel
from ethomarkov.paper.scoring import Estimate

RUN, PIROUETTE = 0, 1
Estimates = dict[str, Estimate]
"""Our own estimates, by the key of the published figures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A model of recorded or synthetic worms.

    Parameters
    ----------
    model
        Model of the worms.
    seed
        Random seed of intervals.
    worms
        Number of every individual among the paper's twelve; -1 for others. Needed for figures of single worms.
    """

    model: BehaviourModel
    seed: int
    worms: Sequence[int] = ()

    @property
    def n_worms(self) -> int:
        """Number of individuals."""
        return len(self.model.individuals)

    def over_animals(self, values: FloatArray, scale: Scale = "positive") -> Estimate:
        """Average a statistic over animals."""
        return Estimate(interval=interval_of_mean(values, "animals", scale=scale), n_worms=self.n_worms)

    def pooled(self, value: float, left_out: FloatArray, scale: Scale = "positive") -> Estimate:
        """Give a figure of all animals together its interval, from its values without each of them."""
        return Estimate(interval=jackknife_interval(value, left_out, "animals", scale=scale), n_worms=self.n_worms)

    def whole(self, value: float) -> Estimate:
        """Give a figure of all animals together, which has no interval."""
        return Estimate(interval=point(value), n_worms=self.n_worms)


def point(value: float) -> Interval:
    """Give a number without an interval."""
    return Interval(estimate=float(value), low=np.nan, high=np.nan, level=0.95, over="estimate", n=1)
