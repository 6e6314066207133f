"""Ensembles of simulated runs of a model: displacement, speed, events, and bearing."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ethomarkov._core.random import generator
from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.segments import Segments
from ethomarkov._core.series import Series
from ethomarkov._core.types import FloatArray, Progress
from ethomarkov._core.words import count_of
from ethomarkov.locomotion import Trajectory
from ethomarkov.locomotion.bearing import BearingSpectrum, bearing_spectrum
from ethomarkov.locomotion.displacement import Diffusion, Displacement, diffusion, msd
from ethomarkov.locomotion.ensemble import CrawlSettings, Gathered, Measure, crawl, gather
from ethomarkov.model.behaviour import BehaviourModel
from ethomarkov.model.paths import measured_path
from ethomarkov.posture import EventSettings, find_events, phase_velocity
from ethomarkov.posture.events import EVENT_KINDS
from ethomarkov.simulation.animal import MarkovAnimal
from ethomarkov.states import Symbols
from ethomarkov.validation.correlation import autocorrelation
from ethomarkov.validation.distribution import default_edges, mode_density

if TYPE_CHECKING:
    import pandas as pd

SHORTEST_LAG, N_LAGS = 1.0, 120
FIT_WINDOW, N_FIT_LAGS = (60.0, 100.0), 9
CORRELATION_SECONDS = 10.0
N_MODES = 5
EXAMPLES = 5
"""Runs that are kept whole."""
EVENT_SETTINGS = (EventSettings(), EventSettings.paper())
SUMMARY = ("msd", "speed", "bearing", "events")
"""Measures of `run_measures` that `Runs` needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs(Result):
    """An ensemble of simulated runs, summarised; only a few runs are kept.

    Parameters
    ----------
    name
        Name of the animal, or of the state that is never left.
    displacement
        Mean squared displacement, one row per run.
    diffusion
        Diffusion coefficient fitted to the mean squared displacement; None where runs are too short for the window.
    speed
        Mean distance covered in one second, per run, in units of length per second.
    event_rates
        Reversals, ventral and dorsal turns per minute, per run; NaN for animals without a body wave.
    spectrum
        Power spectrum of the bearing, averaged over runs.
    body_length
        Body length in the unit of the path.
    postures
        Mode amplitudes of the first runs.
    path
        Paths of the first runs.
    """

    name: str
    displacement: Displacement
    diffusion: Diffusion | None
    speed: FloatArray = array_field("run", unit="length/s")
    event_rates: FloatArray = array_field("run", "event", unit="1/min")
    spectrum: BearingSpectrum
    body_length: float
    postures: Series
    path: Trajectory

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def headline(self) -> str:
        """Give the number of runs, their mean speed and their mean diffusion coefficient."""
        unit = self.displacement.length_unit
        known = self.speed[np.isfinite(self.speed)]
        speed = f", speed {known.mean():.3g} {unit}/s" if known.size else ""
        spread = f", diffusion {self.diffusion.interval.estimate:.3g} {unit}²/s" if self.diffusion is not None else ""
        return f"{self.name}, {count_of(self.speed.size, 'run')}{speed}{spread}"

    def table(self) -> "pd.DataFrame":
        """List speed, diffusion coefficient and rates of events of every run; lengths in the unit of the path."""
        import pandas as pd

        spread = np.full(self.speed.size, np.nan)
        if self.diffusion is not None and self.diffusion.coefficient.size == spread.size:
            spread = self.diffusion.coefficient
        kinds = (kind.replace(" ", "_") for kind in EVENT_KINDS)
        events = dict(zip((f"{kind}s_per_min" for kind in kinds), self.event_rates.T, strict=False))
        return pd.DataFrame({"run": np.arange(self.speed.size), "speed": self.speed, "diffusion": spread, **events})


