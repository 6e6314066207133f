"""Recordings: grid, validation, ledger, merging, files."""

from itertools import pairwise

import numpy as np
import pytest
import xarray as xr

from ethomarkov import io
from ethomarkov.exceptions import EthomarkovError, InputFormatError, SamplingError
from ethomarkov.recording import Recording, Track, merge_recordings


def track(name="a", n=20, seed=0, **fields):
    return Track(individual=name, values=np.random.default_rng(seed).normal(size=(n, 3)), **fields)


def make(*tracks, rate=16.0, kind="amplitude", **options):
    return Recording.from_tracks(tracks, kind=kind, sampling_rate=rate, **options)


class TestGrid:
    def test_rows_absent_from_the_times_become_gaps(self):
        recording = make(track(n=4, time=np.array([2.0, 2.25, 3.0, 3.25])), rate=4.0)
        np.testing.assert_allclose(recording.time, [2, 2.25, 2.5, 2.75, 3, 3.25])
        assert recording.segments.bounds.tolist() == [[0, 2, 0], [4, 6, 0]]
        np.testing.assert_array_equal(recording.values[[0, 1, 4, 5]], track(n=4).values.astype(np.float32))

    def test_rate_comes_from_the_times(self):
        recording = make(track(time=np.arange(20) / 25), rate=None)
        assert recording.sampling.rate == pytest.approx(25.0)

    def test_stated_rate_of_frames_without_times(self):
        recording = make(track())
        np.testing.assert_allclose(recording.time, np.arange(20) / 16)

    def test_rate_unknown(self):
        with pytest.raises(SamplingError, match="sampling rate is unknown"):
            make(track(), rate=None)

    @pytest.mark.parametrize("rate", [np.nan, -16.0, 0.0, np.inf])
    def test_impossible_rates(self, rate):
        with pytest.raises(SamplingError, match="positive number"):
            make(track(), rate=rate)

    def test_every_animal_has_its_own_clock(self):
        recording = make(track("a", time=np.arange(20) / 16), track("b", time=100 + np.arange(20) / 16))
        assert recording.time[20] == 100
        assert recording.segments.bounds.tolist() == [[0, 20, 0], [20, 40, 1]]

    def test_centroid_follows_its_rows(self):
        centroid = np.arange(8.0).reshape(4, 2)
        recording = make(track(n=4, time=np.array([0, 1, 3, 4.0]), centroid=centroid), track("b", n=3), rate=1.0)
        np.testing.assert_array_equal(recording.centroid[[0, 1, 3, 4]], centroid)
        assert np.isnan(recording.centroid[[2, 5, 6, 7]]).all()

    def test_body_length_where_it_is_known(self):
        recording = make(track("a", body_length=1.5), track("b"))
        assert recording.body_lengths == {"a": 1.5}
        assert make(track()).body_lengths == {}
        assert make(track()).centroid is None


