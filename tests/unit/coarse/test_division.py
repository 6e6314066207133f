"""Every reason against a division: its number in closed form, and systems of which it must be said."""

import dataclasses

import numpy as np
import pytest
from scipy import sparse
from scipy.signal import lfilter

from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov.coarse.division import (
    EXPLAINED,
    FOUND_AGAIN,
    MOST_UNITS,
    OPPOSITE,
    SHORTEST_MEMORY,
    TWO_VALUED,
    Division,
    Evidence,
    Leaf,
    _between_bins,
    _gains,
    _jackknife_error,
    _kinds,
    _Modes,
    _object,
    _overlaps,
    _persistence,
    _rotations,
    measure_stability,
    propose_divisions,
    shuffled_counts,
)
from ethomarkov.states import Symbols

N_FRAMES, LAG = 5000, 4.0


def symbols_of(rows, n_states):
    """One row of microstates per animal, one frame per second."""
    rows = np.asarray(rows)
    offsets = np.arange(rows.shape[0] + 1) * rows.shape[1]
    segments = Segments.from_valid(np.ones(rows.size, dtype=bool), offsets)
    return Symbols(labels=rows.ravel().astype(np.int32), n_states=n_states, segments=segments, sampling=Sampling(1.0))


def animals(record, seed, n_animals=4, n_states=24):
    return symbols_of([record(np.random.default_rng([seed, k])) for k in range(n_animals)], n_states)


def wander(rng, time):
    """An Ornstein–Uhlenbeck path of unit variance."""
    keep = np.exp(-1 / time)
    return lfilter([1], [1, -keep], rng.normal(0, np.sqrt(1 - keep**2), N_FRAMES + 2000))[2000:]


def hop(rng, leave=(0.01, 0.02), n_frames=N_FRAMES):
    """Two states; the numbers of frames in them are geometric."""
    n_stays = n_frames
    state = np.arange(n_stays) % 2
    stays = rng.geometric(np.take(leave, state))
    return np.repeat(state, stays)[:n_frames]


def cells(x, n_cells=24):
    return np.clip(np.floor((x + 3) / 6 * n_cells), 0, n_cells - 1).astype(int)


def two_states(rng):
    return hop(rng) * 12 + rng.integers(0, 12, N_FRAMES)


def two_clouds(rng):
    return cells(np.where(hop(rng, (0.01, 0.015)) == 1, 1.2, -1.2) + 0.5 * wander(rng, 2.0))


def slow_variable(rng):
    return cells(wander(rng, 60.0))


def cycle(rng, period=40.0, jitter=0.02):
    return (np.cumsum(1 / period + jitter * rng.normal(size=N_FRAMES)) % 1 * 24).astype(int)


def aliased_cycle(rng):
    """Half a turn within a lag, and a whole one within two."""
    return cycle(rng, period=8.1, jitter=0.01)


def white_noise(rng):
    return rng.integers(0, 24, N_FRAMES)


def leaf_of(symbols, lag=LAG, **more):
    return Leaf(evidence=Evidence.from_symbols(symbols, lag), members=np.ones(symbols.n_states, dtype=bool), **more)


def divisions(symbols, lag=LAG, n_resamples=3):
    """All divisions up to the first that nothing speaks against."""
    found = []
    for division in propose_divisions(leaf_of(symbols, lag), 0.02, n_resamples, seed=0):
        found.append(division)
        if not division.objections:
            break
    return found


# --- what is said -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def good():
    """A leaf, and a division of it that passes all tests."""
    leaf = leaf_of(animals(two_states, 0))
    division = next(propose_divisions(leaf, 0.02, 3, seed=0))
    assert division.objections == ()
    return leaf, division


@pytest.mark.parametrize(
    ("kind", "changes", "overlap"),
    [
        ("short-lived", {"held_out": SHORTEST_MEMORY}, 1.0),
        ("short-lived", {"held_out": np.nan}, 1.0),
        ("unsteady", {"steadiness": 0.84}, 1.0),
        ("unsteady", {"steadiness": 1.11}, 1.0),
        ("unsteady", {"steadiness": np.nan}, 1.0),
        ("oscillating", {"lowest": OPPOSITE}, 1.0),
        ("oscillating", {"rotation": 0.2}, 1.0),
        ("continuous", {"two_valued": TWO_VALUED - 0.01}, 1.0),
        ("derived", {"explained": EXPLAINED}, 1.0),
        ("unstable", {}, FOUND_AGAIN - 0.01),
        ("useless", {"gain": 10.0, "gain_error": 5.0}, 1.0),
        ("useless", {"gain_error": np.nan}, 1.0),
        ("rare", {"hops": 9.0}, 1.0),
        ("rare", {"n_units": 1}, 1.0),
    ],
)
def test_one_number_out_of_bounds_is_one_objection(good, kind, changes, overlap):
    leaf, division = good
    assert _object(division, leaf.evidence, 1.0) == []
    spoiled = dataclasses.replace(division, **changes)
    (said,) = _object(spoiled, leaf.evidence, overlap)
    assert said.startswith(f"{kind}: ")
    assert _kinds(dataclasses.replace(spoiled, objections=(said,))) == {kind}


