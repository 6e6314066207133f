"""What is asked of a study later: kept, found again, and never taken from another study."""

import contextlib
import inspect
import os
import shutil
import signal
import warnings

import pytest

from ethomarkov._core.result import field_notes
from ethomarkov.exceptions import EthomarkovWarning, InputFormatError, SettingsError
from ethomarkov.io.digest import digest
from ethomarkov.study import Study, run_study
from ethomarkov.study.analyses import ANALYSES
from ethomarkov.study.store import RESULTS_FOLDER, Store
from ethomarkov.synthetic import simulate_worms

CHEAP = {
    "relaxation_times": {"n_shuffles": 3, "n_lags": 3},
    "sequence_map": {"method": "pca"},
    "published_dwell_law": {"n_dwell_resamples": 2},
    "runs": {"n_runs": 2, "minutes": 0.25},
    "state_runs": {"level": 2, "n_runs": 2, "minutes": 0.25},
    "reconstruction": {"window": 10.0, "n_windows": 2},
    "foraging": {"level": 2, "n_runs": 2, "seconds": 6.0},
    "animal_runs": {"n_runs": 2},
    "predictions": {"entry_walks": 2},
    "held_out_splits": {"n_held_out": 1},
    "published_splits": {"n_repeats": 1},
    "validation": {"n_runs": 2, "entry_walks": 2},
    "known_truth": {"window": 10.0, "n_windows": 2},
}
"""Options with which an analysis takes a moment."""
FOOD = CHEAP["foraging"]


def options_of(analysis):
    """Give what a new analysis needs to be told as well."""
    needs_level = analysis.settings.get("level") is inspect.Parameter.empty
    return CHEAP.get(analysis.name, {"level": 2} if needs_level else {})


@pytest.fixture(scope="module")
def answers(asked, two_worms, tmp_path_factory):
    """A study of which everything was asked, and the digests of the answers."""
    from ethomarkov.study.source import MemorySource

    directory = tmp_path_factory.mktemp("answers") / "study"
    shutil.copytree(asked, directory)
    study, found = Study.load(directory), {}
    study.graph.given = {"truth": two_worms.truth, "applied": MemorySource(two_worms.recording)}
    for one in ANALYSES:
        found[one.name] = digest(study.compute(one.name, **options_of(one)))
    return directory, found


# --- kept and found again --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("analysis", ANALYSES, ids=lambda one: one.name)
def test_an_analysis_is_kept_and_found_again(answers, analysis):
    directory, found = answers
    study, before = Study.load(directory), set(directory.rglob("*"))
    assert digest(study.compute(analysis.name, **options_of(analysis))) == found[analysis.name]
    assert study.graph.records == {}  # nothing was computed
    assert digest(study.held(analysis.name)) == found[analysis.name]
    assert set(directory.rglob("*")) == before


@pytest.mark.parametrize("analysis", ANALYSES, ids=lambda one: one.name)
def test_a_plan_knows_what_is_kept(answers, analysis):
    graph = Study.load(answers[0]).graph
    assert {one.action for one in graph.plan([analysis.name], **options_of(analysis))} == {"keep"}


def test_no_answer_is_of_another_study(answers):
    directory, _ = answers
    assert Study.load(directory).graph.strangers() == []
    names = {file.name.split("-")[0] for file in (directory / RESULTS_FOLDER).iterdir()}
    assert names == {one.name for one in ANALYSES if one.is_kept}


def test_other_options_are_other_results(small):
    study = Study.load(small)
    first, other = (study.compute("foraging", **FOOD | {"seed": seed}) for seed in (2, 5))
    assert digest(first) != digest(other)
    assert len(list((small / RESULTS_FOLDER).glob("foraging-*.nc"))) == 2
    later = Study.load(small)
    assert digest(later.held("foraging")) == digest(other)  # the latest
    assert digest(later.compute("foraging", **FOOD)) == digest(first)  # the study's own seed
    assert later.graph.records == {}


def test_the_run_of_a_study_keeps_its_analyses(small, two_worms):
    study = Study.load(small)
    found = digest(study.compute("foraging", **FOOD))
    run_study(two_worms.recording, study.settings, basis=two_worms.basis, directory=small)
    assert digest(Study.load(small).held("foraging")) == found


def test_a_study_in_memory_holds_what_was_asked(two_worms, quick):
    settings = quick.model_copy(update={"n_states": 8, "n_behaviours": 2})
    study = run_study(two_worms.recording, settings, basis=two_worms.basis)
    assert study.held("kinetics") is None
    found = study.compute("kinetics")
    assert study.held("kinetics") is found
    assert study.compute("kinetics") is found


def test_a_finer_tree_costs_no_analysis_of_macrostates(small):
    study = Study.load(small)
    study.compute("animal_runs", n_runs=2)
    finer = study.with_settings(n_behaviours=2)
    finer.compute("animal_runs", n_runs=2)
    assert "animal_runs" not in finer.graph.records


def test_a_damaged_answer_is_computed_again(small):
    first = digest(Study.load(small).compute("foraging", **FOOD))
    (file,) = (small / RESULTS_FOLDER).glob("foraging-*.nc")
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 4
    file.write_bytes(data)
    study = Study.load(small)
    with pytest.warns(EthomarkovWarning, match=r"foraging-\w+\.nc: is damaged .* computed again"):
        assert study.held("foraging") is None
    assert digest(study.compute("foraging", **FOOD)) == first
    assert list(study.graph.records) == ["foraging"]
    assert digest(Study.load(small).held("foraging")) == first


