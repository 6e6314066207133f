"""Hidden Markov models that states are compared with: Gaussian, autoregressive, and with microstates as emissions.

Expectation and maximisation in plain numpy, with the passes over time in numba. Nothing crosses a gap or an animal.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numba
import numpy as np
from scipy.ndimage import uniform_filter1d
from sklearn.cluster import KMeans

from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov._core.series import Series
from ethomarkov._core.types import FloatArray, IntArray
from ethomarkov.states import Symbols

N_STARTS, MOST_ITERATIONS = 3, 60
ENOUGH = 1e-5
"""Log likelihood gained per frame, in nats, below which the iterations end."""
STICKY = 0.95
PRIOR = 0.5
"""Visits that every microstate is given in every state, so that none is impossible only because it was not seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenChain:
    """A fitted model: probability of every state in every row, transitions per row, log likelihood per row."""

    posterior: FloatArray
    transition: FloatArray
    score: float


@numba.njit(cache=True)
def pass_over(likelihood, runs, start, transition):
    """Go forward and backward over every run; scaled, so that no product underflows.

    Gives the probability of every state in every row, the expected transitions, and the log of all scales.
    """
    n_rows, n = likelihood.shape
    posterior, scale, pairs = np.empty((n_rows, n)), np.empty(n_rows), np.zeros((n, n))
    for first, stop in runs:
        _go_forward(likelihood[first:stop], start, transition, posterior[first:stop], scale[first:stop])
        _go_backward(likelihood[first:stop], transition, posterior[first:stop], scale[first:stop], pairs)
    return posterior, pairs, np.log(scale).sum()


@numba.njit(cache=True)
def _go_forward(likelihood, start, transition, forward, scale):
    """Fill in the law of the state of every row, given all rows up to it."""
    expected = start.copy()
    for t in range(len(likelihood)):
        forward[t] = expected * likelihood[t]
        scale[t] = forward[t].sum()
        forward[t] /= scale[t]
        expected[:] = 0.0
        for i in range(expected.size):
            expected += forward[t, i] * transition[i]


@numba.njit(cache=True)
def _go_backward(likelihood, transition, posterior, scale, pairs):
    """Turn laws given the past into laws given the whole run, and add up the expected transitions."""
    back = np.ones(likelihood.shape[1])
    for t in range(len(likelihood) - 2, -1, -1):
        after = likelihood[t + 1] * back / scale[t + 1]
        for i in range(back.size):
            joint = transition[i] * after
            pairs[i] += posterior[t, i] * joint
            back[i] = joint.sum()
        posterior[t] *= back


class Regression:
    """Rows that depend linearly on the rows before, with Gaussian noise; order 0 is a Gaussian cloud."""

    def __init__(self, values: FloatArray, rows: IntArray, order: int) -> None:
        self.target = values[rows].astype(float)
        before = [values[rows - k].astype(float) for k in range(1, order + 1)]
        self.design = np.concatenate([np.ones((rows.size, 1)), *before], axis=1)
        # Far below what is recorded: it only keeps states that hold few rows from collapsing onto them.
        self.floor = 1e-6 * np.diag(self.target.var(axis=0))

    def log_density(self, posterior: FloatArray) -> FloatArray:
        """Fit every state to its share of the rows, and give the log density of every row in it."""
        return np.stack([self._of_state(weight) for weight in posterior.T], axis=1)

    def _of_state(self, weight: FloatArray) -> FloatArray:
        weighted = self.design * weight[:, None]
        gram = weighted.T @ self.design
        ridge = 1e-9 * np.diag(np.diag(gram) + np.finfo(float).tiny)
        off = self.target - self.design @ np.linalg.solve(gram + ridge, weighted.T @ self.target)
        covariance = (off * weight[:, None]).T @ off / max(weight.sum(), 1.0) + self.floor
        white = np.linalg.solve(np.linalg.cholesky(covariance), off.T)
        return -0.5 * (np.square(white).sum(axis=0) + np.linalg.slogdet(2 * np.pi * covariance)[1])


class Emission:
    """Rows that are microstates."""

    def __init__(self, labels: IntArray, n_symbols: int) -> None:
        self.labels, self.n_symbols = labels, n_symbols

    def log_density(self, posterior: FloatArray) -> FloatArray:
        """Fit the law of microstates of every state, and give the log probability of every row in it."""
        laws = np.stack([np.bincount(self.labels, weight, self.n_symbols) for weight in posterior.T], axis=1)
        overall = np.bincount(self.labels, minlength=self.n_symbols)[:, None] / self.labels.size
        laws += PRIOR * self.n_symbols * overall
        return np.log(laws / laws.sum(axis=0))[self.labels]


