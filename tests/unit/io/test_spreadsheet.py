import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ethomarkov.io.spreadsheet import escape, plain, write_rows, write_table

FORMULAS = ["=1+2", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\tx", "\rx", "\nx", " =1", "＝1", "-", "'=1", "''@a"]
HARMLESS = ["", "worm 1", "-0.5", "+3", "1e-3", "-.5", "'quoted'", "'-5", "a=b", "O'Neill", "5'=3"]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_becomes_text_and_comes_back(text: str):
    assert escape(text) == f"'{text}"
    assert plain(escape(text)) == text


@pytest.mark.parametrize("text", HARMLESS)
def test_other_text_stays_as_it_is(text: str):
    assert escape(text) == text
    assert plain(text) == text


@given(st.text(alphabet="'=+-@\t\r\n .5eaß"))
def test_every_text_comes_back(text: str):
    assert plain(escape(text)) == text
    assert escape(text)[:1] not in ("=", "@", "\t", "\r")


def test_text_of_rows_is_escaped_and_numbers_are_not():
    stream = io.StringIO(newline="")
    write_rows(stream, [["=a", "b"], [-1, -0.5], [None, "-inf"]])
    assert stream.getvalue().splitlines() == ["'=a,b", "-1,-0.5", ",-inf"]


def rows_of(file):
    with file.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_a_table_without_rows_is_not_written(tmp_path):
    write_table(tmp_path / "nothing.csv", iter(()))
    assert list(tmp_path.iterdir()) == []
    write_table(tmp_path / "one.csv", iter([{"name": 'a "b", c', "n": 1}, {"name": "é", "n": ""}]))
    assert rows_of(tmp_path / "one.csv") == [{"name": 'a "b", c', "n": "1"}, {"name": "é", "n": ""}]


def test_no_cell_of_a_table_is_a_formula(tmp_path):
    write_table(tmp_path / "one.csv", iter([{"name": "=1+1", "n": -1}, {"name": "-", "n": -0.5}]))
    assert rows_of(tmp_path / "one.csv") == [{"name": "'=1+1", "n": "-1"}, {"name": "'-", "n": "-0.5"}]
