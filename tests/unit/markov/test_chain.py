"""The chain: estimation, time reversal."""

import numpy as np
import pytest
from scipy import sparse

from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov.exceptions import ConnectivityError, SamplingError
from ethomarkov.markov import MarkovChain
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
