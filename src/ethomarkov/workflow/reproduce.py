"""Reproduce the paper: from its data, from what part of them is at hand, or on synthetic worms."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ethomarkov._core.interval import Interval, bootstrap_interval
from ethomarkov._core.random import generator
from ethomarkov._core.series import Series
from ethomarkov._core.types import FloatArray, Progress
from ethomarkov._core.words import count_of
from ethomarkov.coarse.dwell_laws import paper_biexponential
from ethomarkov.coarse.kinetics import animal_rates, find_dwells, jump_chain, time_budget
from ethomarkov.coarse.passage import two_state_times
from ethomarkov.exceptions import EthomarkovError, InputFormatError
from ethomarkov.foraging.coverage import SweepRule
from ethomarkov.foraging.food import food_curve
from ethomarkov.io import read
from ethomarkov.locomotion import Path as AnimalPath
from ethomarkov.locomotion.displacement import diffusion, msd, paper_lags
from ethomarkov.locomotion.ensemble import CrawlRule, Measure, crawl, gather
from ethomarkov.markov import MarkovChain, entropy_rate
from ethomarkov.markov.entropy_scan import ScanGrid, scan_entropy
from ethomarkov.markov.lag_scan import Of, scan_lags
from ethomarkov.markov.noise_floor import Shuffles, noise_floor
from ethomarkov.markov.selection import (
    EntropyTable,
    LagTable,
    choose_lag,
    choose_n_delays,
    choose_n_states,
    gain_intervals,
)
from ethomarkov.markov.spectrum import relaxation_time, slow_spectrum
from ethomarkov.posture import EventRule, PostureBasis, find_events, phase_velocity, wavelength
from ethomarkov.recording import Recording, Track
from ethomarkov.states import DelayEmbedding, Partition
from ethomarkov.synthetic import simulate_worms
from ethomarkov.synthetic.worm import STATE_NAMES, SyntheticWorms
from ethomarkov.validation.correlation import autocorrelation
from ethomarkov.validation.drifting import entry_rate
from ethomarkov.validation.prediction import PredictionRule, recorded_error, simulated_error
from ethomarkov.workflow.checks import FIT_LAGS
from ethomarkov.workflow.config import Settings
from ethomarkov.workflow.forage import ForageRule, forage_study
from ethomarkov.workflow.kinetics import steady_rates
from ethomarkov.workflow.paths import body_basis, body_lengths, measured_path, reconstruct_paths
from ethomarkov.workflow.runs import animal_model, state_model
from ethomarkov.workflow.scoreboard import (
    ENTROPY_RATES,
    EXPONENTS,
    GAINS,
    MSD_LAGS,
    N_WORMS,
    RADII,
    WAVELENGTHS,
    Found,
    Published,
    Row,
    judge,
    published_figures,
)
from ethomarkov.workflow.states import state_names, traits_at
from ethomarkov.workflow.study import MACRO, Study, run_study

RATE = 16.0
FRAMES = 33_600
MISSING = (110, 3728, 1753, 1728, 615, 502, 430, 2280, 60, 141, 284, 5102)
"""Missing frames of the paper's worms in its order, by which a worm is known whatever file it comes in."""
NEAR = 8
SCANNED_DELAYS = (1, 2, 3, 4, 5, 6, 8, 9, 11, 12, 20)
SCANNED_STATES = (100, 316, 562, 1000, 1778, 3162)
N_SEEDS = 3
CONFINED_SECONDS = 525.0
LONG = 200.0
"""Seconds of path below which no exponent at 130 s can be told."""
RUN, PIROUETTE = 0, 1
UNMEASURED = "the data at hand do not tell it"
Findings = dict[str, Found]
Part = TypeVar("Part")


