"""The Markov chain: transition matrix, stationary law, time reversal."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.types import FloatArray, IntArray
from ethomarkov.exceptions import ConnectivityError, SamplingError
from ethomarkov.markov.counts import count_transitions, largest_connected_set
from ethomarkov.markov.stationary import stationary_law
from ethomarkov.states.symbols import Symbols


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkovChain(Result):
    """A chain on the connected microstates.

    Parameters
    ----------
    transition
        P, one row per connected state; rows add up to one.
    stationary
        π, the share of time in each state.
    states
        Which microstates of the partition the rows are.
    n_states
        Microstates of the partition, connected or not.
    lag
        Seconds between a state and the next.
    """

    transition: sparse.csr_array
    stationary: FloatArray = array_field("state")
    states: IntArray = array_field("state")
    n_states: int
    lag: float

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @classmethod
    def from_symbols(cls, symbols: Symbols, lag: float) -> "MarkovChain":
        """Estimate the chain from symbols, `lag` seconds apart.

        Parameters
        ----------
        symbols
            Of one animal or of many.
        lag
            In seconds; a whole number of frames.
        """
        lag_frames = symbols.sampling.frames(lag, "lag")
        counts = count_transitions(symbols, lag_frames)
        if counts.nnz == 0:
            longest = symbols.segments.longest() / symbols.sampling.rate
            raise SamplingError(
                f"lag={lag:g} s leaves no transition: the longest gap-free stretch is {longest:g} s. "
                f"Use a lag below {longest:g} s."
            )
        return cls.from_counts(counts, symbols.sampling.seconds(lag_frames))

    @classmethod
    def from_counts(cls, counts: sparse.csr_array, lag: float) -> "MarkovChain":
        """Normalise counts on their largest connected set."""
        states = largest_connected_set(counts)
        inner = counts[states][:, states]
        leaving = np.asarray(inner.sum(axis=1))
        if states.size == 1 and leaving[0] == 0:
            raise ConnectivityError(
                f"No two of {counts.shape[0]} states reach each other; a chain needs states that are visited again. "
                "Use fewer microstates or more data."
            )
        transition = (sparse.diags_array(1.0 / leaving) @ inner).tocsr()
        return cls(
            transition=transition,
            stationary=stationary_law(transition, leaving),
            states=states,
            n_states=int(counts.shape[0]),
            lag=float(lag),
        )

    @property
    def state_index(self) -> IntArray:
        """Row of the chain for every microstate of the partition, ``-1`` where it is not connected."""
        index = np.full(self.n_states, -1, dtype=np.int64)
        index[self.states] = np.arange(self.states.size)
        return index

    def reversed(self) -> sparse.csr_array:
        """Give the transition matrix of the chain run backwards in time."""
        pi = self.stationary
        return (sparse.diags_array(1.0 / pi) @ self.transition.T @ sparse.diags_array(pi)).tocsr()

    def reversibilized(self) -> "MarkovChain":
        """Average the chain and its time reversal.

        Notes
        -----
        SI, "Metastable states": P_r = (P(τ) + P(−τ)) / 2. Its slow mode tells metastable sets apart; its relaxation
        times are upper bounds.
        """
        return MarkovChain(
            transition=((self.transition + self.reversed()) / 2).tocsr(),
            stationary=self.stationary,
            states=self.states,
            n_states=self.n_states,
            lag=self.lag,
        )
