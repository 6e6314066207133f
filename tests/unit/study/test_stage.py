"""Stages read off functions, and the contract of their keys."""

import inspect
from typing import NamedTuple

import pytest

from ethomarkov._core.series import Series
from ethomarkov.exceptions import SettingsError
from ethomarkov.markov import MarkovChain
from ethomarkov.study import Settings, Study
from ethomarkov.study.settings import CompleteSettings
from ethomarkov.study.stage import HOW, Size, stage
from ethomarkov.study.study import STAGES

OTHER = {
    "n_modes": 4,
    "n_delays": 9,
    "n_states": 10,
    "lag": 1.0,
    "scan": True,
    "min_measure": 0.05,
    "n_behaviours": 2,
    "n_resamples": 1,
    "cut": "paper",
    "partition": "minibatch",
    "n_walks": 1,
    "simulated_minutes": 0.1,
    "simulation_lag": 2.25,
    "simulation_passage": 0.375,
    "unfolding": "paper",
    "drag_ratio": 20.0,
    "scheme": "paper",
    "seed": 3,
    "names": {"run": "crawl"},
}
KEPT = [one for one in STAGES if one.is_kept]
ANALYSES = [one for one in KEPT if one.role == "analysis"]
OPTIONS = sorted({name for one in ANALYSES for name in one.settings})
names = {"argvalues": KEPT, "ids": lambda one: one.name}


class Pair(NamedTuple):
    """Two results."""

    left: Series
    right: MarkovChain | None


@pytest.fixture(scope="module")
def graph(asked):
    return Study.load(asked).graph


def other_value(value):
    """Give another value of the same kind."""
    if isinstance(value, (bool, str)):
        return not value if isinstance(value, bool) else f"{value}, another"
    return 1 if value is None else 2 * value + 1


# --- what a function tells -------------------------------------------------------------------------------------------


def test_a_function_tells_needs_settings_and_results():
    @stage(role="analysis", seconds=lambda size: 2.0)
    def both(postures: Series, chain: MarkovChain | None, *, n_runs: int = 3, seed: int, threads: int) -> Pair:
        return Pair(postures, chain if n_runs + seed + threads else None)

    assert (both.name, both.needs, both.how, both.role) == ("both", ("postures", "chain"), ("threads",), "analysis")
    assert dict(both.gives) == {"left": Series, "right": MarkovChain}
    assert list(both.settings) == ["n_runs", "seed"]
    assert both.settings["n_runs"] == 3
    assert both.optional == {"chain"}
    assert both.seconds(Size(n_frames=1, n_animals=1, settings={}, threads=1)) == 2.0
    found = both.compute({"postures": "p", "chain": "c"}, {"n_runs": 1, "seed": 0}, 2, None)
    assert found == {"left": "p", "right": "c"}


def test_one_result_has_the_name_of_its_function():
    @stage()
    def alone(symbols: Series) -> Series | None:
        return symbols

    assert dict(alone.gives) == {"alone": Series}
    assert alone.compute({"symbols": 1}, {}, 1, None) == {"alone": 1}


def test_every_result_has_one_stage():
    given = [name for one in STAGES for name in one.gives]
    assert len(given) == len(set(given))
    assert len({one.name for one in STAGES}) == len(STAGES)


def test_needs_come_before_what_needs_them():
    known = {"source", "given_basis", "truth", "applied"}
    for one in STAGES:
        assert set(one.needs) <= known, one.name
        known |= set(one.gives)


def test_settings_of_the_core_are_those_of_the_study():
    core = {name for one in STAGES if one.role != "analysis" for name in one.settings}
    assert core | {"names"} == set(Settings.model_fields)
    for one in STAGES:
        assert not set(HOW) & set(one.settings)


def test_only_the_level_has_to_be_told(graph):
    for one in ANALYSES:
        if "level" in one.settings and one.settings["level"] is inspect.Parameter.empty:
            with pytest.raises(
                SettingsError, match=rf"{one.name} needs level, which nothing tells\. Give it: level=\.\.\."
            ):
                graph.values(one, {})
        assert list(graph.values(one, {"level": 2})) == list(one.settings)


# --- keys ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("one", **names)
def test_every_setting_that_it_declares_changes_its_key_and_no_other_does(graph, one):
    needs = dict.fromkeys(one.needs, "same")
    level = {"level": 2} if "level" in one.settings else {}
    key = one.key(graph.values(one, level), needs)
    assert set(OTHER) == set(Settings.model_fields)
    for name, value in OTHER.items():
        asked = Settings.model_validate(graph.asked.model_dump() | {name: value})
        settings = CompleteSettings.model_validate(graph.settings.model_dump() | {name: value})
        changed = graph.under(asked, settings)
        assert (one.key(changed.values(one, level), needs) != key) is (name in one.settings), name


@pytest.mark.parametrize("one", ANALYSES, ids=lambda one: one.name)
def test_every_option_that_it_declares_changes_its_key_and_no_other_does(graph, one):
    needs = dict.fromkeys(one.needs, "same")
    level = {"level": 2} if "level" in one.settings else {}
    before = graph.values(one, level)
    for name in OPTIONS:
        values = graph.values(one, level | {name: other_value(before.get(name))})
        assert (one.key(values, needs) != one.key(before, needs)) is (name in one.settings), name


@pytest.mark.parametrize("one", **names)
def test_every_need_and_the_code_change_its_key(graph, one, monkeypatch):
    level = {"level": 2} if "level" in one.settings else {}
    values, needs = graph.values(one, level), dict.fromkeys(one.needs, "same")
    key = one.key(values, needs)
    for name in one.needs:
        assert one.key(values, needs | {name: "other"}) != key
    monkeypatch.setattr("ethomarkov.study.stage.code_version", lambda function: "another")
    assert one.key(values, needs) != key


def test_options_do_not_reach_the_stages_of_every_study(graph):
    for one in STAGES:
        if one.role != "analysis":
            assert graph.values(one, OTHER) == graph.values(one, {})
