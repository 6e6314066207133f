"""Published figures that a study tells by itself: kinetics of states, postures and events."""

import numpy as np

from ethomarkov._core.interval import Interval, bootstrap_interval
from ethomarkov._core.random import generator
from ethomarkov._core.series import Series
from ethomarkov._core.types import FloatArray
from ethomarkov.coarse.dwell_laws import paper_biexponential
from ethomarkov.coarse.kinetics import animal_rates, find_dwells, jump_chain, time_budget
from ethomarkov.coarse.passage import two_state_times
from ethomarkov.exceptions import EthomarkovError
from ethomarkov.posture import EventRule, find_events, wavelength
from ethomarkov.validation.correlation import autocorrelation
from ethomarkov.validation.drifting import entry_rate
from ethomarkov.workflow.findings import PIROUETTE, RUN, Evidence, Findings
from ethomarkov.workflow.holdings import RATE
from ethomarkov.workflow.paths import body_basis
from ethomarkov.workflow.scoreboard import WAVELENGTHS, Found
from ethomarkov.workflow.states import state_names, traits_at
from ethomarkov.workflow.study import MACRO, Study

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
    study, rng = evidence.study, generator(evidence.seed, "two states")
    lags = np.array([study.chain.lag])
    coarse = two_state_times(study.symbols, study.tree.states_at(MACRO), lags, n_resamples=N_RESAMPLES, rng=rng)
    estimate, low, high = (float(x) for x in (coarse.times[0, 0], coarse.low[0, 0], coarse.high[0, 0]))
    interval = Interval(estimate=estimate, low=low, high=high, level=0.95, over=coarse.over, n=len(coarse.by_unit))
    return {"two-state time": Found(interval=interval, n_worms=evidence.n_worms)}


def _state_findings(evidence: Evidence) -> Findings:
    """Kinetics of runs and pirouettes, and what the finer states are."""
    study, rng = evidence.study, generator(evidence.seed, "kinetics")
    macro, lag = study.states(MACRO), study.chain.lag
    found = {"coherence": evidence.whole(study.cut.coherence), "pirouette measure": _pirouette_share(evidence)}
    rates = animal_rates(find_dwells(macro, lag), convention="paper")
    found["rate run to pirouette"] = evidence.over_animals(rates[:, RUN])
    found["rate pirouette to run"] = evidence.over_animals(rates[:, PIROUETTE])
    meso = find_dwells(study.states(study.finest), lag).duration
    interval = bootstrap_interval(meso, "events", rng=rng)
    found["mesoscopic dwell"] = Found(interval=interval, n_worms=evidence.n_worms)
    return found | _trait_findings(evidence)


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
    return evidence.over_animals(time_budget(evidence.study.states(MACRO))[:, PIROUETTE])


def _trait_findings(evidence: Evidence) -> Findings:
    """Shares of time, velocities and wavelengths of the states of the finest level, by name."""
    study = evidence.study
    names, traits = state_names(study, study.finest), traits_at(study, study.finest)
    shares = time_budget(study.states(study.finest))
    jumps = jump_chain(study.states(study.finest)).probabilities
    found = {
        f"jump of {before} to {after}": evidence.whole(jumps[i, j])
        for i, before in enumerate(names)
        for j, after in enumerate(names)
    }
    for k, name in enumerate(names):
        found[f"measure of {name}"] = evidence.over_animals(shares[:, k])
        found[f"velocity of {name}"] = evidence.whole(traits.velocity[k])
        if name in WAVELENGTHS:
            found[f"wavelength of {name}"] = evidence.whole(_paper_wavelength(study, k))
    return found


def _paper_wavelength(study: Study, state: int) -> float:
    """Median wavelength in a state by the published estimate, in up to 5000 of its frames."""
    rows = np.flatnonzero(study.states(study.finest).labels == state)
    rows = rows[:: max(1, rows.size // 5000)]
    frames = Series.from_rows(study.postures.values[rows], study.postures.sampling)
    return float(np.nanmedian(wavelength(body_basis(study).reconstruct(frames), "paper")))


def _posture_findings(evidence: Evidence) -> Findings:
    """Autocorrelations, events, and pirouettes in the course of time."""
    study = evidence.study
    landmarks = [
        _landmarks(autocorrelation(study.postures.of(i), 6.0, across_gaps=True).values[0])
        for i in range(evidence.n_worms)
    ]
    found = {key: evidence.over_animals(np.array([one[key] for one in landmarks])) for key in landmarks[0]}
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
