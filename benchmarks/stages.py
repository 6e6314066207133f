"""The stages that are timed, each beside its peer in the same run."""

import tempfile
from pathlib import Path

import numpy as np
import peers
from data import FRAMES, LAG, MINUTES, N_DELAYS, N_STATES, N_WORMS, THREADS, Data
from sklearn.metrics import pairwise_distances_argmin
from timing import Timing, grown, row, timed

import ethomarkov as em
from ethomarkov._core.ledger import Ledger
from ethomarkov.coarse.coherence import best_cut, coherence_along
from ethomarkov.coarse.tree import grow_tree, restrict
from ethomarkov.foraging.states import ForageSettings, forage_states
from ethomarkov.locomotion import propel, skeletons
from ethomarkov.locomotion.displacement import msd
from ethomarkov.locomotion.ensemble import CrawlSettings
from ethomarkov.markov.counts import count_transitions
from ethomarkov.markov.entropy_scan import ScanSettings, scan_entropy
from ethomarkov.markov.noise_floor import Shuffles, noise_floor
from ethomarkov.movies import Shot, crawl_scene, write_movie
from ethomarkov.paper.data import synthetic_paper_data
from ethomarkov.paper.reproduce import reproduce_paper
from ethomarkov.posture import EventSettings, find_events
from ethomarkov.recording.measured import Measured
from ethomarkov.simulation import simulate_symbols
from ethomarkov.simulation.postures import unfold_blocks
from ethomarkov.study.stages import CORE
from ethomarkov.study.store import Entry, StageRecord, Store
from ethomarkov.validation.checks import observe_animal
from ethomarkov.validation.correlation import autocorrelation
from ethomarkov.validation.runs import run_lags, simulate_runs
from ethomarkov.validation.splits import block_splits, cross_validate, worm_statistics
from ethomarkov.validation.validate import fit_settings

WORMS = (3, 6, 12)
LAG_FRAMES = round(16 * LAG)
N_MODES = 30
ALL = f"{N_WORMS} worms x {FRAMES:,} frames"
BOTH = f"{THREADS} threads"


def postures(data: Data) -> None:
    def task(n_worms: int):
        recording = data.angles(n_worms)
        return lambda: data.basis.project(recording)

    found = grown("postures", "worms", WORMS, task)
    recording = data.angles()
    theirs = timed(lambda: peers.project_plainly(recording, data.basis))
    gap = np.nanmax(np.abs(found.answer.values - theirs.answer))
    row("postures", f"{ALL} x 100 angles", found, "numpy", theirs, f"equal to {gap:.0e}")


def embedding(data: Data) -> None:
    def task(n_worms: int):
        series = data.postures(n_worms)
        return lambda: em.DelayEmbedding(N_DELAYS).transform(series)

    found = grown("embedding", "worms", WORMS, task)
    values = data.postures().values
    theirs = timed(lambda: peers.stack_frames(values, N_DELAYS))
    row("embedding", f"{ALL}, K = {N_DELAYS}", found, "numpy, windows copied", theirs, "windows share their frames")


def partition(data: Data) -> None:
    def task(n_worms: int, n_states: int = 1000):
        sequences = data.sequences(n_worms)
        return lambda: em.Partition(n_states, threads=THREADS).fit(sequences)

    found = grown("partition", "worms", WORMS, task)
    _beside(data, found, N_WORMS, 1000, {"MiniBatchKMeans as published": peers.published_partition})
    small = timed(task(1, 100))
    others = {
        "MiniBatchKMeans as published": peers.published_partition,
        "scikit-learn's KMeans": peers.full_partition,
        "deeptime's KMeans, at most 50 iterations": peers.deeptime_partition,
    }
    _beside(data, small, 1, 100, others)


def _beside(data: Data, found: Timing, n_worms: int, n_states: int, others: dict) -> None:
    points, inertia = data.points(n_worms), found.answer.microstates_.inertia
    size = f"{len(points):,} x {points.shape[1]}, N = {n_states}"
    for name, peer in others.items():
        theirs = timed(lambda peer=peer: peer(points, n_states))
        row("partition", size, found, name, theirs, f"inertia {inertia:.2f} against {theirs.answer:.2f}; {BOTH}")


