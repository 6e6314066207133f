"""Compiled unfolding: choose recorded rows for the steps of a walk, and fade from each to the next."""

import numpy as np
from numba import njit

from ethomarkov.simulation.walk_kernels import uniform

SMOOTHED_TOGETHER = 1024


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


@njit(cache=True, nogil=True)
def mark_copies(recorded, chosen, shape, rows, tolerance, copied):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Mark the simulated rows that copy a recorded passage, from the middle of every chosen one on in both directions.

    Parameters
    ----------
    recorded
        Recorded postures, and the first and last row of the gap-free run of every row.
    chosen
        One recorded row per passage.
    shape
        Frames per passage, frame of the first chosen row, frame of a passage at which the comparison begins, and the
        fewest frames that count.
    rows, tolerance
        Simulated postures, and the largest difference of each component from what they copy.
    copied
        Flags to be set.
    """
    block, lead, middle, fewest = shape
    runs = recorded[1]
    for step in range(chosen.size):
        frame, row = lead + step * block + middle, chosen[step] + middle
        if frame >= rows.shape[0] or row > runs[chosen[step], 1]:
            continue
        before = _copied_length(recorded[0], row, rows, frame, tolerance, -1, row - runs[row, 0])
        after = _copied_length(recorded[0], row, rows, frame, tolerance, 1, runs[row, 1] - row)
        if before + after - 1 >= fewest:
            copied[frame - before + 1 : frame + after] = True


@njit(cache=True, nogil=True)
def _copied_length(values, row, rows, frame, tolerance, step, reach):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, PLR0913, PLR0917
    """Count the frames from here on, forwards or backwards, that are near to the recorded ones."""
    n = 0
    while n <= reach and 0 <= frame + n * step < rows.shape[0]:
        for k in range(values.shape[1]):
            if abs(rows[frame + n * step, k] - values[row + n * step, k]) > tolerance[k]:
                return n
        n += 1
    return n


@njit(cache=True, nogil=True)
def fill_missing(rows, at):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Fill all rows but those `at` given places by the cubic spline through these, the ends not a knot.

    The slopes at the known rows solve a system of three diagonals, the same for all columns; there must be four known
    rows at least.
    """
    n, n_columns = at.size, rows.shape[1]
    upper, slopes = np.empty(n), np.empty((n, n_columns))
    gap, after = float(at[1] - at[0]), float(at[2] - at[1])
    span = gap + after
    upper[0] = span / after
    for k in range(n_columns):
        first, second = (rows[at[1], k] - rows[at[0], k]) / gap, (rows[at[2], k] - rows[at[1], k]) / after
        slopes[0, k] = ((gap + 2.0 * span) * after * first + gap * gap * second) / span / after
    for i in range(1, n - 1):
        gap, after = float(at[i] - at[i - 1]), float(at[i + 1] - at[i])
        scale = 1.0 / (2.0 * (gap + after) - after * upper[i - 1])
        upper[i] = gap * scale
        for k in range(n_columns):
            first, second = (rows[at[i], k] - rows[at[i - 1], k]) / gap, (rows[at[i + 1], k] - rows[at[i], k]) / after
            slopes[i, k] = (3.0 * (after * first + gap * second) - after * slopes[i - 1, k]) * scale
    gap, after = float(at[n - 2] - at[n - 3]), float(at[n - 1] - at[n - 2])
    span = gap + after
    scale = 1.0 / (gap - span * upper[n - 2])
    for k in range(n_columns):
        first = (rows[at[n - 2], k] - rows[at[n - 3], k]) / gap
        second = (rows[at[n - 1], k] - rows[at[n - 2], k]) / after
        last = (after * after * first + (2.0 * span + after) * gap * second) / span
        slopes[n - 1, k] = (last - span * slopes[n - 2, k]) * scale
    for i in range(n - 2, -1, -1):
        for k in range(n_columns):
            slopes[i, k] -= upper[i] * slopes[i + 1, k]
    _fill_between(rows, at, slopes)


@njit(cache=True, nogil=True)
def _fill_between(rows, at, slopes):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Fill the rows between known ones, and those before and after them by the nearest piece."""
    n = at.size
    piece = 0
    for row in range(rows.shape[0]):
        while piece < n - 2 and row > at[piece + 1]:
            piece += 1
        left, right = at[piece], at[piece + 1]
        if row in (left, right):
            continue
        width = float(right - left)
        t = (row - left) / width
        keep, take = (1.0 + 2.0 * t) * (1.0 - t) * (1.0 - t), t * t * (3.0 - 2.0 * t)
        rise, fall = t * (1.0 - t) * (1.0 - t) * width, t * t * (t - 1.0) * width
        for k in range(rows.shape[1]):
            rows[row, k] = (
                keep * rows[left, k] + take * rows[right, k] + rise * slopes[piece, k] + fall * slopes[piece + 1, k]
            )


@njit(cache=True, nogil=True)
def smooth_rows(rows, weights, out):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Weight every row with its neighbours on both sides; rows that lack some are left alone."""
    half, n_columns = weights.size // 2, rows.shape[1]
    flat, flat_out = rows.reshape(-1), out.reshape(-1)
    first, last = half * n_columns, flat.size - half * n_columns
    for begin in range(first, last, SMOOTHED_TOGETHER):
        end = min(begin + SMOOTHED_TOGETHER, last)
        here = flat_out[begin:end]
        here[:] = 0.0
        for m in range(weights.size):  # weight after weight, which processors do for many rows at once
            weight, shifted = weights[m], flat[begin + (m - half) * n_columns : end + (m - half) * n_columns]
            for i in range(here.size):
                here[i] += weight * shifted[i]
