"""Tasks keep their order wherever they run."""

import time

import pytest

from ethomarkov._core.parallel import map_tasks
from ethomarkov._core.random import generator


def slow_first(task):
    """Finish the early tasks last."""
    time.sleep(0.05 if task == 0 else 0.0)
    return task, float(generator(0, "task", task).random())


def test_two_threads_equal_one():
    serial = map_tasks(slow_first, range(8))
    assert serial == map_tasks(slow_first, range(8), threads=2)
    assert [task for task, _ in serial] == list(range(8))


@pytest.mark.parametrize("threads", [1, 2])
def test_progress_is_told_after_every_task(threads):
    told = []
    map_tasks(slow_first, range(4), threads=threads, progress=lambda *call: told.append(call), what="worms")
    assert told == [("worms", done, 4) for done in (1, 2, 3, 4)]


@pytest.mark.parametrize("threads", [1, 2])
def test_nothing_to_do(threads):
    assert map_tasks(slow_first, [], threads=threads) == []


@pytest.mark.parametrize("threads", [1, 2])
def test_errors_come_through(threads):
    def fail(task):
        raise KeyError(task)

    with pytest.raises(KeyError):
        map_tasks(fail, [1, 2], threads=threads)


def test_tasks_may_be_a_generator():
    assert map_tasks(abs, (-n for n in range(3)), threads=2) == [0, 1, 2]
