"""The loops of resistive force theory.

The balance of drag depends on the drag ratio only through a few sums over the body. They are made once for every
interval between two frames (`midpoint_sums`, `paper_sums`); a path for any drag ratio follows from them in a small part
of the time (`integrate`). Angles are formed frame by frame from mode amplitudes and never kept.

Columns of the sums, as means over a body of unit length: t_x², t_x t_y, t_x c, t_y c, c², |r|², t_x (t·u), t_y (t·u),
c (t·u), r × u, and the rotation that was taken out of u. Here t is the tangent, r the place relative to the centroid,
c = r × t, and u the deformation over the interval.
"""

import math

import numpy as np
from numba import njit

N_SUMS = 11


@njit(cache=True, nogil=True, fastmath=True)
def _nearest_turn(x):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    return np.floor(x * 0.3183098861837907 + 0.5)


@njit(cache=True, nogil=True, fastmath=True)
def _parity(k):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    return 1.0 - 2.0 * (k - 2.0 * np.floor(0.5 * k))


@njit(cache=True, nogil=True, fastmath=True)
def sin(x):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Approximate the sine to 1e-13."""
    # Chebyshev interpolation within half a turn of a multiple of π: unlike a call of the C library it runs side by
    # side for several segments; the error is below 1e-13 for angles of a few radians.
    k = _nearest_turn(x)
    r = x - k * 3.141592653589793
    z = r * r
    p = 1.541138070049785e-10
    p = p * z - 2.5030280218635482e-08
    p = p * z + 2.7556953252773927e-06
    p = p * z - 0.00019841266687624154
    p = p * z + 0.008333333320386015
    p = p * z - 0.1666666666646733
    p = p * z + 0.9999999999999498
    return _parity(k) * r * p


@njit(cache=True, nogil=True, fastmath=True)
def cos(x):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Approximate the cosine to 1e-13, as `sin` does."""
    k = _nearest_turn(x)
    r = x - k * 3.141592653589793
    z = r * r
    p = -1.1003318128977158e-11
    p = p * z + 2.085790289073347e-09
    p = p * z - 2.755692071680172e-07
    p = p * z + 2.4801582608772883e-05
    p = p * z - 0.0013888888858658787
    p = p * z + 0.04166666666569948
    p = p * z - 0.4999999999998798
    p = p * z + 0.9999999999999976
    return _parity(k) * p


@njit(cache=True, nogil=True, fastmath=True)
def form_angles(posture, modes, mean, theta):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Write the tangent angles of one frame; without modes the posture holds the angles themselves."""
    n = theta.size
    if modes.shape[0] == 0:
        for k in range(n):
            theta[k] = posture[k]
        return
    for k in range(n):
        theta[k] = mean[k]
    for m in range(modes.shape[0]):
        amplitude, mode = posture[m], modes[m]
        for k in range(n):
            theta[k] += amplitude * mode[k]


@njit(cache=True, nogil=True, fastmath=True)
def _turn_segments(before, after, tx, ty, bend):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Tangents at the mid-angle, and how far their tips move: t' − t = 2 sin(δ/2) n at the mid-angle."""
    for k in range(tx.size):
        middle = 0.5 * (before[k] + after[k])
        tx[k] = cos(middle)
        ty[k] = sin(middle)
        bend[k] = 2.0 * sin(0.5 * (after[k] - before[k]))


@njit(cache=True, nogil=True, fastmath=True)
def _chain_segments(tx, ty, bend, ell, px, py, ux, uy):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, PLR0913, PLR0917
    """Mid-points of the segments and their displacements, with the head held at the origin."""
    x = y = u = v = 0.0
    half = 0.5 * ell
    for k in range(tx.size):
        step_x, step_y = half * tx[k], half * ty[k]
        move_x, move_y = -bend[k] * step_y, bend[k] * step_x
        px[k], py[k] = x + step_x, y + step_y
        ux[k], uy[k] = u + move_x, v + move_y
        x, y = x + 2.0 * step_x, y + 2.0 * step_y
        u, v = u + 2.0 * move_x, v + 2.0 * move_y


