"""The Markov animal: hop among microstates, unfold their postures."""

from ethomarkov.simulation.postures import unfold_postures
from ethomarkov.simulation.symbols import simulate_symbols

__all__ = ["simulate_symbols", "unfold_postures"]
