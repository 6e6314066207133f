"""The key figures of a study."""

import json
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from ethomarkov.cli.desk import Frame
from ethomarkov.cli.next_step import next_step
from ethomarkov.cli.progress import showing_progress
from ethomarkov.cli.terminal import summary_table
from ethomarkov.report.summary_file import read_summary
from ethomarkov.study.files import find_study


def summary(study: Path, *, json_: Annotated[bool, Parameter(name="--json", negative=())] = False) -> None:
    """Print the key figures of a study.

    Parameters
    ----------
    study
        Directory that `ethomarkov run` wrote.
    json_
        Print JSON for programs.
    """
    home = find_study(study).parent
    figures = read_summary(home)
    if figures is None:
        with showing_progress(Console(stderr=True)):
            from ethomarkov.report.summary import key_figures
            from ethomarkov.study import Study

            figures = key_figures(Study.load(study))
    if json_:
        print(json.dumps(figures, indent=2))
        return
    frame = Frame()
    frame.show(summary_table(figures))
    frame.next(next_step(home, crawls="speed_body_lengths_per_s" in figures["simulation"]))
