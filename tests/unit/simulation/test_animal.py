"""Markov animals: where they start, where they may go, and that a run is the same whatever runs beside it."""

import numpy as np
import pytest

from ethomarkov._core.series import Series
from ethomarkov.exceptions import ConnectivityError, EthomarkovError, InputFormatError
from ethomarkov.simulation.animal import MarkovAnimal
from ethomarkov.states import DelayEmbedding, Symbols

N_DELAYS, LAG, N_STATES = 5, 0.5, 8
LAG_FRAMES = 8
INSIDE = np.arange(N_STATES) < 4


def recorded(seed=0, n=4000):
    """Frame k holds the number k, so that a posture tells where it comes from; microstates 0-3 and 4-7 mix slowly."""
    rng = np.random.default_rng(seed)
    rows = np.stack([np.arange(n), -np.arange(n)], axis=1).astype(float)
    rows[[700, 1900]] = np.nan
    postures = Series.from_rows(rows, 16.0, np.array([0, 1500, n]), ("one", "two"))
    segments = DelayEmbedding(N_DELAYS).transform(postures).segments
    half = np.cumsum(rng.random(n) < 0.02) % 2
    labels = np.where(segments.valid, 4 * half + rng.integers(0, 4, n), -1).astype(np.int32)
    return postures, Symbols(labels=labels, n_states=N_STATES, segments=segments, sampling=postures.sampling)


@pytest.fixture(scope="module")
def made():
    return recorded()


@pytest.fixture(scope="module")
def animal(made):
    postures, symbols = made
    return MarkovAnimal.from_symbols("both", symbols, postures, N_DELAYS, LAG)


def first_steps(animal, n_walks=400):
    walks = animal.walk(2 * LAG, n_walks, rng=5)
    return walks.labels[walks.segments.offsets[:-1]]


def test_walks_begin_in_the_first_recorded_microstate(animal, made):
    _, symbols = made
    assert animal.start == symbols.labels[symbols.labels >= 0][0]
    assert set(first_steps(animal)) == {animal.start}


def test_the_animal_of_one_individual_begins_with_its_own_first_microstate(made):
    postures, symbols = made
    alone = MarkovAnimal.from_symbols("two", symbols.mask(1), postures, N_DELAYS, LAG)
    mine = symbols.labels[1500:]
    assert alone.start == mine[mine >= 0][0]


def test_walks_begin_in_the_stationary_law(made):
    postures, symbols = made
    animal = MarkovAnimal.from_symbols("both", symbols, postures, N_DELAYS, LAG, start="stationary")
    assert animal.start is None
    n = 20_000
    met = np.bincount(first_steps(animal, n), minlength=N_STATES) / n
    law = np.zeros(N_STATES)
    law[animal.chain.states] = animal.chain.stationary
    # four standard errors of a share
    assert np.abs(met - law).max() < 4 * np.sqrt(0.25 / n)


def test_an_unknown_kind_of_start_is_refused(made):
    postures, symbols = made
    with pytest.raises(InputFormatError, match=r"'frist'.*'first' or 'stationary'"):
        MarkovAnimal.from_symbols("both", symbols, postures, N_DELAYS, LAG, start="frist")


def test_a_start_outside_the_chain_is_refused(animal):
    lost = MarkovAnimal(name="lost", chain=animal.chain, repertoire=animal.repertoire, start=N_STATES + 5)
    with pytest.raises(ConnectivityError, match=r"start=13.*chain\.states"):
        lost.walk(10.0, 2)


@pytest.mark.parametrize("method", ["matched", "paper"])
def test_a_run_is_the_same_whatever_runs_beside_it(animal, method):
    """Numbers of walks, sizes of blocks and threads change nothing, to the last bit."""

    def postures(n_walks, per_block, threads):
        blocks = animal.behave(20.0, n_walks, method=method, walks_per_block=per_block, rng=7, threads=threads)
        return np.concatenate([block.values.reshape(-1, 20 * 16, 2) for block in blocks])

    reference = postures(7, 16, 1)
    for n_walks, per_block, threads in [(7, 1, 1), (7, 3, 2), (2, 16, 1), (7, 7, 2)]:
        np.testing.assert_array_equal(postures(n_walks, per_block, threads), reference[:n_walks])
    assert not np.array_equal(reference[0], reference[1])


def test_another_seed_gives_other_runs(animal):
    one, other = (next(animal.behave(20.0, 1, rng=seed)).values for seed in (0, 1))
    assert not np.array_equal(one, other)


def test_blocks_name_their_walks(animal):
    blocks = list(animal.behave(5.0, 5, walks_per_block=2, rng=0))
    assert [block.segments.individuals for block in blocks] == [("0", "1"), ("2", "3"), ("4",)]
    assert [len(block.values) for block in blocks] == [160, 160, 80]


def test_a_confined_animal_never_leaves(animal, made):
    _, symbols = made
    confined = animal.confined("inside", INSIDE, symbols)
    assert confined.name == "inside"
    assert INSIDE[confined.chain.states].all()
    assert set(np.unique(confined.walk(500.0, 20, rng=3).labels)) <= set(np.flatnonzero(INSIDE))
    # the postures too: every unfolded block is a recorded sequence whose middle frame lies in the state
    raw = next(confined.behave(200.0, 3, method="paper-raw", rng=3)).values
    middle = raw.reshape(-1, LAG_FRAMES, 2)[:, (N_DELAYS - 1) // 2, 0].astype(int)
    assert INSIDE[symbols.labels[middle]].all()
    # while the free animal does leave
    assert not INSIDE[animal.walk(500.0, 20, rng=3).labels].all()


def test_a_confined_animal_begins_inside(animal, made):
    _, symbols = made
    for members in (INSIDE, ~INSIDE):
        confined = animal.confined("state", members, symbols)
        labels = symbols.labels[symbols.labels >= 0]
        assert confined.start == labels[members[labels]][0]


def test_confined_transitions_are_those_of_the_chain_made_to_sum_to_one(animal, made):
    P = animal.chain.transition.toarray()
    inner = P[np.ix_(INSIDE[animal.chain.states], INSIDE[animal.chain.states])]
    found = animal.confined("inside", INSIDE, made[1]).chain.transition.toarray()
    np.testing.assert_allclose(found, inner / inner.sum(axis=1, keepdims=True), rtol=1e-12)


@pytest.mark.parametrize("members", [np.zeros(N_STATES, dtype=bool), np.arange(N_STATES) == 3], ids=["none", "one"])
def test_a_state_too_small_to_walk_in_is_refused(animal, made, members):
    with pytest.raises(EthomarkovError, match="connected microstates"):
        animal.confined("nothing", members, made[1])


def test_confining_with_symbols_of_elsewhere_is_refused(animal, made):
    """No frame of these symbols lies in the state, so that there is no first one."""
    _, symbols = made
    elsewhere = symbols.relabel(np.where(INSIDE, -1, np.arange(N_STATES)))
    with pytest.raises(ConnectivityError, match="No recorded frame"):
        animal.confined("inside", INSIDE, elsewhere)
