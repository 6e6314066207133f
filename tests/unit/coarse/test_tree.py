"""Trees of chains whose states are known by construction, and their recovery from resampled animals."""

import dataclasses

import numpy as np
import pytest
from scipy import sparse

from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov.coarse.coherence import best_cut
from ethomarkov.coarse.stability import compare_seeds, match_nodes
from ethomarkov.coarse.tree import GrowthSettings, StateTree, grow_tree, grow_with_cut, restrict
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
        # A falls apart more slowly than B, so it is divided first; of its children the larger is named first
        assert [np.unique(row).tolist() for row in blocks(tree, 3)] == [[0], [1], [2], [2]]
        assert tree.persistence[0] > tree.persistence[1] > tree.persistence[2]
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
        tree = grow_tree(chain_of(matrix), GrowthSettings(n_states=6, min_measure=0.0))
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
        assert tree.persistence[0] == cut.persistence
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
        by_flux, left = (grow_tree(chain_of(matrix), GrowthSettings(n_states=3, leftover=how)) for how in LEFTOVERS)
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
        tree = grow_tree(chain, GrowthSettings(n_states=3, min_measure=0.2))
        assert tree.levels == (1,)
        assert "each hold 20% of the time" in tree.remark[0]
        assert grow_tree(chain, GrowthSettings(n_states=3, min_measure=0.01)).levels == (1, 2, 3)

    def test_by_evidence_with_the_reason(self):
        """Two states that last and nothing within: the first division is supported, no other is."""
        symbols = hopping_symbols()
        chain = MarkovChain.from_symbols(symbols, 1.0)
        tree = grow_tree(chain, symbols=symbols)
        assert tree.levels == (1, 2)
        assert tree.n_supported == 2
        assert tree.held_out[0] > 0.9
        assert tree.noise[0] < 0.3
        assert all(tree.remark[k] for k in (1, 2))
        assert "supports 2 states" in tree.verdict()
        assert "Further" not in tree.verdict()

    def test_more_states_than_are_supported_are_marked(self):
        symbols = hopping_symbols()
        chain = MarkovChain.from_symbols(symbols, 1.0)
        tree = grow_tree(chain, 4, symbols=symbols)
        assert tree.levels == (1, 2, 3, 4)
        assert tree.n_supported == 2
        assert tree.is_supported.tolist() == [True] * 3 + [False] * 4
        assert all(tree.remark[node] for node in range(1, tree.n_nodes) if tree.divided[node] > 0)
        assert "not supported" in tree.verdict()
        assert max(grow_tree(chain, 6).levels) == 6

    def test_without_states_there_is_one_division_and_what_speaks_against_it(self):
        labels = np.random.default_rng(0).integers(0, 12, 6000)
        symbols = symbols_of(labels, 12, individuals=4)
        tree = grow_tree(MarkovChain.from_symbols(symbols, 1.0), symbols=symbols)
        assert tree.levels == (1, 2)
        assert tree.n_supported == 1
        assert "short-lived" in tree.remark[0]
        assert tree.verdict().startswith("No slow states")

    def test_without_symbols_nothing_is_judged(self):
        tree = grow_tree(nested_chain(), 4)
        assert tree.is_supported.all()
        assert np.isnan([*tree.held_out, *tree.stability, *tree.noise]).all()
        assert "not tested" in tree.verdict()

    @pytest.mark.parametrize("symbols", [None, "given"])
    def test_how_many_states_is_asked_of_symbols(self, symbols):
        growth = GrowthSettings() if symbols is None else dataclasses.replace(GrowthSettings.paper(), n_states=None)
        given = None if symbols is None else hopping_symbols()
        with pytest.raises(InputFormatError, match="pass symbols="):
            grow_tree(nested_chain(), growth, symbols=given)

    def test_the_first_division_is_described_on_the_chain(self):
        symbols = hopping_symbols()
        chain = MarkovChain.from_symbols(symbols, 1.0)
        tree, cut = grow_with_cut(chain, symbols=symbols)
        assert cut.phi.size == chain.states.size
        upper = tree.states_at(2)[chain.states]
        assert set(zip(cut.upper.tolist(), upper.tolist(), strict=True)) in ({(0, 0), (1, 1)}, {(0, 1), (1, 0)})
        assert grow_with_cut(chain, 1)[1] is None

    def test_the_published_rule_divides_the_largest_and_judges_nothing(self):
        """B is the slower to relax and the smaller: divided first by persistence, last as published."""
        between = np.array(
            [
                [0.84, 0.15, 0.005, 0.005],
                [0.15, 0.84, 0.005, 0.005],
                [0.01, 0.01, 0.94, 0.04],
                [0.01, 0.01, 0.04, 0.94],
            ]
        )
        within = np.random.default_rng(0).random((4, 4, 6, 6)) + 0.2
        within /= within.sum(axis=3, keepdims=True)
        chain = chain_of((between[:, :, None, None] * within).transpose(0, 2, 1, 3).reshape(24, 24))
        by_pace = grow_tree(chain, 3)
        published = grow_tree(chain, dataclasses.replace(GrowthSettings.paper(), n_states=3))
        assert by_pace.divided[2] == 3
        assert published.divided[1] == 3
        assert published.leftover == "unassigned"


