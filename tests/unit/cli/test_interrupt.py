"""Ctrl-C: one line and exit code 130, whatever the program is doing."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from ethomarkov.cli.interrupt import STOPPED, answered, how_to_go_on, is_stopping

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs signals as POSIX has them")

PROGRAM = """
import sys, threading, time
sys.argv = ["ethomarkov", "run", "my worm.csv", "--out", "study"]
from ethomarkov.cli.interrupt import answered

def work():
    print("ready", flush=True)
    time.sleep(120)

def swallow():
    for _ in range(3):
        try:
            work()
        except BaseException:
            pass
    work()

def fail_of_it():
    try:
        work()
    except KeyboardInterrupt:
        raise ImportError("cannot import name 'multiarray'")

def beside_a_thread():
    threading.Thread(target=time.sleep, args=(120,)).start()
    work()

def clear_away():
    try:
        work()
    finally:
        time.sleep(0.8)
        print("cleared", flush=True)

with answered():
    {what}()
"""
LINE = "Stopped; what is complete is cached. To go on, type it again: ethomarkov run 'my worm.csv' --out study\n"


def stopped(what: str) -> tuple[int, str, str]:
    """Interrupt a program once it is ready."""
    script = PROGRAM.replace("{what}", what)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", script], **pipes) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        return process.returncode, out.replace("ready\n", ""), err


@pytest.mark.parametrize("what", ["work", "swallow", "fail_of_it", "beside_a_thread"])
def test_one_line_and_the_code(what):
    assert stopped(what) == (STOPPED, "", LINE)


def test_what_is_half_done_is_cleared_away_first():
    assert stopped("clear_away") == (STOPPED, "cleared\n", LINE)


def test_a_program_that_takes_it_for_an_end_ends_well(monkeypatch):
    before = signal.getsignal(signal.SIGINT)
    with answered():
        assert not is_stopping()
        try:
            os.kill(os.getpid(), signal.SIGINT)
            threading.Event().wait(30)
        except KeyboardInterrupt:
            assert is_stopping()
    assert not is_stopping()
    assert signal.getsignal(signal.SIGINT) is before


def test_other_errors_pass():
    with pytest.raises(ZeroDivisionError), answered():
        _ = 1 / 0


def test_threads_are_left_alone():
    seen = []

    def work() -> None:
        with answered():
            seen.append(signal.getsignal(signal.SIGINT))

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]


@pytest.mark.parametrize("command", ["inspect", "summary", "report"])
def test_commands_that_keep_nothing_say_so(command):
    assert how_to_go_on([command, "x"]) == f"Stopped; no file is half-written. To start again: ethomarkov {command} x"
