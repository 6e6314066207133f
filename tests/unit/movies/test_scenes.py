import numpy as np
import pytest
from matplotlib.colors import to_rgb

from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov._core.series import Series
from ethomarkov.exceptions import InputFormatError, SamplingError
from ethomarkov.locomotion import Trajectory
from ethomarkov.movies import Behaviour, Shot, crawl_scene, posture_pair_scene, tour_scene, write_movie
from ethomarkov.movies.scenes import DATA, MISSING
from ethomarkov.movies.stage import HALF_WIDTH, outline

SMALL = (160, 120)
RED, GREEN = "#FF0000", "#00FF00"


def wave(n_frames: int, gap: slice | None = None, rate: float = 16.0, sign: int = 1) -> Series:
    s = (np.arange(20) + 0.5) / 20
    angles = 0.8 * np.sin(2 * np.pi * (1.5 * s[None] - sign * 0.5 * np.arange(n_frames)[:, None] / rate))
    if gap is not None:
        angles[gap] = np.nan
    return Series.from_rows(angles, rate)


def straight_path(angles: Series, speed: float = 1.0) -> Trajectory:
    time = np.arange(len(angles.values)) / angles.sampling.rate
    centroid = np.where(angles.segments.valid[:, None], np.stack([speed * time, 0 * time], axis=1), np.nan)
    heading = np.where(angles.segments.valid, np.pi, np.nan)
    return Trajectory(centroid=centroid, heading=heading, segments=angles.segments, sampling=angles.sampling)


def has_colour(image: np.ndarray, colour: str) -> np.ndarray:
    """Pixels that have this colour but for the softened edges of what is drawn."""
    return np.abs(image.astype(int) - np.round(np.multiply(to_rgb(colour), 255))).max(axis=2) <= 3


def test_shot_shows_every_row_up_to_thirty_per_second():
    segments = Segments.from_valid(np.ones(100, dtype=bool), np.array([0, 40, 100]))
    assert Shot(individual=1).rows(segments, Sampling(16.0)).tolist() == list(range(40, 100))
    assert Shot(individual=1, start=1, duration=0.5).rows(segments, Sampling(16.0)).tolist() == list(range(56, 64))
    fast = Shot(speed=4.0)
    assert fast.rate(Sampling(16.0)) == 30
    assert fast.rows(segments, Sampling(16.0)).tolist() == [int(k * 64 / 30) for k in range(19)]
    assert Shot(speed=0.5).rate(Sampling(16.0)) == 8


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"individual": 2}, InputFormatError, "individual=2"),
        ({"start": 7.0}, SamplingError, "from 7 s on: 0 was seen for 6.25 s"),
        ({"start": -1.0}, SamplingError, "from -1 s"),
        ({"duration": 0.0}, SamplingError, "for 0 s"),
    ],
)
def test_shot_outside_the_recording_is_refused(options, error, words):
    with pytest.raises(error, match=words):
        Shot(**options).rows(Segments.from_valid(np.ones(100, dtype=bool)), Sampling(16.0))


@pytest.mark.parametrize("options", [{"size": (10, 500)}, {"speed": 0.0}])
def test_shot_with_impossible_size_or_speed_is_refused(options):
    with pytest.raises(InputFormatError, match=next(iter(options))):
        Shot(**options)


def test_outline_of_a_straight_body():
    skeleton = np.stack([np.linspace(0, 1, 101), np.zeros(101)], axis=1)
    polygon = outline(skeleton, HALF_WIDTH)
    width = polygon[:101, 1] - polygon[101:, 1][::-1]
    np.testing.assert_allclose(polygon[:101, 0], skeleton[:, 0], atol=1e-12)
    assert width.max() == pytest.approx(2 * HALF_WIDTH)
    assert width[[0, -1]] == pytest.approx([0, 0], abs=1e-12)
    assert width[5] > 2 * width[-6]  # blunt head, pointed tail


@pytest.mark.parametrize("size", [SMALL, (161, 121), (120, 160), (200, 64)])
def test_pictures_have_the_size_asked_for(size):
    angles, shot = wave(6), Shot(size=size)
    scenes = (
        crawl_scene(straight_path(angles), angles, shot=shot),
        posture_pair_scene(angles, angles, window=1.0, shot=shot),
        tour_scene([angles] * 3, "abc", [RED] * 3, shot=shot),
    )
    for scene in scenes:
        image = scene.draw(5)
        assert image.dtype == np.uint8
        assert image.shape == (size[1], size[0], 3)


