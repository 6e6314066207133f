"""States smoothed in time: a hidden Markov model with microstates as emissions, started from the states of a tree.

For labels of single frames, not for rates. Expectation maximisation in numpy, with compiled passes over time.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.types import FloatArray, IntArray
from ethomarkov._core.words import count_of
from ethomarkov.coarse.passage import check_group
from ethomarkov.states.symbols import Symbols

SAMPLES_PER_LAG = 3
"""Frames within one lag that count as independent evidence: neighbouring sequences share most of their frames, which
add no evidence. This and the next two were set on 40 recordings of eight synthetic systems with two to
seven states, at a lag of 0.75 s and, for worms, of 0.25 to 3 s."""
TREE_WEIGHT = 2.0
"""How much the microstates of a state in the tree weigh against those that the iterations give it. Without it, the
iterations can drift: small states grow until they have no meaning."""
BLUR = 0.01
"""Share of the law of all frames in the law of microstates of every state, so that no microstate is impossible in a
state only because the tree assigned it elsewhere."""
FEW = 1e-3
"""Transitions and beginnings that are added to every state, so that none is impossible because it was not observed."""
MOST_ITERATIONS = 200
ENOUGH = 1e-7
"""Gain per frame, in nats, below which the iterations end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SmoothStates(Result):
    """The state of every frame, inferred together with the frames around it.

    Parameters
    ----------
    states
        The most probable state of every frame; −1 where the tree has none. For labels and bouts: rates, dwell times
        and shares of time belong to the states of the tree.
    probability
        Of that state, given all frames of the run; NaN where there is none. Overconfident where the model does not fit.
    score
        After every iteration, the first being the tree's own law of microstates: log probability per frame of the
        weighted evidence and of the parameters, in nats. It never falls, and does not say which labels are better.
    """

    states: Symbols
    probability: FloatArray = array_field("frame")
    score: FloatArray = array_field("iteration", unit="nat")

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def headline(self) -> str:
        """Give the number of states and of labelled frames, and the mean probability of the labels."""
        known = np.isfinite(self.probability)
        mean = float(self.probability[known].mean()) if known.any() else float("nan")
        n_states, n_frames = count_of(self.states.n_states, "state"), count_of(int(known.sum()), "frame")
        return f"{n_states} in {n_frames}, mean probability {mean:.2f}"


def smooth_states(symbols: Symbols, group: IntArray, lag: float) -> SmoothStates:
    """Infer the state of every frame from its microstate and from the frames around it.

    A tree gives all frames of a microstate the same state. Here a microstate may occur in every state, more often in
    the one that the tree gave it; states follow each other as a Markov chain, frame by frame; and a frame takes the
    state that is most probable given its whole run. Single frames that flicker across the border of two states then
    follow their neighbours. Nothing crosses a gap or an animal.

    Parameters
    ----------
    symbols
        Microstates.
    group
        State of every microstate, as of `StateTree.states_at`; frames of microstates in −1 have none here either.
    lag
        τ in seconds, of the chain that the tree was grown from; it sets the weight of a frame as evidence.

    Notes
    -----
    Do not estimate rates or dwell times from these states: the model assumes that states last, so that short dwells are
    removed whether they are real or not, and the iterations maximise the fit of the model, not the accuracy of shares
    of time. `hopping_rates` of the same group needs no smoothing.

    The likelihood of a frame is raised to the power SAMPLES_PER_LAG/τ (in frames), at most 1. The law of microstates in
    a state is estimated from its frames, from those that the tree assigns to it with twice their weight, and to a
    hundredth from all frames. The score is that of this model with its priors. The result does not depend on a random
    seed or on threads.

    States that last no longer than the lag, and states that the recording does not support, can vanish or grow.

    Examples
    --------
    >>> from ethomarkov._core.sampling import Sampling
    >>> from ethomarkov._core.segments import Segments
    >>> labels = np.array([0, 1] * 30 + [2, 3] * 30, dtype=np.int32)
    >>> labels[20] = 3
    >>> segments = Segments.from_valid(labels >= 0)
    >>> symbols = Symbols(labels=labels, n_states=4, segments=segments, sampling=Sampling(16.0))
    >>> smooth = smooth_states(symbols, np.array([0, 0, 1, 1]), lag=0.75)
    >>> smooth.states.labels[[19, 20, 21, 59, 60]].tolist()
    [0, 0, 0, 0, 1]
    """
    check_group(group, symbols.n_states)
    evidence = min(1.0, SAMPLES_PER_LAG / symbols.sampling.frames(lag, "lag"))
    grouped = symbols.relabel(group)
    rows = np.flatnonzero(grouped.segments.valid)
    labels, probability = np.full(grouped.labels.size, -1, dtype=np.int32), np.full(grouped.labels.size, np.nan)
    score: FloatArray = np.empty(0)
    if rows.size:
        seen, first = np.unique(grouped.labels[rows], return_inverse=True)
        emission = _Microstates(symbols.labels[rows], first, evidence)
        fit = fit_hidden_chain(emission, grouped.segments.lengths, first, seen.size)
        labels[rows] = seen[fit.posterior.argmax(axis=1)]
        probability[rows] = fit.posterior.max(axis=1)
        score = fit.score
    states = Symbols(labels=labels, n_states=grouped.n_states, segments=grouped.segments, sampling=grouped.sampling)
    return SmoothStates(states=states, probability=probability, score=score)


