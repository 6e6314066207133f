"""Intervals against closed forms, and how often they contain the truth."""

import numpy as np
import pytest
from scipy import stats

from ethomarkov._core.interval import (
    Interval,
    bootstrap_interval,
    draw_units,
    interval_of_mean,
    jackknife_interval,
    jackknife_limits,
    leave_one_out,
    mean_and_interval,
    mean_and_limits,
    mean_band,
    percentile_interval,
)
from ethomarkov.exceptions import InputFormatError

N_STUDIES = 6000
ONE_ERROR = np.sqrt(0.95 * 0.05 / N_STUDIES)


class TestMean:
    SAMPLE = np.array([1.0, 2.0, 4.0, 8.0, 3.0])

    def test_signed_is_that_of_student(self):
        found = interval_of_mean(self.SAMPLE, "animals", scale="signed", level=0.9)
        expected = stats.t.interval(0.9, 4, self.SAMPLE.mean(), stats.sem(self.SAMPLE))
        assert (found.low, found.high) == pytest.approx(expected, rel=1e-12)
        assert (found.estimate, found.over, found.n, found.level) == (3.6, "animals", 5, 0.9)

    def test_positive_is_symmetric_in_the_logarithm(self):
        found = interval_of_mean(self.SAMPLE, "runs", level=0.5)
        x = stats.t.ppf(0.75, 4) * stats.sem(self.SAMPLE) / 3.6
        assert (found.low, found.high) == pytest.approx((3.6 * np.exp(-x), 3.6 * np.exp(x)), rel=1e-12)

    def test_a_wide_positive_one_follows_the_tangent(self):
        """t · SE exceeds the mean: the upper limit is e · t · SE, where both forms meet if they are equal."""
        reach = stats.t.ppf(0.975, 4) * stats.sem(self.SAMPLE)
        found = interval_of_mean(self.SAMPLE - 1.5, "animals")
        assert reach > found.estimate
        assert found.high == pytest.approx(np.e * reach)
        assert found.low == pytest.approx(found.estimate * np.exp(-reach / found.estimate))
        at_the_joint = interval_of_mean(self.SAMPLE - 3.6 + reach, "animals")
        assert at_the_joint.high == pytest.approx(np.e * reach)

    def test_shares_stay_between_zero_and_one_and_mirror(self):
        sample = np.array([0.01, 0.2, 0.6, 0.02])
        found, other = (interval_of_mean(x, "animals", scale="share") for x in (sample, 1 - sample))
        assert 0 < found.low < sample.mean() < found.high < 1
        assert (1 - other.high, 1 - other.low) == pytest.approx((found.low, found.high))

    def test_missing_units_are_left_out(self):
        holes = np.array([np.nan, 1.0, 2.0, np.nan, 4.0, 8.0, 3.0])
        for scale in ("positive", "signed"):
            found, expected = (interval_of_mean(sample, "animals", scale=scale) for sample in (holes, self.SAMPLE))
            assert found == expected

    @pytest.mark.parametrize("scale", ["positive", "signed", "share"])
    @pytest.mark.parametrize(("sample", "n"), [([], 0), ([np.nan, np.nan], 0), ([np.nan, 0.5], 1)])
    def test_fewer_than_two_units_have_no_limits(self, sample, n, scale):
        found = interval_of_mean(np.array(sample), "animals", scale=scale)
        assert found.n == n
        assert np.isnan(found.estimate) == (n == 0)
        assert np.isnan([found.low, found.high]).all()

    @pytest.mark.parametrize("scale", ["positive", "signed", "share"])
    def test_equal_units_give_an_interval_of_no_width(self, scale):
        found = interval_of_mean(np.full(6, 0.25), "runs", scale=scale)
        assert (found.low, found.estimate, found.high) == pytest.approx((0.25, 0.25, 0.25))

    def test_nothing_seen_has_no_limits(self):
        never = [interval_of_mean(np.zeros(5), "animals", scale=scale) for scale in ("positive", "share")]
        always = interval_of_mean(np.ones(5), "animals", scale="share")
        assert [one.estimate for one in (*never, always)] == [0, 0, 1]
        assert np.isnan([(one.low, one.high) for one in (*never, always)]).all()

    def test_a_single_animal_with_anything_has_limits(self):
        for scale in ("positive", "share"):
            found = interval_of_mean(np.array([0, 0, 0, 0, 0.5]), "animals", scale=scale)
            assert 0 < found.low < 0.1 < found.high < 2

    def test_tables_are_averaged_entry_by_entry(self):
        values = np.random.default_rng(0).lognormal(size=(12, 3, 2))
        values[4, 1, 0] = np.nan
        mean, low, high = mean_and_interval(values)
        for k in np.ndindex(3, 2):
            one = interval_of_mean(values[(slice(None), *k)], "animals")
            assert (mean[k], low[k], high[k]) == pytest.approx((one.estimate, one.low, one.high))
        for found, expected in zip(mean_band(values, scale="positive"), (mean, low, high), strict=True):
            np.testing.assert_array_equal(found, expected)

    @pytest.mark.parametrize(("value", "scale"), [(-0.5, "positive"), (1.5, "share"), (-0.5, "share"), (1.0, "log")])
    def test_values_that_the_scale_does_not_have_are_refused(self, value, scale):
        with pytest.raises(InputFormatError, match=scale):
            interval_of_mean(np.full(3, value), "animals", scale=scale)


