"""Results of a study by name, each taken or made when a figure asks for it: all that figures and pages know of it."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ethomarkov._core.types import FloatArray
from ethomarkov.coarse.coherence import coherence_of_sets
from ethomarkov.coarse.dwell_laws import ExponentialSum, paper_biexponential
from ethomarkov.coarse.kinetics import find_dwells, jump_chain, time_budget
from ethomarkov.coarse.passage import CoarseTimes
from ethomarkov.exceptions import EthomarkovError
from ethomarkov.figures.panel import Results
from ethomarkov.locomotion import Trajectory, propel
from ethomarkov.locomotion.displacement import Displacement
from ethomarkov.locomotion.drag_example import DragExample, typical_window
from ethomarkov.locomotion.ensemble import CrawlSettings, crawl
from ethomarkov.markov import MarkovChain
from ethomarkov.markov.slow_modes import SlowModes, animal_chains
from ethomarkov.model.behaviour import MACRO
from ethomarkov.model.kinetics import Kinetics, steady_rates
from ethomarkov.model.paths import measured_path
from ethomarkov.posture import PostureBasis, phase_velocity
from ethomarkov.report.summary import summarize
from ethomarkov.simulation.spectra import PostureSpectrum, unfolding_spectra
from ethomarkov.states import DelayEmbedding
from ethomarkov.states.projection import SequenceMap, map_sequences
from ethomarkov.study import Study
from ethomarkov.validation.checks import AnimalCheck, run_duration
from ethomarkov.validation.correlation import Autocorrelation, autocorrelation, stack_correlations
from ethomarkov.validation.distribution import ModeDensity, stack_densities
from ethomarkov.validation.ensembles import ALL, EACH, RunSet
from ethomarkov.validation.held_out_correlation import HeldOutCorrelation, summarise_correlation
from ethomarkov.validation.runs import Runs, fitted_diffusion, measured_displacement
from ethomarkov.validation.split_means import SplitMeans
from ethomarkov.validation.validate import Agreement, agree

N_RESAMPLES = 200
N_SLOW_MODES = 4
CORRELATED_SECONDS = 6.0
EXAMPLE_SECONDS = 600.0
HELD = ("reconstruction", "foraging", "validation", "known_truth")
"""Analyses that are shown as they are, if the study has them."""


class StudyResults(Mapping[str, Any]):
    """Results of a study by name; None for those that it has not.

    Parameters
    ----------
    study
        Whose results.
    given
        Results that are known already, or that are to be taken for missing (None).

    Examples
    --------
    >>> import ethomarkov as em
    >>> worms = em.simulate_worms(2, 30.0, seed=1)
    >>> settings = em.Settings(n_delays=4, n_states=8, lag=0.25, n_behaviours=2, scan=False, n_resamples=0)
    >>> settings = settings.model_copy(update={"n_walks": 1, "simulated_minutes": 0.1, "simulation_lag": 0.25})
    >>> study = em.run_study(worms.recording, settings, basis=worms.basis)
    >>> results = StudyResults(study)
    >>> results["chain"].lag, results["foraging"] is None  # nobody asked for foraging
    (0.25, True)
    """

    def __init__(self, study: Study, **given: Any) -> None:  # noqa: ANN401
        self.study = study
        self._known: dict[str, Any] = dict(given)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Give what is to be said about results that are there and are not used."""
        strangers = self.study.graph.strangers()
        if not strangers:
            return ()
        return (
            f"{self.study.results_folder}: results of {', '.join(strangers)} are of another study, of other "
            "settings or of another version, and were not used; ask for them again.",
        )

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401
        if name not in self._known:
            self._known[name] = self._make(name)
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*CORE_RESULTS, *HELD, *MAKERS)))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __contains__(self, name: object) -> bool:
        return name in set(self)

    def _make(self, name: str) -> Any:  # noqa: ANN401
        if name in MAKERS:
            return MAKERS[name](self)
        if name in HELD:
            return self.study.held(name)
        if name not in self:
            raise KeyError(name)
        return getattr(self.study, name)


# --- what was asked of the study -------------------------------------------------------------------------------------


def _sequence_map(results: "StudyResults") -> SequenceMap:
    """Take the map, or make one by principal directions, which is quick."""
    study = results.study
    held: SequenceMap | None = study.held("sequence_map")
    if held is not None:
        return held
    sequences = DelayEmbedding(study.settings.n_delays).transform(study.postures)
    return map_sequences(sequences, study.microstates, method="pca", seed=study.settings.seed)


def _timescale(name: str) -> Callable[["StudyResults"], Any]:
    """Take what was measured on more lags and shuffles, where it was asked for."""

    def take(results: "StudyResults") -> Any:  # noqa: ANN401
        held = results.study.held("relaxation_times")
        return getattr(results.study, name) if held is None else getattr(held, name)

    return take


def _scan(results: "StudyResults") -> Any:  # noqa: ANN401 (a table or None)
    held = results.study.held("entropy_scan")
    return results.study.scan if held is None else held