@dataclass(frozen=True, slots=True, kw_only=True)
class Ensemble(Result):
    """Runs of one Markov animal, simulated once whatever is measured on them.

    Parameters
    ----------
    model
        Model to which the animal belongs.
    animal
        Markov animal, as from `BehaviourModel.animal` or `BehaviourModel.confined`.
    settings
        How many runs, how long, and how they move.
    seed
        Random seed of the runs.
    """

    model: BehaviourModel
    animal: MarkovAnimal
    settings: CrawlSettings
    seed: int = 0

    def gather(self, measures: Sequence[str], *, threads: int = 1, progress: Progress | None = None) -> Gathered:
        """Simulate all runs, measure them, and keep the first few.

        Parameters
        ----------
        measures
            Names of `run_measures`; those that the animal has no body or body wave for are left out.
        threads
            Cores to use; the result does not depend on it.
        progress
            Called after every block of runs.
        """
        taken = run_measures(self.model, self.settings)
        chosen = {name: taken[name] for name in measures if name in taken}
        n_runs = self.settings.n_runs
        return gather(self._blocks(threads), chosen, threads=threads, n_runs=n_runs, progress=progress)

    def walks(self, threads: int = 1) -> Symbols:
        """Give the microstates that the runs unfold, one per passage."""
        seed = int(self._rng().integers(2**63))  # as `MarkovAnimal.behave` draws it
        walks = self.animal.walk(self.settings.duration, self.settings.n_runs, rng=seed, threads=threads)
        return self.animal.passages(walks, rng=seed)

    def _blocks(self, threads: int) -> Iterator[tuple[Series, Trajectory]]:
        settings = self.settings
        if self.model.has_body:
            return crawl(self.animal, self.model.body_basis(), settings, rng=self._rng(), threads=threads)
        blocks = self.animal.behave(
            settings.duration,
            settings.n_runs,
            method=settings.method,
            walks_per_block=settings.runs_per_block,
            rng=self._rng(),
            threads=threads,
        )
        return ((postures, no_path(postures)) for postures in blocks)

    def _rng(self) -> np.random.Generator:
        # By what the animal is made of, not by its name: a new name must not make other runs.
        chain, repertoire = self.animal.chain, self.animal.repertoire
        return generator(self.seed, "runs", int(chain.states.sum()), int(repertoire.rows[0]))


def no_path(postures: Series) -> Trajectory:
    """Give the path of postures that have none."""
    return Trajectory.from_points(np.full((len(postures.values), 2), np.nan), postures, "body lengths")


def run_measures(model: BehaviourModel, settings: CrawlSettings) -> dict[str, Measure]:
    """List all that can be measured on every run of a model's animals, by name."""
    rate = model.postures.sampling.rate
    lags, segment = run_lags(rate, settings.duration), spectrum_segment(settings.duration)
    edges = default_edges(model.postures)  # of all animals, so that their histograms can be averaged
    measures: dict[str, Measure] = {
        "deviation": lambda postures, _: deviations(postures),
        "correlation": lambda postures, _: autocorrelation(postures, CORRELATION_SECONDS).values[0],
        "density": lambda postures, _: mode_density(postures, edges).share[0],
    }
    if model.has_body:
        measures |= {
            "msd": lambda _, path: msd(path, lags, over="runs").msd[0],
            "speed": lambda _, path: np.asarray(np.nanmean(path.speed())),
            "bearing": lambda _, path: bearing_spectrum(path, segment=segment).power[0],
        }
    if model.is_worm:
        measures["events"] = lambda postures, _: event_rates(postures)
    return measures


def event_rates(postures: Series) -> FloatArray:
    """Count events of one run per minute: one row per entry of `EVENT_SETTINGS`, one column per kind."""
    omega = phase_velocity(postures)
    return np.array([find_events(postures, settings, omega=omega).rates()[0] for settings in EVENT_SETTINGS])


def deviations(postures: Series) -> FloatArray:
    """Give the standard deviations of the first five modes."""
    known = postures.values[postures.segments.valid].T[:N_MODES].astype(float, order="C")  # sums along rows are faster
    spread: FloatArray = known.std(axis=1)
    return spread


def displacement_lags(rate: float, duration: float) -> FloatArray:
    """List lags in seconds, log-spaced from one second to a quarter of a run."""
    longest = max(duration / 4, 2 / rate)
    frames = np.geomspace(max(1.0, min(SHORTEST_LAG, longest / 2) * rate), longest * rate, N_LAGS)
    return np.unique(np.rint(frames).astype(int)) / rate


def fit_lags(rate: float) -> FloatArray:
    """List the lags in seconds by which animals and their runs are compared, evenly spaced in the published window."""
    return np.unique(np.rint(np.linspace(*FIT_WINDOW, N_FIT_LAGS) * rate).astype(int)) / rate


def run_lags(rate: float, duration: float) -> FloatArray:
    """List the lags in seconds at which runs are measured, for curves and for fits."""
    return np.union1d(displacement_lags(rate, duration), fit_lags(rate))


