"""Distributions of the mode amplitudes, and their divergence between data and simulation."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ethomarkov._core.interval import mean_band
from ethomarkov._core.random import Rng, as_generator
from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.series import Series
from ethomarkov._core.types import FloatArray
from ethomarkov._core.words import count_of
from ethomarkov.exceptions import InputFormatError

PAPER_REACH = (14.0, 14.0, 25.0, 10.0, 5.0)
PAPER_EDGES = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeDensity(Result):
    """Histograms of every component on common edges, one per animal or simulated run.

    Parameters
    ----------
    edges
        Edges of the bins of each component, ascending.
    share
        Share of frames in each cell. The first and last cell lie beyond the edges, so that shares add up to one; NaN
        for individuals without a frame.
    individuals
        Names of the animals or runs.
    over
        What the rows are, in words: "animals" or "runs".

    Examples
    --------
    >>> ramp = Series.from_rows(np.arange(100.0)[:, None], 10.0)
    >>> mode_density(ramp, np.array([[0.0, 50.0, 100.0]])).density
    array([[[0.01, 0.01]]])
    """

    edges: FloatArray = array_field("component", "edge")
    share: FloatArray = array_field("unit", "component", "cell")
    individuals: tuple[str, ...]
    over: str

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def centres(self) -> FloatArray:
        """Middle of every bin, of each component."""
        return (self.edges[:, 1:] + self.edges[:, :-1]) / 2

    @property
    def density(self) -> FloatArray:
        """Probability per unit of amplitude between the edges; its integral is the share of frames there."""
        return self.share[:, :, 1:-1] / np.diff(self.edges, axis=1)

    def mean_band(
        self, level: float = 0.95, *, size: int | None = None, rng: Rng = 0
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Average the density over animals or runs, with an interval; see `mean_band`."""
        return mean_band(self.density, level, scale="positive", size=size, rng=rng)

    def headline(self) -> str:
        """Give the number of rows, modes and bins."""
        n_rows, n_modes, n_cells = self.share.shape
        rows = count_of(n_rows, self.over.removesuffix("s"))
        return f"{rows}, {count_of(n_modes, 'mode')}, {count_of(max(n_cells - 2, 0), 'bin')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Distance(Result):
    """How far the mean distributions of data and simulation are apart, and what halves of the data would give.

    Parameters
    ----------
    jensen_shannon
        Divergence of each component in bits: 0 for equal distributions, 1 for disjoint ones.
    kolmogorov_smirnov
        Largest difference of the cumulative distributions, at the edges.
    null_jensen_shannon, null_kolmogorov_smirnov
        Distance of two random halves of the data from each other; no rows if there is a single animal.
    over
        What was divided into halves, in words.
    """

    jensen_shannon: FloatArray = array_field("component", unit="bit")
    kolmogorov_smirnov: FloatArray = array_field("component")
    null_jensen_shannon: FloatArray = array_field("split", "component", unit="bit")
    null_kolmogorov_smirnov: FloatArray = array_field("split", "component")
    over: str

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def upper(self, level: float = 0.95) -> FloatArray:
        """Give the divergence in bits that a share `level` of the halves stays below; NaN without halves."""
        if len(self.null_jensen_shannon) == 0:
            return np.full(self.jensen_shannon.shape, np.nan)
        upper: FloatArray = np.quantile(self.null_jensen_shannon, level, axis=0)
        return upper

    @property
    def sentence(self) -> str:
        """Say which components differ more than halves of the data do."""
        found = ", ".join(f"{value:.2g}" for value in self.jensen_shannon)
        if len(self.null_jensen_shannon) == 0:
            return f"Divergence {found} bits; one recording has no halves to compare with. Divide it with `in_parts`."
        upper = ", ".join(f"{value:.2g}" for value in self.upper())
        odd = np.flatnonzero(self.jensen_shannon > self.upper()) + 1
        verdict = "no mode differs more"
        if odd.size:
            verdict = f"{' and '.join(f'mode {k}' for k in odd)} {'differs' if odd.size == 1 else 'differ'} more"
        return f"Divergence {found} bits; 95 % of random halves of the {self.over} are within {upper}: {verdict}."

    def headline(self) -> str:
        """Give the divergence of every mode in bits."""
        return f"divergence {', '.join(f'{value:.2g}' for value in self.jensen_shannon)} bits"


