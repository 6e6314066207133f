"""What is in a file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from rich.markup import escape
from rich.table import Table

from ethomarkov._core.words import count_of
from ethomarkov.cli.desk import Frame
from ethomarkov.cli.next_step import as_options, typed
from ethomarkov.cli.options import ReadingOptions
from ethomarkov.cli.reading import read_recordings
from ethomarkov.cli.terminal import make_table
from ethomarkov.exceptions import InputFormatError

if TYPE_CHECKING:
    from ethomarkov.recording import Recording

DEFAULT = ReadingOptions()
MOST_ROWS = 60
PICTURES = (".png", ".pdf", ".svg")


def inspect(
    files: Annotated[tuple[Path, ...], Parameter(negative=())],
    *,
    out: Path | None = None,
    reading: ReadingOptions = DEFAULT,
) -> None:
    """Say what is in recording files: animals, frames, rate, gaps; and draw it.

    Parameters
    ----------
    files
        Recordings in any known format.
    out
        Where to draw them (.png, .pdf or .svg); nothing is drawn when left out.
    """
    if out is not None and out.suffix.lower() not in PICTURES:
        raise InputFormatError(f"{out}: a picture's name ends in one of {', '.join(PICTURES)}. Choose one of them.")
    frame, recording = Frame(), read_recordings(files, reading)
    from ethomarkov.recording.left_out import reading_notes
    from ethomarkov.recording.schema import KIND_WORDS

    attrs, animals = recording.dataset.attrs, count_of(len(recording.individuals), "animal")
    frame.say(
        f"{KIND_WORDS[recording.kind]}, shape {recording.values.shape[1:]}, {animals}, "
        f"{recording.sampling.rate:g} Hz, format {attrs.get('source_format', 'mixed')}"
    )
    frame.show(_table(recording))
    frame.note(*reading_notes(recording.ledger()))
    if out is not None:
        _draw(recording, out)
        frame.say(f"Drawn in {out}.")
    frame.next(typed("run", *files, *as_options(reading), "--out", "study"))


def _draw(recording: "Recording", out: Path) -> None:
    from ethomarkov.figures.recording import draw_recording
    from ethomarkov.figures.style import save_figure
    from ethomarkov.io.atomic import atomic_path

    with atomic_path(out) as temporary:
        save_figure(draw_recording(recording), temporary)


def _table(recording: "Recording") -> Table:
    columns = ("animal", "frames", "minutes", "missing", "gaps", "longest gap", "longest gap-free stretch", "path")
    table = make_table(*columns, left=("animal", "path"))
    for i in range(min(len(recording.individuals), MOST_ROWS)):
        table.add_row(*_row(recording, i))
    if len(recording.individuals) > MOST_ROWS:
        table.add_row(f"… {len(recording.individuals) - MOST_ROWS} more")
    return table


def _row(recording: "Recording", individual: int) -> tuple[str, ...]:
    import numpy as np

    segments, rate = recording.segments, recording.sampling.rate
    first, stop = segments.offsets[individual : individual + 2]
    runs = segments.mask(individual).bounds
    edges = np.concatenate([[first], runs[:, :2].ravel(), [stop]])
    gaps = np.diff(edges)[::2]
    gaps = gaps[gaps > 0]
    frames = int(stop - first)
    missing = gaps.sum() / max(frames, 1)
    path = recording.centroid
    measured = path is not None and bool(np.isfinite(path[first:stop]).any())
    return (
        escape(recording.individuals[individual]),
        f"{frames:,}",
        f"{frames / rate / 60:.1f}",
        f"{100 * missing:.1f} %",
        str(gaps.size),
        f"{gaps.max(initial=0) / rate:.1f} s",
        f"{segments.longest(individual) / rate:.1f} s",
        "measured" if measured else "none",
    )
