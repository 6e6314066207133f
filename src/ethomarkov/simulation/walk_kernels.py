"""Compiled walks: alias tables, and a stream of random numbers that belongs to each walk.

The random number of a walk at a step is a function of the walk's key and the step alone (splitmix64 with the step as
its counter), so that walks can be computed in any order and on any number of threads. An alias table draws a successor
with one random number and one look at memory, whatever the length of the row (Walker 1977, Vose 1991).
"""

import numpy as np
from numba import njit

from ethomarkov._core.types import FloatArray, IntArray

SIDE_BY_SIDE = 32  # walks advanced together, so that one waits for memory while others go on
ENTRY = np.dtype([("keep", np.float64), ("own", np.int32), ("other", np.int32)])
INCREMENT = np.uint64(0x9E3779B97F4A7C15)
FIRST_FACTOR, SECOND_FACTOR = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def alias_table(indptr: IntArray, indices: IntArray, data: FloatArray) -> np.ndarray:
    """Rearrange the rows of a sparse matrix of probabilities for drawing.

    Entry ``k`` of a row of ``n`` is found with probability ``1 / n``; it gives the state ``own`` with probability
    ``keep`` and the state ``other`` otherwise.
    """
    table = np.empty(data.size, dtype=ENTRY)
    table["own"] = indices
    _fill_aliases(indptr, np.ascontiguousarray(data, dtype=np.float64), table)
    return table


@njit(cache=True, nogil=True)
def uniform(key, step):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Draw a number of [0, 1) that depends on a walk's key and a step alone."""
    z = key + np.uint64(step) * INCREMENT
    z = (z ^ (z >> np.uint64(30))) * FIRST_FACTOR
    z = (z ^ (z >> np.uint64(27))) * SECOND_FACTOR
    return np.float64((z ^ (z >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53


@njit(cache=True, nogil=True)
def _fill_aliases(indptr, data, table):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    for row in range(indptr.size - 1):
        part = slice(indptr[row], indptr[row + 1])
        _fill_row(data[part] / data[part].sum() * (part.stop - part.start), table[part])


@njit(cache=True, nogil=True)
def _fill_row(share, table):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Top up every entry that has less than its even share from one that has more."""
    for k in range(share.size):
        table[k].keep = 1.0
        table[k].other = table[k].own
    poor, rich = list(np.flatnonzero(share < 1.0)), list(np.flatnonzero(share >= 1.0))
    while len(poor) > 0 and len(rich) > 0:  # what rounding leaves over keeps its own state
        small, large = poor.pop(), rich[-1]
        table[small].keep = share[small]
        table[small].other = table[large].own
        share[large] -= 1.0 - share[small]
        if share[large] < 1.0:
            poor.append(rich.pop())


@njit(cache=True, nogil=True)
def walk(indptr, table, keys, start, steps):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Fill one row of `steps` per walk with rows of the chain; the draw from row `start` is the first step."""
    here = np.empty(SIDE_BY_SIDE, dtype=np.int64)
    for group in range(0, keys.size, SIDE_BY_SIDE):
        n = min(SIDE_BY_SIDE, keys.size - group)
        for w in range(n):
            here[w] = start[group + w]
        for t in range(steps.shape[1]):
            for w in range(n):
                first = indptr[here[w]]
                place = uniform(keys[group + w], t) * (indptr[here[w] + 1] - first)
                entry = table[first + int(place)]
                state = entry.own if place - int(place) < entry.keep else entry.other
                here[w] = state
                steps[group + w, t] = state