@dataclass(frozen=True, slots=True, kw_only=True)
class Holdings:
    """What is there to reproduce the paper from.

    Parameters
    ----------
    recording, basis
        Postures, and the shapes of their modes.
    worms
        Number of every recorded individual among the paper's twelve; -1 for others.
    paths
        Measured paths of all twelve.
    scan, lags
        Published tables of entropy rates, and of the slowest relaxation times.
    synthetic
        The truth behind synthetic worms.
    """

    recording: Recording | None = None
    basis: PostureBasis | None = None
    worms: tuple[int, ...] = ()
    paths: AnimalPath | None = None
    scan: EntropyTable | None = None
    lags: LagTable | None = None
    synthetic: SyntheticWorms | None = None

    @property
    def sentence(self) -> str:
        """Say what there is."""
        if self.synthetic is not None:
            return count_of(len(self.synthetic.recording.individuals), "synthetic worm")
        n_worms = len(self.worms)
        parts = [
            (
                n_worms > 0,
                f"postures of {count_of(n_worms, 'worm')} of twelve" if n_worms < N_WORMS else "all postures",
            ),
            (self.paths is not None, "measured paths of all twelve"),
            (self.scan is not None, "the published table of entropy rates"),
            (self.lags is not None, "the published table of relaxation times"),
        ]
        return ", ".join(text for there, text in parts if there)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReproduceRule:
    """How much is computed.

    Parameters
    ----------
    n_runs
        Simulated runs of every worm, and of every state; 1000 as published.
    settings
        Of the study; the published ones by default.
    seed
        Of all random choices.
    """

    n_runs: int = 1000
    settings: Settings = field(default_factory=Settings.paper)
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction:
    """The scoreboard and the study behind it; None where there were no postures."""

    rows: tuple[Row, ...]
    study: Study | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    """A study of recorded or synthetic worms, and how it is measured."""

    study: Study
    rule: ReproduceRule
    threads: int
    progress: Progress | None

    @property
    def n_worms(self) -> int:
        return self.study.postures.segments.n_individuals

    def over_animals(self, values: FloatArray, note: str = "") -> Found:
        """Average a statistic over animals."""
        interval = bootstrap_interval(np.asarray(values, dtype=float), "animals", rng=self.rule.seed)
        return Found(interval=interval, n_worms=self.n_worms, note=note)

    def whole(self, value: float, note: str = "") -> Found:
        """Give a figure of all animals together, which has no interval."""
        return Found(interval=_point(value), n_worms=self.n_worms, note=note)


def _point(value: float) -> Interval:
    return Interval(estimate=float(value), low=np.nan, high=np.nan, level=0.95, over="estimate", n=1)


# --- what is there ---------------------------------------------------------------------------------------------------


def find_holdings(directory: Path) -> Holdings:
    """Look into a directory for the paper's data, or for any part of them.

    Parameters
    ----------
    directory
        With the dataset as its authors publish it (``PNAS2011-DataStitched.mat``, ``shapes.mat``, ``EigenWorms.csv``),
        with single worms (``.npz`` with ``modes``), measured paths (``.npz`` with ``centroid_mm`` of twelve worms), or
        published tables. Files are known by their content.
    """
    if not directory.is_dir():
        raise InputFormatError(f"{directory}: is no directory. Name the one that holds the paper's data.")
    archives = {file: _names_in(file) for file in sorted(directory.glob("*.npz"))}
    recording = _read_postures(directory, [file for file, names in archives.items() if "modes" in names])
    basis = next((file for file in sorted(directory.iterdir()) if file.name.lower() == "eigenworms.csv"), None)
    found = Holdings(
        recording=recording,
        basis=None if basis is None else PostureBasis.from_file(basis, 5),
        worms=() if recording is None else tuple(_identify(recording)),
        paths=_first(_read_paths, archives, {"centroid_mm"}, frozenset({"modes"})),
        scan=_first(_read_scan, archives, {"entropy_rates", "entropies", "K_range", "seed_range"}),
        lags=_first(_read_lags, archives, {"timescales_s", "lag_frames"}),
    )
    if not found.sentence:
        raise InputFormatError(
            f"{directory}: holds nothing of the paper. Fetch its data with `ethomarkov data fetch costa2024 --into "
            f"{directory}`, or leave --data out to use synthetic worms."
        )
    if found.recording is not None and found.basis is None:
        raise InputFormatError(f"{directory}: holds postures and no EigenWorms.csv, the shapes of their modes. Add it.")
    return found


def synthetic_holdings(
    n_worms: int = N_WORMS,
    seconds: float = FRAMES / RATE,
    *,
    seed: int = 0,
    threads: int = 1,
    progress: Progress | None = None,
) -> Holdings:
    """Make synthetic worms in place of the paper's, as many and as long."""
    made = simulate_worms(n_worms, seconds, seed=seed, threads=threads, progress=progress)
    return Holdings(recording=made.recording, basis=made.basis, worms=(-1,) * n_worms, synthetic=made)


def _names_in(file: Path) -> frozenset[str]:
    try:
        with np.load(file, allow_pickle=False) as archive:
            return frozenset(archive.files)
    except (OSError, ValueError) as error:
        raise InputFormatError(f"{file}: cannot be read ({error}). Fetch it again, or take it away.") from error


def _first(
    reader: Callable[[Mapping[str, Any]], Part | None],
    archives: Mapping[Path, frozenset[str]],
    needed: set[str],
    unwanted: frozenset[str] = frozenset(),
) -> Part | None:
    """Read the first archive that has the names needed."""
    for file, names in archives.items():
        if needed <= names and not unwanted & names:
            with np.load(file) as archive:
                return reader(archive)
    return None


