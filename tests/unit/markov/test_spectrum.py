"""Spectra in closed form: two states, rings, blocks."""

import numpy as np
import pytest
from scipy import sparse

from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov.exceptions import EthomarkovError
from ethomarkov.markov import MarkovChain, slow_spectrum
from ethomarkov.markov.spectrum import (
    SlowestTimes,
    Spectrum,
    modes_on_frames,
    relaxation_time,
    reversible_modes,
    slowest_time_by_unit,
    slowest_times,
)
from ethomarkov.states import Symbols


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


def spectrum_of(*eigenvalues, lag=1.0):
    values = np.array(eigenvalues, dtype=complex)
    return Spectrum(eigenvalues=values, relaxation_times=np.full(values.size, np.nan), lag=lag)


class TestKinds:
    @pytest.mark.parametrize("n", [8, 60])
    @pytest.mark.parametrize("lag", [1.0, 0.75])
    def test_a_ring_turns(self, n, lag):
        """λ = 1 − p + p exp(2πi/n): decay from the modulus, period from the angle, both members of the pair alike."""
        spectrum = slow_spectrum(chain_of(ring(n, 0.7), lag), n_modes=2)
        exact = 0.3 + 0.7 * np.exp(2j * np.pi / n)
        assert spectrum.kinds == ("oscillating", "oscillating")
        assert spectrum.eigenvalues[0] == pytest.approx(np.conj(spectrum.eigenvalues[1]))
        np.testing.assert_allclose(spectrum.decay_times, -lag / np.log(abs(exact)), rtol=1e-6)
        np.testing.assert_allclose(spectrum.periods, 2 * np.pi * lag / np.angle(exact), rtol=1e-6)
        assert (spectrum.decay_times > spectrum.relaxation_times).all()

    def test_a_real_and_positive_mode_relaxes(self):
        spectrum = slow_spectrum(chain_of([[0.9, 0.1], [0.3, 0.7]], 0.5))
        assert spectrum.kinds == ("relaxing",)
        np.testing.assert_allclose(spectrum.decay_times, spectrum.relaxation_times)
        assert np.isinf(spectrum.periods).all()

    def test_an_aliased_body_wave_is_no_slow_mode(self):
        """λ = −0.842 has the modulus of a relaxation in 4.36 s at a lag of 0.75 s; it is none."""
        spectrum = slow_spectrum(chain_of([[0.079, 0.921], [0.921, 0.079]], 0.75))
        np.testing.assert_allclose(spectrum.eigenvalues, [-0.842], atol=1e-12)
        assert spectrum.kinds == ("alternating",)
        assert np.isnan(spectrum.relaxation_times).all()
        np.testing.assert_allclose(spectrum.decay_times, -0.75 / np.log(0.842))
        np.testing.assert_allclose(spectrum.periods, 1.5)

    def test_a_wave_of_twice_the_lag_leads_no_list(self):
        """A relaxing mode of λ = 0.3 comes before an alternating one of modulus 0.9."""
        matrix = np.kron([[0.65, 0.35], [0.35, 0.65]], [[0.05, 0.95], [0.95, 0.05]])
        spectrum = slow_spectrum(chain_of(matrix))
        np.testing.assert_allclose(spectrum.eigenvalues, [0.3, -0.27, -0.9], atol=1e-12)
        assert spectrum.kinds == ("relaxing", "alternating", "alternating")

    def test_mixed(self):
        spectrum = spectrum_of(0.9, 0.5 + 0.2j, 0.5 - 0.2j, -0.1 + 0.5j, -0.1 - 0.5j, -0.4)
        assert spectrum.kinds == ("relaxing", *["oscillating"] * 4, "alternating")
        np.testing.assert_allclose(spectrum.periods[1:3], 2 * np.pi / np.arctan2(0.2, 0.5))
        np.testing.assert_allclose(spectrum.periods[3:5], 2 * np.pi / np.arctan2(0.5, -0.1))

    def test_rounding_makes_no_oscillation(self):
        spectrum = spectrum_of(0.9 + 1e-13j, -0.5 - 1e-13j)
        assert spectrum.kinds == ("relaxing", "alternating")
        np.testing.assert_allclose(spectrum.periods, [np.inf, 2.0])

    @pytest.mark.parametrize("n", [6, 7])
    def test_a_cycle_that_never_dies(self, n):
        """All eigenvalues on the unit circle: the decay takes forever, not less than nothing."""
        spectrum = slow_spectrum(chain_of(ring(n, 1.0)))
        assert (spectrum.decay_times > 1e9).all()
        np.testing.assert_allclose(spectrum.periods[:2], n)

    def test_exactly_on_the_circle(self):
        np.testing.assert_array_equal(spectrum_of(1j, -1j, -1.0).decay_times, np.inf)

    def test_a_mode_that_is_gone_at_once(self):
        spectrum = spectrum_of(0.0)
        np.testing.assert_array_equal(spectrum.decay_times, [0.0])
        assert spectrum.kinds != ("alternating",)


