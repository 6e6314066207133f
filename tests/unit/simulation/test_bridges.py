"""Microstates between the steps of a walk: all of them recorded between the same two microstates, in one stretch."""

import itertools

import numpy as np
import pytest

from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov._core.series import Series
from ethomarkov.exceptions import SamplingError
from ethomarkov.markov import MarkovChain
from ethomarkov.simulation.animal import MarkovAnimal
from ethomarkov.simulation.bridges import Bridges
from ethomarkov.simulation.postures import trace_rows
from ethomarkov.simulation.symbols import simulate_symbols
from ethomarkov.states import DelayEmbedding, Symbols

RATE, N_DELAYS, N_STATES = 16.0, 5, 6
LAG_FRAMES, PASSAGE_FRAMES = 12, 4
LAG, PASSAGE = LAG_FRAMES / RATE, PASSAGE_FRAMES / RATE
N_INNER = LAG_FRAMES // PASSAGE_FRAMES


def recording(labels, offsets=None, n_delays=N_DELAYS, missing=()):
    """Postures whose frame k holds the number k, with these microstates."""
    rows = np.arange(float(len(labels)))
    rows[list(missing)] = np.nan
    postures = Series.from_rows(rows, RATE, offsets)
    segments = DelayEmbedding(n_delays).transform(postures).segments
    labels = np.where(segments.valid, labels, -1).astype(np.int32)
    n_states = int(labels.max()) + 1
    return postures, Symbols(labels=labels, n_states=n_states, segments=segments, sampling=postures.sampling)


def walks_of(*walks, n_states=N_STATES, lag=LAG):
    labels = np.concatenate(walks).astype(np.int32)
    offsets = np.concatenate([[0], np.cumsum([len(walk) for walk in walks])])
    names = tuple(f"walk {k}" for k in range(len(walks)))
    segments = Segments.from_valid(np.ones(labels.size, dtype=bool), offsets, names)
    return Symbols(labels=labels, n_states=n_states, segments=segments, sampling=Sampling(1 / lag))


def recorded_steps(symbols, reach=LAG_FRAMES):
    """Every recorded step of the chain: its two ends, and the microstates at its passages; by a plain loop."""
    found = []
    for start, stop, _ in symbols.segments:
        for row in range(start, stop - reach):
            passages = tuple(int(symbols.labels[row + k]) for k in range(0, LAG_FRAMES, PASSAGE_FRAMES))
            found.append((passages, int(symbols.labels[row + reach])))
    return found


def open_ends(postures, symbols):
    """Every recorded sequence followed for a lag, the microstate kept where the recording does not go on."""
    found = set()
    for start, stop, _ in postures.segments:
        for row in range(start, stop):
            if symbols.labels[row] < 0:
                continue
            own, followed = int(symbols.labels[row]), []
            for k in range(0, LAG_FRAMES, PASSAGE_FRAMES):
                later = int(symbols.labels[row + k]) if row + k < stop else -1
                followed.append(own if later < 0 else later)
            found.add(tuple(followed))
    return found


@pytest.fixture(scope="module")
def mixed():
    """Two animals with gaps, in six microstates that are kept for a few frames."""
    rng = np.random.default_rng(0)
    labels = np.repeat(rng.integers(0, N_STATES, 700), 3)[:2000]
    return recording(labels, np.array([0, 900, 2000]), missing=(333, 334, 1500))


@pytest.fixture(scope="module")
def bridges(mixed):
    return Bridges.from_symbols(*mixed, N_DELAYS, lag=LAG, passage=PASSAGE)


@pytest.fixture(scope="module")
def walks(mixed):
    return simulate_symbols(MarkovChain.from_symbols(mixed[1], LAG), 60.0, n_walks=8, rng=1)


def crossings(found, walks):
    """Every step of a walk with its passages: (passages, next microstate), and those after the last step."""
    inner = found.labels.reshape(-1, N_INNER).tolist()
    edges = walks.segments.offsets.tolist()
    steps = [(tuple(inner[k]), int(walks.labels[k + 1])) for a, b in itertools.pairwise(edges) for k in range(a, b - 1)]
    return steps, [tuple(inner[b - 1]) for b in edges[1:]]


