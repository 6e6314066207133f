"""Views of a study: summary, tables, page, explorer, movies; layouts of panels, which estimate nothing.

In a notebook they are ``study.report()``, ``study.explore()`` and ``study.movie()``.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ethomarkov.report.commands import draw_command_figures as draw_command_figures
    from ethomarkov.report.explorer import write_explorer as write_explorer
    from ethomarkov.report.results import StudyResults as StudyResults

_HOMES = {
    "StudyResults": "results",
    "draw_command_figures": "commands",
    "write_explorer": "explorer",
}

__all__ = [*_HOMES]  # noqa: PLE0604 (all entries are names)


def __getattr__(name: str) -> Any:  # noqa: ANN401 (PEP 562)
    """Import a name on first use, so that the command line starts at once."""
    if name not in _HOMES:
        raise AttributeError(f"module 'ethomarkov.report' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"ethomarkov.report.{_HOMES[name]}"), name)
