"""Key figures beside a study: believed only as they were written, and only for the study that they are of."""

import json

import pytest

from ethomarkov.report.summary_file import read_summary, write_summary


@pytest.fixture
def home(study, tmp_path):
    study.save(tmp_path)
    return tmp_path


def test_they_are_read_back_without_nan(home):
    assert write_summary(home, {"a": float("nan"), "b": (1, 2.5)}) == {"a": None, "b": [1, 2.5]}
    assert read_summary(home) == {"a": None, "b": [1, 2.5]}


def test_edited_figures_are_not_believed(home):
    write_summary(home, {"a": 1})
    file = home / "summary.json"
    file.write_text(json.dumps(json.loads(file.read_text(encoding="utf-8")) | {"a": 2}), encoding="utf-8")
    assert read_summary(home) is None


def test_those_of_a_damaged_study_are_not_believed(home):
    write_summary(home, {"a": 1})
    content = bytearray((home / "study.nc").read_bytes())
    content[len(content) // 2] ^= 1
    (home / "study.nc").write_bytes(content)
    assert read_summary(home) is None


@pytest.mark.parametrize("text", ["", "[]", "{", '{"key": 3}'])
def test_rubbish(home, text):
    (home / "summary.json").write_text(text, encoding="utf-8")
    assert read_summary(home) is None
