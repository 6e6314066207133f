"""The published values, and the file that holds them."""

import tomllib
from importlib import resources

import numpy as np
import pytest

from ethomarkov.paper.published import (
    ENTROPY_RATES,
    EXPONENTS,
    GAINS,
    MSD_LAGS,
    N_WORMS,
    RADII,
    WAVELENGTHS,
    published_figures,
)

STATES = (
    "fast wide run", "fast narrow run", "slow dorsal", "slow ventral", "dorsal turn", "reversal", "ventral turn",
)  # fmt: skip


@pytest.fixture(scope="module")
def entries():
    """Give all rows of the data file as they stand there, with the fields of their groups."""
    text = resources.files("ethomarkov.paper").joinpath("published.toml").read_text(encoding="utf-8")
    return [group | row for group in tomllib.loads(text)["group"] for row in group["figures"]]


@pytest.fixture(scope="module")
def values():
    return {figure.key: figure.value for figure in published_figures()}


class TestDataFile:
    def test_every_row_is_used_once(self, entries):
        keys = [entry["key"] for entry in entries]
        assert len(set(keys)) == len(keys)
        figures = {figure.key: figure for figure in published_figures()}
        assert set(figures) == set(keys)
        for entry in entries:
            figure = figures[entry["key"]]
            assert (figure.what, figure.value, figure.section) == (entry["what"], entry["value"], entry["section"])

    def test_limits_are_stated_one_way_and_hold_the_value(self, entries):
        for entry in entries:
            ways = [{"low", "high"}, {"error"}, {"relative_error"}, {"sd"}]
            assert sum(way <= set(entry) for way in ways) == 1, entry["key"]
            assert sum(bool(way & set(entry)) for way in ways) == 1, entry["key"]
        assert all(figure.low <= figure.value <= figure.high for figure in published_figures())

    def test_limits_from_errors(self):
        figures = {figure.key: figure for figure in published_figures()}
        read, share, mean = (figures[key] for key in ("a1 zero", "MSD of reversal at 10 s", "entropy rate K=1 N=100"))
        assert (read.low, read.high) == pytest.approx((0.59, 0.65))
        assert (share.low, share.high) == pytest.approx((0.234, 0.286))
        assert mean.high - mean.value == pytest.approx(1.96 * 1.69 / np.sqrt(12))
        assert mean.value - mean.low == pytest.approx(1.96 * 1.69 / np.sqrt(12))

    def test_conditions_are_those_of_the_keys(self, values):
        assert len(ENTROPY_RATES) == 12
        assert all(f"entropy rate K={n_delays} N={n_states}" in values for n_delays, n_states in ENTROPY_RATES)
        assert GAINS == (1, 2, 3, 4, 5, 8, 11)
        assert EXPONENTS == (10, 40, 70, 130)
        assert MSD_LAGS == (1.0, 10.0, 60.0, 100.0)
        assert RADII == (0.55, 2.0, 10.0, 24.0)
        assert WAVELENGTHS == ("fast wide run", "fast narrow run")
        assert all(f"worm {worm} MSD {lag:g} s" in values for worm in range(N_WORMS) for lag in MSD_LAGS)
        assert all(f"food of {state} at {radius:g} L" in values for state in STATES for radius in RADII)


class TestPublishedFigures:
    def test_every_figure_is_named_once_and_lies_within_its_limits(self):
        figures = published_figures()
        keys = [one.key for one in figures]
        assert len(set(keys)) == len(keys) == 279
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

    def test_worms_come_in_the_order_asked(self):
        own = [figure.key.split(" ", 2)[1:] for figure in published_figures([11, 2])[-20:]]
        assert [worm for worm, _ in own] == ["11"] * 10 + ["2"] * 10
        assert [what for _, what in own[:10]] == [what for _, what in own[10:]]

    @pytest.mark.parametrize(
        ("of_all", "of_one"), [("entropy rate K=11 N=1000", "entropy rate"), ("reversible time 2", "reversible time")]
    )
    def test_means_and_ranges_are_those_of_single_worms(self, of_all, of_one):
        found = {figure.key: figure for figure in published_figures()}
        single = [found[f"worm {worm} {of_one}"].value for worm in range(N_WORMS)]
        assert np.mean(single) == pytest.approx(found[of_all].value, abs=0.006)
        assert found[of_all].worms == (min(single), max(single))

    def test_tables_agree_among_themselves(self, values, entries):
        """What is published twice is the same: means over worms, shares of all states, probabilities."""
        entropy = [values[f"worm {worm} entropy rate"] for worm in range(N_WORMS)]
        deviations = {entry["key"]: entry["sd"] for entry in entries if "sd" in entry}
        assert np.std(entropy, ddof=1) == pytest.approx(deviations["entropy rate K=11 N=1000"], abs=0.006)
        assert np.std(entropy, ddof=1) == pytest.approx(1.97, abs=0.006)
        assert sum(values[f"measure of {state}"] for state in STATES) == pytest.approx(1.0, abs=0.001)
        food = np.array([[values[f"food of {state} at {radius:g} L"] for radius in RADII] for state in STATES])
        np.testing.assert_allclose(food.sum(axis=0), 1.0, atol=0.02)
        pirouettes = [values[f"measure of {name}"] for name in ("dorsal turn", "reversal", "ventral turn")]
        assert sum(pirouettes) == pytest.approx(values["pirouette measure"], abs=0.001)

    def test_probabilities_of_the_next_state_add_up(self, values):
        """Those below 0.15 were not published; of dorsal turns none was."""
        jumps = [[p for key, p in values.items() if key.startswith(f"jump of {state} to ")] for state in STATES]
        totals = {state: sum(row) for state, row in zip(STATES, jumps, strict=True) if row}
        assert set(totals) == set(STATES) - {"dorsal turn"}
        assert all(0.8 < total < 1.005 for total in totals.values())

    def test_slopes_are_those_of_the_squared_displacements(self, values):
        """A straight line through 60 and 100 s has about the printed slope."""
        far, near = (np.array([values[f"worm {i} MSD {lag} s"] for i in range(N_WORMS)]) for lag in (100, 60))
        printed = [values[f"worm {i} slope"] for i in range(N_WORMS)]
        np.testing.assert_allclose((far - near) / 40, printed, rtol=0.05)
