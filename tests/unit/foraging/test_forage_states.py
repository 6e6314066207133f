"""Food found by animals that never leave a state."""

import dataclasses

import numpy as np
import pytest

from ethomarkov.coarse.kinetics import time_budget
from ethomarkov.exceptions import InputFormatError
from ethomarkov.foraging.coverage import SweepSettings, measure_coverage
from ethomarkov.foraging.food import food_curve
from ethomarkov.foraging.states import ForageSettings, forage_states, state_shares
from ethomarkov.locomotion.ensemble import CrawlSettings, crawl
from ethomarkov.study import Settings, run_study
from ethomarkov.synthetic import simulate_worms
from ethomarkov.synthetic.worm import WormModel

RULE = ForageSettings(n_runs=12, seconds=30.0)


def sweep(**changes):
    return dataclasses.replace(RULE, sweep=SweepSettings(**changes))


@pytest.fixture(scope="module")
def found(model):
    return forage_states(model, 2, RULE)


def test_states_keep_their_names_and_time(found, model):
    names = model.names(2)
    assert found.level == 2
    assert found.coverage.names == found.curve.names == found.matching.names == names
    np.testing.assert_array_equal(found.curve.time_share, model.tree.measures_at(2))
    np.testing.assert_allclose(found.matching.time_share, time_budget(model.states(2)).mean(axis=0))
    assert found.coverage.share.shape == (2, 12, 30)
    assert found.matching.radius == 25.0


def test_shares_are_those_of_runs_in_the_state(model, found):
    """Runs of a state by themselves, with other seeds, cover as much."""
    rule = CrawlSettings(duration=30.0, n_runs=100)
    for k in range(2):
        animal = model.confined(2, k, start="stationary")
        shares = np.concatenate(
            [
                measure_coverage(postures, path, found.coverage.radii, basis=model.basis).share
                for postures, path in crawl(animal, model.basis, rule, rng=17)
            ]
        )
        mean = found.coverage.share[k].mean(axis=0)
        error = np.hypot(shares.std(axis=0) / 10, found.coverage.share[k].std(axis=0, ddof=1) / np.sqrt(12))
        assert (np.abs(mean - shares.mean(axis=0)) < 4 * error).all()


def test_the_curve_is_the_coverage_over_that_of_all_states(found, model):
    mean = found.coverage.share.mean(axis=1)
    np.testing.assert_allclose(found.curve.probability, mean / mean.sum(axis=0))
    np.testing.assert_allclose(found.curve.average, model.tree.measures_at(2) @ found.curve.probability)
    np.testing.assert_array_equal(found.matching.efficiency, found.curve.probability[:, -1])
    assert food_curve(found.coverage, model.tree.measures_at(2)).n_runs == 12


def test_the_table_lists_every_state_at_every_radius(found):
    table = found.table()
    assert len(table) == found.curve.probability.size
    one = table[(table.state == found.curve.names[1])]
    np.testing.assert_array_equal(one.radius, found.curve.radii)
    np.testing.assert_array_equal(one.probability, found.curve.probability[1])
    np.testing.assert_allclose(one.coverage, found.coverage.share[1].mean(axis=0))
    assert found.headline().endswith(found.matching.headline())


def test_neither_cores_nor_the_clock_matter_but_the_seed_does(model, found):
    again = forage_states(model, 2, dataclasses.replace(RULE, seconds=30.1), threads=2)
    np.testing.assert_array_equal(again.coverage.share, found.coverage.share)
    np.testing.assert_array_equal(again.curve.low, found.curve.low)
    other = forage_states(model, 2, dataclasses.replace(RULE, seed=1))
    assert not np.array_equal(other.coverage.share, found.coverage.share)


def test_a_wider_body_covers_more(model, found):
    wide = forage_states(model, 2, sweep(width=0.1)).coverage.share
    # the same runs: the wider body covers what the narrower did, and at most so much more as it is wider
    ratio = wide[:, :, -1] / found.coverage.share[:, :, -1]
    assert (ratio > 1.1).all()
    assert (ratio < 2.0).all()


def test_the_published_raster_misses_what_lies_between_its_points(model, found):
    raster = forage_states(model, 2, sweep(method="paper")).coverage.share
    assert raster.shape == found.coverage.share.shape
    assert (raster[:, :, -1] < found.coverage.share[:, :, -1]).all()
    assert (raster[:, :, -1] > 0.1 * found.coverage.share[:, :, -1]).all()


def test_progress_counts_the_states(model):
    seen = []
    forage_states(model, 3, dataclasses.replace(RULE, n_runs=3, seconds=3.0), progress=lambda *now: seen.append(now))
    assert seen == [("states", k, 3) for k in (1, 2, 3)]


def test_a_level_that_is_not_there(model):
    with pytest.raises(InputFormatError, match=r"no level of 77 states; it has 1, 2"):
        forage_states(model, 77, RULE)


def test_a_study_without_a_body_is_refused(model):
    with pytest.raises(InputFormatError, match=r"tangent angles.*--basis"):
        forage_states(dataclasses.replace(model, basis=None), 2, RULE)


@pytest.mark.seeds
def test_fast_states_find_food_far_away_and_slow_ones_near_the_start():
    """The truth says how fast the body wave is in each of the states that were found."""
    worms = simulate_worms(4, 900.0, model=WormModel(missing=0.0), seed=4)
    settings = Settings(
        n_delays=11,
        lag=0.75,
        n_states=150,
        n_behaviours=7,
        n_walks=1,
        simulated_minutes=0.5,
        scan=False,
        n_resamples=0,
        seed=2,
    )
    model = run_study(worms.recording, settings, basis=worms.basis).model
    reorients, speed = worms.truth.is_pirouette, np.abs(WormModel().velocity)[worms.truth.states]

    two = forage_states(model, 2, ForageSettings(n_runs=60)).curve
    labels = model.states(2).labels
    run, pirouette = np.argsort([reorients[labels == k].mean() for k in range(2)])
    assert reorients[labels == run].mean() < 0.1
    assert reorients[labels == pirouette].mean() > 0.7
    near, far = two.radii < 2, two.radii > 10
    assert (two.low[pirouette, near] > two.high[run, near]).all()
    assert (two.low[run, far] > two.high[pirouette, far]).all()

    fine = forage_states(model, model.finest, ForageSettings(n_runs=60)).curve
    labels, even = model.states(model.finest).labels, 1 / model.finest
    true_speed = np.array([speed[labels == k].mean() for k in range(model.finest)])
    slowest, fastest = true_speed.argmin(), true_speed.argmax()
    assert true_speed[slowest] < 0.25
    assert true_speed[fastest] > 0.5
    assert fine.low[slowest, 0] > even > fine.high[slowest, -1]
    assert fine.high[fastest, 0] < even < fine.low[fastest, -1]
    assert fine.probability[:, -1].argmin() == slowest


def test_time_without_a_state_does_not_count(model):
    """The published tree leaves microstates without a state; what animals find is set beside the time that has one."""
    tree = model.tree
    full = state_shares(tree, 2)
    np.testing.assert_array_equal(full, tree.measures_at(2))
    measure = tree.measure.copy()
    measure[list(tree.nodes_at(2))] *= 0.9
    part = dataclasses.replace(tree, measure=measure)
    np.testing.assert_allclose(state_shares(part, 2), full)
    assert state_shares(part, 2).sum() == pytest.approx(1.0)
    lost = dataclasses.replace(model, tree=part)
    found = forage_states(lost, 2, ForageSettings(n_runs=3, seconds=10.0))
    np.testing.assert_allclose(found.curve.time_share, full)
