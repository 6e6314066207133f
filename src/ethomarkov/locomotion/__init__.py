"""From posture to path: what the body's deformations do to its place on the plate."""

from ethomarkov.locomotion.path import Path
from ethomarkov.locomotion.resistive import propel

__all__ = ["Path", "propel"]
