"""Results and analyses as attributes of a study, with what a person sees of them in a notebook."""

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast, overload

from ethomarkov.exceptions import SettingsError
from ethomarkov.study.effort import LIMITS, scaled_options
from ethomarkov.study.stage import Stage, producers

if TYPE_CHECKING:
    from ethomarkov.study.study import Study

Value = TypeVar("Value")


class Stored(Generic[Value]):
    """A result that every study has, read or computed when it is asked for.

    Parameters
    ----------
    doc
        What it is.
    """

    def __init__(self, doc: str) -> None:
        self.__doc__ = doc

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, study: None, owner: type) -> "Stored[Value]": ...
    @overload
    def __get__(self, study: "Study", owner: type) -> Value: ...
    def __get__(self, study: "Study | None", owner: type) -> "Stored[Value] | Value":
        return self if study is None else cast("Value", study.graph.result(self._name))


class Analysis(Generic[Value]):
    """An analysis as a method of a study: its settings are keywords, its result is computed once and cached.

    Parameters
    ----------
    stage
        That computes it.
    stages
        All stages; those among them that this one needs bring their settings along.
    """

    def __init__(self, stage: Stage, stages: Sequence[Stage] = ()) -> None:
        self._stage = stage
        self.__doc__ = stage.function.__doc__
        self.__signature__ = _signature(stage, stages)

    @overload
    def __get__(self, study: None, owner: type) -> "Analysis[Value]": ...
    @overload
    def __get__(self, study: "Study", owner: type) -> "Asked[Value]": ...
    def __get__(self, study: "Study | None", owner: type) -> "Analysis[Value] | Asked[Value]":
        return self if study is None else Asked(study, self._stage.name, self)

    def __call__(self, study: "Study", **options: Any) -> Value:  # noqa: ANN401 (settings of the analysis)
        """Give the result for a study, as ``Study.kinetics(study, level=3)``."""
        return self.__get__(study, type(study))(**options)


class Asked(Generic[Value]):
    """An analysis of one study, ready to be called with settings by keyword.

    Parameters
    ----------
    study
        Which.
    name
        Of the analysis.
    analysis
        Whose documentation and signature it has.
    """

    def __init__(self, study: "Study", name: str, analysis: Analysis[Value]) -> None:
        self._study, self.__name__ = study, name
        self.__doc__, self.__signature__ = analysis.__doc__, analysis.__signature__

    def __call__(self, *values: Any, **options: Any) -> Value:  # noqa: ANN401 (settings of the analysis)
        """Give the result: from the cache if it is there, else computed now."""
        names = list(self.__signature__.parameters)
        if len(values) > len(names):
            raise SettingsError(f"{self.__name__} takes at most {len(names)} settings: {', '.join(names)}.")
        given = scaled_options(self._study, self.__name__, {**dict(zip(names, values, strict=False)), **options})
        return cast("Value", self._study.compute(self.__name__, **given))

    def __repr__(self) -> str:
        first = (self.__doc__ or "").strip().partition("\n")[0]
        return f"study.{self.__name__}{self.__signature__}: {first}"


def _signature(stage: Stage, stages: Sequence[Stage]) -> inspect.Signature:
    """Give the settings of an analysis and of the analyses that it needs, those of the study itself left out."""
    made_by, settings, waiting = producers(tuple(stages)), dict[str, Any](), [stage]
    while waiting:
        one = waiting.pop(0)
        # what has no default is one of the study's own settings, but for the level of the tree
        own = {name: default for name, default in one.settings.items() if default is not inspect.Parameter.empty}
        settings |= {**own, **({"level": None} if "level" in one.settings and "level" not in own else {})} | settings
        waiting += [made_by[need] for need in one.needs if need in made_by and made_by[need].role == "analysis"]
    if stage.name in LIMITS:  # chosen by the data
        settings |= dict.fromkeys({"n_runs", "minutes", "entry_walks"} & set(settings))
    either = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature([inspect.Parameter(name, either, default=value) for name, value in settings.items()])
