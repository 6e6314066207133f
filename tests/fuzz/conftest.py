"""Lets the tests of this folder import its modules as ``fuzz``; tests are no package."""

import sys
from pathlib import Path

TESTS = str(Path(__file__).resolve().parents[1])
if TESTS not in sys.path:
    sys.path.append(TESTS)
