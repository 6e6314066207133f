"""Frames of animals as a table, one row each, and in a line of words."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov._core.types import FloatArray
from ethomarkov._core.words import count_of

if TYPE_CHECKING:
    import pandas as pd

SECONDS_SHOWN = 60.0


def frame_table(
    segments: Segments,
    time: FloatArray | Sampling,
    columns: Mapping[str, np.ndarray],
    units: Mapping[str, str] | None = None,
) -> "pd.DataFrame":
    """Lay out numbers of frames as a table: the animal, the time in seconds, and a column for each quantity.

    Parameters
    ----------
    segments
        Tell which rows belong to which animal.
    time
        Of every row; or the sampling, for times from the first frame of each animal on.
    columns
        Name and values of every further column.
    units
        Of columns, kept in the ``attrs`` of the table.
    """
    import pandas as pd

    if isinstance(time, Sampling):
        time = (np.arange(segments.n_rows) - segments.offsets[segments.row_individual]) / time.rate
    names = np.array(segments.individuals, dtype=object)[segments.row_individual]
    table = pd.DataFrame({"individual": names, "time": time, **columns})
    table.attrs["units"] = {"time": "s", **(units or {})}
    return table


def describe_frames(segments: Segments, sampling: Sampling) -> str:
    """Say in words how many animals there are, for how long, at which rate, and how much is missing.

    Parameters
    ----------
    segments, sampling
        Of the frames.

    Examples
    --------
    >>> describe_frames(Segments.from_valid(np.arange(1600) % 4 > 0), Sampling(16.0))
    '1 animal, 1.667 min at 16 Hz, 25 % missing'
    """
    seconds = sampling.seconds(segments.n_rows)
    duration = f"{seconds:.3g} s" if seconds < SECONDS_SHOWN else f"{seconds / 60:,.4g} min"
    missing = 100 * (segments.n_rows - int(segments.lengths.sum())) / max(segments.n_rows, 1)
    share = f"{missing:.1g}" if 0 < missing < 1 else f"{missing:.0f}"
    animals = count_of(segments.n_individuals, "animal")
    return f"{animals}, {duration} at {sampling.rate:.6g} Hz, {share} % missing"
