"""The paper, reproduced and scored."""

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from rich.table import Table

from ethomarkov.cli.desk import Frame
from ethomarkov.cli.next_step import next_step, typed
from ethomarkov.cli.options import RunningOptions, require_at_least, require_minutes
from ethomarkov.cli.terminal import make_table, show_duration
from ethomarkov.study.defaults import MOST_RUNS, N_HELD_OUT, N_REPEATS, N_SHUFFLES

if TYPE_CHECKING:
    from ethomarkov._core.types import Progress
    from ethomarkov.paper.data import PaperData
    from ethomarkov.paper.reproduce import Reproduction
    from ethomarkov.study import Study

DEFAULT = RunningOptions()
TIMING_FILE = "timing.md"
FOLDERS = {"choose": "", "simulate": "simulation", "path": "path", "validate": "validation", "forage": "forage"}
"""Commands whose figures are drawn too, and where they put them."""


def reproduce(
    *,
    data: Path | None = None,
    out: Path = Path("ethomarkov-reproduction"),
    runs: int = MOST_RUNS,
    shuffles: int = N_SHUFFLES,
    repeats: int = N_REPEATS,
    held_out_repeats: int = N_HELD_OUT,
    quick: Annotated[bool, Parameter(negative=())] = False,
    figures: bool = True,
    worms: int = 12,
    minutes: float = 35.0,
    running: RunningOptions = DEFAULT,
) -> None:
    """Reproduce the paper from its data, or from synthetic worms, and score every published figure.

    Every stage is cached as soon as it is complete. Run again after an interruption, or with other options, it computes
    only what is not there yet.

    Parameters
    ----------
    data
        Directory of the paper's data, or of any part of them; see `ethomarkov data`. Synthetic worms when left out.
    out
        Directory for scoreboard, study, results of all other commands, figures and report.
    runs
        Simulated runs of every worm and of every state.
    shuffles
        Shuffled sequences behind every noise floor.
    repeats
        Repeats of cross-validation as published.
    held_out_repeats
        Repeats of a cross-validation that learns all states again from what is not held out.
    quick
        Make 50 runs, 10 shuffles, 5 repeats (2 held-out ones) and a small scan.
    figures
        Draw all figures and write the report.
    worms, minutes
        Of the synthetic recording.
    """
    require_at_least(runs, 2, "--runs")
    require_at_least(shuffles, 1, "--shuffles")
    require_at_least(repeats, 0, "--repeats")
    require_at_least(held_out_repeats, 0, "--held-out-repeats")
    require_at_least(worms, 1, "--worms")
    require_at_least(minutes, 1, "--minutes")
    require_minutes(worms, minutes, "--worms and --minutes")
    from ethomarkov.paper.data import find_paper_data, synthetic_paper_data
    from ethomarkov.paper.reproduce import ReproduceSettings, reproduce_paper
    from ethomarkov.paper.scoring import count_verdicts

    at_hand = None if data is None else find_paper_data(data)
    frame, seed = Frame(out=out, running=running), running.chosen_seed
    settings = ReproduceSettings(
        n_runs=runs, n_shuffles=shuffles, n_repeats=repeats, n_held_out=held_out_repeats, seed=seed
    )
    if quick:
        settings = ReproduceSettings(n_runs=50, n_shuffles=10, n_repeats=5, n_held_out=2, small_scan=True, seed=seed)
    with frame.working() as (threads, progress):
        if at_hand is None:
            at_hand = synthetic_paper_data(worms, 60 * minutes, seed=seed, threads=threads, progress=progress)
        done = reproduce_paper(at_hand, settings, directory=out, threads=threads, progress=progress)
        _write_scoreboard(done, at_hand, out)
        times = {}
        if done.study is not None:
            times = _write(done.study, out, progress, threads if figures else 0)
            _write_timing(done, times, out)
    frame.show(_table(done), _timing(done, times))
    frame.say(f"\nFrom {at_hand.sentence}. {count_verdicts(done.rows)}", f"Open {out / 'scoreboard.html'}.")
    frame.next(typed("data", "explain") if done.study is None else next_step(out))


