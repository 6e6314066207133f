"""Compiled forward and backward passes over a hidden Markov chain."""

import math

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def pass_over(likelihood, runs, start, transition):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Run the forward-backward algorithm over every run, scaled so that no product underflows.

    Parameters
    ----------
    likelihood
        Of every row (first axis) in every state.
    runs
        First row and one past the last of every run; nothing passes from one to another.
    start, transition
        Law of the state in the first row of a run, and of the next state given this one.

    Returns
    -------
    posterior, pairs, log_likelihood
        Probability of every state in every row; expected transitions; log of the probability of all rows.
    """
    n_rows, n = likelihood.shape
    posterior, scale, pairs = np.empty((n_rows, n)), np.empty(n_rows), np.zeros((n, n))
    log_likelihood = 0.0
    for first, stop in runs:
        log_likelihood += _go_forward(
            likelihood[first:stop], start, transition, posterior[first:stop], scale[first:stop]
        )
        _go_backward(likelihood[first:stop], transition, posterior[first:stop], scale[first:stop], pairs)
    return posterior, pairs, log_likelihood


@njit(cache=True, nogil=True)
def _go_forward(likelihood, start, transition, forward, scale):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Fill in the law of the state of every row given all rows up to it, and the probability of every row."""
    n = start.size
    expected, log_likelihood = start.copy(), 0.0
    for t in range(len(likelihood)):
        total = 0.0
        for i in range(n):
            forward[t, i] = expected[i] * likelihood[t, i]
            total += forward[t, i]
        scale[t] = total
        log_likelihood += math.log(total)
        expected[:] = 0.0
        for i in range(n):
            forward[t, i] /= total
            for j in range(n):
                expected[j] += forward[t, i] * transition[i, j]
    return log_likelihood


@njit(cache=True, nogil=True)
def _go_backward(likelihood, transition, posterior, scale, pairs):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Turn laws given the past into laws given the whole run, and add up the expected transitions."""
    n = transition.shape[0]
    back, after = np.ones(n), np.empty(n)
    for t in range(len(likelihood) - 2, -1, -1):
        for j in range(n):
            after[j] = likelihood[t + 1, j] * back[j] / scale[t + 1]
        for i in range(n):
            back[i] = 0.0
            for j in range(n):
                joint = transition[i, j] * after[j]
                pairs[i, j] += posterior[t, i] * joint
                back[i] += joint
        for i in range(n):
            posterior[t, i] *= back[i]
