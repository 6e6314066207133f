"""What other commands found in a study's directory, for its report."""

import base64
import csv
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from ethomarkov.io.spreadsheet import plain
from ethomarkov.report.paper_parts import belongs_to
from ethomarkov.workflow.known_truth import KnownTruth, load_truth
from ethomarkov.workflow.study import Study

PICTURES = (
    ("Kinetics", "states/states.nc", "states/kinetics.png", "The two macrostates: where the slow mode is cut, how long "
     "stays last, relaxation of their chain against the lag, transitions after many lags measured and foretold."),
    ("Postures of the states", "states/states.nc", "states/postures.png", "Tangent angles along the body in the "
     "longest stay of each state, and outlines of the body."),
    ("How far simulated animals get", "simulation/simulation.nc", "simulation/displacement.png", "Mean squared "
     "displacement of data and of simulated runs."),
    ("Diffusion, animal by animal", "simulation/simulation.nc", "simulation/diffusion.png", "Diffusion coefficient of "
     "each animal and of its own simulated runs."),
    ("The drag ratio", "path/path.nc", "path/drag.png", "Distance of computed from measured paths against the drag "
     "ratio, best ratios of all windows, and an example."),
    ("Agreement", "validation/validation.nc", "validation/agreement.png", "Every statistic of the simulations as "
     "a ratio to that of the data."),
    ("Foraging", "forage/forage.nc", "forage/forage.png", "Paths within one state, what they find of food at a "
     "distance, and the time that animals spend in each state."),
)  # fmt: skip
"""Title, results that tell to which model a picture belongs, the picture, and its caption."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extras:
    """Parts of a report that other commands made.

    Parameters
    ----------
    pictures
        Title, caption and image of each.
    validation
        Rows of the validation table; empty where there is none.
    truth
        What is known of synthetic animals, beside what was found; None for others.
    """

    pictures: tuple[tuple[str, str, Markup], ...] = ()
    validation: tuple[dict[str, str], ...] = ()
    truth: KnownTruth | None = None


def gather_extras(study: Study, directory: Path) -> Extras:
    """Collect what belongs to the model of the study; pictures of other models and other truths are left out."""
    pictures = tuple(
        (title, caption, embed_png((directory / picture).read_bytes()))
        for title, results, picture, caption in PICTURES
        if (directory / picture).is_file() and belongs_to(study, directory / results)
    )
    table = directory / "validation" / "validation.csv"
    rows: tuple[dict[str, str], ...] = ()
    if table.is_file() and belongs_to(study, directory / "validation" / "validation.nc"):
        with table.open(encoding="utf-8", newline="") as handle:
            rows = tuple({name: plain(cell) for name, cell in row.items()} for row in csv.DictReader(handle))
    return Extras(pictures=pictures, validation=rows, truth=load_truth(study, directory))


def embed_png(image: bytes) -> Markup:
    """Turn a picture into an address that holds it."""
    return Markup("data:image/png;base64," + base64.b64encode(image).decode())