def hopping_symbols(seed=1):
    """Four animals that hop between two sets of ten microstates every 50 frames, at random within each."""
    rng = np.random.default_rng(seed)
    hidden = np.cumsum(rng.random(8000) < 0.02) % 2
    return symbols_of(rng.integers(0, 10, 8000) + 10 * hidden, 20, individuals=4)


@pytest.fixture(scope="module")
def walked():
    symbols = simulate_symbols(nested_chain(structureless=True), 4000, n_walks=5, rng=3)
    return MarkovChain.from_symbols(symbols, 1.0), symbols


class TestStability:
    def test_true_states_are_found_again_and_others_are_not(self, walked):
        chain, symbols = walked
        tree = grow_tree(chain, GrowthSettings(n_states=7, n_resamples=10), symbols=symbols)
        real = [node for node in range(1, tree.n_nodes) if tree.born[node] <= 4]
        finer = [node for node in range(1, tree.n_nodes) if tree.born[node] > 4]
        assert tree.stability[real].min() > 0.97
        assert tree.stability[finer].min() < 0.6
        assert tree.is_supported[real].all()
        assert not tree.is_supported[finer].any()
        assert tree.split_stability(0) == pytest.approx(tree.stability[[1, 2]].min())
        assert np.isnan(tree.split_stability(tree.n_nodes - 1))

    def test_depends_on_the_seed_alone(self, walked):
        chain, symbols = walked
        trees = [
            grow_tree(chain, GrowthSettings(n_states=5, n_resamples=4, seed=k), symbols=symbols) for k in (1, 1, 2)
        ]
        np.testing.assert_array_equal(trees[0].stability, trees[1].stability)
        assert not np.array_equal(trees[0].stability, trees[2].stability, equal_nan=True)

    def test_none_is_measured_where_none_is_asked_for(self, walked):
        chain, symbols = walked
        tree = grow_tree(chain, GrowthSettings(n_resamples=0), symbols=symbols)
        assert np.isnan(tree.stability).all()
        assert tree.n_supported == 4

    def test_one_animal_is_resampled_in_blocks(self, walked):
        symbols = simulate_symbols(walked[0], 20_000, n_walks=1, rng=4)
        tree = grow_tree(
            MarkovChain.from_symbols(symbols, 1.0), GrowthSettings(n_states=2, n_resamples=5), symbols=symbols
        )
        assert 0.9 < tree.stability[1:].min() <= 1.0

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


def test_the_table_has_a_row_per_node():
    tree = grow_tree(nested_chain(), 4)
    table = tree.table().set_index("node")
    assert len(table) == tree.n_nodes
    leaves = table[table["divided"] < 0]
    np.testing.assert_allclose(leaves["measure"].sum(), 1.0)
    for node in range(1, tree.n_nodes):
        assert node in tree.children(int(table["parent"][node]))
    assert tree.headline() == "4 states of 24 microstates, not tested"
