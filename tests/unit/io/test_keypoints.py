import numpy as np
import pytest

from ethomarkov.exceptions import InputFormatError
from ethomarkov.io import ReadOptions
from ethomarkov.io.keypoints import image_track, position_recording, suggest
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
