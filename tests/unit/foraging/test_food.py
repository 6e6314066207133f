"""Food of known places, and states of known coverage."""

import numpy as np
import pytest

from ethomarkov._core.interval import interval_of_mean
from ethomarkov._core.series import Series
from ethomarkov.exceptions import InputFormatError
from ethomarkov.foraging import (
    Annulus,
    Disc,
    Footprint,
    Patches,
    StateCoverage,
    cover_states,
    first_encounter,
    food_curve,
    match_time,
    share_found,
)
from ethomarkov.foraging.coverage import food_radii
from ethomarkov.locomotion.ensemble import CrawlSettings
from ethomarkov.posture import PostureBasis
from ethomarkov.simulation.animal import MarkovAnimal
from ethomarkov.states.symbols import Symbols

PITCH = 0.05


def strip(length=4.0, seconds_per_length=2.0, pitch=PITCH):
    """A footprint of one row of cells along the x axis, left at constant speed."""
    n = round(length / pitch)
    cells = np.stack([np.arange(n), np.zeros(n, dtype=int)], axis=1)
    return Footprint(cells=cells, first_seen=(cells[:, 0] + 0.5) * pitch * seconds_per_length, pitch=pitch)


def full(radius, pitch=PITCH):
    """A footprint that leaves nothing out."""
    reach = np.arange(-int(radius / pitch) - 1, int(radius / pitch) + 1)
    cells = np.stack(np.meshgrid(reach, reach), axis=-1).reshape(-1, 2)
    return Footprint(cells=cells, first_seen=np.zeros(len(cells)), pitch=pitch)


def coverage_of(*shares, names=None):
    share = np.array(shares, dtype=float)
    return StateCoverage(
        names=names or tuple("abcdefg"[: len(share)]), radii=np.geomspace(0.5, 25, share.shape[2]), share=share
    )


def noisy(levels, n_runs=400, seed=0):
    random = np.random.default_rng(seed)
    return coverage_of(*(level * random.gamma(4, 0.25, (n_runs, 3)) for level in levels))


# --- food ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("food", [Disc(1.5), Annulus(0.5, 1.5), Patches(7, 0.4, 1.0), Patches(40, 0.3, 1.0, seed=3)])
def test_all_food_is_found_by_whoever_covers_everything(food):
    assert share_found(full(2.0), food) == 1.0


def test_share_of_a_strip():
    # 40 cells of the strip lie within two body lengths
    assert share_found(strip(), Disc(2.0)) == 40 / Disc(2.0).count_cells(PITCH)
    n_ring = Disc(2.0).count_cells(PITCH) - Disc(1.0).count_cells(PITCH)
    assert share_found(strip(), Annulus(1.0, 2.0)) == 20 / n_ring
    assert share_found(strip(0.5), Annulus(1.0, 2.0)) == 0.0


def test_first_encounter_is_the_time_to_get_there():
    found = strip(seconds_per_length=2.0)
    assert first_encounter(found, Disc(1.0)) == pytest.approx(PITCH)
    assert first_encounter(found, Annulus(1.5, 2.0)) == pytest.approx(3.0, abs=2 * PITCH)
    assert np.isnan(first_encounter(found, Annulus(4.5, 5.0)))


def test_patches_are_even_over_the_disc():
    distance = np.hypot(*Patches(20_000, 0.1, 4.0).middles.T)
    assert distance.max() <= 4.0
    # half of the area lies within 4/√2
    assert np.mean(distance < 4 / np.sqrt(2)) == pytest.approx(0.5, abs=0.015)


def test_every_patch_has_its_encounter():
    food = Patches(30, 0.3, 4.0, seed=1)
    found = strip()
    times = food.encounters(found)
    for middle, time in zip(food.middles, times, strict=True):
        touched = np.linalg.norm(found.points - middle, axis=1) <= food.radius
        expected = found.first_seen[touched].min() if touched.any() else np.nan
        assert time == pytest.approx(expected, nan_ok=True)
    assert np.isnan(times).any()
    assert np.nanmin(times) == first_encounter(found, food)


