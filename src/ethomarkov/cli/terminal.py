"""Progress and tables in the terminal."""

import contextlib
import math
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from ethomarkov._core.types import Progress as Report
from ethomarkov._core.words import count_of

Figures = dict[str, Any]
NOTE = "note"


@contextlib.contextmanager
def progress_bar(console: Console, *, quiet: bool) -> Iterator[Report | None]:
    """Show one bar for the work inside."""
    if quiet:
        yield None
        return
    columns = (SpinnerColumn(), TextColumn("{task.description:<18}"), BarColumn(), TaskProgressColumn())
    times = (TimeElapsedColumn(), TextColumn("remaining"), TimeRemainingColumn())
    with Progress(*columns, *times, console=console, transient=True) as bars:
        task = bars.add_task("reading", total=None)

        def report(what: str, done: int, total: int) -> None:
            bars.update(task, description=what, completed=done, total=total)

        yield report


@contextlib.contextmanager
def limited_threads(threads: int | None) -> Iterator[int]:
    """Keep numerical libraries to a number of cores, and tell how many there are."""
    import os

    from threadpoolctl import threadpool_limits

    cores = threads or os.cpu_count() or 1
    with threadpool_limits(cores):
        yield cores


def summary_table(summary: Figures) -> Table:
    """Lay the key figures out as a table."""
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="dim")
    table.add_column()
    for label, value in _rows(summary):
        table.add_row("[yellow]note[/]" if label == NOTE else escape(label), escape(value))
    return table


def _rows(summary: Figures) -> Iterator[tuple[str, str]]:
    data, chain, choices = summary["data"], summary["chain"], summary["choices"]
    yield (
        "recording",
        (
            f"{count_of(data['animals'], 'animal')}, {data['minutes']:.1f} min at {data['rate_hz']:g} Hz, "
            f"{100 * data['missing_share']:.1f} % missing"
        ),
    )
    yield (
        "choices",
        (
            f"{choices['n_delays']} frames per sequence, {choices['n_states']} microstates, lag {choices['lag']:g} s, "
            f"seed {choices['seed']}"
        ),
    )
    yield "because", summary["choice"]["explanation"]
    yield "slow modes", summary["choice"]["verdict"]
    yield "entropy rate", f"{chain['entropy_rate_nat_per_s']:.2f} nat/s"
    times = ", ".join(f"{t:.2f}" for t in chain["relaxation_times_s"] if math.isfinite(t)) or "none"
    yield "relaxation times", f"{times} s (chain of all animals)"
    yield "slowest, over animals", _interval(chain["slowest_relaxation_s"], " s")
    if summary["timescales"]:
        found = summary["timescales"]
        yield (
            "above noise",
            (
                f"{found['significant_modes']} modes of {len(chain['eigenvalues'])} looked at; shuffled symbols reach "
                f"{found['noise_floor_upper_s']:.2f} s"
            ),
        )
    for state in summary["macrostates"]["states"]:
        dwell = _interval(state["mean_dwell_s"], " s")
        yield state["name"], f"{100 * state['share_of_time']:.1f} % of the time, mean dwell time {dwell}"
    yield from _hopping_rows(summary["macrostates"])
    behaviours = summary["behaviours"]
    if behaviours["level"] > 2:
        states = ", ".join(f"{state['name']} {100 * state['share_of_time']:.0f} %" for state in behaviours["states"])
        yield f"{behaviours['level']} states", states
    for kind, found in (summary["events_per_minute"] or {}).items():
        yield f"{kind}s per min", f"data {_interval(found['data'])}; simulation {_interval(found['simulation'])}"
    simulation = summary["simulation"]
    yield "simulation", simulation["how"]
    if "speed_body_lengths_per_s" in simulation:
        measured = simulation.get("measured_speed_body_lengths_per_s")
        shown = f"data {_interval(measured)}; " if measured else ""
        yield "speed (lengths/s)", f"{shown}simulation {_interval(simulation['speed_body_lengths_per_s'])}"
    for warning in summary["warnings"]:
        yield NOTE, warning


def _hopping_rows(macrostates: Figures) -> Iterator[tuple[str, str]]:
    """Rates between the two macrostates."""
    names, hopping = [state["name"] for state in macrostates["states"]], macrostates["hopping"]
    for (before, after), rate in zip((names, names[::-1]), hopping["rates_per_s"], strict=True):
        yield f"{before} → {after}", f"{_interval(rate, ' per s')}, from {hopping['method']}"


def _interval(found: dict[str, Any], unit: str = "") -> str:
    if math.isnan(found["estimate"]):
        return "not defined"
    if math.isnan(found["low"]):  # too few units for an interval
        return f"{found['estimate']:.3g}{unit}"
    limits = f"({found['low']:.3g}, {found['high']:.3g})"
    return f"{found['estimate']:.3g} {limits}{unit} over {found['n']} {found['over']}"
