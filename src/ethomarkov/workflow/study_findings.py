"""Published figures that a study tells by itself: kinetics of states, postures and events."""

from collections.abc import Sequence

import numpy as np

from ethomarkov._core.interval import Interval, Scale, leave_one_out
from ethomarkov._core.random import generator
from ethomarkov._core.series import Series
from ethomarkov._core.types import FloatArray, IntArray
from ethomarkov.coarse.dwell_laws import paper_biexponential
from ethomarkov.coarse.kinetics import animal_rates, find_dwells, jump_chain, time_budget
from ethomarkov.coarse.passage import two_state_times
from ethomarkov.exceptions import EthomarkovError
from ethomarkov.paper.data import RATE
from ethomarkov.paper.published import WAVELENGTHS
from ethomarkov.paper.scoring import Found
from ethomarkov.posture import EventRule, find_events, phase_velocity, wavelength
from ethomarkov.states import Symbols
from ethomarkov.validation.correlation import autocorrelation
from ethomarkov.validation.drifting import entry_rate
from ethomarkov.workflow.findings import PIROUETTE, RUN, Evidence, Findings
from ethomarkov.workflow.paths import body_basis
from ethomarkov.workflow.states import state_names
from ethomarkov.workflow.study import MACRO

N_RESAMPLES = 300


def kinetic_findings(evidence: Evidence) -> tuple[Findings, str]:
    """Measure kinetics, states, postures and events, and say why some of them could not be had."""
    found: Findings = {}
    reasons = []
    for measure in (_two_state_findings, _state_findings, _biexponential_findings, _posture_findings):
        try:
            found |= measure(evidence)
        except EthomarkovError as error:  # one figure that cannot be had must not cost all the others
            reasons.append(str(error))
    return found, " ".join(reasons)


def _two_state_findings(evidence: Evidence) -> Findings:
    """Measure the relaxation of runs and pirouettes."""
    study = evidence.study
    coarse = two_state_times(study.symbols, study.tree.states_at(MACRO), np.array([study.chain.lag]))
    estimate, low, high = (float(x) for x in (coarse.times[0, 0], coarse.low[0, 0], coarse.high[0, 0]))
    interval = Interval(estimate=estimate, low=low, high=high, level=0.95, over=coarse.over, n=len(coarse.by_unit))
    return {"two-state time": Found(interval=interval, n_worms=evidence.n_worms)}


def _state_findings(evidence: Evidence) -> Findings:
    """Kinetics of runs and pirouettes, and what the finer states are."""
    study = evidence.study
    macro, lag = study.states(MACRO), study.chain.lag
    found = {"coherence": _coherence(evidence), "pirouette measure": _pirouette_share(evidence)}
    rates = animal_rates(find_dwells(macro, lag), convention="paper")
    found["rate run to pirouette"] = evidence.over_animals(rates[:, RUN])
    found["rate pirouette to run"] = evidence.over_animals(rates[:, PIROUETTE])
    meso = find_dwells(study.states(study.finest), lag)
    found["mesoscopic dwell"] = _mean_of_pooled(evidence, meso.duration, meso.individual)
    return found | _trait_findings(evidence)


def _coherence(evidence: Evidence) -> Found:
    """Give the coherence of the first division its interval, by counting its transitions without each animal."""
    study, lag = evidence.study, evidence.study.chain.lag
    counts = np.array([_transitions(study.states(MACRO).of(i), lag) for i in range(evidence.n_worms)])
    without = leave_one_out(counts)
    with np.errstate(invalid="ignore"):
        kept = np.diagonal(without, axis1=1, axis2=2) / without.sum(axis=2)
    return evidence.pooled(study.cut.coherence, kept.min(axis=1), "share")


def _transitions(states: Symbols, lag: float) -> FloatArray:
    """Count the transitions between the states of one animal, and back."""
    first, last = states.segments.pairs(states.sampling.frames(lag))
    before, after = states.labels[first], states.labels[last]
    known, n = (before >= 0) & (after >= 0), states.n_states
    counts = np.bincount(before[known] * n + after[known], minlength=n * n).reshape(n, n)
    return np.asarray(counts + counts.T, dtype=float)


def _mean_of_pooled(evidence: Evidence, values: FloatArray, individual: IntArray, scale: Scale = "positive") -> Found:
    """Average values of all animals together, such as those of all frames of a state; interval over animals."""
    known = np.isfinite(values)
    total = np.bincount(individual[known], values[known], evidence.n_worms)
    n = np.bincount(individual[known], minlength=evidence.n_worms)
    visited = n > 0  # who never was in the state tells nothing of it
    without = leave_one_out(total[visited]), leave_one_out(n[visited])
    left_out = np.divide(*without, out=np.full(without[1].shape, np.nan), where=without[1] > 0)
    return evidence.pooled(float(total.sum() / n.sum()) if n.any() else np.nan, left_out, scale)


