"""How well the states of a model are found again with microstates from other seeds."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.types import FloatArray, Progress
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


def stability_over_seeds(
    model: BehaviourModel,
    growth: GrowthSettings,
    seeds: range,
    *,
    partition: Literal["lloyd", "minibatch"] = "lloyd",
    threads: int = 1,
    progress: Progress | None = None,
) -> SeedStability:
    """Measure how well every node of the tree is found again with microstates from other seeds.

    Parameters
    ----------
    model
        Whose tree is looked at.
    growth
        How the other trees grow.
    seeds
        Of further partitions of the same sequences.
    partition
        How microstates are found; see `Partition`.
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
