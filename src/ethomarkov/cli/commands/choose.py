"""How long sequences, how many microstates, which lag; and which timescales stand above noise."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.table import Table

from ethomarkov._core.series import Series
from ethomarkov._core.types import Progress
from ethomarkov.cli.choice_output import (
    draw_choice_figure,
    draw_scan_figure,
    draw_timescales_figure,
    write_choice,
    write_scan,
    write_timescales,
)
from ethomarkov.cli.options import ReadingOptions, RunningOptions, require_at_least
from ethomarkov.cli.reading import read_recordings
from ethomarkov.cli.terminal import progress_bar
from ethomarkov.cli.work import at_work
from ethomarkov.exceptions import InputFormatError
from ethomarkov.figures.style import save_figures
from ethomarkov.io.atomic import check_writable
from ethomarkov.markov.entropy_scan import ScanGrid, quick_grid, scan_entropy
from ethomarkov.markov.lag_scan import lag_grid, scan_lags
from ethomarkov.markov.noise_floor import NoiseFloor, Shuffles, noise_floor
from ethomarkov.markov.spectrum import Spectrum, slow_spectrum, slow_times
from ethomarkov.posture import PostureBasis
from ethomarkov.selection import ModelChoice, choose_model
from ethomarkov.workflow import Study
from ethomarkov.workflow.stages import project_postures
from ethomarkov.workflow.study import STUDY_FILE

DEFAULT_READING, DEFAULT_RUNNING = ReadingOptions(), RunningOptions()
N_LAGS, N_MODES, SLOWEST_TIMES = 30, 30, 4.0
"""Lags up to so many slowest times, and modes, of the table of relaxation times."""


def choose(
    sources: Annotated[tuple[Path, ...], Parameter(negative=())],
    *,
    out: Path | None = None,
    basis: Path | None = None,
    modes: int = 5,
    shuffles: int = 100,
    entropy: Annotated[bool, Parameter(negative=())] = False,
    full_entropy: Annotated[bool, Parameter(negative=())] = False,
    reading: ReadingOptions = DEFAULT_READING,
    running: RunningOptions = DEFAULT_RUNNING,
) -> None:
    """Choose sequence length, number of microstates and lag from recordings or from a study, and say why.

    `run` makes the same choice by itself. Of a study, relaxation times are measured against the lag and above a noise
    floor as well.

    Parameters
    ----------
    sources
        Recordings in any known format, or the directory of a study.
    out
        Directory for choice.nc and choice.png; the study's own by default.
    basis
        Posture modes; fitted to the recordings when left out.
    modes
        Number of posture modes.
    shuffles
        Shuffled sequences for the noise floor of a study.
    entropy
        Draw the published entropy rates too, over a small grid (scan.nc, scan.png).
    full_entropy
        The same over the whole published grid, which takes minutes.
    """
    require_at_least(modes, 1, "--modes")
    require_at_least(shuffles, 1, "--shuffles")
    study = _study_among(sources)
    target = _target(sources, study, out)
    if study is None:
        recording = read_recordings(sources, reading)
        shapes = PostureBasis.from_file(basis, modes) if basis is not None else None
        postures, _ = project_postures(recording, modes, shapes)
    else:
        postures = study.postures
    check_writable(target)
    console = Console(quiet=running.quiet)
    with at_work(running) as threads, progress_bar(console, quiet=running.quiet) as progress:
        choice = choose_model(postures, seed=running.chosen_seed, threads=threads, progress=progress)
        write_choice(choice, target)
        save_figures(draw_choice_figure(choice, postures.sampling.interval), target)
        if entropy or full_entropy:
            _scan(postures, target, full_entropy, running.chosen_seed, threads, progress)
        times = None if study is None else _timescales(study, shuffles, target, running.chosen_seed, threads, progress)
    _print_choice(console, choice, postures.sampling.interval)
    if study is not None and times is not None:
        for line in _study_lines(study, choice, *times):
            console.print(line, highlight=False, markup=False, soft_wrap=True)
    console.print(f"\nAll in {target}: choice.nc and choice.png.", highlight=False, markup=False, soft_wrap=True)
    if study is None:
        names = " ".join(str(source) for source in sources[:3]) + (" ..." if len(sources) > 3 else "")
        console.print(f"Next: ethomarkov run {names} --out study", highlight=False, markup=False, soft_wrap=True)


def _study_among(sources: tuple[Path, ...]) -> Study | None:
    """Load the study where one is named; None for recordings."""
    folders = [source for source in sources if source.is_dir() or source.name == STUDY_FILE]
    if not folders:
        return None
    if len(sources) > 1:
        raise InputFormatError(f"{folders[0]}: is a study; name it alone, or name recordings only.")
    return Study.load(folders[0])


def _target(sources: tuple[Path, ...], study: Study | None, out: Path | None) -> Path:
    if out is not None:
        return out
    if study is None:
        raise InputFormatError("Recordings need a directory for what is found: add --out DIRECTORY.")
    return sources[0] if sources[0].is_dir() else sources[0].parent


def _scan(postures: Series, target: Path, full: bool, seed: int, threads: int, progress: Progress | None) -> None:
    grid = ScanGrid(seed=seed) if full else quick_grid(postures, seed)
    table = scan_entropy(postures, grid, threads=threads, progress=progress)
    write_scan(table, target)
    save_figures(draw_scan_figure(table), target)


def _timescales(
    study: Study, shuffles: int, target: Path, seed: int, threads: int, progress: Progress | None
) -> tuple[Spectrum, NoiseFloor]:
    """Measure relaxation times against the lag and above a noise floor, and write them."""
    spectrum = slow_spectrum(study.chain, N_MODES)
    longest = max(SLOWEST_TIMES * float(spectrum.relaxation_times[0]), 2 * study.chain.lag)
    scanned = scan_lags(study.symbols, lag_grid(study.symbols, longest, N_LAGS), threads=threads, progress=progress)
    how = Shuffles(n=shuffles, seed=seed)
    floor = noise_floor(study.symbols, study.chain.lag, shuffles=how, threads=threads, progress=progress)
    write_timescales(scanned, floor, spectrum, target)
    save_figures(draw_timescales_figure(scanned, floor, spectrum, study.chain.lag), target)
    return spectrum, floor


def _print_choice(console: Console, choice: ModelChoice, interval: float) -> None:
    if choice.delays.size:
        table = Table(box=None, pad_edge=False)
        for title in ("sequence", "frames", "memory", "information", ""):
            table.add_column(title, justify="left" if not title else "right")
        for k, frames in enumerate(choice.delays.tolist()):
            words = [word for number, word in _marks(choice) if number == frames]
            table.add_row(
                f"{frames * interval:.3g} s",
                str(frames),
                f"{choice.memory[k]:.3f}",
                f"{choice.information[k]:.3f} nat",
                ", ".join(words),
            )
        console.print(table)
    for line in ("", choice.explain(), choice.verdict()):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    for warning in choice.warnings:
        console.print(f"[yellow]note[/] {warning}", highlight=False, soft_wrap=True)


def _marks(choice: ModelChoice) -> tuple[tuple[int, str], ...]:
    asked = (choice.slow_delays, "slow states"), (choice.predictive_delays, "prediction")
    return (choice.n_delays, "used"), *asked


def _study_lines(study: Study, choice: ModelChoice, spectrum: Spectrum, floor: NoiseFloor) -> Iterator[str]:
    """Say what the study uses where that differs, and which timescales of it stand above noise."""
    used = study.settings
    if (used.n_delays, used.n_states, used.lag) != (choice.n_delays, choice.n_states, choice.lag):
        yield (
            f"The study itself uses {used.n_delays} frames, {used.n_states} microstates and a lag of {used.lag:.3g} s."
        )
    yield slow_times(study.chain).explain()
    yield (
        f"{floor.significant_modes(spectrum)} of the first {spectrum.eigenvalues.size} modes stand above noise: "
        f"shuffled microstates reach {floor.time(0.975):.3g} s at this lag (97.5 % of {floor.eigenvalues.size})."
    )
    cycles = [
        f"{period:.3g} s (decays in {decay:.3g} s)"
        for kind, period, decay in zip(spectrum.kinds, spectrum.periods, spectrum.decay_times, strict=True)
        if kind == "oscillating"
    ]
    if cycles:
        yield f"Cycles among them, by period: {', '.join(dict.fromkeys(cycles[:6]))}."
