"""States smoothed in time: against all paths, at gaps, and where the truth is known."""

import itertools

import numpy as np
import pytest
from sklearn.metrics import adjusted_mutual_info_score

from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov.coarse.smoothing import SmoothStates, fit_hidden_chain, smooth_states
from ethomarkov.coarse.smoothing_kernels import pass_over
from ethomarkov.coarse.tree import GrowthSettings, grow_tree
from ethomarkov.exceptions import InputFormatError, SamplingError
from ethomarkov.io.results import load_result, save_results
from ethomarkov.markov import MarkovChain
from ethomarkov.states import DelayEmbedding, Partition, Symbols
from ethomarkov.synthetic.labelled import make_system
from ethomarkov.synthetic.worm import IS_PIROUETTE

RATE, LAG = 16.0, 0.75


def symbols_of(labels, n_states, offsets=None):
    labels = np.asarray(labels, dtype=np.int32)
    segments = Segments.from_valid(labels >= 0, None if offsets is None else np.array(offsets))
    return Symbols(labels=labels, n_states=n_states, segments=segments, sampling=Sampling(RATE))


def two_states(n_frames, rng):
    """Draw two states that last some seconds."""
    states, enter = np.zeros(n_frames, dtype=np.int32), np.array([0.015, 0.975])
    for t in range(1, n_frames):
        states[t] = rng.random() < enter[states[t - 1]]
    return states


def mixed(seed, n_frames=4000, n_kinds=12, blur=0.3, offsets=None):
    """See two states through microstates that occur in both; give them, the states, and the best group of each."""
    rng = np.random.default_rng(seed)
    states = two_states(n_frames, rng)
    law = rng.dirichlet(np.full(n_kinds, blur), 2)
    kinds = (np.cumsum(law, axis=1)[states] < rng.random(n_frames)[:, None]).sum(axis=1).clip(max=n_kinds - 1)
    return symbols_of(kinds, n_kinds, offsets), states, law.argmax(axis=0)


def all_paths(likelihood, start, transition):
    """Add up all paths: probability of every state in every row, expected transitions, log likelihood."""
    n_rows, n = likelihood.shape
    posterior, pairs, total = np.zeros((n_rows, n)), np.zeros((n, n)), 0.0
    for path in itertools.product(range(n), repeat=n_rows):
        weight = start[path[0]] * np.prod(likelihood[np.arange(n_rows), path])
        weight *= np.prod([transition[step] for step in itertools.pairwise(path)])
        total += weight
        for t, state in enumerate(path):
            posterior[t, state] += weight
        for step in itertools.pairwise(path):
            pairs[step] += weight
    return posterior / total, pairs / total, np.log(total)


# --- the passes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_rows", [1, 2, 6])
def test_pass_equals_the_sum_over_all_paths(n_rows):
    rng = np.random.default_rng(n_rows)
    likelihood, start, transition = rng.random((n_rows, 3)), rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), 3)
    found = pass_over(likelihood, np.array([[0, n_rows]]), start, transition)
    for one, exact in zip(found, all_paths(likelihood, start, transition), strict=True):
        np.testing.assert_allclose(one, exact, rtol=1e-12, atol=1e-15)


def test_runs_of_a_pass_know_nothing_of_each_other():
    rng = np.random.default_rng(1)
    likelihood, start, transition = rng.random((7, 2)), rng.dirichlet(np.ones(2)), rng.dirichlet(np.ones(2), 2)
    posterior, pairs, log_likelihood = pass_over(likelihood, np.array([[0, 3], [3, 7]]), start, transition)
    parts = [all_paths(part, start, transition) for part in (likelihood[:3], likelihood[3:])]
    np.testing.assert_allclose(posterior, np.concatenate([part[0] for part in parts]), rtol=1e-12)
    np.testing.assert_allclose(pairs, parts[0][1] + parts[1][1], rtol=1e-12)
    assert log_likelihood == pytest.approx(parts[0][2] + parts[1][2], rel=1e-12)


def test_long_runs_do_not_underflow():
    likelihood = np.full((100_000, 2), 1e-3)
    posterior, _, log_likelihood = pass_over(
        likelihood, np.array([[0, 100_000]]), np.array([0.5, 0.5]), np.full((2, 2), 0.5)
    )
    assert log_likelihood == pytest.approx(100_000 * np.log(1e-3))
    np.testing.assert_allclose(posterior, 0.5)


def test_a_chain_is_found_again():
    """Clouds that hardly overlap: transitions as counted on the hidden states, labels as drawn."""

    class Clouds:
        def __init__(self, values):
            self.values = values

        def fit(self, posterior):
            mean = posterior.T @ self.values / posterior.sum(axis=0)
            return -0.5 * np.square(self.values[:, None] - mean), 0.0

    rng = np.random.default_rng(2)
    states = two_states(30_000, rng)
    values = 4.0 * states + rng.normal(size=states.size)
    fit = fit_hidden_chain(Clouds(values), np.array([10_000, 20_000]), 1 * (values > 3), 2)
    counts = np.zeros((2, 2))
    np.add.at(counts, (states[:-1], states[1:]), 1)
    np.testing.assert_allclose(fit.transition, counts / counts.sum(axis=1, keepdims=True), atol=2e-3)
    assert np.mean(fit.posterior.argmax(axis=1) != states) < 0.01


# --- smoothing -------------------------------------------------------------------------------------------------------


def test_flicker_is_removed_and_stays_remain():
    symbols, states, group = mixed(3)
    found = smooth_states(symbols, group, LAG)
    before, after = (np.mean(one.labels != states) for one in (symbols.relabel(group), found.states))
    assert 0.05 < before < 0.3
    assert after < 0.25 * before


