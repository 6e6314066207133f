"""Text and numbers out of pickled attributes without unpickling: nothing is imported, built or called.

PyTables pickles attributes that are lists, as the column names of a table. The few opcodes that make lists, tuples
and dicts of text and numbers are followed here; any other one is refused.
"""

import pickletools
from collections.abc import Callable
from typing import Any

from ethomarkov.exceptions import InputFormatError

_MARK = object()
_CONSTANTS: dict[str, object] = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "MARK": _MARK}
_MAKERS: dict[str, Callable[[], object]] = {"EMPTY_LIST": list, "EMPTY_TUPLE": tuple, "EMPTY_DICT": dict}
_ARGUMENTS = {
    "INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT", "UNICODE", "BINUNICODE",
    "SHORT_BINUNICODE", "BINUNICODE8", "STRING", "BINSTRING", "SHORT_BINSTRING",
}  # fmt: skip
_PUTS = {"PUT", "BINPUT", "LONG_BINPUT"}
_GETS = {"GET", "BINGET", "LONG_BINGET"}
_SHORT_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_IGNORED = {"PROTO", "FRAME", "STOP"}


def read_plain_pickle(data: bytes) -> Any:  # noqa: ANN401 (any plain value)
    r"""Decode a pickle of lists, tuples and dicts of text and numbers; refuse any other.

    Parameters
    ----------
    data
        The pickle, of any protocol.

    Examples
    --------
    >>> read_plain_pickle(b"(lp0\nVnose\np1\naI3\na.")
    ['nose', 3]
    """
    machine = _Machine()
    try:
        for opcode, argument, _ in pickletools.genops(data):
            machine.step(opcode.name, argument)
        (value,) = machine.stack
    except InputFormatError:
        raise
    except (ValueError, IndexError, KeyError, TypeError, AttributeError) as error:
        raise InputFormatError(f"holds a damaged list of names ({error})") from error
    return value


class _Machine:
    """A stack and a memo, as a pickle expects them, that know of plain values alone."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}
        self.actions: dict[str, Callable[[], None]] = {
            "LIST": lambda: self.stack.append(self._pop_to_mark()),
            "TUPLE": lambda: self.stack.append(tuple(self._pop_to_mark())),
            "DICT": lambda: self.stack.append(_pairs(self._pop_to_mark())),
            "APPEND": lambda: self._extend([self.stack.pop()]),
            "APPENDS": lambda: self._extend(self._pop_to_mark()),
            "SETITEM": lambda: self._update([self.stack.pop(-2), self.stack.pop()]),
            "SETITEMS": lambda: self._update(self._pop_to_mark()),
            "MEMOIZE": lambda: self.memo.update({len(self.memo): self.stack[-1]}),
        }

    def step(self, name: str, argument: Any) -> None:  # noqa: ANN401 (what the opcode carries)
        """Follow one opcode."""
        if name in _ARGUMENTS:
            self.stack.append(argument)
        elif name in _CONSTANTS:
            self.stack.append(_CONSTANTS[name])
        elif name in _MAKERS:
            self.stack.append(_MAKERS[name]())
        elif name in self.actions:
            self.actions[name]()
        else:
            self._use_memo(name, argument)

    def _use_memo(self, name: str, argument: Any) -> None:  # noqa: ANN401
        if name in _PUTS:
            self.memo[argument] = self.stack[-1]
        elif name in _GETS:
            self.stack.append(self.memo[argument])
        elif name in _SHORT_TUPLES:
            n_items = _SHORT_TUPLES[name]
            self.stack[-n_items:] = [tuple(self.stack[-n_items:])]
        elif name not in _IGNORED:
            raise InputFormatError("holds a pickled object, which could run code; only text and numbers are accepted")

    def _pop_to_mark(self) -> list[Any]:
        place = len(self.stack) - 1 - self.stack[::-1].index(_MARK)
        items = self.stack[place + 1 :]
        del self.stack[place:]
        return items

    def _extend(self, items: list[Any]) -> None:
        self.stack[-1].extend(items)

    def _update(self, items: list[Any]) -> None:
        self.stack[-1].update(_pairs(items))


def _pairs(items: list[Any]) -> dict[Any, Any]:
    return dict(zip(items[::2], items[1::2], strict=True))
