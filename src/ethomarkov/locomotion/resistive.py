"""Resistive force theory: the rigid motion that balances the drag on a deforming body."""

from typing import Literal

import numpy as np

from ethomarkov._core.arrays import named_arrays, one_rate
from ethomarkov._core.parallel import map_pieces
from ethomarkov._core.series import Series
from ethomarkov._core.types import FloatArray, IntArray, PlainArrays
from ethomarkov.exceptions import InputFormatError
from ethomarkov.locomotion.trajectory import Trajectory
from ethomarkov.posture import PostureBasis
from ethomarkov.posture.basis import DEFAULT_SEGMENTS, feature_rows
from ethomarkov.recording import Recording
from ethomarkov.recording.orientation import remove_orientation
from ethomarkov.recording.schema import KIND_WORDS

Scheme = Literal["midpoint", "paper"]
SCHEMES = ("midpoint", "paper")
BLOCK_FRAMES = 2048  # whose sums stay in the processor's memory; a multiple of the kernel's lanes


def propel(  # noqa: PLR0913 (the one entry point of this module keeps its options flat)
    angles: Series | Recording | PlainArrays,
    drag_ratio: float = 30.0,
    body_length: float | FloatArray = 1.0,
    length_unit: str = "body lengths",
    *,
    rate: float | None = None,
    basis: PostureBasis | None = None,
    scheme: Scheme = "midpoint",
    threads: int = 1,
) -> Trajectory:
    """Compute the path of a body from its postures.

    Parameters
    ----------
    angles
        Tangent angles along the body, radians, ``(frames, segments)``, head first: an array, a list of arrays or a
        mapping from names, with one array per animal; or a `Series`; or a `Recording` of angles or centerlines. Mode
        amplitudes with `basis`.
    drag_ratio
        Normal over tangential drag, α; above 1 for crawling.
    body_length
        In the unit of the path; one number, or one per individual.
    length_unit
        Name of that unit.
    rate
        Frames per second of plain arrays; a `Series` and a `Recording` know theirs.
    basis
        Of amplitudes; angles are then formed frame by frame and never kept.
    scheme
        "midpoint" is of second order in the frame interval; "paper" is the published arithmetic.
    threads
        Cores that share the runs; the path does not depend on it.

    Notes
    -----
    SI, "Resistive force theory simulations". In every interval the deformation is taken between two frames and the
    geometry half-way between them, so that the path is accurate to second order in the frame interval.

    The published arithmetic takes both at the end of the interval (trapezoid rule over the ends of the segments,
    tangents by central differences), divides the apparent rotation by the moment of the frame before, turns velocities
    by the orientation of the frame before, and adds up the steps by Euler's rule. It also negates the angles first,
    which only mirrors the path; here the angles are taken as they are, in both schemes.

    Plain angles may contain the orientation of the body and jumps by 2π: both are taken out first, as they are when a
    recording is read. The balance of forces does not depend on how the camera was turned.

    Examples
    --------
    A wave that travels from head to tail drives the body forwards.

    >>> phase = np.arange(20) / 13 - np.arange(320)[:, None] / 32
    >>> path = propel(np.sin(2 * np.pi * phase), drag_ratio=30, rate=16.0)
    >>> path.length_unit, float(np.linalg.norm(path.centroid[-1]).round(1))
    ('body lengths', 4.4)
    """
    from ethomarkov.locomotion.resistive_kernels import add_steps

    _check_choice(drag_ratio, scheme)
    postures = posture_series(angles, rate, basis)
    lengths = individual_lengths(body_length, postures.segments.n_individuals)
    body = body_modes(postures, basis)
    n_rows = len(postures.values)
    centroid, heading = np.full((n_rows, 2), np.nan), np.full(n_rows, np.nan)

    def propel_run(run: tuple[int, int, int]) -> None:
        start, stop, individual = run
        centroid[start] = heading[start] = 0.0
        for first in range(start, stop - 1, BLOCK_FRAMES):
            rows = slice(first, min(first + BLOCK_FRAMES + 1, stop))
            sums = balance_sums(postures.values[rows], body, scheme)
            add_steps(sums, float(drag_ratio), lead_of(scheme), centroid[rows], heading[rows])
        centroid[start:stop] *= lengths[individual]

    map_pieces(propel_run, postures.segments, threads)
    return Trajectory(
        centroid=centroid,
        heading=heading,
        segments=postures.segments,
        sampling=postures.sampling,
        length_unit=length_unit,
    )


def posture_series(
    given: Series | Recording | PlainArrays, rate: float | None = None, basis: PostureBasis | None = None
) -> Series:
    """Bring postures of any form to a series of tangent angles, or of mode amplitudes where there is a basis.

    Parameters
    ----------
    given, rate, basis
        See `propel`.
    """
    if isinstance(given, Series):
        one_rate(rate, given.sampling, "The postures")
        return given
    if isinstance(given, Recording):
        one_rate(rate, given.sampling, "The postures")
        return _recorded_angles(given) if basis is None else basis.project(given)
    named = named_arrays(given, 2, "The amplitudes" if basis else "The angles")
    sampling = one_rate(rate, None, "The angles")
    _check_rows(named)
    rows = named if basis else {name: remove_orientation(part)[0] for name, part in named.items()}
    return Series.from_arrays(rows, sampling.rate)


