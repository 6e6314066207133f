"""Posterior draws of chains against the Beta law, and coverage of intervals."""

import numpy as np
import pytest
from scipy import sparse, stats

from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov.markov import MarkovChain, count_transitions, entropy_rate, slow_spectrum
from ethomarkov.markov.uncertainty import posterior_chains, posterior_interval
from ethomarkov.states import Symbols
from ethomarkov.synthetic import hopping_chain

COUNTS = np.array([[18.0, 6.0], [9.0, 30.0]])


def draws(counts, n, overlap=1.0, rng=0):
    chains = posterior_chains(sparse.csr_array(counts), 1.0, n, overlap=overlap, rng=rng)
    return np.array([chain.transition.toarray() for chain in chains])


def relaxation(chain):
    return float(slow_spectrum(chain, 1).relaxation_times[0])


def two_state_relaxation(chain):
    """As `relaxation`: the second eigenvalue of two states is the trace less one."""
    return -chain.lag / np.log(chain.transition.diagonal().sum() - 1)


def leaving(chain):
    return float(chain.transition.toarray()[0, 1])


class TestDraws:
    @pytest.mark.parametrize("overlap", [1.0, 3.0])
    def test_two_states_follow_the_beta_law(self, overlap):
        """Four standard errors of the mean and of the variance, and the whole law by Kolmogorov and Smirnov."""
        n = 500
        matrices = draws(COUNTS, n, overlap)
        for row, column in ((0, 1), (1, 0)):
            a, b = COUNTS[row, column] / overlap, COUNTS[row, row] / overlap
            sample, exact = matrices[:, row, column], stats.beta(a, b)
            assert exact.mean() == pytest.approx(a / (a + b))
            assert exact.var() == pytest.approx(a * b / ((a + b) ** 2 * (a + b + 1)))
            assert sample.mean() == pytest.approx(exact.mean(), abs=4 * exact.std() / np.sqrt(n))
            assert sample.var() == pytest.approx(exact.var(), rel=4 * np.sqrt(3 / n))
            assert stats.kstest(sample, exact.cdf).pvalue > 1e-3

    def test_rows_are_independent(self):
        matrices = draws(COUNTS, 600)
        assert abs(np.corrcoef(matrices[:, 0, 1], matrices[:, 1, 0])[0, 1]) < 4 / np.sqrt(600)

    @pytest.mark.parametrize("overlap", [4.0, 12.0])
    def test_overlap_widens_by_its_root(self, overlap):
        plain, wide = (draws(50 * COUNTS, 300, o)[:, 0, 1].std() for o in (1.0, overlap))
        assert wide / plain == pytest.approx(np.sqrt(overlap), rel=0.2)

    @pytest.mark.parametrize("overlap", [1.0, 12.0])
    def test_as_sparse_and_as_connected_as_the_data(self, overlap):
        symbols = hopping_chain(np.full((30, 30), 1 / 30), 400, rng=0)
        counts = count_transitions(symbols, 1)
        whole = MarkovChain.from_counts(counts, 1.0)
        for chain in posterior_chains(counts, 1.0, 20, overlap=overlap):
            np.testing.assert_array_equal(chain.states, whole.states)
            assert chain.transition.nnz == whole.transition.nnz
            np.testing.assert_allclose(chain.transition.sum(axis=1), 1)
            assert chain.stationary.sum() == pytest.approx(1)

    def test_seeded_and_the_counts_are_left_alone(self):
        counts = sparse.csr_array(COUNTS)
        np.testing.assert_array_equal(draws(COUNTS, 3, rng=1), draws(COUNTS, 3, rng=1))
        assert not np.array_equal(draws(COUNTS, 3, rng=1), draws(COUNTS, 3, rng=2))
        list(posterior_chains(counts, 1.0, 2))
        np.testing.assert_array_equal(counts.toarray(), COUNTS)


TWO = np.array([[0.9, 0.1], [0.2, 0.8]])


class TestInterval:
    def test_fields(self):
        symbols = hopping_chain(TWO, 500, rate=4.0, rng=0)
        found = posterior_interval(symbols, 0.25, leaving, n_samples=40, level=0.8)
        exact = MarkovChain.from_symbols(symbols, 0.25)
        assert found.estimate == pytest.approx(leaving(exact))
        assert found.low < found.estimate < found.high
        assert (found.level, found.n, found.over) == (0.8, 40, "posterior draws")

    def test_is_that_of_the_beta_law(self):
        symbols = hopping_chain(TWO, 500, rng=0)
        counts = count_transitions(symbols, 1).toarray()
        found = posterior_interval(symbols, 1.0, leaving, n_samples=500)
        low, high = stats.beta(counts[0, 1], counts[0, 0]).ppf([0.025, 0.975])
        assert found.low == pytest.approx(low, rel=0.08)
        assert found.high == pytest.approx(high, rel=0.08)

    @pytest.mark.seeds
    def test_covers_the_truth_as_often_as_it_says(self):
        """Of a hundred chains 95 on average; fewer than 88 happen once in five hundred times."""
        truth = -1 / np.log(0.7)
        walks = hopping_chain(TWO, 800, n_walks=100, rng=0)
        assert two_state_relaxation(MarkovChain.from_symbols(walks, 1.0)) == pytest.approx(
            relaxation(MarkovChain.from_symbols(walks, 1.0))
        )
        found = [
            posterior_interval(walks.mask(k), 1.0, two_state_relaxation, n_samples=100, rng=1000 + k)
            for k in range(100)
        ]
        assert sum(one.low <= truth <= one.high for one in found) >= 88

    def test_a_longer_lag_counts_pairs_that_overlap_as_one(self):
        """At eight frames every eighth pair is new evidence."""
        symbols = hopping_chain(np.array([[0.99, 0.01], [0.01, 0.99]]), 6000, rng=0)
        counts = count_transitions(symbols, 8).toarray()
        found = posterior_interval(symbols, 8.0, leaving, n_samples=500)
        low, high = stats.beta(counts[0, 1] / 8, counts[0, 0] / 8).ppf([0.025, 0.975])
        assert found.low == pytest.approx(low, rel=0.15)
        assert found.high == pytest.approx(high, rel=0.15)

    def test_gaps_are_not_crossed(self):
        labels = np.array([0, 1, -1, 0, 0, 1, 1, 0, 1, -1, 1, 1, 0, 0, 1], dtype=np.int32)
        symbols = Symbols(labels=labels, n_states=2, segments=Segments.from_valid(labels >= 0), sampling=Sampling(1.0))
        assert posterior_interval(symbols, 1.0, leaving, n_samples=5).estimate == pytest.approx(4 / 6)

    @pytest.mark.parametrize("lag", [1.0, 12.0])
    def test_holds_its_own_estimate_for_sparse_counts(self, lag):
        """Many microstates, most transitions seen once or twice, as in every real chain."""
        matrix = np.random.default_rng(0).random((100, 100)) ** 8
        symbols = hopping_chain(matrix / matrix.sum(axis=1, keepdims=True), 4000, rng=0)
        found = posterior_interval(symbols, lag, entropy_rate, n_samples=40)
        assert found.low <= found.estimate <= found.high
