import sys
from datetime import UTC, datetime

import h5py
import numpy as np
import pytest

from ethomarkov.exceptions import InputFormatError, SamplingError
from ethomarkov.io import read

NODES = ["tail", "back", "nose"]
N_FRAMES = 10


def positions(seed=0, n_axes=2):
    rng = np.random.default_rng(seed)
    values = rng.uniform(0, 100, (N_FRAMES, 3, n_axes)).astype(np.float32)
    values[3] = np.nan
    return values


def make_pose(name, values, *, clock, unit="pixels", skeleton=None, prefix="", scale=(1.0, 0.0), **links):
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
            conversion=scale[0],
            offset=scale[1],
            **(clock(i) if callable(clock) else clock),
        )
        for i, node in enumerate(NODES)
    ]
    return ndx_pose.PoseEstimation(name=name, pose_estimation_series=series, skeleton=skeleton, **links)


def new_file():
    import pynwb

    start = datetime(2024, 1, 1, tzinfo=UTC)
    return pynwb.NWBFile(session_description="d", identifier="i", session_start_time=start)


def write(path, *poses, skeletons=(), subject=None, modules=("behavior",), file=None):
    import ndx_pose
    import pynwb

    file = file or new_file()
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

    def test_scale_and_offset(self, tmp_path):
        path = write(tmp_path / "a.nwb", make_pose("Pose", positions(), clock={"rate": 20.0}, scale=(0.5, 3.0)))
        names = (recording := read(path, min_confidence=0)).dataset["keypoint"].values.tolist()
        wanted = (positions() * 0.5 + 3.0) * [1, -1]
        np.testing.assert_allclose(recording.values[:, [names.index(node) for node in NODES]], wanted, rtol=1e-6)

    def test_equal_to_what_pynwb_reads(self, tmp_path):
        import pynwb

        path = write(tmp_path / "a.nwb", make_pose("Pose", positions(), clock={"rate": 20.0}, scale=(0.5, 3.0)))
        recording = read(path, min_confidence=0)
        with pynwb.NWBHDF5IO(str(path), "r") as source:
            series = source.read().processing["behavior"]["Pose"].pose_estimation_series
            wanted = {name: one.get_data_in_units() * [1, -1] for name, one in series.items()}
        for place, name in enumerate(recording.dataset["keypoint"].values):
            np.testing.assert_allclose(recording.values[:, place], wanted[name], rtol=1e-6)

    def test_shared_timestamps(self, tmp_path):
        """A clock that other keypoints link to is followed within the file."""
        pose = make_pose("Pose", positions(), clock={"timestamps": np.arange(N_FRAMES) / 20})
        first, *others = pose.pose_estimation_series.values()
        for one in others:
            one.fields["timestamps"] = first
        path = write(tmp_path / "a.nwb", pose)
        with h5py.File(path) as file:
            assert isinstance(
                file[f"processing/behavior/Pose/{NODES[1]}"].get("timestamps", getlink=True), h5py.SoftLink
            )
        assert read(path).sampling.rate == pytest.approx(20)

    def test_cameras_of_one_group(self, tmp_path):
        import ndx_pose

        if not hasattr(ndx_pose, "MultiCameraPoseEstimation"):
            pytest.skip("this ndx-pose has no groups of cameras")
        file = new_file()
        poses = [
            make_pose(f"P{i}", positions(i), clock={"rate": 20.0}, device=file.create_device(name=f"cam{i}"))
            for i in (1, 2)
        ]
        both = ndx_pose.MultiCameraPoseEstimation(name="Both", pose_estimations=poses)
        path = write(tmp_path / "a.nwb", both, file=file)
        with pytest.raises(InputFormatError, match=r"2 views \(cam1, cam2\)"):
            read(path)
        recording = read(path, view="cam2", min_confidence=0)
        assert recording.individuals == ("P2",)
        names = recording.dataset["keypoint"].values.tolist()
        np.testing.assert_array_equal(recording.values[:, names.index("tail")], positions(2)[:, 0] * [1, -1])


def plain_nwb(path, edit=lambda file: None):
    """Write a small NWB file with h5py alone."""
    with h5py.File(path, "w") as file:
        file.attrs["nwb_version"] = "2.7.0"
        pose = file.create_group("processing/behavior/Pose")
        pose.attrs["neurodata_type"] = "PoseEstimation"
        for node in NODES:
            series = pose.create_group(node)
            series.attrs["neurodata_type"] = "PoseEstimationSeries"
            series["data"] = np.random.default_rng(len(node)).normal(size=(N_FRAMES, 2))
            series["starting_time"] = 0.0
            series["starting_time"].attrs["rate"] = 20.0
        edit(file)
    return path


