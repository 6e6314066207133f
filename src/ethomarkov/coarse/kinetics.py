"""Dwell times in states, transition rates, and jumps from state to state."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import sparse
from scipy.special import ndtri

from ethomarkov._core.interval import LEVEL, Interval, jackknife_interval, leave_one_out
from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.types import BoolArray, FloatArray, IntArray
from ethomarkov._core.words import count_of
from ethomarkov.exceptions import ConnectivityError, InputFormatError
from ethomarkov.markov.chain import MarkovChain
from ethomarkov.states.symbols import Symbols

Convention = Literal["censored", "paper"]
Numbers = FloatArray | IntArray
Over = Literal["animals", "blocks", "events"]
N_BLOCKS = 20
"""Blocks of equal time that are resampled in place of animals where there is only one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dwells(Result):
    """Uninterrupted dwells in states, in the order of individuals and of time.

    Parameters
    ----------
    state
        State of each dwell.
    duration
        Dwell time in seconds: a whole number of samples of the state sequence.
    individual
        Index of the animal.
    start
        Seconds from the start of the recording of the individual.
    starts_cut
        Whether the dwell begins at a gap or at the beginning of the recording (left censored).
    ends_cut
        Whether the dwell ends at a gap or at the end of the recording (right censored).
    step
        Seconds between two samples of the state sequence; durations are whole multiples of it.
    n_states, n_individuals
        Number of states and of animals, visited or not.
    """

    state: IntArray = array_field("dwell")
    duration: FloatArray = array_field("dwell", unit="s")
    individual: IntArray = array_field("dwell")
    start: FloatArray = array_field("dwell", unit="s")
    starts_cut: BoolArray = array_field("dwell")
    ends_cut: BoolArray = array_field("dwell")
    step: float
    n_states: int
    n_individuals: int

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def __len__(self) -> int:
        return int(self.state.size)

    @property
    def n_steps(self) -> IntArray:
        """Number of samples of each dwell."""
        return np.asarray(np.rint(self.duration / self.step), dtype=np.int64)

    @property
    def complete(self) -> "Dwells":
        """Dwells whose start and end were both observed."""
        return self.select(~self.starts_cut & ~self.ends_cut)

    @property
    def begun(self) -> "Dwells":
        """Dwells whose start was observed, whether or not their end was."""
        return self.select(~self.starts_cut)

    @property
    def mean(self) -> float:
        """Mean duration in seconds of all dwells, censored ones included; NaN when there is none."""
        return float(self.duration.mean()) if len(self) else float("nan")

    def in_state(self, state: int) -> "Dwells":
        """Select the dwells in one state."""
        return self.select(self.state == state)

    def select(self, which: BoolArray | IntArray) -> "Dwells":
        """Select dwells by flags or by index."""
        return Dwells(
            state=self.state[which],
            duration=self.duration[which],
            individual=self.individual[which],
            start=self.start[which],
            starts_cut=self.starts_cut[which],
            ends_cut=self.ends_cut[which],
            step=self.step,
            n_states=self.n_states,
            n_individuals=self.n_individuals,
        )

    def headline(self) -> str:
        """Say how many dwells there are in how many states, and how many are complete."""
        n_complete = int(np.count_nonzero(~(self.starts_cut | self.ends_cut)))
        return f"{count_of(len(self), 'dwell')} in {count_of(self.n_states, 'state')}, {n_complete:,} complete"