class TestPooled:
    def test_of_a_mean_it_is_the_interval_of_the_mean(self):
        sample = np.array([1.0, 2.0, 4.0, 8.0, 3.0])
        left_out = leave_one_out(sample) / 4
        for scale in ("positive", "signed"):
            found = jackknife_interval(sample.mean(), left_out, "animals", scale=scale)
            expected = interval_of_mean(sample, "animals", scale=scale)
            assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=1e-12)
            assert (found.over, found.n) == ("animals", 5)

    def test_tables(self):
        rng = np.random.default_rng(0)
        left_out = rng.uniform(0.1, 0.3, (7, 2, 3))
        low, high = jackknife_limits(left_out.mean(axis=0), left_out, scale="share")
        one = jackknife_interval(float(left_out[:, 1, 2].mean()), left_out[:, 1, 2], "animals", scale="share")
        assert (low[1, 2], high[1, 2]) == pytest.approx((one.low, one.high))

    def test_what_hangs_on_one_unit_has_no_limits(self):
        """Only the first animal visited the state: without it there is no rate at all."""
        found = jackknife_interval(0.4, np.array([np.nan, 0.4, 0.4]), "animals")
        assert (found.estimate, found.n) == (0.4, 3)
        assert np.isnan([found.low, found.high]).all()
        none = jackknife_interval(0.4, np.empty(0), "animals")
        assert np.isnan([none.low, none.high]).all()

    def test_no_event_is_bounded_by_the_time_observed(self):
        """e^(-3) is five per cent: had three events been expected, one would have been seen."""
        found = jackknife_interval(0.0, np.zeros(6), "animals", exposure=60.0)
        assert (found.low, found.high) == (0, pytest.approx(3 / 60, rel=2e-3))
        unknown = jackknife_interval(0.0, np.zeros(6), "animals")
        assert np.isnan([unknown.low, unknown.high]).all()

    def test_an_estimate_set_to_zero_keeps_the_spread_of_its_units(self):
        left_out = np.array([-0.1, 0.05, 0.1, -0.05])
        error = np.sqrt(3 / 4 * (left_out**2).sum())
        found = jackknife_interval(0.0, left_out, "animals", exposure=1e6)
        assert (found.low, found.high) == (0, pytest.approx(np.e * stats.t.ppf(0.975, 3) * error))


def drawn(rng, n_animals, kind):
    """Numerators and denominators of every animal in many studies, and the true ratio of their sums."""
    shape, ones = (n_animals, N_STUDIES), np.ones((n_animals, N_STUDIES))
    if kind == "pooled rate":
        time = 10 * rng.uniform(0.5, 1.5, shape)
        return rng.poisson(rng.gamma(4, 0.25, shape) * time).astype(float), time, 1.0
    if kind == "ratio of means":
        return *rng.lognormal(0, 0.4, (2, *shape)), 1.0
    if kind == "pooled share":
        time = rng.uniform(0.5, 1.5, shape)
        return rng.beta(3, 12, shape) * time, time, 0.2
    return {
        "normal mean": (rng.normal(5, 1.5, shape), ones, 5.0),
        "lognormal mean": (rng.lognormal(0, 0.5, shape), ones, np.exp(0.125)),
        "rare share": (rng.beta(1, 19, shape), ones, 0.05),
        "signed mean": (rng.normal(0, 1, shape), ones, 0.0),
    }[kind]


@pytest.mark.parametrize("n_animals", [6, 12, 20])
@pytest.mark.parametrize(
    ("kind", "scale"),
    [
        ("normal mean", "positive"),
        ("lognormal mean", "positive"),
        ("signed mean", "signed"),
        ("rare share", "share"),
        ("pooled rate", "positive"),
        ("ratio of means", "positive"),
        ("pooled share", "share"),
    ],
)
def test_coverage(kind, scale, n_animals):
    """Between 93 and 97 % of intervals contain the truth, to what so many studies can tell."""
    upper, lower, truth = drawn(np.random.default_rng(n_animals), n_animals, kind)
    if kind.endswith(("mean", "rare share")):
        _, low, high = mean_and_interval(upper, scale=scale)
    else:
        left_out = leave_one_out(upper) / leave_one_out(lower)
        low, high = jackknife_limits(upper.sum(axis=0) / lower.sum(axis=0), left_out, scale=scale)
    covered = np.mean((low <= truth) & (truth <= high))
    assert 0.93 - ONE_ERROR < covered < 0.97


