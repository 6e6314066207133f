"""Passages between groups of microstates, and whether the groups themselves form a chain.

Groups are given as in `Symbols.relabel`: one integer per microstate of the partition, ``-1`` for none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import sparse
from scipy.linalg import expm, logm

from ethomarkov._core.random import Rng
from ethomarkov._core.result import array_field, freeze_arrays
from ethomarkov._core.types import BoolArray, FloatArray, IntArray
from ethomarkov.coarse.kinetics import LEVEL, draw_units
from ethomarkov.exceptions import ConnectivityError, EthomarkovError, InputFormatError, SamplingError
from ethomarkov.markov.chain import MarkovChain
from ethomarkov.markov.elimination import Elimination
from ethomarkov.states.symbols import Symbols

N_BLOCKS = 20
ROUNDING = 1e-9
Prediction = Literal["coarse", "micro"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CoarseTimes:
    """Relaxation times of the chain of groups against the lag.

    Parameters
    ----------
    lags
        Seconds.
    times, low, high
        −τ / ln Re λ in seconds, slowest first, of all animals together; interval by resampling. NaN where Re λ is not
        positive or a group is not met.
    by_unit
        The same of each animal (or block) alone.
    over
        What was resampled: "animals", or "blocks" of the recording when there is one animal.
    """

    lags: FloatArray = array_field("lag", unit="s")
    times: FloatArray = array_field("lag", "mode", unit="s")
    low: FloatArray = array_field("lag", "mode", unit="s")
    high: FloatArray = array_field("lag", "mode", unit="s")
    by_unit: FloatArray = array_field("unit", "lag", "mode", unit="s")
    over: str

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def steady_lag(self, tolerance: float = 0.1) -> tuple[float, bool]:
        """Find the shortest lag from which on doubling the lag changes the slowest time by less than `tolerance`.

        At short lags single frames at the border between two groups pass for transitions, and times come out too
        short; once the lag is longer than such flicker, times are steady if the chain of groups is Markov.

        Returns
        -------
        lag
            In seconds; half the longest one where the time is never steady.
        is_steady
            Whether it is.
        """
        slowest = self.times[:, 0]
        known = np.flatnonzero(2 * self.lags <= self.lags[-1] * (1 + ROUNDING))
        if known.size == 0:
            return float(self.lags[0]), False
        twice = np.interp(2 * self.lags[known], self.lags, slowest)
        with np.errstate(invalid="ignore"):
            changes = ~(np.abs(twice / slowest[known] - 1) < tolerance)
        last = int(np.flatnonzero(changes)[-1]) if changes.any() else -1
        is_steady = last + 1 < known.size
        return float(self.lags[known[last + 1 if is_steady else last]]), is_steady


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Rates of hopping between groups.

    Parameters
    ----------
    rates, low, high
        Per second, from each group (row) to each other one, of all animals together; interval by resampling. The
        diagonal is minus the rate of leaving. NaN where the chain of groups has no generator.
    by_unit
        The same of each animal (or block) alone.
    lag
        At which transitions were counted, in seconds.
    misfit
        Largest difference between P_c(τ) and exp(R τ): zero for two groups, and large where no process in continuous
        time has these transitions, as for groups that follow each other in a cycle.
    over
        What was resampled.
    """

    rates: FloatArray = array_field("from_state", "to_state", unit="1/s")
    low: FloatArray = array_field("from_state", "to_state", unit="1/s")
    high: FloatArray = array_field("from_state", "to_state", unit="1/s")
    by_unit: FloatArray = array_field("unit", "from_state", "to_state", unit="1/s")
    lag: float
    misfit: float
    over: str

    def __post_init__(self) -> None:
        freeze_arrays(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChapmanKolmogorov:
    """Transition probabilities between groups after many lags: measured, and foretold from one lag.

    All have the shape ``(steps, from, to)``.

    Parameters
    ----------
    lags
        Seconds: one lag, two lags, and so on.
    observed, observed_low, observed_high
        P_c(kτ) counted directly, with its interval.
    coarse, coarse_low, coarse_high
        P_c(τ)^k: foretold by the chain of groups.
    micro, micro_low, micro_high
        Foretold by the chain of microstates, started in each microstate as often as the data were.
    coarse_gap_low, coarse_gap_high, micro_gap_low, micro_gap_high
        Interval of foretold minus observed, both from the same resample.
    over
        What was resampled: "animals", or "blocks" of the recording when there is one animal.
    """

    lags: FloatArray = array_field("lag", unit="s")
    observed: FloatArray = array_field("lag", "from_state", "to_state")
    observed_low: FloatArray = array_field("lag", "from_state", "to_state")
    observed_high: FloatArray = array_field("lag", "from_state", "to_state")
    coarse: FloatArray = array_field("lag", "from_state", "to_state")
    coarse_low: FloatArray = array_field("lag", "from_state", "to_state")
    coarse_high: FloatArray = array_field("lag", "from_state", "to_state")
    micro: FloatArray = array_field("lag", "from_state", "to_state")
    micro_low: FloatArray = array_field("lag", "from_state", "to_state")
    micro_high: FloatArray = array_field("lag", "from_state", "to_state")
    coarse_gap_low: FloatArray = array_field("lag", "from_state", "to_state")
    coarse_gap_high: FloatArray = array_field("lag", "from_state", "to_state")
    micro_gap_low: FloatArray = array_field("lag", "from_state", "to_state")
    micro_gap_high: FloatArray = array_field("lag", "from_state", "to_state")
    over: str

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def fails(self, by: Prediction = "coarse") -> BoolArray:
        """Mark the probabilities that are foretold wrongly: the interval of the difference leaves out zero."""
        low, high = {
            "coarse": (self.coarse_gap_low, self.coarse_gap_high),
            "micro": (self.micro_gap_low, self.micro_gap_high),
        }[by]
        # One lag foretells itself; rounding is no failure.
        return np.asarray((low > ROUNDING) | (high < -ROUNDING))


def lump(chain: MarkovChain, group: IntArray) -> MarkovChain:
    """Make the chain of groups, each microstate weighing with its stationary probability.

    Parameters
    ----------
    chain
        Of microstates.
    group
        Of every microstate of the partition. Steps into microstates of group ``-1`` are left out.

    Notes
    -----
    P_c(a, b) = Σ_{i∈a, j∈b} π_i P_ij / Σ_{i∈a} π_i.
    """
    member = _membership(_rows_group(chain, group))
    flux = member.T @ sparse.diags_array(chain.stationary) @ chain.transition @ member
    return MarkovChain.from_counts(sparse.csr_array(flux), chain.lag)


def hitting_times(chain: MarkovChain, group: IntArray, target: int) -> FloatArray:
    """Compute the mean seconds from every microstate of the partition until a group is first met.

    Zero within the group, NaN for microstates outside the chain.

    Parameters
    ----------
    chain
        Of microstates.
    group
        Of every microstate of the partition; those of group ``-1`` are passed through.
    target
        The group to be met.

    Notes
    -----
    t = 0 in the group, and t_i = τ + Σ_j P_ij t_j elsewhere.
    """
    outside = ~_is_in(_rows_group(chain, group), target)
    times = np.zeros(chain.states.size)
    times[outside] = _solve_outside(chain.transition, outside, np.full(int(outside.sum()), chain.lag))
    return _on_partition(chain, times)


def mean_first_passage(chain: MarkovChain, group: IntArray) -> FloatArray:
    """Compute the mean seconds from each group (row) until each other group is first met.

    Passages start in the stationary law within the group. The diagonal is zero; groups without a connected microstate
    are NaN. See `hitting_times` for single microstates.

    Parameters
    ----------
    chain
        Of microstates.
    group
        Of every microstate of the partition.
    """
    mine = _rows_group(chain, group)
    n_groups = int(np.max(group)) + 1
    present = np.unique(mine[mine >= 0])
    member = _membership(mine)[:, present]
    weight = member.T @ sparse.diags_array(chain.stationary)
    passage = np.full((n_groups, n_groups), np.nan)
    for b in present.tolist():
        times = hitting_times(chain, group, b)[chain.states]
        passage[present, b] = (weight @ times) / (weight @ np.ones(times.size))
    return passage


def committor(chain: MarkovChain, group: IntArray, source: int, target: int, *, backward: bool = False) -> FloatArray:
    """Compute the probability of meeting the target group before the source group, from every microstate.

    NaN for microstates outside the chain.

    Parameters
    ----------
    chain
        Of microstates.
    group
        Of every microstate of the partition.
    source, target
        Two groups.
    backward
        Instead, the probability that the source was left more recently than the target: one in the source, zero in
        the target, by the chain run backwards in time.
    """
    mine = _rows_group(chain, group)
    if source == target:
        raise InputFormatError(f"source and target are both group {source}; two different groups are needed.")
    is_source, is_target = _is_in(mine, source), _is_in(mine, target)
    P, sure = (chain.reversed(), is_source) if backward else (chain.transition, is_target)
    between = ~(is_source | is_target)
    probability = sure.astype(float)
    probability[between] = _solve_outside(P, between, (P @ probability)[between])
    return _on_partition(chain, probability)


def two_state_times(
    symbols: Symbols, group: IntArray, lags: FloatArray, *, n_resamples: int = 1000, rng: Rng = 0
) -> CoarseTimes:
    """Count the chain of groups directly at many lags, and find its relaxation times.

    A chain of groups that is Markov has the same times at every lag. Two groups have one time.

    Parameters
    ----------
    symbols
        Microstates, or states already grouped with ``group = arange(n_states)``.
    group
        Of every microstate. Pairs of frames count when both ends are in a group, and never across a gap.
    lags
        Seconds, whole numbers of frames.
    n_resamples, rng
        Resamples of animals, or of blocks of the recording when there is one animal; seed or generator.

    Notes
    -----
    Fig. S1(c): |Λ_c⁻¹| = −τ / ln λ_c(τ), there with groups found anew at each lag and averaged over worms.
    """
    unit, n_units, over = resampled_units(symbols)
    n_groups = _check_group(group, symbols.n_states)
    counts = np.array([_unit_counts(symbols, group, float(lag), unit, n_units) for lag in lags])
    times = np.array([_relaxation_times(c.sum(axis=0), float(lag)) for c, lag in zip(counts, lags, strict=True)])
    alone = [[_relaxation_times(part, float(lag)) for part in c] for c, lag in zip(counts, lags, strict=True)]
    draws = [
        [_relaxation_times(np.tensordot(drawn, c, 1), float(lag)) for c, lag in zip(counts, lags, strict=True)]
        for drawn in draw_units(n_units, n_resamples, rng)
    ]
    low, high = _limits(draws, (len(lags), n_groups - 1))
    return CoarseTimes(
        lags=np.asarray(lags, dtype=float), times=times, low=low, high=high, by_unit=np.swapaxes(alone, 0, 1), over=over
    )


def hopping_rates(symbols: Symbols, group: IntArray, lag: float, *, n_resamples: int = 1000, rng: Rng = 0) -> Rates:
    """Estimate the rates of hopping between groups from the chain of groups at a lag.

    Unlike one over the mean stay, the rates do not count a flicker of the labels that is shorter than the lag. They
    are those of the Markov process in continuous time that has these transitions.

    Parameters
    ----------
    symbols
        Microstates.
    group
        Of every microstate.
    lag
        Seconds; see `CoarseTimes.steady_lag`.
    n_resamples, rng
        Resamples of animals, or of blocks of the recording when there is one animal; seed or generator.

    Notes
    -----
    P_c(τ) = exp(R τ). For two groups R follows from 1 − λ in closed form; for more it is the principal logarithm, and
    negative rates, which sampling noise or a cycle can cause, are set to zero; `Rates.misfit` says what that costs.
    """
    unit, n_units, over = resampled_units(symbols)
    n_groups = _check_group(group, symbols.n_states)
    counts = _unit_counts(symbols, group, lag, unit, n_units)
    draws = [_generator(np.tensordot(drawn, counts, 1), lag) for drawn in draw_units(n_units, n_resamples, rng)]
    low, high = _limits(draws, (n_groups, n_groups))
    rates = _generator(counts.sum(axis=0), lag)
    return Rates(
        rates=rates,
        low=low,
        high=high,
        by_unit=np.array([_generator(part, lag) for part in counts]),
        lag=float(lag),
        misfit=float(np.abs(expm(rates * lag) - _normalise(counts.sum(axis=0))).max()),
        over=over,
    )


def _generator(counts: FloatArray, lag: float) -> FloatArray:
    """Take the logarithm of a transition matrix; NaN where it has none that is real."""
    P = _normalise(counts)
    nothing = np.full(P.shape, np.nan)
    if np.isnan(P).any() or np.linalg.eigvals(P).real.min() <= ROUNDING:
        return nothing
    R = (_two_state_log(P) if len(P) == 2 else logm(P)) / lag
    if np.abs(np.imag(R)).max() > ROUNDING:
        return nothing
    rates: FloatArray = np.maximum(np.real(R), 0.0)
    np.fill_diagonal(rates, 0.0)
    np.fill_diagonal(rates, -rates.sum(axis=1))
    return rates


def _two_state_log(P: FloatArray) -> FloatArray:
    """Take the logarithm of two states in closed form, which resampling would otherwise spend its time on."""
    gone = float(P[0, 1] + P[1, 0])  # 1 − λ
    scale = -np.log1p(-gone) / gone if gone > 0 else 1.0
    return np.asarray((P - np.eye(2)) * scale)


def chapman_kolmogorov(
    symbols: Symbols, group: IntArray, lag: float, *, n_steps: int = 5, n_resamples: int = 200, rng: Rng = 0
) -> ChapmanKolmogorov:
    """Compare transitions between groups after many lags with what one lag foretells.

    Parameters
    ----------
    symbols
        Microstates.
    group
        Of every microstate. Pairs of frames count when both ends are in a group, and never across a gap.
    lag
        Seconds.
    n_steps
        Up to how many lags.
    n_resamples, rng
        Resamples of animals, or of blocks of the recording when there is one animal; seed or generator.

    Notes
    -----
    P(kτ) = P(τ)^k holds for a chain. The groups fail it when they have inner states that the last group does not
    tell; the microstates fail it when the partition does not hold enough of the past.
    """
    unit, n_units, over = resampled_units(symbols)
    _check_group(group, symbols.n_states)
    lags = lag * np.arange(1, n_steps + 1)
    counts = np.array([_unit_counts(symbols, group, float(t), unit, n_units) for t in lags])
    micro_counts = count_by_unit(symbols, lag, unit, n_units)

    def foretell(weight: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        observed = np.array([_normalise(np.tensordot(weight, c, 1)) for c in counts])
        coarse = np.array([np.linalg.matrix_power(observed[0], k + 1) for k in range(n_steps)])
        micro = _micro_prediction(micro_counts, weight, np.asarray(group), lag, n_steps)
        return observed, coarse, micro

    observed, coarse, micro = foretell(np.ones(n_units, dtype=np.int64))
    drawn = [foretell(weight) for weight in draw_units(n_units, n_resamples, rng)]
    limits = [_limits([draw[i] for draw in drawn], observed.shape) for i in range(3)]
    gaps = [_limits([draw[i] - draw[0] for draw in drawn], observed.shape) for i in (1, 2)]
    return ChapmanKolmogorov(
        lags=lags,
        observed=observed,
        observed_low=limits[0][0],
        observed_high=limits[0][1],
        coarse=coarse,
        coarse_low=limits[1][0],
        coarse_high=limits[1][1],
        micro=micro,
        micro_low=limits[2][0],
        micro_high=limits[2][1],
        coarse_gap_low=gaps[0][0],
        coarse_gap_high=gaps[0][1],
        micro_gap_low=gaps[1][0],
        micro_gap_high=gaps[1][1],
        over=over,
    )


def _check_group(group: IntArray, n_states: int) -> int:
    """Check one group per microstate; give the number of groups."""
    group = np.asarray(group)
    if group.shape != (n_states,) or group.max(initial=-1) < 0:
        raise InputFormatError(
            f"group has shape {group.shape} and largest value {group.max(initial=-1)}; one group is needed for each of "
            f"the {n_states} microstates of the partition, -1 for none."
        )
    return int(group.max()) + 1


def _rows_group(chain: MarkovChain, group: IntArray) -> IntArray:
    _check_group(group, chain.n_states)
    rows: IntArray = np.asarray(group)[chain.states]
    return rows


def _is_in(rows_group: IntArray, wanted: int) -> BoolArray:
    found = np.asarray(rows_group == wanted)
    if wanted < 0 or not found.any():
        raise ConnectivityError(
            f"Group {wanted} has no connected microstate; the groups of this chain are "
            f"{np.unique(rows_group[rows_group >= 0]).tolist()}."
        )
    return found


def _membership(rows_group: IntArray) -> sparse.csr_array:
    """One row per state, one column per group, one where they belong together."""
    rows = np.flatnonzero(rows_group >= 0)
    shape = (rows_group.size, int(rows_group.max(initial=-1)) + 1)
    return sparse.csr_array((np.ones(rows.size), (rows, rows_group[rows])), shape=shape)


def _solve_outside(P: sparse.csr_array, outside: BoolArray, right: FloatArray) -> FloatArray:
    """Solve (1 − P) x = right on some of the states, nothing negative on the right."""
    if not outside.any():
        return np.empty(0)
    rows = P[np.flatnonzero(outside)]
    leaving = np.asarray(rows[:, np.flatnonzero(~outside)].sum(axis=1))
    return Elimination.of(rows[:, np.flatnonzero(outside)], leaving).solve(right)


def _on_partition(chain: MarkovChain, values: FloatArray) -> FloatArray:
    everywhere = np.full(chain.n_states, np.nan)
    everywhere[chain.states] = values
    return everywhere


def resampled_units(symbols: Symbols) -> tuple[IntArray, int, str]:
    """Give every row the number of the unit to resample: its animal, or its block of equal time when there is one."""
    present = np.unique(symbols.segments.bounds[:, 2])
    if present.size > 1:
        return np.searchsorted(present, symbols.segments.row_individual), present.size, "animals"
    seen = np.cumsum(symbols.segments.valid)
    return np.minimum(seen * N_BLOCKS // (seen[-1] + 1), N_BLOCKS - 1), N_BLOCKS, "blocks"


def _unit_pairs(symbols: Symbols, group: IntArray, lag: float, unit: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """List unit, group before and group after of all gap-free pairs; a pair belongs to the unit in which it begins."""
    first, last = symbols.segments.pairs(symbols.sampling.frames(lag, "lag"))
    before, after = group[symbols.labels[first]], group[symbols.labels[last]]
    known = (before >= 0) & (after >= 0)
    if not known.any():
        longest = symbols.segments.longest() / symbols.sampling.rate
        raise SamplingError(
            f"lag={lag:g} s leaves no transition between groups: the longest gap-free stretch is {longest:g} s. "
            "Use a shorter lag, or fewer steps of it."
        )
    return unit[first[known]], before[known], after[known]


def _unit_counts(symbols: Symbols, group: IntArray, lag: float, unit: IntArray, n_units: int) -> FloatArray:
    """Count the transitions between groups in every unit, ``(units, from, to)``."""
    group = np.asarray(group)
    where, before, after = _unit_pairs(symbols, group, lag, unit)
    n = int(group.max()) + 1
    counts = np.bincount((where * n + before) * n + after, minlength=n_units * n * n)
    return counts.reshape(n_units, n, n).astype(float)


def count_by_unit(symbols: Symbols, lag: float, unit: IntArray, n_units: int) -> list[sparse.csr_array]:
    """Count the transitions between microstates in every unit; they are many, so sparse."""
    where, before, after = _unit_pairs(symbols, np.arange(symbols.n_states), lag, unit)
    shape = (symbols.n_states, symbols.n_states)
    return [
        sparse.coo_array((np.ones(mine.size), (before[mine], after[mine])), shape=shape).tocsr()
        for mine in (np.flatnonzero(where == i) for i in range(n_units))
    ]


def _normalise(counts: FloatArray) -> FloatArray:
    """Divide rows by their sums; NaN where a row is empty."""
    total = counts.sum(axis=1, keepdims=True)
    P = np.full(counts.shape, np.nan)
    np.divide(counts, total, out=P, where=total > 0)
    return P


def _relaxation_times(counts: FloatArray, lag: float) -> FloatArray:
    P = _normalise(counts)
    times = np.full(len(P) - 1, np.nan)
    if np.isnan(P).any():
        return times
    real = np.sort(np.linalg.eigvals(P).real)[::-1][1:]
    with np.errstate(divide="ignore"):
        times[real > 0] = -lag / np.log(np.minimum(real[real > 0], 1.0))
    return times


def _micro_prediction(
    counts: list[sparse.csr_array], weight: IntArray, group: IntArray, lag: float, n_steps: int
) -> FloatArray:
    n_groups = int(group.max()) + 1
    foretold = np.full((n_steps, n_groups, n_groups), np.nan)
    total = sum((w * c for w, c in zip(weight.tolist(), counts, strict=True) if w), sparse.csr_array(counts[0].shape))
    try:
        chain = MarkovChain.from_counts(total, lag)
    except EthomarkovError:  # a resample may leave nothing connected
        return foretold
    mine = group[chain.states]
    later = np.zeros((mine.size, n_groups))
    later[mine >= 0, mine[mine >= 0]] = 1.0
    # The law of the data, not the stationary one: short recordings are not quite stationary, and one lag is then exact.
    start = later.T * np.asarray(total[chain.states][:, chain.states].sum(axis=1))
    for k in range(n_steps):
        later = chain.transition @ later
        foretold[k] = _normalise(start @ later)
    return foretold


def _limits(draws: Sequence[object], shape: tuple[int, ...]) -> tuple[FloatArray, FloatArray]:
    """Take the percentiles of resampled arrays, entry by entry; NaN where no resample has a value."""
    table = np.array(draws, dtype=float).reshape(-1, *shape)
    limits = np.full((2, *shape), np.nan)
    known = ~np.isnan(table).all(axis=0)
    if known.any() and len(table):
        limits[:, known] = np.nanquantile(table[:, known], [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return limits[0], limits[1]