@njit(cache=True, nogil=True, fastmath=True)
def _sum_body(tx, ty, px, py, ux, uy, out):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, PLR0913, PLR0917
    """Sum over the body with the head as origin, then move the origin to the centroid."""
    n = tx.size
    txx = txy = txc = tyc = cc = rr = txd = tyd = cd = rxu = mx = my = vx = vy = 0.0
    for k in range(n):
        c = px[k] * ty[k] - py[k] * tx[k]
        d = tx[k] * ux[k] + ty[k] * uy[k]
        txx += tx[k] * tx[k]
        txy += tx[k] * ty[k]
        txc += tx[k] * c
        tyc += ty[k] * c
        cc += c * c
        rr += px[k] * px[k] + py[k] * py[k]
        txd += tx[k] * d
        tyd += ty[k] * d
        cd += c * d
        rxu += px[k] * uy[k] - py[k] * ux[k]
        mx += px[k]
        my += py[k]
        vx += ux[k]
        vy += uy[k]
    mx, my, vx, vy, tyy = mx / n, my / n, vx / n, vy / n, n - txx
    txd_centred = txd - vx * txx - vy * txy
    tyd_centred = tyd - vx * txy - vy * tyy
    out[0] = txx / n
    out[1] = txy / n
    out[2] = (txc - mx * txy + my * txx) / n
    out[3] = (tyc - mx * tyy + my * txy) / n
    out[4] = (cc - 2.0 * (mx * tyc - my * txc) + mx * mx * tyy - 2.0 * mx * my * txy + my * my * txx) / n
    out[5] = rr / n - mx * mx - my * my
    out[6] = txd_centred / n
    out[7] = tyd_centred / n
    out[8] = (cd - vx * txc - vy * tyc - mx * tyd_centred + my * txd_centred) / n
    out[9] = rxu / n - mx * vy + my * vx
    out[10] = 0.0


@njit(cache=True, nogil=True)
def midpoint_sums(postures, modes, mean, out):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Fill one row of sums for every interval, with the geometry half-way between its two frames."""
    n = modes.shape[1]
    before, after = np.empty(n), np.empty(n)
    tx, ty, bend = np.empty(n), np.empty(n), np.empty(n)
    px, py, ux, uy = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    form_angles(postures[0], modes, mean, before)
    for i in range(out.shape[0]):
        form_angles(postures[i + 1], modes, mean, after)
        _turn_segments(before, after, tx, ty, bend)
        _chain_segments(tx, ty, bend, 1.0 / n, px, py, ux, uy)
        _sum_body(tx, ty, px, py, ux, uy, out[i])
        before, after = after, before


@njit(cache=True, nogil=True)
def _trapezoid(k, n):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    return 1.0 / n if 0 < k < n else 0.5 / n


@njit(cache=True, nogil=True)
def _centred_joints(theta, dx, dy):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Write the ends of all segments relative to the centroid; give the second moment (trapezoid rule)."""
    n = theta.size
    x = y = mx = my = 0.0
    dx[0] = dy[0] = 0.0
    for k in range(n):
        step_x, step_y = cos(theta[k]) / n, sin(theta[k]) / n
        mx, my = mx + (x + 0.5 * step_x) / n, my + (y + 0.5 * step_y) / n
        x, y = x + step_x, y + step_y
        dx[k + 1], dy[k + 1] = x, y
    moment = 0.0
    for k in range(n + 1):
        dx[k] -= mx
        dy[k] -= my
        weight = _trapezoid(k, n)
        moment += weight * (dx[k] * dx[k] + dy[k] * dy[k])
    return moment


@njit(cache=True, nogil=True)
def _apparent_rotation(dx, dy, ux, uy):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Angular momentum of the deformation; its mean is zero already."""
    n = dx.size - 1
    total = 0.0
    for k in range(n + 1):
        weight = _trapezoid(k, n)
        total += weight * (dx[k] * uy[k] - dy[k] * ux[k])
    return total


@njit(cache=True, nogil=True)
def _sum_joints(dx, dy, ux, uy, spin, out):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Sum over the ends of the segments; tangents by central differences, one-sided at head and tail."""
    n = dx.size - 1
    cos, sin = math.cos(spin), math.sin(spin)
    out[:] = 0.0
    for k in range(n + 1):
        weight = _trapezoid(k, n)
        low, high = max(k - 1, 0), min(k + 1, n)
        tx, ty = dx[high] - dx[low], dy[high] - dy[low]
        norm = math.sqrt(tx * tx + ty * ty)
        tx, ty = tx / norm, ty / norm
        vx, vy = ux[k] + spin * dy[k], uy[k] - spin * dx[k]
        # the second slip: tangents are turned back by the orientation after the interval, velocities by that before
        along = tx * (cos * vx - sin * vy) + ty * (sin * vx + cos * vy)
        c = dx[k] * ty - dy[k] * tx
        out[0] += weight * tx * tx
        out[1] += weight * tx * ty
        out[2] += weight * tx * c
        out[3] += weight * ty * c
        out[4] += weight * c * c
        out[5] += weight * (dx[k] * dx[k] + dy[k] * dy[k])
        out[6] += weight * tx * along
        out[7] += weight * ty * along
        out[8] += weight * c * along
    out[10] = spin