def _read_postures(directory: Path, archives: Sequence[Path]) -> Recording | None:
    """Read the whole dataset where it is there, else single worms."""
    whole = sorted(directory.glob("*PNAS2011-DataStitched*.mat"))
    if whole:
        recording, shapes = read(whole[0]), directory / "shapes.mat"
        return _with_paths(recording, read(shapes)) if shapes.is_file() else recording
    return read(archives) if archives else None


def _with_paths(recording: Recording, shapes: Recording) -> Recording:
    """Give postures the measured paths and lengths of the other file, which has twice the rate."""
    step = round(shapes.sampling.rate / recording.sampling.rate)
    ends, others = recording.segments.offsets, shapes.segments.offsets
    if len(ends) != len(others) or shapes.centroid is None:
        raise InputFormatError(
            f"shapes.mat describes {len(others) - 1} worms, the postures {len(ends) - 1}; they must be the same worms. "
            "Fetch both files again."
        )
    tracks = []
    for i, name in enumerate(recording.individuals):
        n_frames = int(ends[i + 1] - ends[i])
        centroid = np.full((n_frames, 2), np.nan)
        track = np.asarray(shapes.centroid[others[i] : others[i + 1] : step])[:n_frames]
        centroid[: len(track)] = track
        length = shapes.body_lengths.get(shapes.individuals[i])
        values = np.asarray(recording.values[ends[i] : ends[i + 1]])
        tracks.append(Track(individual=name, values=values, centroid=centroid, body_length=length))
    attrs = {"length_unit": "mm", "source_format": "stephens"}
    return Recording.from_tracks(tracks, kind="amplitude", sampling_rate=recording.sampling.rate, attrs=attrs)


def _identify(recording: Recording) -> Iterable[int]:
    """Tell which of the paper's worms each individual is, by how many frames it lacks; -1 for any other."""
    lengths = np.diff(recording.segments.offsets)
    missing = lengths - recording.segments.count_rows()
    for n_frames, lacks in zip(lengths, missing, strict=True):
        away = np.abs(np.array(MISSING) - lacks)
        yield int(away.argmin()) if n_frames == FRAMES and away.min() <= NEAR else -1


def _read_paths(archive: Mapping[str, Any]) -> AnimalPath | None:
    points = np.array(archive["centroid_mm"], dtype=float)
    if points.ndim != 3:
        return None
    rows = bridge(points).reshape(-1, 2)
    like = Series.from_rows(rows, RATE, np.arange(len(points) + 1) * points.shape[1])
    return AnimalPath.from_points(rows, like, "mm")


def bridge(tracks: FloatArray) -> FloatArray:
    """Fill lost positions by straight lines, as in the published paths, which lack none.

    Parameters
    ----------
    tracks
        Positions ``(animals, frames, 2)``, NaN where lost; never more than a few frames in a row.
    """
    filled, frames = np.array(tracks, dtype=float), np.arange(tracks.shape[1])
    for track in filled:
        known = np.isfinite(track).all(axis=1)
        for column in track.T:
            column[~known] = np.interp(frames[~known], frames[known], column[known])
    return filled


def _read_scan(archive: Mapping[str, Any]) -> EntropyTable:
    n_worms = archive["entropy_rates"].shape[2]
    return EntropyTable(
        n_delays=archive["K_range"].astype(int),
        n_states=archive["seed_range"].astype(int),
        entropy_rate=archive["entropy_rates"].astype(float) * RATE,  # published per frame
        entropy=archive["entropies"].astype(float),
        interval=1 / RATE,
        sequences=np.full(n_worms, FRAMES),
        scope="per animal",
    )


def _read_lags(archive: Mapping[str, Any]) -> LagTable:
    slowest = np.asarray(archive["timescales_s"][:, :, 0], dtype=float)
    return LagTable(lags=archive["lag_frames"].astype(float) / RATE, relaxation_times=slowest.T)


# --- the scoreboard --------------------------------------------------------------------------------------------------


def reproduce_paper(
    holdings: Holdings, rule: ReproduceRule | None = None, *, threads: int = 1, progress: Progress | None = None
) -> Reproduction:
    """Compute every published figure that the data at hand allow, and judge it.

    Parameters
    ----------
    holdings
        What is there.
    rule
        How many runs, and which settings.
    threads, progress
        Cores to use; called now and then.
    """
    rule = rule or ReproduceRule()
    found, study = _table_findings(holdings), None
    troubles: list[str] = []
    if holdings.recording is not None:
        settings = _study_settings(rule, len(holdings.worms))
        study = run_study(holdings.recording, settings, basis=holdings.basis, threads=threads, progress=progress)
        work = _Work(study=study, rule=rule, threads=threads, progress=progress)
        measured, troubles = _study_findings(work, holdings.worms)
        found = measured | found
    if holdings.paths is not None:
        found |= _path_findings(holdings.paths, range(N_WORMS)) | _exponent_findings(holdings.paths)
    rows = [
        judge(
            figure,
            found.get(figure.key, _reason(figure, holdings, troubles)),
            synthetic=holdings.synthetic is not None,
        )
        for figure in published_figures(_worms_named(holdings))
    ]
    if study is not None and holdings.synthetic is not None:
        rows += list(_judge_truth(study, holdings.synthetic, found))
    return Reproduction(rows=tuple(rows), study=study)


