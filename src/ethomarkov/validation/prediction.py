"""Prediction of postures: growth of the prediction error, and mixing time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ethomarkov._core.interval import Interval, mean_band, resample_weights, weighted_means
from ethomarkov._core.random import Rng, as_generator
from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.series import Series
from ethomarkov._core.types import BoolArray, FloatArray, IntArray
from ethomarkov._core.words import count_of
from ethomarkov.exceptions import ConnectivityError, InputFormatError
from ethomarkov.simulation.animal import MarkovAnimal
from ethomarkov.simulation.postures import UnfoldMethod, unfold_blocks
from ethomarkov.simulation.symbols import simulate_symbols
from ethomarkov.states.symbols import Symbols
from ethomarkov.validation.distribution import in_parts

if TYPE_CHECKING:
    import pandas as pd

N_PARTS = 10
N_RANDOM_PAIRS = 50_000
WALKS_PER_BLOCK = 250
MIXED = 0.95
"""Share of the error of random pairs at which predictions count as mixed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionSettings:
    """How prediction errors are measured.

    Parameters
    ----------
    seconds
        Seconds over which futures are followed.
    n_samples
        Number of comparisons per animal.
    apart
        Least seconds between two recorded times that are compared: nearer ones are one and the same event.
    method
        Method of unfolding simulated postures; "paper-filled" is the published one. Not "paper", whose smoothed
        postures hide which recorded passage they came from, nor "paper-raw", whose holes end every future after one
        step.

    Examples
    --------
    >>> PredictionSettings(seconds=5.0).n_samples
    1000
    """

    seconds: float = 20.0
    n_samples: int = 1000
    apart: float = 20.0
    method: UnfoldMethod = "matched"


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionError(Result):
    """Mean distance between a recorded future and a prediction from the same microstate.

    Parameters
    ----------
    times
        Seconds since the frame at which both are in the same microstate.
    error
        E(τ) of each animal, or of each part of the recording of a single one.
    n_pairs
        Number of comparisons behind every value; futures are followed up to the next gap.
    random_error
        e∞, the mean distance of two random frames of the animal.
    predictor
        What the recorded future is compared with: "data" or "simulation".
    individuals
        Names of the rows.
    over
        What the rows are, in words: "animals", or "parts" of a single recording.

    Examples
    --------
    >>> from ethomarkov.synthetic import double_well
    >>> walkers = double_well(100.0, n_walkers=2, rng=1)
    >>> side = (walkers.values[:, 0] > 0).astype(np.int32)
    >>> wells = Symbols(labels=side, n_states=2, segments=walkers.segments, sampling=walkers.sampling)
    >>> error = recorded_error(walkers, wells, PredictionSettings(seconds=1.0, n_samples=100, apart=5.0), rng=1)
    >>> error.table().columns.tolist()
    ['individual', 'time_s', 'error', 'n_pairs', 'random_error']
    """

    times: FloatArray = array_field("time", unit="s")
    error: FloatArray = array_field("unit", "time")
    n_pairs: IntArray = array_field("unit", "time")
    random_error: FloatArray = array_field("unit")
    predictor: str
    individuals: tuple[str, ...]
    over: str

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def mean_band(
        self, level: float = 0.95, *, size: int | None = None, rng: Rng = 0
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Average the error over the rows, with an interval; see `mean_band`."""
        return mean_band(self.error, level, scale="positive", size=size, rng=rng)

    def headline(self) -> str:
        """Give the mixing time of the mean error, without its interval."""
        mixed = self._mixed_at(self._known_rows(), MIXED) if self.times.size else float("nan")
        if np.isnan(mixed):
            return "nothing was compared"
        rows = count_of(len(self.error), self.over.removesuffix("s"))
        when = f"mixed after {mixed:.3g} s" if np.isfinite(mixed) else f"not mixed within {self.times[-1]:.3g} s"
        return f"{when}, predicted from {self.predictor}, {rows}"

    def table(self) -> "pd.DataFrame":
        """List the error of every animal or part against time in seconds."""
        import pandas as pd

        n_rows, n_times = self.error.shape
        names = np.array([*self.individuals, *map(str, range(len(self.individuals), n_rows))], dtype=object)[:n_rows]
        return pd.DataFrame(
            {
                "individual": np.repeat(names, n_times),
                "time_s": np.tile(self.times, n_rows),
                "error": self.error.ravel(),
                "n_pairs": self.n_pairs.ravel(),
                "random_error": np.repeat(self.random_error, n_times),
            }
        )

    def mixing_time(self, share: float = MIXED, *, level: float = 0.95, rng: Rng = 0) -> Interval:
        """Find the first time at which the mean error exceeds a share of the mean error of random pairs.

        Parameters
        ----------
        share
            Of e∞.
        level, rng
            Coverage of the interval, and seed or generator; animals (or parts) are resampled.

        Returns
        -------
        Seconds; infinite where the error does not get there within the times.

        Notes
        -----
        Caption of Fig. S2(b). The error meets the threshold at a small slope, so that its crossing is uncertain by
        some tenths of a second however many samples are taken from a few animals.
        """
        table = self._known_rows()
        n_units = len(table)
        low = high = np.nan
        if n_units > 1:
            # A first crossing is no smooth function of the animals and may be infinite: it has no jackknife.
            draws = resample_weights(n_units, rng=rng)
            found = np.concatenate([self._crossings(weighted_means(table, weights), share) for weights in draws])
            # no interpolation, which infinite times do not allow
            low, high = np.quantile(found, [(1 - level) / 2, (1 + level) / 2], method="inverted_cdf").tolist()
        estimate = self._mixed_at(table, share)
        return Interval(estimate=estimate, low=low, high=high, level=level, over=self.over, n=n_units)

    def _known_rows(self) -> FloatArray:
        """Errors of every animal or part against time, then of random pairs; rows without any are left out."""
        table = np.column_stack([self.error, self.random_error])
        return np.asarray(table[np.isfinite(table).sum(axis=1) > 1])

    def _mixed_at(self, table: FloatArray, share: float) -> float:
        """Find the first time at which the mean over rows exceeds a share of the last column; NaN without rows."""
        if not len(table):
            return float("nan")
        return float(self._crossings(weighted_means(table, np.ones((1, len(table)))), share)[0])

    def _crossings(self, curves: FloatArray, share: float) -> FloatArray:
        """First time at which each curve exceeds a share of its last entry."""
        above = curves[:, :-1] > share * curves[:, -1:]
        first = np.where(above.any(axis=1), above.argmax(axis=1), -1)
        return np.append(self.times, np.inf)[first]


def recorded_error(
    postures: Series, symbols: Symbols, settings: PredictionSettings | None = None, *, rng: Rng = 0
) -> PredictionError:
    """Predict a recorded future by another recorded one, of the same animal and from the same microstate.

    Parameters
    ----------
    postures
        Mode amplitudes.
    symbols
        Microstates of their sequences, on the same rows.
    settings
        How far, how often, how far apart.
    rng
        Seed or generator.

    Notes
    -----
    E(τ) = ⟨‖a(t + τ) − a(t' + τ)‖⟩ over random t, with t' another time at which the animal was in the same microstate:
    what the microstate knows of the future. Times without such a partner are left out. For a single animal the rows are
    parts of the recording (by t), since comparisons that share frames are not independent.

    Examples
    --------
    >>> from ethomarkov.synthetic import double_well
    >>> walkers = double_well(100.0, n_walkers=2, rng=1)
    >>> side = (walkers.values[:, 0] > 0).astype(np.int32)
    >>> wells = Symbols(labels=side, n_states=2, segments=walkers.segments, sampling=walkers.sampling)
    >>> error = recorded_error(walkers, wells, PredictionSettings(seconds=1.0, n_samples=100, apart=5.0), rng=1)
    >>> error.error.shape  # of two walkers, at eleven times
    (2, 11)
    """
    settings, random = settings or PredictionSettings(), as_generator(rng)
    _check_rows(postures, symbols)
    apart = postures.sampling.nearest_frames(settings.apart, "apart")
    times = [_draw_times(symbols, i, None, settings.n_samples, random) for i in range(symbols.segments.n_individuals)]
    pairs = [_draw_partners(symbols, i, rows, apart, random) for i, rows in enumerate(times)]
    distances = [
        error_growth(postures, first, postures, second, postures.sampling.nearest_frames(settings.seconds, "seconds"))
        for first, second in pairs
    ]
    return _summarise(postures, [first for first, _ in pairs], distances, "data", random)


def simulated_error(
    postures: Series,
    symbols: Symbols,
    animals: Sequence[MarkovAnimal],
    settings: PredictionSettings | None = None,
    *,
    rng: Rng = 0,
) -> PredictionError:
    """Predict a recorded future by a simulated one that starts in the same microstate.

    Parameters
    ----------
    postures, symbols
        See `recorded_error`.
    animals
        The model of each individual, in their order.
    settings
        How far, how often, and how walks are unfolded.
    rng
        Seed or generator.

    Notes
    -----
    A walk that begins with the very passage that is to be predicted is left out, as are recorded times within
    `settings.apart` of each other in `recorded_error`. Its later steps were still learned from the same recording: a
    held-out test of the model needs animals learned from other data. The published curve matches instantaneous postures
    rather than microstates.
    """
    settings, random = settings or PredictionSettings(), as_generator(rng)
    _check_rows(postures, symbols)
    if len(animals) != symbols.segments.n_individuals:
        raise InputFormatError(
            f"There are {len(animals)} models for {symbols.segments.n_individuals} animals; one each is needed."
        )
    times, distances = [], []
    for i, animal in enumerate(animals):
        first = _draw_times(symbols, i, animal, settings.n_samples, random)
        times.append(first)
        distances.append(_simulated_distances(postures, first, symbols.labels[first], animal, settings, random))
    return _summarise(postures, times, distances, "simulation", random)


def error_growth(
    first: Series, first_rows: IntArray, second: Series, second_rows: IntArray, n_frames: int
) -> FloatArray:
    """Follow pairs of futures, and give their distance frame by frame.

    Parameters
    ----------
    first, first_rows
        One series, and the rows where its futures begin.
    second, second_rows
        The other, which may be the same.
    n_frames
        How far.

    Returns
    -------
    One row per pair, one column per frame from zero to `n_frames`; NaN from the first gap or end of either on.
    """
    ahead = np.arange(n_frames + 1)
    left = np.minimum(_frames_left(first, first_rows), _frames_left(second, second_rows))
    known = ahead < left[:, None]
    a, b = (
        series.values[np.where(known, rows[:, None] + ahead, rows[:, None])]
        for series, rows in ((first, first_rows), (second, second_rows))
    )
    return np.where(known, np.linalg.norm(a - b, axis=2), np.nan)


def _simulated_distances(
    postures: Series,
    rows: IntArray,
    labels: IntArray,
    animal: MarkovAnimal,
    settings: PredictionSettings,
    rng: np.random.Generator,
) -> FloatArray:
    """Distances of recorded futures from walks that begin in the same microstates."""
    n_frames = postures.sampling.nearest_frames(settings.seconds, "seconds")
    distances, done = np.empty((rows.size, n_frames + 1)), 0
    if rows.size == 0:
        return distances
    repertoire = animal.repertoire
    lead = (repertoire.n_delays - 1) // 2  # the frame of a walk at which its first microstate is labelled
    n_steps = -(-(lead + n_frames + 1) // postures.sampling.frames(animal.chain.lag)) + 1
    walks = simulate_symbols(animal.chain, n_steps * animal.chain.lag, n_walks=rows.size, start=labels, rng=rng)
    walks = animal.passages(walks, rng=rng)
    blocks = unfold_blocks(walks, repertoire, walks_per_block=WALKS_PER_BLOCK, rng=rng, method=settings.method)
    for block in blocks:
        here = slice(done, done + block.segments.n_individuals)
        starts = block.segments.offsets[:-1] + lead
        distances[here] = error_growth(postures, rows[here], block, starts, n_frames)
        apart = postures.sampling.nearest_frames(settings.apart, "apart")
        own = _is_own_passage(postures, rows[here], block.values[starts], apart)
        distances[here][own] = np.nan
        done = here.stop
    return distances


def _check_rows(postures: Series, symbols: Symbols) -> None:
    if postures.segments.n_rows != symbols.segments.n_rows or postures.sampling != symbols.sampling:
        raise InputFormatError(
            f"The postures have {postures.segments.n_rows} rows at {postures.sampling.rate:g} Hz, the state sequence "
            f"{symbols.segments.n_rows} at {symbols.sampling.rate:g} Hz. Use the postures that were labelled."
        )


def _draw_times(
    symbols: Symbols, individual: int, animal: MarkovAnimal | None, n_samples: int, rng: np.random.Generator
) -> IntArray:
    """Draw labelled rows of one individual, with replacement; of a model only those that it can start from."""
    rows = np.flatnonzero(symbols.segments.mask(individual).valid)
    if rows.size == 0:
        return rows
    if animal is not None:
        rows = rows[animal.chain.state_index[symbols.labels[rows]] >= 0]
    if rows.size == 0:
        raise ConnectivityError(
            f"No frame of {symbols.segments.individuals[individual]} lies in a connected microstate of its model. "
            "Use the state sequences of the partition on which the model was learned."
        )
    return rng.choice(rows, n_samples)


def _draw_partners(
    symbols: Symbols, individual: int, rows: IntArray, apart: int, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Draw for each row another of the same individual and microstate, evenly among those far enough; drop the rest."""
    members = np.flatnonzero(symbols.segments.mask(individual).valid)
    # members sorted by microstate, then by time: the near ones of a row are a stretch of those of its microstate
    n_rows, labels = symbols.segments.n_rows, symbols.labels.astype(np.int64)
    place = np.sort(labels[members] * n_rows + members)
    base = labels[rows] * n_rows
    begin, end = np.searchsorted(place, [base, base + n_rows])
    near = np.searchsorted(place, [np.maximum(base + rows - apart, base), base + np.minimum(rows + apart + 1, n_rows)])
    n_far = (end - begin) - (near[1] - near[0])
    kept = n_far > 0
    drawn = begin[kept] + rng.integers(n_far[kept])
    drawn += np.where(drawn >= near[0][kept], (near[1] - near[0])[kept], 0)
    return rows[kept], place[drawn] % n_rows


def _frames_left(series: Series, rows: IntArray) -> IntArray:
    """Frames from each row to the end of its run, itself included; none in a gap."""
    left = np.zeros(series.segments.n_rows, dtype=np.int64)
    for start, stop, _ in series.segments:
        left[start:stop] = np.arange(stop - start, 0, -1)
    found: IntArray = left[rows]
    return found


def _is_own_passage(postures: Series, rows: IntArray, begun: FloatArray, apart: int) -> BoolArray:
    """Flag walks whose first posture is a recorded one from about the row that is to be predicted."""
    near = np.clip(rows[:, None] + np.arange(-apart, apart + 1), 0, len(postures.values) - 1)
    own: BoolArray = (postures.values[near] == begun[:, None]).all(axis=2).any(axis=1)
    return own


def _summarise(
    postures: Series, times: list[IntArray], distances: list[FloatArray], predictor: str, rng: np.random.Generator
) -> PredictionError:
    """Average over the comparisons of each animal, or of each part of a single one."""
    units = postures.segments if len(times) > 1 else in_parts(postures, N_PARTS).segments
    names, unit_of_row = units.individuals, units.row_individual
    unit, table = unit_of_row[np.concatenate(times)], np.concatenate(distances)
    known = np.isfinite(table)
    member = (unit == np.arange(len(names))[:, None]).astype(float)
    n_pairs = np.rint(member @ known).astype(np.int64)
    total = member @ np.where(known, table, 0.0)
    return PredictionError(
        times=np.arange(table.shape[1]) / postures.sampling.rate,
        error=np.divide(total, n_pairs, out=np.full(total.shape, np.nan), where=n_pairs > 0),
        n_pairs=n_pairs,
        random_error=_random_error(postures, unit_of_row, len(names), rng),
        predictor=predictor,
        individuals=names,
        over="animals" if len(times) > 1 else "parts",
    )


def _random_error(postures: Series, unit_of_row: IntArray, n_units: int, rng: np.random.Generator) -> FloatArray:
    """Mean distance between two random frames of an animal, the first of them in the unit."""
    total, n_pairs = np.zeros(n_units), np.zeros(n_units)
    for individual in np.flatnonzero(postures.segments.count_rows()).tolist():
        rows = np.flatnonzero(postures.segments.mask(individual).valid)
        first, second = rng.choice(rows, (2, N_RANDOM_PAIRS))
        distance = np.linalg.norm(postures.values[first] - postures.values[second], axis=1)
        total += np.bincount(unit_of_row[first], distance, n_units)
        n_pairs += np.bincount(unit_of_row[first], minlength=n_units)
    mean: FloatArray = np.divide(total, n_pairs, out=np.full(n_units, np.nan), where=n_pairs > 0)
    return mean
