"""A study of the user's own recordings."""

import difflib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from pydantic import ValidationError
from pydantic_core import ErrorDetails
from rich.console import Console

from ethomarkov.cli.options import ReadingOptions, RunningOptions
from ethomarkov.cli.reading import read_recordings
from ethomarkov.cli.study_output import print_outcome, run_and_write
from ethomarkov.cli.terminal import limited_threads, progress_bar
from ethomarkov.exceptions import InputFormatError
from ethomarkov.io.atomic import check_writable
from ethomarkov.posture import PostureBasis
from ethomarkov.workflow import Settings
from ethomarkov.workflow.config import read_settings


@Parameter(name="*")
@dataclass(frozen=True)
class ModelOptions:
    """Choices of the model; what is left out is chosen from the data."""

    settings: Path | None = None
    """A TOML file of settings, named as in the report (n_states = 500, names = {"slow dorsal" = "head casting"})."""
    modes: int | None = None
    """Posture modes; 5 by default."""
    delays: int | None = None
    """Frames per posture sequence; 0.69 s by default."""
    states: int | None = None
    """Microstates; one per 150 sequences by default, at most 1000."""
    lag: float | None = None
    """Seconds between the states of the chain; 0.75 by default."""
    behaviours: int | None = None
    """States at the finest level of the tree; 7 by default."""
    scan: bool | None = None
    """Scan sequence lengths and numbers of microstates, to see whether they are well chosen; done by default."""
    walks: int | None = None
    """Simulated animals; 20 by default."""
    simulated_minutes: float | None = None
    """Duration of each simulation; 10 by default."""
    drag_ratio: float | None = None
    """Normal over tangential drag of the body; 30 by default."""


OPTIONS = {
    "n_modes": "modes",
    "n_delays": "delays",
    "n_states": "states",
    "lag": "lag",
    "n_behaviours": "behaviours",
    "scan": "scan",
    "n_walks": "walks",
    "simulated_minutes": "simulated_minutes",
    "drag_ratio": "drag_ratio",
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
    modes = PostureBasis.from_file(basis, settings.n_modes) if basis is not None else None
    check_writable(out)
    console = Console(quiet=running.quiet)
    with limited_threads(running.threads) as threads, progress_bar(console, quiet=running.quiet) as progress:
        figures = run_and_write(recording, settings, out, basis=modes, threads=threads, progress=progress)
    print_outcome(console, figures, out)


def _settings(model: ModelOptions, seed: int) -> Settings:
    """Take the file's settings, then what was said on the command line."""
    given = {name: getattr(model, option) for name, option in OPTIONS.items()}
    said = {name: value for name, value in given.items() if value is not None}
    filed = read_settings(model.settings) if model.settings is not None else {}
    if seed or "seed" not in filed:
        said["seed"] = seed
    try:
        return Settings.model_validate(filed | said)
    except ValidationError as error:
        problems = [_problem(item, set(said)) for item in error.errors()]
        place = f"{model.settings}: " if model.settings is not None else ""
        raise InputFormatError(f"{place}{'; '.join(problems)}. Correct it, or leave it out.") from error


def _problem(item: ErrorDetails, said: set[str]) -> str:
    """Say what is wrong with a setting, under the name by which it was given."""
    name = str(item["loc"][0])
    if item["type"] == "extra_forbidden":
        close = difflib.get_close_matches(name, Settings.model_fields, n=1)
        hint = f"; did you mean {close[0]}?" if close else f"; there are {', '.join(Settings.model_fields)}"
        return f"there is no setting {name!r}{hint}"
    shown = f"--{OPTIONS.get(name, name).replace('_', '-')}" if name in said else name
    return f"{shown} is {item['input']}: {item['msg']}"
