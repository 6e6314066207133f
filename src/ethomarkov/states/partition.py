"""Microstates: a fine partition of the space of posture sequences."""

from dataclasses import dataclass

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans, kmeans_plusplus

from ethomarkov._core.random import generator
from ethomarkov._core.result import array_field, freeze_arrays
from ethomarkov._core.series import Series
from ethomarkov._core.types import FloatArray
from ethomarkov.exceptions import InputFormatError
from ethomarkov.states.symbols import Symbols

# k-means++ on part of the points: generous where it is cheap, frugal where there are many states.
SEEDING_POINTS_PER_STATE, SEEDING_POINTS_AT_LEAST, SEEDING_ENOUGH = 20, 5, 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Microstates:
    """A partition that was found.

    Parameters
    ----------
    centers
        One row per microstate.
    inertia
        Mean squared distance of the fitted sequences to their centers.
    """

    centers: FloatArray = array_field("state", "component")
    inertia: float

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def n_states(self) -> int:
        """Number of microstates."""
        return len(self.centers)

    def label(self, series: Series) -> Symbols:
        """Give every sequence the nearest microstate."""
        from sklearn.metrics import pairwise_distances_argmin

        if series.n_components != self.centers.shape[1]:
            raise InputFormatError(
                f"The sequences have {series.n_components} components, the microstates {self.centers.shape[1]}; "
                "embed with the same modes and delays."
            )
        valid = series.segments.valid
        labels = np.full(len(valid), -1, dtype=np.int32)
        labels[valid] = pairwise_distances_argmin(series.values[valid], self.centers)
        return Symbols(labels=labels, n_states=self.n_states, segments=series.segments, sampling=series.sampling)


class Partition(BaseEstimator):  # type: ignore[misc]
    """Divide a series into microstates by k-means.

    Seeds are chosen by k-means++ on a random part of the points, where nearly all of its gain is had at a fraction of
    its cost; Lloyd iterations then use all points.

    Parameters
    ----------
    n_states
        Number of microstates, N.
    max_iterations
        Lloyd iterations at most.
    seed
        Makes the partition reproducible.

    Attributes
    ----------
    microstates_
        What was found.
    """

    microstates_: Microstates

    def __init__(self, n_states: int = 1000, *, max_iterations: int = 50, seed: int = 0) -> None:
        self.n_states = n_states
        self.max_iterations = max_iterations
        self.seed = seed

    def fit(self, series: Series, y: None = None) -> "Partition":
        """Find the microstates of a series."""
        points = np.ascontiguousarray(series.values[series.segments.valid])
        if len(points) < self.n_states:
            raise InputFormatError(
                f"n_states={self.n_states} microstates need at least as many sequences; there are {len(points)}. "
                "Use fewer microstates, or more data."
            )
        rng = generator(self.seed, "partition")
        wanted = min(SEEDING_POINTS_PER_STATE * self.n_states, SEEDING_ENOUGH)
        n_seeding = min(len(points), max(wanted, SEEDING_POINTS_AT_LEAST * self.n_states))
        chosen = points[np.sort(rng.choice(len(points), n_seeding, replace=False))]
        random_state = int(rng.integers(2**31))
        seeds, _ = kmeans_plusplus(chosen, self.n_states, random_state=random_state)
        found = KMeans(self.n_states, init=seeds, n_init=1, max_iter=self.max_iterations, random_state=random_state)
        found.fit(points)
        self.microstates_ = Microstates(centers=found.cluster_centers_, inertia=float(found.inertia_ / len(points)))
        return self

    def label(self, series: Series) -> Symbols:
        """Give every sequence the nearest microstate."""
        return self.microstates_.label(series)
