"""Options of commands from models of settings, so that a setting is named, explained and limited in one place."""

import dataclasses
import typing
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter

from ethomarkov._core.notes import field_notes
from ethomarkov.study.settings import ADVANCED, Option, Settings

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from ethomarkov.study.cluster_settings import ClusterSettings
    from ethomarkov.study.settings import SettingsFile

CLUSTER_SECTION = "cluster"
OPTION = "option"
MODEL = Group("Model", sort_key=1)
GROUPS = {"Model": MODEL, ADVANCED: Group(ADVANCED, sort_key=2)}


def option_name(setting: str) -> str:
    """Give the option by which a setting is given on the command line.

    Examples
    --------
    >>> option_name("n_states"), option_name("drag_ratio")
    ('--microstates', '--drag-ratio')
    """
    found = _option(setting)
    return f"--{(found.name if found and found.name else setting).replace('_', '-')}"


def make_options(name: str, settings: Sequence[str] = (), *, show_defaults: bool = True) -> type:
    """Make a dataclass of options, one for each setting; an option that is not given is None.

    Parameters
    ----------
    name
        Of the class.
    settings
        Names of settings of a study; all that are options by default.
    show_defaults
        Whether the help shows the defaults of a new study.
    """
    chosen = settings or [one for one in Settings.model_fields if _option(one) is not None]
    notes, kinds = field_notes(Settings), typing.get_type_hints(Settings)
    made: list[tuple[str, Any, Any]] = []
    for one in chosen:
        parameter = Parameter(
            name=option_name(one),
            help=notes[one],
            group=_group(one),
            show_default=_default(one) if show_defaults else False,
            negative=_negative(one),
        )
        item = dataclasses.field(default=None, metadata={OPTION: option_name(one)})
        made.append((one, Annotated[kinds[one] | None, parameter], item))
    options = dataclasses.make_dataclass(name, made, frozen=True)
    options.__module__ = __name__  # cyclopts takes classes of the standard library for plain values
    return Parameter(name="*")(options)


def given_settings(options: Any) -> dict[str, Any]:  # noqa: ANN401 (a dataclass that `make_options` made)
    """Give the settings that were given as options, by their own names."""
    values = {item.name: getattr(options, item.name) for item in dataclasses.fields(options) if OPTION in item.metadata}
    return {name: value for name, value in values.items() if value is not None}


def option_words(options: Any) -> list[str]:  # noqa: ANN401 (a dataclass that `make_options` made)
    """Write the settings that were given as options as they are typed."""
    return [word for name, value in given_settings(options).items() for word in (option_name(name), str(value))]


def chosen_settings(
    options: Any,  # noqa: ANN401 (a dataclass that `make_options` made)
    file: Path | None,
    seed: int | None,
) -> "tuple[Settings, ClusterSettings]":
    """Take the settings of a file, then those of the command line; all mistakes are told at once.

    Parameters
    ----------
    options
        Of the command line.
    file
        TOML file of settings, if one was named.
    seed
        Random seed, if one was given.
    """
    from ethomarkov.exceptions import SettingsError
    from ethomarkov.study.checked import mistakes_in
    from ethomarkov.study.cluster_settings import ClusterSettings
    from ethomarkov.study.settings import read_settings

    said = given_settings(options) | ({} if seed is None else {"seed": seed})
    read = read_settings(file) if file is not None else None
    filed = dict(read.values) if read is not None else {}
    machine = filed.pop(CLUSTER_SECTION, {})
    problems: list[str] = []
    settings, cluster = Settings(), ClusterSettings()
    try:
        settings = Settings.model_validate(filed | said)
    except SettingsError as error:
        problems += [_problem(item, set(said), read) for item in mistakes_in(error)]
    try:
        cluster = ClusterSettings.model_validate(machine)
    except SettingsError as error:
        problems += [_cluster_problem(item, read) for item in mistakes_in(error)]
    if problems:
        raise SettingsError(f"{'; '.join(problems)}. Correct it, or leave it out.")
    return settings, cluster


def _option(setting: str) -> Option | None:
    return next((one for one in Settings.model_fields[setting].metadata if isinstance(one, Option)), None)


def _group(setting: str) -> Group:
    found = _option(setting)
    return MODEL if found is None else GROUPS[found.group]


def _default(setting: str) -> Any:  # noqa: ANN401 (what cyclopts takes)
    """Give the default as the help shows it; of what is chosen from the data, the explanation tells."""
    default = Settings.model_fields[setting].default
    return False if default is None else f"{default}".lower() if isinstance(default, bool) else f"{default}"


def _negative(setting: str) -> Any:  # noqa: ANN401 (what cyclopts takes)
    return None if isinstance(Settings.model_fields[setting].default, bool) else ()


def _problem(item: "ErrorDetails", said: set[str], file: "SettingsFile | None") -> str:
    """Say what is wrong with a setting, under the name by which it was given, and where."""
    from ethomarkov.study.checked import describe_mistake

    name = str(item["loc"][0]) if item["loc"] else ""
    if name in said:
        return describe_mistake(item, option_name(name), ())
    place = f"{file.place(item['loc'])}: " if file is not None and name else ""
    return place + describe_mistake(item, name, [*Settings.model_fields, CLUSTER_SECTION])


def _cluster_problem(item: "ErrorDetails", file: "SettingsFile | None") -> str:
    """Say what is wrong with a setting of the cluster, and where; it can only stand in a file."""
    from ethomarkov.study.checked import describe_mistake
    from ethomarkov.study.cluster_settings import ClusterSettings

    name = str(item["loc"][0]) if item["loc"] else CLUSTER_SECTION
    place = f"{file.place((CLUSTER_SECTION, *item['loc']))}: " if file is not None else ""
    return place + describe_mistake(item, name, list(ClusterSettings.model_fields))
