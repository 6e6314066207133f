"""What animals that were left out say about a length of sequences and a number of microstates."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from ethomarkov._core.random import generator
from ethomarkov._core.segments import Segments
from ethomarkov._core.series import Series
from ethomarkov._core.types import BoolArray, FloatArray, IntArray
from ethomarkov.selection.folds import Folds
from ethomarkov.states.delays import DelayEmbedding
from ethomarkov.states.partition import principal_directions

ROWS_PER_STATE, FEWEST_ROWS, MOST_ROWS = 40, 5_000, 30_000
"""Sequences from which trial microstates are found."""
ITERATIONS = 10
N_CELLS = 64
"""Into which the future block is divided; the same for all candidates."""
PRIOR = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Times of a trial, in frames, that do not depend on the candidate.

    Parameters
    ----------
    reach
        Longest sequence that is tried.
    far
        Lags at which memory is measured; no two sequences so far apart overlap. The last one only tells how fast it
        decays.
    fit_lag
        Lag of the chain whose slow mode is followed.
    block
        Length of the future block that is predicted.
    """

    reach: int
    far: tuple[int, ...]
    fit_lag: int
    block: int

    @classmethod
    def from_reach(cls, reach: int) -> "Scale":
        """Set all times by the longest sequence."""
        far = tuple(sorted({max(1, round(share * reach)) for share in (1.5, 1.75, 2.0, 2.25, 2.5, 4.0)}))
        return cls(reach=reach, far=far, fit_lag=max(1, reach // 2), block=max(1, reach // 2))


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """Sums over every unit that was left out, from which scores and their errors follow.

    Parameters
    ----------
    moments
        Of the slow mode that the others define: variance, then products at the lags of the scale, one row per unit.
    n_pairs
        How many products of each.
    information
        Nats that the state tells about the future block, summed; one entry per unit.
    n_blocks
        How many blocks.
    eigenvalue
        Of the slow mode where it was learned, mean over folds.
    """

    moments: FloatArray
    n_pairs: FloatArray
    information: FloatArray
    n_blocks: FloatArray
    eigenvalue: float

    def autocorrelation(self, weights: FloatArray | None = None) -> FloatArray:
        """Memory of the slow mode at the lags of the scale, of units with some weights."""
        units = np.ones(len(self.moments)) if weights is None else weights
        mean = (units @ self.moments) / np.maximum(units @ self.n_pairs, 1)
        return np.asarray(mean[1:] / mean[0]) if mean[0] > 0 else np.zeros(mean.size - 1)

    def memory(self, weights: FloatArray | None = None) -> float:
        """Mean autocorrelation of the slow mode at lags at which no sequences overlap."""
        return float(self.autocorrelation(weights)[:-1].mean())

    def nats(self, weights: FloatArray | None = None) -> float:
        """Information about the future block."""
        units = np.ones(len(self.moments)) if weights is None else weights
        return float(units @ self.information / max(units @ self.n_blocks, 1))


def try_candidate(
    postures: Series, folds: Folds, scale: Scale, candidate: tuple[int, int], seed: int, *, future: IntArray
) -> Trial:
    """Learn microstates and their slow mode from all folds but one, and look at the one; each in turn.

    Parameters
    ----------
    postures, folds
        The recording, and what is left out.
    scale
        Of times.
    candidate
        Frames per sequence, and microstates.
    seed
        Of the microstates.
    future
        Cell of the block that follows every row; ``-1`` where there is none.
    """
    n_delays, n_states = candidate
    sequences = DelayEmbedding(n_delays).transform(postures)
    ends = n_delays - 1 - (n_delays - 1) // 2  # a sequence is kept at its middle, and ends so many frames later
    n_lags = 1 + len(scale.far)
    moments, n_pairs = np.zeros((folds.n_units, n_lags)), np.zeros((folds.n_units, n_lags))
    information, n_blocks, eigenvalues = np.zeros(folds.n_units), np.zeros(folds.n_units), []
    for fold in range(folds.n_folds):
        learned = folds.learned(fold)
        labels = label_by_others(sequences, learned, n_states, generator(seed, "trial", n_delays, n_states, fold))
        counts = _count(labels, sequences.segments, folds, scale.fit_lag, learned, n_states)
        eigenvalue, mode = slowest_mode(counts)
        eigenvalues.append(eigenvalue)
        _add_moments(mode, labels, sequences.segments, folds, ~learned, scale, (moments, n_pairs))
        after = np.roll(future, -ends)
        after[len(after) - ends :] = -1
        _add_information(labels, after, sequences.segments.valid, folds, learned, n_states, (information, n_blocks))
    return Trial(
        moments=moments,
        n_pairs=n_pairs,
        information=information,
        n_blocks=n_blocks,
        eigenvalue=float(np.mean(eigenvalues)),
    )


def future_cells(postures: Series, folds: Folds, block: int, seed: int) -> IntArray:
    """Divide what follows every frame into cells: what is to be predicted, whatever the candidate.

    Parameters
    ----------
    postures, folds
        The recording; a block lies within one animal or block of time.
    block
        Frames that follow a frame.
    seed
        Of the cells.
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
    """Find microstates in some of the sequences, and label all; ``-1`` where there is no sequence."""
    from ethomarkov.states.kmeans import NearestCenters, lloyd, seed_order

    rows = np.flatnonzero(sequences.segments.valid)
    own = rows[learned[rows]]
    n_used = min(own.size, MOST_ROWS, max(ROWS_PER_STATE * n_states, FEWEST_ROWS))
    used = own[np.sort(rng.choice(own.size, n_used, replace=False))]
    sample = sequences.values[used]
    mean, directions = principal_directions(sample, n_states)
    points = ((sample - mean) @ directions).astype(np.float32)
    centers = points[seed_order(points, n_states, rng)]
    nearest = NearestCenters(lloyd(points, centers, max_iterations=ITERATIONS).centers)
    labels = np.full(len(sequences.values), -1, dtype=np.int32)
    for block, values in sequences.blocks():
        labels[block] = nearest.label(((values - mean) @ directions).astype(np.float32))
    return labels


def slowest_mode(counts: FloatArray) -> tuple[float, FloatArray]:
    """Slowest mode of counts averaged with those of reversed time, its value zero in states that were not seen."""
    flux = counts + counts.T
    weight = flux.sum(axis=1)
    seen = np.flatnonzero(weight > 0)
    mode = np.zeros(len(counts))
    if seen.size < 2:
        return 0.0, mode
    root = np.sqrt(weight[seen])
    symmetric = flux[np.ix_(seen, seen)] / np.outer(root, root)
    values, vectors = eigh(symmetric, subset_by_index=[seen.size - 2, seen.size - 1])
    mode[seen] = vectors[:, 0] / root * np.sqrt(weight.sum())
    return float(values[0]), mode


def _count(
    labels: IntArray, segments: Segments, folds: Folds, lag: int, learned: BoolArray, n_states: int
) -> FloatArray:
    first, last = folds.pairs(segments, lag)
    used = learned[first]
    pairs = labels[first[used]].astype(np.int64) * n_states + labels[last[used]]
    return np.bincount(pairs, minlength=n_states**2).reshape(n_states, n_states).astype(float)


def _add_moments(
    mode: FloatArray,
    labels: IntArray,
    segments: Segments,
    folds: Folds,
    left_out: BoolArray,
    scale: Scale,
    sums: tuple[FloatArray, FloatArray],
) -> None:
    values = np.where(labels >= 0, mode[labels], 0.0)
    here = left_out & segments.valid
    if not here.any():
        return
    values = values - values[here].mean()
    moments, n_pairs = sums
    for k, lag in enumerate((0, *scale.far)):
        first, last = folds.pairs(segments, lag) if lag else (np.flatnonzero(here),) * 2
        used = left_out[first]
        units, products = folds.unit[first[used]], values[first[used]] * values[last[used]]
        moments[:, k] += np.bincount(units, products, folds.n_units)
        n_pairs[:, k] += np.bincount(units, minlength=folds.n_units)


def _add_information(
    labels: IntArray,
    future: IntArray,
    valid: BoolArray,
    folds: Folds,
    learned: BoolArray,
    n_states: int,
    sums: tuple[FloatArray, FloatArray],
) -> None:
    """Add what the state of rows left out tells about the future, by the law that the others define."""
    known = valid & (future >= 0)
    n_cells = int(future.max(initial=1)) + 1
    train, test = np.flatnonzero(known & learned), np.flatnonzero(known & ~learned)
    joint = np.bincount(labels[train].astype(np.int64) * n_cells + future[train], minlength=n_states * n_cells)
    joint = joint.reshape(n_states, n_cells).astype(float)
    law = (joint.sum(axis=0) + PRIOR) / (joint.sum() + PRIOR * n_cells)
    given = (joint + PRIOR * n_cells * law) / (joint.sum(axis=1, keepdims=True) + PRIOR * n_cells)
    gained = np.log(given[labels[test], future[test]] / law[future[test]])
    sums[0][:] += np.bincount(folds.unit[test], gained, folds.n_units)
    sums[1][:] += np.bincount(folds.unit[test], minlength=folds.n_units)
