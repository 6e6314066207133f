"""Curvature and tangent angle along the body."""

from typing import Literal

import numpy as np

from ethomarkov._core.series import Series
from ethomarkov._core.types import FloatArray
from ethomarkov.exceptions import InputFormatError

BodyQuantity = Literal["curvature", "angle"]
CURVATURE_PARTS = 10
"""Share of the body, one over this, to which parabolas are fitted."""


def body_rows(angles: Series, quantity: BodyQuantity) -> FloatArray:
    """Compute curvature or tangent angle along the body, one row per frame, head first.

    Parameters
    ----------
    angles
        Tangent angles, as from `PostureBasis.reconstruct`.
    quantity
        "curvature" is the slope of the angle along the body, of parabolas fitted to a tenth of it, which takes out the
        rounding of published modes; "angle" is the tangent angle, whose mean over the body is zero.
    """
    from scipy.signal import savgol_filter

    if angles.n_components < 3:
        raise InputFormatError(f"The body has {angles.n_components} segments; at least three have a curvature.")
    if quantity == "angle":
        return angles.values
    if quantity == "curvature":
        n = angles.n_components
        width = max(3, 2 * (n // CURVATURE_PARTS // 2) + 1)
        known, rows = angles.segments.valid, np.full(angles.values.shape, np.nan)
        rows[known] = savgol_filter(angles.values[known], width, 2, deriv=1, delta=1 / n, axis=1)
        return rows
    raise InputFormatError(f"quantity={quantity!r} is not known. Use 'curvature' or 'angle'.")
