import h5py
import numpy as np
import pytest
import xarray as xr

from ethomarkov.exceptions import InputFormatError
from ethomarkov.io import read, write_recording
from ethomarkov.recording import Recording, Track


@pytest.fixture
def recording():
    rng = np.random.default_rng(0)
    tracks = [
        Track(individual="ä", values=rng.normal(size=(6, 3, 2)), centroid=rng.normal(size=(6, 2)), body_length=2.0),
        Track(individual="b", values=rng.normal(size=(4, 3, 2))),
    ]
    labels = ["nose", "back", "tail"]
    return Recording.from_tracks(tracks, kind="position", sampling_rate=10, labels=labels, attrs={"length_unit": "mm"})


@pytest.fixture
def path(tmp_path, recording):
    return write_recording(recording, tmp_path / "own.nc")


def test_what_was_written_is_read(path, recording):
    found = read(path).dataset
    assert {found.attrs.pop(name) for name in ("source_format", "source_file")} == {"ethomarkov", "own.nc"}
    xr.testing.assert_identical(found, recording.dataset)


def test_equal_to_what_xarray_reads(path):
    found = read(path).dataset
    with xr.open_dataset(path, engine="h5netcdf") as wanted:
        xr.testing.assert_equal(found, wanted)
        assert set(found.coords) == set(wanted.coords)


def test_numbered_modes(tmp_path):
    values = np.random.default_rng(0).normal(size=(6, 3))
    made = Recording.from_tracks([Track(individual="a", values=values)], kind="amplitude", sampling_rate=10)
    found = read(write_recording(made, tmp_path / "a.nc"))
    assert found.dataset["mode"].values.tolist() == [1, 2, 3]
    np.testing.assert_array_equal(found.values, made.values)


def test_another_schema_is_told(path):
    with h5py.File(path, "r+") as file:
        file.attrs["schema"] = "ethomarkov-recording/99"
    with pytest.raises(InputFormatError, match=r"recording/99.*Update ethomarkov"):
        read(path)


def test_a_rate_cannot_be_stated(path):
    with pytest.raises(InputFormatError, match="its own rate of 10"):
        read(path, sampling_rate=20)


def test_another_file_by_this_name(tmp_path):
    with h5py.File(tmp_path / "x.nc", "w") as file:
        file["x"] = [1.0]
    with pytest.raises(InputFormatError, match=r"holds no schema of a recording.*--format"):
        read(tmp_path / "x.nc", format="ethomarkov")


def test_arrays_that_do_not_fit(path):
    with h5py.File(path, "r+") as file:
        scales = file["frame_count"].attrs["DIMENSION_LIST"]
        del file["frame_count"]
        file["frame_count"] = np.array([1, 2, 3])
        file["frame_count"].attrs.create("DIMENSION_LIST", scales, dtype=h5py.vlen_dtype(h5py.ref_dtype))
    with pytest.raises(InputFormatError, match="do not fit together"):
        read(path)
