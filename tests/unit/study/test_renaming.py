"""New names and new trees go through the graph: nothing is written behind its back, and names cost no computing."""

import dataclasses
import json
import tomllib

import pytest

from ethomarkov.exceptions import InputFormatError
from ethomarkov.io.digest import digest
from ethomarkov.study import Study, run_study
from ethomarkov.study.provenance import PROVENANCE_FILE
from ethomarkov.study.renaming import renamed
from ethomarkov.study.settings import SETTINGS_FILE
from ethomarkov.study.store import RESULTS_FOLDER, STUDY_FILE
from ethomarkov.study.study import KEPT, finish_study, written

NAMES = {"run": "crawl", "pirouette": "turn"}


def rewrite(study, **changes):
    """Change settings of a study in its directory, as `ethomarkov states` does."""
    changed = study.with_settings(**changes)
    with written(changed.graph):
        return finish_study(changed)


def told(directory):
    """Read what the three files say: settings of the study, of the settings file, and of the provenance; and keys."""
    provenance = json.loads((directory / PROVENANCE_FILE).read_text())
    filed = tomllib.loads((directory / SETTINGS_FILE).read_text(encoding="utf-8"))
    study = Study.load(directory)
    keys = {one.stage: one.key for one in study.entries()}
    written_keys = {one["stage"]: one["key"] for one in provenance["stages"]}
    settings = {name: value for name, value in study.settings.model_dump().items() if value is not None}
    made = {name: value for name, value in provenance["settings"].items() if value is not None}
    return settings, filed, made, keys, written_keys


# --- new trees -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [{"n_behaviours": 3}, {"n_behaviours": 3, "min_measure": 0.05, "n_resamples": 0}, {"names": NAMES}],
    ids=["states", "several", "names"],
)
def test_changed_settings_are_those_of_a_fresh_run(start, again, tmp_path, changes):
    """File, settings and provenance agree with each other, and to the byte with a run with these settings."""
    rewrite(Study.load(again), **changes)
    start(tmp_path / "fresh", **changes)
    for name in (STUDY_FILE, SETTINGS_FILE):
        assert (again / name).read_bytes() == (tmp_path / "fresh" / name).read_bytes()
    settings, filed, made, keys, written_keys = told(again)
    assert settings == filed == made
    assert keys == written_keys == told(tmp_path / "fresh")[3]
    assert settings.items() >= changes.items()
    assert not (again / RESULTS_FOLDER).exists()


def test_a_run_with_these_settings_has_nothing_to_do(start, again):
    rewrite(Study.load(again), n_behaviours=3, names=NAMES)
    before = (again / STUDY_FILE).read_bytes()
    assert start(again, n_behaviours=3, names=NAMES)[1] == []
    assert (again / STUDY_FILE).read_bytes() == before


def test_only_the_tree_is_computed(again, computed):
    changed = rewrite(Study.load(again), n_behaviours=3)
    assert list(changed.graph.records) == computed(again) == ["states", "animals"]
    kept = json.loads((again / PROVENANCE_FILE).read_text())["stages"]
    assert [one["stage"] for one in kept] == [one.name for one in KEPT]


def test_a_study_in_memory_has_a_new_tree(study):
    small = study.with_settings(n_behaviours=3, n_resamples=0)
    assert small.finest == 3
    assert list(small.graph.records) == ["states"]
    assert small.chain is study.chain
    assert study.finest == 7


def test_a_replaced_result_stays_under_other_settings(study):
    """Whatever computed it."""
    from ethomarkov._core.series import Series

    nothing = Series.from_rows(study.simulated.values[:480], study.simulated.sampling)
    changed = study.replace(simulated=nothing).with_settings(names={"run": "crawl"})
    assert changed.simulated is nothing
    assert "crawl" in changed.names(2)


def test_what_the_choice_depends_on_is_chosen_anew(two_worms, quick):
    """A lag that is set may lead to other microstates; a changed study is what a fresh one would be."""
    open_ones = quick.model_copy(update={"n_states": None, "lag": 0.5})
    one = two_worms.recording.select(["worm_00"])
    before = run_study(one, open_ones, basis=two_worms.basis)
    changed = before.with_settings(lag=0.75)
    fresh = run_study(one, open_ones.model_copy(update={"lag": 0.75}), basis=two_worms.basis)
    assert changed.settings == fresh.settings
    assert digest(changed.chain) == digest(fresh.chain)