def default_edges(series: Series, n_bins: int = 40, share: float = 0.998) -> FloatArray:
    """Space edges evenly over the values that hold a share of all frames.

    Parameters
    ----------
    series
        The data; use the same edges for what is compared with them.
    n_bins
        Bins per component.
    share
        Of the frames between the outermost edges, with the rest equally beyond both.

    Examples
    --------
    >>> ramp = Series.from_rows(np.arange(101.0)[:, None], 10.0)
    >>> default_edges(ramp, n_bins=4, share=1.0)
    array([[  0.,  25.,  50.,  75., 100.]])
    """
    known = series.values[series.segments.valid]
    if len(known) == 0:
        raise InputFormatError("The series has no valid frame; edges need at least one.")
    low, high = np.quantile(known, [(1 - share) / 2, (1 + share) / 2], axis=0).astype(float)
    flat = high <= low
    return np.linspace(low - 0.5 * flat, high + 0.5 * flat, n_bins + 1, axis=1)


def mode_density(series: Series, edges: FloatArray, *, over: str = "animals") -> ModeDensity:
    """Compute histograms of every component on given edges, per animal or run.

    Parameters
    ----------
    series
        Mode amplitudes.
    edges
        One ascending row per component, as from `default_edges`.
    over
        What the individuals are: "animals" or "runs".

    Notes
    -----
    Fig. S3. A value on an edge belongs to the bin above it.

    Examples
    --------
    >>> ramp = Series.from_rows(np.arange(100.0)[:, None], 10.0)
    >>> mode_density(ramp, np.array([[0.0, 50.0, 100.0]])).share  # below, between and above the edges
    array([[[0. , 0.5, 0.5, 0. ]]])
    """
    edges = np.asarray(edges, dtype=float)
    if edges.ndim != 2 or len(edges) != series.n_components or (np.diff(edges, axis=1) <= 0).any():
        raise InputFormatError(
            f"edges have shape {edges.shape}; one ascending row for each of {series.n_components} components is needed."
        )
    counts = np.zeros((series.segments.n_individuals, series.n_components, edges.shape[1] + 1))
    for unit, rows in series.segments.stretches():
        # sorted once, so that only the few edges have to be looked up
        for k, column in enumerate(np.sort(series.values[rows].T)):
            counts[unit, k] += np.diff(np.searchsorted(column, edges[k]), prepend=0, append=column.size)
    total = counts.sum(axis=2, keepdims=True)
    return ModeDensity(
        edges=edges,
        share=np.divide(counts, total, out=np.full(counts.shape, np.nan), where=total > 0),
        individuals=series.segments.individuals,
        over=over,
    )


def ensemble_density(runs: Iterable[Series], edges: FloatArray) -> ModeDensity:
    """Count the values of simulated runs block after block, holding only one block at a time.

    Parameters
    ----------
    runs
        Best made on the fly, as by `MarkovAnimal.behave`; every individual of every series is a run.
    edges
        Those of the data.
    """
    parts = [mode_density(block, edges, over="runs") for block in runs]
    if not parts:
        raise InputFormatError("There is no run to count. Give at least one.")
    return ModeDensity(
        edges=parts[0].edges,
        share=np.concatenate([part.share for part in parts]),
        individuals=tuple(name for part in parts for name in part.individuals),
        over="runs",
    )


def stack_densities(parts: Sequence[ModeDensity], over: str) -> ModeDensity:
    """Put the histograms of several animals, or of their runs, into one table."""
    return ModeDensity(
        edges=parts[0].edges,
        share=np.concatenate([part.share for part in parts]),
        individuals=tuple(name for part in parts for name in part.individuals),
        over=over,
    )


