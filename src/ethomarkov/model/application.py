"""Application of a model to new recordings, and whether the model covers them.

Four numbers per animal say how well the training animals cover it: the distance of its sequences from their
microstates, the share of sequences beyond the reach of their microstate, the share of transitions that never occurred
in training, and the likelihood of its transitions. The same numbers of the training animals, each computed without
that animal, are the reference.
"""

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.series import Series
from ethomarkov._core.showing import frame_of_columns
from ethomarkov._core.types import BoolArray, FloatArray, IntArray
from ethomarkov._core.words import count_of
from ethomarkov.model.behaviour import MACRO, BehaviourModel
from ethomarkov.recording import Recording
from ethomarkov.states import DelayEmbedding, Microstates, Symbols

if TYPE_CHECKING:
    import pandas as pd

QUANTITIES = ("distance_ratio", "outside_share", "unseen_share", "log_likelihood")
BORDERLINE, OUTSIDE = 3.0, 6.0
"""Standard deviations above the training animals at which an animal is no longer covered, and is outside."""
LEAST_SPREAD = (0.05, 0.03, 0.03, 0.05)
"""Least standard deviation between animals: in ln ratio, √share, √share, relative likelihood."""
REACH = 0.99
ENOUGH_VISITS = 100  # for a microstate's own 99th percentile
N_BLOCKS = 8
LEAST_RATIO = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference(Result):
    """The numbers of the training animals, each computed from the others.

    Parameters
    ----------
    units
        Animals; blocks of time where there is only one animal.
    distance_ratio, outside_share, unseen_share, log_likelihood
        As in `Application`: distances to microstate centers without the unit's own share in them, reach and transition
        counts of the other units.
    seconds
        Transitions of each unit, in seconds of recording.
    """

    units: tuple[str, ...]
    distance_ratio: FloatArray = array_field("unit")
    outside_share: FloatArray = array_field("unit")
    unseen_share: FloatArray = array_field("unit")
    log_likelihood: FloatArray = array_field("unit", unit="nat/s")
    seconds: FloatArray = array_field("unit", unit="s")

    def __post_init__(self) -> None:
        freeze_arrays(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Application(Result):
    """New recordings labelled by a model, and how well the model covers them.

    Parameters
    ----------
    symbols
        Microstate of every new frame.
    macrostates
        Macrostate of every new frame; ``-1`` where there is none.
    macrostate_names
        Names of the macrostates, as in the model.
    individuals
        The new animals.
    distance_ratio
        Median distance of an animal's sequences to their centres, relative to that of all training sequences.
    outside_share
        Share of sequences farther from their centre than 99 % of the training sequences of that microstate (of all
        training sequences for microstates with fewer than a hundred).
    unseen_share
        Share of transitions at the model's lag that never occurred in training.
    log_likelihood
        Of the transitions under the training chain, in nats per second; see `score_transitions`.
    excess
        Number of standard deviations by which each of the four numbers, in this order, is worse than in training.
    flag
        "covered" when no excess is above 3, "outside" when one is above 6, else "borderline".
    reason
        Reason of the flag, in words.
    reference
        The same numbers of the training animals.

    Notes
    -----
    The excess is computed on scales with even variance: the logarithm of the distance ratio, the root of the shares and
    the likelihood as it is. The variance has two parts. Variance between animals: that of the reference animals minus
    their sampling error, but at least a fixed one (a standard deviation of 5 % in distance and likelihood, of 0.03 in
    the root of a share; twice as much when there was one training animal). And sampling error: that of the new
    recording follows from the differences between blocks of time within the training animals, so that short recordings
    are not flagged for being short.

    The test is one-sided: an animal that shows only a part of the training behaviour is covered. Being covered means
    that the states and transitions of the model suffice to describe the animal, not that it uses them as often.
    """

    symbols: Symbols
    macrostates: IntArray = array_field("frame")
    macrostate_names: tuple[str, ...]
    individuals: tuple[str, ...]
    distance_ratio: FloatArray = array_field("individual")
    outside_share: FloatArray = array_field("individual")
    unseen_share: FloatArray = array_field("individual")
    log_likelihood: FloatArray = array_field("individual", unit="nat/s")
    excess: FloatArray = array_field("individual", "quantity")
    flag: tuple[str, ...]
    reason: tuple[str, ...]
    reference: Reference

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def frames(self) -> IntArray:
        """Frames of each animal that have a microstate."""
        return self.symbols.segments.count_rows()

    @property
    def macrostate_shares(self) -> FloatArray:
        """Share of time of each animal in each macrostate; NaN for animals without any."""
        n_animals, n_groups = len(self.individuals), len(self.macrostate_names)
        known = self.macrostates >= 0
        place = self.symbols.segments.row_individual[known] * n_groups + self.macrostates[known]
        counts = np.bincount(place, minlength=n_animals * n_groups).reshape(n_animals, n_groups)
        return _divide(counts, counts.sum(axis=1, keepdims=True))

    def headline(self) -> str:
        """Say how many of the new animals are covered by the model."""
        counts = ", ".join(f"{self.flag.count(word)} {word}" for word in dict.fromkeys(self.flag))
        return f"{count_of(len(self.individuals), 'animal')}{': ' if counts else ''}{counts}"

    def table(self) -> "pd.DataFrame":
        """List the new animals: frames, flag, the four numbers, share of time in each macrostate, reason."""
        shares = self.macrostate_shares
        columns: dict[str, object] = {"individual": self.individuals, "frames": self.frames, "flag": self.flag}
        columns |= {name: getattr(self, name) for name in QUANTITIES}
        columns |= {f"share_{name.replace(' ', '_')}": shares[:, k] for k, name in enumerate(self.macrostate_names)}
        return frame_of_columns(columns | {"reason": self.reason})


def apply_model(model: BehaviourModel, recording: Recording, *, threads: int = 1) -> Application:
    """Label new recordings with the microstates of a model and test whether the model covers them.

    Parameters
    ----------
    model
        Learned from the training animals.
    recording
        Of new animals, at the model's sampling rate.
    threads
        Cores to use; the result does not depend on it.
    """
    sequences = DelayEmbedding(n_delays=model.n_delays).transform(model.project(recording))
    symbols = model.microstates.label(sequences, threads=threads)
    training = _Training.of(model)
    left_out = _leave_out(training)
    evidence = _new_evidence(training, sequences, symbols)
    values, seconds = evidence.measure(symbols.segments.row_individual, symbols.segments.n_individuals)
    excess, reference = _excess(values, seconds, left_out), left_out.reference()
    return Application(
        symbols=symbols,
        macrostates=symbols.relabel(model.tree.states_at(MACRO)).labels,
        macrostate_names=model.names(MACRO),
        individuals=symbols.segments.individuals,
        excess=excess,
        flag=tuple(_flag(row) for row in excess),
        reason=tuple(_reason(one, over, reference) for one, over in zip(values, excess, strict=True)),
        reference=reference,
        **dict(zip(QUANTITIES, values.T, strict=True)),
    )


def score_transitions(training: Symbols, symbols: Symbols, lag_frames: int) -> tuple[IntArray, FloatArray, BoolArray]:
    """Compute the probability of every transition under the chain of the training animals.

    Parameters
    ----------
    training
        State sequences from which transitions are counted.
    symbols
        State sequences with the same microstates.
    lag_frames
        Frames between the two states of a transition.

    Returns
    -------
    first
        Row of the first state of each transition.
    log_probability
        Natural logarithm of its probability.
    is_unseen
        Whether it never occurred in training.

    Notes
    -----
    p(j|i) = (C_ij + 1/N) / (C_i + 1): to the counts of every state, one more transition is added that leads to each of
    the N states alike. So a transition never observed from a state left n times costs ln N(n + 1) nats instead of
    infinitely many, and a state never left in training leads to every state with probability 1/N.
    """
    key, row, _ = _transitions(training, lag_frames)
    known, counts = np.unique(key, return_counts=True)
    leaving = np.bincount(row, minlength=training.n_states)
    key, row, first = _transitions(symbols, lag_frames)
    seen = _look_up(key, known, counts)
    return first, _log_probability(seen, leaving[row], training.n_states), seen == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Training:
    """The training sequences: their rows, values, microstates and distances to the centres."""

    microstates: Microstates
    symbols: Symbols
    rows: IntArray
    points: FloatArray
    labels: IntArray
    distance: FloatArray
    lag_frames: int

    @classmethod
    def of(cls, model: BehaviourModel) -> "_Training":
        sequences = DelayEmbedding(n_delays=model.n_delays).transform(model.postures)
        rows = np.flatnonzero(model.symbols.segments.valid)
        return cls(
            microstates=model.microstates,
            symbols=model.symbols,
            rows=rows,
            points=sequences.values[rows],
            labels=model.symbols.labels[rows],
            distance=model.microstates.distances(sequences, model.symbols)[rows],
            lag_frames=model.symbols.sampling.frames(model.chain.lag),
        )

    @property
    def typical_distance(self) -> float:
        return max(float(np.median(self.distance)), float(np.finfo(np.float32).tiny))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Evidence:
    """Distance of each sequence and probability of each transition; rows are those of the stacked series."""

    rows: IntArray
    distance: FloatArray  # over the typical one in training
    is_far: BoolArray
    first: IntArray
    log_probability: FloatArray
    is_unseen: BoolArray
    lag_frames: int
    rate: float

    def measure(self, group: IntArray, n_groups: int) -> tuple[FloatArray, FloatArray]:
        """Compute the four numbers, one row per group, and the seconds behind them."""
        of_row, of_pair = group[self.rows], group[self.first]
        n_rows, n_pairs = (np.bincount(of, minlength=n_groups) for of in (of_row, of_pair))
        lag = self.lag_frames / self.rate
        columns = [
            _group_medians(self.distance, of_row, n_groups),
            _divide(np.bincount(of_row, self.is_far, n_groups), n_rows),
            _divide(np.bincount(of_pair, self.is_unseen, n_groups), n_pairs),
            _divide(np.bincount(of_pair, self.log_probability, n_groups), n_pairs * lag),
        ]
        return np.stack(columns, axis=1), n_pairs / self.rate


@dataclass(frozen=True, slots=True, kw_only=True)
class _LeftOut:
    """The numbers of training animals from the others: per unit, and per block of time within animals."""

    n_animals: int
    units: tuple[str, ...]
    values: FloatArray
    seconds: FloatArray
    block_values: FloatArray
    block_seconds: FloatArray

    def reference(self) -> Reference:
        """Give the units as a result."""
        return Reference(units=self.units, seconds=self.seconds, **dict(zip(QUANTITIES, self.values.T, strict=True)))


def _new_evidence(training: _Training, sequences: Series, symbols: Symbols) -> _Evidence:
    """Compare new sequences and transitions with the whole training set."""
    order = np.lexsort((training.distance, training.labels))
    reach = _reach(training.labels[order], training.distance[order], training.microstates.n_states)
    rows = np.flatnonzero(symbols.segments.valid)
    distance = training.microstates.distances(sequences, symbols)[rows]
    first, log_probability, is_unseen = score_transitions(training.symbols, symbols, training.lag_frames)
    return _Evidence(
        rows=rows,
        distance=distance / training.typical_distance,
        is_far=distance > reach[symbols.labels[rows]],
        first=first,
        log_probability=log_probability,
        is_unseen=is_unseen,
        lag_frames=training.lag_frames,
        rate=training.symbols.sampling.rate,
    )


def _leave_out(training: _Training) -> _LeftOut:
    """Compare every training animal, or every block of the only one, with the others."""
    segments, rate = training.symbols.segments, training.symbols.sampling.rate
    animal, n_animals = segments.row_individual, segments.n_individuals
    position = np.arange(segments.n_rows) - segments.offsets[animal]
    block = animal * N_BLOCKS + position * N_BLOCKS // np.diff(segments.offsets)[animal]
    unit, n_units = (animal, n_animals) if n_animals > 1 else (block, N_BLOCKS)
    evidence = _left_out_evidence(training, unit, n_units)
    values, seconds = evidence.measure(unit, n_units)
    block_values, block_seconds = evidence.measure(block, n_animals * N_BLOCKS)
    edges = np.arange(N_BLOCKS + 1) * segments.n_rows / rate / N_BLOCKS
    spans = tuple(f"{segments.individuals[0]}, {a:.0f} to {b:.0f} s" for a, b in itertools.pairwise(edges))
    return _LeftOut(
        n_animals=n_animals,
        units=segments.individuals if n_animals > 1 else spans,
        values=values,
        seconds=seconds,
        block_values=block_values,
        block_seconds=block_seconds,
    )


def _left_out_evidence(training: _Training, unit: IntArray, n_units: int) -> _Evidence:
    distance, is_far = _left_out_distances(training, unit[training.rows], n_units)
    first, log_probability, is_unseen = _left_out_transitions(training, unit, n_units)
    return _Evidence(
        rows=training.rows,
        distance=distance / training.typical_distance,
        is_far=is_far,
        first=first,
        log_probability=log_probability,
        is_unseen=is_unseen,
        lag_frames=training.lag_frames,
        rate=training.symbols.sampling.rate,
    )


def _left_out_distances(training: _Training, unit: IntArray, n_units: int) -> tuple[FloatArray, BoolArray]:
    """Measure the distances of every unit to centers without it, and against the reach of the others."""
    n_states, labels = training.microstates.n_states, training.labels
    order = np.lexsort((training.distance, labels))
    sorted_unit, sorted_labels, sorted_distance = unit[order], labels[order], training.distance[order]
    visits = np.bincount(labels, minlength=n_states)
    distance, is_far = np.empty(labels.size), np.empty(labels.size, dtype=bool)
    for k in range(n_units):
        own, others = unit == k, sorted_unit != k
        step = training.points[own] - training.microstates.centers[labels[own]]
        pull = sparse.csr_array((np.ones(len(step)), (labels[own], np.arange(len(step)))), (n_states, len(step))) @ step
        rest = np.maximum(visits - np.bincount(labels[own], minlength=n_states), 1)
        # without its own points, a center moves away from them by their pull
        distance[own] = np.linalg.norm(step + (pull / rest[:, None])[labels[own]], axis=1)
        is_far[own] = distance[own] > _reach(sorted_labels[others], sorted_distance[others], n_states)[labels[own]]
    return distance, is_far


def _left_out_transitions(training: _Training, unit: IntArray, n_units: int) -> tuple[IntArray, FloatArray, BoolArray]:
    """Score the transitions of every unit by the counts of the others; as `score_transitions`."""
    n_states = training.microstates.n_states
    key, row, first = _transitions(training.symbols, training.lag_frames)
    owner = unit[first].astype(np.int64)
    known, index = np.unique(key, return_inverse=True)
    _, place, own = np.unique(owner * known.size + index, return_inverse=True, return_counts=True)
    seen = np.bincount(index)[index] - own[place]
    own_leaving = np.bincount(owner * n_states + row, minlength=n_units * n_states)
    leaving = np.bincount(row, minlength=n_states)[row] - own_leaving[owner * n_states + row]
    return first, _log_probability(seen, leaving, n_states), seen == 0


def _transitions(symbols: Symbols, lag_frames: int) -> tuple[IntArray, IntArray, IntArray]:
    """List the transitions: number of the pair of states, first state, row of the first state."""
    first, last = symbols.segments.pairs(lag_frames)
    row = symbols.labels[first].astype(np.int64)
    return row * symbols.n_states + symbols.labels[last], row, first


def _log_probability(seen: IntArray, leaving: IntArray, n_states: int) -> FloatArray:
    return np.log((seen + 1 / n_states) / (leaving + 1))


def _reach(labels: IntArray, distance: FloatArray, n_states: int) -> FloatArray:
    """Compute the 99th percentile of distances in every state; sequences are sorted by state, then distance."""
    if labels.size == 0:
        return np.full(n_states, np.inf)
    visits = np.bincount(labels, minlength=n_states)
    last = np.cumsum(visits) - 1 - np.floor((1 - REACH) * visits).astype(int)
    return np.where(visits >= ENOUGH_VISITS, distance[np.maximum(last, 0)], np.quantile(distance, REACH))


def _excess(values: FloatArray, seconds: FloatArray, left_out: _LeftOut) -> FloatArray:
    """Compute by how many standard deviations each number is worse than the reference; NaN where unknown."""
    usual = _even_scale(left_out.values)
    known = np.isfinite(usual).all(axis=1)
    usual, n_known = usual[known], max(int(known.sum()), 1)
    center = usual.mean(axis=0)
    granted = np.array(LEAST_SPREAD) * np.array([1, 1, 1, max(abs(float(center[3])), 1.0)])
    noise = _noise_per_second(left_out)
    among = usual.var(axis=0, ddof=1) if n_known > 1 else np.zeros(len(QUANTITIES))
    if left_out.n_animals == 1:  # nothing is known of differences between animals
        granted, among = 2 * granted, 0 * among
    between = np.maximum(among - noise / left_out.seconds[known].mean(), granted**2)
    variance = between + noise / np.maximum(seconds, 1e-9)[:, None]
    return np.asarray((_even_scale(values) - center) / np.sqrt(variance * (1 + 1 / n_known)))


def _noise_per_second(left_out: _LeftOut) -> FloatArray:
    """Estimate the sampling variance of one second from how blocks differ within an animal."""
    values = _even_scale(left_out.block_values)
    known = np.isfinite(values).all(axis=1)
    values, seconds, owner = values[known], left_out.block_seconds[known], np.flatnonzero(known) // N_BLOCKS
    n_blocks = np.bincount(owner)
    means = np.stack([_divide(np.bincount(owner, column), n_blocks) for column in values.T], axis=1)
    squared = np.square(values - means[owner]) * seconds[:, None]
    return np.asarray(squared.sum(axis=0) / max(len(values) - np.count_nonzero(n_blocks), 1))


def _even_scale(values: FloatArray) -> FloatArray:
    """Transform the four numbers to even variance, growing as coverage gets worse."""
    ratio, outside, unseen, likelihood = values.T
    return np.stack([np.log(np.maximum(ratio, LEAST_RATIO)), np.sqrt(outside), np.sqrt(unseen), -likelihood], axis=1)


def _flag(excess: FloatArray) -> str:
    if not np.isfinite(excess).all():
        return "borderline"
    worst = excess.max()
    return "covered" if worst <= BORDERLINE else "borderline" if worst <= OUTSIDE else "outside"


def _reason(values: FloatArray, excess: FloatArray, reference: Reference) -> str:
    """Give the reason of the flag in one sentence."""
    if not np.isfinite(excess).all():
        return "Too short or too fragmented: there is no transition at the lag of the model."
    texts = (
        "its sequences are {0:.2f} times as far from their microstates as is usual ({1:.2f} to {2:.2f})",
        "{0:.1%} of its sequences are out of the reach of their microstate ({1:.1%} to {2:.1%})",
        "{0:.1%} of its transitions never occurred in training ({1:.1%} to {2:.1%})",
        "its transitions have a log-likelihood of {0:.2f} nats per second ({1:.2f} to {2:.2f})",
    )
    usual = [getattr(reference, name) for name in QUANTITIES]
    said = [
        text.format(value, np.nanmin(known), np.nanmax(known))
        for text, value, known in zip(texts, values, usual, strict=True)
    ]
    if excess.max() > BORDERLINE:
        worst = "; ".join(said[k] for k in np.argsort(-excess) if excess[k] > BORDERLINE)
        return f"{worst[0].upper()}{worst[1:]}; in brackets the training animals."
    if excess[3] < -BORDERLINE:
        return "Covered, but more predictable than the training animals: it may show only a part of their behaviour."
    return "Its sequences and transitions are as near to the model as those of the training animals."


def _look_up(key: IntArray, known: IntArray, counts: IntArray) -> IntArray:
    place = np.minimum(np.searchsorted(known, key), known.size - 1)
    return np.where(known[place] == key, counts[place], 0)


def _group_medians(values: FloatArray, group: IntArray, n_groups: int) -> FloatArray:
    """Find the median of every group; NaN for empty ones."""
    ordered = values[np.lexsort((values, group))]
    size = np.bincount(group, minlength=n_groups)
    start = np.cumsum(size) - size
    low, high = (start + np.maximum(size - 1, 0) // 2, start + size // 2)
    if ordered.size == 0:
        return np.full(n_groups, np.nan)
    middle = (ordered[np.minimum(low, ordered.size - 1)] + ordered[np.minimum(high, ordered.size - 1)]) / 2
    return np.where(size > 0, middle, np.nan)


def _divide(total: FloatArray | IntArray, number: FloatArray | IntArray) -> FloatArray:
    """Divide, giving NaN where there is nothing to divide by."""
    shape = np.broadcast_shapes(np.shape(total), np.shape(number))
    return np.asarray(np.divide(total, number, out=np.full(shape, np.nan), where=np.asarray(number) > 0))
