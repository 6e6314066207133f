"""Simulated animals: walks on the chain of microstates, and postures along them."""

from ethomarkov.simulation.postures import Repertoire, UnfoldMethod, unfold_blocks, unfold_postures
from ethomarkov.simulation.symbols import simulate_symbols

__all__ = ["Repertoire", "UnfoldMethod", "simulate_symbols", "unfold_blocks", "unfold_postures"]
