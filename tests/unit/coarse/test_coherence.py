"""The coherence of cuts against submatrices, and cuts of chains whose answer is plain."""

import numpy as np
import pytest
from scipy import sparse
from scipy.signal import find_peaks

from ethomarkov.coarse import best_cut
from ethomarkov.coarse.coherence import FLAT, Flux, coherence_along, cut_along, cut_at, list_cuts, published_cut
from ethomarkov.exceptions import ConnectivityError
from ethomarkov.markov import MarkovChain


def chain_of(matrix, lag=1.0):
    return MarkovChain.from_counts(sparse.csr_array(np.asarray(matrix, dtype=float)), lag)


def random_matrix(n, seed=0):
    matrix = np.random.default_rng(seed).random((n, n)) ** 6
    return matrix / matrix.sum(axis=1, keepdims=True)


def stays(chain, members):
    """Share of a set's probability that is still in it after one lag."""
    P, pi = chain.transition.toarray(), chain.stationary
    return (pi[members] @ P[np.ix_(members, members)]).sum() / pi[members].sum()


def brute_force(chain, phi):
    thresholds = np.unique(phi)[1:]
    return thresholds, np.array([min(stays(chain, phi >= c), stays(chain, phi < c)) for c in thresholds])


def explained(chain, phi, upper):
    """Share of the variance of a mode between two sets."""
    mean = chain.stationary @ phi
    of_sets = [np.average(phi[upper == side], weights=chain.stationary[upper == side]) for side in (0, 1)]
    return chain.stationary @ (np.take(of_sets, upper) - mean) ** 2 / (chain.stationary @ (phi - mean) ** 2)


def blocks(sizes, leave, seed=0):
    """Metastable blocks in a ring: each is left with its own probability, to the next one."""
    matrix = np.zeros((sum(sizes), sum(sizes)))
    edges = np.concatenate([[0], np.cumsum(sizes)])
    for k, size in enumerate(sizes):
        rows = slice(edges[k], edges[k + 1])
        matrix[rows, rows] = random_matrix(size, seed + k) * (1 - leave[k])
        matrix[rows, edges[(k + 1) % len(sizes)]] += leave[k]
    return matrix


class TestCurve:
    @pytest.mark.parametrize("seed", range(4))
    def test_equals_submatrices(self, seed):
        chain = chain_of(random_matrix(25, seed))
        phi = np.random.default_rng(seed).normal(size=25)
        for found, expected in zip(coherence_along(phi, chain), brute_force(chain, phi), strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-12)

    def test_states_of_equal_phi_stay_together(self):
        chain = chain_of(random_matrix(12))
        phi = np.repeat([0.3, -0.2, 0.3, 1.0], 3)
        thresholds, curve = coherence_along(phi, chain)
        assert thresholds.tolist() == [0.3, 1.0]
        np.testing.assert_allclose(curve, brute_force(chain, phi)[1], atol=1e-12)

    def test_the_reversibilised_chain_has_the_same_curve(self):
        """In the stationary law as much leaves a set as enters it, so time reversal changes no coherence."""
        chain = chain_of(random_matrix(15))
        phi = np.linspace(0, 1, 15)
        np.testing.assert_allclose(
            coherence_along(phi, chain)[1], coherence_along(phi, chain.reversibilized())[1], atol=1e-12
        )

    def test_two_states_by_hand(self):
        thresholds, curve = coherence_along(np.array([-1.0, 2.0]), chain_of([[0.9, 0.1], [0.3, 0.7]]))
        assert thresholds.tolist() == [2.0]
        np.testing.assert_allclose(curve, [0.7])

    def test_rare_states_keep_their_digits(self):
        """Coherence is a share, also where a set holds 1e-8 of the time."""
        chain = chain_of([[1 - 1e-8, 1e-8, 0], [0.5, 0.0, 0.5], [0, 0.75, 0.25]])
        phi = np.array([0.0, 1.0, 2.0])
        np.testing.assert_allclose(coherence_along(phi, chain)[1], brute_force(chain, phi)[1], rtol=1e-6)

    @pytest.mark.parametrize("seed", range(4))
    def test_persistence_is_the_eigenvalue_of_the_two_sets(self, seed):
        """Lumped to two states, a chain has the eigenvalues 1 and λ_c."""
        chain = chain_of(random_matrix(20, seed))
        phi = np.random.default_rng(seed).normal(size=20)
        cuts = list_cuts(phi, Flux.from_chain(chain))
        flux = np.diag(chain.stationary) @ chain.transition.toarray()
        for k, threshold in enumerate(cuts.thresholds):
            sets = np.stack([phi < threshold, phi >= threshold]).astype(float)
            lumped = sets @ flux @ sets.T
            eigenvalues = np.sort(np.linalg.eigvals(lumped / lumped.sum(axis=1, keepdims=True)).real)
            assert cuts.persistence[k] == pytest.approx(eigenvalues[0], abs=1e-12)
            assert cuts.measure[k] == pytest.approx(chain.stationary[phi >= threshold].sum())
            assert cuts.explained[k] == pytest.approx(explained(chain, phi, (phi >= threshold).astype(int)))

    def test_score_of_two_values(self):
        """A mode of two values is explained by its two sets: the score is the persistence."""
        cuts = list_cuts(np.array([-1.0, 2.0]), Flux.from_chain(chain_of([[0.9, 0.1], [0.3, 0.7]])))
        np.testing.assert_allclose(cuts.explained, [1.0])
        np.testing.assert_allclose(cuts.score, [0.6])

    def test_score_of_an_even_line(self):
        """Cut in the middle, a variable that is spread evenly is explained to three quarters."""
        cuts = list_cuts(np.arange(400.0), Flux.from_chain(chain_of(np.ones((400, 400)))))
        assert cuts.explained.max() == pytest.approx(0.75, abs=1e-4)
        assert cuts.thresholds[cuts.explained.argmax()] == 200

    def test_symmetric_counts_are_a_flux(self):
        counts = random_matrix(9) * 50
        flux = Flux.from_counts(sparse.csr_array(counts))
        np.testing.assert_allclose(flux.matrix.toarray(), (counts + counts.T) / (2 * counts.sum()))
        np.testing.assert_allclose(flux.measure, flux.matrix.toarray().sum(axis=0))


