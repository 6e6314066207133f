"""The key figures of a study, for people and for programs."""

from dataclasses import asdict
from typing import Any

import numpy as np

from ethomarkov._core.interval import Interval, bootstrap_interval
from ethomarkov._core.random import generator
from ethomarkov._core.series import Series
from ethomarkov.coarse.kinetics import dwell_times
from ethomarkov.exceptions import EthomarkovError
from ethomarkov.markov import MarkovChain, entropy_rate, slow_spectrum
from ethomarkov.markov.selection import choose_lag, choose_n_delays, choose_n_states
from ethomarkov.markov.spectrum import relaxation_time, slow_times
from ethomarkov.posture import find_events, phase_velocity
from ethomarkov.posture.events import EVENT_KINDS
from ethomarkov.workflow.study import Study

Figures = dict[str, Any]


def summarize(study: Study) -> Figures:
    """Compute the key figures of a study as plain numbers and words."""
    return {
        "data": _data_figures(study),
        "choices": study.settings.model_dump(),
        "chain": _chain_figures(study),
        "macrostates": _macrostate_figures(study),
        "scan": _scan_figures(study),
        "timescales": _timescale_figures(study),
        "events_per_minute": _event_figures(study),
        "simulation": _simulation_figures(study),
        "warnings": _warnings(study),
    }


def macrostate_names(study: Study) -> tuple[str, str]:
    """Name the two macrostates: run and pirouette where there is a body wave, neutral names otherwise."""
    if not study.is_worm:
        return ("state A", "state B")
    labels, omega = study.macrostates.labels, phase_velocity(study.postures)
    forward = [np.nanmean(omega[labels == k]) if np.any(labels == k) else -np.inf for k in (0, 1)]
    return ("run", "pirouette") if forward[0] >= forward[1] else ("pirouette", "run")


def _data_figures(study: Study) -> Figures:
    segments = study.postures.segments
    seconds = segments.n_rows / study.postures.sampling.rate
    return {
        "animals": segments.n_individuals,
        "frames": segments.n_rows,
        "rate_hz": study.postures.sampling.rate,
        "minutes": seconds / 60,
        "missing_share": 1 - float(segments.lengths.sum()) / max(segments.n_rows, 1),
        "longest_gap_free_s": segments.longest() / study.postures.sampling.rate,
        "modes": study.postures.n_components,
        "basis": study.basis.source if study.basis is not None else "none (amplitudes as given)",
    }


def _chain_figures(study: Study) -> Figures:
    frame_chain = MarkovChain.from_symbols(study.symbols, study.symbols.sampling.interval)
    return {
        "connected_states": int(study.chain.states.size),
        "transitions_per_state": float(study.chain.transition.nnz / study.chain.states.size),
        "entropy_rate_nat_per_s": entropy_rate(frame_chain),
        "relaxation_times_s": [round(float(t), 4) for t in study.spectrum.relaxation_times[:5]],
        "eigenvalues": [[float(value.real), float(value.imag)] for value in study.spectrum.eigenvalues],
        "slowest_relaxation_s": asdict(_relaxation_over_animals(study)),
        "slowest_reversibilized_s": relaxation_time(study.cut.eigenvalue, study.chain.lag),
    }


def _scan_figures(study: Study) -> Figures | None:
    """Say what the scan would choose, and why."""
    if study.scan is None:
        return None
    states = choose_n_states(study.scan)
    delays = choose_n_delays(study.scan, int(states.value), rng=generator(study.settings.seed, "gain"))
    return {
        "n_states": int(states.value),
        "n_delays": int(delays.value),
        "reasons": [states.reason, delays.reason],
        "warnings": [*states.warnings, *delays.warnings],
    }


def _timescale_figures(study: Study) -> Figures | None:
    """Say at which lag the slow time is steady, and how many modes stand above noise."""
    if study.lag_scan is None or study.noise_floor is None:
        return None
    lag = choose_lag(study.lag_scan.slowest(), rng=generator(study.settings.seed, "lag"))
    return {
        "lag": lag.value,
        "reason": lag.reason,
        "warnings": list(lag.warnings),
        "noise_floor_s": study.noise_floor.time(),
        "noise_floor_upper_s": study.noise_floor.time(0.975),
        "significant_modes": study.noise_floor.significant_modes(study.spectrum),
        "meaning": slow_times(study.chain).explain(),
    }


def _relaxation_over_animals(study: Study) -> Interval:
    """Estimate the slowest relaxation time of each animal's own chain, and its mean over animals."""
    times = [_relaxation_of(study, i) for i in range(study.postures.segments.n_individuals)]
    return bootstrap_interval(np.array(times), "animals", rng=generator(study.settings.seed, "relaxation"))


