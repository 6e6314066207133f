"""Tierpsy: its three layouts, with the compound tables and attributes that it writes."""

import json

import h5py
import numpy as np
import pytest

from ethomarkov import io
from ethomarkov.exceptions import InputFormatError, SamplingError

N_POINTS = 9
ATTRS = {
    "fps": 25.0,
    "expected_fps": 30.0,
    "time_units": np.bytes_("seconds"),
    "microns_per_pixel": 10.0,
    "xy_units": np.bytes_("micrometers"),
    "is_light_background": 1,
    "ventral_side": np.bytes_("clockwise"),
}
TRAJECTORY = [
    ("frame_number", "<i4"),
    ("worm_index_joined", "<i4"),
    ("skeleton_id", "<i4"),
    ("coord_x", "<f4"),
    ("coord_y", "<f4"),
    ("has_skeleton", "u1"),
    ("is_good_skel", "u1"),
    ("well_name", "S3"),
]
# Worm 7 has a hole in its frames and one frame without skeleton; a row of no worm lies between; rows are not sorted.
WORMS = [7, 7, 3, -1, 7, 3, 7, 3]
FRAMES = [12, 10, 0, 5, 13, 1, 15, 2]
SKELETON_IDS = [1, 0, 4, 6, -1, 5, 2, 3]


def make_skeletons(n):
    """Skeletons of the files, in µm or pixels with y down."""
    along = np.linspace(0, 900, N_POINTS)
    lines = [np.stack([along + 10 * i, 100 * np.sin(along / 200 + i) + 50 * i], axis=1) for i in range(n)]
    return np.array(lines, dtype=np.float32)


def make_table(**columns):
    table = np.zeros(len(WORMS), dtype=TRAJECTORY)
    standard = {"worm_index_joined": WORMS, "frame_number": FRAMES, "skeleton_id": SKELETON_IDS}
    standard |= {"has_skeleton": 1, "is_good_skel": 1, "coord_x": np.arange(8), "coord_y": 10 + np.arange(8)}
    for name, values in (standard | columns).items():
        table[name] = values
    return table


def save(path, datasets, attrs=ATTRS):
    with h5py.File(path, "w") as file:
        for name, values in datasets.items():
            file[name] = values
        for name in ("trajectories_data", "features_timeseries"):
            if name in file:
                for key, value in attrs.items():
                    file[name].attrs[key] = value
    return path


@pytest.fixture
def features_n():
    return {"coordinates/skeletons": make_skeletons(7), "trajectories_data": make_table(), "timeseries_data": [0]}


def up_mm(skeletons):
    return skeletons * np.array([1e-3, -1e-3])


def test_reads_features_n(tmp_path, features_n):
    recording = io.read(save(tmp_path / "plate_featuresN.hdf5", features_n))
    assert recording.kind == "centerline"
    assert recording.individuals == ("worm_3", "worm_7")
    assert recording.sampling.rate == 25
    stored = up_mm(make_skeletons(7))
    missing = np.full((N_POINTS, 2), np.nan)
    wanted = [*stored[[4, 5, 3]], stored[0], missing, stored[1], missing, missing, stored[2]]
    np.testing.assert_allclose(recording.values, wanted, rtol=1e-5)
    np.testing.assert_allclose(recording.time, np.array([0, 1, 2, 10, 11, 12, 13, 14, 15]) / 25)
    # Blobs are in pixels of 10 µm.
    np.testing.assert_allclose(recording.centroid[:3], [[0.02, -0.12], [0.05, -0.15], [0.07, -0.17]], rtol=1e-5)
    assert recording.body_lengths["worm_3"] == pytest.approx(
        np.median(np.hypot(*np.diff(stored[3:6], axis=1).T).sum(axis=0)), rel=1e-5
    )
    attrs = recording.dataset.attrs
    assert (attrs["length_unit"], attrs["ventral_side"], attrs["y_axis"]) == ("mm", "clockwise", "up")
    assert attrs["source_format"] == "tierpsy"


def test_reads_old_features(tmp_path):
    table = np.zeros(4, dtype=[("worm_index", "<i4"), ("timestamp", "<i4"), ("skeleton_id", "<i4"), ("length", "<f4")])
    table["worm_index"], table["timestamp"], table["skeleton_id"] = [2, 2, 1, 2], [3, 0, 0, 1], 99
    skeletons = make_skeletons(4)
    path = save(tmp_path / "plate_features.hdf5", {"coordinates/skeletons": skeletons, "features_timeseries": table})
    recording = io.read(path)
    stored = up_mm(skeletons)
    assert recording.individuals == ("worm_1", "worm_2")
    np.testing.assert_allclose(recording.values[[0, 1, 2, 4]], stored[[2, 1, 3, 0]], rtol=1e-5)
    assert np.isnan(recording.values[3]).all()
    np.testing.assert_allclose(recording.centroid[0], stored[2].mean(axis=0), rtol=1e-4)