def find_dwells(symbols: Symbols, step: float | None = None) -> Dwells:
    """List all dwells in states; those censored by gaps are included and marked.

    Parameters
    ----------
    symbols
        State sequences.
    step
        Seconds between samples of the state sequence, from the first frame of each gap-free run on. With the lag of the
        chain, flicker of single frames between two states does not interrupt a dwell. Every frame when None.

    Notes
    -----
    A sample stands for one step. So durations add up to the observed time when every frame is sampled, and to less
    than one step more per run otherwise.

    Examples
    --------
    >>> from ethomarkov.synthetic import hopping_chain
    >>> dwells = find_dwells(hopping_chain([[0.9, 0.1], [0.1, 0.9]], 1000, n_walks=3, rate=2.0))
    >>> float(dwells.duration.sum()), dwells.n_states
    (1500.0, 2)
    """
    stride = 1 if step is None else symbols.sampling.frames(step, "step")
    pieces = [_dwells_of_run(symbols.labels[start:stop:stride], start, stride) for start, stop, _ in symbols.segments]
    n_dwells = [len(piece) for piece in pieces]
    # Columns: state, samples, first row, begins at a gap, ends at a gap.
    table = np.concatenate([np.empty((0, 5), dtype=np.int64), *pieces])
    individual = np.repeat(symbols.segments.bounds[:, 2], n_dwells)
    rate = symbols.sampling.rate
    return Dwells(
        state=table[:, 0].astype(np.int32),
        duration=table[:, 1] * stride / rate,
        individual=individual,
        start=(table[:, 2] - symbols.segments.offsets[individual]) / rate,
        starts_cut=table[:, 3].astype(bool),
        ends_cut=table[:, 4].astype(bool),
        step=stride / rate,
        n_states=symbols.n_states,
        n_individuals=symbols.segments.n_individuals,
    )


def _dwells_of_run(labels: IntArray, first_row: int, stride: int) -> IntArray:
    edges = np.concatenate([[0], np.flatnonzero(np.diff(labels)) + 1, [labels.size]])
    table = np.zeros((edges.size - 1, 5), dtype=np.int64)
    table[:, 0] = labels[edges[:-1]]
    table[:, 1] = np.diff(edges)
    table[:, 2] = first_row + edges[:-1] * stride
    table[0, 3] = table[-1, 4] = 1
    return table


def dwell_times(symbols: Symbols, step: float | None = None) -> tuple[IntArray, FloatArray]:
    """List the dwell times of complete dwells, which neither begin nor end at a gap.

    Parameters
    ----------
    symbols
        State sequences.
    step
        As in `find_dwells`.

    Returns
    -------
    state
        State of each dwell.
    duration
        In seconds.
    """
    complete = find_dwells(symbols, step).complete
    return complete.state, complete.duration


@dataclass(frozen=True, slots=True, kw_only=True)
class Survival(Result):
    """Survival function of dwell times: the share of dwells that last longer than a time.

    Parameters
    ----------
    time
        Durations at which dwells were observed to end, ascending.
    survival
        Kaplan–Meier estimate after each of them.
    low, high
        Pointwise interval; NaN where no dwell remains.
    n_at_risk
        Dwells observed up to each time.
    level
        Coverage.
    """

    time: FloatArray = array_field("time", unit="s")
    survival: FloatArray = array_field("time")
    low: FloatArray = array_field("time")
    high: FloatArray = array_field("time")
    n_at_risk: IntArray = array_field("time")
    level: float

    def __post_init__(self) -> None:
        freeze_arrays(self)


def survival(dwells: Dwells, state: int | None = None, *, level: float = LEVEL) -> Survival:
    """Estimate the survival function of dwell times, right-censored dwells included.

    Dwells with unknown start are left out: their age at the first sample is unknown, and long dwells are more often
    cut by the beginning of a recording than short ones.

    Parameters
    ----------
    dwells
        From `find_dwells`.
    state
        Pooled over all states when None.
    level
        Coverage of the interval.

    Notes
    -----
    Kaplan and Meier, with Greenwood's variance on the log-log scale, which keeps the interval within 0 and 1. A
    censored dwell of k samples was observed to continue k − 1 times; whether it ended after the last sample is unknown.
    """
    # Equal to `scipy.stats.ecdf`, which takes 2 to 17 times as long, does not give the number at risk, and refuses a
    # state that was never entered.
    dwells = (dwells if state is None else dwells.in_state(state)).begun
    known = dwells.n_steps - dwells.ends_cut
    times, n_ends = np.unique(known[~dwells.ends_cut], return_counts=True)
    at_risk = dwells.state.size - np.searchsorted(np.sort(known), times)
    alive = np.cumprod(1 - n_ends / at_risk)
    with np.errstate(divide="ignore", invalid="ignore"):
        greenwood = np.cumsum(n_ends / (at_risk * (at_risk - n_ends)))
        spread = ndtri((1 + level) / 2) * np.sqrt(greenwood) / np.log(alive)
        low, high = alive ** np.exp(-spread), alive ** np.exp(spread)
    undefined = alive <= 0
    return Survival(
        time=times * dwells.step,
        survival=alive,
        low=np.where(undefined, np.nan, low),
        high=np.where(undefined, np.nan, high),
        n_at_risk=at_risk,
        level=level,
    )


