"""Estimates of the published figures, from results of a study."""

from collections.abc import Iterable

import numpy as np

from ethomarkov._core.interval import Interval, interval_of_mean, jackknife_interval, weighted_means
from ethomarkov._core.types import FloatArray
from ethomarkov.coarse.passage import count_by_unit, resampled_units
from ethomarkov.foraging.food import food_curve
from ethomarkov.foraging.states import Foraging, state_shares
from ethomarkov.locomotion import Trajectory
from ethomarkov.locomotion.displacement import diffusion, msd, paper_lags
from ethomarkov.markov import MarkovChain
from ethomarkov.markov.selection import EntropyTable, choose_lag, choose_n_delays, choose_n_states, gain_intervals
from ethomarkov.markov.spectrum import relaxation_time, reversible_modes
from ethomarkov.model.paths import Reconstruction, measured_path
from ethomarkov.paper.data import RATE, PaperData
from ethomarkov.paper.evidence import PIROUETTE, RUN, Estimates, Evidence, point
from ethomarkov.paper.published import ENTROPY_RATES, EXPONENTS, GAINS, MSD_LAGS, RADII
from ethomarkov.paper.scoring import Estimate
from ethomarkov.paper.single_worms import SeededEntropy, WormRelaxation
from ethomarkov.states import Symbols
from ethomarkov.validation.ensembles import AnimalRunSet, RunSet
from ethomarkov.validation.splits import CrossValidation
from ethomarkov.validation.validate import TRANSITIONS, Predictions

LONG = 200.0
"""Seconds of path below which no exponent at 130 s can be told."""
CONFINED_LAGS = (10.0, 100.0)


# --- from tables and measured paths ----------------------------------------------------------------------------------


def table_estimates(data: PaperData) -> Estimates:
    """Choose N, K and τ from the published tables."""
    estimates: Estimates = {}
    note = "Our criterion on the published table."
    if data.scan is not None:
        estimates |= _scan_choices(data.scan, note)
    if data.lags is not None:
        estimates["tau*"] = Estimate(interval=point(choose_lag(data.lags).value), note=note)
    return estimates


def _scan_choices(scan: EntropyTable, note: str) -> Estimates:
    n_states, n_worms = int(choose_n_states(scan).value), scan.entropy_rate.shape[2]
    estimates = {
        "N*": Estimate(interval=point(n_states), n_worms=n_worms, note=note),
        "K*": Estimate(interval=point(choose_n_delays(scan, n_states).value), n_worms=n_worms, note=note),
    }
    gains = dict(zip(scan.n_delays.tolist(), gain_intervals(scan, 1000), strict=False))
    followed = np.flatnonzero(np.diff(scan.n_delays) == 1)
    for n_delays in scan.n_delays[followed].tolist():
        if n_delays in GAINS:
            estimates[f"gain K={n_delays}"] = Estimate(interval=gains[n_delays], n_worms=n_worms, note=note)
    return estimates


def path_estimates(path: Trajectory, worms: Iterable[int]) -> Estimates:
    """Measure displacement and speed of worms; every individual of the path is one of the paper's."""
    far, fit = msd(path, np.array(MSD_LAGS), across_gaps=True), diffusion(msd(path, paper_lags(), across_gaps=True))
    estimates: Estimates = {}
    for i, worm in enumerate(worms):
        speed = path.cut(i).speed()
        estimates[f"worm {worm} slope"] = Estimate(interval=point(fit.slope[i]), n_worms=1)
        estimates[f"worm {worm} exponent"] = Estimate(interval=point(fit.exponent[i]), n_worms=1)
        estimates[f"worm {worm} speed"] = Estimate(interval=point(float(np.nanmean(speed))), n_worms=1)
        for k, lag in enumerate(MSD_LAGS):
            estimates[f"worm {worm} MSD {lag:g} s"] = Estimate(interval=point(far.msd[i, k]), n_worms=1)
    return estimates


def exponent_estimates(path: Trajectory) -> Estimates:
    """Average over worms how the squared displacement grows."""
    far = msd(path, paper_lags(), across_gaps=True)
    table = np.array([np.interp(list(EXPONENTS), far.lags, row) for row in far.exponent])
    return {
        f"exponent at {seconds} s": Estimate(
            interval=interval_of_mean(table[:, k], "animals", scale="signed"), n_worms=len(table)
        )
        for k, seconds in enumerate(EXPONENTS)
    }


