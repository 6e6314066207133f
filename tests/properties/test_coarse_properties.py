"""Trees of any sparse chain."""

import dataclasses
import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from threadpoolctl import threadpool_limits

from ethomarkov.coarse.passage import committor, lump, mean_first_passage
from ethomarkov.coarse.stability import match_nodes
from ethomarkov.coarse.tree import GrowthSettings, StateTree, grow_tree
from ethomarkov.io.results import load_result, save_results
from ethomarkov.markov import MarkovChain
from ethomarkov.simulation import simulate_symbols

modest = settings(max_examples=40, deadline=None)
few = settings(max_examples=6, deadline=None)


def sparse_counts(n, seed, density=0.12):
    """A ring with random shortcuts: connected, sparse, far from detailed balance, no two weights the same."""
    rng = np.random.default_rng(seed)
    counts = np.where(rng.random((n, n)) < density, rng.lognormal(0, 1.5, (n, n)), 0.0)
    ring = np.roll(np.arange(n), 1)
    counts[np.arange(n), ring] += rng.lognormal(0, 0.5, n)
    counts[np.arange(n), np.arange(n)] += rng.lognormal(0, 0.5, n)
    return counts


def chain_of(counts):
    return MarkovChain.from_counts(sparse.csr_array(counts), 0.5)


growths = st.builds(
    GrowthSettings,
    n_states=st.integers(2, 8),
    min_measure=st.sampled_from([0.0, 0.02, 0.1]),
    leftover=st.sampled_from(["flux", "unassigned"]),
)
sizes, seeds = st.integers(6, 60), st.integers(0, 10_000)


@modest
@given(sizes, seeds, growths)
def test_every_level_is_a_partition_that_refines_the_one_before(n, seed, growth):
    tree = grow_tree(chain_of(sparse_counts(n, seed)), growth)
    assert tree.levels == tuple(range(1, max(tree.levels) + 1))
    assert max(tree.levels) <= growth.n_states
    coarse = tree.states_at(1)
    assert (coarse == 0).all()
    for level in tree.levels[1:]:
        fine = tree.states_at(level)
        assert set(fine[fine >= 0]) == set(range(level))
        lost = (fine < 0) & (coarse >= 0)
        assert growth.leftover == "unassigned" or not lost.any()
        assert not ((fine >= 0) & (coarse < 0)).any()  # what has no state never gets one again
        parents = [np.unique(coarse[fine == state]) for state in range(level)]
        assert all(parent.size == 1 for parent in parents)
        assert len({int(parent[0]) for parent in parents}) == level - 1
        coarse = fine


@modest
@given(sizes, seeds, growths)
def test_measures_add_up(n, seed, growth):
    chain = chain_of(sparse_counts(n, seed))
    tree = grow_tree(chain, growth)
    for node in range(tree.n_nodes):
        assert abs(tree.measure[node] - chain.stationary[tree.members(node)].sum()) < 1e-9
        below = tree.children(node)
        if below:
            left = np.flatnonzero(tree.node_of == node)
            assert abs(tree.measure[list(below)].sum() + chain.stationary[left].sum() - tree.measure[node]) < 1e-9
            assert tree.measure[below[0]] >= tree.measure[below[1]]
            assert left.size == (tree.left_over[node] if growth.leftover == "unassigned" else 0)
    if growth.leftover == "flux":
        assert all(abs(tree.measures_at(level).sum() - 1) < 1e-9 for level in tree.levels)


@modest
@given(sizes, seeds, growths)
def test_the_state_whose_division_persists_most_is_divided(n, seed, growth):
    tree = grow_tree(chain_of(sparse_counts(n, seed)), growth)
    for level in tree.levels[:-1]:
        here = tree.nodes_at(level)
        divided = next(node for node in here if tree.divided[node] == level + 1)
        # of those that were divided later, none persists more
        assert np.nanmax(tree.persistence[list(here)]) == tree.persistence[divided]


@modest
@given(sizes, seeds, st.integers(2, 8))
def test_by_the_published_rule_the_largest_state_that_can_be_divided_is_divided(n, seed, n_states):
    tree = grow_tree(chain_of(sparse_counts(n, seed)), dataclasses.replace(GrowthSettings.paper(), n_states=n_states))
    for level in tree.levels[:-1]:
        here = tree.nodes_at(level)
        divided = next(node for node in here if tree.divided[node] == level + 1)
        larger = [node for node in here if tree.measure[node] > tree.measure[divided]]
        assert all(tree.remark[node] for node in larger)  # there is a reason why not