def in_parts(series: Series, n_parts: int = 10) -> Series:
    """Cut every recording into parts of equal time, each an individual of its own.

    Gives a single animal halves to compare; the parts of one animal are less different than animals.
    """
    first, stop = series.segments.offsets[:-1, None], series.segments.offsets[1:, None]
    begin = first + (stop - first) * np.arange(n_parts) // n_parts
    offsets = np.append(begin, series.segments.offsets[-1])
    names = tuple(f"{name}, part {k + 1}" for name in series.segments.individuals for k in range(n_parts))
    return Series.from_rows(series.values, series.sampling, offsets, names)


def jensen_shannon(p: FloatArray, q: FloatArray) -> FloatArray:
    """Compute the Jensen–Shannon divergence in bits along the last axis.

    Examples
    --------
    >>> float(jensen_shannon(np.array([1.0, 0.0]), np.array([0.0, 1.0])))
    1.0
    """
    p, q = np.asarray(p, dtype=float), np.asarray(q, dtype=float)
    middle = (p + q) / 2
    divergence: FloatArray = (_relative_entropy(p, middle) + _relative_entropy(q, middle)) / 2
    return divergence


def kolmogorov_smirnov(p: FloatArray, q: FloatArray) -> FloatArray:
    """Find the largest difference of the cumulative distributions along the last axis."""
    gap: FloatArray = np.abs(np.cumsum(p, axis=-1) - np.cumsum(q, axis=-1)).max(axis=-1)
    return gap


def compare_densities(data: ModeDensity, simulated: ModeDensity, *, n_splits: int = 500, rng: Rng = 0) -> Distance:
    """Measure how far simulation is from data, beside how far the data are from themselves.

    Parameters
    ----------
    data, simulated
        On the same edges. All animals, and all runs, count the same.
    n_splits
        Random divisions of the animals into halves, which give the null.
    rng
        Seed or generator of the divisions.

    Notes
    -----
    Histograms of few independent frames diverge even if nothing differs, and animals do differ; so a divergence means
    something only beside the null. Halves have fewer animals than the whole and differ somewhat more than two full
    samples would: a simulation beyond the null is surely off, one well within it may still be.

    Examples
    --------
    >>> low, high = (Series.from_rows(np.arange(100.0)[:, None] + shift, 10.0) for shift in (0, 50))
    >>> edges = np.array([[0.0, 50.0, 100.0, 150.0]])
    >>> compare_densities(mode_density(low, edges), mode_density(high, edges)).jensen_shannon
    array([0.5])
    """
    if not np.array_equal(data.edges, simulated.edges):
        raise InputFormatError("The densities are on different edges. Count both with the edges of the data.")
    random = as_generator(rng)
    known = data.share[np.isfinite(data.share).all(axis=(1, 2))]
    n_units = len(known)
    n_splits = n_splits if n_units > 1 else 0
    halves = np.array([random.permutation(n_units) < n_units // 2 for _ in range(n_splits)], dtype=float)
    first = np.tensordot(halves.reshape(n_splits, n_units), known, axes=1) / max(1, n_units // 2)
    second = np.tensordot(1 - halves.reshape(n_splits, n_units), known, axes=1) / max(1, n_units - n_units // 2)
    mean, other = known.mean(axis=0), np.nanmean(simulated.share, axis=0)
    return Distance(
        jensen_shannon=jensen_shannon(mean, other),
        kolmogorov_smirnov=kolmogorov_smirnov(mean, other),
        null_jensen_shannon=jensen_shannon(first, second),
        null_kolmogorov_smirnov=kolmogorov_smirnov(first, second),
        over=data.over,
    )


def _relative_entropy(p: FloatArray, q: FloatArray) -> FloatArray:
    ratio = np.divide(p, q, out=np.ones_like(p), where=p > 0)
    entropy: FloatArray = (p * np.log2(ratio)).sum(axis=-1)
    return entropy
