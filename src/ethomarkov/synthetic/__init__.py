"""Recordings with known answers: a synthetic worm and classical model systems."""

from ethomarkov.synthetic.labelled import SYSTEMS, LabelledSeries, make_system
from ethomarkov.synthetic.systems import double_well, hopping_chain, lorenz, underdamped_well
from ethomarkov.synthetic.worm import SyntheticWorms, WormModel, WormTruth, simulate_worms

__all__ = [
    "SYSTEMS",
    "LabelledSeries",
    "SyntheticWorms",
    "WormModel",
    "WormTruth",
    "double_well",
    "hopping_chain",
    "lorenz",
    "make_system",
    "simulate_worms",
    "underdamped_well",
]
