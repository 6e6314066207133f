"""Filling short gaps and changing the rate."""

import numpy as np
import pytest

from ethomarkov.exceptions import EthomarkovError, SamplingError
from ethomarkov.recording import Recording, Track, fill_gaps, resample


def make(*columns, rate=16.0, centroid=None):
    return Recording.from_tracks(
        [Track(individual=str(k), values=rows, centroid=centroid) for k, rows in enumerate(columns)],
        kind="amplitude",
        sampling_rate=rate,
    )


def waves(n=400, rate=16.0, start=0.0):
    time = start + np.arange(n) / rate
    return np.stack([np.sin(2 * np.pi * 0.5 * time), np.cos(2 * np.pi * 0.3 * time)], axis=1)


class TestFillGaps:
    def test_only_inner_gaps_up_to_the_longest(self):
        rows = waves(60)
        for gap in (slice(0, 2), slice(10, 14), slice(20, 25), slice(40, 41), slice(58, 60)):
            rows[gap] = np.nan
        filled = fill_gaps(make(rows), 4 / 16)
        missing = np.flatnonzero(np.isnan(filled.values).any(axis=1)).tolist()
        assert missing == [0, 1, 20, 21, 22, 23, 24, 58, 59]

    def test_measured_frames_stay_bit_identical(self):
        rows = waves(100)
        rows[30:33] = np.nan
        rows[50, 1] = np.nan
        before = make(rows, centroid=np.where(np.isnan(rows), 1.0, rows))
        after = fill_gaps(before, 0.5)
        known = np.isfinite(before.values)
        assert after.values[known].tobytes() == before.values[known].tobytes()
        assert np.isnan(before.values[30:33]).all()
        np.testing.assert_array_equal(after.time, before.time)

    def test_what_is_filled_is_close_to_what_was_lost(self):
        rows = waves(100)
        holes = rows.copy()
        holes[40:44] = np.nan
        np.testing.assert_allclose(fill_gaps(make(holes), 0.25).values, rows, atol=0.06)

    def test_a_lost_number_costs_only_itself(self):
        rows = waves(30)
        rows[10, 0] = np.nan
        rows[12:20, 1] = np.nan
        filled = fill_gaps(make(rows), 1 / 16).values
        assert np.isfinite(filled[:, 0]).all()
        assert np.isnan(filled[12:20, 1]).all()

    def test_the_centroid_is_filled_too(self):
        centroid = waves(40)
        centroid[5:7] = np.nan
        assert np.isfinite(fill_gaps(make(waves(40), centroid=centroid), 0.25).centroid).all()

    def test_nothing_passes_from_one_animal_to_the_next(self):
        one, two = waves(20), waves(20)
        one[-1], two[0] = np.nan, np.nan
        filled = fill_gaps(make(one, two), 1.0)
        assert np.flatnonzero(np.isnan(filled.values[:, 0])).tolist() == [19, 20]

    def test_zero_fills_nothing(self):
        rows = waves(20)
        rows[5] = np.nan
        assert np.isnan(fill_gaps(make(rows), 0.0).values[5]).all()

    def test_an_animal_seen_once_or_never_stays_as_it_is(self):
        once, never = np.full((9, 2), np.nan), np.full((9, 2), np.nan)
        once[4] = 1.0
        filled = fill_gaps(make(waves(20), once, never), 0.5)
        assert filled.segments.count_rows().tolist() == [20, 1, 0]

    def test_the_setting_is_noted(self):
        assert fill_gaps(make(waves(20)), 0.25).dataset.attrs["filled_gaps_up_to_s"] == 0.25


class TestResample:
    def test_whole_factor_keeps_every_nth_frame(self):
        before = make(waves(101))
        after = resample(before, 4.0)
        np.testing.assert_array_equal(after.values, before.values[::4])
        np.testing.assert_array_equal(after.time, before.time[::4])
        assert after.sampling.rate == 4.0

    @pytest.mark.parametrize("rate", [10.0, 12.5, 24.0, 30.0, 48.0])
    def test_a_smooth_sine_is_reproduced(self, rate):
        after = resample(make(waves(400)), rate)
        n = len(after.values)
        assert n == int(np.floor(399 / 16 * rate + 1e-9)) + 1
        # shape-preserving cubics are of second order at extrema: (2π·0.5/16)²/8 = 0.005
        np.testing.assert_allclose(after.values, waves(n, rate), atol=0.006)
        np.testing.assert_allclose(after.time, np.arange(n) / rate, atol=1e-9)

    @pytest.mark.parametrize("rate", [8.0, 10.0, 24.0, 48.0])
    def test_gaps_stay_gaps(self, rate):
        rows = waves(320)
        rows[160:200] = np.nan  # measured up to 9.9375 s and again from 12.5 s
        after = resample(make(rows), rate)
        missing = np.isnan(after.values).any(axis=1)
        inside = (after.time > 159 / 16 + 1e-9) & (after.time < 200 / 16 - 1e-9)
        np.testing.assert_array_equal(missing, inside)

    @pytest.mark.parametrize("factor", [3, 7, 10, 11])
    def test_going_up_keeps_every_measured_frame(self, factor):
        rows = waves(500)
        rows[::50] = np.nan
        before = make(rows)
        after = resample(before, 16.0 * factor)
        np.testing.assert_allclose(after.values[::factor], before.values[: len(after.values[::factor])], atol=1e-6)

    @pytest.mark.parametrize("rate", [8.0, 10.0])
    def test_animals_are_kept_apart(self, rate):
        before = make(waves(64), waves(80, start=3.0) + 10)
        after = resample(before, rate)
        assert after.individuals == before.individuals
        assert after.segments.bounds[:, 2].tolist() == [0, 1]
        assert after.values[: after.segments.offsets[1]].max() < 2
        assert after.values[after.segments.offsets[1] :].min() > 8

    @pytest.mark.parametrize("rate", [8.0, 10.0])
    def test_the_centroid_comes_along(self, rate):
        after = resample(make(waves(64), centroid=waves(64)), rate)
        np.testing.assert_allclose(after.centroid, after.values, atol=1e-6)

    def test_the_same_rate_changes_nothing(self):
        recording = make(waves(20))
        assert resample(recording, 16.0) is recording

    @pytest.mark.parametrize("rate", [0.0, -1.0, np.nan])
    def test_impossible_rates(self, rate):
        with pytest.raises(SamplingError):
            resample(make(waves(20)), rate)

    def test_too_few_frames(self):
        with pytest.raises(EthomarkovError):
            resample(make(waves(3)), 1.5)

    def test_a_track_of_one_frame_does_not_stop_the_others(self):
        after = resample(make(waves(64), waves(1)), 24.0)
        assert after.individuals == ("0", "1")
        assert after.segments.count_rows()[0] == 95
