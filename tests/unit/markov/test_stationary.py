"""The stationary law: closed forms, sets that hardly talk, and the bound of its error."""

import numpy as np
import pytest
from scipy import sparse

from ethomarkov.exceptions import ConnectivityError
from ethomarkov.markov import MarkovChain
from ethomarkov.markov import stationary as module
from ethomarkov.markov.stationary import ELIMINATED_UP_TO, RELATIVE_ERROR, stationary_law

MANY = ELIMINATED_UP_TO + 60


def chain_of(matrix, lag=1.0):
    return MarkovChain.from_counts(sparse.csr_array(np.asarray(matrix, dtype=float)), lag)


def random_chain(n, seed=0, power=6):
    matrix = np.random.default_rng(seed).random((n, n)) ** power
    return chain_of(matrix / matrix.sum(axis=1, keepdims=True))


def few_ways(n, seed):
    """Count the steps of a chain in which every state leads to eight others."""
    rng = np.random.default_rng(seed)
    to = np.column_stack([(np.arange(n) + 1) % n, rng.integers(0, n, (n, 7))])
    counts = rng.integers(1, 20, to.shape).astype(float)
    return sparse.coo_array((counts.ravel(), (np.repeat(np.arange(n), 8), to.ravel())), shape=(n, n)).toarray()


def two_blocks(n, leak, seed):
    """Give two copies of one chain that leak into each other, and the share of time in the first."""
    block = few_ways(n, seed)
    matrix = np.kron(np.eye(2), block / block.sum(axis=1, keepdims=True))
    matrix[:n, n] = leak
    matrix[n:, 0] = leak / 3
    there, back = leak / (1 + leak), leak / 3 / (1 + leak / 3)
    return chain_of(matrix), back / (there + back)


