"""The figures of the paper, for a study."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ethomarkov.cli.desk import Frame
from ethomarkov.cli.next_step import next_step
from ethomarkov.cli.options import RunningOptions
from ethomarkov.study.files import find_study

DEFAULT = RunningOptions()


def figures(
    study: Path,
    *,
    only: Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative=())] = (),
    out: Path | None = None,
    running: RunningOptions = DEFAULT,
) -> None:
    """Draw the figures of the paper for a study, from its own results and those of other commands.

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
    home = find_study(study).parent
    from ethomarkov.cli.outcome import crawls
    from ethomarkov.paper.figures import CAPTIONS_FILE, choose_figures, share_figures, write_paper_figures
    from ethomarkov.paper.results import open_results

    choose_figures(only)
    results = open_results(study)
    target = out or home / "figures"
    frame = Frame(out=target, running=running)
    with frame.working() as (threads, progress), share_figures(study, only, threads=threads) as shared:
        drawn = write_paper_figures(results, target, only, progress, shared)
    lines = [f"Fig. {number} {reason}" for number, one in drawn.items() for reason in one.left_out]
    n_drawn = sum(one.figure is not None for one in drawn.values())
    frame.say(*results.remarks, *lines)
    frame.say(f"{n_drawn} of {len(drawn)} figures drawn in {target}; captions in {target / CAPTIONS_FILE}.")
    frame.next(next_step(home, crawls=crawls(results["summary"])))
