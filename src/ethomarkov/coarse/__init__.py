"""Metastable states: sets of microstates that keep their probability."""

from ethomarkov.coarse.coherence import Cut, best_cut

__all__ = ["Cut", "best_cut"]
