"""Durations of stays."""

import numpy as np
import pytest

from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov.coarse.kinetics import dwell_times
from ethomarkov.states import Symbols
from ethomarkov.synthetic import hopping_chain


def stays(labels, offsets=None, rate=2.0):
    labels = np.asarray(labels, dtype=np.int32)
    symbols = Symbols(
        labels=labels, n_states=4, segments=Segments.from_valid(labels >= 0, offsets), sampling=Sampling(rate)
    )
    state, duration = dwell_times(symbols)
    return list(zip(state.tolist(), duration.tolist(), strict=True))


def test_complete_stays_by_hand():
    assert stays([0, 0, 1, 1, 1, 2, 0, 0]) == [(1, 1.5), (2, 0.5)]


def test_stays_at_gaps_are_left_out():
    assert stays([0, 1, 1, 0, 0, -1, 0, 2, 2, 2, 2, 0, -1, 3, 3]) == [(1, 1.0), (2, 2.0)]


def test_a_stay_cut_by_a_gap_is_not_two_stays():
    assert stays([0, 1, 1, -1, 1, 1, 0]) == []


def test_stays_do_not_pass_from_one_animal_to_the_next():
    assert stays([0, 1, 1, 1, 1, 0], np.array([0, 3, 6])) == []
    assert stays([0, 1, 0, 0, 2, 0], np.array([0, 3, 6])) == [(1, 0.5), (2, 0.5)]


@pytest.mark.parametrize("labels", [[0], [0, 0, 0], [0, 1], [-1, -1]])
def test_nothing_complete(labels):
    assert stays(labels) == []


def test_of_one_animal_only():
    labels = np.array([0, 1, 0, 0, 2, 0], dtype=np.int32)
    symbols = Symbols(
        labels=labels,
        n_states=3,
        segments=Segments.from_valid(labels >= 0, np.array([0, 3, 6])),
        sampling=Sampling(1.0),
    )
    assert dwell_times(symbols.of(1))[0].tolist() == [2]


def test_mean_stay_of_a_known_chain():
    """Geometric: 1 / (1 − P_ii) steps, with the variance P_ii / (1 − P_ii)²."""
    leave = np.array([0.05, 0.2])
    walk = hopping_chain(np.array([[0.95, 0.05], [0.2, 0.8]]), 40_000, rate=4.0, rng=0)
    state, duration = dwell_times(walk)
    for k in (0, 1):
        mine = duration[state == k] * 4.0
        standard_error = np.sqrt(1 - leave[k]) / leave[k] / np.sqrt(mine.size)
        assert abs(mine.mean() - 1 / leave[k]) < 3.5 * standard_error
