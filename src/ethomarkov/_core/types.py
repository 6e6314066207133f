"""Names for the array types used throughout."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating[Any]]
IntArray = NDArray[np.integer[Any]]
BoolArray = NDArray[np.bool_]
ComplexArray = NDArray[np.complexfloating[Any, Any]]

Progress = Callable[[str, int, int], None]
"""Called as ``progress(what, done, total)`` by work that takes more than a moment."""