@modest
@given(sizes, seeds, growths)
def test_other_numbers_of_the_microstates_give_the_same_tree(n, seed, growth):
    counts = sparse_counts(n, seed)
    order = np.random.default_rng(seed + 1).permutation(n)
    tree, other = grow_tree(chain_of(counts), growth), grow_tree(chain_of(counts[np.ix_(order, order)]), growth)
    np.testing.assert_array_equal(other.node_of, tree.node_of[order])
    np.testing.assert_array_equal(other.parent, tree.parent)
    np.testing.assert_allclose(other.coherence, tree.coherence, atol=1e-8)


@modest
@given(sizes, seeds, growths)
def test_a_tree_matches_itself(n, seed, growth):
    chain = chain_of(sparse_counts(n, seed))
    tree = grow_tree(chain, growth)
    np.testing.assert_allclose(match_nodes(tree, tree, sparse.diags_array(chain.stationary).tocsr()), 1.0)


@few
@given(st.integers(60, 200), seeds)
def test_threads_of_linear_algebra_do_not_matter(n, seed):
    counts = sparse_counts(n, seed, density=0.03)
    trees = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            trees.append(grow_tree(chain_of(counts), 6))
    np.testing.assert_array_equal(trees[0].node_of, trees[1].node_of)
    np.testing.assert_array_equal(trees[0].parent, trees[1].parent)


@few
@given(seeds)
def test_judged_trees_say_why(seed):
    """Whatever the symbols, a tree is a tree; what is not supported has a remark, and shares are shares."""
    chain = chain_of(sparse_counts(30, seed))
    symbols = simulate_symbols(chain, 200.0, n_walks=3, rng=seed)
    growth = GrowthSettings(n_states=4, seed=seed, n_resamples=3)
    tree = grow_tree(MarkovChain.from_symbols(symbols, 0.5), growth, symbols=symbols)
    again = grow_tree(MarkovChain.from_symbols(symbols, 0.5), growth, symbols=symbols)
    np.testing.assert_array_equal(tree.node_of, again.node_of)
    np.testing.assert_array_equal(tree.stability, again.stability)
    assert np.isnan(tree.stability[0])
    assert ((tree.stability[1:] >= 0) & (tree.stability[1:] <= 1 + 1e-12)).all()
    assert 1 <= tree.n_supported <= max(tree.levels)
    for node in np.flatnonzero(tree.divided > 0):
        own = [bool(tree.is_supported[child]) for child in tree.children(node)]
        assert own[0] == own[1] == (bool(tree.is_supported[node]) and not tree.remark[node])


@few
@given(sizes, seeds, growths)
def test_files_keep_everything(n, seed, growth):
    tree = grow_tree(chain_of(sparse_counts(n, seed)), growth)
    with tempfile.TemporaryDirectory() as folder:
        save_results(Path(folder) / "tree.nc", {"tree": tree}, {})
        loaded = load_result(Path(folder) / "tree.nc", "tree", StateTree)
    for field in dataclasses.fields(tree):
        np.testing.assert_array_equal(getattr(loaded, field.name), getattr(tree, field.name))


@modest
@given(sizes, seeds, st.integers(2, 4))
def test_passages_between_the_states_of_a_tree(n, seed, n_states):
    """Committors of a pair add up to one, passages are at least one lag, groups keep the stationary law."""
    chain = chain_of(sparse_counts(n, seed))
    tree = grow_tree(chain, GrowthSettings(n_states=n_states, min_measure=0.0))
    level = max(tree.levels)
    group = tree.states_at(level)
    there, back = committor(chain, group, 0, 1), committor(chain, group, 1, 0)
    np.testing.assert_allclose(there + back, 1, atol=1e-8)
    passage = mean_first_passage(chain, group)
    assert (passage[~np.eye(level, dtype=bool)] >= chain.lag - 1e-9).all()
    np.testing.assert_allclose(lump(chain, group).stationary, tree.measures_at(level), atol=1e-8)