@pytest.mark.parametrize("lag_frames", [1, 3, 12, 48])
@pytest.mark.parametrize("seed", [4, 5])
def test_the_score_never_falls(seed, lag_frames):
    symbols, _, group = mixed(seed, blur=1.0)
    score = smooth_states(symbols, group, lag_frames / RATE).score
    assert score.size > 2
    assert np.diff(score).min() > -1e-12


def test_separable_microstates_keep_their_states():
    states = np.repeat(np.arange(3), 40)[np.tile(np.arange(120), 20)]
    rng = np.random.default_rng(6)
    symbols = symbols_of(4 * states + rng.integers(4, size=states.size), 12)
    group = np.repeat([2, 0, 1], 4)
    found = smooth_states(symbols, group, LAG)
    np.testing.assert_array_equal(found.states.labels, group[symbols.labels])
    assert found.states.n_states == 3
    assert found.probability.min() > 0.5


def test_gaps_and_animals_are_not_crossed():
    """Runs as pieces between gaps, as animals, and in another order: the same; joined, they tell each other."""
    symbols, _, group = mixed(7)
    pieces = symbols.labels.reshape(-1, 20)
    order = np.random.default_rng(7).permutation(len(pieces))
    edges = np.arange(0, symbols.labels.size + 1, 20)
    gaps = symbols_of(np.pad(pieces, ((0, 0), (0, 1)), constant_values=-1).ravel(), symbols.n_states)
    animals = symbols_of(symbols.labels, symbols.n_states, edges)
    other = symbols_of(pieces[order].ravel(), symbols.n_states, edges)
    known = gaps.labels >= 0
    by_gaps, by_animals, shuffled, joined = (smooth_states(one, group, LAG) for one in (gaps, animals, other, symbols))
    np.testing.assert_array_equal(by_gaps.states.labels[known], by_animals.states.labels)
    np.testing.assert_array_equal(by_gaps.probability[known], by_animals.probability)
    in_order = by_animals.probability.reshape(-1, 20)[order].ravel()
    np.testing.assert_allclose(shuffled.probability, in_order, rtol=1e-6)
    assert np.abs(joined.probability - by_animals.probability).max() > 0.1


def test_frames_without_a_state_have_none():
    symbols, _, group = mixed(8)
    labels = symbols.labels.copy()
    labels[100:140] = -1
    group = np.where(np.arange(group.size) == np.bincount(symbols.labels).argmin(), -1, group)
    symbols = symbols_of(labels, symbols.n_states)
    found = smooth_states(symbols, group, LAG)
    missing = symbols.relabel(group).labels < 0
    assert missing.sum() > 40
    np.testing.assert_array_equal(found.states.labels < 0, missing)
    np.testing.assert_array_equal(np.isnan(found.probability), missing)
    np.testing.assert_array_equal(found.states.segments.valid, ~missing)


def test_nothing_gives_nothing():
    found = smooth_states(symbols_of([-1, -1, -1], 2), np.array([0, 1]), LAG)
    assert found.states.labels.tolist() == [-1, -1, -1]
    assert np.isnan(found.probability).all()
    assert found.score.size == 0


def test_states_that_were_not_visited_stay_so():
    symbols, _, group = mixed(9, n_frames=500)
    found = smooth_states(symbols, np.where(group == 1, 2, 0), LAG)
    assert found.states.n_states == 3
    assert set(np.unique(found.states.labels)) == {0, 2}


def test_a_single_state_is_certain():
    found = smooth_states(symbols_of([0, 1, 0, 1], 2), np.array([0, 0]), LAG)
    assert found.states.labels.tolist() == [0, 0, 0, 0]
    np.testing.assert_allclose(found.probability, 1.0)


def test_the_same_again_and_through_a_file(tmp_path):
    symbols, _, group = mixed(10)
    one, other = smooth_states(symbols, group, LAG), smooth_states(symbols, group, LAG)
    save_results(tmp_path / "smoothed.nc", {"smoothed": one}, {})
    for again in (other, load_result(tmp_path / "smoothed.nc", "smoothed", SmoothStates)):
        np.testing.assert_array_equal(again.states.labels, one.states.labels)
        np.testing.assert_array_equal(again.probability, one.probability)
        np.testing.assert_array_equal(again.score, one.score)
    assert not one.probability.flags.writeable


def test_wrong_input_is_told():
    symbols, _, group = mixed(11, n_frames=50)
    with pytest.raises(InputFormatError, match="one group is needed for each of the 12 microstates"):
        smooth_states(symbols, group[:5], LAG)
    with pytest.raises(SamplingError, match="lag"):
        smooth_states(symbols, group, 0.01)


@pytest.mark.seeds
def test_runs_and_pirouettes_are_labelled_better():
    gained = []
    for seed in range(20, 26):
        labelled = make_system("worms", 6, 300.0, seed)
        sequences = DelayEmbedding(11).transform(labelled.series)
        symbols = Partition(190, seed=seed).fit(sequences).label(sequences)
        tree = grow_tree(
            MarkovChain.from_symbols(symbols, LAG), GrowthSettings(n_states=2, n_resamples=0), symbols=symbols
        )
        group, known = tree.states_at(2), symbols.segments.valid
        truth = IS_PIROUETTE[labelled.states][known]
        found = symbols.relabel(group), smooth_states(symbols, group, LAG).states
        before, after = (adjusted_mutual_info_score(truth, one.labels[known]) for one in found)
        gained.append(after - before)
    assert np.mean(gained) > 0.01
    assert min(gained) > -0.02
