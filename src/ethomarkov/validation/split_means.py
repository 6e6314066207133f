"""Means of a cross-validation over its splits."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ethomarkov._core.result import Result
from ethomarkov._core.types import FloatArray
from ethomarkov.validation.splits import CrossValidation


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitMeans(Result):
    """Statistics of held-out data and of runs learned from the rest, averaged over splits.

    Parameters
    ----------
    tests
        Means in held-out data, by name of the statistic; one row per animal and one column per number.
    simulated
        Means in runs learned from the rest, by name of the statistic.
    n_splits
        Number of splits.
    """

    tests: Mapping[str, FloatArray]
    simulated: Mapping[str, FloatArray]
    n_splits: int

    @classmethod
    def from_splits(cls, validation: CrossValidation) -> "SplitMeans":
        """Average the statistics that are a few numbers per animal; curves are left out."""
        kept = {name: one for name, one in validation.comparisons.items() if one.test.ndim == 3}
        return cls(
            tests={name: _known_mean(one.test) for name, one in kept.items()},
            simulated={name: _known_mean(np.concatenate(one.simulated.swapaxes(1, 2))) for name, one in kept.items()},
            n_splits=len(next(iter(validation.comparisons.values())).test),
        )


def _known_mean(values: FloatArray) -> FloatArray:
    """Average the first axis over what is known; NaN where nothing is, as rates of states that were never left."""
    known = np.isfinite(values)
    total = np.where(known, values, 0.0).sum(axis=0)
    n = known.sum(axis=0)
    mean: FloatArray = np.divide(total, n, out=np.full(total.shape, np.nan), where=n > 0)
    return mean