# --- other animals ---------------------------------------------------------------------------------------------------


def test_results_of_other_animals_are_not_taken(small, two_worms):
    """Worms A are asked, then worms B are run in the same directory: B knows nothing of A, until A is back."""
    study = Study.load(small)
    settings, found = study.settings, digest(study.compute("foraging", **FOOD))
    others = simulate_worms(2, 60.0, seed=8)
    run_study(others.recording, settings, basis=others.basis, directory=small)
    later = Study.load(small)
    assert later.held("foraging") is None
    assert later.graph.strangers() == ["foraging"]
    assert digest(later.compute("foraging", **FOOD)) != found
    assert later.graph.strangers() == []
    run_study(two_worms.recording, settings, basis=two_worms.basis, directory=small)
    assert digest(Study.load(small).held("foraging")) == found
    assert Study.load(small).graph.strangers() == []


def test_results_of_other_settings_are_not_taken(small, two_worms):
    study = Study.load(small)
    study.compute("kinetics", level=2)
    study.compute("foraging", **FOOD)
    changed = study.settings.model_copy(update={"lag": 1.0})
    run_study(two_worms.recording, changed, basis=two_worms.basis, directory=small)
    later = Study.load(small)
    assert later.settings.lag == 1.0
    assert later.held("kinetics") is None
    assert sorted(later.graph.strangers()) == ["foraging", "kinetics"]


# --- what is put together --------------------------------------------------------------------------------------------


def test_a_validation_is_put_together_of_what_is_held(answers, small):
    assert Study.load(small).held("validation") is None
    study = Study.load(small)
    study.compute("animal_runs", n_runs=2)
    assert study.held("validation") is None
    study.compute("predictions", entry_walks=2)
    found = study.held("validation")
    assert found.cross_validation == {}
    assert [one.name for one in found.animals] == list(study.individuals)
    whole = Study.load(answers[0]).held("validation")
    assert len(whole.animals) == 2


# --- mistakes --------------------------------------------------------------------------------------------------------


def test_an_unknown_option_is_named_with_those_that_exist(small):
    with pytest.raises(SettingsError) as caught:
        Study.load(small).compute("foraging", level=2, n_run=3)
    told = str(caught.value)
    assert told.startswith("foraging has no setting n_run; there are level, n_runs, ")
    with pytest.raises(SettingsError, match="kinetics has no setting n_walks; there are level"):
        Study.load(small).compute("kinetics", n_walks=3)


def test_an_option_that_is_needed_is_asked_for(small):
    with pytest.raises(SettingsError, match="foraging needs level"):
        Study.load(small).graph.result("foraging")


def test_the_finest_level_is_meant_where_none_is_named(small):
    study = Study.load(small)
    assert study.compute("circulation").names == study.names(study.finest)
    assert study.compute("circulation", level=2).names == study.names(2)


def test_an_unknown_result_is_named_with_those_that_exist(small):
    for ask in (Study.compute, Study.held):
        with pytest.raises(InputFormatError, match=r"no result 'forage'; there are .*foraging.*kinetics"):
            ask(Study.load(small), "forage")


def test_what_needs_the_recordings_says_so(small):
    study = Study.load(small).with_settings(n_modes=4)
    with pytest.raises(InputFormatError, match=r"survey has to be computed again, and that needs the recordings\. Run"):
        study.compute("kinetics")


def test_one_that_cannot_be_had_does_not_cost_the_others(small):
    study = Study.load(small)
    errors = study.graph.attempt(["smoothed_states", "kinetics", "foraging"], level=2, n_runs=2, seconds=6.0)
    assert errors == {}
    errors = study.graph.attempt(["foraging", "dwell_law", "smoothed_states"], level=77, n_runs=2)
    assert set(errors) == {"foraging", "smoothed_states"}
    assert all("no level of 77 states" in str(error) for error in errors.values())
    assert study.held("dwell_law") is not None


# --- interruptions ---------------------------------------------------------------------------------------------------


def in_a_child(work) -> bool:
    """Do work in a forked process, and tell whether it was killed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # about threads of the parent, which the child does not use
        child = os.fork()
    if child == 0:
        signal.alarm(300)
        with contextlib.suppress(BaseException):
            work()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


@pytest.mark.parametrize("name", ["relaxation_times", "foraging"])
def test_an_analysis_that_is_killed_at_every_write_goes_on(answers, small, monkeypatch, name):
    """Each child dies at its second write, which is never that of a task that is known already."""
    monkeypatch.setattr("ethomarkov.io.task_log.SECONDS_BETWEEN_WRITES", 0.0)
    settle, n_kills = os.fsync, 0

    def die_at_second():
        calls = iter((1,))

        def fsync(handle):
            settle(handle)
            if next(calls, 2) == 2:
                os.kill(os.getpid(), signal.SIGKILL)

        return fsync

    def ask():
        monkeypatch.setattr(os, "fsync", die_at_second())
        Study.load(small).compute(name, **CHEAP[name])

    while in_a_child(ask):
        n_kills += 1
    assert n_kills >= 1
    study = Study.load(small)
    assert digest(study.compute(name, **CHEAP[name])) == answers[1][name]
    with Store(small).locked():  # as the next run does
        pass
    assert [file.suffix for file in (small / RESULTS_FOLDER).iterdir()] == [".nc"]


@pytest.mark.parametrize("analysis", ANALYSES, ids=lambda analysis: analysis.name)
def test_every_setting_of_an_analysis_is_explained(analysis):
    """In a notebook, a question mark shows them."""
    assert list(field_notes(analysis.function)) == list(analysis.settings)
