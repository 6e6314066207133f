"""Plain rows of numbers, checked as scikit-learn checks them: successive frames of one animal."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from ethomarkov._core.result import Result
from ethomarkov._core.series import Series
from ethomarkov._core.types import FloatArray
from ethomarkov.exceptions import InputFormatError


def check_rows(estimator: Any, X: object, *, reset: bool) -> FloatArray:  # noqa: ANN401 (any estimator)
    """Check rows for an estimator; those with NaN are missing.

    Parameters
    ----------
    estimator
        That remembers the number and the names of columns.
    X
        ``(frames, columns)``: an array, nested lists or a table of pandas.
    reset
        Whether to remember them anew (in ``fit``), or to compare with what is remembered.
    """
    from sklearn.utils.validation import validate_data

    _check_type(X)
    # scikit-learn's own messages from here on: its checks and its users know them
    rows: FloatArray = validate_data(
        estimator, X, reset=reset, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan"
    )
    return rows


def series_of_rows(rows: FloatArray) -> Series:
    """Make a series of checked rows; their rate does not matter.

    Parameters
    ----------
    rows
        Of one animal, in time.
    """
    largest = float(np.finfo(np.float32).max)
    if (np.abs(rows) > largest).any():
        raise InputFormatError(
            f"Some numbers are beyond {largest:.2g}; microstates are of single precision. Scale them."
        )
    return Series.from_rows(rows, 1.0)


def _check_type(given: object) -> None:
    """Refuse what is no table of numbers, with a word on what to do."""
    if isinstance(given, str | bytes | Mapping) and not sparse.issparse(given):  # some sparse arrays are mappings
        raise InputFormatError(
            f"A {type(given).__name__} was given; rows of numbers are needed, (frames, columns). "
            "Files are read by ethomarkov.read(path), then projected: basis.project(recording)."
        )
    if isinstance(given, Result):
        raise InputFormatError(f"A {type(given).__name__} was given; {_advice(type(given).__name__)}.")
    if isinstance(given, list | tuple) and given and getattr(given[0], "ndim", 0) > 1:
        raise InputFormatError(
            f"A list of {len(given)} arrays was given; plain rows are those of one animal. Make one series of several "
            "animals: ethomarkov.states.Series.from_arrays(arrays, rate=16.0)."
        )


def _advice(name: str) -> str:
    return {
        "Recording": "a Recording has to be projected first: basis.project(recording)",
        "Symbols": "it holds microstates already; a series of postures is needed",
    }.get(name, "a Series or rows of numbers (frames, columns) are needed")
