"""Transition counts, and the states that they connect."""

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from ethomarkov._core.types import IntArray
from ethomarkov.states.symbols import Symbols


def count_transitions(symbols: Symbols, lag_frames: int) -> sparse.csr_array:
    """Count the pairs of microstates `lag_frames` apart, over all gap-free pairs.

    Parameters
    ----------
    symbols
        State sequences of one animal or of many.
    lag_frames
        Frames between the two ends of a transition.

    Notes
    -----
    SI, "Transition matrix estimation": C_ij(τ).

    Examples
    --------
    >>> from ethomarkov._core.sampling import Sampling
    >>> from ethomarkov._core.segments import Segments
    >>> labels = np.array([0, 1, 1, -1, 1, 0])  # -1 is a gap
    >>> segments = Segments.from_valid(labels >= 0)
    >>> symbols = Symbols(labels=labels, n_states=2, segments=segments, sampling=Sampling(1.0))
    >>> count_transitions(symbols, 1).toarray().tolist()
    [[0.0, 1.0], [1.0, 1.0]]
    """
    first, last = symbols.segments.pairs(lag_frames)
    shape = (symbols.n_states, symbols.n_states)
    pairs = (symbols.labels[first], symbols.labels[last])
    counts = sparse.coo_array((np.ones(first.size), pairs), shape=shape).tocsr()
    counts.sum_duplicates()
    return counts


def largest_connected_set(counts: sparse.csr_array) -> IntArray:
    """Find the largest set of states that all reach each other; of sets of equal size, the one with most counts.

    Parameters
    ----------
    counts
        Transition counts, one row per state.

    Examples
    --------
    >>> largest_connected_set(sparse.csr_array(np.array([[1, 1, 0], [1, 0, 0], [0, 1, 1]]))).tolist()
    [0, 1]
    """
    _, component = csgraph.connected_components(counts, directed=True, connection="strong")
    size = np.bincount(component)
    weight = np.bincount(component, np.asarray(counts.sum(axis=1)))
    best = np.lexsort((weight, size))[-1]
    return np.flatnonzero(component == best)
