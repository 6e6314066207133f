"""The model against the animals, and whether it can be trusted."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from ethomarkov.cli.desk import open_study
from ethomarkov.cli.options import RunningOptions, require_at_least, require_minutes
from ethomarkov.cli.terminal import make_table

if TYPE_CHECKING:
    from ethomarkov.validation.splits import CrossValidation
    from ethomarkov.validation.validate import Validation

DEFAULT = RunningOptions()


def validate(
    study: Path,
    *,
    runs: int | None = None,
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
        Simulated runs of every animal, of its own duration; by default at most 200, and fewer where they take longer
        than about a minute on two cores. 1000 as published.
    repeats
        Repeats of cross-validation in blocks, held-out and as published; none by default, 50 as published.
    out
        Directory for tables and figures; `validation` in the study's own by default.
    """
    require_at_least(2 if runs is None else runs, 2, "--runs")
    require_at_least(repeats, 0, "--repeats")
    from ethomarkov.report.summary import study_warnings
    from ethomarkov.report.tables import validation_tables
    from ethomarkov.study.effort import scaled_options

    desk = open_study(study, running, out, "validation")
    segments, rate = desk.study.postures.segments, desk.study.postures.sampling.rate
    asked = {"n_runs": runs, "n_held_out": repeats, "n_repeats": repeats}
    options = scaled_options(desk.study, "validation", asked)
    n_runs = options["n_runs"]
    require_minutes(n_runs, segments.n_rows / segments.n_individuals / rate / 60, "--runs, as long as the recordings,")
    with desk.working():
        found: Validation = desk.compute("validation", **options)
        desk.write(validation_tables(found))
        desk.draw("validate", validation=found)
    desk.show(_table(found))
    desk.say(*_conclusions(found))
    desk.note(*study_warnings(desk.study), *found.warnings)
    if runs is None:
        desk.say(f"{n_runs} runs of every animal; --runs asks for more, --repeats for cross-validation.")
    desk.close()


def _table(found: "Validation") -> Table:
    titles = ("statistic", "unit", "data", "simulation", "animals within 95 % of their runs", "")
    table = make_table(*titles, left=("statistic", "unit", ""))
    for row in found.agreements:
        verdict = "[green]agrees[/]" if row.agrees else "[red]differs[/]"
        share = f"{row.n_agree} of {row.n_animals}"
        table.add_row(escape(row.name), escape(row.unit), str(row.data), str(row.simulation), share, verdict)
    data, simulation = found.recorded_error.mixing_time(), found.simulated_error.mixing_time()
    table.add_row("mixing time", "s", str(data), str(simulation), f"intervals over {data.over}", "")
    return table


def _conclusions(found: "Validation") -> Iterator[str]:
    yield ""
    n_agree = sum(row.agrees for row in found.agreements)
    yield f"{n_agree} of {len(found.agreements)} statistics agree. {found.held_out.explain()}"
    yield found.drift.sentence
    yield from _leak_lines(found.cross_validation)


def _leak_lines(found: Mapping[str, "CrossValidation"]) -> Iterator[str]:
    """Say what cross-validation shows, and what the published leak would have hidden."""
    if not found:
        return
    import numpy as np

    from ethomarkov.validation.splits import measure_leak

    for name, leak in measure_leak(found["held-out"], found["as published"]).items():
        held_out, published = (float(np.nanmean(values)) for values in leak.inside)
        yield (
            f"Held out, {name}: within the simulated range in {held_out:.0%} of cases when nothing leaks, in "
            f"{published:.0%} with the published leak (microstates and cut from all data)."
        )