class TestBestCut:
    def test_two_blocks_are_told_apart(self):
        chain = chain_of(blocks([30, 20], [0.02, 0.05]))
        cut = best_cut(chain)
        assert cut.upper.tolist() == [0] * 30 + [1] * 20
        assert cut.coherence == pytest.approx(min(stays(chain, cut.upper == 1), stays(chain, cut.upper == 0)))
        assert cut.coherence == pytest.approx(0.95, abs=1e-9)
        assert cut.mode == 2

    def test_fields_belong_together(self):
        chain = chain_of(random_matrix(40))
        cut = best_cut(chain, min_measure=0.0)
        np.testing.assert_array_equal(cut.upper, cut.phi >= cut.threshold)
        assert cut.threshold == cut.thresholds[cut.curve.argmax()]
        sets = [stays(chain, cut.upper == side) for side in (0, 1)]
        assert cut.coherence == pytest.approx(min(sets), abs=1e-12)
        assert cut.persistence == pytest.approx(sum(sets) - 1, abs=1e-12)
        assert cut.curve.max() == pytest.approx(cut.persistence * explained(chain, cut.phi, cut.upper), abs=1e-12)
        dense = np.sort(np.linalg.eigvals(chain.reversibilized().transition.toarray()).real)
        assert cut.eigenvalue == pytest.approx(dense[-2], abs=1e-9)

    def test_the_upper_set_holds_less_of_the_time(self):
        for leave in ([0.01, 0.04], [0.04, 0.01]):
            cut = best_cut(chain_of(blocks([15, 15], leave)))
            chain = chain_of(blocks([15, 15], leave))
            assert chain.stationary[cut.upper == 1].sum() < 0.3

    def test_a_rare_set_is_passed_over(self):
        """Blocks of 0.5 and 0.5, and a corner that is hardly ever entered and even less left."""
        matrix = np.zeros((42, 42))
        matrix[:40, :40] = blocks([20, 20], [0.02, 0.02])
        matrix[40:, 40:] = [[0.5, 0.5], [0.5, 0.5]]
        matrix[5] *= 1 - 1e-4
        matrix[5, 40] = 1e-4
        matrix[40:] *= 1 - 1e-3
        matrix[40:, 5] += 1e-3
        chain = chain_of(matrix)
        corner = chain.stationary[40:].sum()
        assert 0 < corner < 0.02
        published = best_cut(chain, min_measure=0.0)
        assert np.flatnonzero(published.upper).tolist() == [40, 41]
        assert published.mode == 2
        cut = best_cut(chain)
        assert cut.mode == 3
        assert len(set(cut.upper[:20])) == 1
        assert len(set(cut.upper[20:40])) == 1
        assert cut.upper[0] != cut.upper[20]
        assert cut.eigenvalue < published.eigenvalue

    def test_the_slow_mode_is_cut_though_a_faster_one_is_better_explained(self):
        """Three groups: a walk along a line that loses its memory late, and a pair of states that are told apart well.

        The share of a mode that two sets explain places the cut along a mode; it does not choose the mode.
        """
        line = np.diag(np.full(30, 0.98)) + 0.01 * (np.eye(30, k=1) + np.eye(30, k=-1))
        line[[0, -1], [0, -1]] += 0.01
        pair = np.array([[0.94, 0.06], [0.06, 0.94]])
        chain = chain_of(np.kron(line, pair))
        cut = best_cut(chain)
        assert cut.mode == 2
        assert cut.upper.reshape(30, 2).std(axis=1).max() == 0  # the pair is not told apart
        assert cut.upper[:30].mean() in {0.0, 1.0}
        along_pair = cut_along(Flux.from_chain(chain), np.tile([-1.0, 1.0], 30), 0.88, 3)
        assert along_pair.curve.max() > cut.curve.max()
        assert along_pair.persistence < cut.persistence

    def test_a_known_cut_is_described_as_it_was(self):
        chain = chain_of(blocks([12, 9], [0.1, 0.12]))
        cut = best_cut(chain)
        again = cut_at(chain, cut.phi, cut.threshold, cut.eigenvalue, cut.mode)
        assert (again.coherence, again.persistence, again.undecided) == (cut.coherence, cut.persistence, cut.undecided)
        np.testing.assert_array_equal(again.upper, cut.upper)

    def test_no_cut_is_large_enough(self):
        with pytest.raises(ConnectivityError, match="each hold 60%"):
            best_cut(chain_of(random_matrix(20)), min_measure=0.6)

    def test_one_state(self):
        with pytest.raises(ConnectivityError, match="one state"):
            best_cut(chain_of([[1.0]]))


