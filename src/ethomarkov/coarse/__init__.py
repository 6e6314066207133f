"""Metastable states: sets of microstates that keep their probability."""

from ethomarkov.coarse.coherence import Cut, best_cut
from ethomarkov.coarse.tree import GrowthRule, StateTree, grow_tree

__all__ = ["Cut", "GrowthRule", "StateTree", "best_cut", "grow_tree"]