def displacement_at(lags: FloatArray, values: Gathered, settings: CrawlSettings) -> Displacement:
    """Give the mean squared displacement of runs at some of the lags at which they were measured."""
    rate, table = values.path.sampling.rate, values.values["msd"]
    columns = np.searchsorted(run_lags(rate, settings.duration), lags)
    n_pairs = np.maximum(round(settings.duration * rate) - np.rint(lags * rate).astype(int), 0)
    return Displacement(
        lags=lags,
        msd=table[:, columns],
        n_pairs=np.broadcast_to(n_pairs, (len(table), lags.size)),
        names=tuple(str(k) for k in range(len(table))),
        over="runs",
        length_unit=settings.length_unit,
    )


def spectrum_segment(duration: float) -> float:
    """Choose the segment of the bearing's spectrum in seconds: 600 as published, or a third of a shorter run."""
    return min(600.0, duration / 3)


def simulate_runs(
    model: BehaviourModel,
    animal: MarkovAnimal,
    settings: CrawlSettings,
    *,
    seed: int = 0,
    threads: int = 1,
    progress: Progress | None = None,
) -> Runs:
    """Simulate an ensemble of runs and summarise it.

    Parameters
    ----------
    model
        To which the animal belongs.
    animal
        As from `BehaviourModel.animal` or `BehaviourModel.confined`.
    settings
        How many runs, how long, and how they move.
    seed
        Random seed of the runs.
    threads
        Cores to use; the result does not depend on it.
    progress
        Called after every block of runs.
    """
    model.body_basis()
    ensemble = Ensemble(model=model, animal=animal, settings=settings, seed=seed)
    return summarise_runs(ensemble, ensemble.gather(SUMMARY, threads=threads, progress=progress))


def summarise_runs(ensemble: Ensemble, gathered: Gathered) -> Runs:
    """Summarise what was gathered of an ensemble, which must hold the measures of `SUMMARY`."""
    values, settings, rate = gathered.values, ensemble.settings, gathered.path.sampling.rate
    far = displacement_at(displacement_lags(rate, settings.duration), gathered, settings)
    n_runs, segment = len(far.msd), spectrum_segment(settings.duration)
    return Runs(
        name=ensemble.animal.name,
        displacement=far,
        diffusion=fitted_diffusion(far),
        speed=values["speed"],
        event_rates=values["events"][:, 0] if "events" in values else np.full((n_runs, len(EVENT_KINDS)), np.nan),
        spectrum=BearingSpectrum(
            frequency=bearing_spectrum(gathered.path.cut(0), segment=segment).frequency,
            power=values["bearing"].mean(axis=0, keepdims=True),
            n_segments=np.array([n_runs]),
            individuals=(ensemble.animal.name,),
        ),
        body_length=settings.body_length,
        postures=_first_postures(gathered.postures),
        path=_first_paths(gathered.path),
    )


def _first_postures(postures: Series) -> Series:
    """Keep a few runs as examples."""
    ends, names = postures.segments.offsets[: EXAMPLES + 1], postures.segments.individuals[:EXAMPLES]
    return Series.from_rows(postures.values[: ends[-1]], postures.sampling, ends, names)


def _first_paths(path: Trajectory) -> Trajectory:
    ends, names = path.segments.offsets[: EXAMPLES + 1], path.segments.individuals[:EXAMPLES]
    bounds = path.segments.bounds
    return Trajectory(
        centroid=path.centroid[: ends[-1]],
        heading=path.heading[: ends[-1]],
        segments=Segments(bounds=bounds[bounds[:, 2] < EXAMPLES], offsets=ends, individuals=names),
        sampling=path.sampling,
        length_unit=path.length_unit,
    )


def fitted_diffusion(displacement: Displacement) -> Diffusion | None:
    """Fit the diffusion coefficient in the published window; None where too few lags lie in it."""
    inside = (displacement.lags >= FIT_WINDOW[0]) & (displacement.lags <= FIT_WINDOW[1])
    return diffusion(displacement, FIT_WINDOW) if inside.sum() >= 3 else None


def measured_displacement(model: BehaviourModel, duration: float) -> Displacement | None:
    """Measure how far the recorded animals got, at the lags of simulated runs of a duration."""
    path = measured_path(model)
    if path is None:
        return None
    return msd(path, displacement_lags(path.sampling.rate, duration), across_gaps=True)