class TestTimes:
    def test_of_an_eigenvalue(self):
        assert relaxation_time(np.exp(-0.5), 0.75) == pytest.approx(1.5)
        assert relaxation_time(1.0, 0.75) == np.inf
        assert relaxation_time(1 + 1e-15, 0.75) == np.inf
        assert np.isnan(relaxation_time(-0.842, 0.75))
        assert np.isnan(relaxation_time(0.0, 0.75))

    def test_a_reversible_chain_has_one_time(self):
        times = slowest_times(chain_of([[0.9, 0.1], [0.3, 0.7]], 0.5))
        assert times.relaxation == pytest.approx(-0.5 / np.log(0.6))
        assert times.reversibilized == pytest.approx(times.relaxation)

    @pytest.mark.parametrize("n", [9, 60])
    def test_a_ring(self, n):
        """Averaged with its reverse, λ = 1 − p + p cos(2π/n), the real part of the pair."""
        times = slowest_times(chain_of(ring(n, 0.6), 2.0))
        expected = -2 / np.log(0.4 + 0.6 * np.cos(2 * np.pi / n))
        assert times.reversibilized == pytest.approx(expected, rel=1e-6)
        assert times.relaxation == pytest.approx(expected, rel=1e-6)

    @pytest.mark.parametrize("n", [6, 70])
    @pytest.mark.parametrize("seed", range(4))
    def test_the_reversibilised_time_is_an_upper_bound(self, n, seed):
        times = slowest_times(chain_of(random_matrix(n, seed)))
        assert times.reversibilized >= times.relaxation or np.isnan(times.relaxation)

    def test_in_words(self):
        text = SlowestTimes(relaxation=2.68, reversibilized=8.42).explain()
        assert "2.68 s" in text
        assert "8.42 s" in text
        assert "upper bound" in text

    def test_a_single_state(self):
        with pytest.raises(EthomarkovError):
            slowest_times(chain_of([[1.0]]))


