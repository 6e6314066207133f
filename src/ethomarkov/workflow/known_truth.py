"""What a study of synthetic worms found, beside the truth that is hidden in them."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ethomarkov import __version__
from ethomarkov._core.interval import LEVEL, Interval, Scale, interval_of_mean, jackknife_interval
from ethomarkov._core.types import BoolArray, FloatArray
from ethomarkov.coarse.passage import resampled_units
from ethomarkov.exceptions import InputFormatError
from ethomarkov.io.digest import digest
from ethomarkov.io.results import load_attrs, load_result, save_results
from ethomarkov.posture import EventRule, find_events
from ethomarkov.posture.events import EVENT_KINDS
from ethomarkov.synthetic.hidden import null_law
from ethomarkov.synthetic.worm import STATE_NAMES, WormTruth
from ethomarkov.workflow.kinetics import steady_rates
from ethomarkov.workflow.states import given_names
from ethomarkov.workflow.study import MACRO, Study
from ethomarkov.workflow.summary import slowest_relaxation

TRUTH_FILE = "truth.nc"
GROUP, STUDY_KEY = "truth", "study"
ESTIMATE, SCORE, COUNT = "estimate", "score", "count"
ONE_STATE = "It needs two states, and the recording tells no two apart."
REVERSAL = "reversal"
MOST_DIGITS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class TruthRow:
    """One quantity as it was found, and as it is.

    Parameters
    ----------
    quantity, unit
        In words; the unit "share" is a part of one.
    kind
        "estimate", whose interval should contain the truth; "score", of which the truth is the best value that can be
        had; "count", which has no interval.
    true
        The truth.
    estimate, low, high, level, over, n
        As found; see `Interval`. NaN where it could not be had.
    note
        What a reader should know of it.
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
    def found(self) -> Interval:
        """What was found, as an interval."""
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

    def show_found(self) -> tuple[str, str]:
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
class KnownTruth:
    """All that is known of synthetic animals, beside what was found.

    Parameters
    ----------
    rows
        One per quantity.
    """

    rows: tuple[TruthRow, ...]

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


def compare_with_truth(study: Study, truth: WormTruth, drag: Interval | None = None) -> KnownTruth:
    """Set what a study of synthetic worms found beside the truth.

    Parameters
    ----------
    study
        Of these worms, frame by frame as they were recorded.
    truth
        That is hidden in them.
    drag
        The drag ratio, where it was fitted.

    Notes
    -----
    The truth is that of the laws by which the worms behave, averaged over these worms: shares of time, rates of leaving
    runs and pirouettes (one over the mean dwell times), relaxation times of the rates. Labels are compared with the
    hidden state of the same frame.
    """
    n_rows = study.postures.segments.n_rows
    if truth.states.size != n_rows:
        raise InputFormatError(
            f"The truth has {truth.states.size} frames, the study {n_rows}. Give the truth of the worms that it is of."
        )
    rows = [*_macro_rows(study, truth), _relaxation_row(study, truth), *_reversal_rows(study, truth)]
    if drag is not None:
        rows.append(_row("drag ratio", "", truth.drag_ratio, drag))
    return KnownTruth(rows=(*rows, *_score_rows(study, truth), _count_row(study, truth)))


# --- the rows --------------------------------------------------------------------------------------------------------


def _row(quantity: str, unit: str, true: float, found: Interval, note: str = "", kind: str = ESTIMATE) -> TruthRow:
    units = "" if found.over in ("animals", "") else f"Interval over {found.n} {found.over}."
    return TruthRow(
        quantity=quantity,
        unit=unit,
        kind=kind,
        true=float(true),
        estimate=float(found.estimate),
        low=float(found.low),
        high=float(found.high),
        level=found.level,
        over=found.over,
        n=int(found.n),
        note=" ".join(part for part in (note, units) if part),
    )


def _nothing(quantity: str, unit: str, true: float, kind: str = ESTIMATE) -> TruthRow:
    nothing = Interval(estimate=math.nan, low=math.nan, high=math.nan, level=LEVEL, over="", n=0)
    return _row(quantity, unit, true, nothing, ONE_STATE, kind)


def _macro_rows(study: Study, truth: WormTruth) -> Iterator[TruthRow]:
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
    if not _tells_two(study):
        yield from (_nothing(*known) for known in (*shares, *rates, relaxation))
        return
    order = _macro_order(study)
    table, over = _share_table(study)
    for k, known in zip(order, shares, strict=True):
        yield _row(*known, interval_of_mean(table[:, k], over, scale="share"))
    _, found, _ = steady_rates(study, MACRO)
    n = len(found.by_unit)
    for (i, j), known in zip((order, order[::-1]), rates, strict=True):
        estimate, low, high = (float(x[i, j]) for x in (found.rates, found.low, found.high))
        interval = Interval(estimate=estimate, low=low, high=high, level=LEVEL, over=found.over, n=n)
        yield _row(*known, interval)
    yield _row(*relaxation, found.relaxation)


