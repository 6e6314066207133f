"""The choice of K, N and τ by scores on held-out animals.

Entropy rates and scores at one lag grow with the length of sequences because neighbouring sequences overlap, and with
the number of microstates because fine partitions overfit. So two scores are computed on animals that were not used to
learn the microstates, and neither depends on K or N by construction: the information of the microstate about a fixed
block of the future, and the autocorrelation of its slow mode at lags at which no sequences overlap.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import brentq

from ethomarkov._core.interval import LEVEL, Interval, jackknife_interval
from ethomarkov._core.parallel import map_tasks
from ethomarkov._core.random import generator
from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.series import Series
from ethomarkov._core.showing import frame_of
from ethomarkov._core.types import FloatArray, IntArray, Progress
from ethomarkov._core.words import count_of
from ethomarkov.exceptions import EthomarkovError, SamplingError
from ethomarkov.markov.spectrum import slowest_time_by_unit
from ethomarkov.selection.folds import Folds, jackknife_error
from ethomarkov.selection.horizon import predictability_horizon
from ethomarkov.selection.trial import Scale, Trial, future_cells, label_by_others, try_candidate
from ethomarkov.states.delays import DelayEmbedding
from ethomarkov.states.symbols import Symbols

if TYPE_CHECKING:
    import pandas as pd

LONGEST_CHOSEN, FEWEST_FRAMES = 96, 2
"""Frames of the longest sequence that is tried: at most, and at least."""
RATIO = 2**0.5
"""Ratio between lengths that are tried."""
STATES_TRIED = (10, 18, 32, 56, 100, 178, 316, 562, 1000)
FIRST_STATES, ROWS_PER_STATE = 100, 100
"""Microstates with which lengths are compared: at most FIRST_STATES, and one per ROWS_PER_STATE sequences."""
FEWEST_VISITS = 50
"""Sequences per microstate, at least."""
SLOW_GAIN, SLOW_LOSS, KNOWN_LOSS = 0.03, 0.08, 0.02
"""Share of the best memory that a doubling of the sequence must gain; largest loss of it in all, and of the best
information."""
STATES_SLOW_LOSS, STATES_KNOWN_LOSS = 0.05, 0.05
"""The same for more microstates."""
LEAST_MEMORY, LEAST_OF_SLOWEST, ERRORS = 0.1, 1 / 2, 3.0
"""Least memory of a slow mode, the same as a share of the slowest mode's, and the number of standard errors by which it
must exceed zero."""
FLAT = 0.1
MOST_LAGS, FEWEST_LAGS = 32, 2
"""Lags within the slowest relaxation time: shorter lags include fast dynamics, longer ones lose most memory."""
REACHES_PER_TIME, SHRINKS, LEAST_OF_HORIZON = 2, 4, 1 / 6
"""Sequences are tried up to half of the decay time of the slow mode; the scale shrinks at most this often, to a sixth
of the horizon at least."""
FEWEST_SEQUENCES = 400
MOST_GROUPS = 12
"""Units that are left out for intervals of relaxation times; more are left out in groups."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice(Result):
    """The chosen sequence length, number of microstates and lag, with all that was compared and the reasons.

    Parameters
    ----------
    n_delays, n_states, lag
        The choice: frames per sequence, microstates, seconds. Chosen by the program or set by the user.
    slow_delays, predictive_delays
        Frames needed to resolve slow states, and frames needed for prediction; the longer of the two is chosen. Zero
        where nothing was compared.
    horizon
        Seconds over which a tenth of the variance of postures can be predicted.
    reach
        Seconds of the longest sequence that was tried.
    delays
        Frames per sequence that were tried.
    memory, memory_error
        Of each length: held-out autocorrelation of the slow modes defined by the other units, at lags at which no
        sequences overlap, corrected for averaging over a sequence, summed over the confirmed modes; and the standard
        error of its difference from the best.
    information, information_error
        Held-out information of the microstate about the same block of the future, in nats; and the same error.
    states
        Numbers of microstates that were tried, at the chosen length.
    states_memory, states_information
        Memory of the slowest mode alone, and information, for each number of microstates.
    lags, times, times_low, times_high
        Seconds; slowest relaxation time of the chain of all animals, and its interval over units.
    n_slow
        Slow modes confirmed by held-out units, of at most four.
    is_flat
        Whether the slowest relaxation time is steady from the lag on.
    over
        What was held out: "animals", or "blocks" of time where there are fewer than five.
    reason
        In a sentence for each of the three.
    warnings
        What a reader should know before relying on the choice.

    Examples
    --------
    >>> choice = choose_model(Series.from_rows(np.zeros((100, 2)), 16.0), fixed=Fixed(n_delays=4, n_states=8, lag=0.5))
    >>> choice.headline()
    'K = 4 frames, N = 8 microstates, τ = 0.5 s'
    >>> choice.is_slow, choice.verdict()
    (False, 'Nothing was compared.')
    >>> choice.table()
      parameter  candidate  chosen
    0         K        4.0    True
    1         N        8.0    True
    2         τ        0.5    True
    """

    n_delays: int
    n_states: int
    lag: float
    slow_delays: int
    predictive_delays: int
    horizon: float
    reach: float
    delays: IntArray = array_field("length")
    memory: FloatArray = array_field("length")
    memory_error: FloatArray = array_field("length")
    information: FloatArray = array_field("length", unit="nat")
    information_error: FloatArray = array_field("length", unit="nat")
    states: IntArray = array_field("number")
    states_memory: FloatArray = array_field("number")
    states_information: FloatArray = array_field("number", unit="nat")
    lags: FloatArray = array_field("lag", unit="s")
    times: FloatArray = array_field("lag", unit="s")
    times_low: FloatArray = array_field("lag", unit="s")
    times_high: FloatArray = array_field("lag", unit="s")
    n_slow: int
    is_flat: bool
    over: str
    reason: tuple[str, ...]
    warnings: tuple[str, ...]

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def is_slow(self) -> bool:
        """Whether a slow mode is confirmed by held-out units."""
        return self.n_slow > 0

    def explain(self) -> str:
        """Explain the choice in one sentence, and how to set it."""
        return (
            f"Used sequences of {count_of(self.n_delays, 'frame')}, {self.n_states} microstates and a lag of "
            f"{self.lag:.6g} s, because {'; '.join(self.reason)}. To do otherwise: --delays, --microstates, --lag."
        )

    def verdict(self) -> str:
        """Say in one sentence whether slow states can be expected."""
        if not self.delays.size:
            return "Nothing was compared."
        if not self.is_slow:
            return f"No slow mode is confirmed by held-out {self.over}."
        steady = "is steady from the lag on" if self.is_flat else "has no plateau: it still changes with the lag"
        return f"A slow mode is confirmed by held-out {self.over}; its relaxation time {steady}."

    def headline(self) -> str:
        """Give the sequence length, the number of microstates and the lag."""
        n_delays, n_states = count_of(self.n_delays, "frame"), count_of(self.n_states, "microstate")
        return f"K = {n_delays}, N = {n_states}, τ = {self.lag:.6g} s"

    def table(self) -> "pd.DataFrame":
        """List all candidates of K, N and τ with their scores, and which ones were chosen.

        Memory and information (nat) are held-out scores; the relaxation time is in seconds.
        """
        lengths = {"memory": self.memory, "information": self.information}
        numbers = {"memory": self.states_memory, "information": self.states_information}
        times = {"relaxation_time_s": self.times, "low_s": self.times_low, "high_s": self.times_high}
        parts = (
            ("K", self.delays, self.n_delays, lengths),
            ("N", self.states, self.n_states, numbers),
            ("τ", self.lags, self.lag, times),
        )
        return frame_of([row for part in parts for row in _candidate_rows(*part)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed:
    """Parameters that are set by the user; those that are None are chosen from the recording.

    Parameters
    ----------
    n_delays
        Frames per sequence, K.
    n_states
        Number of microstates, N.
    lag
        Lag τ in seconds.

    Examples
    --------
    >>> Fixed(lag=0.75).n_states is None
    True
    """

    n_delays: int | None = None
    n_states: int | None = None
    lag: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lengths:
    """Trials of all sequence lengths at one scale."""

    scale: Scale
    delays: tuple[int, ...]
    trials: list[Trial]
    time_frames: FloatArray
    folds: Folds

    def by_mode(self, weights: FloatArray | None = None) -> FloatArray:
        """Compute the memory of every length (row) and mode, corrected for averaging over a sequence."""
        raw = np.array([trial.memory(weights) for trial in self.trials])
        gains = [averaging_gain(np.array(self.delays), time) for time in self.time_frames.tolist()]
        return np.asarray(raw / np.stack(gains, axis=1))

    def memory(self, n_modes: int, weights: FloatArray | None = None) -> FloatArray:
        """Compute the memory of every length, summed over the slowest modes."""
        return np.asarray(self.by_mode(weights)[:, : max(n_modes, 1)].sum(axis=1))

    def information(self, weights: FloatArray | None = None) -> FloatArray:
        """Compute the information of every length."""
        return np.array([trial.nats(weights) for trial in self.trials])

    def memory_error(self, n_modes: int) -> FloatArray:
        """Estimate the standard error of the difference in memory between every length and the best."""
        best = int(self.memory(n_modes).argmax())
        return _paired_errors([self.memory(n_modes, w) for w in _left_out(self.folds.n_units)], best)

    def shortest_slow(self, n_slow: int) -> int:
        """Find the shortest sequence with which no number of slow modes, slowest first, loses memory; at least one.

        The slowest mode alone may be resolved by single frames where the next one, which separates two of three states,
        is not; the sum over modes would hide a loss of the slowest. Where single frames do not suffice, the next longer
        sequence is chosen: a sequence that is too short costs more than one that is a little too long.
        """
        first = max((self._first_without_gain(n) for n in range(1, n_slow + 1)), default=0)
        return self.delays[min(first + 1, len(self.delays) - 1) if first else 0]

    def _first_without_gain(self, n_modes: int) -> int:
        """Find the first length after which no doubling gains 3 % of the best memory, nor all of them 8 %.

        A gain below one standard error does not count. Gives the index of the length.
        """
        size, octave = self.memory(n_modes), np.log2(self.delays)
        without = np.array([self.memory(n_modes, w) for w in _left_out(self.folds.n_units)])
        gain = size - size[:, None]  # of the longer (column) over the shorter one
        error = jackknife_error(without[:, None, :] - without[:, :, None])
        enough = size.max() * np.minimum(SLOW_GAIN * np.maximum(1.0, octave - octave[:, None]), SLOW_LOSS)
        worth = (gain > np.maximum(error, enough)) & (octave > octave[:, None])
        return int(np.flatnonzero(~worth.any(axis=1))[0])

    def shorter_reach(self) -> float:
        """Compute half of the decay time of the slowest mode, or half of the reach where no mode is confirmed."""
        if not self.count_slow():
            return self.scale.reach / 2
        return float(self.time_frames[0]) / REACHES_PER_TIME

    def count_slow(self) -> int:
        """Count the modes, slowest first, whose memory is confirmed by held-out units."""
        sizes = self.by_mode()
        best = sizes.argmax(axis=0), np.arange(sizes.shape[1])
        errors = jackknife_error(np.array([self.by_mode(w)[best] for w in _left_out(self.folds.n_units)]))
        least = max(LEAST_MEMORY, LEAST_OF_SLOWEST * float(sizes[best][0]))
        real = sizes[best] > np.maximum(ERRORS * errors, least)
        return int(np.append(real, False).argmin())


def averaging_gain(n_frames: IntArray, time_frames: float) -> FloatArray:
    """Compute the factor by which averaging over a window raises the autocorrelation of an exponential decay.

    Parameters
    ----------
    n_frames
        Length of the window in frames.
    time_frames
        Decay time.

    Notes
    -----
    (sinh a / a)² / ((e^{−2a} − 1 + 2a) / 2a²) with a = w / 2T, at lags of at least w.

    Examples
    --------
    >>> averaging_gain(np.array([1]), 10.0)
    array([1.])
    """
    half = (np.asarray(n_frames, dtype=float) - 1) / (2 * time_frames)
    small = half < 1e-4
    a = np.where(small, 1.0, half)
    gain = (np.sinh(a) / a) ** 2 / ((np.exp(-2 * a) - 1 + 2 * a) / (2 * a**2))
    return np.asarray(np.where(small, 1 + 2 * half / 3, gain))


def choose_model(
    postures: Series,
    *,
    fixed: Fixed | None = None,
    seed: int = 0,
    threads: int = 1,
    progress: Progress | None = None,
) -> ModelChoice:
    """Choose the length of sequences, the number of microstates and the lag by scores on held-out animals.

    Parameters
    ----------
    postures
        Mode amplitudes of one animal or of many.
    fixed
        Parameters that are set by the user and not chosen.
    seed
        Random seed of trial microstates.
    threads, progress
        See `map_tasks`; the result does not depend on them.

    Notes
    -----
    All times are derived from the recording: sequences are tried up to the time over which postures can be predicted,
    or less where the slow mode decays faster than that. K is the longer of two: the shortest sequence after which no
    doubling adds 3 % of the best held-out memory, nor all of them 8 %, nor one standard error, and one step more
    unless that is a single frame; and the shortest whose information about the future is within one standard error or
    2 % of the best. N is the largest number with which neither score falls by more than 5 % (information: two standard
    errors, if that is more). τ is the shortest lag, no shorter than a sequence and than 1/32 of the slowest relaxation
    time of the chain of all animals, from which on that time changes by less than 10 %.

    Examples
    --------
    >>> postures = Series.from_rows(np.sin(np.arange(100.0)), 16.0)
    >>> choice = choose_model(postures, fixed=Fixed(lag=0.5))
    >>> choice.lag, choice.n_delays, len(choice.warnings)
    (0.5, 1, 1)
    """
    fixed = fixed or Fixed()
    if fixed.lag:
        postures.sampling.frames(fixed.lag, "lag")  # refused here, before anything long is computed
    if fixed.n_delays and fixed.n_states and fixed.lag:
        return _as_set(fixed.n_delays, fixed.n_states, fixed.lag, ("all three were set",))
    folds = Folds.from_segments(postures.segments)
    n_rows = int(postures.segments.count_rows().sum())
    if n_rows < FEWEST_SEQUENCES or folds.n_folds < 2:
        return _smallest(postures, fixed, n_rows)
    work = _Work(postures=postures, folds=folds, seed=seed, threads=threads, progress=progress)
    horizon = predictability_horizon(postures, folds)
    lengths = work.compare_lengths(horizon)
    return _conclude(work, fixed, lengths, horizon)


def _as_set(n_delays: int, n_states: int, lag: float, reason: tuple[str, ...], *warnings: str) -> ModelChoice:
    none, whole = np.empty(0), np.empty(0, dtype=np.int64)
    return ModelChoice(
        n_delays=n_delays,
        n_states=n_states,
        lag=lag,
        slow_delays=0,
        predictive_delays=0,
        horizon=float("nan"),
        reach=float("nan"),
        delays=whole,
        memory=none,
        memory_error=none,
        information=none,
        information_error=none,
        states=whole,
        states_memory=none,
        states_information=none,
        lags=none,
        times=none,
        times_low=none,
        times_high=none,
        n_slow=0,
        is_flat=False,
        over="",
        reason=reason,
        warnings=warnings,
    )


def _smallest(postures: Series, fixed: Fixed, n_rows: int) -> ModelChoice:
    """Choose the smallest model for a recording that is too short to compare anything."""
    n_delays = fixed.n_delays or 1
    n_states = fixed.n_states or max(2, min(STATES_TRIED[0], n_rows // FEWEST_VISITS))
    lag = fixed.lag or n_delays / postures.sampling.rate
    warning = f"{n_rows} frames are too few for a comparison: the smallest model was chosen, and nothing confirms it."
    return _as_set(n_delays, n_states, lag, ("the recording is too short to compare others",), warning)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    """A recording, and the settings of the comparison."""

    postures: Series
    folds: Folds
    seed: int
    threads: int
    progress: Progress | None

    def compare_lengths(self, horizon: int) -> _Lengths:
        """Compare sequences of all lengths; again on a shorter scale where the slow mode is faster or not confirmed."""
        longest = max(1, self.postures.segments.longest() // 8)
        reach = max(1, min(max(horizon, FEWEST_FRAMES), LONGEST_CHOSEN, longest))
        least = max(FEWEST_FRAMES, round(LEAST_OF_HORIZON * horizon))
        lengths = self._at_scale(Scale.from_reach(reach))
        for _ in range(SHRINKS):
            shorter = max(least, round(lengths.shorter_reach()))
            if shorter >= reach:
                break
            reach = shorter
            lengths = self._at_scale(Scale.from_reach(reach))
        return lengths

    def _at_scale(self, scale: Scale) -> _Lengths:
        delays = _geometric(scale.reach)
        n_rows = int(self.postures.segments.count_rows().sum())
        n_states = max(2, min(FIRST_STATES, n_rows // ROWS_PER_STATE))
        trials = self.trials(scale, [(n_delays, n_states) for n_delays in delays], "sequence lengths")
        best = np.array([trial.memory() for trial in trials]).argmax(axis=0)
        times = [
            _decay_frames(float(trials[k].memory()[mode]), delays[k], scale) for mode, k in enumerate(best.tolist())
        ]
        return _Lengths(scale=scale, delays=delays, trials=trials, time_frames=np.array(times), folds=self.folds)

    def trials(self, scale: Scale, candidates: Sequence[tuple[int, int]], what: str) -> list[Trial]:
        """Score candidates in parallel."""
        future = future_cells(self.postures, self.folds, scale.block, self.seed)
        return list(
            map_tasks(
                lambda one: try_candidate(self.postures, self.folds, scale, one, self.seed, future=future),
                candidates,
                threads=self.threads,
                progress=self.progress,
                what=what,
            )
        )


def _geometric(most: int) -> tuple[int, ...]:
    n = int(np.floor(np.log(most) / np.log(RATIO) + 1e-9)) + 1
    return tuple(sorted({round(RATIO**k) for k in range(n)} | {most}))


def _decay_frames(left: float, n_frames: int, scale: Scale) -> float:
    """Compute the decay time of a slow mode from its memory at the far lags, corrected for averaging over a sequence.

    The slope of its autocorrelation would be noisier, because little memory is left at these lags.
    """
    lag = float(np.mean(scale.far[:-1]))
    if left <= 0:
        return float(scale.reach)
    shortest, longest = np.log(lag / 20), np.log(100 * lag)

    def excess(log_time: float) -> float:
        time = np.exp(log_time)
        return float(np.exp(-lag / time) * averaging_gain(np.array([n_frames]), time)[0]) - left

    if excess(longest) <= 0:
        return 100 * lag
    return float(np.exp(brentq(excess, shortest, longest))) if excess(shortest) < 0 else lag / 20


def _left_out(n_units: int) -> FloatArray:
    return np.ones((n_units, n_units)) - np.eye(n_units)


def _paired_errors(values: Sequence[FloatArray], best: int) -> FloatArray:
    """Estimate standard errors of the differences from the best, from values with each unit left out."""
    table = np.array(values)
    return jackknife_error(table[:, [best]] - table)


def _shortest_as_good(score: FloatArray, error: FloatArray, loss: float) -> int:
    """Find the first that is worse than the best by at most one standard error, or a share of it."""
    best = float(score.max())
    return int(np.flatnonzero(best - score <= np.maximum(error, loss * abs(best)))[0])


def _conclude(work: _Work, fixed: Fixed, lengths: _Lengths, horizon: int) -> ModelChoice:
    rate, folds = work.postures.sampling.rate, work.folds
    n_slow = lengths.count_slow()
    is_slow = n_slow > 0
    memory, information = lengths.memory(n_slow), lengths.information()
    without = _left_out(folds.n_units)
    memory_error = lengths.memory_error(n_slow)
    information_error = _paired_errors([lengths.information(w) for w in without], int(information.argmax()))
    slow = lengths.shortest_slow(n_slow)
    predictive = lengths.delays[_shortest_as_good(information, information_error, KNOWN_LOSS)]
    n_delays = fixed.n_delays or max(slow, predictive)
    numbers, trials = _compare_numbers(work, fixed, lengths.scale, n_delays)
    n_states = fixed.n_states or numbers[_largest_as_good(trials, folds, is_slow)]
    times = _times_against_lag(work, n_delays, n_states, lengths.scale)
    frames, is_flat = _first_flat(times, lengths.scale.reach, rate)
    lag = fixed.lag or frames / rate
    reasons = (
        _reason_of_length(fixed, slow, predictive, rate, is_slow, folds.over),
        _reason_of_number(fixed, numbers, folds.over),
        _reason_of_lag(fixed, times, lag, is_flat),
    )
    return ModelChoice(
        n_delays=n_delays,
        n_states=n_states,
        lag=lag,
        slow_delays=slow if is_slow else 0,
        predictive_delays=predictive,
        horizon=horizon / rate,
        reach=lengths.scale.reach / rate,
        delays=np.array(lengths.delays),
        memory=memory,
        memory_error=memory_error,
        information=information,
        information_error=information_error,
        states=np.array(numbers),
        states_memory=np.array([trial.memory()[0] for trial in trials]),
        states_information=np.array([trial.nats() for trial in trials]),
        lags=np.array([lag for lag, _ in times]) / rate,
        times=np.array([found.estimate for _, found in times]),
        times_low=np.array([found.low for _, found in times]),
        times_high=np.array([found.high for _, found in times]),
        n_slow=n_slow,
        is_flat=is_flat,
        over=folds.over,
        reason=reasons,
        warnings=tuple(_warnings(work, is_slow, float(memory.max()), is_flat, (slow, predictive), n_states)),
    )


# --- number of microstates --------------------------------------------------------------------------------------------


def _compare_numbers(work: _Work, fixed: Fixed, scale: Scale, n_delays: int) -> tuple[tuple[int, ...], list[Trial]]:
    n_rows = work.postures.segments.window_starts(n_delays).size
    if n_rows == 0:
        longest = work.postures.segments.longest()
        raise SamplingError(
            f"n_delays={n_delays} leaves no sequence: the longest gap-free stretch is {longest} frames. "
            f"Use at most {longest}, or fill short gaps first."
        )
    most = max(2, n_rows // FEWEST_VISITS)
    numbers = tuple(n for n in STATES_TRIED if n <= most) or (most,)
    if fixed.n_states:
        numbers = (fixed.n_states,) if fixed.n_states <= most else (most,)
    return numbers, work.trials(scale, [(n_delays, n) for n in numbers], "microstates")


def _largest_as_good(trials: Sequence[Trial], folds: Folds, is_slow: bool) -> int:
    """Find the index of the largest number that loses neither memory nor information."""
    information = np.array([trial.nats() for trial in trials])
    best = int(information.argmax())
    errors = _paired_errors([np.array([t.nats(w) for t in trials]) for w in _left_out(folds.n_units)], best)
    good = information[best] - information <= np.maximum(2 * errors, STATES_KNOWN_LOSS * abs(information[best]))
    if is_slow:
        memory = np.array([trial.memory()[0] for trial in trials])
        good &= memory >= (1 - STATES_SLOW_LOSS) * memory.max()
    return int(np.flatnonzero(good)[-1]) if good.any() else best


# --- lag --------------------------------------------------------------------------------------------------------------


def _times_against_lag(work: _Work, n_delays: int, n_states: int, scale: Scale) -> list[tuple[int, Interval]]:
    """Estimate the slowest relaxation time of all animals against the lag, from one sequence to four reaches."""
    sequences = DelayEmbedding(n_delays).transform(work.postures)
    n_states = min(n_states, int(sequences.segments.count_rows().sum()))
    everything = np.ones(len(sequences.values), dtype=bool)
    labels = label_by_others(sequences, everything, n_states, generator(work.seed, "lag", n_delays, n_states))
    symbols = Symbols(labels=labels, n_states=n_states, segments=sequences.segments, sampling=work.postures.sampling)
    longest = max(n_delays, sequences.segments.longest() // 4)
    most = min(max(2 * scale.reach, 4 * n_delays), longest)
    frames = np.unique(np.geomspace(n_delays, max(most, n_delays), 10).round().astype(int)).tolist()
    found = map_tasks(
        lambda lag: _time_at(symbols, work.folds, lag),
        frames,
        threads=work.threads,
        progress=work.progress,
        what="lags",
    )
    return list(zip(frames, found, strict=True))


def _time_at(symbols: Symbols, folds: Folds, lag: int) -> Interval:
    """Estimate the slowest relaxation time at a lag, with its interval over units or groups of them."""
    from scipy import sparse

    n_groups = min(folds.n_units, MOST_GROUPS)
    first, last = folds.pairs(symbols.segments, lag)
    group = folds.unit[first] % n_groups
    shape = (symbols.n_states, symbols.n_states)
    parts = [
        sparse.coo_array(
            (np.ones(int(own.sum())), (symbols.labels[first[own]], symbols.labels[last[own]])), shape=shape
        ).tocsr()
        for own in (group == k for k in range(n_groups))
    ]
    try:
        estimate, left_out = slowest_time_by_unit(parts, lag / symbols.sampling.rate)
    except EthomarkovError:  # nothing is connected at this lag
        estimate, left_out = float("nan"), np.full(n_groups, np.nan)
    if not np.isfinite(estimate):
        return Interval(estimate=estimate, low=np.nan, high=np.nan, level=LEVEL, over=folds.over, n=n_groups)
    return jackknife_interval(estimate, left_out, folds.over)


def _first_flat(times: Sequence[tuple[int, Interval]], reach: int, rate: float) -> tuple[int, bool]:
    """Find the first lag from which on the time is steady over a doubling, and as far as the longest sequence."""
    lags = np.array([lag for lag, _ in times])
    values = np.array([found.estimate for _, found in times])
    long_enough = ~(lags / rate < values / MOST_LAGS)
    first = int(long_enough.argmax()) if long_enough.any() else 0
    for k in range(first, lags.size):
        lag = int(lags[k])
        near = (lags >= lag) & (lags <= max(2 * lag, reach))
        if lags[-1] < 2 * lag * (1 - 1e-9) or not np.isfinite(values[near]).all():
            break
        if k > first and lag / rate > values[k] / FEWEST_LAGS:
            break
        if np.abs(values[near] / values[near][-1] - 1).max() <= FLAT:
            return lag, True
    return int(lags[first]), False


# --- words and rows ---------------------------------------------------------------------------------------------------


def _candidate_rows(
    parameter: str, candidates: FloatArray | IntArray, chosen: float, scores: dict[str, FloatArray]
) -> list[dict[str, object]]:
    """List the candidates of one parameter; the chosen value alone where it was not compared."""
    values = [float(value) for value in candidates]
    rows = [
        {"parameter": parameter, "candidate": value, "chosen": bool(np.isclose(value, chosen))}
        | {name: float(column[k]) for name, column in scores.items()}
        for k, value in enumerate(values)
    ]
    is_listed = any(row["chosen"] for row in rows)
    return rows if is_listed else [*rows, {"parameter": parameter, "candidate": float(chosen), "chosen": True}]


def _reason_of_length(fixed: Fixed, slow: int, predictive: int, rate: float, is_slow: bool, over: str) -> str:
    if fixed.n_delays:
        return f"the length was set (prediction needs {predictive / rate:.3g} s, slow states need {slow / rate:.3g} s)"
    if not is_slow:
        return f"longer sequences than {predictive / rate:.3g} s do not predict held-out {over} better"
    longer = "slow states need" if slow > predictive else "prediction needs"
    both = "both need this length" if slow == predictive else f"{longer} the longer one, which is chosen"
    return (
        f"on held-out {over}, sequences of {slow / rate:.3g} s resolve the slow mode and sequences of "
        f"{predictive / rate:.3g} s predict as well as any ({both})"
    )


def _reason_of_number(fixed: Fixed, numbers: Sequence[int], over: str) -> str:
    if fixed.n_states:
        return "the number of microstates was set"
    return (
        f"of {numbers[0]} to {numbers[-1]} microstates it is the largest number that loses nothing on held-out {over}"
    )


def _reason_of_lag(fixed: Fixed, times: Sequence[tuple[int, Interval]], lag: float, is_flat: bool) -> str:
    if fixed.lag:
        return "the lag was set"
    if is_flat:
        return f"from {lag:.3g} s on the slowest relaxation time changes by less than 10 %"
    return "the slowest relaxation time has no plateau, so that the shortest lag was chosen"


def _warnings(
    work: _Work, is_slow: bool, size: float, is_flat: bool, lengths: tuple[int, int], n_states: int
) -> list[str]:
    found = []
    if not is_slow:
        found.append(
            f"No slow mode is confirmed by held-out {work.folds.over} (memory {size:.2f}): expect no slow states."
        )
    elif not is_flat:
        found.append("The slowest relaxation time still changes with the lag: it is not yet a property of the animal.")
    slow, predictive = lengths
    if is_slow and max(slow, predictive) > 2 * min(slow, predictive):
        found.append(
            f"Slow states need {slow} frames and prediction needs {predictive}: one model does not serve both equally."
        )
    visits = int(work.postures.segments.count_rows().sum()) // n_states
    if n_states < FIRST_STATES // 2:
        found.append(f"A small model: {n_states} microstates, each visited {visits:,} times; more data allow more.")
    if work.folds.over == "blocks":
        found.append("Fewer than five animals: blocks of time were held out, which say nothing about other animals.")
    return found
