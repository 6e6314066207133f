"""What a person meets by name: public names have examples, fields have notes, results describe themselves."""

import dataclasses
import importlib
import importlib.util
import inspect
import pkgutil
import types
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ethomarkov
from ethomarkov._core.result import Result, field_notes
from ethomarkov.coarse.kinetics import find_dwells, jump_chain
from ethomarkov.coarse.passage import hopping_rates
from ethomarkov.io.bouts import Bouts
from ethomarkov.locomotion import Trajectory
from ethomarkov.model.application import QUANTITIES, Application
from ethomarkov.model.kinetics import Kinetics
from ethomarkov.posture import Events
from ethomarkov.synthetic import hopping_chain
from ethomarkov.validation.held_out import HeldOut
from ethomarkov.validation.runs import Runs
from ethomarkov.validation.splits import Comparison

NOT_EXPLAINED = {"SYSTEMS", "UnfoldMethod", "__version__"}
"""Public names that are neither functions nor classes, and so have no docstring of their own."""
MOST_LINES, MOST_CHARACTERS = 15, 1500


def sub_packages() -> list[types.ModuleType]:
    found = [one for one in pkgutil.iter_modules(ethomarkov.__path__, "ethomarkov.") if one.ispkg]
    return [importlib.import_module(one.name) for one in found if not one.name.split(".")[-1].startswith("_")]


def public_names() -> dict[str, object]:
    """List the public functions and classes by the shortest path to them."""
    packages = [ethomarkov, *(one for one in sub_packages() if hasattr(one, "__all__"))]
    names = {f"{one.__name__}.{name}": getattr(one, name) for one in packages for name in one.__all__}
    shortest: dict[int, str] = {}
    for path, thing in names.items():
        shortest.setdefault(id(thing), path)
    return {path: names[path] for path in shortest.values() if path.split(".")[-1] not in NOT_EXPLAINED}


def methods_of(kind: object) -> list[object]:
    if not isinstance(kind, type):
        return []
    members = [member for name, member in vars(kind).items() if not name.startswith("_")]
    return [getattr(member, "__func__", member) for member in members]


def dataclasses_of_package() -> dict[str, type]:
    modules = [importlib.import_module(one.name) for one in pkgutil.walk_packages(ethomarkov.__path__, "ethomarkov.")]
    return {
        f"{module.__name__}.{name}": kind
        for module in modules
        for name, kind in vars(module).items()
        if isinstance(kind, type)
        and dataclasses.is_dataclass(kind)
        and kind.__module__ == module.__name__
        and not name.startswith("_")
        and not module.__name__.startswith("ethomarkov.cli.")  # options have their line behind each field
    }


