"""The float time series."""

import numpy as np
import pytest

from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov._core.series import Series
from ethomarkov.exceptions import InputFormatError


def test_a_row_with_one_missing_number_is_missing_as_a_whole():
    rows = np.arange(12.0).reshape(4, 3)
    rows[1, 2], rows[3, 0] = np.nan, np.inf
    series = Series.from_rows(rows, 16)
    assert series.segments.bounds.tolist() == [[0, 1, 0], [2, 3, 0]]
    assert np.isnan(series.values[[1, 3]]).all()
    np.testing.assert_array_equal(series.values[[0, 2]], [[0, 1, 2], [6, 7, 8]])


def test_input_is_not_written_to_nor_shared():
    rows = np.array([[1.0, np.nan], [1.0, 2.0]], dtype=np.float32)
    before = rows.copy()
    series = Series.from_rows(rows, 16)
    np.testing.assert_array_equal(rows, before)
    rows[1] = 7
    assert series.values[1].tolist() == [1.0, 2.0]


def test_values_are_float32_and_read_only():
    series = Series.from_rows(np.zeros((3, 2)), Sampling(4.0))
    assert series.values.dtype == np.float32
    assert series.n_components == 2
    with pytest.raises(ValueError, match="read-only"):
        series.values[0, 0] = 1


def test_a_plain_column_is_one_component():
    assert Series.from_rows(np.zeros(5), 1.0).values.shape == (5, 1)


def test_of_cuts_out_one_animal_with_its_gaps():
    rows = np.arange(10.0)
    rows[6] = np.nan
    series = Series.from_rows(rows, 2.0, np.array([0, 4, 10]), ("a", "b"))
    one = series.cut(1)
    assert one.segments.individuals == ("b",)
    assert one.segments.bounds.tolist() == [[0, 2, 0], [3, 6, 0]]
    assert one.values[~np.isnan(one.values[:, 0]), 0].tolist() == [4, 5, 7, 8, 9]
    assert one.sampling == series.sampling


def test_of_carries_the_runs_whatever_the_other_rows_hold():
    segments = Segments.from_valid(np.array([1, 1, 0, 0, 1, 1], dtype=bool), np.array([0, 3, 6]))
    one = Series(values=np.arange(6.0)[:, None], segments=segments, sampling=Sampling(2.0)).cut(1)
    assert one.segments.bounds.tolist() == [[1, 3, 0]]
    assert one.values.ravel().tolist() == [3, 4, 5]


@pytest.mark.parametrize("n_rows", [1, 3, 100])
def test_blocks_give_the_rows_of_the_runs_in_order(n_rows):
    rows = np.arange(20.0).reshape(10, 2)
    rows[[0, 4, 5]] = np.nan
    series = Series.from_rows(rows, 1.0)
    blocks = list(series.blocks(n_rows))
    assert max(len(values) for _, values in blocks) == min(n_rows, 7)
    assert np.concatenate([index for index, _ in blocks]).tolist() == [1, 2, 3, 6, 7, 8, 9]
    np.testing.assert_array_equal(np.concatenate([values for _, values in blocks]), rows[[1, 2, 3, 6, 7, 8, 9]])


def test_with_rows_keeps_animals_and_finds_new_gaps():
    series = Series.from_rows(np.zeros((4, 2)), 2.0, np.array([0, 2, 4]), ("a", "b"))
    other = series.with_rows(np.array([1.0, np.nan, 3.0, 4.0]))
    assert other.segments.individuals == ("a", "b")
    assert other.segments.bounds.tolist() == [[0, 1, 0], [2, 4, 1]]


@pytest.mark.parametrize("shape", [(4,), (3, 2), (5, 2)])
def test_rows_must_match_the_segments(shape):
    with pytest.raises(InputFormatError, match="one row per frame"):
        Series(values=np.zeros(shape), segments=Segments.from_valid(np.ones(4, dtype=bool)), sampling=Sampling(1.0))