def test_food_smaller_than_a_cell_has_no_share():
    assert np.isnan(share_found(strip(), Disc(0.01)))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Disc(0.0),
        lambda: Annulus(2.0, 1.0),
        lambda: Patches(0, 1.0, 1.0),
        lambda: Patches(2, -1.0, 1.0),
        lambda: Patches(2, 1.0, np.inf),
    ],
)
def test_impossible_food_is_refused(make):
    with pytest.raises(InputFormatError, match="needed"):
        make()


# --- probability of finding it ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("normalisation", ["mean", "paired"])
def test_two_states_of_known_coverage(normalisation):
    local, far = np.tile([0.6, 0.2, 0.1], (5, 1)), np.tile([0.2, 0.2, 0.3], (5, 1))
    curve = food_curve(coverage_of(local, far), np.array([0.25, 0.75]), normalisation=normalisation)
    assert curve.probability == pytest.approx(np.array([[0.75, 0.5, 0.25], [0.25, 0.5, 0.75]]))
    assert curve.average == pytest.approx([0.375, 0.5, 0.625])
    # equal runs leave nothing uncertain
    for limit in (curve.low, curve.high, curve.run_low, curve.run_high):
        assert limit == pytest.approx(curve.probability)
    assert curve.average_low == pytest.approx(curve.average)
    assert curve.at(curve.radii[1]) == pytest.approx([0.5, 0.5])


def test_normalisations_differ_where_runs_do():
    # runs of the first state cover 1 or 3, those of the second always 1
    share = coverage_of([[1.0], [3.0]], [[1.0], [1.0]])
    assert food_curve(share, np.array([0.5, 0.5])).probability[0] == pytest.approx(2 / 3)
    paired = food_curve(share, np.array([0.5, 0.5]), normalisation="paired")
    assert paired.probability[0] == pytest.approx((1 / 2 + 3 / 4) / 2)


def test_probabilities_sum_to_one_and_the_average_lies_between():
    curve = food_curve(noisy([1.0, 2.0, 4.0]), np.array([0.2, 0.3, 0.5]))
    assert curve.probability.sum(axis=0) == pytest.approx(1)
    assert (curve.average > curve.probability.min(axis=0)).all()
    assert (curve.average < curve.probability.max(axis=0)).all()
    assert (curve.low < curve.probability).all()
    assert (curve.probability < curve.high).all()
    assert (curve.run_low < curve.low).all()
    assert (curve.high < curve.run_high).all()


def test_interval_of_the_mean_holds_the_truth_as_often_as_it_says():
    truth = np.array([1.0, 2.0, 4.0]) / 7
    inside = [
        (curve.low[:, 0] <= truth) & (truth <= curve.high[:, 0])
        for curve in (food_curve(noisy([1.0, 2.0, 4.0], 60, seed), truth, rng=seed) for seed in range(100))
    ]
    # of 300 intervals at 95 %
    assert 0.90 < np.mean(inside) < 0.98


def test_nothing_covered_is_unknown():
    curve = food_curve(coverage_of(np.zeros((2, 1)), np.zeros((2, 1))), np.array([0.5, 0.5]))
    assert np.isnan(curve.probability).all()


@pytest.mark.parametrize("wrong", [[1.0], [0.5, 0.6], [1.5, -0.5]])
def test_shares_of_time_must_be_shares(wrong):
    with pytest.raises(InputFormatError, match="shares of time"):
        food_curve(coverage_of([[1.0]], [[1.0]]), np.array(wrong))


def test_wrong_choices_are_refused():
    share = coverage_of([[1.0]], [[1.0]])
    with pytest.raises(InputFormatError, match="normalisation"):
        food_curve(share, np.array([0.5, 0.5]), normalisation="sum")
    with pytest.raises(InputFormatError, match="spread"):
        match_time(share, np.array([[0.5, 0.5]]), spread="animals")
    with pytest.raises(InputFormatError, match="shape"):
        StateCoverage(names=("a",), radii=np.ones(2), share=np.ones((1, 3)))


