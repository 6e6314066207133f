"""States under the names that the user gave them, in results that were computed under their own."""

import dataclasses
import re
from collections.abc import Mapping
from typing import Any, TypeVar

Found = TypeVar("Found")
STATE_FIELDS: Mapping[str, tuple[str, ...]] = {
    "Kinetics": ("names",),
    "Circulation": ("names",),
    "StateCoverage": ("names",),
    "FoodCurve": ("names",),
    "Matching": ("names",),
    "Check": ("statistic",),
    "Agreement": ("name",),
}
"""Fields that name states, or begin a phrase that ends with the name of one."""
FIELDS_OF_STATES: Mapping[str, tuple[str, ...]] = {"Runs": ("name",), "BearingSpectrum": ("individuals",)}
"""The same in runs of states; in those of animals they name animals."""
TEXT_FIELDS: Mapping[str, tuple[str, ...]] = {"Validation": ("warnings",), "RunSet": ("reasons",)}
"""Fields of sentences, in which the name of a state stands in such a phrase or in quotation marks."""
PHRASE = "transition rate out of "


def renamed(result: Found, names: Mapping[str, str], *, is_of_states: bool = False) -> Found:
    """Put new names of states into a result.

    Results are computed under the names that the states have by themselves, so that a new name costs no computing.

    Parameters
    ----------
    result
        Of any kind.
    names
        From given names to new ones.
    is_of_states
        Whether runs in it are named after states, not after animals.
    """
    if not names:
        return result
    phrases = {f"{PHRASE}{old}": f"{PHRASE}{new}" for old, new in names.items()}
    fields = {**STATE_FIELDS, **FIELDS_OF_STATES} if is_of_states else STATE_FIELDS
    changed: Found = _walk(result, {**names, **phrases}, fields)
    return changed


def _reworded(texts: tuple[str, ...], names: Mapping[str, str]) -> tuple[str, ...]:
    """Put new names into sentences."""
    known = {old: new for old, new in names.items() if old.startswith(PHRASE)}
    known |= {repr(old): repr(new) for old, new in names.items()}
    # the longest first, and none that is only the beginning of a longer name
    either = "|".join(map(re.escape, sorted(known, key=len, reverse=True)))
    pattern = re.compile(rf"(?:{either})(?:(?<=')|(?![\w ]))")
    return tuple(pattern.sub(lambda found: known[found[0]], text) for text in texts)


def _walk(value: Any, names: Mapping[str, str], fields: Mapping[str, tuple[str, ...]]) -> Any:  # noqa: ANN401
    if isinstance(value, tuple) and value and dataclasses.is_dataclass(value[0]):
        return tuple(_walk(one, names, fields) for one in value)
    if isinstance(value, Mapping):
        return {names.get(key, key): _walk(one, names, fields) for key, one in value.items()}
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return value
    changes = {}
    for item in dataclasses.fields(value):
        old = getattr(value, item.name)
        if item.name in fields.get(type(value).__name__, ()):
            new = names.get(old, old) if isinstance(old, str) else tuple(names.get(one, one) for one in old)
        elif item.name in TEXT_FIELDS.get(type(value).__name__, ()):
            new = _reworded(old, names)
        else:
            new = _walk(old, names, fields)
        if new is not old:
            changes[item.name] = new
    return dataclasses.replace(value, **changes) if changes else value
