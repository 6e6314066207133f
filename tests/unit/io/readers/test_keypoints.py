import numpy as np
import pytest

from ethomarkov.exceptions import InputFormatError, SamplingError
from ethomarkov.io import ReadOptions
from ethomarkov.io.readers.keypoints import (
    choose_view,
    frame_times,
    image_track,
    position_recording,
    require_rate,
    suggest,
)
from ethomarkov.recording import Track

NAMES = ("nose", "back", "tail")


def track(n_keypoints=3):
    values = np.random.default_rng(0).normal(size=(6, n_keypoints, 2))
    return Track(individual="mouse", values=values, centroid=values[:, 0], body_length=2.0)


def recording(**options):
    return position_recording(NAMES, [track()], ReadOptions(**options), sampling_rate=10, attrs={"length_unit": "cm"})


def test_all_keypoints_by_default():
    found = recording()
    assert found.kind == "position"
    assert found.dataset["keypoint"].values.tolist() == list(NAMES)
    assert found.dataset.attrs["length_unit"] == "cm"
    assert found.body_lengths == {"mouse": 2.0}


def test_keypoints_are_chosen_and_ordered():
    found = recording(keypoints=("tail", "nose"))
    assert found.dataset["keypoint"].values.tolist() == ["tail", "nose"]
    np.testing.assert_array_equal(found.values, track().values[:, [2, 0]].astype(np.float32))


def test_keypoints_as_centerline():
    found = recording(keypoints=("tail", "back", "nose"), as_centerline=True)
    assert found.kind == "centerline"
    np.testing.assert_array_equal(found.values, track().values[:, ::-1].astype(np.float32))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"keypoints": ("nsoe",)}, "no keypoint 'nsoe'; there are nose, back, tail. Did you mean 'nose'"),
        ({"keypoints": ("nose", "nose")}, "each once"),
        ({"keypoints": ()}, "names nothing"),
        ({"keypoints": ("nose", "tail"), "as_centerline": True}, "at least three"),
    ],
)
def test_wrong_choices(options, message):
    with pytest.raises(InputFormatError, match=message):
        recording(**options)


def test_one_name_for_each_keypoint():
    with pytest.raises(InputFormatError, match="3 keypoint names"):
        position_recording(NAMES, [track(2)], ReadOptions(), sampling_rate=1)
    with pytest.raises(InputFormatError, match="same name"):
        position_recording(("a", "a", "b"), [track()], ReadOptions(), sampling_rate=1)


def test_y_points_up_and_the_input_is_left_alone():
    pixels = np.ones((2, 3, 2))
    found = image_track("m", pixels, ReadOptions())
    assert (found.values == [1, -1]).all()
    assert (pixels == 1).all()


def test_unsure_keypoints_are_missing_but_unknown_confidence_is_not():
    confidence = np.array([[0.59, 0.6, np.nan]])
    found = image_track("m", np.ones((1, 3, 2)), ReadOptions(), confidence=confidence)
    assert np.isnan(found.values).all(axis=2).tolist() == [[True, False, False]]
    strict = image_track("m", np.ones((1, 3, 2)), ReadOptions(min_confidence=0.7), confidence=confidence)
    assert np.isnan(strict.values).all(axis=2).tolist() == [[True, True, False]]


def test_only_two_dimensions():
    with pytest.raises(InputFormatError, match="only x and y"):
        image_track("m", np.ones((1, 3, 3)), ReadOptions())


def test_suggestions_are_close_or_none():
    assert suggest("timee", ["time"]) == " Did you mean 'time'?"
    assert suggest("temperature", ["individual"]) == ""


def test_numbers_too_large_for_a_recording_are_infinite_without_a_warning():
    found = image_track("m", np.full((1, 3, 2), 1e300), ReadOptions())
    assert np.isinf(found.values).all()


def test_the_rate_that_the_user_states():
    assert require_rate(ReadOptions(sampling_rate=25), "They") == 25
    with pytest.raises(SamplingError, match=r"They hold no frame rate.*--rate"):
        require_rate(ReadOptions(), "They")


@pytest.mark.parametrize("kind", ["i4", "u8", "f8"])
def test_frame_numbers_become_seconds(kind):
    np.testing.assert_allclose(frame_times(np.array([3, 4, 9], kind), 10), [0.3, 0.4, 0.9])


def test_no_frames():
    assert frame_times(np.array([]), 10).size == 0


@pytest.mark.parametrize(
    ("frames", "message"),
    [
        ([0, 1, 1], r"number 1 is there twice \(row 3\)"),
        ([0, 2, 1], r"goes back from 2 to 1 \(row 3\)"),
        ([0, 1.5], "Row 2 has the frame number 1.5"),
        ([0, np.nan], "Row 2 has the frame number nan"),
        ([0, np.inf], "Row 2 has the frame number inf"),
        ([-(2**62), 0], "Row 1 has the frame number"),
        ([0, 10**7], "2 rows span the frames 0 to 10000000"),
    ],
)
def test_wrong_frame_numbers(frames, message):
    with pytest.raises(InputFormatError, match=message):
        frame_times(np.array(frames), 10)


def test_the_only_view_needs_no_name():
    assert choose_view(["top", "top"], None) == "top"
    assert choose_view([], None) == ""


@pytest.mark.parametrize(
    ("names", "wanted", "message"),
    [
        (["top", "side"], None, r"2 cameras \(top, side\); one at a time.*view= \(or --view\)"),
        (["top", "side"], "sid", "no camera 'sid', only top, side. Did you mean 'side'"),
        ([], "top", "no camera 'top', only one without a name"),
    ],
)
def test_views_that_are_not_clear(names, wanted, message):
    with pytest.raises(InputFormatError, match=message):
        choose_view(names, wanted, "camera")
