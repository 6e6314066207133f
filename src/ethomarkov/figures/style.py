"""One look for all figures: colours that everybody can tell apart, light axes."""

import contextlib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import matplotlib as mpl
from matplotlib.figure import Figure

# Okabe and Ito's palette, which colour-blind readers can tell apart.
DATA, SIMULATION = "#0072B2", "#D55E00"
MACROSTATES = ("#56B4E9", "#E69F00")
MODES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MISSING = "#BBBBBB"

_SETTINGS: Any = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": "medium",
    "axes.titlelocation": "left",
    "figure.dpi": 120,
    "font.size": 9,
    "legend.frameon": False,
    "savefig.bbox": "tight",
    "svg.fonttype": "none",
}


@contextlib.contextmanager
def figure_style() -> Iterator[None]:
    """Apply the style to figures made inside, and to nothing else."""
    with mpl.rc_context(_SETTINGS):
        yield


def save_figure(figure: Figure, target: Path | BinaryIO, **options: Any) -> None:  # noqa: ANN401 (as savefig)
    """Write a figure; letters that the font lacks appear as boxes, without a word."""
    with figure_style(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        figure.savefig(target, **({"dpi": 150} | options))


def plain_text(name: str) -> str:
    """Write a name so that nothing in it is taken for a formula."""
    return name.replace("$", r"\$")


def new_figure(width: float, height: float) -> Figure:
    """Make a figure that no window and no global state knows of; size in inches."""
    return Figure(figsize=(width, height), layout="constrained")
