"""The loops of resistive force theory.

The balance of drag depends on the drag ratio only through a few sums over the body. They are made once for every
interval between two frames (`midpoint_sums`, `paper_sums`); a path for any drag ratio follows from them in a small part
of the time (`integrate`). Angles are formed from mode amplitudes, for a few frames at a time, and never kept.

Many intervals are computed side by side, as many as the processor takes at once, one segment after the other. Sums
therefore always add up from head to tail, and do not depend on threads or on blocks of whole lanes.

Columns of the sums, as means over a body of unit length: t_x², t_x t_y, t_x c, t_y c, c², |r|², t_x (t·u), t_y (t·u),
c (t·u), r × u, and the rotation that was taken out of u. Here t is the tangent, r the place relative to the centroid,
c = r × t, and u the deformation over the interval.
"""

import math

import numpy as np
from numba import njit

N_SUMS = 11
LANES = 32  # intervals side by side: several vectors of the processor, few enough for its nearest memory
TOGETHER = 5  # segments added per look at the running sums; measured: with 10 or 20 this is four times slower
MODES_TOGETHER = 6  # so that five modes and the mean posture are one group
N_RUNNING = 19
JOINTS_TOGETHER = 3  # the same for joints; with 5 six times slower
N_RUNNING_JOINTS = 21
BEFORE = 7  # column of the frame before the lanes, which then begin with a line of memory
TURNS = 0.5 / math.pi  # turns per radian
SIDE_BY_SIDE = {"contract", "nsz"}  # may fuse a product and a sum; must not change the order of sums


@njit(cache=True, nogil=True, fastmath=SIDE_BY_SIDE)
def _twice_sine(f):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """2 sin(π f) within half a turn, |f| ≤ ½, by Chebyshev interpolation."""
    z = f * f
    p = 0.0008949924792562212
    p = p * z - 0.014728017350924862
    p = p * z + 0.16428959121029563
    p = p * z - 1.198528868125712
    p = p * z + 5.100328071829283
    p = p * z - 10.335425559976276
    p = p * z + 6.283185307179272
    return f * p


@njit(cache=True, nogil=True, fastmath=SIDE_BY_SIDE)
def _cosine(f):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Cosine of π f within half a turn, |f| ≤ ½, by Chebyshev interpolation."""
    z = f * f
    p = -0.00010039657354354858
    p = p * z + 0.0019278510008007288
    p = p * z - 0.025806524718063883
    p = p * z + 0.2353305869214637
    p = p * z - 1.3352627660422343
    p = p * z + 4.058712126326478
    p = p * z - 4.934802200543556
    return p * z + 0.9999999999999977


@njit(cache=True, nogil=True, fastmath=SIDE_BY_SIDE)
def direction(turns):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Give the cosine and sine of an angle in turns, to 1e-13.

    Unlike a call of the C library, this runs side by side for several angles. Whole turns are taken off, and the
    polynomials are those of half the angle.
    """
    f = turns - np.rint(turns)
    c = _cosine(f)
    return 2.0 * (c * c) - 1.0, _twice_sine(f) * c


@njit(cache=True, nogil=True)
def sin(x):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Approximate the sine to 1e-13."""
    return direction(x * TURNS)[1]


@njit(cache=True, nogil=True)
def cos(x):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Approximate the cosine to 1e-13."""
    return direction(x * TURNS)[0]


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


