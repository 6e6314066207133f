"""Autocorrelations of held-out data, reduced to means and ranges."""

from dataclasses import dataclass

import numpy as np

from ethomarkov._core.interval import mean_and_limits
from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.types import FloatArray
from ethomarkov.exceptions import InputFormatError
from ethomarkov.validation.splits import CrossValidation

CORRELATION, CORRELATION_SECONDS = "autocorrelation", 6.0
"""Name of the statistic of cross-validation, and its longest lag."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOutCorrelation(Result):
    """Autocorrelation of the modes in held-out data, beside that of runs learned from the rest.

    Parameters
    ----------
    lags
        Lags in seconds, from zero on.
    test
        Autocorrelation of held-out data: mean over splits, and the two limits that hold 95 % of them.
    simulated
        Autocorrelation of runs: mean over the runs of all splits, and the two limits that hold 95 % of them.
    n_splits
        Number of splits.
    n_runs
        Number of runs of all splits together.
    individuals
        Names of the animals.
    """

    lags: FloatArray = array_field("lag", unit="s")
    test: FloatArray = array_field("animal", "limit", "component", "lag")
    simulated: FloatArray = array_field("animal", "limit", "component", "lag")
    n_splits: int
    n_runs: int
    individuals: tuple[str, ...]

    def __post_init__(self) -> None:
        freeze_arrays(self)


def summarise_correlation(validation: CrossValidation) -> HeldOutCorrelation:
    """Reduce the autocorrelations of a cross-validation to means and ranges, animal by animal."""
    comparison = validation.comparisons[CORRELATION]
    if comparison.test.ndim != 4:
        raise InputFormatError(
            f"The statistic has shape {comparison.test.shape[2:]}; one row per mode and one column per lag are needed."
        )
    n_splits, n_animals, n_modes, n_lags = comparison.test.shape
    runs = comparison.simulated.swapaxes(1, 2).reshape(-1, n_animals, n_modes, n_lags)
    return HeldOutCorrelation(
        lags=np.linspace(0, CORRELATION_SECONDS, n_lags),
        test=mean_and_limits(comparison.test).swapaxes(0, 1).astype(np.float32),
        simulated=mean_and_limits(runs).swapaxes(0, 1).astype(np.float32),
        n_splits=n_splits,
        n_runs=len(runs),
        individuals=validation.individuals,
    )
