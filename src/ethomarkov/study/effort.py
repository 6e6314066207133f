"""How much is simulated where nobody said it: as much as takes about a minute, and no more than is published."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ethomarkov.study.defaults import ENTRY_WALKS, MOST_RUNS, VALIDATION_RUNS

if TYPE_CHECKING:
    from ethomarkov.study.study import Study

CORE_SECONDS = 120.0
"""Of computing that need no question: a minute on two cores. The number of cores at hand must not matter, because runs
would then be others on every machine."""
ROUND = (5, 2, 1)
LIMITS = {
    "runs": (20, MOST_RUNS),
    "state_runs": (20, MOST_RUNS),
    "animal_runs": (50, VALIDATION_RUNS),
    "validation": (50, VALIDATION_RUNS),
}
"""Fewest and most runs of analyses that simulate, where nobody said how many. Fewer than 50 do not tell the 95 % of the
runs between which an animal should lie."""
LASTING = {"validation": "animal_runs"}
"""What decides about the time of an analysis that only puts others together."""


def affordable_runs(seconds_of_one: float, *, least: int, most: int) -> int:
    """Choose a number of runs: a round one that takes about a minute on two cores.

    Parameters
    ----------
    seconds_of_one
        Estimated time of one run of every animal on one core.
    least, most
        Limits of the number.

    Examples
    --------
    >>> affordable_runs(0.4, least=20, most=1000)
    200
    >>> affordable_runs(0.001, least=20, most=1000), affordable_runs(60.0, least=20, most=1000)
    (1000, 20)
    """
    if seconds_of_one * most <= CORE_SECONDS:
        return most
    wanted = CORE_SECONDS / seconds_of_one
    power = 10.0 ** math.floor(math.log10(wanted))
    rounded = next(step * power for step in ROUND if step * power <= wanted * (1 + 1e-9))
    return max(least, min(most, math.floor(rounded + 0.5)))


def scaled_options(study: "Study", name: str, options: dict[str, Any]) -> dict[str, Any]:
    """Fill in how many runs an analysis simulates, and how long, where nobody said it.

    Runs last as long as the recordings, in the median, and are as many as take about a minute on two cores.

    Parameters
    ----------
    study
        Whose animals.
    name
        Of the analysis; one that simulates nothing stays as it is.
    options
        As given.
    """
    if name not in LIMITS:
        return options
    if name.endswith("runs") and name != "animal_runs" and options.get("minutes") is None:
        options = {**options, "minutes": recorded_minutes(study)}
    if options.get("n_runs") is None:
        least, most = LIMITS[name]
        one = study.graph.estimate(LASTING.get(name, name), **{**options, "n_runs": 1})
        options = {**options, "n_runs": affordable_runs(one, least=least, most=most)}
    if name == "validation" and options.get("entry_walks") is None:
        options = {**options, "entry_walks": min(int(options["n_runs"]), ENTRY_WALKS)}
    return options


def recorded_minutes(study: "Study") -> float:
    """Give the median duration of the recordings in minutes."""
    postures = study.postures
    return float(np.median(np.diff(postures.segments.offsets))) / postures.sampling.rate / 60
