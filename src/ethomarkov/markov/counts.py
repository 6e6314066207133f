"""Transition counts, and the states that they connect."""

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from ethomarkov._core.types import IntArray
from ethomarkov.states.symbols import Symbols


def count_transitions(symbols: Symbols, lag_frames: int) -> sparse.csr_array:
    """Count the pairs of microstates `lag_frames` apart, over all gap-free pairs.

    Notes
    -----
    SI, "Transition matrix estimation": C_ij(τ).
    """
    first, last = symbols.segments.pairs(lag_frames)
    shape = (symbols.n_states, symbols.n_states)
    pairs = (symbols.labels[first], symbols.labels[last])
    counts = sparse.coo_array((np.ones(first.size), pairs), shape=shape).tocsr()
    counts.sum_duplicates()
    return counts


def largest_connected_set(counts: sparse.csr_array) -> IntArray:
    """Find the largest set of states that all reach each other, by most counts among sets of equal size."""
    _, component = csgraph.connected_components(counts, directed=True, connection="strong")
    size = np.bincount(component)
    weight = np.bincount(component, np.asarray(counts.sum(axis=1)))
    best = np.lexsort((weight, size))[-1]
    return np.flatnonzero(component == best)
