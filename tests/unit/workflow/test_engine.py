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

from ethomarkov.exceptions import EthomarkovError, EthomarkovWarning, InputFormatError, OutputError
from ethomarkov.workflow import Settings, Study, run_study
from ethomarkov.workflow.engine import STAGES_DIRECTORY
from ethomarkov.workflow.provenance import PROVENANCE_FILE
from ethomarkov.workflow.stages import STAGES
from ethomarkov.workflow.study import STUDY_FILE, plan_study, regrow_study

ALL = [stage.name for stage in STAGES]
QUICK = Settings(
    n_delays=11,
    lag=0.75,
    n_states=12,
    n_walks=2,
    simulated_minutes=0.2,
    n_resamples=2,
    n_behaviours=4,
    scan=False,
    seed=2,
)
COMPARED = ("n_states", "lag", "n_behaviours", "drag_ratio", "seed")
"""Settings after whose change the study is also computed from the beginning."""


@pytest.fixture(scope="module")
def start(worms):
    """Give ``start(directory, **changes)``, which runs a study there and tells what was computed."""

    def run(directory, threads=1, **changes):
        settings = QUICK.model_copy(update=changes)
        study = run_study(worms.recording, settings, basis=worms.basis, directory=directory, threads=threads)
        told = json.loads((directory / PROVENANCE_FILE).read_text())
        return study, [one["stage"] for one in told["stages"] if not one["kept"]]

    return run


@pytest.fixture(scope="module")
def finished(start, tmp_path_factory) -> Path:
    """A complete study, to be copied."""
    directory = tmp_path_factory.mktemp("finished")
    assert start(directory)[1] == ALL
    return directory


@pytest.fixture
def again(finished, tmp_path) -> Path:
    shutil.copytree(finished, tmp_path / "study")
    return tmp_path / "study"


def fingerprint(directory: Path) -> str:
    return hashlib.sha256((directory / STUDY_FILE).read_bytes()).hexdigest()


# --- what is computed again ------------------------------------------------------------------------------------------


def test_nothing_is_computed_twice(start, again):
    before = fingerprint(again)
    assert start(again)[1] == []
    assert fingerprint(again) == before


CHANGES = {
    "n_modes": (4, ["postures"]),  # the basis that is given has five, so that the postures stay the same
    "n_states": (10, ["choice", "microstates", "chain", "timescales", "states", "simulation", "paths"]),
    "n_delays": (9, ["choice", "microstates", "chain", "timescales", "states", "simulation", "paths"]),
    "lag": (1.0, ["choice", "chain", "timescales", "states", "simulation", "paths"]),
    "scan": (True, ["scan"]),
    "min_measure": (0.05, ["states"]),
    "n_behaviours": (3, ["states"]),
    "n_resamples": (1, ["states"]),
    "cut": ("paper", ["states"]),
    "partition": ("minibatch", ["microstates", "chain", "timescales", "states", "simulation", "paths"]),
    "n_walks": (1, ["simulation", "paths"]),
    "simulated_minutes": (0.1, ["simulation", "paths"]),
    "simulation_lag": (2.25, ["simulation", "paths"]),
    "simulation_passage": (0.375, ["simulation", "paths"]),
    "unfolding": ("paper", ["simulation", "paths"]),
    "drag_ratio": (20.0, ["paths"]),
    "scheme": ("paper", ["paths"]),
    "seed": (3, ["choice", "scan", "microstates", "chain", "timescales", "states", "simulation", "paths"]),
    "names": ({"run": "crawl"}, []),
}


def test_every_setting_is_tried():
    assert set(CHANGES) == set(Settings.model_fields)
    known = {name for stage in STAGES for name in stage.settings} | {"names"}
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


def test_other_data_are_noticed(again, worms):
    values = worms.recording.dataset.copy(deep=True)
    values["amplitude"][::3] *= 1.7
    assert computed_from(type(worms.recording)(values), again, worms.basis) == ALL


def test_a_result_that_stays_the_same_stops_the_recomputation(again, worms):
    """Moved as a whole, postures fall into the same microstates in the same order, and so take as long to relax."""
    values = worms.recording.dataset.copy(deep=True)
    values["amplitude"][:, 0] += 0.5
    computed = computed_from(type(worms.recording)(values), again, worms.basis)
    assert computed == [name for name in ALL if name != "timescales"]


def computed_from(recording, directory, basis):
    run_study(recording, QUICK, basis=basis, directory=directory)
    told = json.loads((directory / PROVENANCE_FILE).read_text())
    return [one["stage"] for one in told["stages"] if not one["kept"]]


def test_a_plan_says_what_will_happen(start, again, worms):
    changed = QUICK.model_copy(update={"lag": 1.0})
    before = {path: path.stat().st_mtime_ns for path in again.rglob("*")}
    planned = plan_study(worms.recording, changed, basis=worms.basis, directory=again)
    assert [one.action for one in planned] == [
        "keep",
        "compute",
        "keep",
        "keep",
        "compute",
        "compute",
        "check",
        "check",
        "check",
    ]
    assert {path: path.stat().st_mtime_ns for path in again.rglob("*")} == before
    assert sum(one.seconds for one in planned) > 0
    assert [one.stage for one in planned if one.action != "keep"] == start(again, lag=1.0)[1]


def test_a_plan_of_an_empty_directory(worms, tmp_path):
    planned = plan_study(worms.recording, QUICK, basis=worms.basis, directory=tmp_path / "new")
    assert [one.action for one in planned] == ["compute"] * len(STAGES)
    assert all(
        one.seconds > 0 for one in planned if one.stage not in ("choice", "scan")
    )  # which these settings leave out
    assert not (tmp_path / "new").exists()


# --- what lies in the directory --------------------------------------------------------------------------------------


