"""Whether this installation is well."""

import dataclasses
import json
from typing import Annotated

from cyclopts import Parameter
from rich.markup import escape

from ethomarkov._core.words import count_of
from ethomarkov.cli.desk import Frame
from ethomarkov.cli.next_step import typed
from ethomarkov.cli.terminal import make_table

COLOURS = {"ok": "green", "note": "yellow", "problem": "bold red"}


def doctor(*, json_: Annotated[bool, Parameter(name="--json", negative=())] = False) -> int:
    """Check this installation: versions, cores, linear algebra, memory, caches, programs, permissions.

    The exit code is 1 if there is a problem.

    Parameters
    ----------
    json_
        Print JSON for programs.
    """
    from ethomarkov.cli.checks import check_installation

    checks = check_installation()
    problems = [one for one in checks if one.state == "problem"]
    if json_:
        print(json.dumps([dataclasses.asdict(one) for one in checks], indent=2))
        return int(bool(problems))
    frame, titles = Frame(), ("", "state", "found", "what to do")
    table = make_table(*titles, left=titles)
    for one in checks:
        table.add_row(one.what, f"[{COLOURS[one.state]}]{one.state}[/]", escape(one.found), escape(one.remedy))
    frame.show(table)
    if problems:
        frame.say(f"\n{count_of(len(problems), 'problem')}: {', '.join(one.what for one in problems)}.")
        return 1
    frame.say("\nNo problems.")
    frame.next(typed("demo"))
    return 0
