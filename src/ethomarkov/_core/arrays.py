"""Plain arrays, lists and tables of numbers, as people have them at hand."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ethomarkov._core.result import Result
from ethomarkov._core.sampling import Sampling
from ethomarkov._core.types import FloatArray, IntArray
from ethomarkov.exceptions import InputFormatError, SamplingError

NUMBERS = "iuf"
OWN = {
    "Recording": "Project it first, basis.project(recording), or take its numbers: recording.values.",
    "Series": "Take its numbers: series.values.",
    "Symbols": "Take its labels: symbols.labels.",
}
NO_NUMBERS = "See its fields."
"""What to do with results of this package where plain arrays are needed."""
LARGEST_LABEL = 2**31 - 2
"""States are numbered in 32 bits."""
SAME_RATE = 1e-9
"""Relative difference of two rates that are one: the rounding of a rate that was written and read."""


def named_arrays(
    given: object, n_axes: int, what: str, individuals: Sequence[str] | None = None
) -> dict[str, FloatArray]:
    """Collect the arrays of one animal or of several under the names of the animals.

    Parameters
    ----------
    given
        One array, a list of arrays (one per animal) or a mapping from name to array; lists of numbers and tables of
        pandas count as arrays.
    n_axes
        Axes that the array of one animal has. A list that is one level deeper is one of animals.
    what
        What the numbers are, for the error.
    individuals
        Names of the animals; animal_1, animal_2 … by default, the keys of a mapping otherwise.

    Examples
    --------
    >>> {name: rows.shape for name, rows in named_arrays([[[1, 2]], [[3, 4], [5, 6]]], 2, "angles").items()}
    {'animal_1': (1, 2), 'animal_2': (2, 2)}
    """
    if isinstance(given, Mapping):
        names, parts = [str(name) for name in given], list(given.values())
    else:
        parts = list(given) if isinstance(given, list | tuple) and _depth(given) > n_axes else [given]
        names = [f"animal_{k}" for k in range(1, len(parts) + 1)]
    if not parts:
        raise InputFormatError(f"{what}: no animal was given; an array, or a list of arrays, is needed.")
    names = names if individuals is None else _checked_names(individuals, len(parts))
    return {name: numbers(part, f"{what} of {name!r}") for name, part in zip(names, parts, strict=True)}


def numbers(value: object, what: str) -> FloatArray:
    """Convert an array, nested lists or a table of pandas to an array of numbers; masked entries become NaN.

    Parameters
    ----------
    value
        To be converted.
    what
        What it is, for the error.
    """
    found = _converted(value, what)
    if np.isinf(found).any():
        raise InputFormatError(f"{what} hold infinite numbers; use NaN for what is missing.")
    return found


def _converted(value: object, what: str) -> FloatArray:
    if isinstance(value, Result):
        name = type(value).__name__
        raise InputFormatError(f"{what}: a {name} was given, and plain numbers are needed. {OWN.get(name, NO_NUMBERS)}")
    if isinstance(value, np.ma.MaskedArray):
        return np.ma.filled(value.astype(float), np.nan)
    columns: Any = getattr(value, "dtypes", None)  # of a table, which is not imported here for its type
    if hasattr(columns, "items"):
        return _table_numbers(value, columns, what)
    try:
        found = np.asarray(value)
    except (ValueError, TypeError) as error:
        raise InputFormatError(
            f"{what} are lists of different lengths; every frame needs as many numbers. Use NaN for what is missing."
        ) from error
    if found.dtype.kind not in NUMBERS or found.ndim == 0:
        raise InputFormatError(
            f"{what} are {_in_words(value, found)}; an array of numbers is needed, NaN where one is missing. "
            f"{_advice(value)}"
        )
    return found if found.dtype.kind == "f" else found.astype(float)


def whole_numbers(values: FloatArray, what: str) -> IntArray:
    """Convert numbers that are whole to integers, with −1 where they are missing (NaN or −1).

    Parameters
    ----------
    values
        Of any type.
    what
        What they are, for the error.
    """
    known = np.where(np.isnan(values), -1.0, values)
    odd = np.flatnonzero((known != np.round(known)) | (known < -1) | (known > LARGEST_LABEL))
    if odd.size:
        raise InputFormatError(
            f"{what} hold {known[odd[0]]:g} at frame {odd[0]}; whole numbers from 0 on are needed, and -1 for what is "
            "missing. Number the states first: numpy.unique(labels, return_inverse=True)."
        )
    return known.astype(np.int64)


def is_count(value: object, least: int = 1) -> bool:
    """Tell whether a value is a whole number that is large enough; truth values are none.

    Examples
    --------
    >>> is_count(3), is_count(np.int64(3)), is_count(0), is_count(True), is_count(2.0)
    (True, True, False, False, False)
    """
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(value >= least)


def one_rate(rate: float | None, sampling: Sampling | None, what: str) -> Sampling:
    """Decide which rate counts: that of plain arrays has to be given, data that know theirs need none.

    Parameters
    ----------
    rate
        As given, in frames per second.
    sampling
        That the data know; None for plain arrays.
    what
        What the data are, for the error.
    """
    if sampling is None:
        if rate is None:
            raise SamplingError(f"{what} are plain arrays, whose rate is unknown. State frames per second: rate=16.0.")
        return Sampling(rate)
    if rate is not None and abs(Sampling(rate).rate / sampling.rate - 1) > SAME_RATE:
        raise SamplingError(
            f"rate={rate:g} was given, but {what[0].lower()}{what[1:]} are sampled at {sampling.rate:g} Hz. "
            "Leave out the rate."
        )
    return sampling


def _depth(value: Any) -> int:  # noqa: ANN401 (anything that may be an array)
    """Count the axes of an array, or of nested lists by their first entries."""
    if isinstance(value, list | tuple):
        return 1 + (_depth(value[0]) if value else 0)
    return int(getattr(value, "ndim", 0))


def _checked_names(individuals: Sequence[str], n_animals: int) -> list[str]:
    names = [individuals] if isinstance(individuals, str) else [str(name) for name in individuals]
    if len(names) != n_animals:
        raise InputFormatError(f"{len(names)} names were given for {n_animals} animals; give one name for each.")
    if len(set(names)) < n_animals:
        repeated = next(name for name in names if names.count(name) > 1)
        raise InputFormatError(f"Two animals are named {repeated!r}; give each its own name.")
    return names


def _table_numbers(table: Any, columns: Any, what: str) -> FloatArray:  # noqa: ANN401 (of pandas)
    odd = [str(name) for name, kind in columns.items() if getattr(kind, "kind", "O") not in NUMBERS]
    if odd:
        raise InputFormatError(
            f"{what} have columns without numbers: {', '.join(odd[:5])}. Drop them: table.drop(columns={odd[:5]})."
        )
    return np.asarray(table.to_numpy(dtype=float, na_value=np.nan))


def _in_words(value: object, found: np.ndarray) -> str:
    if found.ndim == 0:
        return f"a single {type(value).__name__}"
    return f"of type {found.dtype}"


def _advice(value: object) -> str:
    if isinstance(value, str):
        return "A file is read by ethomarkov.read(path)."
    return "Convert them first: numpy.asarray(values, dtype=float)."
