"""Sequences of frames, and where they are kept."""

import numpy as np
import pytest
from sklearn.base import clone

from ethomarkov._core.series import Series
from ethomarkov.exceptions import EthomarkovError, SamplingError
from ethomarkov.states import DelayEmbedding


def numbered(n, gaps=(), offsets=None):
    """Two components: frame k holds k and 100 + k."""
    rows = np.stack([np.arange(n), 100.0 + np.arange(n)], axis=1)
    rows[list(gaps)] = np.nan
    return Series.from_rows(rows, 16.0, offsets)


def naive(series, length):
    """Look at every window of every row."""
    owner = series.segments.row_individual
    rows = np.full((len(series.values), length * series.n_components), np.nan)
    for start in range(len(series.values) - length + 1):
        window = series.values[start : start + length]
        if np.isfinite(window).all() and len(set(owner[start : start + length])) == 1:
            rows[start + (length - 1) // 2] = window.ravel()
    return rows


def test_rows_at_a_gap_by_hand():
    embedded = DelayEmbedding(3).transform(numbered(9, gaps=[4]))
    assert embedded.values.shape == (9, 6)
    assert np.flatnonzero(embedded.segments.valid).tolist() == [1, 2, 6, 7]
    assert embedded.values[1].tolist() == [0, 100, 1, 101, 2, 102]
    assert embedded.values[7].tolist() == [6, 106, 7, 107, 8, 108]
    assert embedded.segments.bounds.tolist() == [[1, 3, 0], [6, 8, 0]]


def test_an_even_number_is_kept_left_of_the_middle():
    embedded = DelayEmbedding(4).transform(numbered(6))
    assert np.flatnonzero(embedded.segments.valid).tolist() == [1, 2, 3]
    assert embedded.values[1, ::2].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("length", [1, 2, 3, 5, 8, 11])
def test_equals_a_naive_loop(length):
    rng = np.random.default_rng(length)
    rows = rng.normal(size=(300, 3))
    rows[rng.random(300) < 0.05] = np.nan
    series = Series.from_rows(rows, 16.0, np.array([0, 70, 70, 71, 300]))
    embedded = DelayEmbedding(length).transform(series)
    expected = naive(series, length)
    known = embedded.segments.valid
    np.testing.assert_array_equal(known, np.isfinite(expected).all(axis=1))
    np.testing.assert_array_equal(embedded.values[known], expected[known].astype(np.float32))
    for i in range(series.segments.n_individuals):
        alone = embedded.cut(i)
        np.testing.assert_array_equal(alone.segments.valid, known[series.segments.row_individual == i])


def test_no_window_crosses_from_one_animal_to_the_next():
    embedded = DelayEmbedding(3).transform(numbered(10, offsets=np.array([0, 5, 10])))
    assert np.flatnonzero(embedded.segments.valid).tolist() == [1, 2, 3, 6, 7, 8]
    assert embedded.segments.bounds.tolist() == [[1, 4, 0], [6, 9, 1]]


def test_one_frame_changes_nothing():
    series = numbered(9, gaps=[4])
    np.testing.assert_array_equal(DelayEmbedding(1).transform(series).values, series.values)


def test_no_window_fits():
    with pytest.raises(SamplingError, match=r"longest gap-free stretch is 5 frames\. Use at most 5"):
        DelayEmbedding(6).transform(numbered(9, gaps=[3]))
    assert DelayEmbedding(5).transform(numbered(9, gaps=[3])).segments.lengths.tolist() == [1]


@pytest.mark.parametrize("order", ["C", "F"])
def test_order_of_postures_in_memory_does_not_matter(order):
    """The view on shared frames must never read postures that are stored column by column."""
    rows = np.random.default_rng(0).normal(size=(500, 3)).astype(np.float32)
    plain = Series.from_rows(rows, 16.0)
    stored = Series(values=np.array(rows, order=order), segments=plain.segments, sampling=plain.sampling)
    known = DelayEmbedding(7).transform(stored)
    expected = naive(plain, 7)[known.segments.valid]
    np.testing.assert_array_equal(known.values[known.segments.valid], expected.astype(np.float32))


def test_sequences_share_the_memory_of_their_frames():
    embedded = DelayEmbedding(11).transform(numbered(1000))
    assert np.shares_memory(embedded.values[5], embedded.values[6])
    with pytest.raises(ValueError, match="read-only"):
        embedded.values[5, 0] = 1


@pytest.mark.parametrize("length", [0, -1])
def test_sequences_need_a_frame(length):
    with pytest.raises(EthomarkovError):
        DelayEmbedding(length).transform(numbered(9))


def test_works_as_an_estimator():
    embedding = DelayEmbedding(n_delays=7)
    assert embedding.get_params() == {"n_delays": 7}
    assert clone(embedding).n_delays == 7
    series = numbered(20)
    np.testing.assert_array_equal(embedding.fit_transform(series).values, embedding.transform(series).values)


@pytest.mark.real
def test_number_of_sequences_of_a_real_worm(shared_data):
    """434 lost frames in 4 gaps leave 33600 − 434 − 5 · 10 sequences of eleven frames."""
    series = Series.from_rows(np.load(shared_data("worm6.npz"))["modes"], 16.0)
    embedded = DelayEmbedding(11).transform(series)
    assert embedded.segments.count_rows().tolist() == [33600 - 434 - 50]
    assert embedded.n_components == 55
