"""Choices of K, N and τ on tables whose bend and plateau are known."""

import numpy as np
import pytest

from ethomarkov.exceptions import EthomarkovError, InputFormatError
from ethomarkov.markov.selection import (
    EntropyTable,
    LagTable,
    choose_lag,
    choose_n_delays,
    choose_n_states,
    gain_intervals,
)

STATES = np.array([10, 30, 100, 300, 1000])
INTERVAL = 0.0625


def table_of(rate, n_delays=None, n_states=None, interval=INTERVAL, sequences=30_000):
    """Make a table from rates ``(K, N)`` or ``(K, N, animals)``; the entropy is that of equal visits."""
    rate = np.asarray(rate, dtype=float)
    rate = rate[:, :, None] if rate.ndim == 2 else rate
    n_delays = np.arange(1, len(rate) + 1) if n_delays is None else np.asarray(n_delays)
    n_states = STATES[: rate.shape[1]] if n_states is None else np.asarray(n_states)
    entropy = np.broadcast_to(np.log(n_states)[None, :, None], rate.shape)
    return EntropyTable(
        n_delays=n_delays,
        n_states=n_states,
        entropy_rate=rate,
        entropy=entropy,
        interval=interval,
        sequences=np.full(rate.shape[2], sequences),
        scope="per animal",
    )


def bent(peak, n_delays=6, n_animals=5, n_states=STATES):
    """Entropy rates that grow up to state number `peak` and fall after it, for every K."""
    curve = 20.0 - 2.0 * np.abs(np.arange(len(n_states)) - peak)
    level = 5 * np.exp(-np.arange(n_delays))
    spread = np.linspace(-1, 1, n_animals)
    return table_of(level[:, None, None] + curve[None, :, None] + spread, n_states=n_states)


def falling(gains, n_animals=12, spread=0.0, seed=0):
    """Entropy rates at one N of exactly the given mean gain per second of sequence, with spread between animals."""
    rng = np.random.default_rng(seed)
    around = np.array([rng.permutation(np.linspace(-1.7, 1.7, n_animals)) for _ in gains]).reshape(-1, n_animals)
    steps = (np.asarray(gains, dtype=float)[:, None] + (spread * around if n_animals > 1 else 0.0)) * INTERVAL
    rate = 30 - np.concatenate([np.zeros((1, n_animals)), np.cumsum(steps, axis=0)])
    return table_of(rate[:, None, :], n_states=[1000])


class TestTable:
    def test_predictive_information(self):
        table = table_of(np.full((2, 3), 8.0))
        expected = np.log([10, 30, 100]) - 8.0 * INTERVAL
        np.testing.assert_allclose(table.predictive_information[1, :, 0], expected)

    def test_gain_is_per_second_of_sequence(self):
        """Uneven steps of K are divided by their own length."""
        table = table_of([[20.0, 9.0], [18.0, 8.0], [12.0, 8.5]], n_delays=[1, 2, 5])
        np.testing.assert_allclose(table.gain(10)[:, 0], [2 / 0.0625, 6 / (3 * 0.0625)])
        np.testing.assert_allclose(table.gain(30)[:, 0], [1 / 0.0625, -0.5 / (3 * 0.0625)])

    def test_shapes_are_checked(self):
        with pytest.raises(InputFormatError, match=r"shape \(3, 2, 1\)"):
            table_of(np.zeros((3, 2)), n_delays=[1, 2])
        with pytest.raises(InputFormatError, match="one row per K"):
            EntropyTable(
                n_delays=np.array([1]),
                n_states=np.array([10]),
                entropy_rate=np.zeros((1, 1, 2)),
                entropy=np.zeros((1, 1, 3)),
                interval=1.0,
                sequences=np.array([5, 5]),
                scope="pooled",
            )

    def test_a_number_of_states_that_was_not_tried(self):
        with pytest.raises(EthomarkovError, match="77"):
            bent(2).gain(77)

    def test_read_only(self):
        with pytest.raises(ValueError, match="read-only"):
            bent(2).entropy_rate[0, 0, 0] = 1