def test_passages_lie_between_the_steps(bridges, walks):
    found = bridges.cross(walks, rng=3)
    assert bridges.passage_frames == PASSAGE_FRAMES
    assert found.sampling.rate == pytest.approx(RATE / PASSAGE_FRAMES)
    assert found.n_states == walks.n_states
    assert found.segments.individuals == walks.segments.individuals
    np.testing.assert_array_equal(found.segments.offsets, walks.segments.offsets * N_INNER)
    np.testing.assert_array_equal(found.segments.bounds[:, :2], walks.segments.bounds[:, :2] * N_INNER)
    np.testing.assert_array_equal(found.labels[::N_INNER], walks.labels)
    assert (found.labels.reshape(-1, N_INNER) != walks.labels[:, None]).any()


def test_steps_are_crossed_as_they_were_recorded(mixed, bridges, walks):
    steps, ends = crossings(bridges.cross(walks, rng=3), walks)
    assert len(steps) > 600
    assert set(steps) <= set(recorded_steps(mixed[1]))
    assert set(ends) <= open_ends(*mixed)


def test_a_walk_along_a_recording_is_that_recording():
    """With one microstate per frame there is one way from each to the next."""
    postures, symbols = recording(np.arange(300))
    bridges = Bridges.from_symbols(postures, symbols, N_DELAYS, lag=LAG, passage=PASSAGE)
    walk = np.arange(10, 250, LAG_FRAMES)
    found = bridges.cross(walks_of(walk, n_states=300), rng=0)
    np.testing.assert_array_equal(found.labels, np.arange(10, 10 + walk.size * LAG_FRAMES, PASSAGE_FRAMES))


def test_ways_are_drawn_as_often_as_they_were_recorded():
    """From 0 to 1 over 2 three times, over 3 once; a step takes two passages."""
    pieces = [np.repeat([0, way, 1, 4], 4) for way in (2, 2, 2, 3)]
    postures, symbols = recording(np.concatenate(pieces), n_delays=1)
    bridges = Bridges.from_symbols(postures, symbols, 1, lag=0.5, passage=0.25)
    n = 4000
    found = bridges.cross(walks_of(*[[0, 1]] * n, lag=0.5, n_states=5), rng=5)
    way = found.labels.reshape(n, 4)[:, 1]
    assert set(way.tolist()) == {2, 3}
    assert np.mean(way == 2) == pytest.approx(0.75, abs=4 * np.sqrt(0.75 * 0.25 / n))


def test_nothing_is_followed_into_a_gap_or_another_animal():
    """Microstate 1 is met at the very end of three recordings alone; what comes after them is another's."""
    labels = np.concatenate([np.zeros(38), np.ones(2)] * 3 + [np.full(40, 2)])
    postures, symbols = recording(labels, np.array([0, 40, 160]), n_delays=1, missing=(80,))
    bridges = Bridges.from_symbols(postures, symbols, 1, lag=LAG, passage=PASSAGE)
    found = bridges.cross(walks_of(*[[1]] * 200, n_states=3), rng=0).labels.reshape(-1, N_INNER)
    # where microstate 1 is met for the third time the recording goes on, in 2
    assert {tuple(row) for row in found.tolist()} == {(1, 1, 1), (1, 2, 2)}


def test_steps_over_a_gap_are_not_recorded_ones():
    """0 to 1 in twelve frames is met within a recording by way of 2, and over a gap and a border by way of 3."""
    inside, over = np.repeat([0, 2, 2, 1, 5], 4), np.repeat([0, 3, 3, 1, 5], 4)
    labels = np.concatenate([inside, over, inside, over])
    postures, symbols = recording(labels, np.array([0, 70, 80]), n_delays=1, missing=(31,))
    bridges = Bridges.from_symbols(postures, symbols, 1, lag=LAG, passage=PASSAGE)
    found = bridges.cross(walks_of(*[[0, 1]] * 300), rng=0).labels.reshape(-1, 2 * N_INNER)
    assert {tuple(row) for row in found[:, 1:N_INNER].tolist()} == {(2, 2)}


