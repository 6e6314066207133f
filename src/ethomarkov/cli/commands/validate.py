"""The model against the animals, and whether it can be trusted."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ethomarkov._core.types import FloatArray
from ethomarkov.cli.options import RunningOptions, require_at_least, require_minutes
from ethomarkov.cli.terminal import progress_bar
from ethomarkov.cli.work import at_work
from ethomarkov.figures.style import save_figures
from ethomarkov.io.atomic import check_writable
from ethomarkov.io.results import group_name, save_results
from ethomarkov.io.spreadsheet import write_table
from ethomarkov.report.held_out import summarise_correlation
from ethomarkov.report.validation_figures import draw_validation_figures
from ethomarkov.validation.splits import CrossValidation, measure_leak
from ethomarkov.workflow import Study
from ethomarkov.workflow.validate import Validation, validate_study

DEFAULT = RunningOptions()


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
        Repeats of cross-validation in blocks, honest and as published; none by default, 50 as published.
    out
        Directory for tables, validation.nc and figures; `validation` in the study's own by default.
    """
    require_at_least(runs, 2, "--runs")
    require_at_least(repeats, 0, "--repeats")
    loaded = Study.load(study)
    segments, rate = loaded.postures.segments, loaded.postures.sampling.rate
    require_minutes(runs, segments.n_rows / segments.n_individuals / rate / 60, "--runs, as long as the recordings,")
    target = out or (study if study.is_dir() else study.parent) / "validation"
    check_writable(target)
    console = Console(quiet=running.quiet)
    with at_work(running) as threads, progress_bar(console, quiet=running.quiet) as progress:
        found = validate_study(
            loaded, n_runs=runs, n_repeats=repeats, seed=running.chosen_seed, threads=threads, progress=progress
        )
        write_validation(loaded, found, target)
        save_figures(draw_validation_figures(loaded, found), target)
    console.print(_table(found))
    for line in _findings(found):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    console.print(f"\nWritten to {escape(str(target))}.", highlight=False, soft_wrap=True)


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


def _findings(found: Validation) -> Iterator[str]:
    yield ""
    n_agree = sum(row.agrees for row in found.agreements)
    yield f"{n_agree} of {len(found.agreements)} statistics agree. {found.held_out.explain()}"
    yield found.drift.sentence
    yield from _leak_lines(found.cross_validation)
    for warning in found.warnings:
        yield f"note: {warning}"


def _leak_lines(found: Mapping[str, CrossValidation]) -> Iterator[str]:
    """Say what cross-validation found, and what the published leak would have hidden."""
    if not found:
        return
    for name, leak in measure_leak(found["honest"], found["leaky"]).items():
        honest, leaky = (float(np.nanmean(values)) for values in leak.inside)
        yield (
            f"Held out, {name}: within the simulated range in {honest:.0%} of cases when nothing leaks, in "
            f"{leaky:.0%} with the published leak (microstates and cut from all data)."
        )


def write_validation(study: Study, found: Validation, out: Path) -> None:
    """Write tables and results of a validation into a directory.

    Parameters
    ----------
    study, found
        What was judged, and how.
    out
        Directory.
    """
    write_table(out / "validation.csv", _agreement_rows(found))
    write_table(
        out / "checks.csv",
        (
            asdict(check) | {"agrees": check.agrees if check.is_known else ""}
            for one in found.animals
            for check in one.checks
        ),
    )
    write_table(out / "cross_validation.csv", _split_rows(found.cross_validation))
    results: dict[str, object] = {
        "recorded_error": found.recorded_error,
        "simulated_error": found.simulated_error,
        "held_out": found.held_out,
        "entries": found.entries,
        "run_entries": found.run_entries,
        "drift": found.drift,
    }
    results |= {group_name("animal", k, one.name): one for k, one in enumerate(found.animals)}
    results |= {f"{kind}_correlation": summarise_correlation(one) for kind, one in found.cross_validation.items()}
    attrs = {"settings": study.settings.model_dump_json(), "warnings": "\n".join(found.warnings)}
    save_results(out / "validation.nc", results, attrs)


def _agreement_rows(found: Validation) -> Iterator[dict[str, object]]:
    for row in found.agreements:
        yield {
            "statistic": row.name,
            "unit": row.unit,
            "data": row.data.estimate,
            "data_low": row.data.low,
            "data_high": row.data.high,
            "simulation": row.simulation.estimate,
            "simulation_low": row.simulation.low,
            "simulation_high": row.simulation.high,
            "over": row.data.over,
            "animals_agree": row.n_agree,
            "animals": row.n_animals,
            "agrees": row.agrees,
        }


def _split_rows(found: Mapping[str, CrossValidation]) -> Iterator[dict[str, object]]:
    for kind, one in found.items():
        for name, comparison in one.comparisons.items():
            if comparison.test.ndim != 3:  # curves are drawn, not listed
                continue
            inside, bias = comparison.inside(), comparison.bias()
            for animal in range(len(inside)):
                for column in range(inside.shape[1]):
                    yield {
                        "kind": kind,
                        "statistic": name,
                        "number": column,
                        "animal": one.individuals[animal],
                        "test_mean": _known_mean(comparison.test[:, animal, column]),
                        "simulated_mean": _known_mean(comparison.simulated[:, animal, :, column]),
                        "bias": float(bias[animal, column]),
                        "share_inside": float(inside[animal, column]),
                        "expected_inside": comparison.level,
                        "repeats": len(comparison.test),
                    }


def _known_mean(values: FloatArray) -> float:
    """Average what is known; NaN where nothing is, as rates of states that were never left."""
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else float("nan")
