"""Windows and pairs never cross a gap or an animal, and none is forgotten."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ethomarkov._core.segments import Segments
from ethomarkov._core.series import Series

modest = settings(max_examples=50, deadline=None)


@st.composite
def stacked(draw):
    """Validity of up to four animals, some perhaps without rows."""
    animals = draw(st.lists(st.lists(st.booleans(), max_size=15), min_size=1, max_size=4))
    valid = np.array([flag for animal in animals for flag in animal], dtype=bool)
    offsets = np.concatenate([[0], np.cumsum([len(animal) for animal in animals])]).astype(int)
    return valid, offsets


def unbroken(valid, offsets, first, stop):
    """Tell by looking at every row whether a stretch is valid and of one animal."""
    owners = {int(np.searchsorted(offsets, row, side="right")) for row in range(first, stop)}
    return stop <= valid.size and all(valid[first:stop]) and len(owners) == 1


@modest
@given(stacked(), st.integers(1, 6))
def test_windows_are_all_and_only_the_unbroken_ones(case, length):
    valid, offsets = case
    segments = Segments.from_valid(valid, offsets)
    expected = [row for row in range(valid.size) if unbroken(valid, offsets, row, row + length)]
    assert segments.window_starts(length).tolist() == expected


@modest
@given(stacked(), st.integers(1, 6))
def test_pairs_are_all_and_only_the_unbroken_ones(case, lag):
    valid, offsets = case
    first, last = Segments.from_valid(valid, offsets).pairs(lag)
    expected = [row for row in range(valid.size) if unbroken(valid, offsets, row, row + lag + 1)]
    assert first.tolist() == expected
    assert last.tolist() == [row + lag for row in expected]


@modest
@given(stacked())
def test_runs_are_the_valid_rows_and_are_maximal(case):
    valid, offsets = case
    segments = Segments.from_valid(valid, offsets)
    np.testing.assert_array_equal(segments.valid, valid)
    assert segments.lengths.sum() == valid.sum() == segments.count_rows().sum()
    for start, stop, owner in segments:
        assert offsets[owner] <= start < stop <= offsets[owner + 1]
        assert start == offsets[owner] or not valid[start - 1]
        assert stop == offsets[owner + 1] or not valid[stop]


@modest
@given(stacked())
def test_animals_share_out_the_runs(case):
    segments = Segments.from_valid(*case)
    parts = [segments.mask(k) for k in range(segments.n_individuals)]
    assert sum(len(part) for part in parts) == len(segments)
    np.testing.assert_array_equal(np.concatenate([part.bounds for part in parts]), segments.bounds)
    for k, part in enumerate(parts):
        assert part.count_rows()[k] == part.valid.sum() == segments.count_rows()[k]
        assert part.longest() == segments.longest(k)


@modest
@given(stacked(), st.integers(0, 4), st.integers(0, 4))
def test_trimming_leaves_the_middles_of_windows(case, before, after):
    segments = Segments.from_valid(*case)
    rows = np.flatnonzero(segments.trim(before, after).valid)
    np.testing.assert_array_equal(rows, segments.window_starts(before + after + 1) + before)


@modest
@given(stacked(), st.randoms(use_true_random=False))
def test_keeping_is_the_intersection(case, random):
    valid, offsets = case
    flag = np.array([random.random() < 0.7 for _ in valid], dtype=bool)
    kept = Segments.from_valid(valid, offsets).keep(flag)
    assert kept.bounds.tolist() == Segments.from_valid(valid & flag, offsets).bounds.tolist()


@modest
@given(stacked())
def test_series_of_single_animals_are_the_series(case):
    valid, offsets = case
    rows = np.where(valid, np.arange(valid.size, dtype=float), np.nan)
    series = Series.from_rows(rows, 4.0, offsets)
    parts = [series.cut(k) for k in range(offsets.size - 1)]
    np.testing.assert_array_equal(np.concatenate([part.values for part in parts]), series.values)
    for first, part, k in zip(offsets, parts, range(len(parts)), strict=False):
        assert (part.segments.bounds[:, :2] + first).tolist() == series.segments.mask(k).bounds[:, :2].tolist()
    np.testing.assert_array_equal(series.with_rows(series.values).values, series.values)
