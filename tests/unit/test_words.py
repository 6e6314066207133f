"""One word for each idea: what a person reads does not use the words that were given up for the field's own.

Looked at are docstrings and other texts of the code, templates, data files and docs; code in texts is left out. Only
phrases that cannot mean anything else are listed: "kept" or "found" are plain English almost everywhere.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "ethomarkov"
PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"]
TEMPLATES = sorted(file for ending in ("html", "js", "toml") for file in SOURCE.rglob(f"*.{ending}"))

NOUN = r"\b(?:a|an|the|each|every|this|these|those|all|mean|long|longer|longest|short|shorter|shortest|complete|of)"
INSTEAD = {
    rf"{NOUN} stays?\b": "dwell, dwell time",
    r"\bleaving rates?\b|\brates? of leaving\b": "transition rate",
    r"\bslow times?\b": "relaxation time",
    r"\b(?:drawn|drawing|draws?) anew\b": "bootstrap over animals, resampled",
    r"\bforet(?:old|ell)": "predicted",
    rf"(?:{NOUN}|\btest|\btraining|\bshuffled|\btheir|\bits) symbols\b(?! \()": "state sequence",
    r"\bshuffled (?:states|microstates)\b": "shuffled state sequences",
    r"\bshel(?:f|ves)\b": "cache, checkpoint",
    r"\ba (?:finding|holding)\b|\bfindings\b|\bholdings\b": "estimate, result",
    r"\bhonest(?:ly)?\b|\bleaky\b": "held-out, as published",
    r"\brandom choices?\b": "random seed",
    r"\bbehaviours\b": "states",
}
"""What is not said, and what is said instead (the vocabulary of the docs: docs/glossary.md)."""
ALLOWED = {
    "io/bouts.py": ("holds the behaviours",),  # BORIS calls them so, and its files are spoken of
    "report/templates/report.html": ("<h2>Behaviours</h2>", "summary.behaviours"),  # a title; a key of the summary
    "paper/published.toml": ("Behaviours on their own",),  # a title
    "docs/glossary.md": ("The symbols are those of the paper",),  # letters of equations
}
"""Texts in which such a word is meant, by the end of the file's name."""


def plain(line: str) -> str:
    """Leave out code: examples, and what stands in backticks."""
    return "" if re.match(r"\s*(?:>>>|\.\.\. )", line) else re.sub(r"`[^`]*`", "`", line)


def texts_of(file: Path) -> Iterator[tuple[int, str]]:
    """Give the lines of texts of a module with their numbers; all lines of other files."""
    content = file.read_text(encoding="utf-8")
    if file.suffix != ".py":
        yield from enumerate(content.splitlines(), 1)
        return
    for node in ast.walk(ast.parse(content)):
        # a word alone is a key or an option
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip():
            yield from enumerate(node.value.splitlines(), node.lineno)


def wrong_words(file: Path) -> Iterator[str]:
    allowed = [text for name, texts in ALLOWED.items() if file.as_posix().endswith(name) for text in texts]
    for number, line in texts_of(file):
        text = plain(line)
        for one in allowed:
            text = text.replace(one, "")
        for pattern, instead in INSTEAD.items():
            for found in re.finditer(pattern, text, flags=re.IGNORECASE):
                yield f"{file.relative_to(ROOT)}:{number}: {found[0]!r}, say: {instead}"


@pytest.mark.parametrize("folder", sorted(one.name for one in SOURCE.iterdir() if (one / "__init__.py").exists()))
def test_texts_of_the_code(folder):
    wrong = [one for file in sorted((SOURCE / folder).rglob("*.py")) for one in wrong_words(file)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("file", [*PAGES, *TEMPLATES], ids=lambda file: file.name)
def test_pages(file):
    wrong = list(wrong_words(file))
    assert not wrong, "\n".join(wrong)


def test_wrong_words_are_seen(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    module = tmp_path / "module.py"
    module.write_text(
        '"""The mean stay.\n\n>>> leaving_rate(symbols)\n"""\nHELP = f"shuffled symbols {HELP}: `a stay`"\n'
    )
    assert [one.partition(", say")[0] for one in wrong_words(module)] == [
        "module.py:1: 'mean stay'",
        "module.py:5: 'shuffled symbols'",
    ]
