"""Is behaviour stationary? The rate of entering a state as time goes by."""

from dataclasses import dataclass

import numpy as np

from ethomarkov._core.interval import Interval, interval_of_mean, mean_band
from ethomarkov._core.random import Rng, as_generator
from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.segments import Segments
from ethomarkov._core.types import BoolArray, FloatArray, IntArray
from ethomarkov._core.words import count_of
from ethomarkov.coarse.kinetics import find_dwells
from ethomarkov.exceptions import SamplingError
from ethomarkov.states.symbols import Symbols

LEAST_OBSERVED = 0.2  # share of a window that must have been seen for its rate to mean something
LEAST_WINDOWS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryRate(Result):
    """How often a state was entered, in windows of time.

    Parameters
    ----------
    starts
        Seconds from the start of each recording to the start of the windows.
    window
        Seconds of a window.
    counts
        Entries that were seen, of each animal in each window.
    observed
        Seconds in which an entry would have been seen.
    state
        Index of the state that was entered.
    individuals
        Names of the animals or runs.
    over
        What the rows are, in words: "animals" or "runs".

    Examples
    --------
    >>> from ethomarkov.synthetic import hopping_chain
    >>> states = hopping_chain([[0.9, 0.1], [0.2, 0.8]], 3000, n_walks=2, rate=10.0, rng=1)
    >>> entry_rate(states, 1, window=100.0, step=50.0).headline()
    '2 animals, 5 windows of 1.67 min'
    """

    starts: FloatArray = array_field("window", unit="s")
    window: float
    counts: IntArray = array_field("unit", "window")
    observed: FloatArray = array_field("unit", "window", unit="s")
    state: int
    individuals: tuple[str, ...]
    over: str

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def centres(self) -> FloatArray:
        """Middle of every window in seconds."""
        return self.starts + self.window / 2

    @property
    def rate(self) -> FloatArray:
        """Entries per observed minute, of each animal in each window; NaN where less than a fifth was observed."""
        seen = self.observed >= LEAST_OBSERVED * self.window
        rate: FloatArray = np.divide(
            60.0 * self.counts, self.observed, out=np.full(self.observed.shape, np.nan), where=seen
        )
        return rate

    def mean_band(
        self, level: float = 0.95, *, size: int | None = None, rng: Rng = 0
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Average the rate over animals or runs in every window, with an interval; see `mean_band`."""
        return mean_band(self.rate, level, scale="positive", size=size, rng=rng)

    def headline(self) -> str:
        """Give the number of rows and windows."""
        windows = count_of(self.starts.size, "window")
        rows = count_of(len(self.individuals), self.over.removesuffix("s"))
        return f"{rows}, {windows} of {self.window / 60:.3g} min"


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift(Result):
    """Drift of a rate: a straight line through the rates of each animal, and whether its slope may be chance.

    Parameters
    ----------
    slope
        Change of the rate of each animal, entries per minute per hour; NaN with fewer than three windows.
    interval
        Mean slope, with its interval over animals.
    first, last
        Mean rate that the lines have in the middle of the first and of the last window, per minute.
    p_value
        Share of time-shuffled recordings whose mean slope is at least as steep, up or down.
    n_shuffles
        Number of shuffled recordings behind the p-value.
    n_windows
        Number of windows that do not overlap, to which the lines were fitted.

    Examples
    --------
    >>> from ethomarkov.synthetic import hopping_chain
    >>> states = hopping_chain([[0.9, 0.1], [0.2, 0.8]], 3000, n_walks=2, rate=10.0, rng=1)
    >>> drift(entry_rate(states, 1, window=50.0, step=50.0), n_shuffles=100, rng=1).n_windows
    6
    """

    slope: FloatArray = array_field("unit", unit="1/min/h")
    interval: Interval
    first: float
    last: float
    p_value: float
    n_shuffles: int
    n_windows: int

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def headline(self) -> str:
        """Give the mean slope and its p-value."""
        if np.isnan(self.p_value):
            return "too few windows to tell"
        return f"{self.interval.estimate:+.2g} per minute per hour, p = {self.p_value:.2g}"

    @property
    def sentence(self) -> str:
        """Say in a sentence whether the rate drifts."""
        if np.isnan(self.p_value):
            return "Too few windows were observed to tell whether the rate drifts."
        found = f"from {self.first:.2g} to {self.last:.2g} per minute"
        test = f"p = {self.p_value:.2g}, windows shuffled in time within {count_of(self.interval.n, 'recording')}"
        if self.p_value >= 0.05:
            return f"No drift of the rate can be told from chance ({found}; {test})."
        verb = "falls" if self.interval.estimate < 0 else "rises"
        return f"The rate {verb} {found} ({test}): more than chance would give if behaviour were stationary."


def entry_rate(
    symbols: Symbols,
    state: int,
    window: float = 300.0,
    step: float = 150.0,
    *,
    shortest: float = 0.0,
    over: str = "animals",
) -> EntryRate:
    """Count how often a state is entered in sliding windows, per animal.

    Parameters
    ----------
    symbols
        State sequences, such as runs and pirouettes.
    state
        Whose entries are counted.
    window, step
        Seconds of a window, and from one window to the next.
    shortest
        Shortest dwell time in seconds that counts. Use the lag of the chain, which sees no shorter ones.
    over
        What the individuals are: "animals" or "runs".

    Notes
    -----
    Fig. S10. A dwell counts where it begins. The published rates divide by the whole window whatever was missing; here
    a frame counts as observed if an entry at it would have been seen: the frame before and the shortest dwell from it
    on lie in the same gap-free run. So gaps neither lower nor raise the rate.

    Examples
    --------
    >>> from ethomarkov.synthetic import hopping_chain
    >>> states = hopping_chain([[0.9, 0.1], [0.2, 0.8]], 3000, n_walks=2, rate=10.0, rng=1)
    >>> rates = entry_rate(states, 1, window=100.0, step=50.0)
    >>> rates.rate.shape, bool(abs(rates.rate.mean() - 40) < 5)  # 0.067 entries per frame, 40 per minute
    ((2, 5), True)
    """
    shortest_frames = symbols.sampling.nearest_frames(shortest, "shortest") if shortest > 0 else 1
    window_frames = symbols.sampling.nearest_frames(window, "window")
    step_frames = symbols.sampling.nearest_frames(step, "step")
    watched = symbols.segments.trim(1, shortest_frames - 1)
    longest = int(np.diff(symbols.segments.offsets).max())
    if longest < window_frames:
        raise SamplingError(
            f"window={window:g} s is longer than the longest recording, {symbols.sampling.seconds(longest):g} s. "
            "Use a shorter window."
        )
    starts = np.arange(0, longest - window_frames + 1, step_frames)
    entered = _entry_rows(symbols, state, shortest_frames, watched)
    events = np.zeros(symbols.segments.n_rows, dtype=np.int64)
    events[entered] = 1
    return EntryRate(
        starts=starts / symbols.sampling.rate,
        window=symbols.sampling.seconds(window_frames),
        counts=_sum_windows(events, symbols.segments, starts, window_frames),
        observed=_sum_windows(watched.valid, symbols.segments, starts, window_frames) / symbols.sampling.rate,
        state=state,
        individuals=symbols.segments.individuals,
        over=over,
    )


def drift(rates: EntryRate, *, n_shuffles: int = 2000, rng: Rng = 0) -> Drift:
    """Test whether a rate drifts with time.

    Parameters
    ----------
    rates
        In windows; of overlapping ones only those are used that do not overlap.
    n_shuffles
        Number of recordings with windows in random order, which give the null distribution.
    rng
        Seed or generator.

    Notes
    -----
    If behaviour is stationary and forgets within a window, windows of one animal may be exchanged, and the mean slope
    of shuffled recordings is what chance gives. Differences between animals do not matter, since windows stay with
    their animal. The interval is over animals and is NaN for a single one; the test needs no second animal.

    Examples
    --------
    >>> from ethomarkov.synthetic import hopping_chain
    >>> states = hopping_chain([[0.9, 0.1], [0.2, 0.8]], 3000, n_walks=2, rate=10.0, rng=1)
    >>> found = drift(entry_rate(states, 1, window=50.0, step=50.0), n_shuffles=100, rng=1)
    >>> found.slope.shape, found.p_value > 0.01
    ((2,), True)
    """
    random = as_generator(rng)
    apart = _separate_windows(rates)
    minutes, table = rates.centres[apart] / 60.0, rates.rate[:, apart]
    slope, level = _fit_lines(minutes, table)
    fitted = np.isfinite(slope)
    if not fitted.any():
        nothing = interval_of_mean(slope, rates.over, scale="signed")
        return Drift(
            slope=slope, interval=nothing, first=np.nan, last=np.nan, p_value=np.nan, n_shuffles=0, n_windows=apart.size
        )
    first, last = (float((level + slope * at)[fitted].mean()) for at in (minutes[0], minutes[-1]))
    chance = np.mean([_shuffled_slopes(minutes, row, n_shuffles, random) for row in table[fitted]], axis=0)
    # a shuffle in the recorded order ties with the data, whatever the rounding
    steep = np.abs(chance) >= np.abs(slope[fitted].mean()) - 1e-9 * np.abs(slope[fitted]).max()
    return Drift(
        slope=60.0 * slope,
        interval=interval_of_mean(60.0 * slope, rates.over, scale="signed"),
        first=first,
        last=last,
        p_value=float((1 + steep.sum()) / (1 + n_shuffles)),
        n_shuffles=n_shuffles,
        n_windows=apart.size,
    )


def _entry_rows(symbols: Symbols, state: int, shortest_frames: int, watched: Segments) -> IntArray:
    """Rows at which a long enough dwell was seen to begin."""
    dwells = find_dwells(symbols).in_state(state)
    first = np.rint(dwells.start * symbols.sampling.rate).astype(np.int64) + symbols.segments.offsets[dwells.individual]
    rows: IntArray = first[(dwells.n_steps >= shortest_frames) & watched.valid[first]]
    return rows


def _sum_windows(flags: IntArray | BoolArray, segments: Segments, starts: IntArray, window_frames: int) -> IntArray:
    """Sum flags of frames in every window of every individual; nothing is observed after a recording ends."""
    before = np.concatenate([[0], np.cumsum(flags)])
    begin, end = segments.offsets[:-1, None], segments.offsets[1:, None]
    total: IntArray = before[np.minimum(begin + starts + window_frames, end)] - before[np.minimum(begin + starts, end)]
    return total


def _separate_windows(rates: EntryRate) -> IntArray:
    """Windows that do not overlap."""
    step = float(rates.starts[1] - rates.starts[0]) if rates.starts.size > 1 else rates.window
    return np.arange(0, rates.starts.size, max(1, int(np.ceil(rates.window / step - 1e-9))))


def _fit_lines(time: FloatArray, table: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Slope and value at time zero of a line through the known values of every row."""
    known = np.isfinite(table)
    n_known = known.sum(axis=1)
    enough = n_known >= LEAST_WINDOWS
    middle, level = (np.where(known, values, 0.0).sum(axis=1) / np.maximum(n_known, 1) for values in (time, table))
    offset = np.where(known, time - middle[:, None], 0.0)
    spread = np.where(enough, np.square(offset).sum(axis=1), np.nan)
    slope = (offset * np.where(known, table, 0.0)).sum(axis=1) / spread
    return slope, level - slope * middle


def _shuffled_slopes(time: FloatArray, row: FloatArray, n_shuffles: int, rng: np.random.Generator) -> FloatArray:
    """Slopes of one recording with its known windows in random order."""
    known = np.isfinite(row)
    shuffled = rng.permuted(np.tile(row[known], (n_shuffles, 1)), axis=1)
    return _fit_lines(time[known], shuffled)[0]
