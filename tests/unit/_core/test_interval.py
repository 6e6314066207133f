"""Bootstrap intervals against what is known of the mean of normal data."""

import numpy as np
import pytest
from scipy import stats

from ethomarkov._core.interval import Interval, bootstrap_interval


@pytest.mark.parametrize("level", [0.68, 0.95])
def test_width_is_that_of_the_standard_error(level):
    sample = np.random.default_rng(0).normal(3.0, 2.0, 400)
    found = bootstrap_interval(sample, "animals", level=level, n_resamples=5000, rng=1)
    standard_error = sample.std() / np.sqrt(sample.size)
    z = stats.norm.ppf(0.5 + level / 2)
    assert found.estimate == pytest.approx(sample.mean(), rel=1e-12)
    assert found.low == pytest.approx(sample.mean() - z * standard_error, abs=0.08 * standard_error)
    assert found.high == pytest.approx(sample.mean() + z * standard_error, abs=0.08 * standard_error)


def test_coverage_is_as_stated():
    rng = np.random.default_rng(3)
    intervals = [bootstrap_interval(rng.normal(size=60), "animals", n_resamples=400, rng=k) for k in range(200)]
    covered = np.mean([one.low <= 0 <= one.high for one in intervals])
    # 95 % less the small-sample loss of the percentile method; 3 standard errors are 0.046
    assert 0.89 < covered < 0.985


def test_what_was_resampled_is_kept():
    found = bootstrap_interval(np.arange(5.0), "events", level=0.9)
    assert (found.over, found.n, found.level) == ("events", 5, 0.9)


def test_missing_units_are_left_out():
    sample = np.array([1.0, 2.0, 4.0, 8.0])
    holes = np.array([np.nan, 1.0, 2.0, np.nan, 4.0, 8.0])
    assert bootstrap_interval(holes, "animals", rng=2) == bootstrap_interval(sample, "animals", rng=2)


def test_one_unit_has_no_limits():
    found = bootstrap_interval(np.array([np.nan, 4.0]), "animals")
    assert found.estimate == 4.0
    assert found.n == 1
    assert np.isnan([found.low, found.high]).all()


@pytest.mark.parametrize("sample", [[], [np.nan, np.nan]])
def test_no_unit_gives_nothing(sample):
    found = bootstrap_interval(np.array(sample), "animals")
    assert found.n == 0
    assert np.isnan([found.estimate, found.low, found.high]).all()


def test_equal_units_give_an_interval_of_no_width():
    found = bootstrap_interval(np.full(6, 2.5), "runs")
    assert (found.low, found.estimate, found.high) == (2.5, 2.5, 2.5)


def test_other_statistics():
    sample = np.random.default_rng(1).exponential(size=501)
    found = bootstrap_interval(sample, "events", statistic=np.median, n_resamples=500)
    assert found.estimate == np.median(sample)
    assert found.low < found.estimate < found.high


def test_seeded_and_printed():
    sample = np.random.default_rng(0).normal(size=20)
    assert bootstrap_interval(sample, "animals", rng=4) == bootstrap_interval(sample, "animals", rng=4)
    assert bootstrap_interval(sample, "animals", rng=4) != bootstrap_interval(sample, "animals", rng=5)
    shown = Interval(estimate=2.6789, low=2.1, high=3.2, level=0.95, over="animals", n=12)
    assert str(shown) == "2.68 (2.1, 3.2)"