def test_a_single_animal_may_hop_alone(good):
    """Where there is one unit, two cannot be asked for."""
    leaf, division = good
    alone = dataclasses.replace(leaf.evidence, fitted=leaf.evidence.fitted[:1])
    assert _object(dataclasses.replace(division, n_units=1), alone, 1.0) == []


# --- systems, over seeds ----------------------------------------------------------------------------------------------

SEEDS = range(10)


@pytest.mark.parametrize("record", [two_states, two_clouds])
@pytest.mark.parametrize("seed", SEEDS)
def test_two_states_are_divided(record, seed):
    (division,) = divisions(animals(record, seed))
    assert division.objections == ()
    upper = np.zeros(24, dtype=bool)
    upper[division.states] = division.cut.upper == 1
    assert np.flatnonzero(np.diff(upper)).size == 1  # a half of the microstates, and the other half
    assert 10 <= np.flatnonzero(np.diff(upper))[0] <= 12
    assert division.cut.mode == 2
    assert min(division.stability) > 0.95
    assert division.floor < 0.2
    assert division.two_valued > 0.9
    assert division.steadiness == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize(
    ("record", "kind"),
    [
        (slow_variable, "continuous"),
        (cycle, "oscillating"),
        (aliased_cycle, "oscillating"),
        (white_noise, "short-lived"),
    ],
)
@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_no_state_is_said_to_be_none(record, kind, seed):
    found = divisions(animals(record, seed))
    assert found
    assert kind in _kinds(found[0])
    assert all(division.objections for division in found)


@pytest.mark.parametrize("seed", SEEDS)
def test_harmonics_of_a_slow_variable_are_derived_from_it(seed):
    """The second mode of a Gaussian variable x is x, the third x² − 1, a function of it."""
    slowest, harmonic = divisions(animals(slow_variable, seed))[:2]
    assert slowest.explained == 0
    assert harmonic.explained > 0.5
    assert "derived" in _kinds(harmonic)


def test_what_an_ancestor_found_continuous_is_remembered():
    symbols = animals(lambda rng: cells(wander(rng, 60.0), 80), 0, n_states=80)
    parent = leaf_of(symbols)
    list(propose_divisions(parent, 0.02, 0, seed=0))
    assert parent.continuous
    child = Leaf(evidence=parent.evidence, members=np.arange(80) >= 40, continuous=list(parent.continuous))
    assert "derived" in _kinds(next(propose_divisions(child, 0.02, 0, seed=0)))


def test_flicker_is_unsteady():
    """Labels that go wrong in runs of some frames forget much within half a lag and little later."""

    def flickering(rng):
        wrong = hop(rng, (0.08, 0.3))
        return (hop(rng, (0.004, 0.004)) ^ wrong) * 12 + rng.integers(0, 12, N_FRAMES)

    first = divisions(animals(flickering, 0))[0]
    assert first.steadiness < 0.85
    assert "unsteady" in _kinds(first)


def test_what_animals_did_once_or_twice_is_rare():
    """Two animals go to other microstates for long and come back: four passages each way in all."""
    rows = np.array([np.random.default_rng(k).integers(0, 12, N_FRAMES) for k in range(4)])
    for first, animal in ((500, 2), (3000, 2), (1000, 3), (4000, 3)):
        rows[animal, first : first + 800] += 12
    found = divisions(symbols_of(rows, 24))[0]
    assert (found.hops, found.n_units) == (4, 2)
    assert found.held_out > 0.95
    assert "rare" in _kinds(found)


def test_sets_that_differ_from_animal_to_animal_are_useless():
    """In every animal other microstates belong together: what one defines predicts nothing in the other."""
    rows = []
    for k in range(2):
        rng = np.random.default_rng(k)
        members = rng.permutation(24).reshape(2, 12)
        rows.append(members[hop(rng, (0.02, 0.02)), rng.integers(0, 12, N_FRAMES)])
    first = divisions(symbols_of(rows, 24))[0]
    assert "useless" in _kinds(first)
    assert first.held_out < first.cut.persistence / 2


