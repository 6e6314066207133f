"""Everything that a reproduction of the paper writes, where the other commands write theirs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from matplotlib.figure import Figure

from ethomarkov._core.types import Progress
from ethomarkov.cli.choice_output import draw_scan_figure, draw_timescales_figure, write_scan, write_timescales
from ethomarkov.cli.commands.forage import FIGURE_FILE, write_foraging
from ethomarkov.cli.commands.path import measured_diffusion, write_paths
from ethomarkov.cli.commands.simulate import write_runs
from ethomarkov.cli.commands.validate import write_validation
from ethomarkov.figures.style import save_figures
from ethomarkov.io.atomic import atomic_path
from ethomarkov.io.spreadsheet import write_table
from ethomarkov.paper.data import PaperData
from ethomarkov.paper.scoreboard import render_html, render_markdown
from ethomarkov.paper.scoring import table_rows
from ethomarkov.report import render_report
from ethomarkov.report.extras import gather_extras
from ethomarkov.report.page import REPORT_FILE
from ethomarkov.report.paper_figures import begin_figures, write_paper_figures
from ethomarkov.report.paper_parts import gather_parts
from ethomarkov.report.path_figures import draw_reconstruction_figures, draw_run_figures
from ethomarkov.report.side_by_side import SecondProcess
from ethomarkov.report.validation_figures import draw_forage_figure, draw_validation_figures
from ethomarkov.workflow.checks import run_duration
from ethomarkov.workflow.known_truth import save_truth
from ethomarkov.workflow.reproduce import Reproduction
from ethomarkov.workflow.runs import measured_displacement
from ethomarkov.workflow.study import Study

TIMING_FILE = "timing.md"
Pictures = tuple[Path, Callable[[], Mapping[str, Figure]]]
"""A directory, and what draws the figures that belong there, by file name."""


def write_scoreboard(done: Reproduction, data: PaperData, out: Path) -> None:
    """Write the scoreboard as a table, as Markdown and as a page.

    Parameters
    ----------
    done
        The reproduction.
    data
        What it was made from.
    out
        Directory.
    """
    title = f"The paper reproduced from {data.sentence}"
    write_table(out / "scoreboard.csv", table_rows(done.rows))
    for name, render in (("scoreboard.md", render_markdown), ("scoreboard.html", render_html)):
        with atomic_path(out / name) as temporary:
            temporary.write_text(render(done.rows, title), encoding="utf-8")


def write_reproduction(done: Reproduction, study: Study, out: Path) -> list[Pictures]:
    """Write what the commands choose, simulate, path, validate and forage would, into their directories.

    Parameters
    ----------
    done, study
        The reproduction, and its study.
    out
        Directory of the study.

    Returns
    -------
    pictures
        What these commands would draw, still to be drawn.
    """
    pictures = [*_write_scans(done, study, out), *_write_runs(done, study, out)]
    if done.truth is not None:
        save_truth(study, done.truth, out)
    rebuilt = done.results["reconstruction"]
    if rebuilt is not None:
        write_paths(study, rebuilt, measured_diffusion(rebuilt), out / "path")
        pictures.append((out / "path", lambda: draw_reconstruction_figures(study, rebuilt)))
    validation, foraging = done.validation(), done.foraging()
    if validation is not None:
        write_validation(study, validation, out / "validation")
        pictures.append((out / "validation", lambda: draw_validation_figures(study, validation)))
    if foraging is not None:
        write_foraging(study, foraging, out / "forage")
        seed = study.settings.seed
        pictures.append((out / "forage", lambda: {FIGURE_FILE: draw_forage_figure(study, foraging, seed=seed)}))
    return pictures


def _write_scans(done: Reproduction, study: Study, out: Path) -> Iterator[Pictures]:
    table, scanned = done.results["entropy_scan"], done.results["worm_lag_scan"]
    if table is not None:
        write_scan(table, out)
        yield out, partial(draw_scan_figure, table)
    if scanned is not None:
        found = scanned, done.results["pooled_floor"], done.results["long_spectrum"]
        write_timescales(*found, out)
        yield out, partial(draw_timescales_figure, *found, study.chain.lag)


def _write_runs(done: Reproduction, study: Study, out: Path) -> Iterator[Pictures]:
    animals = [one.runs for one in done.every("animal") if one.runs is not None]
    if animals:
        longest = int((study.postures.segments.offsets[1:] - study.postures.segments.offsets[:-1]).max())
        data = measured_displacement(study, run_duration(study, longest))
        write_runs(study, animals, data, out / "simulation")
        yield out / "simulation", partial(draw_run_figures, study, animals, data)
    states = done.every("state")
    if states:
        # Their pictures would only repeat those of the paper, which show all states side by side.
        write_runs(study, states, None, out / "simulation_of_states")


def draw_reproduction(
    study: Study,
    pictures: Sequence[Pictures],
    out: Path,
    progress: Progress | None = None,
    beside: SecondProcess | None = None,
) -> None:
    """Draw the figures of the commands and of the paper, and write the report, from what was written before.

    Parameters
    ----------
    study
        Of the reproduction.
    pictures
        From `write_reproduction`.
    out
        Its directory.
    progress
        Called after every figure of the paper.
    beside
        A second process that draws figures of the paper meanwhile.
    """
    begun = {} if beside is None else begin_figures(beside, out, out / "figures")
    for where, draw in pictures:
        save_figures(draw(), where)
    page = render_report(study, extras=gather_extras(study, out))
    with atomic_path(out / REPORT_FILE) as temporary:
        temporary.write_text(page, encoding="utf-8")
    write_paper_figures(study, gather_parts(study, out), out / "figures", (), progress, begun)


def write_timing(done: Reproduction, times: Mapping[str, float], out: Path) -> None:
    """Write where the time went, as Markdown.

    Parameters
    ----------
    done
        The reproduction.
    times
        Seconds of what came after its stages.
    out
        Directory.
    """
    with atomic_path(out / TIMING_FILE) as temporary:
        temporary.write_text("\n".join(_timing_lines(done, times)) + "\n", encoding="utf-8")


def _timing_lines(done: Reproduction, times: Mapping[str, float]) -> Iterator[str]:
    yield from ("# Where the time went", "", "| stage | seconds | CPU seconds | peak GB |", "|---|---|---|---|")
    for one in done.records:
        yield f"| {one.stage.replace('_', ' ')} | {one.seconds:.1f} | {one.cpu_seconds:.1f} | {one.peak_gb:.2f} |"
    for what, seconds in times.items():
        yield f"| {what} | {seconds:.1f} | | |"
    total = sum(one.seconds for one in done.records) + sum(times.values())
    cpu = sum(one.cpu_seconds for one in done.records)
    yield f"| all | {total:.1f} | {cpu:.1f} | {max((one.peak_gb for one in done.records), default=0.0):.2f} |"