class TestContent:
    def test_no_animal(self):
        with pytest.raises(InputFormatError, match="at least one track"):
            make()

    def test_all_missing(self):
        with pytest.raises(InputFormatError, match="0 of 20 frames hold a complete posture"):
            make(Track(individual="a", values=np.full((20, 3), np.nan)))

    def test_never_complete_at_once(self):
        values = np.where(np.eye(20, 3, dtype=bool) | (np.arange(20)[:, None] > 2), np.nan, 1.0)
        with pytest.raises(InputFormatError, match="0 of 20 frames"):
            make(Track(individual="a", values=values))

    def test_one_frame(self):
        with pytest.raises(InputFormatError, match="at least two"):
            make(track(n=1))

    def test_no_frame_at_all(self):
        with pytest.raises(InputFormatError, match="at least two"):
            make(track(n=0))

    def test_infinite(self):
        values = track().values.copy()
        values[[3, 7], 0] = np.inf
        with pytest.raises(InputFormatError, match="2 frames hold infinite"):
            make(Track(individual="a", values=values))

    def test_constant_column(self):
        values = track().values.copy()
        values[:, 1] = 4.0
        with pytest.raises(InputFormatError, match="amplitude 2 never changes"):
            make(Track(individual="a", values=values))

    def test_a_still_keypoint_is_no_error_but_a_still_animal_is(self):
        points = np.random.default_rng(0).normal(size=(20, 3, 2))
        points[:, 0] = 0.0
        assert make(Track(individual="a", values=points), kind="position").kind == "position"
        with pytest.raises(InputFormatError, match="never changes"):
            make(Track(individual="a", values=np.broadcast_to(points[:1], points.shape)), kind="position")

    @pytest.mark.parametrize(
        ("kind", "shape"), [("amplitude", (9, 3, 2)), ("centerline", (9, 6)), ("position", (9, 3, 3))]
    )
    def test_wrong_shape(self, kind, shape):
        with pytest.raises(InputFormatError, match="is needed"):
            make(Track(individual="a", values=np.random.default_rng(0).normal(size=shape)), kind=kind)

    def test_animals_of_different_size(self):
        with pytest.raises(InputFormatError, match="all animals need the same"):
            make(track("a"), Track(individual="b", values=np.zeros((5, 4))))

    def test_times_of_another_length(self):
        with pytest.raises(InputFormatError, match="20 postures but 19 times"):
            make(track(time=np.arange(19.0)))

    def test_centroid_of_another_length(self):
        with pytest.raises(EthomarkovError):
            make(track(centroid=np.zeros((19, 2))))

    def test_two_animals_of_one_name(self):
        with pytest.raises(InputFormatError, match="Two animals are named 'a'"):
            make(track("a"), track("a", seed=1))

    def test_an_irregular_dataset_is_refused(self):
        dataset = make(track()).dataset.copy()
        time = dataset["time"].values.copy()
        time[10:] += 0.5
        with pytest.raises(SamplingError, match="Times of 'a' are not on a regular grid"):
            Recording(dataset.assign_coords(time=("frame", time)))

    def test_an_irregular_step_at_the_end_is_refused_beside_an_empty_animal(self):
        dataset = make(track("none", n=0), track("a")).dataset
        time = dataset["time"].values.copy()
        time[-1] += 0.5
        with pytest.raises(SamplingError, match="regular grid"):
            Recording(dataset.assign_coords(time=("frame", time)))

    @pytest.mark.parametrize("block", [1, 3, 20, 64])
    def test_steps_are_looked_at_in_blocks(self, monkeypatch, block):
        monkeypatch.setattr("ethomarkov.recording.schema.BLOCK_FRAMES", block)
        tracks = [track("a", time=5 + np.arange(20) / 16), track("b", n=21), track("none", n=0), track("c", n=19)]
        dataset = make(*tracks).dataset
        for at, name in ((1, "a"), (19, "a"), (21, "b"), (40, "b"), (42, "c"), (59, "c")):
            time = dataset["time"].values.copy()
            time[at] += 0.5 if at in (19, 40, 59) else -0.5
            with pytest.raises(SamplingError, match=f"Times of '{name}' are not on a regular grid"):
                Recording(dataset.assign_coords(time=("frame", time)))

    @pytest.mark.parametrize("at", [0, 20, 39])
    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_a_time_that_is_no_number_is_refused(self, at, bad):
        dataset = make(track("a"), track("b", seed=1)).dataset.copy(deep=True)
        dataset["time"].values[at] = bad
        with pytest.raises(SamplingError, match="not numbers"):
            Recording(dataset)

    def test_times_off_the_grid_by_no_number_are_refused(self):
        dataset = make(track()).dataset.copy(deep=True)
        dataset["time"].values[:] = 1e308 * np.linspace(-1, 1, 20)
        dataset["time"].values[0] = -1.7e308
        with pytest.raises(SamplingError, match="regular grid"):
            Recording(dataset)

    def test_infinite_centroid(self):
        with pytest.raises(InputFormatError, match="centroids are infinite"):
            make(track(centroid=np.full((20, 2), np.inf)))

    def test_numbers_too_large_to_store_are_called_infinite(self):
        values = track().values
        values[3] = 1e300
        with pytest.raises(InputFormatError, match="1 frames hold infinite"):
            make(Track(individual="a", values=values))

    def test_counts_are_not_negative(self):
        dataset = make(track("a"), track("b", seed=1)).dataset
        with pytest.raises(InputFormatError, match="frame_count holds -5"):
            Recording(dataset.assign_coords(frame_count=("individual", [-5, 45])))

    def test_counts_must_add_up(self):
        dataset = make(track("a"), track("b")).dataset
        with pytest.raises(InputFormatError, match="adds up to 30 frames, but there are 40"):
            Recording(dataset.assign_coords(frame_count=("individual", [20, 10])))

    def test_two_kinds_at_once(self):
        dataset = make(track()).dataset
        with pytest.raises(InputFormatError, match="exactly one of"):
            Recording(dataset.assign(angle=(("frame", "segment"), np.zeros((20, 4)))))
        with pytest.raises(InputFormatError, match="none of them"):
            Recording(xr.Dataset())