def own_path_estimates(evidence: Evidence) -> Estimates:
    """Measure the paths that were recorded with the postures."""
    path, worms = measured_path(evidence.model), evidence.worms
    estimates = exponent_estimates(path) if path is not None and path.segments.longest() > LONG * RATE else {}
    for i, worm in enumerate(worms):
        if path is not None and worm >= 0:
            estimates |= path_estimates(path.cut(i), [worm])
    return estimates


# --- from results ----------------------------------------------------------------------------------------------------


def entropy_estimates(evidence: Evidence, scan: EntropyTable) -> Estimates:
    """Read the scan of sequence lengths and numbers of microstates, a partition for every animal."""
    estimates = _scan_choices(scan, "")
    rows, columns = scan.n_delays.tolist(), scan.n_states.tolist()
    for n_delays, n_states in ENTROPY_RATES:
        values = scan.entropy_rate[rows.index(n_delays), columns.index(n_states)]
        estimates[f"entropy rate K={n_delays} N={n_states}"] = evidence.over_animals(values)
    information = scan.predictive_information[rows.index(11), columns.index(1000)]
    estimates["predictive information"] = evidence.over_animals(information)
    return estimates


def seeded_estimates(_: Evidence, seeded: SeededEntropy) -> Estimates:
    """Read the entropy rates of the paper's own worms."""
    return {
        f"worm {worm} entropy rate": Estimate(interval=_of_another_partition(rates), n_worms=1)
        for worm, rates in zip(seeded.worms, seeded.rates, strict=True)
    }


def _of_another_partition(values: FloatArray) -> Interval:
    """Say what a partition from another seed would give, as the published one is; wider than for the mean of seeds."""
    mean = interval_of_mean(values, "seeds", scale="signed")
    half = (mean.high - mean.estimate) * np.sqrt(1 + mean.n)
    return Interval(
        estimate=mean.estimate,
        low=mean.estimate - half,
        high=mean.estimate + half,
        level=mean.level,
        over="seeds",
        n=mean.n,
    )


def time_estimates(evidence: Evidence, relaxed: WormRelaxation) -> Estimates:
    """Read relaxation times of every worm's own chain, and those of shuffled state sequences."""
    chain, scanned = evidence.model.chain, relaxed.lag_scan
    estimates = {
        "tau*": Estimate(interval=point(choose_lag(scanned.slowest()).value), n_worms=evidence.n_worms),
        "successors": evidence.whole(chain.transition.nnz / chain.states.size),
        "noise floor of P_r": evidence.over_animals(relaxed.floor_of_reversible),
        "noise floor of P": evidence.over_animals(relaxed.floor_of_chain),
    }
    times = scanned.relaxation_times[int(np.abs(scanned.lags - chain.lag).argmin())]
    estimates |= {f"reversible time {mode}": evidence.over_animals(times[mode - 2]) for mode in (2, 3, 4, 5, 6, 11)}
    for i, worm in enumerate(evidence.worms):
        if worm >= 0:
            interval = _time_over_blocks(evidence.model.symbols.mask(i), chain.lag, float(times[0, i]))
            estimates[f"worm {worm} reversible time"] = Estimate(interval=interval, n_worms=evidence.n_worms)
    distinct = relaxed.chain_times
    return estimates | {
        f"chain time {mode}": evidence.over_animals(distinct[:, mode - 2]) for mode in (2, 3, 4, 5, 6, 11, 21)
    }


def _time_over_blocks(symbols: Symbols, lag: float, time: float) -> Interval:
    """Give the slowest time of one worm's reversibilised chain its interval over blocks of the recording."""
    if not np.isfinite(time):
        return point(time)
    unit, n_units, over = resampled_units(symbols)
    counts = count_by_unit(symbols, lag, unit, n_units)
    whole = sum(counts[1:], counts[0])
    modes = [reversible_modes(MarkovChain.from_counts(whole - part, lag), 1)[0] for part in counts]
    left_out = np.array([relaxation_time(float(one[0]), lag) if one.size else np.nan for one in modes])
    return jackknife_interval(time, left_out, over)