@njit(cache=True, nogil=True)
def _pair_frames(postures, first, total, change):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Mean and change over each interval, for angles in turns; lanes beyond the last interval stand still."""
    last = postures.shape[0] - 1
    for j in range(LANES):
        before, after = postures[min(first + j, last)], postures[min(first + j + 1, last)]
        for m in range(before.size):
            a, b = np.float64(before[m]), np.float64(after[m])
            total[m, j] = (0.5 * TURNS) * (b + a)
            change[m, j] = TURNS * (b - a)


@njit(cache=True, nogil=True, fastmath=SIDE_BY_SIDE)
def _combine_modes(modes, amplitudes, angles):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Write the sum of modes times amplitudes, for all lanes."""
    for group in range(modes.shape[0] // MODES_TOGETHER):
        w, a = modes[MODES_TOGETHER * group :], amplitudes[MODES_TOGETHER * group :]
        a0, a1, a2, a3, a4, a5 = a[0], a[1], a[2], a[3], a[4], a[5]
        for k in range(angles.shape[0]):
            angle = angles[k]
            w0, w1, w2, w3, w4, w5 = w[0, k], w[1, k], w[2, k], w[3, k], w[4, k], w[5, k]
            for j in range(LANES):
                so_far = angle[j] if group > 0 else 0.0
                more = w0 * a0[j] + w1 * a1[j] + w2 * a2[j] + w3 * a3[j] + w4 * a4[j] + w5 * a5[j]
                angle[j] = so_far + more


@njit(cache=True, nogil=True)
def _pad_modes(modes, mean):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Take the mean posture as one more mode, and fill up the last group with zeros."""
    n_modes = modes.shape[0]
    padded = np.zeros(((n_modes // MODES_TOGETHER + 1) * MODES_TOGETHER, modes.shape[1]))
    padded[:n_modes] = modes
    padded[n_modes] = mean
    return padded


@njit(cache=True, nogil=True)
def _largest_change(change, reach):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Bound how far any segment turns over an interval, from the changes of amplitudes and the largest of each mode."""
    largest = 0.0
    for j in range(LANES):
        total = 0.0
        for m in range(reach.size):
            total += reach[m] * abs(change[m, j])
        largest = max(largest, total)
    return largest


@njit(cache=True, nogil=True, fastmath=SIDE_BY_SIDE)
def _turn_segments(tx, ty, bend, largest):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Tangents at the mid-angle, and how far their tips move: t' − t = 2 sin(δ/2) n at the mid-angle.

    They are written over the mid-angles, given as `tx`, and the changes of angle, given as `bend`.
    """
    for i in range(tx.size):
        tx[i], ty[i] = direction(tx[i])
    if largest <= 0.5:
        for i in range(bend.size):
            bend[i] = _twice_sine(bend[i])
    else:  # some segment may turn by more than half a turn from one frame to the next
        for i in range(bend.size):
            bend[i] = 2.0 * direction(0.5 * bend[i])[1]


@njit(cache=True, nogil=True, fastmath=SIDE_BY_SIDE)
def _chain_segments(tx, ty, bend, running):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Go from head to tail, adding up over the joints; the head is the origin, a segment the unit of length."""
    running[:] = 0.0
    for group in range(tx.shape[0] // TOGETHER):
        for j in range(LANES):
            x, y, u, v = running[j], running[LANES + j], running[2 * LANES + j], running[3 * LANES + j]
            txx, txy, txc = running[4 * LANES + j], running[5 * LANES + j], running[6 * LANES + j]
            tyc, cc, rr = running[7 * LANES + j], running[8 * LANES + j], running[9 * LANES + j]
            txd, tyd, cd = running[10 * LANES + j], running[11 * LANES + j], running[12 * LANES + j]
            rxu, turn = running[13 * LANES + j], running[14 * LANES + j]
            mx, my, vx, vy = (
                running[15 * LANES + j],
                running[16 * LANES + j],
                running[17 * LANES + j],
                running[18 * LANES + j],
            )
            for q in range(TOGETHER):
                a, b, h = tx[TOGETHER * group + q, j], ty[TOGETHER * group + q, j], bend[TOGETHER * group + q, j]
                c, d = x * b - y * a, a * u + b * v
                txx, txy, txc, tyc = txx + a * a, txy + a * b, txc + a * c, tyc + b * c
                cc, txd, tyd, cd = cc + c * c, txd + a * d, tyd + b * d, cd + c * d
                rr, rxu, turn = rr + x * x + y * y, rxu + x * v - y * u, turn + h
                mx, my, vx, vy = mx + x, my + y, vx + u, vy + v
                x, y, u, v = x + a, y + b, u - h * b, v + h * a
            running[j], running[LANES + j], running[2 * LANES + j], running[3 * LANES + j] = x, y, u, v
            running[4 * LANES + j], running[5 * LANES + j], running[6 * LANES + j] = txx, txy, txc
            running[7 * LANES + j], running[8 * LANES + j], running[9 * LANES + j] = tyc, cc, rr
            running[10 * LANES + j], running[11 * LANES + j], running[12 * LANES + j] = txd, tyd, cd
            running[13 * LANES + j], running[14 * LANES + j] = rxu, turn
            running[15 * LANES + j], running[16 * LANES + j] = mx, my
            running[17 * LANES + j], running[18 * LANES + j] = vx, vy


@njit(cache=True, nogil=True)
def _finish_sums(running, n, tail, out):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Go from joints to mid-points of segments, move the origin to the centroid, and give means over the body.

    A mid-point is half-way between joints, so that sums over mid-points are those over joints with half of the tail's:
    exactly for places p and displacements u, up to −¼ per segment for |p|² and −½ sin(δ/2) for p × u. `tail` is
    that half, less the number of segments without length behind the tail.
    """
    x, y, u, v, txx, txy, txc = running[0], running[1], running[2], running[3], running[4], running[5], running[6]
    tyc, cc, rr, txd, tyd, cd = running[7], running[8], running[9], running[10], running[11], running[12]
    rxu, turn, mx, my, vx, vy = running[13], running[14], running[15], running[16], running[17], running[18]
    rr = rr + tail * (x * x + y * y) - 0.25 * n
    rxu = rxu + tail * (x * v - y * u) - 0.25 * turn
    ell = 1.0 / n
    mx, my, vx, vy = ell * (mx + tail * x), ell * (my + tail * y), ell * (vx + tail * u), ell * (vy + tail * v)
    tyy = n - txx
    txd, tyd, cd = txd - vx * txx - vy * txy, tyd - vx * txy - vy * tyy, cd - vx * txc - vy * tyc
    cc += mx * mx * tyy - 2.0 * (mx * tyc - my * txc + mx * my * txy) + my * my * txx
    out[0], out[1] = ell * txx, ell * txy
    area = ell * ell
    out[2], out[3] = area * (txc - mx * txy + my * txx), area * (tyc - mx * tyy + my * txy)
    out[4], out[5] = area * ell * cc, area * (ell * rr - mx * mx - my * my)
    out[6], out[7] = area * txd, area * tyd
    out[8], out[9] = area * ell * (cd - mx * tyd + my * txd), area * (ell * rxu - mx * vy + my * vx)
    out[10] = 0.0


@njit(cache=True, nogil=True)
def midpoint_sums(postures, modes, mean, out):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Fill one row of sums for every interval, with the geometry half-way between its two frames."""
    n = mean.size
    n_padded = (n + TOGETHER - 1) // TOGETHER * TOGETHER
    # segments that fill up the last group have no length and do not turn
    tx, ty, bend = np.zeros((n_padded, LANES)), np.zeros((n_padded, LANES)), np.zeros((n_padded, LANES))
    running = np.empty(N_RUNNING * LANES)
    padded = _pad_modes(modes, mean)
    total, change = np.zeros((padded.shape[0], LANES)), np.zeros((padded.shape[0], LANES))
    total[modes.shape[0]] = TURNS
    reach = np.array([np.abs(mode).max() for mode in padded])
    size = n * LANES
    for first in range(0, out.shape[0], LANES):
        if modes.shape[0] == 0:
            _pair_frames(postures, first, tx, bend)
            largest = np.abs(bend).max()
        else:
            _pair_frames(postures, first, total, change)
            largest = _largest_change(change, reach)
            _combine_modes(padded, total, tx[:n])
            _combine_modes(padded, change, bend[:n])
        _turn_segments(tx.reshape(-1)[:size], ty.reshape(-1)[:size], bend.reshape(-1)[:size], largest)
        _chain_segments(tx, ty, bend, running)
        lanes = running.reshape(N_RUNNING, LANES)
        for j in range(min(LANES, out.shape[0] - first)):
            _finish_sums(lanes[:, j], float(n), 0.5 - (n_padded - n), out[first + j])


@njit(cache=True, nogil=True)
def _take_frames(postures, first, amplitudes):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Take one frame per lane, for angles in turns; lanes outside the run hold its first or last frame."""
    last = postures.shape[0] - 1
    for j in range(LANES):
        posture = postures[min(max(first + j, 0), last)]
        for m in range(posture.size):
            amplitudes[m, j] = TURNS * np.float64(posture[m])


@njit(cache=True, nogil=True, fastmath=SIDE_BY_SIDE)
def _point_segments(angles, tx, ty):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Write the tangents of all lanes; before them is kept what was in the last lane, the frame before the first."""
    for k in range(angles.shape[0]):
        angle, x, y = angles[k], tx[k], ty[k]
        x[BEFORE], y[BEFORE] = x[BEFORE + LANES], y[BEFORE + LANES]
        for j in range(LANES):
            x[BEFORE + 1 + j], y[BEFORE + 1 + j] = direction(angle[j])


@njit(cache=True, nogil=True, fastmath=SIDE_BY_SIDE)
def _chain_joints(tx, ty, running):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Go from the joint behind the head to the tail, adding up; the head is the origin, a segment the unit of length.

    The tangent t at a joint is along the sum of the unit vectors of its two segments. All sums hold it twice, as the
    complex number T = t², which is the product of those unit vectors. With places p and displacements u, also complex,
    `running` holds, in rows of lanes, p and u at the tail, then the sums of T, T p̄, T ū, T p̄², T p̄ ū, p̄ u, p, u, |p|².
    """
    running[:] = 0.0
    for group in range(tx.shape[0] // JOINTS_TOGETHER):
        for j in range(LANES):
            x, y, u, v = running[j], running[LANES + j], running[2 * LANES + j], running[3 * LANES + j]
            tx0, ty0, txp = running[4 * LANES + j], running[5 * LANES + j], running[6 * LANES + j]
            typ, txu, tyu = running[7 * LANES + j], running[8 * LANES + j], running[9 * LANES + j]
            txpp, typp = running[10 * LANES + j], running[11 * LANES + j]
            txpu, typu = running[12 * LANES + j], running[13 * LANES + j]
            dot, cross = running[14 * LANES + j], running[15 * LANES + j]
            mx, my = running[16 * LANES + j], running[17 * LANES + j]
            vx, vy, pp = running[18 * LANES + j], running[19 * LANES + j], running[20 * LANES + j]
            a, b = tx[JOINTS_TOGETHER * group, BEFORE + 1 + j], ty[JOINTS_TOGETHER * group, BEFORE + 1 + j]
            for q in range(JOINTS_TOGETHER):
                k = JOINTS_TOGETHER * group + q
                x, y, u, v = x + a, y + b, u + (a - tx[k, BEFORE + j]), v + (b - ty[k, BEFORE + j])
                c, d = tx[k + 1, BEFORE + 1 + j], ty[k + 1, BEFORE + 1 + j]
                e, f = a * c - b * d, a * d + b * c
                g, h = e * x + f * y, f * x - e * y
                tx0, ty0, txp, typ = tx0 + e, ty0 + f, txp + g, typ + h
                txu, tyu = txu + e * u + f * v, tyu + f * u - e * v
                txpp, typp = txpp + g * x + h * y, typp + h * x - g * y
                txpu, typu = txpu + g * u + h * v, typu + h * u - g * v
                dot, cross, pp = dot + x * u + y * v, cross + x * v - y * u, pp + x * x + y * y
                mx, my, vx, vy = mx + x, my + y, vx + u, vy + v
                a, b = c, d
            running[j], running[LANES + j], running[2 * LANES + j], running[3 * LANES + j] = x, y, u, v
            running[4 * LANES + j], running[5 * LANES + j], running[6 * LANES + j] = tx0, ty0, txp
            running[7 * LANES + j], running[8 * LANES + j], running[9 * LANES + j] = typ, txu, tyu
            running[10 * LANES + j], running[11 * LANES + j] = txpp, typp
            running[12 * LANES + j], running[13 * LANES + j] = txpu, typu
            running[14 * LANES + j], running[15 * LANES + j] = dot, cross
            running[16 * LANES + j], running[17 * LANES + j] = mx, my
            running[18 * LANES + j], running[19 * LANES + j], running[20 * LANES + j] = vx, vy, pp


@njit(cache=True, nogil=True)
def _centre_joints(running, head, tail, n, excess):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Weigh head and tail by one half (trapezoid rule) and move the origin to the centroid.

    Head and tail are given by their T, which `running` lacks. Of p, u and their products it holds the tail whole, and
    again for every segment without length behind it: `excess` times too often. Gives the sums of T, T r̄, T ū, T r̄²,
    T r̄ ū, r̄ u and |r|².
    """
    p, u = complex(running[0], running[1]), complex(running[2], running[3])
    pc, uc = p.conjugate(), u.conjugate()
    ell = 1.0 / n
    m = ell * (complex(running[16], running[17]) - excess * p)
    v = ell * (complex(running[18], running[19]) - excess * u)
    mc, vc = m.conjugate(), v.conjugate()
    ru = complex(running[14], running[15]) - excess * (pc * u) - n * (mc * v)
    rr = running[20] - excess * (pc * p).real - n * (mc * m).real
    half = 0.5 * tail
    t = complex(running[4], running[5]) + 0.5 * head + half
    tp = complex(running[6], running[7]) + half * pc
    tu = complex(running[8], running[9]) + half * uc
    trr = complex(running[10], running[11]) + half * pc * pc - 2.0 * mc * tp + mc * mc * t
    t_ru = complex(running[12], running[13]) + half * pc * uc - mc * tu - vc * tp + mc * vc * t
    return t, tp - mc * t, tu - vc * t, trr, t_ru, ru, rr


@njit(cache=True, nogil=True)
def _write_published(sums, n, moment, out):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Take the apparent rotation out of the deformation, and give means over the body.

    For any two vectors a and b, (t·a)(t·b) is half of a·b + Re T ā b̄. The first slip: the moment is that of the frame
    before. The second: tangents are turned back by the orientation after the interval, velocities by that before.
    """
    t, tr, tu, trr, t_ru, ru, rr = sums
    spin = ru.imag / moment
    cos, sin = direction(spin * TURNS)
    turn, back = complex(cos, sin), complex(cos, -sin)
    along = back * (tu + 1j * spin * tr)
    torque = turn * (ru - 1j * spin * rr) + back * (t_ru + 1j * spin * trr)
    ell = 0.5 / n
    area = ell / n
    volume = area / n
    out[0], out[1] = 0.5 + ell * t.real, ell * t.imag
    out[2], out[3] = area * tr.imag, -area * tr.real
    out[4], out[5] = volume * (rr - trr.real), 2.0 * volume * rr
    out[6], out[7] = area * along.real, area * along.imag
    out[8], out[9], out[10] = volume * torque.imag, 0.0, spin


@njit(cache=True, nogil=True)
def paper_sums(postures, modes, mean, out):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Fill one row of sums for every interval as published: geometry of its end, both index slips included.

    The published sums are over the ends of the segments, by the trapezoid rule, with tangents by central differences.
    """
    n = mean.size
    n_padded = (n + JOINTS_TOGETHER - 1) // JOINTS_TOGETHER * JOINTS_TOGETHER
    # the segment behind the tail, and those that fill up the last group, have no length
    tx, ty = np.zeros((n_padded + 1, BEFORE + 1 + LANES)), np.zeros((n_padded + 1, BEFORE + 1 + LANES))
    running = np.empty(N_RUNNING_JOINTS * LANES)
    lanes = running.reshape(N_RUNNING_JOINTS, LANES)
    padded = _pad_modes(modes, mean)
    amplitudes, angles = np.zeros((padded.shape[0], LANES)), np.empty((n, LANES))
    amplitudes[modes.shape[0]] = TURNS
    moment = np.nan
    # at first all lanes hold the first frame, whose tangents and moment the first interval needs
    for first in range(-LANES, out.shape[0], LANES):
        if modes.shape[0] == 0:
            _take_frames(postures, first + 1, angles)
        else:
            _take_frames(postures, first + 1, amplitudes)
            _combine_modes(padded, amplitudes, angles)
        _point_segments(angles, tx, ty)
        _chain_joints(tx, ty, running)
        for j in range(min(LANES, out.shape[0] - first)):
            lane = BEFORE + 1 + j
            head, tail = complex(tx[0, lane], ty[0, lane]), complex(tx[n - 1, lane], ty[n - 1, lane])
            sums = _centre_joints(lanes[:, j], head * head, tail * tail, float(n), 0.5 + (n_padded - n))
            if first >= 0:
                _write_published(sums, float(n), moment, out[first + j])
            moment = sums[6]


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
    """Add up the steps of one run from the origin; see `add_steps`."""
    centroid[0, 0] = centroid[0, 1] = heading[0] = 0.0
    add_steps(sums, alpha, lead, centroid, heading)


@njit(cache=True, nogil=True)
def add_steps(sums, alpha, lead, centroid, heading):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Add up steps from the place and heading of the first row.

    A step is taken in the direction of the body at its start, ahead by the share `lead` of its rotation: one half for
    second order, none for the published Euler scheme.
    """
    x, y, turned = centroid[0, 0], centroid[0, 1], heading[0]
    for i in range(sums.shape[0]):
        step_x, step_y, omega = _solve_balance(sums[i], alpha)
        spin = sums[i, 10]
        angle = turned + lead * omega - spin
        cos, sin = direction(angle * TURNS)
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
