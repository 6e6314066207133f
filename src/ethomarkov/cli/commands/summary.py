"""The key figures of a study."""

import json
import math
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console

from ethomarkov.cli.terminal import summary_table
from ethomarkov.report.summary import summarize
from ethomarkov.study import Study


def summary(study: Path, *, json_: Annotated[bool, Parameter(name="--json", negative=())] = False) -> None:
    """Print the key figures of a study.

    Parameters
    ----------
    study
        Directory that `ethomarkov run` wrote.
    json_
        Print JSON for programs.
    """
    figures = summarize(Study.load(study))
    if json_:
        print(json.dumps(_finite(figures), indent=2))
    else:
        Console().print(summary_table(figures))


def _finite(value: Any) -> Any:  # noqa: ANN401 (any JSON value)
    """Replace NaN and infinity, which JSON does not know, by null."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