def _biexponential_findings(evidence: Evidence) -> Findings:
    """Fit two exponentials to all stays of runs and pirouettes, as published."""
    stays, rng = find_dwells(evidence.study.states(MACRO)), generator(evidence.seed, "biexponential")
    fit = paper_biexponential(stays, n_resamples=N_RESAMPLES, rng=rng)
    found = {"biexponential relaxation": Found(interval=fit.relaxation, n_worms=evidence.n_worms)}
    for k, key in enumerate(("biexponential long", "biexponential short")):
        estimate, low, high = (float(times[k]) for times in (fit.times, fit.times_low, fit.times_high))
        interval = Interval(estimate=estimate, low=low, high=high, level=0.95, over="animals", n=evidence.n_worms)
        found[key] = Found(interval=interval, n_worms=evidence.n_worms)
    return found


def _pirouette_share(evidence: Evidence) -> Found:
    return evidence.over_animals(time_budget(evidence.study.states(MACRO))[:, PIROUETTE], "share")


def _trait_findings(evidence: Evidence) -> Findings:
    """Shares of time, velocities and wavelengths of the states of the finest level, by name."""
    study = evidence.study
    names, states = state_names(study, study.finest), study.states(study.finest)
    shares, velocity = time_budget(states), phase_velocity(study.postures)
    found = _jump_findings(evidence, names)
    for k, name in enumerate(names):
        rows = np.flatnonzero(states.segments.valid & (states.labels == k))
        owner = states.segments.row_individual[rows]
        found[f"measure of {name}"] = evidence.over_animals(shares[:, k], "share")
        found[f"velocity of {name}"] = _mean_of_pooled(evidence, velocity[rows], owner, "signed")
        if name in WAVELENGTHS:
            found[f"wavelength of {name}"] = _paper_wavelength(evidence, rows)
    return found


def _jump_findings(evidence: Evidence, names: Sequence[str]) -> Findings:
    """Probabilities of the next state, frame by frame."""
    states = evidence.study.states(evidence.study.finest)
    counts = np.array([jump_chain(states.of(i)).counts for i in range(evidence.n_worms)])
    without = leave_one_out(counts)
    with np.errstate(invalid="ignore"):
        left_out = without / without.sum(axis=2, keepdims=True)
    jumps = jump_chain(states).probabilities
    return {
        f"jump of {before} to {after}": evidence.pooled(float(jumps[i, j]), left_out[:, i, j], "share")
        for i, before in enumerate(names)
        for j, after in enumerate(names)
    }


def _paper_wavelength(evidence: Evidence, rows: IntArray) -> Found:
    """Median wavelength in some frames by the published estimate, in up to 5000 of them."""
    study, rows = evidence.study, rows[:: max(1, rows.size // 5000)]
    frames = Series.from_rows(study.postures.values[rows], study.postures.sampling)
    waves = wavelength(body_basis(study).reconstruct(frames), "paper")
    owner = study.postures.segments.row_individual[rows]
    left_out = [np.nanmedian(waves[owner != i]) if (owner != i).any() else np.nan for i in np.unique(owner)]
    return evidence.pooled(float(np.nanmedian(waves)), np.array(left_out))


def _posture_findings(evidence: Evidence) -> Findings:
    """Autocorrelations, events, and pirouettes in the course of time."""
    study = evidence.study
    landmarks = [
        _landmarks(autocorrelation(study.postures.of(i), 6.0, across_gaps=True).values[0])
        for i in range(evidence.n_worms)
    ]
    found = {key: evidence.over_animals(np.array([one[key] for one in landmarks]), "signed") for key in landmarks[0]}
    counts = find_events(study.postures, EventRule.paper()).counts()
    minutes = np.diff(study.postures.segments.offsets) / study.postures.sampling.rate / 60
    for k, key in enumerate(("reversals", "ventral turns", "dorsal turns")):
        found[key] = evidence.over_animals(counts[:, k] / minutes)
    try:
        entries = entry_rate(study.states(MACRO), PIROUETTE, shortest=study.chain.lag)
    except EthomarkovError:  # shorter than one window
        return found
    for k, centre in enumerate(entries.centres / 60):
        found[f"pirouettes at {centre:g} min"] = evidence.over_animals(entries.rate[:, k])
    return found


def _landmarks(curves: FloatArray) -> dict[str, float]:
    """Zeros, minima and peaks of autocorrelations, as they were read off the plots."""
    seconds = np.arange(curves.shape[1]) / RATE
    first, second = curves[0], slice(0, round(1.6 * RATE))
    below = int(np.flatnonzero(first < 0)[0]) if (first < 0).any() else 0
    trough = int(first[second].argmin())
    peak = trough + int(first[trough : round(3 * RATE)].argmax())
    found = {
        "a1 zero": float(np.interp(0, -first[below - 1 : below + 1], seconds[below - 1 : below + 1]))
        if below
        else np.nan,
        "a1 minimum": float(first[trough]),
        "a1 minimum time": float(seconds[trough]),
        "a1 peak": float(first[peak]),
        "a1 peak time": float(seconds[peak]),
    }
    found |= {f"a{k} minimum": float(curves[k - 1][second].min()) for k in (2, 4, 5)}
    return found | {f"a3 at {t} s": float(curves[2][round(t * RATE)]) for t in (1, 2, 5)}
