"""Slow modes in every frame, and the chains of single animals."""

import numpy as np
import pytest

from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov.markov import MarkovChain
from ethomarkov.markov.slow_modes import SlowModes, animal_chains
from ethomarkov.states import Symbols

RATE, LAG = 4.0, 0.25


def walk(n_frames: int, leave: float, seed: int) -> np.ndarray:
    """Two states that are left with the same probability."""
    jumps = np.random.default_rng(seed).random(n_frames) < leave
    return np.cumsum(jumps) % 2


def symbols_of(*animals: np.ndarray, n_states: int = 2) -> Symbols:
    labels = np.concatenate(animals).astype(np.int32)
    offsets = np.concatenate([[0], np.cumsum([len(one) for one in animals])])
    segments = Segments.from_valid(labels >= 0, offsets=offsets)
    return Symbols(labels=labels, n_states=n_states, segments=segments, sampling=Sampling(RATE))


def test_two_states_have_one_mode_that_takes_two_values():
    """λ = 1 − a − b, t = −τ / ln λ."""
    symbols = symbols_of(walk(4000, 0.1, 0))
    chain = MarkovChain.from_symbols(symbols, LAG)
    found = SlowModes.from_chain(symbols, chain, 4)
    a, b = chain.transition.toarray()[[0, 1], [1, 0]]
    assert found.values.shape == (4000, 1)
    np.testing.assert_allclose(found.relaxation_times, [-LAG / np.log(1 - a - b)])
    low, high = (np.unique(found.values[symbols.labels == k, 0]) for k in (0, 1))
    assert low.size == high.size == 1
    assert low[0] * high[0] < 0


def test_modes_come_slowest_first_and_as_many_as_there_are():
    rng = np.random.default_rng(3)
    symbols = symbols_of(np.repeat(rng.integers(0, 5, 2000), rng.integers(1, 9, 2000)), n_states=5)
    chain = MarkovChain.from_symbols(symbols, LAG)
    many, two = SlowModes.from_chain(symbols, chain, 9), SlowModes.from_chain(symbols, chain, 2)
    assert many.relaxation_times.shape == (4,)
    assert (np.diff(many.relaxation_times) <= 0).all()
    np.testing.assert_allclose(two.relaxation_times, many.relaxation_times[:2])
    np.testing.assert_allclose(two.values, many.values[:, :2], atol=1e-8)


def test_frames_without_a_microstate_of_the_chain_have_no_value():
    labels = walk(1000, 0.2, 1)
    labels[100:120] = -1
    labels[-1] = 2  # entered once and never left
    symbols = symbols_of(labels, n_states=3)
    chain = MarkovChain.from_symbols(symbols, LAG)
    found = SlowModes.from_chain(symbols, chain, 1)
    assert list(chain.states) == [0, 1]
    np.testing.assert_array_equal(np.isnan(found.values[:, 0]), (labels < 0) | (labels == 2))


def test_every_animal_has_a_chain_of_its_own():
    animals = [walk(2000, leave, seed) for seed, leave in enumerate((0.05, 0.4))]
    first, second = animal_chains(symbols_of(*animals), LAG)
    for chain, labels in ((first, animals[0]), (second, animals[1])):
        alone = MarkovChain.from_symbols(symbols_of(labels), LAG)
        np.testing.assert_array_equal(chain.transition.toarray(), alone.transition.toarray())
    assert first.transition.toarray()[0, 1] < second.transition.toarray()[0, 1]


@pytest.mark.parametrize("n_frames", [1, 2])
def test_an_animal_too_short_for_the_lag_is_left_out(n_frames):
    long = walk(500, 0.3, 5)
    found = animal_chains(symbols_of(np.zeros(n_frames), long), 2 * LAG)
    assert len(found) == 1
    assert found[0].states.size == 2
