"""Names for the array types used throughout."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.floating[Any]]
IntArray = NDArray[np.integer[Any]]
BoolArray = NDArray[np.bool_]
ComplexArray = NDArray[np.complexfloating[Any, Any]]

PlainArrays = ArrayLike | Sequence[ArrayLike] | Mapping[str, ArrayLike]
"""Numbers of one animal, or of several in a list or under their names: arrays, nested lists, tables of pandas."""

Progress = Callable[[str, int, int], None]
"""Called as ``progress(what, done, total)`` by work that takes more than a moment."""
