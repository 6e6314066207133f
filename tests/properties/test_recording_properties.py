"""Grids, filling and ledgers of any recording."""

from itertools import pairwise

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ethomarkov.posture.basis import amplitude_series
from ethomarkov.recording import Recording, Track, fill_gaps
from ethomarkov.states import DelayEmbedding

modest = settings(max_examples=50, deadline=None)


@st.composite
def recordings(draw):
    """One to three animals of two numbers per frame, some of them missing."""
    tracks = []
    for k in range(draw(st.integers(1, 3))):
        n = draw(st.integers(2, 25))
        rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
        values = rng.normal(size=(n, 2))
        values[rng.random((n, 2)) < draw(st.sampled_from([0.0, 0.1, 0.4]))] = np.nan
        tracks.append(Track(individual=f"w{k}", values=values))
    complete = sum(np.isfinite(track.values).all(axis=1).sum() for track in tracks)
    assume(complete >= 2)
    assume(all(np.isfinite(track.values).sum(axis=0).min() >= 2 for track in tracks))
    return Recording.from_tracks(tracks, kind="amplitude", sampling_rate=8.0)


@modest
@given(recordings())
def test_the_ledger_adds_up(recording):
    entries = recording.ledger().entries
    for k, name in enumerate(recording.individuals):
        steps = [entry for entry in entries if entry.individual == name]
        assert all(earlier.after == later.before for earlier, later in pairwise(steps))
        assert steps[-1].after == recording.segments.count_rows()[k]
        assert all(entry.lost >= 0 for entry in steps)


@modest
@given(recordings(), st.integers(0, 5))
def test_filling_only_fills_short_inner_gaps(recording, longest):
    filled = fill_gaps(recording, longest / 8.0)
    known = np.isfinite(recording.values)
    np.testing.assert_array_equal(filled.values[known], recording.values[known])
    owner = recording.segments.row_individual
    for k in range(len(recording.individuals)):
        for before, after in zip(recording.values[owner == k].T, filled.values[owner == k].T, strict=True):
            missing, expected = np.isnan(before), np.isnan(before)
            row = 0
            while row < missing.size:
                stop = row
                while stop < missing.size and missing[stop]:
                    stop += 1
                if row > 0 and stop < missing.size and stop - row <= longest:
                    expected[row:stop] = False
                row = max(stop, row + 1)
            np.testing.assert_array_equal(np.isnan(after), expected)
            seen = before[~missing]
            inside = after[np.isfinite(after)]
            assert inside.min() >= seen.min() - 1e-6
            assert inside.max() <= seen.max() + 1e-6


@modest
@given(recordings())
def test_dropping_missing_rows_and_giving_times_is_the_same(recording):
    """A file may hold its gaps as NaN rows or leave them out of its times."""
    tracks = []
    for k, name in enumerate(recording.individuals):
        rows = recording.segments.row_individual == k
        values, time = recording.values[rows], recording.time[rows]
        complete = np.isfinite(values).all(axis=1)
        assume(complete[0] and complete[-1])
        tracks.append(Track(individual=name, values=values[complete], time=time[complete]))
    again = Recording.from_tracks(tracks, kind="amplitude", sampling_rate=8.0)
    assert again.segments.bounds.tolist() == recording.segments.bounds.tolist()
    valid = recording.segments.valid
    np.testing.assert_array_equal(again.values[valid], recording.values[valid])


@modest
@given(recordings(), st.integers(1, 6))
def test_sequences_are_stacked_frames(recording, n_delays):
    series = amplitude_series(recording, 2)
    assume(series.segments.longest() >= n_delays)
    embedded = DelayEmbedding(n_delays).transform(series)
    starts = series.segments.window_starts(n_delays)
    middle = starts + (n_delays - 1) // 2
    np.testing.assert_array_equal(np.flatnonzero(embedded.segments.valid), middle)
    for start, row in zip(starts, middle, strict=True):
        np.testing.assert_array_equal(embedded.values[row], series.values[start : start + n_delays].ravel())
