"""A study of the user's own recordings."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from pydantic import ValidationError
from rich.console import Console

from ethomarkov.cli.options import ReadingOptions, RunningOptions
from ethomarkov.cli.reading import read_recordings
from ethomarkov.cli.study_output import print_outcome, run_and_write
from ethomarkov.cli.terminal import limited_threads, progress_bar
from ethomarkov.exceptions import InputFormatError
from ethomarkov.io.atomic import check_writable
from ethomarkov.posture import PostureBasis
from ethomarkov.workflow import Settings


@Parameter(name="*")
@dataclass(frozen=True)
class ModelOptions:
    """Choices of the model; what is left out is chosen from the data."""

    modes: int = 5
    """Posture modes."""
    delays: int | None = None
    """Frames per posture sequence; 0.69 s by default."""
    states: int | None = None
    """Microstates; one per 150 sequences by default, at most 1000."""
    lag: float | None = None
    """Seconds between the states of the chain; 0.75 by default."""
    scan: bool = True
    """Scan sequence lengths and numbers of microstates, to see whether they are well chosen."""
    walks: int = 20
    """Simulated animals."""
    simulated_minutes: float = 10.0
    """Duration of each simulation."""
    drag_ratio: float = 30.0
    """Normal over tangential drag of the body."""


OPTIONS = {
    "n_modes": "--modes",
    "n_delays": "--delays",
    "n_states": "--states",
    "lag": "--lag",
    "n_walks": "--walks",
    "simulated_minutes": "--simulated-minutes",
    "drag_ratio": "--drag-ratio",
    "seed": "--seed",
}
DEFAULT_MODEL, DEFAULT_READING, DEFAULT_RUNNING = ModelOptions(), ReadingOptions(), RunningOptions()


def run(
    files: Annotated[tuple[Path, ...], Parameter(negative=())],
    *,
    out: Path,
    basis: Path | None = None,
    model: ModelOptions = DEFAULT_MODEL,
    reading: ReadingOptions = DEFAULT_READING,
    running: RunningOptions = DEFAULT_RUNNING,
) -> None:
    """Run a study on your recordings: posture sequences, chain, macrostates, simulations, paths, report.

    Parameters
    ----------
    files
        Recordings, in any format that `ethomarkov inspect` understands.
    out
        Directory of the results.
    basis
        Posture modes (EigenWorms.csv or .mat); fitted to the data when left out.
    """
    settings = _settings(model, running.seed)
    recording = read_recordings(files, reading)
    modes = PostureBasis.from_file(basis, model.modes) if basis is not None else None
    check_writable(out)
    console = Console(quiet=running.quiet)
    with limited_threads(running.threads) as threads, progress_bar(console, quiet=running.quiet) as progress:
        figures = run_and_write(recording, settings, out, basis=modes, threads=threads, progress=progress)
    print_outcome(console, figures, out)


def _settings(model: ModelOptions, seed: int) -> Settings:
    try:
        return Settings(
            n_modes=model.modes,
            n_delays=model.delays,
            n_states=model.states,
            lag=model.lag,
            scan=model.scan,
            n_walks=model.walks,
            simulated_minutes=model.simulated_minutes,
            drag_ratio=model.drag_ratio,
            seed=seed,
        )
    except ValidationError as error:
        problems = [f"{OPTIONS[str(item['loc'][0])]} is {item['input']}: {item['msg']}" for item in error.errors()]
        raise InputFormatError(f"{'; '.join(problems)}. Correct the option, or leave it out.") from error
