"""Trees of chains whose states are known by construction, and their recovery from resampled animals."""

import dataclasses

import numpy as np
import pytest
from scipy import sparse

from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov.coarse.coherence import best_cut
from ethomarkov.coarse.stability import compare_seeds, match_nodes, resample_tree
from ethomarkov.coarse.tree import GrowthRule, StateTree, grow_tree, restrict
from ethomarkov.exceptions import ConnectivityError, InputFormatError
from ethomarkov.io.results import load_result, save_results
from ethomarkov.markov import MarkovChain
from ethomarkov.simulation import simulate_symbols
from ethomarkov.states import Symbols

LEFTOVERS = ("flux", "unassigned")


def chain_of(matrix, lag=1.0):
    return MarkovChain.from_counts(sparse.csr_array(np.asarray(matrix, dtype=float)), lag)


def nested_chain(size=6, seed=0, structureless=False):
    """Four blocks: {A1, A2} exchange now and then, so do {B1, B2}; A and B exchange rarely. B is visited less.

    Within a block every microstate has its own successors; structureless blocks have none to tell.
    """
    rng = np.random.default_rng(seed)
    between = np.array(
        [
            [0.90, 0.09, 0.005, 0.005],
            [0.12, 0.87, 0.005, 0.005],
            [0.007, 0.007, 0.906, 0.08],
            [0.007, 0.007, 0.146, 0.84],
        ]
    )
    within = rng.random((4, 4, size, size)) * (not structureless) + 0.2
    within /= within.sum(axis=3, keepdims=True)
    matrix = (between[:, :, None, None] * within).transpose(0, 2, 1, 3).reshape(4 * size, 4 * size)
    return chain_of(matrix)


def blocks(tree, level, size=6):
    return tree.states_at(level).reshape(4, size)


def symbols_of(labels, n_states, rate=1.0, individuals=1):
    offsets = np.linspace(0, labels.size, individuals + 1).astype(int)
    segments = Segments.from_valid(labels >= 0, offsets)
    return Symbols(labels=labels.astype(np.int32), n_states=n_states, segments=segments, sampling=Sampling(rate))


class TestLevels:
    def test_nested_blocks_are_found_from_the_top_down(self):
        tree = grow_tree(nested_chain(), 4)
        assert tree.levels == (1, 2, 3, 4)
        assert [np.unique(row).tolist() for row in blocks(tree, 2)] == [[0], [0], [1], [1]]
        # A holds more of the time than B, so it is divided first; of its children the larger is named first
        assert [np.unique(row).tolist() for row in blocks(tree, 3)] == [[0], [1], [2], [2]]
        assert [np.unique(row).tolist() for row in blocks(tree, 4)] == [[0], [1], [2], [3]]

    def test_measures_are_those_of_the_stationary_law(self):
        chain = nested_chain()
        tree = grow_tree(chain, 4)
        for level in tree.levels:
            states = tree.states_at(level)
            expected = np.bincount(states, chain.stationary)
            np.testing.assert_allclose(tree.measures_at(level), expected, atol=1e-12)
            assert tree.measures_at(level).sum() == pytest.approx(1.0)

    @pytest.mark.parametrize("seed", range(3))
    def test_every_level_refines_the_one_before(self, seed):
        matrix = np.random.default_rng(seed).random((40, 40)) ** 8
        tree = grow_tree(chain_of(matrix), GrowthRule(n_states=6, min_measure=0.0))
        for coarse, fine in zip(tree.levels, tree.levels[1:], strict=False):
            upper, lower = tree.states_at(coarse), tree.states_at(fine)
            assert (upper >= 0).all()
            assert set(lower) == set(range(fine))
            for state in range(fine):
                assert np.unique(upper[lower == state]).size == 1

    def test_the_first_division_is_the_best_cut(self):
        chain = nested_chain()
        cut, tree = best_cut(chain), grow_tree(chain, 2)
        np.testing.assert_array_equal(tree.states_at(2) == 1, cut.upper == 1)
        assert (tree.coherence[0], tree.undecided[0], tree.mode[0]) == (cut.coherence, cut.undecided, cut.mode)
        assert tree.relaxation[0] == pytest.approx(-1.0 / np.log(cut.eigenvalue))

    def test_microstates_outside_the_chain_have_no_state(self):
        matrix = np.zeros((10, 10))
        matrix[1:9, 1:9] = 0.05 + 2 * np.kron(np.eye(2), np.ones((4, 4)))
        tree = grow_tree(chain_of(matrix), 2)
        assert tree.states_at(2).tolist()[0] == tree.states_at(2).tolist()[9] == -1

    def test_unknown_level_is_refused(self):
        with pytest.raises(InputFormatError, match="no level of 9 states; it has 1, 2, 3"):
            grow_tree(nested_chain(), 3).nodes_at(9)

    def test_saves_and_loads(self, tmp_path):
        tree = grow_tree(nested_chain(), 4)
        save_results(tmp_path / "tree.nc", {"tree": tree}, {})
        loaded = load_result(tmp_path / "tree.nc", "tree", StateTree)
        for field in dataclasses.fields(tree):
            np.testing.assert_array_equal(getattr(loaded, field.name), getattr(tree, field.name))


