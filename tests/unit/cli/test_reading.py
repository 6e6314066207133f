"""Options of reading that every command has: animals that were hardly seen."""

import numpy as np
import pytest
from scipy.signal import lfilter

from ethomarkov.io import write_recording
from ethomarkov.recording import Recording, Track
from ethomarkov.study import Study


@pytest.fixture
def plate(tmp_path):
    """One worm of a minute, and four pieces of tracks in the same minute."""
    tracks = []
    for i, n_complete in enumerate((960, 20, 20, 20, 20)):
        values = lfilter([1.0], [1.0, -0.9], np.random.default_rng(i).normal(size=(960, 3)), axis=0)
        values[n_complete:] = np.nan
        tracks.append(Track(individual=f"track_{i}", values=values))
    recording = Recording.from_tracks(tracks, kind="amplitude", sampling_rate=16.0)
    return write_recording(recording, tmp_path / "plate.nc")


def test_pieces_of_tracks_are_told_of(cli, plate):
    code, out, _ = cli("inspect", plate)
    assert code == 0
    assert "4 of 5 animals have a complete posture in less than 5% of their frames" in out


@pytest.mark.parametrize("options", [("--min-frames", 21), ("--min-share", 0.05)])
def test_they_can_be_left_out(cli, plate, options):
    code, out, _ = cli("inspect", plate, *options)
    assert code == 0
    assert "1 animal," in out
    assert "note 4 animals with" in out
    assert "left out (3,840 frames)" in out
    assert "track_1" not in out


def test_no_animal_is_left(cli, plate):
    code, _, err = cli("inspect", plate, "--min-frames", 1000)
    assert code == 2
    assert "No animal of 5 would be left: 5 with fewer than 1,000 complete frames" in err


@pytest.mark.parametrize("options", [("--min-frames", -1), ("--min-share", 1.5), ("--min-share", "nan")])
def test_impossible_limits(cli, plate, options):
    code, _, err = cli("inspect", plate, *options)
    assert code == 2
    assert "is needed" in err


def test_a_study_says_what_it_left_out(cli, plate, tmp_path):
    options = ("--min-share", 0.05, "--modes", 3, "--microstates", 6, "--walks", 1, "--simulated-minutes", 0.2)
    code, out, err = cli("run", plate, "--out", tmp_path / "study", *options)
    assert code == 0, err
    assert "4 animals with less than 0.05 of the frames complete left out (3,840 frames)" in out
    book = Study.load(tmp_path / "study").ledger
    rows = {(entry.unit, entry.lost) for entry in book.entries if entry.step == "reading"}
    assert rows == {("animals", 4), ("frames", 3840)}
    assert "less than 0.05 of the frames complete" in (tmp_path / "study" / "report.html").read_text(encoding="utf-8")