# --- matching --------------------------------------------------------------------------------------------------------


def test_animals_that_match():
    levels = np.array([4.0, 3.0, 2.0, 1.0]) / 10
    share = coverage_of(*np.tile(levels[:, None, None], (1, 6, 2)))
    found = match_time(share, np.tile(levels, (5, 1)))
    assert found.efficiency == pytest.approx(levels)
    assert found.slope.estimate == pytest.approx(1)
    assert found.correlation.estimate == pytest.approx(1)
    assert found.mismatch.estimate == pytest.approx(0, abs=1e-12)
    assert found.radius == 25.0


def test_line_of_known_slope():
    # efficiency = 1/8 + time/2, over four states
    time = np.array([0.4, 0.3, 0.2, 0.1])
    efficiency = 0.125 + 0.5 * time
    animals = time + np.array([[0.05, -0.05, 0, 0], [-0.05, 0.05, 0, 0]])
    found = match_time(coverage_of(*np.tile(efficiency[:, None, None], (1, 6, 2))), animals)
    assert found.time_share == pytest.approx(time)
    assert found.slope.estimate == pytest.approx(0.5)
    assert found.correlation.estimate == pytest.approx(1)
    assert found.mismatch.estimate == pytest.approx(np.abs(time - efficiency).sum() / 2)
    assert found.slope.low < 0.5 < found.slope.high + 1e-12
    assert found.slope.over == "animals and runs"
    first = interval_of_mean(animals[:, 0], "animals", scale="share")
    assert (found.time_low[0], found.time_high[0]) == (first.low, first.high)
    assert (found.time_low[3], found.time_high[3]) == pytest.approx((0.1, 0.1))


def test_spread_of_runs_is_wider_than_that_of_their_mean():
    share, animals = noisy([1.0, 2.0]), np.array([[0.3, 0.7], [0.4, 0.6]])
    mean, runs = match_time(share, animals), match_time(share, animals, spread="runs")
    assert (runs.efficiency_high - runs.efficiency_low > 5 * (mean.efficiency_high - mean.efficiency_low)).all()


def test_one_animal_has_no_interval():
    found = match_time(noisy([1.0, 2.0]), np.array([[0.3, 0.7]]))
    assert np.isnan(found.slope.low)
    assert np.isnan(found.time_low).all()


# --- simulation ------------------------------------------------------------------------------------------------------


def crawler(name, amplitude, seed=0):
    """An animal of one slow wave, cut into eight states by its phase."""
    rate, n = 16.0, 4000
    phase = 2 * np.pi * 0.5 * np.arange(n) / rate
    random = np.random.default_rng(seed)
    rows = np.zeros((n, 5))
    rows[:, 0], rows[:, 1] = amplitude * np.cos(phase), -amplitude * np.sin(phase)
    rows += random.normal(0, 0.05, rows.shape)
    postures = Series.from_rows(rows, rate)
    labels = (phase / (2 * np.pi) * 8).astype(int) % 8
    symbols = Symbols(
        labels=labels.astype(np.int32), n_states=8, segments=postures.segments, sampling=postures.sampling
    )
    return MarkovAnimal.from_symbols(name, symbols, postures, 1, 0.25, start="stationary")


def test_fast_animals_win_far_away_and_slow_ones_nearby():
    animals = [crawler("slow", 1.0), crawler("fast", 6.0)]
    rule = CrawlSettings(duration=40.0, n_runs=6)
    share = cover_states(animals, PostureBasis.analytic(), rule, rng=3)
    assert share.names == ("slow", "fast")
    assert share.share.shape == (2, 6, food_radii().size)
    curve = food_curve(share, np.array([0.5, 0.5]))
    assert curve.probability[1, -1] > 0.6
    assert curve.probability[1, -1] > curve.probability[1, 0]
    again = cover_states(animals, PostureBasis.analytic(), rule, rng=3, threads=2)
    assert (again.share == share.share).all()
