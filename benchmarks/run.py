"""Time the heavy stages at the size of the paper, each beside its peer in the same run."""

import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import peers
from timing import HEADER, Timing, row, timed

import ethomarkov as em
from ethomarkov._core.series import Series
from ethomarkov.coarse.coherence import best_cut, coherence_along
from ethomarkov.coarse.tree import grow_tree, restrict
from ethomarkov.locomotion import propel, skeletons
from ethomarkov.locomotion.ensemble import CrawlRule, move
from ethomarkov.markov.entropy_scan import ScanGrid, scan_entropy
from ethomarkov.markov.noise_floor import Shuffles, noise_floor
from ethomarkov.movies import Shot, crawl_scene, write_movie
from ethomarkov.simulation import simulate_symbols
from ethomarkov.simulation.animal import MarkovAnimal
from ethomarkov.states.symbols import Symbols
from ethomarkov.validation.splits import block_splits, cross_validate, worm_statistics
from ethomarkov.workflow.checks import check_animal
from ethomarkov.workflow.config import Settings
from ethomarkov.workflow.forage import ForageRule, forage_study
from ethomarkov.workflow.runs import animal_model, run_measures, simulate_runs
from ethomarkov.workflow.study import Study, run_study
from ethomarkov.workflow.validate import fit_rule

THREADS = 2
N_RUNS, MINUTES = 1000, 35


def sequences_of(n_worms: int) -> tuple[Series, Series]:
    made = em.simulate_worms(n_worms, 2100, threads=THREADS)
    postures = made.basis.project(made.recording)
    return postures, em.DelayEmbedding(11).transform(postures)


def symbols_of(n_worms: int) -> Symbols:
    _, sequences = sequences_of(n_worms)
    return em.Partition(1000, threads=THREADS, max_iterations=10).fit(sequences).label(sequences)


@cache
def one_worm() -> Study:
    """A study of one worm with a thousand microstates, without the parts that its simulation does not need."""
    made = em.simulate_worms(1, 60 * MINUTES)
    settings = Settings(n_states=1000, scan=False, n_resamples=0, n_walks=1, simulated_minutes=1)
    return run_study(made.recording, settings, basis=made.basis, threads=THREADS)


def partition() -> None:
    _, sequences = sequences_of(12)
    points = sequences.values[sequences.segments.valid]
    em.Partition(20).fit(Series.from_rows(points[:2000], 16.0))  # compile
    found = timed(lambda: em.Partition(1000, threads=THREADS).fit(sequences))
    theirs = timed(lambda: peers.published_partition(points, 1000))
    microstates = found.answer.microstates_
    size = f"{len(points):,} x {points.shape[1]}, N = 1000"
    note = f"inertia {microstates.inertia:.2f} against {theirs.answer:.2f}"
    row("partition", size, found, "MiniBatchKMeans as published", theirs, note)
    row("labels", size, timed(lambda: microstates.label(sequences, threads=THREADS)))


def spectrum() -> None:
    symbols = symbols_of(12)
    size = "12 worms, N = 1000, one lag"
    row(
        "counts to 31 eigenpairs", size, timed(lambda: em.slow_spectrum(em.MarkovChain.from_symbols(symbols, 0.75), 30))
    )
    floor = timed(lambda: noise_floor(symbols, 0.75, shuffles=Shuffles(n=10), threads=THREADS))
    row("noise floor", "10 shuffles", floor)
    row("cut", "N = 1000", timed(lambda: best_cut(em.MarkovChain.from_symbols(symbols, 0.75))))


def scan() -> None:
    postures, _ = sequences_of(12)
    scan_entropy(Series.from_rows(postures.values[:1500], 16.0), ScanGrid(n_delays=(1, 2), n_states=(5, 10)))
    row("entropy scan", "12 worms x 20 K x 14 N", timed(lambda: scan_entropy(postures, ScanGrid(), threads=THREADS)))


def tree() -> None:
    chain = em.MarkovChain.from_symbols(symbols_of(12), 0.75)
    phi = best_cut(chain).phi
    found = timed(lambda: coherence_along(phi, chain), 9)
    theirs = timed(lambda: peers.coherence_by_submatrices(phi, chain))
    gap = np.abs(found.answer[1] - theirs.answer).max()
    size = f"N = {chain.states.size}, {chain.transition.nnz:,} transitions"
    row("coherence of all cuts", size, found, "a loop of submatrices", theirs, f"equal to {gap:.0e}")
    grown = timed(lambda: grow_tree(chain, 7), 3)
    inner = [restrict(chain, grown.answer.members(int(k))) for k in np.flatnonzero(grown.answer.divided > 0)]
    divisions = [(best_cut(part).phi, part) for part in inner]
    theirs = timed(lambda: [peers.coherence_by_submatrices(*division) for division in divisions])
    row("tree of 7 states", size, grown, "the loops of its six cuts alone", theirs)


def walks() -> None:
    chain = em.MarkovChain.from_symbols(symbols_of(12), 0.75)
    duration = 2800 * chain.lag
    simulate_symbols(chain, chain.lag)  # compile
    found = timed(lambda: simulate_symbols(chain, duration, n_walks=N_RUNS), 5)
    by_search = timed(lambda: peers.walk_by_search(chain, 2800, N_RUNS), 3)
    by_deeptime = timed(lambda: peers.walk_by_deeptime(chain, 2800, 10)).times(N_RUNS / 10)
    size = f"{N_RUNS} walks x 2800 steps, N = {chain.states.size}, {chain.transition.nnz:,} transitions"
    row("walks", size, found, "numpy over all walks at once", by_search, "one thread")
    row("walks", size, found, "deeptime", by_deeptime, "one thread; deeptime extrapolated from 10 walks")
    both = timed(lambda: simulate_symbols(chain, duration, n_walks=N_RUNS, threads=THREADS), 5)
    row("walks", size, both, note=f"{THREADS} threads")


