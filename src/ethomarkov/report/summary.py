"""The key figures of a study, for people and for programs."""

import itertools
from dataclasses import asdict
from typing import Any

import numpy as np

from ethomarkov._core.interval import Interval, interval_of_mean
from ethomarkov._core.series import Series
from ethomarkov._core.words import count_of
from ethomarkov.coarse.kinetics import find_dwells, mean_dwell
from ethomarkov.coarse.naming import describe_states
from ethomarkov.markov import MarkovChain, entropy_rate
from ethomarkov.markov.spectrum import relaxation_time, slowest_times
from ethomarkov.model.behaviour import MACRO
from ethomarkov.model.kinetics import slowest_relaxation, steady_rates
from ethomarkov.posture import find_events
from ethomarkov.posture.events import EVENT_KINDS
from ethomarkov.recording.left_out import reading_notes
from ethomarkov.report.summary_file import as_json, read_summary, write_summary
from ethomarkov.study import Study

Figures = dict[str, Any]

UNSTABLE = 0.5
"""Below this overlap a state is not found again; the usual limit for clusters."""


def key_figures(study: Study) -> Figures:
    """Give the key figures of a study as JSON has them: those beside its file, or computed now and written there.

    Parameters
    ----------
    study
        Of which the figures are.
    """
    home = study.directory
    if home is None:
        return as_json(summarize(study))
    return read_summary(home) or write_summary(home, summarize(study))


def summarize(study: Study) -> Figures:
    """Compute the key figures of a study as plain numbers and words."""
    return {
        "data": _data_figures(study),
        "choices": study.settings.model_dump(),
        "chain": _chain_figures(study),
        "macrostates": _macrostate_figures(study),
        "behaviours": _behaviour_figures(study),
        "choice": _choice_figures(study),
        "timescales": _timescale_figures(study),
        "events_per_minute": _event_figures(study),
        "simulation": _simulation_figures(study),
        "warnings": study_warnings(study),
    }


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
        "slowest_relaxation_s": asdict(slowest_relaxation(study.model, study.spectrum)),
        "slowest_reversibilized_s": relaxation_time(study.cut.eigenvalue, study.chain.lag),
    }


def _choice_figures(study: Study) -> Figures:
    """Say which sequences, microstates and lag were used, and why."""
    choice = study.choice
    return {
        "explanation": choice.explain(),
        "verdict": choice.verdict(),
        "slow_delays": choice.slow_delays,
        "predictive_delays": choice.predictive_delays,
        "slow_modes": choice.n_slow,
        "is_flat": choice.is_flat,
        "over": choice.over,
        "warnings": list(choice.warnings),
    }


def _timescale_figures(study: Study) -> Figures:
    """Say how many modes stand above noise."""
    return {
        "noise_floor_s": study.noise_floor.time(),
        "noise_floor_upper_s": study.noise_floor.time(0.975),
        "significant_modes": study.noise_floor.significant_modes(study.spectrum),
        "meaning": slowest_times(study.chain).explain(),
    }


def _macrostate_figures(study: Study) -> Figures:
    return {
        "coherence": study.cut.coherence,
        "undecided": study.cut.undecided,
        "mode": study.cut.mode,
        "stability": study.tree.split_stability(0),
        "states": _state_figures(study, MACRO),
        "hopping": _hopping_figures(study),
    }


def _behaviour_figures(study: Study) -> Figures:
    """Describe the states of the finest level."""
    states = _state_figures(study, study.finest)
    sentences = describe_states(study.traits_at(study.finest), [state["name"] for state in states])
    return {
        "level": study.finest,
        "supported": study.tree.n_supported,
        "verdict": study.tree.verdict(),
        "states": [state | {"description": text} for state, text in zip(states, sentences, strict=True)],
    }


def _state_figures(study: Study, level: int) -> list[Figures]:
    """Share of time, mean dwell time and stability of the states of a level."""
    symbols = study.states(level)
    dwells = find_dwells(symbols, study.chain.lag)
    shares = symbols.visits() / max(int(symbols.visits().sum()), 1)
    return [
        {
            "name": name,
            "share_of_time": float(shares[k]),
            "mean_dwell_s": asdict(mean_dwell(dwells, k)),
            "stability": float(study.tree.stability[node]),
        }
        for k, (name, node) in enumerate(zip(study.names(level), study.tree.nodes_at(level), strict=True))
    ]


