"""Reproduce the paper: from its data, from what part of them is at hand, or on synthetic worms."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from ethomarkov._core.types import Progress
from ethomarkov.exceptions import EthomarkovError
from ethomarkov.paper.data import PaperData
from ethomarkov.paper.estimates import (
    confined_estimates,
    drag_estimates,
    entropy_estimates,
    exponent_estimates,
    food_estimates,
    own_path_estimates,
    path_estimates,
    prediction_estimates,
    run_estimates,
    seeded_estimates,
    split_estimates,
    table_estimates,
    time_estimates,
)
from ethomarkov.paper.evidence import Estimates, Evidence
from ethomarkov.paper.kinetics import PaperKinetics
from ethomarkov.paper.published import N_WORMS, Published, published_figures
from ethomarkov.paper.scoring import Estimate, Row, judge
from ethomarkov.paper.stages import ALL_STAGES
from ethomarkov.posture import phase_velocity
from ethomarkov.study.defaults import MOST_RUNS, N_HELD_OUT, N_REPEATS, N_SHUFFLES
from ethomarkov.study.graph import TICKS, Graph
from ethomarkov.study.provenance import PROVENANCE_FILE, read_records
from ethomarkov.study.settings import Settings
from ethomarkov.study.store import StageRecord
from ethomarkov.study.study import KEPT, Study, run_study
from ethomarkov.synthetic.worm import STATE_NAMES, SyntheticWorms
from ethomarkov.validation.known_truth import ESTIMATE, KnownTruth

if TYPE_CHECKING:
    from pathlib import Path

UNMEASURED = "the data at hand do not tell it"
CONFINED_MINUTES = 8.75
"""Of runs that never leave a state."""
ENTRY_WALKS = 200
STUDY_SHARE = 0.2
"""Of the whole time that the study itself takes, about."""
TRUTH = "known_truth"
MEASURES: Mapping[str, tuple[str | None, Callable[..., Estimates]]] = {
    "entropy rates": ("published_scan", entropy_estimates),
    "entropy rates of single worms": ("seeded_entropy", seeded_estimates),
    "relaxation times": ("worm_relaxation", time_estimates),
    "kinetics": ("paper_kinetics", lambda _, kinetics: dict(kinetics.estimates)),
    "prediction": ("predictions", prediction_estimates),
    "drag ratio": ("reconstruction", drag_estimates),
    "measured paths": (None, own_path_estimates),
    "simulated worms": ("animal_runs", run_estimates),
    "confined runs": ("state_runs", confined_estimates),
    "food": ("foraging", food_estimates),
    "cross-validation": ("published_splits", split_estimates),
}
"""What is estimated from which result; measured paths need none."""
TARGETS = (*(name for name, _ in MEASURES.values() if name is not None), "held_out_splits")
"""All results that the paper needs of a study."""


class ReproduceSettings(BaseModel):
    """How much is computed; the defaults are as published.

    Parameters
    ----------
    n_runs
        Simulated runs of every worm, and of every state.
    n_shuffles
        Shuffled sequences behind every noise floor.
    n_repeats
        Repeats of cross-validation as published, whose states are those of all data; 0 for none.
    n_held_out
        Repeats of a held-out cross-validation, which learns all states from the training part; 0 for none.
    small_scan
        Scan only the sequence lengths and numbers of microstates that published figures need.
    seed
        Random seed.
    study
        Settings of the study.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    n_runs: Annotated[int, Field(ge=2)] = MOST_RUNS
    n_shuffles: Annotated[int, Field(ge=1)] = N_SHUFFLES
    n_repeats: Annotated[int, Field(ge=0)] = N_REPEATS
    n_held_out: Annotated[int, Field(ge=0)] = N_HELD_OUT
    small_scan: bool = False
    seed: Annotated[int, Field(ge=0)] = 0
    study: Settings = Field(default_factory=Settings.paper)

    def study_settings(self, n_worms: int) -> Settings:
        """Give the settings of the study; its own scan and simulations are lean, since the paper has larger ones."""
        lean: dict[str, Any] = {"scan": False, "n_resamples": 0, "n_walks": 2, "seed": self.seed}
        if n_worms < N_WORMS:
            # The slowest modes of few worms set apart corners that were visited once, which no behaviour is.
            lean["min_measure"] = Settings().min_measure
        return self.study.model_copy(update=lean)

    def options(self, level: int) -> dict[str, Any]:
        """Give the settings of all analyses that the paper needs.

        Parameters
        ----------
        level
            Number of states at the finest level.
        """
        return {
            "n_runs": self.n_runs,
            "n_shuffles": self.n_shuffles,
            "n_repeats": self.n_repeats,
            "n_held_out": self.n_held_out,
            "small_scan": self.small_scan,
            "level": level,
            "start": "stationary",
            "minutes": CONFINED_MINUTES,
            "raster": True,
            "entry_walks": ENTRY_WALKS,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction:
    """The scoreboard and what is behind it.

    Parameters
    ----------
    rows
        Rows of the scoreboard.
    study
        None where there were no postures.
    results
        Results by name; those of `TARGETS` that could be computed. One that was not asked for is None.
    errors
        Why the other results could not be computed.
    records
        How all stages were computed, in this run or in an earlier one, those of the study first.
    """

    rows: tuple[Row, ...]
    study: Study | None = None
    results: Mapping[str, Any] = field(default_factory=dict)
    errors: Mapping[str, EthomarkovError] = field(default_factory=dict)
    records: tuple[StageRecord, ...] = ()

    @property
    def truth(self) -> KnownTruth | None:
        """What is known of synthetic worms, beside what the study says; None for others."""
        return self.results.get(TRUTH)


def reproduce_paper(
    data: PaperData,
    settings: ReproduceSettings | None = None,
    *,
    directory: "Path | None" = None,
    threads: int = 1,
    progress: Progress | None = None,
) -> Reproduction:
    """Compute every published figure that the data at hand allow, and judge it.

    Parameters
    ----------
    data
        What is there.
    settings
        How much is computed.
    directory
        Where every result is cached as soon as it is complete. Run again after any interruption, or with other
        settings, it computes only what is not there yet. Nothing is written by default.
    threads, progress
        Cores to use; called now and then.
    """
    settings = settings or ReproduceSettings()
    if data.recording is None:
        return Reproduction(rows=_judge(data, _estimates_at_hand(data), ()))
    study = run_study(
        data.recording,
        settings.study_settings(len(data.worms)),
        basis=data.basis,
        directory=directory,
        stages=ALL_STAGES,
        given=_given(data),
        threads=threads,
        progress=_part_of(progress, 0.0, STUDY_SHARE),
    )
    study.working(threads, _part_of(progress, STUDY_SHARE, 1.0))
    results, errors, records = _ask(study, _targets(data), settings.options(study.finest))
    study.working(threads, progress)
    evidence = Evidence(model=study.model, seed=settings.seed, worms=data.worms)
    rows = _score(data, study, evidence, results, errors)
    return Reproduction(rows=rows, study=study, results=results, errors=errors, records=records)


# --- results ---------------------------------------------------------------------------------------------------------


def _given(data: PaperData) -> dict[str, Any]:
    """Give what the paper's results need beside the recording."""
    truth = {} if data.synthetic is None else {"truth": data.synthetic.truth}
    return {"worms": tuple(data.worms), **truth}


def _targets(data: PaperData) -> list[str]:
    """List what is asked for, in the order of the stages, so that the progress only goes on."""
    wanted = {*TARGETS} if data.synthetic is None else {*TARGETS, TRUTH}
    return [name for one in ALL_STAGES for name in one.gives if name in wanted]


def _part_of(progress: Progress | None, first: float, last: float) -> Progress | None:
    """Let work that goes from nothing to all move a progress from one share to another, and never back."""
    if progress is None:
        return None
    told, furthest = progress, 0

    def report(what: str, done: int, total: int) -> None:
        nonlocal furthest
        # stages that do several things in turn begin anew with each
        furthest = max(furthest, round(TICKS * (first + (last - first) * done / max(total, 1))))
        told(what, furthest, TICKS)

    return report


def _ask(
    study: Study, targets: Sequence[str], options: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, EthomarkovError], tuple[StageRecord, ...]]:
    """Ask a study for results: those that could be had, why the others could not, and how they were computed."""
    graph = study.graph
    with study.locked():
        errors = graph.attempt(targets, **options)
    known = [name for name in targets if name not in errors]
    results = {name: graph.result(name, **options) for name in known}
    return results, errors, tuple(_records(graph, known, options))