def skeleton_file(**columns):
    ids = np.arange(len(WORMS))
    return {"skeleton": make_skeletons(8), "trajectories_data": make_table(**({"skeleton_id": ids} | columns))}


def test_reads_raw_skeletons_with_known_pixel_size(tmp_path):
    recording = io.read(save(tmp_path / "plate_skeletons.hdf5", skeleton_file()))
    wanted = up_mm(make_skeletons(8)) * 10
    np.testing.assert_allclose(recording.values[:3], wanted[[2, 5, 7]], rtol=1e-5)
    assert recording.dataset.attrs["length_unit"] == "mm"


@pytest.mark.parametrize("change", [{"microns_per_pixel": 1.0}, {"microns_per_pixel": None}, {"xy_units": "pixels"}])
def test_reads_raw_skeletons_in_pixels(tmp_path, change):
    attrs = {key: value for key, value in (ATTRS | change).items() if value is not None}
    recording = io.read(save(tmp_path / "plate_skeletons.hdf5", skeleton_file(), attrs))
    np.testing.assert_allclose(recording.values[0], make_skeletons(8)[2] * [1, -1], rtol=1e-5)
    np.testing.assert_allclose(recording.centroid[0], [2, -12])
    assert recording.dataset.attrs["length_unit"] == "pixel"


def test_raw_skeletons_that_failed_the_filter_are_missing(tmp_path):
    file = skeleton_file(has_skeleton=[1, 1, 0, 1, 1, 1, 1, 1], is_good_skel=[1, 1, 1, 1, 1, 0, 1, 1])
    recording = io.read(save(tmp_path / "a.hdf5", file))
    assert np.isnan(recording.values[:2]).all()
    assert np.isfinite(recording.values[2]).all()


def test_filter_that_was_not_run_loses_nothing(tmp_path):
    recording = io.read(save(tmp_path / "a.hdf5", skeleton_file(is_good_skel=0)))
    assert np.isfinite(recording.values[:3]).all()


def test_features_in_pixels_stay_in_pixels(tmp_path, features_n):
    recording = io.read(save(tmp_path / "a.hdf5", features_n, ATTRS | {"xy_units": "pixels", "microns_per_pixel": 1.0}))
    assert recording.dataset.attrs["length_unit"] == "pixel"
    np.testing.assert_allclose(recording.values[0], make_skeletons(7)[4] * [1, -1], rtol=1e-5)


@pytest.mark.parametrize("change", [{"microns_per_pixel": 1.0}, {"is_WT2": 1}])
def test_centroid_is_that_of_the_skeleton_where_the_blob_is_elsewhere(tmp_path, features_n, change):
    recording = io.read(save(tmp_path / "a.hdf5", features_n, ATTRS | change))
    np.testing.assert_allclose(recording.centroid[:3], recording.values[:3].mean(axis=1), rtol=1e-4)


def test_nan_coordinates_are_missing(tmp_path, features_n):
    features_n["coordinates/skeletons"][5] = np.nan
    recording = io.read(save(tmp_path / "a.hdf5", features_n))
    assert np.isnan(recording.values[1]).all()


def test_an_animal_without_skeletons_stays(tmp_path, features_n):
    features_n["coordinates/skeletons"][:3] = np.nan
    recording = io.read(save(tmp_path / "a.hdf5", features_n))
    assert recording.individuals == ("worm_3", "worm_7")
    assert "worm_7" not in recording.body_lengths


# --- facts -----------------------------------------------------------------------------------------------------------


def test_rate_comes_from_time_stamps_first(tmp_path, features_n):
    times = np.arange(20) / 8
    times[[3, 7]] = np.nan
    assert io.read(save(tmp_path / "a.hdf5", features_n | {"timestamp/time": times})).sampling.rate == 8


@pytest.mark.parametrize("times", [np.full(9, np.nan), np.zeros(9), np.zeros(0)])
def test_rate_comes_from_attributes_without_valid_time_stamps(tmp_path, features_n, times):
    assert io.read(save(tmp_path / "a.hdf5", features_n | {"timestamp/time": times})).sampling.rate == 25


