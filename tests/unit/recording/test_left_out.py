"""Animals that were hardly seen: left out by a stated share, told in the ledger and in one sentence."""

import json

import numpy as np
import pytest

from ethomarkov import io
from ethomarkov.exceptions import InputFormatError
from ethomarkov.recording import Recording, Track, leave_out_short, merge_recordings, resample
from ethomarkov.recording.left_out import LEFT_OUT, LeftOut, left_out_of, reading_notes


def tracklet(name, n_frames, n_complete):
    values = np.random.default_rng(len(name) + n_frames).normal(size=(n_frames, 2))
    values[n_complete:] = np.nan
    return Track(individual=name, values=values)


def make(sizes, rate=10.0):
    tracks = [tracklet(name, *size) for name, size in sizes.items()]
    return Recording.from_tracks(tracks, kind="amplitude", sampling_rate=rate)


SIZES = {"whole": (400, 400), "half": (400, 200), "piece": (400, 10), "brief": (30, 30), "dust": (400, 3)}


class TestLeaveOut:
    @pytest.mark.parametrize(
        ("min_frames", "min_share", "kept"),
        [
            (0, 0.0, list(SIZES)),
            (30, 0.0, ["whole", "half", "brief"]),
            (31, 0.0, ["whole", "half"]),
            (0, 0.5, ["whole", "half", "brief"]),
            (0, 0.51, ["whole", "brief"]),
            (31, 0.51, ["whole"]),
        ],
    )
    def test_which_animals_stay(self, min_frames, min_share, kept):
        chosen = leave_out_short(make(SIZES), min_frames, min_share)
        assert list(chosen.individuals) == kept
        assert len(chosen.values) == sum(SIZES[name][0] for name in kept)

    def test_the_frames_of_the_others_stay_as_they_are(self):
        whole = make(SIZES)
        chosen = leave_out_short(whole, 31)
        np.testing.assert_array_equal(chosen.values, whole.select(["whole", "half"]).values)
        assert leave_out_short(whole) is whole

    def test_what_was_left_out_is_told_by_reason(self):
        chosen = leave_out_short(make(SIZES), 10, 0.5)
        assert left_out_of(chosen.dataset) == (
            LeftOut(reason="fewer than 10 complete frames", animals=1, frames=400),
            LeftOut(reason="less than 0.5 of the frames complete", animals=1, frames=400),
        )

    def test_an_animal_without_frames_has_no_share(self):
        assert leave_out_short(make({"none": (0, 0), "a": (9, 9)}), 0, 0.01).individuals == ("a",)

    def test_all_left_out(self):
        with pytest.raises(
            InputFormatError, match=r"No animal of 5 .* 5 with fewer than 500 .* 400 of 400 .*--min-frames"
        ):
            leave_out_short(make(SIZES), 500)

    def test_through_the_door(self, tmp_path):
        path = io.write_recording(make(SIZES), tmp_path / "plate.nc")
        assert io.read(path, min_frames=31, min_share=0.6).individuals == ("whole",)
        with pytest.raises(InputFormatError, match=r"plate\.nc: No animal"):
            io.read(path, min_frames=401)


class TestLedger:
    def test_it_adds_up(self):
        book = leave_out_short(make(SIZES), 10, 0.5).ledger()
        rows = {(entry.unit, entry.reason): (entry.before, entry.after) for entry in book.totals()}
        assert rows["animals", "fewer than 10 complete frames"] == (5, 4)
        assert rows["frames", "fewer than 10 complete frames"] == (1630, 1230)
        assert rows["animals", "less than 0.5 of the frames complete"] == (4, 3)
        assert rows["frames", "less than 0.5 of the frames complete"] == (1230, 830)
        assert rows["frames", "no posture in the file"] == (830, 630)

    def test_nothing_left_out_is_no_entry(self):
        assert {entry.step for entry in make(SIZES).ledger().entries} == {"recording"}

    def test_it_survives_a_file_and_a_change_of_rate(self, tmp_path):
        chosen = leave_out_short(make(SIZES), 31)
        again = io.read(io.write_recording(chosen, tmp_path / "plate.nc"))
        assert left_out_of(again.dataset) == left_out_of(chosen.dataset)
        halved = resample(again, 5.0)
        assert left_out_of(halved.dataset) == (LeftOut(reason="fewer than 31 complete frames", animals=3, frames=415),)

    def test_files_add_up(self):
        one, other = (
            leave_out_short(make(SIZES), 31),
            leave_out_short(make({"whole": (99, 99), "x": (20, 20)}), 31, 0.1),
        )
        merged = merge_recordings({"one.nc": one, "two.nc": other, "three.nc": make({"y": (9, 9)})})
        assert left_out_of(merged.dataset) == (LeftOut(reason="fewer than 31 complete frames", animals=4, frames=850),)

    def test_equal_losses_of_two_files_are_counted_twice(self):
        merged = merge_recordings({name: leave_out_short(make(SIZES), 31) for name in ("a.nc", "b.nc")})
        assert left_out_of(merged.dataset)[0].animals == 6

    @pytest.mark.parametrize(
        "text",
        ["no JSON", "5", '[{"reason": "x"}]', '[{"reason": "x", "animals": -1, "frames": 0}]', "[" * 100_000,
         '[{"reason": "x", "animals": 1e999, "frames": 0}]', '[{"reason": "x", "animals": 1e30, "frames": 0}]'],
    )  # fmt: skip
    def test_an_attribute_that_says_nothing(self, text):
        dataset = make(SIZES).dataset.assign_attrs({LEFT_OUT: text})
        with pytest.raises(InputFormatError, match="left out"):
            Recording(dataset)


class TestNotes:
    def test_pieces_of_tracks(self):
        pieces = {f"track_{i:02}": (400, 10) for i in range(27)}
        (note,) = reading_notes(make({"whole": (400, 400), **pieces}).ledger())
        assert "27 of 28 animals have a complete posture in less than 5% of their frames" in note
        assert "--min-share 0.05" in note

    def test_a_few_are_no_reason(self):
        assert reading_notes(make(SIZES).ledger()) == []
        assert reading_notes(make({"alone": (400, 10)}).ledger()) == []

    def test_animals_left_out(self):
        notes = reading_notes(leave_out_short(make(SIZES), 10).ledger())
        assert notes == ["1 animal with fewer than 10 complete frames left out (400 frames)."]
        assert json.loads(leave_out_short(make(SIZES), 10).dataset.attrs[LEFT_OUT])[0]["animals"] == 1
