"""Stages: typed functions that know what they need, which settings they read, and what they give.

A stage is made from a function by the decorator `stage`. Its parameters before the star are results that it needs,
those after it are settings (`threads` and `progress` only say how the work is done), and its return type is what it
gives: one result of the function's name, or one for every field of a named tuple. Its key is a digest of the content of
what it needs, of the values of its settings, and of its code.
"""

import inspect
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ethomarkov.io.digest import digest
from ethomarkov.study.version import code_version

HOW = ("threads", "progress")
"""Parameters that change no result."""
Role = Literal["first", "core", "analysis"]
"""When a stage runs: before the choice from the data, in every study, or when somebody asks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """What the time of a stage depends on.

    Parameters
    ----------
    n_frames, n_animals
        Recorded.
    settings
        Values of all settings that are known, by name.
    threads
        Cores.
    """

    n_frames: int
    n_animals: int
    settings: Mapping[str, Any]
    threads: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One step of a study.

    Parameters
    ----------
    name
        Of the stage, and of its group in files.
    function
        Computes the results.
    needs
        Names of the results that it depends on.
    settings
        Settings that it depends on, with their defaults.
    gives
        Classes of its results, by name. A result may be None: then it does not apply.
    optional
        Needs that may be None.
    how
        Which of `threads` and `progress` the function takes.
    role
        When it runs.
    is_kept
        Whether results are kept in files; those that only put others together are not.
    by_content
        Whether results that are not kept are recognised by what they are, and not by what they are put together from:
        for small ones that stay the same when their parts change.
    seconds
        Estimates its time.
    """

    name: str
    function: Callable[..., Any]
    needs: tuple[str, ...]
    settings: Mapping[str, Any]
    gives: Mapping[str, type]
    optional: frozenset[str]
    how: tuple[str, ...]
    role: Role
    is_kept: bool
    by_content: bool
    seconds: Callable[[Size], float]

    @property
    def version(self) -> str:
        """Fingerprint of the code that computes the results."""
        return code_version(self.function)

    def key(self, values: Mapping[str, Any], digests: Mapping[str, str]) -> str:
        """Compute the fingerprint of everything that the results depend on.

        Parameters
        ----------
        values
            Of its settings.
        digests
            Of the content of what it needs.
        """
        chosen = {name: values[name] for name in self.settings}
        needed = {name: digests[name] for name in self.needs}
        return digest((self.name, self.version, chosen, needed))

    def compute(
        self, needed: Mapping[str, Any], values: Mapping[str, Any], threads: int, progress: Callable[..., None] | None
    ) -> dict[str, Any]:
        """Call the function and give its results by name."""
        how = {"threads": threads, "progress": progress}
        answer = self.function(
            *(needed[name] for name in self.needs),
            **{name: values[name] for name in self.settings},
            **{name: how[name] for name in self.how},
        )
        return dict(zip(self.gives, answer, strict=True)) if len(self.gives) > 1 else {next(iter(self.gives)): answer}


def stage(
    *,
    seconds: Callable[[Size], float] = lambda size: 0.0,
    role: Role = "core",
    is_kept: bool = True,
    by_content: bool = False,
) -> Callable[[Callable[..., Any]], Stage]:
    """Make a stage of a function; see `Stage`.

    Parameters
    ----------
    seconds, role, is_kept, by_content
        See `Stage`.
    """

    def make(function: Callable[..., Any]) -> Stage:
        parameters = inspect.signature(function).parameters.values()
        named = [one for one in parameters if one.kind is one.KEYWORD_ONLY]
        return Stage(
            name=function.__name__,
            function=function,
            needs=tuple(one.name for one in parameters if one.kind is not one.KEYWORD_ONLY),
            settings={one.name: one.default for one in named if one.name not in HOW},
            gives=_gives(function),
            optional=_optional(function),
            how=tuple(one.name for one in named if one.name in HOW),
            role=role,
            is_kept=is_kept,
            by_content=by_content,
            seconds=seconds,
        )

    return make


def _gives(function: Callable[..., Any]) -> dict[str, type]:
    """Read off the return type what a function gives."""
    hint = typing.get_type_hints(function)["return"]
    if isinstance(hint, type) and issubclass(hint, tuple) and hasattr(hint, "_fields"):
        return {name: _plain(kind) for name, kind in typing.get_type_hints(hint).items()}
    return {function.__name__: _plain(hint)}


def _optional(function: Callable[..., Any]) -> frozenset[str]:
    hints = typing.get_type_hints(function)
    return frozenset(name for name, hint in hints.items() if type(None) in typing.get_args(hint))


def _plain(hint: Any) -> type:  # noqa: ANN401 (an annotation)
    """Give the class of a result that may be None."""
    if isinstance(hint, types.UnionType):
        hint = next(option for option in typing.get_args(hint) if option is not type(None))
    return typing.cast("type", hint)


def producers(stages: Iterator[Stage] | tuple[Stage, ...]) -> dict[str, Stage]:
    """Map every result to the stage that gives it."""
    return {name: one for one in stages for name in one.gives}
