"""What the package imports is declared, and what is declared is used."""

import ast
import importlib.metadata
import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OTHER_NAMES = {"sklearn": "scikit-learn", "umap": "umap-learn", "distributed": "dask"}
"""Modules whose distribution is not called as they are; `distributed` comes with ``dask[distributed]``."""
BY_NAME = {"h5netcdf": 'engine="h5netcdf"'}
"""Packages that others import when they are told their name, with the words that tell it."""


def declared(requirements):
    return {re.match(r"[\w.-]+", requirement)[0].lower().replace("_", "-") for requirement in requirements}


def sources():
    return [path.read_text(encoding="utf-8") for path in sorted((ROOT / "src").rglob("*.py"))]


def modules_of(node):
    """Give the modules that a statement imports, and the extra that it asks for them, if any."""
    if isinstance(node, ast.Import):
        return {(alias.name, "") for alias in node.names}
    if isinstance(node, ast.ImportFrom):
        return {(node.module, "")}
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "require":
        return {(node.args[0].value, next(word.value.value for word in node.keywords if word.arg == "extra"))}
    return set()


def imported():
    """Give the distributions that the sources import, each with the extra that it is asked from."""
    found = {pair for text in sources() for node in ast.walk(ast.parse(text)) for pair in modules_of(node)}
    tops = {(module.partition(".")[0], extra) for module, extra in found}
    ours = {*sys.stdlib_module_names, "ethomarkov"}
    return {(OTHER_NAMES.get(top, top.replace("_", "-")), extra) for top, extra in tops if top not in ours}


def test_what_is_imported_is_declared():
    always = declared(PROJECT["dependencies"])
    extras = {extra: declared(needs) for extra, needs in PROJECT["optional-dependencies"].items()}
    missing = {(name, extra) for name, extra in imported() if name not in always | extras.get(extra, set())}
    assert missing == set()


def test_what_is_declared_is_used():
    told = {name for name, words in BY_NAME.items() if any(words in text for text in sources())}
    used = {name for name, _ in imported()} | told
    assert declared(PROJECT["dependencies"]) - used == set()
    for extra in {extra for _, extra in imported()} - {""}:
        assert declared(PROJECT["optional-dependencies"][extra]) - used == set(), extra


@pytest.mark.parametrize("module", ["sklearn", "umap"])
def test_a_name_that_differs_is_that_of_the_distribution(module):
    assert OTHER_NAMES[module] in importlib.metadata.packages_distributions()[module]
