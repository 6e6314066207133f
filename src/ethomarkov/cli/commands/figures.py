"""The figures of the paper, for a study."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from ethomarkov.cli.options import RunningOptions
from ethomarkov.cli.terminal import progress_bar
from ethomarkov.cli.work import at_work
from ethomarkov.io.atomic import check_writable
from ethomarkov.paper.figures import CAPTIONS_FILE, choose_figures, share_figures, write_paper_figures
from ethomarkov.paper.results import open_results

DEFAULT = RunningOptions()


def figures(
    study: Path,
    *,
    only: Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative=())] = (),
    out: Path | None = None,
    running: RunningOptions = DEFAULT,
) -> None:
    """Draw the figures of the paper for a study, from its own results and those that other commands left beside it.

    What is missing is left out, and one line says which command makes it.

    Parameters
    ----------
    study
        Directory that `ethomarkov run` wrote.
    only
        Numbers of figures, as in "--only 1 4 S3"; all by default.
    out
        Directory for figures (PDF and PNG) and captions; `figures` in the study's own by default.
    """
    choose_figures(only)
    results = open_results(study)
    home = study if study.is_dir() else study.parent
    target = out or home / "figures"
    check_writable(target)
    console = Console(quiet=running.quiet)
    with (
        at_work(running) as threads,
        progress_bar(console, quiet=running.quiet) as progress,
        share_figures(study, only, threads=threads) as shared,
    ):
        drawn = write_paper_figures(results, target, only, progress, shared)
    lines = [f"Fig. {number} {reason}" for number, found in drawn.items() for reason in found.left_out]
    for line in (*results.remarks, *lines):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    n_drawn = sum(found.figure is not None for found in drawn.values())
    console.print(
        f"{n_drawn} of {len(drawn)} figures drawn in {target}; captions in {target / CAPTIONS_FILE}.",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
