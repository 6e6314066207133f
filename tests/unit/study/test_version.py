"""Changed code changes keys, of those stages alone that reach it."""

import ast
import shutil

import numpy as np
import pytest

from ethomarkov.io.digest import digest
from ethomarkov.study import Study, run_study, version
from ethomarkov.study.analyses import foraging, relaxation_times
from ethomarkov.study.stages import postures, timescales
from ethomarkov.study.study import STAGES, plan_study

NOISE_FLOOR = "ethomarkov.markov.noise_floor"
CACHES = ("code_version", "source_digest", "_imports", "_is_module")


def forget():
    for name in CACHES:
        getattr(version, name).cache_clear()


def versions():
    return {one.name: one.version for one in STAGES}


@pytest.fixture
def change(monkeypatch):
    """Give ``change(module, text)``, which adds a line to the source of a module, as far as versions see it."""
    source = version.source_of

    def changed(module, line=b"# another line"):
        monkeypatch.setattr(version, "source_of", lambda name: source(name) + (line if name == module else b""))
        forget()

    yield changed
    monkeypatch.undo()
    forget()


# --- which stages ----------------------------------------------------------------------------------------------------


def test_exactly_the_stages_that_reach_a_module_have_another_version(change):
    before = versions()
    reaching = {one.name for one in STAGES if NOISE_FLOOR in version._closure(version._reach(one.function)[1])}
    assert {"timescales", "relaxation_times"} <= reaching
    assert not {"survey", "postures", "choice", "microstates", "counts", "chain", "states", "path"} & reaching
    change(NOISE_FLOOR)
    after = versions()
    assert {name for name in before if before[name] != after[name]} == reaching


def test_what_a_stage_reaches():
    reached = version._closure(version._reach(timescales.function)[1])
    assert {NOISE_FLOOR, "ethomarkov.markov.lag_scan", "ethomarkov._core.parallel"} <= reached
    assert "ethomarkov.locomotion.resistive" not in reached
    assert "ethomarkov.foraging.coverage" in version._closure(version._reach(foraging.function)[1])


def imported(module):
    """List the modules of the package that a module imports, wherever in it, by Python's own parser."""
    for node in ast.walk(ast.parse(version.source_of(module))):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names if one.name.startswith("ethomarkov."))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ethomarkov."):
            yield node.module
            inner = (f"{node.module}.{one.name}" for one in node.names)
            yield from (one for one in inner if version.source_of(one))


def test_no_import_is_missed():
    """Neither in brackets over several lines nor within functions, as those of compiled code."""
    reached = set().union(*(version._closure(version._reach(one.function)[1]) for one in STAGES))
    assert len(reached) > 80
    for module in reached:
        assert set(imported(module)) <= version._closure({module}), module


def test_everything_that_is_reached_has_a_source():
    for one in STAGES:
        for module in version._closure(version._reach(one.function)[1]):
            assert version.source_of(module), module


def test_a_changed_module_back_again_is_the_old_version(change):
    before = versions()
    change("ethomarkov.posture.basis")
    changed = versions()
    assert changed["postures"] != before["postures"]
    change("no such module")
    assert versions() == before


# --- functions of one file -------------------------------------------------------------------------------------------


def test_stages_of_one_file_have_versions_of_their_own():
    assert len(set(versions().values())) == len(STAGES)
    assert postures.version != timescales.version


def test_the_body_of_a_function_counts_and_those_that_it_calls(monkeypatch):
    from ethomarkov.study import stages

    before = version.code_version(timescales.function)
    text = version._text
    called = stages._simulate
    monkeypatch.setattr(version, "_text", lambda one: text(one) + (b"# more" if one is called else b""))
    forget()
    assert version.code_version(timescales.function) == before
    new = version.code_version(stages.simulation.function)
    monkeypatch.undo()
    forget()
    assert version.code_version(stages.simulation.function) != new


def test_constants_of_the_file_count(monkeypatch):
    from ethomarkov.study import analyses

    before = version.code_version(relaxation_times.function)
    monkeypatch.setattr(analyses, "SLOWEST_TIMES", 5.0)
    forget()
    after = version.code_version(relaxation_times.function)
    monkeypatch.undo()
    forget()
    assert after != before


@pytest.mark.parametrize("value", [2, 2.5, "two", b"2", (2,), [2], {"a": 2}])
def test_constants_of_any_plain_kind_count(monkeypatch, value):
    before = timescales.version
    monkeypatch.setattr("ethomarkov.study.stages.LONGEST_LAG", value)
    forget()
    assert timescales.version != before
    monkeypatch.undo()
    forget()
    assert timescales.version == before


def test_line_ends_do_not_count():
    assert b"\r" not in version.source_of(NOISE_FLOOR)
    assert version.source_of("ethomarkov.no_such_module") == b""


# --- studies ---------------------------------------------------------------------------------------------------------


def test_a_study_is_computed_again_as_far_as_its_code_changed(start, again, computed, worms, quick, change):
    before = (again / "study.nc").read_bytes()
    change(NOISE_FLOOR)
    planned = plan_study(worms.recording, quick, basis=worms.basis, directory=again)
    assert [one.stage for one in planned if one.action == "compute"] == ["timescales"]
    _, done = start(again)
    assert done == ["timescales"]
    after = (again / "study.nc").read_bytes()
    assert after != before  # it knows by which code it was made
    assert start(again)[1] == []
    change("no such module")
    assert start(again)[1] == ["timescales"]
    assert (again / "study.nc").read_bytes() == before


def test_a_study_of_older_code_is_read_as_it_is(again, change):
    before = digest(Study.load(again).noise_floor)
    change(NOISE_FLOOR)
    study = Study.load(again)
    assert digest(study.noise_floor) == before
    assert study.names(2)
    assert study.model.chain.lag == 0.75
    assert study.graph.records == {}


def test_an_analysis_of_older_code_is_not_shown(small, change):
    study = Study.load(small)
    study.compute("relaxation_times", n_shuffles=2, n_lags=3)
    study.compute("kinetics", level=2)
    change(NOISE_FLOOR)
    later = Study.load(small)
    assert later.held("relaxation_times") is None
    assert later.held("kinetics") is not None
    assert later.graph.strangers() == ["relaxation_times"]
    later.compute("relaxation_times", n_shuffles=2, n_lags=3)
    assert list(later.graph.records) == ["relaxation_times"]
    assert Study.load(small).held("relaxation_times") is not None


def test_labels_of_older_code_are_not_taken(worms, quick, tmp_path, change):
    from ethomarkov.io import write_recording
    from ethomarkov.study.source import Source

    files = tuple(
        write_recording(worms.recording.select([name]), tmp_path / f"{name}.nc") for name in worms.recording.individuals
    )
    out = tmp_path / "out"
    run_study(Source(files=files), quick, basis=worms.basis, directory=out)
    labels = out / "labels" / "worm_00.nc"
    before = labels.read_bytes()
    shutil.rmtree(out / "results", ignore_errors=True)
    change("ethomarkov.states.kmeans")
    run_study(Source(files=files), quick, basis=worms.basis, directory=out)
    assert labels.read_bytes() != before  # with another key
    assert np.array_equal(Study.load(out).animals.is_example, [True] * 3)
