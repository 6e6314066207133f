"""Studies that are interrupted, resumed, changed and shared."""

import contextlib
import hashlib
import json
import math
import os
import random
import shutil
import signal
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from filelock import FileLock

from ethomarkov.exceptions import EthomarkovError, EthomarkovWarning, InputFormatError, OutputError
from ethomarkov.study import Settings, Study, run_study
from ethomarkov.study.provenance import PROVENANCE_FILE
from ethomarkov.study.settings import SETTINGS_FILE
from ethomarkov.study.stages import CORE
from ethomarkov.study.store import LOCK_FILE, RESULTS_FOLDER, STUDY_FILE
from ethomarkov.study.study import KEPT, plan_study

ALL = [stage.name for stage in KEPT]
SIMULATED = ["simulation_trial", "simulation", "path"]
COMPARED = ("n_states", "lag", "n_behaviours", "drag_ratio", "seed")
"""Settings after whose change the study is also computed from the beginning."""


def part_of(directory: Path, stage: str) -> Path:
    """Find the file of one stage."""
    (file,) = (directory / RESULTS_FOLDER).glob(f"{stage}-*.nc")
    return file


def fingerprint(directory: Path) -> str:
    return hashlib.sha256((directory / STUDY_FILE).read_bytes()).hexdigest()


# --- what is computed again ------------------------------------------------------------------------------------------


def test_nothing_is_computed_twice(start, again):
    before = fingerprint(again)
    assert start(again)[1] == []
    assert fingerprint(again) == before


CHANGES = {
    "n_modes": (4, ["survey", "postures"]),  # the basis that is given has five, so that the postures stay the same
    "n_states": (10, ["choice", *ALL[4:]]),
    "n_delays": (9, [*ALL[:3], *ALL[4:]]),
    "lag": (1.0, ["choice", *ALL[5:]]),
    "scan": (True, ["scan"]),
    "min_measure": (0.05, ["states", "animals"]),
    "n_behaviours": (3, ["states", "animals"]),
    "n_resamples": (1, ["states", "animals"]),
    "cut": ("paper", ["states", "animals"]),
    "partition": ("minibatch", ALL[4:]),
    "n_walks": (1, ["simulation", "path"]),
    "simulated_minutes": (0.1, ["simulation", "path"]),
    "simulation_lag": (2.25, SIMULATED),
    "simulation_passage": (0.375, SIMULATED),
    "unfolding": ("paper", SIMULATED),
    "drag_ratio": (20.0, ["path"]),
    "scheme": ("paper", ["path"]),
    "seed": (3, ALL),
    "names": ({"run": "crawl"}, []),
}


def test_every_setting_is_tried():
    assert set(CHANGES) == set(Settings.model_fields)
    known = {name for stage in CORE for name in stage.settings} | {"names"}
    assert known == set(Settings.model_fields)


@pytest.mark.parametrize("name", CHANGES)
def test_a_setting_recomputes_what_depends_on_it(start, again, tmp_path, name):
    value, expected = CHANGES[name]
    study, computed = start(again, **{name: value})
    assert computed == expected
    if name not in COMPARED:
        return
    fresh, everything = start(tmp_path / "fresh", **{name: value})
    assert everything == ALL
    assert fingerprint(again) == fingerprint(tmp_path / "fresh")
    assert study.settings == fresh.settings


def test_what_the_data_chose_may_be_said(start, again):
    assert start(again, n_delays=11)[1] == []


def test_other_data_are_noticed(again, worms, quick, computed):
    values = worms.recording.dataset.copy(deep=True)
    values["amplitude"][::3] *= 1.7
    run_study(type(worms.recording)(values), quick, basis=worms.basis, directory=again)
    assert computed(again) == ALL


def test_a_result_that_stays_the_same_stops_the_recomputation(again, worms, quick, computed):
    """Moved as a whole, postures fall into the same microstates in the same order: chain and times are the same."""
    values = worms.recording.dataset.copy(deep=True)
    values["amplitude"][:, 0] += 0.5
    run_study(type(worms.recording)(values), quick, basis=worms.basis, directory=again)
    assert computed(again) == [name for name in ALL if name not in ("chain", "timescales", "animals")]


