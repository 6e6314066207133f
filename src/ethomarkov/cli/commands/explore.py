"""A study in the browser."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from ethomarkov.cli.desk import open_study
from ethomarkov.cli.options import RunningOptions
from ethomarkov.cli.page_server import serve_page
from ethomarkov.exceptions import InputFormatError
from ethomarkov.io.atomic import check_writable
from ethomarkov.report.explorer import EXPLORER_FILE, render_explorer, write_explorer
from ethomarkov.report.results import StudyResults

DEFAULT = RunningOptions()


def explore(
    study: Path,
    *,
    output: Path | None = None,
    serve: Annotated[bool, Parameter(negative=())] = False,
    port: int = 0,
    method: Literal["umap", "pca"] | None = None,
    running: RunningOptions = DEFAULT,
) -> None:
    """Write one page with linked views of a study: map, postures, ethogram, paths, and a simulated animal.

    The page works without a network. The map is the one that `ethomarkov map` made of this study, if it is there.

    Parameters
    ----------
    study
        Directory that `ethomarkov run` wrote.
    output
        HTML file to write; explorer.html in the study's own directory by default.
    serve
        Write no page and show it at a local address until Ctrl-C.
    port
        Of that address; any free one by default.
    method
        "umap" as published (half a minute for one worm), or "pca" at once; by default the map there is, or else UMAP.
    """
    if serve and output is not None:
        raise InputFormatError("--serve writes no file, and --output names one. Use one of them.")
    desk = open_study(study, running, None if output is None else output.parent)
    target = output or desk.home / EXPLORER_FILE
    if not serve:
        check_writable(target.parent)
    placed = desk.study.held("sequence_map") if method is None else None
    if placed is None:
        with desk.working():
            placed = desk.compute("sequence_map", method=method or "umap")
    results = StudyResults(desk.study, sequence_map=placed)
    if serve:
        serve_page(render_explorer(results), port)
        return
    write_explorer(results, target)
    desk.say(f"Open {target} in a browser ({target.stat().st_size / 1e6:.1f} MB).")
