"""The rule of judgement."""

import math

import numpy as np
import pytest
from scipy import stats

from ethomarkov._core.interval import Interval
from ethomarkov.paper.published import N_WORMS, Published
from ethomarkov.paper.scoring import Estimate, count_verdicts, judge, table_rows


def figure(value=10.0, low=8.0, high=12.0, **changes):
    fields = {"spread": "95 % of means", "source": "printed", "key": "x", "section": "S", "what": "a | <figure>"}
    return Published(value=value, low=low, high=high, **(fields | changes))


def ours(estimate, low=np.nan, high=np.nan, n_worms=N_WORMS):
    interval = Interval(estimate=estimate, low=low, high=high, level=0.95, over="animals", n=n_worms)
    return Estimate(interval=interval, n_worms=n_worms)


class TestRules:
    """Which rule decides, and how; published is 10 (8, 12), so that one half-width is 2."""

    @pytest.mark.parametrize(
        ("found", "verdict"),
        [
            (ours(12.8, 10.8, 14.8), "agrees"),  # 2.8 < √8 = 2.828
            (ours(12.9, 10.9, 14.9), "differs"),  # and yet the intervals overlap
            (ours(7.2, 5.2, 9.2), "agrees"),
            (ours(7.1, 5.1, 9.1), "differs"),
            (ours(13.5, 11.9, 23.5), "differs"),  # the side that faces the published figure counts: √(2² + 1.6²) = 2.56
            (ours(13.5, 10.0, 13.6), "agrees"),  # √(2² + 3.5²) = 4.03
        ],
    )
    def test_the_difference_must_be_compatible_with_zero(self, found, verdict):
        row = judge(figure(), found)
        assert row.verdict == verdict
        assert row.reason.startswith("by both intervals: ")

    @pytest.mark.parametrize(("found", "verdict"), [(ours(12.0), "agrees"), (ours(12.01), "differs")])
    def test_without_an_interval_ours_must_lie_in_the_published_one(self, found, verdict):
        row = judge(figure(), found)
        assert (row.verdict, row.reason[:26]) == (verdict, "by the published interval:")

    @pytest.mark.parametrize(
        ("spread", "rule"),
        [("reading error", "by our interval and the error of reading: "), ("rounding", "by our interval: ")],
    )
    def test_our_interval_must_hold_what_reads_or_rounds_to_the_published_figure(self, spread, rule):
        published = figure(low=9.9, high=10.1, spread=spread)
        for found, verdict in ((ours(11.0, 10.1, 11.9), "agrees"), (ours(11.0, 10.11, 11.9), "differs")):
            row = judge(published, found)
            assert row.verdict == verdict
            assert row.reason.startswith(rule)

    def test_digits_are_exact_and_nothing_else_is_judged_without_an_interval(self):
        exact, read = figure(low=9.95, high=10.05, spread="rounding"), figure(spread="reading error")
        assert judge(exact, ours(10.05)).verdict == "agrees"
        assert judge(exact, ours(10.0501)).verdict == "differs"  # half a per cent counts
        assert judge(exact, ours(10.0501)).reason == "by the digits printed: +0.5 %"
        row = judge(read, ours(10.0))
        assert (row.verdict, row.ours.estimate) == ("cannot be judged", 10.0)
        assert row.reason == "no interval on either side; ours is +0.0 %"

    @pytest.mark.parametrize("found", [ours(np.nan), "no data"])
    def test_what_is_not_there_cannot_be_judged(self, found):
        row = judge(figure(), found)
        assert (row.verdict, row.ours) == ("cannot be judged", None)

    def test_our_mean_must_lie_among_single_runs(self):
        runs = figure(spread="95 % of runs")
        assert judge(runs, ours(12.5, 11.0, 14.0)).verdict == "differs"
        assert judge(runs, ours(11.5, 11.0, 14.0)).verdict == "agrees"
        assert judge(runs, ours(11.5)).reason == "by the limits of single runs: +15.0 %, within"

    def test_a_range_over_worms_tells_how_well_its_middle_is_known(self):
        worms = figure(low=0.0, high=30.0, spread="range over worms")  # half-widths 4.1 and 8.2
        assert judge(worms, ours(18.1, 17.0, 19.0)).verdict == "agrees"
        assert judge(worms, ours(18.4, 17.0, 19.0)).verdict == "differs"
        assert judge(worms, ours(5.0, 4.0, 6.0)).verdict == "differs"

    def test_the_distance_is_told_in_what_decides(self):
        lopsided = figure(value=10.0, low=9.0, high=14.0)
        assert judge(lopsided, ours(18.0)).reason.endswith(": +80.0 %, 2.0 half-widths")
        assert judge(lopsided, ours(6.0)).reason.endswith(": -40.0 %, 4.0 half-widths")
        # 5 apart, and one standard error is √(4² + 3²) / 1.96
        assert judge(lopsided, ours(15.0, 12.0, 18.0)).reason.endswith(": +50.0 %, 2.0 standard errors")

    def test_rounding_of_numbers_is_no_difference(self):
        assert judge(figure(value=0.3, low=0.3, high=0.3, spread="rounding"), ours(0.1 + 0.2)).verdict == "agrees"
        assert judge(figure(value=0.0, low=0.0, high=0.0), ours(1e-9)).verdict == "differs"


N_DRAWS = 5000


