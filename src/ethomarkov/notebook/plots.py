"""Pictures of a study by name: every panel of the report and of the paper's figures."""

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from ethomarkov.exceptions import InputFormatError
from ethomarkov.figures import panels
from ethomarkov.figures.layout import Drawn, Layout, compose
from ethomarkov.figures.panel import PANELS, Panel, ask
from ethomarkov.figures.plots import SIZE, new_figure_shown
from ethomarkov.figures.style import figure_style
from ethomarkov.notebook.views import results_of
from ethomarkov.study import Study

__all__ = ["Plots", "panels"]  # to import the panels is to register them

SHORT = {
    "tree": "tree_of_states",
    "relaxation": "relaxation_times",
    "map": "motion_on_map",
    "paths": "simulated_paths",
    "budget": "time_budget",
    "postures": "postures_of_states",
    "traits": "traits_of_states",
    "validation": "agreement",
    "cut": "cut_by_share",
    "dwells": "dwell_distribution",
    "transition_graph": "transitions",
}
"""Names that one would guess, and the panels that they stand for."""
CALLS = {
    "states STUDY": "study.kinetics()",
    "validate STUDY --repeats 50": "study.validation(n_held_out=50, n_repeats=50)",
    "validate STUDY": "study.validation()",
    "choose STUDY": "study.relaxation_times()",
    "map STUDY": "study.sequence_map()",
    "simulate STUDY --state each --out STUDY/simulation_states": "study.state_runs()",
    "simulate STUDY": "study.runs()",
    "path STUDY": "study.reconstruction()",
    "forage STUDY": "study.foraging()",
    "choose FILES --entropy --out STUDY": "study.entropy_scan()",
}
"""What makes a missing result in Python, by what makes it on the command line."""
OVERVIEW = Layout((("ethogram",), ("tree_of_states",), ("time_budget", "relaxation_times")), width=9.0)
WIDTH = 4.2
"""Inches of one of several axes."""


class Plots:
    """Pictures of a study: ``study.plot.tree()``, ``study.plot.ethogram(ax)``; this object itself lists them.

    Parameters
    ----------
    study
        Whose results are shown: its own, and those of analyses that were asked for.
    """

    def __init__(self, study: Study) -> None:
        self._study = study

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        panel = PANELS.get(SHORT.get(name, name))
        if panel is None:
            raise AttributeError(f"There is no picture {name!r} of a study; there are {', '.join(sorted(dir(self)))}.")

        def draw(ax: Axes | None = None) -> Any:  # noqa: ANN401 (axes, or several)
            return _draw(panel, self._study, ax)

        draw.__name__, draw.__doc__ = name, panel.draw.__doc__
        return draw

    def __call__(self) -> Drawn:
        """Draw an overview: states in time, their tree, the time in each, relaxation times."""
        return compose(OVERVIEW, results_of(self._study))

    def __dir__(self) -> list[str]:
        return sorted({*SHORT, *PANELS})

    def __repr__(self) -> str:
        names = sorted({*PANELS} - {*SHORT.values()} | {*SHORT})  # each picture once, by its shortest name
        lines = (f"  {name:<32} {_first_line(PANELS[SHORT.get(name, name)])}" for name in names)
        return "\n".join(["Pictures of a study, as in study.plot.tree():", *lines])


def _draw(panel: Panel, study: Study, ax: Axes | None) -> Any:  # noqa: ANN401 (axes, or several)
    results = results_of(study)
    reason = panel.why_not(results)
    if reason is not None:
        raise InputFormatError(f"{panel.name} cannot be drawn: {_in_python(reason)}.")
    n = int(ask(panel.n_axes, results))
    if n > 1 and ax is not None:
        raise InputFormatError(f"{panel.name} takes {n} axes of a figure of its own. Leave ax out.")
    columns = min(n, panel.columns or n)
    rows = -(-n // columns)
    height = float(ask(panel.height, results))
    place = ax or new_figure_shown(SIZE if n == 1 else (WIDTH * columns, height * rows))
    with figure_style():
        own = [] if isinstance(place, Axes) else [place.add_subplot(rows, columns, k + 1) for k in range(n)]
        axes = [place] if isinstance(place, Axes) else own
        panel.draw_on(axes, results)
    return axes[0] if n == 1 else np.array(axes)


def _first_line(panel: Panel) -> str:
    return (panel.draw.__doc__ or "").strip().partition("\n")[0]


def _in_python(reason: str) -> str:
    """Name the call that makes a missing result, where the sentence names a command."""
    for command, call in CALLS.items():
        if f"`ethomarkov {command}`" in reason:
            return reason.replace(f"`ethomarkov {command}`", f"`{call}`")
    return reason