class TestRestriction:
    def test_equals_counts_inside_the_set(self):
        """Pairs with both ends inside, whatever lies between: the submatrix of the counts, normalised anew."""
        labels = np.random.default_rng(0).integers(0, 5, 400)
        symbols = symbols_of(labels, 5)
        chain = MarkovChain.from_symbols(symbols, 3.0)
        members = np.array([True, False, True, True, False])
        inner = restrict(chain, members)
        counts = np.zeros((5, 5))
        np.add.at(counts, (labels[:-3], labels[3:]), 1)
        inside = counts[np.ix_(members, members)]
        np.testing.assert_allclose(inner.transition.toarray(), inside / inside.sum(axis=1, keepdims=True), atol=1e-12)
        assert inner.states.tolist() == [0, 2, 3]
        assert (inner.n_states, inner.lag) == (5, 3.0)

    def test_a_set_of_one_is_refused(self):
        with pytest.raises(ConnectivityError, match="at least two"):
            restrict(nested_chain(), np.arange(24) == 3)

    def test_leftovers_follow_the_flux_or_stay_unassigned(self):
        """Microstate 12 is entered from block {0..3} and left to {8..11}: confined to {0..7, 12} it leads nowhere."""
        matrix = np.zeros((13, 13))
        for k, own in enumerate((8.0, 8.0, 30.0)):
            matrix[4 * k : 4 * k + 4, 4 * k : 4 * k + 4] = own
        matrix[:4, 4:8], matrix[4:8, :4] = 0.3, 0.3
        matrix[:8, 8:12], matrix[8:12, :8] = 0.02, 0.02
        matrix[0, 12], matrix[12, 8] = 0.1, 0.1
        by_flux, left = (grow_tree(chain_of(matrix), GrowthRule(n_states=6, leftover=how)) for how in LEFTOVERS)
        for tree in (by_flux, left):
            assert tree.states_at(2)[12] == tree.states_at(2)[0] == tree.states_at(2)[7]
            node = int(np.flatnonzero(tree.left_over)[0])
            assert tree.left_over.tolist().count(1) == 1
            level = int(tree.divided[node])
        assert by_flux.states_at(level)[12] == by_flux.states_at(level)[0] != by_flux.states_at(level)[7]
        assert left.states_at(level)[12] == -1
        assert (np.delete(left.states_at(level), 12) >= 0).all()


class TestStopping:
    def test_by_depth(self):
        assert max(grow_tree(nested_chain(), 3).levels) == 3
        assert grow_tree(nested_chain(), 1).levels == (1,)

    def test_by_measure_with_the_reason(self):
        chain = chain_of([[90.0, 2.0, 2.0], [2.0, 1.0, 2.0], [2.0, 2.0, 1.0]])
        tree = grow_tree(chain, GrowthRule(n_states=3, min_measure=0.2))
        assert tree.levels == (1,)
        assert "each hold 20% of the time" in tree.remark[0]
        assert grow_tree(chain, GrowthRule(n_states=3, min_measure=0.01)).levels == (1, 2, 3)

    def test_by_noise(self):
        """Two states that last and nothing within: the first division stands above noise, no other does."""
        rng = np.random.default_rng(1)
        hidden = np.cumsum(rng.random(6000) < 0.02) % 2
        labels = rng.integers(0, 10, 6000) + 10 * hidden
        symbols = symbols_of(labels, 20)
        chain = MarkovChain.from_symbols(symbols, 1.0)
        tree = grow_tree(chain, GrowthRule(n_states=6, n_shuffles=20), symbols=symbols)
        assert tree.levels == (1, 2)
        assert tree.relaxation[0] > 5 * tree.noise[0]
        assert all("noise of shuffled symbols" in tree.remark[k] for k in (1, 2))
        assert max(grow_tree(chain, 6).levels) == 6

    def test_noise_needs_symbols(self):
        with pytest.raises(InputFormatError, match="pass symbols="):
            grow_tree(nested_chain(), GrowthRule(n_shuffles=3))


