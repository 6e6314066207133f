"""Metastable states: sets of microstates that are rarely left."""

from ethomarkov.coarse.coherence import Cut, best_cut
from ethomarkov.coarse.tree import GrowthSettings, StateTree, grow_tree

__all__ = ["Cut", "GrowthSettings", "StateTree", "best_cut", "grow_tree"]
