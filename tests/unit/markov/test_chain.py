"""The chain: estimation, stationary law, time reversal."""

import numpy as np
import pytest
from scipy import sparse

from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov.exceptions import ConnectivityError, SamplingError
from ethomarkov.markov import MarkovChain
from ethomarkov.markov.chain import stationary_law
from ethomarkov.states import Symbols


def chain_of(matrix, lag=1.0):
    return MarkovChain.from_counts(sparse.csr_array(np.asarray(matrix, dtype=float)), lag)


def random_chain(n, seed=0, power=6):
    matrix = np.random.default_rng(seed).random((n, n)) ** power
    return chain_of(matrix / matrix.sum(axis=1, keepdims=True))


def symbols_of(labels, rate=4.0, n_states=None):
    labels = np.asarray(labels, dtype=np.int32)
    segments = Segments.from_valid(labels >= 0)
    return Symbols(labels=labels, n_states=n_states or labels.max() + 1, segments=segments, sampling=Sampling(rate))


class TestEstimate:
    def test_two_states_by_hand(self):
        chain = MarkovChain.from_symbols(symbols_of([0, 0, 1, 0, 1, 1, 0]), lag=0.25)
        np.testing.assert_allclose(chain.transition.toarray(), [[1 / 3, 2 / 3], [2 / 3, 1 / 3]])
        np.testing.assert_allclose(chain.stationary, [0.5, 0.5])
        assert chain.lag == 0.25

    def test_the_lag_is_in_seconds(self):
        chain = MarkovChain.from_symbols(symbols_of([0, 1, 0, 1, 0, 1, 0, 1]), lag=0.5)
        np.testing.assert_allclose(chain.transition.toarray(), [[1.0]])
        assert chain.states.size == 1

    def test_only_connected_states_are_kept(self):
        chain = MarkovChain.from_symbols(symbols_of([5, 1, 3, 1, 3, 1, 0], n_states=7), lag=0.25)
        assert chain.states.tolist() == [1, 3]
        assert chain.n_states == 7
        assert chain.state_index.tolist() == [-1, 0, -1, 1, -1, -1, -1]
        np.testing.assert_allclose(chain.transition.toarray(), [[0, 1], [1, 0]])

    def test_rows_are_normalised_after_restriction(self):
        chain = chain_of([[2, 1, 5], [1, 2, 0], [0, 0, 1]])
        np.testing.assert_allclose(chain.transition.toarray(), [[2 / 3, 1 / 3], [1 / 3, 2 / 3]])

    def test_too_long_a_lag(self):
        with pytest.raises(
            SamplingError, match=r"lag=2 s leaves no transition: the longest gap-free stretch is 1\.5 s"
        ):
            MarkovChain.from_symbols(symbols_of([0, 1, 0, 1, 0, -1, 1, 1, 0, 1, 0, 1]), lag=2.0)

    def test_a_lag_that_is_no_whole_frame(self):
        with pytest.raises(SamplingError, match="frames at 4 Hz"):
            MarkovChain.from_symbols(symbols_of([0, 1, 0]), lag=0.3)

    def test_no_state_is_visited_again(self):
        with pytest.raises(ConnectivityError, match="No two of 4 states reach each other"):
            MarkovChain.from_symbols(symbols_of([0, 1, 2, 3]), lag=0.25)


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

    @pytest.mark.parametrize("leak", [1e-3, 1e-6])
    def test_two_blocks_that_hardly_talk(self, leak):
        block = random_chain(60).transition.toarray()
        matrix = np.kron(np.eye(2), block) * (1 - leak)
        matrix[:60, 60] += leak
        matrix[60:, 0] += leak / 3
        matrix[60:] /= matrix[60:].sum(axis=1, keepdims=True)
        pi = chain_of(matrix).stationary
        share = matrix[60:, :60].sum(axis=1).mean() / (matrix[60:, :60].sum(axis=1).mean() + leak)
        assert pi[:60].sum() == pytest.approx(share, rel=1e-6)


class TestReversal:
    def test_the_reversal_of_the_reversal_is_the_chain(self):
        chain = random_chain(20)
        backward = MarkovChain(
            transition=chain.reversed(), stationary=chain.stationary, states=chain.states, n_states=20, lag=1.0
        )
        np.testing.assert_allclose(backward.reversed().toarray(), chain.transition.toarray(), atol=1e-12)

    def test_equals_the_chain_of_the_reversed_symbols(self):
        """Exactly so where the sequence closes on itself."""
        labels = np.random.default_rng(0).integers(0, 5, 500)
        labels[-1] = labels[0]
        forward = MarkovChain.from_symbols(symbols_of(labels), 0.25)
        backward = MarkovChain.from_symbols(symbols_of(labels[::-1]), 0.25)
        np.testing.assert_allclose(forward.reversed().toarray(), backward.transition.toarray(), atol=1e-12)

    def test_rows_add_up_and_pi_is_shared(self):
        chain = random_chain(30)
        np.testing.assert_allclose(chain.reversed().sum(axis=1), 1, atol=1e-12)
        np.testing.assert_allclose(chain.stationary @ chain.reversed(), chain.stationary, atol=1e-12)

    @pytest.mark.parametrize("n", [5, 80])
    def test_the_reversibilised_chain_obeys_detailed_balance(self, n):
        chain = random_chain(n).reversibilized()
        flux = chain.stationary[:, None] * chain.transition.toarray()
        np.testing.assert_allclose(flux, flux.T, atol=1e-14)
        np.testing.assert_allclose(chain.transition.sum(axis=1), 1, atol=1e-12)

    def test_a_reversible_chain_is_left_alone(self):
        chain = chain_of([[0.7, 0.3], [0.1, 0.9]])
        np.testing.assert_allclose(chain.reversibilized().transition.toarray(), chain.transition.toarray(), atol=1e-12)

    def test_a_ring_loses_its_direction(self):
        chain = chain_of(np.roll(np.eye(5), 1, axis=1))
        expected = (np.roll(np.eye(5), 1, axis=1) + np.roll(np.eye(5), -1, axis=1)) / 2
        np.testing.assert_allclose(chain.reversibilized().transition.toarray(), expected, atol=1e-12)


def test_vectors_are_read_only():
    with pytest.raises(ValueError, match="read-only"):
        chain_of([[0.5, 0.5], [0.5, 0.5]]).stationary[0] = 1