@pytest.fixture(scope="module")
def walked():
    symbols = simulate_symbols(nested_chain(structureless=True), 4000, n_walks=5, rng=3)
    return MarkovChain.from_symbols(symbols, 1.0), symbols


class TestStability:
    def test_true_states_are_found_again_and_others_are_not(self, walked):
        chain, symbols = walked
        growth = GrowthRule(n_states=7)
        tree = resample_tree(grow_tree(chain, growth), symbols, growth, n_resamples=10)
        real = [node for node in range(tree.n_nodes) if tree.born[node] <= 4]
        finer = [node for node in range(tree.n_nodes) if tree.born[node] > 4]
        assert tree.stability[real].min() > 0.97
        assert tree.stability[finer].max() < 0.9
        assert tree.split_stability(0) == pytest.approx(tree.stability[[1, 2]].min())

    def test_does_not_depend_on_threads(self, walked):
        chain, symbols = walked
        growth = GrowthRule(n_states=5)
        trees = [resample_tree(grow_tree(chain, growth), symbols, growth, n_resamples=4, threads=k) for k in (1, 2)]
        np.testing.assert_array_equal(trees[0].stability, trees[1].stability)

    def test_one_animal_is_resampled_in_blocks(self, walked):
        symbols = simulate_symbols(walked[0], 20_000, n_walks=1, rng=4)
        growth = GrowthRule(n_states=2)
        tree = grow_tree(MarkovChain.from_symbols(symbols, 1.0), growth)
        tree = resample_tree(tree, symbols, growth, n_resamples=5)
        assert 0.9 < tree.stability.min() <= 1.0

    def test_overlap_by_hand(self):
        """One of four equal microstates changes sides: {0, 1} against {0}, {2, 3} against {1, 2, 3}."""
        leaf = grow_tree(nested_chain(), 2)
        tree = dataclasses.replace(leaf, node_of=np.array([1, 1, 2, 2], dtype=np.int32))
        other = dataclasses.replace(leaf, node_of=np.array([1, 2, 2, 2], dtype=np.int32))
        overlap = match_nodes(tree, other, sparse.diags_array(np.full(4, 0.25)).tocsr())
        np.testing.assert_allclose(overlap, [1.0, 1 / 2, 2 / 3])

    def test_the_same_frames_with_other_numbers_match(self, walked):
        chain, symbols = walked
        shuffled = np.random.default_rng(0).permutation(chain.n_states).astype(np.int32)
        renumbered = symbols.relabel(shuffled)
        trees = [grow_tree(MarkovChain.from_symbols(one, 1.0), 4) for one in (symbols, renumbered)]
        overlap = compare_seeds(trees[0], symbols, [(trees[1], renumbered)])
        np.testing.assert_allclose(overlap, 1.0)


def test_pcca_has_the_same_type():
    pytest.importorskip("deeptime")
    from ethomarkov.coarse.pcca import pcca_tree

    tree = pcca_tree(nested_chain(), 4)
    assert tree.levels == (1, 4)
    assert [np.unique(row).size for row in blocks(tree, 4)] == [1, 1, 1, 1]
    assert np.unique(tree.states_at(4)).tolist() == [0, 1, 2, 3]
    assert (np.diff(tree.measures_at(4)) <= 0).all()
    assert match_nodes(tree, grow_tree(nested_chain(), 4), sparse.diags_array(np.ones(24)).tocsr()).min() == 1.0
