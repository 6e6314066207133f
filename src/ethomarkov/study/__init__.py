"""Studies: a keyed graph of stages, its store on disk, its settings, and where the work is done."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ethomarkov.study.settings import CompleteSettings as CompleteSettings
    from ethomarkov.study.settings import Settings as Settings
    from ethomarkov.study.study import Study as Study
    from ethomarkov.study.study import run_study as run_study

_HOMES = {"CompleteSettings": "settings", "Settings": "settings", "Study": "study", "run_study": "study"}

__all__ = [*_HOMES]  # noqa: PLE0604 (all entries are names)


def __getattr__(name: str) -> Any:  # noqa: ANN401 (PEP 562)
    """Import a name on first use: settings alone need no numerical package."""
    if name not in _HOMES:
        raise AttributeError(f"module 'ethomarkov.study' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"ethomarkov.study.{_HOMES[name]}"), name)
