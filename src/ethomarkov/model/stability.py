"""Stability of the states of a model over random seeds of the microstates."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.types import FloatArray, Progress
from ethomarkov._core.words import count_of
from ethomarkov.coarse.stability import compare_seeds
from ethomarkov.coarse.tree import GrowthSettings, grow_tree
from ethomarkov.markov import MarkovChain
from ethomarkov.model.behaviour import BehaviourModel
from ethomarkov.states import DelayEmbedding, Partition


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedStability(Result):
    """Overlap of every node of a tree with the most similar node of trees from other partitions.

    Parameters
    ----------
    overlap
        One row per seed, one column per node; see `match_nodes`.
    """

    overlap: FloatArray = array_field("seed", "node")

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def headline(self) -> str:
        """Give the mean overlap of the least stable node."""
        n_seeds, n_nodes = self.overlap.shape
        if not (n_seeds and n_nodes):
            return "no other seeds"
        least = float(self.overlap.mean(axis=0).min())
        return f"{count_of(n_nodes, 'node')} over {count_of(n_seeds, 'seed')}, least mean overlap {least:.2f}"


def stability_over_seeds(
    model: BehaviourModel,
    growth: GrowthSettings,
    seeds: range,
    *,
    partition: Literal["lloyd", "minibatch"] = "lloyd",
    threads: int = 1,
    progress: Progress | None = None,
) -> SeedStability:
    """Compute the overlap of every node of the tree with trees of microstates from other random seeds.

    Parameters
    ----------
    model
        With its tree.
    growth
        Settings of the other trees.
    seeds
        Random seeds of further partitions of the same sequences.
    partition
        Method of partition; see `Partition`.
    threads, progress
        Cores to use; called after every seed.
    """
    sequences = DelayEmbedding(model.n_delays).transform(model.postures)
    rows = []
    for k, seed in enumerate(seeds, 1):
        fitted = Partition(model.microstates.n_states, method=partition, seed=seed, threads=threads).fit(sequences)
        symbols = fitted.label(sequences)
        other = grow_tree(MarkovChain.from_symbols(symbols, model.chain.lag), growth, symbols=symbols)
        rows.append(compare_seeds(model.tree, model.symbols, [(other, symbols)])[0])
        if progress is not None:
            progress("other seeds", k, len(seeds))
    return SeedStability(overlap=np.array(rows).reshape(len(rows), model.tree.n_nodes))
