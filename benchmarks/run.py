"""Time the heavy stages at the size of the paper, each beside its peer in the same run."""

import resource
import sys
import time
from collections.abc import Callable

import numpy as np
from sklearn.cluster import MiniBatchKMeans

import ethomarkov as em
from ethomarkov._core.series import Series
from ethomarkov.markov.entropy_scan import ScanGrid, scan_entropy
from ethomarkov.markov.noise_floor import Shuffles, noise_floor

THREADS = 2


def timed(function: Callable[[], object]) -> tuple[float, object]:
    start = time.perf_counter()
    answer = function()
    return time.perf_counter() - start, answer


def row(stage: str, size: str, seconds: float, peer: str = "", peer_seconds: float = np.nan, note: str = "") -> None:
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    ratio = f"{peer_seconds / seconds:.1f} x faster than {peer} ({peer_seconds:.2f} s)" if peer else ""
    print(f"| {stage} | {size} | {seconds:.2f} | {memory:.2f} | {ratio} | {note} |", flush=True)


def sequences_of(n_worms: int) -> tuple[Series, Series]:
    made = em.simulate_worms(n_worms, 2100, threads=THREADS)
    postures = made.basis.project(made.recording)
    return postures, em.DelayEmbedding(11).transform(postures)


def partition() -> None:
    _, sequences = sequences_of(12)
    points = sequences.values[sequences.segments.valid]
    em.Partition(20).fit(Series.from_rows(points[:2000], 16.0))  # compile
    seconds, found = timed(lambda: em.Partition(1000, threads=THREADS).fit(sequences))

    def peer() -> float:
        theirs = MiniBatchKMeans(1000, batch_size=5000, n_init=3, random_state=0).fit(points)
        labels = theirs.predict(points)
        return float(np.square(points - theirs.cluster_centers_[labels]).sum(axis=1).mean(dtype=float))

    peer_seconds, peer_inertia = timed(peer)
    note = f"inertia {found.microstates_.inertia:.2f} against {peer_inertia:.2f}"
    size = f"{len(points):,} x {points.shape[1]}, N = 1000"
    row("partition", size, seconds, "MiniBatchKMeans as published", peer_seconds, note)
    seconds, _ = timed(lambda: found.microstates_.label(sequences, threads=THREADS))
    row("labels", size, seconds)


def spectrum() -> None:
    _, sequences = sequences_of(12)
    symbols = em.Partition(1000, threads=THREADS, max_iterations=10).fit(sequences).label(sequences)
    seconds, _ = timed(lambda: em.slow_spectrum(em.MarkovChain.from_symbols(symbols, 0.75), 30))
    row("counts to 31 eigenpairs", "12 worms, N = 1000, one lag", seconds)
    seconds, _ = timed(lambda: noise_floor(symbols, 0.75, shuffles=Shuffles(n=10), threads=THREADS))
    row("noise floor", "10 shuffles", seconds)
    seconds, _ = timed(lambda: em.best_cut(em.MarkovChain.from_symbols(symbols, 0.75)))
    row("cut", "N = 1000", seconds)


def scan() -> None:
    postures, _ = sequences_of(12)
    scan_entropy(Series.from_rows(postures.values[:1500], 16.0), ScanGrid(n_delays=(1, 2), n_states=(5, 10)))
    seconds, _ = timed(lambda: scan_entropy(postures, ScanGrid(), threads=THREADS))
    row("entropy scan", "12 worms x 20 K x 14 N", seconds)


BENCHMARKS = {"partition": partition, "spectrum": spectrum, "scan": scan}

if __name__ == "__main__":
    print("| stage | size | seconds | peak GB so far | peer | note |\n|---|---|---|---|---|---|")
    for name in sys.argv[1:] or BENCHMARKS:
        BENCHMARKS[name]()
