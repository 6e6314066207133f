"""Transitions between groups of microstates, and whether the groups themselves form a Markov chain.

Groups are given as in `Symbols.relabel`: one integer per microstate of the partition, ``-1`` for none.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy import sparse
from scipy.linalg import expm, logm

from ethomarkov._core.interval import Interval, jackknife_interval, jackknife_limits, leave_one_out
from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.showing import frame_of_columns
from ethomarkov._core.types import BoolArray, FloatArray, IntArray
from ethomarkov._core.words import count_of
from ethomarkov.coarse.kinetics import N_BLOCKS
from ethomarkov.exceptions import ConnectivityError, EthomarkovError, InputFormatError, SamplingError
from ethomarkov.markov.chain import MarkovChain
from ethomarkov.markov.elimination import Elimination
from ethomarkov.states.symbols import Symbols

if TYPE_CHECKING:
    import pandas as pd

ROUNDING = 1e-9
STEADY_RANGE = 4
"""Factor in the lag over which times may not change to be called steady."""
MOST_CHAINS = 40
"""Most chains of microstates that are estimated for intervals; more animals are left out in this many groups."""
Prediction = Literal["coarse", "micro"]
RateMethod = Literal["two lags", "one lag"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CoarseTimes(Result):
    """Relaxation times of the chain of groups against the lag.

    Parameters
    ----------
    lags
        Seconds.
    times, low, high
        −τ / ln Re λ in seconds, slowest first, of all animals together; interval by leaving out each animal in turn.
        NaN where Re λ is not positive or a group is not visited.
    by_unit
        The same of each animal (or block) alone.
    over
        What was left out: "animals", or "blocks" of the recording when there is one animal.
    """

    lags: FloatArray = array_field("lag", unit="s")
    times: FloatArray = array_field("lag", "mode", unit="s")
    low: FloatArray = array_field("lag", "mode", unit="s")
    high: FloatArray = array_field("lag", "mode", unit="s")
    by_unit: FloatArray = array_field("unit", "lag", "mode", unit="s")
    over: str

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def headline(self) -> str:
        """Give the number of lags and of modes."""
        n_lags, n_modes = self.times.shape
        return f"{count_of(n_modes, 'relaxation time')} at {count_of(n_lags, 'lag')}"

    def steady_lag(self, tolerance: float = 0.1) -> tuple[float, bool]:
        """Find the shortest lag from which on no time changes by more than `tolerance` over a fourfold range of lags.

        At short lags single frames at the border between two groups count as transitions, and times are too short;
        once the lag is longer than such flicker, times are steady if the chain of groups is Markov. Modes that relax
        within that range are not considered, because little can be said about them.

        Returns
        -------
        lag
            In seconds; a quarter of the longest one where the times are never steady.
        is_steady
            Whether they are.
        """
        known = np.flatnonzero(STEADY_RANGE * self.lags <= self.lags[-1] * (1 + ROUNDING))
        if known.size == 0:
            return float(self.lags[0]), False
        changes = np.array([not self._change_from(first) < tolerance for first in known.tolist()])
        last = int(np.flatnonzero(changes)[-1]) if changes.any() else -1
        is_steady = last + 1 < known.size
        return float(self.lags[known[last + 1 if is_steady else last]]), is_steady

    def _change_from(self, first: int) -> float:
        """Compute the largest relative change of times from a lag to four times that; NaN if the slowest is unknown."""
        lag = self.lags[first]
        near = (self.lags >= lag * (1 - ROUNDING)) & (self.lags <= STEADY_RANGE * lag * (1 + ROUNDING))
        slow = self.times[first] >= STEADY_RANGE * lag
        slow[0] = True
        with np.errstate(invalid="ignore"):
            change = np.abs(self.times[near][:, slow] / self.times[first, slow] - 1)
        return float(change.max())


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates(Result):
    """Transition rates between groups.

    Parameters
    ----------
    rates, low, high
        Per second, from each group (row) to each other one, of all animals together; interval by leaving out each
        animal in turn. The diagonal is minus the total rate out of a group. NaN where the chain of groups has no
        generator.
    by_unit
        The same of each animal (or block) alone.
    relaxation
        Slowest relaxation time of these rates, in seconds.
    lag
        τ in seconds.
    method
        "two lags" where rates come from the transitions at τ and 3 τ, "one lag" where they come from τ alone.
    misfit
        Largest difference between P_c(3τ) and P_c(τ) exp(2 R τ), with one lag between P_c(τ) and exp(R τ): zero for two
        groups, and large where no process in continuous time has these transitions, as for groups in a cycle.
    over
        What was left out: "animals", or "blocks" of the recording when there is one animal.
    """

    rates: FloatArray = array_field("from_state", "to_state", unit="1/s")
    low: FloatArray = array_field("from_state", "to_state", unit="1/s")
    high: FloatArray = array_field("from_state", "to_state", unit="1/s")
    by_unit: FloatArray = array_field("unit", "from_state", "to_state", unit="1/s")
    relaxation: Interval
    lag: float
    method: str
    misfit: float
    over: str

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def headline(self) -> str:
        """Give the number of states and the slowest relaxation time of the rates."""
        n_states, is_known = count_of(len(self.rates), "state"), np.isfinite(self.relaxation.estimate)
        relaxation = f"relaxation time {self.relaxation} s" if is_known else "undetermined"
        return f"between {n_states}, {relaxation} at a lag of {self.lag:.3g} s"

    def table(self) -> "pd.DataFrame":
        """List the ordered pairs of different states: indices, rate per second and its limits."""
        before, after = np.nonzero(~np.eye(len(self.rates), dtype=bool))
        return frame_of_columns(
            {
                "from": before,
                "to": after,
                "rate_per_s": self.rates[before, after],
                "low": self.low[before, after],
                "high": self.high[before, after],
            }
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ChapmanKolmogorov(Result):
    """Transition probabilities between groups after many lags: measured, and predicted from one lag.

    All have the shape ``(steps, from, to)``.

    Parameters
    ----------
    lags
        Seconds: one lag, two lags, and so on.
    observed, observed_low, observed_high
        P_c(kτ) counted directly, with its interval.
    coarse, coarse_low, coarse_high
        P_c(τ)^k: predicted by the chain of groups.
    micro, micro_low, micro_high
        Predicted by the chain of microstates, started in each microstate as often as in the data.
    coarse_gap_low, coarse_gap_high, micro_gap_low, micro_gap_high
        Interval of predicted minus observed.
    over
        What was left out for intervals: "animals", or "blocks" of the recording when there is one animal.
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

    def headline(self) -> str:
        """Say how many transition probabilities are predicted within their intervals."""
        known = np.isfinite(self.coarse_gap_low) & np.isfinite(self.coarse_gap_high)
        n_predicted, n_known = int(np.count_nonzero(known & ~self.fails())), int(np.count_nonzero(known))
        return (
            f"{n_predicted} of {n_known} transition probabilities predicted by the chain of "
            f"{count_of(self.observed.shape[-1], 'state')}, up to {self.lags.max(initial=0.0):.3g} s"
        )

    def fails(self, by: Prediction = "coarse") -> BoolArray:
        """Flag the probabilities that are not predicted: the interval of the difference excludes zero."""
        low, high = {
            "coarse": (self.coarse_gap_low, self.coarse_gap_high),
            "micro": (self.micro_gap_low, self.micro_gap_high),
        }[by]
        # One lag predicts itself; rounding is no failure.
        return np.asarray((low > ROUNDING) | (high < -ROUNDING))


