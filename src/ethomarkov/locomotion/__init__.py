"""From posture to path: what the body's deformations do to its place on the plate."""

from ethomarkov.locomotion.drag import DragFit, DragSearch, fit_drag_ratio
from ethomarkov.locomotion.path import Path
from ethomarkov.locomotion.resistive import propel, skeletons

__all__ = ["DragFit", "DragSearch", "Path", "fit_drag_ratio", "propel", "skeletons"]
