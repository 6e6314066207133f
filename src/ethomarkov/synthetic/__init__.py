"""Recordings with known answers: a synthetic worm and classical model systems."""

from ethomarkov.synthetic.systems import double_well, hopping_chain, lorenz, underdamped_well
from ethomarkov.synthetic.worm import SyntheticWorms, WormModel, WormTruth, simulate_worms

__all__ = [
    "SyntheticWorms",
    "WormModel",
    "WormTruth",
    "double_well",
    "hopping_chain",
    "lorenz",
    "simulate_worms",
    "underdamped_well",
]
