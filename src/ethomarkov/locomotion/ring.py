"""A wall around the plate: simulated paths confined to a ring."""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from ethomarkov._core.types import FloatArray
from ethomarkov.exceptions import InputFormatError
from ethomarkov.locomotion.trajectory import Trajectory

COPPER_RING_RADIUS_MM = 25.5
"""Inner radius of the ring in which the worms of the paper crawled."""

SLACK = 1 + 1e-12  # a step that ends on the wall may be rounded to just beyond it


def confine(
    path: Trajectory, radius: float, centre: Sequence[float] = (0.0, 0.0), rule: Literal["reflect", "slide"] = "reflect"
) -> Trajectory:
    """Confine a path to a ring by rotating the animal at the wall.

    The length of every step is unchanged, and so is every turn that the animal makes itself. A step that would cross
    the wall is rotated first, and all that follows is rotated with it, as if the animal had been placed facing another
    way. Nothing is mirrored: an animal that circles to the left still does.

    Parameters
    ----------
    path
        Each gap-free run starts inside the ring and is confined on its own.
    radius
        Of the ring, in the unit of the path.
    centre
        Of the ring; a computed path starts at the origin.
    rule
        "reflect": leave the wall at the angle of arrival. "slide": turn as little as will do, so that the animal
        follows the wall until it turns away by itself.

    Notes
    -----
    The paper's worms were held by a ring, its simulated worms were not. Let φ be the angle between a step of length s
    and the outward direction at distance ρ from the centre. The step ends on the wall if φ = φ_c, with cos φ_c =
    (R² − ρ² − s²) / (2 ρ s), and beyond it if φ is smaller. Sliding turns the step to φ_c; reflecting turns
    it to π − φ, or to φ_c where a grazing step would still end outside; each to the side it came from, and to the left
    if it was head-on. The wall is felt by the centroid, within about a step. Reflected random walks fill the ring
    evenly but for that layer; walkers that slide gather at the wall.
    """
    _check(path, radius, rule)
    walk = _compiled_walk()
    centroid, heading = path.centroid.copy(), path.heading.copy()
    middle = np.array(centre, dtype=float)
    for start, stop, _ in path.segments:
        points = centroid[start:stop] - middle
        if np.hypot(*points[0]) > radius:
            raise InputFormatError(
                f"The path starts {np.hypot(*points[0]):g} {path.length_unit} from the centre of a ring of radius "
                f"{radius:g}. Move the centre, or use a larger ring."
            )
        turned = np.zeros(len(points))
        if np.square(points).sum(axis=1).max() > radius**2:
            walk(points, turned, float(radius), rule == "reflect")
            centroid[start:stop] = points + middle
            heading[start:stop] += turned
    return Trajectory(
        centroid=centroid,
        heading=heading,
        segments=path.segments,
        sampling=path.sampling,
        length_unit=path.length_unit,
    )


def _check(path: Trajectory, radius: float, rule: str) -> None:
    if rule not in ("reflect", "slide"):
        raise InputFormatError(f"rule={rule!r} is not known. Use 'reflect' or 'slide'.")
    first, last = path.segments.pairs(1)
    longest = np.linalg.norm(path.centroid[last] - path.centroid[first], axis=1).max(initial=0.0)
    if not longest <= radius < np.inf:
        raise InputFormatError(
            f"radius={radius:g} must be a number not below the longest step of the path, {longest:g} "
            f"{path.length_unit}. Use a larger ring, or check the units."
        )


@functools.cache
def _compiled_walk() -> Callable[[FloatArray, FloatArray, float, bool], Any]:
    from numba import njit

    compiled: Callable[[FloatArray, FloatArray, float, bool], Any] = njit(cache=True)(_walk)
    return compiled


def _walk(points: FloatArray, turned: FloatArray, radius: float, reflect: bool) -> None:
    """Replace points by the confined ones; fill in how far the animal has been turned at each frame."""
    psi = 0.0
    old_x, old_y = points[0]
    for k in range(1, len(points)):
        dx, dy = points[k, 0] - old_x, points[k, 1] - old_y
        old_x, old_y = points[k, 0], points[k, 1]
        x, y = points[k - 1, 0], points[k - 1, 1]
        sx, sy = math.cos(psi) * dx - math.sin(psi) * dy, math.sin(psi) * dx + math.cos(psi) * dy
        if (x + sx) ** 2 + (y + sy) ** 2 > SLACK * radius**2:
            rho, s = math.hypot(x, y), math.hypot(sx, sy)
            phi = math.atan2(x * sy - y * sx, x * sx + y * sy)
            cosine = (radius**2 - rho**2 - s**2) / (2 * rho * s)
            target = math.acos(min(1.0, max(-1.0, cosine)))
            if reflect:
                target = max(target, math.pi - abs(phi))
            psi += math.copysign(target, phi) - phi
            sx, sy = math.cos(psi) * dx - math.sin(psi) * dy, math.sin(psi) * dx + math.cos(psi) * dy
        points[k, 0], points[k, 1] = x + sx, y + sy
        turned[k] = psi
