"""The noise floor of relaxation times: the same estimate from shuffled state sequences."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ethomarkov._core.parallel import map_tasks
from ethomarkov._core.random import generator
from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.types import FloatArray, Progress
from ethomarkov._core.words import count_of
from ethomarkov.exceptions import ConnectivityError
from ethomarkov.markov.chain import MarkovChain
from ethomarkov.markov.lag_scan import Of
from ethomarkov.markov.spectrum import Spectrum, reversible_modes, slow_spectrum
from ethomarkov.states.symbols import Symbols

Recipe = Literal["permute", "resample"]
TOLERANCE = 1e-4
"""Of the eigenvalues of shuffled state sequences, which scatter by a hundred times more from shuffle to shuffle."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shuffles:
    """How state sequences are shuffled.

    Parameters
    ----------
    n
        Independent shuffles.
    recipe
        "permute" keeps how often each microstate occurs in every gap-free run; "resample" draws with replacement
        within each run, as published.
    seed
        Random seed of the shuffles.
    """

    n: int = 20
    recipe: Recipe = "permute"
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseFloor(Result):
    """Second eigenvalues of chains of shuffled state sequences.

    Parameters
    ----------
    eigenvalues
        Real part of the leading nontrivial eigenvalue of each shuffle.
    lag
        At which the chains were estimated, in seconds.
    of
        "chain" or "reversibilized".
    """

    eigenvalues: FloatArray = array_field("shuffle")
    lag: float
    of: str

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def upper(self, level: float = 0.975) -> float:
        """Compute the quantile `level` of the eigenvalues of the shuffles."""
        return float(np.quantile(self.eigenvalues, level))

    def time(self, level: float | None = None) -> float:
        """Compute the floor as a relaxation time in seconds: of the mean eigenvalue, or of a quantile."""
        value = float(self.eigenvalues.mean()) if level is None else self.upper(level)
        return -self.lag / float(np.log(value)) if 0 < value < 1 else 0.0

    def significant_modes(self, spectrum: Spectrum, level: float = 0.975) -> int:
        """Count the leading modes whose eigenvalue exceeds that of shuffled state sequences.

        Only modes before the first that does not are counted; a complex pair counts twice, as in the spectrum.
        """
        below = np.flatnonzero(spectrum.eigenvalues.real <= self.upper(level))
        return int(below[0]) if below.size else int(spectrum.eigenvalues.size)

    def headline(self) -> str:
        """Give the relaxation time of shuffled state sequences."""
        if not self.eigenvalues.size:
            return "no shuffles"
        n_shuffles = count_of(self.eigenvalues.size, "shuffle")
        return f"{self.time():.3g} s at a lag of {self.lag:.3g} s, from {n_shuffles} of the state sequence"


def noise_floor(
    symbols: Symbols,
    lag: float,
    *,
    of: Of = "chain",
    shuffles: Shuffles | None = None,
    threads: int = 1,
    progress: Progress | None = None,
) -> NoiseFloor:
    """Estimate the noise floor of relaxation times at a lag.

    Parameters
    ----------
    symbols
        Of one animal or of many.
    lag
        In seconds.
    of
        Which spectrum the floor is for.
    shuffles
        How many, and how.
    threads, progress
        See `map_tasks`.

    Notes
    -----
    SI, "Choice of transition time". The published figures take one shuffle at a lag of one frame and convert it with
    the longer lag; here every shuffle is made at the lag itself.

    Examples
    --------
    >>> from ethomarkov.synthetic import hopping_chain
    >>> symbols = hopping_chain([[0.9, 0.1], [0.2, 0.8]], 2000)
    >>> floor = noise_floor(symbols, lag=1.0)
    >>> floor.significant_modes(slow_spectrum(MarkovChain.from_symbols(symbols, 1.0)))
    1
    """
    (floor,) = noise_floors(symbols, lag, [of], shuffles=shuffles, threads=threads, progress=progress)
    return floor


def noise_floors(
    symbols: Symbols,
    lag: float,
    kinds: Sequence[Of],
    *,
    shuffles: Shuffles | None = None,
    threads: int = 1,
    progress: Progress | None = None,
) -> tuple[NoiseFloor, ...]:
    """Estimate several noise floors from the same shuffles.

    Parameters
    ----------
    symbols, lag, shuffles, threads, progress
        As in `noise_floor`.
    kinds
        Which spectra the floors are for.
    """
    how = shuffles or Shuffles()
    tasks = [generator(how.seed, "noise floor", k) for k in range(how.n)]

    def second_eigenvalues(rng: np.random.Generator) -> list[float]:
        chain = MarkovChain.from_symbols(shuffle_symbols(symbols, how.recipe, rng), lag)
        if chain.states.size < 2:
            raise ConnectivityError("A chain of one state has no noise floor; use more microstates or more data.")
        return [_second_eigenvalue(chain, of) for of in kinds]

    values = map_tasks(second_eigenvalues, tasks, threads=threads, progress=progress, what="noise floor")
    columns = np.array(values).T
    return tuple(NoiseFloor(eigenvalues=one, lag=float(lag), of=of) for one, of in zip(columns, kinds, strict=True))


def _second_eigenvalue(chain: MarkovChain, of: Of) -> float:
    if of == "reversibilized":
        return float(reversible_modes(chain, 1, tolerance=TOLERANCE)[0][0])
    return float(slow_spectrum(chain, 1, tolerance=TOLERANCE).eigenvalues[0].real)


def shuffle_symbols(symbols: Symbols, recipe: Recipe, rng: np.random.Generator) -> Symbols:
    """Shuffle the state sequence within every gap-free run."""
    labels = np.array(symbols.labels)
    for start, stop, _ in symbols.segments:
        run = labels[start:stop]
        labels[start:stop] = rng.permutation(run) if recipe == "permute" else rng.choice(run, run.size)
    return Symbols(labels=labels, n_states=symbols.n_states, segments=symbols.segments, sampling=symbols.sampling)
