"""Validation of a model: data against simulation, prediction, and held-out data.

The whole validation of a study is ``study.validation()``; the functions here work on series and state sequences of any
source.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ethomarkov.validation.checks import Check as Check
    from ethomarkov.validation.correlation import Autocorrelation as Autocorrelation
    from ethomarkov.validation.correlation import autocorrelation as autocorrelation
    from ethomarkov.validation.distribution import ModeDensity as ModeDensity
    from ethomarkov.validation.distribution import compare_densities as compare_densities
    from ethomarkov.validation.distribution import default_edges as default_edges
    from ethomarkov.validation.distribution import jensen_shannon as jensen_shannon
    from ethomarkov.validation.distribution import mode_density as mode_density
    from ethomarkov.validation.drifting import Drift as Drift
    from ethomarkov.validation.drifting import EntryRate as EntryRate
    from ethomarkov.validation.drifting import drift as drift
    from ethomarkov.validation.drifting import entry_rate as entry_rate
    from ethomarkov.validation.held_out import Score as Score
    from ethomarkov.validation.held_out import score_transitions as score_transitions
    from ethomarkov.validation.prediction import PredictionError as PredictionError
    from ethomarkov.validation.prediction import PredictionSettings as PredictionSettings
    from ethomarkov.validation.prediction import recorded_error as recorded_error
    from ethomarkov.validation.validate import Agreement as Agreement

_HOMES = {
    "Agreement": "validate",
    "Autocorrelation": "correlation",
    "Check": "checks",
    "Drift": "drifting",
    "EntryRate": "drifting",
    "ModeDensity": "distribution",
    "PredictionError": "prediction",
    "PredictionSettings": "prediction",
    "Score": "held_out",
    "autocorrelation": "correlation",
    "compare_densities": "distribution",
    "default_edges": "distribution",
    "drift": "drifting",
    "entry_rate": "drifting",
    "jensen_shannon": "distribution",
    "mode_density": "distribution",
    "recorded_error": "prediction",
    "score_transitions": "held_out",
}

__all__ = [*_HOMES]  # noqa: PLE0604 (all entries are names)


def __getattr__(name: str) -> Any:  # noqa: ANN401 (PEP 562)
    """Import a name on first use, so that the command line starts at once."""
    if name not in _HOMES:
        raise AttributeError(f"module 'ethomarkov.validation' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"ethomarkov.validation.{_HOMES[name]}"), name)
