"""The choosers on the published tables of twelve worms."""

import numpy as np
import pytest

from ethomarkov.markov.selection import (
    EntropyTable,
    LagTable,
    choose_lag,
    choose_n_delays,
    choose_n_states,
    gain_intervals,
)

pytestmark = pytest.mark.real

RATE = 16.0
FRAMES = 33_600


@pytest.fixture(scope="module")
def published(request):
    return np.load(request.getfixturevalue("shared_data")("paper_entropy_scan.npz"))


@pytest.fixture(scope="module")
def scan(published):
    """The published rates are nats per frame."""
    return EntropyTable(
        n_delays=published["K_range"].astype(int),
        n_states=published["seed_range"].astype(int),
        entropy_rate=published["entropy_rates"].astype(float) * RATE,
        entropy=published["entropies"].astype(float),
        interval=1 / RATE,
        sequences=np.full(12, FRAMES),
        scope="per animal",
    )


@pytest.fixture(scope="module")
def lags(request):
    file = np.load(request.getfixturevalue("shared_data")("paper_timescales_reversibilised.npz"))
    return LagTable(
        lags=file["lag_frames"].astype(float) / RATE, relaxation_times=file["timescales_s"][:, :, 0].T.astype(float)
    )


def without(table, animal):
    """Leave one animal out of a table."""
    kept = np.arange(12) != animal
    if isinstance(table, LagTable):
        return LagTable(lags=table.lags, relaxation_times=table.relaxation_times[:, kept])
    return EntropyTable(
        n_delays=table.n_delays,
        n_states=table.n_states,
        entropy_rate=table.entropy_rate[:, :, kept],
        entropy=table.entropy[:, :, kept],
        interval=table.interval,
        sequences=table.sequences[kept],
        scope=table.scope,
    )


class TestEntropy:
    @pytest.mark.parametrize(
        ("n_delays", "n_states", "rate"), [(1, 1000, 22.23), (6, 562, 19.55), (11, 1000, 19.48), (60, 3162, 14.57)]
    )
    def test_the_table_is_read_as_meant(self, scan, n_delays, n_states, rate):
        row, column = n_delays - 1, scan.n_states.tolist().index(n_states)
        assert scan.entropy_rate[row, column].mean() == pytest.approx(rate, abs=0.006)

    def test_predictive_information(self, scan, published):
        np.testing.assert_allclose(scan.predictive_information, published["Ipreds"], atol=2e-6)
        assert scan.predictive_information[10, 10].mean() == pytest.approx(5.417, abs=6e-4)

    def test_number_of_states(self, scan):
        choice = choose_n_states(scan)
        assert choice.value == 1000
        assert choice.warnings == ()
        # the largest rate is at 1000 for every K from 4 on
        assert int(choice.reason.split("for ")[1].split(" of 60")[0]) >= 56

    @pytest.mark.parametrize(
        ("n_delays", "gain", "low", "high"),
        [
            (1, 10.3, 8.0, 13.0),
            (2, 13.1, 10.9, 15.0),
            (3, 8.1, 5.6, 10.5),
            (4, 6.1, 4.6, 7.5),
            (5, 1.8, -0.3, 3.8),
            (8, 2.3, 0.7, 3.6),
            (11, 0.15, -1.5, 1.7),
        ],
    )
    def test_gain_of_a_further_frame(self, scan, n_delays, gain, low, high):
        """The limits wobble with the seed of the bootstrap."""
        found = gain_intervals(scan, 1000)[n_delays - 1]
        assert found.estimate == pytest.approx(gain, abs=0.06)
        assert found.low == pytest.approx(low, abs=0.3)
        assert found.high == pytest.approx(high, abs=0.3)
        assert (found.n, found.over) == (12, "animals")

    def test_sequence_length(self, scan):
        choice = choose_n_delays(scan, 1000)
        assert 5 <= choice.value <= 11
        assert choice.warnings == ()

    def test_sequence_length_is_robust(self, scan):
        """To the seed of the bootstrap, and to each of the animals."""
        assert {choose_n_delays(scan, 1000, rng=seed).value for seed in range(6)} <= set(range(5, 12))
        assert {choose_n_delays(without(scan, k), 1000).value for k in range(12)} <= set(range(5, 12))
        assert {choose_n_states(without(scan, k)).value for k in range(12)} == {1000}


class TestLag:
    def test_mean_at_twelve_frames(self, lags):
        (row,) = np.flatnonzero(np.isclose(lags.lags, 0.75))
        found = lags.intervals()[row]
        assert found.estimate == pytest.approx(8.42, abs=0.006)
        assert found.low == pytest.approx(7.38, abs=0.15)
        assert found.high == pytest.approx(9.47, abs=0.15)

    def test_choice(self, lags):
        choice = choose_lag(lags)
        assert 0.6 <= choice.value <= 1.5
        assert choice.warnings == ()

    def test_choice_is_robust(self, lags):
        """To the seed of the bootstrap, and to each of the animals."""
        assert all(0.6 <= choose_lag(lags, rng=seed).value <= 1.5 for seed in range(4))
        assert all(0.6 <= choose_lag(without(lags, k)).value <= 1.5 for k in range(12))
