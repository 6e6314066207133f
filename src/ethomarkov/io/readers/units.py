"""Units of time and length as WCON writes them: SI prefixes, abbreviations and words, factors and powers."""

import re
from collections import Counter

import numpy as np

from ethomarkov.exceptions import InputFormatError

LONGEST = 100
"""Characters of a unit; more are no unit, and brackets in brackets have an end."""

# Sizes in seconds and millimetres. The micro sign exists twice in Unicode, and the standard allows both.
_LETTERS = {"c": 1e-2, "m": 1e-3, "u": 1e-6, "\u00b5": 1e-6, "\u03bc": 1e-6, "n": 1e-9}
_LETTERS |= {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}
_WORDS = {"centi": 1e-2, "milli": 1e-3, "micro": 1e-6, "nano": 1e-9, "kilo": 1e3, "mega": 1e6, "giga": 1e9}
_ABBREVIATIONS = {
    "time": {"s": 1.0, "sec": 1.0, "min": 60.0, "h": 3600.0, "hr": 3600.0, "d": 86400.0},
    "length": {"m": 1e3},
    "": {},
}
_NAMES = {
    "time": {"second": 1.0, "minute": 60.0, "hour": 3600.0, "day": 86400.0},
    "length": {"metre": 1e3, "meter": 1e3},
    "": {},
}
# the abbreviations among these take no prefix: a min is no milli-inch
_PLAIN = {
    "time": {},
    "length": {"in": 25.4, "inch": 25.4, "inches": 25.4, "ft": 304.8, "foot": 304.8, "feet": 304.8}
    | {"micron": 1e-3, "microns": 1e-3},
    "": {"%": 1e-2, "percent": 1e-2},
}
_SIZES = {
    dimension: {p + u: a * b for p, a in ({"": 1.0} | _LETTERS).items() for u, b in _ABBREVIATIONS[dimension].items()}
    | {
        p + u + s: a * b
        for p, a in ({"": 1.0} | _WORDS).items()
        for u, b in _NAMES[dimension].items()
        for s in ("", "s")
    }
    | plain
    for dimension, plain in _PLAIN.items()
}
_EXAMPLES = {"time": "s, ms, min, h, hr, d", "length": "m, cm, mm, um, nm, micron, in, ft"}
_NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
# a number first, so that the sign in 1e-3 belongs to it
_TOKEN = re.compile(rf"\s*({_NUMBER.pattern}|[()*/^]|-|[^\s()*/^-]+)")


class _Unknown(Exception):  # noqa: N818 (it never leaves this module)
    """Something in a unit is not understood."""


def parse_unit(text: object, dimension: str, where: str = "unit") -> float:
    """Convert a unit of WCON to seconds or millimetres.

    Parameters
    ----------
    text
        A unit with factors: ``"mm"``, ``"0.04*s"``, ``"in/72"``, ``"mm^2/(10*mm)"``.
    dimension
        "time" or "length".
    where
        Where it stands, for the error.

    Examples
    --------
    >>> parse_unit("0.04*s", "time"), parse_unit("in/10", "length")
    (0.04, 2.54)
    """
    try:
        if not isinstance(text, str) or len(text) > LONGEST:
            raise _Unknown
        size, powers = _Parser(text).read_all()
        if not np.isfinite(size) or size <= 0 or {kind: n for kind, n in powers.items() if n} != {dimension: 1}:
            raise _Unknown
    except (_Unknown, OverflowError, ZeroDivisionError):
        shown = repr(text) if len(repr(text)) <= LONGEST else repr(text)[:LONGEST] + "…"
        raise InputFormatError(
            f"{where} is {shown}, which is not a unit of {dimension} known here. Accepted are "
            f"{_EXAMPLES[dimension]} (SI prefixes, English words), with factors such as '0.04*s' or 'in/72'. "
            "Correct the unit, or convert the numbers."
        ) from None
    return size


class _Parser:
    """Reads products, quotients, whole powers and brackets, in the usual order."""

    def __init__(self, text: str) -> None:
        self.tokens: list[str] = [match[0] for match in _TOKEN.findall(text)] if text.strip() else []

    def read_all(self) -> tuple[float, Counter[str]]:
        size, powers = self._product()
        if self.tokens:
            raise _Unknown
        return size, powers

    def _product(self) -> tuple[float, Counter[str]]:
        size, powers = self._power()
        while self.tokens and self.tokens[0] in "*/":
            sign = 1 if self.tokens.pop(0) == "*" else -1
            other, more = self._power()
            size *= other**sign
            powers.update({kind: sign * n for kind, n in more.items()})
        return size, powers

    def _power(self) -> tuple[float, Counter[str]]:
        size, powers = self._term()
        if not self.tokens or self.tokens[0] != "^":
            return size, powers
        self.tokens.pop(0)
        sign = -1 if self.tokens[:1] == ["-"] else 1
        if sign < 0:
            self.tokens.pop(0)
        exponent = self._pop()
        if not (exponent.isascii() and exponent.isdigit()):
            raise _Unknown
        power = sign * int(exponent)
        return size**power, Counter({kind: power * n for kind, n in powers.items()})

    def _term(self) -> tuple[float, Counter[str]]:
        token = self._pop()
        if token == "(":
            inside = self._product()
            if self._pop() != ")":
                raise _Unknown
            return inside
        for dimension, sizes in _SIZES.items():
            if token in sizes:
                return sizes[token], Counter({dimension: 1} if dimension else {})
        if not (token.isascii() and _NUMBER.fullmatch(token)):
            raise _Unknown
        return float(token), Counter()

    def _pop(self) -> str:
        if not self.tokens:
            raise _Unknown
        return self.tokens.pop(0)
