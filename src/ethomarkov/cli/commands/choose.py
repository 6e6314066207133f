"""How long sequences, how many microstates, which lag; and which timescales stand above noise."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.table import Table

from ethomarkov.cli.desk import Desk, open_study
from ethomarkov.cli.options import ReadingOptions, RunningOptions, require_at_least
from ethomarkov.cli.reading import read_recordings
from ethomarkov.exceptions import InputFormatError
from ethomarkov.markov.spectrum import slow_times
from ethomarkov.posture import PostureBasis
from ethomarkov.selection import ModelChoice
from ethomarkov.study import Settings, Study
from ethomarkov.study.analyses import Timescales
from ethomarkov.study.store import STUDY_FILE
from ethomarkov.study.study import begin_study

DEFAULT_READING, DEFAULT_RUNNING = ReadingOptions(), RunningOptions()


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
        Directory for results and figures; the study's own by default.
    basis
        Posture modes; fitted to the recordings when left out.
    modes
        Number of posture modes.
    shuffles
        Shuffled sequences for the noise floor of a study.
    entropy
        Draw the published entropy rates too, over a small grid (scan.png).
    full_entropy
        The same over the whole published grid, which takes minutes.
    """
    require_at_least(modes, 1, "--modes")
    require_at_least(shuffles, 1, "--shuffles")
    is_study = _names_a_study(sources)
    if is_study:
        desk = open_study(sources[0], running, out)
    else:
        settings = Settings(n_modes=modes, seed=running.chosen_seed)
        desk = _new_desk(sources, settings, basis, out, reading, running)
    grid = "full" if full_entropy else "small" if entropy else None
    with desk.working():
        choice: ModelChoice = desk.compute("free_choice") if is_study else desk.study.choice
        scan = None if grid is None else desk.compute("entropy_scan", entropy_grid=grid)
        times: Timescales | None = desk.compute("relaxation_times", n_shuffles=shuffles) if is_study else None
        desk.draw("choose", choice=choice, scan=scan, **_shown(times))
        interval = desk.study.postures.sampling.interval
    _print_choice(desk.console, choice, interval)
    if times is not None:
        desk.say(*_study_lines(desk.study, choice, times))
    desk.close()
    if not is_study:
        names = " ".join(str(source) for source in sources[:3]) + (" ..." if len(sources) > 3 else "")
        desk.say(f"Next: ethomarkov run {names} --out {desk.out}")


def _names_a_study(sources: tuple[Path, ...]) -> bool:
    """Tell whether a study is named; False for recordings."""
    folders = [source for source in sources if source.is_dir() or source.name == STUDY_FILE]
    if folders and len(sources) > 1:
        raise InputFormatError(f"{folders[0]}: is a study; name it alone, or name recordings only.")
    return bool(folders)


def _new_desk(
    sources: tuple[Path, ...],
    settings: Settings,
    basis: Path | None,
    out: Path | None,
    reading: ReadingOptions,
    running: RunningOptions,
) -> Desk:
    """Begin a study of recordings, of which `run` into the same directory takes over what is there."""
    if out is None:
        raise InputFormatError("Recordings need a directory for what is found: add --out DIRECTORY.")
    recording = read_recordings(sources, reading)
    shapes = PostureBasis.from_file(basis, settings.n_modes) if basis is not None else None
    return Desk(study=begin_study(recording, settings, basis=shapes, directory=out), home=out, out=out, running=running)


def _shown(times: Timescales | None) -> dict[str, object]:
    """Give what is drawn of timescales; nothing where they were not measured."""
    if times is None:
        return dict.fromkeys(("lag_scan", "noise_floor", "spectrum"))
    return {"lag_scan": times.lag_scan, "noise_floor": times.noise_floor, "spectrum": times.spectrum}


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


def _study_lines(study: Study, choice: ModelChoice, times: Timescales) -> Iterator[str]:
    """Say what the study uses where that differs, and which timescales of it stand above noise."""
    used, spectrum, floor = study.settings, times.spectrum, times.noise_floor
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
