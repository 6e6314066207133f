"""The model against the animals, and whether it can be trusted."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from rich.markup import escape
from rich.table import Table

from ethomarkov.cli.desk import open_study
from ethomarkov.cli.options import RunningOptions, require_at_least, require_minutes
from ethomarkov.report.summary import study_warnings
from ethomarkov.report.tables import validation_tables
from ethomarkov.validation.splits import CrossValidation, measure_leak
from ethomarkov.validation.validate import Validation

DEFAULT = RunningOptions()
MOST_WALKS = 200
"""Walks, at most, in which entries into a state are counted."""


def validate(
    study: Path,
    *,
    runs: int = 200,
    repeats: int = 0,
    out: Path | None = None,
    running: RunningOptions = DEFAULT,
) -> None:
    """Compare every animal of a study with simulated runs of its own model, and say whether the model can be trusted.

    Parameters
    ----------
    study
        Directory that `ethomarkov run` wrote.
    runs
        Simulated runs of every animal, of its own duration; 1000 as published.
    repeats
        Repeats of cross-validation in blocks, held-out and as published; none by default, 50 as published.
    out
        Directory for tables and figures; `validation` in the study's own by default.
    """
    require_at_least(runs, 2, "--runs")
    require_at_least(repeats, 0, "--repeats")
    desk = open_study(study, running, out, "validation")
    segments, rate = desk.study.postures.segments, desk.study.postures.sampling.rate
    require_minutes(runs, segments.n_rows / segments.n_individuals / rate / 60, "--runs, as long as the recordings,")
    with desk.working():
        found: Validation = desk.compute(
            "validation", n_runs=runs, entry_walks=min(runs, MOST_WALKS), n_held_out=repeats, n_repeats=repeats
        )
        desk.write(validation_tables(found))
        desk.draw("validate", validation=found)
    desk.console.print(_table(found))
    desk.say(*_conclusions(found), *(f"note: {one}" for one in (*study_warnings(desk.study), *found.warnings)))
    desk.close()


def _table(found: Validation) -> Table:
    table = Table(box=None, pad_edge=False)
    for title in ("statistic", "unit", "data", "simulation", "animals within 95 % of their runs", ""):
        table.add_column(title, justify="left" if title in ("statistic", "unit", "") else "right")
    for row in found.agreements:
        verdict = "[green]agrees[/]" if row.agrees else "[red]differs[/]"
        share = f"{row.n_agree} of {row.n_animals}"
        table.add_row(escape(row.name), escape(row.unit), str(row.data), str(row.simulation), share, verdict)
    data, simulation = found.recorded_error.mixing_time(), found.simulated_error.mixing_time()
    table.add_row("mixing time", "s", str(data), str(simulation), f"intervals over {data.over}", "")
    return table


def _conclusions(found: Validation) -> Iterator[str]:
    yield ""
    n_agree = sum(row.agrees for row in found.agreements)
    yield f"{n_agree} of {len(found.agreements)} statistics agree. {found.held_out.explain()}"
    yield found.drift.sentence
    yield from _leak_lines(found.cross_validation)


def _leak_lines(found: Mapping[str, CrossValidation]) -> Iterator[str]:
    """Say what cross-validation found, and what the published leak would have hidden."""
    if not found:
        return
    for name, leak in measure_leak(found["held-out"], found["as published"]).items():
        held_out, published = (float(np.nanmean(values)) for values in leak.inside)
        yield (
            f"Held out, {name}: within the simulated range in {held_out:.0%} of cases when nothing leaks, in "
            f"{published:.0%} with the published leak (microstates and cut from all data)."
        )
