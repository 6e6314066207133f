"""Packages of the extras, imported on first use."""

import importlib
from types import ModuleType

from ethomarkov.exceptions import MissingDependencyError


def require(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import a package of an extra, or say how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        if error.name is not None and error.name.partition(".")[0] != package:
            raise
        raise MissingDependencyError(f'{package} is needed for {purpose}: pip install "ethomarkov[{extra}]"') from error
