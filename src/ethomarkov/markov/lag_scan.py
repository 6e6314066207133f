"""Relaxation times of every animal's own chain against the lag."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ethomarkov._core.parallel import map_tasks
from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.types import FloatArray, Progress
from ethomarkov._core.words import count_of
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
        """Select the slowest mode, from which a lag is chosen."""
        return LagTable(lags=self.lags, relaxation_times=self.relaxation_times[:, 0])

    def headline(self) -> str:
        """Give the number of lags, modes and animals, and the range of lags."""
        n_lags, n_modes, n_animals = self.relaxation_times.shape
        reach = f" up to {self.lags.max():.3g} s" if n_lags else ""
        return f"{count_of(n_lags, 'lag')}{reach}, {count_of(n_modes, 'mode')}, {count_of(n_animals, 'animal')}"


def lag_grid(symbols: Symbols, longest: float, n_lags: int = 30) -> FloatArray:
    """List lags in seconds: whole frames at about equal ratios up to `longest` seconds."""
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
        Number of modes.
    of
        Which spectrum: the plateau is clearest in that of the reversibilised chain (Fig. S1b).
    threads, progress
        See `map_tasks`.

    Examples
    --------
    >>> from ethomarkov.synthetic import hopping_chain
    >>> symbols = hopping_chain([[0.9, 0.1], [0.2, 0.8]], 500, n_walks=2)
    >>> scan = scan_lags(symbols, np.array([1.0, 2.0, 4.0]), n_modes=1)
    >>> scan.relaxation_times.shape
    (3, 1, 2)
    >>> scan.headline()
    '3 lags up to 4 s, 1 mode, 2 animals'
    """
    n_animals = symbols.segments.n_individuals
    tasks = [(lag, i) for lag in lags for i in range(n_animals)]
    times = map_tasks(
        lambda task: _relaxation_times(symbols.mask(task[1]), float(task[0]), n_modes, of),
        tasks,
        threads=threads,
        progress=progress,
        what="lag scan",
    )
    table = np.array(times).reshape(len(lags), n_animals, n_modes).swapaxes(1, 2)
    return LagScan(lags=np.asarray(lags, dtype=float), relaxation_times=table, of=of)


def _relaxation_times(symbols: Symbols, lag: float, n_modes: int, of: Of) -> FloatArray:
    times = np.full(n_modes, np.nan)
    try:
        chain = MarkovChain.from_symbols(symbols, lag)
    except EthomarkovError:  # too short for this lag
        return times
    if chain.states.size < 2:
        return times
    if of == "chain":
        slowest = slow_spectrum(chain, n_modes).relaxation_times
    else:
        slowest = np.array([relaxation_time(float(value), lag) for value in reversible_modes(chain, n_modes)[0]])
    times[: slowest.size] = slowest
    return times
