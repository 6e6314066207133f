"""How long stays last."""

import numpy as np

from ethomarkov._core.types import FloatArray, IntArray
from ethomarkov.states.symbols import Symbols


def dwell_times(symbols: Symbols, step: float | None = None) -> tuple[IntArray, FloatArray]:
    """List the complete stays, those that neither begin nor end at a gap.

    Parameters
    ----------
    symbols
        States in time.
    step
        Look at the states only every so many seconds, as the chain does: stays at the border between two states are
        not cut by a flicker of single frames. Every frame when None.

    Returns
    -------
    state
        Of each stay.
    duration
        In seconds.
    """
    states: list[IntArray] = []
    durations: list[IntArray] = []
    stride = 1 if step is None else symbols.sampling.frames(step)
    for start, stop, _ in symbols.segments:
        labels = symbols.labels[start:stop:stride]
        edges = np.flatnonzero(np.diff(labels)) + 1
        states.append(labels[edges[:-1]])
        durations.append(np.diff(edges))
    if not states:
        return np.empty(0, dtype=np.int32), np.empty(0)
    return np.concatenate(states), np.concatenate(durations) * stride / symbols.sampling.rate
