"""Valid files of every format are read; damaged ones are read or refused, and nothing else happens."""

import sys

import pytest

from fuzz.harness import READ, REFUSED, Case, cases, check_message, make_case, watching
from fuzz.mutations import MARKER, payload
from fuzz.samples import BY_NAME, KEY, SAMPLES, Sample, content_of, read_log, read_recording

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="what a process uses is read from /proc")
N_FILES, SEED = 25, 2026


@pytest.fixture(scope="module")
def watch():
    with watching() as one:
        yield one


@pytest.mark.parametrize("name", BY_NAME)
def test_valid_files_are_read(watch, name):
    outcome = watch.read(Case(sample=BY_NAME[name], content=content_of(name)))
    assert (outcome.kind, outcome.message, outcome.wrong) == (READ, "", ())


@pytest.mark.parametrize("name", BY_NAME)
def test_damaged_files_are_read_or_refused(watch, name):
    outcomes = [watch.read(case) for case in cases([name], N_FILES, SEED)]
    assert [f"{one.case}: {'; '.join(one.wrong)}: {one.message}" for one in outcomes if one.wrong] == []
    assert {one.kind for one in outcomes} <= {READ, REFUSED}


@pytest.mark.parametrize("name", [sample.name for sample in SAMPLES if not sample.seals])
def test_the_same_seed_makes_the_same_damage(name):
    assert make_case(name, SEED, 3) == make_case(name, SEED, 3)
    assert len({make_case(name, SEED, index).content for index in range(10)}) > 3


# --- the harness itself ----------------------------------------------------------------------------------------------


def connects(path, _):
    import urllib.request

    urllib.request.urlopen(path.read_text(), timeout=5).read()


def writes(path, _):
    (path.parent / "new").write_text("x")


def unpickles(path, _):
    import pickle

    pickle.loads(path.read_bytes())


def warns(path, _):
    import warnings

    warnings.warn("of another library", RuntimeWarning, stacklevel=1)


def overwrites(path, _):
    path.write_bytes(b"")


@pytest.mark.parametrize(
    ("load", "content", "seen"),
    [
        (connects, b"http://127.0.0.1:PORT0/", "connected to the network"),
        (writes, b"x", "changed or made files/new"),
        (unpickles, payload(), f"changed or made work/{MARKER}"),
        (warns, b"x", "warned: RuntimeWarning"),
        (overwrites, b"x", "changed or made files/a.bin"),
        (lambda path, _: 1 / 0, b"x", "ZeroDivisionError came out"),
    ],
    ids=lambda one: getattr(one, "__name__", None),
)
def test_what_must_not_happen_is_seen(watch, load, content, seen):
    sample = Sample(name="bad", file="a.bin", make=lambda path: None, load=load)
    assert any(seen in one for one in watch.read(Case(sample=sample, content=content)).wrong)


@pytest.mark.parametrize(
    ("message", "wrong"),
    [
        ("a.csv: is damaged. Copy it again.", ""),
        ("is damaged", "name the file"),
        ("a.csv: " + "x" * 600, "607 characters"),
        ("a.csv: \n\n is damaged", "several lines"),
        ("a.csv: \x1b[31m", "cannot be printed"),
    ],
)
def test_messages_are_one_readable_paragraph(message, wrong):
    found = check_message(message, "a.csv")
    assert len(found) == bool(wrong)
    assert wrong in "".join(found)


def test_a_damaged_log_of_tasks_gives_fewer_answers_and_no_other(tmp_path):
    whole = content_of("task-log")
    path = tmp_path / "a.tasks"
    path.write_bytes(whole[:-20])
    assert [len(batch) for batch in read_log(path, {})] == [3, 2, 0]
    assert KEY.encode() in path.read_bytes()


def test_formats_are_those_of_their_names():
    assert len(BY_NAME) == len(SAMPLES)
    assert sum(sample.load is read_recording for sample in SAMPLES) > 30
