"""Entropy rates and relaxation times of single worms, each with a partition or a chain of its own, as published."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ethomarkov._core.parallel import map_tasks
from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.series import Series
from ethomarkov._core.types import FloatArray, Progress
from ethomarkov.exceptions import EthomarkovError
from ethomarkov.markov import MarkovChain, Spectrum, entropy_rate
from ethomarkov.markov.lag_scan import LagScan, lag_grid, scan_lags
from ethomarkov.markov.noise_floor import NoiseFloor, Shuffles, noise_floor, noise_floors
from ethomarkov.markov.spectrum import relaxation_time, slow_spectrum
from ethomarkov.states import DelayEmbedding, Partition, Symbols

N_SEEDS = 3
N_DELAYS, N_STATES = 11, 1000
"""Frames per sequence and microstates of the published entropy rates of single worms."""
LONGEST_LAG, N_LAGS, N_MODES, N_SLOW, N_DISTINCT = 10.0, 30, 10, 30, 20


@dataclass(frozen=True, slots=True, kw_only=True)
class SeededEntropy(Result):
    """Entropy rates of the paper's worms at the published K and N, from partitions with several seeds.

    Parameters
    ----------
    rates
        Entropy rates in nat per second, one row per worm and one column per seed.
    worms
        Numbers of the worms in the paper.
    """

    rates: FloatArray = array_field("worm", "seed", unit="nat/s")
    worms: tuple[int, ...]

    def __post_init__(self) -> None:
        freeze_arrays(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class WormRelaxation(Result):
    """Relaxation times of every animal's own chain, and of its shuffled state sequence; NaN where it has no chain.

    Parameters
    ----------
    lag_scan
        Relaxation times of every animal against the lag.
    noise_floor
        Relaxation times of shuffled state sequences of all animals together, at the lag of the chain.
    spectrum
        Slow modes of the chain of all animals.
    chain_times
        Relaxation times of P, complex pairs counted once, as in the published figure.
    floor_of_chain, floor_of_reversible
        Relaxation times of shuffled state sequences, for P and for P_r.
    """

    lag_scan: LagScan
    noise_floor: NoiseFloor
    spectrum: Spectrum
    chain_times: FloatArray = array_field("individual", "mode", unit="s")
    floor_of_chain: FloatArray = array_field("individual", unit="s")
    floor_of_reversible: FloatArray = array_field("individual", unit="s")

    def __post_init__(self) -> None:
        freeze_arrays(self)


def measure_seeded_entropy(
    postures: Series, worms: Sequence[int], seed: int, *, threads: int = 1, progress: Progress | None = None
) -> SeededEntropy | None:
    """Measure the entropy rates of the paper's worms with several seeds; None where there is none of these worms.

    Parameters
    ----------
    postures
        Mode amplitudes.
    worms
        Number of every individual among the paper's twelve; -1 for others.
    seed
        The first of the seeds.
    threads, progress
        Cores to use; called after every partition.
    """
    named = [(i, worm) for i, worm in enumerate(worms) if worm >= 0]
    if not named:
        return None
    rates = map_tasks(
        lambda task: _seeded_rate(postures.cut(task[0]), task[1]),
        [(i, seed + k) for i, _ in named for k in range(N_SEEDS)],
        threads=threads,
        progress=progress,
    )
    return SeededEntropy(rates=np.array(rates).reshape(-1, N_SEEDS), worms=tuple(worm for _, worm in named))


def _seeded_rate(postures: Series, seed: int) -> float:
    """Measure the entropy rate of one worm at the published K and N."""
    sequences = DelayEmbedding(N_DELAYS).transform(postures)
    symbols = Partition(N_STATES, seed=seed).fit(sequences).label(sequences)
    return entropy_rate(MarkovChain.from_symbols(symbols, postures.sampling.interval))


def measure_relaxation(
    symbols: Symbols, chain: MarkovChain, shuffles: Shuffles, *, threads: int = 1, progress: Progress | None = None
) -> WormRelaxation:
    """Measure relaxation times of every animal's own chain, and those of its shuffled state sequence.

    Parameters
    ----------
    symbols, chain
        Microstates of every frame, and the chain of all animals.
    shuffles
        Behind every noise floor; those of single animals are resampled, as published.
    threads, progress
        Cores to use; called now and then.
    """
    lag, n_animals = chain.lag, symbols.segments.n_individuals
    lags = np.union1d(lag_grid(symbols, LONGEST_LAG, N_LAGS), [lag])
    published = Shuffles(n=shuffles.n, recipe="resample", seed=shuffles.seed)
    floors = map_tasks(
        lambda i: _floor_times(symbols.mask(i), lag, published),
        range(n_animals),
        threads=threads,
        progress=progress,
        what="noise floors",
    )
    times = map_tasks(
        lambda i: _distinct_times(symbols.mask(i), lag), range(n_animals), threads=threads, progress=progress
    )
    return WormRelaxation(
        lag_scan=scan_lags(symbols, lags, n_modes=N_MODES, threads=threads, progress=progress),
        noise_floor=noise_floor(symbols, lag, shuffles=shuffles, threads=threads, progress=progress),
        spectrum=slow_spectrum(chain, N_SLOW),
        chain_times=np.array(times),
        floor_of_chain=np.array([of_chain for of_chain, _ in floors]),
        floor_of_reversible=np.array([of_reversible for _, of_reversible in floors]),
    )


def _floor_times(symbols: Symbols, lag: float, shuffles: Shuffles) -> list[float]:
    """Measure relaxation times of shuffled state sequences of one animal, for P and for P_r."""
    try:
        floors = noise_floors(symbols, lag, ("chain", "reversibilized"), shuffles=shuffles)
    except EthomarkovError:  # too short for the lag
        return [float("nan")] * 2
    return [floor.time() for floor in floors]


def _distinct_times(symbols: Symbols, lag: float) -> FloatArray:
    """Relaxation times of P, complex pairs counted once."""
    times = np.full(N_DISTINCT, np.nan)
    try:
        chain = MarkovChain.from_symbols(symbols, lag)
    except EthomarkovError:  # too short for the lag
        return times
    real = np.unique(slow_spectrum(chain, 45).eigenvalues.real.round(9))[::-1][: times.size]
    times[: real.size] = [relaxation_time(float(value), chain.lag) for value in real]
    return times
