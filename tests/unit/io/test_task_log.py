"""A log of tasks survives whatever happens to it."""

import os
import pickle
import struct

import numpy as np
import pytest

from ethomarkov._core.interval import Interval
from ethomarkov.io import task_log
from ethomarkov.io.task_log import TaskLog

ANSWERS = [
    np.arange(6.0).reshape(2, 3),
    (1, 2.5, "three", None, True),
    {"a": np.float32(1.5), "b": [np.int64(3)]},
    Interval(estimate=1.0, low=0.5, high=1.5, level=0.95, over="animals", n=3),
]


def written(path, answers=ANSWERS, key="k"):
    log = TaskLog(path, key)
    log.recall(len(answers))
    for index, answer in enumerate(answers):
        log.note(index, answer)
    log.close()
    return path


def recalled(path, n_tasks=10, key="k"):
    log = TaskLog(path, key)
    found = dict(log.recall(n_tasks))
    log.close()
    return found


def test_answers_come_back(tmp_path):
    found = recalled(written(tmp_path / "t.tasks"))
    assert list(found) == [0, 1, 2, 3]
    np.testing.assert_array_equal(found[0], ANSWERS[0])
    assert [found[1], found[2], found[3]] == ANSWERS[1:]


def test_batches_are_told_apart(tmp_path):
    log = TaskLog(tmp_path / "t", "k")
    for batch in range(3):
        assert log.recall(2) == {}
        log.note(1, batch)
    log.close()
    log = TaskLog(tmp_path / "t", "k")
    assert [log.recall(2) for _ in range(4)] == [{1: 0}, {1: 1}, {1: 2}, {}]
    log.close()


def test_answers_of_another_key_are_thrown_away(tmp_path):
    assert recalled(written(tmp_path / "t"), key="other") == {}
    assert recalled(tmp_path / "t", key="k") == {}  # for good


def test_tasks_beyond_the_batch_are_not_recalled(tmp_path):
    assert list(recalled(written(tmp_path / "t"), n_tasks=2)) == [0, 1]


def test_a_log_that_was_cut_anywhere_gives_what_is_whole(tmp_path):
    """As a kill or a full disk may leave it: every length of the file is tried."""
    whole = written(tmp_path / "t", [1, "two", 3.0]).read_bytes()
    counts = []
    for length in range(len(whole) + 1):
        (tmp_path / "cut").write_bytes(whole[:length])
        found = recalled(tmp_path / "cut")
        assert found == dict(list({0: 1, 1: "two", 2: 3.0}.items())[: len(found)])
        counts.append(len(found))
    assert counts == sorted(counts)
    assert set(counts) == {0, 1, 2, 3}


def test_a_cut_log_goes_on(tmp_path):
    whole = written(tmp_path / "t", [1, "two", 3.0]).read_bytes()
    (tmp_path / "t").write_bytes(whole[:-3])
    log = TaskLog(tmp_path / "t", "k")
    assert dict(log.recall(3)) == {0: 1, 1: "two"}
    log.note(2, "again")
    log.close()
    assert recalled(tmp_path / "t") == {0: 1, 1: "two", 2: "again"}


def test_a_damaged_record_ends_the_log(tmp_path):
    data = bytearray(written(tmp_path / "t", [1, "two", 3.0]).read_bytes())
    data[data.index(b"two")] ^= 1
    (tmp_path / "t").write_bytes(bytes(data))
    assert recalled(tmp_path / "t") == {0: 1}


class Trap:
    """What a hostile file would hold."""

    def __reduce__(self):
        return os.system, ("true",)


@pytest.mark.parametrize("answer", [Trap(), struct.Struct("<I").unpack, np.testing.assert_equal])
def test_nothing_but_results_is_built(tmp_path, answer):
    log = TaskLog(tmp_path / "t", "k")
    log.recall(1)
    with pytest.raises((pickle.UnpicklingError, TypeError, AttributeError)):
        log.note(0, answer)
    log.close()


def test_answers_reach_the_disk_before_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr(task_log, "SECONDS_BETWEEN_WRITES", 0.0)
    log = TaskLog(tmp_path / "t", "k")
    log.recall(2)
    log.note(0, "early")
    (tmp_path / "copy").write_bytes((tmp_path / "t").read_bytes())  # what a kill would leave now
    assert recalled(tmp_path / "copy") == {0: "early"}
    log.close()
