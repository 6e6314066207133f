"""Progress in a terminal and in a pipe."""

import io
import time

import pytest
from rich.console import Console

from ethomarkov.cli import progress
from ethomarkov.cli.progress import Bar, Lines, current_progress, end_progress, showing_progress, tell


def wait_for(text: str, file: io.StringIO) -> None:
    """Wait until something was printed; a minute is enough on any machine."""
    for _ in range(6000):
        if text in file.getvalue():
            return
        time.sleep(0.01)
    raise AssertionError(f"{text!r} was not printed, but {file.getvalue()!r}")


@pytest.fixture
def pipe(monkeypatch) -> Console:
    """A pipe to which lines come every hundredth of a second."""
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.01)
    monkeypatch.setattr(progress, "FIRST_SIGN", 0.01)
    return Console(file=io.StringIO(), width=40)


def test_lines_tell_stage_and_share(pipe):
    lines = Lines(pipe)
    wait_for("starting", pipe.file)
    lines.report("simulation_trial", 34, 100)
    wait_for("simulation trial", pipe.file)
    lines.stop()
    first, second = pipe.file.getvalue().splitlines()[:2]
    assert first.split() == ["0", "s", "starting"]
    assert second.split()[1:] == ["s", "simulation", "trial", "34%"]
    assert "\x1b" not in pipe.file.getvalue()


def test_one_line_for_each_stage_and_none_after_the_end(pipe):
    lines = Lines(pipe)
    for done in range(20):
        lines.report("microstates", done, 20)
        time.sleep(0.005)
    wait_for("microstates", pipe.file)
    lines.stop()
    lines.report("chain", 1, 2)
    time.sleep(0.1)
    assert pipe.file.getvalue().count("microstates") == 1
    assert "chain" not in pipe.file.getvalue()


def test_long_silence_is_broken(pipe, monkeypatch):
    monkeypatch.setattr(progress, "LONGEST_SILENCE", 0.02)
    lines = Lines(pipe)
    for _ in range(6000):
        if pipe.file.getvalue().count("starting") >= 3:
            break
        time.sleep(0.01)
    lines.stop()
    assert pipe.file.getvalue().count("starting") >= 3


def test_a_bar_in_a_terminal():
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    bar = Bar(console)
    assert "starting" in console.file.getvalue()  # at once
    bar.report("sequence_map", 1, 2)
    bar.stop()
    assert "sequence map" in console.file.getvalue()
    assert "50%" in console.file.getvalue()


def test_the_progress_of_a_command():
    assert current_progress() is None
    console = Console(file=io.StringIO())
    with showing_progress(console):
        report = current_progress()
        assert report is not None
        report("chain", 1, 2)
        tell("About 3 min.")
        end_progress()
    assert current_progress() is None
    end_progress()  # where nothing is shown
    tell("nothing")
    assert console.file.getvalue() == "About 3 min.\n"
