"""Stability of the states of a tree under other partitions into microstates."""

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from ethomarkov._core.types import FloatArray
from ethomarkov.coarse.tree import StateTree
from ethomarkov.states.symbols import Symbols


def match_nodes(tree: StateTree, other: StateTree, joint: sparse.csr_array) -> FloatArray:
    """Compute the overlap of every node of a tree with its best match in another tree.

    Parameters
    ----------
    tree, other
        Trees on the microstates of two partitions, which may be the same.
    joint
        Share of time in each microstate of the first (rows) and of the second (columns) at once.

    Returns
    -------
    overlap
        Jaccard index: time in both over time in either. 1 for the same set, 0 for disjoint ones.
    """
    mine, theirs = _membership(tree), _membership(other)
    both = mine @ joint @ theirs.T
    in_mine = mine @ np.asarray(joint.sum(axis=1))
    in_theirs = theirs @ np.asarray(joint.sum(axis=0))
    either = in_mine[:, None] + in_theirs[None, :] - both
    return np.asarray((both / np.where(either > 0, either, 1.0)).max(axis=1))


def _membership(tree: StateTree) -> FloatArray:
    return np.array([tree.members(node) for node in range(tree.n_nodes)], dtype=float)


def compare_seeds(tree: StateTree, symbols: Symbols, others: Sequence[tuple[StateTree, Symbols]]) -> FloatArray:
    """Compute the overlap of every node with trees from other random seeds; one row per seed.

    Parameters
    ----------
    tree, symbols
        The tree, and the microstates on which it was grown.
    others
        The same from other partitions of the same frames.
    """
    overlaps = []
    for other, theirs in others:
        both = symbols.segments.valid & theirs.segments.valid
        pairs = (symbols.labels[both], theirs.labels[both])
        shape = (symbols.n_states, theirs.n_states)
        joint = sparse.coo_array((np.full(pairs[0].size, 1 / max(pairs[0].size, 1)), pairs), shape=shape).tocsr()
        overlaps.append(match_nodes(tree, other, joint))
    return np.array(overlaps)