@pytest.mark.parametrize("fps", [-1.0, np.nan, b"F25.0\n.", None])
def test_expected_rate_comes_last(tmp_path, features_n, fps):
    attrs = {key: value for key, value in (ATTRS | {"fps": fps}).items() if value is not None}
    assert io.read(save(tmp_path / "a.hdf5", features_n, attrs)).sampling.rate == 30


def test_stated_rate_wins(tmp_path, features_n):
    recording = io.read(save(tmp_path / "a.hdf5", features_n | {"timestamp/time": np.arange(9.0)}), sampling_rate=5)
    assert recording.sampling.rate == 5
    np.testing.assert_allclose(recording.time[:3], [0, 0.2, 0.4])


@pytest.mark.parametrize("attrs", [{}, ATTRS | {"fps": 1.0, "expected_fps": 1.0, "time_units": "frames"}])
def test_unknown_rate(tmp_path, features_n, attrs):
    path = save(tmp_path / "a.hdf5", features_n, attrs)
    with pytest.raises(SamplingError, match="sampling_rate="):
        io.read(path)
    assert io.read(path, sampling_rate=12).sampling.rate == 12


@pytest.mark.parametrize(
    ("info", "side"),
    [
        ('{"ventral_side": "anticlockwise"}', "anticlockwise"),
        ('{"ventral_side": ""}', "clockwise"),
        ("not json", "clockwise"),
        ("{}", "clockwise"),
        (json.dumps({"ventral_side": "unknown"}), "unknown"),
    ],
)
def test_ventral_side_of_the_experiment_comes_first(tmp_path, features_n, info, side):
    recording = io.read(save(tmp_path / "a.hdf5", features_n | {"experiment_info": np.bytes_(info)}))
    assert recording.dataset.attrs["ventral_side"] == side


# --- bad files -------------------------------------------------------------------------------------------------------


def test_missing_columns(tmp_path, features_n):
    table = features_n["trajectories_data"]
    kept = np.zeros(len(table), dtype=[("frame_number", "<i4")])
    with pytest.raises(InputFormatError, match="lacks worm_index_joined, skeleton_id"):
        io.read(save(tmp_path / "a.hdf5", features_n | {"trajectories_data": kept}))


def test_skeleton_out_of_range(tmp_path, features_n):
    features_n["trajectories_data"]["skeleton_id"][0] = 70
    path = save(tmp_path / "a.hdf5", features_n)
    with pytest.raises(InputFormatError, match="skeleton 70") as caught:
        io.read(path)
    assert str(path) in str(caught.value)


def test_wrong_shape(tmp_path, features_n):
    with pytest.raises(InputFormatError, match="shape"):
        io.read(save(tmp_path / "a.hdf5", features_n | {"coordinates/skeletons": np.zeros((7, 9))}))


def test_duplicate_frames(tmp_path, features_n):
    features_n["trajectories_data"]["frame_number"][0] = 10
    with pytest.raises(SamplingError, match="duplicate"):
        io.read(save(tmp_path / "a.hdf5", features_n))


def test_all_frames_missing(tmp_path, features_n):
    features_n["trajectories_data"]["skeleton_id"] = -1
    with pytest.raises(InputFormatError, match="0 of 9 frames"):
        io.read(save(tmp_path / "a.hdf5", features_n))


def test_no_animals(tmp_path, features_n):
    features_n["trajectories_data"]["worm_index_joined"] = -1
    with pytest.raises(InputFormatError, match="No animal"):
        io.read(save(tmp_path / "a.hdf5", features_n))


def test_other_hdf5_named_tierpsy(tmp_path):
    path = save(tmp_path / "a.hdf5", {"mask": np.zeros((2, 3, 3))})
    with pytest.raises(InputFormatError, match="featuresN"):
        io.read(path, format="tierpsy")


def test_truncated_file(tmp_path, features_n):
    path = save(tmp_path / "a.hdf5", features_n)
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(InputFormatError, match="truncated"):
        io.read(path)
    with pytest.raises(InputFormatError, match="truncated"):
        io.read(path, format="tierpsy")


def test_damaged_skeletons(tmp_path, features_n):
    path = tmp_path / "a.hdf5"
    skeletons = features_n.pop("coordinates/skeletons")
    save(path, features_n)
    with h5py.File(path, "a") as file:
        stored = file.create_dataset("coordinates/skeletons", data=skeletons, chunks=True, compression="gzip")
        file.flush()
        at = stored.id.get_chunk_info(0).byte_offset
    content = bytearray(path.read_bytes())
    content[at : at + 40] = b"\xff" * 40
    path.write_bytes(content)
    with pytest.raises(InputFormatError, match="damaged"):
        io.read(path)