def test_an_error_leaves_the_study_as_it_was(again):
    before = {path: path.read_bytes() for path in again.rglob("*") if path.is_file()}
    with pytest.raises(InputFormatError, match="No state is named 'rum'"):
        rewrite(Study.load(again), n_behaviours=3, names={"rum": "crawl"})
    assert {path: path.read_bytes() for path in again.rglob("*") if path.is_file()} == before


# --- new names -------------------------------------------------------------------------------------------------------


def test_a_name_costs_no_computing_and_shows_in_what_is_held(small):
    study = Study.load(small)
    for name, options in (
        ("kinetics", {"level": 2}),
        ("foraging", {"level": 2, "n_runs": 2, "seconds": 6.0}),
        ("state_runs", {"level": 2, "n_runs": 2, "minutes": 0.25}),
        ("runs", {"n_runs": 2, "minutes": 0.25}),
        ("validation", {"n_runs": 2}),
        ("dwell_law", {}),
    ):
        study.compute(name, **options)
    before = {file: file.read_bytes() for file in (small / RESULTS_FOLDER).iterdir()}
    assert sorted(study.names(2)) == ["pirouette", "run"]
    changed = rewrite(study, names=NAMES)
    assert changed.graph.records == {}
    later = Study.load(small)
    new = tuple(NAMES[name] for name in study.names(2))
    assert later.names(2) == new
    assert later.held("kinetics").names == new
    food = later.held("foraging")
    assert food.coverage.names == food.curve.names == food.matching.names == new
    assert [one.name for one in later.held("state_runs").runs] == list(new)
    assert [one.spectrum.individuals for one in later.held("state_runs").runs] == [(name,) for name in new]
    assert [one.name for one in later.held("runs").runs] == list(later.individuals)
    checks = later.held("validation")
    leaving = [row.name for row in checks.agreements if row.name.startswith("transition rate out of")]
    assert sorted(leaving) == ["transition rate out of crawl", "transition rate out of turn"]
    assert not any("pirouette" in words for words in checks.warnings)
    assert set(later.held("dwell_law").laws) <= set(new)
    assert later.graph.records == {}
    assert {file: file.read_bytes() for file in (small / RESULTS_FOLDER).iterdir()} == before


def test_a_state_is_asked_for_by_its_new_name(small):
    study = rewrite(Study.load(small), names=NAMES)
    found = study.compute("state_runs", level=2, state="crawl", n_runs=2, minutes=0.25)
    assert [one.name for one in found.runs] == ["crawl"]
    with pytest.raises(InputFormatError, match=r"state is 'walk'; .* there are .*'crawl'"):
        study.compute("state_runs", level=2, state="walk", n_runs=2, minutes=0.25)


def test_names_may_be_swapped(small):
    study = rewrite(Study.load(small), names={"run": "pirouette", "pirouette": "run"})
    plain = Study.load(small).with_settings(names={})
    assert study.names(2) == plain.names(2)[::-1]
    assert study.compute("kinetics").names == plain.compute("kinetics").names[::-1]
    one = study.compute("state_runs", level=2, state="run", n_runs=2, minutes=0.25)
    other = plain.compute("state_runs", level=2, state="pirouette", n_runs=2, minutes=0.25)
    assert [run.name for run in one.runs] == ["run"]
    assert digest(one.runs[0].displacement) == digest(other.runs[0].displacement)


def test_animals_keep_their_names(small):
    """An animal may be called as a state is."""
    study = Study.load(small)
    found = study.compute("runs", n_runs=2, minutes=0.25)
    same = renamed(found, dict.fromkeys(study.individuals, "other"))
    assert [one.name for one in same.runs] == list(study.individuals)


@pytest.mark.parametrize(
    ("text", "new"),
    [
        (
            "Not reproduced by the model: transition rate out of run, reversals.",
            "transition rate out of crawl, reversals.",
        ),
        ("Not reproduced by the model: transition rate out of run.", "transition rate out of crawl."),
        ("Not reproduced by the model: transition rate out of run fast.", "transition rate out of run fast."),
        ("'run' cannot be simulated alone: 'pirouette' is.", "'crawl' cannot be simulated alone: 'turn' is."),
        ("A long run of rates.", "A long run of rates."),
    ],
)
def test_names_in_sentences(small, text, new):
    study = Study.load(small)
    found = dataclasses.replace(study.compute("runs", n_runs=2, minutes=0.25), reasons=(text,))
    assert renamed(found, NAMES).reasons[0].endswith(new)


def test_without_new_names_a_result_is_left_alone(study):
    found = study.compute("kinetics")
    assert renamed(found, {}) is found
    other = renamed(found, {"run": "crawl"})
    assert "crawl" in other.names
    assert digest(other.dwells) == digest(found.dwells)
    assert other.dwells is found.dwells
