"""What a person calls in Python: a study from files or arrays in one line, and views of it."""

from ethomarkov.notebook.running import load as load
from ethomarkov.notebook.running import run as run

__all__ = ["load", "run"]