@pytest.mark.parametrize("seed", range(10))
def test_equal_truths_are_called_different_in_five_per_cent(seed):
    """Both estimates are of one normal law with known standard errors; overlap would find 0.6 % with equal ones."""
    rng = np.random.default_rng(seed)
    errors = rng.uniform(0.2, 3.0, 2)
    errors[1] = errors[0] if seed % 2 else errors[1]
    theirs, mine = (20 + error * rng.normal(size=N_DRAWS) for error in errors)
    wide = 1.96 * errors
    rows = [
        judge(figure(a, a - wide[0], a + wide[0]), ours(b, b - wide[1], b + wide[1]))
        for a, b in zip(theirs.tolist(), mine.tolist(), strict=True)
    ]
    assert np.mean([row.verdict == "differs" for row in rows]) == pytest.approx(0.05, abs=0.015)
    if seed % 2:
        assert np.mean(np.abs(theirs - mine) > wide.sum()) == pytest.approx(0.0056, abs=0.005)


@pytest.mark.parametrize("seed", range(10))
def test_intervals_of_few_animals_call_no_more_than_five_per_cent_different(seed):
    """With Student's t on either side, two means of six to twelve animals of one law."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(6, 13, 2)
    means, halves = [], []
    for n, sd in zip(sizes, rng.uniform(0.5, 2.0, 2), strict=True):
        animals = 20 + sd * rng.normal(size=(N_DRAWS, n))
        means.append(animals.mean(axis=1))
        halves.append(stats.t.ppf(0.975, n - 1) * animals.std(axis=1, ddof=1) / np.sqrt(n))
    rows = [
        judge(figure(a, a - wide_a, a + wide_a), ours(b, b - wide_b, b + wide_b))
        for a, wide_a, b, wide_b in np.stack([means[0], halves[0], means[1], halves[1]], axis=1).tolist()
    ]
    assert 0.02 < np.mean([row.verdict == "differs" for row in rows]) < 0.06


def test_a_range_over_twelve_worms_calls_about_five_per_cent_different():
    """The published figure is the median of twelve worms with their range, ours the mean of twelve others."""
    rng = np.random.default_rng(0)
    worms, mine = 20 + rng.normal(size=(2, N_DRAWS, N_WORMS))
    half = stats.t.ppf(0.975, N_WORMS - 1) * mine.std(axis=1, ddof=1) / np.sqrt(N_WORMS)
    table = np.stack([np.median(worms, axis=1), worms.min(axis=1), worms.max(axis=1), mine.mean(axis=1), half], axis=1)
    rows = [
        judge(figure(middle, low, high, spread="range over worms"), ours(mean, mean - wide, mean + wide))
        for middle, low, high, mean, wide in table.tolist()
    ]
    assert np.mean([row.verdict == "differs" for row in rows]) == pytest.approx(0.05, abs=0.02)


class TestFewWorms:
    @pytest.mark.parametrize("of_worms", [1, N_WORMS])
    def test_what_rests_on_the_partition_of_all_worms_needs_all_worms(self, of_worms):
        pooled = figure(pooled=True, of_worms=of_worms)
        row = judge(pooled, ours(15.0, n_worms=1))
        assert row.verdict == "cannot be judged"
        assert row.reason.endswith("of 1 ours is +50.0 %")
        assert judge(pooled, ours(15.0)).verdict == "differs"

    def test_the_interval_of_a_mean_implies_the_range_of_single_worms(self):
        low, high = figure().limits_of(1)
        assert (low, high) == pytest.approx((10 - 2 * math.sqrt(12), 10 + 2 * math.sqrt(12)))
        assert figure().limits_of(3) == pytest.approx((6.0, 14.0))
        assert figure(worms=(7.0, 16.0)).limits_of(9) == pytest.approx((9.0, 12.0))
        assert judge(figure(), ours(16.9, n_worms=1)).verdict == "agrees"
        assert judge(figure(), ours(17.0, n_worms=1)).verdict == "differs"
        reason = judge(figure(), ours(17.0, n_worms=1)).reason
        assert reason == "by the implied range over worms, 3.07 to 16.9 for 1 of 12 worms: +70.0 %, outside"

    def test_a_published_range_goes_first(self):
        row = judge(figure(worms=(9.5, 10.5)), ours(11.0, n_worms=1))
        assert row.verdict == "differs"
        assert "published range over worms" in row.reason

    @pytest.mark.parametrize("spread", ["95 % of events", "95 % of runs", "reading error", "rounding"])
    def test_other_limits_say_nothing_of_single_worms(self, spread):
        row = judge(figure(spread=spread), ours(10.0, n_worms=1))
        assert row.verdict == "cannot be judged"
        assert row.ours.estimate == 10.0

    def test_a_figure_of_one_worm_is_judged_as_it_stands(self):
        assert judge(figure(of_worms=1), ours(17.0, n_worms=1)).verdict == "differs"
        assert judge(figure(of_worms=1), ours(11.0, n_worms=1)).verdict == "agrees"


def test_synthetic_worms_never_fail_but_the_truth_is_the_truth():
    assert judge(figure(), ours(10.0), synthetic=True).verdict == "resembles"
    assert judge(figure(), ours(50.0), synthetic=True).verdict == "is unlike"
    assert judge(figure(), ours(50.0, n_worms=2), synthetic=True).verdict == "is unlike"
    assert judge(figure(source="truth"), ours(50.0), synthetic=True).verdict == "differs"


def test_counts(rows):
    assert count_verdicts(rows) == "3 figures: 1 agrees, 1 differs, 1 cannot be judged."


def test_plain_rows(rows):
    table = list(table_rows(rows))
    assert [row["verdict"] for row in table] == ["agrees", "differs", "cannot be judged"]
    assert (table[0]["ours"], table[0]["ours_low"], table[0]["ours_over"]) == (11.0, 10.0, "12 animals")
    assert (table[2]["ours"], table[2]["reason"]) == ("", "no data & no path")
    assert len({tuple(row) for row in table}) == 1
