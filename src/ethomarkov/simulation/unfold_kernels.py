"""Compiled unfolding: choose recorded rows for the steps of a walk, and fade from each to the next."""

import numpy as np
from numba import njit

from ethomarkov.simulation.walk_kernels import uniform


@njit(cache=True, nogil=True)
def draw_row(rows, first, count, key, draw):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Draw one of `count` rows listed from `first` on."""
    return rows[first + int(uniform(key, draw) * count)]


@njit(cache=True, nogil=True)
def draw_rows(rows, first, count, key, chosen):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Draw a row for every step."""
    for step in range(chosen.size):
        chosen[step] = draw_row(rows, first[step], count[step], key, step)


@njit(cache=True, nogil=True)
def match_rows(values, runs, pool, key, shape, chosen):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Draw a few rows for every step and take the one that best continues the step before.

    Parameters
    ----------
    values, runs
        Recorded postures, and the first and last row of the gap-free run of every row.
    pool
        Listed rows, and for every step where its rows begin in that list and how many they are.
    key
        Of the random stream of the walk.
    shape
        Frames per step, frames compared on either side, candidates.
    chosen
        Filled with one row per step.
    """
    rows, first, count = pool
    block, half, n_candidates = shape
    chosen[0] = draw_row(rows, first[0], count[0], key, 0)
    for step in range(1, chosen.size):
        least = np.inf
        for candidate in range(n_candidates):
            row = draw_row(rows, first[step], count[step], key, step * n_candidates + candidate)
            mismatch = _mismatch(values, runs, chosen[step - 1], row, block, half)
            if mismatch < least:
                least = mismatch
                chosen[step] = row


@njit(cache=True, nogil=True)
def _mismatch(values, runs, before, row, block, half):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    total = 0.0
    for frame in range(-half, half + 1):
        a = min(max(before + block + frame, runs[before, 0]), runs[before, 1])
        b = min(max(row + frame, runs[row, 0]), runs[row, 1])
        for k in range(values.shape[1]):
            total += (values[a, k] - values[b, k]) ** 2
    return total


@njit(cache=True, nogil=True)
def fade_rows(values, runs, chosen, shape, weights, out):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Follow the recording from every chosen row, fading into the next around the frame where they meet.

    `shape` is frames per step and the frame of the first chosen row; `weights` are those of the new sequence, centred
    on its row.
    """
    block, lead = shape
    half, last = weights.size // 2, chosen.size - 1
    for frame in range(out.shape[0]):
        step = min(max((frame - lead + half) // block, 0), last)
        offset = frame - lead - step * block
        row = chosen[step]
        b = min(max(row + offset, runs[row, 0]), runs[row, 1])
        a, weight = b, 1.0
        if step > 0 and offset <= half:
            before = chosen[step - 1]
            a = min(max(before + block + offset, runs[before, 0]), runs[before, 1])
            weight = weights[half + offset]
        for k in range(values.shape[1]):
            out[frame, k] = (1.0 - weight) * values[a, k] + weight * values[b, k]
