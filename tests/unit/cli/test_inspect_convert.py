"""What is in a file, and the same in another format."""

import numpy as np
import pytest

from ethomarkov.io import read, write_recording
from ethomarkov.recording import Recording, Track

PNG = b"\x89PNG\r\n\x1a\n"
MARKUP = ["worm[1]", "[red]x[/red]", "[/]", "<b>x</b>", "100% {x}"]
MATHS = ["x$^$y", "$$", "cost $5 and $6", r"$\frac$"]
SCRIPTS = ["虫一", "🪱 é"]


def smooth(n_frames: int, n_columns: int = 3, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.cumsum(rng.normal(size=(n_frames, n_columns)), axis=0).astype(np.float32)


@pytest.fixture
def gappy(tmp_path):
    """Two animals at 10 Hz: one with gaps of 5, 20 and (at its end) 3 frames, one without."""
    first = smooth(200)
    for start, stop in ((50, 55), (100, 120), (197, 200)):
        first[start:stop] = np.nan
    tracks = [Track(individual="gappy", values=first), Track(individual="whole", values=smooth(150, seed=1))]
    recording = Recording.from_tracks(tracks, kind="amplitude", sampling_rate=10.0)
    return write_recording(recording, tmp_path / "gappy.nc")


def row_of(out: str, animal: str) -> list[str]:
    return next(line for line in out.splitlines() if line.startswith(animal)).split()


def named(tmp_path, name: str):
    tracks = [Track(individual=name, values=smooth(60)), Track(individual="plain", values=smooth(60, seed=1))]
    recording = Recording.from_tracks(tracks, kind="amplitude", sampling_rate=16.0)
    return write_recording(recording, tmp_path / "named.nc")


# --- inspect ---------------------------------------------------------------------------------------------------------


def test_inspect_counts_what_the_issue_asks_for(cli, gappy):
    code, out, err = cli("inspect", gappy)
    assert (code, err) == (0, "")
    head = out.splitlines()[0]
    assert "2 animals" in head
    assert "10 Hz" in head
    assert "amplitudes" in head
    # frames, minutes, missing, gaps, longest gap, longest gap-free stretch (120 to 197)
    assert row_of(out, "gappy")[1:] == ["200", "0.3", "14.0", "%", "3", "2.0", "s", "7.7", "s", "none"]
    assert row_of(out, "whole")[1:] == ["150", "0.2", "0.0", "%", "0", "0.0", "s", "15.0", "s", "none"]


def test_inspect_says_that_a_path_was_measured(cli, files):
    _, out, _ = cli("inspect", files["nc"])
    assert row_of(out, "worm_00")[-1] == "measured"


def test_inspect_joins_several_files(cli, files, gappy):
    code, out, _ = cli("inspect", files["nc"], files["npz"])
    assert code == 0
    assert "4 animals" in out


def test_inspect_counts_one_animal_as_one(cli, recordings, tmp_path):
    write_recording(recordings["amplitude"].select(["worm_01"]), tmp_path / "one.nc")
    out = cli("inspect", tmp_path / "one.nc")[1]
    assert "1 animal," in out


def test_inspect_of_many_animals_is_cut_and_says_so(cli, tmp_path):
    tracks = [Track(individual=f"track_{i:03d}", values=smooth(40, seed=i)) for i in range(75)]
    write_recording(Recording.from_tracks(tracks, kind="amplitude", sampling_rate=16.0), tmp_path / "many.nc")
    code, out, _ = cli("inspect", tmp_path / "many.nc", "--out", tmp_path / "many.png")
    assert code == 0
    assert "75 animals" in out
    assert "15 more" in out


@pytest.mark.parametrize("kind", ["amplitude", "angle", "centerline", "position"])
def test_inspect_draws_every_kind(cli, files, tmp_path, kind):
    code, out, err = cli("inspect", files[kind], "--out", tmp_path / "drawn.png")
    assert (code, err) == (0, "")
    assert (tmp_path / "drawn.png").read_bytes().startswith(PNG)
    assert [path.name for path in tmp_path.iterdir()] == ["drawn.png"]
    assert str(tmp_path / "drawn.png") in out


@pytest.mark.parametrize(("ending", "begins"), [("pdf", b"%PDF"), ("svg", b"<?xml"), ("PNG", PNG)])
def test_inspect_draws_the_promised_formats(cli, gappy, tmp_path, ending, begins):
    assert cli("inspect", gappy, "--out", tmp_path / f"drawn.{ending}")[0] == 0
    assert (tmp_path / f"drawn.{ending}").read_bytes().startswith(begins)


@pytest.mark.parametrize("name", MARKUP)
def test_names_of_animals_are_shown_as_they_are(cli, tmp_path, name):
    code, out, err = cli("inspect", named(tmp_path, name))
    assert (code, err) == (0, "")
    assert name in out


@pytest.mark.parametrize("name", [*MATHS, *SCRIPTS])
def test_any_name_of_an_animal_can_be_drawn(cli, tmp_path, name):
    code, out, err = cli("inspect", named(tmp_path, name), "--out", tmp_path / "drawn.png")
    assert (code, err) == (0, "")
    assert name in out


@pytest.mark.parametrize("name", ["drawn.xyz", "drawn", "drawn."])
def test_a_picture_of_unknown_format_is_refused(cli, gappy, tmp_path, name):
    code, out, err = cli("inspect", gappy, "--out", tmp_path / name)
    assert code == 2
    assert name in err
    assert ".png" in err
    assert "Traceback" not in out + err
    assert [path.name for path in tmp_path.iterdir()] == ["gappy.nc"]


# --- convert ---------------------------------------------------------------------------------------------------------


def assert_equal(one: Recording, other: Recording, rtol: float = 0.0) -> None:
    assert one.kind == other.kind
    assert one.individuals == other.individuals
    assert one.sampling.rate == pytest.approx(other.sampling.rate, rel=1e-9)
    np.testing.assert_allclose(one.values, other.values, rtol=rtol, atol=rtol)
    np.testing.assert_array_equal(one.segments.bounds, other.segments.bounds)
    np.testing.assert_allclose(one.time, other.time, atol=1e-9)
    if one.centroid is not None:
        np.testing.assert_allclose(one.centroid, other.centroid, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("kind", ["amplitude", "angle", "centerline", "position"])
@pytest.mark.parametrize("ending", ["nc", "npz", "csv"])
def test_every_kind_goes_through_every_table_and_back(cli, files, tmp_path, kind, ending):
    middle, last = tmp_path / f"middle.{ending}", tmp_path / "last.nc"
    code, out, err = cli("convert", files[kind], "--out", middle)
    assert (code, err) == (0, "")
    assert "2 animals" in out
    assert "3,840 frames" in out
    assert str(middle) in out
    assert cli("convert", middle, "--out", last)[0] == 0
    assert_equal(read(last), read(files[kind]), rtol=1e-6 if ending == "csv" else 0.0)


@pytest.mark.parametrize("ending", ["wcon", "wcon.zip"])
def test_angles_become_spines_of_the_known_body_length(cli, files, recordings, tmp_path, ending):
    spines = tmp_path / f"spines.{ending}"
    assert cli("convert", files["angle"], "--out", spines)[0] == 0
    found, angles = read(spines), recordings["angle"]
    assert found.kind == "centerline"
    assert found.individuals == angles.individuals
    assert found.values.shape[1] == angles.values.shape[1] + 1
    steps = np.diff(found.values.astype(float), axis=1)
    lengths = np.nansum(np.hypot(steps[..., 0], steps[..., 1]), axis=1)
    valid = found.segments.valid
    wanted = np.repeat([angles.body_lengths[name] for name in angles.individuals], np.diff(angles.segments.offsets))
    np.testing.assert_allclose(lengths[valid], wanted[valid], rtol=1e-4)
    np.testing.assert_array_equal(found.segments.bounds, angles.segments.bounds)
    off = np.exp(1j * (np.arctan2(steps[..., 1], steps[..., 0]) - angles.values))[valid]
    np.testing.assert_allclose(np.angle(off), 0, atol=2e-3)


def test_spines_survive_wcon(cli, files, tmp_path):
    assert cli("convert", files["centerline"], "--out", tmp_path / "s.wcon")[0] == 0
    assert cli("convert", tmp_path / "s.wcon", "--out", tmp_path / "s.nc")[0] == 0
    here, there = read(tmp_path / "s.nc"), read(files["centerline"])
    np.testing.assert_allclose(here.values, there.values, atol=1e-5)
    np.testing.assert_array_equal(here.segments.bounds, there.segments.bounds)


def test_amplitudes_are_no_spines(cli, files, tmp_path):
    code, _, err = cli("convert", files["nc"], "--out", tmp_path / "s.wcon")
    assert code == 2
    assert "amplitude" in err
    assert ".nc" in err
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_repaired_unless_asked(cli, gappy, tmp_path):
    assert cli("convert", gappy, "--out", tmp_path / "same.npz")[0] == 0
    assert_equal(read(tmp_path / "same.npz"), read(gappy))


def test_fill_gaps_fills_the_short_inner_ones_only(cli, gappy, tmp_path):
    assert cli("convert", gappy, "--fill-gaps", 0.5, "--out", tmp_path / "filled.nc")[0] == 0
    here, there = read(tmp_path / "filled.nc"), read(gappy)
    np.testing.assert_array_equal(here.segments.bounds, [[0, 100, 0], [120, 197, 0], [200, 350, 1]])
    known = there.segments.valid
    np.testing.assert_array_equal(here.values[known], there.values[known])
    low, high = np.sort(there.values[[49, 55]], axis=0)
    assert np.all(here.values[50:55] >= low)
    assert np.all(here.values[50:55] <= high)


def test_resample_by_a_whole_factor_keeps_every_second_frame(cli, gappy, tmp_path):
    assert cli("convert", gappy, "--resample", 5, "--out", tmp_path / "half.nc")[0] == 0
    here, there = read(tmp_path / "half.nc"), read(gappy)
    assert here.sampling.rate == 5
    np.testing.assert_array_equal(here.values, np.concatenate([there.values[:200:2], there.values[200::2]]))


def test_resample_to_any_rate_keeps_the_gaps(cli, tmp_path):
    time = np.arange(400) / 16
    values = np.stack([np.sin(time), np.cos(time)], axis=1)
    values[160:200] = np.nan  # 10 s to 12.5 s
    track = Track(individual="wave", values=values)
    write_recording(Recording.from_tracks([track], kind="amplitude", sampling_rate=16.0), tmp_path / "wave.nc")
    assert cli("convert", tmp_path / "wave.nc", "--resample", 24, "--out", tmp_path / "fine.nc")[0] == 0
    fine = read(tmp_path / "fine.nc")
    valid = fine.segments.valid
    assert fine.sampling.rate == 24
    np.testing.assert_array_equal(valid, (fine.time <= 159 / 16 + 1e-9) | (fine.time >= 200 / 16 - 1e-9))
    np.testing.assert_allclose(fine.values[valid, 0], np.sin(fine.time[valid]), atol=2e-3)


def test_files_of_different_rates_can_be_joined_by_resampling(cli, tmp_path):
    for rate in (10.0, 20.0):
        track = Track(individual=f"at {rate:g}", values=smooth(round(30 * rate)))
        recording = Recording.from_tracks([track], kind="amplitude", sampling_rate=rate)
        write_recording(recording, tmp_path / f"{rate:g}.nc")
    arguments = ("convert", tmp_path / "10.nc", tmp_path / "20.nc", "--resample", 10, "--out", tmp_path / "joined.nc")
    code, _, err = cli(*arguments)
    assert (code, err) == (0, "")
    assert read(tmp_path / "joined.nc").individuals == ("at 10", "at 20")


def test_convert_onto_itself_keeps_the_recording(cli, gappy):
    before = read(gappy)
    assert cli("convert", gappy, "--out", gappy)[0] == 0
    assert_equal(read(gappy), before)
