"""Versions of code: a fingerprint of a function and of all modules of this package that it reaches."""

import functools
import hashlib
import inspect
import re
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ethomarkov import __version__

PACKAGE = "ethomarkov"
ROOT = Path(__file__).parents[1]
CONSTANTS = (int, float, str, bytes, tuple, list, dict)
"""Values of a module that count as its code; sets have no order to be written in."""
IMPORT = re.compile(rb"^\s*(?:from|import)\s+(ethomarkov\.[\w.]+)(?:\s+import\s+\(?([\w, ]*))?", re.MULTILINE)


@functools.cache
def code_version(function: Callable[..., Any]) -> str:
    """Compute a fingerprint of the source of a function and of every module that it can reach.

    Of the function's own module only those functions count that it calls, so that stages which stand in one file have
    versions of their own; other modules count whole, with all that they import.

    Parameters
    ----------
    function
        Of a module of this package, or of any other.

    Examples
    --------
    >>> from ethomarkov.markov import slow_spectrum
    >>> code_version(slow_spectrum) == code_version(slow_spectrum)
    True
    """
    own, modules = _reach(function)
    hasher = hashlib.blake2b(__version__.encode(), digest_size=16)
    for text in own:
        hasher.update(text)
    for name in sorted(_closure(modules)):
        hasher.update(name.encode() + b"\0" + source_digest(name))
    return hasher.hexdigest()


@functools.cache
def source_of(module: str) -> bytes:
    """Read the source of a module; empty where only compiled code is installed, and then the version must tell."""
    place = ROOT.joinpath(*module.split(".")[1:])
    for file in (place.with_name(f"{place.name}.py"), place / "__init__.py"):
        try:
            return file.read_bytes().replace(b"\r\n", b"\n")
        except OSError:
            continue
    return b""


@functools.cache
def source_digest(module: str) -> bytes:
    """Give the fingerprint of the source of a module."""
    return hashlib.blake2b(source_of(module), digest_size=16).digest()


def _reach(function: Callable[..., Any]) -> tuple[list[bytes], set[str]]:
    """List the sources of a function and of those that it calls in its own module, and the other modules it names."""
    home, todo, seen = function.__module__, [function], set()
    sources, modules = [], set()
    while todo:
        one = todo.pop()
        seen.add(one)
        sources.append(_text(one))
        scope = vars(sys.modules[home])
        for name in _names(one):
            value = scope.get(name)
            where = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
            if where == home and (inspect.isfunction(value) or inspect.isclass(value)) and value not in seen:
                todo.append(value)
            elif isinstance(value, CONSTANTS):
                sources.append(f"{name}={value!r}".encode())  # a constant of the module
            # a dotted name is one that is imported within the function
            modules |= {one for one in (where, name) if one is not None and one.startswith(f"{PACKAGE}.")}
    return sorted(sources), modules - {home}


def _text(value: Any) -> bytes:  # noqa: ANN401 (a function or a class)
    try:
        return inspect.getsource(value).encode()
    except (OSError, TypeError):
        return str(getattr(value, "__qualname__", "")).encode()


def _names(value: Any) -> Iterator[str]:  # noqa: ANN401 (a function or a class)
    """List the global names that a function, or the methods of a class, mention."""
    if inspect.isclass(value):
        for one in vars(value).values():
            if inspect.isfunction(one):
                yield from _code_names(one.__code__)
        return
    yield from _code_names(inspect.unwrap(value).__code__)
    hints = getattr(value, "__annotations__", {})
    yield from (getattr(hint, "__name__", "") for hint in hints.values())


def _code_names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _code_names(constant)


def _closure(modules: set[str]) -> set[str]:
    """Follow imports within the package."""
    todo, reached = list(modules), set(modules)
    while todo:
        new = set(_imports(todo.pop())) - reached
        reached |= new
        todo += new
    return reached


@functools.cache
def _imports(module: str) -> tuple[str, ...]:
    """List the modules of the package that a module imports, at its top or within a function."""
    found = []
    for where, names in IMPORT.findall(source_of(module)):
        home = where.decode()
        found.append(home)
        # a name that is imported may be a module itself
        found += [f"{home}.{name.strip()}" for name in names.decode().split(",") if _is_module(home, name.strip())]
    return tuple(found)


@functools.cache
def _is_module(package: str, name: str) -> bool:
    return bool(name) and name.islower() and bool(source_of(f"{package}.{name}"))
