"""Posture sequences: the state of an animal is what it did in the last fraction of a second."""

from typing import Any, overload

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin

from ethomarkov._core.arrays import is_count
from ethomarkov._core.segments import Segments
from ethomarkov._core.series import Series
from ethomarkov._core.types import FloatArray
from ethomarkov.exceptions import SamplingError
from ethomarkov.states.rows import check_rows


class DelayEmbedding(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Stack successive frames into sequences.

    Parameters
    ----------
    n_delays
        Frames per sequence, K.

    Attributes
    ----------
    n_features_in_
        Columns of what was fitted.
    feature_names_in_
        Their names, where a table was fitted.

    Notes
    -----
    SI, "Maximally predictive states". A sequence lists its frames from the oldest to the newest and is kept at its
    middle frame (left of the middle for even K). Sequences never reach across a gap or an animal.

    Of a `Series`, neighbouring sequences share their frames in memory, so that sequences take no more room than
    postures. Take them out piece by piece (`Series.blocks`) where there are many.

    Rows of a plain array are successive frames of one animal, and a row with NaN is missing. The result has as many
    rows, with NaN where no sequence fits, so that it stays aligned with the frames.

    Examples
    --------
    >>> DelayEmbedding(n_delays=3).fit_transform([[1.0], [2.0], [4.0], [8.0]]).tolist()
    [[nan, nan, nan], [1.0, 2.0, 4.0], [2.0, 4.0, 8.0], [nan, nan, nan]]
    """

    def __init__(self, n_delays: int = 11) -> None:
        self.n_delays = n_delays

    def fit(self, X: Series | ArrayLike, y: object = None) -> "DelayEmbedding":
        """Check the columns; there is nothing to learn.

        Parameters
        ----------
        X
            A series, or plain rows of one animal.
        y
            Ignored.
        """
        self._check_length()
        if isinstance(X, Series):
            self.n_features_in_ = X.n_components
        else:
            check_rows(self, X, reset=True)
        return self

    @overload
    def transform(self, X: Series) -> Series: ...

    @overload
    def transform(self, X: ArrayLike) -> FloatArray: ...

    def transform(self, X: Series | ArrayLike) -> Series | FloatArray:
        """Return the sequences: a series with the gaps they lead to, or plain rows for plain rows.

        Parameters
        ----------
        X
            A series, or plain rows of one animal.
        """
        self._check_length()
        if isinstance(X, Series):
            return self._embed_series(X)
        rows = check_rows(self, X, reset=False)
        segments = self._middles(Segments.from_valid(np.asarray(np.isfinite(rows).all(axis=1))))
        sequences = np.full((len(rows), self.n_delays * rows.shape[1]), np.nan, dtype=rows.dtype)
        for start, stop, _ in segments:
            for place, shift in enumerate(self._shifts()):
                columns = slice(place * rows.shape[1], (place + 1) * rows.shape[1])
                sequences[start:stop, columns] = rows[start + shift : stop + shift]
        return sequences

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
        """Name every column of the sequences: the column that was stacked, and its frame relative to the middle one.

        Parameters
        ----------
        input_features
            Names of the columns; those that were fitted by default.

        Examples
        --------
        >>> DelayEmbedding(n_delays=2).fit([[1.0, 2.0], [3.0, 4.0]]).get_feature_names_out(["a1", "a2"]).tolist()
        ['a1_t+0', 'a2_t+0', 'a1_t+1', 'a2_t+1']
        """
        from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

        check_is_fitted(self, "n_features_in_")
        names = _check_feature_names_in(self, input_features)
        return np.array([f"{name}_t{shift:+d}" for shift in self._shifts() for name in names], dtype=object)

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401 (scikit-learn has no types)
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.requires_fit = False
        return tags

    def _check_length(self) -> None:
        if not is_count(self.n_delays):
            raise SamplingError(
                f"n_delays={self.n_delays!r}; a sequence has at least one frame. Use a whole number from 1 on."
            )

    def _shifts(self) -> range:
        """Frames of a sequence, relative to the one at which it is kept."""
        before = (self.n_delays - 1) // 2
        return range(-before, self.n_delays - before)

    def _middles(self, segments: Segments) -> Segments:
        """Find the frames at which sequences are kept."""
        if segments.longest() < self.n_delays:
            longest = segments.longest()
            raise SamplingError(
                f"n_delays={self.n_delays} leaves no sequence: the longest gap-free stretch is {longest} frames. "
                f"Use at most {longest}, or fill short gaps first."
            )
        shifts = self._shifts()
        return segments.trim(-shifts[0], shifts[-1])

    def _embed_series(self, series: Series) -> Series:
        segments = self._middles(series.segments)
        length, before = self.n_delays, -self._shifts()[0]
        n_rows, n_components = series.values.shape
        # Frames must follow each other in memory, whatever the order of the postures: the view below relies on it.
        frames = np.full((n_rows + length - 1, n_components), np.nan, dtype=np.float32, order="C")
        frames[before : before + n_rows] = series.values
        return Series(
            values=as_strided(frames, (n_rows, length * n_components), frames.strides, writeable=False),
            segments=segments,
            sampling=series.sampling,
        )
