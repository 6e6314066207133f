import sys
from datetime import UTC, datetime

import h5py
import numpy as np
import pytest

from ethomarkov.exceptions import InputFormatError, MissingDependencyError, SamplingError
from ethomarkov.io import read

NODES = ["tail", "back", "nose"]
N_FRAMES = 10


def positions(seed=0, n_axes=2):
    rng = np.random.default_rng(seed)
    values = rng.uniform(0, 100, (N_FRAMES, 3, n_axes)).astype(np.float32)
    values[3] = np.nan
    return values


def make_pose(name, values, *, clock, unit="pixels", skeleton=None, prefix=""):
    import ndx_pose

    confidence = np.ones(N_FRAMES, np.float32)
    confidence[5] = 0.2
    series = [
        ndx_pose.PoseEstimationSeries(
            name=prefix + node,
            data=values[:, i],
            unit=unit,
            reference_frame="upper left",
            confidence=confidence,
            **(clock(i) if callable(clock) else clock),
        )
        for i, node in enumerate(NODES)
    ]
    return ndx_pose.PoseEstimation(name=name, pose_estimation_series=series, skeleton=skeleton)


def write(path, *poses, skeletons=(), subject=None, modules=("behavior",)):
    import ndx_pose
    import pynwb

    start = datetime(2024, 1, 1, tzinfo=UTC)
    file = pynwb.NWBFile(session_description="d", identifier="i", session_start_time=start)
    if subject is not None:
        file.subject = pynwb.file.Subject(subject_id=subject, species="Mus musculus")
    boxes = [file.create_processing_module(name=name, description="d") for name in modules]
    if skeletons:
        boxes[0].add(ndx_pose.Skeletons(skeletons=list(skeletons)))
    for i, pose in enumerate(poses):
        boxes[i % len(boxes)].add(pose)
    with pynwb.NWBHDF5IO(str(path), "w") as target:
        target.write(file)
    return path


@pytest.fixture
def nwb():
    pytest.importorskip("pynwb")
    pytest.importorskip("ndx_pose")


@pytest.mark.usefixtures("nwb")
class TestNwb:
    @pytest.mark.parametrize(
        "clock",
        [{"rate": 20.0, "starting_time": 3.0}, {"timestamps": 3.0 + np.arange(N_FRAMES) / 20}],
        ids=["rate", "timestamps"],
    )
    def test_one_animal(self, tmp_path, clock):
        path = write(tmp_path / "a.nwb", make_pose("Pose", positions(), clock=clock), subject="mouse_7")
        recording = read(path)
        assert recording.kind == "position"
        assert recording.individuals == ("mouse_7",)
        assert recording.sampling.rate == pytest.approx(20)
        assert recording.time[0] == 3.0
        assert recording.dataset.attrs["length_unit"] == "pixel"
        assert recording.dataset.attrs["source_format"] == "nwb"
        wanted = positions() * [1, -1]
        wanted[5] = np.nan
        names = recording.dataset["keypoint"].values.tolist()
        np.testing.assert_array_equal(recording.values[:, [names.index(node) for node in NODES]], wanted)

    def test_skeleton_gives_the_order(self, tmp_path):
        import ndx_pose

        skeleton = ndx_pose.Skeleton(name="s", nodes=["nose", "back", "tail"])
        pose = make_pose("Pose", positions(), clock={"rate": 20.0}, skeleton=skeleton, prefix="PoseEstimationSeries")
        recording = read(write(tmp_path / "a.nwb", pose, skeletons=[skeleton]), min_confidence=0, as_centerline=True)
        assert recording.kind == "centerline"
        np.testing.assert_array_equal(recording.values, (positions() * [1, -1])[:, ::-1])

    @pytest.mark.parametrize(
        ("names", "modules", "wanted"),
        [
            (("m1", "m2"), ("behavior",), ("m1", "m2")),
            (("Pose", "Pose"), ("one", "two"), ("one/Pose", "two/Pose")),
        ],
    )
    def test_several_animals(self, tmp_path, names, modules, wanted):
        poses = [make_pose(name, positions(i), clock={"rate": 20.0}) for i, name in enumerate(names)]
        recording = read(write(tmp_path / "a.nwb", *poses, modules=modules))
        assert recording.individuals == wanted

    def test_stated_rate_and_unit(self, tmp_path):
        path = write(tmp_path / "a.nwb", make_pose("Pose", positions(), clock={"rate": 20.0}, unit="mm"))
        recording = read(path, sampling_rate=10)
        assert recording.sampling.rate == 10
        assert len(recording.values) == N_FRAMES
        assert recording.individuals == ("Pose",)
        assert recording.dataset.attrs["length_unit"] == "mm"

    def test_three_dimensions_are_refused(self, tmp_path):
        path = write(tmp_path / "a.nwb", make_pose("Pose", positions(n_axes=3), clock={"rate": 20.0}))
        with pytest.raises(InputFormatError, match="only x and y"):
            read(path)

    def test_keypoints_on_different_clocks(self, tmp_path):
        clock = lambda i: {"timestamps": np.arange(N_FRAMES) / 20 + 0.001 * i}  # noqa: E731
        path = write(tmp_path / "a.nwb", make_pose("Pose", positions(), clock=clock))
        with pytest.raises(SamplingError, match="different timestamps"):
            read(path)

    def test_animals_at_different_rates(self, tmp_path):
        poses = [make_pose(f"m{rate}", positions(), clock={"rate": float(rate)}) for rate in (20, 25)]
        with pytest.raises(SamplingError, match="from 20 to 25 Hz"):
            read(write(tmp_path / "a.nwb", *poses))

    def test_no_poses(self, tmp_path):
        with pytest.raises(InputFormatError, match="No PoseEstimation"):
            read(write(tmp_path / "a.nwb"))


def test_missing_pynwb_is_told(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pynwb", None)
    with h5py.File(tmp_path / "a.nwb", "w") as file:
        file.create_group("processing/behavior")
        file.create_group("specifications")
        file.attrs["nwb_version"] = "2.7.0"
    with pytest.raises(MissingDependencyError, match=r'a.nwb: pynwb is needed .*pip install "ethomarkov\[nwb\]"'):
        read(tmp_path / "a.nwb")