class TestFrames:
    def test_values_gaps_and_unconnected_states(self):
        labels = np.array([4, 1, 3, 1, -1, 3, 1, 3, 3, 1, 0], dtype=np.int32)
        symbols = Symbols(labels=labels, n_states=6, segments=Segments.from_valid(labels >= 0), sampling=Sampling(4.0))
        chain = MarkovChain.from_symbols(symbols, 0.25)
        assert chain.states.tolist() == [1, 3]
        modes = np.array([[1.0, 10.0], [3.0, 30.0]])
        found = modes_on_frames(symbols, chain, modes)
        nan = np.nan
        np.testing.assert_array_equal(found[:, 0], [nan, 1, 3, 1, nan, 3, 1, 3, 3, 1, nan])
        np.testing.assert_array_equal(found[:, 1], 10 * found[:, 0])

    def test_one_animal_of_many(self):
        labels = np.array([0, 1, 0, 1, 1, 0, 0, 1], dtype=np.int32)
        segments = Segments.from_valid(labels >= 0, np.array([0, 4, 8]))
        symbols = Symbols(labels=labels, n_states=2, segments=segments, sampling=Sampling(1.0))
        chain = MarkovChain.from_symbols(symbols, 1.0)
        found = modes_on_frames(symbols.mask(1), chain, np.array([[5.0], [6.0]]))[:, 0]
        np.testing.assert_array_equal(found, [*[np.nan] * 4, 6, 5, 5, 6])

    def test_mean_over_frames_is_that_of_the_stationary_law(self):
        """About zero, for the slow modes are orthogonal to the constant one."""
        labels = np.random.default_rng(0).integers(0, 5, 4000).astype(np.int32)
        symbols = Symbols(labels=labels, n_states=5, segments=Segments.from_valid(labels >= 0), sampling=Sampling(1.0))
        chain = MarkovChain.from_symbols(symbols, 1.0)
        found = modes_on_frames(symbols, chain, reversible_modes(chain, 2)[1])
        assert found.shape == (4000, 2)
        np.testing.assert_allclose(found.mean(axis=0), 0, atol=2e-3)


# --- the slowest time without each unit ------------------------------------------------------------------------------


def units_of(seed: int, n_units: int = 8, n_frames: int = 20_000) -> list[sparse.csr_array]:
    """Counts of animals that hop between two groups of four states, mixing quickly within a group."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n_units):
        group = (np.cumsum(rng.random(n_frames) < 0.01) % 2) * 4
        states = group + rng.integers(4, size=n_frames)
        pairs = (states[:-1], states[1:])
        found.append(sparse.coo_array((np.ones(n_frames - 1), pairs), shape=(8, 8)).tocsr())
    return found


@pytest.mark.parametrize("seed", range(5))
def test_without_a_unit_the_time_is_that_of_the_other_units(seed):
    units = units_of(seed)
    whole = sum(units[1:], units[0])
    time, left_out = slowest_time_by_unit(units, 0.5)
    assert time == pytest.approx(slow_spectrum(MarkovChain.from_counts(whole, 0.5), 1).relaxation_times[0])
    exact = [slow_spectrum(MarkovChain.from_counts(whole - one, 0.5), 1).relaxation_times[0] for one in units]
    assert left_out == pytest.approx(exact, rel=1e-3)


def test_a_corner_that_one_unit_opens_does_not_take_the_place_of_the_mode():
    units = units_of(3)
    wide = [sparse.block_diag([one, sparse.csr_array((2, 2))]).tolil() for one in units]
    for k, one in enumerate(wide):  # two more states, which only the last unit leaves often
        one[8, 9] = one[9, 8] = 40
        one[8, 0] = one[0, 8] = 60 if k == len(wide) - 1 else 0.05
    parts = [sparse.csr_array(one) for one in wide]
    whole = sum(parts[1:], parts[0])
    corner = slow_spectrum(MarkovChain.from_counts(whole - parts[-1], 0.5), 1).relaxation_times[0]
    time, left_out = slowest_time_by_unit(parts, 0.5)
    assert corner > 2 * time
    assert left_out == pytest.approx(time, rel=0.2)


def test_one_state_has_no_slowest_time():
    time, left_out = slowest_time_by_unit([sparse.csr_array(np.array([[5.0]]))] * 3, 1.0)
    assert np.isnan(time)
    assert np.isnan(left_out).all()


def test_the_table_lists_modes_with_their_kinds():
    spectrum = slow_spectrum(chain_of(ring(5, 0.6), 2.0), 4)
    table = spectrum.table()
    assert table["mode"].tolist() == [2, 3, 4, 5]
    np.testing.assert_array_equal(table["eigenvalue_real"] + 1j * table["eigenvalue_imag"], spectrum.eigenvalues)
    assert tuple(table["kind"]) == spectrum.kinds
    np.testing.assert_array_equal(table["period_s"], spectrum.periods)
