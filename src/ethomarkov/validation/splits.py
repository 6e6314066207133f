"""Cross-validation: learn from one part of the recordings, simulate, and compare with the held-out part."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from ethomarkov._core.parallel import map_tasks
from ethomarkov._core.random import Rng, as_generator, generator
from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.segments import Segments
from ethomarkov._core.series import Series
from ethomarkov._core.showing import frame_of
from ethomarkov._core.types import BoolArray, FloatArray, IntArray, Progress
from ethomarkov._core.words import count_of
from ethomarkov.coarse.kinetics import animal_rates, find_dwells
from ethomarkov.coarse.tree import GrowthSettings, grow_tree
from ethomarkov.exceptions import InputFormatError, SamplingError
from ethomarkov.markov.chain import MarkovChain
from ethomarkov.model.behaviour import BehaviourModel
from ethomarkov.posture.events import EventSettings, find_events
from ethomarkov.simulation.animal import MarkovAnimal
from ethomarkov.simulation.postures import Repertoire, UnfoldMethod, unfold_blocks
from ethomarkov.simulation.symbols import simulate_symbols
from ethomarkov.states.delays import DelayEmbedding
from ethomarkov.states.partition import Microstates, Partition
from ethomarkov.states.symbols import Symbols

if TYPE_CHECKING:
    import pandas as pd

Statistic = Callable[[Series, Symbols], FloatArray]
"""Anything measured on the postures and macrostates of one animal or run; the same shape for all.