def contract() -> types.ModuleType:
    """Load the module that makes one of every result type, which the contract of files is tested with."""
    file = Path(__file__).parent / "io" / "test_result_contract.py"
    spec = importlib.util.spec_from_file_location("result_contract", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CONTRACT = contract()


def build_fitting(result: type, **parts: object) -> object:
    """Make a result from its annotations, but for some parts that fit each other."""
    return dataclasses.replace(CONTRACT.build(result, is_full=True), **parts)


def make_kinetics() -> object:
    symbols = hopping_chain([[0.9, 0.1], [0.2, 0.8]], 200, n_walks=2)
    return build_fitting(
        Kinetics,
        names=("a", CONTRACT.TEXT),
        dwells=find_dwells(symbols),
        jumps=jump_chain(symbols),
        rates=hopping_rates(symbols, np.arange(2), 1.0),
        passage=np.ones((2, 2)),
    )


def make_application() -> object:
    symbols, names = CONTRACT.make_symbols(), ("a", CONTRACT.TEXT)
    numbers = dict.fromkeys(QUANTITIES, np.ones(2))
    words = dict.fromkeys(("macrostate_names", "individuals", "flag", "reason"), names)
    return build_fitting(Application, symbols=symbols, macrostates=symbols.labels % 2, **numbers, **words)


PER_UNIT = ("chain", "memoryless", "shuffled", "trained", "unseen", "n_pairs")
CONTRACT.MAKERS |= {
    Trajectory: lambda: Trajectory.from_points(np.zeros((10, 2)), CONTRACT.make_series(), CONTRACT.TEXT),
    Kinetics: make_kinetics,
    Application: make_application,
    Events: lambda: build_fitting(
        Events, **dict.fromkeys(("kind", "start", "stop", "individual"), np.array([0, 1, 1])), observed=np.ones(2)
    ),
    Bouts: lambda: build_fitting(
        Bouts,
        **dict.fromkeys(("individual", "state", "start_row"), np.array([0, 1])),
        stop_row=np.array([1, 2]),
        offsets=np.array([0, 1, 2]),
    ),
    Runs: lambda: build_fitting(Runs, speed=np.ones(3), event_rates=np.ones((3, 3))),
    HeldOut: lambda: build_fitting(HeldOut, names=tuple("abc"), **dict.fromkeys(PER_UNIT, np.ones(3))),
    Comparison: lambda: Comparison(test=np.ones((4, 2, 1)), simulated=np.ones((4, 2, 5, 1))),
}
"""Results whose lines and tables take parts that fit each other."""

NAMES, KINDS = public_names(), dataclasses_of_package()
RESULTS = {kind.__name__: kind for kind in CONTRACT.RESULTS if issubclass(kind, Result)}


@pytest.fixture(params=[True, False], ids=["full", "sparse"])
def is_full(request):
    return request.param


# --- names -----------------------------------------------------------------------------------------------------------


def test_the_names_are_found():
    """If the search found nothing, nothing would be tested."""
    assert {"ethomarkov.MarkovChain", "ethomarkov.coarse.StateTree", "ethomarkov.validation.mode_density"} <= set(NAMES)
    assert len(NAMES) > 100
    assert len(KINDS) > 150
    assert len(RESULTS) > 70


@pytest.mark.parametrize("name", NAMES)
def test_the_first_line_of_a_public_name_is_a_sentence(name):
    text = inspect.getdoc(NAMES[name]) or ""
    first, _, rest = text.partition("\n")
    assert first[:1].isupper()
    assert first.endswith(".")
    assert not rest or rest.startswith("\n")


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_has_an_example(name):
    texts = [inspect.getdoc(thing) or "" for thing in (NAMES[name], *methods_of(NAMES[name]))]
    assert any(">>>" in text for text in texts)


@pytest.mark.parametrize("name", KINDS)
def test_every_field_has_a_note(name):
    kind = KINDS[name]
    notes = field_notes(kind)
    fields = [item.name for item in dataclasses.fields(kind) if not item.name.startswith("_")]
    assert [field for field in fields if not notes.get(field)] == []


# --- results ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_says_in_a_few_lines_what_it_is(name, is_full):
    made = CONTRACT.make(RESULTS[name], is_full)
    assert len(repr(made).splitlines()) <= MOST_LINES
    assert len(repr(made)) <= MOST_CHARACTERS
    assert repr(made).startswith(name)


@pytest.mark.parametrize("name", RESULTS)
def test_the_headline_is_one_line(name, is_full):
    headline = CONTRACT.make(RESULTS[name], is_full).headline()
    assert isinstance(headline, str)
    assert "\n" not in headline


@pytest.mark.parametrize("name", RESULTS)
def test_names_in_a_card_are_no_markup(name, is_full):
    """Texts of made results hold <b>, which no card uses by itself."""
    assert "<b>" in CONTRACT.TEXT
    card = CONTRACT.make(RESULTS[name], is_full)._repr_html_()
    assert name in card
    assert "<b>" not in card


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_makes_a_table(name):
    assert isinstance(CONTRACT.make(RESULTS[name], True).table(), pd.DataFrame)