@njit(cache=True, nogil=True)
def paper_sums(postures, modes, mean, out):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Fill one row of sums for every interval as published: geometry of its end, both index slips included."""
    n = modes.shape[1]
    theta = np.empty(n)
    before_x, before_y, after_x, after_y = np.empty(n + 1), np.empty(n + 1), np.empty(n + 1), np.empty(n + 1)
    ux, uy = np.empty(n + 1), np.empty(n + 1)
    form_angles(postures[0], modes, mean, theta)
    moment = _centred_joints(theta, before_x, before_y)
    for i in range(out.shape[0]):
        form_angles(postures[i + 1], modes, mean, theta)
        next_moment = _centred_joints(theta, after_x, after_y)
        for k in range(n + 1):
            ux[k], uy[k] = after_x[k] - before_x[k], after_y[k] - before_y[k]
        # the first slip: the moment of the frame before
        spin = _apparent_rotation(after_x, after_y, ux, uy) / moment
        _sum_joints(after_x, after_y, ux, uy, spin, out[i])
        before_x, before_y, after_x, after_y = after_x, after_y, before_x, before_y
        moment = next_moment


@njit(cache=True, nogil=True)
def _solve_balance(sums, alpha):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Displacement and rotation with zero force and torque; the symmetric 3 × 3 matrix is factored as L D Lᵀ."""
    beta = 1.0 - alpha
    a11, a12, a13 = alpha + beta * sums[0], beta * sums[1], beta * sums[2]
    a22, a23 = alpha + beta * (1.0 - sums[0]), beta * sums[3]
    a33 = alpha * sums[5] + beta * sums[4]
    b1, b2, b3 = -beta * sums[6], -beta * sums[7], -beta * sums[8] - alpha * sums[9]
    l21, l31 = a12 / a11, a13 / a11
    d2 = a22 - l21 * a12
    l32 = (a23 - l31 * a12) / d2
    d3 = a33 - l31 * a13 - l32 * l32 * d2
    b2 -= l21 * b1
    omega = (b3 - l31 * b1 - l32 * b2) / d3
    y = b2 / d2 - l32 * omega
    x = b1 / a11 - l21 * y - l31 * omega
    return x, y, omega


@njit(cache=True, nogil=True)
def integrate(sums, alpha, lead, centroid, heading):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Add up the steps of one run from the origin.

    A step is taken in the direction of the body at its start, ahead by the share `lead` of its rotation: one half for
    second order, none for the published Euler scheme.
    """
    x = y = turned = 0.0
    centroid[0, 0] = centroid[0, 1] = heading[0] = 0.0
    for i in range(sums.shape[0]):
        step_x, step_y, omega = _solve_balance(sums[i], alpha)
        spin = sums[i, 10]
        angle = turned + lead * omega - spin
        cos, sin = math.cos(angle), math.sin(angle)
        x, y = x + cos * step_x - sin * step_y, y + sin * step_x + cos * step_y
        turned += omega - spin
        centroid[i + 1, 0], centroid[i + 1, 1] = x, y
        heading[i + 1] = turned


@njit(cache=True, nogil=True)
def least_largest(sizes, real, imag, turns):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Find the least, over rotations, of the largest squared distance; a rotation is left once it cannot win.

    The squared distance of two turned points is ``size − 2 Re(product exp(i turn))``.
    """
    best = np.inf
    for turn in turns:
        cos, sin = 2.0 * math.cos(turn), 2.0 * math.sin(turn)
        largest = 0.0
        for k in range(sizes.size):
            largest = max(largest, sizes[k] - cos * real[k] + sin * imag[k])
            if largest >= best:
                break
        best = min(best, largest)
    return best