def _kinetics(results: "StudyResults") -> dict[int, Kinetics] | None:
    levels = dict.fromkeys((MACRO, results.study.finest))
    held = {level: results.study.held("kinetics", level=level) for level in levels}
    found = {level: one for level, one in held.items() if one is not None}
    return found if len(found) == len(levels) else None


def _run_set(study: Study) -> RunSet | None:
    """Take the runs that were asked for last; a single run, as movies show it, is no ensemble and hides none."""
    for options in ({}, {"animal": EACH}, {"animal": ALL}):
        held: RunSet | None = study.held("runs", **options)
        if held is not None and len(held.runs[0].speed) > 1:
            return held
    return None


def _runs(results: "StudyResults") -> tuple[Runs, ...] | None:
    """Take simulated runs of the animals, or those that validation made."""
    held = _run_set(results.study)
    if held is not None:
        runs: tuple[Runs, ...] = held.runs
        return runs
    observed = results.study.held("animal_runs")
    found = () if observed is None else tuple(one.runs for one in observed.animals if one.runs is not None)
    return found or None


def _state_runs(results: "StudyResults") -> tuple[Runs, ...] | None:
    """Take runs within the finest states, if there are some of each."""
    held = results.study.held("state_runs", level=results.study.finest, state="each")
    return None if held is None else held.runs


def _displacement(results: "StudyResults") -> Displacement | None:
    """Measure how far the recorded animals got, at the lags of their runs."""
    study, held = results.study, _run_set(results.study)
    if held is not None:
        measured: Displacement | None = held.measured
        return measured
    if results["runs"] is None:
        return None
    longest = int(np.diff(study.postures.segments.offsets).max())
    return measured_displacement(study.model, run_duration(study.model, longest))


def _checks(results: "StudyResults") -> tuple[AnimalCheck, ...] | None:
    if results["validation"] is not None:
        animals: tuple[AnimalCheck, ...] = results["validation"].animals
        return animals
    observed = results.study.held("animal_runs")
    return None if observed is None else tuple(one.check for one in observed.animals)


def _predictions(results: "StudyResults") -> Any:  # noqa: ANN401 (a validation has what predictions have)
    return results.study.held("predictions") if results["validation"] is None else results["validation"]


def _splits(results: "StudyResults") -> Mapping[str, Any] | None:
    found = results["validation"]
    return None if found is None or not found.cross_validation else found.cross_validation


# --- what is made from results -----------------------------------------------------------------------------------


def _body_basis(results: Results) -> PostureBasis | None:
    """Give the modes if they are tangent angles, which make a body."""
    basis: PostureBasis | None = results["basis"]
    return basis if basis is not None and basis.features == "angle" else None


def _phase_velocity(results: Results) -> FloatArray | None:
    """Measure the body wave, where there is one: tangent angles in at least three modes."""
    postures = results["postures"]
    return phase_velocity(postures) if results["body_basis"] is not None and postures.n_components >= 3 else None


def _slow_modes(results: Results) -> SlowModes | None:
    chain = results["chain"]
    if chain.states.size < 2:
        return None
    return SlowModes.from_chain(results["symbols"], chain, N_SLOW_MODES)


def _coarse_times(results: "StudyResults") -> CoarseTimes:
    if results["kinetics"] is not None:
        times: CoarseTimes = results["kinetics"][MACRO].times
        return times
    return steady_rates(results.study.model, MACRO)[0]


def _two_exponentials(results: Results) -> ExponentialSum | None:
    """Fit the published law to all dwells; None where they are too few for four parameters."""
    seed, lag = results["settings"].seed, results["chain"].lag
    try:
        return paper_biexponential(results["frame_dwells"], shortest=lag, n_resamples=N_RESAMPLES, rng=seed)
    except EthomarkovError:
        return None


def _correlation(results: Results, name: str, over: str) -> Autocorrelation:
    sampling = results["postures"].sampling
    seconds = sampling.seconds(max(1, round(CORRELATED_SECONDS * sampling.rate)))
    return autocorrelation(results[name], seconds, over=over)


def _stacked_correlation(results: Results, field: str, over: str) -> Autocorrelation | None:
    checks = results["checks"]
    return stack_correlations([getattr(one, field) for one in checks], over) if checks else None


def _stacked_density(results: Results, field: str, over: str) -> ModeDensity | None:
    checks = results["checks"]
    return stack_densities([getattr(one, field) for one in checks], over) if checks else None


def _agreement_rows(results: Results) -> tuple[Agreement, ...] | None:
    return agree(results["checks"]) if results["checks"] else None


def _held_out_correlation(results: "StudyResults") -> HeldOutCorrelation | None:
    found = (results["splits"] or {}).get("held-out")  # those as published may be there alone
    return None if found is None else summarise_correlation(found)


def _split_means(results: "StudyResults") -> SplitMeans | None:
    found = (results["splits"] or {}).get("held-out")
    return None if found is None else SplitMeans.from_splits(found)