def test_percentiles_of_a_bootstrap_cover_less():
    """Why they are not used for a few animals: 85 % of the intervals of six contain the truth."""
    rng = np.random.default_rng(0)
    values = rng.normal(5, 1.5, (6, 2000))
    means = rng.multinomial(6, np.full(6, 1 / 6), 500) @ values / 6
    low, high = np.quantile(means, [0.025, 0.975], axis=0)
    assert 0.8 < np.mean((low <= 5) & (high >= 5)) < 0.88


class TestResampling:
    @pytest.mark.parametrize("level", [0.68, 0.95])
    def test_width_is_that_of_the_standard_error(self, level):
        sample = np.random.default_rng(0).normal(3.0, 2.0, 400)
        found = bootstrap_interval(sample, "animals", level=level, n_resamples=5000, rng=1)
        standard_error = sample.std() / np.sqrt(sample.size)
        z = stats.norm.ppf(0.5 + level / 2)
        assert found.estimate == pytest.approx(sample.mean(), rel=1e-12)
        assert found.low == pytest.approx(sample.mean() - z * standard_error, abs=0.08 * standard_error)
        assert found.high == pytest.approx(sample.mean() + z * standard_error, abs=0.08 * standard_error)

    def test_what_was_resampled_is_kept(self):
        found = bootstrap_interval(np.arange(5.0), "events", level=0.9)
        assert (found.over, found.n, found.level) == ("events", 5, 0.9)

    def test_missing_units_are_left_out(self):
        sample = np.array([1.0, 2.0, 4.0, 8.0])
        holes = np.array([np.nan, 1.0, 2.0, np.nan, 4.0, 8.0])
        assert bootstrap_interval(holes, "animals", rng=2) == bootstrap_interval(sample, "animals", rng=2)

    def test_one_unit_has_no_limits(self):
        found = bootstrap_interval(np.array([np.nan, 4.0]), "animals")
        assert found.estimate == 4.0
        assert found.n == 1
        assert np.isnan([found.low, found.high]).all()

    @pytest.mark.parametrize("sample", [[], [np.nan, np.nan]])
    def test_no_unit_gives_nothing(self, sample):
        found = bootstrap_interval(np.array(sample), "animals")
        assert found.n == 0
        assert np.isnan([found.estimate, found.low, found.high]).all()

    def test_other_statistics(self):
        sample = np.random.default_rng(1).exponential(size=501)
        found = bootstrap_interval(sample, "events", statistic=np.median, n_resamples=500)
        assert found.estimate == np.median(sample)
        assert found.low < found.estimate < found.high

    def test_seeded_and_printed(self):
        sample = np.random.default_rng(0).normal(size=20)
        assert bootstrap_interval(sample, "animals", rng=4) == bootstrap_interval(sample, "animals", rng=4)
        assert bootstrap_interval(sample, "animals", rng=4) != bootstrap_interval(sample, "animals", rng=5)
        shown = Interval(estimate=2.6789, low=2.1, high=3.2, level=0.95, over="animals", n=12)
        assert str(shown) == "2.68 (2.1, 3.2)"

    def test_units_are_drawn_with_replacement_and_one_is_not_drawn(self):
        draws = np.array(list(draw_units(4, 200, 0)))
        assert (draws.sum(axis=1) == 4).all()
        assert draws.max() > 1
        assert not list(draw_units(1, 200, 0))

    def test_percentiles(self):
        found = percentile_interval(3.0, np.append(np.arange(101.0), np.nan), "runs", 7, level=0.9)
        assert (found.low, found.high) == pytest.approx((5.0, 95.0))
        assert (found.n, found.over) == (7, "runs")
        assert np.isnan(percentile_interval(3.0, np.empty(0), "runs", 1).low)


def test_mean_and_limits_leave_out_what_is_missing():
    rows = np.random.default_rng(0).normal(size=(50, 3, 2))
    rows[:7, 0, 0] = np.nan
    rows[:, 1, 1] = np.nan
    found = mean_and_limits(rows)
    assert np.isnan(found[:, 1, 1]).all()
    for column in np.argwhere(np.isfinite(found[0])).tolist():
        values = rows[:, *column]
        values = values[np.isfinite(values)]
        expected = [values.mean(), *np.percentile(values, [2.5, 97.5])]
        np.testing.assert_allclose(found[:, *column], expected, rtol=1e-12)


@pytest.mark.parametrize("shape", [(4, 0), (4, 3, 0)])
def test_mean_and_limits_of_no_column(shape):
    assert mean_and_limits(np.zeros(shape)).shape == (3, *shape[1:])
