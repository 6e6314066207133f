import numpy as np
import pytest
from scipy import sparse

from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov._core.series import Series
from ethomarkov.exceptions import InputFormatError, SamplingError
from ethomarkov.markov.chain import MarkovChain
from ethomarkov.simulation.symbols import simulate_symbols
from ethomarkov.states.symbols import Symbols
from ethomarkov.validation.held_out import SmoothChain, held_out_symbols, predict_held_out, score_transitions
from ethomarkov.validation.splits import FitSettings, leave_out_splits

KNOWN = np.array([[0.8, 0.15, 0.05], [0.1, 0.7, 0.2], [0.3, 0.1, 0.6]])


def walk_of(matrix, n_steps, seed, interval=1.0):
    chain = MarkovChain.from_counts(sparse.csr_array(matrix), interval)
    return simulate_symbols(chain, n_steps * interval, rng=seed)


def mutual_information(matrix, n_steps):
    """I(X_t; X_{t+n}) in bits, from the powers of the matrix."""
    law = np.linalg.matrix_power(matrix, 200)[0]
    power = np.linalg.matrix_power(matrix, n_steps)
    return float((law[:, None] * power * np.log2(power / law)).sum())


@pytest.mark.parametrize("n_steps", [1, 3])
def test_the_gain_over_a_memoryless_null_is_the_mutual_information(n_steps):
    train, test = (walk_of(KNOWN, 200_000, seed, interval=0.5) for seed in (1, 2))
    lag = 0.5 * n_steps
    score = score_transitions(train, test, lag)
    expected = mutual_information(KNOWN, n_steps) / lag
    # Standard error of a mean of 200,000 log ratios whose spread is about one bit and which are correlated: 0.005.
    assert score.chain - score.memoryless == pytest.approx(expected, abs=0.015)
    assert score.chain - score.shuffled == pytest.approx(expected, abs=0.015)
    assert score.trained == pytest.approx(expected, abs=0.015)


def test_the_likelihoods_agree_with_a_loop_over_transitions():
    train, test = walk_of(KNOWN, 60, 1), walk_of(KNOWN, 50, 2)
    lag, alpha = 2.0, 2 * 0.5  # half a transition, counted from each of two frames
    counts, visits = np.zeros((3, 3)), np.bincount(train.labels, minlength=3)
    for a, b in zip(train.labels[:-2], train.labels[2:], strict=True):
        counts[a, b] += 1
    occupancy = (visits + alpha / 3) / (60 + alpha)
    rows = (counts + alpha * occupancy) / (counts.sum(axis=1, keepdims=True) + alpha)
    pairs = list(zip(test.labels[:-2], test.labels[2:], strict=True))
    score = score_transitions(train, test, lag, smoothing=0.5)
    assert score.chain == pytest.approx(np.mean([np.log2(rows[a, b]) for a, b in pairs]) / lag, rel=1e-12)
    assert score.memoryless == pytest.approx(np.mean([np.log2(occupancy[b]) for _, b in pairs]) / lag, rel=1e-12)
    assert score.n_pairs == 48
    np.testing.assert_allclose(rows.sum(axis=1), 1.0)


def test_independent_symbols_lose_what_is_spent_on_estimating_rows():
    # A row of S probabilities from n/S transitions costs (S − 1) S / 2n nats, the null (S − 1) / 2n: the gain of S
    # rows over it is −(S − 1)² / 2n.
    rng = np.random.default_rng(0)
    n, gains = 2000, []
    for _ in range(60):
        train, test = symbols_of(rng.integers(4, size=n)), symbols_of(rng.integers(4, size=n))
        score = score_transitions(train, test, 1.0)
        gains.append(score.chain - score.memoryless)
    expected = -9 / (2 * n * np.log(2))
    error = np.std(gains, ddof=1) / np.sqrt(60)
    assert error < 0.2 * abs(expected)
    assert np.mean(gains) == pytest.approx(expected, abs=3 * error)


def symbols_of(labels, n_states=4):
    labels = np.asarray(labels, dtype=np.int32)
    segments = Segments.from_valid(labels >= 0)
    return Symbols(labels=labels, n_states=n_states, segments=segments, sampling=Sampling(1.0))


