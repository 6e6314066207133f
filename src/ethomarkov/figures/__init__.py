"""Results drawn on matplotlib axes; nothing here opens a window.

Every result draws itself with ``result.plot(ax)``; the functions here take more settings.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ethomarkov.figures.kinetics import draw_chapman_kolmogorov as draw_chapman_kolmogorov
    from ethomarkov.figures.kinetics import draw_survival as draw_survival
    from ethomarkov.figures.kinetics import draw_transition_graph as draw_transition_graph
    from ethomarkov.figures.paths import draw_displacement as draw_displacement
    from ethomarkov.figures.paths import draw_paths as draw_paths
    from ethomarkov.figures.paths import draw_state_path as draw_state_path
    from ethomarkov.figures.recording import draw_coverage as draw_coverage
    from ethomarkov.figures.recording import draw_traces as draw_traces
    from ethomarkov.figures.scan import draw_lag_scan as draw_lag_scan
    from ethomarkov.figures.scan import draw_spectrum as draw_spectrum
    from ethomarkov.figures.simulation import draw_kymograph as draw_kymograph
    from ethomarkov.figures.states import draw_ethogram as draw_ethogram
    from ethomarkov.figures.states import draw_time_budget as draw_time_budget
    from ethomarkov.figures.style import figure_style as figure_style
    from ethomarkov.figures.style import new_figure as new_figure
    from ethomarkov.figures.style import save_figure as save_figure
    from ethomarkov.figures.style import state_colours as state_colours
    from ethomarkov.figures.tree import draw_tree as draw_tree
    from ethomarkov.figures.validation import draw_autocorrelation as draw_autocorrelation

_HOMES = {
    "draw_autocorrelation": "validation",
    "draw_chapman_kolmogorov": "kinetics",
    "draw_coverage": "recording",
    "draw_displacement": "paths",
    "draw_ethogram": "states",
    "draw_kymograph": "simulation",
    "draw_lag_scan": "scan",
    "draw_paths": "paths",
    "draw_spectrum": "scan",
    "draw_state_path": "paths",
    "draw_survival": "kinetics",
    "draw_time_budget": "states",
    "draw_traces": "recording",
    "draw_transition_graph": "kinetics",
    "draw_tree": "tree",
    "figure_style": "style",
    "new_figure": "style",
    "save_figure": "style",
    "state_colours": "style",
}

__all__ = [*_HOMES]  # noqa: PLE0604 (all entries are names)


def __getattr__(name: str) -> Any:  # noqa: ANN401 (PEP 562)
    """Import a name on first use, so that the command line starts at once."""
    if name not in _HOMES:
        raise AttributeError(f"module 'ethomarkov.figures' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"ethomarkov.figures.{_HOMES[name]}"), name)
