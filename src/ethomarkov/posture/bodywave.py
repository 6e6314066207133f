"""The body wave and the bend: the quantities by which a worm's movements are told apart.

All functions take the five mode amplitudes in the sign convention of the eigenworms: modes 1 and 2 are the travelling
wave, mode 3 the deep bend, positive when ventral.
"""

from typing import Literal

import numpy as np
from scipy.linalg import solve_banded

from ethomarkov._core.series import Series
from ethomarkov._core.types import FloatArray

PAPER_COLUMN_SUMS = np.array([-1.5051, -1.7248, -2.3211, 0.2944, -1.1350]) * 1e-5
"""Sums of the first five columns of the published eigenworm file: what rounding to five digits leaves of zero."""

SHORTEST_WAVE, LONGEST_WAVE, N_WAVES = 0.25, 2.0, 500
BLOCK_FRAMES = 1024
END_SHARE = 0.1


def phase_velocity(amplitudes: Series) -> FloatArray:
    """Measure the phase velocity ω of the body wave, in cycles per second.

    The angle −atan2(a₂, a₁) is unwrapped within each gap-free run, joined by a cubic spline and differentiated. Forward
    crawling is positive. NaN outside the runs and in runs of fewer than four frames.

    Notes
    -----
    Caption of Fig. 1 of the paper, where arctan(a₂/a₁) stands for the two-argument arctangent.

    Examples
    --------
    >>> phase = 2 * np.pi * 0.5 * np.arange(64) / 16  # half a cycle per second at 16 frames per second
    >>> amplitudes = Series.from_rows(np.stack([np.cos(phase), -np.sin(phase)], axis=1), 16.0)
    >>> phase_velocity(amplitudes).round(3)[:3].tolist()
    [0.5, 0.5, 0.5]
    """
    omega = np.full(len(amplitudes.values), np.nan)
    for start, stop, _ in amplitudes.segments:
        if stop - start < 4:
            continue
        a1, a2 = amplitudes.values[start:stop, :2].T.astype(float)
        step = -np.diff(np.arctan2(a2, a1))
        step -= 2 * np.pi * np.rint(step / (2 * np.pi))
        omega[start:stop] = _spline_slopes(step)
    return omega * amplitudes.sampling.rate / (2 * np.pi)


def _spline_slopes(step: FloatArray) -> FloatArray:
    """Slopes, at its knots, of the cubic spline through values one apart with these differences.

    Second derivatives are continuous everywhere, third derivatives at the knots next to the ends (not-a-knot).
    """
    n = step.size + 1
    bands = np.ones((3, n))
    bands[1, 1:-1] = 4.0
    bands[0, 1] = bands[2, -2] = 2.0
    sides = np.empty(n)
    sides[1:-1] = 3 * (step[1:] + step[:-1])
    sides[0], sides[-1] = (5 * step[0] + step[1]) / 2, (5 * step[-1] + step[-2]) / 2
    slopes: FloatArray = solve_banded((1, 1), bands, sides, overwrite_ab=True, overwrite_b=True, check_finite=False)
    return slopes


def wavelength(angles: Series, method: Literal["fit", "paper"] = "fit") -> FloatArray:
    """Measure the wavelength of the body wave in every frame, in body lengths.

    Parameters
    ----------
    angles
        Tangent angles along the body.
    method
        "fit" takes the sine, with a constant, that explains most of θ(s): exact for a pure wave of any phase. "paper"
        takes the peak of the padded spectrum under a Hann window, as published; with only about one wave on the body
        it reads up to a fifth too long, depending on the phase.

    Examples
    --------
    >>> s = (np.arange(100) + 0.5) / 100
    >>> angles = Series.from_rows(np.sin(2 * np.pi * s / 0.65)[None], 16.0)
    >>> wavelength(angles).round(2).tolist()
    [0.65]
    """
    n_segments = angles.n_components
    waves = np.geomspace(SHORTEST_WAVE, LONGEST_WAVE, N_WAVES)
    projector = _wave_projector(n_segments, waves) if method == "fit" else _hann_projector(n_segments, waves)
    found = np.full(len(angles.values), np.nan)
    rows = np.flatnonzero(angles.segments.valid)
    for first in range(0, rows.size, BLOCK_FRAMES):
        block = rows[first : first + BLOCK_FRAMES]
        theta = angles.values[block].astype(float)
        projected = (theta - theta.mean(axis=1, keepdims=True)) @ projector
        power = np.square(projected).reshape(block.size, waves.size, -1).sum(axis=2)
        found[block] = waves[power.argmax(axis=1)]
    return found


def _wave_projector(n_segments: int, waves: FloatArray) -> FloatArray:
    """Orthonormal directions of a constant, a cosine and a sine, for every wavelength side by side."""
    s = (np.arange(n_segments) + 0.5) / n_segments
    phase = 2 * np.pi * s / waves[:, None]
    shapes = np.stack([np.ones_like(phase), np.cos(phase), np.sin(phase)], axis=2)
    directions = np.linalg.qr(shapes)[0]
    return np.asarray(directions.transpose(1, 0, 2).reshape(n_segments, -1))


def _hann_projector(n_segments: int, waves: FloatArray) -> FloatArray:
    """Fourier components under a Hann window, for every wavelength side by side."""
    s = (np.arange(n_segments) + 0.5) / n_segments
    phase = 2 * np.pi * s / waves[:, None]
    window = np.hanning(n_segments + 1)[:-1]
    parts = np.stack([np.cos(phase), np.sin(phase)], axis=2) * window[None, :, None]
    return np.asarray(parts.transpose(1, 0, 2).reshape(n_segments, -1))


def head_tail_bend(angles: Series) -> FloatArray:
    """Measure how far the body turns from head to tail, in radians; positive for ventral bends.

    Mean angle of the last tenth of the body minus that of the first tenth.

    Examples
    --------
    >>> bend = head_tail_bend(Series.from_rows(np.linspace(-0.5, 0.5, 20)[None], 16.0))
    >>> round(float(bend[0]), 3)
    0.947
    """
    n_end = max(1, round(END_SHARE * angles.n_components))
    bend: FloatArray = angles.values[:, -n_end:].mean(axis=1) - angles.values[:, :n_end].mean(axis=1)
    return bend


def paper_gamma(amplitudes: Series) -> FloatArray:
    """Compute γ = Σ θᵢ as published, for comparison with published event rates only.

    Eigenworms have zero mean along the body, so the true sum of tangent angles vanishes; the published
    computation measures the rounding of the eigenworm file to five digits. It works as a turn detector because the
    residue of mode 3 happens to be the largest: γ ≈ ∓3.5e-4 where a₃ ≈ ±15. Prefer a₃ or `head_tail_bend`.

    Examples
    --------
    >>> bent = Series.from_rows(np.array([[0.0, 0.0, 15.0, 0.0, 0.0]]), 16.0)
    >>> float(paper_gamma(bent)[0].round(6))
    -0.000348
    """
    gamma: FloatArray = amplitudes.values[:, :5].astype(float) @ PAPER_COLUMN_SUMS
    return gamma
