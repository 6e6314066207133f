"""Results files follow the rules of netCDF, and any that was changed is refused."""

import random
from dataclasses import dataclass

import h5py
import numpy as np
import pytest
import xarray as xr

from ethomarkov._core.result import array_field, freeze_arrays
from ethomarkov.exceptions import InputFormatError
from ethomarkov.io.classic import Variable
from ethomarkov.io.results import load_attrs, load_result, save_results
from ethomarkov.io.seal import seal


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixed:
    """One of every kind that a result may hold.

    Parameters
    ----------
    owner
        Of each event. More is said of it here.
    level, flags
        What it is, ``-1`` for `nothing`; see elsewhere.
    size
        Of each level.
    """

    owner: np.ndarray = array_field("event")
    level: np.ndarray = array_field("level", unit="s")
    size: np.ndarray = array_field("level", unit="length^2/s")
    table: np.ndarray = array_field("event", "owner")
    waves: np.ndarray = array_field("event")
    flags: np.ndarray = array_field("event")
    names: tuple[str, ...]
    nothing: tuple[str, ...]
    label: str
    is_good: bool
    length_unit: str = ""

    def __post_init__(self) -> None:
        freeze_arrays(self)


def mixed(length_unit: str = "") -> Mixed:
    return Mixed(
        length_unit=length_unit,
        owner=np.array([0, 1, 0], dtype=np.int32),
        level=np.array([0.5, np.nan]),
        size=np.array([1.0, 2.0]),
        table=np.arange(3 * 5000.0).reshape(3, 5000),  # large enough to be packed
        waves=np.array([1 + 2j, 0, -1j]),
        flags=np.array([True, False, True]),
        names=("α", "b", ""),
        nothing=(),
        label="",
        is_good=True,
    )


def assert_same(found: Mixed, wanted: Mixed) -> None:
    for name in ("owner", "level", "table", "waves", "flags"):
        assert getattr(found, name).dtype == getattr(wanted, name).dtype
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))
    for name in ("names", "nothing", "label", "is_good"):
        assert getattr(found, name) == getattr(wanted, name)


def test_every_kind_comes_back(tmp_path):
    save_results(tmp_path / "r.nc", {"one": mixed(), "in/two": mixed()}, {"lag": 0.75, "note": ""})
    assert_same(load_result(tmp_path / "r.nc", "one", Mixed), mixed())
    assert_same(load_result(tmp_path / "r.nc", "in/two", Mixed), mixed())
    assert load_attrs(tmp_path / "r.nc") == {"lag": 0.75, "note": ""}
    with h5py.File(tmp_path / "r.nc") as file:
        assert file["one/table"].compression == "gzip"
        assert file["one/level"].compression is None


def test_xarray_reads_dimensions_units_and_values(tmp_path):
    save_results(tmp_path / "r.nc", {"one": mixed()}, {})
    with xr.open_dataset(tmp_path / "r.nc", group="one", engine="h5netcdf") as data:
        # netCDF hides a variable that has the name of a dimension which is something else.
        assert dict(data.sizes) == {"event": 3, "owner": 5000, "level": 2, "n_names": 3, "nothing": 0}
        assert data["table"].dims == ("event", "owner")
        np.testing.assert_array_equal(data["owner"].values, mixed().owner)
        assert data["level"].attrs["units"] == "s"
        assert data["flags"].dtype == bool
        np.testing.assert_array_equal(data["waves_real"].values + 1j * data["waves_imag"].values, mixed().waves)
        assert data["names"].values.tolist() == ["α", "b", ""]


def test_every_variable_says_what_it_is(tmp_path):
    """From the docstring of its class; lengths in the unit of the result itself."""
    save_results(tmp_path / "r.nc", {"one": mixed("mm"), "two": {"k": mixed()}}, {})
    with xr.open_dataset(tmp_path / "r.nc", group="one", engine="h5netcdf", decode_cf=False) as data:
        assert data["owner"].attrs["long_name"] == "owner of each event"
        assert data["owner"].attrs["comment"] == "owner of each event. More is said of it here."
        assert data["flags"].attrs["long_name"] == "flags: What it is, -1 for nothing; see elsewhere"
        assert "comment" not in data["flags"].attrs
        assert data["table"].attrs["long_name"] == "table"  # of which nothing is said
        assert [data[name].attrs["units"] for name in ("level", "size", "owner")] == ["s", "mm^2/s", "1"]
    with xr.open_dataset(tmp_path / "r.nc", group="two/0", engine="h5netcdf") as data:
        assert data["size"].attrs["units"] == "length^2/s"


def test_an_overview_is_the_root_of_the_file(tmp_path):
    seen = {"time": Variable(dims=("frame",), values=np.arange(3.0), attrs={"units": "s", "long_name": "time"})}
    save_results(tmp_path / "r.nc", {"one": mixed()}, {"title": "x"}, None, seen)
    assert load_attrs(tmp_path / "r.nc") == {"title": "x"}
    assert_same(load_result(tmp_path / "r.nc", "one", Mixed), mixed())
    with xr.open_dataset(tmp_path / "r.nc", engine="h5netcdf") as data:
        assert data["time"].values.tolist() == [0.0, 1.0, 2.0]
        assert data.attrs["title"] == "x"


def test_a_file_without_a_digest_is_refused(tmp_path):
    """As versions before it wrote them, or as another program leaves one that it changed."""
    xr.Dataset(attrs={"lag": 0.75}).to_netcdf(tmp_path / "old.nc", engine="h5netcdf")
    save_results(tmp_path / "r.nc", {"one": mixed()}, {})
    with h5py.File(tmp_path / "r.nc", "r+") as file:
        file["one/level"][0] = 7.0
    for name in ("old.nc", "r.nc"):
        with pytest.raises(InputFormatError, match=f"{name}: .* digest .* Make it again"):
            load_attrs(tmp_path / name)


def test_a_whole_file_of_another_layout_is_refused(tmp_path):
    """What HDF5 and its readers raise is not for users."""
    with h5py.File(tmp_path / "plain.h5", "w") as file:
        file.create_group("one").attrs["result_type"] = "Mixed"
    content = (tmp_path / "plain.h5").read_bytes()
    (tmp_path / "r.nc").write_bytes(content + seal(content))
    (tmp_path / "text.nc").write_bytes(b"no HDF5" + seal(b"no HDF5"))
    for name, told in (("r.nc", "is not of this version .* Make it again"), ("text.nc", "cannot be opened .* copy it")):
        with pytest.raises(InputFormatError, match=rf"{name}: .*{told}"):
            load_result(tmp_path / name, "one", Mixed)


def test_every_flipped_byte_of_results_is_seen(tmp_path):
    save_results(tmp_path / "r.nc", {"one": mixed()}, {"lag": 0.75})
    whole, draw = (tmp_path / "r.nc").read_bytes(), random.Random(2)
    for place in draw.sample(range(len(whole)), 200):
        (tmp_path / "r.nc").write_bytes(
            whole[:place] + bytes([whole[place] ^ 1 << draw.randrange(8)]) + whole[place + 1 :]
        )
        with pytest.raises(InputFormatError, match="Make it again"):
            load_result(tmp_path / "r.nc", "one", Mixed)
