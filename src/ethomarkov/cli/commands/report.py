"""The report of a study, with what other commands found."""

from pathlib import Path

from rich.console import Console

from ethomarkov.io.atomic import atomic_path, check_writable
from ethomarkov.report import render_report
from ethomarkov.report.extras import gather_extras
from ethomarkov.report.page import REPORT_FILE
from ethomarkov.workflow import Study


def report(study: Path, *, out: Path | None = None) -> None:
    """Write the report of a study anew, with the results of states, simulate, path, validate and forage.

    Parameters
    ----------
    study
        Directory that `ethomarkov run` wrote.
    out
        File of the page; `report.html` in the study's directory by default.
    """
    loaded = Study.load(study)
    home = study if study.is_dir() else study.parent
    target = out or home / REPORT_FILE
    check_writable(target.parent)
    extras = gather_extras(loaded, home)
    page = render_report(loaded, extras=extras)
    with atomic_path(target) as temporary:
        temporary.write_text(page, encoding="utf-8")
    found = f" with {len(extras.pictures)} pictures of other commands" if extras.pictures else ""
    Console().print(f"Open {target}; it needs nothing else{found}.", highlight=False, markup=False, soft_wrap=True)
