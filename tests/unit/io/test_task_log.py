"""A log of tasks survives whatever happens to it."""

import os
import pickle
import random
import struct

import numpy as np
import pytest

from ethomarkov._core.interval import Interval
from ethomarkov.io import task_log
from ethomarkov.io.packing import pack
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


def test_a_flipped_byte_costs_answers_but_never_changes_one(tmp_path):
    answers = [(k, np.full(3, k)) for k in range(6)]
    whole, draw = written(tmp_path / "t", answers).read_bytes(), random.Random(1)
    for _ in range(300):
        place = draw.randrange(len(whole))
        (tmp_path / "t").write_bytes(
            whole[:place] + bytes([whole[place] ^ 1 << draw.randrange(8)]) + whole[place + 1 :]
        )
        found = recalled(tmp_path / "t")
        assert list(found) == list(range(len(found)))
        assert len(found) == max(0, (place - 25) * 6 // (len(whole) - 25))  # those before the flip, after the key
        for k, answer in found.items():
            assert answer[0] == k
            np.testing.assert_array_equal(answer[1], answers[k][1])


def test_a_length_beyond_the_file_is_not_read(tmp_path):
    written(tmp_path / "t", [1])
    with (tmp_path / "t").open("ab") as file:
        file.write(struct.pack("<Q16s", 2**62, b""))
    assert recalled(tmp_path / "t") == {0: 1}


class Trap:
    """What a hostile file would hold."""

    def __reduce__(self):
        return os.mkdir, ("sprung",)


@pytest.mark.parametrize(
    "body",
    [
        pickle.dumps((0, 0, Trap())),
        # pickle finds dotted names, so that a module of the package leads to any other
        b"\x80\x04K\x00K\x00\x8c\x18ethomarkov.study.cluster\x8c\x10subprocess.Popen\x93\x8c\x04true\x85R\x87.",
        pack("no record"),
        pack((0, [], 1)),
        pack((0, -1, "before the first")),
        pack((True, 0, 1)),
    ],
)
def test_nothing_but_records_is_read_even_with_a_checksum(tmp_path, monkeypatch, body):
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "t", [1])
    with (tmp_path / "t").open("ab") as file:
        file.write(task_log._head(body) + body)
    assert recalled(tmp_path / "t") == {0: 1}
    assert [path.name for path in tmp_path.iterdir()] == ["t"]


@pytest.mark.parametrize("answer", [Trap(), struct.Struct("<I").unpack, np.testing.assert_equal])
def test_an_answer_that_would_not_come_back_is_an_error_of_the_program(tmp_path, answer):
    log = TaskLog(tmp_path / "t", "k")
    log.recall(1)
    with pytest.raises(TypeError, match="cannot be packed"):
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
