"""The Markov chain among microstates and its slow modes."""

from ethomarkov.markov.chain import MarkovChain
from ethomarkov.markov.counts import count_transitions, largest_connected_set
from ethomarkov.markov.entropy import entropy_rate
from ethomarkov.markov.spectrum import Spectrum, slow_spectrum

__all__ = [
    "MarkovChain",
    "Spectrum",
    "count_transitions",
    "entropy_rate",
    "largest_connected_set",
    "slow_spectrum",
]
