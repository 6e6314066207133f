"""Poses of JABS: one mouse, tracklets and lasting identities."""

import h5py
import numpy as np
import pytest

from ethomarkov import io
from ethomarkov.exceptions import InputFormatError, SamplingError
from ethomarkov.io.readers.jabs import KEYPOINTS

N_FRAMES = 20


def poses(n_mice=None, seed=0):
    rng = np.random.default_rng(seed)
    shape = (N_FRAMES, 12, 2) if n_mice is None else (N_FRAMES, n_mice, 12, 2)
    return rng.integers(1, 800, shape).astype(np.uint16)


def save(path, points, confidence=None, attrs=None, **more):
    with h5py.File(path, "w") as file:
        file["poseest/points"] = points
        file["poseest/confidence"] = np.ones(points.shape[:-1], np.float32) if confidence is None else confidence
        for name, values in more.items():
            file[f"poseest/{name}"] = values
        for name, value in (attrs or {}).items():
            file["poseest"].attrs[name] = value
    return path


def up(points):
    """Give x before y, and y up."""
    return points[..., ::-1].astype(float) * [1, -1]


def test_a_single_mouse(tmp_path):
    points, confidence = poses(), np.ones((N_FRAMES, 12), np.float32)
    confidence[3, 0], confidence[5, 2], points[5, 2] = 0.1, 0.0, 0
    path = save(tmp_path / "v_pose_est_v2.h5", points, confidence, {"version": [2, 0]})
    recording = io.read(path, sampling_rate=30)
    assert (recording.kind, recording.individuals, recording.sampling.rate) == ("position", ("mouse_0",), 30)
    assert recording.dataset["keypoint"].values.tolist() == list(KEYPOINTS)
    expected = up(points)
    expected[3, 0] = expected[5, 2] = np.nan
    np.testing.assert_allclose(recording.values, expected)
    assert recording.dataset.attrs["length_unit"] == "pixel"
    low = io.read(path, sampling_rate=30, min_confidence=0.0).values
    assert np.isfinite(low[3, 0]).all()
    assert np.isnan(low[5, 2]).all()


def test_tracklets_are_animals_and_padding_is_none(tmp_path):
    points = poses(3)
    count = np.full(N_FRAMES, 2, np.uint8)
    count[8:] = 1
    tracklet = np.zeros((N_FRAMES, 3), np.uint32)
    tracklet[:8, 1], tracklet[8:, 0] = 1, 5
    tracklet[2, :2] = tracklet[2, 1::-1]  # the instances change their places
    path = save(tmp_path / "v3.h5", points, instance_count=count, instance_track_id=tracklet)
    recording = io.read(path, sampling_rate=10)
    assert recording.individuals == ("mouse_0", "mouse_1", "mouse_5")
    first = recording.select(["mouse_0"])
    own = points[:8, 0].copy()
    own[2] = points[2, 1]
    np.testing.assert_allclose(first.values, up(own))
    assert recording.select(["mouse_5"]).time[0] == pytest.approx(0.8)


@pytest.mark.parametrize("more", [{}, {"seg_data": np.full((N_FRAMES, 3, 1, 4, 2), -1, np.int32)}])
def test_lasting_identities(tmp_path, more):
    points = poses(3)
    identity = np.tile(np.array([1, 2, 0], np.uint32), (N_FRAMES, 1))
    mask = np.zeros((N_FRAMES, 3), bool)
    mask[:, 2], mask[4:6, 0] = True, True
    identity[7, 1], mask[7, 1] = 9, True  # tracked, but of no lasting identity
    path = save(
        tmp_path / "v5.h5",
        points,
        attrs={"version": [5, 0], "cm_per_pixel": np.float32(0.1)},
        instance_embed_id=identity,
        id_mask=mask,
        instance_track_id=np.zeros((N_FRAMES, 3), np.uint32),
        instance_count=np.full(N_FRAMES, 2, np.uint8),
        **more,
    )
    recording = io.read(path, sampling_rate=30)
    assert recording.individuals == ("mouse_1", "mouse_2")
    assert recording.dataset.attrs["length_unit"] == "cm"
    expected = up(points[:, 0]) * 0.1
    expected[4:6] = np.nan
    np.testing.assert_allclose(recording.select(["mouse_1"]).values, expected, rtol=1e-5)
    assert np.isnan(recording.select(["mouse_2"]).values[7]).all()


def test_keypoints_along_the_back(tmp_path):
    path = save(tmp_path / "v2.h5", poses())
    back = ("NOSE", "BASE_NECK", "CENTER_SPINE", "BASE_TAIL")
    assert io.read(path, sampling_rate=30, keypoints=back, as_centerline=True).values.shape == (N_FRAMES, 4, 2)


def test_the_rate_must_be_stated(tmp_path):
    with pytest.raises(SamplingError, match="--rate"):
        io.read(save(tmp_path / "v2.h5", poses()))


COUNT = np.full(N_FRAMES, 2, np.uint8)


@pytest.mark.parametrize(
    ("points", "more", "message"),
    [
        (poses()[:, :5], {}, r"\(20, 5, 2\)"),
        (poses(), {"confidence": np.ones((3, 12))}, r"\(3, 12\)"),
        (poses(2), {}, "instance_track_id and poseest/instance_count is not there"),
        (
            poses(2),
            {"instance_count": COUNT, "instance_track_id": np.zeros((N_FRAMES, 2), int)},
            "two places in frame 0",
        ),
        (poses(2), {"instance_count": COUNT, "instance_track_id": np.zeros((3, 2), int)}, r"shape \(3, 2\)"),
        (
            poses(2),
            {"instance_embed_id": np.ones((N_FRAMES, 2), int), "id_mask": np.ones((N_FRAMES, 2), bool)},
            "none of 20 frames holds a mouse",
        ),
    ],
)
def test_files_that_do_not_fit(tmp_path, points, more, message):
    path = save(tmp_path / "bad.h5", points, **more)
    with pytest.raises(InputFormatError, match=message) as caught:
        io.read(path, sampling_rate=30)
    assert str(path) in str(caught.value)


def test_another_file_by_that_name(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["points"] = poses()
    with pytest.raises(InputFormatError, match=r"a pose file of JABS is needed. It holds points \(20, 12, 2\) uint16"):
        io.read(tmp_path / "a.h5", format="jabs", sampling_rate=30)