def test_every_stage_has_a_group(finished):
    with xr.open_datatree(finished / STUDY_FILE, engine="h5netcdf") as tree:
        assert list(tree.children) == ALL
        assert tree["microstates/symbols"]["labels"].dtype == np.int32
        assert all(len(tree[name].attrs["key"]) == 32 for name in ALL)


def test_nothing_is_left_over(finished):
    assert sorted(path.name for path in finished.iterdir()) == [PROVENANCE_FILE, "settings.toml", STUDY_FILE]


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


def test_a_study_in_memory_is_the_same(worms, finished, tmp_path):
    study = run_study(worms.recording, QUICK, basis=worms.basis)
    study.save(tmp_path)
    assert fingerprint(tmp_path) == fingerprint(finished)


def test_a_study_that_was_loaded_saves_the_same(finished, tmp_path):
    Study.load(finished).save(tmp_path)
    assert fingerprint(tmp_path) == fingerprint(finished)


def test_a_new_tree_is_known_to_the_engine(start, finished, tmp_path, again):
    """What `ethomarkov states` writes into a study is what a run with these settings would have written."""
    regrow_study(Study.load(finished), {"n_behaviours": 3}).save(tmp_path)
    start(again, n_behaviours=3)
    assert fingerprint(tmp_path) == fingerprint(again)


def test_two_runs_do_not_share_a_directory(start, again):
    import fcntl

    (again / STAGES_DIRECTORY).mkdir()
    with (again / STAGES_DIRECTORY / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(OutputError, match="another run is writing there"):
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


@pytest.fixture(scope="module")
def unfinished(start, tmp_path_factory) -> Path:
    """A study whose stages are complete, interrupted before it was written."""
    directory = tmp_path_factory.mktemp("unfinished")

    def stop(*_):
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Study, "save", stop)
        with pytest.raises(KeyboardInterrupt):
            start(directory)
    return directory


@pytest.mark.parametrize("stage", ALL)
def test_a_flipped_byte_of_a_stage_costs_that_stage(start, unfinished, finished, tmp_path, stage):
    shutil.copytree(unfinished, tmp_path / "study")
    file = tmp_path / "study" / STAGES_DIRECTORY / f"{stage}.nc"
    flip(file, random.Random(stage).randrange(file.stat().st_size))
    with pytest.warns(EthomarkovWarning, match=rf"{stage}\.nc: is damaged .* computed again") as told:
        start(tmp_path / "study")
    assert len(told) == 1
    assert fingerprint(tmp_path / "study") == fingerprint(finished)
    stages = json.loads((tmp_path / "study" / PROVENANCE_FILE).read_text())["stages"]
    assert [one["stage"] for one in stages if not one["kept"]] == [stage]


def test_a_plan_does_not_count_on_a_damaged_stage(unfinished, tmp_path, worms):
    shutil.copytree(unfinished, tmp_path / "study")
    flip(tmp_path / "study" / STAGES_DIRECTORY / "chain.nc", 5000)
    with pytest.warns(EthomarkovWarning, match=r"chain\.nc") as told:
        planned = plan_study(worms.recording, QUICK, basis=worms.basis, directory=tmp_path / "study")
    assert len(told) == 1
    assert [one.stage for one in planned if one.action == "compute"] == ["chain"]


def test_an_error_keeps_what_took_long(start, tmp_path, monkeypatch):
    monkeypatch.setattr("ethomarkov.workflow.engine.WORTH_KEEPING", 0.0)
    with pytest.raises(EthomarkovError, match="lag=125"):
        start(tmp_path / "study", lag=125.0)
    assert not (tmp_path / "study" / STUDY_FILE).exists()
    _, computed = start(tmp_path / "study")
    assert computed == ["choice", *ALL[4:]]


def test_an_early_error_leaves_no_trace(start, again, tmp_path, monkeypatch):
    monkeypatch.setattr("ethomarkov.workflow.engine.WORTH_KEEPING", math.inf)  # "early" on any machine
    before = {path: path.read_bytes() for path in again.rglob("*") if path.is_file()}
    for directory in (tmp_path / "deep" / "study", again):
        with pytest.raises(EthomarkovError, match="lag=125"):
            start(directory, lag=125.0)
    assert not (tmp_path / "deep").exists()
    assert {path: path.read_bytes() for path in again.rglob("*") if path.is_file()} == before


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
def test_twenty_kills_at_random_moments(start, finished, tmp_path):
    rng, n_kills = random.Random(5), 0
    for _ in range(200):
        child = in_a_child(lambda: start(tmp_path / "study"))
        time.sleep(rng.uniform(0.0, 0.5))
        os.kill(child, signal.SIGKILL)
        n_kills += was_killed(child)
        if n_kills == 20:
            break
        if (tmp_path / "study" / STUDY_FILE).exists() and not (tmp_path / "study" / STAGES_DIRECTORY).exists():
            shutil.rmtree(tmp_path / "study")  # it was faster than the kills: once more from the beginning
    assert n_kills == 20
    start(tmp_path / "study")
    assert fingerprint(tmp_path / "study") == fingerprint(finished)
    assert sorted(path.name for path in (tmp_path / "study").iterdir()) == sorted(
        path.name for path in finished.iterdir()
    )


@pytest.mark.slow
def test_a_kill_at_every_write(start, finished, tmp_path, monkeypatch):
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
        if not was_killed(in_a_child(lambda: start(tmp_path / "study"))):
            break
        n_kills += 1
        writes += (tmp_path / "study" / STAGES_DIRECTORY / f"{ALL[-1]}.nc").exists()
    monkeypatch.setattr(os, "fsync", settle)
    assert n_kills >= len(STAGES)
    start(tmp_path / "study")
    assert fingerprint(tmp_path / "study") == fingerprint(finished)


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
