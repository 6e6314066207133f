"""Held-out scores of a sequence length and a number of microstates."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from ethomarkov._core.random import generator
from ethomarkov._core.segments import Segments
from ethomarkov._core.series import Series
from ethomarkov._core.types import BoolArray, FloatArray, IntArray
from ethomarkov.selection.folds import Folds
from ethomarkov.states.delays import DelayEmbedding
from ethomarkov.states.partition import principal_directions, seed_rows

ROWS_PER_STATE, FEWEST_ROWS, MOST_ROWS = 40, 5_000, 30_000
"""Sequences from which trial microstates are learned."""
ITERATIONS = 10
N_CELLS = 64
"""Cells into which the future block is divided; the same for all candidates."""
N_MODES = 4
"""Slow modes that are followed, at most."""
PRIOR = 1.0
FAR_SHARES, FIT_SHARES = (1.5, 1.75, 2.0, 2.25, 2.5, 4.0), (0.25, 0.4, 0.6, 0.85)
"""Lags of a trial, in longest sequences."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Times of a trial, in frames, that do not depend on the candidate.

    Parameters
    ----------
    reach
        Longest sequence that is tried.
    far
        Lags at which memory is measured; sequences this far apart do not overlap. The last one is only used for the
        decay.
    fit_lags
        Lags of the transitions whose slow modes are computed, together: a wave that is sampled every full turn at one
        of them is not at the others.
    block
        Length of the future block that is predicted.
    """

    reach: int
    far: tuple[int, ...]
    fit_lags: tuple[int, ...]
    block: int

    @classmethod
    def from_reach(cls, reach: int) -> "Scale":
        """Derive all times from the longest sequence."""
        far, fit_lags = (
            tuple(sorted({max(1, round(share * reach)) for share in shares})) for shares in (FAR_SHARES, FIT_SHARES)
        )
        return cls(reach=reach, far=far, fit_lags=fit_lags, block=max(1, reach // 2))


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """Sums over every held-out unit, from which scores and their errors follow.

    Parameters
    ----------
    moments
        Of the slow modes defined by the other units: variance, then products at the lags of the scale; one entry per
        unit and mode, the slowest first.
    n_pairs
        Number of products of each, one row per unit.
    information
        Information of the microstate about the future block in nats, summed; one entry per unit.
    n_blocks
        Number of blocks.
    """

    moments: FloatArray
    n_pairs: FloatArray
    information: FloatArray
    n_blocks: FloatArray

    def autocorrelation(self, weights: FloatArray | None = None) -> FloatArray:
        """Compute the autocorrelation of every slow mode (row) at the lags of the scale, for weighted units."""
        units = np.ones(len(self.moments)) if weights is None else weights
        mean = np.tensordot(units, self.moments, 1) / np.maximum(np.asarray(units @ self.n_pairs), 1.0)
        variance = mean[:, :1]
        curves: FloatArray = np.divide(mean[:, 1:], variance, out=np.zeros(mean[:, 1:].shape), where=variance > 0)
        return curves

    def memory(self, weights: FloatArray | None = None) -> FloatArray:
        """Compute the mean autocorrelation of every slow mode at lags at which no sequences overlap."""
        return np.asarray(self.autocorrelation(weights)[:, :-1].mean(axis=1))

    def nats(self, weights: FloatArray | None = None) -> float:
        """Compute the mean information about the future block, in nats."""
        units = np.ones(len(self.moments)) if weights is None else weights
        return float(units @ self.information) / max(float(units @ self.n_blocks), 1.0)


def try_candidate(
    postures: Series, folds: Folds, scale: Scale, candidate: tuple[int, int], seed: int, *, future: IntArray
) -> Trial:
    """Learn microstates and their slow modes from all folds but one, and score the held-out one; each in turn.

    Parameters
    ----------
    postures, folds
        The recording, and the parts that are held out.
    scale
        Of times.
    candidate
        Frames per sequence, and microstates.
    seed
        Random seed of the microstates.
    future
        Cell of the block that follows every row; ``-1`` where there is none.
    """
    n_delays, n_states = candidate
    sequences = DelayEmbedding(n_delays).transform(postures)
    ends = n_delays - 1 - (n_delays - 1) // 2  # a sequence is labelled at its middle, and ends this many frames later
    after = np.roll(future, -ends)
    after[len(after) - ends :] = -1
    n_lags = 1 + len(scale.far)
    sums = Trial(
        moments=np.zeros((folds.n_units, N_MODES, n_lags)),
        n_pairs=np.zeros((folds.n_units, n_lags)),
        information=np.zeros(folds.n_units),
        n_blocks=np.zeros(folds.n_units),
    )
    for fold in range(folds.n_folds):
        rows = _Rows(segments=sequences.segments, folds=folds, learned=folds.learned(fold), n_states=n_states)
        rng = generator(seed, "trial", n_delays, n_states, fold)
        labels = label_by_others(sequences, rows.learned, n_states, rng)
        modes = slowest_modes(_count(labels, rows, scale.fit_lags))
        _add_moments(sums, modes, labels, rows, scale)
        _add_information(sums, labels, after, rows)
    return sums


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """Rows of sequences, and which of them are in the training set while a fold is held out."""

    segments: Segments
    folds: Folds
    learned: BoolArray
    n_states: int


def future_cells(postures: Series, folds: Folds, block: int, seed: int) -> IntArray:
    """Divide the future of every frame into cells: the target of prediction, the same for all candidates.

    Parameters
    ----------
    postures, folds
        The recording; a block lies within one animal or block of time.
    block
        Frames that follow a frame.
    seed
        Random seed of the cells.
    """
    sequences = DelayEmbedding(block).transform(postures)
    everything = np.ones(len(sequences.values), dtype=bool)
    n_cells = max(2, min(N_CELLS, int(sequences.segments.count_rows().sum()) // 20))
    middle = label_by_others(sequences, everything, n_cells, generator(seed, "future", block))
    before = (block - 1) // 2 + 1  # from the middle of the block back to the frame before it
    cells = np.full(len(middle), -1, dtype=np.int32)
    cells[: len(middle) - before] = middle[before:]
    last = np.minimum(np.arange(len(cells)) + block, len(cells) - 1)
    known = postures.segments.valid & (folds.unit == folds.unit[last])
    return np.where(known, cells, -1).astype(np.int32)


def label_by_others(sequences: Series, learned: BoolArray, n_states: int, rng: np.random.Generator) -> IntArray:
    """Learn microstates from some of the sequences, and label all; ``-1`` where there is no sequence."""
    from ethomarkov.states.kmeans import NearestCenters, lloyd

    rows = np.flatnonzero(sequences.segments.valid)
    own = rows[learned[rows]]
    n_used = min(own.size, MOST_ROWS, max(ROWS_PER_STATE * n_states, FEWEST_ROWS))
    used = own[np.sort(rng.choice(own.size, n_used, replace=False))]
    sample = sequences.values[used]
    mean, directions = principal_directions(sample, n_states)
    points = ((sample - mean) @ directions).astype(np.float32)
    centers = points[seed_rows(points, n_states, rng)]
    nearest = NearestCenters(lloyd(points, centers, max_iterations=ITERATIONS).centers)
    labels = np.full(len(sequences.values), -1, dtype=np.int32)
    for block, values in sequences.blocks():
        labels[block] = nearest.label(((values - mean) @ directions).astype(np.float32))
    return labels


def slowest_modes(counts: FloatArray) -> FloatArray:
    """Compute the slowest modes of counts averaged with those of reversed time: one row each, zero where unvisited.

    Parameters
    ----------
    counts
        Of transitions.
    """
    flux = counts + counts.T
    weight = flux.sum(axis=1)
    seen = np.flatnonzero(weight > 0)
    modes = np.zeros((N_MODES, len(counts)))
    n_modes = min(N_MODES, seen.size - 1)
    if n_modes < 1:
        return modes
    root = np.sqrt(weight[seen])
    symmetric = flux[np.ix_(seen, seen)] / np.outer(root, root)
    _, vectors = eigh(symmetric, subset_by_index=[seen.size - 1 - n_modes, seen.size - 2])
    modes[:n_modes, seen] = vectors.T[::-1] / root * np.sqrt(weight.sum())
    return modes


def _count(labels: IntArray, rows: _Rows, lags: tuple[int, ...]) -> FloatArray:
    counts = np.zeros(rows.n_states**2)
    for lag in lags:
        first, last = rows.folds.pairs(rows.segments, lag)
        used = rows.learned[first]
        pairs = labels[first[used]].astype(np.int64) * rows.n_states + labels[last[used]]
        counts += np.bincount(pairs, minlength=counts.size)
    return counts.reshape(rows.n_states, -1)


def _add_moments(sums: Trial, modes: FloatArray, labels: IntArray, rows: _Rows, scale: Scale) -> None:
    """Add products of the modes, on held-out rows, at the lags of the scale."""
    here = ~rows.learned & rows.segments.valid
    if not here.any():
        return
    values = np.where(labels >= 0, modes[:, labels], 0.0)
    values -= values[:, here].mean(axis=1, keepdims=True)
    folds = rows.folds
    for k, lag in enumerate((0, *scale.far)):
        first, last = folds.pairs(rows.segments, lag) if lag else (np.flatnonzero(here),) * 2
        used = ~rows.learned[first]
        first, last = first[used], last[used]
        sums.n_pairs[:, k] += np.bincount(folds.unit[first], minlength=folds.n_units)
        for j, mode in enumerate(values):
            sums.moments[:, j, k] += np.bincount(folds.unit[first], mode[first] * mode[last], folds.n_units)


def _add_information(sums: Trial, labels: IntArray, future: IntArray, rows: _Rows) -> None:
    """Add the information of held-out microstates about the future, by the law of the training set."""
    known, unit = rows.segments.valid & (future >= 0), rows.folds.unit
    n_cells = int(future.max(initial=1)) + 1
    train, test = np.flatnonzero(known & rows.learned), np.flatnonzero(known & ~rows.learned)
    pairs = labels[train].astype(np.int64) * n_cells + future[train]
    joint = np.bincount(pairs, minlength=rows.n_states * n_cells).reshape(rows.n_states, n_cells).astype(float)
    law = (joint.sum(axis=0) + PRIOR) / (joint.sum() + PRIOR * n_cells)
    given = (joint + PRIOR * n_cells * law) / (joint.sum(axis=1, keepdims=True) + PRIOR * n_cells)
    gained = np.log(given[labels[test], future[test]] / law[future[test]])
    sums.information[:] += np.bincount(unit[test], gained, rows.folds.n_units)
    sums.n_blocks[:] += np.bincount(unit[test], minlength=rows.folds.n_units)
