"""VAMP-2 scores of microstates, on the same data and on data held out."""

import numpy as np
import pytest
from scipy import sparse

from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov.exceptions import EthomarkovError
from ethomarkov.markov import count_transitions
from ethomarkov.markov.vamp import cross_validated_vamp2, vamp2_score
from ethomarkov.states import Symbols
from ethomarkov.synthetic import hopping_chain


def singular_values(counts):
    """Of the counts whitened by the root of their row and column sums, over the states that occur."""
    counts = counts.toarray() if sparse.issparse(counts) else counts
    rows, columns = counts.sum(axis=1), counts.sum(axis=0)
    inner = counts[np.ix_(rows > 0, columns > 0)]
    return np.linalg.svd(inner / np.sqrt(np.outer(rows[rows > 0], columns[columns > 0])), compute_uv=False)


def symbols_of(labels, offsets=None, n_states=None):
    labels = np.asarray(labels, dtype=np.int32)
    return Symbols(
        labels=labels,
        n_states=n_states or int(labels.max()) + 1,
        segments=Segments.from_valid(labels >= 0, offsets),
        sampling=Sampling(1.0),
    )


def slow_matrix(n_sets=3, n_inner=6, leave=0.02):
    """Slow hops between sets whose microstates are drawn afresh at every step: as many slow modes as sets."""
    hidden = (1 - leave) * np.eye(n_sets) + leave / n_sets
    return np.kron(hidden / hidden.sum(axis=1, keepdims=True), np.full((n_inner, n_inner), 1 / n_inner))


class TestTraining:
    @pytest.mark.parametrize("n_states", [12, 40, 80])
    @pytest.mark.parametrize("n_modes", [1, 3, 10])
    def test_is_the_sum_of_squared_singular_values(self, n_states, n_modes):
        matrix = np.random.default_rng(0).random((n_states, n_states)) ** 6
        counts = count_transitions(hopping_chain(matrix / matrix.sum(axis=1, keepdims=True), 3000, rng=1), 1)
        expected = np.square(singular_values(counts)[:n_modes]).sum()
        assert vamp2_score(counts, counts, n_modes) == pytest.approx(expected, rel=1e-8)

    @pytest.mark.parametrize("leave", [0.01, 0.2])
    def test_two_states_by_hand(self, leave):
        """A symmetric chain: singular values one and 1 − 2a, so that the score is 1 + (1 − 2a)²."""
        counts = sparse.csr_array(1000 * np.array([[1 - leave, leave], [leave, 1 - leave]]))
        assert vamp2_score(counts, counts) == pytest.approx(1 + (1 - 2 * leave) ** 2)

    def test_all_modes_of_a_few_states(self):
        counts = sparse.csr_array(np.random.default_rng(0).integers(1, 20, (5, 5)).astype(float))
        assert vamp2_score(counts, counts, 10) == pytest.approx(np.square(singular_values(counts)).sum())

    def test_one_state_is_the_constant_mode(self):
        counts = sparse.csr_array(np.array([[7.0]]))
        assert vamp2_score(counts, counts) == pytest.approx(1)

    def test_states_that_never_occur_change_nothing(self):
        inner = np.random.default_rng(0).integers(1, 20, (5, 5)).astype(float)
        padded = np.zeros((9, 9))
        padded[np.ix_([0, 2, 3, 5, 8], [0, 2, 3, 5, 8])] = inner
        small, large = (sparse.csr_array(matrix) for matrix in (inner, padded))
        assert vamp2_score(large, large, 3) == pytest.approx(vamp2_score(small, small, 3))

    def test_a_permutation_keeps_everything(self):
        counts = sparse.csr_array(10.0 * np.roll(np.eye(12), 1, axis=1))
        assert vamp2_score(counts, counts, 4) == pytest.approx(4)

    def test_independent_draws_keep_the_constant_alone(self):
        counts = sparse.csr_array(np.outer([1.0, 2, 3, 4], [4.0, 3, 2, 1]))
        assert vamp2_score(counts, counts, 3) == pytest.approx(1)


