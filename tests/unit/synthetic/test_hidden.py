"""Rates and paths of the hidden chain."""

import numpy as np
import pytest

from ethomarkov._core.sampling import Sampling
from ethomarkov.synthetic import WormModel
from ethomarkov.synthetic.hidden import hop, scaled_generator
from ethomarkov.synthetic.worm import IS_PIROUETTE


def random_case(seed, n=6):
    rng = np.random.default_rng(seed)
    jumps = rng.random((n, n)) * (1 - np.eye(n))
    jumps /= jumps.sum(axis=1, keepdims=True)
    occupancy = rng.random(n) + 0.1
    inside = np.arange(n) >= n - rng.integers(1, n)
    return jumps, occupancy / occupancy.sum(), inside


def worm_case():
    model = WormModel()
    return np.array(model.jumps), np.array(model.occupancy), IS_PIROUETTE


CASES = [random_case(seed) for seed in range(5)] + [worm_case()]


@pytest.mark.parametrize(("jumps", "occupancy", "inside"), CASES)
class TestGenerator:
    def test_is_a_generator(self, jumps, occupancy, inside):
        rates = scaled_generator(jumps, occupancy, inside, 15.0)
        np.testing.assert_allclose(rates.sum(axis=1), 0, atol=1e-12)
        assert (rates - np.diag(np.diag(rates)) >= 0).all()
        assert (np.diag(rates) < 0).all()

    def test_has_the_asked_occupancy(self, jumps, occupancy, inside):
        rates = scaled_generator(jumps, occupancy, inside, 15.0)
        np.testing.assert_allclose(occupancy @ rates, 0, atol=1e-12)

    def test_has_the_asked_jumps(self, jumps, occupancy, inside):
        rates = scaled_generator(jumps, occupancy, inside, 15.0)
        np.testing.assert_allclose(rates / -np.diag(rates)[:, None] + np.eye(len(jumps)), jumps, atol=1e-12)

    def test_has_the_asked_mean_stay_outside(self, jumps, occupancy, inside):
        """Mean first-passage time into the set, from the states in which it is left."""
        rates = scaled_generator(jumps, occupancy, inside, 15.0)
        passage = np.linalg.solve(rates[np.ix_(~inside, ~inside)], -np.ones((~inside).sum()))
        entry = occupancy[inside] @ rates[np.ix_(inside, ~inside)]
        assert (entry / entry.sum()) @ passage == pytest.approx(15.0, rel=1e-9)


def test_unnormalised_occupancy_is_a_share():
    jumps, occupancy, inside = random_case(0)
    np.testing.assert_allclose(
        scaled_generator(jumps, 7 * occupancy, inside, 2.0), scaled_generator(jumps, occupancy, inside, 2.0)
    )


def runs_of(states):
    edges = np.flatnonzero(np.diff(states)) + 1
    return states[edges[:-1]], np.diff(edges)


class TestHop:
    def test_occupancy(self):
        """Over 150 independent paths; three standard errors."""
        jumps, occupancy, inside = worm_case()
        rates = scaled_generator(jumps, occupancy, inside, 15.0)
        rng, sampling = np.random.default_rng(0), Sampling(4.0)
        shares = np.array(
            [np.bincount(hop(rates, inside, 800, sampling, 0.0, rng), minlength=7) / 800 for _ in range(150)]
        )
        error = (shares.mean(axis=0) - occupancy / occupancy.sum()) / (shares.std(axis=0) / np.sqrt(150))
        assert np.abs(error).max() < 3.2

    def test_stays_and_jumps(self):
        """On a fine grid, so that hardly a stay falls between two frames."""
        jumps, occupancy, inside = worm_case()
        rates = scaled_generator(jumps, occupancy, inside, 15.0)
        path = hop(rates, inside, 800_000, Sampling(100.0), 0.0, np.random.default_rng(1))
        state, frames = runs_of(path)
        for k in range(7):
            mine = frames[state == k] / 100.0
            mean = -1 / rates[k, k]
            # exponential; stays shorter than a frame are missed, which lengthens the others by about one percent
            assert mine.mean() == pytest.approx(mean, abs=4 * mean / np.sqrt(mine.size) + 0.02)
        changes = np.zeros((7, 7))
        np.add.at(changes, (path[:-1], path[1:]), 1)
        np.fill_diagonal(changes, 0)
        seen = changes.sum(axis=1, keepdims=True)
        assert (np.abs(changes / seen - jumps) < 4 * np.sqrt(0.25 / seen) + 0.01).all()

    def test_mean_run(self):
        jumps, occupancy, inside = worm_case()
        rates = scaled_generator(jumps, occupancy, inside, 15.0)
        path = hop(rates, inside, 400_000, Sampling(20.0), 0.0, np.random.default_rng(2))
        in_set, frames = runs_of(inside[path].astype(int))
        runs = frames[in_set == 0] / 20.0
        assert runs.mean() == pytest.approx(15.0, abs=4 * runs.std() / np.sqrt(runs.size))

    def test_a_decline_lowers_the_rate_of_entering(self):
        """By 0.8 over the recording: entries per second spent outside fall from 1/15 to a fifth of it."""
        jumps, occupancy, inside = worm_case()
        rates = scaled_generator(jumps, occupancy, inside, 15.0)
        path = inside[hop(rates, inside, 400_000, Sampling(10.0), 0.8, np.random.default_rng(3))]

        def entry_rate(part):
            return np.sum(~part[:-1] & part[1:]) / (np.sum(~part) / 10.0)

        first, last = entry_rate(path[:80_000]), entry_rate(path[-80_000:])
        # means over the first and last fifth: 0.92 and 0.28 of 1/15 per second, from about 400 and 150 entries
        assert first == pytest.approx(0.92 / 15, rel=0.2)
        assert last == pytest.approx(0.28 / 15, rel=0.35)

    def test_seeded(self):
        jumps, occupancy, inside = worm_case()
        rates = scaled_generator(jumps, occupancy, inside, 15.0)
        one, two = (hop(rates, inside, 500, Sampling(4.0), 0.0, np.random.default_rng(7)) for _ in range(2))
        np.testing.assert_array_equal(one, two)
        assert one.dtype == np.int32