def test_a_state_that_was_never_left_tells_nothing_and_unseen_transitions_are_possible():
    train = symbols_of([0, 1, 0, 1, 0, -1, 2])
    test = symbols_of([2, 0, -1, 1, 3])
    score = score_transitions(train, test, 1.0)
    assert score.unseen == 1.0
    assert np.isfinite(score.chain)
    chain = SmoothChain.from_symbols(train, 1.0, 1.0)
    every = np.arange(4)
    np.testing.assert_allclose(chain.log2_probability(np.full(4, 2), every), chain.log2_occupancy(every))
    for state in every:
        assert np.exp2(chain.log2_probability(np.full(4, state), every)).sum() == pytest.approx(1.0)


def test_bad_requests_are_refused():
    train, test = symbols_of([0, 1, 0, 1]), symbols_of([0, 1, 0])
    with pytest.raises(SamplingError, match="longest gap-free stretch is 3 s"):
        score_transitions(train, test, 3.0)
    with pytest.raises(InputFormatError, match="smoothing=0"):
        score_transitions(train, test, 1.0, smoothing=0.0)
    with pytest.raises(InputFormatError, match="same partition"):
        score_transitions(train, symbols_of([0, 1], n_states=2), 1.0)


def animals_of(matrices, n_frames=3000, order=None):
    """Animals at points of space, one for each state of their chain."""
    points = np.array([[0.0, 0.0], [5.0, 0.0], [0.0, 9.0]])
    order = range(len(matrices)) if order is None else order
    rows = [points[walk_of(matrices[k], n_frames, k).labels] for k in order]
    names = tuple(f"animal {k}" for k in order)
    return Series.from_rows(np.concatenate(rows), 1.0, np.arange(len(rows) + 1) * n_frames, names)


RULE = FitSettings(n_delays=1, n_states=3, lag=1.0)
UNEQUAL = [KNOWN, KNOWN.T / KNOWN.T.sum(axis=1, keepdims=True), np.full((3, 3), 1 / 3), KNOWN @ KNOWN]


def test_permuted_animals_give_permuted_results():
    order = [2, 0, 3, 1]
    straight = predict_held_out(animals_of(UNEQUAL), RULE)
    permuted = predict_held_out(animals_of(UNEQUAL, order=order), RULE)
    assert permuted.names == tuple(straight.names[k] for k in order)
    for name in ("chain", "memoryless", "trained", "unseen"):
        np.testing.assert_allclose(getattr(permuted, name), getattr(straight, name)[order], rtol=1e-12)
    assert np.ptp(straight.gain()) > 0.1
    assert straight.over == "animals"


def test_animals_alike_gain_the_mutual_information_and_a_single_one_is_cut_into_blocks():
    found = predict_held_out(animals_of([KNOWN] * 4), RULE)
    interval = found.mean_gain()
    assert interval.estimate == pytest.approx(mutual_information(KNOWN, 1), abs=0.05)
    assert interval.low < interval.estimate < interval.high
    assert "4 animals" in found.explain()
    np.testing.assert_allclose(found.table().gain_over_memoryless, found.gain())
    assert found.table().held_out.tolist() == list(found.names)
    assert found.headline().startswith(f"{found.gain().mean():.3g} bit/s more than occupancy alone")
    single = predict_held_out(animals_of([KNOWN], n_frames=12_000), RULE, n_blocks=6)
    assert single.over == "blocks"
    assert single.names[0] == "block 1 of 6"
    np.testing.assert_array_equal(single.n_pairs, 1999)
    assert single.mean_gain().estimate == pytest.approx(mutual_information(KNOWN, 1), abs=0.05)


def test_nothing_leaks_from_the_animal_that_is_held_out():
    postures = animals_of([KNOWN] * 3, n_frames=500)
    noisy = postures.with_rows(postures.values + np.random.default_rng(0).normal(0, 2.0, postures.values.shape))
    rows = np.array(noisy.values)
    rows[:500] = 1e6
    spoiled = noisy.with_rows(rows)
    fit = FitSettings(n_delays=2, n_states=12, lag=1.0)
    split = leave_out_splits(noisy.segments)[0]
    (train, test), (train_again, spoiled_test) = (held_out_symbols(one, fit, split) for one in (noisy, spoiled))
    kept = train.segments.valid
    np.testing.assert_array_equal(train.labels[kept], train_again.labels[kept])
    assert not kept[:500].any()
    assert not test.segments.valid[500:].any()
    assert (test.labels != spoiled_test.labels).any()
    clean, dirty = (score_transitions(train, one, 1.0) for one in (test, spoiled_test))
    assert clean.trained == dirty.trained
    whole, other = predict_held_out(noisy, fit), predict_held_out(spoiled, fit)
    assert whole.trained[0] == other.trained[0]
    assert whole.trained[1] != other.trained[1]  # where it was learned from
