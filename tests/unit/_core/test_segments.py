"""Runs, windows and pairs, by hand."""

import numpy as np
import pytest

from ethomarkov._core.segments import Segments


@pytest.fixture
def three_animals():
    """Rows 0-5, none, 6-12; gaps at 2 and 9, and no gap between the animals."""
    valid = np.ones(13, dtype=bool)
    valid[[2, 9]] = False
    return Segments.from_valid(valid, np.array([0, 6, 6, 13]), ("a", "empty", "b"))


def test_runs_break_at_gaps_and_between_animals(three_animals):
    assert three_animals.bounds.tolist() == [[0, 2, 0], [3, 6, 0], [6, 9, 2], [10, 13, 2]]
    assert list(three_animals) == [(0, 2, 0), (3, 6, 0), (6, 9, 2), (10, 13, 2)]
    assert len(three_animals) == 4


def test_animal_without_frames_is_kept(three_animals):
    assert three_animals.individuals == ("a", "empty", "b")
    assert three_animals.n_individuals == 3
    assert three_animals.count_rows().tolist() == [5, 0, 6]
    assert three_animals.longest(1) == 0


def test_rows_and_owners(three_animals):
    assert three_animals.n_rows == 13
    assert np.flatnonzero(~three_animals.valid).tolist() == [2, 9]
    assert three_animals.row_individual.tolist() == [0] * 6 + [2] * 7
    assert three_animals.longest() == 3
    assert three_animals.longest(0) == 3


@pytest.mark.parametrize(
    ("valid", "bounds"),
    [
        ([], []),
        ([0, 0, 0], []),
        ([1], [[0, 1, 0]]),
        ([1, 1], [[0, 2, 0]]),
        ([0, 1, 0, 1, 1, 0], [[1, 2, 0], [3, 5, 0]]),
    ],
)
def test_runs_of_one_animal(valid, bounds):
    segments = Segments.from_valid(np.array(valid, dtype=bool))
    assert segments.bounds.shape == (len(bounds), 3)
    assert segments.bounds.tolist() == bounds
    assert segments.window_starts(1).tolist() == np.flatnonzero(valid).tolist()


def test_windows_fit_into_runs(three_animals):
    assert three_animals.window_starts(2).tolist() == [0, 3, 4, 6, 7, 10, 11]
    assert three_animals.window_starts(3).tolist() == [3, 6, 10]
    assert three_animals.window_starts(4).size == 0


def test_pairs_stay_in_runs(three_animals):
    first, last = three_animals.pairs(2)
    assert first.tolist() == [3, 6, 10]
    assert last.tolist() == [5, 8, 12]


def test_trim_drops_what_vanishes(three_animals):
    assert three_animals.trim(1, 1).bounds.tolist() == [[4, 5, 0], [7, 8, 2], [11, 12, 2]]
    assert three_animals.trim(0, 2).bounds.tolist() == [[3, 4, 0], [6, 7, 2], [10, 11, 2]]
    assert len(three_animals.trim(2, 1)) == 0


def test_keep_splits_further_and_never_adds(three_animals):
    flag = np.ones(13, dtype=bool)
    flag[4] = False
    kept = three_animals.keep(flag)
    assert kept.bounds.tolist() == [[0, 2, 0], [3, 4, 0], [5, 6, 0], [6, 9, 2], [10, 13, 2]]


def test_of_keeps_rows_and_names(three_animals):
    one = three_animals.mask(2)
    assert one.bounds.tolist() == [[6, 9, 2], [10, 13, 2]]
    assert one.n_rows == 13
    assert one.individuals == three_animals.individuals


def test_cut_counts_rows_from_the_first_of_the_animal():
    segments = Segments.from_valid(np.array([1, 0, 1, 1, 0, 1], dtype=bool), np.array([0, 2, 6]), ("a", "b"))
    own = segments.cut(1)
    assert own.bounds.tolist() == [[0, 2, 0], [3, 4, 0]]
    assert own.offsets.tolist() == [0, 4]
    assert own.individuals == ("b",)


def test_arrays_are_read_only_and_callers_are_left_alone():
    offsets = np.array([0, 3])
    segments = Segments(bounds=np.array([[0, 3, 0]]), offsets=offsets, individuals=("a",))
    with pytest.raises(ValueError, match="read-only"):
        segments.offsets[0] = 1
    offsets[0] = 0
    assert offsets.flags.writeable


def test_animals_are_numbered_by_default():
    assert Segments.from_valid(np.ones(4, dtype=bool), np.array([0, 1, 4])).individuals == ("0", "1")
