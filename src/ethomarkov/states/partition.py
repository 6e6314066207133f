"""Microstates: a fine partition of the space of posture sequences."""

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans, kmeans_plusplus

from ethomarkov._core.random import generator
from ethomarkov._core.series import Series
from ethomarkov._core.types import FloatArray
from ethomarkov.exceptions import InputFormatError
from ethomarkov.states.symbols import Symbols

SEEDING_POINTS_PER_STATE = 5


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
    centers_
        ``(n_states, components)``.
    inertia_
        Mean squared distance to the nearest center.
    """

    centers_: FloatArray
    inertia_: float

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
        n_seeding = min(len(points), SEEDING_POINTS_PER_STATE * self.n_states)
        chosen = points[np.sort(rng.choice(len(points), n_seeding, replace=False))]
        random_state = int(rng.integers(2**31))
        seeds, _ = kmeans_plusplus(chosen, self.n_states, random_state=random_state)
        found = KMeans(self.n_states, init=seeds, n_init=1, max_iter=self.max_iterations, random_state=random_state)
        found.fit(points)
        self.centers_ = found.cluster_centers_
        self.inertia_ = float(found.inertia_ / len(points))
        return self

    def label(self, series: Series) -> Symbols:
        """Give every sequence the nearest microstate."""
        from sklearn.metrics import pairwise_distances_argmin

        valid = series.segments.valid
        labels = np.full(len(valid), -1, dtype=np.int32)
        labels[valid] = pairwise_distances_argmin(series.values[valid], self.centers_)
        return Symbols(labels=labels, n_states=self.n_states, segments=series.segments, sampling=series.sampling)
