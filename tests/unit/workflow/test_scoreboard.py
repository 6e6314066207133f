"""The rule of judgement, and the table of published figures."""

import math
from html.parser import HTMLParser

import numpy as np
import pytest

from ethomarkov._core.interval import Interval
from ethomarkov.workflow.scoreboard import (
    JUMPS,
    MESOSTATES,
    N_WORMS,
    VERDICTS,
    WORM_ENTROPY,
    WORM_PATHS,
    WORM_REVERSIBLE,
    Found,
    Published,
    count_verdicts,
    judge,
    published_figures,
    render_html,
    render_markdown,
    table_rows,
)


def figure(value=10.0, low=8.0, high=12.0, **changes):
    fields = {"spread": "95 % of means", "source": "printed", "key": "x", "section": "S", "what": "a | <figure>"}
    return Published(value=value, low=low, high=high, **(fields | changes))


def ours(estimate, low=np.nan, high=np.nan, n_worms=N_WORMS):
    interval = Interval(estimate=estimate, low=low, high=high, level=0.95, over="animals", n=n_worms)
    return Found(interval=interval, n_worms=n_worms)


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (ours(11.0, 10.5, 11.5), "agrees"),
        (ours(13.0, 11.9, 14.0), "agrees"),
        (ours(13.0, 12.1, 14.0), "differs"),
        (ours(7.0, 6.0, 7.9), "differs"),
        (ours(12.0), "agrees"),
        (ours(12.01), "differs"),
        (ours(np.nan), "cannot be judged"),
        ("no data", "cannot be judged"),
    ],
)
def test_intervals_must_overlap(found, verdict):
    assert judge(figure(), found).verdict == verdict


@pytest.mark.parametrize("spread", ["95 % of runs", "range over worms"])
def test_between_limits_of_units_the_estimate_itself_must_lie(spread):
    assert judge(figure(spread=spread), ours(12.5, 11.0, 14.0)).verdict == "differs"
    assert judge(figure(spread=spread), ours(11.5, 11.0, 14.0)).verdict == "agrees"


def test_half_a_percent_never_counts():
    exact = figure(value=1.0, low=1.0, high=1.0, spread="rounding")
    assert judge(exact, ours(1.0049)).verdict == "agrees"
    assert judge(exact, ours(1.0051)).verdict == "differs"
    assert judge(figure(value=0.0, low=0.0, high=0.0), ours(1e-9)).verdict == "differs"


def test_distance_is_told_in_half_widths_of_the_side():
    lopsided = figure(value=10.0, low=9.0, high=14.0)
    assert "+80.0 %, 2.0 half-widths" in judge(lopsided, ours(18.0)).reason
    assert "-40.0 %, 4.0 half-widths" in judge(lopsided, ours(6.0)).reason


def test_printed_digits_are_no_interval_to_count_in():
    row = judge(figure(value=2.0, low=1.99, high=2.01, spread="rounding"), ours(-3.0))
    assert row.verdict == "differs"
    assert row.reason == "-250.0 %"


class TestFewWorms:
    @pytest.mark.parametrize("of_worms", [1, N_WORMS])
    def test_what_rests_on_the_partition_of_all_worms_needs_all_worms(self, of_worms):
        pooled = figure(pooled=True, of_worms=of_worms)
        row = judge(pooled, ours(15.0, n_worms=1))
        assert row.verdict == "cannot be judged"
        assert row.reason.endswith("of 1 ours is +50.0 %")
        assert judge(pooled, ours(15.0)).verdict == "differs"

    def test_the_interval_of_a_mean_implies_the_range_of_single_worms(self):
        low, high = figure().limits_of_one()
        assert (low, high) == pytest.approx((10 - 2 * math.sqrt(12), 10 + 2 * math.sqrt(12)))
        assert judge(figure(), ours(16.9, n_worms=1)).verdict == "agrees"
        assert judge(figure(), ours(17.0, n_worms=1)).verdict == "differs"
        assert judge(figure(), ours(17.0, n_worms=1)).reason.startswith("1 of 12 worms")

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


