"""The report of a study, with all that was asked of it."""

from pathlib import Path

from rich.console import Console

from ethomarkov.io.atomic import atomic_path, check_writable
from ethomarkov.paper.results import open_results
from ethomarkov.report.page import REPORT_FILE, held_sections, render_report


def report(study: Path, *, out: Path | None = None) -> None:
    """Write the report of a study anew, with the results of states, simulate, path, validate and forage.

    Parameters
    ----------
    study
        Directory that `ethomarkov run` wrote.
    out
        File of the page; `report.html` in the study's directory by default.
    """
    results = open_results(study)
    home = study if study.is_dir() else study.parent
    target = out or home / REPORT_FILE
    check_writable(target.parent)
    page = render_report(results)
    with atomic_path(target) as temporary:
        temporary.write_text(page, encoding="utf-8")
    n_sections = len(held_sections(results))
    found = f" with {n_sections} sections of other commands" if n_sections else ""
    console = Console()
    for line in (*results.remarks, f"Open {target}; it needs nothing else{found}."):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
