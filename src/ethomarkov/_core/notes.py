"""What fields and parameters are, read from the docstring that says it."""

import inspect
import re


def field_notes(kind: type) -> dict[str, str]:
    """Read what each field of a class is from the section Parameters of its docstring, the one place where it is said.

    Parameters
    ----------
    kind
        A class with a numpydoc docstring.

    Examples
    --------
    >>> from ethomarkov.study.settings import Settings
    >>> field_notes(Settings)["n_modes"]
    'Posture modes.'
    """
    text = inspect.cleandoc(kind.__doc__ or "")
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n-{3,}\n|\Z)", text, flags=re.MULTILINE | re.DOTALL)
    found = re.findall(r"^(\w[\w, ]*)\n((?:    .*\n?|\n)+)", section[1] if section else "", flags=re.MULTILINE)
    return {name: " ".join(words.split()) for names, words in found for name in re.split(r",\s*", names)}
