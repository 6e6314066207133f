"""What the columns of a table are taken for."""

import pytest

from ethomarkov.exceptions import InputFormatError
from ethomarkov.io.readers.csv_header import is_number, sort_columns, split_header


@pytest.mark.parametrize(
    "word",
    ["1", "-1.5", "+.5", "3.", "1e5", "1E-05", "-2.5e+300", " 7 ", "nan", "NaN", "inf", "-Inf", "0012", "1.5\xa0"],
)
def test_numbers(word):
    assert is_number(word)
    float(word)


@pytest.mark.parametrize(
    "word",
    [
        "",
        "1_5",
        "1_000.5",
        "1e1_0",
        "infinity",
        "-Infinity",
        "١٢",
        "１",
        "0x10",
        "1,5",
        "1.2.3",
        "e5",
        ".",
        "1 2",
        "True",
    ],
)
def test_what_is_no_number(word):
    assert not is_number(word)


@pytest.mark.parametrize(
    ("first", "second", "others"),
    [
        ("a1", "a01", ["a2"]),
        ("a1", "A1", ["a2"]),
        ("theta_1", "theta_01", ["theta_0"]),
        ("Theta_0", "theta_0", ["theta_1"]),
        ("nose_x", "x_nose", ["nose_y"]),
        ("nose_x", "NOSE_X", ["nose_y"]),
        ("Nose_x", "x_nose", ["nose_y"]),
        ("x_0", "0_x", ["y_0"]),
        ("x_1", "x_001", ["y_1"]),
        ("centroid_x", "x_centroid", ["nose_x", "nose_y", "centroid_y"]),
        ("time", "Time", ["a1"]),
        ("individual", "INDIVIDUAL", ["a1"]),
    ],
)
def test_columns_that_mean_the_same(first, second, others):
    with pytest.raises(InputFormatError, match=f"Columns '{first}' and '{second}' mean the same"):
        sort_columns([first, *others, second])


def test_one_name_twice():
    with pytest.raises(InputFormatError, match="Column 'time' stands twice"):
        sort_columns(["time", "a1", "time"])


def test_numbers_with_zeros_in_front():
    columns = sort_columns(["a02", "a01", "a10", *(f"a{i:02}" for i in range(3, 10))])
    assert columns.posture == (1, 0, *range(3, 10), 2)
    assert sort_columns(["x_00", "y_00", "x_01", "y_01"]).kind == "centerline"


@pytest.mark.parametrize("name", ["a١", "a" + "1" * 5000, "theta_1_0"])
def test_digits_that_number_no_column(name):
    with pytest.raises(InputFormatError, match=r"not understood|characters"):
        sort_columns(["a1", name])


def test_other_digits_name_a_keypoint():
    assert sort_columns(["x_١", "y_١"]).names == ("١",)


def test_wide_tables_are_sorted_in_a_moment():
    names = [f"a{i + 1}" for i in range(100_000)]
    assert len(sort_columns(names).posture) == 100_000
    with pytest.raises(InputFormatError, match="a99999 is missing"):
        sort_columns([name for name in names if name != "a99999"])


def test_an_escaped_name_is_read_as_it_was():
    assert split_header("'=nose_x,'=nose_y,'tail'_x\n") == (["=nose_x", "=nose_y", "'tail'_x"], ",")
