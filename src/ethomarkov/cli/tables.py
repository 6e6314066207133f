"""Tables on disk."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from ethomarkov.io.atomic import atomic_path
from ethomarkov.io.spreadsheet import write_rows


def write_table(file: Path, rows: Iterable[Mapping[str, object]]) -> None:
    """Write rows of named values as CSV; the file appears when it is complete, and not at all without rows."""
    table = list(rows)
    if not table:
        return
    with atomic_path(file) as temporary, temporary.open("w", encoding="utf-8", newline="") as handle:
        columns = list(table[0])
        write_rows(handle, [columns, *([row.get(column) for column in columns] for row in table)])