class Emission(Protocol):
    """The law of observations in a state, which can be fitted."""

    def fit(self, posterior: FloatArray) -> tuple[FloatArray, float]:
        """Fit every state to its share of the rows; give the log density of every row in it, and the log prior."""


class _Microstates:
    """Microstates as observations, with a law for each state and the initial law as its prior."""

    def __init__(self, labels: IntArray, first: IntArray, evidence: float) -> None:
        kinds, self.labels = np.unique(labels, return_inverse=True)
        self.n_kinds, self.evidence = kinds.size, evidence
        overall = np.bincount(self.labels)[:, None] / self.labels.size
        tree = self._visits(np.eye(first.max() + 1)[first])
        self.prior = TREE_WEIGHT * tree + BLUR * (1 + TREE_WEIGHT) * tree.sum(axis=0) * overall

    def _visits(self, posterior: FloatArray) -> FloatArray:
        return np.stack([np.bincount(self.labels, weight, self.n_kinds) for weight in posterior.T], axis=1)

    def fit(self, posterior: FloatArray) -> tuple[FloatArray, float]:
        visits = self._visits(posterior) + self.prior
        log_law = self.evidence * np.log(visits / visits.sum(axis=0))
        return log_law[self.labels], float((self.prior * log_law).sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenChain(Result):
    """A fitted hidden Markov model.

    Parameters
    ----------
    posterior
        Probability of every state in every row.
    transition
        Probabilities per row.
    score
        Log probability of rows and parameters per row after every iteration, in nats.
    """

    posterior: FloatArray = array_field("row", "macrostate")
    transition: FloatArray = array_field("from_state", "to_state")
    score: FloatArray = array_field("iteration", unit="nat")

    def __post_init__(self) -> None:
        freeze_arrays(self)


def fit_hidden_chain(
    emission: Emission,
    lengths: IntArray,
    first: IntArray,
    n_states: int,
    *,
    most_iterations: int = MOST_ITERATIONS,
    enough: float = ENOUGH,
) -> HiddenChain:
    """Fit a hidden Markov model by expectation and maximisation.

    Parameters
    ----------
    emission
        Law of the observations.
    lengths
        Rows of every run; runs follow each other without rows between them.
    first
        Initial state of every row, from which the initial laws of observations and transitions follow.
    n_states
        Number of states.
    most_iterations, enough
        The iterations end after this number, or when one gains less than this per row, in nats.
    """
    from ethomarkov.coarse.smoothing_kernels import pass_over

    stops = np.cumsum(lengths)
    runs = np.stack([stops - lengths, stops], axis=1)
    posterior = np.eye(n_states)[first]
    before = np.delete(np.arange(first.size), stops - 1)
    pairs = np.zeros((n_states, n_states))
    np.add.at(pairs, (first[before], first[before + 1]), 1.0)
    scores: list[float] = []
    while len(scores) < most_iterations and (len(scores) < 2 or scores[-1] - scores[-2] >= enough):
        log_density, log_prior = emission.fit(posterior)
        transition = (pairs + FEW) / (pairs + FEW).sum(axis=1, keepdims=True)
        start = posterior[runs[:, 0]].sum(axis=0) + FEW
        start /= start.sum()
        highest = log_density.max(axis=1)
        likelihood = np.exp(log_density - highest[:, None]) + np.finfo(float).tiny
        posterior, pairs, log_likelihood = pass_over(likelihood, runs, start, transition)
        log_prior += FEW * float(np.log(transition).sum() + np.log(start).sum())
        scores.append((log_likelihood + highest.sum() + log_prior) / len(posterior))
    return HiddenChain(posterior=posterior, transition=transition, score=np.array(scores))
