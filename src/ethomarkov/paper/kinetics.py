"""Estimates of the published figures that a model tells by itself: kinetics of states, postures and events."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from ethomarkov._core.interval import Interval, Scale, leave_one_out
from ethomarkov._core.random import generator
from ethomarkov._core.result import Result
from ethomarkov._core.series import Series
from ethomarkov._core.types import FloatArray, IntArray
from ethomarkov.coarse import Cut
from ethomarkov.coarse.dwell_laws import paper_biexponential
from ethomarkov.coarse.kinetics import animal_rates, find_dwells, jump_chain, time_budget
from ethomarkov.coarse.passage import two_state_times
from ethomarkov.exceptions import EthomarkovError
from ethomarkov.model.behaviour import MACRO
from ethomarkov.paper.data import RATE
from ethomarkov.paper.evidence import PIROUETTE, RUN, Estimates, Evidence
from ethomarkov.paper.published import WAVELENGTHS
from ethomarkov.paper.scoring import Estimate
from ethomarkov.posture import EventSettings, find_events, phase_velocity, wavelength
from ethomarkov.states import Symbols
from ethomarkov.validation.correlation import autocorrelation
from ethomarkov.validation.drifting import entry_rate

N_RESAMPLES = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperKinetics(Result):
    """Kinetics, states, postures and events, as the paper measures them.

    Parameters
    ----------
    estimates
        Our estimates, by the key of the published figure.
    reasons
        Why some figures could not be estimated, in words.
    """

    estimates: Mapping[str, Estimate]
    reasons: tuple[str, ...]


def estimate_kinetics(evidence: Evidence, cut: Cut) -> PaperKinetics:
    """Measure kinetics, states, postures and events as published, and say why some could not be estimated.

    Parameters
    ----------
    evidence
        The model of the worms.
    cut
        Its division into two macrostates.
    """
    estimates: Estimates = {}
    reasons = []
    measures = (_two_state_estimates, partial(_state_estimates, cut=cut), _biexponential_estimates, _posture_estimates)
    for measure in measures:
        try:
            estimates |= measure(evidence)
        except EthomarkovError as error:  # one figure that cannot be had must not cost all the others
            reasons.append(str(error))
    return PaperKinetics(estimates=estimates, reasons=tuple(reasons))


def _two_state_estimates(evidence: Evidence) -> Estimates:
    """Measure the relaxation of runs and pirouettes."""
    model = evidence.model
    coarse = two_state_times(model.symbols, model.tree.states_at(MACRO), np.array([model.chain.lag]))
    estimate, low, high = (float(x) for x in (coarse.times[0, 0], coarse.low[0, 0], coarse.high[0, 0]))
    interval = Interval(estimate=estimate, low=low, high=high, level=0.95, over=coarse.over, n=len(coarse.by_unit))
    return {"two-state time": Estimate(interval=interval, n_worms=evidence.n_worms)}


def _state_estimates(evidence: Evidence, cut: Cut) -> Estimates:
    """Kinetics of runs and pirouettes, and what the finer states are."""
    model = evidence.model
    macro, lag = model.states(MACRO), model.chain.lag
    estimates = {"coherence": _coherence(evidence, cut), "pirouette measure": _pirouette_share(evidence)}
    rates = animal_rates(find_dwells(macro, lag), convention="paper")
    estimates["rate run to pirouette"] = evidence.over_animals(rates[:, RUN])
    estimates["rate pirouette to run"] = evidence.over_animals(rates[:, PIROUETTE])
    meso = find_dwells(model.states(model.finest), lag)
    estimates["mesoscopic dwell"] = _mean_of_pooled(evidence, meso.duration, meso.individual)
    return estimates | _trait_estimates(evidence)


def _coherence(evidence: Evidence, cut: Cut) -> Estimate:
    """Give the coherence of the first division its interval, by counting its transitions without each animal."""
    model, lag = evidence.model, evidence.model.chain.lag
    counts = np.array([_transitions(model.states(MACRO).mask(i), lag) for i in range(evidence.n_worms)])
    without = leave_one_out(counts)
    with np.errstate(invalid="ignore"):
        kept = np.diagonal(without, axis1=1, axis2=2) / without.sum(axis=2)
    return evidence.pooled(cut.coherence, kept.min(axis=1), "share")


def _transitions(states: Symbols, lag: float) -> FloatArray:
    """Count the transitions between the states of one animal, and back."""
    first, last = states.segments.pairs(states.sampling.frames(lag))
    before, after = states.labels[first], states.labels[last]
    known, n = (before >= 0) & (after >= 0), states.n_states
    counts = np.bincount(before[known] * n + after[known], minlength=n * n).reshape(n, n)
    return np.asarray(counts + counts.T, dtype=float)


def _mean_of_pooled(
    evidence: Evidence, values: FloatArray, individual: IntArray, scale: Scale = "positive"
) -> Estimate:
    """Average values of all animals together, such as those of all frames of a state; interval over animals."""
    known = np.isfinite(values)
    total = np.bincount(individual[known], values[known], evidence.n_worms)
    n = np.bincount(individual[known], minlength=evidence.n_worms)
    visited = n > 0  # who never was in the state tells nothing of it
    without = leave_one_out(total[visited]), leave_one_out(n[visited])
    left_out = np.divide(*without, out=np.full(without[1].shape, np.nan), where=without[1] > 0)
    return evidence.pooled(float(total.sum() / n.sum()) if n.any() else np.nan, left_out, scale)


def _biexponential_estimates(evidence: Evidence) -> Estimates:
    """Fit two exponentials to all dwell times of runs and pirouettes, as published."""
    dwells, rng = find_dwells(evidence.model.states(MACRO)), generator(evidence.seed, "biexponential")
    fit = paper_biexponential(dwells, n_resamples=N_RESAMPLES, rng=rng)
    estimates = {"biexponential relaxation": Estimate(interval=fit.relaxation, n_worms=evidence.n_worms)}
    for k, key in enumerate(("biexponential long", "biexponential short")):
        estimate, low, high = (float(times[k]) for times in (fit.times, fit.times_low, fit.times_high))
        interval = Interval(estimate=estimate, low=low, high=high, level=0.95, over="animals", n=evidence.n_worms)
        estimates[key] = Estimate(interval=interval, n_worms=evidence.n_worms)
    return estimates


def _pirouette_share(evidence: Evidence) -> Estimate:
    return evidence.over_animals(time_budget(evidence.model.states(MACRO))[:, PIROUETTE], "share")


def _trait_estimates(evidence: Evidence) -> Estimates:
    """Shares of time, velocities and wavelengths of the states of the finest level, by name."""
    model = evidence.model
    names, states = model.names(model.finest), model.states(model.finest)
    shares, velocity = time_budget(states), phase_velocity(model.postures)
    estimates = _jump_estimates(evidence, names)
    for k, name in enumerate(names):
        rows = np.flatnonzero(states.segments.valid & (states.labels == k))
        owner = states.segments.row_individual[rows]
        estimates[f"measure of {name}"] = evidence.over_animals(shares[:, k], "share")
        estimates[f"velocity of {name}"] = _mean_of_pooled(evidence, velocity[rows], owner, "signed")
        if name in WAVELENGTHS:
            estimates[f"wavelength of {name}"] = _paper_wavelength(evidence, rows)
    return estimates


def _jump_estimates(evidence: Evidence, names: Sequence[str]) -> Estimates:
    """Probabilities of the next state, frame by frame."""
    states = evidence.model.states(evidence.model.finest)
    counts = np.array([jump_chain(states.mask(i)).counts for i in range(evidence.n_worms)])
    without = leave_one_out(counts)
    with np.errstate(invalid="ignore"):
        left_out = without / without.sum(axis=2, keepdims=True)
    jumps = jump_chain(states).probabilities
    return {
        f"jump of {before} to {after}": evidence.pooled(float(jumps[i, j]), left_out[:, i, j], "share")
        for i, before in enumerate(names)
        for j, after in enumerate(names)
    }


def _paper_wavelength(evidence: Evidence, rows: IntArray) -> Estimate:
    """Median wavelength in some frames by the published estimate, in up to 5000 of them."""
    model, rows = evidence.model, rows[:: max(1, rows.size // 5000)]
    frames = Series.from_rows(model.postures.values[rows], model.postures.sampling)
    waves = wavelength(model.body_basis().reconstruct(frames), "paper")
    owner = model.postures.segments.row_individual[rows]
    left_out = [np.nanmedian(waves[owner != i]) if (owner != i).any() else np.nan for i in np.unique(owner)]
    return evidence.pooled(float(np.nanmedian(waves)), np.array(left_out))


def _posture_estimates(evidence: Evidence) -> Estimates:
    """Autocorrelations, events, and pirouettes in the course of time."""
    model = evidence.model
    landmarks = [
        _landmarks(autocorrelation(model.postures.cut(i), 6.0, across_gaps=True).values[0])
        for i in range(evidence.n_worms)
    ]
    estimates = {
        key: evidence.over_animals(np.array([one[key] for one in landmarks]), "signed") for key in landmarks[0]
    }
    counts = find_events(model.postures, EventSettings.paper()).counts()
    minutes = np.diff(model.postures.segments.offsets) / model.postures.sampling.rate / 60
    for k, key in enumerate(("reversals", "ventral turns", "dorsal turns")):
        estimates[key] = evidence.over_animals(counts[:, k] / minutes)
    try:
        entries = entry_rate(model.states(MACRO), PIROUETTE, shortest=model.chain.lag)
    except EthomarkovError:  # shorter than one window
        return estimates
    for k, centre in enumerate(entries.centres / 60):
        estimates[f"pirouettes at {centre:g} min"] = evidence.over_animals(entries.rate[:, k])
    return estimates


def _landmarks(curves: FloatArray) -> dict[str, float]:
    """Zeros, minima and peaks of autocorrelations, as they were read off the plots."""
    seconds = np.arange(curves.shape[1]) / RATE
    first, second = curves[0], slice(0, round(1.6 * RATE))
    below = int(np.flatnonzero(first < 0)[0]) if (first < 0).any() else 0
    trough = int(first[second].argmin())
    peak = trough + int(first[trough : round(3 * RATE)].argmax())
    estimates = {
        "a1 zero": float(np.interp(0, -first[below - 1 : below + 1], seconds[below - 1 : below + 1]))
        if below
        else np.nan,
        "a1 minimum": float(first[trough]),
        "a1 minimum time": float(seconds[trough]),
        "a1 peak": float(first[peak]),
        "a1 peak time": float(seconds[peak]),
    }
    estimates |= {f"a{k} minimum": float(curves[k - 1][second].min()) for k in (2, 4, 5)}
    return estimates | {f"a3 at {t} s": float(curves[2][round(t * RATE)]) for t in (1, 2, 5)}
