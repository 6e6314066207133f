"""Mean squared displacement against a double loop and the closed forms of three kinds of motion."""

import numpy as np
import pytest

from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov.exceptions import InputFormatError, SamplingError
from ethomarkov.locomotion.displacement import (
    Displacement,
    diffusion,
    ensemble_msd,
    msd,
    paper_lags,
    squared_displacements,
)
from ethomarkov.locomotion.trajectory import Trajectory


def path_of(points, rate=1.0, offsets=None):
    points = np.asarray(points, dtype=float)
    segments = Segments.from_valid(np.isfinite(points).all(axis=1), offsets)
    return Trajectory(
        centroid=points, heading=np.zeros(len(points)), segments=segments, sampling=Sampling(rate), length_unit="mm"
    )


def wander(n, seed=0, step=1.0):
    return np.cumsum(np.random.default_rng(seed).normal(0, step, (n, 2)), axis=0)


def double_loop(points, lag):
    total, count = 0.0, 0
    for a, b in zip(points[:-lag], points[lag:], strict=True):
        if np.isfinite([a, b]).all():
            total += (b[0] - a[0]) ** 2 + (b[1] - a[1]) ** 2
            count += 1
    return total, count


@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_transform_equals_the_double_loop(offset):
    # far from the origin, far smaller steps than extent, and holes: all that invites cancellation
    points = wander(300, step=0.01) + np.linspace(0, 30, 300)[:, None] + offset
    points[[0, 50, 51, 200]] = np.nan
    lags = np.arange(1, 299)
    total, n_pairs = squared_displacements(points, lags)
    expected = [double_loop(points, lag) for lag in lags]
    assert n_pairs.tolist() == [count for _, count in expected]
    np.testing.assert_allclose(total, [value for value, _ in expected], rtol=1e-9)


def test_few_lags_equal_many():
    points = wander(500)
    few, many = np.array([3, 90]), np.arange(1, 200)
    np.testing.assert_allclose(
        squared_displacements(points, few)[0], squared_displacements(points, many)[0][few - 1], rtol=1e-10
    )


def test_lags_beyond_the_data_have_no_pair():
    total, n_pairs = squared_displacements(wander(10), np.array([9, 10, 50]))
    assert n_pairs.tolist() == [1, 0, 0]
    assert (total[1:] == 0).all()
    assert squared_displacements(np.full((5, 2), np.nan), np.array([1]))[1].tolist() == [0]


def test_pairs_stay_within_runs_and_animals():
    points = wander(300)
    points[100:103] = np.nan
    points[200:] += 1000  # another animal, far away
    found = msd(path_of(points, offsets=np.array([0, 200, 300])), [1.0, 20.0, 99.0])
    runs = [points[:100], points[103:200]]
    sums = [np.sum([double_loop(run, lag) for run in runs if lag < len(run)], axis=0) for lag in (1, 20, 99)]
    np.testing.assert_allclose(found.msd[0], [total / count for total, count in sums], rtol=1e-10)
    assert found.n_pairs.tolist() == [[count for _, count in sums], [99, 80, 1]]


def test_pairs_across_gaps_on_request():
    points = wander(60)
    points[20:25] = np.nan
    path = path_of(points)
    found = msd(path, [30.0, 50.0], across_gaps=True)
    expected = np.array([double_loop(points, lag) for lag in (30, 50)])
    np.testing.assert_allclose(found.msd[0], expected[:, 0] / expected[:, 1], rtol=1e-10)
    within = msd(path, [30.0, 50.0])
    assert within.n_pairs.tolist() == [[5, 0]]
    assert np.isnan(within.msd[0, 1])


def test_straight_motion():
    time = np.arange(2000) / 16
    found = msd(path_of(np.stack([3 * time, 4 * time], axis=1), 16.0))
    np.testing.assert_allclose(found.msd[0], 25 * found.lags**2, rtol=1e-9)
    np.testing.assert_allclose(found.exponent, 2, rtol=1e-9)
    assert (found.lags[0], found.lags[-1]) == (1 / 16, 500 / 16)


def test_brownian_motion():
    """MSD = 4 D τ; the spread over 40 walks bounds the error of their mean."""
    D, rate = 0.3, 4.0
    paths = [path_of(wander(4000, seed, np.sqrt(2 * D / rate)), rate) for seed in range(40)]
    found = ensemble_msd(iter(paths), np.arange(10.0, 41.0, 2.0))
    assert (found.over, len(found.names)) == ("runs", 40)
    fit = diffusion(found, (10, 40))
    error = fit.coefficient.std(ddof=1) / np.sqrt(40)
    assert fit.interval.estimate == pytest.approx(D, abs=3 * error)
    assert error < 0.02
    assert fit.interval.high - fit.interval.low == pytest.approx(2 * 1.96 * error, rel=0.2)
    mean, low, high = found.mean_band()
    np.testing.assert_allclose(mean, 4 * D * found.lags, rtol=0.1)
    assert ((low < mean) & (mean < high)).all()


