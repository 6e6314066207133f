"""How long stays last, how often they end, and where they lead."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import sparse
from scipy.special import ndtri

from ethomarkov._core.interval import LEVEL, Interval, jackknife_interval, leave_one_out
from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.types import BoolArray, FloatArray, IntArray
from ethomarkov.exceptions import ConnectivityError, InputFormatError
from ethomarkov.markov.chain import MarkovChain
from ethomarkov.states.symbols import Symbols

Convention = Literal["censored", "paper"]
Numbers = FloatArray | IntArray
Over = Literal["animals", "blocks", "events"]
N_BLOCKS = 20
"""Blocks of equal time that stand for animals where there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dwells(Result):
    """Stays in a state, in the order of individuals and of time.

    Parameters
    ----------
    state
        Of each stay.
    duration
        In seconds: as many steps as there were looks at the state.
    individual
        Index of the animal.
    start
        Seconds from the start of the recording of the individual.
    starts_cut
        The stay begins at a gap or at the beginning; it is longer than what was seen.
    ends_cut
        The stay ends at a gap or at the end (right censored).
    step
        Seconds between two looks; durations are whole multiples of it.
    n_states, n_individuals
        Of the symbols, visited or not.
    """

    state: IntArray = array_field("stay")
    duration: FloatArray = array_field("stay", unit="s")
    individual: IntArray = array_field("stay")
    start: FloatArray = array_field("stay", unit="s")
    starts_cut: BoolArray = array_field("stay")
    ends_cut: BoolArray = array_field("stay")
    step: float
    n_states: int
    n_individuals: int

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def __len__(self) -> int:
        return int(self.state.size)

    @property
    def n_steps(self) -> IntArray:
        """Looks at each stay."""
        return np.asarray(np.rint(self.duration / self.step), dtype=np.int64)

    @property
    def complete(self) -> "Dwells":
        """Stays whose true start and end were both seen."""
        return self.select(~self.starts_cut & ~self.ends_cut)

    @property
    def begun(self) -> "Dwells":
        """Stays whose true start was seen, whether or not their end was."""
        return self.select(~self.starts_cut)

    @property
    def mean(self) -> float:
        """Mean duration in seconds of the stays listed, NaN when there is none."""
        return float(self.duration.mean()) if len(self) else float("nan")

    def in_state(self, state: int) -> "Dwells":
        """Keep the stays in one state."""
        return self.select(self.state == state)

    def select(self, which: BoolArray | IntArray) -> "Dwells":
        """Keep the stays that are flagged, or listed by index."""
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


def find_dwells(symbols: Symbols, step: float | None = None) -> Dwells:
    """List all stays, those cut by gaps included and marked.

    Parameters
    ----------
    symbols
        States in time.
    step
        Look at the states only every so many seconds from the first frame of each gap-free run, as the chain does:
        stays at the border between two states are not cut by a flicker of single frames. Every frame when None.

    Notes
    -----
    A look stands for one step. So durations add up to the observed time when every frame is looked at, and to less
    than one step more per run otherwise.
    """
    stride = 1 if step is None else symbols.sampling.frames(step, "step")
    pieces = [_stays_of_run(symbols.labels[start:stop:stride], start, stride) for start, stop, _ in symbols.segments]
    n_stays = [len(piece) for piece in pieces]
    # Columns: state, looks, first row, begins at a gap, ends at a gap.
    table = np.concatenate([np.empty((0, 5), dtype=np.int64), *pieces])
    individual = np.repeat(symbols.segments.bounds[:, 2], n_stays)
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


def _stays_of_run(labels: IntArray, first_row: int, stride: int) -> IntArray:
    edges = np.concatenate([[0], np.flatnonzero(np.diff(labels)) + 1, [labels.size]])
    table = np.zeros((edges.size - 1, 5), dtype=np.int64)
    table[:, 0] = labels[edges[:-1]]
    table[:, 1] = np.diff(edges)
    table[:, 2] = first_row + edges[:-1] * stride
    table[0, 3] = table[-1, 4] = 1
    return table


def dwell_times(symbols: Symbols, step: float | None = None) -> tuple[IntArray, FloatArray]:
    """List the complete stays, those that neither begin nor end at a gap.

    Parameters
    ----------
    symbols
        States in time.
    step
        As in `find_dwells`.

    Returns
    -------
    state
        Of each stay.
    duration
        In seconds.
    """
    complete = find_dwells(symbols, step).complete
    return complete.state, complete.duration


