"""Model systems against their stationary densities, equations and known timescales."""

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from ethomarkov.exceptions import InputFormatError
from ethomarkov.markov import MarkovChain, count_transitions, slow_spectrum
from ethomarkov.states import DelayEmbedding, Partition
from ethomarkov.synthetic import double_well, hopping_chain, lorenz, underdamped_well


def boltzmann(potential, temperature, function):
    """Mean of a function of x in the Boltzmann law."""

    def weigh(f):
        return quad(lambda x: f(x) * np.exp(-potential(x) / temperature), -6, 6, limit=200, points=[-1, 0, 1])[0]

    return weigh(function) / weigh(lambda x: 1.0)


def over_walkers(series, function):
    """Mean and standard error of a time average, one value per walker."""
    n = series.segments.n_individuals
    each = function(series.values[:, 0].astype(float)).reshape(n, -1).mean(axis=1)
    return each.mean(), each.std() / np.sqrt(n)


def quartic(x):
    return x**4 / 4 - x**2 / 2


def steep(x):
    return (x**2 - 1) ** 2


class TestDoubleWell:
    @pytest.mark.parametrize("temperature", [0.2, 0.3, 0.6])
    def test_boltzmann(self, temperature):
        series = double_well(150.0, n_walkers=120, temperature=temperature, rng=0)
        for function in (np.square, np.abs, lambda x: np.abs(x) < 0.5):
            mean, error = over_walkers(series, function)
            exact = boltzmann(quartic, temperature, function)
            # Euler–Maruyama at 0.01 s widens the law by about a percent
            assert mean == pytest.approx(exact, abs=4 * error + 0.015 * exact)

    def test_both_wells_are_visited_alike(self):
        series = double_well(300.0, n_walkers=60, rng=1)
        mean, error = over_walkers(series, lambda x: x > 0)
        assert mean == pytest.approx(0.5, abs=4 * error)

    def test_shape_and_seed(self):
        series = double_well(20.0, n_walkers=3, interval=0.2, rng=4)
        assert series.segments.bounds.tolist() == [[0, 100, 0], [100, 200, 1], [200, 300, 2]]
        assert series.sampling.rate == pytest.approx(5.0)
        np.testing.assert_array_equal(series.values, double_well(20.0, n_walkers=3, interval=0.2, rng=4).values)
        assert not np.array_equal(series.values, double_well(20.0, n_walkers=3, interval=0.2, rng=5).values)

    def test_relaxation_time_is_that_of_the_fokker_planck_equation(self):
        """From microstates and counts on one side, from a finite-volume generator on the other."""
        temperature = 0.3
        x = np.linspace(-2.6, 2.6, 401)
        width = x[1] - x[0]
        rise = np.diff(quartic(x)) / temperature
        up = temperature / width**2 * np.exp(-rise / 2)
        down = temperature / width**2 * np.exp(rise / 2)
        rates = np.diag(up, 1) + np.diag(down, -1)
        rates -= np.diag(rates.sum(axis=1))
        exact = -1 / np.sort(np.linalg.eigvals(rates).real)[-2]
        series = double_well(200.0, n_walkers=150, temperature=temperature, rng=2)
        symbols = Partition(30).fit(series).label(series)
        found = slow_spectrum(MarkovChain.from_symbols(symbols, 1.0)).relaxation_times[0]
        assert found == pytest.approx(exact, rel=0.06)


class TestUnderdamped:
    @pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
    def test_boltzmann_and_equipartition(self, temperature):
        series = underdamped_well(60.0, n_walkers=150, temperature=temperature, rng=0)
        for function in (np.square, np.abs):
            mean, error = over_walkers(series, function)
            assert mean == pytest.approx(boltzmann(steep, temperature, function), abs=4 * error + 1e-3)
        position = series.values[:, 0].astype(float).reshape(150, -1)
        speed = np.diff(position, axis=1) / 0.05
        # of a velocity that forgets itself in one second, the mean over 0.05 s keeps 2 (t − 1 + e⁻ᵗ) / t² = 0.984
        seen = 2 * (0.05 - 1 + np.exp(-0.05)) / 0.05**2
        assert np.mean(speed**2) == pytest.approx(seen * temperature, rel=0.025)

    @pytest.mark.slow
    def test_published_hopping_rate(self):
        """At k_BT = 1 the published mean stay in a well is 6.77 s, and |Λ₂| is twice the hopping rate 0.1478 per s."""
        series = underdamped_well(150.0, n_walkers=120, temperature=1.0, rng=1)
        sequences = DelayEmbedding(7).transform(series)
        symbols = Partition(60).fit(sequences).label(sequences)
        found = slow_spectrum(MarkovChain.from_symbols(symbols, 3.0)).relaxation_times[0]
        assert found == pytest.approx(1 / (2 * 0.1478), rel=0.1)