def _posture_spectra(results: "StudyResults") -> Mapping[str, PostureSpectrum] | None:
    """Estimate spectra of the animal of the first runs, and of its model; None for runs of other things."""
    names = results["symbols"].segments.individuals
    if not results["runs"] or results["runs"][0].name not in names:
        return None
    own = names.index(results["runs"][0].name)
    return unfolding_spectra(results.study.model.animal(own), results["postures"].cut(own), results["settings"].seed)


def _drag_example(results: Results) -> DragExample | None:
    found, basis = results["reconstruction"], results["body_basis"]
    if basis is None or found is None or found.drag is None or found.measured is None:
        return None
    return typical_window(results["postures"], basis, found.drag, found.measured, found.body_length)


def _foraging_paths(results: "StudyResults") -> dict[str, Trajectory] | None:
    """Let one animal crawl in every state, for ten minutes."""
    found, settings, model = results["foraging"], results["settings"], results.study.model
    if found is None or results["body_basis"] is None:
        return None
    how = CrawlSettings(
        duration=model.whole_steps(EXAMPLE_SECONDS),
        n_runs=1,
        drag_ratio=settings.drag_ratio,
        scheme=settings.scheme,
        method=settings.unfolding,
    )
    animals = [model.confined(found.level, k, start="stationary") for k in range(found.level)]
    return {
        name: next(crawl(animal, results["body_basis"], how, rng=settings.seed))[1]
        for name, animal in zip(found.curve.names, animals, strict=True)
    }


def _shown_path(results: Results) -> Trajectory | None:
    """Give the measured paths, or else those computed from the postures, if they describe a body."""
    if results["measured_path"] is not None or results["body_basis"] is None:
        path: Trajectory | None = results["measured_path"]
        return path
    settings = results["settings"]
    return propel(results["postures"], settings.drag_ratio, basis=results["body_basis"], scheme=settings.scheme)


CORE_RESULTS = (
    "postures",
    "basis",
    "measured",
    "choice",
    "microstates",
    "symbols",
    "chain",
    "ledger",
    "cut",
    "tree",
    "traits",
    "animals",
    "simulated",
    "simulation_choice",
    "path",
)
"""Results that every study has, under their own names."""
MAKERS: dict[str, Callable[[StudyResults], Any]] = {
    "sequence_map": _sequence_map,
    "scan": _scan,
    "lag_scan": _timescale("lag_scan"),
    "noise_floor": _timescale("noise_floor"),
    "spectrum": _timescale("spectrum"),
    "kinetics": _kinetics,
    "runs": _runs,
    "state_runs": _state_runs,
    "displacement": _displacement,
    "checks": _checks,
    "predictions": _predictions,
    "splits": _splits,
    "settings": lambda results: results.study.settings,
    "summary": lambda results: summarize(results.study),
    "names": lambda results: {level: results.study.names(level) for level in results["tree"].levels},
    "macrostates": lambda results: results.study.states(MACRO),
    "finest_states": lambda results: results.study.states(results.study.finest),
    "finest_traits": lambda results: results.study.traits_at(results.study.finest),
    "body_basis": _body_basis,
    "phase_velocity": _phase_velocity,
    "measured_path": lambda results: measured_path(results.study.model),
    "shown_path": _shown_path,
    "frame_chain": lambda results: MarkovChain.from_symbols(results["symbols"], results["symbols"].sampling.interval),
    "animal_chains": lambda results: animal_chains(results["symbols"], results["chain"].lag),
    "slow_modes": _slow_modes,
    "set_coherence": lambda results: coherence_of_sets(results["cut"].phi, results["chain"])[1],
    "frame_dwells": lambda results: find_dwells(results["macrostates"]),
    "macro_dwells": lambda results: find_dwells(results["macrostates"], results["chain"].lag),
    "macro_budget": lambda results: time_budget(results["macrostates"]),
    "coarse_times": _coarse_times,
    "two_exponentials": _two_exponentials,
    "dwells": lambda results: find_dwells(results["finest_states"], results["chain"].lag),
    "jumps": lambda results: jump_chain(results["finest_states"], results["chain"].lag),
    "budget": lambda results: time_budget(results["finest_states"]),
    "posture_correlation": lambda results: _correlation(results, "postures", "animals"),
    "simulated_correlation": lambda results: _correlation(results, "simulated", "runs"),
    "animal_correlation": lambda results: _stacked_correlation(results, "correlation", "animals"),
    "run_correlation": lambda results: _stacked_correlation(results, "run_correlation", "runs"),
    "animal_density": lambda results: _stacked_density(results, "density", "animals"),
    "run_density": lambda results: _stacked_density(results, "run_density", "runs"),
    "agreements": _agreement_rows,
    "held_out_correlation": _held_out_correlation,
    "split_means": _split_means,
    "posture_spectra": _posture_spectra,
    "diffusion": lambda results: None if results["displacement"] is None else fitted_diffusion(results["displacement"]),
    "drag_example": _drag_example,
    "foraging_paths": _foraging_paths,
}
"""What makes results from others, by name."""
