"""How long sequences, how many microstates, which lag; and which timescales stand above noise."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from ethomarkov.cli.desk import Desk, open_study
from ethomarkov.cli.next_step import as_options, typed
from ethomarkov.cli.options import ReadingOptions, RunningOptions, require_at_least
from ethomarkov.cli.reading import read_basis, read_recordings
from ethomarkov.cli.settings_options import chosen_settings, make_options, option_words
from ethomarkov.cli.terminal import make_table
from ethomarkov.exceptions import InputFormatError
from ethomarkov.study.defaults import N_SHUFFLES
from ethomarkov.study.files import STUDY_FILE

if TYPE_CHECKING:
    from ethomarkov.selection import ModelChoice
    from ethomarkov.study import Settings, Study
    from ethomarkov.study.analyses import Timescales

    ChoiceOptions = object
else:
    ChoiceOptions = make_options("ChoiceOptions", ["n_modes"])
DEFAULT_MODEL, DEFAULT_READING, DEFAULT_RUNNING = ChoiceOptions(), ReadingOptions(), RunningOptions()


def choose(
    sources: Annotated[tuple[Path, ...], Parameter(negative=())],
    *,
    out: Path | None = None,
    basis: Path | None = None,
    shuffles: int = N_SHUFFLES,
    entropy: Annotated[bool, Parameter(negative=())] = False,
    full_entropy: Annotated[bool, Parameter(negative=())] = False,
    model: ChoiceOptions = DEFAULT_MODEL,
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
    shuffles
        Shuffled sequences for the noise floor of a study.
    entropy
        Draw the published entropy rates too, over a small grid (scan.png).
    full_entropy
        The same over the whole published grid, which takes minutes.
    """
    require_at_least(shuffles, 1, "--shuffles")
    settings, is_study = chosen_settings(model, None, running.seed)[0], _names_a_study(sources)
    if is_study:
        desk = open_study(sources[0], running, out)
    else:
        desk = _new_desk(sources, settings, basis, out, reading, running)
    grid = "full" if full_entropy else "small" if entropy else None
    with desk.working():
        choice: ModelChoice = desk.compute("free_choice") if is_study else desk.study.choice
        scan = None if grid is None else desk.compute("entropy_scan", entropy_grid=grid)
        times: Timescales | None = desk.compute("relaxation_times", n_shuffles=shuffles) if is_study else None
        desk.draw("choose", choice=choice, scan=scan, **_shown(times))
        interval = desk.study.postures.sampling.interval
    _print_choice(desk, choice, interval)
    if times is not None:
        desk.say(*_study_lines(desk.study, choice, times))
    if is_study:
        desk.close()
        return
    desk.say(f"\nFigures are in {desk.out}.")
    given = [*option_words(model), *as_options(reading), *([] if basis is None else ["--basis", basis])]
    desk.next(typed("run", *sources, *given, "--out", desk.out))


def _names_a_study(sources: tuple[Path, ...]) -> bool:
    """Tell whether a study is named; False for recordings."""
    folders = [source for source in sources if source.is_dir() or source.name == STUDY_FILE]
    if folders and len(sources) > 1:
        raise InputFormatError(f"{folders[0]}: is a study; name it alone, or name recordings only.")
    return bool(folders)


def _new_desk(
    sources: tuple[Path, ...],
    settings: "Settings",
    basis: Path | None,
    out: Path | None,
    reading: ReadingOptions,
    running: RunningOptions,
) -> Desk:
    """Begin a study of recordings, of which `run` into the same directory takes over what is there."""
    if out is None:
        raise InputFormatError("Recordings need a directory for the results: add --out DIRECTORY.")
    from ethomarkov.study.study import begin_study

    recording, shapes = read_recordings(sources, reading), read_basis(basis, settings.n_modes)
    return Desk(study=begin_study(recording, settings, basis=shapes, directory=out), home=out, out=out, running=running)


def _shown(times: "Timescales | None") -> dict[str, object]:
    """Give what is drawn of timescales; nothing where they were not measured."""
    if times is None:
        return dict.fromkeys(("lag_scan", "noise_floor", "spectrum"))
    return {"lag_scan": times.lag_scan, "noise_floor": times.noise_floor, "spectrum": times.spectrum}


def _print_choice(desk: Desk, choice: "ModelChoice", interval: float) -> None:
    if choice.delays.size:
        table = make_table("sequence", "frames", "memory", "information", "")
        for k, frames in enumerate(choice.delays.tolist()):
            words = [word for number, word in _marks(choice) if number == frames]
            table.add_row(
                f"{frames * interval:.3g} s",
                str(frames),
                f"{choice.memory[k]:.3f}",
                f"{choice.information[k]:.3f} nat",
                ", ".join(words),
            )
        desk.show(table)
    desk.say("", choice.explain(), choice.verdict())
    desk.note(*choice.warnings)


def _marks(choice: "ModelChoice") -> tuple[tuple[int, str], ...]:
    asked = (choice.slow_delays, "slow states"), (choice.predictive_delays, "prediction")
    return (choice.n_delays, "used"), *asked


def _study_lines(study: "Study", choice: "ModelChoice", times: "Timescales") -> Iterator[str]:
    """Say what the study uses where that differs, and which timescales of it stand above noise."""
    from ethomarkov.markov.spectrum import slowest_times

    used, spectrum, floor = study.settings, times.spectrum, times.noise_floor
    if (used.n_delays, used.n_states, used.lag) != (choice.n_delays, choice.n_states, choice.lag):
        yield (
            f"The study itself uses {used.n_delays} frames, {used.n_states} microstates and a lag of {used.lag:.6g} s."
        )
    yield slowest_times(study.chain).explain()
    yield (
        f"{floor.significant_modes(spectrum)} of the first {spectrum.eigenvalues.size} modes stand above noise: "
        f"shuffled state sequences reach {floor.time(0.975):.3g} s at this lag (97.5 % of {floor.eigenvalues.size})."
    )
    cycles = [
        f"{period:.3g} s (decays in {decay:.3g} s)"
        for kind, period, decay in zip(spectrum.kinds, spectrum.periods, spectrum.decay_times, strict=True)
        if kind == "oscillating"
    ]
    if cycles:
        yield f"Cycles among them, by period: {', '.join(dict.fromkeys(cycles[:6]))}."
