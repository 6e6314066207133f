import subprocess
from dataclasses import dataclass
from pathlib import Path

import imageio_ffmpeg
import numpy as np
import pytest

from ethomarkov.exceptions import InputFormatError, OutputError
from ethomarkov.movies import write_movie
from ethomarkov.movies import writer as writer_module


@dataclass
class Patches:
    """A square of one colour that moves over white."""

    n_frames: int = 12
    rate: float = 16.0
    size: tuple[int, int] = (160, 120)
    fails_at: int = -1

    def draw(self, k):
        if k == self.fails_at:
            raise KeyboardInterrupt
        image = np.full((self.size[1], self.size[0], 3), 255, np.uint8)
        image[40:80, 4 * k : 4 * k + 40] = (0, 114, 178)
        return image


def decode(file: Path, size: tuple[int, int] = (160, 120)) -> tuple[str, np.ndarray]:
    """Give what ffmpeg says of a file, and its frames."""
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-i", str(file), "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    result = subprocess.run(command, capture_output=True, check=True)
    return result.stderr.decode(), np.frombuffer(result.stdout, np.uint8).reshape(-1, size[1], size[0], 3)


@pytest.mark.parametrize("suffix", [".mp4", ".gif", ".MP4"])
def test_movie_decodes_to_what_was_drawn(tmp_path, suffix):
    file = write_movie(Patches(), tmp_path / f"new/folder/movie{suffix}", quality="best")
    said, frames = decode(file)
    assert ", 160x120" in said
    assert frames.shape == (12, 120, 160, 3)
    assert imageio_ffmpeg.count_frames_and_secs(file)[1] == pytest.approx(12 / 16, abs=0.02)
    for k in (0, 11):
        # the blue of the palette: the matrix of the colours must be the one that players use
        np.testing.assert_allclose(frames[k, 50:70, 4 * k + 10 : 4 * k + 30].mean(axis=(0, 1)), (0, 114, 178), atol=4)
        np.testing.assert_allclose(frames[k, 90:, 110:].mean(axis=(0, 1)), 255, atol=4)


def test_rate_sets_how_fast_it_plays(tmp_path):
    n_frames, seconds = imageio_ffmpeg.count_frames_and_secs(write_movie(Patches(), tmp_path / "slow.mp4", rate=4))
    assert n_frames == 12
    assert seconds == pytest.approx(3.0, abs=0.02)


def test_mp4_plays_in_browsers(tmp_path):
    file = write_movie(Patches(), tmp_path / "movie.mp4")
    said, _ = decode(file)
    assert "Video: h264" in said
    assert "yuv420p(tv, bt709, progressive)" in said
    content = file.read_bytes()
    assert content.index(b"moov") < content.index(b"mdat")  # it starts before all of it is there


def test_odd_sizes_get_a_white_line(tmp_path):
    said, frames = decode(write_movie(Patches(size=(161, 121)), tmp_path / "odd.mp4"), size=(162, 122))
    assert ", 162x122" in said
    assert len(frames) == 12
    assert frames[:, -1].min() > 245
    assert frames[:, :, -1].min() > 245


def test_better_quality_takes_more_space(tmp_path):
    noisy = Patches()
    picture = np.random.default_rng(0).integers(0, 255, (120, 160, 3), dtype=np.uint8)
    noisy.draw = lambda k: np.roll(picture, k, axis=1)
    sizes = [write_movie(noisy, tmp_path / f"{q}.mp4", quality=q).stat().st_size for q in ("small", "good", "best")]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[2] / 1.5


def test_progress_counts_frames(tmp_path):
    calls = []
    write_movie(Patches(n_frames=3), tmp_path / "movie.gif", progress=lambda *call: calls.append(call))
    assert calls == [("frames", 1, 3), ("frames", 2, 3), ("frames", 3, 3)]


@pytest.mark.parametrize("suffix", [".mp4", ".gif"])
def test_interrupted_writing_leaves_nothing_behind(tmp_path, suffix):
    with pytest.raises(KeyboardInterrupt):
        write_movie(Patches(fails_at=7), tmp_path / f"movie{suffix}")
    assert list(tmp_path.iterdir()) == []


def test_interrupted_writing_keeps_the_movie_that_was_there(tmp_path):
    file = write_movie(Patches(), tmp_path / "movie.mp4")
    before = file.read_bytes()
    with pytest.raises(KeyboardInterrupt):
        write_movie(Patches(fails_at=7), file)
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]


def test_ffmpeg_is_heard_when_it_fails(tmp_path, monkeypatch):
    monkeypatch.setattr(writer_module, "_h264_options", lambda rate, factor: ["-c:v", "no_such_codec"])
    # large enough that the pipe breaks while frames are written
    with pytest.raises(OutputError, match=r"movie\.mp4: ffmpeg could not write.*no_such_codec"):
        write_movie(Patches(n_frames=40, size=(640, 480)), tmp_path / "movie.mp4")
    assert list(tmp_path.iterdir()) == []


def test_no_process_outlives_a_failure(tmp_path, monkeypatch):
    started = []

    class Recorded(subprocess.Popen):
        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            started.append(self)

    monkeypatch.setattr(writer_module.subprocess, "Popen", Recorded)
    with pytest.raises(KeyboardInterrupt):
        write_movie(Patches(fails_at=2), tmp_path / "movie.mp4")
    assert len(started) == 1
    assert started[0].poll() is not None


def test_place_that_cannot_be_written(tmp_path):
    (tmp_path / "occupied").write_text("a file, not a folder")
    with pytest.raises(OutputError, match="cannot be written"):
        write_movie(Patches(), tmp_path / "occupied" / "movie.mp4")


@pytest.mark.parametrize("name", ["movie.avi", "movie"])
def test_unknown_ending_names_the_known_ones(tmp_path, name):
    with pytest.raises(InputFormatError, match=r"\.mp4 or \.gif"):
        write_movie(Patches(), tmp_path / name)


@pytest.mark.parametrize(
    ("scene", "options", "words"),
    [
        (Patches(n_frames=0), {}, "no frames"),
        (Patches(), {"rate": 0}, "rate=0"),
        (Patches(), {"quality": "superb"}, "superb"),
    ],
)
def test_bad_choices_are_refused_before_a_file_is_touched(tmp_path, scene, options, words):
    with pytest.raises(InputFormatError, match=words):
        write_movie(scene, tmp_path / "folder" / "movie.mp4", **options)
    assert list(tmp_path.iterdir()) == []


def test_frame_of_another_shape_is_refused(tmp_path):
    scene = Patches()
    scene.draw = lambda k: np.zeros((120, 160, 4), np.uint8)
    with pytest.raises(InputFormatError, match=r"Frame 0.*\(120, 160, 4\).*\(120, 160, 3\)"):
        write_movie(scene, tmp_path / "movie.mp4")
    assert list(tmp_path.iterdir()) == []
