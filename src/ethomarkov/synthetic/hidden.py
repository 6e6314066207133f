"""Hidden states in continuous time."""

import numpy as np

from ethomarkov._core.sampling import Sampling
from ethomarkov._core.types import BoolArray, FloatArray, IntArray


def null_law(rates: FloatArray) -> FloatArray:
    """Compute the stationary law of rates: the null vector from the left, free of rounding below zero."""
    vector = np.linalg.svd(rates.T)[2][-1]
    law = np.maximum(vector * np.sign(vector.sum()), 0.0)
    return np.asarray(law / law.sum())


def scaled_generator(jumps: FloatArray, occupancy: FloatArray, is_inside: BoolArray, mean_outside: float) -> FloatArray:
    """Compute the rates that have given jump probabilities and occupancies.

    Parameters
    ----------
    jumps
        Probability of the next state; rows add up to one, the diagonal is zero.
    occupancy
        Share of time in each state.
    is_inside
        A set of states; the rates are scaled so that dwells outside it last `mean_outside` seconds on average.
    mean_outside
        Mean dwell time outside the set, in seconds.
    """
    visits = null_law(jumps - np.eye(len(jumps)))
    occupancy = occupancy / occupancy.sum()
    entering = (visits[~is_inside, None] * jumps[np.ix_(~is_inside, is_inside)]).sum()
    hops_per_second = occupancy[~is_inside].sum() / entering / mean_outside
    leaving = hops_per_second * visits / occupancy
    rates: FloatArray = leaving[:, None] * (jumps - np.eye(len(jumps)))
    return rates


def hop(
    rates: FloatArray,
    is_inside: BoolArray,
    n_frames: int,
    sampling: Sampling,
    decline: float,
    rng: np.random.Generator,
) -> IntArray:
    """Simulate a chain in continuous time, and sample it at every frame.

    With a decline, the rates into the set fall linearly in time by that share; they are held constant during a dwell,
    which is short against the recording.
    """
    duration = n_frames / sampling.rate
    off_diagonal = np.where(np.eye(len(rates), dtype=bool), 0.0, rates)
    entering = ~is_inside[:, None] & is_inside[None, :]
    state = int(rng.choice(len(rates), p=null_law(rates)))
    states, ends, now = [], [], 0.0
    while now < duration:
        weights = np.where(entering[state], 1.0 - decline * now / duration, 1.0) * off_diagonal[state]
        now += rng.exponential(1.0 / weights.sum())
        states.append(state)
        ends.append(now)
        state = int(rng.choice(len(rates), p=weights / weights.sum()))
    visited = np.searchsorted(ends, np.arange(n_frames) / sampling.rate, side="right")
    return np.array(states, dtype=np.int32)[visited]