@pytest.fixture(scope="module")
def attractor():
    return lorenz(200.0, rng=0)


class TestLorenz:
    def test_bounded_with_two_lobes_and_the_known_mean(self, attractor):
        x, y, z = attractor.values.T
        assert attractor.values.shape == (10_000, 3)
        assert np.abs(x).max() < 22
        assert np.abs(y).max() < 30
        assert 0 < z.min() < z.max() < 50
        assert 0.3 < np.mean(x > 0) < 0.7
        assert z.mean() == pytest.approx(23.55, abs=0.2)

    def test_obeys_its_equations(self, attractor):
        """Derivatives by differences of sixth order over 0.02 s."""
        values = attractor.values.astype(float)
        weights = np.array([-1, 9, -45, 0, 45, -9, 1]) / 60
        slope = np.stack([np.convolve(column, weights[::-1], "valid") for column in values.T], axis=1) / 0.02
        x, y, z = values[3:-3].T
        flow = np.stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z], axis=1)
        assert np.abs(slope - flow).max() < 0.01 * np.abs(flow).max()

    def test_seeded(self):
        one, again, other = (lorenz(1.0, interval=0.01, rng=seed) for seed in (1, 1, 2))
        np.testing.assert_array_equal(one.values, again.values)
        assert not np.array_equal(one.values, other.values)
        assert one.sampling.rate == pytest.approx(100.0)


class TestHoppingChain:
    def test_frequencies(self):
        matrix = np.random.default_rng(0).random((5, 5))
        matrix[0, 3] = 0.0
        matrix /= matrix.sum(axis=1, keepdims=True)
        walks = hopping_chain(matrix, 400, n_walks=60, rng=1)
        counts = count_transitions(walks, 1).toarray()
        assert counts[0, 3] == 0
        for row, expected in zip(counts, matrix, strict=True):
            possible = expected > 0
            assert stats.chisquare(row[possible], expected[possible] * row.sum()).pvalue > 1e-3

    def test_begins_in_the_stationary_law(self):
        walks = hopping_chain(np.array([[0.99, 0.01], [0.03, 0.97]]), 2, n_walks=4000, rng=0)
        assert walks.labels.reshape(4000, 2)[:, 0].mean() == pytest.approx(0.25, abs=4 * np.sqrt(0.1875 / 4000))

    def test_shape_and_seed(self):
        matrix = np.full((3, 3), 1 / 3)
        walks = hopping_chain(matrix, 10, n_walks=2, rate=4.0, rng=3)
        assert walks.segments.bounds.tolist() == [[0, 10, 0], [10, 20, 1]]
        assert walks.sampling.rate == 4.0
        assert walks.labels.dtype == np.int32
        np.testing.assert_array_equal(walks.labels, hopping_chain(matrix, 10, n_walks=2, rng=3).labels)

    @pytest.mark.parametrize("seed", range(5))
    def test_transient_states(self, seed):
        """States that are left for good hold no time; rounding must not make that a negative probability."""
        matrix = np.random.default_rng(seed).random((6, 6))
        matrix[3:, :3] = 0.0
        matrix /= matrix.sum(axis=1, keepdims=True)
        assert hopping_chain(matrix, 50, n_walks=5, rng=0).labels.min() >= 3

    @pytest.mark.parametrize(
        "matrix", [[[0.5, 0.4], [0.5, 0.5]], [[0.5, 0.5]], [1.0], [[1.2, -0.2], [0.5, 0.5]], [[np.nan, 1], [0.5, 0.5]]]
    )
    def test_what_is_no_transition_matrix(self, matrix):
        with pytest.raises(InputFormatError, match="rows adding up to one"):
            hopping_chain(np.array(matrix), 10)
