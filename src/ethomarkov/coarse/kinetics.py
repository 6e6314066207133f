"""How long stays last."""

import numpy as np

from ethomarkov._core.types import FloatArray, IntArray
from ethomarkov.states.symbols import Symbols


def dwell_times(symbols: Symbols) -> tuple[IntArray, FloatArray]:
    """List the complete stays, those that neither begin nor end at a gap.

    Returns
    -------
    state
        Of each stay.
    duration
        In seconds.
    """
    states: list[IntArray] = []
    durations: list[IntArray] = []
    for start, stop, _ in symbols.segments:
        labels = symbols.labels[start:stop]
        edges = np.flatnonzero(np.diff(labels)) + 1
        states.append(labels[edges[:-1]])
        durations.append(np.diff(edges))
    if not states:
        return np.empty(0, dtype=np.int32), np.empty(0)
    return np.concatenate(states), np.concatenate(durations) / symbols.sampling.rate