class TestHeldOut:
    def test_not_above_training_on_average(self):
        matrix = slow_matrix(n_inner=20)
        train, test = [], []
        for seed in range(8):
            one, two = (count_transitions(hopping_chain(matrix, 1500, rng=seed + shift), 1) for shift in (0, 100))
            train.append(vamp2_score(one, one, 5))
            test.append(vamp2_score(one, two, 5))
        assert np.mean(test) < np.mean(train)

    @pytest.mark.parametrize("n_modes", [1, 3, 6])
    @pytest.mark.parametrize("n_inner", [6, 25])
    def test_between_one_and_the_number_of_modes(self, n_modes, n_inner):
        """Over data long enough for every state to occur in every block."""
        symbols = hopping_chain(slow_matrix(n_inner=n_inner), 4000, rng=0)
        scores = cross_validated_vamp2(symbols, 1.0, n_modes=n_modes)
        assert scores.shape == (5,)
        assert (scores >= 1 - 1e-9).all()
        assert (scores <= n_modes + 1e-9).all()

    def test_finds_the_slow_modes(self):
        """Three sets: the constant and two modes of λ = 1 − a that carry over; what is beyond is noise."""
        symbols = hopping_chain(slow_matrix(), 12_000, rng=0)
        score = cross_validated_vamp2(symbols, 1.0, n_modes=3).mean()
        assert score == pytest.approx(1 + 2 * 0.98**2, abs=0.08)

    def test_a_finer_partition_of_noise_does_not_gain(self):
        """In training it does: every microstate brings a chance correlation."""
        rng = np.random.default_rng(0)
        fine = rng.integers(0, 64, 4000)
        held_out, training = {}, {}
        for n_states in (4, 16, 64):
            symbols = symbols_of(fine * n_states // 64)
            held_out[n_states] = cross_validated_vamp2(symbols, 1.0, n_modes=3).mean()
            counts = count_transitions(symbols, 1)
            training[n_states] = vamp2_score(counts, counts, 3)
        assert training[64] > training[16] > training[4]
        assert all(abs(score - 1) < 0.02 for score in held_out.values())

    def test_a_finer_partition_of_noise_within_slow_sets_does_not_gain(self):
        hidden = hopping_chain(slow_matrix(n_inner=1), 6000, rng=0).labels
        rng = np.random.default_rng(1)
        coarse = symbols_of(hidden * 4 + rng.integers(0, 4, hidden.size))
        fine = symbols_of(hidden * 40 + rng.integers(0, 40, hidden.size))
        one, other = (cross_validated_vamp2(symbols, 1.0, n_modes=6).mean() for symbols in (coarse, fine))
        assert other < one + 0.02

    def test_blocks_are_contiguous_and_share_no_pair(self):
        """By hand: blocks of ten frames, nine pairs each."""
        labels = np.random.default_rng(0).integers(0, 3, 50)
        scores = cross_validated_vamp2(symbols_of(labels), 1.0, n_blocks=5, n_modes=2)
        blocks = [count_transitions(symbols_of(part, n_states=3), 1) for part in labels.reshape(5, 10)]
        for k, score in enumerate(scores):
            train = sum((block for j, block in enumerate(blocks) if j != k), sparse.csr_array((3, 3)))
            assert score == pytest.approx(vamp2_score(sparse.csr_array(train), blocks[k], 2))

    def test_every_animal_is_divided(self):
        labels = np.random.default_rng(0).integers(0, 3, 90)
        pooled = cross_validated_vamp2(symbols_of(labels, offsets=np.array([0, 30, 90])), 1.0, n_blocks=3, n_modes=2)
        parts = [[labels[10 * k : 10 * k + 10], labels[30 + 20 * k : 50 + 20 * k]] for k in range(3)]
        blocks = [sum(count_transitions(symbols_of(p, n_states=3), 1) for p in pair) for pair in parts]
        expected = vamp2_score(sparse.csr_array(blocks[1] + blocks[2]), sparse.csr_array(blocks[0]), 2)
        assert pooled[0] == pytest.approx(expected)

    def test_blocks_too_short_for_the_lag(self):
        with pytest.raises(EthomarkovError):
            cross_validated_vamp2(symbols_of(np.arange(13) % 2), 4.0)

    def test_the_same_answer_twice(self):
        symbols = hopping_chain(slow_matrix(n_inner=25), 3000, rng=0)
        np.testing.assert_array_equal(cross_validated_vamp2(symbols, 1.0), cross_validated_vamp2(symbols, 1.0))
