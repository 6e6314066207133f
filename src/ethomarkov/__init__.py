"""Predictive Markov models of animal behaviour across scales.

The names below are the ones most studies need; everything else is reached by its sub-package.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ethomarkov.coarse import grow_tree as grow_tree
    from ethomarkov.io import read as read
    from ethomarkov.io import write_recording as write_recording
    from ethomarkov.locomotion import propel as propel
    from ethomarkov.markov import MarkovChain as MarkovChain
    from ethomarkov.markov import slow_spectrum as slow_spectrum
    from ethomarkov.notebook import load as load
    from ethomarkov.notebook import run as run
    from ethomarkov.posture import PostureBasis as PostureBasis
    from ethomarkov.posture import find_events as find_events
    from ethomarkov.recording import Recording as Recording
    from ethomarkov.recording import fill_gaps as fill_gaps
    from ethomarkov.recording import resample as resample
    from ethomarkov.simulation import simulate_symbols as simulate_symbols
    from ethomarkov.simulation import unfold_postures as unfold_postures
    from ethomarkov.states import DelayEmbedding as DelayEmbedding
    from ethomarkov.states import Partition as Partition
    from ethomarkov.study import Settings as Settings
    from ethomarkov.study import Study as Study
    from ethomarkov.study import run_study as run_study
    from ethomarkov.synthetic import simulate_worms as simulate_worms

__version__ = "0.1.0"

_HOMES = {
    "DelayEmbedding": "states",
    "MarkovChain": "markov",
    "Partition": "states",
    "PostureBasis": "posture",
    "Recording": "recording",
    "Settings": "study",
    "Study": "study",
    "fill_gaps": "recording",
    "find_events": "posture",
    "grow_tree": "coarse",
    "load": "notebook",
    "propel": "locomotion",
    "read": "io",
    "resample": "recording",
    "run": "notebook",
    "run_study": "study",
    "simulate_symbols": "simulation",
    "simulate_worms": "synthetic",
    "slow_spectrum": "markov",
    "unfold_postures": "simulation",
    "write_recording": "io",
}

__all__ = [*_HOMES, "__version__"]  # noqa: PLE0604 (all entries are names)


def __getattr__(name: str) -> Any:  # noqa: ANN401 (PEP 562)
    """Import a public name on first use, so that the command line starts at once."""
    if name not in _HOMES:
        raise AttributeError(f"module 'ethomarkov' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"ethomarkov.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
