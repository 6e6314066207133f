"""A study in the browser."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from ethomarkov.cli.desk import open_study
from ethomarkov.cli.options import RunningOptions
from ethomarkov.exceptions import InputFormatError

DEFAULT = RunningOptions()


def explore(
    study: Path,
    *,
    out: Path | None = None,
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
    out
        HTML file to write; explorer.html in the study's own directory by default.
    serve
        Write no page and show it at a local address until Ctrl-C.
    port
        Of that address; any free one by default.
    method
        "umap" as published (half a minute for one worm), or "pca" at once; by default the map there is, or else UMAP.
    """
    if serve and out is not None:
        raise InputFormatError("--serve writes no file, and --out names one. Use one of them.")
    from ethomarkov.cli.page_server import serve_page
    from ethomarkov.cli.progress import end_progress
    from ethomarkov.io.atomic import check_writable
    from ethomarkov.report.explorer import render_explorer, write_explorer
    from ethomarkov.report.results import StudyResults
    from ethomarkov.study.files import EXPLORER_FILE

    desk = open_study(study, running, None if out is None else out.parent)
    target = out or desk.home / EXPLORER_FILE
    if not serve:
        check_writable(target.parent)
    placed = desk.study.held("sequence_map") if method is None else None
    if placed is None:
        with desk.working():
            placed = desk.compute("sequence_map", method=method or "umap")
    desk.doing("writing the page")
    results = StudyResults(desk.study, sequence_map=placed)
    if serve:
        page = render_explorer(results)
        end_progress()
        serve_page(page, port)
        return
    write_explorer(results, target)
    desk.say(f"Open {target} in a browser ({target.stat().st_size / 1e6:.1f} MB).")
    desk.suggest()
