"""Recordings from one format to another."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ethomarkov._core.words import count_of
from ethomarkov.cli.desk import Frame
from ethomarkov.cli.next_step import typed
from ethomarkov.cli.options import ReadingOptions
from ethomarkov.cli.reading import read_recordings

DEFAULT = ReadingOptions()


def convert(
    files: Annotated[tuple[Path, ...], Parameter(negative=())],
    *,
    out: Path,
    reading: ReadingOptions = DEFAULT,
) -> None:
    """Write recordings in another format.

    Parameters
    ----------
    files
        Recordings in any known format; several are joined.
    out
        File to write; its ending tells the format: .nc, .wcon, .wcon.zip, .csv or .npz.
    """
    from ethomarkov.io import write_recording

    frame, recording = Frame(), read_recordings(files, reading)
    written = write_recording(recording, out)
    animals, frames = count_of(len(recording.individuals), "animal"), count_of(len(recording.values), "frame")
    frame.say(f"{animals}, {frames} written to {written}.")
    frame.next(typed("inspect", written))