def _hopping_figures(study: Study) -> Figures:
    """Rates between the macrostates."""
    _, found, is_steady = steady_rates(study.model, MACRO)
    n = len(found.by_unit)
    return {
        "lag_s": found.lag,
        "method": found.method,
        "is_steady": is_steady,
        "relaxation_s": asdict(found.relaxation),
        "rates_per_s": [
            asdict(_limits(found.rates[i, j], found.low[i, j], found.high[i, j], found.over, n))
            for i, j in ((0, 1), (1, 0))
        ],
    }


def _limits(estimate: float, low: float, high: float, over: str, n: int) -> Interval:
    return Interval(estimate=float(estimate), low=float(low), high=float(high), level=0.95, over=over, n=n)


def _event_figures(study: Study) -> Figures | None:
    """Event rates of data and simulation, where events are defined."""
    if not study.is_worm:
        return None
    sources = {"data": (study.postures, "animals"), "simulation": (study.simulated, "runs")}
    return {
        kind: {
            name: asdict(interval_of_mean(find_events(series).rates()[:, k], over))
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
        "how": study.simulation_choice.explain(),
        "lag_s": study.simulation_choice.chosen_lag,
        "passage_s": study.simulation_choice.chosen_passage,
        "novelty": study.simulation_choice.simulated_novelty,
        "tried": study.simulation_choice.rows(),
    }
    if study.path is not None:
        speeds = [study.path.speed()[study.path.segments.mask(i).valid] for i in range(figures["runs"])]
        means = np.array([speed[np.isfinite(speed)].mean() for speed in speeds if np.isfinite(speed).any()])
        figures["speed_body_lengths_per_s"] = asdict(interval_of_mean(means, "runs"))
    measured = _measured_speed(study)
    if measured is not None:
        figures["measured_speed_body_lengths_per_s"] = asdict(measured)
    return figures


def _measured_speed(study: Study) -> Interval | None:
    """Distance covered in one second by the recorded animals, where paths and body lengths are known."""
    speed, offsets = study.measured.speed(study.postures), study.postures.segments.offsets
    tracks = [speed[first:stop] for first, stop in itertools.pairwise(offsets)]
    means = [np.nanmean(track) for track in tracks if np.isfinite(track).any()]
    return interval_of_mean(np.array(means), "animals") if means else None


def _spread(series: Series) -> list[float]:
    values = series.values[series.segments.valid]
    return [round(float(sd), 4) for sd in values.std(axis=0)]


def study_warnings(study: Study) -> list[str]:
    """Say plainly what a reader should know before believing the figures."""
    found = [*caveats(study), *reading_notes(study.ledger), *study.choice.warnings]
    visits = study.symbols.visits()
    rare = int((visits < 30).sum())
    if rare > 0.1 * visits.size and study.choice.n_states not in study.choice.states:  # a number that someone set
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
    if study.tree.n_supported < study.finest:
        found.append(study.tree.verdict())
    unstable = [state["name"] for state in _state_figures(study, study.finest) if state["stability"] < UNSTABLE]
    if unstable:
        found.append(
            f"{', '.join(unstable)}: not found again when animals are resampled (overlap below {UNSTABLE}); read the "
            "finer states with care, or use fewer (--states)."
        )
    if study.path is None:
        found.append(
            "No path was computed: it needs tangent angles along the body. For amplitudes give the basis (--basis)."
        )
    if study.postures.segments.n_individuals == 1 and study.choice.over != "blocks":  # which it says already
        found.append("One animal: intervals are over blocks of its time, and tell nothing about other animals.")
    return found


def caveats(study: Study) -> list[str]:
    """Say which numbers come from all animals, and which from those whose frames the study holds, where they differ."""
    animals, n_files = study.animals, len(set(study.animals.files))
    found = []
    if not animals.is_whole:
        found.append(
            f"Chain and states come from {count_of(len(animals.individuals), 'animal')} of "
            f"{count_of(n_files, 'file')}, {int(animals.frames.sum()):,} frames, with an entropy rate of "
            f"{animals.entropy_rate:.2f} nat/s; all other figures from "
            f"{count_of(len(study.individuals), 'example animal')}."
        )
    if animals.n_unseen:
        found.append(
            f"{count_of(animals.n_unseen, 'microstate')} that no example animal visits: left out of the chain, because "
            "nothing could be simulated there."
        )
    return found
