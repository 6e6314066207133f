"""Tasks keep their order wherever they run."""

import time

import pytest

from ethomarkov._core.parallel import map_tasks, noted_in, sent_to
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


class Book:
    """A notebook in memory."""

    def __init__(self, known=()):
        self.pages = [dict(page) for page in known]
        self.batch = -1

    def recall(self, n_tasks):
        self.batch += 1
        if self.batch == len(self.pages):
            self.pages.append({})
        return dict(self.pages[self.batch])

    def note(self, index, answer):
        self.pages[self.batch][index] = answer
        return answer


@pytest.mark.parametrize("threads", [1, 2])
def test_known_answers_are_not_computed_again(threads):
    seen, told = [], []
    with noted_in(Book([{1: "kept"}])):
        found = map_tasks(
            lambda task: seen.append(task) or str(task),
            range(3),
            threads=threads,
            progress=lambda *call: told.append(call),
        )
    assert found == ["0", "kept", "2"]
    assert sorted(seen) == [0, 2]
    assert [done for _, done, _ in told] == [2, 3]


def test_every_batch_has_a_page_of_its_own():
    book = Book()
    with noted_in(book):
        map_tasks(abs, [-1])
        map_tasks(abs, [-2, 3])
    map_tasks(abs, [-9])
    assert book.pages == [{0: 1}, {0: 2, 1: 3}]


@pytest.mark.parametrize("threads", [1, 2])
def test_tasks_within_tasks_have_no_page(threads):
    book = Book()
    with noted_in(book):
        found = map_tasks(lambda task: map_tasks(abs, [task, -task]), [-1, 2], threads=threads)
    assert found == [[1, 1], [2, 2]]
    assert book.pages == [{0: [1, 1], 1: [2, 2]}]


def test_tasks_are_sent_to_workers():
    class Workers:
        def run(self, function, tasks):
            return (("there", function(task)) for task in tasks)

    with sent_to(Workers()):
        assert map_tasks(abs, [-1, 2], threads=4) == [("there", 1), ("there", 2)]
        with sent_to(None):
            assert map_tasks(abs, [-1]) == [1]
    assert map_tasks(abs, [-1]) == [1]