def test_frames_can_be_drawn_in_any_order():
    angles = wave(40)
    labels = np.arange(40) // 8 % 2
    scene = crawl_scene(
        straight_path(angles),
        angles,
        behaviour=Behaviour(labels=labels, names=("one", "two"), colours=(RED, GREEN)),
        trail=1.0,
        shot=Shot(size=SMALL),
    )
    forwards = [scene.draw(k) for k in range(40)]
    for k in (39, 3, 20):
        np.testing.assert_array_equal(scene.draw(k), forwards[k])
    assert all((a != b).any() for a, b in zip(forwards[1:], forwards[:-1], strict=True))
    with pytest.raises(InputFormatError, match="Frame 40"):
        scene.draw(40)


def test_whole_path_is_drawn_to_scale():
    angles = wave(64)
    scene = crawl_scene(straight_path(angles, speed=2.0), angles, camera="whole", shot=Shot(size=(320, 180)))
    columns = np.flatnonzero(has_colour(scene.draw(63), DATA).any(axis=0))
    start = columns[0]
    now = np.flatnonzero(has_colour(scene.draw(32), DATA).any(axis=0))
    # halfway in time the trail is half as long; the body hides part of its end in both, by at most its half
    assert now[0] == start
    length = columns[-1] - start
    assert now[-1] - start == pytest.approx(length * 32 / 63, abs=0.03 * length)


def test_path_is_coloured_by_behaviour_and_fades():
    angles = wave(96)
    labels = (np.arange(96) >= 48).astype(int)
    behaviour = Behaviour(labels=labels, names=("a", "b"), colours=(RED, GREEN))
    path, shot = straight_path(angles, speed=2.0), Shot(size=(320, 180))

    def world(**options):
        return crawl_scene(path, angles, behaviour=behaviour, camera="whole", shot=shot, **options).draw(95)[:150, :240]

    kept, faded = world(), world(trail=1.0)
    red, green = (np.flatnonzero(has_colour(kept, colour).any(axis=0)) for colour in (RED, GREEN))
    assert red.max() < green.max()
    assert red.min() < green.min()
    assert not has_colour(faded, RED).any()
    assert has_colour(faded, GREEN).any()


def test_body_disappears_in_a_gap_while_time_goes_on():
    angles = wave(48, gap=slice(16, 32))
    scene = crawl_scene(straight_path(angles), angles, camera="whole", shot=Shot(size=(320, 180)))
    dark = [(scene.draw(k)[:150].max(axis=2) < 60).sum() for k in (15, 16, 31, 32)]
    assert min(dark[0], dark[3]) > 50
    assert dark[1] == dark[2] == 0
    clock = slice(165, 180)
    assert (scene.draw(20)[clock] != scene.draw(24)[clock]).any()
    # nothing joins the two runs: the middle of the gap stays free of the trail
    trail = has_colour(scene.draw(47), DATA)
    columns = np.flatnonzero(trail.any(axis=0))
    assert np.diff(columns).max() > 10


def test_recording_without_any_posture_is_an_empty_plate():
    angles = wave(8, gap=slice(None))
    for camera in ("follow", "whole"):
        scene = crawl_scene(straight_path(angles), angles, camera=camera, shot=Shot(size=SMALL))
        assert not has_colour(scene.draw(7), DATA).any()


def test_camera_follows():
    angles = wave(160)
    path = straight_path(angles, speed=2.0)
    scene = crawl_scene(path, angles, shot=Shot(size=(320, 180)))
    for k in (40, 80, 120):
        dark = scene.draw(k)[:150].max(axis=2) < 60
        assert np.flatnonzero(dark.any(axis=0)).mean() == pytest.approx(160, abs=12)


def test_curvature_scrolls_with_the_present_at_the_right():
    data, simulated = wave(64), wave(64, gap=slice(32, 40), sign=-1)
    scene = posture_pair_scene(data, simulated, window=2.0, shot=Shot(size=(480, 270)))
    left, right = round(0.06 * 480), round(0.59 * 480) - 1
    upper, lower = slice(30, 110), slice(160, 230)
    pixels_per_frame = (right - left) / 32
    painted = (scene.draw(4)[upper, left:right] != 255).any(axis=(0, 2))
    # four intervals have passed; what was before the first frame stays white
    assert painted[4 - round(4 * pixels_per_frame) :].all()
    assert not painted[5 : -4 - round(4 * pixels_per_frame)].any()

    def gap_columns(k):
        return np.flatnonzero(has_colour(scene.draw(k)[lower, left:right], MISSING).mean(axis=0) > 0.9)

    assert gap_columns(31).size == 0
    shown = gap_columns(48)
    assert shown.size == pytest.approx(9 * pixels_per_frame, abs=pixels_per_frame)
    assert shown.mean() - gap_columns(56).mean() == pytest.approx(8 * pixels_per_frame, abs=1.5)
    assert not has_colour(scene.draw(48)[upper, left:right], MISSING).any()


