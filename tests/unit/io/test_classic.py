"""Arrays and attributes in the types of classic netCDF, and back to the bit."""

import h5py
import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ethomarkov.exceptions import InputFormatError
from ethomarkov.io.classic import (
    Variable,
    find_variable,
    read_array,
    read_attrs,
    variable_names,
    write_attrs,
    write_variables,
)

CLASSIC = {"int8", "int16", "int32", "float32", "float64", "bytes8"}


def in_memory():
    return h5py.File("x.nc", "w", driver="core", backing_store=False, track_order=True)


def there_and_back(values):
    with in_memory() as file:
        write_variables(file, {"it": Variable(dims=tuple("abc"[: values.ndim]), values=values)})
        assert {data.dtype.name for data in file.values() if isinstance(data, h5py.Dataset)} <= CLASSIC
        assert variable_names(file) == ["it"]
        return read_array(find_variable(file, "it"))


ARRAYS = {
    "truth values": np.array([True, False]),
    "bytes": np.array([-3, 4], dtype=np.int8),
    "unsigned bytes": np.array([0, 255], dtype=np.uint8),
    "short": np.array([-(2**15), 7], dtype=np.int16),
    "whole": np.array([[-1, 2**31 - 1]]),
    "beyond 32 bits": np.array([2**31, -(2**53)]),
    "beyond 53 bits": np.array([[2**62 + 1], [-(2**63)]]),
    "unsigned beyond": np.array([2**64 - 1, 0], dtype=np.uint64),
    "no whole numbers": np.empty((0, 3), dtype=np.int64),
    "half": np.array([0.1, np.nan], dtype=np.float16),
    "single": np.array([0.1, -0.0], dtype=np.float32),
    "double": np.array(0.1),
    "complex": np.array([complex(-0.0, np.inf), complex(np.nan, -0.0), 1 + 2j]),
    "complex of single": np.array([[1 - 1j]], dtype=np.complex64),
    "no complex": np.empty(0, dtype=complex),
}


@pytest.mark.parametrize("values", ARRAYS.values(), ids=ARRAYS)
def test_numbers_come_back_to_the_bit(values):
    found = there_and_back(values)
    assert (found.dtype, found.shape) == (values.dtype, values.shape)
    assert found.tobytes() == values.tobytes()


@pytest.mark.parametrize("words", [["é – 虫", "", "a b "], [], ["", ""], [["a"], ["bb"]]], ids=len)
def test_words_come_back(words):
    values = np.array(words, dtype=object)
    found = there_and_back(values)
    assert found.dtype == object
    assert found.tolist() == words


@settings(max_examples=40, deadline=None)
@given(values=hnp.arrays(np.int64, hnp.array_shapes(max_dims=2), elements=st.integers(-(2**63), 2**63 - 1)))
def test_any_whole_numbers_come_back(values):
    np.testing.assert_array_equal(there_and_back(values), values)


@pytest.mark.parametrize(
    ("values", "error", "told"),
    [
        (np.array(["a\0b"], dtype=object), ValueError, "null character"),
        (np.array(["2020"], dtype="datetime64[s]"), TypeError, "datetime64"),
        (np.array([1], dtype=np.longdouble), TypeError, "cannot be in a netCDF file"),
    ],
    ids=["null", "dates", "long"],
)
def test_what_netcdf_cannot_hold_is_refused(values, error, told):
    with in_memory() as file, pytest.raises(error, match=told):
        write_variables(file, {"it": Variable(dims=("a",), values=values)})


def test_attributes_are_plain_and_come_back():
    attrs = {
        "text": "é – 虫",
        "empty": "",
        "long": "x" * 100_000,
        "whole": -3,
        "seed": 2**63 - 1,
        "flag": True,
        "share": 0.1,
        "nothing": None,
        "single": np.float32(0.5),
        "label": np.int64(7),
    }
    with in_memory() as file:
        write_attrs(file, attrs)
        kinds = {name: file.attrs.get_id(name).dtype for name in attrs if name not in ("long", "empty", "nothing")}
        found = read_attrs(file)
    assert {kind.name for kind in kinds.values() if kind.kind != "S"} == {"int32", "float64"}
    assert {kinds["text"].kind, kinds["seed"].kind} == {"S"}  # characters, not text of variable length
    assert found == attrs
    assert list(found) == list(attrs)


def test_xarray_shows_words_and_parts(tmp_path):
    with h5py.File(tmp_path / "r.nc", "w", track_order=True) as file:
        variables = {
            "names": Variable(dims=("animal",), values=np.array(["é", "bb"], dtype=object)),
            "wave": Variable(dims=("animal",), values=np.array([1 + 2j, 3 - 4j]), attrs={"long_name": "of the body"}),
        }
        write_variables(file, variables)
    with xr.open_dataset(tmp_path / "r.nc", engine="h5netcdf") as data:
        assert data["names"].values.tolist() == ["é", "bb"]
        assert data["names"].dims == ("animal",)
        assert data["wave_imag"].values.tolist() == [2.0, -4.0]
        assert data["wave_real"].attrs["long_name"] == "of the body (real part)"


def test_an_array_of_the_file_is_stored_once(tmp_path):
    values = np.random.default_rng(0).normal(size=(4000, 2))
    shared, other = Variable(dims=("frame", "x"), values=values), Variable(dims=("frame", "y"), values=values)
    longer = Variable(dims=("frame",), values=np.zeros(9))
    with h5py.File(tmp_path / "r.nc", "w", track_order=True) as file:
        write_variables(file, {"all": shared})
        write_variables(file.create_group("a"), {"same": shared, "other": other, "changed": _changed(shared)})
        write_variables(file.create_group("b"), {"longer": longer})
        assert file["a/same"] == file["all"]
        assert file["a/other"] != file["all"]  # it has another dimension
        assert file["a/changed"] != file["all"]
        np.testing.assert_array_equal(read_array(find_variable(file["a"], "same")), values)
        np.testing.assert_array_equal(read_array(find_variable(file["a"], "changed")), _changed(shared).values)
    with xr.open_datatree(tmp_path / "r.nc", engine="h5netcdf") as tree:
        assert tree["a"]["same"].dims == ("frame", "x")
        assert tree["b"]["longer"].dims == ("frame_9",)  # a dimension has one size in all of the file


def _changed(variable):
    values = variable.values.copy()
    values[-1, -1] = np.nan
    return Variable(dims=variable.dims, values=values)


def test_a_name_that_ends_as_a_part_does_is_no_part():
    variables = {"x_real": Variable(dims=("a",), values=np.arange(2.0)), "y": Variable(dims=("a",), values=np.ones(2))}
    with in_memory() as file:
        write_variables(file, variables)
        assert variable_names(file) == ["x_real", "y"]
        assert find_variable(file, "x") is None
        assert read_array(find_variable(file, "x_real")).tolist() == [0.0, 1.0]


def test_text_of_earlier_versions_is_refused():
    with in_memory() as file:
        file["names"] = np.array(["a"], dtype=object)
        with pytest.raises(InputFormatError, match=r"names: .* earlier version wrote it\. Make it again"):
            read_array(file["names"])
        file["lie"] = [1.0]
        file["lie"].attrs["numpy_dtype"] = "V100000"
        with pytest.raises(InputFormatError, match="numbers or text are needed"):
            read_array(file["lie"])