def labels(data: Data) -> None:
    microstates = data.microstates()

    def task(n_worms: int):
        sequences = data.sequences(n_worms)
        return lambda: microstates.label(sequences, threads=THREADS)

    found = grown("labels", "worms", WORMS, task)
    points = data.points()
    theirs = timed(lambda: pairwise_distances_argmin(points, microstates.centers))
    same = np.mean(found.answer.labels[found.answer.segments.valid] == theirs.answer)
    note = f"{100 * same:.4g} % the same; {BOTH}"
    row("labels", f"{len(points):,} x {points.shape[1]}, N = 1000", found, "scikit-learn's nearest", theirs, note)


def counts(data: Data) -> None:
    def task(n_worms: int):
        symbols = data.symbols(n_worms)
        return lambda: count_transitions(symbols, LAG_FRAMES)

    found = grown("counts", "worms", WORMS, task)
    pieces = peers.pieces_of(data.symbols(), LAG_FRAMES)
    theirs = timed(lambda: peers.count_by_deeptime(pieces, LAG_FRAMES, 1000))
    gap = abs(found.answer - theirs.answer).max()
    row("counts", f"{ALL}, N = 1000", found, "deeptime", theirs, f"equal to {gap:.0e}")


def chain(data: Data) -> None:
    def task(n_states: int):
        counted = count_transitions(data.symbols(n_states=n_states), LAG_FRAMES)
        return lambda: em.slow_spectrum(em.MarkovChain.from_counts(counted, LAG), N_MODES)

    found = grown("chain and spectrum", "N", N_STATES, task)
    counted = count_transitions(data.symbols(), LAG_FRAMES)
    theirs = timed(lambda: peers.spectrum_by_deeptime(counted, N_MODES))
    size = f"N = 1000, {counted.nnz:,} transitions, {N_MODES + 1} eigenpairs"
    row("chain and spectrum", size, found, "deeptime, eigenvalues alone", theirs)
    fitted = data.chain()
    theirs = timed(lambda: peers.spectrum_by_scipy(fitted, N_MODES))
    row("chain and spectrum", size, found, "scipy's dense eig", theirs)


def noise(data: Data) -> None:
    def task(n_states: int):
        symbols = data.symbols(n_states=n_states)
        return lambda: noise_floor(symbols, LAG, shuffles=Shuffles(n=10), threads=THREADS)

    row("noise floor", f"{ALL}, N = 1000, 10 shuffles", grown("noise floor", "N", N_STATES, task), note=BOTH)


def cell(data: Data) -> None:
    one = data.postures(1)

    def task(n_states: int):
        grid = ScanSettings(n_delays=(N_DELAYS,), n_states=(n_states,))
        return lambda: scan_entropy(one, grid)

    largest, paper = grown("cell of the scan", "N", (316, 1000, 3162), task), timed(task(1000))
    points, size = data.points(1), f"one worm, K = {N_DELAYS}, N = "
    theirs = timed(lambda: peers.published_partition(points, 1000))
    row("cell of the scan", f"{size}1000", paper, "MiniBatchKMeans as published, alone", theirs, "one thread")
    row("cell of the scan", f"{size}3162", largest, note="one thread")


def tree(data: Data) -> None:
    def task(n_states: int):
        fitted = data.chain(n_states)
        return lambda: grow_tree(fitted, 7)

    found = grown("tree of 7 states", "N", N_STATES, task)
    fitted = data.chain()
    size = f"N = {fitted.states.size}, {fitted.transition.nnz:,} transitions"
    phi = best_cut(fitted).phi
    cuts = timed(lambda: coherence_along(phi, fitted))
    theirs = timed(lambda: peers.coherence_by_submatrices(phi, fitted))
    gap = np.abs(cuts.answer[1] - theirs.answer).max()
    row("coherence of all cuts", size, cuts, "a loop of submatrices", theirs, f"equal to {gap:.0e}")
    divided = np.flatnonzero(found.answer.divided > 0)
    parts = [restrict(fitted, found.answer.members(int(k))) for k in divided]
    divisions = [(best_cut(part).phi, part) for part in parts]
    theirs = timed(lambda: [peers.coherence_by_submatrices(*division) for division in divisions])
    row("tree of 7 states", size, found, "the loops of its six cuts alone", theirs)


def walks(data: Data) -> None:
    fitted, n_steps = data.chain(), 2800

    def task(n_walks: int):
        return lambda: simulate_symbols(fitted, n_steps * fitted.lag, n_walks=n_walks)

    found = grown("walks", "walks", (250, 500, 1000), task)
    size = f"1000 walks x {n_steps} steps, N = {fitted.states.size}"
    theirs = timed(lambda: peers.walk_by_search(fitted, n_steps, 1000))
    row("walks", size, found, "numpy over all walks at once", theirs, "one thread")
    theirs = timed(lambda: peers.walk_by_deeptime(fitted, n_steps, 10)).times(100)
    row("walks", size, found, "deeptime", theirs, "one thread; deeptime extrapolated from 10 walks")


