"""The paper, reproduced and scored."""

import time
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ethomarkov._core.types import Progress
from ethomarkov.cli.options import RunningOptions, require_at_least, require_minutes
from ethomarkov.cli.reproduction_output import draw_reproduction, write_reproduction, write_scoreboard, write_timing
from ethomarkov.cli.study_output import show_duration
from ethomarkov.cli.terminal import progress_bar
from ethomarkov.cli.work import at_work
from ethomarkov.io.atomic import check_writable
from ethomarkov.paper.data import find_paper_data, synthetic_paper_data
from ethomarkov.paper.scoring import count_verdicts, show_interval
from ethomarkov.report.paper_figures import get_ready, is_worth_sharing
from ethomarkov.report.side_by_side import second_process
from ethomarkov.workflow.reproduce import Reproduction, reproduce_paper
from ethomarkov.workflow.reproduction_stages import ReproduceSettings
from ethomarkov.workflow.study import Study

DEFAULT = RunningOptions()


def reproduce(
    *,
    data: Path | None = None,
    out: Path = Path("ethomarkov-reproduction"),
    runs: int = 1000,
    shuffles: int = 100,
    repeats: int = 50,
    honest_repeats: int = 5,
    quick: Annotated[bool, Parameter(negative=())] = False,
    figures: bool = True,
    worms: int = 12,
    minutes: float = 35.0,
    running: RunningOptions = DEFAULT,
) -> None:
    """Reproduce the paper from its data, or from synthetic worms, and score every published figure.

    Every stage is kept as soon as it is complete. Run again after an interruption, or with other options, it computes
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
    honest_repeats
        Repeats of an honest cross-validation, which learns all states anew each time.
    quick
        Make 50 runs, 10 shuffles, 5 repeats (2 honest ones) and a small scan.
    figures
        Draw all figures and write the report.
    worms, minutes
        Of the synthetic recording.
    """
    require_at_least(runs, 2, "--runs")
    require_at_least(shuffles, 1, "--shuffles")
    require_at_least(repeats, 0, "--repeats")
    require_at_least(honest_repeats, 0, "--honest-repeats")
    require_at_least(worms, 1, "--worms")
    require_at_least(minutes, 1, "--minutes")
    require_minutes(worms, minutes, "--worms and --minutes")
    paper_data = None if data is None else find_paper_data(data)
    check_writable(out)
    console, seed = Console(quiet=running.quiet), running.chosen_seed
    settings = ReproduceSettings(
        n_runs=runs, n_shuffles=shuffles, n_repeats=repeats, n_honest=honest_repeats, seed=seed
    )
    if quick:
        settings = ReproduceSettings(n_runs=50, n_shuffles=10, n_repeats=5, n_honest=2, small_scan=True, seed=seed)
    with at_work(running) as threads, progress_bar(console, quiet=running.quiet) as progress:
        if paper_data is None:
            paper_data = synthetic_paper_data(worms, 60 * minutes, seed=seed, threads=threads, progress=progress)
        done = reproduce_paper(paper_data, settings, directory=out, threads=threads, progress=progress)
        write_scoreboard(done, paper_data, out)
        times = {} if done.study is None else _write(done, done.study, out, progress, threads if figures else 0)
    console.print(_table(done))
    console.print(_timing(done, times))
    console.print(f"\nFrom {paper_data.sentence}. {count_verdicts(done.rows)}", highlight=False, soft_wrap=True)
    console.print(f"Open {escape(str(out / 'scoreboard.html'))}.", highlight=False, soft_wrap=True)


def _write(
    done: Reproduction, study: Study, out: Path, progress: Progress | None, drawing_threads: int
) -> dict[str, float]:
    """Write everything, without figures where no thread may draw them; tell the seconds that it took."""
    began = time.monotonic()
    with second_process(wanted=is_worth_sharing(drawing_threads)) as beside:
        if beside is not None:
            beside.begin(get_ready)
        pictures = write_reproduction(done, study, out)
        times = {"writing results": time.monotonic() - began}
        if drawing_threads:
            began = time.monotonic()
            draw_reproduction(study, pictures, out, progress, beside)
            times["figures and report"] = time.monotonic() - began
    write_timing(done, times, out)
    return times


def _table(done: Reproduction) -> Table:
    """List what could be judged."""
    table = Table(box=None, pad_edge=False)
    for name in ("figure", "published", "ours", "verdict"):
        table.add_column(name)
    for row in done.rows:
        if row.ours is not None and row.verdict != "cannot be judged":
            published = row.published
            unit = f" ({published.unit})" if published.unit else ""
            table.add_row(f"{published.what}{unit}", f"{published.value:.4g}", show_interval(row.ours), row.verdict)
    return table


def _timing(done: Reproduction, times: dict[str, float]) -> Table:
    """Show where the time went."""
    table = Table(box=None, pad_edge=False)
    for title in ("stage", "time", "CPU time", "peak GB"):
        table.add_column(title, justify="left" if title == "stage" else "right")
    for one in done.records:
        cells = (show_duration(one.seconds), show_duration(one.cpu_seconds), f"{one.peak_gb:.2f}")
        table.add_row(one.stage.replace("_", " "), *cells)
    for what, seconds in times.items():
        table.add_row(what, show_duration(seconds), "", "")
    return table
