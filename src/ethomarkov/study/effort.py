"""How much is simulated where nobody said it: as much as takes about a minute, and no more than is published."""

import math

CORE_SECONDS = 120.0
"""Of computing that need no question: a minute on two cores. The number of cores at hand must not matter, because runs
would then be others on every machine."""
ROUND = (5, 2, 1)


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