def unfolding(data: Data) -> None:
    animal = data.animal()

    def task(n_runs: int, method: str = "matched"):
        walked = animal.walk(60.0 * MINUTES, n_runs)
        return lambda: list(unfold_blocks(walked, animal.repertoire, method=method))

    found = grown("unfolding", "runs", (4, 16, 64), task)
    theirs = timed(task(16, "paper")).times(4)
    note = "one thread; published way extrapolated from 16 runs"
    row("unfolding", f"64 runs x {FRAMES:,} frames", found, "the published way, compiled here too", theirs, note)


def path(data: Data) -> None:
    def task(n_runs: int):
        simulated = data.runs(n_runs)
        return lambda: propel(simulated, basis=data.basis)

    found = grown("path", "runs", (1, 4, 16), task)
    one = data.runs(16).cut(0)
    theirs = timed(lambda: peers.path_by_blocks(one, data.basis))
    gap = np.abs(found.answer.cut(0).centroid - theirs.answer).max()
    size = f"16 runs x {FRAMES:,} frames x {data.basis.n_features} segments"
    note = f"one thread; numpy extrapolated from one run; equal to {gap:.0e} body lengths"
    row("path", size, found, "numpy in blocks of frames", theirs.times(16), note)


def ensemble(data: Data) -> None:
    model, animal = data.study().model, data.animal()

    def task(n_runs: int):
        rule = CrawlSettings(n_runs=n_runs, duration=60.0 * MINUTES)
        return lambda: simulate_runs(model, animal, rule, threads=THREADS)

    found = grown("ensemble", "runs", (60, 240, 960), task)
    row("ensemble", f"960 worms of {MINUTES} min, path and all measures", found, note=BOTH)


def measures(data: Data) -> None:
    minutes = (9, 18, 35)

    def correlate(length: int):
        run = data.runs(1, length)
        return lambda: autocorrelation(run)

    def displace(length: int):
        route, lags = propel(data.runs(1, length), basis=data.basis), run_lags(16.0, 60.0 * length)
        return lambda: msd(route, lags, over="runs")

    def find(length: int):
        run = data.runs(1, length)
        return lambda: find_events(run)

    run, size = data.runs(1), f"one run of {FRAMES:,} frames"
    route = propel(run, basis=data.basis)
    found = grown("autocorrelation", "minutes", minutes, correlate)
    theirs = timed(lambda: peers.correlate_plainly(run, 160))
    gap = np.abs(found.answer.values[0] - theirs.answer).max()
    row("autocorrelation", f"{size}, 5 modes, 10 s", found, "scipy.signal.correlate", theirs, f"equal to {gap:.0e}")
    found = grown("mean squared displacement", "minutes", minutes, displace)
    frames = np.rint(found.answer.lags * 16).astype(int)
    theirs = timed(lambda: peers.displace_plainly(route, frames))
    gap = np.abs(found.answer.msd[0] / theirs.answer - 1).max()
    row("mean squared displacement", f"{size}, {frames.size} lags", found, "numpy", theirs, f"equal to {gap:.0e}")
    found = grown("events", "minutes", minutes, find)
    theirs = timed(lambda: peers.count_events_plainly(run, EventSettings()))
    note = f"{found.answer.counts()[0].astype(int).tolist()} against {theirs.answer} events"
    row("events", size, found, "scipy's spline and labels", theirs, note)


def validation(data: Data) -> None:
    model = data.study().model

    def task(n_runs: int):
        return lambda: observe_animal(model, 0, n_runs, threads=THREADS)

    found = grown("validation of one worm", "runs", (50, 100, 200), task)
    row("validation of one worm", f"200 runs of {MINUTES} min", found, note=BOTH)


def foraging(data: Data) -> None:
    study = data.study()

    def task(n_runs: int):
        return lambda: forage_states(study.model, study.finest, ForageSettings(n_runs=n_runs), threads=THREADS)

    found = grown("food search", "runs per state", (50, 100, 200), task)
    row("food search", f"{study.finest} states x 200 runs of 100 s", found, note=BOTH)


