import json

import h5py
import numpy as np
import pytest

from ethomarkov.exceptions import InputFormatError, SamplingError
from ethomarkov.io import read


@pytest.fixture
def write(tmp_path, poses):
    """Give ``write(order)``: an analysis file in SLEAP's order, or in another that is stated in `dims`."""

    def make(order=None, *, nodes=None, tracks=None, scores=True):
        usual = ("frame", "track", "node", "xy")
        stored = order or ("track", "xy", "node", "frame")
        with h5py.File(tmp_path / "s.analysis.h5", "w") as file:
            file["tracks"] = poses.positions.transpose([usual.index(dim) for dim in stored])
            if scores:
                kept = [dim for dim in stored if dim != "xy"]
                file["point_scores"] = poses.confidence.transpose([usual.index(dim) for dim in kept])
            if order is not None:
                file["tracks"].attrs["dims"] = json.dumps(stored)
                file["point_scores"].attrs["dims"] = json.dumps(kept)
            file["node_names"] = [name.encode() for name in nodes or poses.keypoints]
            names = poses.animals if tracks is None else tracks
            file["track_names"] = [name.encode() for name in names]  # an empty list is stored as numbers
            file["track_occupancy"] = np.ones((poses.n_frames, 2), np.uint8)
        return tmp_path / "s.analysis.h5"

    return make


@pytest.mark.parametrize("order", [None, ("track", "xy", "node", "frame"), ("frame", "track", "node", "xy")])
def test_any_order_of_dimensions(write, check, order):
    check(read(write(order), sampling_rate=25))


def test_without_track_names_and_scores(write):
    recording = read(write(tracks=[], scores=False), sampling_rate=25)
    assert recording.individuals == ("individual_0", "individual_1")
    assert np.isnan(recording.values).any(axis=(1, 2)).sum() == 1


def test_rate_is_needed(write):
    with pytest.raises(SamplingError, match="hold no frame rate"):
        read(write())


def test_names_that_do_not_fit(write):
    with pytest.raises(InputFormatError, match="2 node names"):
        read(write(nodes=["nose", "tail"]), sampling_rate=1)


@pytest.mark.parametrize(
    ("dims", "message"),
    [
        (json.dumps(["a", "b", "c", "d"]), "dimensions a, b, c, d"),
        ("[" * 100_000, "a list of names is needed"),
        ("3", "a list of names is needed"),
    ],
)
def test_unknown_dimensions(write, dims, message):
    path = write()
    with h5py.File(path, "r+", libver="latest") as file:
        file["tracks"].attrs["dims"] = dims[:60_000]
    with pytest.raises(InputFormatError, match=message):
        read(path, sampling_rate=1)


def test_positions_that_are_no_numbers(write):
    path = write()
    with h5py.File(path, "r+") as file:
        del file["tracks"]
        file["tracks"] = np.full((2, 2, 3, 12), b"x")
    with pytest.raises(InputFormatError, match="numbers are needed"):
        read(path, sampling_rate=1)


def test_a_file_that_sleap_io_has_written(tmp_path, poses, check):
    sleap_io = pytest.importorskip("sleap_io")
    skeleton = sleap_io.Skeleton(nodes=list(poses.keypoints))
    tracks = [sleap_io.Track(name) for name in poses.animals]
    video = sleap_io.Video(filename="film.mp4", open_backend=False)
    frames = [
        sleap_io.LabeledFrame(
            video=video,
            frame_idx=t,
            instances=[
                sleap_io.PredictedInstance.from_numpy(
                    poses.positions[t, i], skeleton=skeleton, point_scores=poses.confidence[t, i], track=tracks[i]
                )
                for i in range(2)
            ],
        )
        for t in range(poses.n_frames)
    ]
    labels = sleap_io.Labels(videos=[video], skeletons=[skeleton], tracks=tracks, labeled_frames=frames)
    sleap_io.save_analysis_h5(labels, str(tmp_path / "s.h5"), video=0)
    check(read(tmp_path / "s.h5", sampling_rate=25))
    check(read(tmp_path / "s.h5", sampling_rate=25, view="film.mp4"))
    with pytest.raises(InputFormatError, match=r"no film 'top', only film\.mp4"):
        read(tmp_path / "s.h5", sampling_rate=25, view="top")