class TestStates:
    @pytest.mark.parametrize("peak", [1, 2, 3])
    def test_the_bend(self, peak):
        choice = choose_n_states(bent(peak))
        assert choice.value == STATES[peak]
        assert f"N = {STATES[peak]}" in choice.reason
        assert "6 of 6" in choice.reason
        assert f"{30_000 / STATES[peak]:.0f} times" in choice.reason
        assert choice.warnings == ()

    def test_most_sequence_lengths_decide(self):
        rate = np.array(bent(3).entropy_rate)
        rate[:2] = bent(2).entropy_rate[:2]
        choice = choose_n_states(table_of(rate))
        assert choice.value == 300
        assert "4 of 6" in choice.reason

    def test_a_tie_goes_to_the_finer_partition(self):
        rate = np.concatenate([bent(2).entropy_rate[:3], bent(3).entropy_rate[:3]])
        assert choose_n_states(table_of(rate)).value == 300

    def test_still_growing(self):
        choice = choose_n_states(bent(4))
        assert choice.value == 1000
        assert len(choice.warnings) == 1
        assert "still grows at the largest N tried (1000)" in choice.warnings[0]

    def test_too_little_data(self):
        choice = choose_n_states(bent(0))
        assert choice.value == 10
        assert len(choice.warnings) == 1
        assert "too little data" in choice.warnings[0]
        assert "90,000 sequences per animal would allow 30" in choice.warnings[0]

    def test_one_animal(self):
        assert choose_n_states(bent(2, n_animals=1)).value == 100

    def test_animals_without_a_value_are_left_out(self):
        rate = np.array(bent(2).entropy_rate)
        rate[:, 3, 0] = np.nan
        rate[1, 2, 4] = np.nan
        assert choose_n_states(table_of(rate)).value == 100

    def test_no_animal_has_enough_data_for_the_finest_partition(self):
        rate = np.array(bent(2).entropy_rate)
        rate[:, 4] = np.nan
        assert choose_n_states(table_of(rate)).value == 100

    def test_no_animal_has_sequences_that_long(self):
        rate = np.array(bent(2).entropy_rate)
        rate[-1] = np.nan
        choice = choose_n_states(table_of(rate))
        assert choice.value == 100
        assert "nan" not in choice.reason

    def test_the_finest_partition_that_has_data_warns_too(self):
        rate = np.array(bent(3).entropy_rate)
        rate[:, 4] = np.nan
        choice = choose_n_states(table_of(rate))
        assert choice.value == 300
        assert len(choice.warnings) == 1

    def test_a_missing_quiet_animal_does_not_lift_the_mean(self):
        """All animals peak at 100; the one of low entropy rate has no data for 1000, where the others look higher."""
        curve = np.array([16.0, 18.0, 20.0, 19.0, 18.5])
        rate = np.stack([curve, curve, curve - 12.0], axis=1)[None].repeat(4, axis=0)
        rate[:, 4, 2] = np.nan
        assert choose_n_states(table_of(rate)).value == 100


