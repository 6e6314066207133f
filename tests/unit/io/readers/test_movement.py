import warnings

import h5py
import numpy as np
import pytest
import xarray as xr

from ethomarkov.exceptions import InputFormatError, SamplingError
from ethomarkov.io import read


@pytest.fixture
def dataset(poses):
    """Give ``dataset(plural, attrs, time)`` as movement makes it."""

    def make(*, plural=False, attrs=None, time=None):
        keypoint, individual = ("keypoints", "individuals") if plural else ("keypoint", "individual")
        return xr.Dataset(
            {
                "position": (("time", "space", keypoint, individual), poses.positions.transpose(0, 3, 2, 1)),
                "confidence": (("time", keypoint, individual), poses.confidence.transpose(0, 2, 1)),
            },
            coords={
                "time": np.arange(poses.n_frames) / 25 if time is None else time,
                "space": ["x", "y"],
                keypoint: poses.keypoints,
                individual: poses.animals,
            },
            attrs={"fps": 25.0, "time_unit": "seconds", "ds_type": "poses"} if attrs is None else attrs,
        )

    return make


@pytest.fixture
def path(tmp_path):
    return tmp_path / "m.nc"


@pytest.mark.parametrize("plural", [False, True])
@pytest.mark.parametrize("engine", ["h5netcdf", "scipy"])
def test_both_spellings_and_both_netcdf(path, dataset, check, plural, engine):
    dataset(plural=plural).to_netcdf(path, engine=engine)
    recording = read(path)
    check(recording)
    assert recording.dataset.attrs["source_format"] == "movement"


def test_a_file_that_movement_has_written(path, poses, check):
    load_poses = pytest.importorskip("movement.io.load_poses")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = load_poses.from_numpy(
            position_array=poses.positions.transpose(0, 3, 2, 1),
            confidence_array=poses.confidence.transpose(0, 2, 1),
            individual_names=poses.animals,
            keypoint_names=poses.keypoints,
            fps=25,
            source_software="test",
        )
    made.to_netcdf(path, engine="h5netcdf")
    check(read(path))


def test_rate_from_times(path, dataset, check):
    dataset(attrs={"time_unit": "seconds"}).to_netcdf(path, engine="h5netcdf")
    check(read(path))


def test_frames_need_a_rate(path, poses, dataset, check):
    frames = dataset(attrs={"time_unit": "frames", "fps": "None"}, time=np.arange(poses.n_frames))
    frames.to_netcdf(path, engine="h5netcdf")
    with pytest.raises(SamplingError, match="sampling_rate="):
        read(path)
    check(read(path, sampling_rate=30), rate=30)


def test_holes_in_frame_numbers_are_missing_frames(path, poses, dataset):
    numbers = np.arange(poses.n_frames) + 2 * (np.arange(poses.n_frames) > 5)
    dataset(attrs={"time_unit": "frames"}, time=numbers).to_netcdf(path, engine="h5netcdf")
    assert len(read(path, sampling_rate=30).values) == 2 * (poses.n_frames + 2)


def test_reversed_frame_numbers_are_refused(path, poses, dataset):
    frames = dataset(attrs={"time_unit": "frames"}, time=np.arange(poses.n_frames)[::-1])
    frames.to_netcdf(path, engine="h5netcdf")
    with pytest.raises(InputFormatError, match="goes back from 11 to 10"):
        read(path, sampling_rate=30)


def test_another_rate_keeps_every_frame(path, dataset, check):
    dataset().to_netcdf(path, engine="h5netcdf")
    check(read(path, sampling_rate=30), rate=30)


def test_options(path, dataset, expected):
    dataset().to_netcdf(path, engine="h5netcdf")
    recording = read(path, keypoints=("tail", "back", "nose"), as_centerline=True, min_confidence=0)
    assert recording.kind == "centerline"
    wanted = np.concatenate([expected(i, threshold=0) for i in range(2)])
    np.testing.assert_array_equal(recording.values, wanted[:, ::-1])


def test_without_confidence(path, dataset):
    dataset().drop_vars("confidence").to_netcdf(path, engine="h5netcdf")
    assert np.isnan(read(path).values).any(axis=(1, 2)).sum() == 1


def test_packed_numbers(path, dataset, check):
    packed = {"dtype": "i4", "scale_factor": 1e-6, "add_offset": 100.0, "_FillValue": -(2**31)}
    dataset().to_netcdf(path, engine="h5netcdf", encoding={"position": packed})
    check(read(path))


def test_views_are_asked_for(path, dataset, check):
    other = dataset()
    other["position"] = other["position"] + 1000
    both = xr.concat([other, dataset()], dim=xr.Variable("view", ["top", "side"]))
    both.to_netcdf(path, engine="h5netcdf")
    with pytest.raises(InputFormatError, match=r"2 views \(top, side\); one at a time.*--view"):
        read(path)
    with pytest.raises(InputFormatError, match="no view 'bottom', only top, side"):
        read(path, view="bottom")
    check(read(path, view="side"))


def test_a_view_of_a_file_without_views(path, dataset):
    dataset().to_netcdf(path, engine="h5netcdf")
    with pytest.raises(InputFormatError, match="no view 'top', only one without a name"):
        read(path, view="top")


def test_three_dimensions_are_refused(path, dataset):
    flat = dataset()
    deep = xr.concat(
        [flat, flat.isel(space=[0]).assign_coords(space=["z"])],
        "space",
        data_vars="minimal",
        join="outer",
        compat="override",
        coords="minimal",
    )
    deep.to_netcdf(path, engine="h5netcdf")
    with pytest.raises(InputFormatError, match=r"3 coordinates; only x and y"):
        read(path)


def test_boxes_are_refused(path, dataset):
    dataset().isel(keypoint=0).to_netcdf(path, engine="h5netcdf")
    with pytest.raises(InputFormatError, match="not bounding boxes"):
        read(path)


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("position", np.full((12, 2, 3, 2), b"xx"), "numbers with time, individual"),
        ("time", np.arange(3.0), "Dimensions of position are damaged"),
        ("confidence", np.ones((12, 3)), "has 2 dimensions and names for 0"),
        ("individual", np.array([b"m1"]), "1 names are given for 2 of individual"),
    ],
)
def test_wrong_arrays(path, dataset, name, values, message):
    dataset().to_netcdf(path, engine="h5netcdf")
    with h5py.File(path, "r+") as file:
        kept = {key: file[name].attrs[key] for key in ("DIMENSION_LIST", "CLASS") if key in file[name].attrs}
        del file[name]
        file[name] = values
        for key, value in kept.items():
            if name != "confidence":
                file[name].attrs.create(key, value, dtype=h5py.vlen_dtype(h5py.ref_dtype) if key != "CLASS" else None)
    with pytest.raises(InputFormatError, match=message):
        read(path, format="movement")