@pytest.mark.parametrize("persistence", [2.0, 8.0])
def test_persistent_walk(persistence):
    """Fürth: MSD = 2 v² τ_p (τ − τ_p (1 − exp(−τ/τ_p))) at constant speed v and 1/τ_p of rotational diffusion."""
    rate, v, n_walks = 10.0, 0.7, 300
    random = np.random.default_rng(1)
    turns = random.normal(0, np.sqrt(2 / (persistence * rate)), (n_walks, 1500))
    turns[:, 0] = random.uniform(0, 2 * np.pi, n_walks)
    angle = np.cumsum(turns, axis=1)
    steps = np.stack([np.cos(angle), np.sin(angle)], axis=-1) * v / rate
    found = ensemble_msd((path_of(np.cumsum(step, axis=0), rate) for step in steps), np.array([0.5, 1, 5, 10, 20, 30]))
    lag = found.lags
    furth = 2 * v**2 * persistence * (lag - persistence * (1 - np.exp(-lag / persistence)))
    error = found.msd.std(axis=0, ddof=1) / np.sqrt(n_walks)
    np.testing.assert_array_less(np.abs(found.msd.mean(axis=0) - furth), 3.5 * error + 0.01 * furth)
    assert (error < 0.1 * furth).all()


def line(slope, intercept, lags):
    lags = np.asarray(lags, dtype=float)
    rows = np.atleast_1d(slope)[:, None] * lags + np.atleast_1d(intercept)[:, None]
    names = tuple(str(k) for k in range(len(rows)))
    return Displacement(
        lags=lags, msd=rows, n_pairs=np.ones(rows.shape, dtype=int), names=names, over="animals", length_unit="mm"
    )


def test_lines_are_fitted_exactly():
    found = diffusion(line([0.4, 0.8], [0.0, -40.0], np.arange(50, 120, 5)))
    np.testing.assert_allclose(found.slope, [0.4, 0.8], rtol=1e-12)
    np.testing.assert_allclose(found.coefficient, [0.1, 0.2], rtol=1e-12)
    np.testing.assert_allclose(found.intercept, [0, -40], atol=1e-10)
    assert found.exponent[0] == pytest.approx(1)
    assert found.diffusive.tolist() == [True, False]
    assert "1 of 2" in found.caution
    assert (found.interval.estimate, found.interval.n, found.interval.over) == (pytest.approx(0.15), 2, "animals")


def test_published_convention_is_the_slope():
    found = diffusion(line(0.4, 0.0, np.arange(50, 120, 5)), convention="slope")
    assert found.coefficient[0] == pytest.approx(0.4)
    assert found.caution == ""
    with pytest.raises(InputFormatError, match="slope/4"):
        diffusion(line(0.4, 0.0, np.arange(50, 120, 5)), convention="4D")


def test_a_row_without_pairs_is_left_out():
    displacement = line([0.4, np.nan], [0.0, 0.0], np.arange(50, 120, 5))
    found = diffusion(displacement)
    assert np.isnan(found.coefficient[1])
    assert not found.diffusive[1]
    assert (found.interval.n, found.caution) == (1, "")


def test_a_window_without_lags():
    with pytest.raises(SamplingError, match="three"):
        diffusion(line(1.0, 0.0, [1, 2, 3, 70, 90]))


def test_ballistic_motion_is_flagged():
    time = np.arange(4000.0)
    found = diffusion(msd(path_of(np.stack([time, 0 * time], axis=1)), np.arange(60.0, 101.0)))
    assert found.exponent[0] == pytest.approx(2)
    assert not found.diffusive[0]
    assert "2.00" in found.caution


def test_paper_lags():
    lags = paper_lags()
    assert (lags.size, lags[0]) == (265, 1.0)
    assert lags[-1] == pytest.approx(150, abs=1 / 16)  # cutting 2399.99… to whole frames takes one off
    assert ((lags > 60) & (lags < 100)).sum() == ((lags >= 60) & (lags <= 100)).sum() == 30


def test_lags_must_ascend_and_be_whole_frames():
    path = path_of(wander(50), 16.0)
    with pytest.raises(SamplingError, match="ascend"):
        msd(path, [1.0, 0.5])
    with pytest.raises(SamplingError, match="whole number"):
        msd(path, [0.1])


def test_ensembles_must_agree():
    with pytest.raises(InputFormatError, match="no path"):
        ensemble_msd([], np.array([1.0]))
    other = path_of(wander(50))
    mixed = Trajectory(centroid=other.centroid, heading=other.heading, segments=other.segments, sampling=other.sampling)
    with pytest.raises(InputFormatError, match="body lengths and mm"):
        ensemble_msd([other, mixed], np.array([1.0]))
