"""Walks against the chain they walk on."""

import numpy as np
import pytest
from scipy import sparse, stats

from ethomarkov.exceptions import EthomarkovError
from ethomarkov.markov import MarkovChain, count_transitions
from ethomarkov.simulation import simulate_symbols


def chain_of(counts, lag=0.75):
    return MarkovChain.from_counts(sparse.csr_array(np.asarray(counts, dtype=float)), lag)


@pytest.fixture(scope="module")
def chain():
    """Twelve states with zeros in their rows, of 15 in the partition."""
    rng = np.random.default_rng(0)
    counts = np.zeros((15, 15))
    kept = np.array([0, 1, 2, 4, 5, 6, 7, 8, 10, 12, 13, 14])
    counts[np.ix_(kept, kept)] = rng.random((12, 12)) * (rng.random((12, 12)) < 0.4)
    counts[kept, np.roll(kept, 1)] += 0.2
    return chain_of(counts)


def chi_square(counts, expected):
    """Probability of a deviation at least as large, over the entries that can occur."""
    possible = expected > 0
    assert counts[~possible].sum() == 0, "a step that the chain does not have"
    if possible.sum() == 1:
        return 1.0
    expected = expected[possible] / expected[possible].sum() * counts.sum()
    return stats.chisquare(counts[possible], expected).pvalue


@pytest.mark.parametrize(("n_walks", "n_steps"), [(1, 20_000), (300, 200)])
def test_steps_follow_the_transition_matrix(chain, n_walks, n_steps):
    walks = simulate_symbols(chain, n_steps * chain.lag, n_walks=n_walks, rng=1)
    counts = count_transitions(walks, 1)[chain.states][:, chain.states].toarray()
    assert counts.sum() == n_walks * (n_steps - 1)
    p_values = [chi_square(row, chain.transition.toarray()[i]) for i, row in enumerate(counts)]
    assert min(p_values) > 0.001 / len(p_values)
    assert np.median(p_values) > 0.05


def test_walks_begin_in_the_stationary_law(chain):
    walks = simulate_symbols(chain, 2 * chain.lag, n_walks=20_000, rng=2)
    first = np.bincount(walks.labels.reshape(20_000, 2)[:, 0], minlength=15)[chain.states]
    assert chi_square(first, chain.stationary) > 0.001


def test_walks_are_independent(chain):
    """Two steps at the same time in different walks are no more alike than chance."""
    labels = simulate_symbols(chain, 40 * chain.lag, n_walks=400, rng=3).labels.reshape(400, 40)
    same = np.mean(labels[::2] == labels[1::2])
    chance = (chain.stationary**2).sum()
    assert same == pytest.approx(chance, abs=0.02)


def test_shape_of_the_walks(chain):
    walks = simulate_symbols(chain, 7.5, n_walks=3, rng=0)
    assert walks.labels.shape == (30,)
    assert walks.segments.bounds.tolist() == [[0, 10, 0], [10, 20, 1], [20, 30, 2]]
    assert walks.sampling.interval == pytest.approx(0.75)
    assert walks.n_states == 15
    assert set(walks.labels) <= set(chain.states)


@pytest.mark.parametrize("start", [0, 4, 14])
def test_all_walks_begin_at_the_start(chain, start):
    walks = simulate_symbols(chain, 7.5, n_walks=50, start=start, rng=0)
    assert (walks.labels[::10] == start).all()


@pytest.mark.parametrize("start", [3, 9, -1, 15])
def test_a_start_outside_the_chain_is_refused(chain, start):
    """3 and 9 are microstates that are not connected; -1 and 15 are none at all."""
    assert start not in chain.states
    with pytest.raises(EthomarkovError):
        simulate_symbols(chain, 7.5, start=start, rng=0)


def test_the_same_seed_gives_the_same_walk(chain):
    first, again, other = (simulate_symbols(chain, 75.0, n_walks=2, rng=seed).labels for seed in (5, 5, 6))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    np.testing.assert_array_equal(simulate_symbols(chain, 75.0, n_walks=2, rng=np.random.default_rng(5)).labels, first)


def test_a_deterministic_ring_is_followed():
    ring = chain_of(np.roll(np.eye(60), 1, axis=1), lag=1.0)
    labels = simulate_symbols(ring, 200.0, start=7, rng=0).labels
    np.testing.assert_array_equal(labels, (7 + np.arange(200)) % 60)


def test_rare_steps_occur_at_their_rate():
    """Cumulative sums over all rows must not lose small probabilities."""
    n = 900
    matrix = np.roll(np.eye(n), 1, axis=1) * (1 - 1e-3) + np.roll(np.eye(n), 5, axis=1) * 1e-3
    labels = simulate_symbols(chain_of(matrix, lag=1.0), 1000.0, n_walks=200, rng=0).labels.reshape(200, 1000)
    jumps = np.mean((np.diff(labels, axis=1) % n) == 5)
    assert jumps == pytest.approx(1e-3, abs=4 * np.sqrt(1e-3 / 199_800))