def test_a_plan_says_what_will_happen(start, again, worms, quick):
    changed = quick.model_copy(update={"lag": 1.0})
    before = {path: path.stat().st_mtime_ns for path in again.rglob("*")}
    planned = plan_study(worms.recording, changed, basis=worms.basis, directory=again)
    assert [one.stage for one in planned] == ALL
    assert {one.stage: one.action for one in planned} == {
        "survey": "keep",
        "postures": "keep",
        "choice": "compute",
        "scan": "keep",
        "microstates": "keep",
        "counts": "compute",
        "chain": "compute",
        "ledger": "check",
        "timescales": "compute",
        "states": "check",
        "animals": "check",
        "simulation_trial": "check",
        "simulation": "check",
        "path": "check",
    }
    assert {path: path.stat().st_mtime_ns for path in again.rglob("*")} == before
    assert sum(one.seconds for one in planned) > 0
    assert [one.stage for one in planned if one.action != "keep"] == start(again, lag=1.0)[1]


def test_a_plan_of_an_empty_directory(worms, quick, tmp_path):
    planned = plan_study(worms.recording, quick, basis=worms.basis, directory=tmp_path / "new")
    assert [one.action for one in planned] == ["compute"] * len(ALL)
    without = {"choice", "scan", "ledger", "simulation_trial"}  # which take no time, or are left out by these settings
    assert all(one.seconds > 0 for one in planned if one.stage not in without)
    assert not (tmp_path / "new").exists()


# --- what lies in the directory --------------------------------------------------------------------------------------


def test_every_stage_has_a_group(finished):
    with xr.open_datatree(finished / STUDY_FILE, engine="h5netcdf") as tree:
        assert list(tree.children) == ALL
        assert tree["microstates/symbols"]["labels"].dtype == np.int32
        assert all(len(tree[name].attrs["key"]) == 32 for name in ALL)


def test_nothing_is_left_over(finished):
    assert sorted(path.name for path in finished.iterdir()) == [PROVENANCE_FILE, SETTINGS_FILE, STUDY_FILE]


def test_provenance(finished, again, start):
    told = json.loads((finished / PROVENANCE_FILE).read_text())
    assert told["seed"] == 2
    assert told["settings"]["n_delays"] == 11
    assert len(told["inputs"]["recording"]) == 32
    assert all(one["seconds"] >= 0 and one["peak_gb"] > 0.01 for one in told["stages"])
    start(again, drag_ratio=20.0)
    later = json.loads((again / PROVENANCE_FILE).read_text())
    kept = [one for one in later["stages"] if one["kept"]]
    assert [one["stage"] for one in kept] == ALL[:-1]
    for one, former in zip(kept, told["stages"], strict=False):
        assert one | {"kept": False} == former


def test_threads_do_not_change_a_byte(start, finished, tmp_path):
    start(tmp_path / "two", threads=2)
    assert fingerprint(tmp_path / "two") == fingerprint(finished)


def test_a_study_in_memory_is_the_same(worms, quick, finished, tmp_path):
    study = run_study(worms.recording, quick, basis=worms.basis)
    study.save(tmp_path)
    assert fingerprint(tmp_path) == fingerprint(finished)


def test_a_study_that_was_loaded_saves_the_same(finished, tmp_path):
    Study.load(finished).save(tmp_path)
    assert fingerprint(tmp_path) == fingerprint(finished)


def test_two_runs_do_not_share_a_directory(start, again):
    (again / RESULTS_FOLDER).mkdir()
    with FileLock(again / RESULTS_FOLDER / LOCK_FILE), pytest.raises(OutputError, match="another run is writing there"):
        start(again, lag=1.0)
    start(again, drag_ratio=20.0)


