"""Clocks, and the two tables of the benchmarks."""

import os
import resource
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ethomarkov.study.bench import growth_exponent
from ethomarkov.study.graph import peak_memory

HEADER = (
    "| stage | size | seconds | CPU s | peak GB | ratio to the peer | load | note |\n|---|---|--:|--:|--:|---|--:|---|"
)
GROWTH_HEADER = "| stage | grows with | sizes | CPU s | exponent |\n|---|---|---|---|--:|"
ROW, GROWTH = "row\t", "growth\t"
"""Before a line that a stage prints: which table it belongs to."""
REPEATED_SECONDS, MOST_REPEATS = 1.0, 100
"""Short tasks are repeated for about this long, at most so often, and the median is told."""


@dataclass(frozen=True)
class Timing:
    """Seconds on the clock and of all processors, peak memory of the process up to then, and what the task gave."""

    seconds: float
    cpu: float
    peak: float
    answer: Any = None

    def times(self, factor: float) -> "Timing":
        """Extrapolate to a larger task."""
        return replace(self, seconds=self.seconds * factor, cpu=self.cpu * factor)


def timed(task: Callable[[], object]) -> Timing:
    """Do a task and take the median of its times; processes that it started and awaited count as its own."""
    last = _once(task)
    runs = [(last.seconds, last.cpu)]
    for _ in range(min(MOST_REPEATS, int(REPEATED_SECONDS / max(last.seconds, 1e-9)))):
        last = replace(last, answer=None)  # answers of all repeats together would count as memory of the stage
        last = _once(task)
        runs.append((last.seconds, last.cpu))
    seconds, cpu = (statistics.median(times) for times in zip(*runs, strict=True))
    return Timing(seconds, cpu, peak_memory(), last.answer)


def _once(task: Callable[[], object]) -> Timing:
    cpu, start = _cpu_seconds(), time.perf_counter()
    answer = task()
    return Timing(time.perf_counter() - start, _cpu_seconds() - cpu, 0.0, answer)


def _cpu_seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def grown(stage: str, unit: str, sizes: Sequence[int], task: Callable[[int], Callable[[], object]]) -> Timing:
    """Time a task at several sizes, ascending; print how its CPU time grows, and give the last.

    `task` prepares what is to be timed. It is done once before at the smallest size, which compiles kernels.
    """
    task(sizes[0])()
    timings = [timed(task(size)) for size in sizes]
    cpu = [timing.cpu for timing in timings]
    told = ", ".join(f"{size:,}" for size in sizes), ", ".join(f"{seconds:.3g}" for seconds in cpu)
    cells = (stage, unit, *told, f"{growth_exponent(sizes, cpu):.2f}")
    print(f"{GROWTH}| {' | '.join(cells)} |", flush=True)
    return timings[-1]


def row(stage: str, size: str, found: Timing, peer: str = "", theirs: Timing | None = None, note: str = "") -> None:
    """Print a row of the table, with the load of the last minute."""
    beside = "" if theirs is None else _beside(found, peer, theirs)
    numbers = (f"{found.seconds:.3g}", f"{found.cpu:.3g}", f"{found.peak:.2f}")
    cells = (stage, size, *numbers, beside, f"{os.getloadavg()[0]:.1f}", note)
    print(f"{ROW}| {' | '.join(cells)} |", flush=True)


def _beside(found: Timing, peer: str, theirs: Timing) -> str:
    clock, cpu = theirs.seconds / found.seconds, theirs.cpu / found.cpu
    word = "faster" if clock >= 1 else "as fast"
    return f"{clock:.3g} x {word} {'than' if clock >= 1 else 'as'} {peer} ({theirs.seconds:.3g} s); by CPU {cpu:.3g} x"
