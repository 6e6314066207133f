"""A study in the browser."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from rich.console import Console

from ethomarkov.cli.options import RunningOptions
from ethomarkov.cli.page_server import serve_page
from ethomarkov.cli.terminal import progress_bar
from ethomarkov.cli.work import at_work
from ethomarkov.exceptions import InputFormatError
from ethomarkov.io.atomic import check_writable
from ethomarkov.io.results import load_result
from ethomarkov.report.explorer import EXPLORER_FILE, render_explorer, write_explorer
from ethomarkov.states import DelayEmbedding
from ethomarkov.states.projection import SequenceMap, map_sequences
from ethomarkov.workflow import Study
from ethomarkov.workflow.study import STUDY_FILE

DEFAULT = RunningOptions()
MAP_FILE = "map.nc"


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

    The page works without a network. The map is the one that `ethomarkov map` wrote, if it is there and newer than
    the study.

    Parameters
    ----------
    study
        Directory that `ethomarkov run` wrote.
    output
        HTML file to write; explorer.html in the study's own directory by default.
    serve
        Write nothing and show the page at a local address until Ctrl-C.
    port
        Of that address; any free one by default.
    method
        "umap" as published (half a minute for one worm), or "pca" at once; by default the map there is, or else UMAP.
    """
    if serve and output is not None:
        raise InputFormatError("--serve writes no file, and --output names one. Use one of them.")
    target = output or (study if study.is_dir() else study.parent) / EXPLORER_FILE
    loaded = Study.load(study)
    if not serve:
        check_writable(target.parent)
    console = Console(quiet=running.quiet)
    with at_work(running), progress_bar(console, quiet=running.quiet) as progress:
        placed = _written_map(study, method)
        if placed is None:
            sequences = DelayEmbedding(loaded.settings.n_delays).transform(loaded.postures)
            placed = map_sequences(
                sequences, loaded.microstates, method=method or "umap", seed=running.chosen_seed, progress=progress
            )
        if not serve:
            write_explorer(loaded, placed, target)
    if serve:
        serve_page(render_explorer(loaded, placed), port)
    else:
        size = target.stat().st_size / 1e6
        console.print(f"Open {target} in a browser ({size:.1f} MB).", markup=False, highlight=False, soft_wrap=True)


def _written_map(study: Path, method: str | None) -> SequenceMap | None:
    """Read the map that was drawn of this very study, if there is one of the method asked for."""
    source = study / STUDY_FILE if study.is_dir() else study
    file = source.with_name(MAP_FILE)
    if not file.exists() or file.stat().st_mtime < source.stat().st_mtime:
        return None
    try:
        found = load_result(file, "map", SequenceMap)
    except InputFormatError as error:
        raise InputFormatError(
            f"{file}: is no map of this version, or it is damaged. Draw it anew with `ethomarkov map`."
        ) from error
    return found if method in (None, found.method) else None
