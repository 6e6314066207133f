"""Ensembles of simulated animals with postures and paths, a few at a time."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ethomarkov._core.parallel import map_pieces
from ethomarkov._core.random import Rng
from ethomarkov._core.result import Result
from ethomarkov._core.series import Series
from ethomarkov._core.types import FloatArray, Progress
from ethomarkov.exceptions import InputFormatError
from ethomarkov.locomotion.resistive import Scheme, propel
from ethomarkov.locomotion.ring import confine
from ethomarkov.locomotion.trajectory import Trajectory
from ethomarkov.posture import PostureBasis
from ethomarkov.simulation.animal import MarkovAnimal
from ethomarkov.simulation.postures import UnfoldMethod

Measure = Callable[[Series, Trajectory], FloatArray]
"""Anything measured on one run, from its postures and its path; the same shape for all runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlSettings:
    """Settings of simulated animals and their paths.

    Parameters
    ----------
    duration
        Seconds of every run.
    n_runs
        Number of runs.
    drag_ratio, scheme
        Of the path; see `propel`.
    body_length, length_unit
        Of the animal, in the unit of its path.
    method
        Of unfolding; see `unfold_postures`.
    ring_radius
        Keep paths inside a ring around their start, in the unit of the path; None for an endless plate.
    runs_per_block
        Runs in memory at once.
    """

    duration: float = 2100.0
    n_runs: int = 1000
    drag_ratio: float = 30.0
    scheme: Scheme = "midpoint"
    body_length: float = 1.0
    length_unit: str = "body lengths"
    method: UnfoldMethod = "matched"
    ring_radius: float | None = None
    runs_per_block: int = 16


def crawl(
    animal: MarkovAnimal, basis: PostureBasis, settings: CrawlSettings, *, rng: Rng = 0, threads: int = 1
) -> Iterator[tuple[Series, Trajectory]]:
    """Simulate postures and paths, a block of runs at a time.

    Parameters
    ----------
    animal
        Model of the simulated animal.
    basis
        Of tangent angles, which computes bodies from mode amplitudes.
    settings
        Of runs and paths.
    rng, threads
        Random seed or generator, and cores; the runs do not depend on cores or blocks.
    """
    blocks = animal.behave(
        settings.duration,
        settings.n_runs,
        method=settings.method,
        walks_per_block=settings.runs_per_block,
        rng=rng,
        threads=threads,
    )
    for postures in blocks:
        yield postures, move(postures, basis, settings, threads=threads)


def move(postures: Series, basis: PostureBasis, settings: CrawlSettings, *, threads: int = 1) -> Trajectory:
    """Compute the paths of postures."""
    path = propel(
        postures,
        settings.drag_ratio,
        settings.body_length,
        settings.length_unit,
        basis=basis,
        scheme=settings.scheme,
        threads=threads,
    )
    return path if settings.ring_radius is None else confine(path, settings.ring_radius)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered(Result):
    """Measurements on an ensemble, and a few of its runs.

    Parameters
    ----------
    values
        From the name of a measure to its values, one row per run.
    postures, path
        Of the first runs, as examples.
    """

    values: Mapping[str, FloatArray]
    postures: Series
    path: Trajectory


def gather(
    runs: Iterable[tuple[Series, Trajectory]],
    measures: Mapping[str, Measure],
    *,
    threads: int = 1,
    n_runs: int = 0,
    progress: Progress | None = None,
) -> Gathered:
    """Measure every run of an ensemble, with no more than a block of runs in memory.

    Parameters
    ----------
    runs
        Blocks of runs, as from `crawl`. The first block is stored as examples.
    measures
        By name.
    threads
        Cores to use; the values do not depend on it.
    n_runs, progress
        Called after every block, with the number of runs that are to come in all.
    """
    rows: dict[str, list[FloatArray]] = {name: [] for name in measures}
    first: tuple[Series, Trajectory] | None = None
    n_done = 0
    for postures, path in runs:
        first = first or (postures, path)
        pieces = [(postures.cut(i), path.cut(i)) for i in range(postures.segments.n_individuals)]
        for values in map_pieces(lambda piece: _measure(piece[0], piece[1], measures), pieces, threads):
            for name, value in values.items():
                rows[name].append(value)
        n_done += len(pieces)
        if progress is not None:
            progress("runs", n_done, n_runs)
    if first is None:
        raise InputFormatError("There is no run to measure; ask for at least one.")
    return Gathered(values={name: np.array(values) for name, values in rows.items()}, postures=first[0], path=first[1])


def _measure(postures: Series, path: Trajectory, measures: Mapping[str, Measure]) -> dict[str, FloatArray]:
    return {name: measure(postures, path) for name, measure in measures.items()}
