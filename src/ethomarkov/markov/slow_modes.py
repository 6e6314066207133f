"""Slow modes of the reversibilised chain in every frame, and the chains of single animals."""

from dataclasses import dataclass

import numpy as np

from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.types import FloatArray
from ethomarkov.exceptions import EthomarkovError
from ethomarkov.markov.chain import MarkovChain
from ethomarkov.markov.spectrum import modes_on_frames, relaxation_time, reversible_modes
from ethomarkov.states.symbols import Symbols


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowModes(Result):
    """Eigenfunctions of the reversibilised chain, the slowest (φ₂) first.

    Parameters
    ----------
    values
        In every frame; NaN where there is no microstate of the chain.
    relaxation_times
        Of each mode.
    """

    values: FloatArray = array_field("frame", "mode")
    relaxation_times: FloatArray = array_field("mode", unit="s")

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @classmethod
    def from_chain(cls, symbols: Symbols, chain: MarkovChain, n_modes: int) -> "SlowModes":
        """Compute the slowest modes of a chain, at most `n_modes`, in every frame."""
        values, modes = reversible_modes(chain, min(n_modes, chain.states.size - 1))
        times = np.array([relaxation_time(float(value), chain.lag) for value in values])
        return cls(values=modes_on_frames(symbols, chain, modes), relaxation_times=times)


def animal_chains(symbols: Symbols, lag: float) -> tuple[MarkovChain, ...]:
    """Estimate the chain of every animal that has enough data for one."""
    chains = []
    for individual in range(symbols.segments.n_individuals):
        try:
            chains.append(MarkovChain.from_symbols(symbols.mask(individual), lag))
        except EthomarkovError:  # an animal too short for the lag
            continue
    return tuple(chains)