class TestLedger:
    def test_adds_up_and_equals_what_is_missing(self):
        values = [track(seed=k).values.copy() for k in range(2)]
        values[0][3:5] = np.nan
        values[0][9, 1] = np.nan
        values[1][0] = np.nan
        recording = make(*(Track(individual=str(k), values=one) for k, one in enumerate(values)))
        entries = recording.ledger().entries
        for name, rows in zip(recording.individuals, values, strict=True):
            steps = [entry for entry in entries if entry.individual == name]
            assert steps[0].before == 20
            assert all(later.before == earlier.after for earlier, later in pairwise(steps))
            assert steps[0].lost == np.isnan(rows).all(axis=1).sum()
            assert sum(entry.lost for entry in steps) == np.isnan(rows).any(axis=1).sum()
        assert [entry.after for entry in recording.ledger().totals()] == [37, 36]

    def test_holes_in_time_are_lost_frames(self):
        entry = make(track(n=4, time=np.array([0, 1, 3, 4.0])), rate=1.0).ledger().entries[0]
        assert (entry.before, entry.after, entry.reason) == (5, 4, "no posture in the file")

    def test_points(self):
        points = np.random.default_rng(0).normal(size=(20, 3, 2))
        points[2] = np.nan
        points[5, 1, 0] = np.nan
        book = make(Track(individual="a", values=points), kind="position").ledger()
        assert [entry.lost for entry in book.entries] == [1, 1]


class TestSelect:
    def test_keeps_rows_and_order(self):
        recording = make(track("a", seed=1), track("b", n=7, seed=2), track("c", n=5, seed=3))
        kept = recording.select(["c", "a"])
        assert kept.individuals == ("a", "c")
        np.testing.assert_array_equal(kept.values, np.concatenate([recording.values[:20], recording.values[27:]]))
        assert kept.segments.bounds.tolist() == [[0, 20, 0], [20, 25, 1]]
        assert recording.individuals == ("a", "b", "c")

    def test_unknown_and_none(self):
        recording = make(track("a"), track("b"))
        with pytest.raises(InputFormatError, match="No animal named 'x'; there are a, b"):
            recording.select(["a", "x"])
        with pytest.raises(InputFormatError):
            recording.select([])


