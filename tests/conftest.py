"""Fixtures shared by all tests."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def shared_data() -> Callable[[str], Path]:
    """Find a file of the real recordings, or skip the test with the reason."""
    folder = Path(os.environ.get("ETHOMARKOV_DATA", REPOSITORY.parent / "shared" / "data"))

    def find(name: str) -> Path:
        path = folder / name
        if not path.is_file():
            pytest.skip(f"{path} is not at hand; set ETHOMARKOV_DATA to the folder of the real recordings")
        return path

    return find