def _records(graph: Graph, names: Sequence[str], options: Mapping[str, Any]) -> Iterator[StageRecord]:
    """Tell how the stages behind some results were computed, in this run or in an earlier one."""
    own = [name for one in KEPT for name in one.gives]
    entries = [graph.entry(one.name, **options) for one in graph.order([*own, *names]) if one.is_kept]
    told = graph.records
    if graph.store is not None:
        told = read_records(graph.store.directory / PROVENANCE_FILE) | graph.store.records(entries) | told
    yield from (told[one.stage] for one in entries if one.stage in told and told[one.stage].key == one.key)


# --- estimates -------------------------------------------------------------------------------------------------------


def _estimate(
    evidence: Evidence, results: Mapping[str, Any], errors: Mapping[str, EthomarkovError]
) -> tuple[Estimates, list[str]]:
    """Estimate everything that the results tell, and say what could not be estimated, and why."""
    found: Estimates = {}
    reasons = []
    for what, (name, measure) in MEASURES.items():
        needed = [] if name is None else [results.get(name)]
        told = errors.get(name) if name is not None else None
        reasons += [f"({what}: {reason})" for reason in (told, *map(_missing_part, needed)) if reason]
        if any(one is None for one in needed):
            continue  # it could not be had, or was not asked for
        try:
            found |= measure(evidence, *needed)
        except EthomarkovError as error:  # one figure that cannot be had must not cost all the others
            reasons.append(f"({what}: {error})")
    return found, reasons