def transition_rate(
    dwells: Dwells, state: int, *, convention: Convention = "censored", over: Over | None = None
) -> Interval:
    """Estimate the total transition rate κ out of a state, per second.

    Parameters
    ----------
    dwells
        From `find_dwells`; the rate is that of transitions as sampled every `dwells.step` seconds.
    state
        Index of the state.
    convention
        "censored": observed ends per time observed, which is the maximum-likelihood rate of an exponential law, and
        one over the mean dwell time of any law when recordings are long. Censored dwells count with their time; of
        right-censored ones, the last step does not count. "paper": one over the mean of all dwells, censored ones
        counted as if they had ended.
    over
        Take the interval over "animals", which are pooled, over "blocks" of time, or over dwells ("events"). Animals by
        default, blocks where only one animal visited the state.

    Notes
    -----
    Fig. 2(d): κ = 1 / ⟨t⟩ of each worm, sampled every τ*. A state that was never left has the rate 0 with an upper
    limit of three ends in the time observed.

    Examples
    --------
    >>> from ethomarkov.synthetic import hopping_chain
    >>> dwells = find_dwells(hopping_chain([[0.9, 0.1], [0.2, 0.8]], 5000, n_walks=3))
    >>> rate = transition_rate(dwells, 0)
    >>> rate.low < 0.1 < rate.high
    True
    """
    dwells = dwells.in_state(state)
    over = over or usual_units(dwells)
    unit = units_of_dwells(dwells, over)
    n_units = int(unit.max(initial=-1)) + 1
    ends, time = (np.bincount(unit, column, n_units) for column in _ends_and_time(dwells, convention))
    rate = float(_per_time(ends.sum(), time.sum()))
    left_out = _per_time(leave_one_out(ends), leave_one_out(time))
    return jackknife_interval(rate, left_out, over, exposure=float(time.sum()))


def mean_dwell(dwells: Dwells, state: int) -> Interval:
    """Estimate the mean dwell time in a state in seconds, one over its transition rate, with its interval.

    The interval is taken over animals, or over blocks of time where there is one animal. NaN where the state was never
    left.
    """
    rate = transition_rate(dwells, state)
    estimate, low, high = (1 / x if x > 0 else np.nan for x in (rate.estimate, rate.high, rate.low))
    low = low if np.isfinite(estimate) else np.nan
    return Interval(estimate=estimate, low=low, high=high, level=rate.level, over=rate.over, n=rate.n)


def animal_rates(dwells: Dwells, *, convention: Convention = "censored") -> FloatArray:
    """Estimate the transition rate out of every state in every animal, ``(animals, states)`` per second.

    NaN where an animal was not observed in a state for a step; zero where it was not observed to leave. See
    `transition_rate` for the conventions.
    """
    ends, time = _ends_and_time(dwells, convention)
    cell = dwells.individual * dwells.n_states + dwells.state
    shape = (dwells.n_individuals, dwells.n_states)
    size = dwells.n_individuals * dwells.n_states
    total_ends, total_time = np.bincount(cell, ends, size), np.bincount(cell, time, size)
    return _per_time(total_ends, total_time).reshape(shape)


def _ends_and_time(dwells: Dwells, convention: Convention) -> tuple[FloatArray, FloatArray]:
    """Count, for every dwell, its ends and the seconds during which an end would have been observed."""
    if convention == "paper":
        return np.ones(len(dwells)), dwells.duration
    if convention == "censored":
        return (~dwells.ends_cut).astype(float), (dwells.n_steps - dwells.ends_cut) * dwells.step
    raise InputFormatError(f"convention={convention!r} is not known; use 'censored' or 'paper'.")