def published_search(chain, phi):
    """The published loop (method 6.2), one submatrix per candidate: threshold, coherence and labels, or None."""
    candidates = np.sort(phi)[1:-1]
    coherence = np.array([min(stays(chain, phi <= c), stays(chain, phi > c)) for c in candidates])
    peaks, _ = find_peaks(coherence, height=0.5)
    if peaks.size == 0:
        return None
    best = peaks[np.argmax(coherence[peaks])]
    return candidates[best], coherence[best], phi >= candidates[best]


class TestPublishedRule:
    def test_equals_the_published_loop(self):
        found = missing = 0
        for seed in range(60):
            sizes, leave = (9, 7, 6), (0.1, 0.15 + 0.01 * seed, 0.3)
            chain = chain_of(blocks(sizes, leave, seed) if seed % 2 else random_matrix(6, seed))
            phi = best_cut(chain, min_measure=0.0).phi
            expected = published_search(chain, phi)
            if expected is None:
                missing += 1
                with pytest.raises(ConnectivityError, match="no interior peak"):
                    best_cut(chain, min_measure=0.0, rule="paper")
                continue
            found += 1
            cut = best_cut(chain, min_measure=0.0, rule="paper")
            assert cut.threshold == expected[0]
            assert cut.coherence == pytest.approx(expected[1], abs=1e-12)
            np.testing.assert_array_equal(cut.upper == 1, expected[2])
        assert found >= 20
        assert missing >= 5

    def test_one_state_lies_between_the_sets_searched_and_the_sets_labelled(self):
        chain = chain_of(blocks([30, 20], [0.02, 0.05]))
        best, paper = best_cut(chain), best_cut(chain, rule="paper")
        assert paper.coherence == best.coherence
        moved = np.flatnonzero(paper.upper != best.upper)
        assert moved.tolist() == [int(np.where(best.upper == 0, best.phi, -np.inf).argmax())]

    def test_a_curve_without_a_peak(self):
        """Coherence grows to the end: the last state alone stays put."""
        chain = chain_of([[0.5, 0.5, 0, 0], [0.4, 0.2, 0.4, 0], [0, 0.45, 0.45, 0.1], [0, 0, 0.02, 0.98]])
        phi = np.arange(4.0)
        with pytest.raises(ConnectivityError, match='rule="best"'):
            published_cut(Flux.from_chain(chain), phi, 0.5, 2)
        cut = cut_along(Flux.from_chain(chain), phi, 0.5, 2)
        assert cut.upper.tolist() == [0, 0, 0, 1]
        assert not cut.is_interior


