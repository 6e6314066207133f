"""The paper, reproduced and scored."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ethomarkov.cli.options import RunningOptions, require_at_least
from ethomarkov.cli.tables import write_table
from ethomarkov.cli.terminal import limited_threads, progress_bar
from ethomarkov.io.atomic import atomic_path, check_writable
from ethomarkov.workflow.reproduce import (
    Holdings,
    ReproduceRule,
    Reproduction,
    find_holdings,
    reproduce_paper,
    synthetic_holdings,
)
from ethomarkov.workflow.scoreboard import count_verdicts, render_html, render_markdown, show_interval, table_rows

DEFAULT = RunningOptions()
QUICK_RUNS = 50


def reproduce(
    *,
    data: Path | None = None,
    out: Path = Path("ethomarkov-reproduction"),
    runs: int = 1000,
    quick: Annotated[bool, Parameter(negative=())] = False,
    worms: int = 12,
    minutes: float = 35.0,
    running: RunningOptions = DEFAULT,
) -> None:
    """Reproduce the paper from its data, or from synthetic worms, and score every published figure.

    Parameters
    ----------
    data
        Directory of the paper's data, or of any part of them; see `ethomarkov data`. Synthetic worms when left out.
    out
        Directory for scoreboard.csv, scoreboard.md, scoreboard.html and study.nc.
    runs
        Simulated runs of every worm and of every state.
    quick
        Make 50 runs.
    worms, minutes
        Of the synthetic recording.
    """
    require_at_least(runs, 2, "--runs")
    require_at_least(worms, 1, "--worms")
    require_at_least(minutes, 1, "--minutes")
    holdings = None if data is None else find_holdings(data)
    check_writable(out)
    console = Console(quiet=running.quiet)
    rule = ReproduceRule(n_runs=QUICK_RUNS if quick else runs, seed=running.seed)
    with limited_threads(running.threads) as threads, progress_bar(console, quiet=running.quiet) as progress:
        if holdings is None:
            holdings = synthetic_holdings(worms, 60 * minutes, seed=running.seed, threads=threads, progress=progress)
        done = reproduce_paper(holdings, rule, threads=threads, progress=progress)
        _write(done, holdings, out)
    console.print(_table(done))
    console.print(f"\nFrom {holdings.sentence}. {count_verdicts(done.rows)}", highlight=False, soft_wrap=True)
    console.print(f"Open {escape(str(out / 'scoreboard.html'))}.", highlight=False, soft_wrap=True)


def _write(done: Reproduction, holdings: Holdings, out: Path) -> None:
    title = f"The paper reproduced from {holdings.sentence}"
    if done.study is not None:
        done.study.save(out)
    write_table(out / "scoreboard.csv", table_rows(done.rows))
    for name, render in (("scoreboard.md", render_markdown), ("scoreboard.html", render_html)):
        with atomic_path(out / name) as temporary:
            temporary.write_text(render(done.rows, title), encoding="utf-8")


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
