"""Entropy rates in closed form."""

import numpy as np
import pytest
from scipy import sparse

from ethomarkov.markov import MarkovChain, entropy_rate
from ethomarkov.markov.entropy import entropy_production, predictive_information, stationary_entropy


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


def chain_of(matrix, lag=1.0):
    return MarkovChain.from_counts(sparse.csr_array(np.asarray(matrix, dtype=float)), lag)


def biased_ring(n, p, q):
    """Step forward with probability p, back with q, else stay."""
    forward = np.roll(np.eye(n), 1, axis=1)
    return p * forward + q * forward.T + (1 - p - q) * np.eye(n)


class TestInformation:
    @pytest.mark.parametrize("n", [2, 7, 60])
    def test_entropy_of_equal_visits(self, n):
        assert stationary_entropy(chain_of(np.ones((n, n)))) == pytest.approx(np.log(n))

    @pytest.mark.parametrize(("a", "b"), [(0.1, 0.3), (0.5, 0.5), (0.01, 0.9)])
    @pytest.mark.parametrize("lag", [1.0, 0.0625])
    def test_two_states_by_hand(self, a, b, lag):
        """Mutual information of a state and the next; in nats, whatever the lag."""
        pi = np.array([b, a]) / (a + b)
        joint = pi[:, None] * np.array([[1 - a, a], [b, 1 - b]])
        expected = (joint * np.log(joint / np.outer(pi, pi))).sum()
        chain = chain_of([[1 - a, a], [b, 1 - b]], lag)
        assert stationary_entropy(chain) == pytest.approx(-(pi * np.log(pi)).sum())
        assert predictive_information(chain) == pytest.approx(expected, abs=1e-12)

    def test_independent_draws_tell_nothing(self):
        assert predictive_information(chain_of(np.tile([0.2, 0.3, 0.5], (3, 1)))) == pytest.approx(0, abs=1e-12)

    def test_a_deterministic_ring_tells_everything(self):
        chain = chain_of(np.roll(np.eye(9), 1, axis=1), 0.5)
        assert predictive_information(chain) == pytest.approx(np.log(9))


class TestProduction:
    @pytest.mark.parametrize(("p", "q"), [(0.5, 0.2), (0.7, 0.3), (0.01, 0.4), (0.3, 0.3)])
    @pytest.mark.parametrize("n", [3, 8, 80])
    @pytest.mark.parametrize("lag", [1.0, 0.75])
    def test_biased_ring(self, p, q, n, lag):
        """π = 1/n and a net flux of (p − q)/n through each of n links: (p − q) ln(p/q) / τ."""
        rate, one_way = entropy_production(chain_of(biased_ring(n, p, q), lag))
        assert rate == pytest.approx((p - q) * np.log(p / q) / lag, abs=1e-9)
        assert one_way == pytest.approx(0, abs=1e-12)

    @pytest.mark.parametrize("n", [5, 90])
    def test_reversible_chains_produce_none(self, n):
        weights = np.random.default_rng(0).random((n, n)) ** 4
        rate, one_way = entropy_production(chain_of(weights + weights.T))
        assert rate == pytest.approx(0, abs=1e-12)
        assert one_way == pytest.approx(0, abs=1e-12)

    def test_two_states_are_always_reversible(self):
        assert entropy_production(chain_of([[0.9, 0.1], [0.4, 0.6]]))[0] == pytest.approx(0, abs=1e-12)

    @pytest.mark.parametrize("stay", [0.0, 0.6])
    def test_a_one_way_cycle_is_all_one_way(self, stay):
        """Staying is no transition."""
        rate, one_way = entropy_production(chain_of(biased_ring(6, 1 - stay, 0.0)))
        assert rate == 0
        assert one_way == pytest.approx(1)

    def test_the_share_that_is_one_way(self):
        """Two states exchange at 0.5, and a cycle through the third runs one way; all by hand."""
        matrix = np.array([[0.5, 0.5, 0.0], [0.25, 0.5, 0.25], [1.0, 0.0, 0.0]])
        chain = chain_of(matrix)
        pi = chain.stationary
        there, back = pi[0] * 0.5, pi[1] * 0.25
        cycle = pi[1] * 0.25 + pi[2]
        rate, one_way = entropy_production(chain)
        assert rate == pytest.approx((there - back) * np.log(there / back))
        assert one_way == pytest.approx(cycle / (cycle + there + back))

    def test_equals_a_loop(self):
        matrix = np.random.default_rng(1).random((12, 12))
        chain = chain_of(matrix, 0.5)
        flux = chain.stationary[:, None] * chain.transition.toarray()
        assert entropy_production(chain)[0] == pytest.approx((flux * np.log(flux / flux.T)).sum() / 0.5)

    def test_the_reverse_produces_as_much(self):
        chain = chain_of(np.random.default_rng(2).random((12, 12)))
        backward = chain_of(chain.reversed().toarray())
        assert entropy_production(backward)[0] == pytest.approx(entropy_production(chain)[0])
        assert entropy_production(chain.reversibilized())[0] == pytest.approx(0, abs=1e-12)

    def test_one_state(self):
        assert entropy_production(chain_of([[1.0]])) == (0.0, 0.0)
