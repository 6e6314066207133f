"""Names that people give to states."""

from collections import Counter
from collections.abc import Sequence

from ethomarkov.exceptions import InputFormatError


def check_names(names: Sequence[str]) -> None:
    """Refuse names that are empty or stand for two states."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InputFormatError(
            f"Two states are named {', '.join(map(repr, twice))}; every state needs its own name. Choose another one."
        )
    if any(not name.strip() for name in names):
        raise InputFormatError("A state has an empty name; every state needs one. Choose a word for it.")