class TestStationary:
    @pytest.mark.parametrize(("a", "b"), [(0.1, 0.3), (0.5, 0.5), (1.0, 1.0), (1e-6, 3e-6)])
    def test_two_states(self, a, b):
        chain = chain_of([[1 - a, a], [b, 1 - b]])
        np.testing.assert_allclose(chain.stationary, [b / (a + b), a / (a + b)], rtol=1e-9)

    @pytest.mark.parametrize("n", [3, 49, 50, 300])
    def test_left_unchanged_and_equal_to_a_long_power(self, n):
        chain = random_chain(n)
        pi = chain.stationary
        assert pi.sum() == pytest.approx(1, abs=1e-12)
        assert (pi > 0).all()
        np.testing.assert_allclose(pi @ chain.transition, pi, atol=1e-13)
        np.testing.assert_allclose(np.linalg.matrix_power(chain.transition.toarray(), 4096)[0], pi, rtol=1e-8)

    @pytest.mark.parametrize("n", [12, 120])
    def test_birth_and_death(self, n):
        """Detailed balance gives π_k ∝ Π up / down in closed form."""
        up, down = np.linspace(0.4, 0.2, n - 1), np.linspace(0.2, 0.38, n - 1)
        matrix = np.diag(up, 1) + np.diag(down, -1)
        matrix += np.diag(1 - matrix.sum(axis=1))
        expected = np.concatenate([[1.0], np.cumprod(up / down)])
        np.testing.assert_allclose(stationary_law(sparse.csr_array(matrix)), expected / expected.sum(), atol=1e-12)

    @pytest.mark.parametrize("n", [6, 100])
    def test_a_ring_that_goes_round_is_uniform(self, n):
        """Doubly stochastic, with all eigenvalues on the unit circle: periodic chains have a stationary law too."""
        np.testing.assert_allclose(stationary_law(sparse.csr_array(np.roll(np.eye(n), 1, axis=1))), 1 / n, atol=1e-12)

    @pytest.mark.parametrize("n", [6, 60, 200])
    def test_a_ring_of_unequal_stays(self, n):
        """One way round: the same flux passes every state, so that π is inverse to the chance of leaving."""
        leave = np.linspace(0.2, 0.9, n)
        pi = chain_of(np.diag(1 - leave) + leave[:, None] * np.roll(np.eye(n), 1, axis=1)).stationary
        np.testing.assert_allclose(pi, (1 / leave) / (1 / leave).sum(), rtol=1e-8)

    @pytest.mark.parametrize("leak", [1e-3, 1e-6, 1e-9, 1e-12])
    @pytest.mark.parametrize(("n", "n_seeds", "error"), [(60, 12, 1e-12), (MANY // 2, 3, RELATIVE_ERROR)])
    def test_two_blocks_that_hardly_talk(self, leak, n, n_seeds, error):
        """Every state leaks as much as the others of its block, so the shares of the blocks are known."""
        for seed in range(n_seeds):
            chain, share = two_blocks(n, leak, seed)
            assert chain.stationary[:n].sum() == pytest.approx(share, rel=error)

    def test_a_single_state(self):
        np.testing.assert_array_equal(stationary_law(sparse.csr_array([[1.0]])), [1.0])

    @pytest.mark.parametrize("n", [5, 120, MANY])
    @pytest.mark.parametrize("up", [0.9, 0.3])
    def test_a_steep_slope(self, n, up):
        """A walk that drifts to one end: shares fall from state to state, and the least has few digits lost as well."""
        down = 0.5 if up > 0.5 else 0.35
        matrix = np.diag(np.full(n - 1, up), 1) + np.diag(np.full(n - 1, down), -1)
        matrix += np.diag(1.4 - matrix.sum(axis=1))
        expected = (up / down) ** np.arange(n)
        np.testing.assert_allclose(chain_of(matrix).stationary, expected / expected.sum(), rtol=1e-11)

    def test_shares_beyond_the_range_of_numbers(self):
        matrix = np.diag(np.full(199, 0.99), 1) + np.diag(np.full(199, 1e-3), -1)
        with pytest.raises(ConnectivityError, match="shares of time of 200 states differ by more"):
            stationary_law(sparse.csr_array(matrix))


class TestBound:
    """Of many states the law is iterated, and taken only with a proof."""

    @pytest.mark.parametrize("seed", range(10))
    @pytest.mark.parametrize("visited", ["as often as left", "equally often"])
    def test_holds_and_is_small_where_states_are_mixed(self, seed, visited):
        counts = few_ways(MANY, seed)
        start = counts.sum(axis=1) if visited == "as often as left" else np.ones(MANY)
        P = chain_of(counts).transition
        law, bound = module._iterate(P, start / start.sum())
        assert np.abs(law / module._eliminate(P, 0) - 1).max() < bound < RELATIVE_ERROR

    @pytest.mark.parametrize("leak", [1e-1, 1e-3, 1e-5, 1e-8, 1e-11])
    def test_holds_where_sets_hardly_talk(self, leak):
        for seed in range(3):
            chain, _ = two_blocks(MANY // 2, leak, seed)
            law, bound = module._iterate(chain.transition, np.full(MANY, 1 / MANY))
            assert np.abs(law / chain.stationary - 1).max() < bound
            assert bound > RELATIVE_ERROR or leak > 1e-8

    @pytest.mark.parametrize("residual", [1e-2, 1e-5, 1e-8])
    def test_tells_a_law_that_is_not_there_yet(self, residual, monkeypatch):
        P = chain_of(few_ways(MANY, 0)).transition
        exact = stationary_law(P)
        monkeypatch.setattr(module, "SOUGHT_RESIDUAL", residual)
        law, bound = module._iterate(P, np.full(MANY, 1 / MANY))
        assert residual / 100 < np.abs(law / exact - 1).max() < bound
        assert bound > RELATIVE_ERROR
        np.testing.assert_allclose(stationary_law(P), exact, rtol=RELATIVE_ERROR)

    def test_mixed_states_need_no_elimination(self, monkeypatch):
        counts = few_ways(MANY, 0)
        monkeypatch.setattr(module, "_eliminate", None)
        assert stationary_law(chain_of(counts).transition).size == MANY
