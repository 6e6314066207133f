"""Examples of dwells in every state."""

import numpy as np

from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov.coarse.examples import longest_dwells, typical_dwells
from ethomarkov.states import Symbols


def symbols_of(labels, n_states: int, offsets=None) -> Symbols:
    labels = np.asarray(labels, dtype=np.int32)
    segments = Segments.from_valid(labels >= 0, None if offsets is None else np.array(offsets))
    return Symbols(labels=labels, n_states=n_states, segments=segments, sampling=Sampling(16.0))


def test_the_longest_dwells_neither_cross_gaps_nor_animals():
    labels = [0, 0, 0, -1, 0, 0, 1, 1, 1, 1, 0, 1]
    found = longest_dwells(symbols_of(labels, 3, [0, 8, 12]))
    assert found.tolist() == [[0, 3], [6, 8], [-1, -1]]  # of equals the first; the dwell in 1 is cut between animals


def test_a_typical_dwell_is_the_median_of_the_longest_tenth():
    """Thirty dwells of 1 to 30 frames in state 0: of the three longest, that of 29 frames is chosen."""
    lengths = np.random.default_rng(0).permutation(np.arange(1, 31))
    labels = np.concatenate([np.concatenate([np.zeros(n, dtype=int), [1]]) for n in lengths])
    (start, stop), other, never = typical_dwells(symbols_of(labels, 3)).tolist()
    assert stop - start == 29
    assert (labels[start:stop] == 0).all()
    assert labels[stop] == 1
    assert other[1] - other[0] == 1
    assert never == [-1, -1]
