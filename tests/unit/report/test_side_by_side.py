"""A second process does tasks as if they were done here, and leaves nothing behind."""

import importlib
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

from ethomarkov.exceptions import InputFormatError, RareStateWarning
from ethomarkov.io.atomic import atomic_path
from ethomarkov.report.side_by_side import second_process


def add(a, b):
    sys.stdout.write("what a task prints does not disturb")
    sys.stdout.flush()
    return a + b, os.getpid()


def refuse(what):
    raise InputFormatError(f"{what} is no recording.")


def warn(what):
    warnings.warn(what, RareStateWarning, stacklevel=1)
    return what


def write_slowly(path):
    with atomic_path(Path(path)) as temporary:
        temporary.touch()
        time.sleep(600)


def die():
    os._exit(3)


@pytest.fixture
def tasks_module(monkeypatch):
    """Make this module one that another process can import."""
    here = Path(__file__)
    monkeypatch.syspath_prepend(here.parent)
    return importlib.import_module(here.stem)


def test_answers_errors_and_warnings_come_back(tasks_module):
    with second_process() as beside:
        good, bad, loud = (
            beside.begin(tasks_module.add, 1, 2),
            beside.begin(tasks_module.refuse, "a fish"),
            beside.begin(tasks_module.warn, "seldom"),
        )
        answer, process = good.answer()
        assert answer == 3
        assert process != os.getpid()
        with pytest.raises(InputFormatError, match="a fish is no recording"):
            bad.answer()
        with pytest.warns(RareStateWarning, match="seldom"):
            assert loud.answer() == "seldom"


def test_tasks_that_wait_can_be_taken_back_and_running_ones_end_with_the_block(tasks_module, tmp_path):
    with second_process() as beside:
        running, waiting = (
            beside.begin(tasks_module.write_slowly, str(tmp_path / "page")),
            beside.begin(tasks_module.die),
        )
        while not list(tmp_path.iterdir()):
            time.sleep(0.01)
        assert not running.take_back()
        assert waiting.take_back()
    assert running.answer() is None
    assert list(tmp_path.iterdir()) == []  # neither what was written nor a part of it


def test_a_process_that_dies_gives_no_answer(tasks_module):
    with second_process() as beside:
        first, second = beside.begin(tasks_module.die), beside.begin(tasks_module.add, 1, 2)
        assert first.answer() is None
        assert second.answer() is None


def test_none_is_opened_unless_wanted():
    with second_process(wanted=False) as beside:
        assert beside is None


def test_a_script_needs_no_main_guard(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from ethomarkov.report.side_by_side import second_process\n"
        "import os\n"
        "with second_process() as beside:\n"
        "    print(beside.begin(os.path.basename, '/a/b').answer())\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert done.stdout == "b\n"
    assert done.stderr == ""


def test_modules_beside_the_data_are_not_imported(tmp_path, monkeypatch):
    (tmp_path / "pickle.py").write_text("from pathlib import Path\nPath('ran').touch()\n")
    monkeypatch.chdir(tmp_path)
    with second_process() as beside:
        assert beside is not None
        assert beside.begin(os.getcwd).answer() == str(tmp_path.resolve())
    assert not (tmp_path / "ran").exists()