def _relaxation_of(study: Study, individual: int) -> float:
    try:
        chain = MarkovChain.from_symbols(study.symbols.of(individual), study.chain.lag)
    except EthomarkovError:
        return float("nan")  # an animal too short for the lag has no relaxation time of its own
    times = slow_spectrum(chain, 1).relaxation_times
    return float(times[0]) if times.size else float("nan")


def _macrostate_figures(study: Study) -> Figures:
    names = macrostate_names(study)
    symbols = study.macrostates
    state, duration = dwell_times(symbols, study.chain.lag)
    shares = np.bincount(symbols.labels[symbols.segments.valid], minlength=2) / max(symbols.segments.lengths.sum(), 1)
    rng = generator(study.settings.seed, "dwell")
    return {
        "coherence": study.cut.coherence,
        "mode": study.cut.mode,
        "states": [
            {
                "name": names[k],
                "share_of_time": float(shares[k]),
                "mean_dwell_s": asdict(bootstrap_interval(duration[state == k], "events", rng=rng)),
            }
            for k in (0, 1)
        ],
    }


def _event_figures(study: Study) -> Figures | None:
    """Event rates of data and simulation, where events are defined."""
    if not study.is_worm:
        return None
    rng = generator(study.settings.seed, "events")
    sources = {"data": (study.postures, "animals"), "simulation": (study.simulated, "runs")}
    return {
        kind: {
            name: asdict(bootstrap_interval(find_events(series).rates()[:, k], over, rng=rng))
            for name, (series, over) in sources.items()
        }
        for k, kind in enumerate(EVENT_KINDS)
    }


def _simulation_figures(study: Study) -> Figures:
    figures: Figures = {
        "runs": study.simulated.segments.n_individuals,
        "minutes_each": float(np.diff(study.simulated.segments.offsets)[0] / study.simulated.sampling.rate / 60),
        "mode_sd_data": _spread(study.postures),
        "mode_sd_simulation": _spread(study.simulated),
    }
    if study.path is not None:
        speeds = [study.path.speed()[study.path.segments.of(i).valid] for i in range(figures["runs"])]
        means = np.array([speed[np.isfinite(speed)].mean() for speed in speeds if np.isfinite(speed).any()])
        figures["speed_body_lengths_per_s"] = asdict(bootstrap_interval(means, "runs", rng=study.settings.seed))
    measured = _measured_speed(study)
    if measured is not None:
        figures["measured_speed_body_lengths_per_s"] = asdict(measured)
    return figures


def _measured_speed(study: Study) -> Interval | None:
    """Distance covered in one second by the recorded animals, where paths and body lengths are known."""
    lag = max(1, round(study.postures.sampling.rate))
    offsets = study.postures.segments.offsets
    means = []
    for i, length in enumerate(study.measured.body_length):
        track = study.measured.centroid[offsets[i] : offsets[i + 1]]
        distance = np.linalg.norm(track[lag:] - track[:-lag], axis=1)
        if np.isfinite(distance).any() and np.isfinite(length):
            means.append(np.nanmean(distance) * study.postures.sampling.rate / lag / length)
    return bootstrap_interval(np.array(means), "animals", rng=study.settings.seed) if means else None


def _spread(series: Series) -> list[float]:
    values = series.values[series.segments.valid]
    return [round(float(sd), 4) for sd in values.std(axis=0)]


def _warnings(study: Study) -> list[str]:
    """Say plainly what a reader should know before believing the figures."""
    found = []
    visits = study.symbols.visits()
    rare = int((visits < 30).sum())
    if rare > 0.1 * visits.size:
        found.append(
            f"{rare} of {visits.size} microstates were visited fewer than 30 times: use fewer microstates or more data."
        )
    lost = study.chain.n_states - study.chain.states.size
    if lost:
        found.append(f"{lost} microstates lie outside the connected chain and are left out.")
    if study.cut.mode > 2:
        found.append(
            f"The {study.cut.mode - 2} slowest mode(s) of the chain only set apart rarely visited corners (less than "
            f"{study.settings.min_measure:.0%} of the time); the macrostates follow mode {study.cut.mode}."
        )
    if study.path is None:
        found.append(
            "No path was computed: it needs tangent angles along the body. For amplitudes give the basis (--basis)."
        )
    if study.postures.segments.n_individuals == 1:
        found.append("One animal: no interval over animals can be given.")
    return found
