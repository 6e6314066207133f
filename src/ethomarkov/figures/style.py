"""One look for all figures: colours that everybody can tell apart, light axes."""

import contextlib
import textwrap
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from ethomarkov.exceptions import InputFormatError
from ethomarkov.io.atomic import atomic_path

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
LABEL_WIDTH, LABEL_LINES, LEGEND_LETTERS = 24, 3, 30
SAVED_DPI = 150

_SETTINGS: Any = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": "medium",
    "axes.titlelocation": "left",
    "figure.autolayout": False,
    "figure.constrained_layout.use": False,
    "figure.dpi": 120,
    "font.size": 9,
    "legend.frameon": False,
    "savefig.bbox": "tight",
    "svg.fonttype": "none",
}


@contextlib.contextmanager
def figure_style() -> Iterator[None]:
    """Apply the style to figures made inside, and to nothing else.

    Examples
    --------
    >>> from matplotlib import rcParams
    >>> before = rcParams["axes.spines.top"]
    >>> with figure_style():
    ...     inside = rcParams["axes.spines.top"]
    >>> inside, rcParams["axes.spines.top"] == before
    (False, True)
    """
    with mpl.rc_context(_SETTINGS):
        yield


def save_figure(
    figure: Figure,
    target: Path | BinaryIO,
    filled: Bbox | None = None,
    **options: Any,  # noqa: ANN401 (as savefig)
) -> None:
    """Write a figure; letters that the font lacks appear as boxes, without a word.

    Parameters
    ----------
    figure
        To write.
    target
        File or stream.
    filled
        Part of the figure to write, from `laid_out`; by default it is laid out here.
    options
        As for `Figure.savefig`.

    Examples
    --------
    >>> import io
    >>> stream = io.BytesIO()
    >>> figure = new_figure(2.0, 2.0)
    >>> line = figure.subplots().plot([0, 1])
    >>> save_figure(figure, stream, format="svg")
    >>> stream.getvalue()[:5]
    b'<?xml'
    """
    if filled is None:
        with laid_out(figure) as found:
            save_figure(figure, target, found, **options)
        return
    with figure_style(), _without_missing_letters():
        figure.savefig(target, bbox_inches=filled, **({"dpi": SAVED_DPI} | options))


def save_figures(figures: Mapping[str, Figure], out: Path) -> None:
    """Write figures into a directory, by file name; each file appears when it is complete."""
    for name, figure in figures.items():
        with atomic_path(out / name) as temporary:
            save_figure(figure, temporary)


@contextlib.contextmanager
def laid_out(figure: Figure) -> Iterator[Bbox]:
    """Give everything in a figure its place, and tell which part of it is filled, in inches.

    Inside, a figure is written into files of several formats without being laid out for each of them. Matplotlib would
    also draw it without output for each, which costs as much as drawing it.
    """
    engine, dpi = figure.get_layout_engine(), figure.dpi
    with figure_style(), _without_missing_letters():
        figure.dpi = SAVED_DPI
        _hide_empty_labels(figure)
        try:
            if engine is not None:
                engine.execute(figure)
            figure.set_layout_engine(None)
            yield figure.get_tightbbox().padded(mpl.rcParams["savefig.pad_inches"])
        finally:
            figure.set_layout_engine(engine)
            figure.dpi = dpi


def _hide_empty_labels(figure: Figure) -> None:
    """Take from minor ticks the labels without a letter, each of which is placed several times; axes have hundreds."""
    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
        if not any(label.get_text() for label in axis.get_minorticklabels()):
            axis.set_tick_params(which="minor", label1On=False, label2On=False)


@contextlib.contextmanager
def _without_missing_letters() -> Iterator[None]:
    """Say nothing about letters that the font lacks."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        yield


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

    Examples
    --------
    >>> state_colours(2)
    ('#56B4E9', '#E69F00')
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


def fold_legend(axes: Axes, **style: Any) -> None:  # noqa: ANN401 (as legend)
    """Redraw the legend of narrow axes in short lines."""
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(handles, [textwrap.fill(label, LEGEND_LETTERS) for label in labels], **style)


def remove_legend(axes: Axes) -> None:
    """Take the legend away, where a neighbour has the same."""
    legend = axes.get_legend()
    if legend is not None:
        legend.remove()


def new_figure(width: float, height: float) -> Figure:
    """Make a figure that no window and no global state knows of; size in inches.

    Examples
    --------
    >>> new_figure(6.0, 3.0).get_size_inches().tolist()
    [6.0, 3.0]
    """
    return Figure(figsize=(width, height), layout="constrained")
