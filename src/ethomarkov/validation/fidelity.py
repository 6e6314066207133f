"""Distance of simulated runs from held-out recordings, in units of sampling error."""

from dataclasses import dataclass

import numpy as np

from ethomarkov._core.result import array_field, freeze_arrays
from ethomarkov._core.series import Series
from ethomarkov._core.types import BoolArray, FloatArray, IntArray
from ethomarkov.posture.events import find_events
from ethomarkov.states.symbols import Symbols

PARTS = ("events", "spread", "autocorrelation", "slow mode")
"""What is compared; every part counts alike, however many numbers it has."""
EVENTS, SPREAD, CORRELATION, SLOW = range(4)
N_LAGS = 16
REACH = 8
"""Longest lag of autocorrelations, in lags of the chain."""
SLOW_STEPS = (4, 8, 16)
"""Lags of the slow mode, in lags of the chain: multiples of all steps that are tried."""
ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Yardstick:
    """What is measured on recordings and runs alike.

    Parameters
    ----------
    mean
        Mean of every component, from which deviations are counted in recordings and in runs.
    lag_frames
        Lags of the autocorrelations, in frames.
    slow_frames
        Lags of the slow mode, in frames.
    slow_mode
        Value of the slow mode in every microstate, of mean zero and variance one; zero outside the chain.
    has_events
        Whether reversals and turns are defined.
    """

    mean: FloatArray = array_field("component")
    lag_frames: IntArray = array_field("lag")
    slow_frames: IntArray = array_field("slow_lag")
    slow_mode: FloatArray = array_field("microstate")
    has_events: bool

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @classmethod
    def from_recording(
        cls, postures: Series, symbols: Symbols, slow_mode: FloatArray, lag: float, *, has_events: bool
    ) -> "Yardstick":
        """Choose lags and the slow mode for a recording.

        Parameters
        ----------
        postures, symbols
            Of all animals.
        slow_mode
            Value of the slowest mode in every microstate; NaN outside the chain.
        lag
            Of the chain, in seconds, by which all other times are set.
        has_events
            See the class.
        """
        step = postures.sampling.frames(lag, "lag")
        visits = np.where(np.isfinite(slow_mode), symbols.visits(), 0)
        known = np.nan_to_num(slow_mode)
        centred = known - np.average(known, weights=visits)
        scale = np.sqrt(np.average(centred**2, weights=visits))
        return cls(
            mean=postures.values[postures.segments.valid].mean(axis=0, dtype=float),
            lag_frames=np.unique(np.rint(np.geomspace(1, REACH * step, N_LAGS)).astype(int)),
            slow_frames=np.array(SLOW_STEPS) * step,
            slow_mode=np.where(np.isfinite(slow_mode), centred, 0.0) / (scale or 1.0),
            has_events=has_events,
        )

    @property
    def part(self) -> IntArray:
        """Index into `PARTS` of every number that `measure` gives."""
        n = self.mean.size
        counts = (3 if self.has_events else 0, n, n * self.lag_frames.size, self.slow_frames.size)
        return np.repeat(np.arange(len(PARTS)), counts)

    def measure(self, postures: Series, symbols: Symbols) -> FloatArray:
        """Measure every individual: one row each, one column per number.

        Parameters
        ----------
        postures
            Of animals, blocks or runs.
        symbols
            Their microstates, at any whole number of frames.
        """
        moments = lagged_moments(postures, self.mean, np.append(0, self.lag_frames))
        with np.errstate(invalid="ignore", divide="ignore"):
            spread, curves = np.log(moments[:, :, 0]) / 2, moments[:, :, 1:] / moments[:, :, :1]
        events = [find_events(postures).rates()] if self.has_events else []
        return np.concatenate(
            [*events, spread, curves.reshape(len(curves), -1), self._slow_memory(postures, symbols)], axis=1
        )

    def _slow_memory(self, postures: Series, symbols: Symbols) -> FloatArray:
        frames = postures.sampling.rate / symbols.sampling.rate
        lags = np.maximum(1, np.rint(self.slow_frames / frames).astype(int))
        values = np.where(symbols.segments.valid, self.slow_mode[symbols.labels], 0.0)[:, None]
        series = Series(values=values, segments=symbols.segments, sampling=symbols.sampling)
        return lagged_moments(series, np.zeros(1), lags)[:, 0]


def lagged_moments(series: Series, mean: FloatArray, lag_frames: IntArray) -> FloatArray:
    """Average products of deviations `lag_frames` apart: one row per individual, then components, then lags.

    NaN where no pair of frames is as far apart without a gap.
    """
    shape = (series.segments.n_individuals, series.n_components, len(lag_frames))
    total, n_pairs = np.zeros(shape), np.zeros((shape[0], 1, shape[2]))
    away = np.ascontiguousarray((series.values - mean).T)
    for start, stop, unit in series.segments:
        for k, lag in enumerate(lag_frames[lag_frames < stop - start].tolist()):
            total[unit, :, k] += np.einsum("kt,kt->k", away[:, start : stop - lag], away[:, start + lag : stop])
            n_pairs[unit, 0, k] += stop - start - lag
    moments: FloatArray = np.divide(total, n_pairs, out=np.full(shape, np.nan), where=n_pairs > 0)
    return moments


def deviations(data: FloatArray, held_out: BoolArray, runs: FloatArray) -> FloatArray:
    """Express the difference of simulated and held-out means in sampling errors; NaN where it cannot be told.

    It cannot where fewer than two individuals have a number, or all the same.

    Parameters
    ----------
    data
        Numbers of all individuals, one row each.
    held_out
        Flags of the held-out individuals.
    runs
        The same numbers of simulated runs.

    Notes
    -----
    The means of both parts and of the runs err by the spread over individuals, divided by the root of their numbers.
    Over random halves the squared deviation of a perfect model is one on average.
    """
    parts = (data[held_out], data[~held_out], runs)
    share = sum(1 / np.maximum(np.isfinite(part).sum(axis=0), 1) for part in parts)
    n_known, mean = np.isfinite(data).sum(axis=0), _known_mean(data)
    error = np.sqrt(_known_mean((data - mean) ** 2) * n_known / np.maximum(n_known - 1, 1) * share)
    away = _known_mean(runs) - _known_mean(data[held_out])
    varies = error > ROUNDING * np.abs(mean)
    found: FloatArray = np.divide(away, error, out=np.full(away.shape, np.nan), where=varies)
    return found


def _known_mean(values: FloatArray) -> FloatArray:
    """Average the rows, what is not known left out; NaN where nothing is known."""
    known = np.isfinite(values)
    n = known.sum(axis=0)
    mean: FloatArray = np.divide(np.where(known, values, 0.0).sum(axis=0), n, out=np.full(n.shape, np.nan), where=n > 0)
    return mean
