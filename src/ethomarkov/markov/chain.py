"""The Markov chain: transition matrix, stationary law, time reversal."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from ethomarkov._core.arrays import is_count, numbers, one_rate
from ethomarkov._core.optional import require
from ethomarkov._core.result import Result, array_field, freeze_arrays, unit_field
from ethomarkov._core.types import FloatArray, IntArray, PlainArrays
from ethomarkov._core.words import count_of
from ethomarkov.exceptions import ConnectivityError, InputFormatError, SamplingError
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

    Examples
    --------
    >>> chain = MarkovChain.from_symbols([0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0], lag=0.25, rate=4.0)
    >>> chain.transition.toarray().round(2).tolist()
    [[0.6, 0.4], [0.4, 0.6]]
    >>> chain.headline()
    '2 microstates, lag 0.25 s, slowest relaxation 0.155 s'
    """

    transition: sparse.csr_array
    stationary: FloatArray = array_field("state")
    states: IntArray = array_field("state")
    n_states: int
    lag: float = unit_field("s")

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @classmethod
    def from_symbols(cls, symbols: Symbols | PlainArrays, lag: float, rate: float | None = None) -> "MarkovChain":
        """Estimate the chain from microstates in time, `lag` seconds apart.

        Parameters
        ----------
        symbols
            Of one animal or of many: `Symbols`; or plain labels, one whole number per frame and −1 where it is missing,
            as one array or as a list of arrays, one for each animal.
        lag
            In seconds; a whole number of frames.
        rate
            Frames per second of plain labels; `Symbols` know theirs.

        Examples
        --------
        >>> first, second = [0, 1, 2, 0, 1, 2, 0], [2, 0, 1, 1, -1, 0]
        >>> MarkovChain.from_symbols([first, second], lag=0.5, rate=2.0).transition.toarray().round(2).tolist()
        [[0.0, 1.0, 0.0], [0.0, 0.33, 0.67], [1.0, 0.0, 0.0]]
        """
        if isinstance(symbols, Symbols):
            one_rate(rate, symbols.sampling, "The state sequence")
        else:
            symbols = Symbols.from_labels(symbols, rate)
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
    def from_counts(cls, counts: Any, lag: float) -> "MarkovChain":  # noqa: ANN401 (a matrix of any kind)
        """Normalise counts on their largest connected set.

        Parameters
        ----------
        counts
            Transitions from each state (row) to each other one (column), as a sparse or a plain square array.
        lag
            Seconds between a state and the next.

        Examples
        --------
        >>> MarkovChain.from_counts([[8, 2], [2, 8]], lag=1.0).transition.toarray().tolist()
        [[0.8, 0.2], [0.2, 0.8]]
        """
        if not sparse.issparse(counts):
            counts = _square(counts)
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

    def headline(self) -> str:
        """Give the number of microstates, the lag and the slowest relaxation in one line."""
        size = count_of(self.states.size, "microstate")
        size = size if self.states.size == self.n_states else f"{self.states.size:,} of {self.n_states:,} microstates"
        times = self.relaxation_times(1)
        slowest = f", slowest relaxation {times[0]:.3g} s" if np.isfinite(times).any() else ""
        return f"{size}, lag {self.lag:.4g} s{slowest}"

    def entropy_rate(self) -> float:
        """Compute the entropy rate in nats per second, see `ethomarkov.markov.entropy_rate`.

        Examples
        --------
        >>> coin = MarkovChain.from_counts(sparse.csr_array(np.ones((2, 2))), lag=0.5)
        >>> round(coin.entropy_rate(), 4)  # one bit every half second
        1.3863
        """
        from ethomarkov.markov.entropy import entropy_rate

        return entropy_rate(self)

    def relaxation_times(self, n: int = 10) -> FloatArray:
        """Compute the slowest relaxation times in seconds, −τ / ln Re λ, see `ethomarkov.markov.slow_spectrum`.

        Parameters
        ----------
        n
            How many, at most; a chain has one less than states. NaN where Re λ is not positive, which is no relaxation.

        Examples
        --------
        >>> chain = MarkovChain.from_counts(sparse.csr_array(np.array([[90.0, 10.0], [20.0, 80.0]])), lag=1.0)
        >>> chain.relaxation_times().round(3).tolist()  # -1 / ln(1 - 0.1 - 0.2)
        [2.804]
        """
        from ethomarkov.markov.spectrum import slow_spectrum

        if not is_count(n):
            raise InputFormatError(f"n={n!r} relaxation times were asked for; a whole number from 1 on is needed.")
        return slow_spectrum(self, int(n)).relaxation_times

    def to_deeptime(self) -> Any:  # noqa: ANN401 (a type of a package that may not be installed)
        """Convert to a ``deeptime.markov.msm.MarkovStateModel``: transition matrix, stationary law, and the lag.

        States are numbered as the rows of the chain; `states` tells which microstates they are. The lag time is that of
        one step, in seconds, so that deeptime's timescales are in seconds.
        """
        msm = require("deeptime.markov.msm", extra="deeptime", purpose="models of deeptime")
        return msm.MarkovStateModel(
            self.transition.toarray(), stationary_distribution=np.array(self.stationary), lagtime=self.lag
        )

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


def _square(counts: ArrayLike) -> sparse.csr_array:
    """Take plain counts, which have to be a square of numbers that are not negative."""
    plain = numbers(counts, "Counts of transitions")
    if plain.ndim != 2 or plain.shape[0] != plain.shape[1] or not (plain >= 0).all():
        raise InputFormatError(
            f"Counts of transitions have the shape {plain.shape}, or some are negative or missing; a square of numbers "
            "from 0 on is needed, a row for each state."
        )
    return sparse.csr_array(plain)
