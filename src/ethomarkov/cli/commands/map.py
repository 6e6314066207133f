"""The space of posture sequences in two dimensions."""

from pathlib import Path
from typing import Literal

from ethomarkov.cli.desk import open_study
from ethomarkov.cli.options import RunningOptions

DEFAULT = RunningOptions()


def map(
    study: Path,
    *,
    out: Path | None = None,
    method: Literal["umap", "pca"] = "umap",
    running: RunningOptions = DEFAULT,
) -> None:
    """Draw the space of posture sequences, coloured by movement, slow modes and states.

    Parameters
    ----------
    study
        Directory that `ethomarkov run` wrote.
    out
        Directory for map.png and chain.png; the study's own by default.
    method
        "umap" as published (half a minute for one worm), or "pca" at once.
    """
    desk = open_study(study, running, out)
    with desk.working():
        found = desk.compute("sequence_map", method=method)
        desk.draw("map", sequence_map=found)
    desk.say(f"Drawn in {desk.out / 'map.png'} and {desk.out / 'chain.png'}.")
    desk.close()
