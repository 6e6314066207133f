"""From a walk among microstates to a series of postures."""

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.signal import savgol_filter

from ethomarkov._core.random import Rng, as_generator
from ethomarkov._core.series import Series
from ethomarkov._core.types import FloatArray, IntArray
from ethomarkov.exceptions import ConnectivityError, SamplingError
from ethomarkov.states.symbols import Symbols

SMOOTHING_FRAMES, SMOOTHING_ORDER = 11, 3


def unfold_postures(walks: Symbols, postures: Series, symbols: Symbols, n_delays: int, *, rng: Rng = 0) -> Series:
    """Replace every step of a walk by a recorded sequence of postures of that microstate, and join them.

    Parameters
    ----------
    walks
        Simulated microstates, one per lag.
    postures
        The recorded series from which sequences are taken.
    symbols
        Microstates of the recorded sequences, at their middle frames.
    n_delays
        Frames per sequence.
    rng
        Seed or generator.

    Notes
    -----
    SI, "C. elegans posture simulations": sequences are drawn at random within a microstate, frames missing between them
    are filled by a cubic spline, and the whole is smoothed by a cubic Savitzky–Golay filter over 11 frames.
    """
    rng = as_generator(rng)
    block = round(postures.sampling.rate / walks.sampling.rate)
    if abs(postures.sampling.rate / walks.sampling.rate - block) > 1e-6 * block:
        raise SamplingError(
            f"A step of the walk lasts {walks.sampling.interval:g} s, which is not a whole number of frames at "
            f"{postures.sampling.rate:g} Hz. Use the lag of a chain estimated at this rate."
        )
    length = min(n_delays, block)
    centres = _draw_members(walks.labels, symbols, rng)
    first = centres - (n_delays - 1) // 2
    sequences = postures.values[first[:, None] + np.arange(length)]
    n_walks = walks.segments.n_individuals
    sequences = sequences.reshape(n_walks, -1, length, postures.n_components)
    filled = np.stack([_join(walk, block) for walk in sequences])
    n_frames = filled.shape[1]
    return Series.from_rows(
        filled.reshape(-1, postures.n_components),
        postures.sampling,
        np.arange(n_walks + 1) * n_frames,
        walks.segments.individuals,
    )


def _draw_members(labels: IntArray, symbols: Symbols, rng: np.random.Generator) -> IntArray:
    """Draw for every label a recorded row with that label."""
    rows = np.flatnonzero(symbols.segments.valid)
    order = rows[np.argsort(symbols.labels[rows], kind="stable")]
    visits = symbols.visits()
    unseen = np.unique(labels[visits[labels] == 0])
    if unseen.size:
        raise ConnectivityError(
            f"{unseen.size} microstates of the walk (the first is {unseen[0]}) have no recorded sequence to draw from. "
            "Unfold with the symbols from which the chain was estimated."
        )
    begin = np.cumsum(visits) - visits
    drawn: IntArray = order[begin[labels] + np.floor(rng.random(labels.size) * visits[labels]).astype(np.int64)]
    return drawn


def _join(sequences: FloatArray, block: int) -> FloatArray:
    """Place sequences a block apart, fill the frames between them and smooth."""
    n_blocks, length, n_modes = sequences.shape
    at = (np.arange(n_blocks)[:, None] * block + np.arange(length)).ravel()
    known = sequences.reshape(-1, n_modes)
    n_frames = at[-1] + 1
    whole = known if length == block or at.size < 2 else CubicSpline(at, known)(np.arange(n_frames))
    if n_frames < SMOOTHING_FRAMES:
        return np.asarray(whole)
    return np.asarray(savgol_filter(whole, SMOOTHING_FRAMES, SMOOTHING_ORDER, axis=0))
