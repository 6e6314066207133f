"""Microstates: a fine partition of the space of posture sequences."""

from dataclasses import dataclass
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin

from ethomarkov._core.arrays import is_count
from ethomarkov._core.random import generator
from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.series import BLOCK_ROWS, Series
from ethomarkov._core.types import FloatArray, IntArray
from ethomarkov._core.words import count_of
from ethomarkov.exceptions import InputFormatError
from ethomarkov.states.rows import check_rows, series_of_rows
from ethomarkov.states.symbols import Symbols

NEGLIGIBLE = 0.01
"""Of the squared size of a microstate; directions of less variance are left out."""
ROUNDING = 1e-10
"""Of the largest variance; less is the rounding of single precision."""
COVARIANCE_ROWS = 100_000  # enough for principal directions
# k-means++ on part of the points: generous where it is cheap, frugal where there are many states.
SEEDING_POINTS_PER_STATE, SEEDING_POINTS_AT_LEAST, SEEDING_ENOUGH = 20, 5, 10_000
ROUGH_POINTS_PER_STATE = 80
PAPER_BATCH, PAPER_STARTS = 5, 3
METHODS = ("lloyd", "minibatch")


@dataclass(frozen=True, slots=True, kw_only=True)
class Microstates(Result):
    """A partition that was found.

    Parameters
    ----------
    centers
        One row per microstate.
    visits
        Fitted sequences in each.
    inertia
        Mean squared distance of the fitted sequences to their centers.

    Examples
    --------
    >>> series = Series.from_rows([[0.0], [0.2], [5.0], [5.2]], 16.0)
    >>> microstates = Partition(n_states=2).fit(series).microstates_
    >>> microstates.headline()
    '2 microstates of 1 component, 2 sequences each (median), mean distance 0.1'
    >>> microstates.label(Series.from_rows([[4.0], [np.nan]], 16.0)).labels[1]
    np.int32(-1)
    """

    centers: FloatArray = array_field("state", "component")
    visits: IntArray = array_field("state")
    inertia: float

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def headline(self) -> str:
        """Give number, visits and size of the microstates in one line."""
        size = f"{count_of(self.n_states, 'microstate')} of {count_of(self.centers.shape[1], 'component')}"
        middle = f"{np.median(self.visits):,.4g}" if self.n_states else "0"
        return f"{size}, {middle} sequences each (median), mean distance {max(self.inertia, 0.0) ** 0.5:.3g}"

    @property
    def n_states(self) -> int:
        """Number of microstates."""
        return len(self.centers)

    def label(self, series: Series, *, threads: int = 1) -> Symbols:
        """Give every sequence, seen before or not, the nearest microstate.

        Parameters
        ----------
        series
            Sequences of the same modes and delays as those that were fitted.
        threads
            Cores to use.
        """
        from ethomarkov.states.kmeans import NearestCenters

        self.check_components(series)
        labels = np.full(len(series.values), -1, dtype=np.int32)
        nearest = NearestCenters(self.centers, threads=threads)
        for rows, points in series.blocks():
            labels[rows] = nearest.label(points)
        return Symbols(labels=labels, n_states=self.n_states, segments=series.segments, sampling=series.sampling)

    def distances(self, series: Series, symbols: Symbols) -> FloatArray:
        """Measure how far every sequence is from its center; NaN where there is none."""
        self.check_components(series)
        distance = np.full(len(symbols.labels), np.nan, dtype=np.float32)
        known = Series(values=series.values, segments=symbols.segments, sampling=series.sampling)
        for rows, points in known.blocks():
            distance[rows] = np.linalg.norm(points - self.centers[symbols.labels[rows]], axis=1)
        return distance

    def check_components(self, series: Series) -> None:
        """Refuse sequences of other modes or delays than those of the microstates."""
        if series.n_components != self.centers.shape[1]:
            raise InputFormatError(
                f"The sequences have {series.n_components} components, the microstates {self.centers.shape[1]}; "
                "embed with the same modes and delays."
            )


