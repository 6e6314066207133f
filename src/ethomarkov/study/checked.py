"""Settings whose mistakes are errors of this package."""

import difflib
import reprlib
from collections.abc import Sequence
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from ethomarkov.exceptions import SettingsError

SHOWN_CHARACTERS = 80
"""Of a value in a message; it may be a megabyte."""


class CheckedSettings(BaseModel):
    """Settings that are what they say, or raise `SettingsError` with every mistake in one message."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    def __init__(self, **values: Any) -> None:  # noqa: ANN401
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise _refusal(type(self), error) from error

    # pydantic's own mark of an init that adds nothing to what is checked; else it would call it within its checks
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    def __setattr__(self, name: str, value: object) -> None:
        try:
            super().__setattr__(name, value)
        except ValidationError as error:
            raise SettingsError(
                f"{name} cannot be changed: settings stay as they were made. Make new ones, as by "
                f"{type(self).__name__}({name}=...)."
            ) from error

    @classmethod
    def model_validate(cls, obj: Any, **options: Any) -> Self:  # noqa: ANN401
        """Check values, as of a file, and make settings of them."""
        try:
            return super().model_validate(obj, **options)
        except ValidationError as error:
            raise _refusal(cls, error) from error

    @classmethod
    def model_validate_json(cls, json_data: str | bytes | bytearray, **options: Any) -> Self:  # noqa: ANN401
        """Check settings that were written as JSON."""
        try:
            return super().model_validate_json(json_data, **options)
        except ValidationError as error:
            raise _refusal(cls, error) from error


def mistakes_in(error: SettingsError) -> list[ErrorDetails]:
    """List the mistakes that an error is about, as pydantic tells them."""
    return error.__cause__.errors() if isinstance(error.__cause__, ValidationError) else []


def describe_mistake(item: ErrorDetails, name: str, known: Sequence[str]) -> str:
    """Say what is wrong with a setting.

    Parameters
    ----------
    item
        As pydantic tells it.
    name
        By which the setting was given.
    known
        Names that there are.
    """
    if item["type"] == "value_error":  # of our own, about several settings
        return item["msg"].removeprefix("Value error, ")
    if item["type"] != "extra_forbidden":
        return f"{name} is {show_value(item['input'])}: {item['msg']}"
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"; did you mean {close[0]}?" if close else f"; there are {', '.join(known)}"
    return f"there is no setting {show_value(name)!r}{hint}"


def show_value(value: object) -> str:
    """Write a value as a message can hold it, however long or deep it is.

    Parameters
    ----------
    value
        Of a setting or an option.
    """
    text = value if isinstance(value, str) else _Shown().repr(value)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"


class _Shown(reprlib.Repr):
    """Writes values a few levels deep."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 3

    def repr_int(self, x: int, level: int) -> str:
        if -(10**30) < x < 10**30:
            return str(x)
        return f"a number of {round(x.bit_length() * 0.30103)} digits"  # Python writes no more than 4300


def _refusal(settings: type[BaseModel], error: ValidationError) -> SettingsError:
    known = list(settings.model_fields)
    mistakes = (
        describe_mistake(item, ".".join(map(str, item["loc"])) or error.title, known) for item in error.errors()
    )
    return SettingsError(f"{'; '.join(mistakes)}. Correct it, or leave it out.")