def engine(data: Data) -> None:
    chosen = [stage for stage in CORE if stage.name in ("postures", "microstates")]

    def task(n_worms: int):
        given = _given(data, n_worms)
        return lambda: _keep_and_find(chosen, given)

    found = grown("study engine", "worms", WORMS, task)
    given = _given(data, N_WORMS)
    theirs = timed(lambda: _save_and_load(given))
    size = f"{ALL}: postures and symbols, written and read"
    row("study engine", size, found, "numpy.savez_compressed and load", theirs)


def _given(data: Data, n_worms: int) -> dict:
    series = data.postures(n_worms)
    place = np.full((len(series.values), 2), np.nan)
    measured = Measured(centroid=place, body_length=np.ones(n_worms), length_unit="mm", source="benchmark")
    symbols = data.symbols(n_worms)
    states = data.microstates()
    return {
        "postures": series,
        "measured": measured,
        "read_ledger": Ledger(),
        "microstates": states,
        "symbols": symbols,
    }


def _keep_and_find(stages: list, given: dict) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder))
        with store.locked():
            for stage in stages:
                about = {"stage": stage.name, "key": "0" * 32}
                record = StageRecord(**about, finished="", seconds=0, cpu_seconds=0, peak_gb=0, threads=1)
                entry = Entry(**about, digests={}, needs={}, settings={})
                store.keep(entry, {name: given[name] for name in stage.gives}, record)
                found = store.find(stage, entry.key)
                if found is None:
                    raise RuntimeError("a stage was not found again")
                store.load(found, stage, list(stage.gives))


def _save_and_load(given: dict) -> None:
    arrays = {
        "postures": given["postures"].values,
        "place": given["measured"].centroid,
        "centers": given["microstates"].centers,
        "labels": given["symbols"].labels,
    }
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "stages.npz")
        np.savez_compressed(file, **arrays)
        with np.load(file) as stored:
            for name in arrays:
                stored[name]


def movie(data: Data) -> None:
    simulated = data.runs(1)
    angles, route = data.basis.reconstruct(simulated), propel(simulated, basis=data.basis)
    with tempfile.TemporaryDirectory() as folder:
        ours, other = Path(folder, "ours.mp4"), Path(folder, "other.mp4")

        def task(seconds: int):
            return lambda: write_movie(crawl_scene(route, angles, shot=Shot(duration=float(seconds))), ours)

        found = grown("movie", "seconds", (5, 10, 20), task)
        rows = Shot(duration=5.0).rows(angles.segments, angles.sampling)
        bodies = skeletons(route, angles, rows)
        theirs = timed(lambda: peers.movie_by_matplotlib(bodies, route.centroid[rows], other)).times(4)
        note = f"{ours.stat().st_size / 1e6:.2f} MB; matplotlib extrapolated from 5 s"
    row("movie", "20 s at 16 frames/s, 960 x 540", found, "matplotlib's animation", theirs, note)


def scan(data: Data) -> None:
    series = data.postures()
    scan_entropy(data.postures(1), ScanSettings(n_delays=(1, 2), n_states=(5, 10)))  # compile
    found = timed(lambda: scan_entropy(series, ScanSettings(), threads=THREADS))
    row("whole scan", f"{N_WORMS} worms x 20 K x 14 N (K up to 32 frames, N up to 5623)", found, note=BOTH)


def crossvalidation(data: Data) -> None:
    study = data.study()
    fit, statistics = fit_settings(study.model), worm_statistics(study.chain.lag)
    splits = block_splits(study.postures.segments, n_repeats=50)
    found = timed(lambda: cross_validate(study.postures, fit, splits, statistics, threads=THREADS))
    row("cross-validation of one worm", "50 repeats x 39 runs, N = 1000", found, note=BOTH)


def reproduce(data: Data) -> None:
    del data  # makes its own worms, as a user would
    paper_data = synthetic_paper_data(N_WORMS, 60.0 * MINUTES, seed=0, threads=THREADS)
    with tempfile.TemporaryDirectory() as folder:
        found = timed(lambda: reproduce_paper(paper_data, directory=Path(folder), threads=THREADS))
    row("reproduction", "12 worms of 35 min, all published figures", found, note=f"{BOTH}; without figures and report")
    for record in found.answer.records:
        part = Timing(record.seconds, record.cpu_seconds, record.peak_gb)
        row(f"of which {record.stage.replace('_', ' ')}", "", part)


QUICK = (
    postures,
    embedding,
    partition,
    labels,
    counts,
    chain,
    noise,
    cell,
    tree,
    walks,
    unfolding,
    path,
    ensemble,
    measures,
    validation,
    foraging,
    engine,
    movie,
)
HEAVY = (scan, crossvalidation, reproduce)
"""Only run when they are named."""
