"""Entropy rates in closed form."""

import numpy as np
import pytest
from scipy import sparse

from ethomarkov.markov import MarkovChain, entropy_rate


def rate_of(matrix, lag=1.0):
    return entropy_rate(MarkovChain.from_counts(sparse.csr_array(np.asarray(matrix, dtype=float)), lag))


@pytest.mark.parametrize(("a", "b"), [(0.1, 0.3), (0.5, 0.5), (0.01, 0.9)])
@pytest.mark.parametrize("lag", [1.0, 0.0625, 3.0])
def test_two_states(a, b, lag):
    def surprise(p):
        return -p * np.log(p) - (1 - p) * np.log(1 - p)

    expected = (b * surprise(a) + a * surprise(b)) / (a + b) / lag
    assert rate_of([[1 - a, a], [b, 1 - b]], lag) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("n", [2, 8, 200])
def test_independent_draws_have_the_entropy_of_their_law(n):
    weights = np.random.default_rng(0).random(n) + 0.1
    weights /= weights.sum()
    assert rate_of(np.tile(weights, (n, 1))) == pytest.approx(-(weights * np.log(weights)).sum(), rel=1e-9)


def test_a_deterministic_ring_is_fully_predictable():
    assert rate_of(np.roll(np.eye(7), 1, axis=1)) == pytest.approx(0, abs=1e-12)


def test_equals_a_loop_over_entries():
    matrix = np.random.default_rng(1).random((15, 15))
    matrix[matrix < 0.5] = 0
    np.fill_diagonal(matrix, 0.3)
    chain = MarkovChain.from_counts(sparse.csr_array(matrix), 0.5)
    P, pi = chain.transition.toarray(), chain.stationary
    total = sum(-pi[i] * P[i, j] * np.log(P[i, j]) for i in range(len(pi)) for j in range(len(pi)) if P[i, j] > 0)
    assert entropy_rate(chain) == pytest.approx(total / 0.5, rel=1e-12)


def test_zeros_that_are_stored_do_not_count():
    counts = sparse.csr_array(
        (np.array([1.0, 1.0, 1.0, 0.0]), np.array([0, 1, 0, 1]), np.array([0, 2, 4])), shape=(2, 2)
    )
    assert counts.nnz == 4
    assert entropy_rate(MarkovChain.from_counts(counts, 1.0)) == pytest.approx(2 / 3 * np.log(2), rel=1e-10)