def lump(chain: MarkovChain, group: IntArray) -> MarkovChain:
    """Compute the chain of groups, with microstates weighted by their stationary probability.

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
    """Compute the mean first-passage time from every microstate of the partition to a group, in seconds.

    Zero within the group, NaN for microstates outside the chain.

    Parameters
    ----------
    chain
        Of microstates.
    group
        Of every microstate of the partition; those of group ``-1`` are passed through.
    target
        The group to be reached.

    Notes
    -----
    t = 0 in the group, and t_i = τ + Σ_j P_ij t_j elsewhere.
    """
    outside = ~_is_in(_rows_group(chain, group), target)
    times = np.zeros(chain.states.size)
    times[outside] = _solve_outside(chain.transition, outside, np.full(int(outside.sum()), chain.lag))
    return _on_partition(chain, times)


def mean_first_passage(chain: MarkovChain, group: IntArray) -> FloatArray:
    """Compute the mean first-passage time from each group (row) to each other group, in seconds.

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
    """Compute the probability of reaching the target group before the source group, from every microstate.

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


def two_state_times(symbols: Symbols, group: IntArray, lags: FloatArray) -> CoarseTimes:
    """Estimate the relaxation times of the chain of groups at many lags.

    A chain of groups that is Markov has the same times at every lag. Two groups have one time.

    Parameters
    ----------
    symbols
        Microstates, or states already grouped with ``group = arange(n_states)``.
    group
        Of every microstate. Pairs of frames count when both ends are in a group, and never across a gap.
    lags
        Seconds, whole numbers of frames.

    Notes
    -----
    Fig. S1(c): |Λ_c⁻¹| = −τ / ln λ_c(τ), there with groups determined separately at each lag, and averaged over worms.
    """
    unit, n_units, over = resampled_units(symbols)
    check_group(group, symbols.n_states)
    lags = np.asarray(lags, dtype=float)
    counts = np.array([_unit_counts(symbols, group, float(lag), unit, n_units) for lag in lags])

    def times_of(parts: FloatArray) -> FloatArray:
        """Find the times of counts ``(lags, units, from, to)``, units first."""
        rows = [[_relaxation_times(c, float(lag)) for c, lag in zip(one, lags, strict=True)] for one in parts]
        return np.array(rows)

    by_unit = np.swapaxes(counts, 0, 1)
    times = times_of(by_unit.sum(axis=0)[None])[0]
    low, high = jackknife_limits(times, times_of(leave_one_out(by_unit)))
    return CoarseTimes(lags=lags, times=times, low=low, high=high, by_unit=times_of(by_unit), over=over)


def hopping_rates(symbols: Symbols, group: IntArray, lag: float, *, method: RateMethod = "two lags") -> Rates:
    """Estimate the transition rates between groups.

    Unlike one over the mean dwell time, the rates do not count flicker of the labels that is shorter than the lag.

    Parameters
    ----------
    symbols
        Microstates.
    group
        Of every microstate.
    lag
        τ in seconds, longer than the flicker.
    method
        "two lags": from the change between τ and 3 τ. "one lag": from the change by τ, frames assigned to the wrong
        group included. Recordings too short for 3 τ, and transitions without a real logarithm, are treated as
        "one lag"; see `Rates.method`.

    Notes
    -----
    P_c(τ) = exp(R τ) for a chain, so that R = log P_c(τ) / τ. If frames are put into a wrong group independently of the
    past, with shares of time unchanged, then P_c(τ) = A exp(R τ) with the same A at every lag, and
    R = log(P_c(τ)⁻¹ P_c(3τ)) / 2τ. Errors in the shares of time remain: the rate into a rare group that includes many
    frames of another is too large.

    For two groups the logarithm follows from 1 − λ in closed form; for more it is the principal one, and negative
    rates, which sampling noise or a cycle can cause, are set to zero; `Rates.misfit` measures the effect. Their upper
    limits, as all limits, come from the spread before that.

    Examples
    --------
    >>> from ethomarkov.synthetic import hopping_chain
    >>> symbols = hopping_chain([[0.9, 0.1], [0.2, 0.8]], 5000, n_walks=3)
    >>> rates = hopping_rates(symbols, np.array([0, 1]), lag=1.0)
    >>> rates.table()[["from", "to"]].values.tolist(), rates.relaxation.low < 2.8 < rates.relaxation.high
    ([[0, 1], [1, 0]], True)
    """
    unit, n_units, over = resampled_units(symbols)
    check_group(group, symbols.n_states)
    counts = np.array([_unit_counts(symbols, group, lag, unit, n_units)])
    if method == "two lags":
        counts = _with_longer_lag(counts, symbols, group, lag, unit)
    elif method != "one lag":
        raise InputFormatError(f"method={method!r} is not known; use 'two lags' or 'one lag'.")
    counts = np.swapaxes(counts, 0, 1)
    return _rates_of_units(counts, lag, over, counts[:, 0].sum(axis=(0, 2)) / symbols.sampling.rate)


def _with_longer_lag(counts: FloatArray, symbols: Symbols, group: IntArray, lag: float, unit: IntArray) -> FloatArray:
    """Count at three lags too, unless recordings are too short or the change since one lag has no real logarithm."""
    try:
        longer = _unit_counts(symbols, group, 3 * lag, unit, counts.shape[1])
    except SamplingError:
        return counts
    both = np.array([counts[0], longer])
    return counts if np.isnan(_generator(both.sum(axis=1), lag)).any() else both


def _rates_of_units(counts: FloatArray, lag: float, over: str, seconds: FloatArray) -> Rates:
    """Estimate rates from counts ``(units, lags, from, to)`` and the seconds in every group."""
    whole = _generator(counts.sum(axis=0), lag)
    without = np.array([_generator(part, lag) for part in leave_one_out(counts)])
    rates, left_out = _without_negative(whole), _without_negative(without)
    low, high = jackknife_limits(np.maximum(whole, 0.0), without, exposure=seconds[:, None])
    leaving = np.diagonal(-rates)
    gone = jackknife_limits(leaving, np.diagonal(-left_out, axis1=1, axis2=2), exposure=seconds)
    np.fill_diagonal(low, -gone[1])
    np.fill_diagonal(high, -gone[0])
    slowest = jackknife_interval(_slowest(rates), np.array([_slowest(part) for part in left_out]), over)
    return Rates(
        rates=rates,
        low=low,
        high=high,
        by_unit=np.array([_without_negative(_generator(part, lag)) for part in counts]),
        relaxation=slowest,
        lag=float(lag),
        method="two lags" if counts.shape[1] == 2 else "one lag",
        misfit=_misfit(counts.sum(axis=0), rates, lag),
        over=over,
    )


def _generator(counts: FloatArray, lag: float) -> FloatArray:
    """Compute the logarithm of the transitions at one lag, or of their change from one lag to three; NaN if not real.

    A transition matrix with eigenvalues that are not positive changes faster than the lag resolves, and has none.
    """
    P = np.array([_normalise(part) for part in counts])
    nothing = np.full(P[0].shape, np.nan)
    if np.isnan(P).any() or not _is_positive(P[0]):
        return nothing
    change, time = (P[0], lag) if len(P) == 1 else (np.linalg.solve(P[0], P[1]), 2 * lag)
    if not _is_positive(change):
        return nothing
    R = (_two_state_log(change) if len(change) == 2 else logm(change)) / time
    return nothing if np.abs(np.imag(R)).max() > ROUNDING else np.asarray(np.real(R))


def _is_positive(P: FloatArray) -> bool:
    return bool(np.linalg.eigvals(P).real.min() > ROUNDING)


def _without_negative(generators: FloatArray) -> FloatArray:
    """Set negative rates to zero, and the diagonal to minus what is left."""
    rates = np.maximum(generators, 0.0) * (1 - np.eye(generators.shape[-1]))
    return np.asarray(rates - np.eye(generators.shape[-1]) * rates.sum(axis=-1, keepdims=True))


def _slowest(rates: FloatArray) -> float:
    """Slowest relaxation time of a process in continuous time; NaN where it has none, or does not relax at all."""
    if np.isnan(rates).any():
        return float("nan")
    decay = -np.sort(np.linalg.eigvals(rates).real)[-2]
    return float(1 / decay) if decay > 0 else float("nan")


def _misfit(counts: FloatArray, rates: FloatArray, lag: float) -> float:
    P = [_normalise(part) for part in counts]
    if np.isnan(rates).any():
        return float("nan")
    predicted = expm(rates * lag) if len(P) == 1 else P[0] @ expm(2 * lag * rates)
    return float(np.abs(predicted - P[-1]).max())


def _two_state_log(P: FloatArray) -> FloatArray:
    """Compute the logarithm for two states in closed form, because intervals need it many times."""
    gone = float(P[0, 1] + P[1, 0])  # 1 − λ
    scale = -np.log1p(-gone) / gone if gone else 1.0
    return np.asarray((P - np.eye(2)) * scale)


def chapman_kolmogorov(symbols: Symbols, group: IntArray, lag: float, *, n_steps: int = 5) -> ChapmanKolmogorov:
    """Compare transitions between groups after many lags with what one lag predicts.

    Parameters
    ----------
    symbols
        Microstates.
    group
        Of every microstate. Pairs of frames count when both ends are in a group, and never across a gap.
    lag
        Seconds.
    n_steps
        Number of lags.

    Notes
    -----
    P(kτ) = P(τ)^k holds for a Markov chain. Groups violate it when they have hidden states within them; microstates
    violate it when the partition does not contain enough of the past.
    """
    unit, n_units, over = resampled_units(symbols, MOST_CHAINS)
    check_group(group, symbols.n_states)
    lags = lag * np.arange(1, n_steps + 1)
    counts = np.array([_unit_counts(symbols, group, float(t), unit, n_units) for t in lags])
    micro_counts = count_by_unit(symbols, lag, unit, n_units)

    def predict(weight: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        observed = np.array([_normalise(np.tensordot(weight, c, 1)) for c in counts])
        coarse = np.array([np.linalg.matrix_power(observed[0], k + 1) for k in range(n_steps)])
        micro = _micro_prediction(micro_counts, weight, np.asarray(group), lag, n_steps)
        return observed, coarse, micro

    observed, coarse, micro = predict(np.ones(n_units, dtype=np.int64))
    left_out = [np.array(rows) for rows in zip(*map(predict, 1 - np.eye(n_units, dtype=np.int64)), strict=True)]
    shares = zip((observed, coarse, micro), left_out, strict=True)
    limits = [jackknife_limits(whole, parts, scale="share") for whole, parts in shares]
    gaps = [
        jackknife_limits(whole - observed, parts - left_out[0], scale="signed")
        for whole, parts in ((coarse, left_out[1]), (micro, left_out[2]))
    ]
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


def check_group(group: IntArray, n_states: int) -> int:
    """Check that there is one group per microstate; give the number of groups."""
    group = np.asarray(group)
    if group.shape != (n_states,) or group.max(initial=-1) < 0:
        raise InputFormatError(
            f"group has shape {group.shape} and largest value {group.max(initial=-1)}; one group is needed for each of "
            f"the {n_states} microstates of the partition, -1 for none."
        )
    return int(group.max()) + 1


def _rows_group(chain: MarkovChain, group: IntArray) -> IntArray:
    check_group(group, chain.n_states)
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


def resampled_units(symbols: Symbols, most: int | None = None) -> tuple[IntArray, int, str]:
    """Give every row the number of its unit of resampling: its animal, or a block of equal time if there is only one.

    Animals beyond `most` share the units of the first ones.
    """
    present = np.unique(symbols.segments.bounds[:, 2])
    if present.size > 1:
        n_units = min(present.size, most or present.size)
        return np.searchsorted(present, symbols.segments.row_individual) % n_units, n_units, "animals"
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
    predicted = np.full((n_steps, n_groups, n_groups), np.nan)
    total = sum((w * c for w, c in zip(weight.tolist(), counts, strict=True) if w), sparse.csr_array(counts[0].shape))
    try:
        chain = MarkovChain.from_counts(total, lag)
    except EthomarkovError:  # without an animal nothing may be connected
        return predicted
    mine = group[chain.states]
    later = np.zeros((mine.size, n_groups))
    later[mine >= 0, mine[mine >= 0]] = 1.0
    # The law of the data, not the stationary one: short recordings are not quite stationary, and one lag is then exact.
    start = later.T * np.asarray(total[chain.states][:, chain.states].sum(axis=1))
    for k in range(n_steps):
        later = chain.transition @ later
        predicted[k] = _normalise(start @ later)
    return predicted
