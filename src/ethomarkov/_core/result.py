"""Conventions shared by every frozen result: named dimensions, units, read-only arrays."""

import dataclasses
from typing import Any

import numpy as np


def array_field(*dims: str, unit: str = "", **options: Any) -> Any:  # noqa: ANN401 (as dataclasses.field)
    """Declare an array of a result with the names of its dimensions, as stored in files.

    A last name "..." stands for any number of further dimensions. A mapping or tuple of arrays is declared in the same
    way, with the dimensions that each of them has.
    """
    return dataclasses.field(metadata={"dims": dims, "unit": unit}, **options)


def freeze_arrays(result: object) -> None:
    """Make every array of a frozen dataclass read-only, without touching the caller's own array."""
    for item in dataclasses.fields(result):  # type: ignore[arg-type]
        value = getattr(result, item.name)
        if isinstance(value, np.ndarray) and value.flags.writeable:
            view = value.view()
            view.setflags(write=False)
            object.__setattr__(result, item.name, view)
