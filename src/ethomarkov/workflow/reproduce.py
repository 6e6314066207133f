"""Reproduce the paper: from its data, from what part of them is at hand, or on synthetic worms."""

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ethomarkov import __version__
from ethomarkov._core.types import Progress
from ethomarkov.exceptions import EthomarkovError, InputFormatError
from ethomarkov.io.results import load_group_attrs, save_results
from ethomarkov.paper.data import PaperData
from ethomarkov.paper.published import N_WORMS, Published, published_figures
from ethomarkov.paper.scoring import Found, Row, judge
from ethomarkov.posture import phase_velocity
from ethomarkov.recording import Recording
from ethomarkov.synthetic.worm import STATE_NAMES, SyntheticWorms
from ethomarkov.workflow.config import SETTINGS_FILE, Settings, write_settings
from ethomarkov.workflow.engine import KEY, Engine, Shelf, Size, Stage, StageRecord
from ethomarkov.workflow.findings import (
    Evidence,
    Findings,
    confined_findings,
    drag_findings,
    entropy_findings,
    exponent_findings,
    food_findings,
    own_path_findings,
    path_findings,
    prediction_findings,
    run_findings,
    split_findings,
    table_findings,
    time_findings,
)
from ethomarkov.workflow.forage import Foraging
from ethomarkov.workflow.known_truth import ESTIMATE, KnownTruth, compare_with_truth
from ethomarkov.workflow.provenance import PROVENANCE_FILE, recording_inputs, write_provenance
from ethomarkov.workflow.reproduction_stages import SECONDS, ReproduceSettings, Trouble, reproduction_stages
from ethomarkov.workflow.stages import STAGES
from ethomarkov.workflow.study import STUDY_FILE, Study, expected_seconds, is_written, run_stages
from ethomarkov.workflow.validate import Validation, assemble_validation

REPRODUCTION_FILE = "reproduction.nc"
UNMEASURED = "the data at hand do not tell it"
FINDINGS: Mapping[str, tuple[str, Callable[[Evidence], Findings]]] = {
    "entropy rates": ("entropy_scan", entropy_findings),
    "relaxation times": ("relaxation", time_findings),
    "kinetics": ("kinetics", lambda evidence: evidence.results["kinetics"].findings()),
    "prediction": ("predictions", prediction_findings),
    "drag ratio": ("reconstruction", drag_findings),
    "measured paths": ("", own_path_findings),
    "simulated worms": ("animal_runs", run_findings),
    "confined runs": ("state_runs", confined_findings),
    "food": ("foraging", food_findings),
    "cross-validation": ("leaky_splits", split_findings),
}
"""What is measured from which stage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction:
    """The scoreboard and what is behind it.

    Parameters
    ----------
    rows
        Of the scoreboard.
    study
        None where there were no postures.
    results
        Of the stages of the reproduction, by name; see `reproduction_stages`.
    records
        How all stages were computed, those of the study first.
    truth
        What is known of synthetic worms, beside what was found; None for others.
    """

    rows: tuple[Row, ...]
    study: Study | None = None
    results: Mapping[str, Any] = field(default_factory=dict)
    records: tuple[StageRecord, ...] = ()
    truth: KnownTruth | None = None

    def every(self, kind: str) -> list[Any]:
        """List the results "animal_0", "animal_1" and so on, or those of states, that could be had."""
        names = [
            name for name in self.results if name.startswith(f"{kind}_") and name.removeprefix(f"{kind}_").isdigit()
        ]
        return [self.results[name] for name in names if self.results[name] is not None]

    def validation(self) -> Validation | None:
        """Give the study's validation; None where it could not be had."""
        animals, predictions = self.every("animal"), self.results.get("predictions")
        if self.study is None or not animals or predictions is None:
            return None
        kept = {kind: self.results.get(f"{kind}_splits") for kind in ("honest", "leaky")}
        splits = {kind: one.cross_validation() for kind, one in kept.items() if one is not None}
        return assemble_validation(self.study, [one.check for one in animals], predictions, splits)

    def foraging(self) -> Foraging | None:
        """Give what the states find; None where it could not be had."""
        coverage = self.results.get("coverage")
        if coverage is None:
            return None
        curve, matching = self.results["food_curve"], self.results["matching"]
        return Foraging(level=len(coverage.names), coverage=coverage, curve=curve, matching=matching)


