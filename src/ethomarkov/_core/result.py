"""What every frozen result has: named dimensions, units, read-only arrays, and ways to show itself."""

import dataclasses
import importlib
from typing import TYPE_CHECKING, Any

import numpy as np

from ethomarkov._core.notes import field_notes as field_notes  # noqa: PLC0414 (handed on)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

SHOWING = "ethomarkov._core.showing"
DRAWING = "ethomarkov.figures.plots"
"""Modules that show and draw results. They are named, not imported: drawing lies above all results, and matplotlib and
pandas are loaded when somebody asks for a picture or a table."""


def array_field(*dims: str, unit: str = "", **options: Any) -> Any:  # noqa: ANN401 (as dataclasses.field)
    """Declare an array of a result with the names of its dimensions, as stored in files.

    A last name "..." stands for any number of further dimensions. A mapping or tuple of arrays is declared in the same
    way, with the dimensions that each of them has.
    """
    return dataclasses.field(metadata={"dims": dims, "unit": unit}, **options)


def unit_field(unit: str, **options: Any) -> Any:  # noqa: ANN401 (as dataclasses.field)
    """Declare a number of a result with its unit."""
    return dataclasses.field(metadata={"unit": unit}, **options)


def freeze_arrays(result: object) -> None:
    """Make every array of a frozen dataclass read-only, without touching the caller's own array."""
    for item in dataclasses.fields(result):  # type: ignore[arg-type]
        value = getattr(result, item.name)
        if isinstance(value, np.ndarray) and value.flags.writeable:
            view = value.view()
            view.setflags(write=False)
            object.__setattr__(result, item.name, view)


class Result:
    """Base of every result: a few lines in a terminal, a card in a notebook, a table, a picture."""

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        # `dataclass` writes a representation with every number of every array, but only where a class has none
        if "__repr__" not in cls.__dict__:
            cls.__repr__ = Result.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        text: str = importlib.import_module(SHOWING).describe(self)
        return text

    def _repr_html_(self) -> str:
        card: str = importlib.import_module(SHOWING).card(self)
        return card

    def headline(self) -> str:
        """Give the result in one line of words; empty where its numbers have to speak for themselves."""
        return ""

    def table(self) -> "pd.DataFrame":
        """Lay the result out as a table; units of columns are in its ``attrs``."""
        return importlib.import_module(SHOWING).tabulate(self)

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the result.

        Parameters
        ----------
        ax
            Axes to draw onto; new ones by default.
        """
        axes: Axes = importlib.import_module(DRAWING).plot_result(self, ax)
        return axes