def prediction_estimates(evidence: Evidence, predictions: Predictions) -> Estimates:
    """Read the mixing times of prediction errors."""
    errors = {
        "mixing time of data": predictions.recorded_error,
        "mixing time of simulations": predictions.simulated_error,
    }
    return {key: Estimate(interval=error.mixing_time(), n_worms=evidence.n_worms) for key, error in errors.items()}


def drag_estimates(evidence: Evidence, rebuilt: Reconstruction) -> Estimates:
    """Read the drag ratio, where paths were measured."""
    if rebuilt.drag is None:
        return {}
    note = "The body length was fitted at α = 30, so this is no independent test." if rebuilt.is_fitted else ""
    return {"drag ratio": Estimate(interval=rebuilt.drag.median, n_worms=evidence.n_worms, note=note)}


def run_estimates(evidence: Evidence, animals: AnimalRunSet) -> Estimates:
    """Read events, transition rates and displacement in runs of every worm."""
    runs = animals.animals
    estimates = {
        "simulated reversals": evidence.over_animals(np.array([one.event_rates[0] for one in runs])),
        "simulated ventral turns": evidence.over_animals(np.array([one.event_rates[1] for one in runs])),
        "simulated rate run to pirouette": evidence.over_animals(np.array([one.leaving[RUN] for one in runs])),
        "simulated rate pirouette to run": evidence.over_animals(np.array([one.leaving[PIROUETTE] for one in runs])),
        "simulated pirouettes": evidence.over_animals(np.array([one.entered for one in runs])),
    }
    for number, one in zip(animals.numbers, runs, strict=True):
        worm = evidence.worms[number]
        if worm >= 0 and np.isfinite(one.slope).all():
            low, high = np.percentile(one.slope, (2.5, 97.5))
            interval = Interval(
                estimate=float(one.slope.mean()), low=float(low), high=float(high), level=0.95, over="runs",
                n=one.slope.size,
            )  # fmt: skip
            estimates[f"worm {worm} simulated slope"] = Estimate(interval=interval, n_worms=1)
    return estimates


def confined_estimates(evidence: Evidence, states: RunSet) -> Estimates:
    """Read the displacement of animals that never leave a state, in body lengths."""
    estimates = {}
    for runs in states.runs:
        lags, far = np.log(runs.displacement.lags), np.log(runs.displacement.msd)
        for seconds in CONFINED_LAGS:
            values = np.exp([np.interp(np.log(seconds), lags, row, right=np.nan) for row in far])
            interval = interval_of_mean(values, "runs")
            estimates[f"MSD of {runs.name} at {seconds:g} s"] = Estimate(interval=interval, n_worms=evidence.n_worms)
    return estimates


def food_estimates(evidence: Evidence, foraging: Foraging) -> Estimates:
    """Read the food found in every state, divided as published."""
    shares = state_shares(evidence.model.tree, foraging.level)
    curve = food_curve(foraging.coverage, shares, normalisation="paired", rng=evidence.seed)
    rows = {name: (curve.probability[k], curve.low[k], curve.high[k]) for k, name in enumerate(curve.names)}
    rows["the average worm"] = (curve.average, curve.average_low, curve.average_high)
    estimates = {}
    for name, curves in rows.items():
        for radius in RADII:
            estimate, low, high = (float(np.interp(np.log(radius), np.log(curve.radii), one)) for one in curves)
            interval = Interval(estimate=estimate, low=low, high=high, level=0.95, over="runs", n=curve.n_runs)
            estimates[f"food of {name} at {radius:g} L"] = Estimate(interval=interval, n_worms=evidence.n_worms)
    return estimates


def split_estimates(evidence: Evidence, splits: CrossValidation) -> Estimates:
    """Read the transition rates in runs that were learned from other blocks, divided as published."""
    simulated = splits.comparisons[TRANSITIONS].simulated
    n_splits, n_animals, n_runs, n_states = simulated.shape
    runs = simulated.swapaxes(1, 2).reshape(n_splits * n_runs, n_animals * n_states)
    rates = weighted_means(runs, np.ones((1, len(runs)))).reshape(n_animals, n_states)
    return {
        "cross-validated rate run to pirouette": evidence.over_animals(rates[:, RUN]),
        "cross-validated rate pirouette to run": evidence.over_animals(rates[:, PIROUETTE]),
    }