POSE = "processing/behavior/Pose"


def link_device(file, pose, camera):
    file.require_group(f"general/devices/{camera}")
    file[f"{pose}/device"] = h5py.SoftLink(f"/general/devices/{camera}")


def link_device_by_its_own_name(file, pose, camera):
    file.require_group(f"general/devices/{camera}")
    file[f"{pose}/{camera}"] = h5py.SoftLink(f"/general/devices/{camera}")


def link_film(file, pose, camera):
    file.require_group(f"acquisition/{camera}")
    file[f"{pose}/source_video"] = h5py.SoftLink(f"/acquisition/{camera}")


def name_film(file, pose, camera):
    file[f"{pose}/original_videos"] = [camera]


@pytest.mark.parametrize("link", [link_device, link_device_by_its_own_name, link_film, name_film])
def test_cameras_are_asked_for(tmp_path, link):
    def two_cameras(file):
        file.copy(POSE, f"{POSE}2")
        file[f"{POSE}2/nose/data"][...] += 100
        link(file, POSE, "cam1")
        link(file, f"{POSE}2", "cam2")
        file["general/subject/subject_id"] = "mouse_7"

    path = plain_nwb(tmp_path / "a.nwb", two_cameras)
    with pytest.raises(InputFormatError, match=r"2 views \(cam1, cam2\).*--view"):
        read(path)
    for view in ("cam2", "Pose2", "processing/behavior/Pose2"):
        recording = read(path, view=view)
        assert recording.individuals == ("mouse_7",)
        assert recording.dataset["position"].sel(keypoint="nose", space="x").min() > 90
    with pytest.raises(InputFormatError, match=r"no view 'cam3', only cam1, cam2\. Did you mean"):
        read(path, view="cam3")


def test_needs_no_other_package(tmp_path, monkeypatch):
    for name in ("pynwb", "ndx_pose", "hdmf"):
        monkeypatch.setitem(sys.modules, name, None)
    assert read(plain_nwb(tmp_path / "a.nwb")).sampling.rate == 20


def turn_round(file):
    file[f"{POSE}/again"] = file["processing"]


def lead_nowhere(file):
    file[f"{POSE}/skeleton"] = h5py.SoftLink("/nowhere")


@pytest.mark.parametrize("edit", [turn_round, lead_nowhere])
def test_circles_and_links_to_nothing_do_no_harm(tmp_path, edit):
    assert read(plain_nwb(tmp_path / "a.nwb", edit)).individuals == ("Pose",)


def declare_too_much(file):
    del file[f"{POSE}/nose/data"]
    file[f"{POSE}/nose"].create_dataset("data", (10**11, 2), "f8", chunks=(2**16, 2), compression="gzip")


def put_text(file):
    del file[f"{POSE}/nose/data"]
    file[f"{POSE}/nose/data"] = np.full((N_FRAMES, 2), b"x")


def put_group(file):
    del file[f"{POSE}/nose/data"]
    file.create_group(f"{POSE}/nose/data")


def put_short_confidence(file):
    file[f"{POSE}/nose/confidence"] = np.ones(3)


def put_wrong_conversion(file):
    file[f"{POSE}/nose/data"].attrs["conversion"] = "twice"


def put_no_clock(file):
    for node in NODES:
        del file[f"{POSE}/{node}/starting_time"]


def put_zero_rate(file):
    for node in NODES:
        file[f"{POSE}/{node}/starting_time"].attrs["rate"] = 0.0


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (declare_too_much, "needs .* MB"),
        (put_text, "numbers are needed"),
        (put_group, "no data of shape"),
        (put_short_confidence, "one number per frame"),
        (put_wrong_conversion, "conversion of .* a number is needed"),
        (put_no_clock, "neither timestamps nor a rate.*--rate"),
        (put_zero_rate, "must be a positive number"),
    ],
)
def test_damaged_files_are_told(tmp_path, edit, message):
    with pytest.raises((InputFormatError, SamplingError), match=message):
        read(plain_nwb(tmp_path / "a.nwb", edit))
