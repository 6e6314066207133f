"""States, bouts and frames of a study for other programs."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from ethomarkov.cli.desk import open_study
from ethomarkov.cli.options import RunningOptions

DEFAULT = RunningOptions()
What = Literal["bouts", "frames", "intervals", "movement", "boris", "all"]


def export(
    study: Path,
    *,
    out: Path | None = None,
    level: int | None = None,
    what: What = "all",
    smooth: Annotated[bool, Parameter(negative=())] = False,
    running: RunningOptions = DEFAULT,
) -> None:
    """Write states, bouts and frames of a study for other programs.

    R, MATLAB and xarray also open study.nc itself, which holds time, states and slow modes of every frame.

    Parameters
    ----------
    study
        Directory that `ethomarkov run` wrote.
    out
        Directory for the files; `export` in the study's own by default.
    level
        Number of states; that of the finest level by default.
    what
        "bouts": a table with start, stop and duration of every bout; "frames": a table with time, microstate, state,
        slow modes and posture of every frame; "intervals": files for pynapple; "movement": states in the layout of
        movement; "boris": aggregated events as BORIS exports them.
    smooth
        Let every frame's state depend on the frames around it. Not for rates or dwell times.
    """
    from ethomarkov.report.bouts import export_states
    from ethomarkov.study.frames import checked_level

    desk = open_study(study, running, out, "export")
    level = checked_level(desk.study, level)
    with desk.working():
        smoothed = desk.compute("smoothed_states", level=level) if smooth else None
        desk.doing("writing files")
        written = export_states(desk.study, level, desk.out, what=what, smoothed=smoothed)
    names, how = ", ".join(desk.study.names(level)), " smoothed in time, not for rates or dwell times" if smooth else ""
    desk.say(f"{level} states{how}: {names}.", *(f"Written: {path}" for path in written))
    desk.suggest()
