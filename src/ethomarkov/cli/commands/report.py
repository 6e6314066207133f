"""The report of a study, with the results of all commands."""

from pathlib import Path

from ethomarkov.cli.desk import Frame
from ethomarkov.cli.next_step import next_step
from ethomarkov.study.files import find_study


def report(study: Path, *, out: Path | None = None) -> None:
    """Write the report of a study again, with the results of states, simulate, path, validate and forage.

    Parameters
    ----------
    study
        Directory that `ethomarkov run` wrote.
    out
        File of the page; `report.html` in the study's directory by default.
    """
    home, frame = find_study(study).parent, Frame()
    from ethomarkov.cli.outcome import crawls
    from ethomarkov.io.atomic import atomic_path, check_writable
    from ethomarkov.paper.results import open_results
    from ethomarkov.report.page import held_sections, render_report
    from ethomarkov.study.files import REPORT_FILE

    target = out or home / REPORT_FILE
    results = open_results(study)
    check_writable(target.parent)
    frame.doing("writing the report")
    page = render_report(results)
    with atomic_path(target) as temporary:
        temporary.write_text(page, encoding="utf-8")
    n_sections = len(held_sections(results))
    more = f" with {n_sections} sections of other commands" if n_sections else ""
    frame.say(*results.remarks, f"Open {target}; it needs nothing else{more}.")
    frame.next(next_step(home, crawls=crawls(results["summary"])))