Macrostates come at the frame rate for recordings, and once per passage for simulated runs.
"""

LEVEL = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """A division of recordings into a part to learn from and a part to be tested on.

    Parameters
    ----------
    train, test
        The gap-free runs of each part. Parts that touch in time are set apart, stretches of one part that touch are
        joined, so that windows and lagged pairs made from them cross no junction.
    held_out
        One flag per row, valid or not, set in the part that is tested on.
    name
        Name of the held-out part.
    """

    train: Segments
    test: Segments
    held_out: BoolArray = array_field("frame")
    name: str

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @classmethod
    def from_held_out(cls, segments: Segments, held_out: BoolArray, name: str) -> "Split":
        """Divide runs by a flag per row."""
        return cls(train=segments.keep(~held_out), test=segments.keep(held_out), held_out=held_out, name=name)


def block_splits(
    segments: Segments, n_blocks: int = 10, n_test: int = 3, n_repeats: int = 50, *, rng: Rng = 0
) -> tuple[Split, ...]:
    """Cut every animal's recording into blocks of equal time and hold out some of them at random, again and again.

    Parameters
    ----------
    segments
        Of the recordings. Blocks count missing frames as time.
    n_blocks, n_test
        Blocks of each animal, and how many of them are held out; chosen at random for each animal by itself.
    n_repeats
        Number of independent splits.
    rng
        Seed or generator.

    Notes
    -----
    SI, "Cross-validation experiments": ten blocks of 3.5 minutes, three held out, fifty splits.
    """
    if not 0 < n_test < n_blocks:
        raise InputFormatError(
            f"n_test={n_test} of n_blocks={n_blocks} blocks leaves nothing to test on, or to learn from. Hold out at "
            "least one block and keep at least one."
        )
    block = time_blocks(segments, n_blocks)
    rng = as_generator(rng)
    in_order = np.tile(np.arange(n_blocks) < n_test, (segments.n_individuals, 1))
    individual = segments.row_individual
    return tuple(
        Split.from_held_out(segments, rng.permuted(in_order, axis=1)[individual, block], f"draw {k + 1}")
        for k in range(n_repeats)
    )


def leave_out_splits(segments: Segments, n_blocks: int = 10) -> tuple[Split, ...]:
    """Hold out one animal after the other; of a single animal, one block of time after the other.

    Animals and blocks without a valid frame are not held out.

    Parameters
    ----------
    segments
        Of the recordings.
    n_blocks
        Blocks of equal time of a single animal.
    """
    if segments.n_individuals > 1:
        unit, names = segments.row_individual, list(segments.individuals)
    else:
        unit = time_blocks(segments, n_blocks)
        names = [f"block {k + 1} of {n_blocks}" for k in range(n_blocks)]
    seen = np.unique(unit[segments.valid])
    if seen.size < 2:
        raise InputFormatError(
            f"{seen.size} of {len(names)} animals or blocks have valid frames; one is held out, so at least two are "
            "needed. Add animals, or cut a single one into more blocks."
        )
    return tuple(Split.from_held_out(segments, unit == k, names[k]) for k in seen)


def time_blocks(segments: Segments, n_blocks: int) -> IntArray:
    """Give every row the number of its block, of equal time within each animal, from 0 on."""
    n_rows = np.diff(segments.offsets)
    if n_blocks < 2 or n_rows.min() < n_blocks:
        raise InputFormatError(
            f"A recording of {n_rows.min()} frames cannot be cut into n_blocks={n_blocks}; at least two blocks of one "
            "frame are needed. Choose the number of blocks to suit the shortest recording."
        )
    return segments.time_blocks(n_blocks)


def cut_out(series: Series, segments: Segments) -> Series:
    """Keep the rows of some runs; all others are missing."""
    rows = np.where(segments.valid[:, None], series.values, np.float32(np.nan))
    return series.with_rows(rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class FitSettings:
    """Settings by which a model is learned from the training part.

    Parameters
    ----------
    n_delays
        Frames per sequence.
    n_states
        Number of microstates.
    lag
        Lag of the chain in seconds.
    simulation_lag, passage
        Seconds of a step of simulated animals, and for which they follow a recording at a time; the lag by default.
    is_scaled
        Use fewer microstates for the training part, by its share of all frames, so that each is visited as often as
        it would be with all data.
    n_macrostates, min_measure
        Number of macrostates, numbered from the largest on, and the least share of time of each; see
        `GrowthSettings`.
    max_iterations
        Most iterations of k-means.
    n_runs
        Number of simulated runs of the test part's duration. 39 is the fewest whose extremes hold 95 %.
    method
        Method of unfolding; see `unfold_postures`.
    as_published
        Do as published: microstates and macrostates come from all data, and the training blocks are stitched
        together, so that pairs at their junctions mix times that do not follow each other.
    seed
        Random seed of partitions and simulations.
    """

    n_delays: int = 11
    n_states: int = 1000
    lag: float = 0.75
    simulation_lag: float | None = None
    passage: float | None = None
    is_scaled: bool = False
    n_macrostates: int = 2
    min_measure: float = 0.02
    max_iterations: int = 10
    n_runs: int = 39
    method: UnfoldMethod = "matched"
    as_published: bool = False
    seed: int = 0

    @property
    def steps(self) -> tuple[float, float]:
        """Seconds of a step and of a passage of simulated animals; of published ones the lag of the chain."""
        lag = self.simulation_lag or self.lag
        return (self.lag, self.lag) if self.as_published else (lag, self.passage or lag)

    def embed(self, postures: Series) -> Series:
        """Stack postures into sequences."""
        return DelayEmbedding(self.n_delays).transform(postures)

    def divide(self, sequences: Series, name: str, share: float = 1.0) -> Microstates:
        """Find the microstates of sequences.

        Parameters
        ----------
        sequences
            To learn from.
        name
            Of the split; sets its seed apart from those of others.
        share
            Of all frames that are learned from.
        """
        n_states = max(2, round(self.n_states * share)) if self.is_scaled else self.n_states
        seed = int(generator(self.seed, "partition", name).integers(2**63))
        return Partition(n_states, max_iterations=self.max_iterations, seed=seed).fit(sequences).microstates_


def learn(postures: Series, fit: FitSettings, name: str = "all", share: float = 1.0) -> BehaviourModel:
    """Learn microstates, chain and macrostates from recordings, and from nothing else.

    Parameters
    ----------
    postures
        To learn from.
    fit
        How.
    name, share
        See `FitSettings.divide`.
    """
    sequences = fit.embed(postures)
    microstates = fit.divide(sequences, name, share)
    symbols = microstates.label(sequences)
    growth = GrowthSettings(n_states=fit.n_macrostates, min_measure=fit.min_measure)
    chain, (step, passage) = MarkovChain.from_symbols(symbols, fit.lag), fit.steps
    return BehaviourModel(
        basis=None,
        n_delays=fit.n_delays,
        microstates=microstates,
        chain=chain,
        tree=grow_tree(chain, growth),
        postures=postures,
        symbols=symbols,
        step=step,
        passage=passage,
        unfolding=fit.method,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(Result):
    """A statistic of held-out data beside that of simulations.

    Parameters
    ----------
    test
        Values in the held-out part, ``(splits, animals, ...)``.
    simulated
        Values in runs of the same duration of a model of the training part, ``(splits, animals, runs, ...)``.

    Notes
    -----
    Held-out parts of different splits overlap, so that shares of splits are no independent trials.
    """

    test: FloatArray = array_field("split", "animal", "...")
    simulated: FloatArray = array_field("split", "animal", "run", "...")

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def level(self) -> float:
        """Share of times that a further run falls into `simulated_range`, exactly, whatever its law."""
        return 1 - 2 * self._rank / (self.n_runs + 1)

    @property
    def n_runs(self) -> int:
        """Simulated runs per split and animal."""
        return int(self.simulated.shape[2])

    @property
    def _rank(self) -> int:
        return max(1, round((self.n_runs + 1) * (1 - LEVEL) / 2))

    def simulated_range(self) -> tuple[FloatArray, FloatArray]:
        """Give the order statistics of the runs that hold 95 %, or `level` where there are too few runs."""
        # NaN is sorted last, so that the runs in which the statistic is undefined are left out on both sides.
        low = np.sort(self.simulated, axis=2)[:, :, self._rank - 1]
        high = -np.sort(-self.simulated, axis=2)[:, :, self._rank - 1]
        return low, high

    def inside(self) -> FloatArray:
        """Share of splits in which held-out data lie within the simulated range, ``(animals, ...)``."""
        low, high = self.simulated_range()
        known = np.isfinite(self.test) & np.isfinite(low) & np.isfinite(high)
        hits = known & (low <= self.test) & (self.test <= high)
        return _ratio(hits.sum(axis=0), known.sum(axis=0))

    def z(self) -> FloatArray:
        """Distance of held-out data from the mean run, in spreads of runs, ``(splits, animals, ...)``."""
        mean, spread = self._mean_and_spread()
        return _ratio(np.abs(self.test - mean), spread)

    def bias(self) -> FloatArray:
        """Mean over splits of simulated minus held-out values, ``(animals, ...)``."""
        gap = self._mean_and_spread()[0] - self.test
        known = np.isfinite(gap)
        return _ratio(np.where(known, gap, 0.0).sum(axis=0), known.sum(axis=0))

    def _mean_and_spread(self) -> tuple[FloatArray, FloatArray]:
        known = np.isfinite(self.simulated)
        n = known.sum(axis=2)
        mean = _ratio(np.where(known, self.simulated, 0.0).sum(axis=2), n)
        away = np.where(known, self.simulated - np.expand_dims(mean, 2), 0.0)
        return mean, np.sqrt(_ratio(np.square(away).sum(axis=2), np.maximum(n - 1, 0)))


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossValidation(Result):
    """Cross-validation: statistics of held-out data beside those of simulations learned from the rest.

    Parameters
    ----------
    comparisons
        Held-out and simulated values, by name of the statistic.
    unassigned
        Share of the held-out sequences whose microstate has no macrostate, per split.
    fit
        Settings by which the models were learned.
    individuals
        Names of the animals.
    """

    comparisons: Mapping[str, Comparison]
    unassigned: FloatArray = array_field("split")
    fit: FitSettings
    individuals: tuple[str, ...]

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def headline(self) -> str:
        """Give the number of splits and animals, and the statistics."""
        kind = "as published" if self.fit.as_published else "held out"
        names = ", ".join(self.comparisons)
        return (
            f"{count_of(self.unassigned.size, 'split')}, {kind}, {count_of(len(self.individuals), 'animal')}: {names}"
        )

    def table(self) -> "pd.DataFrame":
        """List held-out and simulated means of every statistic that is a few numbers per animal; not of curves."""
        return frame_of(row for name, one in self.comparisons.items() for row in self._rows(name, one))

    def _rows(self, name: str, comparison: Comparison) -> Iterator[dict[str, object]]:
        if comparison.test.ndim != 3:  # curves are drawn, not listed
            return
        inside, bias = comparison.inside(), comparison.bias()
        for animal, column in np.ndindex(inside.shape):
            yield {
                "statistic": name,
                "number": column,
                "animal": self.individuals[animal],
                "test_mean": _known_mean(comparison.test[:, animal, column]),
                "simulated_mean": _known_mean(comparison.simulated[:, animal, :, column]),
                "bias": float(bias[animal, column]),
                "share_inside": float(inside[animal, column]),
                "expected_inside": comparison.level,
                "repeats": len(comparison.test),
            }


def cross_validate(
    postures: Series,
    fit: FitSettings,
    splits: Sequence[Split],
    statistics: Mapping[str, Statistic],
    *,
    threads: int = 1,
    progress: Progress | None = None,
) -> CrossValidation:
    """Learn from the training part of every split, simulate the duration of the test part, and compare.

    Microstates, macrostates, chains and the sequences to unfold come from the training part alone; test sequences get
    the nearest microstate. Macrostates and microstates are learned from all animals together, chains and repertoires
    from each animal.

    Parameters
    ----------
    postures
        Mode amplitudes in time.
    fit
        Settings of the models; `FitSettings.as_published` learns states from all data, to measure the leak.
    splits
        As from `block_splits`.
    statistics
        By name; see `worm_statistics`.
    threads
        Splits that are worked on at once; the result does not depend on it.
    progress
        Called after every split.

    Notes
    -----
    Fig. S4(a–c). Runs begin anywhere by the stationary law of the training part; the published ones in microstates of
    the test part, as with `as_published`.
    """
    if not splits or not statistics:
        raise InputFormatError(
            f"There are {len(splits)} splits and {len(statistics)} statistics; at least one of each is needed."
        )
    whole = learn(postures, fit) if fit.as_published else None

    def compare(split: Split) -> tuple[float, list[dict[str, _Values]]]:
        case = (
            _learn_held_out(postures, fit, split) if whole is None else _learn_as_published(postures, whole, fit, split)
        )
        return case.unassigned, [_measure_animal(case, i, fit, statistics) for i in range(len(case.animals))]

    done = map_tasks(compare, splits, threads=threads, progress=progress, what="splits")
    return CrossValidation(
        comparisons={name: _gather(name, (animals for _, animals in done)) for name in statistics},
        unassigned=np.array([unassigned for unassigned, _ in done]),
        fit=fit,
        individuals=postures.segments.individuals,
    )


def worm_statistics(lag: float, settings: EventSettings | None = None) -> dict[str, Statistic]:
    """List the statistics that are cross-validated in Fig. S4(b, c).

    Parameters
    ----------
    lag
        Seconds between two observations of the macrostate.
    settings
        Settings of events; see `find_events`.

    Returns
    -------
    statistics
        "event rates" per minute, of reversals, ventral and dorsal turns; "transition rates" κ per second, of each
        macrostate.
    """
    return {
        "event rates": lambda postures, _: find_events(postures, settings).rates()[0],
        "transition rates": lambda _, states: animal_rates(find_dwells(states, lag))[0],
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Leak(Result):
    """Effect of learning states from all data on one statistic, ``(animals, ...)``; held-out first, then as published.

    Parameters
    ----------
    z
        Mean distance of held-out data from the mean run, in spreads of runs.
    inside
        Share of splits in which held-out data lie within the simulated range.
    bias
        Mean of simulated minus held-out values.
    """

    z: tuple[FloatArray, FloatArray]
    inside: tuple[FloatArray, FloatArray]
    bias: tuple[FloatArray, FloatArray]


def measure_leak(held_out: CrossValidation, as_published: CrossValidation) -> dict[str, Leak]:
    """Compare a held-out cross-validation with one as published of the same splits, statistic by statistic."""
    kinds = held_out.fit.as_published, as_published.fit.as_published
    if kinds != (False, True) or set(held_out.comparisons) != set(as_published.comparisons):
        raise InputFormatError(
            f"as_published is {kinds[0]} in the first and {kinds[1]} in the second cross-validation; a held-out one, "
            "then one as published, of the same statistics are needed."
        )
    found = {}
    for name, first in held_out.comparisons.items():
        both = (first, as_published.comparisons[name])
        found[name] = Leak(
            z=(_mean_z(both[0]), _mean_z(both[1])),
            inside=(both[0].inside(), both[1].inside()),
            bias=(both[0].bias(), both[1].bias()),
        )
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Values:
    """A statistic of one animal in one split."""

    test: FloatArray
    simulated: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """What is simulated in a split, and what it is compared with."""

    name: str
    animals: tuple[MarkovAnimal, ...]
    group: IntArray
    postures: Series
    symbols: Symbols
    starts_in_test: bool

    @property
    def unassigned(self) -> float:
        """Share of the test sequences without a macrostate."""
        return float((self.group[self.symbols.labels[self.symbols.segments.valid]] < 0).mean())


def _learn_held_out(postures: Series, fit: FitSettings, split: Split) -> _Case:
    share = split.train.count_rows().sum() / postures.segments.count_rows().sum()
    model = learn(cut_out(postures, split.train), fit, split.name, float(share))
    test = cut_out(postures, split.test)
    return _Case(
        name=split.name,
        animals=tuple(model.animal(i, start="stationary") for i in range(len(model.individuals))),
        group=model.tree.states_at(fit.n_macrostates),
        postures=test,
        symbols=model.microstates.label(fit.embed(test)),
        starts_in_test=False,
    )


def _learn_as_published(postures: Series, whole: BehaviourModel, fit: FitSettings, split: Split) -> _Case:
    symbols = whole.symbols
    return _Case(
        name=split.name,
        animals=tuple(_stitched_animal(i, postures, symbols, fit, split) for i in range(len(whole.individuals))),
        group=whole.tree.states_at(fit.n_macrostates),
        postures=cut_out(postures, split.test),
        symbols=_keep(symbols, split.held_out),
        starts_in_test=True,
    )


def _stitched_animal(
    individual: int, postures: Series, symbols: Symbols, fit: FitSettings, split: Split
) -> MarkovAnimal:
    """Learn a chain from training blocks put end to end, the last frame of every stretch masked, as published."""
    rows = np.flatnonzero(~split.held_out & (symbols.segments.row_individual == individual))
    lasts = rows[np.append(np.diff(rows) > 1, True)]
    kept = ~split.held_out
    kept[lasts] = False
    train = _keep(symbols.mask(individual), kept)
    labels = np.where(train.segments.valid, train.labels, -1)[rows]
    lag_frames = symbols.sampling.frames(fit.lag, "lag")
    first, second = labels[:-lag_frames], labels[lag_frames:]
    seen = (first >= 0) & (second >= 0)  # whatever lies between them
    shape = (symbols.n_states, symbols.n_states)
    counts = sparse.coo_array((np.ones(seen.sum()), (first[seen], second[seen])), shape=shape).tocsr()
    return MarkovAnimal(
        name=symbols.segments.individuals[individual],
        chain=MarkovChain.from_counts(counts, symbols.sampling.seconds(lag_frames)),
        repertoire=Repertoire.from_symbols(postures, train, fit.n_delays, fit.lag),
    )


def _keep(symbols: Symbols, rows: BoolArray) -> Symbols:
    """Keep the state sequence of some rows."""
    return Symbols(
        labels=symbols.labels,
        n_states=symbols.n_states,
        segments=symbols.segments.keep(rows),
        sampling=symbols.sampling,
    )


def _measure_animal(
    case: _Case, individual: int, fit: FitSettings, statistics: Mapping[str, Statistic]
) -> dict[str, _Values]:
    """Measure the test part of one animal, and runs of the same duration."""
    animal, test = case.animals[individual], case.postures.cut(individual)
    symbols = _cut_individual(case.symbols, individual)
    duration = int(test.segments.count_rows()[0]) / test.sampling.rate
    if symbols.segments.longest() == 0 or duration < fit.lag:
        raise SamplingError(
            f"{animal.name} has {duration:g} s of posture in the test part of {case.name}, too little for a sequence "
            f"and a step of {fit.lag:g} s. Leave this animal out, or use fewer, longer blocks."
        )
    rng = generator(fit.seed, "cross-validation", case.name, animal.name)
    seed = int(rng.integers(2**63))
    start = _starts(animal, symbols, fit.n_runs, rng) if case.starts_in_test else None
    walks = simulate_symbols(animal.chain, duration, n_walks=fit.n_runs, start=start, rng=seed)
    walks = animal.passages(walks, rng=seed)
    runs = next(unfold_blocks(walks, animal.repertoire, walks_per_block=fit.n_runs, rng=seed, method=fit.method))
    pairs = [(runs.cut(k), _cut_individual(walks, k).relabel(case.group)) for k in range(fit.n_runs)]
    states = symbols.relabel(case.group)
    return {
        name: _Values(
            test=np.asarray(statistic(test, states), dtype=float),
            simulated=np.array([statistic(*pair) for pair in pairs], dtype=float),
        )
        for name, statistic in statistics.items()
    }


def _starts(animal: MarkovAnimal, test: Symbols, n_runs: int, rng: np.random.Generator) -> IntArray:
    """Draw connected microstates that occur in the test part."""
    occurring = np.intersect1d(test.labels[test.segments.valid], animal.chain.states)
    return rng.choice(occurring, n_runs)


def _cut_individual(symbols: Symbols, individual: int) -> Symbols:
    """Cut out the rows of one individual."""
    first, stop = symbols.segments.offsets[individual : individual + 2]
    valid = symbols.segments.valid[first:stop]
    return Symbols(
        labels=np.where(valid, symbols.labels[first:stop], np.int32(-1)),
        n_states=symbols.n_states,
        segments=Segments.from_valid(valid, None, (symbols.segments.individuals[individual],)),
        sampling=symbols.sampling,
    )


def _gather(name: str, splits: Iterable[list[dict[str, _Values]]]) -> Comparison:
    table = [[animal[name] for animal in animals] for animals in splits]
    return Comparison(
        test=np.array([[values.test for values in animals] for animals in table]),
        simulated=np.array([[values.simulated for values in animals] for animals in table]),
    )


def _mean_z(comparison: Comparison) -> FloatArray:
    z = comparison.z()
    known = np.isfinite(z)
    return _ratio(np.where(known, z, 0.0).sum(axis=0), known.sum(axis=0))


def _known_mean(values: FloatArray) -> float:
    """Average what is known; NaN where nothing is, as rates of states that were never left."""
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else float("nan")


def _ratio(numerator: FloatArray | IntArray, denominator: FloatArray | IntArray) -> FloatArray:
    """Divide; NaN where there is nothing to divide by."""
    whole = np.full(np.broadcast_shapes(numerator.shape, denominator.shape), np.nan)
    return np.asarray(np.divide(numerator, denominator, out=whole, where=denominator > 0))
