"""Held-out prediction: how many bits per second the present microstate tells about the next."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy import sparse

from ethomarkov._core.interval import Interval, interval_of_mean
from ethomarkov._core.parallel import map_tasks
from ethomarkov._core.random import generator
from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.series import Series
from ethomarkov._core.types import FloatArray, IntArray, Progress
from ethomarkov.exceptions import InputFormatError, SamplingError
from ethomarkov.markov.counts import count_transitions
from ethomarkov.markov.noise_floor import shuffle_symbols
from ethomarkov.states.symbols import Symbols
from ethomarkov.validation.splits import FitSettings, Split, cut_out, leave_out_splits

if TYPE_CHECKING:
    import pandas as pd

Null = Literal["memoryless", "shuffled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SmoothChain(Result):
    """Transition probabilities that leave nothing impossible.

    Parameters
    ----------
    counts
        Transitions counted in the training part.
    occupancy
        Smoothed share of time of every microstate.
    pseudo_counts
        α, pseudo-counts added to every row.

    Notes
    -----
    Posterior mean under Dirichlet laws: q_j = (n_j + α/N) / (n + α) for the occupancy, and
    P_ij = (C_ij + α q_j) / (C_i + α) for the rows. A microstate that was never left tells nothing about the next: its
    row is the occupancy.
    """

    counts: sparse.csr_array
    occupancy: FloatArray = array_field("state")
    pseudo_counts: float

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @classmethod
    def from_symbols(cls, symbols: Symbols, lag: float, smoothing: float) -> "SmoothChain":
        """Estimate the chain from state sequences at a lag in seconds.

        Parameters
        ----------
        symbols
            State sequences.
        lag
            Seconds from a microstate to the next.
        smoothing
            Transitions added to every row, positive. Pairs are counted from every frame, so that what an animal does
            once is counted about as often as there are frames in a lag: α is as many pairs for each transition.
        """
        if not smoothing > 0:
            raise InputFormatError(
                f"smoothing={smoothing:g}; a positive number is needed, or the unseen is impossible."
            )
        visits, lag_frames = symbols.visits(), symbols.sampling.frames(lag, "lag")
        pseudo_counts = float(smoothing) * lag_frames
        occupancy = (visits + pseudo_counts / symbols.n_states) / (visits.sum() + pseudo_counts)
        return cls(counts=count_transitions(symbols, lag_frames), occupancy=occupancy, pseudo_counts=pseudo_counts)

    def log2_probability(self, state: IntArray, following: IntArray) -> FloatArray:
        """Compute the log-probability of some transitions, in bits."""
        seen = np.asarray(self.counts[state, following])
        leaving = np.asarray(self.counts.sum(axis=1))[state]
        prior = self.pseudo_counts * self.occupancy[following]
        return np.asarray(np.log2((seen + prior) / (leaving + self.pseudo_counts)))

    def log2_occupancy(self, following: IntArray) -> FloatArray:
        """Compute the log-probability of microstates where the present one is not known, in bits."""
        return np.asarray(np.log2(self.occupancy[following]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Score(Result):
    """How well the transitions of one part are predicted from another, in bits per second.

    Parameters
    ----------
    chain
        Log-likelihood of the transitions given the present microstate.
    memoryless
        Log-likelihood given only how often microstates occur.
    shuffled
        Log-likelihood from a chain learned from the shuffled state sequence. It errs as a chain of that size does, so
        that a gain over it can hide overfitting; a gain over the memoryless null cannot.
    trained
        Gain of the chain over the memoryless null in its own training part; what it is more than the gain in the test
        part is overfitting, or a difference between animals.
    unseen
        Share of the test transitions that do not occur in the training part.
    n_pairs
        Number of test transitions, one from every frame.

    Examples
    --------
    >>> from ethomarkov.synthetic import hopping_chain
    >>> train, test = (hopping_chain([[0.9, 0.1], [0.3, 0.7]], 3000, rng=seed) for seed in (1, 2))
    >>> score_transitions(train, test, lag=1.0).n_pairs
    2999
    """

    chain: float
    memoryless: float
    shuffled: float
    trained: float
    unseen: float
    n_pairs: int


def score_transitions(train: Symbols, test: Symbols, lag: float, *, smoothing: float = 1.0, seed: int = 0) -> Score:
    """Score how well a chain learned from some state sequences predicts the transitions of others.

    Parameters
    ----------
    train, test
        State sequences of the same partition, from different data.
    lag
        Seconds from a state to the next.
    smoothing
        Transitions added to every row; see `SmoothChain`.
    seed
        Random seed of the shuffle.

    Notes
    -----
    All pairs (t, t + τ) are scored. They overlap, but each predicts τ seconds, so that the rate is their mean
    divided by τ. The expected gain of a known chain over the memoryless null is the mutual information
    I(X_t; X_{t+τ}) / τ.

    Examples
    --------
    >>> from ethomarkov.synthetic import hopping_chain
    >>> train, test = (hopping_chain([[0.9, 0.1], [0.3, 0.7]], 3000, rng=seed) for seed in (1, 2))
    >>> score = score_transitions(train, test, lag=1.0)
    >>> score.chain > score.memoryless, score.unseen
    (True, 0.0)
    """
    if train.n_states != test.n_states:
        raise InputFormatError(
            f"The training part has {train.n_states} microstates, the test part {test.n_states}; label both with the "
            "same partition."
        )
    lag_frames = test.sampling.frames(lag, "lag")
    state, following, weight = _transitions(test, lag_frames)
    if weight.size == 0:
        longest = test.segments.longest() / test.sampling.rate
        raise SamplingError(
            f"lag={lag:g} s leaves no transition to test on: the longest gap-free stretch is {longest:g} s. Use a lag "
            f"below {longest:g} s."
        )
    learned = SmoothChain.from_symbols(train, lag, smoothing)
    shuffled = shuffle_symbols(train, "permute", generator(seed, "held out"))
    control = SmoothChain.from_symbols(shuffled, lag, smoothing)
    seconds = test.sampling.seconds(lag_frames)
    own = _transitions(train, lag_frames)
    gain = learned.log2_probability(own[0], own[1]) - learned.log2_occupancy(own[1])
    return Score(
        chain=_mean(learned.log2_probability(state, following), weight) / seconds,
        memoryless=_mean(learned.log2_occupancy(following), weight) / seconds,
        shuffled=_mean(control.log2_probability(state, following), weight) / seconds,
        trained=_mean(gain, own[2]) / seconds,
        unseen=_mean(np.asarray(learned.counts[state, following] == 0), weight),
        n_pairs=int(weight.sum()),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOut(Result):
    """Prediction of held-out animals, in bits per second; see `Score`.

    Parameters
    ----------
    chain
        Log-likelihood of held-out transitions given the present microstate, per animal, or per block of a single one.
    memoryless
        Log-likelihood given only how often microstates occur.
    shuffled
        Log-likelihood from a chain learned from the shuffled state sequence.
    trained
        Gain of the chain over the memoryless null in its own training part.
    unseen
        Share of held-out transitions that do not occur in the training part.
    n_pairs
        Number of held-out transitions, one from every frame.
    names
        Names of the held-out animals or blocks.
    over
        What was held out, in words: "animals" or "blocks".
    lag
        Lag of the chain in seconds.
    smoothing
        Transitions added to every row.
    """

    chain: FloatArray = array_field("unit", unit="bit/s")
    memoryless: FloatArray = array_field("unit", unit="bit/s")
    shuffled: FloatArray = array_field("unit", unit="bit/s")
    trained: FloatArray = array_field("unit", unit="bit/s")
    unseen: FloatArray = array_field("unit")
    n_pairs: IntArray = array_field("unit")
    names: tuple[str, ...]
    over: str
    lag: float
    smoothing: float

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def gain(self, null: Null = "memoryless") -> FloatArray:
        """Compute the bits per second by which the chain predicts better than a null, per animal or block."""
        worse: FloatArray = self.memoryless if null == "memoryless" else self.shuffled
        return self.chain - worse

    def mean_gain(self, null: Null = "memoryless") -> Interval:
        """Average the gain over animals or blocks, with its interval."""
        return interval_of_mean(self.gain(null), self.over, scale="signed")

    def headline(self) -> str:
        """Give the mean gain over occupancy alone."""
        gain = self.gain()
        mean = float(gain[np.isfinite(gain)].mean()) if np.isfinite(gain).any() else float("nan")
        return f"{mean:.3g} bit/s more than occupancy alone, mean over {gain.size:,} held-out {self.over}"

    def table(self) -> "pd.DataFrame":
        """List the held-out animals or blocks: log-likelihoods and gains in bits per second, unseen transitions."""
        import pandas as pd

        return pd.DataFrame(
            {
                "held_out": np.array(self.names, dtype=object)[: self.chain.size] if self.names else "",
                "chain": self.chain,
                "memoryless": self.memoryless,
                "shuffled": self.shuffled,
                "gain_over_memoryless": self.gain(),
                "gain_over_shuffled": self.gain("shuffled"),
                "trained": self.trained,
                "unseen": self.unseen,
                "transitions": self.n_pairs,
            }
        )

    def explain(self) -> str:
        """Say in a sentence what the present microstate tells about the next one in held-out data."""
        gain = self.mean_gain()
        trained = float(self.trained.mean())
        unit = "an animal" if self.over == "animals" else "a block of time"
        return (
            f"In {unit} that was held out, the present microstate predicts the one {self.lag:.3g} s later with {gain} "
            f"bits per second more than the occupancy does (mean over {gain.n} {self.over}; {trained:.3g} in the "
            "training part)."
        )


def predict_held_out(
    postures: Series,
    fit: FitSettings,
    *,
    smoothing: float = 1.0,
    n_blocks: int = 10,
    threads: int = 1,
    progress: Progress | None = None,
) -> HeldOut:
    """Predict every animal from all others; for a single animal, every block of time from all other blocks.

    Microstates, chain and nulls are learned from the others alone.

    Parameters
    ----------
    postures
        Mode amplitudes in time.
    fit
        Delays, microstates, lag and seed; what it says about simulations is not used.
    smoothing
        Transitions added to every row; see `SmoothChain`.
    n_blocks
        Blocks of a single animal.
    threads, progress
        Animals that are worked on at once; called after each.
    """
    splits = leave_out_splits(postures.segments, n_blocks)

    def score(split: Split) -> Score:
        train, test = held_out_symbols(postures, fit, split)
        return score_transitions(train, test, fit.lag, smoothing=smoothing, seed=fit.seed)

    scores = map_tasks(score, splits, threads=threads, progress=progress, what="held out")
    return HeldOut(
        chain=np.array([one.chain for one in scores]),
        memoryless=np.array([one.memoryless for one in scores]),
        shuffled=np.array([one.shuffled for one in scores]),
        trained=np.array([one.trained for one in scores]),
        unseen=np.array([one.unseen for one in scores]),
        n_pairs=np.array([one.n_pairs for one in scores]),
        names=tuple(split.name for split in splits),
        over="animals" if postures.segments.n_individuals > 1 else "blocks",
        lag=fit.lag,
        smoothing=smoothing,
    )


def held_out_symbols(postures: Series, fit: FitSettings, split: Split) -> tuple[Symbols, Symbols]:
    """Find microstates in the training part, and label both parts by them.

    Parameters
    ----------
    postures
        Of both parts.
    fit
        Delays, microstates and seed.
    split
        Which rows are held out.

    Returns
    -------
    train, test
        State sequences of each part; windows do not reach from one into the other.
    """
    train = fit.embed(cut_out(postures, split.train))
    share = split.train.count_rows().sum() / postures.segments.count_rows().sum()
    microstates = fit.divide(train, split.name, float(share))
    return microstates.label(train), microstates.label(fit.embed(cut_out(postures, split.test)))


def _transitions(symbols: Symbols, lag_frames: int) -> tuple[IntArray, IntArray, FloatArray]:
    """List the different transitions and how often each occurs."""
    counts = count_transitions(symbols, lag_frames).tocoo()
    return counts.row, counts.col, counts.data


def _mean(values: FloatArray | np.ndarray, weight: FloatArray) -> float:
    return float(np.average(values, weights=weight))
