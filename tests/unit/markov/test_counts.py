"""Transition counts against a plain loop, and connected sets by hand."""

import numpy as np
import pytest
from scipy import sparse

from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov.markov import count_transitions, largest_connected_set
from ethomarkov.states import Symbols


def make(labels, offsets=None, n_states=None):
    labels = np.asarray(labels, dtype=np.int32)
    return Symbols(
        labels=labels,
        n_states=n_states or int(labels.max()) + 1,
        segments=Segments.from_valid(labels >= 0, offsets),
        sampling=Sampling(1.0),
    )


def loop_counts(symbols, lag):
    """Count pairs whose whole stretch is labelled and belongs to one animal."""
    counts = np.zeros((symbols.n_states, symbols.n_states))
    owner = symbols.segments.row_individual
    for first in range(len(symbols.labels) - lag):
        stretch = slice(first, first + lag + 1)
        if (symbols.labels[stretch] >= 0).all() and len(set(owner[stretch])) == 1:
            counts[symbols.labels[first], symbols.labels[first + lag]] += 1
    return counts


def test_by_hand():
    counts = count_transitions(make([0, 1, 1, -1, 0, 1, 0]), 1).toarray()
    np.testing.assert_array_equal(counts, [[0, 2], [1, 1]])


def test_no_pair_across_a_gap_even_if_both_ends_are_there():
    assert count_transitions(make([0, -1, 1]), 2).nnz == 0


def test_no_pair_from_one_animal_to_the_next():
    counts = count_transitions(make([0, 0, 1, 1], np.array([0, 2, 4])), 1).toarray()
    np.testing.assert_array_equal(counts, [[1, 0], [0, 1]])


@pytest.mark.parametrize("lag", [1, 2, 7, 40])
def test_equals_a_loop(lag):
    rng = np.random.default_rng(lag)
    labels = rng.integers(0, 6, 400)
    labels[rng.random(400) < 0.02] = -1
    symbols = make(labels, np.array([0, 90, 250, 250, 400]), n_states=8)
    np.testing.assert_array_equal(count_transitions(symbols, lag).toarray(), loop_counts(symbols, lag))


def test_animals_add_up():
    symbols = make(np.random.default_rng(0).integers(0, 4, 90), np.array([0, 30, 60, 90]))
    parts = sum(count_transitions(symbols.mask(k), 3).toarray() for k in range(3))
    np.testing.assert_array_equal(count_transitions(symbols, 3).toarray(), parts)


def connected(matrix):
    return largest_connected_set(sparse.csr_array(np.array(matrix, dtype=float))).tolist()


def test_states_that_only_lead_in_or_out_are_not_connected():
    # 0 → {1, 2} ⇄, 2 → 3
    assert connected([[0, 5, 0, 0], [0, 0, 1, 0], [0, 1, 0, 9], [0, 0, 0, 9]]) == [1, 2]


def test_the_larger_set_wins_not_the_heavier():
    matrix = np.zeros((5, 5))
    matrix[0, 1] = matrix[1, 0] = 1000
    matrix[2, 3] = matrix[3, 4] = matrix[4, 2] = 1
    assert connected(matrix) == [2, 3, 4]


def test_counts_decide_between_sets_of_equal_size():
    matrix = np.zeros((4, 4))
    matrix[0, 1] = matrix[1, 0] = 1
    matrix[2, 3] = matrix[3, 2] = 2
    assert connected(matrix) == [2, 3]
    assert connected(matrix[::-1, ::-1]) == [0, 1]


def test_unvisited_states_are_not_connected():
    matrix = np.zeros((4, 4))
    matrix[2, 2] = 3
    assert connected(matrix) == [2]