def test_a_damaged_study_is_computed_anew(start, finished, again):
    data = (again / STUDY_FILE).read_bytes()
    (again / STUDY_FILE).write_bytes(data[: len(data) // 2])
    with pytest.warns(EthomarkovWarning, match=r"study\.nc: is damaged .* computed again"):
        assert start(again)[1] == ALL
    assert fingerprint(again) == fingerprint(finished)


def flip(file: Path, place: int) -> None:
    """Change one bit of a file where it lies."""
    with file.open("r+b") as stream:
        stream.seek(place)
        value = stream.read(1)[0]
        stream.seek(place)
        stream.write(bytes([value ^ 1 << place % 8]))


def test_every_flipped_byte_of_a_study_is_seen(again, finished):
    file, draw = again / STUDY_FILE, random.Random(4)
    for place in draw.sample(range(file.stat().st_size), 200):
        flip(file, place)
        with pytest.raises(InputFormatError, match=r"study\.nc: is .* Make it again"):
            Study.load(again)
        flip(file, place)
    assert fingerprint(again) == fingerprint(finished)


def test_a_flipped_byte_of_a_study_is_computed_anew(start, again, finished):
    flip(again / STUDY_FILE, (again / STUDY_FILE).stat().st_size // 3)
    with pytest.warns(EthomarkovWarning, match=r"study\.nc: is damaged .* computed again"):
        assert start(again)[1] == ALL
    assert fingerprint(again) == fingerprint(finished)


def stop(*_):
    raise KeyboardInterrupt


@pytest.fixture(scope="module")
def unfinished(start, tmp_path_factory) -> Path:
    """A study whose stages are complete, interrupted before it was written."""
    directory = tmp_path_factory.mktemp("unfinished")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Study, "save", stop)
        with pytest.raises(KeyboardInterrupt):
            start(directory)
    return directory


@pytest.mark.parametrize("stage", ALL)
def test_a_flipped_byte_of_a_stage_costs_that_stage(start, unfinished, finished, tmp_path, stage):
    shutil.copytree(unfinished, tmp_path / "study")
    file = part_of(tmp_path / "study", stage)
    flip(file, random.Random(stage).randrange(file.stat().st_size))
    with pytest.warns(EthomarkovWarning, match=rf"{stage}-\w+\.nc: is damaged .* computed again") as told:
        start(tmp_path / "study")
    assert len(told) == 1
    assert fingerprint(tmp_path / "study") == fingerprint(finished)
    stages = json.loads((tmp_path / "study" / PROVENANCE_FILE).read_text())["stages"]
    assert [one["stage"] for one in stages if not one["kept"]] == [stage]


def test_a_plan_does_not_count_on_a_damaged_stage(unfinished, tmp_path, worms, quick):
    shutil.copytree(unfinished, tmp_path / "study")
    flip(part_of(tmp_path / "study", "chain"), 5000)
    with pytest.warns(EthomarkovWarning, match=r"chain-\w+\.nc") as told:
        planned = plan_study(worms.recording, quick, basis=worms.basis, directory=tmp_path / "study")
    assert len(told) == 1
    assert [one.stage for one in planned if one.action == "compute"] == ["chain"]


def test_an_error_keeps_what_took_long(start, tmp_path, monkeypatch):
    monkeypatch.setattr("ethomarkov.study.study.WORTH_KEEPING", 0.0)
    with pytest.raises(EthomarkovError, match="lag=125"):
        start(tmp_path / "study", lag=125.0)
    assert not (tmp_path / "study" / STUDY_FILE).exists()
    _, computed = start(tmp_path / "study")
    assert computed == ["choice", *ALL[5:]]


def test_an_early_error_leaves_no_trace(start, again, tmp_path, monkeypatch):
    monkeypatch.setattr("ethomarkov.study.study.WORTH_KEEPING", math.inf)  # "early" on any machine
    before = {path: path.read_bytes() for path in again.rglob("*") if path.is_file()}
    for directory in (tmp_path / "deep" / "study", again):
        with pytest.raises(EthomarkovError, match="lag=125"):
            start(directory, lag=125.0)
    assert not (tmp_path / "deep").exists()
    assert {path: path.read_bytes() for path in again.rglob("*") if path.is_file()} == before


def test_an_error_keeps_what_an_interrupted_run_left(start, again, monkeypatch):
    """The answers of its tasks may have taken hours."""
    monkeypatch.setattr("ethomarkov.study.study.WORTH_KEEPING", math.inf)
    (again / RESULTS_FOLDER).mkdir()
    log = again / RESULTS_FOLDER / "scan-0123456789ab.tasks"
    log.write_bytes(b"answers")
    with pytest.raises(EthomarkovError, match="lag=125"):
        start(again, lag=125.0)
    assert log.read_bytes() == b"answers"


def test_a_study_that_was_written_but_not_cleared_away_is_whole(unfinished, start, tmp_path, monkeypatch):
    """Killed when the file of the study is written and those of its stages still lie there."""
    shutil.copytree(unfinished, tmp_path / "study")
    with monkeypatch.context() as patch:
        patch.setattr("ethomarkov.study.study.write_provenance", stop)
        with pytest.raises(KeyboardInterrupt):
            start(tmp_path / "study")
    assert (tmp_path / "study" / STUDY_FILE).exists()
    assert len(list((tmp_path / "study" / RESULTS_FOLDER).glob("*.nc"))) == len(ALL)
    study, _ = start(tmp_path / "study")
    for name in (name for stage in KEPT for name in stage.gives):
        study.graph.result(name)
    assert not (tmp_path / "study" / RESULTS_FOLDER).exists()
    told = json.loads((tmp_path / "study" / PROVENANCE_FILE).read_text())
    assert [one["stage"] for one in told["stages"]] == ALL


# --- interruptions ---------------------------------------------------------------------------------------------------


def in_a_child(work) -> int:
    """Do work in a forked process, which no clean-up of this one touches; give its process number."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # about threads of the parent, which the child does not use
        child = os.fork()
    if child == 0:
        signal.alarm(300)  # nobody waits forever, should it inherit a lock that a thread of the parent held
        with contextlib.suppress(BaseException):
            work()
        os._exit(0)
    return child


def was_killed(child: int) -> bool:
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


@pytest.mark.slow
def test_twenty_kills_at_random_moments(start_small, asked, tmp_path):
    rng, n_kills = random.Random(5), 0
    for _ in range(200):
        child = in_a_child(lambda: start_small(tmp_path / "study"))
        time.sleep(rng.uniform(0.0, 0.3))
        os.kill(child, signal.SIGKILL)
        n_kills += was_killed(child)
        if n_kills == 20:
            break
        if (tmp_path / "study" / STUDY_FILE).exists() and not (tmp_path / "study" / RESULTS_FOLDER).exists():
            shutil.rmtree(tmp_path / "study")  # it was faster than the kills: once more from the beginning
    assert n_kills == 20
    start_small(tmp_path / "study")
    assert fingerprint(tmp_path / "study") == fingerprint(asked)
    assert sorted(path.name for path in (tmp_path / "study").iterdir()) == sorted(path.name for path in asked.iterdir())


@pytest.mark.slow
def test_a_kill_at_every_write(start_small, asked, tmp_path, monkeypatch):
    """Between two writes nothing on the disk changes; what a kill leaves of a log is tried in its own tests."""
    settle, n_kills, writes = os.fsync, 0, 2

    def die_at(write):
        calls = iter(range(1, write))

        def fsync(handle):
            settle(handle)
            if next(calls, write) == write:
                os.kill(os.getpid(), signal.SIGKILL)

        return fsync

    while True:
        # Each child goes on where the one before was killed, and dies at its second write, later in the last steps.
        monkeypatch.setattr(os, "fsync", die_at(writes))
        if not was_killed(in_a_child(lambda: start_small(tmp_path / "study"))):
            break
        n_kills += 1
        writes += bool(list((tmp_path / "study" / RESULTS_FOLDER).glob(f"{ALL[-1]}-*.nc")))
    monkeypatch.setattr(os, "fsync", settle)
    assert n_kills >= len(ALL)
    start_small(tmp_path / "study")
    assert fingerprint(tmp_path / "study") == fingerprint(asked)


def test_tasks_that_were_done_are_not_done_again(start, tmp_path, monkeypatch):
    """Interrupted in the middle of a stage, a run goes on with the next animal."""
    monkeypatch.setattr("ethomarkov.io.task_log.SECONDS_BETWEEN_WRITES", 0.0)
    from ethomarkov.markov import entropy_scan

    scan, seen = entropy_scan._scan, []

    def interrupted(postures, *rest):
        if len(seen) == 2:
            raise KeyboardInterrupt
        seen.append(postures.segments.individuals)
        return scan(postures, *rest)

    monkeypatch.setattr(entropy_scan, "_scan", interrupted)
    with pytest.raises(KeyboardInterrupt):
        start(tmp_path / "study", scan=True)
    monkeypatch.setattr(
        entropy_scan,
        "_scan",
        lambda postures, *rest: seen.append(postures.segments.individuals) or scan(postures, *rest),
    )
    start(tmp_path / "study", scan=True)
    assert len(seen) == len(set(seen)) == 3