def _write_scoreboard(done: "Reproduction", data: "PaperData", out: Path) -> None:
    """Write the scoreboard as a table, as Markdown and as a page."""
    from ethomarkov.io.atomic import atomic_path
    from ethomarkov.io.spreadsheet import write_table
    from ethomarkov.paper.scoreboard import render_html, render_markdown
    from ethomarkov.paper.scoring import table_rows

    title = f"The paper reproduced from {data.sentence}"
    write_table(out / "scoreboard.csv", table_rows(done.rows))
    for name, render in (("scoreboard.md", render_markdown), ("scoreboard.html", render_html)):
        with atomic_path(out / name) as temporary:
            temporary.write_text(render(done.rows, title), encoding="utf-8")


def _write(study: "Study", out: Path, progress: "Progress | None", drawing_threads: int) -> dict[str, float]:
    """Write tables, and figures and the report where some threads may draw them; tell the seconds that it took."""
    from ethomarkov.figures.style import save_figures
    from ethomarkov.io.spreadsheet import write_table
    from ethomarkov.paper.figures import share_figures, write_paper_figures
    from ethomarkov.paper.results import PaperResults
    from ethomarkov.report.commands import draw_command_figures
    from ethomarkov.report.page import write_report
    from ethomarkov.report.tables import held_tables

    began = time.monotonic()
    for file, rows in held_tables(study).items():
        write_table(out / file, rows)
    times = {"writing tables": time.monotonic() - began}
    if drawing_threads:
        began = time.monotonic()
        results = PaperResults(study)
        with share_figures(out, threads=drawing_threads) as shared:
            for command, folder in FOLDERS.items():
                save_figures(draw_command_figures(command, results), out / folder)
            write_report(results, out)
            write_paper_figures(results, out / "figures", (), progress, shared)
        times["figures and report"] = time.monotonic() - began
    return times


def _write_timing(done: "Reproduction", times: Mapping[str, float], out: Path) -> None:
    """Write where the time went, as Markdown."""
    from ethomarkov.io.atomic import atomic_path

    with atomic_path(out / TIMING_FILE) as temporary:
        temporary.write_text("\n".join(_timing_lines(done, times)) + "\n", encoding="utf-8")


def _timing_lines(done: "Reproduction", times: Mapping[str, float]) -> Iterator[str]:
    yield from ("# Where the time went", "", "| stage | seconds | CPU seconds | peak GB |", "|---|---|---|---|")
    for one in done.records:
        yield f"| {one.stage.replace('_', ' ')} | {one.seconds:.1f} | {one.cpu_seconds:.1f} | {one.peak_gb:.2f} |"
    for what, seconds in times.items():
        yield f"| {what} | {seconds:.1f} | | |"
    total = sum(one.seconds for one in done.records) + sum(times.values())
    cpu = sum(one.cpu_seconds for one in done.records)
    yield f"| all | {total:.1f} | {cpu:.1f} | {max((one.peak_gb for one in done.records), default=0.0):.2f} |"


def _table(done: "Reproduction") -> Table:
    """List what could be judged."""
    from ethomarkov.paper.scoring import show_interval

    titles = ("figure", "published", "ours", "verdict")
    table = make_table(*titles, left=titles)
    for row in done.rows:
        if row.ours is not None and row.verdict != "cannot be judged":
            published = row.published
            unit = f" ({published.unit})" if published.unit else ""
            table.add_row(f"{published.what}{unit}", f"{published.value:.4g}", show_interval(row.ours), row.verdict)
    return table


def _timing(done: "Reproduction", times: dict[str, float]) -> Table:
    """Show where the time went."""
    table = make_table("stage", "time", "CPU time", "peak GB", left=["stage"])
    for one in done.records:
        cells = (show_duration(one.seconds), show_duration(one.cpu_seconds), f"{one.peak_gb:.2f}")
        table.add_row(one.stage.replace("_", " "), *cells)
    for what, seconds in times.items():
        table.add_row(what, show_duration(seconds), "", "")
    return table
