"""Choice of the step and the passages of simulations, by held-out data and by novelty."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ethomarkov._core.parallel import map_tasks
from ethomarkov._core.random import generator
from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.segments import Segments
from ethomarkov._core.series import Series
from ethomarkov._core.showing import frame_of
from ethomarkov._core.types import BoolArray, FloatArray, Progress
from ethomarkov.exceptions import EthomarkovError
from ethomarkov.markov.chain import MarkovChain
from ethomarkov.markov.spectrum import reversible_modes
from ethomarkov.simulation.animal import MarkovAnimal
from ethomarkov.simulation.novelty import novelty
from ethomarkov.simulation.postures import UnfoldMethod, trace_rows, unfold_blocks
from ethomarkov.states.symbols import Symbols
from ethomarkov.validation.fidelity import PARTS, Yardstick, deviations

if TYPE_CHECKING:
    import pandas as pd

FEWEST_ANIMALS, N_BLOCKS = 4, 10
N_HALVINGS = 4
FEWEST_RUNS, RUN_FRAMES, RECORDINGS = 12, 250_000, 4
"""Fewest runs of every trial, frames of all of them together, and these at most in recordings: enough that runs err
less than animals differ."""
LAGS, PASSAGES = (1.0, 2.0, 4.0), (1.0, 2.0)
"""Steps and passages that are tried, in lags of the chain."""
MOST_PASSAGES = 4
"""In a step."""
NEGLIGIBLE = 0.1
"""Excess of a score, in squared sampling errors, that is not worth a replay."""
LEAST_NEW = 0.5
"""Share of simulated time that must be new, where that can be had."""
SHORTEST = 16
"""Shortest animals or blocks that can be compared, in lags of the chain."""
INSIDE = 1.96
TOO_LITTLE = "it is the lag of the chain, and too little is recorded to compare others with held-out data"
FIRST = "0"


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationChoice(Result):
    """The lag and the passages of simulations, what else was tried, and why these were taken.

    Parameters
    ----------
    lag
        Step of the simulated chain in seconds, of every candidate.
    passage
        Seconds for which a recording is followed at a time, of every candidate.
    novelty
        Share of simulated time that copies no recorded passage longer than a second; NaN where it was not measured.
    score
        Mean squared distance of runs from held-out data, in sampling errors; one for a perfect model.
    error
        Standard error of the excess over the best score, over halvings.
    parts
        Score of every part in `PARTS`; NaN for parts that the animals do not have.
    inside
        Share of the numbers of every part that lie within 1.96 sampling errors of held-out data.
    chosen
        Index of the candidate that was taken.
    over
        What was held out: half of the "animals", or of the "blocks" of time; empty where nothing was compared.
    reason
        Why this candidate was taken, in words.
    simulated_novelty
        Novelty of the study's own simulations, which were learned from all animals.
    """

    lag: FloatArray = array_field("candidate", unit="s")
    passage: FloatArray = array_field("candidate", unit="s")
    novelty: FloatArray = array_field("candidate")
    score: FloatArray = array_field("candidate")
    error: FloatArray = array_field("candidate")
    parts: FloatArray = array_field("candidate", "part")
    inside: FloatArray = array_field("candidate", "part")
    chosen: int
    over: str
    reason: str
    simulated_novelty: float = float("nan")

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @classmethod
    def fixed(cls, lag: float, passage: float, reason: str) -> "SimulationChoice":
        """Make a choice that settings prescribe."""
        unknown, parts = np.full(1, np.nan), np.full((1, len(PARTS)), np.nan)
        return cls(
            lag=np.array([lag]),
            passage=np.array([passage]),
            novelty=unknown,
            score=unknown,
            error=unknown,
            parts=parts,
            inside=parts,
            chosen=0,
            over="",
            reason=reason,
        )

    @property
    def chosen_lag(self) -> float:
        """Seconds of a step."""
        return float(self.lag[self.chosen])

    @property
    def chosen_passage(self) -> float:
        """Seconds for which a recording is followed at a time."""
        return float(self.passage[self.chosen])

    def explain(self) -> str:
        """Say in a sentence how animals are simulated, why, and how much of it is new."""
        return (
            f"Simulated in steps of {self.chosen_lag:.3g} s, following recordings for {self.chosen_passage:.3g} s at a "
            f"time, because {self.reason}; {self.simulated_novelty:.0%} of the simulated time copies no recorded "
            "passage longer than a second."
        )

    def headline(self) -> str:
        """Give the step and the passages of simulations."""
        if not 0 <= self.chosen < min(self.lag.size, self.passage.size):
            return ""
        return f"steps of {self.chosen_lag:.3g} s, following recordings for {self.chosen_passage:.3g} s at a time"

    def table(self) -> "pd.DataFrame":
        """List the candidates: step and passage in seconds, novelty, and score of every part."""
        return frame_of(self.rows())

    def rows(self) -> list[dict[str, float | bool]]:
        """List the candidates as a table."""
        return [
            {
                "lag_s": float(self.lag[k]),
                "passage_s": float(self.passage[k]),
                "novelty": float(self.novelty[k]),
                "score": float(self.score[k]),
                "error": float(self.error[k]),
                **{name: float(value) for name, value in zip(PARTS, self.parts[k], strict=True)},
                **{f"{name} inside": float(share) for name, share in zip(PARTS, self.inside[k], strict=True)},
                "chosen": k == self.chosen,
            }
            for k in range(self.lag.size)
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialSettings:
    """Settings of the trial simulations.

    Parameters
    ----------
    n_delays
        Frames per sequence.
    has_events
        Whether reversals and turns are defined.
    method
        Method of unfolding; passages of several lags need "matched".
    seed
        Random seed of halvings and runs.
    """

    n_delays: int
    has_events: bool = False
    method: UnfoldMethod = "matched"
    seed: int = 0


def choose_simulation(
    chain: MarkovChain,
    postures: Series,
    symbols: Symbols,
    settings: TrialSettings,
    *,
    threads: int = 1,
    progress: Progress | None = None,
) -> SimulationChoice:
    """Choose the step and the passages of simulations by learning from half of the animals and comparing with the rest.

    Parameters
    ----------
    chain
        Of all animals, by whose lag all others are set.
    postures, symbols
        Of all animals.
    settings
        How simulations are tried.
    threads, progress
        See `map_tasks`.

    Notes
    -----
    Lags of one, two and four times that of the chain are tried with passages of one and two times it; from shorter
    ones come reversals that the animals do not make. Fewer than four animals are cut into blocks of time.
    Microstates are those of the study; chains and passages come from the half that is learned from. Among
    candidates whose score exceeds the best by at most one standard error, (or a tenth) the one with the highest
    novelty is taken. A candidate of which more than half is copied is not taken as long as there is another,
    however well it scores: replayed recordings agree with recordings.
    """
    units, labels = _units(postures, symbols, settings.n_delays)
    if _is_short(units, chain):
        return SimulationChoice.fixed(chain.lag, chain.lag, TOO_LITTLE)
    slow = np.full(chain.n_states, np.nan)
    slow[chain.states] = reversible_modes(chain, 1)[1][:, 0]
    yard = Yardstick.from_recording(units, labels, slow, chain.lag, has_events=settings.has_events)
    trial = _Trial(postures=units, symbols=labels, yard=yard, data=yard.measure(units, labels), settings=settings)
    steps = _candidates(units.sampling.frames(chain.lag), settings.method)
    halves = _halvings(trial, settings.seed)
    tasks = list(itertools.product(range(len(steps)), range(len(halves))))
    found = map_tasks(
        lambda task: trial.score(steps[task[0]], halves[task[1]], f"{task[1]}"),
        tasks,
        threads=threads,
        progress=progress,
        what="simulations",
    )
    table = np.array(found).reshape(len(steps), len(halves), -1)
    over = "animals" if units is postures else "blocks"
    return _choose(np.array(steps) / units.sampling.rate, table, over, chain.lag)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trial:
    """Recordings cut into units, and what was measured on them."""

    postures: Series
    symbols: Symbols
    yard: Yardstick
    data: FloatArray
    settings: TrialSettings

    def score(self, steps: tuple[int, int], train: BoolArray, name: str) -> FloatArray:
        """Simulate what was learned from some units: squared deviations of every part, share inside, and novelty."""
        try:
            runs, new = self._simulate(steps, train, name)
        except EthomarkovError:  # too little was recorded for this lag
            return np.full(2 * len(PARTS) + 1, np.nan)
        away = deviations(self.data, ~train, runs)
        parts = [away[(self.yard.part == k) & np.isfinite(away)] for k in range(len(PARTS))]
        inside = [_mean(np.abs(part) <= INSIDE) for part in parts]
        return np.array([*(_mean(part**2) for part in parts), *inside, new])

    def _simulate(self, steps: tuple[int, int], train: BoolArray, name: str) -> tuple[FloatArray, float]:
        own, (lag, passage) = self._learned(train), np.array(steps) / self.postures.sampling.rate
        animal = MarkovAnimal.from_symbols(
            name, own, self.postures, self.settings.n_delays, lag, passage=passage, start="stationary"
        )
        seed = int(generator(self.settings.seed, "trial", name, *steps).integers(2**63))
        edges = self.postures.segments.offsets
        n_frames, most = np.median(np.diff(edges)), min(RUN_FRAMES, RECORDINGS * edges[-1])
        n_steps, n_runs = max(2, round(n_frames / steps[0])), max(FEWEST_RUNS, round(most / n_frames))
        walks = animal.walk(n_steps * lag, n_runs, rng=seed)
        ends, method = animal.passages(walks, rng=seed), self.settings.method
        runs = next(unfold_blocks(ends, animal.repertoire, walks_per_block=n_runs, rng=seed, method=method))
        if name != FIRST:  # one halving tells the novelty well enough
            return self.yard.measure(runs, walks), float("nan")
        rows = trace_rows(ends, animal.repertoire, rng=seed, method=method)
        new = novelty(runs, rows, animal.repertoire, method=method)
        return self.yard.measure(runs, walks), float(new.mean())

    def _learned(self, train: BoolArray) -> Symbols:
        """Keep the state sequences of some units."""
        kept = train[self.symbols.segments.row_individual]
        return Symbols(
            labels=self.symbols.labels,
            n_states=self.symbols.n_states,
            segments=self.symbols.segments.keep(kept),
            sampling=self.symbols.sampling,
        )


def _is_short(units: Series, chain: MarkovChain) -> bool:
    """Tell whether half of the units are too short, or the chain too small, for a comparison."""
    lengths = units.segments.count_rows() / units.sampling.rate
    return bool(np.median(lengths) < SHORTEST * chain.lag) or chain.states.size < 2


def _units(postures: Series, symbols: Symbols, n_delays: int) -> tuple[Series, Symbols]:
    """Take animals, or blocks of time of fewer than four, as individuals; sequences cross no border."""
    segments = postures.segments
    if segments.n_individuals >= FEWEST_ANIMALS:
        return postures, symbols
    n_blocks = -(-N_BLOCKS // segments.n_individuals)
    edges = [np.linspace(a, b, n_blocks + 1).astype(int)[:-1] for a, b in itertools.pairwise(segments.offsets)]
    offsets = np.append(np.concatenate(edges), segments.offsets[-1])
    blocks = Segments.from_valid(segments.valid, offsets)
    before = (n_delays - 1) // 2
    inside = blocks.trim(before, n_delays - 1 - before).keep(symbols.segments.valid)
    series = Series(values=postures.values, segments=blocks, sampling=postures.sampling)
    return series, Symbols(labels=symbols.labels, n_states=symbols.n_states, segments=inside, sampling=symbols.sampling)


def _candidates(lag_frames: int, method: UnfoldMethod) -> list[tuple[int, int]]:
    """List frames of a step and of a passage, of which a whole number makes the step."""
    if method != "matched":
        return [(round(n * lag_frames), round(n * lag_frames)) for n in LAGS]
    lags, passages = ([max(1, round(n * lag_frames)) for n in times] for times in (LAGS, PASSAGES))
    pairs = itertools.product(lags, sorted(set(passages)))
    return [(lag, passage) for lag, passage in pairs if lag % passage == 0 and lag <= MOST_PASSAGES * passage]


def _halvings(trial: _Trial, seed: int) -> list[BoolArray]:
    """Divide the units in two at random, some times, and learn from each half in turn."""
    rng, n = generator(seed, "halves"), len(trial.data)
    halves = [np.isin(np.arange(n), rng.permutation(n)[: n // 2]) for _ in range(N_HALVINGS)]
    return [side for half in halves for side in (half, ~half)]


def _choose(steps: FloatArray, table: FloatArray, over: str, lag: float) -> SimulationChoice:
    parts, inside, new = table[:, :, : len(PARTS)], table[:, :, len(PARTS) : -1], table[:, 0, -1]
    folds = np.array([[_mean(fold) for fold in candidate] for candidate in parts])
    # Where one half is held out and then the other, the difference between them cancels, and that of the model is left.
    scores = folds.reshape(len(folds), -1, 2).mean(axis=2)
    score, known = scores.mean(axis=1), np.isfinite(folds).all(axis=1) & np.isfinite(new)
    if not known.any():
        return SimulationChoice.fixed(lag, lag, TOO_LITTLE)
    allowed = known & (new >= LEAST_NEW)
    allowed = allowed if allowed.any() else known
    best = int(np.where(allowed, score, np.inf).argmin())
    error = (scores - scores[best]).std(axis=1, ddof=1) / np.sqrt(scores.shape[1])
    fair = allowed & (score - score[best] <= np.maximum(error, NEGLIGIBLE))
    chosen = int(np.where(fair, new, -1.0).argmax())
    return SimulationChoice(
        lag=steps[:, 0],
        passage=steps[:, 1],
        novelty=new,
        score=score,
        error=error,
        parts=parts.mean(axis=1),
        inside=inside.mean(axis=1),
        chosen=chosen,
        over=over,
        reason=_reason(score[chosen], (int(known.sum()), int(allowed.sum()), int(fair.sum())), over),
    )


def _reason(score: float, counts: tuple[int, int, int], over: str) -> str:
    n_tried, n_new, n_fair = counts
    replayed = f" ({n_tried - n_new} more only replay)" if n_new < n_tried else ""
    why = "it lies nearest to" if n_fair == 1 else f"it copies the least of {n_fair} that cannot be told apart by"
    return f"of {n_new} ways{replayed} {why} {over} that were not learned from (score {score:.3g}, 1 if perfect)"


def _mean(values: Sequence[float] | FloatArray | BoolArray) -> float:
    known = np.asarray(values)[np.isfinite(values)]
    return float(known.mean()) if known.size else float("nan")
