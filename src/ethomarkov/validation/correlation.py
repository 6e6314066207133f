"""Autocorrelation of the posture modes, in data and in simulated runs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import fft

from ethomarkov._core.interval import mean_band
from ethomarkov._core.random import Rng
from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.series import Series
from ethomarkov._core.types import FloatArray, IntArray
from ethomarkov._core.words import count_of
from ethomarkov.exceptions import InputFormatError


@dataclass(frozen=True, slots=True, kw_only=True)
class Autocorrelation(Result):
    """Correlation of every component with itself against lag, one row per animal or simulated run.

    Parameters
    ----------
    lags
        Lags in seconds, from zero on.
    values
        Autocorrelation, one at lag zero, or the covariance if not normalised. NaN where a lag has no pair, and for a
        component that never changes.
    n_pairs
        Number of pairs of frames behind every value. They overlap: they are not independent observations.
    individuals
        Names of the animals or runs.
    over
        What the rows are, in words: "animals" or "runs".

    Examples
    --------
    >>> wave = Series.from_rows(np.cos(np.pi * np.arange(1600) / 8)[:, None], 16.0)
    >>> autocorrelation(wave, 1.0).headline()
    '1 animal, 1 mode, lags up to 1 s'
    """

    lags: FloatArray = array_field("lag", unit="s")
    values: FloatArray = array_field("unit", "component", "lag")
    n_pairs: IntArray = array_field("unit", "lag")
    individuals: tuple[str, ...]
    over: str

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def mean_band(
        self, level: float = 0.95, *, size: int | None = None, rng: Rng = 0
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Average over animals or runs, with an interval; see `mean_band`."""
        return mean_band(self.values, level, size=size, rng=rng)

    def headline(self) -> str:
        """Give the number of rows and modes, and the longest lag."""
        reach = f", lags up to {self.lags[-1]:.3g} s" if self.lags.size else ""
        rows = count_of(len(self.values), self.over.removesuffix("s"))
        return f"{rows}, {count_of(self.values.shape[1], 'mode')}{reach}"


def autocorrelation(
    series: Series, seconds: float = 10.0, *, normalise: bool = True, across_gaps: bool = False, over: str = "animals"
) -> Autocorrelation:
    """Compute the autocorrelation of every component, per animal, at all lags up to `seconds`.

    Parameters
    ----------
    series
        Rows in time.
    seconds
        Longest lag, to the nearest frame.
    normalise
        Divide by the variance, so that the values begin at one.
    across_gaps
        Also take pairs with a gap between them, as published. Not so by default: what happened in a gap is unknown
        (the head may have been taken for the tail, or frames been lost uncounted), and nothing else here looks across.
        Needed for simulations with a hole at every step ("paper-raw"), which have no long pair without.
    over
        What the individuals are: "animals" or "runs".

    Notes
    -----
    C(τ) = ⟨δa(t) δa(t + τ)⟩ / ⟨δa²⟩ with δa = a − ⟨a⟩, Fig. 2(b). Mean and variance are those of all frames of the
    animal. Every C(τ) is divided by its own number of pairs. Products of all lags come from one Fourier transform of
    each gap-free run, with zeros behind it and in place of missing frames.

    Examples
    --------
    >>> wave = Series.from_rows(np.cos(np.pi * np.arange(1600) / 8)[:, None], 16.0)  # one cycle per second
    >>> autocorrelation(wave, 1.0).values[0, 0, [0, 8, 16]].round(2)  # at lags of 0, 0.5 and 1 s
    array([ 1., -1.,  1.])
    """
    n_frames = series.sampling.nearest_frames(seconds, "seconds")
    centred, variance = _centre(series)
    shape = (series.segments.n_individuals, series.n_components, n_frames + 1)
    total, n_pairs = np.zeros(shape), np.zeros((shape[0], shape[2]), dtype=np.int64)
    for unit, rows in series.segments.stretches(across_gaps=across_gaps):
        total[unit] += _lagged_products(centred[:, rows], n_frames)
        n_pairs[unit] += _count_pairs(series, rows, n_frames, across_gaps)
    scale = (variance[:, :, None] if normalise else 1.0) * n_pairs[:, None, :]
    return Autocorrelation(
        lags=np.arange(n_frames + 1) / series.sampling.rate,
        values=np.divide(total, scale, out=np.full(shape, np.nan), where=scale > 0),
        n_pairs=n_pairs,
        individuals=series.segments.individuals,
        over=over,
    )