@dataclass(frozen=True, slots=True, kw_only=True)
class Survival(Result):
    """Share of stays that last longer than a time.

    Parameters
    ----------
    time
        Durations at which stays were seen to end, ascending.
    survival
        Kaplan–Meier estimate after each of them.
    low, high
        Pointwise interval; NaN where no stay is left.
    n_at_risk
        Stays followed up to each time.
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
    """Estimate how stays survive, with those cut at their end taken into account.

    Stays with unknown start are left out: their age when first seen is unknown, and long stays are more often met in
    the middle than short ones.

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
    Kaplan and Meier, with Greenwood's variance on the log-log scale, which keeps the interval within 0 and 1. A stay
    of k looks that is cut was seen to go on k − 1 times; whether it ended after the last look is not known.
    """
    # Equal to `scipy.stats.ecdf`, which takes 2 to 17 times as long, does not give the number at risk, and refuses a
    # state that was never entered.
    stays = (dwells if state is None else dwells.in_state(state)).begun
    known = stays.n_steps - stays.ends_cut
    times, n_ends = np.unique(known[~stays.ends_cut], return_counts=True)
    at_risk = stays.state.size - np.searchsorted(np.sort(known), times)
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
    """Estimate κ, the rate at which a state is left, per second.

    Parameters
    ----------
    dwells
        From `find_dwells`; the rate is that of leaving as seen every `dwells.step` seconds.
    state
        Which one.
    convention
        "censored": observed ends per time observed, which is the maximum-likelihood rate of an exponential law, and
        one over the mean stay of any law when recordings are long. Stays cut on either side count with their time; of
        those cut at the end, the last step is not followed. "paper": one over the mean of all stays, cut ones counted
        as if they had ended.
    over
        Take the interval over "animals", which are pooled, over "blocks" of time, or over stays ("events"). Animals by
        default, blocks where one animal alone was in the state.

    Notes
    -----
    Fig. 2(d): κ = 1 / ⟨t⟩ of each worm, sampled every τ*. A state that was never left has the rate 0 with an upper
    limit of three ends in the time observed.
    """
    stays = dwells.in_state(state)
    over = over or usual_units(stays)
    unit = units_of_dwells(stays, over)
    n_units = int(unit.max(initial=-1)) + 1
    ends, time = (np.bincount(unit, column, n_units) for column in _ends_and_time(stays, convention))
    rate = float(_per_time(ends.sum(), time.sum()))
    left_out = _per_time(leave_one_out(ends), leave_one_out(time))
    return jackknife_interval(rate, left_out, over, exposure=float(time.sum()))


def mean_dwell(dwells: Dwells, state: int) -> Interval:
    """Estimate the mean stay in a state in seconds, one over the rate of leaving it, with its interval.

    The interval is taken over animals, or over blocks of time where there is one animal. NaN where the state was never
    left.
    """
    rate = transition_rate(dwells, state)
    estimate, low, high = (1 / x if x > 0 else np.nan for x in (rate.estimate, rate.high, rate.low))
    low = low if np.isfinite(estimate) else np.nan
    return Interval(estimate=estimate, low=low, high=high, level=rate.level, over=rate.over, n=rate.n)


def animal_rates(dwells: Dwells, *, convention: Convention = "censored") -> FloatArray:
    """Estimate the rate of leaving every state in every animal, ``(animals, states)`` per second.

    NaN where an animal was never seen to be in a state for a step; zero where it was not seen to leave. See
    `transition_rate` for the conventions.
    """
    ends, time = _ends_and_time(dwells, convention)
    cell = dwells.individual * dwells.n_states + dwells.state
    shape = (dwells.n_individuals, dwells.n_states)
    size = dwells.n_individuals * dwells.n_states
    total_ends, total_time = np.bincount(cell, ends, size), np.bincount(cell, time, size)
    return _per_time(total_ends, total_time).reshape(shape)


def _ends_and_time(dwells: Dwells, convention: Convention) -> tuple[FloatArray, FloatArray]:
    """Count, for every stay, its ends and the seconds during which an end would have been seen."""
    if convention == "paper":
        return np.ones(len(dwells)), dwells.duration
    if convention == "censored":
        return (~dwells.ends_cut).astype(float), (dwells.n_steps - dwells.ends_cut) * dwells.step
    raise InputFormatError(f"convention={convention!r} is not known; use 'censored' or 'paper'.")


def _per_time(ends: Numbers, time: Numbers) -> FloatArray:
    """Divide ends by seconds; NaN where no time was observed."""
    return np.asarray(np.divide(ends, time, out=np.full(np.shape(time), np.nan), where=np.asarray(time) > 0))


def usual_units(dwells: Dwells) -> Over:
    """Take intervals over animals, or over blocks of time where there is one animal."""
    return "animals" if np.unique(dwells.individual).size > 1 else "blocks"


def units_of_dwells(dwells: Dwells, over: Over) -> IntArray:
    """Give every stay the number of the animal, block or event that it belongs to; those without stays have none."""
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
    """Which state follows which, waiting times left aside.

    Parameters
    ----------
    counts
        Jumps seen from each state (row) to each other.
    probabilities
        Of the next state; NaN in the rows of states that were never left.
    stationary
        Share of stays, not of time, in each state; zero outside the largest connected set, NaN when there is none.
    flux
        Jumps per second of observed time.
    step
        Seconds between two looks at the state.
    """

    counts: IntArray = array_field("from_state", "to_state")
    probabilities: FloatArray = array_field("from_state", "to_state")
    stationary: FloatArray = array_field("macrostate")
    flux: FloatArray = array_field("from_state", "to_state", unit="1/s")
    step: float

    def __post_init__(self) -> None:
        freeze_arrays(self)


def jump_chain(symbols: Symbols, step: float | None = None) -> JumpChain:
    """Count the jumps between states, none of them across a gap.

    Parameters
    ----------
    symbols
        States in time.
    step
        As in `find_dwells`; the paper looks at every frame (inset of Fig. 4c).
    """
    dwells = find_dwells(symbols, step)
    leaves = np.flatnonzero(~dwells.ends_cut)  # a stay that is not cut is followed by the next one of its run
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
    except ConnectivityError:  # no state was left and found again
        return np.full(len(counts), np.nan)
    law[chain.states] = chain.stationary
    return law


def time_budget(symbols: Symbols) -> FloatArray:
    """Share of each animal's time in every state; NaN for animals without any."""
    segments = symbols.segments
    known = segments.valid
    cell = segments.row_individual[known] * symbols.n_states + symbols.labels[known]
    frames = np.bincount(cell, minlength=segments.n_individuals * symbols.n_states)
    frames = frames.reshape(segments.n_individuals, symbols.n_states).astype(float)
    total = frames.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(frames, total, out=np.full(frames.shape, np.nan), where=total > 0))