class TestDelays:
    @pytest.mark.parametrize("plateau", [2, 3, 5])
    def test_the_plateau(self, plateau):
        gains = [10.0] * (plateau - 1) + [0.0] * (10 - plateau)
        choice = choose_n_delays(falling(gains, spread=0.5), 1000)
        assert choice.value == plateau
        assert f"K = {plateau} frames ({plateau * INTERVAL:.3g} s)" in choice.reason
        assert "against 10 for the best step" in choice.reason
        assert choice.warnings == ()

    def test_one_lucky_step_does_not_end_the_search(self):
        assert choose_n_delays(falling([10, 8, 0, 6, 4, 0, 0, 0], spread=0.2), 1000).value == 6

    def test_less_than_a_tenth_of_the_best_step_is_no_gain(self):
        """Even where it can be told from zero."""
        table = falling([10, 6, 0.9, 0.8, 0.7, 0.6], spread=0.05)
        assert all(gain.low > 0 for gain in gain_intervals(table, 1000))
        assert choose_n_delays(table, 1000).value == 3

    def test_a_rise_is_no_gain(self):
        assert choose_n_delays(falling([10, 8, -3, -3, -3], spread=0.2), 1000).value == 3

    def test_no_plateau(self):
        choice = choose_n_delays(falling([10, 9, 8, 7, 6], spread=0.2), 1000)
        assert choice.value == 6
        assert "longest tried" in choice.reason
        assert "no plateau" in choice.warnings[0]

    def test_single_frames_suffice(self):
        choice = choose_n_delays(falling([0, 0, 0, 0], spread=0.5), 1000)
        assert choice.value == 1
        assert "frame rate" in choice.warnings[0]

    def test_one_animal(self):
        choice = choose_n_delays(falling([10, 5, 1, -0.1, -0.2, 0.3], n_animals=1), 1000)
        assert choice.value == 4
        assert "One animal" in choice.warnings[0]

    def test_missing_values_are_no_plateau(self):
        """The entropy rate falls for as long as there are sequences; nothing is known beyond."""
        rate = np.array(falling([10, 9, 8, 7, 6, 5], spread=0.2).entropy_rate)
        rate[4:] = np.nan
        choice = choose_n_delays(table_of(rate, n_states=[1000]), 1000)
        assert choice.value == 4
        assert any("plateau" in warning for warning in choice.warnings)
        assert "nan" not in choice.reason

    def test_animals_without_a_value_are_left_out(self):
        rate = np.array(falling([10, 8, 0, 0, 0], spread=0.2).entropy_rate)
        rate[2:, :, 3] = np.nan
        choice = choose_n_delays(table_of(rate, n_states=[1000]), 1000)
        assert choice.value == 3

    def test_one_sequence_length_proves_nothing(self):
        choice = choose_n_delays(falling([]), 1000)
        assert choice.value == 1
        assert choice.warnings
        assert "still lowers" not in choice.reason

    def test_more_spread_ends_the_search_sooner(self):
        gains = [10, 5, 3.5, 2.5, 1.8, 1.4, 1.1, 0.0, 0.0, 0.0]
        quiet, noisy = (choose_n_delays(falling(gains, spread=s), 1000).value for s in (0.05, 6.0))
        assert noisy < quiet

    def test_reproducible(self):
        table = falling([10, 5, 1, 0.3, 0, 0], spread=1.0)
        assert choose_n_delays(table, 1000, rng=3) == choose_n_delays(table, 1000, rng=3)

    def test_intervals(self):
        """Mean over animals; the width is that of the standard error."""
        table = falling([10, 4], n_animals=50, spread=2.0)
        gains = gain_intervals(table, 1000)
        sample = table.gain(1000)
        for gain, row in zip(gains, sample, strict=True):
            assert gain.estimate == pytest.approx(row.mean())
            assert (gain.high - gain.low) == pytest.approx(2 * 1.96 * row.std() / np.sqrt(50), rel=0.1)
            assert gain.low < row.mean() < gain.high
            assert gain.n == 50

    def test_the_gain_of_one_animal_is_its_own_interval(self):
        (gain,) = gain_intervals(falling([4.0], n_animals=1), 1000)
        assert gain.low == gain.high == gain.estimate == pytest.approx(4.0)


LAGS = np.geomspace(0.0625, 40, 45)


def lag_curve(lags=LAGS, slow=8.0, excess=3.0, settle=0.4, floor=0.4):
    """Times that fall to a plateau as the lag grows and in the end rise in proportion to it, as noise does."""
    level = slow + excess * np.exp(-lags / settle)
    return np.maximum(level, -lags / np.log(floor))