def ensemble_autocorrelation(
    runs: Iterable[Series], seconds: float = 10.0, *, normalise: bool = True, across_gaps: bool = False
) -> Autocorrelation:
    """Correlate simulated runs block after block, holding only one block at a time.

    Parameters
    ----------
    runs
        Best made on the fly, as by `MarkovAnimal.behave`; every individual of every series is a run.
    seconds, normalise, across_gaps
        See `autocorrelation`.
    """
    parts = [
        autocorrelation(block, seconds, normalise=normalise, across_gaps=across_gaps, over="runs") for block in runs
    ]
    if not parts:
        raise InputFormatError("There is no run to correlate. Give at least one.")
    return Autocorrelation(
        lags=parts[0].lags,
        values=np.concatenate([part.values for part in parts]),
        n_pairs=np.concatenate([part.n_pairs for part in parts]),
        individuals=tuple(name for part in parts for name in part.individuals),
        over="runs",
    )


def stack_correlations(parts: Sequence[Autocorrelation], over: str) -> Autocorrelation:
    """Put the curves of several animals, or of their runs, into one table."""
    return Autocorrelation(
        lags=parts[0].lags,
        values=np.concatenate([part.values for part in parts]),
        n_pairs=np.concatenate([part.n_pairs for part in parts]),
        individuals=tuple(name for part in parts for name in part.individuals),
        over=over,
    )


def _centre(series: Series) -> tuple[FloatArray, FloatArray]:
    """Take the mean of every individual off its frames (one row per component, missing zero); give variances too."""
    known, n_known = series.segments.valid, series.segments.count_rows()
    centred = np.zeros((series.n_components, known.size))
    variance = np.zeros((series.segments.n_individuals, series.n_components))
    for unit in np.flatnonzero(n_known):
        rows = slice(*series.segments.offsets[unit : unit + 2])
        here, part = known[rows], centred[:, rows]
        part[:] = series.values[rows].T
        # from a first value on, so that a constant is exactly zero and has no variance by rounding
        part -= part[:, [int(here.argmax())]]
        part[:, ~here] = 0.0
        part -= part.sum(axis=1, keepdims=True) / n_known[unit]
        part[:, ~here] = 0.0
        variance[unit] = np.square(part).sum(axis=1) / n_known[unit]
    return centred, variance


def _lagged_products(rows: FloatArray, n_frames: int) -> FloatArray:
    """Sum x(t) x(t + lag) for all lags up to `n_frames`; one row per component."""
    # the zeros behind the data need only be as long as the longest lag
    reach = min(n_frames, rows.shape[-1] - 1)
    size = fft.next_fast_len(rows.shape[-1] + reach, real=True)
    spectrum = fft.rfft(rows, size)
    products = np.zeros((*rows.shape[:-1], n_frames + 1))
    products[..., : reach + 1] = fft.irfft(spectrum.real**2 + spectrum.imag**2, size)[..., : reach + 1]
    return products


def _count_pairs(series: Series, rows: slice, n_frames: int, across_gaps: bool) -> IntArray:
    if across_gaps:
        known = series.segments.valid[rows].astype(float)
        return np.rint(_lagged_products(known, n_frames)).astype(np.int64)
    n_pairs: IntArray = np.maximum(rows.stop - rows.start - np.arange(n_frames + 1), 0)
    return n_pairs