def _study_settings(rule: ReproduceRule, n_worms: int) -> Settings:
    """Take the published settings; its own scan and simulations are left out, since the scoreboard has larger ones."""
    lean: dict[str, Any] = {"scan": False, "n_resamples": 0, "n_walks": 2, "seed": rule.seed}
    if n_worms < N_WORMS:
        # The slowest modes of few worms set apart corners that were visited once, which no behaviour is.
        lean["min_measure"] = Settings().min_measure
    return rule.settings.model_copy(update=lean)


def _worms_named(holdings: Holdings) -> Sequence[int]:
    """Worms of which something at hand can be compared with their own published figures."""
    if holdings.paths is not None:
        return range(N_WORMS)
    return sorted(worm for worm in holdings.worms if worm >= 0)


def _reason(figure: Published, holdings: Holdings, troubles: Sequence[str]) -> str:
    """Say why a figure could not be computed."""
    if figure.key.startswith("worm "):
        return "needs the postures of this worm"
    if holdings.recording is None:
        return "needs postures, of all twelve worms"
    if any(f"of {name}" in figure.key for name in STATE_NAMES):
        return " ".join(["the tree of these worms has no state of this name", *troubles])
    return " ".join([UNMEASURED, *troubles])


def _table_findings(holdings: Holdings) -> Findings:
    """Let our rules choose from the published tables."""
    found: Findings = {}
    note = "Our rule on the published table."
    if holdings.scan is not None:
        found |= _scan_choices(holdings.scan, note)
    if holdings.lags is not None:
        found["tau*"] = Found(interval=_point(choose_lag(holdings.lags).value), note=note)
    return found


def _scan_choices(scan: EntropyTable, note: str) -> Findings:
    n_states, n_worms = int(choose_n_states(scan).value), scan.entropy_rate.shape[2]
    found = {
        "N*": Found(interval=_point(n_states), n_worms=n_worms, note=note),
        "K*": Found(interval=_point(choose_n_delays(scan, n_states).value), n_worms=n_worms, note=note),
    }
    gains = dict(zip(scan.n_delays.tolist(), gain_intervals(scan, 1000), strict=False))
    followed = np.flatnonzero(np.diff(scan.n_delays) == 1)
    for n_delays in scan.n_delays[followed].tolist():
        if n_delays in GAINS:
            found[f"gain K={n_delays}"] = Found(interval=gains[n_delays], n_worms=n_worms, note=note)
    return found


def _path_findings(path: AnimalPath, worms: Iterable[int]) -> Findings:
    """Measure how far worms got; every individual of the path is one of the paper's."""
    far, fit = msd(path, np.array(MSD_LAGS), across_gaps=True), diffusion(msd(path, paper_lags(), across_gaps=True))
    found: Findings = {}
    for i, worm in enumerate(worms):
        speed = path.of(i).speed()
        found[f"worm {worm} slope"] = Found(interval=_point(fit.slope[i]), n_worms=1)
        found[f"worm {worm} exponent"] = Found(interval=_point(fit.exponent[i]), n_worms=1)
        found[f"worm {worm} speed"] = Found(interval=_point(float(np.nanmean(speed))), n_worms=1)
        for k, lag in enumerate(MSD_LAGS):
            found[f"worm {worm} MSD {lag:g} s"] = Found(interval=_point(far.msd[i, k]), n_worms=1)
    return found


def _exponent_findings(path: AnimalPath) -> Findings:
    """Average over worms how the squared displacement grows."""
    far = msd(path, paper_lags(), across_gaps=True)
    table = np.array([np.interp(list(EXPONENTS), far.lags, row) for row in far.exponent])
    return {
        f"exponent at {seconds} s": Found(interval=bootstrap_interval(table[:, k], "animals"), n_worms=len(table))
        for k, seconds in enumerate(EXPONENTS)
    }


