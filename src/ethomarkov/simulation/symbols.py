"""Simulated state sequences: walks on a chain."""

import itertools

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ethomarkov._core.parallel import map_pieces
from ethomarkov._core.random import Rng, as_generator
from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov._core.types import IntArray
from ethomarkov.exceptions import ConnectivityError, InputFormatError
from ethomarkov.markov.chain import MarkovChain
from ethomarkov.states.symbols import Symbols

N_SLICES = 16


def simulate_symbols(
    chain: MarkovChain,
    duration: float,
    *,
    n_walks: int = 1,
    start: int | IntArray | None = None,
    rng: Rng = 0,
    threads: int = 1,
) -> Symbols:
    """Simulate state sequences by random walks on a chain.

    Parameters
    ----------
    chain
        Its lag is the interval between the steps.
    duration
        Seconds of every walk.
    n_walks
        Independent walks, one individual each. A walk depends on the random seed and its own number alone.
    start
        Microstate of the partition where all walks begin, or one for each walk; drawn from the stationary law when
        None.
    rng
        Random seed or generator.
    threads
        Cores to use; the walks do not depend on it.

    Examples
    --------
    >>> chain = MarkovChain.from_counts(sparse.csr_array(np.array([[90.0, 10], [20, 80]])), lag=0.5)
    >>> walks = simulate_symbols(chain, duration=60.0, n_walks=3, start=0, rng=1)
    >>> walks.labels.shape, walks.labels[::120].tolist(), walks.sampling.rate
    ((360,), [0, 0, 0], 2.0)
    """
    from ethomarkov.simulation.walk_kernels import alias_table, walk

    keys = stream_keys(rng, n_walks)
    n_steps = max(1, round(duration / chain.lag))
    # The stationary law is one more row, from which the first step is drawn.
    matrix = sparse.vstack([chain.transition, sparse.csr_array(chain.stationary[None])], format="csr")
    table = alias_table(matrix.indptr, matrix.indices, matrix.data)
    steps = np.empty((n_walks, n_steps), dtype=np.int32)
    later = steps
    first = np.full(n_walks, chain.states.size)
    if start is not None:
        first = _first_rows(chain, start, n_walks)
        steps[:, 0], later = first, steps[:, 1:]

    def walk_slice(part: slice) -> None:
        walk(matrix.indptr, table, keys[part], first[part], later[part])

    map_pieces(walk_slice, _even_slices(n_walks), threads)
    return _as_symbols(chain, steps)


def stream_keys(rng: Rng, n_walks: int) -> NDArray[np.uint64]:
    """Draw the key of the random stream of each walk; the first keys are the same whatever their number."""
    return as_generator(rng).integers(0, 2**64, n_walks, dtype=np.uint64)


def _even_slices(n: int) -> list[slice]:
    """Divide walks into slices for threads."""
    edges = np.linspace(0, n, min(n, N_SLICES) + 1).astype(int)
    return [slice(a, b) for a, b in itertools.pairwise(edges)]


def _first_rows(chain: MarkovChain, start: int | IntArray, n_walks: int) -> IntArray:
    """Find the rows of the chain where the walks begin."""
    start = np.asarray(start)
    if start.ndim > 1 or start.size not in {1, n_walks}:
        raise InputFormatError(
            f"start has shape {start.shape}; one microstate, or one for each of the {n_walks} walks, is needed."
        )
    known = np.isin(start, chain.states)
    if not known.all():
        raise ConnectivityError(
            f"start={start[~known].flat[0]} is not one of the {chain.states.size} connected microstates of the chain "
            f"(of {chain.n_states}). Choose from chain.states, or None for the stationary law."
        )
    rows: IntArray = np.broadcast_to(chain.state_index[start], n_walks)
    return rows


def _as_symbols(chain: MarkovChain, steps: IntArray) -> Symbols:
    """Name the rows of the chain by microstates of the partition."""
    n_walks, n_steps = steps.shape
    edges = np.arange(n_walks + 1) * n_steps
    return Symbols(
        labels=chain.states.astype(np.int32)[steps.ravel()],
        n_states=chain.n_states,
        segments=Segments(
            bounds=np.stack([edges[:-1], edges[1:], np.arange(n_walks)], axis=1),
            offsets=edges,
            individuals=tuple(str(i) for i in range(n_walks)),
        ),
        sampling=Sampling(1.0 / chain.lag),
    )
