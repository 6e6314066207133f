"""Movies of a study: as long as they should be, of the animal that they name, and none without a body."""

import imageio_ffmpeg
import pytest

from ethomarkov.exceptions import InputFormatError
from ethomarkov.report.movies import CRAWL_FILE, PAIR_FILE, _behaviour, write_movies, write_tour
from ethomarkov.report.results import StudyResults

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def results(full):
    return StudyResults(full)


def test_both_movies_last_as_long_as_asked(results, tmp_path):
    steps = []
    files = write_movies(results, results["runs"][1], tmp_path, lambda *step: steps.append(step), seconds=1.0)
    assert [file.name for file in files] == [PAIR_FILE, CRAWL_FILE]
    for file in files:
        assert imageio_ffmpeg.count_frames_and_secs(file)[1] == pytest.approx(1.0, abs=0.1)
    assert steps


def test_a_simulated_animal_does_what_its_own_postures_say(results):
    behaviour = _behaviour(results, results["runs"][0])
    level = max(results["tree"].levels)
    assert behaviour.names == results["names"][level]
    assert len(behaviour.labels) == len(results["runs"][0].postures.cut(0).values)
    assert set(behaviour.labels.tolist()) <= {-1, *range(level)}


def test_a_tour_shows_every_state(results, tmp_path):
    file = write_tour(results, tmp_path / "tour.gif", level=2, loops=1)
    assert file.read_bytes().startswith(b"GIF89a")


def test_no_movie_without_a_body(keypoints, results, tmp_path):
    bodiless = StudyResults(keypoints)
    with pytest.raises(InputFormatError, match="need tangent angles"):
        write_tour(bodiless, tmp_path / "tour.mp4")
    with pytest.raises(InputFormatError, match="need tangent angles"):
        write_movies(bodiless, results["runs"][0], tmp_path)
    assert list(tmp_path.iterdir()) == []
