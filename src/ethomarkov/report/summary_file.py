"""The key figures of a study beside its file, so that they are there at once. Nothing numerical is imported here."""

import hashlib
import json
import math
from pathlib import Path
from typing import Any

from ethomarkov.exceptions import OutputError
from ethomarkov.io.atomic import atomic_path
from ethomarkov.io.seal import check_seal
from ethomarkov.study.files import STUDY_FILE, SUMMARY_FILE

KEY = "key"
ROOT = Path(__file__).parents[1]


def read_summary(directory: Path) -> dict[str, Any] | None:
    """Read the key figures of the study in a directory; None where they are not those of this very study.

    Parameters
    ----------
    directory
        Of the study.
    """
    try:
        figures = json.loads((directory / SUMMARY_FILE).read_text(encoding="utf-8"))
        return figures if figures.pop(KEY) == _key(directory, figures) else None
    except (OSError, ValueError, LookupError, AttributeError, TypeError):  # also about a damaged study
        return None


def write_summary(directory: Path, figures: dict[str, Any]) -> dict[str, Any]:
    """Write the key figures of the study in a directory, where it may be written to; give them as they are read back.

    Parameters
    ----------
    directory
        Of the study.
    figures
        See `ethomarkov.report.summary.summarize`.
    """
    plain = as_json(figures)
    try:
        with atomic_path(directory / SUMMARY_FILE) as temporary:
            text = json.dumps(plain | {KEY: _key(directory, plain)}, indent=2, allow_nan=False)
            temporary.write_text(text + "\n", encoding="utf-8")
    except OutputError:  # a study that may only be read
        pass
    return plain


def _key(directory: Path, figures: dict[str, Any]) -> str:
    """Give the fingerprint of an undamaged study, of its key figures, and of the code of this package."""
    hasher = hashlib.blake2b(check_seal(directory / STUDY_FILE), digest_size=16)
    hasher.update(json.dumps(figures).encode())
    for source in sorted(ROOT.rglob("*.py")):
        hasher.update(source.read_bytes())
    return hasher.hexdigest()


def as_json(figures: dict[str, Any]) -> dict[str, Any]:
    """Replace NaN and infinity, which JSON does not know, by null."""
    return {name: _plain(item) for name, item in figures.items()}


def _plain(value: Any) -> Any:  # noqa: ANN401 (any JSON value)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
