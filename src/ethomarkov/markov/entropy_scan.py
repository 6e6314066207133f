"""Entropy rates over sequence lengths and numbers of microstates: the scan from which K and N are chosen."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ethomarkov._core.parallel import map_tasks
from ethomarkov._core.random import generator
from ethomarkov._core.series import Series
from ethomarkov._core.types import FloatArray, IntArray, Progress
from ethomarkov.exceptions import EthomarkovError, SamplingError
from ethomarkov.markov.chain import MarkovChain
from ethomarkov.markov.entropy import entropy_rate, stationary_entropy
from ethomarkov.markov.selection import EntropyTable
from ethomarkov.states.delays import DelayEmbedding
from ethomarkov.states.partition import compress, seed_rows
from ethomarkov.states.symbols import Symbols

FEWEST_VISITS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanSettings:
    """Sequence lengths and numbers of microstates of an entropy scan.

    Parameters
    ----------
    n_delays
        Frames per sequence, ascending.
    n_states
        Microstates, ascending; those with fewer than four sequences each are left out.
    scope
        "per animal" gives every animal a partition of its own, as in the published figure; "pooled" gives all of them
        one partition, and each its own chain on it.
    first_iterations, further_iterations
        Lloyd iterations at the shortest K, and at each further K, which starts from the one before.
    seed
        Random seed of the partitions.
    """

    n_delays: tuple[int, ...] = (*range(1, 15), 16, 18, 20, 24, 28, 32)
    n_states: tuple[int, ...] = (3, 5, 10, 17, 31, 56, 100, 177, 316, 562, 1000, 1778, 3162, 5623)
    scope: Literal["per animal", "pooled"] = "per animal"
    first_iterations: int = 15
    further_iterations: int = 4
    seed: int = 0


def quick_scan_settings(postures: Series, seed: int = 0) -> ScanSettings:
    """Choose settings for a quick scan: up to 1.25 s, and up to one microstate per ten sequences of an animal."""
    longest = max(2, round(1.25 * postures.sampling.rate))
    n_delays = tuple(dict.fromkeys(int(k) for k in np.geomspace(1, longest, 10).round()))
    most = max(20, int(np.median(postures.segments.count_rows())) // 10)
    n_states = tuple(n for n in ScanSettings().n_states if 10 <= n <= most)
    return ScanSettings(n_delays=n_delays, n_states=n_states, first_iterations=8, further_iterations=3, seed=seed)


def scan_entropy(
    postures: Series, settings: ScanSettings | None = None, *, threads: int = 1, progress: Progress | None = None
) -> EntropyTable:
    """Estimate entropy rates for every sequence length and number of microstates.

    Neighbouring K differ little, so each starts from the partition of the one before; one order of k-means++ seeds
    serves all N. Nothing crosses a gap or an animal.

    Parameters
    ----------
    postures
        Mode amplitudes of one or several animals.
    settings
        What to scan.
    threads, progress
        Animals are scanned in parallel; the result does not depend on it.
    """
    settings = settings or ScanSettings()
    n_animals = postures.segments.n_individuals
    if settings.scope == "pooled":
        rates, entropies = _scan(postures, settings, generator(settings.seed, "scan"), threads, progress)
    else:
        answers = map_tasks(
            lambda i: _scan(postures.cut(i), settings, generator(settings.seed, "scan", i), 1, None),
            range(n_animals),
            threads=threads,
            progress=progress,
            what="entropy scan",
        )
        rates = np.concatenate([answer[0] for answer in answers], axis=2)
        entropies = np.concatenate([answer[1] for answer in answers], axis=2)
    return EntropyTable(
        n_delays=np.array(settings.n_delays),
        n_states=np.array(settings.n_states),
        entropy_rate=rates,
        entropy=entropies,
        interval=postures.sampling.interval,
        sequences=postures.segments.trim(0, settings.n_delays[0] - 1).count_rows(),
        scope=settings.scope,
    )


def _scan(
    postures: Series, settings: ScanSettings, rng: np.random.Generator, threads: int, progress: Progress | None
) -> tuple[FloatArray, FloatArray]:
    """Scan with one partition for all animals of a series."""
    shape = (len(settings.n_delays), len(settings.n_states), postures.segments.n_individuals)
    rates, entropies = np.full(shape, np.nan), np.full(shape, np.nan)
    n_least = FEWEST_VISITS * settings.n_states[0]
    if postures.segments.longest() < n_least:
        return rates, entropies  # an animal without posture, or with hardly any
    seeds = _seed_frames(postures, settings, rng)
    known: dict[int, IntArray] = {}
    for k, n_delays in enumerate(settings.n_delays):
        try:
            sequences = DelayEmbedding(n_delays).transform(postures)
        except SamplingError:
            break  # longer than every gap-free stretch: these cells remain empty
        rows = np.flatnonzero(sequences.segments.valid)
        points = compress(sequences, max(settings.n_states))
        for n, n_states in enumerate(settings.n_states):
            if n_states > min(seeds.size, rows.size // FEWEST_VISITS):
                break
            labels = _partition(points, rows, seeds[:n_states], known.get(n_states), settings, threads)
            known[n_states] = _on_frames(labels, rows, len(postures.values))
            symbols = Symbols(
                labels=known[n_states], n_states=n_states, segments=sequences.segments, sampling=postures.sampling
            )
            rates[k, n], entropies[k, n] = _entropies(symbols)
        if progress is not None:
            progress("entropy scan", k + 1, len(settings.n_delays))
    return rates, entropies


def _seed_frames(postures: Series, settings: ScanSettings, rng: np.random.Generator) -> IntArray:
    """Choose frames to seed from, far from each other in sequences of medium length."""
    n_delays = min(settings.n_delays[len(settings.n_delays) // 2], postures.segments.longest())
    medium = DelayEmbedding(max(n_delays, settings.n_delays[0])).transform(postures)
    frames = np.flatnonzero(medium.segments.valid)
    most = min(max(settings.n_states), frames.size // FEWEST_VISITS)
    return frames[seed_rows(compress(medium, most), most, rng)]


def _partition(
    points: FloatArray,
    rows: IntArray,
    seeds: IntArray,
    before: IntArray | None,
    settings: ScanSettings,
    threads: int,
) -> IntArray:
    """Divide points, starting from the partition of a shorter sequence or from the seeds."""
    from ethomarkov.states.kmeans import lloyd, mean_points

    if before is None:
        start = points[np.searchsorted(rows, seeds)]
        return lloyd(points, start, max_iterations=settings.first_iterations, threads=threads).labels
    guess = before[rows]
    start = mean_points(points, guess, seeds.size)
    return lloyd(points, start, labels=guess, max_iterations=settings.further_iterations, threads=threads).labels


def _on_frames(labels: IntArray, rows: IntArray, n_frames: int) -> IntArray:
    frames = np.full(n_frames, -1, dtype=np.int32)
    frames[rows] = labels
    return frames


def _entropies(symbols: Symbols) -> tuple[FloatArray, FloatArray]:
    """Estimate entropy rate and stationary entropy of each animal's own chain at a lag of one frame."""
    values = []
    for i in range(symbols.segments.n_individuals):
        try:
            chain = MarkovChain.from_symbols(symbols.mask(i), symbols.sampling.interval)
        except EthomarkovError:  # an animal without two connected states has no entropy rate
            values.append((np.nan, np.nan))
            continue
        values.append((entropy_rate(chain), stationary_entropy(chain)))
    rate, entropy = np.array(values).T
    return rate, entropy
