"""Tables and numbers in the terminal."""

import math
from collections.abc import Collection, Iterator
from typing import Any

from rich.markup import escape
from rich.table import Table

from ethomarkov._core.words import count_of

Figures = dict[str, Any]
NOTE = "note"


def show_duration(seconds: float) -> str:
    """Write a time as one would say it.

    Examples
    --------
    >>> show_duration(0.2), show_duration(34), show_duration(600)
    ('< 1 s', '34 s', '10 min')
    """
    if seconds < 1:
        return "< 1 s"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def make_table(*titles: str, left: Collection[str] = ("",), title: str | None = None) -> Table:
    """Make a plain table with titles of columns; numbers are to the right, words to the left.

    Parameters
    ----------
    titles
        Of the columns.
    left
        Titles of columns of words.
    title
        Of the table.
    """
    table = Table(box=None, pad_edge=False, title=title, title_justify="left")
    for one in titles:
        table.add_column(one, justify="left" if one in left else "right", overflow="fold")
    return table


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
    times = ", ".join(f"{t:.2f}" for t in chain["relaxation_times_s"] if not _is_missing(t)) or "none"
    yield "relaxation times", f"{times} s (chain of all animals)"
    yield "slowest, over animals", _interval(chain["slowest_relaxation_s"], " s")
    if summary["timescales"]:
        found = summary["timescales"]
        yield (
            "above noise",
            (
                f"{found['significant_modes']} modes of {len(chain['eigenvalues'])} looked at; shuffled state "
                f"sequences reach {found['noise_floor_upper_s']:.2f} s"
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
    if _is_missing(found["estimate"]):
        return "not defined"
    if _is_missing(found["low"]):  # too few units for an interval
        return f"{found['estimate']:.3g}{unit}"
    limits = f"({found['low']:.3g}, {found['high']:.3g})"
    return f"{found['estimate']:.3g} {limits}{unit} over {found['n']} {found['over']}"


def _is_missing(number: float | None) -> bool:
    return number is None or not math.isfinite(number)