def _per_time(ends: Numbers, time: Numbers) -> FloatArray:
    """Divide ends by seconds; NaN where no time was observed."""
    return np.asarray(np.divide(ends, time, out=np.full(np.shape(time), np.nan), where=np.asarray(time) > 0))


def usual_units(dwells: Dwells) -> Over:
    """Choose the units of intervals: animals, or blocks of time where there is one animal."""
    return "animals" if np.unique(dwells.individual).size > 1 else "blocks"


def units_of_dwells(dwells: Dwells, over: Over) -> IntArray:
    """Give every dwell the number of its animal, block or event; units without dwells have no number."""
    if over == "events":
        return np.arange(len(dwells))
    if over == "animals":
        return np.unique(dwells.individual, return_inverse=True)[1]
    if over == "blocks":
        end = (dwells.start + dwells.duration).max(initial=dwells.step)
        block = dwells.individual * N_BLOCKS + (dwells.start * N_BLOCKS / end).astype(np.int64)
        return np.unique(block, return_inverse=True)[1]
    raise InputFormatError(f"over={over!r} is no unit of intervals; use 'animals', 'blocks' or 'events'.")


@dataclass(frozen=True, slots=True, kw_only=True)
class JumpChain(Result):
    """The embedded chain of jumps between states, regardless of dwell times.

    Parameters
    ----------
    counts
        Jumps from each state (row) to each other one.
    probabilities
        Probability of the next state; NaN in the rows of states that were never left.
    stationary
        Share of dwells, not of time, in each state; zero outside the largest connected set, NaN when there is none.
    flux
        Jumps per second of observed time.
    step
        Seconds between two samples of the state sequence.
    """

    counts: IntArray = array_field("from_state", "to_state")
    probabilities: FloatArray = array_field("from_state", "to_state")
    stationary: FloatArray = array_field("macrostate")
    flux: FloatArray = array_field("from_state", "to_state", unit="1/s")
    step: float

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def headline(self) -> str:
        """Say how many jumps there are between how many states."""
        return f"{count_of(int(self.counts.sum()), 'jump')} between {count_of(len(self.counts), 'state')}"


def jump_chain(symbols: Symbols, step: float | None = None) -> JumpChain:
    """Count the jumps between states, none of them across a gap.

    Parameters
    ----------
    symbols
        State sequences.
    step
        As in `find_dwells`; the paper uses every frame (inset of Fig. 4c).

    Examples
    --------
    >>> from ethomarkov.synthetic import hopping_chain
    >>> jumps = jump_chain(hopping_chain([[0.9, 0.1], [0.2, 0.8]], 1000))
    >>> jumps.probabilities.tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    dwells = find_dwells(symbols, step)
    leaves = np.flatnonzero(~dwells.ends_cut)  # an uncensored dwell is followed by the next one of its run
    n = symbols.n_states
    counts = np.bincount(dwells.state[leaves] * n + dwells.state[leaves + 1], minlength=n * n).reshape(n, n)
    left = counts.sum(axis=1, keepdims=True)
    probabilities = np.full((n, n), np.nan)
    np.divide(counts, left, out=probabilities, where=left > 0)
    observed = dwells.duration.sum()
    return JumpChain(
        counts=counts,
        probabilities=probabilities,
        stationary=_jump_law(counts, dwells.step),
        flux=counts / observed if observed else np.zeros((n, n)),
        step=dwells.step,
    )


def _jump_law(counts: IntArray, step: float) -> FloatArray:
    law = np.zeros(len(counts))
    try:
        chain = MarkovChain.from_counts(sparse.csr_array(counts.astype(float)), step)
    except ConnectivityError:  # no state was left and visited again
        return np.full(len(counts), np.nan)
    law[chain.states] = chain.stationary
    return law


def time_budget(symbols: Symbols) -> FloatArray:
    """Compute the share of each animal's time in every state; NaN for animals without any."""
    segments = symbols.segments
    known = segments.valid
    cell = segments.row_individual[known] * symbols.n_states + symbols.labels[known]
    frames = np.bincount(cell, minlength=segments.n_individuals * symbols.n_states)
    frames = frames.reshape(segments.n_individuals, symbols.n_states).astype(float)
    total = frames.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(frames, total, out=np.full(frames.shape, np.nan), where=total > 0))