def _recorded_angles(recording: Recording) -> Series:
    if recording.kind not in ("angle", "centerline"):
        advice = {
            "amplitude": "give the basis on which they were projected (basis=), or the angles themselves",
            "position": "name points along the body, head first, as kind='centerline'; bodies with legs are not moved "
            "by resistive forces",
        }[recording.kind]
        raise InputFormatError(
            f"The recording holds {KIND_WORDS[recording.kind]}; a path needs tangent angles along the body: {advice}."
        )
    rows, segments = feature_rows(recording, DEFAULT_SEGMENTS), recording.segments
    return Series.from_rows(rows, recording.sampling, segments.offsets, segments.individuals)


def _check_rows(named: dict[str, FloatArray]) -> None:
    widths = {name: part.shape[1] for name, part in named.items() if part.ndim == 2}
    for name, part in named.items():
        if part.ndim != 2:
            raise InputFormatError(
                f"The angles of {name!r} have shape {part.shape}; (frames, segments) is needed. Points of a centerline "
                "become angles by Recording.from_arrays(points, rate=..., kind='centerline')."
            )
        if part.shape[1] != min(widths.values()):
            raise InputFormatError(
                f"The animals have {', '.join(f'{n} ({name})' for name, n in widths.items())} segments; all need the "
                "same number. Bring them to one number of segments, or compute each path on its own."
            )


def skeletons(
    path: Trajectory,
    angles: Series | Recording | PlainArrays,
    rows: IntArray | None = None,
    *,
    body_length: float | FloatArray = 1.0,
    basis: PostureBasis | None = None,
    points: Literal["joints", "midpoints"] = "joints",
) -> FloatArray:
    """Place the body on its path, for chosen rows.

    Parameters
    ----------
    path
        Made by `propel` from the same postures.
    angles, body_length, basis
        As given to `propel`.
    rows
        Frames wanted; all of them by default, which is large.
    points
        "joints" for the ends of the segments (one more than there are segments), "midpoints" for their middles.

    Returns
    -------
    skeleton
        ``(rows, points, 2)``, head first; NaN outside the runs.

    Examples
    --------
    >>> angles = np.zeros((3, 2))  # straight, and at rest
    >>> skeletons(propel(angles, rate=16.0), angles, rows=[0]).tolist()
    [[[-0.5, 0.0], [0.0, 0.0], [0.5, 0.0]]]
    """
    rate = None if isinstance(angles, Series | Recording) else path.sampling.rate
    postures = posture_series(angles, rate, basis)
    if len(path.centroid) != len(postures.values):
        raise InputFormatError(
            f"The path has {len(path.centroid)} frames, the postures {len(postures.values)}; give the postures from "
            "which the path was computed."
        )
    chosen = np.arange(len(postures.values)) if rows is None else np.asarray(rows)
    modes, mean = body_modes(postures, basis)
    theta = postures.values[chosen].astype(float)
    if basis is not None:
        theta = theta @ modes + mean
    theta += path.heading[chosen, None]
    length = individual_lengths(body_length, postures.segments.n_individuals)[postures.segments.row_individual[chosen]]
    step = np.stack([np.cos(theta), np.sin(theta)], axis=-1) * (length / theta.shape[1])[:, None, None]
    joints = np.concatenate([np.zeros((len(step), 1, 2)), np.cumsum(step, axis=1)], axis=1)
    middles = (joints[:, 1:] + joints[:, :-1]) / 2
    shift = path.centroid[chosen, None] - middles.mean(axis=1, keepdims=True)
    placed: FloatArray = (joints if points == "joints" else middles) + shift
    return placed


def body_modes(postures: Series, basis: PostureBasis | None) -> tuple[FloatArray, FloatArray]:
    """Give the modes, one per row, and the mean that turn postures into angles; no modes for angles themselves."""
    if basis is None:
        return np.empty((0, postures.n_components)), np.zeros(postures.n_components)
    if basis.features != "angle" or basis.n_modes != postures.n_components:
        raise InputFormatError(
            f"The basis ({basis.source}) has {basis.n_modes} modes of kind {basis.features!r}, the series "
            f"{postures.n_components} components; a basis of tangent angles with as many modes is needed."
        )
    return np.ascontiguousarray(basis.vectors.T, dtype=float), np.asarray(basis.mean, dtype=float)


def balance_sums(postures: FloatArray, body: tuple[FloatArray, FloatArray], scheme: Scheme) -> FloatArray:
    """Sum over the body, for every interval of one run, all that force and torque balance need at any drag ratio.

    See `resistive_kernels` for the columns.
    """
    from ethomarkov.locomotion import resistive_kernels as kernels

    fill = kernels.midpoint_sums if scheme == "midpoint" else kernels.paper_sums
    sums = np.empty((len(postures) - 1, kernels.N_SUMS))
    fill(postures, *body, sums)
    return sums


def lead_of(scheme: Scheme) -> float:
    """Share of its rotation by which a step looks ahead."""
    return 0.5 if scheme == "midpoint" else 0.0


def _check_choice(drag_ratio: float, scheme: str) -> None:
    if not 0 < drag_ratio < np.inf:
        raise InputFormatError(f"drag_ratio={drag_ratio:g}; a positive number is needed, such as 30.")
    if scheme not in SCHEMES:
        raise InputFormatError(f"scheme={scheme!r} is not known; use one of {', '.join(map(repr, SCHEMES))}.")


def individual_lengths(body_length: float | FloatArray, n_individuals: int) -> FloatArray:
    """Give every individual its body length."""
    lengths = np.asarray(body_length, dtype=float)
    if lengths.shape not in {(), (n_individuals,)} or not ((lengths > 0) & np.isfinite(lengths)).all():
        raise InputFormatError(
            f"body_length={body_length}; a positive number, or one for each of {n_individuals} individuals, is needed."
        )
    return np.broadcast_to(lengths, (n_individuals,))
