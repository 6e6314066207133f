"""Calls in another process: answers, errors, limits, and ends of every kind."""

import operator
import os
import sys
import threading
import time

import numpy as np
import pytest

from ethomarkov.exceptions import InputFormatError
from ethomarkov.io.child import Child, ChildDiedError, Limits, child_environment
from ethomarkov.io.packing import unpack

needs_limits = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of memory and time need Linux")
MEGABYTE = 2**20
ROOMY = Limits(memory=500 * MEGABYTE, seconds=20, idle_seconds=20)
ENDLESS = 10**6


class Caller(Child):
    """A process whose calls give their answers at once."""

    def call(self, *arguments, **options):
        return super().call(*arguments, **options).unwrap()


@pytest.fixture(scope="module")
def process():
    one = Caller()
    yield one
    one.end()


@pytest.fixture
def mortal():
    one = Caller()
    yield one
    one.end(0.0)


@pytest.mark.parametrize("limits", [None, ROOMY])
def test_answers_come_back_as_they_are(process, limits):
    assert process.call(operator.add, 2, 3, limits=limits) == 5
    np.testing.assert_array_equal(process.call(np.cumsum, np.arange(4.0), limits=limits), [0, 1, 3, 6])


def test_one_process_does_all_calls(process):
    assert process.call(os.getpid) == process.call(os.getpid) != os.getpid()


def test_errors_of_the_package_keep_their_class_and_words(process):
    with pytest.raises(InputFormatError, match="bytes are too few") as caught:
        process.call(unpack, b"xyz")
    assert not hasattr(caught.value, "__notes__")


def test_other_errors_tell_where_they_arose(process):
    with pytest.raises(RuntimeError, match="ZeroDivisionError: division by zero") as caught:
        process.call(operator.truediv, 1, 0)
    assert "Traceback" in caught.value.__notes__[0]


def test_what_cannot_be_packed_is_an_error_on_either_side(process):
    with pytest.raises(TypeError, match="cannot be packed"):
        process.call(operator.add, object())
    with pytest.raises(RuntimeError, match="TypeError"):
        process.call(time.localtime)
    assert process.call(operator.add, 1, 1) == 2


@needs_limits
def test_too_much_memory_is_an_error_and_the_process_goes_on(process):
    small = Limits(memory=50 * MEGABYTE, seconds=20, idle_seconds=20)
    with pytest.raises(RuntimeError, match="MemoryError"):
        process.call(np.ones, 10**9, limits=small)
    assert process.call(np.ones, 10**6, limits=small).size == 10**6
    assert process.call(np.ones, 10**7, limits=None).size == 10**7, "the limit is lifted after the call"


@needs_limits
def test_a_process_that_keeps_much_memory_ends(mortal):
    roomy = Limits(memory=300 * MEGABYTE, seconds=20, idle_seconds=20)
    assert mortal.call(operator.add, 1, 1, limits=roomy) == 2
    assert mortal.is_alive
    mortal.call(os.putenv, "KEPT", "x" * (200 * MEGABYTE))
    assert mortal.call(operator.add, 1, 1, limits=roomy) == 2
    assert not mortal.is_alive


@needs_limits
def test_too_much_computing_ends_the_process(mortal):
    brief = Limits(memory=2**40, seconds=1, idle_seconds=60)
    with pytest.raises(ChildDiedError, match="computed for more than 1 s"):
        mortal.call(pow, 3, 10**9, limits=brief)
    assert not mortal.is_alive


@needs_limits
def test_doing_nothing_ends_the_process(mortal):
    impatient = Limits(memory=2**40, seconds=60, idle_seconds=0.2)
    with pytest.raises(ChildDiedError, match=r"did nothing for 0\.2 s"):
        mortal.call(time.sleep, ENDLESS, limits=impatient)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_crash_is_told_from_an_answer(mortal):
    with pytest.raises(ChildDiedError, match="SIGABRT"):
        mortal.call(os.abort)
    with pytest.raises(ChildDiedError):
        mortal.call(operator.add, 1, 1)


def test_an_interrupted_call_does_not_answer_the_next(mortal, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("ethomarkov.io.child._receive", interrupt)
    with pytest.raises(KeyboardInterrupt):
        mortal.call(operator.add, 1, 1)
    assert not mortal.is_alive


def test_what_is_printed_does_not_come_among_the_answers(process):
    assert process.call(print, "hello") is None
    assert process.call(os.write, 1, b"hello") == 5
    assert process.call(operator.add, 1, 1) == 2


def test_many_threads_may_wait_for_one_process(process):
    lock, found = threading.Lock(), []

    def ask(n):
        with lock:
            found.append(process.call(operator.mul, n, n) == n * n)

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 8


def test_no_module_of_the_working_directory_is_imported(tmp_path, monkeypatch):
    (tmp_path / "json.py").write_text("raise SystemExit('ran')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", str(tmp_path), *sys.path])
    assert str(tmp_path) not in child_environment()["PYTHONPATH"].split(os.pathsep)
    one = Caller()
    try:
        assert one.call(operator.add, 1, 1) == 2
    finally:
        one.end()