def path() -> None:
    study, animal = one_worm(), animal_model(one_worm())
    postures = _behave(animal)
    propel(postures, basis=study.basis)  # compile
    found = timed(lambda: propel(postures, basis=study.basis), 7)
    theirs = timed(lambda: peers.path_by_blocks(postures, study.basis), 5)
    gap = np.abs(found.answer.centroid - theirs.answer).max()
    size = f"{len(postures.values):,} frames x {len(study.basis.mean)} segments"
    row("resistive force", size, found, "numpy in blocks of frames", theirs, f"equal to {gap:.0e} body lengths")
    whole = timed(lambda: propel(_behave(animal), basis=study.basis), 7)
    theirs = timed(lambda: peers.path_by_blocks(_behave(animal, "paper"), study.basis), 5)
    row("walk, unfolding and path", size, whole, "published unfolding and numpy in blocks", theirs, "one thread")


def _behave(animal: MarkovAnimal, method: str = "matched") -> Series:
    return next(animal.behave(60.0 * MINUTES, 1, method=method))


def ensemble() -> None:
    study = one_worm()
    animal = animal_model(study)
    simulate_runs(study, animal, CrawlRule(n_runs=2, duration=120.0))  # compile
    rule = CrawlRule(n_runs=N_RUNS, duration=60.0 * MINUTES)
    found = timed(lambda: simulate_runs(study, animal, rule, threads=THREADS))
    row("ensemble", f"{N_RUNS} worms of {MINUTES} min, path and all measures", found, note=f"{THREADS} threads")
    for name, part in _parts_of_a_run(study, animal).items():
        row(f"of which {name}", f"{N_RUNS} runs", part, note="one thread, from 16 runs")


def _parts_of_a_run(study: Study, animal: MarkovAnimal, n_runs: int = 16) -> dict[str, Timing]:
    rule = CrawlRule(n_runs=n_runs, duration=60.0 * MINUTES)
    postures = next(animal.behave(rule.duration, n_runs))
    paths = move(postures, study.basis, rule)
    pieces = [(postures.of(k), paths.of(k)) for k in range(n_runs)]
    parts = {
        "walk and unfolding": lambda: next(animal.behave(rule.duration, n_runs)),
        "path": lambda: move(postures, study.basis, rule),
    }
    for name, measure in run_measures(postures.sampling.rate, rule.duration, is_worm=True).items():
        parts[name] = lambda measure=measure: [measure(*piece) for piece in pieces]
    return {name: timed(part, 5).times(N_RUNS / n_runs) for name, part in parts.items()}


def validation() -> None:
    study = one_worm()
    check_animal(study, 0, 2)  # compile
    found = timed(lambda: check_animal(study, 0, N_RUNS, threads=THREADS))
    row("validation of one worm", f"{N_RUNS} runs of {MINUTES} min", found, note=f"{THREADS} threads")
    fit, statistics = fit_rule(study), worm_statistics(study.chain.lag)
    splits = block_splits(study.postures.segments, n_repeats=50)
    crossed = timed(lambda: cross_validate(study.postures, fit, splits, statistics, threads=THREADS))
    row("cross-validation of one worm", "50 repeats x 39 runs, N = 1000", crossed, note=f"{THREADS} threads")


def foraging() -> None:
    study = one_worm()
    forage_study(study, 2, ForageRule(n_runs=2))  # compile
    found = timed(lambda: forage_study(study, study.finest, ForageRule(n_runs=N_RUNS), threads=THREADS))
    row("food search", f"{study.finest} states x {N_RUNS} runs of 100 s", found, note=f"{THREADS} threads")


def movie() -> None:
    study = one_worm()
    postures = _behave(animal_model(study))
    angles, route = study.basis.reconstruct(postures), propel(postures, basis=study.basis)
    shot, shorter = Shot(duration=60.0), Shot(duration=10.0)
    rows = shorter.rows(angles.segments, angles.sampling)
    bodies = skeletons(route, angles, rows)
    with tempfile.TemporaryDirectory() as folder:
        ours, other = Path(folder, "ours.mp4"), Path(folder, "other.mp4")
        found = timed(lambda: write_movie(crawl_scene(route, angles, shot=shot), ours), 3)
        theirs = timed(lambda: peers.movie_by_matplotlib(bodies, route.centroid[rows], other)).times(6)
        note = f"{ours.stat().st_size / 1e6:.2f} MB; matplotlib extrapolated from 10 s"
    row("movie", "60 s at 16 frames/s, 960 x 540", found, "matplotlib's animation", theirs, note)


BENCHMARKS = {
    "partition": partition,
    "spectrum": spectrum,
    "scan": scan,
    "tree": tree,
    "walks": walks,
    "path": path,
    "ensemble": ensemble,
    "validation": validation,
    "foraging": foraging,
    "movie": movie,
}

if __name__ == "__main__":
    if sys.argv[1:2] == ["--here"]:
        BENCHMARKS[sys.argv[2]]()
    else:
        print(HEADER, flush=True)
        for name in sys.argv[1:] or BENCHMARKS:  # each in a process of its own, so that peak memory is its own
            subprocess.run([sys.executable, __file__, "--here", name], check=True)