class TestTies:
    """Without memory no set persists: all cuts are equally bad, whatever they explain."""

    LAW = np.array([0.1, 0.15, 0.3, 0.2, 0.25])

    @pytest.fixture
    def cut(self):
        flux = Flux.from_chain(chain_of(np.tile(self.LAW, (5, 1))))
        return cut_along(flux, np.array([-2.0, -1.0, 0.5, 1.0, 2.0]), 0.0, 2)

    def test_the_more_even_of_equal_cuts_is_taken(self, cut):
        np.testing.assert_allclose(cut.curve, 0, atol=1e-12)
        assert cut.upper.tolist() == [0, 0, 0, 1, 1]  # 0.55 and 0.45

    def test_all_cuts_being_equal_none_is_decided(self, cut):
        assert (cut.flat_from, cut.flat_to) == (cut.thresholds[0], cut.thresholds[-1])
        assert cut.undecided == pytest.approx(1 - 0.1 - 0.25)  # only the two ends never change sides
        assert not cut.is_interior

    def test_no_set_is_too_small(self):
        flux = Flux.from_chain(chain_of(np.tile(self.LAW, (5, 1))))
        phi = np.arange(5.0)
        assert cut_along(flux, phi, 0.0, 2, min_measure=0.449).upper.tolist() == [0, 0, 0, 1, 1]
        assert cut_along(flux, phi, 0.0, 2, min_measure=0.451) is None

    @pytest.mark.parametrize("seed", range(5))
    def test_mirror_images_are_cut_in_the_middle(self, seed):
        """Two blocks, the second the mirror image of the first: so are the sets, and the curve."""
        block = random_matrix(10, seed) * 0.96
        matrix = np.block([[block, np.zeros((10, 10))], [np.zeros((10, 10)), block[::-1, ::-1]]])
        matrix[:10, 10] += 0.04
        matrix[10:, 9] += 0.04
        cut = best_cut(chain_of(matrix))
        np.testing.assert_array_equal(cut.upper, 1 - cut.upper[::-1])
        np.testing.assert_allclose(cut.curve, cut.curve[::-1], atol=1e-9)
        assert cut.is_interior


class TestHowWellTheCutIsKnown:
    @pytest.mark.parametrize("seed", range(8))
    def test_flat_stretch_by_brute_force(self, seed):
        """Walk from the best cut to either side while the score holds; who changes sides on the way is undecided."""
        chain = chain_of(blocks([12, 9], [0.1, 0.1 + 0.02 * seed], seed) + 0.002)
        cut = best_cut(chain)
        best = int(cut.curve.argmax())
        near = [best]
        while near[0] > 0 and cut.curve[near[0] - 1] >= cut.curve[best] - FLAT:
            near.insert(0, near[0] - 1)
        while near[-1] + 1 < cut.curve.size and cut.curve[near[-1] + 1] >= cut.curve[best] - FLAT:
            near.append(near[-1] + 1)
        sides = np.array([cut.phi >= cut.thresholds[k] for k in near])
        changes = sides.any(axis=0) & ~sides.all(axis=0)
        assert (cut.flat_from, cut.flat_to) == (cut.thresholds[near[0]], cut.thresholds[near[-1]])
        assert cut.undecided == pytest.approx(chain.stationary[changes].sum(), abs=1e-12)
        lower = cut.curve < cut.curve[best] - 1e-12
        assert cut.is_interior == bool(lower[:best].any() and lower[best + 1 :].any())

    def test_a_sharp_border_is_decided(self):
        cut = best_cut(chain_of(blocks([30, 20], [0.02, 0.05])))
        assert cut.undecided == 0
        assert cut.flat_from == cut.flat_to == cut.threshold

    def test_a_smooth_border_is_not(self):
        """A walk on a line without any barrier: several cuts near the middle are as good."""
        step = np.eye(41, k=1) + np.eye(41, k=-1) + 8 * np.eye(41)
        cut = best_cut(chain_of(step))
        assert cut.undecided > 0.05
        assert cut.flat_from < 0 < cut.flat_to  # both sides of the middle
        assert cut.is_interior
