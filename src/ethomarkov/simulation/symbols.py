"""Walks on a chain."""

import numpy as np

from ethomarkov._core.random import Rng, as_generator
from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov.exceptions import ConnectivityError
from ethomarkov.markov.chain import MarkovChain
from ethomarkov.states.symbols import Symbols


def simulate_symbols(
    chain: MarkovChain, duration: float, *, n_walks: int = 1, start: int | None = None, rng: Rng = 0
) -> Symbols:
    """Walk on a chain, all walks at once.

    Parameters
    ----------
    chain
        Its lag is the interval between the steps.
    duration
        Seconds of every walk.
    n_walks
        Independent walks, one individual each.
    start
        Microstate of the partition where all walks begin; drawn from the stationary law when None.
    rng
        Seed or generator.
    """
    rng = as_generator(rng)
    if start is not None and not (0 <= start < chain.n_states and chain.state_index[start] >= 0):
        raise ConnectivityError(
            f"start={start} is not one of the {chain.states.size} connected microstates of the chain (of "
            f"{chain.n_states}). Choose one of chain.states, or None for the stationary law."
        )
    n_steps = max(1, round(duration / chain.lag))
    matrix = chain.transition
    # One search serves all rows: row i of the cumulative sums runs from i to i + 1.
    ends = np.cumsum(matrix.data)
    row_start = np.concatenate([[0.0], ends[matrix.indptr[1:] - 1]])
    steps = np.empty((n_steps, n_walks), dtype=np.int32)
    steps[0] = rng.choice(chain.states.size, n_walks, p=chain.stationary) if start is None else chain.state_index[start]
    for step in range(1, n_steps):
        here = steps[step - 1]
        drawn = row_start[here] + rng.random(n_walks) * (row_start[here + 1] - row_start[here])
        found = np.searchsorted(ends, drawn, side="right")
        steps[step] = matrix.indices[np.clip(found, matrix.indptr[here], matrix.indptr[here + 1] - 1)]
    return Symbols(
        labels=chain.states[steps.T.ravel()].astype(np.int32),
        n_states=chain.n_states,
        segments=Segments.from_valid(np.ones(steps.size, dtype=bool), np.arange(n_walks + 1) * n_steps),
        sampling=Sampling(1.0 / chain.lag),
    )