def lag_table(n_animals=12, spread=0.1, lags=LAGS, seed=0, **shape):
    scale = 1 + spread * np.random.default_rng(seed).standard_normal(n_animals)
    return LagTable(lags=lags, relaxation_times=lag_curve(lags, **shape)[:, None] * scale)


class TestLag:
    @pytest.mark.parametrize(("n_animals", "spread"), [(12, 0.1), (1, 0.0)])
    def test_the_first_lag_within_ten_percent_of_the_plateau(self, n_animals, spread):
        choice = choose_lag(lag_table(n_animals, spread))
        times = lag_curve()
        assert choice.value == LAGS[np.flatnonzero(times <= 1.1 * times.min())[0]]
        assert choice.warnings == ()
        assert f"τ = {choice.value:.3g} s" in choice.reason
        assert "within 10 %" in choice.reason

    @pytest.mark.parametrize("settle", [0.2, 0.8])
    def test_follows_the_fall(self, settle):
        value = choose_lag(lag_table(settle=settle)).value
        assert 0.5 * settle < value < 4 * settle

    def test_a_plateau_from_the_start(self):
        assert choose_lag(lag_table(excess=0.0)).value == LAGS[0]

    @pytest.mark.parametrize("n_animals", [2, 3, 7])
    def test_animals_that_are_all_alike(self, n_animals):
        choice = choose_lag(lag_table(n_animals=n_animals, spread=0.0, slow=np.pi))
        assert 0.5 < choice.value < 4

    def test_no_plateau_within_the_lags_tried(self):
        table = LagTable(lags=LAGS, relaxation_times=(8 / np.sqrt(LAGS))[:, None] * np.linspace(0.9, 1.1, 8))
        choice = choose_lag(table)
        assert len(choice.warnings) == 1
        assert "still falls at the longest usable lag" in choice.warnings[0]

    def test_a_plateau_reached_from_below(self):
        """So do the times of P itself on a coarse partition; the shortest lag is the worst, not the best."""
        times = 8.0 - 5.0 * np.exp(-LAGS / 0.4)
        choice = choose_lag(LagTable(lags=LAGS, relaxation_times=times[:, None] * np.linspace(0.9, 1.1, 8)))
        assert choice.value > 0.4 or choice.warnings

    def test_everything_decays_within_a_lag(self):
        table = LagTable(lags=LAGS, relaxation_times=np.tile(0.5 * LAGS[:, None], (1, 4)))
        choice = choose_lag(table)
        assert choice.value == LAGS[0]
        assert "No relaxation time exceeds its lag" in choice.warnings[0]

    def test_noise_at_long_lags_is_no_plateau(self):
        """Where times only grow with the lag there is nothing slow, however large the numbers."""
        assert choose_lag(lag_table(lags=np.geomspace(0.0625, 400, 60))).value < 2

    def test_missing_values(self):
        times = np.array(lag_table().relaxation_times)
        times[3, :5] = np.nan
        times[-6:] = np.nan
        times[7] = np.nan
        choice = choose_lag(LagTable(lags=LAGS, relaxation_times=times))
        assert 0.3 < choice.value < 2

    def test_infinite_times_are_left_out(self):
        times = np.array(lag_table().relaxation_times)
        times[:, 0] = np.inf
        assert 0.3 < choose_lag(LagTable(lags=LAGS, relaxation_times=times)).value < 2

    def test_the_seed_of_the_bootstrap_does_not_matter(self):
        table = lag_table()
        assert len({choose_lag(table, rng=seed).value for seed in range(5)}) == 1

    def test_intervals(self):
        table = lag_table(n_animals=40)
        found = table.intervals()
        assert len(found) == LAGS.size
        np.testing.assert_allclose([one.estimate for one in found], table.relaxation_times.mean(axis=1))
        assert all(one.low < one.estimate < one.high and one.over == "animals" for one in found)
