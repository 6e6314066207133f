"""A stretch of measured path, and paths computed from its postures for several drag ratios."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.series import Series
from ethomarkov._core.types import FloatArray
from ethomarkov.exceptions import InputFormatError
from ethomarkov.locomotion.drag import DragFit, rms_distance
from ethomarkov.locomotion.resistive import propel
from ethomarkov.locomotion.trajectory import Trajectory
from ethomarkov.posture.basis import PostureBasis

SHOWN_DRAG_RATIOS = (5.0, 30.0, 1000.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class DragExample(Result):
    """A measured path, and the paths computed from the same postures, shifted and turned to it.

    Parameters
    ----------
    measured
        Positions, ``(frames, 2)``; NaN where unknown.
    drag_ratios
        Of the computed paths.
    computed
        Positions in the same frames, one path per drag ratio.
    distance
        Root mean square distance of each from the measured path.
    length_unit
        Of all of them.
    """

    measured: FloatArray = array_field("frame", "space", unit="length")
    drag_ratios: FloatArray = array_field("drag_ratio")
    computed: FloatArray = array_field("drag_ratio", "frame", "space", unit="length")
    distance: FloatArray = array_field("drag_ratio", unit="length")
    length_unit: str

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @classmethod
    def from_paths(
        cls, measured: FloatArray, computed: dict[float, FloatArray], length_unit: str, *, mirrored: bool = False
    ) -> "DragExample":
        """Align computed paths with a measured one.

        Parameters
        ----------
        measured
            Positions; NaN where unknown.
        computed
            Positions in the same frames, by drag ratio.
        length_unit
            Of all of them.
        mirrored
            Whether the measured path is a mirror image of what the postures describe, as `DragFit.is_mirrored` says;
            the computed paths are then mirrored.
        """
        sign = np.array([1.0, -1.0 if mirrored else 1.0])
        aligned = [align_path(points * sign, measured) for points in computed.values()]
        return cls(
            measured=measured,
            drag_ratios=np.array(list(computed), dtype=float),
            computed=np.array([points for points, _ in aligned]).reshape(-1, *measured.shape),
            distance=np.array([distance for _, distance in aligned]),
            length_unit=length_unit,
        )


def typical_window(
    postures: Series,
    basis: PostureBasis,
    drag: DragFit,
    measured: Trajectory,
    body_length: FloatArray,
    drag_ratios: Sequence[float] = SHOWN_DRAG_RATIOS,
) -> DragExample:
    """Compute the path in the window that fits as well as the median one, for several drag ratios.

    Parameters
    ----------
    postures, basis
        Mode amplitudes of all animals, and the shapes of the modes.
    drag
        The fit, with its windows.
    measured
        Paths of the same animals.
    body_length
        Of every animal, in the unit of the paths.
    drag_ratios
        To compute the path with.

    Notes
    -----
    Fig. S5a (right).
    """
    window = int(np.argsort(drag.loss)[len(drag.loss) // 2])
    start, owner = int(drag.starts[window]), int(drag.individual[window])
    rows = slice(start, start + postures.sampling.nearest_frames(drag.settings.window))
    alone = np.full_like(postures.values, np.nan)
    alone[rows] = postures.values[rows]
    piece = postures.with_rows(alone)
    computed = {alpha: propel(piece, alpha, body_length, basis=basis).centroid[rows] for alpha in drag_ratios}
    mirrored = bool(drag.is_mirrored[owner])
    return DragExample.from_paths(measured.centroid[rows], computed, measured.length_unit, mirrored=mirrored)


def align_path(points: FloatArray, measured: FloatArray) -> tuple[FloatArray, float]:
    """Shift and rotate a path to the least root mean square distance from another.

    Returns
    -------
    aligned
        The path in its new place.
    distance
        Root mean square, over frames known in both.
    """
    if points.shape != measured.shape:
        raise InputFormatError(
            f"A path of shape {points.shape} and a measured one of shape {measured.shape}; pass the same frames."
        )
    path, target = (np.asarray(a[:, 0] + 1j * a[:, 1], dtype=complex) for a in (points, measured))
    known = np.isfinite(path) & np.isfinite(target)
    if not known.any():
        raise InputFormatError("The two paths have no frame in common; choose another stretch.")
    middle, goal = path[known].mean(), target[known].mean()
    turn = np.exp(1j * np.angle(np.vdot(path[known] - middle, target[known] - goal)))
    aligned = (path - middle) * turn + goal
    return np.stack([aligned.real, aligned.imag], axis=1), rms_distance(path[known], target[known])
