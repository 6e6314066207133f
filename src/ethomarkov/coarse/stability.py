"""How well the states of a tree are found again from other animals, blocks or seeds."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import sparse

from ethomarkov._core.parallel import map_tasks
from ethomarkov._core.random import generator
from ethomarkov._core.types import FloatArray, Progress
from ethomarkov.coarse.passage import count_by_unit, resampled_units
from ethomarkov.coarse.tree import GrowthRule, StateTree, grow_tree
from ethomarkov.exceptions import EthomarkovError
from ethomarkov.markov.chain import MarkovChain
from ethomarkov.states.symbols import Symbols


def match_nodes(tree: StateTree, other: StateTree, joint: sparse.csr_array) -> FloatArray:
    """Overlap of every node of a tree with its best match in another one.

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


def resample_tree(
    tree: StateTree,
    symbols: Symbols,
    growth: GrowthRule,
    *,
    n_resamples: int = 20,
    threads: int = 1,
    progress: Progress | None = None,
) -> StateTree:
    """Measure how well every node is found again when animals are drawn anew.

    A recording of a single animal is cut into blocks, which are drawn instead.

    Parameters
    ----------
    tree
        Grown from these symbols.
    symbols
        Microstates in time.
    growth
        With which the tree was grown; divisions of resamples are not tested against shuffles.
    n_resamples
        Drawings with replacement.
    threads, progress
        See `map_tasks`.

    Returns
    -------
    tree
        The same, with `stability`.
    """
    units = count_by_unit(symbols, tree.lag, *resampled_units(symbols)[:2])
    quick = replace(growth, n_shuffles=0, n_states=max(tree.levels))

    def recover(rng: np.random.Generator) -> FloatArray:
        drawn = rng.integers(len(units), size=len(units))
        counts = sum((units[k] for k in drawn[1:]), units[drawn[0]])
        try:
            chain = MarkovChain.from_counts(counts.tocsr(), tree.lag)
            grown = grow_tree(chain, quick)
        except EthomarkovError:  # what cannot be grown is not found again
            return np.zeros(tree.n_nodes)
        return match_nodes(tree, grown, _time_in_both(chain, tree))

    tasks = [generator(growth.seed, "resampled tree", k) for k in range(n_resamples)]
    found = map_tasks(recover, tasks, threads=threads, progress=progress, what="stability")
    return replace(tree, stability=np.mean(found, axis=0))


def _time_in_both(chain: MarkovChain, tree: StateTree) -> sparse.csr_array:
    """Weigh microstates by the time spent there, as far as both trees know them."""
    law = np.zeros(chain.n_states)
    law[chain.states] = chain.stationary
    return sparse.diags_array(np.where(tree.node_of >= 0, law, 0.0)).tocsr()


def compare_seeds(tree: StateTree, symbols: Symbols, others: Sequence[tuple[StateTree, Symbols]]) -> FloatArray:
    """Measure how well every node is found again with microstates from other seeds; rows are seeds.

    Parameters
    ----------
    tree, symbols
        The tree, and the microstates on which it was grown.
    others
        The same from other partitions of the same frames.
    """
    found = []
    for other, theirs in others:
        both = symbols.segments.valid & theirs.segments.valid
        pairs = (symbols.labels[both], theirs.labels[both])
        shape = (symbols.n_states, theirs.n_states)
        joint = sparse.coo_array((np.full(pairs[0].size, 1 / max(pairs[0].size, 1)), pairs), shape=shape).tocsr()
        found.append(match_nodes(tree, other, joint))
    return np.array(found)
