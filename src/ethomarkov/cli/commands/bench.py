"""What studies cost on this machine."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from ethomarkov._core.words import count_of
from ethomarkov.cli.desk import Frame
from ethomarkov.cli.next_step import typed
from ethomarkov.cli.options import RunningOptions, require_at_least, require_minutes
from ethomarkov.cli.terminal import make_table, show_duration
from ethomarkov.exceptions import InputFormatError
from ethomarkov.study.defaults import BENCH_WORMS, PAPER_FRAMES, WORM_SECONDS

if TYPE_CHECKING:
    from ethomarkov.study.bench import Bench

FORESEEN = {"paper": PAPER_FRAMES, "10⁶": 1_000_000}
QUICK_WORMS, QUICK_MINUTES = (2, 4), 20.0
DEFAULT = RunningOptions()
Rows = Sequence[Sequence[str]]


def bench(
    *,
    quick: Annotated[bool, Parameter(negative=())] = False,
    out: Path | None = None,
    worms: Annotated[tuple[int, ...] | None, Parameter(consume_multiple=True, negative=())] = None,
    minutes: float | None = None,
    microstates: int = 1000,
    running: RunningOptions = DEFAULT,
) -> None:
    """Time the stages of a study on synthetic worms, and say what larger studies would need on this machine.

    Parameters
    ----------
    quick
        Time two and four worms of 20 minutes: half a minute on two free cores, and a rougher answer.
    out
        File for the same table in Markdown.
    worms
        Sizes to time, at least two; 2 4 8 by default.
    minutes
        Duration of every recording; 35 by default, as published.
    microstates
        Microstates.
    """
    if running.cluster:
        raise InputFormatError("--cluster sends work elsewhere, and this machine is to be timed. Leave it out.")
    if minutes is None:
        minutes = QUICK_MINUTES if quick else WORM_SECONDS / 60
    require_at_least(minutes, 0.5, "--minutes")
    require_at_least(microstates, 2, "--microstates")
    sizes = worms or (QUICK_WORMS if quick else BENCH_WORMS)
    require_minutes(sum(sizes), minutes, "--worms and --minutes")
    from ethomarkov.io.atomic import atomic_path
    from ethomarkov.study import Settings
    from ethomarkov.study.bench import bench_study

    frame = Frame(out=None if out is None else out.parent, running=running)
    settings = Settings(n_delays=11, n_states=microstates, lag=0.75, seed=running.chosen_seed)
    with frame.working() as (threads, progress):
        found = bench_study(sizes, settings, seconds=60 * minutes, threads=threads, progress=progress)
    titles, rows, notes = _titles(found), _rows(found), _notes(found)
    table = make_table(*titles, left=["stage"])
    for row in rows:
        table.add_row(*row)
    frame.show(table)
    frame.say("", *notes)
    if out is not None:
        with atomic_path(out) as temporary:
            temporary.write_text(_markdown(titles, rows, notes), encoding="utf-8")
        frame.say(f"The same in {out}.")
    frame.next(typed("demo"))


def _titles(found: "Bench") -> list[str]:
    sizes = [f"s at {size / 1000:.0f}k" for size in found.sizes]
    return ["stage", *sizes, "CPU s", "peak GB", "growth", *FORESEEN]


def _rows(found: "Bench") -> list[list[str]]:
    """Give one row per stage, and one of all; CPU time and memory are those of the largest size."""
    rows = []
    for stage in found.stages:
        costs, growth = found.of(stage), found.growth(stage)
        foreseen = [show_duration(found.seconds_at(stage, size)) for size in FORESEEN.values()]
        clock = [f"{cost.seconds:.2f}" for cost in costs]
        shown = "–" if growth != growth else f"{growth:.2f}"  # noqa: PLR0124 (NaN)
        rows.append([stage, *clock, f"{costs[-1].cpu_seconds:.2f}", f"{costs[-1].peak_gb:.2f}", shown, *foreseen])
    parts = [[cost for cost in found.costs if cost.n_frames == size] for size in found.sizes]
    clock = [f"{sum(cost.seconds for cost in part):.2f}" for part in parts]
    cpu, peak = sum(cost.cpu_seconds for cost in parts[-1]), max(cost.peak_gb for cost in parts[-1])
    foreseen = [show_duration(_total(found, size)) for size in FORESEEN.values()]
    return [*rows, ["all", *clock, f"{cpu:.2f}", f"{peak:.2f}", "", *foreseen]]


def _total(found: "Bench", n_frames: int) -> float:
    return sum(found.seconds_at(stage, n_frames) for stage in found.stages)


def _notes(found: "Bench") -> list[str]:
    from ethomarkov.study.bench import STORING

    cores = count_of(found.threads, "core")
    sizes = ", ".join(f"{size:,}" for size in found.sizes)
    needs = [
        f"{size:,} frames{' (the paper)' if name == 'paper' else ''}: about {show_duration(_total(found, size))} and "
        f"{found.peak_at(size):.1f} GB."
        for name, size in FORESEEN.items()
    ]
    return [
        f"Machine: {found.machine.sentence}. Used: {cores}.",
        f"Seconds on the clock for {sizes} frames and {found.settings.n_states} microstates; CPU seconds and memory "
        f"at the most frames. Memory is the largest of the process so far. {STORING!r} is writing results.",
        "Growth: CPU time grows as the number of frames to this power; – where it is too short to tell. Extrapolated "
        "by that power or along a straight line, whichever gives more.",
        f"First use compiles kernels, which took up to {found.first_use_seconds:.0f} s and is in no row.",
        *needs,
    ]


def _markdown(titles: Sequence[str], rows: Rows, notes: Sequence[str]) -> str:
    rule = ["---"] + ["---:"] * (len(titles) - 1)
    lines = [f"| {' | '.join(cells)} |" for cells in (titles, rule, *rows)]
    return "\n".join([*lines, "", *(f"- {note}" for note in notes)]) + "\n"