def _missing_part(result: object) -> str:
    """Say why a part of a result is missing; of animals and states the first reason, which stands for all."""
    reasons: tuple[str, ...] = getattr(result, "reasons", ())
    return " ".join(reasons if isinstance(result, PaperKinetics) else reasons[:1])


def _estimates_at_hand(data: PaperData) -> Estimates:
    """Estimate what needs no postures: from published tables and the paths of all twelve worms."""
    found = table_estimates(data)
    if data.paths is not None:
        found |= path_estimates(data.paths, range(N_WORMS)) | exponent_estimates(data.paths)
    return found


# --- the scoreboard --------------------------------------------------------------------------------------------------


def _score(
    data: PaperData,
    study: Study,
    evidence: Evidence,
    results: Mapping[str, Any],
    errors: Mapping[str, EthomarkovError],
) -> tuple[Row, ...]:
    found, reasons = _estimate(evidence, results, errors)
    found |= _estimates_at_hand(data)
    rows = _judge(data, found, reasons)
    if data.synthetic is not None and TRUTH in results:
        rows += tuple(_judge_truth(study, data.synthetic, found, results[TRUTH]))
    return rows


def _judge(data: PaperData, estimates: Estimates, reasons: Sequence[str]) -> tuple[Row, ...]:
    synthetic = data.synthetic is not None
    return tuple(
        judge(figure, estimates.get(figure.key, _reason(figure, data, reasons)), synthetic=synthetic)
        for figure in published_figures(_worms_named(data))
    )


def _worms_named(data: PaperData) -> Sequence[int]:
    """Worms of which something at hand can be compared with their own published figures."""
    if data.paths is not None:
        return range(N_WORMS)
    return sorted(worm for worm in data.worms if worm >= 0)


def _reason(figure: Published, data: PaperData, reasons: Sequence[str]) -> str:
    """Say why a figure could not be computed."""
    if figure.key.startswith("worm "):
        return "needs the postures of this worm"
    if data.recording is None:
        return "needs postures, of all twelve worms"
    if any(f"of {name}" in figure.key for name in STATE_NAMES):
        return " ".join(["the tree of these worms has no state of this name", *reasons])
    return " ".join([UNMEASURED, *reasons])


# --- against the truth of synthetic worms ----------------------------------------------------------------------------


def _judge_truth(study: Study, made: SyntheticWorms, estimates: Estimates, known: KnownTruth) -> Iterator[Row]:
    """Compare with what is known of synthetic worms."""
    n_worms = len(made.recording.individuals)
    for row in known.rows:
        if row.kind == ESTIMATE:
            ours = Estimate(interval=row.interval, n_worms=n_worms, note=row.note)
            yield judge(_truth(row.quantity, row.unit, row.true), ours)
    valid = study.postures.segments.valid
    states, velocity = made.truth.states[valid], phase_velocity(study.postures)[valid]
    truths: dict[str, tuple[str, float]] = {}
    for k in np.unique(states):
        name = STATE_NAMES[k]
        truths[f"share of time in {name}"] = (f"measure of {name}", float((states == k).mean()))
        truths[f"phase velocity in {name}"] = (f"velocity of {name}", float(np.nanmean(velocity[states == k])))
    for what, (key, truth) in truths.items():
        yield judge(_truth(what, "", truth), estimates.get(key, "the tree of these worms has no state of this name"))


def _truth(what: str, unit: str, value: float) -> Published:
    return Published(
        key=f"truth: {what}",
        section="The truth behind the synthetic worms",
        what=what,
        unit=unit,
        value=value,
        low=value,
        high=value,
        spread="rounding",
        source="truth",
        of_worms=1,
    )
