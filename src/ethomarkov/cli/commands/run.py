"""A study of the user's own recordings."""

import functools
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from pydantic_core import ErrorDetails
from rich.console import Console

from ethomarkov.cli.options import ReadingOptions, RunningOptions
from ethomarkov.cli.outcome import print_outcome, print_plan, write_outcome
from ethomarkov.cli.reading import read_recordings
from ethomarkov.cli.terminal import progress_bar
from ethomarkov.cli.work import at_work
from ethomarkov.exceptions import SettingsError
from ethomarkov.io.atomic import check_writable
from ethomarkov.posture import PostureBasis
from ethomarkov.recording import Recording
from ethomarkov.study import Settings, run_study
from ethomarkov.study.checked import describe_mistake, mistakes_in
from ethomarkov.study.cluster_settings import ClusterSettings
from ethomarkov.study.settings import SettingsFile, read_settings
from ethomarkov.study.source import Source
from ethomarkov.study.study import plan_study


@Parameter(name="*")
@dataclass(frozen=True)
class ModelOptions:
    """Choices of the model; what is left out is chosen from the data."""

    settings: Path | None = None
    """A TOML file of settings, named as in the report (n_states = 500, names = {"slow dorsal" = "head casting"})."""
    modes: int | None = None
    """Posture modes; 5 by default."""
    delays: int | None = None
    """Frames per posture sequence; chosen from the recordings by default, see `ethomarkov choose`."""
    microstates: int | None = None
    """Microstates; chosen likewise."""
    lag: float | None = None
    """Seconds between the states of the chain; chosen likewise."""
    states: int | None = None
    """States at the finest level of the tree; as many as the recording tells apart by default."""
    scan: bool | None = None
    """Draw the published entropy rates over sequence lengths and numbers of microstates; done by default."""
    walks: int | None = None
    """Simulated animals; 20 by default."""
    simulated_minutes: float | None = None
    """Duration of each simulation; 10 by default."""
    drag_ratio: float | None = None
    """Normal over tangential drag of the body; 30 by default."""


CLUSTER_SECTION = "cluster"
OPTIONS = {
    "n_modes": "modes",
    "n_delays": "delays",
    "n_states": "microstates",
    "lag": "lag",
    "n_behaviours": "states",
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
    stream: Annotated[bool, Parameter(negative=())] = False,
    dry_run: Annotated[bool, Parameter(negative=())] = False,
    model: ModelOptions = DEFAULT_MODEL,
    reading: ReadingOptions = DEFAULT_READING,
    running: RunningOptions = DEFAULT_RUNNING,
) -> None:
    """Run a study on your recordings: posture sequences, chain, macrostates, simulations, paths, report.

    Every stage is kept as soon as it is complete. Run again after an interruption, or with other settings, it computes
    only what is not there yet.

    Parameters
    ----------
    files
        Recordings, in any format that `ethomarkov inspect` understands.
    out
        Directory of the results.
    basis
        Posture modes (EigenWorms.csv or .mat); fitted to the data when left out.
    stream
        Work through the files a few at a time, for more recordings than fit into memory. The chain and the tree of
        states come from all animals; what needs frames comes from whole animals of a million frames together.
    dry_run
        Only say what would be computed, and about how long it would take.
    """
    settings, cluster = chosen_settings(model, running.seed)
    source = _source(files, reading) if stream else read_recordings(files, reading)
    modes = PostureBasis.from_file(basis, settings.n_modes) if basis is not None else None
    console = Console(quiet=running.quiet)
    if dry_run:
        threads = running.threads or os.cpu_count() or 1
        planned = plan_study(source, settings, basis=modes, directory=out, threads=threads)
        print_plan(Console(), planned, out)
        return
    check_writable(out)
    with at_work(running, cluster) as threads, progress_bar(console, quiet=running.quiet) as progress:
        study = run_study(source, settings, basis=modes, directory=out, threads=threads, progress=progress)
        figures = write_outcome(study, out)
    print_outcome(console, figures, out)


def _source(files: tuple[Path, ...], reading: ReadingOptions) -> Source:
    return Source(files=files, read=functools.partial(_read_file, options=reading), reading=repr(reading))


def _read_file(file: Path, options: ReadingOptions) -> Recording:
    return read_recordings((file,), options)


def chosen_settings(model: ModelOptions, seed: int | None) -> tuple[Settings, ClusterSettings]:
    """Take the file's settings, then what was said on the command line; all mistakes are told at once."""
    given = {name: getattr(model, option) for name, option in OPTIONS.items()} | {"seed": seed}
    said = {name: value for name, value in given.items() if value is not None}
    file = read_settings(model.settings) if model.settings is not None else None
    filed = dict(file.values) if file is not None else {}
    machine = filed.pop(CLUSTER_SECTION, {})
    problems: list[str] = []
    settings, cluster = Settings(), ClusterSettings()
    try:
        settings = Settings.model_validate(filed | said)
    except SettingsError as error:
        problems += [_problem(item, set(said), file) for item in mistakes_in(error)]
    try:
        cluster = ClusterSettings.model_validate(machine)
    except SettingsError as error:
        problems += [_cluster_problem(item, file) for item in mistakes_in(error)]
    if problems:
        raise SettingsError(f"{'; '.join(problems)}. Correct it, or leave it out.")
    return settings, cluster


def _problem(item: ErrorDetails, said: set[str], file: SettingsFile | None) -> str:
    """Say what is wrong with a setting, under the name by which it was given, and where."""
    name = str(item["loc"][0]) if item["loc"] else ""
    if name in said:
        return describe_mistake(item, f"--{OPTIONS.get(name, name).replace('_', '-')}", ())
    place = f"{file.place(item['loc'])}: " if file is not None and name else ""
    return place + describe_mistake(item, name, [*Settings.model_fields, CLUSTER_SECTION])


def _cluster_problem(item: ErrorDetails, file: SettingsFile | None) -> str:
    """Say what is wrong with a setting of the cluster, and where; it can only stand in a file."""
    name = str(item["loc"][0]) if item["loc"] else CLUSTER_SECTION
    place = f"{file.place((CLUSTER_SECTION, *item['loc']))}: " if file is not None else ""
    return place + describe_mistake(item, name, list(ClusterSettings.model_fields))