def _study_findings(work: _Work, worms: Sequence[int]) -> tuple[Findings, list[str]]:
    """Measure everything that postures tell, and say what could not be measured, and why."""
    parts: dict[str, Callable[[], Findings]] = {
        "entropy rates": lambda: _entropy_findings(work, worms),
        "relaxation times": lambda: _time_findings(work, worms),
        "kinetics": lambda: _state_findings(work),
        "two exponentials": lambda: _biexponential_findings(work),
        "postures": lambda: _posture_findings(work),
        "prediction": lambda: _prediction_findings(work),
        "drag ratio": lambda: _drag_findings(work),
        "measured paths": lambda: _own_path_findings(work, worms),
        "simulated worms": lambda: _run_findings(work, worms),
        "confined runs": lambda: _confined_findings(work),
        "food": lambda: _food_findings(work),
    }
    found: Findings = {}
    troubles = []
    for k, (what, measure) in enumerate(parts.items()):
        if work.progress is not None:
            work.progress(what, k, len(parts))
        try:
            found |= measure()
        except EthomarkovError as error:  # one figure that cannot be had must not cost all the others
            troubles.append(f"({what}: {error})")
    return found, troubles


def _own_path_findings(work: _Work, worms: Sequence[int]) -> Findings:
    path = measured_path(work.study)
    found = _exponent_findings(path) if path is not None and path.segments.longest() > LONG * RATE else {}
    for i, worm in enumerate(worms):
        if path is not None and worm >= 0:
            found |= _path_findings(path.of(i), [worm])
    return found


def _entropy_findings(work: _Work, worms: Sequence[int]) -> Findings:
    """Scan sequence lengths and numbers of microstates, a partition for every animal."""
    study, rule = work.study, work.rule
    grid = ScanGrid(n_delays=SCANNED_DELAYS, n_states=SCANNED_STATES, seed=rule.seed)
    scan = scan_entropy(study.postures, grid, threads=work.threads, progress=work.progress)
    found = _scan_choices(scan, "")
    rows, columns = scan.n_delays.tolist(), scan.n_states.tolist()
    for n_delays, n_states in ENTROPY_RATES:
        values = scan.entropy_rate[rows.index(n_delays), columns.index(n_states)]
        found[f"entropy rate K={n_delays} N={n_states}"] = work.over_animals(values)
    information = scan.predictive_information[rows.index(11), columns.index(1000)]
    found["predictive information"] = work.over_animals(information)
    lag = choose_lag(scan_lags(study.symbols, _lag_grid(), n_modes=1, threads=work.threads).slowest())
    found["tau*"] = Found(interval=_point(lag.value), n_worms=work.n_worms)
    chain = study.chain
    found["successors"] = work.whole(chain.transition.nnz / chain.states.size)
    for i, worm in enumerate(worms):
        if worm >= 0:
            found[f"worm {worm} entropy rate"] = Found(interval=_seeded_entropy(work, i), n_worms=1)
    return found


def _lag_grid() -> FloatArray:
    frames = np.unique(np.geomspace(1, 80, 20).round().astype(int))
    return np.asarray(frames / RATE)


def _seeded_entropy(work: _Work, individual: int) -> Interval:
    """Entropy rate of one worm at the published K and N, between the least and the largest of a few seeds."""
    sequences = DelayEmbedding(11).transform(work.study.postures.of(individual))
    rates = []
    for k in range(N_SEEDS):
        symbols = Partition(1000, seed=work.rule.seed + k, threads=work.threads).fit(sequences).label(sequences)
        rates.append(entropy_rate(MarkovChain.from_symbols(symbols, 1 / RATE)))
    return Interval(
        estimate=float(np.median(rates)), low=min(rates), high=max(rates), level=1.0, over="seeds", n=N_SEEDS
    )


def _time_findings(work: _Work, worms: Sequence[int]) -> Findings:
    """Relaxation times of every worm's own chain, and what shuffled symbols reach."""
    study, lag = work.study, work.study.chain.lag
    times = scan_lags(study.symbols, np.array([lag]), n_modes=10, threads=work.threads).relaxation_times[0]
    found = {f"reversible time {mode}": work.over_animals(times[mode - 2]) for mode in (2, 3, 4, 5, 6, 11)}
    for i, worm in enumerate(worms):
        if worm >= 0:
            found[f"worm {worm} reversible time"] = Found(interval=_point(times[0, i]), n_worms=work.n_worms)
    chains = np.array([_distinct_times(work, i) for i in range(work.n_worms)])
    found |= {f"chain time {mode}": work.over_animals(chains[:, mode - 2]) for mode in (2, 3, 4, 5, 6, 11, 21)}
    floors: dict[str, Of] = {"noise floor of P_r": "reversibilized", "noise floor of P": "chain"}
    for key, of in floors.items():
        found[key] = work.over_animals(np.array([_floor(work, i, of) for i in range(work.n_worms)]))
    group, rng = study.tree.states_at(MACRO), generator(work.rule.seed, "two states")
    coarse = two_state_times(study.symbols, group, np.array([lag]), n_resamples=200, rng=rng)
    over = [float(x) for x in (coarse.times[0, 0], coarse.low[0, 0], coarse.high[0, 0])]
    interval = Interval(
        estimate=over[0], low=over[1], high=over[2], level=0.95, over=coarse.over, n=len(coarse.by_unit)
    )
    return found | {"two-state time": Found(interval=interval, n_worms=work.n_worms)}


