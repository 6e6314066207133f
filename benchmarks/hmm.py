"""Hidden Markov models of postures that states are compared with: Gaussian and autoregressive.

Expectation and maximisation are the package's own, as it smooths states in time. Nothing crosses a gap or an animal.
"""

from collections.abc import Iterator

import numpy as np
from scipy.ndimage import uniform_filter1d
from sklearn.cluster import KMeans

from ethomarkov._core.series import Series
from ethomarkov._core.types import FloatArray, IntArray
from ethomarkov.coarse.smoothing import HiddenChain, fit_hidden_chain

N_STARTS, MOST_ITERATIONS = 3, 60
ENOUGH = 1e-5
"""Log likelihood gained per frame, in nats, below which the iterations end."""


class Regression:
    """Rows that depend linearly on the rows before, with Gaussian noise; order 0 is a Gaussian cloud."""

    def __init__(self, values: FloatArray, rows: IntArray, order: int) -> None:
        self.target = values[rows].astype(float)
        before = [values[rows - k].astype(float) for k in range(1, order + 1)]
        self.design = np.concatenate([np.ones((rows.size, 1)), *before], axis=1)
        # Far below what is recorded: it only keeps states that hold few rows from collapsing onto them.
        self.floor = 1e-6 * np.diag(self.target.var(axis=0))

    def fit(self, posterior: FloatArray) -> tuple[FloatArray, float]:
        """Fit every state to its share of the rows; give the log density of every row in it, without a prior."""
        return np.stack([self._of_state(weight) for weight in posterior.T], axis=1), 0.0

    def _of_state(self, weight: FloatArray) -> FloatArray:
        weighted = self.design * weight[:, None]
        gram = weighted.T @ self.design
        ridge = 1e-9 * np.diag(np.diag(gram) + np.finfo(float).tiny)
        off = self.target - self.design @ np.linalg.solve(gram + ridge, weighted.T @ self.target)
        covariance = (off * weight[:, None]).T @ off / max(weight.sum(), 1.0) + self.floor
        white = np.linalg.solve(np.linalg.cholesky(covariance), off.T)
        return -0.5 * (np.square(white).sum(axis=0) + np.linalg.slogdet(2 * np.pi * covariance)[1])


def fit_postures(series: Series, n_states: int, order: int, seed: int) -> IntArray:
    """Label every frame by the most likely of several fits to the postures; -1 where a frame has too few before it."""
    segments = series.segments.trim(order, 0) if order else series.segments
    rows = np.flatnonzero(segments.valid)
    emission = Regression(series.values, rows, order)
    fits = [_fit(emission, segments.lengths, first, n_states) for first in _starts(series, rows, n_states, seed)]
    best = max(fits, key=lambda fit: fit.score[-1])
    labels = np.full(segments.n_rows, -1, dtype=np.int32)
    labels[rows] = best.posterior.argmax(axis=1)
    return labels


def _fit(emission: Regression, lengths: IntArray, first: IntArray, n_states: int) -> HiddenChain:
    return fit_hidden_chain(emission, lengths, first, n_states, most_iterations=MOST_ITERATIONS, enough=ENOUGH)


def _starts(series: Series, rows: IntArray, n_states: int, seed: int) -> Iterator[IntArray]:
    """Start from clusters of postures, from clusters of slow posture and speed, and from bouts without any sense."""
    rng = np.random.default_rng([seed, n_states])
    values = series.values.astype(float)
    values = np.where(np.isfinite(values), values, np.nanmean(values, axis=0))
    second = max(1, round(series.sampling.rate))
    speed = np.log(uniform_filter1d(np.square(np.gradient(values, axis=0)), second, axis=0) + 1e-12)
    slow = np.concatenate([uniform_filter1d(values, second, axis=0), speed], axis=1)
    for points in (values[rows], slow[rows]):
        scaled = (points - points.mean(axis=0)) / points.std(axis=0)
        yield KMeans(n_states, n_init=1, random_state=seed).fit(scaled[::5]).predict(scaled)
    for _ in range(N_STARTS - 2):
        bouts = rng.integers(n_states, size=series.segments.n_rows // (2 * second) + 1)
        yield np.repeat(bouts, 2 * second)[rows]


# --- what is known ----------------------------------------------------------------------------------------------------


def check() -> None:
    """Compare fits with what they were drawn from; passes and microstates are tested with the package."""
    rng = np.random.default_rng(0)
    transition = np.array([[0.98, 0.02], [0.05, 0.95]])
    states = _walk(transition, 20_000, rng)
    clouds = np.array([[-1.0, 0.0], [1.0, 0.5]])[states] + rng.normal(0, 0.7, (states.size, 2))
    waves = np.zeros(states.size)
    for t, coefficient in enumerate(np.array([0.9, -0.6])[states]):
        waves[t] = coefficient * waves[t - 1] + rng.normal()
    for name, rows, order in (("Gaussian", clouds, 0), ("autoregressive", waves, 1)):
        found = fit_postures(Series.from_rows(rows, 16.0), 2, order, seed=0)
        known = found >= 0
        wrong = np.mean(found[known] != states[known])
        _expect(f"{name}: share of wrong labels {min(wrong, 1 - wrong):.3f}", min(wrong, 1 - wrong) < 0.06)
    fit = _fit(Regression(clouds, np.arange(states.size), 0), np.array([states.size]), 1 * (clouds[:, 0] > 0), 2)
    off = np.abs(fit.transition - transition).max()
    _expect(f"transitions are off by {off:.3f}", off < 0.01)


def _walk(transition: FloatArray, n_steps: int, rng: np.random.Generator) -> IntArray:
    states = np.zeros(n_steps, dtype=np.int32)
    for t in range(1, n_steps):
        states[t] = rng.choice(len(transition), p=transition[states[t - 1]])
    return states


def _expect(what: str, is_so: bool) -> None:
    print(f"{'as expected' if is_so else 'WRONG'}: {what}", flush=True)
    if not is_so:
        raise SystemExit(1)
