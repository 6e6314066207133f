"""From posture to path: what the body's deformations do to its place on the plate."""

from ethomarkov.locomotion.drag import DragFit, DragSettings, fit_drag_ratio
from ethomarkov.locomotion.resistive import propel, skeletons
from ethomarkov.locomotion.trajectory import Trajectory

__all__ = ["DragFit", "DragSettings", "Trajectory", "fit_drag_ratio", "propel", "skeletons"]
