"""Time and memory of the stages of a study on this machine, their growth with size, and extrapolation."""

import importlib.metadata
import json
import os
import platform
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ethomarkov._core.result import Result
from ethomarkov._core.types import Progress
from ethomarkov._core.words import count_of
from ethomarkov.exceptions import InputFormatError
from ethomarkov.study.defaults import BENCH_WORMS, WORM_SECONDS
from ethomarkov.study.graph import TICKS, peak_memory
from ethomarkov.study.provenance import PROVENANCE_FILE
from ethomarkov.study.settings import Settings
from ethomarkov.study.study import run_study
from ethomarkov.synthetic import SyntheticWorms, simulate_worms

STORING = "storing"
"""What is no stage: fingerprints of inputs, and writing results as they come and in the end."""
FIRST_USE = {"n_states": 20, "n_resamples": 1, "n_walks": 2, "simulated_minutes": 1.0}
"""Settings of the tiny study that compiles the kernels."""
LEAST_SECONDS = 0.1
"""Shorter stages do not tell how they grow: their times differ more from run to run than from size to size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """The machine on which time was measured.

    Parameters
    ----------
    processor
        Name of the processor.
    cores
        Number of cores.
    memory_gb
        Memory in GB; NaN where the system does not tell.
    system
        Operating system.
    versions
        Versions of Python and of the packages that do the work.
    """

    processor: str
    cores: int
    memory_gb: float
    system: str
    versions: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """Describe the machine in a line."""
        memory = "" if np.isnan(self.memory_gb) else f", {self.memory_gb:.0f} GB"
        cores = f"{self.cores} core{'' if self.cores == 1 else 's'}"
        return f"{self.processor}, {cores}{memory}, {self.system}; {', '.join(self.versions)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StageCost:
    """Time and memory of one stage at one size.

    Parameters
    ----------
    stage
        Name of the stage.
    n_frames
        Number of recorded frames.
    seconds
        Seconds on the clock.
    cpu_seconds
        Seconds of all processors together.
    peak_gb
        Largest memory of the process up to then, in GB.
    """

    stage: str
    n_frames: int
    seconds: float
    cpu_seconds: float
    peak_gb: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench(Result):
    """Time and memory of studies of several sizes.

    Parameters
    ----------
    machine
        The machine on which time was measured.
    threads
        Number of cores in use.
    settings
        Settings of the studies.
    costs
        Time and memory of every stage at every size, smaller sizes first.
    first_use_seconds
        Seconds of a tiny study before, in which kernels are compiled if they were not yet; no part of the costs.
    """

    machine: Machine
    threads: int
    settings: Settings
    costs: tuple[StageCost, ...]
    first_use_seconds: float

    def headline(self) -> str:
        """Give the number of stages, the largest size and the machine."""
        largest = f", up to {count_of(max(self.sizes), 'frame')}" if self.costs else ""
        return f"{count_of(len(self.stages), 'stage')}{largest}, {self.machine.sentence}"

    @property
    def stages(self) -> tuple[str, ...]:
        """Names of the stages in their order."""
        return tuple(dict.fromkeys(cost.stage for cost in self.costs))

    @property
    def sizes(self) -> tuple[int, ...]:
        """Frames of the recordings, ascending."""
        return tuple(dict.fromkeys(cost.n_frames for cost in self.costs))

    def of(self, stage: str) -> tuple[StageCost, ...]:
        """List the costs of a stage, smaller sizes first."""
        return tuple(cost for cost in self.costs if cost.stage == stage)

    def growth(self, stage: str) -> float:
        """Exponent with which the CPU time of a stage grows with frames; NaN if it is too short to tell.

        CPU time, because a clock also counts what others do on the machine, and because animals that are worked on side
        by side take as long as one.
        """
        cpu = [cost.cpu_seconds for cost in self.of(stage)]
        return growth_exponent(self.sizes, cpu) if cpu[-1] >= LEAST_SECONDS else float("nan")

    def seconds_at(self, stage: str, n_frames: int) -> float:
        """Extrapolate the time of a stage on the clock: as its CPU time grows, on as many cores as at the largest size.

        Parameters
        ----------
        stage
            Its name.
        n_frames
            Of the recording.
        """
        costs = self.of(stage)
        cpu = extrapolate(self.sizes, [cost.cpu_seconds for cost in costs], n_frames)
        return costs[-1].seconds * cpu / max(costs[-1].cpu_seconds, 1e-9)

    def peak_at(self, n_frames: int) -> float:
        """Extrapolate the largest memory of a study, in GB."""
        peaks = [max(cost.peak_gb for cost in self.costs if cost.n_frames == size) for size in self.sizes]
        return extrapolate(self.sizes, peaks, n_frames)


def growth_exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """Fit the slope of values against sizes, both in logarithms; NaN where a value is not positive.

    Examples
    --------
    >>> round(growth_exponent([1, 2, 4], [3, 12, 48]), 6)
    2.0
    """
    both = np.array([sizes, values], dtype=float)
    if len(set(sizes)) < 2 or not (both > 0).all() or not np.isfinite(both).all():
        return float("nan")
    log_size, log_value = np.log(both)
    return float(np.polyfit(log_size, log_value, 1)[0])


def extrapolate(sizes: Sequence[float], values: Sequence[float], size: float) -> float:
    """Extrapolate from the value at the largest size, by the exponent or along a straight line, whichever gives more.

    A cost that is fixed in part makes the exponent too small; there the line is right. A cost that grows faster than
    its size makes the line too low; there the exponent is right.

    Parameters
    ----------
    sizes, values
        Measured, ascending in size.
    size
        Sought.

    Examples
    --------
    >>> round(extrapolate([1, 2, 4], [3, 12, 48], 8), 6), round(extrapolate([1, 2, 4], [11, 12, 14], 8), 6)
    (192.0, 18.0)
    """
    if not np.isfinite(values).all():
        return float("nan")
    slope = float(np.polyfit(np.asarray(sizes, dtype=float), values, 1)[0])
    line = values[-1] + max(slope, 0.0) * (size - sizes[-1])
    exponent = growth_exponent(sizes, values)
    return max(line, values[-1] * (size / sizes[-1]) ** max(exponent, 0.0)) if np.isfinite(exponent) else line


def bench_study(
    n_worms: Sequence[int] = BENCH_WORMS,
    settings: Settings | None = None,
    *,
    seconds: float = WORM_SECONDS,
    threads: int = 1,
    progress: Progress | None = None,
) -> Bench:
    """Time all stages of a study on synthetic worms, at several sizes.

    By default recordings are as long as the published ones and microstates as many, so that nothing but the number of
    worms differs.

    Parameters
    ----------
    n_worms
        Worms of each size, at least two sizes.
    settings
        Of the studies; a thousand microstates by default.
    seconds
        Of every recording.
    threads
        Cores to use.
    progress
        Called as the work goes on.
    """
    sizes = sorted(set(n_worms))
    if len(sizes) < 2 or sizes[0] < 1:
        raise InputFormatError(
            f"Sizes of {list(n_worms)} worms; at least two different ones, of one worm or more, are needed to see how "
            "costs grow."
        )
    settings = settings or Settings(n_states=1000)
    began = time.monotonic()
    _cost_of(simulate_worms(1, 60.0), settings.model_copy(update=FIRST_USE), threads, None)
    first_use = time.monotonic() - began
    costs: list[StageCost] = []
    for done, n in zip(np.cumsum([0, *sizes[:-1]]).tolist(), sizes, strict=True):
        report = _part_of(progress, done / sum(sizes), n / sum(sizes))
        costs += _cost_of(simulate_worms(n, seconds, threads=threads), settings, threads, report)
    return Bench(
        machine=describe_machine(),
        threads=threads,
        settings=settings,
        costs=tuple(costs),
        first_use_seconds=first_use,
    )


def _cost_of(made: SyntheticWorms, settings: Settings, threads: int, progress: Progress | None) -> list[StageCost]:
    """Run a study into a directory, as a user does, and read what its stages took from its provenance."""
    n_frames = made.recording.segments.n_rows
    with tempfile.TemporaryDirectory() as folder:
        clock, cpu = time.monotonic(), time.process_time()
        run_study(
            made.recording, settings, basis=made.basis, directory=Path(folder), threads=threads, progress=progress
        )
        clock, cpu = time.monotonic() - clock, time.process_time() - cpu
        told = json.loads(Path(folder, PROVENANCE_FILE).read_text(encoding="utf-8"))
    costs = [
        StageCost(
            stage=one["stage"],
            n_frames=n_frames,
            seconds=one["seconds"],
            cpu_seconds=one["cpu_seconds"],
            peak_gb=one["peak_gb"],
        )
        for one in told["stages"]
    ]
    storing = StageCost(
        stage=STORING,
        n_frames=n_frames,
        seconds=max(clock - sum(cost.seconds for cost in costs), 0.0),
        cpu_seconds=max(cpu - sum(cost.cpu_seconds for cost in costs), 0.0),
        peak_gb=peak_memory(),
    )
    return [*costs, storing]


def _part_of(progress: Progress | None, before: float, share: float) -> Progress | None:
    """Report the progress of a part as that of the whole."""
    if progress is None:
        return None

    def report(what: str, done: int, total: int) -> None:
        progress(what, round(TICKS * (before + share * done / max(total, 1))), TICKS)

    return report


def describe_machine() -> Machine:
    """Describe the machine on which this runs."""
    packages = ("numpy", "scipy", "numba")
    return Machine(
        processor=_processor_name(),
        cores=os.cpu_count() or 1,
        memory_gb=_memory_gb(),
        system=f"{platform.system()} {platform.release()}",
        versions=(
            f"Python {platform.python_version()}",
            *(f"{name} {importlib.metadata.version(name)}" for name in packages),
        ),
    )


def _processor_name() -> str:
    """Read the name that Linux gives; other systems tell it to Python, or at least the kind of processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return next(iter(names), "") or platform.processor() or platform.machine()


def _memory_gb() -> float:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    except (AttributeError, ValueError, OSError):  # Windows, and systems that do not tell
        return float("nan")
