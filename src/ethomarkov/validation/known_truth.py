"""Estimates from synthetic worms beside the truth that is hidden in them."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ethomarkov._core.interval import LEVEL, Interval, Scale, interval_of_mean, jackknife_interval
from ethomarkov._core.result import Result
from ethomarkov._core.showing import frame_of
from ethomarkov._core.types import BoolArray, FloatArray
from ethomarkov.coarse.passage import resampled_units
from ethomarkov.exceptions import InputFormatError
from ethomarkov.markov import Spectrum
from ethomarkov.model.behaviour import MACRO, BehaviourModel
from ethomarkov.model.kinetics import slowest_relaxation, steady_rates
from ethomarkov.posture import EventSettings, find_events
from ethomarkov.posture.events import EVENT_KINDS
from ethomarkov.synthetic.hidden import null_law
from ethomarkov.synthetic.worm import STATE_NAMES, WormTruth

if TYPE_CHECKING:
    import pandas as pd

ESTIMATE, SCORE, COUNT = "estimate", "score", "count"
ONE_STATE = "It needs two states, and the recording tells no two apart."
REVERSAL = "reversal"
MOST_DIGITS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class TruthRow(Result):
    """One quantity: its estimate beside its true value.

    Parameters
    ----------
    quantity
        Name of the quantity, in words.
    unit
        Unit of the quantity; "share" is a part of one.
    kind
        "estimate", whose interval should contain the truth; "score", of which the truth is the best value that can be
        had; "count", which has no interval.
    true
        The true value.
    estimate
        The estimate; NaN where there is none.
    low, high
        Limits of its interval.
    level
        Coverage of the interval.
    over
        What the interval was taken over, in words.
    n
        Number of animals or blocks behind the interval.
    note
        What a reader should know about the estimate.
    """

    quantity: str
    unit: str
    kind: str
    true: float
    estimate: float
    low: float
    high: float
    level: float
    over: str
    n: int
    note: str

    @property
    def interval(self) -> Interval:
        """The estimate as an interval."""
        return Interval(
            estimate=self.estimate, low=self.low, high=self.high, level=self.level, over=self.over, n=self.n
        )

    @property
    def contains(self) -> bool | None:
        """Whether the interval contains the truth; None where there is no interval, or none that should."""
        if self.kind != ESTIMATE or not (math.isfinite(self.low) and math.isfinite(self.high)):
            return None
        return self.low <= self.true <= self.high

    @property
    def label(self) -> str:
        """The quantity with its unit."""
        unit = "%" if self.unit == "share" else self.unit
        return f"{self.quantity} ({unit})" if unit else self.quantity

    @property
    def verdict(self) -> str:
        """Whether the interval contains the truth, in a word."""
        return "–" if self.contains is None else "yes" if self.contains else "no"

    def show_true(self) -> str:
        """Write the truth."""
        return f"≤ {self._write(self.true)}" if self.kind == SCORE else self._write(self.true)

    def show_estimate(self) -> tuple[str, str]:
        """Write the estimate, and the limits of its interval."""
        if not math.isfinite(self.estimate):
            return "–", ""
        limits = f"({self._write(self.low)}, {self._write(self.high)})" if math.isfinite(self.low + self.high) else ""
        return self._write(self.estimate), limits

    def _write(self, value: float) -> str:
        """Write a number with as many digits as its interval is worth."""
        if self.kind == COUNT:
            return f"{value:.0f}"
        factor = 100 if self.unit == "share" else 1
        half = factor * (self.high - self.low) / 2
        digits = 1 - math.floor(math.log10(half)) if math.isfinite(half) and half > 0 else 2
        shown = 0 if self.kind == SCORE and value == 1 else min(max(digits, 0), MOST_DIGITS)
        return f"{factor * value:.{shown}f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownTruth(Result):
    """Estimates of a study of synthetic worms beside the truth.

    Parameters
    ----------
    rows
        Estimate and truth of every quantity.
    """

    rows: tuple[TruthRow, ...]

    def headline(self) -> str:
        """Count the intervals that contain the truth."""
        judged = [row for row in self.rows if row.contains is not None]
        return f"{sum(bool(row.contains) for row in judged)} of {len(judged)} intervals contain the truth"

    def table(self) -> "pd.DataFrame":
        """List every quantity: its estimate with limits, the truth, and whether the interval contains it."""
        return frame_of(
            {
                "quantity": row.quantity,
                "unit": row.unit,
                "kind": row.kind,
                "estimate": row.estimate,
                "low": row.low,
                "high": row.high,
                "true": row.true,
                "contains": row.contains,
                "over": row.over,
                "n": row.n,
                "note": row.note,
            }
            for row in self.rows
        )

    @property
    def sentence(self) -> str:
        """Say how many intervals contain the truth, and over what they were taken."""
        judged = [row for row in self.rows if row.contains is not None]
        if not judged:
            return "No interval could be had."
        held, first = sum(bool(row.contains) for row in judged), judged[0]
        return (
            f"{held} of {len(judged)} intervals contain the truth (95 % intervals over {first.n} {first.over}; one in "
            "twenty misses by chance alone)."
        )


def compare_with_truth(
    model: BehaviourModel, truth: WormTruth, spectrum: Spectrum, drag: Interval | None = None
) -> KnownTruth:
    """Compare the estimates of a model of synthetic worms with the truth.

    Parameters
    ----------
    model
        Model of these worms, frame by frame as they were recorded.
    truth
        Hidden states and rates of the worms.
    spectrum
        Slow modes of the model's chain.
    drag
        The drag ratio, where it was fitted.

    Notes
    -----
    The truth is that of the laws by which the worms behave, averaged over these worms: shares of time, transition rates
    out of runs and pirouettes (one over the mean dwell times), relaxation times of the rates. Labels are compared with
    the hidden state of the same frame.
    """
    n_rows = model.postures.segments.n_rows
    if truth.states.size != n_rows:
        raise InputFormatError(
            f"The truth has {truth.states.size} frames, the study {n_rows}. Give the truth of the worms that it is of."
        )
    rows = [*_macro_rows(model, truth), _relaxation_row(model, truth, spectrum), *_reversal_rows(model, truth)]
    if drag is not None:
        rows.append(_row("drag ratio", "", truth.drag_ratio, drag))
    return KnownTruth(rows=(*rows, *_score_rows(model, truth), _count_row(model, truth)))


# --- the rows --------------------------------------------------------------------------------------------------------


def _row(quantity: str, unit: str, true: float, interval: Interval, note: str = "", kind: str = ESTIMATE) -> TruthRow:
    units = "" if interval.over in ("animals", "") else f"Interval over {interval.n} {interval.over}."
    return TruthRow(
        quantity=quantity,
        unit=unit,
        kind=kind,
        true=float(true),
        estimate=float(interval.estimate),
        low=float(interval.low),
        high=float(interval.high),
        level=interval.level,
        over=interval.over,
        n=int(interval.n),
        note=" ".join(part for part in (note, units) if part),
    )


def _nothing(quantity: str, unit: str, true: float, kind: str = ESTIMATE) -> TruthRow:
    nothing = Interval(estimate=math.nan, low=math.nan, high=math.nan, level=LEVEL, over="", n=0)
    return _row(quantity, unit, true, nothing, ONE_STATE, kind)


def _macro_rows(model: BehaviourModel, truth: WormTruth) -> Iterator[TruthRow]:
    """Shares of time of runs and pirouettes, rates between them, and how fast they relax."""
    dwells = truth.mean_dwells()
    true_shares, true_rates = dwells / dwells.sum(axis=1, keepdims=True), 1 / dwells
    names = ("runs", "pirouettes")
    shares = [(f"share of time in {name}", "share", true_shares[:, k].mean()) for k, name in enumerate(names)]
    rates = [
        (f"rate {before} → {after}", "1/s", true_rates[:, k].mean())
        for k, (before, after) in enumerate((("run", "pirouette"), ("pirouette", "run")))
    ]
    relaxation = ("relaxation of these two", "s", (1 / true_rates.sum(axis=1)).mean())
    if not _tells_two(model):
        yield from (_nothing(*known) for known in (*shares, *rates, relaxation))
        return
    order = _macro_order(model)
    table, over = _share_table(model)
    for k, known in zip(order, shares, strict=True):
        yield _row(*known, interval_of_mean(table[:, k], over, scale="share"))
    _, found, _ = steady_rates(model, MACRO)
    n = len(found.by_unit)
    for (i, j), known in zip((order, order[::-1]), rates, strict=True):
        estimate, low, high = (float(x[i, j]) for x in (found.rates, found.low, found.high))
        interval = Interval(estimate=estimate, low=low, high=high, level=LEVEL, over=found.over, n=n)
        yield _row(*known, interval)
    yield _row(*relaxation, found.relaxation)


def _relaxation_row(model: BehaviourModel, truth: WormTruth, spectrum: Spectrum) -> TruthRow:
    note = f"Of the chain of {model.chain.states.size} microstates; the truth is that of the hidden states."
    true, found = truth.relaxation_times().mean(), slowest_relaxation(model, spectrum)
    return _row("slowest relaxation time", "s", true, found, note)


def _reversal_rows(model: BehaviourModel, truth: WormTruth) -> Iterator[TruthRow]:
    """Reversals, as events that are long enough, beside visits of the hidden reversal that are."""
    if not model.is_worm:
        return
    shortest, state = EventSettings().min_duration, STATE_NAMES.index(REVERSAL)
    entering = truth.generators[:, :, state].copy()
    leaving = -entering[:, state]
    entering[:, state] = 0.0
    laws = np.array([null_law(rates) for rates in truth.generators])
    per_minute = 60 * (laws * entering).sum(axis=1) * np.exp(-leaving * shortest)
    found = find_events(model.postures).rates()[:, EVENT_KINDS.index(REVERSAL)]
    note = f"Detected by thresholds on the postures; the truth counts hidden reversals of at least {shortest:g} s."
    yield _row("reversals", "1/min", per_minute.mean(), interval_of_mean(found, "animals"), note)


def _score_rows(model: BehaviourModel, truth: WormTruth) -> Iterator[TruthRow]:
    """How well the labels of single frames agree with the hidden states."""
    scores = (
        ("frames labelled right", "share", _balanced_accuracy, "Run or pirouette, mean of both (balanced accuracy)."),
        ("agreement of labels", "", _agreement, "Adjusted mutual information with run or pirouette; 0 is chance."),
    )
    if not _tells_two(model):
        yield from (_nothing(what, unit, 1.0, SCORE) for what, unit, _, _ in scores)
        return
    states = model.states(MACRO)
    unit, n_units, over = resampled_units(states)
    known, pirouette = states.segments.valid, _macro_order(model)[1]
    hidden, labels, unit = truth.is_pirouette[known], states.labels[known] == pirouette, unit[known]
    for what, of, score, note in scores:
        left_out = np.array([score(hidden[unit != u], labels[unit != u]) for u in range(n_units)])
        scale: Scale = "share" if of == "share" else "signed"
        yield _row(what, of, 1.0, jackknife_interval(score(hidden, labels), left_out, over, scale=scale), note, SCORE)


def _count_row(model: BehaviourModel, truth: WormTruth) -> TruthRow:
    """Count states, and say why fewer than there are can be told apart."""
    n_hidden, n_found = truth.generators.shape[1], model.tree.n_supported
    dwells = (-1 / np.diagonal(truth.generators, axis1=1, axis2=2)).mean(axis=0)
    seen = model.n_delays / model.postures.sampling.rate + model.chain.lag
    note = (
        f"Hidden states last {dwells.min():.1f} to {dwells.max():.1f} s on average, against {seen:.1f} s of a posture "
        "sequence and a lag, and their movements overlap. Only what the animals confirm on each other is divided."
    )
    found = Interval(estimate=n_found, low=math.nan, high=math.nan, level=LEVEL, over="", n=0)
    return _row("number of states", "", n_hidden, found, note if n_found < n_hidden else "", COUNT)


# --- what they are measured by ---------------------------------------------------------------------------------------


def _tells_two(model: BehaviourModel) -> bool:
    return MACRO in model.tree.levels and model.tree.n_supported >= MACRO


def _macro_order(model: BehaviourModel) -> tuple[int, int]:
    """Numbers of run and pirouette among the two macrostates."""
    names = model.names(MACRO)
    return (1, 0) if names[0] == "pirouette" else (0, 1)


def _share_table(model: BehaviourModel) -> tuple[FloatArray, str]:
    """Share of time in either macrostate of every animal, or of blocks of the recording where there is one."""
    states = model.states(MACRO)
    unit, n_units, over = resampled_units(states)
    known = states.segments.valid
    frames = np.bincount(unit[known] * MACRO + states.labels[known], minlength=n_units * MACRO).reshape(n_units, MACRO)
    total = frames.sum(axis=1, keepdims=True)
    return np.divide(frames, total, out=np.full(frames.shape, np.nan), where=total > 0), over


def _balanced_accuracy(hidden: BoolArray, labels: BoolArray) -> float:
    """Average the shares of runs and of pirouettes that are told right; NaN where one of them never happens."""
    if hidden.all() or not hidden.any():
        return math.nan
    return float((labels[hidden].mean() + (~labels[~hidden]).mean()) / 2)


def _agreement(hidden: BoolArray, labels: BoolArray) -> float:
    from sklearn.metrics import adjusted_mutual_info_score

    return float(adjusted_mutual_info_score(hidden, labels))
