"""Commands in README and docs are those that there are, with the options that they have."""

import re
import shlex
from pathlib import Path

import pytest

from ethomarkov.cli.app import make_app

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
LINES = [
    (page.name, line)
    for page in PAGES
    for line in re.findall(r"^(?:\$ )?(ethomarkov [a-z].*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
]


def test_there_are_some():
    assert len(LINES) > 25


@pytest.mark.parametrize(("page", "line"), LINES, ids=[line[:40] for _, line in LINES])
def test_it_can_be_typed(page, line):
    words = shlex.split(line, comments=True)[1:]
    make_app().parse_args(words, exit_on_error=False, print_error=False)
