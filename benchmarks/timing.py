"""Clocks and the table of the benchmarks."""

import os
import resource
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

HEADER = "| stage | size | seconds | CPU s | peak GB | peer | load | note |\n|---|---|---|---|---|---|---|---|"


@dataclass(frozen=True)
class Timing:
    """Seconds on the clock and of all processors, and what the function gave."""

    seconds: float
    cpu: float
    answer: Any = None

    def times(self, factor: float) -> "Timing":
        """Extrapolate to a larger task."""
        return replace(self, seconds=self.seconds * factor, cpu=self.cpu * factor)


def timed(function: Callable[[], object], repeats: int = 1) -> Timing:
    """Call a function and take the median of its times; processes that it started and awaited count as its own."""
    runs = [_once(function) for _ in range(repeats)]
    return Timing(
        statistics.median(run.seconds for run in runs), statistics.median(run.cpu for run in runs), runs[-1].answer
    )


def _once(function: Callable[[], object]) -> Timing:
    cpu, start = _cpu_seconds(), time.perf_counter()
    answer = function()
    return Timing(time.perf_counter() - start, _cpu_seconds() - cpu, answer)


def _cpu_seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def row(stage: str, size: str, found: Timing, peer: str = "", theirs: Timing | None = None, note: str = "") -> None:
    """Print a row of the table, with the load of the last minute and the peak memory of the process up to now."""
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    beside = "" if theirs is None else _beside(found, peer, theirs)
    load = os.getloadavg()[0]
    cells = (stage, size, f"{found.seconds:.3g}", f"{found.cpu:.3g}", f"{memory:.2f}", beside, f"{load:.1f}", note)
    print(f"| {' | '.join(cells)} |", flush=True)


def _beside(found: Timing, peer: str, theirs: Timing) -> str:
    clock, cpu = theirs.seconds / found.seconds, theirs.cpu / found.cpu
    return f"{clock:.3g} x faster than {peer} ({theirs.seconds:.3g} s); by CPU {cpu:.3g} x"