def reproduce_paper(
    data: PaperData,
    settings: ReproduceSettings | None = None,
    *,
    directory: Path | None = None,
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
        Where every stage is kept as soon as it is complete, and the study and all results in the end. Run again after
        any interruption, or with other settings, it computes only what is not there yet. Nothing is written by
        default.
    threads, progress
        Cores to use; called now and then.
    """
    settings = settings or ReproduceSettings()
    if data.recording is None:
        return Reproduction(rows=_judge(data, _held_findings(data), ()))
    settings = settings.model_copy(update={"study": _study_settings(settings, len(data.worms))})
    given = {"recording": data.recording, "given_basis": data.basis, "worms": data.worms}
    expected = _expected_seconds(data.recording, settings, threads)
    engine = Engine(results=given, threads=threads, progress=progress, expected=expected)
    study = _run(engine, settings, data.recording, directory)
    stages = reproduction_stages(len(data.worms), study.finest)
    results = {name: engine.results[name] for stage in stages for name in stage.gives}
    found, troubles = _measure(Evidence(study=study, worms=data.worms, seed=settings.seed, results=results))
    found |= _held_findings(data)
    rows, known = _judge(data, found, troubles), None
    if data.synthetic is not None:
        drag = found["drag ratio"].interval if "drag ratio" in found else None
        known = compare_with_truth(study, data.synthetic.truth, drag)
        rows += tuple(_judge_truth(study, data.synthetic, found, known))
    return Reproduction(rows=rows, study=study, results=results, records=_records(engine, directory), truth=known)


def _study_settings(settings: ReproduceSettings, n_worms: int) -> Settings:
    """Take the published settings; its own scan and simulations are left out, since the scoreboard has larger ones."""
    lean: dict[str, Any] = {"scan": False, "n_resamples": 0, "n_walks": 2, "seed": settings.seed}
    if n_worms < N_WORMS:
        # The slowest modes of few worms set apart corners that were visited once, which no behaviour is.
        lean["min_measure"] = Settings().min_measure
    return settings.study.model_copy(update=lean)


# --- stages ----------------------------------------------------------------------------------------------------------


def _run(engine: Engine, settings: ReproduceSettings, recording: Recording, directory: Path | None) -> Study:
    """Run the stages of the study and of the reproduction, keeping them in a directory."""
    if directory is None:
        study = run_stages(engine, settings.study)
        _run_reproduction(engine, settings, study)
        return study
    # One directory and one lock, but two files: the study stands by itself.
    engine.shelf = shelf = Shelf(directory, STUDY_FILE, STAGES)
    with shelf.locked(), shelf.spared(engine):
        study = run_stages(engine, settings.study)
        if not is_written(study, directory):
            write_settings(directory / SETTINGS_FILE, study.settings)
            study.save(directory)
        stages = reproduction_stages(study.symbols.segments.n_individuals, study.finest)
        engine.shelf = Shelf(directory, REPRODUCTION_FILE, stages)
        _run_reproduction(engine, settings, study)
        _save(engine, stages, settings, directory)
        write_provenance(directory, study.settings, engine, recording_inputs(recording, engine.results["given_basis"]))
    shelf.clear()
    return study


def _run_reproduction(engine: Engine, settings: ReproduceSettings, study: Study) -> None:
    chosen = settings.model_copy(update={"study": study.settings})
    for stage in reproduction_stages(study.symbols.segments.n_individuals, study.finest):
        engine.run(stage, chosen)


def _save(engine: Engine, stages: Sequence[Stage], settings: ReproduceSettings, directory: Path) -> None:
    """Write the results of the reproduction; equal results make equal bytes."""
    named = {
        f"{stage.name}/{name}": engine.results[name]
        for stage in stages
        for name in stage.gives
        if engine.results[name] is not None
    }
    keys = {stage.name: {KEY: engine.keys[stage.name]} for stage in stages}
    attrs = {"settings": settings.model_dump_json(), "version": __version__}
    target = directory / REPRODUCTION_FILE
    with contextlib.suppress(InputFormatError):  # not there, or damaged
        if load_group_attrs(target) == {"": attrs} | keys:
            return
    save_results(target, named, attrs, keys)


def _expected_seconds(recording: Recording, settings: ReproduceSettings, threads: int) -> dict[str, float]:
    """Estimate the time of every stage."""
    segments = recording.segments
    size = Size(n_frames=segments.n_rows, n_animals=segments.n_individuals, settings=settings, threads=threads)
    return expected_seconds(recording, settings.study, threads) | {
        name: seconds(size) for name, seconds in SECONDS.items()
    }


def _records(engine: Engine, directory: Path | None) -> tuple[StageRecord, ...]:
    """Tell how all stages were computed, in this run or in an earlier one."""
    if directory is None:
        return tuple(engine.records.values())
    told = json.loads((directory / PROVENANCE_FILE).read_text(encoding="utf-8"))["stages"]
    return tuple(StageRecord(**{name: one[name] for name in StageRecord.__dataclass_fields__}) for one in told)


# --- the scoreboard --------------------------------------------------------------------------------------------------


def _measure(evidence: Evidence) -> tuple[Findings, list[str]]:
    """Measure everything that the stages tell, and say what could not be measured, and why."""
    found: Findings = {}
    troubles = []
    for what, (stage, measure) in FINDINGS.items():
        trouble: Trouble | None = evidence.results.get(f"{stage}_trouble")
        if trouble is not None:
            troubles.append(f"({what}: {trouble.reason})")
        if stage in evidence.results and evidence.results[stage] is None:
            continue  # it failed, or was not asked for
        try:
            found |= measure(evidence)
        except EthomarkovError as error:  # one figure that cannot be had must not cost all the others
            troubles.append(f"({what}: {error})")
    return found, troubles


def _held_findings(data: PaperData) -> Findings:
    """Measure what needs no postures: published tables and the paths of all twelve worms."""
    found = table_findings(data)
    if data.paths is not None:
        found |= path_findings(data.paths, range(N_WORMS)) | exponent_findings(data.paths)
    return found


def _judge(data: PaperData, found: Findings, troubles: Sequence[str]) -> tuple[Row, ...]:
    synthetic = data.synthetic is not None
    return tuple(
        judge(figure, found.get(figure.key, _reason(figure, data, troubles)), synthetic=synthetic)
        for figure in published_figures(_worms_named(data))
    )


def _worms_named(data: PaperData) -> Sequence[int]:
    """Worms of which something at hand can be compared with their own published figures."""
    if data.paths is not None:
        return range(N_WORMS)
    return sorted(worm for worm in data.worms if worm >= 0)


def _reason(figure: Published, data: PaperData, troubles: Sequence[str]) -> str:
    """Say why a figure could not be computed."""
    if figure.key.startswith("worm "):
        return "needs the postures of this worm"
    if data.recording is None:
        return "needs postures, of all twelve worms"
    if any(f"of {name}" in figure.key for name in STATE_NAMES):
        return " ".join(["the tree of these worms has no state of this name", *troubles])
    return " ".join([UNMEASURED, *troubles])


# --- against the truth of synthetic worms ----------------------------------------------------------------------------


def _judge_truth(study: Study, made: SyntheticWorms, found: Findings, known: KnownTruth) -> Iterator[Row]:
    """Compare with what is known of synthetic worms."""
    n_worms = len(made.recording.individuals)
    for row in known.rows:
        if row.kind == ESTIMATE:
            ours = Found(interval=row.found, n_worms=n_worms, note=row.note)
            yield judge(_truth(row.quantity, row.unit, row.true), ours)
    valid = study.postures.segments.valid
    states, velocity = made.truth.states[valid], phase_velocity(study.postures)[valid]
    truths: dict[str, tuple[str, float]] = {}
    for k in np.unique(states):
        name = STATE_NAMES[k]
        truths[f"share of time in {name}"] = (f"measure of {name}", float((states == k).mean()))
        truths[f"phase velocity in {name}"] = (f"velocity of {name}", float(np.nanmean(velocity[states == k])))
    for what, (key, truth) in truths.items():
        yield judge(_truth(what, "", truth), found.get(key, "the tree of these worms has no state of this name"))


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