def test_a_step_that_was_never_recorded_follows_any_sequence_of_its_microstate():
    labels = np.tile(np.repeat([0, 1, 2], 4), 10)
    postures, symbols = recording(labels, n_delays=1)
    bridges = Bridges.from_symbols(postures, symbols, 1, lag=LAG, passage=PASSAGE)
    never = (0, 2)
    assert never not in {(passages[0], last) for passages, last in recorded_steps(symbols)}
    found = bridges.cross(walks_of(*[never] * 100, n_states=3), rng=0).labels.reshape(-1, 2 * N_INNER)
    assert {tuple(row) for row in found[:, :N_INNER].tolist()} <= open_ends(postures, symbols)
    np.testing.assert_array_equal(found[:, N_INNER], 2)


def test_what_was_left_out_is_not_followed(mixed):
    """Symbols of one animal alone bridge with its own recording alone."""
    postures, symbols = mixed
    own = symbols.mask(1)
    bridges = Bridges.from_symbols(postures, own, N_DELAYS, lag=LAG, passage=PASSAGE)
    assert (bridges.labels[:900] == -1).all()
    walks = simulate_symbols(MarkovChain.from_symbols(own, LAG), 60.0, n_walks=8, rng=1)
    steps, ends = crossings(bridges.cross(walks, rng=3), walks)
    assert set(steps) <= set(recorded_steps(own))
    assert set(ends) <= open_ends(postures, Symbols(**fields_of(own, bridges.labels)))


def fields_of(symbols, labels):
    return {"labels": labels, "n_states": symbols.n_states, "segments": symbols.segments, "sampling": symbols.sampling}


@pytest.mark.parametrize("passage", [5 / RATE, 8 / RATE, 24 / RATE])
def test_a_lag_that_passages_do_not_divide_is_refused(mixed, passage):
    with pytest.raises(SamplingError, match=r"A lag of 0\.75 s is no whole number of passages of .*divides it"):
        Bridges.from_symbols(*mixed, N_DELAYS, lag=LAG, passage=passage)
    with pytest.raises(SamplingError, match="no whole number of passages"):
        MarkovAnimal.from_symbols("all", mixed[1], mixed[0], N_DELAYS, LAG, passage=passage)


def test_a_seed_gives_the_same_bridges_and_another_gives_others(bridges, walks):
    first, again, other = (bridges.cross(walks, rng=seed).labels for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_a_walk_is_crossed_the_same_way_whatever_walks_beside_it(bridges, walks):
    n = int(walks.segments.offsets[3])
    few = walks_of(*np.split(walks.labels[:n], 3))
    np.testing.assert_array_equal(bridges.cross(few, rng=3).labels, bridges.cross(walks, rng=3).labels[: n * N_INNER])


def test_an_animal_walks_by_its_lag_and_unfolds_by_its_passages(mixed):
    """Every passage is taken from a recorded row of the microstate that bridges gave it."""
    postures, symbols = mixed
    animal = MarkovAnimal.from_symbols("all", symbols, postures, N_DELAYS, LAG, passage=PASSAGE, start="stationary")
    walks = animal.walk(30.0, 4, rng=7)
    assert walks.sampling.rate == pytest.approx(1 / LAG)
    passages = animal.passages(walks, rng=7)
    assert set(crossings(passages, walks)[0]) <= set(recorded_steps(symbols))
    rows = np.concatenate(trace_rows(passages, animal.repertoire, rng=7))
    np.testing.assert_array_equal(symbols.labels[rows], passages.labels)
    same = MarkovAnimal.from_symbols("all", symbols, postures, N_DELAYS, LAG)
    assert same.bridges is None
    assert same.passages(walks) is walks
    run = next(animal.behave(30.0, 4, rng=7))
    assert len(run.values) == 4 * 30 * 16
