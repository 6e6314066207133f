"""CSV tables, and text in their cells that spreadsheet programs would take for a formula, and execute.

A name may come from a file of somebody else, so that ``=HYPERLINK(...)`` can be the name of an animal. An apostrophe in
front makes it text to a spreadsheet; it is taken away again where this package reads the cell.
"""

import csv
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TextIO

from ethomarkov.io.atomic import atomic_path

_NUMBER = r"[+-]?(inf|nan|(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?)\Z"
_FORMULA = re.compile(rf"'*(?!{_NUMBER})([\t\r\n]|\s*[=+@＝＋－＠-])")
"""A formula, also one that apostrophes precede already, so that taking away what was added gives the text again."""


def escape(text: str) -> str:
    """Put an apostrophe before text that a spreadsheet would execute.

    Parameters
    ----------
    text
        Of one cell. Numbers, negative ones too, and all other text stay as they are.

    Examples
    --------
    >>> escape("=1+2"), escape("-0.5"), escape("worm 1")
    ("'=1+2", '-0.5', 'worm 1')
    """
    return f"'{text}" if _FORMULA.match(text) else text


def plain(text: str) -> str:
    """Take away the apostrophe that `escape` put before a text.

    Parameters
    ----------
    text
        Of one cell, as it stands in the file.

    Examples
    --------
    >>> plain("'=1+2"), plain("'worm'")
    ('=1+2', "'worm'")
    """
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def write_rows(stream: TextIO, rows: Iterable[Iterable[object]]) -> None:
    """Write rows as CSV, with text escaped.

    Parameters
    ----------
    stream
        Opened with ``newline=""``.
    rows
        Cells of any type; numbers stay as they are.
    """
    csv.writer(stream).writerows([escape(cell) if isinstance(cell, str) else cell for cell in cells] for cells in rows)


def write_table(file: Path, rows: Iterable[Mapping[str, object]]) -> None:
    """Write rows of named values as CSV; the file appears when it is complete, and not at all without rows."""
    table = list(rows)
    if not table:
        return
    with atomic_path(file) as temporary, temporary.open("w", encoding="utf-8", newline="") as handle:
        columns = list(table[0])
        write_rows(handle, [columns, *([row.get(column) for column in columns] for row in table)])
