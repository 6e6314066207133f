import struct

import numpy as np
import pytest
import xarray as xr

from ethomarkov.exceptions import InputFormatError
from ethomarkov.io.readers.netcdf import read_netcdf


def example():
    rng = np.random.default_rng(1)
    return xr.Dataset(
        {
            "speed": (("time", "animal"), rng.normal(size=(5, 3))),
            "steps": (("time",), np.arange(5, dtype=np.int16)),
            "flag": (("time",), np.arange(5, dtype=np.int8)),
        },
        coords={"animal": ["a", "bé", "c"], "time": np.arange(5) / 4},
        attrs={"title": "an example", "rate": 4.0},
    )


@pytest.mark.parametrize("unlimited", [(), ("time",)], ids=["fixed", "records"])
@pytest.mark.parametrize("engine", ["scipy", "h5netcdf"])
def test_equal_to_what_xarray_reads(tmp_path, engine, unlimited):
    path = tmp_path / "e.nc"
    example().to_netcdf(path, engine=engine, unlimited_dims=unlimited)
    found = read_netcdf(path)
    with xr.open_dataset(path, engine=engine) as wanted:
        assert {name: one.dims for name, one in found.variables.items()} == {
            name: one.dims for name, one in wanted.variables.items()
        }
        for name, one in found.variables.items():
            np.testing.assert_array_equal(one.values, wanted[name].values)
        assert found.attrs["title"] == "an example"
        assert found.attrs["rate"] == 4.0


def test_a_single_variable_of_records_is_not_padded(tmp_path):
    path = tmp_path / "e.nc"
    small = example()[["flag"]].drop_vars("time")
    small.to_netcdf(path, engine="scipy", unlimited_dims=("time",))
    assert read_netcdf(path).variables["flag"].values.tolist() == [0, 1, 2, 3, 4]


def test_only_what_is_asked_for_is_read(tmp_path):
    example().to_netcdf(tmp_path / "e.nc", engine="scipy")
    assert set(read_netcdf(tmp_path / "e.nc", ["speed", "absent"]).variables) == {"speed"}


@pytest.mark.parametrize("keep", [4, 7, 20, 60, 200, 400])
def test_truncated_headers(tmp_path, keep):
    path = tmp_path / "e.nc"
    example().to_netcdf(path, engine="scipy")
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(InputFormatError, match="damaged or truncated"):
        read_netcdf(path)


def test_declared_sizes_are_checked(tmp_path):
    path = tmp_path / "e.nc"
    example().to_netcdf(path, engine="scipy")
    data = path.read_bytes()
    place = data.index(b"time") + 4
    assert data[place : place + 4] == struct.pack(">I", 5)
    path.write_bytes(data[:place] + struct.pack(">I", 2**31 - 1) + data[place + 4 :])
    with pytest.raises(InputFormatError, match="damaged or truncated"):
        read_netcdf(path)


def test_newer_classic_formats_are_named(tmp_path):
    (tmp_path / "e.nc").write_bytes(b"CDF\x05" + bytes(100))
    with pytest.raises(InputFormatError, match="Save it again as netCDF4"):
        read_netcdf(tmp_path / "e.nc")
