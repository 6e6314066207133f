"""Classical systems whose timescales are known: double wells, the Lorenz system, a hopping chain."""

import numpy as np
from scipy.integrate import solve_ivp

from ethomarkov._core.random import Rng, as_generator
from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov._core.series import Series
from ethomarkov._core.types import FloatArray
from ethomarkov.exceptions import InputFormatError
from ethomarkov.states.symbols import Symbols
from ethomarkov.synthetic.hidden import null_law

STEPS_PER_FRAME = 10


def double_well(
    duration: float = 1000.0,
    *,
    n_walkers: int = 10,
    temperature: float = 0.3,
    interval: float = 0.1,
    rng: Rng = 0,
) -> Series:
    """Simulate overdamped walkers in V = x⁴/4 − x²/2, one individual per walker.

    Parameters
    ----------
    duration
        Seconds per walker, after ten seconds of settling.
    n_walkers
        Independent individuals, started in either well.
    temperature
        Noise strength; dx = −V′ dt + √(2T) dW.
    interval
        Seconds between frames; ten Euler–Maruyama steps each.
    rng
        Seed or generator.

    Examples
    --------
    >>> double_well(20.0, n_walkers=3, rng=1).values.shape  # ten frames per second
    (600, 1)
    """
    rng = as_generator(rng)
    dt = interval / STEPS_PER_FRAME
    x = rng.choice([-1.0, 1.0], n_walkers)
    kick = np.sqrt(2 * temperature * dt)
    n_frames, n_settle = round(duration / interval), round(10 / interval)
    out = np.empty((n_frames, n_walkers))
    for frame in range(-n_settle, n_frames):
        for force in rng.normal(0, kick, (STEPS_PER_FRAME, n_walkers)):
            x = x + (x - x**3) * dt + force
        if frame >= 0:
            out[frame] = x
    return _individuals(out[:, :, None], 1 / interval)


def underdamped_well(
    duration: float = 1000.0,
    *,
    n_walkers: int = 10,
    temperature: float = 1.0,
    interval: float = 0.05,
    rng: Rng = 0,
) -> Series:
    """Simulate walkers with inertia in V = (x² − 1)², mass and friction one; only the position is observed.

    Integrated by the BAOAB splitting, ten steps per frame. Parameters as in `double_well`.

    Examples
    --------
    >>> underdamped_well(10.0, n_walkers=3, rng=1).values.shape  # twenty frames per second
    (600, 1)
    """
    rng = as_generator(rng)
    dt = interval / STEPS_PER_FRAME
    x, v = rng.choice([-1.0, 1.0], n_walkers), rng.normal(0, np.sqrt(temperature), n_walkers)
    damping = np.exp(-dt)
    kick = np.sqrt(temperature * (1 - damping**2))
    n_frames, n_settle = round(duration / interval), round(10 / interval)
    out = np.empty((n_frames, n_walkers))
    for frame in range(-n_settle, n_frames):
        for force in rng.normal(0, kick, (STEPS_PER_FRAME, n_walkers)):
            v = v - 2 * dt * x * (x**2 - 1)
            x = x + v * dt / 2
            v = damping * v + force
            x = x + v * dt / 2
            v = v - 2 * dt * x * (x**2 - 1)
        if frame >= 0:
            out[frame] = x
    return _individuals(out[:, :, None], 1 / interval)


def lorenz(duration: float = 2000.0, *, interval: float = 0.02, rng: Rng = 0) -> Series:
    """Integrate the Lorenz system (σ = 10, ρ = 28, β = 8/3) to 1e-9, all three coordinates, transient removed.

    Examples
    --------
    >>> lorenz(2.0, rng=1).values.shape  # fifty frames per second
    (100, 3)
    """
    rng = as_generator(rng)
    n_frames = round(duration / interval)
    start = np.array([1.0, 1.0, 25.0]) + rng.normal(0, 1, 3)

    def flow(_: float, state: FloatArray) -> list[float]:
        x, y, z = state
        return [10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z]

    lead = 50.0
    times = lead + np.arange(n_frames) * interval
    solution = solve_ivp(flow, (0, times[-1]), start, t_eval=times, method="DOP853", rtol=1e-9, atol=1e-9)
    return Series.from_rows(solution.y.T, 1 / interval)


def hopping_chain(matrix: FloatArray, n_steps: int, *, n_walks: int = 1, rate: float = 1.0, rng: Rng = 0) -> Symbols:
    """Simulate a chain of known transition matrix, from its stationary law.

    Parameters
    ----------
    matrix
        Rows add up to one.
    n_steps
        Frames of every walk.
    n_walks
        Independent individuals.
    rate
        Frames per second.
    rng
        Seed or generator.

    Examples
    --------
    >>> walk = hopping_chain([[0.9, 0.1], [0.3, 0.7]], 4000, rng=1)
    >>> bool(abs(walk.labels.mean() - 0.25) < 0.05)  # the stationary law is (0.75, 0.25)
    True
    """
    matrix = np.asarray(matrix, dtype=float)
    square = matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1]
    if not square or matrix.min(initial=0) < 0 or not np.allclose(matrix.sum(axis=1), 1):
        raise InputFormatError(
            f"A square matrix of probabilities with rows adding up to one is needed; got shape {matrix.shape}."
        )
    rng = as_generator(rng)
    stationary = null_law(matrix - np.eye(len(matrix)))
    cumulative = np.cumsum(matrix, axis=1)
    cumulative[:, -1] = 1.0
    states = np.empty((n_steps, n_walks), dtype=np.int32)
    states[0] = rng.choice(len(matrix), n_walks, p=stationary)
    for step in range(1, n_steps):
        states[step] = (rng.random((n_walks, 1)) > cumulative[states[step - 1]]).sum(axis=1)
    offsets = np.arange(n_walks + 1) * n_steps
    return Symbols(
        labels=states.T.ravel(),
        n_states=len(matrix),
        segments=Segments.from_valid(np.ones(n_steps * n_walks, dtype=bool), offsets),
        sampling=Sampling(rate),
    )


def _individuals(values: FloatArray, rate: float) -> Series:
    """Stack an array (frames, individuals, components)."""
    n_frames, n_individuals, n_components = values.shape
    rows = values.transpose(1, 0, 2).reshape(-1, n_components)
    return Series.from_rows(rows, rate, np.arange(n_individuals + 1) * n_frames)
