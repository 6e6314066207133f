"""The loop that draws a moving body on a grid.

Lengths are in units of the grid's pitch, and the centre of cell ``(i, j)`` lies at ``x = i``, ``y = j``. The body is a
chain of capsules. A cell is covered once its centre is within the radius of an axis of the chain. The body of a frame
is formed from mode amplitudes, drawn, and forgotten.
"""

import math

import numpy as np
from numba import njit

from ethomarkov.locomotion.resistive_kernels import TURNS, direction, form_angles

TINY = 1e-12


@njit(cache=True, nogil=True)
def capsule_window(chord, radius):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Rows or columns of the grid that a capsule may touch; `chord` is its longest axis."""
    return math.floor(chord + 2.0 * radius + 1e-9) + 1


@njit(cache=True, nogil=True, fastmath=True)
def _place_body(theta, heading, segment, x, y):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Write the ends of all segments, head first, with the centroid of the body at the origin."""
    n = theta.size
    for k in range(n):
        cos, sin = direction((theta[k] + heading) * TURNS)
        x[k + 1] = segment * cos
        y[k + 1] = segment * sin
    x[0] = y[0] = middle_x = middle_y = 0.0
    for k in range(n):
        middle_x += x[k] + 0.5 * x[k + 1]
        middle_y += y[k] + 0.5 * y[k + 1]
        x[k + 1] += x[k]
        y[k + 1] += y[k]
    for k in range(n + 1):
        x[k] -= middle_x / n
        y[k] -= middle_y / n


@njit(cache=True, nogil=True, fastmath=True)
def _thin_out(x, y, stride, shift_x, shift_y, out):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Keep every so-many-th joint, and always the tail."""
    last = x.size - 1
    for k in range(out.shape[0]):
        joint = min(k * stride, last)
        out[k, 0] = x[joint] + shift_x
        out[k, 1] = y[joint] + shift_y


@njit(cache=True, nogil=True, fastmath=True)
def _draw_capsule(ax, ay, bx, by, radius, window, visited, order, n):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, PLR0913, PLR0917
    """Visit the cells whose centre is near a segment; give the number of cells visited so far."""
    dx, dy = bx - ax, by - ay
    inverse = 1.0 / max(dx * dx + dy * dy, TINY)
    reach = radius * radius
    # a window as wide as any capsule: loops of equal length for all are faster than the fewest cells for each
    first_i, first_j = math.ceil(min(ax, bx) - radius), math.ceil(min(ay, by) - radius)
    for i in range(first_i, first_i + window):
        px = i - ax
        for j in range(first_j, first_j + window):
            if visited[i, j]:
                continue
            py = j - ay
            along = min(1.0, max(0.0, (px * dx + py * dy) * inverse))
            ex, ey = px - along * dx, py - along * dy
            if ex * ex + ey * ey <= reach:
                visited[i, j] = True
                order[n] = i * visited.shape[1] + j
                n += 1
    return n


@njit(cache=True, nogil=True, fastmath=True)
def _n_substeps(before, after, k, step):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Count the steps in which a segment comes from one frame to the next.

    A body that slides along itself covers little that is new but at its ends. Head and tail are moved by one `step` at
    most, the segments between them by one step sideways and two in all.
    """
    dx, dy = after[k + 1, 0] - after[k, 0], after[k + 1, 1] - after[k, 1]
    ux, uy = after[k, 0] - before[k, 0], after[k, 1] - before[k, 1]
    vx, vy = after[k + 1, 0] - before[k + 1, 0], after[k + 1, 1] - before[k + 1, 1]
    whole = max(ux * ux + uy * uy, vx * vx + vy * vy)
    if 0 < k < after.shape[0] - 2:
        sideways = max((ux * dy - uy * dx) ** 2, (vx * dy - vy * dx) ** 2) / max(dx * dx + dy * dy, TINY)
        whole = max(0.25 * whole, sideways)
    return max(1, math.ceil(math.sqrt(whole) / step))


@njit(cache=True, nogil=True, fastmath=True)
def _draw_motion(before, after, radius, window, visited, order, n):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, PLR0913, PLR0917
    """Draw a body on its way from one frame to the next; its ends move on straight lines."""
    for k in range(after.shape[0] - 1):
        n_steps = _n_substeps(before, after, k, min(1.0, radius))
        for step in range(1, n_steps):
            new = step / n_steps
            old = 1.0 - new
            ax, ay = old * before[k, 0] + new * after[k, 0], old * before[k, 1] + new * after[k, 1]
            bx, by = old * before[k + 1, 0] + new * after[k + 1, 0], old * before[k + 1, 1] + new * after[k + 1, 1]
            n = _draw_capsule(ax, ay, bx, by, radius, window, visited, order, n)
        n = _draw_capsule(after[k, 0], after[k, 1], after[k + 1, 0], after[k + 1, 1], radius, window, visited, order, n)
    return n


@njit(cache=True, nogil=True)
def sweep(postures, modes, mean, centroid, heading, length, radius, stride, visited, order, n_after):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201, PLR0913, PLR0917
    """Draw a body along its path.

    Parameters
    ----------
    postures, modes, mean
        As for resistive force theory.
    centroid, heading
        In cells of the grid, and radians.
    length, radius, stride
        Of the body and of its capsules, in cells, and the joints from one drawn end of a segment to the next.
    visited
        The grid, all clear and large enough; set where the body was.
    order
        As long as the grid; filled with the flat index of the cells in the order of their first visit.
    n_after
        Filled with the number of cells visited up to and with each frame.
    """
    n_segments = modes.shape[1]
    theta, x, y = np.empty(n_segments), np.empty(n_segments + 1), np.empty(n_segments + 1)
    n_drawn = (n_segments + stride - 1) // stride + 1
    before, after = np.empty((n_drawn, 2)), np.empty((n_drawn, 2))
    window = capsule_window(length * stride / n_segments, radius)
    n = 0
    for i in range(postures.shape[0]):
        form_angles(postures[i], modes, mean, theta)
        _place_body(theta, heading[i], length / n_segments, x, y)
        _thin_out(x, y, stride, centroid[i, 0], centroid[i, 1], after)
        n = _draw_motion(before if i > 0 else after, after, radius, window, visited, order, n)
        n_after[i] = n
        before, after = after, before
