"""Results files follow the rules of netCDF, and files written through xarray before are still read."""

from dataclasses import dataclass

import h5py
import numpy as np
import xarray as xr

from ethomarkov._core.result import array_field, freeze_arrays
from ethomarkov.io.results import load_attrs, load_result, save_results


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixed:
    """One of every kind that a result may hold."""

    owner: np.ndarray = array_field("event")
    level: np.ndarray = array_field("level", unit="s")
    table: np.ndarray = array_field("event", "owner")
    waves: np.ndarray = array_field("event")
    flags: np.ndarray = array_field("event")
    names: tuple[str, ...]
    nothing: tuple[str, ...]
    label: str
    is_good: bool

    def __post_init__(self) -> None:
        freeze_arrays(self)


def mixed() -> Mixed:
    return Mixed(
        owner=np.array([0, 1, 0], dtype=np.int32),
        level=np.array([0.5, np.nan]),
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
        assert dict(data.sizes) == {"event": 3, "owner": 5000, "level": 2, "names": 3, "nothing": 0}
        assert data["table"].dims == ("event", "owner")
        np.testing.assert_array_equal(data["owner"].values, mixed().owner)
        assert data["level"].attrs["units"] == "s"
        assert data["flags"].dtype == bool
        np.testing.assert_array_equal(data["waves"].values, mixed().waves)
        assert data["names"].values.tolist() == ["α", "b", ""]


def test_files_that_were_written_through_xarray_are_read(tmp_path):
    one = mixed()
    arrays = {"level": ("level",), "table": ("event", "column"), "waves": ("event",), "flags": ("event",)}
    data = xr.Dataset({name: (dims, getattr(one, name)) for name, dims in arrays.items()})
    data["owner"] = ("event", one.owner)
    data["names"] = ("names", np.array(one.names))
    data["nothing"] = ("nothing", np.array([], dtype=object))
    data.attrs = {"result_type": "Mixed", "label": "", "is_good": 1}
    nodes = {"/": xr.Dataset(attrs={"lag": 0.75}), "/one": data}
    packing = {"/one": {"table": {"zlib": True, "complevel": 3}}}
    xr.DataTree.from_dict(nodes).to_netcdf(tmp_path / "old.nc", engine="h5netcdf", encoding=packing)
    assert_same(load_result(tmp_path / "old.nc", "one", Mixed), one)
    assert load_attrs(tmp_path / "old.nc") == {"lag": 0.75}
