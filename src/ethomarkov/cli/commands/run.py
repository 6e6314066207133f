"""A study of the user's own recordings."""

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from ethomarkov.cli.desk import Frame
from ethomarkov.cli.next_step import typed_again
from ethomarkov.cli.options import ReadingOptions, RunningOptions
from ethomarkov.cli.reading import read_basis, read_recordings
from ethomarkov.cli.settings_options import MODEL, chosen_settings, make_options
from ethomarkov.cli.terminal import make_table, show_duration
from ethomarkov.cli.work import count_cores

if TYPE_CHECKING:
    from ethomarkov.recording import Recording
    from ethomarkov.study.graph import PlannedStage
    from ethomarkov.study.source import Source

    ModelOptions = object
else:
    ModelOptions = make_options("ModelOptions")
ACTIONS = {"keep": "cached", "compute": "computed", "check": "computed, unless its input proves the same"}
DEFAULT_MODEL, DEFAULT_READING, DEFAULT_RUNNING = ModelOptions(), ReadingOptions(), RunningOptions()


def run(
    files: Annotated[tuple[Path, ...], Parameter(negative=())],
    *,
    out: Path,
    basis: Path | None = None,
    stream: Annotated[bool, Parameter(negative=())] = False,
    dry_run: Annotated[bool, Parameter(negative=())] = False,
    settings: Annotated[Path | None, Parameter(group=MODEL)] = None,
    model: ModelOptions = DEFAULT_MODEL,
    reading: ReadingOptions = DEFAULT_READING,
    running: RunningOptions = DEFAULT_RUNNING,
) -> None:
    """Run a study on your recordings: posture sequences, chain, macrostates, simulations, paths, report.

    Every stage is cached as soon as it is complete. Run again after an interruption, or with other settings, it
    computes only what is not there yet.

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
    settings
        A TOML file of settings, named as in the report (n_states = 500, names = {"slow dorsal" = "head casting"});
        options given here override it.
    """
    from ethomarkov.study.study import plan_study, run_study

    chosen, cluster = chosen_settings(model, settings, running.seed)
    frame = Frame(out=out, running=running)
    source = _source(files, reading) if stream else read_recordings(files, reading)
    modes = read_basis(basis, chosen.n_modes)
    planned = plan_study(source, chosen, basis=modes, directory=out, threads=count_cores(running))
    if dry_run:
        _print_plan(Frame(), planned, out)
        return
    from ethomarkov.cli.outcome import print_outcome, write_outcome

    with frame.working(cluster) as (threads, progress):
        frame.announce(sum(one.seconds for one in planned))
        study = run_study(source, chosen, basis=modes, directory=out, threads=threads, progress=progress)
        figures = write_outcome(study, out, progress)
    print_outcome(frame, figures, out)


def _print_plan(frame: Frame, planned: Sequence["PlannedStage"], directory: Path) -> None:
    """Print what a run would do."""
    table = make_table("stage", "would be", "because", "about", left=("stage", "would be", "because"))
    for one in planned:
        time = "" if one.action == "keep" else show_duration(one.seconds)
        table.add_row(one.stage.replace("_", " "), ACTIONS[one.action], one.reason, time)
    frame.show(table)
    total = show_duration(sum(one.seconds for one in planned))
    frame.say(f"\nAbout {total} of computing into {directory}; times are estimates. Nothing was computed or written.")
    frame.next(typed_again(without=["--dry-run"]))


def _source(files: tuple[Path, ...], reading: ReadingOptions) -> "Source":
    from ethomarkov.study.source import Source

    return Source(files=files, read=functools.partial(_read_file, options=reading), reading=repr(reading))


def _read_file(file: Path, options: ReadingOptions) -> "Recording":
    return read_recordings((file,), options)
