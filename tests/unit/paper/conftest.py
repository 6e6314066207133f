"""Rows of a small scoreboard."""

import numpy as np
import pytest

from ethomarkov._core.interval import Interval
from ethomarkov.paper.published import Published
from ethomarkov.paper.scoring import Estimate, judge


@pytest.fixture
def rows():
    """Give a row that agrees, one that differs and one that cannot be judged."""
    published = Published(
        key="x", section="S", what="a | <figure>", value=10.0, low=8.0, high=12.0, spread="95 % of means",
        source="printed",
    )  # fmt: skip
    near = Interval(estimate=11.0, low=10.0, high=12.0, level=0.95, over="animals", n=12)
    far = Interval(estimate=50.0, low=np.nan, high=np.nan, level=0.95, over="animals", n=12)
    found = (Estimate(interval=near), Estimate(interval=far), "no data & no path")
    return [judge(published, one) for one in found]
