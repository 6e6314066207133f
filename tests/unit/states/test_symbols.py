"""Sequences of microstates."""

import numpy as np
import pytest

from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov.exceptions import InputFormatError
from ethomarkov.states import Symbols


@pytest.fixture
def symbols():
    labels = np.array([0, 1, -1, 2, 2, 3, 0, 0], dtype=np.int32)
    segments = Segments.from_valid(labels >= 0, np.array([0, 5, 8]), ("a", "b"))
    return Symbols(labels=labels, n_states=5, segments=segments, sampling=Sampling(2.0))


def test_visits_count_every_microstate(symbols):
    assert symbols.visits().tolist() == [3, 1, 2, 1, 0]


def test_of_counts_one_animal_only(symbols):
    assert symbols.mask(0).visits().tolist() == [1, 1, 2, 0, 0]
    assert symbols.mask(1).visits().tolist() == [2, 0, 0, 1, 0]
    assert symbols.mask(1).labels.shape == symbols.labels.shape


def test_relabel_groups(symbols):
    grouped = symbols.relabel(np.array([0, 0, 1, 1, 0]))
    assert grouped.labels.tolist() == [0, 0, -1, 1, 1, 1, 0, 0]
    assert grouped.n_states == 2
    assert grouped.segments.bounds.tolist() == symbols.segments.bounds.tolist()


def test_relabel_to_none_makes_gaps(symbols):
    grouped = symbols.relabel(np.array([0, 1, -1, 2, 2]))
    assert grouped.labels.tolist() == [0, 1, -1, -1, -1, 2, 0, 0]
    assert grouped.segments.bounds.tolist() == [[0, 2, 0], [5, 8, 1]]
    assert grouped.n_states == 3


def test_relabel_of_one_animal_stays_with_it(symbols):
    grouped = symbols.mask(1).relabel(np.array([1, 1, 0, 0, 0]))
    assert grouped.visits().tolist() == [1, 2]


def test_labels_must_match_the_segments(symbols):
    with pytest.raises(InputFormatError, match="one label per frame"):
        Symbols(labels=np.zeros(7, np.int32), n_states=1, segments=symbols.segments, sampling=symbols.sampling)


def test_labels_are_read_only(symbols):
    with pytest.raises(ValueError, match="read-only"):
        symbols.labels[0] = 3