def test_few_frames_are_noise():
    """What has passed the other tests must also persist more than shuffled microstates, beyond its error."""
    from ethomarkov.coarse.division import _look_closer

    leaf = leaf_of(animals(two_states, 0))
    division = next(propose_divisions(leaf, 0.02, 0, seed=0))
    assert _look_closer(leaf, division, 0.02, 0, 0).objections == ()
    uncertain = dataclasses.replace(division, error=division.held_out / 2)
    assert _kinds(_look_closer(leaf, uncertain, 0.02, 0, 0)) == {"noise"}
    lower = dataclasses.replace(division, held_out=division.floor, error=0.0)
    assert _kinds(_look_closer(leaf, lower, 0.02, 0, 0)) == {"noise"}


def test_sets_that_are_not_found_again_are_unstable(good):
    """A cut through the middle of either state instead of between them."""
    from ethomarkov.coarse.division import _look_closer

    leaf, division = good
    crossed = (np.arange(24) % 2).astype(np.int32)
    wrong = dataclasses.replace(division, cut=dataclasses.replace(division.cut, upper=crossed))
    assert max(measure_stability(leaf, wrong, 4, 0)) < 0.6 < min(measure_stability(leaf, division, 4, 0))
    assert "unstable" in _kinds(_look_closer(leaf, wrong, 0.02, 4, 0))


def test_few_microstates_are_not_divided():
    assert divisions(animals(lambda rng: rng.integers(0, 3, 200), 0, n_states=3)) == []


# --- closed forms -----------------------------------------------------------------------------------------------------


def test_persistence_by_hand():
    assert _persistence(np.array([[9.0, 1.0], [3.0, 7.0]])) == pytest.approx(0.9 + 0.7 - 1)
    assert np.isnan(_persistence(np.array([[9.0, 1.0], [0.0, 0.0]])))


def test_held_out_persistence_is_the_eigenvalue():
    """λ(τ) = (1 − a − b)^τ for a chain of two states, also by labels that others define."""
    division = divisions(animals(two_states, 3, n_animals=8))[0]
    assert division.held_out == pytest.approx(0.97**4, abs=4 * division.error)
    assert division.error < 0.02
    assert division.lowest == pytest.approx(0.97**32, abs=0.1)


def test_hops_are_those_of_the_rates():
    """Each way they are as many as the law says: a b / (a + b) per frame, seen after a lag."""
    division = divisions(animals(two_states, 5, n_animals=8))[0]
    seen = 8 * (N_FRAMES - LAG) * (0.02 / 0.03) * (0.01 / 0.03) * (1 - 0.97**4) / LAG
    assert division.hops == pytest.approx(seen, rel=0.15)
    assert division.n_units == 8


def test_gain_is_the_information_that_the_past_holds():
    """Animals that are all alike: the likelihood gained is their number of pairs times the mutual information."""
    table = np.array([[900.0, 100.0], [100.0, 400.0]]) * 1000
    joint = table / table.sum()
    information = (joint * np.log(joint / np.outer(joint.sum(axis=1), joint.sum(axis=0)))).sum()
    np.testing.assert_allclose(_gains(np.stack([table] * 5)), table.sum() * information, rtol=1e-5)


def test_gain_is_negative_where_others_mislead():
    """One animal moves as the others never do."""
    steady, flipping = np.array([[90.0, 10.0], [10.0, 90.0]]), np.array([[10.0, 90.0], [90.0, 10.0]])
    gains = _gains(np.stack([steady] * 4 + [flipping]))
    assert (gains[:4] > 0).all()
    assert gains[4] < 0


def test_jackknife_error_of_a_share():
    """Equal numbers leave both sets in every animal: λ_c is a sum of two means over animals."""
    rng = np.random.default_rng(0)
    left = rng.uniform(0.05, 0.2, (6, 2))
    tables = np.array([[[100 * (1 - a), 100 * a], [100 * b, 100 * (1 - b)]] for a, b in left])
    assert _jackknife_error(tables) == pytest.approx(left.sum(axis=1).std(ddof=1) / np.sqrt(6))
    assert np.isnan(_jackknife_error(tables[:1]))


@pytest.mark.parametrize("stays", [0.2, 0.5, 0.9])
def test_rotation_of_a_ring(stays):
    """Eigenvalues of a ring that is followed one way are s + (1 − s) exp(± 2πi k / n): complex, so they turn."""
    n = 30
    counts = sparse.csr_array(stays * np.eye(n) + (1 - stays) * np.roll(np.eye(n), 1, axis=1))
    slowest = stays + (1 - stays) * np.exp(2j * np.pi / n)
    found = _rotations(counts, _Modes.of(counts))
    np.testing.assert_allclose(found[:2], abs(slowest.imag) / abs(slowest), rtol=1e-6)


def test_what_obeys_detailed_balance_does_not_turn():
    counts = np.random.default_rng(0).random((20, 20))
    symmetric = sparse.csr_array(counts + counts.T)
    np.testing.assert_allclose(_rotations(symmetric, _Modes.of(symmetric)), 0, atol=1e-9)