def _distinct_times(work: _Work, individual: int) -> FloatArray:
    """Relaxation times of P, complex pairs counted once, as in the published figure."""
    times = np.full(20, np.nan)
    chain = MarkovChain.from_symbols(work.study.symbols.of(individual), work.study.chain.lag)
    real = np.unique(slow_spectrum(chain, 45).eigenvalues.real.round(9))[::-1][: times.size]
    times[: real.size] = [relaxation_time(float(value), chain.lag) for value in real]
    return times


def _floor(work: _Work, individual: int, of: Of) -> float:
    symbols, how = work.study.symbols.of(individual), Shuffles(n=5, recipe="resample", seed=work.rule.seed)
    return noise_floor(symbols, work.study.chain.lag, of=of, shuffles=how).time()


def _state_findings(work: _Work) -> Findings:
    """Kinetics of runs and pirouettes, and what the finer states are."""
    study, rng = work.study, generator(work.rule.seed, "kinetics")
    macro, lag = study.states(MACRO), study.chain.lag
    found = {"coherence": work.whole(study.cut.coherence), "pirouette measure": _pirouette_share(work)}
    rates = animal_rates(find_dwells(macro, lag), convention="paper")
    found["rate run to pirouette"] = work.over_animals(rates[:, RUN])
    found["rate pirouette to run"] = work.over_animals(rates[:, PIROUETTE])
    meso = find_dwells(study.states(study.finest), lag).duration
    interval = bootstrap_interval(meso, "events", rng=rng)
    found["mesoscopic dwell"] = Found(interval=interval, n_worms=work.n_worms)
    return found | _trait_findings(work)


def _biexponential_findings(work: _Work) -> Findings:
    """Fit two exponentials to all stays of runs and pirouettes, as published."""
    stays, rng = find_dwells(work.study.states(MACRO)), generator(work.rule.seed, "biexponential")
    fit = paper_biexponential(stays, n_resamples=300, rng=rng)
    found = {"biexponential relaxation": Found(interval=fit.relaxation, n_worms=work.n_worms)}
    for k, key in enumerate(("biexponential long", "biexponential short")):
        estimate, low, high = (float(times[k]) for times in (fit.times, fit.times_low, fit.times_high))
        interval = Interval(estimate=estimate, low=low, high=high, level=0.95, over="animals", n=work.n_worms)
        found[key] = Found(interval=interval, n_worms=work.n_worms)
    return found


def _pirouette_share(work: _Work) -> Found:
    return work.over_animals(time_budget(work.study.states(MACRO))[:, PIROUETTE])


def _trait_findings(work: _Work) -> Findings:
    """Shares of time, velocities and wavelengths of the states of the finest level, by name."""
    study = work.study
    names, traits = state_names(study, study.finest), traits_at(study, study.finest)
    shares = time_budget(study.states(study.finest))
    jumps = jump_chain(study.states(study.finest)).probabilities
    found = {
        f"jump of {before} to {after}": work.whole(jumps[i, j])
        for i, before in enumerate(names)
        for j, after in enumerate(names)
    }
    for k, name in enumerate(names):
        found[f"measure of {name}"] = work.over_animals(shares[:, k])
        found[f"velocity of {name}"] = work.whole(traits.velocity[k])
        if name in WAVELENGTHS:
            found[f"wavelength of {name}"] = work.whole(_paper_wavelength(study, k))
    return found