class TestPublishedFigures:
    def test_every_figure_is_named_once_and_lies_within_its_limits(self):
        figures = published_figures()
        keys = [one.key for one in figures]
        assert len(set(keys)) == len(keys) > 200
        assert all(one.low <= one.value <= one.high for one in figures)
        assert all(one.section and one.what for one in figures)
        assert {one.of_worms for one in figures} == {1, N_WORMS}

    def test_worms_are_added_as_asked(self):
        alone, one = len(published_figures(())), len(published_figures([6]))
        assert one - alone == 10
        found = {figure.key: figure for figure in published_figures([6])}
        assert found["worm 6 entropy rate"].value == 18.63
        assert found["worm 6 slope"].value == 0.2399
        assert (found["worm 6 simulated slope"].low, found["worm 6 simulated slope"].high) == (0.111, 0.297)

    def test_tables_agree_among_themselves(self):
        """What is published twice is the same: means over worms, shares of all states, probabilities."""
        found = {figure.key: figure for figure in published_figures()}
        assert np.mean(WORM_ENTROPY) == pytest.approx(found["entropy rate K=11 N=1000"].value, abs=0.006)
        assert np.std(WORM_ENTROPY, ddof=1) == pytest.approx(1.97, abs=0.006)
        assert np.mean(WORM_REVERSIBLE) == pytest.approx(found["reversible time 2"].value, abs=0.006)
        states = np.array(list(MESOSTATES.values()))
        assert states[:, 0].sum() == pytest.approx(1.0, abs=0.001)
        np.testing.assert_allclose(states[:, 4:].sum(axis=0), 1.0, atol=0.02)
        pirouettes = [MESOSTATES[name][0] for name in ("dorsal turn", "reversal", "ventral turn")]
        assert sum(pirouettes) == pytest.approx(found["pirouette measure"].value, abs=0.001)
        leaving = {name: sum(p for (before, _), p in JUMPS.items() if before == name) for name, _ in JUMPS}
        assert all(0.8 < total < 1.005 for total in leaving.values())
        # a straight line through 60 and 100 s has about the printed slope
        slopes = [(row[7] - row[6]) / 40 for row in WORM_PATHS]
        np.testing.assert_allclose(slopes, [row[0] for row in WORM_PATHS], rtol=0.05)


class TestOnPaper:
    @pytest.fixture
    def rows(self):
        return [
            judge(figure(), ours(11.0, 10.0, 12.0)),
            judge(figure(), ours(50.0)),
            judge(figure(), "no data & no path"),
        ]

    def test_counts(self, rows):
        assert count_verdicts(rows) == "3 figures: 1 agrees, 1 differs, 1 cannot be judged."

    def test_plain_rows(self, rows):
        table = list(table_rows(rows))
        assert [row["verdict"] for row in table] == ["agrees", "differs", "cannot be judged"]
        assert (table[0]["ours"], table[0]["ours_low"], table[0]["ours_over"]) == (11.0, 10.0, "12 animals")
        assert (table[2]["ours"], table[2]["reason"]) == ("", "no data & no path")
        assert len({tuple(row) for row in table}) == 1

    def test_markdown(self, rows):
        text = render_markdown(rows, "Title")
        lines = [line for line in text.splitlines() if line.startswith("|")]
        assert len(lines) == 2 + len(rows)
        assert {line.count("|") for line in lines} == {6}
        assert "10 (8, 12; m) printed" in text
        assert "11 (10, 12)" in text

    def test_the_page_is_whole_and_says_verdicts_in_words(self, rows):
        page = render_html(rows, "A & B")
        stack, seen = [], []

        class Checker(HTMLParser):
            def handle_starttag(self, tag, attrs):
                seen.append((tag, dict(attrs)))
                if tag not in ("meta", "br"):
                    stack.append(tag)

            def handle_endtag(self, tag):
                assert stack.pop() == tag

        Checker().feed(page)
        assert stack == []
        assert not any("src" in attrs or "href" in attrs for _, attrs in seen)
        assert "A &amp; B" in page
        assert "a | &lt;figure&gt;" in page
        assert "no data &amp; no path" in page
        assert all(verdict in page for verdict in VERDICTS if verdict in {row.verdict for row in rows})
        assert sum(tag == "tr" for tag, _ in seen) == 1 + len(rows)
