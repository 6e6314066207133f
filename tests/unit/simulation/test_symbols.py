"""Walks against the chain they walk on."""

import numpy as np
import pytest
from scipy import sparse, stats

from ethomarkov.exceptions import EthomarkovError
from ethomarkov.markov import MarkovChain, count_transitions
from ethomarkov.simulation import simulate_symbols
from ethomarkov.simulation.symbols import stream_keys
from ethomarkov.simulation.walk_kernels import alias_table, uniform


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


def walk_by_search(chain, n_steps, n_walks, rng):
    """Walk by a search in cumulative sums, vectorised over walks: row i of the sums runs from i to i + 1."""
    matrix = chain.transition
    ends = np.cumsum(matrix.data)
    row_start = np.concatenate([[0.0], ends[matrix.indptr[1:] - 1]])
    steps = np.empty((n_steps, n_walks), dtype=np.int32)
    steps[0] = rng.choice(chain.states.size, n_walks, p=chain.stationary)
    for step in range(1, n_steps):
        here = steps[step - 1]
        drawn = row_start[here] + rng.random(n_walks) * (row_start[here + 1] - row_start[here])
        found = np.searchsorted(ends, drawn, side="right")
        steps[step] = matrix.indices[np.clip(found, matrix.indptr[here], matrix.indptr[here + 1] - 1)]
    return chain.states[steps.T]


def many_states(n, n_successors, seed=0):
    """A chain with given successors per state, of very uneven probabilities."""
    rng = np.random.default_rng(seed)
    rows = np.repeat(np.arange(n), n_successors)
    columns = np.concatenate([rng.choice(n, n_successors, replace=False) for _ in range(n)])
    weights = rng.exponential(size=rows.size) ** 4 + 1e-9
    ring = sparse.csr_array(np.roll(np.eye(n), 1, axis=1) * 0.01)
    return MarkovChain.from_counts((sparse.coo_array((weights, (rows, columns)), shape=(n, n)).tocsr() + ring), 0.75)


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


@pytest.mark.parametrize(("n", "n_successors"), [(3, 1), (60, 7), (300, 150)])
def test_alias_tables_hold_the_transition_matrix(n, n_successors):
    matrix = many_states(n, n_successors).transition
    table = alias_table(matrix.indptr, matrix.indices, matrix.data)
    assert ((table["keep"] >= 0) & (table["keep"] <= 1)).all()
    length = np.diff(matrix.indptr)
    rows = np.repeat(np.arange(matrix.shape[0]), length)
    found = np.zeros(matrix.shape)
    np.add.at(found, (rows, table["own"]), table["keep"] / length[rows])
    np.add.at(found, (rows, table["other"]), (1 - table["keep"]) / length[rows])
    np.testing.assert_allclose(found, matrix.toarray(), rtol=0, atol=1e-12)


def test_time_is_spent_as_in_the_stationary_law():
    """And as in walks made another way: the occupancies of both differ from π by the same, small amount."""
    chain = many_states(60, 7)
    walks = simulate_symbols(chain, 1000 * chain.lag, n_walks=200, rng=4)
    found = walks.visits()[chain.states] / walks.labels.size
    other = walk_by_search(chain, 1000, 200, np.random.default_rng(5))
    expected = np.bincount(other.ravel(), minlength=60)[chain.states] / other.size
    assert np.abs(found - chain.stationary).max() < 0.003
    assert np.abs(found - expected).max() < 0.004


def test_random_numbers_of_a_walk_are_even():
    """In one dimension, in pairs of successive steps, and in pairs of neighbouring walks."""
    keys = stream_keys(0, 200)
    drawn = np.array([[uniform(key, step) for step in range(500)] for key in keys])
    assert 0 <= drawn.min() < drawn.max() < 1
    assert stats.chisquare(np.bincount((drawn.ravel() * 256).astype(int), minlength=256)).pvalue > 0.001
    for first, second in ((drawn[:, :-1], drawn[:, 1:]), (drawn[:-1], drawn[1:])):
        cells = (first.ravel() * 16).astype(int) * 16 + (second.ravel() * 16).astype(int)
        assert stats.chisquare(np.bincount(cells, minlength=256)).pvalue > 0.001
    first_steps = drawn[:, :5]
    correlation = np.corrcoef(first_steps[:-1].ravel(), first_steps[1:].ravel())[0, 1]
    assert abs(correlation) < 4 / np.sqrt(first_steps.size)


def test_random_numbers_are_those_of_splitmix64():
    """Published outputs of the generator for the seed 1234567, whose first comes after one increment."""
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    found = [uniform(np.uint64(1234567), step) for step in (1, 2, 3)]
    assert found == [(number >> 11) * 2.0**-53 for number in published]


@pytest.mark.parametrize("start", [None, 4])
def test_a_walk_depends_on_its_number_alone(chain, start):
    few, many, threaded = (
        simulate_symbols(chain, 75.0, n_walks=n, start=start, rng=5, threads=threads).labels.reshape(n, 100)
        for n, threads in ((3, 1), (70, 1), (70, 3))
    )
    np.testing.assert_array_equal(few, many[:3])
    np.testing.assert_array_equal(threaded, many)
    assert len(np.unique(many, axis=0)) == 70


def test_every_walk_begins_at_its_own_start(chain):
    start = np.random.default_rng(0).choice(chain.states, 40)
    walks = simulate_symbols(chain, 7.5, n_walks=40, start=start, rng=0)
    np.testing.assert_array_equal(walks.labels[::10], start)


def test_steps_after_a_start_follow_the_transition_matrix(chain):
    labels = simulate_symbols(chain, 2 * chain.lag, n_walks=20_000, start=7, rng=1).labels.reshape(-1, 2)
    counts = np.bincount(labels[:, 1], minlength=15)[chain.states]
    assert chi_square(counts, chain.transition.toarray()[chain.state_index[7]]) > 0.001


@pytest.mark.parametrize("start", [np.array([0, 4]), np.array([[0], [4], [5]]), np.array([0, 4, 3])])
def test_starts_that_do_not_fit_the_walks_are_refused(chain, start):
    with pytest.raises(EthomarkovError):
        simulate_symbols(chain, 7.5, n_walks=3, start=start)


def test_a_walk_of_one_step_is_its_start(chain):
    assert simulate_symbols(chain, 0.0, n_walks=2, start=4).labels.tolist() == [4, 4]
