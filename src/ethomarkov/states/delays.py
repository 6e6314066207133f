"""Posture sequences: the state of an animal is what it did in the last fraction of a second."""

import numpy as np
from numpy.lib.stride_tricks import as_strided
from sklearn.base import BaseEstimator, TransformerMixin

from ethomarkov._core.series import Series
from ethomarkov.exceptions import SamplingError


class DelayEmbedding(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Stack successive frames into sequences.

    Parameters
    ----------
    n_delays
        Frames per sequence, K.

    Notes
    -----
    SI, "Maximally predictive states". A sequence lists its frames from the oldest to the newest and is kept at its
    middle frame (left of the middle for even K). Sequences never reach across a gap or an animal.

    Neighbouring sequences share their frames in memory, so that sequences take no more room than postures. Take them
    out piece by piece (`Series.blocks`) where there are many.
    """

    def __init__(self, n_delays: int = 11) -> None:
        self.n_delays = n_delays

    def fit(self, series: Series, y: None = None) -> "DelayEmbedding":
        """Do nothing; there is nothing to learn."""
        return self

    def transform(self, series: Series) -> Series:
        """Return the series of sequences, with the gaps they lead to."""
        length, before = self.n_delays, (self.n_delays - 1) // 2
        if length < 1:
            raise SamplingError(f"n_delays={length}; a sequence has at least one frame.")
        starts = series.segments.window_starts(length)
        if starts.size == 0:
            longest = series.segments.longest()
            raise SamplingError(
                f"n_delays={length} leaves no sequence: the longest gap-free stretch is {longest} frames. "
                f"Use at most {longest}, or fill short gaps first."
            )
        n_rows, n_components = series.values.shape
        # Frames must follow each other in memory, whatever the order of the postures: the view below relies on it.
        frames = np.full((n_rows + length - 1, n_components), np.nan, dtype=np.float32, order="C")
        frames[before : before + n_rows] = series.values
        return Series(
            values=as_strided(frames, (n_rows, length * n_components), frames.strides, writeable=False),
            segments=series.segments.trim(before, length - 1 - before),
            sampling=series.sampling,
        )
