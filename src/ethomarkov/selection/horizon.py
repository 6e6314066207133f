"""How far ahead postures can be predicted: the timescale of all comparisons."""

import numpy as np

from ethomarkov._core.series import Series
from ethomarkov._core.types import FloatArray, IntArray
from ethomarkov.selection.folds import Folds

PAST_FRAMES = (0, 1, 2, 4, 8)
"""Frames before the present from which the future is predicted."""
PREDICTABLE = 0.1
"""Share of the variance that must be predicted."""
N_LAGS = 40
MOST_ROWS, FEWEST_ROWS = 20_000, 200
RIDGE = 1e-6


def predictability_horizon(postures: Series, folds: Folds) -> int:
    """Find the first lag, in frames, at which less than a tenth of the held-out variance is predicted.

    Parameters
    ----------
    postures
        Components are given equal weight.
    folds
        Parts that are held out in turn.

    Notes
    -----
    The prediction is linear, from the present and a few frames before it: the horizon only sets the scale of windows
    and lags that are tried, and needs no number that depends on the animal or the frame rate.
    """
    values = np.asarray(postures.values, dtype=float)
    known = values[postures.segments.valid]
    spread = known.std(axis=0)
    scaled = (values - known.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    longest = max(1, postures.segments.longest() // 4 - PAST_FRAMES[-1])
    lags = np.unique(np.geomspace(1, longest, N_LAGS).round().astype(int))
    for lag in lags.tolist():
        share = _predicted_share(scaled, _present(postures, lag, folds), lag, folds)
        if not share >= PREDICTABLE:
            return int(lag)
    return int(lags[-1])


def _present(postures: Series, lag: int, folds: Folds) -> IntArray:
    """List rows with a past and a future in the same animal or block, at most MOST_ROWS."""
    reach = PAST_FRAMES[-1]
    rows = postures.segments.window_starts(reach + lag + 1) + reach
    rows = rows[folds.unit[rows - reach] == folds.unit[rows + lag]]
    return np.asarray(rows[:: max(1, rows.size // MOST_ROWS)])


def _predicted_share(scaled: FloatArray, rows: IntArray, lag: int, folds: Folds) -> float:
    if rows.size < FEWEST_ROWS:
        return float("nan")
    past = np.concatenate([scaled[rows - back] for back in PAST_FRAMES] + [np.ones((rows.size, 1))], axis=1)
    future, fold = scaled[rows + lag], folds.fold[rows]
    missed = total = 0.0
    for left_out in np.unique(fold):
        train, test = fold != left_out, fold == left_out
        if not train.any():
            return float("nan")
        gram = past[train].T @ past[train] + RIDGE * train.sum() * np.eye(past.shape[1])
        weights = np.linalg.solve(gram, past[train].T @ future[train])
        missed += float(np.square(future[test] - past[test] @ weights).sum())
        total += float(np.square(future[test] - future[train].mean(axis=0)).sum())
    return 1 - missed / total if total > 0 else float("nan")
