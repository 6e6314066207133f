"""Relaxation times against the lag, of every animal's own chain."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ethomarkov._core.parallel import map_tasks
from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.types import FloatArray, Progress
from ethomarkov.exceptions import EthomarkovError
from ethomarkov.markov.chain import MarkovChain
from ethomarkov.markov.selection import LagTable
from ethomarkov.markov.spectrum import relaxation_time, reversible_modes, slow_spectrum
from ethomarkov.states.symbols import Symbols

Of = Literal["chain", "reversibilized"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LagScan(Result):
    """Leading relaxation times at many lags.

    Parameters
    ----------
    lags
        Seconds.
    relaxation_times
        Seconds, ``(lags, modes, animals)``; NaN where there is none.
    of
        "chain" or "reversibilized".
    """

    lags: FloatArray = array_field("lag", unit="s")
    relaxation_times: FloatArray = array_field("lag", "mode", "individual", unit="s")
    of: str

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def slowest(self) -> LagTable:
        """Give the table of the slowest mode, from which a lag is chosen."""
        return LagTable(lags=self.lags, relaxation_times=self.relaxation_times[:, 0])


def lag_grid(symbols: Symbols, longest: float, n_lags: int = 30) -> FloatArray:
    """Whole frames at about equal ratios up to `longest` seconds, in seconds."""
    rate = symbols.sampling.rate
    most = min(longest * rate, max(symbols.segments.longest() / 4, 1))
    frames = np.unique(np.geomspace(1, max(most, 1), n_lags).round().astype(int))
    return np.asarray(frames / rate)


def scan_lags(
    symbols: Symbols,
    lags: FloatArray,
    *,
    n_modes: int = 10,
    of: Of = "reversibilized",
    threads: int = 1,
    progress: Progress | None = None,
) -> LagScan:
    """Estimate the slow modes of each animal's chain at every lag.

    Parameters
    ----------
    symbols
        Microstates of one or several animals.
    lags
        Seconds, whole numbers of frames.
    n_modes
        Modes kept.
    of
        Which spectrum: the plateau is clearest in that of the reversibilised chain (Fig. S1b).
    threads, progress
        See `map_tasks`.
    """
    n_animals = symbols.segments.n_individuals
    tasks = [(lag, i) for lag in lags for i in range(n_animals)]
    times = map_tasks(
        lambda task: _slow_times(symbols.mask(task[1]), float(task[0]), n_modes, of),
        tasks,
        threads=threads,
        progress=progress,
        what="lag scan",
    )
    table = np.array(times).reshape(len(lags), n_animals, n_modes).swapaxes(1, 2)
    return LagScan(lags=np.asarray(lags, dtype=float), relaxation_times=table, of=of)


def _slow_times(symbols: Symbols, lag: float, n_modes: int, of: Of) -> FloatArray:
    times = np.full(n_modes, np.nan)
    try:
        chain = MarkovChain.from_symbols(symbols, lag)
    except EthomarkovError:  # too short for this lag
        return times
    if chain.states.size < 2:
        return times
    if of == "chain":
        found = slow_spectrum(chain, n_modes).relaxation_times
    else:
        found = np.array([relaxation_time(float(value), lag) for value in reversible_modes(chain, n_modes)[0]])
    times[: found.size] = found
    return times
