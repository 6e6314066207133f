"""Paths from postures: the motion of the body that its deformations cause."""

from ethomarkov.locomotion.drag import DragFit, DragSettings, fit_drag_ratio
from ethomarkov.locomotion.resistive import propel, skeletons
from ethomarkov.locomotion.trajectory import Trajectory

__all__ = ["DragFit", "DragSettings", "Trajectory", "fit_drag_ratio", "propel", "skeletons"]