def _paper_wavelength(study: Study, state: int) -> float:
    """Median wavelength in a state by the published estimate, in up to 5000 of its frames."""
    rows = np.flatnonzero(study.states(study.finest).labels == state)
    rows = rows[:: max(1, rows.size // 5000)]
    frames = Series.from_rows(study.postures.values[rows], study.postures.sampling)
    return float(np.nanmedian(wavelength(body_basis(study).reconstruct(frames), "paper")))


def _posture_findings(work: _Work) -> Findings:
    """Autocorrelations, events, and pirouettes in the course of time."""
    study = work.study
    landmarks = [
        _landmarks(autocorrelation(study.postures.of(i), 6.0, across_gaps=True).values[0]) for i in range(work.n_worms)
    ]
    found = {key: work.over_animals(np.array([one[key] for one in landmarks])) for key in landmarks[0]}
    counts = find_events(study.postures, EventRule.paper()).counts()
    minutes = np.diff(study.postures.segments.offsets) / study.postures.sampling.rate / 60
    for k, key in enumerate(("reversals", "ventral turns", "dorsal turns")):
        found[key] = work.over_animals(counts[:, k] / minutes)
    try:
        entries = entry_rate(study.states(MACRO), PIROUETTE, shortest=study.chain.lag)
    except EthomarkovError:  # shorter than one window
        return found
    for k, centre in enumerate(entries.centres / 60):
        found[f"pirouettes at {centre:g} min"] = work.over_animals(entries.rate[:, k])
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


def _prediction_findings(work: _Work) -> Findings:
    """Find the times by which nothing is left to predict."""
    study, seed = work.study, work.rule.seed
    how = PredictionRule(n_samples=max(1000, 10_000 // work.n_worms), method="paper-filled")
    animals = [animal_model(study, i) for i in range(work.n_worms)]
    errors = {
        "mixing time of data": recorded_error(study.postures, study.symbols, how, rng=generator(seed, "data")),
        "mixing time of simulations": simulated_error(
            study.postures, study.symbols, animals, how, rng=generator(seed, "simulation")
        ),
    }
    return {key: Found(interval=error.mixing_time(), n_worms=work.n_worms) for key, error in errors.items()}


def _drag_findings(work: _Work) -> Findings:
    """Fit the drag ratio, where paths were measured."""
    rebuilt = reconstruct_paths(work.study, threads=work.threads)
    if rebuilt.drag is None:
        return {}
    note = "The body length was fitted at α = 30, so this is no independent test." if rebuilt.is_fitted else ""
    return {"drag ratio": Found(interval=rebuilt.drag.median, n_worms=work.n_worms, note=note)}


def _run_findings(work: _Work, worms: Sequence[int]) -> Findings:
    """Simulate every worm as often and as long as published."""
    lengths, _ = body_lengths(work.study)
    runs = [_simulate_worm(work, i, float(lengths[i])) for i in range(work.n_worms)]
    found = {
        "simulated reversals": work.over_animals(np.array([run.events[0] for run in runs])),
        "simulated ventral turns": work.over_animals(np.array([run.events[1] for run in runs])),
        "simulated rate run to pirouette": work.over_animals(np.array([run.leaving[RUN] for run in runs])),
        "simulated rate pirouette to run": work.over_animals(np.array([run.leaving[PIROUETTE] for run in runs])),
        "simulated pirouettes": work.over_animals(np.array([run.entered for run in runs])),
    }
    for worm, run in zip(worms, runs, strict=True):
        if worm >= 0 and run.slope.size:
            low, high = np.percentile(run.slope, (2.5, 97.5))
            interval = Interval(
                estimate=float(run.slope.mean()), low=float(low), high=float(high), level=0.95, over="runs",
                n=run.slope.size,
            )  # fmt: skip
            found[f"worm {worm} simulated slope"] = Found(interval=interval, n_worms=1)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _WormRuns:
    """Runs of one worm: slope of each, mean events per minute, rates of leaving, and pirouettes per minute."""

    slope: FloatArray
    events: FloatArray
    leaving: tuple[float, float]
    entered: float


def _simulate_worm(work: _Work, individual: int, length: float) -> _WormRuns:
    study, model = work.study, animal_model(work.study, individual)
    n_frames = int(np.diff(study.postures.segments.offsets)[individual])
    n_steps = max(2, int(n_frames / study.postures.sampling.rate / study.chain.lag))
    how = _crawl_rule(work, n_steps * study.chain.lag, length)
    rng = generator(work.rule.seed, "reproduce", model.name)
    measures: dict[str, Measure] = {"events": lambda postures, _: find_events(postures, EventRule.paper()).rates()[0]}
    if how.duration > 1.5 * FIT_LAGS[-1]:
        measures["slope"] = lambda _, path: np.asarray(diffusion(msd(path, FIT_LAGS, over="runs")).slope[0])
    runs = crawl(model, body_basis(study), how, rng=rng, threads=work.threads)
    got = gather(runs, measures, threads=work.threads, n_runs=how.n_runs, progress=work.progress).values
    walks = model.walk(how.duration, how.n_runs, rng=rng, threads=work.threads)
    stays = find_dwells(walks.relabel(study.tree.states_at(MACRO)))
    return _WormRuns(
        slope=got.get("slope", np.empty(0)),
        events=got["events"].mean(axis=0),
        leaving=(1 / stays.of(RUN).mean, 1 / stays.of(PIROUETTE).mean),
        entered=60 * len(stays.of(PIROUETTE)) / (how.duration * how.n_runs),
    )


def _crawl_rule(work: _Work, duration: float, length: float = 1.0) -> CrawlRule:
    settings = work.study.settings
    return CrawlRule(
        duration=duration,
        n_runs=work.rule.n_runs,
        drag_ratio=settings.drag_ratio,
        scheme=settings.scheme,
        body_length=length if np.isfinite(length) else 1.0,
        length_unit="mm" if np.isfinite(length) else "body lengths",
        method=settings.unfolding,
    )


def _confined_findings(work: _Work) -> Findings:
    """Mean squared displacement of animals that never leave a state, in body lengths."""
    study, lag = work.study, work.study.chain.lag
    how = _crawl_rule(work, round(CONFINED_SECONDS / lag) * lag)
    lags, found = np.array([10.0, 100.0]), {}
    for k, name in enumerate(state_names(study, study.finest)):
        model = state_model(study, study.finest, k, start="stationary")
        runs = crawl(model, body_basis(study), how, rng=generator(work.rule.seed, name), threads=work.threads)
        measures: dict[str, Measure] = {"msd": lambda _, path: msd(path, lags, over="runs").msd[0]}
        far = gather(runs, measures, threads=work.threads, n_runs=how.n_runs, progress=work.progress).values["msd"]
        for column, seconds in enumerate(lags):
            interval = bootstrap_interval(far[:, column], "runs", rng=work.rule.seed)
            found[f"MSD of {name} at {seconds:g} s"] = Found(interval=interval, n_worms=work.n_worms)
    return found


def _food_findings(work: _Work) -> Findings:
    """Food found in every state, on the published raster and with its way of dividing."""
    study = work.study
    how = ForageRule(n_runs=work.rule.n_runs, sweep=SweepRule(method="paper"), seed=work.rule.seed)
    coverage = forage_study(study, study.finest, how, threads=work.threads, progress=work.progress).coverage
    curve = food_curve(coverage, study.tree.measures_at(study.finest), normalisation="paired", rng=work.rule.seed)
    rows = {name: (curve.probability[k], curve.low[k], curve.high[k]) for k, name in enumerate(curve.names)}
    rows["the average worm"] = (curve.average, curve.average_low, curve.average_high)
    found = {}
    for name, curves in rows.items():
        for radius in RADII:
            estimate, low, high = (float(np.interp(np.log(radius), np.log(curve.radii), one)) for one in curves)
            interval = Interval(estimate=estimate, low=low, high=high, level=0.95, over="runs", n=curve.n_runs)
            found[f"food of {name} at {radius:g} L"] = Found(interval=interval, n_worms=work.n_worms)
    return found


# --- against the truth of synthetic worms ----------------------------------------------------------------------------


def _judge_truth(study: Study, made: SyntheticWorms, found: Findings) -> Iterator[Row]:
    """Compare with what is known of synthetic worms."""
    n_worms = len(made.recording.individuals)
    _, rates, _ = steady_rates(study, MACRO)
    for i, what in ((RUN, "runs"), (PIROUETTE, "pirouettes")):
        hopping = [float(x[i, 1 - i]) for x in (rates.rates, rates.low, rates.high)]
        interval = Interval(
            estimate=hopping[0], low=hopping[1], high=hopping[2], level=0.95, over=rates.over, n=n_worms
        )
        truth = float((1 / made.truth.mean_dwells()[:, i]).mean())
        yield judge(_truth(f"rate of leaving {what}", "1/s", truth), Found(interval=interval, n_worms=n_worms))
    valid = study.postures.segments.valid
    states, velocity = made.truth.states[valid], phase_velocity(study.postures)[valid]
    truths = {
        "share of time in pirouettes": ("pirouette measure", float(made.truth.is_pirouette[valid].mean())),
        "drag ratio": ("drag ratio", made.truth.drag_ratio),
    }
    for k in np.unique(states):
        name = STATE_NAMES[k]
        truths[f"share of time in {name}"] = (f"measure of {name}", float((states == k).mean()))
        truths[f"phase velocity in {name}"] = (f"velocity of {name}", float(np.nanmean(velocity[states == k])))
    for what, (key, truth) in truths.items():
        yield judge(_truth(what, "", truth), found.get(key, "the tree of these worms has no state of this name"))


def _truth(what: str, unit: str, value: float) -> Published:
    return Published(
        key=f"truth: {what}",
        section="The truth behind the synthetic worms",
        what=what,
        unit=unit,
        value=value,
        low=value,
        high=value,
        spread="rounding",
        source="truth",
        of_worms=1,
    )