class Partition(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Divide a series into microstates by k-means.

    The work is done in those principal directions of the sequences that so many microstates can resolve; smooth
    postures have fewer of them than components. Seeds come from k-means++ on a part of the points; Lloyd iterations run
    on a part, then on all points to convergence. The result depends on the seed alone, not on the number of threads.

    Parameters
    ----------
    n_states
        Number of microstates, N.
    method
        "lloyd", or "minibatch" for scikit-learn's MiniBatchKMeans at the published settings.
    max_iterations
        Lloyd iterations over all points, at most.
    seed
        Makes the partition reproducible.
    threads
        Cores to use.

    Attributes
    ----------
    microstates_
        What was found.
    cluster_centers_
        Its centers, one row per microstate.
    labels_
        Microstate of every row of a plain array that was fitted, ``-1`` where it is missing; see `label` for a series.
    n_features_in_
        Columns of what was fitted.
    feature_names_in_
        Their names, where a table was fitted.

    Notes
    -----
    It is fitted to a `Series`, or to a plain array, whose rows are successive frames of one animal and missing where
    they hold NaN. Parameters are checked in `fit`.

    Examples
    --------
    >>> rows = np.array([[0.0, 0.1], [0.1, 0.0], [4.0, 4.1], [np.nan, 4.0], [4.1, 4.0]])
    >>> labels = Partition(n_states=2).fit_predict(rows)
    >>> labels[0] == labels[1] != labels[2] == labels[4], labels[3]
    (np.True_, np.int32(-1))
    """

    microstates_: Microstates
    labels_: IntArray

    def __init__(
        self,
        n_states: int = 1000,
        *,
        method: Literal["lloyd", "minibatch"] = "lloyd",
        max_iterations: int = 50,
        seed: int = 0,
        threads: int = 1,
    ) -> None:
        self.n_states = n_states
        self.method = method
        self.max_iterations = max_iterations
        self.seed = seed
        self.threads = threads

    def fit(self, X: Series | ArrayLike, y: object = None) -> "Partition":
        """Find the microstates of a series, or of plain rows.

        Parameters
        ----------
        X
            A series, or plain rows of one animal.
        y
            Ignored.
        """
        self._check_parameters()
        series = self._series(X, reset=True)
        self._check_enough(series)
        labels = self._minibatch_labels(series) if self.method == "minibatch" else self._lloyd_labels(series)
        self.microstates_ = _microstates_of(series, labels, self.n_states)
        if X is not series:
            self.labels_ = self.label(series).labels.copy()
        elif hasattr(self, "labels_"):
            del self.labels_  # of rows that were fitted before
        return self

    def partial_fit(self, X: Series | ArrayLike, y: object = None) -> "Partition":
        """Improve the microstates with one more piece of data, for recordings that do not fit into memory together.

        The first piece is fitted as a whole and should hold all kinds of behaviour; every further piece moves the
        centers by its share of all sequences seen so far.

        Parameters
        ----------
        X
            A series, or plain rows of one animal.
        y
            Ignored.
        """
        if not hasattr(self, "microstates_"):
            return self.fit(X)
        series = self._series(X, reset=False)
        old = self.microstates_
        labels = self.label(series).labels[series.segments.valid]
        total = old.visits + np.bincount(labels, minlength=self.n_states)
        moved = old.centers * old.visits[:, None] + _sum_by_label(series, labels, self.n_states)
        seen = total[:, None] > 0
        inertia = _inertia(series, labels, old.centers) if labels.size else 0.0
        share = labels.size / max(total.sum(), 1)
        self.microstates_ = Microstates(
            centers=np.where(seen, moved / np.maximum(total, 1)[:, None], old.centers).astype(np.float32),
            visits=total,
            inertia=(1 - share) * old.inertia + share * inertia,
        )
        return self

    def label(self, series: Series) -> Symbols:
        """Give every sequence of a series the nearest microstate; see `predict` for plain rows.

        Parameters
        ----------
        series
            Of the same modes and delays as those that were fitted.
        """
        self._check_fitted()
        if not isinstance(series, Series):
            raise InputFormatError(
                f"A {type(series).__name__} was given; label takes a Series. Use predict for plain rows, and "
                "basis.project(recording) to make a series of a recording."
            )
        return self.microstates_.label(series, threads=self.threads)

    @overload
    def predict(self, X: Series) -> Symbols: ...

    @overload
    def predict(self, X: ArrayLike) -> IntArray: ...

    def predict(self, X: Series | ArrayLike) -> Symbols | IntArray:
        """Give every row the nearest microstate, ``-1`` where it is missing; of a series as symbols, as `label` does.

        Parameters
        ----------
        X
            A series, or plain rows of one animal.
        """
        self._check_fitted()
        series = self._series(X, reset=False)
        return self.label(series) if X is series else self.label(series).labels.copy()

    def fit_predict(self, X: Series | ArrayLike, y: object = None, **options: Any) -> Any:  # noqa: ANN401 (as `predict`)
        """Find the microstates, and give every row its own.

        Parameters
        ----------
        X, y
            As in `fit`.
        options
            None; scikit-learn's pipelines may hand on some.
        """
        self.fit(X, y, **options)
        return self.label(X) if isinstance(X, Series) else self.labels_

    @overload
    def transform(self, X: Series) -> Series: ...

    @overload
    def transform(self, X: ArrayLike) -> FloatArray: ...

    def transform(self, X: Series | ArrayLike) -> Series | FloatArray:
        """Measure the distance of every row to every center, NaN where it is missing.

        Parameters
        ----------
        X
            A series, or plain rows of one animal.
        """
        from scipy.spatial.distance import cdist

        self._check_fitted()
        series = self._series(X, reset=False)
        # in double precision and row by row, so that a row has the same distances among any others
        distances = cdist(np.asarray(series.values, dtype=float), np.asarray(self.microstates_.centers, dtype=float))
        distances[~series.segments.valid] = np.nan
        return series.with_rows(distances) if X is series else distances

    def score(self, X: Series | ArrayLike, y: object = None) -> float:
        """Compute the negative mean squared distance of rows to the nearest center; the higher the better.

        Scores of sequences of different lengths are not comparable: longer ones have more components.

        Parameters
        ----------
        X
            A series, or plain rows of one animal.
        y
            Ignored.
        """
        self._check_fitted()
        series = self._series(X, reset=False)
        if len(series.segments) == 0:
            raise InputFormatError(f"All of {len(series.values)} rows are missing; a score needs at least one.")
        return -float(np.nanmean(np.square(self.microstates_.distances(series, self.label(series)), dtype=float)))

    @property
    def cluster_centers_(self) -> FloatArray:
        """Centers of the microstates, one row each."""
        return self.microstates_.centers

    @property
    def _n_features_out(self) -> int:
        return self.microstates_.n_states

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401 (scikit-learn has no types)
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _series(self, X: Series | ArrayLike, *, reset: bool) -> Series:
        """Take a series as it is, and make one of plain rows."""
        if not isinstance(X, Series):
            return series_of_rows(check_rows(self, X, reset=reset))
        if reset:
            self.n_features_in_ = X.n_components
            if hasattr(self, "feature_names_in_"):
                del self.feature_names_in_  # of a table that was fitted before
        return X

    def _check_fitted(self) -> None:
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self, "microstates_")

    def _check_parameters(self) -> None:
        for name, least in (("n_states", 1), ("max_iterations", 1), ("seed", 0), ("threads", 1)):
            value = getattr(self, name)
            if not is_count(value, least):
                raise InputFormatError(f"{name}={value!r}; a whole number from {least} on is needed.")
        if self.method not in METHODS:
            raise InputFormatError(f"method={self.method!r} is not known; use one of {', '.join(map(repr, METHODS))}.")

    def _check_enough(self, series: Series) -> None:
        n_sequences = series.segments.count_rows().sum()
        if n_sequences < self.n_states:
            raise InputFormatError(
                f"n_states={self.n_states} microstates need at least as many sequences; there are {n_sequences} "
                f"(n_samples={len(series.values)}, less what is missing). Use fewer microstates, or more data."
            )

    def _lloyd_labels(self, series: Series) -> IntArray:
        from ethomarkov.states.kmeans import lloyd

        rng = generator(self.seed, "partition")
        compact = compress(series, self.n_states)
        centers = compact[seed_rows(compact, self.n_states, rng)]
        n_rough = ROUGH_POINTS_PER_STATE * self.n_states
        if len(compact) > 2 * n_rough:
            rough = compact[:: len(compact) // n_rough]
            centers = lloyd(rough, centers, max_iterations=self.max_iterations, threads=self.threads).centers
        return lloyd(compact, centers, max_iterations=self.max_iterations, threads=self.threads).labels

    def _minibatch_labels(self, series: Series) -> IntArray:
        from sklearn.cluster import MiniBatchKMeans

        points = series.values[series.segments.valid]
        random_state = int(generator(self.seed, "partition").integers(2**31))
        batch = PAPER_BATCH * self.n_states
        found = MiniBatchKMeans(self.n_states, batch_size=batch, n_init=PAPER_STARTS, random_state=random_state)
        return np.asarray(found.fit(points).predict(points))


def compress(series: Series, n_states: int) -> FloatArray:
    """Rotate the rows of a series to their principal directions, and keep those that so many microstates can resolve.

    Parameters
    ----------
    series
        Of which all rows are taken.
    n_states
        Microstates that are to be found in them.
    """
    n_rows = int(series.segments.count_rows().sum())
    mean = sum(points.sum(axis=0, dtype=np.float64) for _, points in series.blocks()) / n_rows
    kept = _resolved(_covariance(series, mean, max(1, n_rows // COVARIANCE_ROWS)), n_states)
    compact = np.empty((n_rows, kept.shape[1]), dtype=np.float32)
    done = 0
    for rows, points in series.blocks():
        compact[done : done + rows.size] = (points - mean.astype(np.float32)) @ kept
        done += rows.size
    return compact


def principal_directions(points: FloatArray, n_states: int) -> tuple[FloatArray, FloatArray]:
    """Give the mean of some points, and those principal directions that so many microstates can resolve."""
    mean = points.mean(axis=0, dtype=np.float64)
    off = points - mean
    return mean.astype(np.float32), _resolved(off.T @ off / max(len(points) - 1, 1), n_states)


def _resolved(covariance: FloatArray, n_states: int) -> FloatArray:
    """Keep the principal directions whose spread is not far below the size of a microstate.

    A share of the variance is no measure of it: velocity may hold a thousandth of the variance of finely sampled
    postures, and still be what many microstates divide by. N cells that divide a Gaussian best have the same squared
    size D in all directions that they divide at all, Σ ½ ln(σ²/D) = ln N over σ² > D (reverse water-filling).
    Directions of less than a hundredth of D change no cell to speak of.
    """
    variance, directions = np.linalg.eigh(covariance)
    variance = np.maximum(variance[::-1], variance[-1] * ROUNDING)
    logs = np.log(np.maximum(variance, np.finfo(float).tiny))
    # The first n directions are divided when the level that they imply lies below the n-th and above the next.
    levels = (np.cumsum(logs) - 2 * np.log(n_states)) / np.arange(1, logs.size + 1)
    level = levels[int(np.argmin(levels < np.append(logs[1:], -np.inf)))]
    n_kept = max(1, int((logs > level + np.log(NEGLIGIBLE)).sum()))
    return np.asarray(directions[:, ::-1][:, :n_kept].astype(np.float32))


def _covariance(series: Series, mean: FloatArray, step: int) -> FloatArray:
    """Estimate the covariance of the components from every `step`-th row."""
    products, total, n = np.zeros((mean.size, mean.size)), np.zeros(mean.size), 0
    for _, points in series.blocks(BLOCK_ROWS // step * step):  # every block then begins at a row that counts
        off = points[::step] - mean
        products += off.T @ off
        total += off.sum(axis=0)
        n += len(off)
    return np.asarray((products - np.outer(total, total) / n) / max(n - 1, 1))


def seed_rows(points: FloatArray, n_seeds: int, rng: np.random.Generator) -> IntArray:
    """Choose rows to start from, by k-means++ on a random part of them."""
    from ethomarkov.states.kmeans import seed_order

    wanted = min(SEEDING_POINTS_PER_STATE * n_seeds, SEEDING_ENOUGH)
    n_chosen = min(len(points), max(wanted, SEEDING_POINTS_AT_LEAST * n_seeds))
    chosen = np.sort(rng.choice(len(points), n_chosen, replace=False))
    rows: IntArray = chosen[seed_order(points[chosen], n_seeds, rng)]
    return rows


def _microstates_of(series: Series, labels: IntArray, n_states: int) -> Microstates:
    """Put the centers at the mean of their points, all components included."""
    visits = np.bincount(labels, minlength=n_states)
    centers = _sum_by_label(series, labels, n_states) / np.maximum(visits, 1)[:, None]
    centers = centers.astype(np.float32)
    return Microstates(centers=centers, visits=visits, inertia=_inertia(series, labels, centers))


def _sum_by_label(series: Series, labels: IntArray, n_states: int) -> FloatArray:
    rows = np.flatnonzero(series.segments.valid)
    columns = [np.bincount(labels, weights=column[rows], minlength=n_states) for column in series.values.T]
    return np.stack(columns, axis=1)


def _inertia(series: Series, labels: IntArray, centers: FloatArray) -> float:
    """Mean squared distance to the centers."""
    squared = np.empty(labels.size, dtype=np.float32)
    done = 0
    for rows, points in series.blocks():
        here = slice(done, done + rows.size)
        squared[here] = np.square(points - centers[labels[here]]).sum(axis=1)
        done += rows.size
    return float(squared.mean(dtype=float))
