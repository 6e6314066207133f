"""The paper's data."""

from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.markup import escape

from ethomarkov.io.atomic import check_writable
from ethomarkov.io.download import fetch_dataset, find_dataset


def data(action: Literal["fetch", "explain"], dataset: str = "costa2024", *, into: Path | None = None) -> None:
    """Fetch the paper's data, or say how to get it.

    Parameters
    ----------
    action
        "fetch" downloads; "explain" says what the dataset is and how to get it by hand.
    dataset
        Its name.
    into
        Directory of the files; named as the dataset by default.
    """
    console, known = Console(), find_dataset(dataset)
    target = into or Path(known.name)
    if action == "explain":
        console.print(f"{known.title}. {known.citation}.", highlight=False, markup=False, soft_wrap=True)
        console.print(known.instructions(target), highlight=False, markup=False, soft_wrap=True)
        return
    check_writable(target)
    for file in fetch_dataset(dataset, target):
        state = "verified" if file.verified else "unverified: its authors published no hash"
        console.print(
            f"{escape(str(file.path))}  {file.size:,} bytes  sha256 {file.sha256}  ({state})",
            highlight=False,
            soft_wrap=True,
        )
    console.print(f"\nNow run: ethomarkov reproduce --data {escape(str(target))}", highlight=False, soft_wrap=True)
