"""Food around the start of a path, and how likely each state is to find it."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np
from scipy.spatial import KDTree

from ethomarkov._core.interval import Interval, interval_of_mean
from ethomarkov._core.random import Rng, as_generator
from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.types import BoolArray, FloatArray, Progress
from ethomarkov._core.words import count_of
from ethomarkov.exceptions import InputFormatError
from ethomarkov.foraging.coverage import Footprint, SweepSettings, count_disc_cells, coverage_measure, food_radii
from ethomarkov.locomotion.ensemble import CrawlSettings, crawl, gather
from ethomarkov.posture import PostureBasis
from ethomarkov.simulation.animal import MarkovAnimal

Normalisation = Literal["mean", "paired"]

N_RESAMPLES = 1000
LIMITS = (2.5, 97.5)
LEVEL = 0.95


# --- where food is ---------------------------------------------------------------------------------------------------


class Food(Protocol):
    """A region of the plane that holds food, evenly; lengths are body lengths from the start."""

    def holds(self, points: FloatArray) -> BoolArray:
        """Tell which points lie in food."""
        ...

    def count_cells(self, pitch: float) -> int:
        """Count the cells of a grid whose middle lies in food."""
        ...


@dataclass(frozen=True, slots=True)
class Disc(Result):
    """Food everywhere within a distance of the start.

    Parameters
    ----------
    radius
        Radius of the disc in body lengths.

    Examples
    --------
    >>> import numpy as np
    >>> Disc(radius=1.0).holds(np.array([[0.5, 0.5], [2.0, 0.0]]))
    array([ True, False])
    """

    radius: float

    def __post_init__(self) -> None:
        _check_positive(self.radius, "radius")

    def holds(self, points: FloatArray) -> BoolArray:
        """Tell which points lie in the disc."""
        return np.asarray(np.hypot(*points.T) < self.radius)

    def count_cells(self, pitch: float) -> int:
        """Count the cells of a grid whose middle lies in the disc."""
        return int(count_disc_cells((float(self.radius),), pitch)[0])


@dataclass(frozen=True, slots=True)
class Annulus(Result):
    """Food in a ring around the start.

    Parameters
    ----------
    inner, outer
        Radii of the ring in body lengths.

    Examples
    --------
    >>> import numpy as np
    >>> Annulus(inner=1.0, outer=3.0).holds(np.array([[0.5, 0.5], [2.0, 0.0]]))
    array([False,  True])
    """

    inner: float
    outer: float

    def __post_init__(self) -> None:
        _check_positive(self.inner, "inner")
        if not self.inner < self.outer < np.inf:
            raise InputFormatError(f"outer={self.outer!r}; a radius above the inner one, {self.inner:g}, is needed.")

    def holds(self, points: FloatArray) -> BoolArray:
        """Tell which points lie in the ring."""
        distance = np.hypot(*points.T)
        return np.asarray((distance >= self.inner) & (distance < self.outer))

    def count_cells(self, pitch: float) -> int:
        """Count the cells of a grid whose middle lies in the ring."""
        within_inner, within_outer = count_disc_cells((float(self.inner), float(self.outer)), pitch)
        return int(within_outer - within_inner)


@dataclass(frozen=True, slots=True)
class Patches(Result):
    """Food in round patches, scattered evenly over a disc around the start; they may overlap.

    Parameters
    ----------
    n
        Number of patches.
    radius
        Radius of each patch in body lengths.
    within
        Largest distance of their middles from the start, in body lengths.
    seed
        Random seed of their places.

    Examples
    --------
    >>> patches = Patches(n=10, radius=0.5, within=5.0, seed=1)
    >>> patches.middles.shape
    (10, 2)
    """

    n: int
    radius: float
    within: float
    seed: int = 0

    def __post_init__(self) -> None:
        _check_positive(self.radius, "radius")
        _check_positive(self.within, "within")
        if self.n < 1:
            raise InputFormatError(f"n={self.n}; at least one patch is needed.")

    @property
    def middles(self) -> FloatArray:
        """Middles of the patches, one per row."""
        random = as_generator(self.seed)
        # the root makes the places even over the area
        distance, angle = self.within * np.sqrt(random.random(self.n)), random.uniform(0, 2 * np.pi, self.n)
        middles: FloatArray = distance[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        return middles

    def holds(self, points: FloatArray) -> BoolArray:
        """Tell which points lie in a patch."""
        nearest, _ = KDTree(self.middles).query(points)
        return np.asarray(nearest < self.radius)

    def count_cells(self, pitch: float) -> int:
        """Count the cells of a grid whose middle lies in a patch."""
        reach = np.arange(-np.ceil(self.radius / pitch), np.ceil(self.radius / pitch) + 1)
        around = np.stack(np.meshgrid(reach, reach), axis=-1).reshape(-1, 2)
        near = (np.floor(self.middles / pitch)[:, None] + around).reshape(-1, 2)
        cells = np.unique(near, axis=0)
        return int(self.holds((cells + 0.5) * pitch).sum())

    def encounters(self, footprint: Footprint) -> FloatArray:
        """Give the seconds after which the body first touches each patch; NaN for those it does not touch."""
        first = np.full(self.n, np.nan)
        # of all cells in a patch, the first in the order of visits is the earliest
        for k, touched in enumerate(KDTree(footprint.points).query_ball_point(self.middles, self.radius)):
            if touched:
                first[k] = footprint.first_seen[min(touched)]
        return first


def share_found(footprint: Footprint, food: Food) -> float:
    """Measure the share of the food that the body has covered; NaN where the food is smaller than a cell.

    Examples
    --------
    >>> import numpy as np
    >>> from ethomarkov.foraging import Disc, Footprint
    >>> cells, seconds = np.array([[0, 0], [1, 0], [2, 0]]), np.array([0.0, 0.5, 1.0])
    >>> footprint = Footprint(cells=cells, first_seen=seconds, pitch=0.5)
    >>> share_found(footprint, Disc(radius=1.0))  # two of twelve cells
    0.16666666666666666
    """
    n_cells = food.count_cells(footprint.pitch)
    return float(food.holds(footprint.points).sum() / n_cells) if n_cells else np.nan


def first_encounter(footprint: Footprint, food: Food) -> float:
    """Find the seconds until the body first touches food; NaN if it never does.

    Examples
    --------
    >>> import numpy as np
    >>> from ethomarkov.foraging import Annulus, Footprint
    >>> cells, seconds = np.array([[0, 0], [1, 0], [2, 0]]), np.array([0.0, 0.5, 1.0])
    >>> footprint = Footprint(cells=cells, first_seen=seconds, pitch=0.5)
    >>> first_encounter(footprint, Annulus(inner=1.0, outer=2.0))
    1.0
    """
    touched = np.flatnonzero(food.holds(footprint.points))
    return float(footprint.first_seen[touched[0]]) if touched.size else np.nan


def _check_positive(value: float, name: str) -> None:
    if not 0 < value < np.inf:
        raise InputFormatError(f"{name}={value!r}; a positive number of body lengths is needed.")


# --- which state finds it ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class StateCoverage(Result):
    """Share of discs around the start that animals cover which never leave a state.

    Parameters
    ----------
    names
        Names of the states.
    radii
        Radii of the discs.
    share
        Covered share of each disc, in every run of every state.

    Examples
    --------
    >>> import numpy as np
    >>> share = np.array([[[0.2, 0.1], [0.4, 0.1]], [[0.1, 0.1], [0.1, 0.3]]])
    >>> coverage = StateCoverage(names=("run", "pirouette"), radii=np.array([1.0, 5.0]), share=share)
    >>> coverage.headline()
    '2 states, 2 runs of each, 2 discs'
    """

    names: tuple[str, ...]
    radii: FloatArray = array_field("radius", unit="body lengths")
    share: FloatArray = array_field("state", "run", "radius")

    def __post_init__(self) -> None:
        n_states, n_radii = len(self.names), np.size(self.radii)
        if self.share.ndim != 3 or self.share.shape[::2] != (n_states, n_radii) or self.share.shape[1] < 1:
            raise InputFormatError(
                f"share has shape {self.share.shape}; {n_states} states, one run or more, and {n_radii} radii are "
                "needed. Simulate the same number of runs in every state."
            )
        freeze_arrays(self)

    def headline(self) -> str:
        """Give the number of states, runs and radii."""
        n_states, n_runs, n_radii = self.share.shape
        return f"{count_of(n_states, 'state')}, {count_of(n_runs, 'run')} of each, {count_of(n_radii, 'disc')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FoodCurve(Result):
    """Probability that food within a distance is found in each state rather than in another.

    Parameters
    ----------
    names
        Names of the states.
    radii
        Radii of the discs in which food is spread evenly.
    probability
        p(food | r, state); sums to one over the states.
    low, high
        Limits of the 95 % interval of the mean over runs, by bootstrap.
    run_low, run_high
        Limits between which 95 % of the runs lie.
    average
        Probability of the animal that divides its time as `time_share`.
    average_low, average_high
        Limits of its 95 % interval over runs.
    time_share
        Share of time in each state, π.
    normalisation
        How coverage becomes a probability: "mean" or "paired"; see `food_curve`.
    n_runs
        Number of runs in each state.

    Examples
    --------
    >>> import numpy as np
    >>> share = np.array([[[0.2, 0.1], [0.4, 0.1]], [[0.1, 0.1], [0.1, 0.3]]])
    >>> coverage = StateCoverage(names=("run", "pirouette"), radii=np.array([1.0, 5.0]), share=share)
    >>> food_curve(coverage, np.array([0.8, 0.2])).at(5.0).round(2)
    array([0.33, 0.67])
    """

    names: tuple[str, ...]
    radii: FloatArray = array_field("radius", unit="body lengths")
    probability: FloatArray = array_field("state", "radius")
    low: FloatArray = array_field("state", "radius")
    high: FloatArray = array_field("state", "radius")
    run_low: FloatArray = array_field("state", "radius")
    run_high: FloatArray = array_field("state", "radius")
    average: FloatArray = array_field("radius")
    average_low: FloatArray = array_field("radius")
    average_high: FloatArray = array_field("radius")
    time_share: FloatArray = array_field("state")
    normalisation: Normalisation
    n_runs: int

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def at(self, radius: float) -> FloatArray:
        """Interpolate the probability of every state at one radius, on the logarithm of the radius."""
        return np.array([np.interp(np.log(radius), np.log(self.radii), row) for row in self.probability])

    def headline(self) -> str:
        """Give the number of states and the range of radii."""
        reach = f", radii {self.radii[0]:.3g} to {self.radii[-1]:.3g} body lengths" if self.radii.size else ""
        return f"{count_of(len(self.names), 'state')}{reach}, {count_of(self.n_runs, 'run')} of each"


@dataclass(frozen=True, slots=True, kw_only=True)
class Matching(Result):
    """Time that animals spend in their states, beside the food that they find there.

    Parameters
    ----------
    names
        Names of the states.
    radius
        Radius of the disc of food, in body lengths.
    efficiency
        p(food | radius, state), the probability to find food in each state.
    efficiency_low, efficiency_high
        Limits of the efficiency over runs; see `spread`.
    time_share
        Share of time in each state, mean over animals.
    time_low, time_high
        Limits of the 95 % interval of the share of time over animals.
    slope
        Slope of the line of efficiency against time, fitted over states; bootstrap over animals and runs.
    correlation
        Pearson correlation of efficiency and time over states; bootstrap over animals and runs.
    mismatch
        Half the summed difference of the two distributions: the share of time that would have to move for a match.
    spread
        What the limits of efficiency hold: the "mean" over runs, or 95 % of the "runs"; see `match_time`.

    Examples
    --------
    >>> import numpy as np
    >>> share = np.array([[[0.2, 0.1], [0.4, 0.1]], [[0.1, 0.1], [0.1, 0.3]]])
    >>> coverage = StateCoverage(names=("run", "pirouette"), radii=np.array([1.0, 5.0]), share=share)
    >>> times = np.array([[0.8, 0.2], [0.7, 0.3], [0.9, 0.1]])  # of three animals
    >>> match_time(coverage, times).headline()
    'correlation of time and food within 5 body lengths -1.00 over 2 states'
    """

    names: tuple[str, ...]
    radius: float
    efficiency: FloatArray = array_field("state")
    efficiency_low: FloatArray = array_field("state")
    efficiency_high: FloatArray = array_field("state")
    time_share: FloatArray = array_field("state")
    time_low: FloatArray = array_field("state")
    time_high: FloatArray = array_field("state")
    slope: Interval
    correlation: Interval
    mismatch: Interval
    spread: Literal["mean", "runs"]

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def headline(self) -> str:
        """Give the correlation of time and food over states."""
        return (
            f"correlation of time and food within {self.radius:.3g} body lengths {self.correlation.estimate:.2f} over "
            f"{count_of(len(self.names), 'state')}"
        )


def cover_states(  # noqa: PLR0913 (the one entry point of a simulation keeps its options flat)
    animals: Iterable[MarkovAnimal],
    basis: PostureBasis,
    settings: CrawlSettings,
    *,
    sweep: SweepSettings | None = None,
    rng: Rng = 0,
    threads: int = 1,
    progress: Progress | None = None,
) -> StateCoverage:
    """Simulate runs in every state, and measure how much of discs around their start they cover.

    Parameters
    ----------
    animals
        One per state, confined to it. They should start anywhere in their state: runs from one microstate are alike
        near the start.
    basis
        Of tangent angles.
    settings
        How many runs, how long, and how they move; 100 s as published.
    sweep
        Width of the body, and the grid; its body length is that of `settings`.
    rng, threads
        Seed or generator, and cores; the runs do not depend on cores.
    progress
        Called after every block of runs.

    Notes
    -----
    SI, "Probability of finding food".

    Examples
    --------
    >>> import ethomarkov as em
    >>> from ethomarkov.locomotion.ensemble import CrawlSettings
    >>> from ethomarkov.simulation.animal import MarkovAnimal
    >>> worms = em.simulate_worms(1, 60.0, seed=1)
    >>> postures = worms.basis.project(worms.recording)
    >>> sequences = em.DelayEmbedding(4).transform(postures)
    >>> symbols = em.Partition(8, seed=0).fit(sequences).label(sequences)
    >>> animal = MarkovAnimal.from_symbols("worm", symbols, postures, 4, 0.5, start="stationary")
    >>> cover_states([animal], worms.basis, CrawlSettings(duration=5.0, n_runs=2)).share.shape
    (1, 2, 30)
    """
    random = as_generator(rng)
    radii = food_radii()
    body = replace(sweep or SweepSettings(), body_length=settings.body_length)
    names, found = [], []
    for animal in animals:
        runs = crawl(animal, basis, settings, rng=int(random.integers(2**63)), threads=threads)
        measures = {"share": coverage_measure(basis, radii, body)}
        found.append(gather(runs, measures, threads=threads, n_runs=settings.n_runs, progress=progress).values["share"])
        names.append(animal.name)
    return StateCoverage(names=tuple(names), radii=radii, share=np.array(found))


def food_curve(
    coverage: StateCoverage, time_share: FloatArray, *, normalisation: Normalisation = "mean", rng: Rng = 0
) -> FoodCurve:
    """Compare how likely each state is to find food within a distance.

    Parameters
    ----------
    coverage
        Of runs in each state.
    time_share
        Share of time in each state, π, for the average animal.
    normalisation
        "mean" averages the coverage of each state over runs, and divides by the sum over states. "paired", as
        published, divides run k of each state by the sum over run k of all states, then averages; which runs are
        paired is arbitrary, and the mean of such ratios depends on the spread of the runs.
    rng
        Seed or generator of the bootstrap.

    Notes
    -----
    SI, "Probability of finding food"; average worm as in the caption of Fig. 5b. Runs are resampled, not animals: the
    intervals say how far the number of simulated runs is enough, not how much animals differ.

    Examples
    --------
    >>> import numpy as np
    >>> share = np.array([[[0.2, 0.1], [0.4, 0.1]], [[0.1, 0.1], [0.1, 0.3]]])
    >>> coverage = StateCoverage(names=("run", "pirouette"), radii=np.array([1.0, 5.0]), share=share)
    >>> food_curve(coverage, np.array([0.8, 0.2])).probability.round(2)
    array([[0.75, 0.33],
           [0.25, 0.67]])
    """
    share_of_time = _check_time(time_share, coverage)
    per_run = _per_run(coverage.share, normalisation)
    probability = per_run.mean(axis=1)
    draws = _resample(coverage.share, normalisation, as_generator(rng))
    low, high = np.percentile(draws, LIMITS, axis=0)
    run_low, run_high = np.percentile(per_run, LIMITS, axis=1)
    average_low, average_high = np.percentile(np.einsum("s,bsr->br", share_of_time, draws), LIMITS, axis=0)
    return FoodCurve(
        names=coverage.names,
        radii=coverage.radii,
        probability=probability,
        low=low,
        high=high,
        run_low=run_low,
        run_high=run_high,
        average=share_of_time @ probability,
        average_low=average_low,
        average_high=average_high,
        time_share=share_of_time,
        normalisation=normalisation,
        n_runs=coverage.share.shape[1],
    )


def match_time(
    coverage: StateCoverage,
    time_by_animal: FloatArray,
    *,
    spread: Literal["mean", "runs"] = "mean",
    normalisation: Normalisation = "mean",
    rng: Rng = 0,
) -> Matching:
    """Compare how well each state finds food in the largest disc with the time that animals spend in it.

    Parameters
    ----------
    coverage
        Of runs in each state.
    time_by_animal
        Share of time of every animal in each state, ``(animals, states)``.
    spread
        "mean" gives efficiencies the 95 % interval of their mean over runs; "runs" the limits between which 95 % of
        the runs lie, as published.
    normalisation
        See `food_curve`.
    rng
        Seed or generator of the bootstrap.

    Notes
    -----
    Fig. 5c. With few states the correlation is loosely determined however narrow its interval: the interval is about
    animals and runs, for these states.

    Examples
    --------
    >>> import numpy as np
    >>> share = np.array([[[0.2, 0.1], [0.4, 0.1]], [[0.1, 0.1], [0.1, 0.3]]])
    >>> coverage = StateCoverage(names=("run", "pirouette"), radii=np.array([1.0, 5.0]), share=share)
    >>> times = np.array([[0.8, 0.2], [0.7, 0.3], [0.9, 0.1]])  # of three animals
    >>> match_time(coverage, times).efficiency.round(2)
    array([0.33, 0.67])
    """
    if spread not in ("mean", "runs"):
        raise InputFormatError(f"spread={spread!r} is not known; use 'mean' or 'runs'.")
    random = as_generator(rng)
    animals = np.atleast_2d(np.asarray(time_by_animal, dtype=float))
    time = _check_time(animals.mean(axis=0), coverage)
    curve = food_curve(coverage, time, normalisation=normalisation, rng=random)
    efficiency = curve.probability[:, -1]
    low, high = (curve.low, curve.high) if spread == "mean" else (curve.run_low, curve.run_high)
    bars = [interval_of_mean(column, "animals", scale="share") for column in animals.T]
    times = animals[random.integers(len(animals), size=(N_RESAMPLES, len(animals)))].mean(axis=1)
    drawn = _resample(coverage.share[:, :, -1:], normalisation, random)[:, :, 0]
    fits = _fit(times, drawn)
    slope, correlation, mismatch = (
        _interval(float(whole), part, len(animals))
        for whole, part in zip(_fit(time[None], efficiency[None])[:, 0], fits, strict=True)
    )
    return Matching(
        names=coverage.names,
        radius=float(coverage.radii[-1]),
        efficiency=efficiency,
        efficiency_low=low[:, -1],
        efficiency_high=high[:, -1],
        time_share=time,
        time_low=np.array([bar.low for bar in bars]),
        time_high=np.array([bar.high for bar in bars]),
        slope=slope,
        correlation=correlation,
        mismatch=mismatch,
        spread=spread,
    )


def _check_time(time_share: FloatArray, coverage: StateCoverage) -> FloatArray:
    share = np.asarray(time_share, dtype=float)
    if share.shape != (len(coverage.names),) or not (share >= 0).all() or not np.isclose(share.sum(), 1):
        raise InputFormatError(
            f"The shares of time have shape {share.shape} and sum to {share.sum():.3g}; one per state is needed "
            f"({len(coverage.names)}), with a sum of one."
        )
    return share


def _probability(share: FloatArray) -> FloatArray:
    """Divide by the sum over states, the first axis; NaN where nothing is covered in any state."""
    total = share.sum(axis=0, keepdims=True)
    return np.asarray(np.divide(share, total, out=np.full(share.shape, np.nan), where=total > 0))


def _per_run(share: FloatArray, normalisation: Normalisation) -> FloatArray:
    """Divide every run by what all states cover: on average, or in the run of the same number."""
    if normalisation == "mean":
        total = share.mean(axis=1).sum(axis=0)
        return np.asarray(np.divide(share, total, out=np.full(share.shape, np.nan), where=total > 0))
    if normalisation == "paired":
        return _probability(share)
    raise InputFormatError(f"normalisation={normalisation!r} is not known; use 'mean' or 'paired'.")


def _resample(share: FloatArray, normalisation: Normalisation, random: np.random.Generator) -> FloatArray:
    """Draw means over runs again and again, ``(draws, states, radii)``."""
    n_states, n_runs, _ = share.shape
    even = np.full(n_runs, 1 / n_runs)
    if normalisation == "paired":
        # runs that were divided by one another are drawn together
        weights = random.multinomial(n_runs, even, N_RESAMPLES) / n_runs
        return np.asarray(np.einsum("bk,skr->bsr", weights, _probability(share), optimize=True))
    means = [random.multinomial(n_runs, even, N_RESAMPLES) / n_runs @ share[state] for state in range(n_states)]
    return _probability(np.array(means)).swapaxes(0, 1)


def _fit(time: FloatArray, efficiency: FloatArray) -> FloatArray:
    """Slope, correlation and mismatch of every row."""
    x = time - time.mean(axis=1, keepdims=True)
    y = efficiency - efficiency.mean(axis=1, keepdims=True)
    both, xx, yy = (x * y).sum(axis=1), (x * x).sum(axis=1), (y * y).sum(axis=1)
    nothing = np.full(len(x), np.nan)
    slope = np.divide(both, xx, out=nothing.copy(), where=xx > 0)
    correlation = np.divide(both, np.sqrt(xx * yy), out=nothing.copy(), where=xx * yy > 0)
    return np.stack([slope, correlation, np.abs(time - efficiency).sum(axis=1) / 2])


def _interval(estimate: float, draws: FloatArray, n_animals: int) -> Interval:
    low, high = np.nanpercentile(draws, LIMITS) if n_animals > 1 else (np.nan, np.nan)
    return Interval(
        estimate=estimate, low=float(low), high=float(high), level=LEVEL, over="animals and runs", n=n_animals
    )
