"""One look for all figures: colours that everybody can tell apart, light axes."""

import contextlib
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import matplotlib as mpl
import numpy as np
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from ethomarkov.exceptions import InputFormatError

# Okabe and Ito's palette, which colour-blind readers can tell apart.
DATA, SIMULATION = "#0072B2", "#D55E00"
MACROSTATES = ("#56B4E9", "#E69F00")
MODES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MISSING = "#BBBBBB"
# Paul Tol's muted colours and black: any two of the first seven differ clearly under red- and green-blindness too.
STATES = (
    "#88CCEE", "#CC6677", "#DDCC77", "#332288", "#117733", "#AA4499",
    "#000000", "#999933", "#882255", "#661100", "#6699CC", "#44AA99",
)  # fmt: skip
LABEL_WIDTH, LABEL_LINES = 24, 3

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


def state_colours(n_states: int) -> tuple[str, ...]:
    """Choose a colour for every state.

    Parameters
    ----------
    n_states
        Two have the colours of run and pirouette. Up to twelve are told apart by colour-blind readers too; more than
        that form a scale from dark to light, on which neighbours look alike.
    """
    if n_states <= len(MACROSTATES):
        return MACROSTATES[:n_states]
    if n_states <= len(STATES):
        return STATES[:n_states]
    return tuple(to_hex(colour) for colour in mpl.colormaps["viridis"](np.linspace(0, 1, n_states)))


def state_labels(names: Sequence[str], n_states: int, width: int = LABEL_WIDTH) -> list[str]:
    r"""Prepare the names of states for a figure: plain text in lines of `width` letters, three at most.

    Examples
    --------
    >>> state_labels(["fast run", "ventral pirouette"], 2, width=10)
    ['fast run', 'ventral\npirouette']
    """
    if len(names) != n_states:
        raise InputFormatError(f"There are {len(names)} names for {n_states} states; give one name each.")
    return [plain_text(textwrap.fill(name, width, max_lines=LABEL_LINES, placeholder="…")) for name in names]


def new_figure(width: float, height: float) -> Figure:
    """Make a figure that no window and no global state knows of; size in inches."""
    return Figure(figsize=(width, height), layout="constrained")