def test_a_gaussian_variable_takes_many_values():
    """Its threshold at the mean keeps (2 / π) asin λ of its memory: the index is 0; of two values it is 1."""
    gaussian = divisions(animals(slow_variable, 1, n_animals=12))[0]
    assert gaussian.two_valued == pytest.approx(0.0, abs=0.25)
    assert divisions(animals(two_states, 1))[0].two_valued == pytest.approx(1.0, abs=0.02)


def test_shares_between_bins():
    rng = np.random.default_rng(0)
    slower, weight = rng.normal(size=4000), np.full(4000, 1 / 4000)
    assert _between_bins(slower, slower**2 - 1, weight) > 0.8  # what bins of a twentieth resolve of it
    assert _between_bins(slower, np.sign(slower), weight) == pytest.approx(1.0, abs=0.05)
    assert _between_bins(slower, rng.normal(size=4000), weight) < 0.02
    assert _between_bins(np.full(4000, np.nan), slower, weight) == 0


def test_overlaps_by_hand():
    weight = np.array([0.1, 0.2, 0.3, 0.4])
    upper, found = np.array([False, False, True, True]), np.array([False, True, True, True])
    assert _overlaps(weight, upper, found) == pytest.approx((0.1 / 0.3, 0.7 / 0.9))


# --- evidence ---------------------------------------------------------------------------------------------------------


class TestEvidence:
    def test_counts_of_all_animals_and_lags(self):
        symbols = animals(two_states, 0)
        evidence = Evidence.from_symbols(symbols, LAG)
        assert evidence.lags == (1, 2, 4, 8, 16, 32)
        assert (evidence.n_units, evidence.over) == (4, "animals")
        for lag in evidence.lags:
            assert [counts.sum() for counts in evidence.counts[lag]] == [N_FRAMES - lag] * 4
        own = sum(evidence.counts[lag][2] for lag in (2, 4, 8))
        np.testing.assert_array_equal(evidence.fitted[2].toarray(), own.toarray())

    def test_many_animals_are_judged_in_groups(self):
        evidence = Evidence.from_symbols(animals(lambda rng: rng.integers(0, 5, 60), 0, 50, 5), 2.0)
        assert evidence.n_units == MOST_UNITS
        assert sum(counts.sum() for counts in evidence.counts[1]) == 50 * 59

    def test_one_animal_is_judged_by_blocks(self):
        evidence = Evidence.from_symbols(animals(two_states, 0, n_animals=1), LAG)
        assert evidence.over == "blocks"
        assert evidence.n_units > 5

    def test_a_lag_of_one_frame(self):
        evidence = Evidence.from_symbols(animals(two_states, 0), 1.0)
        assert (evidence.lag_frames, evidence.half_frames) == (1, 1)
        assert next(propose_divisions(leaf_of(animals(two_states, 0), 1.0), 0.02, 0, seed=0)).objections == ()

    def test_shuffles_keep_what_was_visited_and_forget_the_order(self):
        symbols = animals(two_states, 0)
        evidence = Evidence.from_symbols(symbols, LAG)
        members = np.ones(24, dtype=bool)
        shuffled = shuffled_counts(evidence, members, np.random.default_rng(0))
        true = sum(evidence.fitted[1:], evidence.fitted[0])
        assert shuffled.sum() == true.sum()
        np.testing.assert_allclose(shuffled.sum(axis=0), true.sum(axis=0), rtol=0.05)
        half = np.arange(24) < 12
        inside = shuffled[half][:, half].sum() / shuffled[half].sum()
        assert inside == pytest.approx(shuffled[half].sum() / shuffled.sum(), abs=0.02)


def test_a_leaf_is_what_its_members_connect():
    rows = np.array([np.random.default_rng(k).integers(0, 6, 500) for k in range(3)])
    rows[0, 100:300] = 6 + np.arange(200) % 3  # visited by one animal, all at once
    leaf = Leaf(evidence=Evidence.from_symbols(symbols_of(rows, 9), 2.0), members=np.arange(9) != 0)
    assert leaf.states.tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
    assert leaf.flags.tolist() == [False] + [True] * 8
    assert isinstance(leaf.on_partition(leaf.states > 3), np.ndarray)
    assert leaf.on_partition(leaf.states > 3).tolist() == [False] * 4 + [True] * 5


def test_divisions_are_the_same_every_time():
    symbols = animals(two_clouds, 4)
    one, two = (divisions(symbols)[0] for _ in range(2))
    for name in (field.name for field in dataclasses.fields(Division) if field.name not in {"cut", "states"}):
        assert getattr(one, name) == getattr(two, name)
