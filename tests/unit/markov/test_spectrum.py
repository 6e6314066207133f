"""Spectra in closed form: two states, rings, blocks."""

import numpy as np
import pytest
from scipy import sparse

from ethomarkov.markov import MarkovChain, slow_spectrum
from ethomarkov.markov.spectrum import reversible_modes


def chain_of(matrix, lag=1.0):
    return MarkovChain.from_counts(sparse.csr_array(np.asarray(matrix, dtype=float)), lag)


def ring(n, forward):
    """Go one step on with probability `forward`, else stay: λ_k = 1 − p + p exp(2πik/n)."""
    return (1 - forward) * np.eye(n) + forward * np.roll(np.eye(n), 1, axis=1)


def random_matrix(n, seed=0):
    matrix = np.random.default_rng(seed).random((n, n)) ** 8
    return matrix / matrix.sum(axis=1, keepdims=True)


class TestSlow:
    @pytest.mark.parametrize(("a", "b"), [(0.1, 0.3), (0.01, 0.02)])
    def test_two_states(self, a, b):
        spectrum = slow_spectrum(chain_of([[1 - a, a], [b, 1 - b]], lag=0.75))
        np.testing.assert_allclose(spectrum.eigenvalues, [1 - a - b], atol=1e-12)
        np.testing.assert_allclose(spectrum.relaxation_times, [-0.75 / np.log(1 - a - b)])
        assert spectrum.lag == 0.75

    def test_an_oscillating_pair_does_not_relax(self):
        spectrum = slow_spectrum(chain_of([[0.1, 0.9], [0.8, 0.2]]))
        np.testing.assert_allclose(spectrum.eigenvalues, [-0.7], atol=1e-12)
        assert np.isnan(spectrum.relaxation_times).all()

    @pytest.mark.parametrize("n", [8, 30, 60, 200])
    def test_a_ring_has_complex_eigenvalues(self, n):
        """Times follow the real part, not the modulus."""
        spectrum = slow_spectrum(chain_of(ring(n, 0.5)), n_modes=4)
        k = np.array([1, -1, 2, -2])
        expected = 0.5 + 0.5 * np.exp(2j * np.pi * k / n)
        np.testing.assert_allclose(spectrum.eigenvalues, expected, atol=1e-9)
        np.testing.assert_allclose(spectrum.relaxation_times, -1 / np.log(expected.real), rtol=1e-6)
        assert np.abs(expected)[0] > expected.real[0]

    @pytest.mark.parametrize("n", [20, 150])
    def test_equals_a_dense_solver(self, n):
        matrix = random_matrix(n)
        found = slow_spectrum(chain_of(matrix), n_modes=9).eigenvalues
        dense = np.linalg.eigvals(matrix)
        dense = dense[np.argsort(-dense.real, kind="stable")]
        np.testing.assert_allclose(found.real, dense.real[1:10], atol=1e-9)
        assert (np.diff(found.real) <= 1e-12).all()
        assert all(np.abs(dense - value).min() < 1e-9 for value in found)

    def test_the_same_answer_twice(self):
        chain = chain_of(random_matrix(150))
        np.testing.assert_array_equal(slow_spectrum(chain).eigenvalues, slow_spectrum(chain).eigenvalues)

    def test_more_modes_than_states(self):
        assert slow_spectrum(chain_of(random_matrix(4)), n_modes=10).eigenvalues.size == 3
        assert slow_spectrum(chain_of([[1.0]])).eigenvalues.size == 0

    def test_powers_of_a_chain_relax_in_the_same_time(self):
        matrix = np.array([[0.9, 0.1, 0.0], [0.05, 0.9, 0.05], [0.0, 0.2, 0.8]])
        once = slow_spectrum(chain_of(matrix, lag=1.0)).relaxation_times
        thrice = slow_spectrum(chain_of(np.linalg.matrix_power(matrix, 3), lag=3.0)).relaxation_times
        np.testing.assert_allclose(once, thrice, rtol=1e-9)


class TestReversible:
    @pytest.mark.parametrize("n", [3, 20, 150])
    def test_modes_are_right_eigenvectors(self, n):
        chain = chain_of(random_matrix(n))
        values, modes = reversible_modes(chain, 2)
        mean = chain.reversibilized().transition
        np.testing.assert_allclose(mean @ modes, modes * values, atol=1e-9)
        np.testing.assert_allclose(np.linalg.norm(modes, axis=0), 1, atol=1e-12)
        dense = np.sort(np.linalg.eigvals(mean.toarray()).real)[::-1]
        np.testing.assert_allclose(values, dense[1:3], atol=1e-9)

    def test_modes_are_orthogonal_in_the_stationary_law(self):
        chain = chain_of(random_matrix(60))
        _, modes = reversible_modes(chain, 3)
        np.testing.assert_allclose(chain.stationary @ modes, 0, atol=1e-10)
        gram = modes.T @ (chain.stationary[:, None] * modes)
        np.testing.assert_allclose(gram - np.diag(np.diag(gram)), 0, atol=1e-10)

    @pytest.mark.parametrize("n", [10, 120])
    @pytest.mark.parametrize("heavy", [0, 1])
    def test_the_side_with_more_time_is_negative(self, n, heavy):
        """Two blocks; the one that is left less often holds more of the time."""
        block = random_matrix(n // 2)
        leave = np.array([0.01, 0.03]) if heavy == 0 else np.array([0.03, 0.01])
        matrix = np.kron(np.eye(2), block)
        matrix[: n // 2] *= 1 - leave[0]
        matrix[n // 2 :] *= 1 - leave[1]
        matrix[: n // 2, n // 2] += leave[0]
        matrix[n // 2 :, 0] += leave[1]
        chain = chain_of(matrix)
        phi = reversible_modes(chain)[1][:, 0]
        assert chain.stationary[phi < 0].sum() > 0.6
        sides = np.sign(phi) > 0
        assert sides[: n // 2].all() == (heavy == 1)
        assert sides[n // 2 :].all() == (heavy == 0)

    def test_two_states_in_closed_form(self):
        """φ₂ ∝ (a, −b), with the sign of the rarer state positive."""
        values, modes = reversible_modes(chain_of([[0.9, 0.1], [0.3, 0.7]]))
        np.testing.assert_allclose(values, [0.6], atol=1e-12)
        np.testing.assert_allclose(modes[:, 0], np.array([-0.1, 0.3]) / np.hypot(0.1, 0.3), atol=1e-12)

    @pytest.mark.parametrize("n", [10, 60, 101])
    def test_a_lazy_walk_on_a_line(self, n):
        """Reflecting walk: λ_k = 1 − q + q cos(πk/n) with q the chance to move, modes are cosines."""
        q = 0.8
        matrix = np.diag(np.full(n - 1, q / 2), 1) + np.diag(np.full(n - 1, q / 2), -1)
        matrix += np.diag(1 - matrix.sum(axis=1))
        values, modes = reversible_modes(chain_of(matrix), 3)
        k = np.arange(1, 4)
        np.testing.assert_allclose(values, 1 - q + q * np.cos(np.pi * k / n), atol=1e-10)
        cosines = np.cos(np.pi * np.outer(np.arange(n) + 0.5, k) / n)
        overlap = np.abs(np.sum(modes * cosines, axis=0)) / np.linalg.norm(cosines, axis=0)
        np.testing.assert_allclose(overlap, 1, atol=1e-8)

    def test_the_same_answer_twice(self):
        chain = chain_of(random_matrix(150))
        np.testing.assert_array_equal(reversible_modes(chain)[1], reversible_modes(chain)[1])
