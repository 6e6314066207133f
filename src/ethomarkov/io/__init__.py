"""Files in and out: recordings from every format, results as netCDF."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ethomarkov.io.options import ReadOptions as ReadOptions
    from ethomarkov.io.registry import formats as formats
    from ethomarkov.io.registry import read as read
    from ethomarkov.io.registry import write_recording as write_recording

_HOMES = {"ReadOptions": "options", "formats": "registry", "read": "registry", "write_recording": "registry"}

__all__ = [*_HOMES]  # noqa: PLE0604 (all entries are names)


def __getattr__(name: str) -> Any:  # noqa: ANN401 (PEP 562)
    """Import a name on first use: to check a path, or to write a text, needs no numerical package."""
    if name not in _HOMES:
        raise AttributeError(f"module 'ethomarkov.io' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"ethomarkov.io.{_HOMES[name]}"), name)
