"""Curvature along the body."""

import numpy as np
import pytest

from ethomarkov._core.series import Series
from ethomarkov.exceptions import InputFormatError
from ethomarkov.posture.curvature import body_rows


def bent(n_frames: int = 64, n_segments: int = 40) -> Series:
    """Make bodies whose curvature is the number of the frame everywhere, in radians per body length."""
    place = (np.arange(n_segments) + 0.5) / n_segments - 0.5
    return Series.from_rows(np.outer(np.arange(n_frames), place), 16.0)


def test_curvature_is_the_slope_of_the_angle_along_the_body():
    rows = body_rows(bent(), "curvature")
    np.testing.assert_allclose(rows, np.broadcast_to(np.arange(64)[:, None], rows.shape), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(body_rows(bent(), "angle"), bent().values)
    with pytest.raises(InputFormatError, match="quantity='twist'"):
        body_rows(bent(), "twist")
    with pytest.raises(InputFormatError, match="2 segments"):
        body_rows(bent(n_segments=2), "curvature")
