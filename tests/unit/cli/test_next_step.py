"""What to type next: chosen by what a study holds, and always a command that there is."""

import os
import shlex
from pathlib import Path

import pytest

from ethomarkov.cli.app import make_app
from ethomarkov.cli.next_step import STEPS, as_options, next_step, typed, typed_again
from ethomarkov.cli.options import ReadingOptions


def put(directory: Path, evidence: str, age: float = 0.0) -> None:
    """Leave what a command leaves, some seconds ago."""
    file = directory / evidence.replace("*", "0123")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch()
    now = file.stat().st_mtime
    os.utime(file, (now - age, now - age))


def parsed(line: str) -> dict:
    """Parse a line as the shell and the command line do."""
    words = shlex.split(line)
    assert words[0] == "ethomarkov"
    _, bound, _ = make_app().parse_args(words[1:], exit_on_error=False, print_error=False)
    return bound.arguments


def test_all_commands_one_after_the_other(tmp_path):
    study = tmp_path / "my study"
    study.mkdir()
    asked = []
    for _ in range(len(STEPS)):
        line = next_step(study)
        assert parsed(line)["study"] == study
        asked.append(shlex.split(line)[1])
        put(study, {name: evidence for name, evidence, _ in STEPS}[asked[-1]], age=100)
    assert asked == [name for name, _, _ in STEPS]
    assert next_step(study) == typed("report", study)
    put(study, "report.html", age=50)
    assert next_step(study) == typed("export", study)
    (study / "export").mkdir()
    assert next_step(study) == typed("figures", study)
    put(study, "results/runs-*.nc")  # newer than the report
    assert next_step(study) == typed("report", study)


def test_animals_without_a_body_that_crawls(tmp_path):
    for name, evidence, needs_path in STEPS:
        if not needs_path:
            assert shlex.split(next_step(tmp_path, crawls=False))[1] == name
            put(tmp_path, evidence, age=9)
    assert shlex.split(next_step(tmp_path, crawls=False))[1] == "report"


def test_results_that_lie_elsewhere(tmp_path):
    """A study that may only be read is not written to."""
    study, kept = tmp_path / "study", tmp_path / "kept"
    assert next_step(study, kept=kept) == typed("validate", study, "--out", kept)
    assert parsed(next_step(study, kept=kept))["out"] == kept


@pytest.mark.parametrize(
    "options",
    [
        ReadingOptions(),
        ReadingOptions(rate=30.0, untracked=True),
        ReadingOptions(keypoints=("nose", "tail base"), format="sleap", min_frames=7),
    ],
)
def test_options_are_typed_as_they_were_given(options):
    line = typed("inspect", "--files", "a file.h5", *as_options(options))
    assert parsed(line).get("reading", ReadingOptions()) == options


def test_the_same_again(monkeypatch):
    monkeypatch.setattr("sys.argv", ["ethomarkov", "run", "a b.csv", "--out", "x", "--dry-run"])
    assert typed_again(without=["--dry-run"]) == "ethomarkov run 'a b.csv' --out x"
