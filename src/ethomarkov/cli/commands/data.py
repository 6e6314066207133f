"""The paper's data."""

from pathlib import Path
from typing import Literal

from ethomarkov.cli.desk import Frame
from ethomarkov.cli.next_step import typed


def data(action: Literal["fetch", "explain"], dataset: str = "costa2024", *, out: Path | None = None) -> None:
    """Fetch the paper's data, or say how to get it.

    Parameters
    ----------
    action
        "fetch" downloads; "explain" says what the dataset is and how to get it by hand.
    dataset
        Its name.
    out
        Directory of the files; named as the dataset by default.
    """
    from ethomarkov.io.atomic import check_writable
    from ethomarkov.io.download import fetch_dataset, find_dataset

    frame, known = Frame(), find_dataset(dataset)
    target = out or Path(known.name)
    if action == "explain":
        frame.say(f"{known.title}. {known.citation}.", known.instructions(target))
        frame.next(typed("data", "fetch", dataset, "--out", target))
        return
    check_writable(target)
    for file in fetch_dataset(dataset, target):
        state = "verified" if file.verified else "unverified: its authors published no hash"
        frame.say(f"{file.path}  {file.size:,} bytes  sha256 {file.sha256}  ({state})")
    frame.next(typed("reproduce", "--data", target))
