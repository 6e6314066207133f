"""The coherence of cuts against submatrices, and cuts of chains whose answer is plain."""

import numpy as np
import pytest
from scipy import sparse

from ethomarkov.coarse import best_cut
from ethomarkov.coarse.coherence import coherence_along
from ethomarkov.exceptions import ConnectivityError
from ethomarkov.markov import MarkovChain


def chain_of(matrix, lag=1.0):
    return MarkovChain.from_counts(sparse.csr_array(np.asarray(matrix, dtype=float)), lag)


def random_matrix(n, seed=0):
    matrix = np.random.default_rng(seed).random((n, n)) ** 6
    return matrix / matrix.sum(axis=1, keepdims=True)


def stays(chain, members):
    """Share of a set's probability that is still in it after one lag."""
    P, pi = chain.transition.toarray(), chain.stationary
    return (pi[members] @ P[np.ix_(members, members)]).sum() / pi[members].sum()


def brute_force(chain, phi):
    thresholds = np.unique(phi)[1:]
    return thresholds, np.array([min(stays(chain, phi >= c), stays(chain, phi < c)) for c in thresholds])


def blocks(sizes, leave, seed=0):
    """Metastable blocks in a ring: each is left with its own probability, to the next one."""
    matrix = np.zeros((sum(sizes), sum(sizes)))
    edges = np.concatenate([[0], np.cumsum(sizes)])
    for k, size in enumerate(sizes):
        rows = slice(edges[k], edges[k + 1])
        matrix[rows, rows] = random_matrix(size, seed + k) * (1 - leave[k])
        matrix[rows, edges[(k + 1) % len(sizes)]] += leave[k]
    return matrix


class TestCurve:
    @pytest.mark.parametrize("seed", range(4))
    def test_equals_submatrices(self, seed):
        chain = chain_of(random_matrix(25, seed))
        phi = np.random.default_rng(seed).normal(size=25)
        for found, expected in zip(coherence_along(phi, chain), brute_force(chain, phi), strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-12)

    def test_states_of_equal_phi_stay_together(self):
        chain = chain_of(random_matrix(12))
        phi = np.repeat([0.3, -0.2, 0.3, 1.0], 3)
        thresholds, curve = coherence_along(phi, chain)
        assert thresholds.tolist() == [0.3, 1.0]
        np.testing.assert_allclose(curve, brute_force(chain, phi)[1], atol=1e-12)

    def test_the_reversibilised_chain_has_the_same_curve(self):
        """In the stationary law as much leaves a set as enters it, so time reversal changes no coherence."""
        chain = chain_of(random_matrix(15))
        phi = np.linspace(0, 1, 15)
        np.testing.assert_allclose(
            coherence_along(phi, chain)[1], coherence_along(phi, chain.reversibilized())[1], atol=1e-12
        )

    def test_two_states_by_hand(self):
        thresholds, curve = coherence_along(np.array([-1.0, 2.0]), chain_of([[0.9, 0.1], [0.3, 0.7]]))
        assert thresholds.tolist() == [2.0]
        np.testing.assert_allclose(curve, [0.7])

    def test_rare_states_keep_their_digits(self):
        """Coherence is a share, also where a set holds 1e-8 of the time."""
        chain = chain_of([[1 - 1e-8, 1e-8, 0], [0.5, 0.0, 0.5], [0, 0.75, 0.25]])
        phi = np.array([0.0, 1.0, 2.0])
        np.testing.assert_allclose(coherence_along(phi, chain)[1], brute_force(chain, phi)[1], rtol=1e-6)


class TestBestCut:
    def test_two_blocks_are_told_apart(self):
        chain = chain_of(blocks([30, 20], [0.02, 0.05]))
        cut = best_cut(chain)
        assert cut.upper.tolist() == [0] * 30 + [1] * 20
        assert cut.coherence == pytest.approx(min(stays(chain, cut.upper == 1), stays(chain, cut.upper == 0)))
        assert cut.coherence == pytest.approx(0.95, abs=1e-9)
        assert cut.mode == 2

    def test_fields_belong_together(self):
        chain = chain_of(random_matrix(40))
        cut = best_cut(chain, min_measure=0.0)
        np.testing.assert_array_equal(cut.upper, cut.phi >= cut.threshold)
        assert cut.coherence == cut.curve.max()
        assert cut.threshold == cut.thresholds[cut.curve.argmax()]
        dense = np.sort(np.linalg.eigvals(chain.reversibilized().transition.toarray()).real)
        assert cut.eigenvalue == pytest.approx(dense[-2], abs=1e-9)

    def test_the_upper_set_holds_less_of_the_time(self):
        for leave in ([0.01, 0.04], [0.04, 0.01]):
            cut = best_cut(chain_of(blocks([15, 15], leave)))
            chain = chain_of(blocks([15, 15], leave))
            assert chain.stationary[cut.upper == 1].sum() < 0.3

    def test_a_rare_set_is_passed_over(self):
        """Blocks of 0.5 and 0.5, and a corner that is hardly ever entered and even less left."""
        matrix = np.zeros((42, 42))
        matrix[:40, :40] = blocks([20, 20], [0.02, 0.02])
        matrix[40:, 40:] = [[0.5, 0.5], [0.5, 0.5]]
        matrix[5] *= 1 - 1e-4
        matrix[5, 40] = 1e-4
        matrix[40:] *= 1 - 1e-3
        matrix[40:, 5] += 1e-3
        chain = chain_of(matrix)
        corner = chain.stationary[40:].sum()
        assert 0 < corner < 0.02
        published = best_cut(chain, min_measure=0.0)
        assert np.flatnonzero(published.upper).tolist() == [40, 41]
        assert published.mode == 2
        cut = best_cut(chain)
        assert cut.mode == 3
        assert len(set(cut.upper[:20])) == 1
        assert len(set(cut.upper[20:40])) == 1
        assert cut.upper[0] != cut.upper[20]
        assert cut.eigenvalue < published.eigenvalue

    def test_no_cut_is_large_enough(self):
        with pytest.raises(ConnectivityError, match="each hold 60%"):
            best_cut(chain_of(random_matrix(20)), min_measure=0.6)

    def test_one_state(self):
        with pytest.raises(ConnectivityError, match="one state"):
            best_cut(chain_of([[1.0]]))
