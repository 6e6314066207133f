"""What each state is good for when food is at a distance."""

from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ethomarkov.cli.options import RunningOptions, require_at_least, require_minutes
from ethomarkov.cli.terminal import progress_bar
from ethomarkov.cli.work import at_work
from ethomarkov.exceptions import InputFormatError
from ethomarkov.figures.style import save_figures
from ethomarkov.foraging.coverage import SweepRule
from ethomarkov.io.atomic import check_writable
from ethomarkov.io.results import save_results
from ethomarkov.io.spreadsheet import write_table
from ethomarkov.report.validation_figures import draw_forage_figure
from ethomarkov.workflow import Study
from ethomarkov.workflow.forage import ForageRule, Foraging, forage_study
from ethomarkov.workflow.paths import body_basis

DEFAULT = RunningOptions()
FIGURE_FILE = "forage.png"
NARROWEST = 0.005
SHOWN_RADII = (0.55, 1.0, 2.0, 5.0, 10.0, 24.0)


def forage(
    study: Path,
    *,
    level: int | None = None,
    runs: int = 1000,
    seconds: float = 100.0,
    width: float = 0.05,
    raster: bool = False,
    out: Path | None = None,
    running: RunningOptions = DEFAULT,
) -> None:
    """Let animals forage that never leave a state; compare what they find with the time that animals spend in it.

    Parameters
    ----------
    study
        Directory that `ethomarkov run` wrote.
    level
        Number of states; the finest by default.
    runs
        In every state.
    seconds
        Of every run.
    width
        Of the body, in body lengths.
    raster
        Count cells as published (points every half second) instead of sweeping the whole body.
    out
        Directory for forage.csv, forage.nc and forage.png; `forage` in the study's own by default.
    """
    require_at_least(runs, 2, "--runs")
    require_minutes(runs, seconds / 60, "--runs and --seconds")
    loaded = Study.load(study)
    body_basis(loaded)
    if not 2 * loaded.chain.lag <= seconds < float("inf") or not NARROWEST <= width < 1:
        raise InputFormatError(
            f"--seconds is {seconds:g} and --width {width:g}; runs of at least {2 * loaded.chain.lag:g} s and a width "
            f"between {NARROWEST} and 1 body length are needed."
        )
    at = loaded.finest if level is None else level
    loaded.tree.nodes_at(at)
    target = out or (study if study.is_dir() else study.parent) / "forage"
    check_writable(target)
    console = Console(quiet=running.quiet)
    sweep = SweepRule(width=width, method="paper" if raster else "capsule")
    how = ForageRule(n_runs=runs, seconds=seconds, sweep=sweep, seed=running.chosen_seed)
    with at_work(running) as threads, progress_bar(console, quiet=running.quiet) as progress:
        found = forage_study(loaded, at, how, threads=threads, progress=progress)
        write_foraging(loaded, found, target)
        save_figures({FIGURE_FILE: draw_forage_figure(loaded, found, seed=running.chosen_seed)}, target)
    console.print(_table(found))
    matching = found.matching
    console.print(
        f"\nIn a disc of {matching.radius:g} body lengths, what states find follows the time spent in them with a "
        f"correlation of {matching.correlation}; {matching.mismatch} of the time would have to move for a match.",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
    console.print(f"Written to {escape(str(target))}.", highlight=False, soft_wrap=True)


def write_foraging(study: Study, found: Foraging, out: Path) -> None:
    """Write what states find, as a table and results, into a directory.

    Parameters
    ----------
    study, found
        The states.
    out
        Directory.
    """
    write_table(out / "forage.csv", _rows(found))
    results = {"coverage": found.coverage, "curve": found.curve, "matching": found.matching}
    save_results(out / "forage.nc", results, {"settings": study.settings.model_dump_json()})


def _table(found: Foraging) -> Table:
    table = Table(title="Probability that food within r body lengths is found in a state", box=None, pad_edge=False)
    table.add_column("state")
    shown = [radius for radius in SHOWN_RADII if found.curve.radii[0] <= radius <= found.curve.radii[-1]]
    for radius in shown:
        table.add_column(f"{radius:g}", justify="right")
    table.add_column("time", justify="right")
    columns = [found.curve.at(radius) for radius in shown]
    for k, name in enumerate(found.curve.names):
        cells = (f"{column[k]:.3f}" for column in columns)
        table.add_row(escape(name), *cells, f"{found.matching.time_share[k]:.3f}")
    return table


def _rows(found: Foraging) -> Iterator[dict[str, object]]:
    curve = found.curve
    for k, name in enumerate(curve.names):
        for r, radius in enumerate(curve.radii):
            yield {
                "state": name,
                "radius": float(radius),
                "coverage": float(found.coverage.share[k, :, r].mean()),
                "probability": float(curve.probability[k, r]),
                "low": float(curve.low[k, r]),
                "high": float(curve.high[k, r]),
                "time_share": float(found.matching.time_share[k]),
            }
