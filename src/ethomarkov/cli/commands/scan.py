"""Which sequence length and how many microstates."""

from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from cyclopts import Parameter
from matplotlib.figure import Figure
from rich.console import Console

from ethomarkov._core.series import Series
from ethomarkov.cli.options import ReadingOptions, RunningOptions, require_at_least
from ethomarkov.cli.reading import read_recordings
from ethomarkov.cli.terminal import progress_bar
from ethomarkov.cli.work import at_work
from ethomarkov.exceptions import EthomarkovError
from ethomarkov.figures.scan import draw_entropy_rates, draw_gains
from ethomarkov.figures.style import figure_style, new_figure, save_figures
from ethomarkov.io.atomic import check_writable
from ethomarkov.io.results import save_results
from ethomarkov.markov.entropy_scan import ScanGrid, quick_grid, scan_entropy
from ethomarkov.markov.selection import Choice, EntropyTable, choose_n_delays, choose_n_states
from ethomarkov.markov.vamp import SecondOpinion, second_opinion
from ethomarkov.posture import PostureBasis
from ethomarkov.states import DelayEmbedding
from ethomarkov.workflow.config import LAG_SECONDS
from ethomarkov.workflow.stages import project_postures

DEFAULT_READING, DEFAULT_RUNNING = ReadingOptions(), RunningOptions()


def scan(
    files: Annotated[tuple[Path, ...], Parameter(negative=())],
    *,
    out: Path,
    basis: Path | None = None,
    modes: int = 5,
    scope: Literal["per animal", "pooled"] = "per animal",
    quick: Annotated[bool, Parameter(negative=())] = False,
    reading: ReadingOptions = DEFAULT_READING,
    running: RunningOptions = DEFAULT_RUNNING,
) -> None:
    """Scan sequence lengths and numbers of microstates, and say which to choose and why.

    Parameters
    ----------
    files
        Recordings in any known format.
    out
        Directory for scan.nc and scan.png.
    basis
        Posture modes; fitted to the data when left out.
    modes
        Number of posture modes.
    scope
        A partition for each animal, as published, or one for all.
    quick
        A small grid for a first look.
    """
    require_at_least(modes, 1, "--modes")
    recording = read_recordings(files, reading)
    shapes = PostureBasis.from_file(basis, modes) if basis is not None else None
    postures, _ = project_postures(recording, modes, shapes)
    check_writable(out)
    console = Console(quiet=running.quiet)
    grid = quick_grid(postures, running.chosen_seed) if quick else ScanGrid(seed=running.chosen_seed, scope=scope)
    with at_work(running) as threads, progress_bar(console, quiet=running.quiet) as progress:
        table = scan_entropy(postures, grid, threads=threads, progress=progress)
        states = choose_n_states(table)
        delays = choose_n_delays(table, int(states.value), rng=running.chosen_seed)
        opinion = _second_opinion(postures, table, int(states.value), int(delays.value), threads)
    write_scan(table, (states, delays), opinion, out)
    save_figures(draw_scan_figure(table, (states, delays)), out)
    for choice in (states, delays):
        console.print(choice.reason, highlight=False, soft_wrap=True)
        for warning in choice.warnings:
            console.print(f"[yellow]note[/] {warning}", highlight=False, soft_wrap=True)
    if opinion is not None:
        console.print(opinion.explain(), highlight=False, soft_wrap=True)
    console.print(f"Table in {out / 'scan.nc'}, drawn in {out / 'scan.png'}.", highlight=False, markup=False)


def _second_opinion(
    postures: Series, table: EntropyTable, n_states: int, n_delays: int, threads: int
) -> SecondOpinion | None:
    """Score the chosen number of microstates and its neighbours in the table; None where there is too little data."""
    place = int(np.flatnonzero(table.n_states == n_states)[0])
    compared = table.n_states[max(0, place - 3) : place + 2].tolist()
    lag = max(1, round(LAG_SECONDS * postures.sampling.rate)) / postures.sampling.rate
    try:
        sequences = DelayEmbedding(n_delays).transform(postures)
        return second_opinion(sequences, compared, lag, threads=threads)
    except EthomarkovError:
        return None


def write_scan(table: EntropyTable, choices: tuple[Choice, Choice], opinion: SecondOpinion | None, out: Path) -> None:
    """Write a scan into a directory.

    Parameters
    ----------
    table
        The scan.
    choices
        Number of microstates, and frames per sequence.
    opinion
        By another score; None where there is none.
    out
        Directory.
    """
    n_states, n_delays = (int(choice.value) for choice in choices)
    results = {"scan": table} if opinion is None else {"scan": table, "second_opinion": opinion}
    save_results(out / "scan.nc", results, {"n_states": n_states, "n_delays": n_delays})


def draw_scan_figure(table: EntropyTable, choices: tuple[Choice, Choice]) -> dict[str, Figure]:
    """Draw a scan and what was chosen, by file name."""
    n_states, n_delays = (int(choice.value) for choice in choices)
    with figure_style():
        figure = new_figure(10, 3.8)
        left, right = figure.subplots(1, 2)
        draw_entropy_rates(left, table)
        draw_gains(right, table, n_states, n_delays)
    return {"scan.png": figure}
