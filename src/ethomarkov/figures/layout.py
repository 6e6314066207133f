"""How panels become figures: rows, letters, captions, and what is left out and why."""

import base64
import html
import io
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ethomarkov.exceptions import InputFormatError
from ethomarkov.figures import panels
from ethomarkov.figures.panel import PANELS, Panel, Results, ask
from ethomarkov.figures.style import figure_style, new_figure, save_figure, save_figures

__all__ = ["Drawn", "Layout", "can_draw", "compose", "panels"]  # to import the panels is to register them

PAGE_WIDTH = 12.0
LEAST_FILLED = 0.6
"""Share of the width that a row fills at least; panels that remain of a row are not stretched further."""
LINE_POINTS, PANEL_GAP = 11, 0.05
LETTERS_PER_INCH, MARGIN_INCHES = 14, 0.6


@dataclass(frozen=True, slots=True)
class Layout:
    """Rows of panels.

    Parameters
    ----------
    rows
        Names of panels, from left to right. One that begins with a letter, as in ``"a traces"``, has it written beside
        it; those that follow without one belong to the same letter.
    title
        Title of the caption.
    width
        Inches.
    """

    rows: tuple[tuple[str, ...], ...]
    title: str = ""
    width: float = PAGE_WIDTH


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A figure with its words.

    Parameters
    ----------
    figure
        None where nothing of it could be drawn.
    caption
        Caption of what is drawn.
    left_out
        One sentence for every panel that is missing.
    """

    figure: Figure | None
    caption: str
    left_out: tuple[str, ...] = ()

    def __repr__(self) -> str:
        drawn = "a figure" if self.figure is not None else "no figure"
        return "\n".join([f"Drawn: {drawn}. {self.caption}", *(f"  left out: {one}" for one in self.left_out)])

    def _repr_html_(self) -> str:
        words = "".join(f"<p>{html.escape(one)}</p>" for one in (self.caption.replace("**", ""), *self.left_out) if one)
        if self.figure is None:
            return words
        picture = io.BytesIO()
        save_figure(self.figure, picture, format="png")
        code = base64.b64encode(picture.getvalue()).decode()
        return f'<img src="data:image/png;base64,{code}" style="max-width:100%;background:white">{words}'

    def save(self, file: str | Path) -> Path:
        """Write the figure into a file whose ending tells the format (.png, .pdf, .svg).

        Parameters
        ----------
        file
            That appears when it is complete.
        """
        if self.figure is None:
            raise InputFormatError(f"There is no figure to save: {' '.join(self.left_out)}")
        save_figures({Path(file).name: self.figure}, Path(file).parent)
        return Path(file)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    """A panel in its place."""

    panel: Panel
    letter: str
    is_first: bool
    reason: str | None
    n_axes: int

    @property
    def width(self) -> float:
        return self.panel.width * self.n_axes

    @property
    def place(self) -> str:
        """By which a sentence calls it."""
        return self.letter if self.is_first else f"{self.letter}, {self.panel.name.replace('_', ' ')}"


def compose(layout: Layout, results: Results, closing: str = "") -> Drawn:
    """Draw the panels of a layout for which there are results, and write the caption from what was drawn.

    Parameters
    ----------
    layout
        Which panels, and where.
    results
        By name.
    closing
        Last words of the caption.
    """
    rows = list(_pieces(layout, results))
    drawn = [row for row in rows if any(piece.reason is None for piece in row)]
    figure = _draw_rows(drawn, layout.width, results) if drawn else None
    shown = [piece for row in drawn for piece in row if piece.reason is None]
    words = [_caption(piece, results) for piece in shown]
    caption = " ".join(word for word in (f"**{layout.title}.**" if layout.title else "", *words, closing) if word)
    return Drawn(figure=figure, caption=caption, left_out=tuple(_left_out(rows)))


def can_draw(layout: Layout, results: Results) -> bool:
    """Tell whether there are results for any panel of a layout."""
    return any(piece.reason is None for row in _pieces(layout, results) for piece in row)


def _caption(piece: _Piece, results: Results) -> str:
    letter = f"({piece.letter}) " if piece.is_first else ""
    return letter + str(ask(piece.panel.caption, results))


def _pieces(layout: Layout, results: Results) -> Iterator[list[_Piece]]:
    """Find out which panels can be drawn."""
    letter = ""
    for row in layout.rows:
        pieces = []
        for place in row:
            own, _, name = place.rpartition(" ")
            letter = own or letter
            panel = PANELS[name]
            reason = panel.why_not(results)
            count = panel.n_axes if isinstance(panel.n_axes, int) or reason is None else 1
            pieces.append(
                _Piece(panel=panel, letter=letter, is_first=bool(own), reason=reason, n_axes=ask(count, results))
            )
        yield pieces


def _left_out(rows: Sequence[Sequence[_Piece]]) -> Iterator[str]:
    """Say what is missing and why; neighbours that lack the same are told together."""
    pieces = [piece for row in rows for piece in row]
    told: list[tuple[str, list[_Piece]]] = []
    for before, piece in zip([None, *pieces], pieces, strict=False):
        if piece.reason is None:
            continue
        if before is not None and before.reason == piece.reason:
            told[-1][1].append(piece)
        else:
            told.append((piece.reason, [piece]))
    for reason, group in told:
        begun = {piece.letter for piece in group if piece.is_first}
        places = [piece.place for piece in group if piece.is_first or piece.letter not in begun]
        where = f"({', '.join(places)}) " if any(piece.letter for piece in group) else ""
        yield f"{where}{reason}."


def _draw_rows(rows: Sequence[Sequence[_Piece]], width: float, results: Results) -> Figure:
    heights = [max(_height(piece, len(row), results) for piece in row if piece.reason is None) for row in rows]
    with figure_style():
        figure = new_figure(width, sum(heights))
        figure.set_layout_engine("constrained", wspace=PANEL_GAP)
        strips = figure.subfigures(len(rows), 1, height_ratios=heights, squeeze=False)
        for strip, row in zip(strips[:, 0], rows, strict=True):
            _fill(strip, row, results)
    return figure


def _height(piece: _Piece, n_neighbours: int, results: Results) -> float:
    return float(ask(piece.panel.height, results)) * _grid_shape(piece, n_neighbours)[0]


def _grid_shape(piece: _Piece, n_neighbours: int) -> tuple[int, int]:
    """Rows and columns of a panel: one row, but for a panel alone that wants a grid."""
    if piece.panel.columns is None or n_neighbours > 1:
        return 1, piece.n_axes
    n_columns = min(piece.panel.columns, max(2, piece.n_axes))
    return -(-piece.n_axes // n_columns), n_columns


def _fill(strip: Any, row: Sequence[_Piece], results: Results) -> None:  # noqa: ANN401 (a SubFigure)
    """Draw the panels of a row side by side, with their letters."""
    kept = [piece for piece in row if piece.reason is None]
    shapes = [_grid_shape(piece, len(row)) for piece in kept]
    widths = [piece.panel.width for piece, (_, n) in zip(kept, shapes, strict=True) for _ in range(n)]
    rest = LEAST_FILLED * sum(piece.width for piece in row) - sum(widths)
    widths += [rest] if rest > 0 and shapes[0][0] == 1 else []
    grid = strip.add_gridspec(shapes[0][0], len(widths), width_ratios=widths)
    inches = strip.figure.get_figwidth() / sum(widths)
    first = 0
    for piece, (_, n_columns) in zip(kept, shapes, strict=True):
        cells = [divmod(k, n_columns) for k in range(piece.n_axes)]
        axes = [strip.add_subplot(grid[down, first + across]) for down, across in cells]
        piece.panel.draw_on(axes, results)
        for k, one in enumerate(axes):
            _fold_title(one, inches * piece.panel.width)
            if piece.is_first and k == 0:
                _write_letter(one, piece.letter)
            one.set_autoscaley_on(True)  # a wide panel may show more, so that both directions stay equal
        first += n_columns


def _fold_title(axes: Axes, inches: float) -> None:
    """Break lines of a title that would reach into the next panel."""
    letters = round(LETTERS_PER_INCH * (inches - MARGIN_INCHES))
    lines = axes.get_title(loc="left").splitlines()
    if lines:
        axes.set_title("\n".join(textwrap.fill(line, max(letters, 1)) for line in lines))


def _write_letter(axes: Axes, letter: str) -> None:
    """Write the letter of a panel left of the first line of its title."""
    above = axes.get_title(loc="left").count("\n")
    axes.annotate(
        letter,
        (0, 1),
        xycoords="axes fraction",
        xytext=(-22, 7 + LINE_POINTS * above),
        textcoords="offset points",
        fontsize="x-large",
        fontweight="bold",
        annotation_clip=False,
    )
