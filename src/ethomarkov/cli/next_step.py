"""What to type next, by what a study holds already."""

import dataclasses
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ethomarkov.study.files import EXPLORER_FILE, REPORT_FILE, RESULTS_FOLDER

STEPS = (
    ("states", f"{RESULTS_FOLDER}/kinetics-*.nc", False),
    ("validate", f"{RESULTS_FOLDER}/animal_runs-*.nc", False),
    ("explore", EXPLORER_FILE, False),
    ("simulate", f"{RESULTS_FOLDER}/runs-*.nc", True),
    ("path", f"{RESULTS_FOLDER}/reconstruction-*.nc", True),
    ("forage", f"{RESULTS_FOLDER}/foraging-*.nc", True),
)
"""Commands in the order of work, what shows that they were asked, and whether they need a body that crawls."""


def next_step(study: Path, *, kept: Path | None = None, crawls: bool = True) -> str:
    """Choose the command to type next: the first that this study was not asked yet, then report, export, figures.

    Parameters
    ----------
    study
        Directory of the study.
    kept
        Directory of its results, where that is another one, because the study may only be read.
    crawls
        Whether its postures are tangent angles, from which paths are computed.
    """
    place = study if kept is None else kept
    elsewhere = [] if place == study else ["--out", str(place)]
    for command, evidence, needs_path in STEPS:
        is_possible = (crawls or not needs_path) and not (elsewhere and command in ("states", "explore"))
        if is_possible and not any(place.glob(evidence)):
            return typed(command, study, *elsewhere)
    if not elsewhere and _is_old(study / REPORT_FILE, study / RESULTS_FOLDER):
        return typed("report", study)
    if not elsewhere and not (study / "figures").exists() and (study / "export").exists():
        return typed("figures", study)
    return typed("export", study, *elsewhere)


def typed(command: str, *arguments: object) -> str:
    """Write a command as it is typed into a shell.

    Examples
    --------
    >>> typed("run", "my worm.csv", "--out", "study")
    "ethomarkov run 'my worm.csv' --out study"
    """
    return shlex.join(["ethomarkov", command, *map(str, arguments)])


def typed_again(without: Sequence[str] = ()) -> str:
    """Write the present command as it was typed, without some flags."""
    return shlex.join(["ethomarkov", *(word for word in sys.argv[1:] if word not in without)])


def as_options(options: Any) -> list[str]:  # noqa: ANN401 (a dataclass of options)
    """Write options that differ from their defaults as they are typed.

    Parameters
    ----------
    options
        A dataclass of options.
    """
    words: list[str] = []
    for item in dataclasses.fields(options):
        value, name = getattr(options, item.name), f"--{item.name.replace('_', '-')}"
        if value == item.default:
            continue
        values = () if value is True else value if isinstance(value, tuple) else (value,)
        words += [name, *map(str, values)]
    return words


def _is_old(page: Path, results: Path) -> bool:
    """Tell whether a page was written before some result."""
    newest = max((file.stat().st_mtime for file in results.glob("*.nc")), default=0.0)
    return not page.exists() or page.stat().st_mtime < newest
