"""The choice of K, N and τ from tables, with the same criteria for new scans and for published ones."""

from dataclasses import dataclass

import numpy as np

from ethomarkov._core.interval import Interval, bootstrap_interval
from ethomarkov._core.random import Rng, as_generator
from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.types import FloatArray, IntArray
from ethomarkov._core.words import count_of
from ethomarkov.exceptions import InputFormatError

FLAT_TOLERANCE = 0.1
SMALL_GAIN = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class EntropyTable(Result):
    """Entropy rates over sequence lengths and numbers of microstates.

    Parameters
    ----------
    n_delays
        Frames per sequence, K, ascending.
    n_states
        Microstates, N, ascending.
    entropy_rate
        Nats per second, ``(K, N, animals)``; NaN where there were too few data.
    entropy
        Entropy of the stationary law in nats, same shape.
    interval
        Seconds between frames.
    sequences
        Sequences of each animal at the shortest K.
    scope
        "per animal" when every animal had a partition of its own, "pooled" when all shared one.
    """

    n_delays: IntArray = array_field("n_delays")
    n_states: IntArray = array_field("n_states")
    entropy_rate: FloatArray = array_field("n_delays", "n_states", "individual", unit="nat/s")
    entropy: FloatArray = array_field("n_delays", "n_states", "individual", unit="nat")
    interval: float
    sequences: IntArray = array_field("individual")
    scope: str

    def __post_init__(self) -> None:
        shape = (len(self.n_delays), len(self.n_states))
        if self.entropy_rate.shape[:2] != shape or self.entropy.shape != self.entropy_rate.shape:
            raise InputFormatError(
                f"The table has shape {self.entropy_rate.shape}; {(*shape, 'animals')} is needed, one row per K."
            )
        freeze_arrays(self)

    @property
    def predictive_information(self) -> FloatArray:
        """H − h δt in nats: the information of a state about the next frame."""
        information: FloatArray = self.entropy - self.entropy_rate * self.interval
        return information

    def mean_rate(self) -> FloatArray:
        """Average the entropy rate over animals, corrected for missing cells; NaN where no animal has an estimate.

        Animals with little data lack the finest partitions. So that their absence does not shift the mean, each animal
        counts by its difference from its own mean over the cells that it has, added to the mean over all animals.
        """
        known = np.isfinite(self.entropy_rate)
        counted = known.sum(axis=2)
        cells = np.maximum(known.sum(axis=(0, 1)), 1)
        level = np.nansum(self.entropy_rate, axis=(0, 1)) / cells
        shared = known.all(axis=2)
        if shared.any():  # the cells that all animals have make a fair comparison of their levels
            level = self.entropy_rate[shared].mean(axis=0)
        seen = known.any(axis=(0, 1))
        difference = np.nansum(np.where(known, self.entropy_rate - level, 0.0), axis=2) / np.maximum(counted, 1)
        overall = level[seen].mean() if seen.any() else np.nan
        mean: FloatArray = np.where(counted > 0, overall + difference, np.nan)
        return mean

    def gain(self, n_states: int) -> FloatArray:
        """Compute the fall of the entropy rate from each K to the next, in nats per second and second, by animal."""
        found = np.flatnonzero(self.n_states == n_states)
        if not found.size:
            raise InputFormatError(f"N = {n_states} is not in the table; there are {self.n_states.tolist()}.")
        column = int(found[0])
        step = np.diff(self.n_delays)[:, None] * self.interval
        fall: FloatArray = -np.diff(self.entropy_rate[:, column], axis=0) / step
        return fall

    def headline(self) -> str:
        """Give the range of sequence lengths and numbers of microstates."""
        if not (self.n_delays.size and self.n_states.size):
            return "empty"
        return (
            f"K = {self.n_delays.min()} to {self.n_delays.max()} frames, N = {self.n_states.min()} to "
            f"{self.n_states.max()} microstates, {count_of(self.entropy_rate.shape[-1], 'animal')}, {self.scope}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice(Result):
    """A chosen number, and the reason for it.

    Parameters
    ----------
    value
        The chosen number.
    reason
        In words.
    warnings
        What a reader should know before relying on it.
    """

    value: float
    reason: str
    warnings: tuple[str, ...] = ()

    def headline(self) -> str:
        """Give the chosen number."""
        return f"{self.value:g}"


def choose_n_states(table: EntropyTable) -> Choice:
    """Choose the number of microstates: the largest N before finite data bend the entropy rate down.

    Finer partitions resolve more, so the entropy rate grows with N; once microstates are visited too rarely, their
    unobserved transitions make it fall. The maximum over N is taken for every K, and the most frequent one is chosen.

    Notes
    -----
    Main text, "maximum entropy partitioning".
    """
    mean = table.mean_rate()
    tried = np.isfinite(mean).any(axis=1)
    if not tried.any():
        raise InputFormatError("The table holds no entropy rate; scan more data, or fewer microstates.")
    best = np.nanargmax(mean[tried], axis=1)
    votes = np.bincount(best, minlength=len(table.n_states))
    chosen = int(np.flatnonzero(votes == votes.max())[-1])
    n_states = int(table.n_states[chosen])
    visits = float(np.mean(table.sequences)) / n_states
    reason = (
        f"N = {n_states}: for {votes[chosen]} of {len(best)} sequence lengths the entropy rate is largest there "
        f"({np.nanmax(mean[:, chosen]):.3g} nat/s at most); an animal visits a microstate {visits:.0f} times on "
        "average."
    )
    return Choice(value=n_states, reason=reason, warnings=_state_warnings(table, chosen))


def _state_warnings(table: EntropyTable, chosen: int) -> tuple[str, ...]:
    with_data = np.flatnonzero(np.isfinite(table.entropy_rate).any(axis=(0, 2)))
    if chosen == with_data[-1]:
        return (
            f"The entropy rate still grows at the largest N tried ({table.n_states[chosen]}); try more microstates.",
        )
    if chosen == 0:
        frames = int(np.mean(table.sequences) * table.n_states[1] / table.n_states[0])
        return (
            f"The entropy rate falls from the smallest N tried ({table.n_states[0]}) on: too little data. About "
            f"{frames:,} sequences per animal would allow {table.n_states[1]} microstates.",
        )
    return ()


def choose_n_delays(table: EntropyTable, n_states: int, *, rng: Rng = 0) -> Choice:
    """Choose the sequence length: the first K from which two further steps gain next to nothing.

    The gain of each step is averaged over animals with its 95 % bootstrap interval. A step gains nothing when its
    interval contains zero, or when it gains less than a tenth of the best step; two such steps in a row make a plateau,
    so that one step that is small by chance does not end the scan.

    Notes
    -----
    SI, "Maximally predictive states": ∂_K h(K*) ~ 0, Fig. S1(a).
    """
    gains = [gain for gain in gain_intervals(table, n_states, rng=rng) if gain.n]
    if not gains:
        only = int(table.n_delays[0])
        return Choice(
            value=only,
            reason=f"K = {only}: no other sequence length can be compared with it.",
            warnings=("Nothing is known of longer sequences: there is no plateau to be seen.",),
        )
    best = max((gain.estimate for gain in gains), default=0.0)
    flat = np.array([not gain.low > 0 or gain.estimate < SMALL_GAIN * best for gain in gains])
    plateau = np.flatnonzero(flat & np.append(flat[1:], True)) if gains else np.array([], dtype=int)
    if plateau.size == 0:
        last = int(table.n_delays[len(gains)])
        return Choice(
            value=last,
            reason=f"K = {last}, the longest tried: every further frame still lowers the entropy rate.",
            warnings=("There is no plateau: try longer sequences.",),
        )
    first = int(plateau[0])
    n_delays = int(table.n_delays[first])
    reason = (
        f"K = {n_delays} frames ({n_delays * table.interval:.3g} s): a further frame lowers the entropy rate by "
        f"{gains[first]} nat/s per second of sequence, against {best:.3g} for the best step."
    )
    return Choice(value=n_delays, reason=reason, warnings=_delay_warnings(table, first, gains))


def _delay_warnings(table: EntropyTable, first: int, gains: list[Interval]) -> tuple[str, ...]:
    found = []
    if gains[first].n < 2:
        found.append("One animal: no interval over animals, so only the size of the gain was looked at.")
    if first == 0 and table.n_delays[0] == 1:
        found.append("Single frames predict as well as sequences: check that the frame rate is not too low.")
    return tuple(found)


def gain_intervals(table: EntropyTable, n_states: int, *, rng: Rng = 0) -> list[Interval]:
    """Average the gain of each further frame over animals, with its interval (Fig. S1a)."""
    rng = as_generator(rng)
    intervals = [bootstrap_interval(row, "animals", rng=rng) for row in table.gain(n_states)]
    # A single animal has no interval: its gain counts as it is.
    return [
        gain
        if np.isfinite(gain.low)
        else Interval(
            estimate=gain.estimate, low=gain.estimate, high=gain.estimate, level=gain.level, over=gain.over, n=gain.n
        )
        for gain in intervals
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class LagTable(Result):
    """Relaxation times of the slowest mode against the lag.

    Parameters
    ----------
    lags
        Seconds, ascending.
    relaxation_times
        Seconds, ``(lags, animals)``; NaN where undefined.
    """

    lags: FloatArray = array_field("lag", unit="s")
    relaxation_times: FloatArray = array_field("lag", "individual", unit="s")

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def intervals(self, *, rng: Rng = 0) -> list[Interval]:
        """Average over animals at every lag, with its bootstrap interval."""
        rng = as_generator(rng)
        return [bootstrap_interval(row, "animals", rng=rng) for row in self.relaxation_times]


def choose_lag(table: LagTable, *, rng: Rng = 0) -> Choice:
    """Choose the transition time: the shortest lag at which the slowest relaxation time has reached its plateau.

    Too short a lag overestimates the time (the partition is coarse), too long a lag makes it grow in proportion
    (everything is mixed). Its minimum in between is the plateau; the chosen lag is the shortest whose mean over animals
    comes within 10 % of it.

    Notes
    -----
    SI, "Choice of transition time τ*".
    """
    intervals = table.intervals(rng=rng)
    mean = np.array([found.estimate for found in intervals])
    usable = np.flatnonzero(np.isfinite(mean) & (mean > table.lags))
    if usable.size < 3:
        shortest = float(table.lags[0])
        return Choice(
            value=shortest,
            reason=f"τ = {shortest:g} s, the shortest tried: the slow mode decays within a lag everywhere.",
            warnings=("No relaxation time exceeds its lag; use shorter lags, more data or fewer microstates.",),
        )
    lowest = usable[mean[usable].argmin()]
    level = float(mean[lowest])
    chosen = next(i for i in usable if mean[i] <= (1 + FLAT_TOLERANCE) * level)
    reason = (
        f"τ = {table.lags[chosen]:.3g} s: the slowest relaxation time there, {intervals[chosen]} s, is within 10 % of "
        f"its plateau of {level:.3g} s (at {table.lags[lowest]:.3g} s), and at no shorter lag."
    )
    still_falls = ("The slowest relaxation time still falls at the longest usable lag: try longer ones.",)
    only_grows = (
        "The slowest relaxation time is smallest at the shortest lag and grows from there: look at the curve.",
    )
    warnings = still_falls if lowest == usable[-1] else only_grows if lowest == usable[0] else ()
    return Choice(value=float(table.lags[chosen]), reason=reason, warnings=warnings)