def iterate(emission: Regression | Emission, runs: IntArray, first: IntArray, n_states: int) -> HiddenChain:
    """Fit a chain from the state that every row has at first."""
    posterior = np.eye(n_states)[first]
    transition = np.full((n_states, n_states), (1 - STICKY) / max(n_states - 1, 1))
    np.fill_diagonal(transition, STICKY)
    start, score = np.full(n_states, 1 / n_states), -np.inf
    for _ in range(MOST_ITERATIONS):
        log_density = emission.log_density(posterior)
        highest = log_density.max(axis=1)
        likelihood = np.exp(log_density - highest[:, None]) + np.finfo(float).tiny
        posterior, pairs, log_scale = pass_over(likelihood, runs, start, transition)
        before, score = score, (log_scale + highest.sum()) / len(posterior)
        if score - before < ENOUGH:
            break
        transition = (pairs + 1e-3) / (pairs + 1e-3).sum(axis=1, keepdims=True)
        start = posterior[runs[:, 0]].mean(axis=0) + 1e-3
        start /= start.sum()
    return HiddenChain(posterior=posterior, transition=transition, score=score)


def fit_postures(series: Series, n_states: int, order: int, seed: int) -> IntArray:
    """Label every frame by the most likely of several fits to the postures; -1 where a frame has too few before it."""
    segments = series.segments.trim(order, 0) if order else series.segments
    rows, runs = rows_and_runs(segments, 1)
    emission = Regression(series.values, rows, order)
    fits = [iterate(emission, runs, first, n_states) for first in _starts(series, rows, n_states, seed)]
    best = max(fits, key=lambda fit: fit.score)
    return _spread(best.posterior.argmax(axis=1), rows, segments.n_rows)


def fit_symbols(symbols: Symbols, first: IntArray, stride: int) -> IntArray:
    """Label every frame by a chain with microstates as emissions, started from the labels that frames have.

    Frames follow each other `stride` apart: successive windows overlap, and what they share is no evidence of a state.
    """
    rows, runs = rows_and_runs(symbols.segments.keep(first >= 0), stride)
    emission = Emission(symbols.labels[rows], symbols.n_states)
    fit = iterate(emission, runs, first[rows], int(first.max()) + 1)
    return _spread(fit.posterior.argmax(axis=1), rows, symbols.segments.n_rows)


def rows_and_runs(segments: Segments, stride: int) -> tuple[IntArray, IntArray]:
    """List rows so that those `stride` apart follow each other, and where each run of them begins and ends."""
    pieces = [
        np.arange(first + k, stop, stride) for first, stop, _ in segments for k in range(min(stride, stop - first))
    ]
    stops = np.cumsum([piece.size for piece in pieces])
    return np.concatenate(pieces), np.stack([np.append(0, stops[:-1]), stops], axis=1)


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


def _spread(labels: IntArray, rows: IntArray, n_rows: int) -> IntArray:
    everywhere = np.full(n_rows, -1, dtype=np.int32)
    everywhere[rows] = labels
    return everywhere


# --- what is known ----------------------------------------------------------------------------------------------------


def check() -> None:
    """Compare the pass with all paths of a short run, and fits with what they were drawn from."""
    rng = np.random.default_rng(0)
    _check_all_paths(rng)
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
    fit = iterate(
        Regression(clouds, np.arange(states.size), 0), np.array([[0, states.size]]), 1 * (clouds[:, 0] > 0), 2
    )
    off = np.abs(fit.transition - transition).max()
    _expect(f"transitions are off by {off:.3f}", off < 0.01)
    _check_symbols(states, rng)


def _check_all_paths(rng: np.random.Generator) -> None:
    likelihood, transition = rng.random((6, 3)), rng.dirichlet(np.ones(3), 3)
    start = rng.dirichlet(np.ones(3))
    paths = np.stack(np.meshgrid(*[np.arange(3)] * 6, indexing="ij"), axis=-1).reshape(-1, 6)
    weight = start[paths[:, 0]] * likelihood[np.arange(6), paths].prod(axis=1)
    weight *= transition[paths[:, :-1], paths[:, 1:]].prod(axis=1)
    exact = np.stack([weight @ (paths == state) for state in range(3)], axis=1) / weight.sum()
    posterior, pairs, log_scale = pass_over(likelihood, np.array([[0, 6]]), start, transition)
    _expect("likelihood of all paths", np.isclose(log_scale, np.log(weight.sum())))
    _expect("posterior of all paths", np.allclose(posterior, exact))
    _expect("expected transitions of all paths", np.isclose(pairs.sum(), 5))


def _check_symbols(states: IntArray, rng: np.random.Generator) -> None:
    laws = rng.dirichlet(np.full(30, 0.3), 2)
    labels = np.array([rng.choice(30, p=laws[state]) for state in states], dtype=np.int32)
    segments = Segments.from_valid(np.ones(states.size, dtype=bool))
    symbols = Symbols(labels=labels, n_states=30, segments=segments, sampling=Sampling(16.0))
    first = np.where(rng.random(states.size) < 0.7, states, 1 - states)
    wrong = np.mean(fit_symbols(symbols, first.astype(np.int32), 1) != states)
    _expect(f"microstates: share of wrong labels {wrong:.3f}, 0.3 at first", wrong < 0.06)


def _walk(transition: FloatArray, n_steps: int, rng: np.random.Generator) -> IntArray:
    states = np.zeros(n_steps, dtype=np.int32)
    for t in range(1, n_steps):
        states[t] = rng.choice(len(transition), p=transition[states[t - 1]])
    return states


def _expect(what: str, is_so: bool) -> None:
    print(f"{'as expected' if is_so else 'WRONG'}: {what}", flush=True)
    if not is_so:
        raise SystemExit(1)