def _relaxation_row(study: Study, truth: WormTruth) -> TruthRow:
    note = f"Of the chain of {study.chain.states.size} microstates; the truth is that of the hidden states."
    return _row("slowest relaxation time", "s", truth.relaxation_times().mean(), slowest_relaxation(study), note)


def _reversal_rows(study: Study, truth: WormTruth) -> Iterator[TruthRow]:
    """Reversals, as events that are long enough, beside visits of the hidden reversal that are."""
    if not study.is_worm:
        return
    shortest, state = EventRule().min_duration, STATE_NAMES.index(REVERSAL)
    entering = truth.generators[:, :, state].copy()
    leaving = -entering[:, state]
    entering[:, state] = 0.0
    laws = np.array([null_law(rates) for rates in truth.generators])
    per_minute = 60 * (laws * entering).sum(axis=1) * np.exp(-leaving * shortest)
    found = find_events(study.postures).rates()[:, EVENT_KINDS.index(REVERSAL)]
    note = f"Found by thresholds on the postures; the truth counts hidden reversals of at least {shortest:g} s."
    yield _row("reversals", "1/min", per_minute.mean(), interval_of_mean(found, "animals"), note)


def _score_rows(study: Study, truth: WormTruth) -> Iterator[TruthRow]:
    """How well the labels of single frames agree with the hidden states."""
    scores = (
        ("frames labelled right", "share", _balanced_accuracy, "Run or pirouette, mean of both (balanced accuracy)."),
        ("agreement of labels", "", _agreement, "Adjusted mutual information with run or pirouette; 0 is chance."),
    )
    if not _tells_two(study):
        yield from (_nothing(what, unit, 1.0, SCORE) for what, unit, _, _ in scores)
        return
    states = study.states(MACRO)
    unit, n_units, over = resampled_units(states)
    known, pirouette = states.segments.valid, _macro_order(study)[1]
    hidden, labels, unit = truth.is_pirouette[known], states.labels[known] == pirouette, unit[known]
    for what, of, score, note in scores:
        left_out = np.array([score(hidden[unit != u], labels[unit != u]) for u in range(n_units)])
        scale: Scale = "share" if of == "share" else "signed"
        yield _row(what, of, 1.0, jackknife_interval(score(hidden, labels), left_out, over, scale=scale), note, SCORE)


def _count_row(study: Study, truth: WormTruth) -> TruthRow:
    """Count states, and say why fewer than there are can be told apart."""
    n_hidden, n_found = truth.generators.shape[1], study.tree.n_supported
    dwells = (-1 / np.diagonal(truth.generators, axis1=1, axis2=2)).mean(axis=0)
    seen = study.settings.n_delays / study.postures.sampling.rate + study.chain.lag
    note = (
        f"Hidden states last {dwells.min():.1f} to {dwells.max():.1f} s on average, against {seen:.1f} s of a posture "
        "sequence and a lag, and their movements overlap. Only what the animals confirm on each other is divided."
    )
    found = Interval(estimate=n_found, low=math.nan, high=math.nan, level=LEVEL, over="", n=0)
    return _row("number of states", "", n_hidden, found, note if n_found < n_hidden else "", COUNT)


# --- what they are measured by ---------------------------------------------------------------------------------------


def _tells_two(study: Study) -> bool:
    return MACRO in study.tree.levels and study.tree.n_supported >= MACRO


def _macro_order(study: Study) -> tuple[int, int]:
    """Numbers of run and pirouette among the two macrostates."""
    names = given_names(study, MACRO)
    return (1, 0) if names[0] == "pirouette" else (0, 1)


def _share_table(study: Study) -> tuple[FloatArray, str]:
    """Share of time in either macrostate of every animal, or of blocks of the recording where there is one."""
    states = study.states(MACRO)
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


# --- kept beside the study -------------------------------------------------------------------------------------------


def save_truth(study: Study, known: KnownTruth, directory: Path) -> Path:
    """Write the truth into the directory of a study, marked as that of this very study, and return its file."""
    target = directory / TRUTH_FILE
    save_results(target, {GROUP: known}, {STUDY_KEY: _mark(study), "version": __version__})
    return target


def load_truth(study: Study, directory: Path) -> KnownTruth | None:
    """Read the truth of a study; None where there is none, or where it is of another study."""
    file = directory / TRUTH_FILE
    if not file.is_file():
        return None
    try:
        is_same = load_attrs(file).get(STUDY_KEY) == _mark(study)
        return load_result(file, GROUP, KnownTruth) if is_same else None
    except (InputFormatError, OSError, KeyError, TypeError, ValueError):  # damaged, or of another version
        return None


def _mark(study: Study) -> str:
    """Give the fingerprint of what the truth was compared with."""
    return digest((study.postures, study.symbols, study.chain, study.tree))