def test_head_is_above_tail_and_left_bends_are_red():
    angles = np.zeros((8, 20))
    angles[:, :10] = np.linspace(-1, 0, 10)  # turns counter-clockwise in the front half only
    series = Series.from_rows(angles, 16.0)
    image = posture_pair_scene(series, series, window=0.25, shot=Shot(size=(480, 270))).draw(7).astype(int)
    front, back = image[45, 200], image[100, 200]
    assert front[0] > front[2] + 50
    assert np.ptp(back) < 20


def test_pair_lasts_as_long_as_the_shorter():
    assert posture_pair_scene(wave(30), wave(20), shot=Shot(size=SMALL)).n_frames == 20


def test_tour_repeats_every_sequence():
    sequences = [wave(8), wave(4, sign=-1)]
    paths = [straight_path(angles) for angles in sequences]
    scene = tour_scene(sequences, ["run", "back"], [RED, GREEN], paths=paths, loops=2, shot=Shot(size=SMALL))
    assert scene.n_frames == 16
    np.testing.assert_array_equal(scene.draw(3), scene.draw(11))
    assert (scene.draw(3) != scene.draw(7)).any()  # the short one has started again, the long one has not
    assert has_colour(scene.draw(0), RED).any()
    assert has_colour(scene.draw(0), GREEN).any()


def test_names_are_never_formulas_and_may_have_letters_the_font_lacks():
    angles = wave(4)
    names = ("cost $5 or $x", "歩く")
    behaviour = Behaviour(labels=np.zeros(4, dtype=int), names=names, colours=(RED, GREEN))
    crawl_scene(straight_path(angles), angles, behaviour=behaviour, shot=Shot(size=SMALL)).draw(0)
    posture_pair_scene(angles, angles, names=names, shot=Shot(size=SMALL)).draw(0)
    tour_scene([angles, angles], names, (RED, GREEN), shot=Shot(size=SMALL)).draw(0)


def test_scene_becomes_a_movie(tmp_path):
    import imageio_ffmpeg

    angles = wave(10)
    scene = crawl_scene(straight_path(angles), angles, shot=Shot(size=SMALL))
    n_frames, seconds = imageio_ffmpeg.count_frames_and_secs(write_movie(scene, tmp_path / "crawl.mp4"))
    assert n_frames == 10
    assert seconds == pytest.approx(10 / 16, abs=0.02)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda a: crawl_scene(straight_path(a), wave(5)), InputFormatError, "8 frames, the postures 5"),
        (lambda a: crawl_scene(straight_path(a), a, camera="bird"), InputFormatError, "bird"),
        (
            lambda a: crawl_scene(
                straight_path(a), a, behaviour=Behaviour(labels=np.zeros(3, int), names=("a",), colours=(RED,))
            ),
            InputFormatError,
            "3 labels, the path 8 frames",
        ),
        (lambda a: Behaviour(labels=np.array([1]), names=("a",), colours=(RED,)), InputFormatError, "go up to 1"),
        (lambda a: Behaviour(labels=np.array([0]), names=("a",), colours=()), InputFormatError, "1 names and 0 col"),
        (lambda a: posture_pair_scene(a, wave(8, rate=20.0)), SamplingError, "16 and 20 frames per second"),
        (lambda a: posture_pair_scene(a, a, window=0.01), SamplingError, "window=0.01 s"),
        (lambda a: tour_scene([], [], []), InputFormatError, "0 sequences"),
        (lambda a: tour_scene([a], ["a"], [RED], paths=[]), InputFormatError, "0 paths"),
        (lambda a: tour_scene([a, wave(8, rate=20.0)], "ab", [RED] * 2), SamplingError, "16, 20 frames"),
    ],
)
def test_things_that_do_not_fit_are_refused(make, error, words):
    with pytest.raises(error, match=words):
        make(wave(8))
