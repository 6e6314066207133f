"""How figures of the paper are put together: panels in rows, letters, captions, and what is left out."""

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ethomarkov._core.words import count_of
from ethomarkov.figures.style import figure_style, new_figure
from ethomarkov.workflow.study import Study

PAGE_WIDTH = 12.0
LEAST_FILLED = 0.6
"""Share of the width that a row fills at least; panels that remain of a row are not stretched further."""
LINE_POINTS, PANEL_GAP = 11, 0.05
LETTERS_PER_INCH, MARGIN_INCHES, LEGEND_LETTERS = 14, 0.6, 30
NO_WAVE = "the postures of this study have no body wave"
NO_BODY = "the postures of this study are no tangent angles, so the body has no outline and no path"
NO_PATH = "no path was measured"


def lacking(what: str, command: str) -> str:
    """Say that results are missing, and which command makes them."""
    return f"there are no {what} yet; make them with `ethomarkov {command}`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One pair of axes of a figure.

    Parameters
    ----------
    letter
        By which the caption calls it; axes that go on with the same panel have none.
    words
        What it shows, for the caption.
    draw
        Draws it.
    width
        Relative to its neighbours.
    """

    letter: str
    words: str
    draw: Callable[[Axes], None]
    width: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A panel that is not drawn, and why."""

    letter: str
    reason: str
    width: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """Room for a panel that nothing fills."""

    width: float = 1.0


Piece = Panel | LeftOut | Space


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperFigure:
    """A figure of the paper.

    Parameters
    ----------
    figure
        None where nothing of it could be drawn.
    caption
        What is shown, of how many animals, with which settings.
    left_out
        One sentence for every panel that is missing.
    """

    figure: Figure | None
    caption: str
    left_out: tuple[str, ...] = ()


def compose(study: Study, title: str, *rows: tuple[float, Sequence[Piece]], width: float = PAGE_WIDTH) -> PaperFigure:
    """Draw rows of panels, each with its height in inches, and write the caption from what was drawn."""
    pieces = [piece for _, row in rows for piece in row]
    drawn = [(height, row) for height, row in rows if any(isinstance(piece, Panel) for piece in row)]
    figure = None
    if drawn:
        with figure_style():
            figure = new_figure(width, sum(height for height, _ in drawn))
            figure.set_layout_engine("constrained", wspace=PANEL_GAP)
            strips = figure.subfigures(len(drawn), 1, height_ratios=[height for height, _ in drawn], squeeze=False)
            for strip, (_, row) in zip(strips[:, 0], drawn, strict=True):
                _fill(strip, row)
    panels = [piece for piece in pieces if isinstance(piece, Panel) and piece.words]
    words = " ".join(f"({panel.letter}) {panel.words}" if panel.letter else panel.words for panel in panels)
    left_out = tuple(f"({piece.letter}) {piece.reason}." for piece in pieces if isinstance(piece, LeftOut))
    return PaperFigure(figure=figure, caption=f"**{title}.** {words} {describe_study(study)}", left_out=left_out)


def _fill(strip: Any, row: Sequence[Piece]) -> None:  # noqa: ANN401 (a SubFigure)
    """Draw the panels of a row side by side, with their letters."""
    kept = [piece for piece in row if not isinstance(piece, LeftOut)]
    rest = LEAST_FILLED * sum(piece.width for piece in row) - sum(piece.width for piece in kept)
    kept += [Space(width=rest)] if rest > 0 else []
    grid = strip.add_gridspec(1, len(kept), width_ratios=[piece.width for piece in kept])
    inches = strip.figure.get_figwidth() / sum(piece.width for piece in kept)
    for k, piece in enumerate(kept):
        if isinstance(piece, Panel):
            axes = strip.add_subplot(grid[0, k])
            piece.draw(axes)
            _fold_title(axes, inches * piece.width)
            write_letter(axes, piece.letter)
            axes.set_autoscaley_on(True)  # a wide panel may show more, so that both directions stay equal


def side_by_side(letter: str, words: str, draws: Sequence[Callable[[Axes], None]]) -> list[Piece]:
    """Make several axes that are one panel; letter and words stand at the first."""
    return [Panel(letter="" if k else letter, words="" if k else words, draw=draw) for k, draw in enumerate(draws)]


def _fold_title(axes: Axes, inches: float) -> None:
    """Break lines of a title that would reach into the next panel."""
    letters = round(LETTERS_PER_INCH * (inches - MARGIN_INCHES))
    lines = axes.get_title(loc="left").splitlines()
    axes.set_title("\n".join(textwrap.fill(line, max(letters, 1)) for line in lines))


def fold_legend(axes: Axes, **style: Any) -> None:  # noqa: ANN401 (as legend)
    """Draw the legend of narrow axes anew, in short lines."""
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(handles, [textwrap.fill(label, LEGEND_LETTERS) for label in labels], **style)


def write_letter(axes: Axes, letter: str) -> None:
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


def describe_study(study: Study) -> str:
    """Write one sentence about animals and settings, for captions."""
    sampling, settings = study.postures.sampling, study.settings
    minutes = sampling.seconds(len(study.postures.values)) / 60
    n_animals, n_states = study.symbols.segments.n_individuals, study.chain.states.size
    return (
        f"{count_of(n_animals, 'animal')}, {minutes:.3g} min in all at {sampling.rate:g} Hz; {settings.n_modes} modes, "
        f"sequences of {settings.n_delays} frames ({sampling.seconds(settings.n_delays):.3g} s), {n_states} of "
        f"{settings.n_states} microstates in the chain, lag {study.chain.lag:.3g} s, seed {settings.seed}."
    )
