"""Cross-validations in a form that files can hold."""

from dataclasses import dataclass

import numpy as np

from ethomarkov._core.result import array_field, freeze_arrays
from ethomarkov._core.types import FloatArray
from ethomarkov.validation.splits import Comparison, CrossValidation, FitRule
from ethomarkov.workflow.validate import CORRELATION, EVENTS, LEAVING


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptSplits:
    """A cross-validation of a study in a form that files can hold; see `CrossValidation`.

    Parameters
    ----------
    leaving_test, leaving_simulated
        Rates of leaving the macrostates.
    correlation_test, correlation_simulated
        Autocorrelations.
    event_test, event_simulated
        Rates of events; None without a body wave.
    unassigned, fit, individuals
        As there.
    """

    leaving_test: FloatArray = array_field("split", "animal", "state")
    leaving_simulated: FloatArray = array_field("split", "animal", "run", "state")
    correlation_test: FloatArray = array_field("split", "animal", "component", "lag")
    correlation_simulated: FloatArray = array_field("split", "animal", "run", "component", "lag")
    event_test: FloatArray | None = array_field("split", "animal", "event")
    event_simulated: FloatArray | None = array_field("split", "animal", "run", "event")
    unassigned: FloatArray = array_field("split")
    fit: FitRule
    individuals: tuple[str, ...]

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @classmethod
    def from_cross_validation(cls, found: CrossValidation) -> "KeptSplits":
        """Keep what was found; autocorrelations in single precision, because they are many."""
        leaving, curves = found.comparisons[LEAVING], found.comparisons[CORRELATION]
        events = found.comparisons.get(EVENTS)
        return cls(
            leaving_test=leaving.test,
            leaving_simulated=leaving.simulated,
            correlation_test=curves.test.astype(np.float32),
            correlation_simulated=curves.simulated.astype(np.float32),
            event_test=None if events is None else events.test,
            event_simulated=None if events is None else events.simulated,
            unassigned=found.unassigned,
            fit=found.fit,
            individuals=found.individuals,
        )

    def cross_validation(self) -> CrossValidation:
        """Give it back."""
        comparisons = {
            LEAVING: Comparison(test=self.leaving_test, simulated=self.leaving_simulated),
            CORRELATION: Comparison(test=self.correlation_test, simulated=self.correlation_simulated),
        }
        if self.event_test is not None and self.event_simulated is not None:
            comparisons = {EVENTS: Comparison(test=self.event_test, simulated=self.event_simulated)} | comparisons
        return CrossValidation(
            comparisons=comparisons, unassigned=self.unassigned, fit=self.fit, individuals=self.individuals
        )