class TestMerge:
    def test_frames_on_frames(self):
        one, two = make(track("a", n=5, seed=1)), make(track("b", n=7, seed=2), track("c", n=6, seed=3))
        merged = merge_recordings({"one": one, "two": two})
        assert merged.individuals == ("a", "b", "c")
        np.testing.assert_array_equal(merged.values, np.concatenate([one.values, two.values]))
        np.testing.assert_array_equal(merged.time, np.concatenate([one.time, two.time]))
        assert merged.segments.bounds.tolist() == [[0, 5, 0], [5, 12, 1], [12, 18, 2]]
        assert merged.sampling.rate == 16.0

    def test_clashing_names_are_prefixed(self):
        merged = merge_recordings({"day1": make(track("a")), "day2": make(track("a", seed=1), track("b"))})
        assert merged.individuals == ("day1:a", "day2:a", "day2:b")

    def test_one_alone_stays_as_it_is(self):
        one = make(track(body_length=2.0, centroid=np.ones((20, 2))), attrs={"length_unit": "mm"})
        xr.testing.assert_identical(merge_recordings({"x": one}).dataset, one.dataset)

    @pytest.mark.parametrize("order", [1, -1])
    def test_one_with_centroid_and_length_and_one_without(self, order):
        rich = make(track("rich", n=4, centroid=np.arange(8.0).reshape(4, 2), body_length=1.2))
        poor = make(track("poor", n=3, seed=1))
        merged = merge_recordings(dict([("rich", rich), ("poor", poor)][::order]))
        centroid = {name: merged.select([name]).centroid for name in ("rich", "poor")}
        np.testing.assert_array_equal(centroid["rich"], np.arange(8.0).reshape(4, 2))
        assert centroid["poor"].shape == (3, 2)
        assert np.isnan(centroid["poor"]).all()
        assert merged.body_lengths == pytest.approx({"rich": 1.2})

    def test_common_attributes_stay_and_others_go(self):
        one = make(track("a"), attrs={"length_unit": "mm", "strain": "N2"})
        two = make(track("b"), attrs={"length_unit": "mm", "strain": "npr-1"})
        attrs = merge_recordings({"1": one, "2": two}).dataset.attrs
        assert attrs["length_unit"] == "mm"
        assert "strain" not in attrs

    def test_mixed_rates(self):
        with pytest.raises(SamplingError, match="x is sampled at 16 Hz and y at 20 Hz"):
            merge_recordings({"x": make(track("a")), "y": make(track("b"), rate=20.0)})

    def test_mixed_kinds(self):
        with pytest.raises(InputFormatError, match="x holds posture mode amplitudes and y tangent angles"):
            merge_recordings({"x": make(track("a")), "y": make(track("b"), kind="angle")})

    def test_mixed_sizes(self):
        four = Track(individual="b", values=np.random.default_rng(0).normal(size=(9, 4)))
        with pytest.raises(InputFormatError, match="the same number of modes"):
            merge_recordings({"x": make(track("a")), "y": make(four)})


class TestFile:
    @pytest.mark.parametrize("kind", ["amplitude", "angle", "centerline", "position"])
    def test_written_and_read_are_equal(self, tmp_path, kind):
        rng = np.random.default_rng(0)
        shape = (3, 2) if kind in ("centerline", "position") else (3,)
        values = rng.normal(size=(11, *shape))
        values[4] = np.nan
        tracks = [
            Track(individual="ä b", values=values, centroid=rng.normal(size=(11, 2)), body_length=0.7),
            Track(individual="2", values=rng.normal(size=(3, *shape)), time=np.array([7.0, 7.5, 9.0])),
        ]
        attrs = {"length_unit": "mm", "ventral_side": "left"}
        before = Recording.from_tracks(tracks, kind=kind, sampling_rate=2.0, attrs=attrs)
        after = io.read(io.write_recording(before, tmp_path / "r.nc"))
        assert after.dataset.attrs["source_file"] == "r.nc"
        stored = {key: value for key, value in after.dataset.attrs.items() if not key.startswith("source_")}
        assert stored == before.dataset.attrs
        xr.testing.assert_equal(after.dataset, before.dataset)
        assert after.values.dtype == before.values.dtype
        assert after.individuals == ("ä b", "2")
        assert after.segments.bounds.tolist() == before.segments.bounds.tolist()
        assert after.body_lengths == before.body_lengths

    def test_two_files_become_one_recording(self, tmp_path):
        files = [io.write_recording(make(track("a", seed=k)), tmp_path / f"day{k}.nc") for k in range(2)]
        assert io.read(files).individuals == ("day0:a", "day1:a")
