"""Slow modes of a chain and their relaxation times."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import ArpackNoConvergence, eigs, eigsh

from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.showing import frame_of_columns
from ethomarkov._core.types import BoolArray, ComplexArray, FloatArray
from ethomarkov._core.words import count_of
from ethomarkov.exceptions import ConnectivityError
from ethomarkov.markov.chain import MarkovChain
from ethomarkov.states.symbols import Symbols

if TYPE_CHECKING:
    import pandas as pd

REAL_TOLERANCE = 1e-9
ON_CIRCLE = 1e-12
MIN_KRYLOV = 60
DENSE_BELOW = 50
FIRST_MODE = 2
"""Number of the slowest mode, as in φ₂: the first is the stationary law."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spectrum(Result):
    """Leading eigenvalues of a chain without the stationary one.

    Parameters
    ----------
    eigenvalues
        By descending real part.
    relaxation_times
        −τ / ln Re λ in seconds; NaN where Re λ is not positive, which is no relaxation.
    lag
        τ, in seconds.

    Examples
    --------
    >>> chain = MarkovChain.from_counts(sparse.csr_array(np.array([[90.0, 10], [20, 80]])), lag=0.5)
    >>> spectrum = slow_spectrum(chain)
    >>> spectrum.eigenvalues.real.round(3).tolist(), spectrum.relaxation_times.round(3).tolist(), spectrum.kinds
    ([0.7], [1.402], ('relaxing',))
    >>> spectrum.table()[["mode", "relaxation_time_s", "kind", "period_s"]].round(3)
       mode  relaxation_time_s      kind  period_s
    0     2              1.402  relaxing       inf
    """

    eigenvalues: ComplexArray = array_field("mode")
    relaxation_times: FloatArray = array_field("mode", unit="s")
    lag: float

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kind of each mode: "relaxing" (λ real and positive), "oscillating" (complex) or "alternating" (λ < 0).

        An alternating mode changes sign at every lag: an oscillation with a period of about twice the lag, or a faster
        one that is undersampled. It is not a relaxation, whatever its modulus.
        """
        turns = np.abs(self.eigenvalues.imag) > REAL_TOLERANCE
        positive = self.eigenvalues.real >= 0
        return tuple(np.where(turns, "oscillating", np.where(positive, "relaxing", "alternating")).tolist())

    @property
    def decay_times(self) -> FloatArray:
        """Decay times −τ / ln |λ| of the amplitudes in seconds, whether or not a mode oscillates."""
        modulus = np.abs(self.eigenvalues)
        times = np.full(modulus.size, np.inf)
        decaying = modulus < 1 - ON_CIRCLE
        with np.errstate(divide="ignore"):
            times[decaying] = -self.lag / np.log(modulus[decaying])
        return times

    @property
    def periods(self) -> FloatArray:
        """Periods 2πτ / |arg λ| in seconds, infinite for relaxing modes; periods below twice the lag appear longer."""
        turn = np.abs(np.angle(self.eigenvalues.real + 1j * np.where(self._is_real, 0.0, self.eigenvalues.imag)))
        with np.errstate(divide="ignore"):
            return 2 * np.pi * self.lag / turn

    @property
    def _is_real(self) -> BoolArray:
        return np.abs(self.eigenvalues.imag) <= REAL_TOLERANCE

    def headline(self) -> str:
        """Give the number of modes and the slowest relaxation time."""
        if not self.relaxation_times.size:
            return "no modes"
        n_modes = count_of(self.relaxation_times.size, "mode")
        return f"{n_modes}, slowest relaxation time {self.relaxation_times[0]:.3g} s at a lag of {self.lag:.3g} s"

    def table(self) -> "pd.DataFrame":
        """List the modes, slowest first: eigenvalue, relaxation time, decay time, kind and period in seconds."""
        return frame_of_columns(
            {
                "mode": np.arange(self.eigenvalues.size) + FIRST_MODE,
                "eigenvalue_real": self.eigenvalues.real,
                "eigenvalue_imag": self.eigenvalues.imag,
                "relaxation_time_s": self.relaxation_times,
                "decay_time_s": self.decay_times,
                "kind": self.kinds,
                "period_s": self.periods,
            }
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowestTimes(Result):
    """The slowest relaxation time of a chain and of its reversibilised version.

    Parameters
    ----------
    relaxation
        Of the chain itself, −τ / ln Re λ₂: comparable with transition rates between states.
    reversibilized
        Of the chain averaged with its time reversal: an upper bound, whose mode separates metastable sets best.
    """

    relaxation: float
    reversibilized: float

    def explain(self) -> str:
        """Explain the two numbers in words."""
        return (
            f"The slowest mode of the chain relaxes in {self.relaxation:.3g} s; compare this with transition rates. "
            f"The reversibilised chain, which is used to find metastable sets, relaxes in {self.reversibilized:.3g} s: "
            "an upper bound, longer because cycles such as the body wave are averaged with their reverse."
        )


def relaxation_time(eigenvalue: float, lag: float) -> float:
    """Convert a real eigenvalue to −τ / ln λ in seconds: infinite at one, NaN where it is not positive."""
    if eigenvalue >= 1:
        return float("inf")
    return -lag / float(np.log(eigenvalue)) if eigenvalue > 0 else float("nan")


def slowest_times(chain: MarkovChain) -> SlowestTimes:
    """Compute the slowest relaxation time of a chain and of its reversibilised version."""
    if chain.states.size < 2:
        raise ConnectivityError("A chain of one state has no relaxation; use more microstates or more data.")
    second = float(reversible_modes(chain, 1)[0][0])
    return SlowestTimes(
        relaxation=float(slow_spectrum(chain, 1).relaxation_times[0]),
        reversibilized=relaxation_time(second, chain.lag),
    )


def modes_on_frames(symbols: Symbols, chain: MarkovChain, modes: FloatArray) -> FloatArray:
    """Evaluate the modes in the microstate of every frame; NaN where there is none.

    Parameters
    ----------
    symbols
        Microstates in time.
    chain
        On whose states the modes are given.
    modes
        One column per mode, as from `reversible_modes`.
    """
    table = np.full((chain.n_states + 1, modes.shape[1]), np.nan)
    table[chain.states] = modes
    on_frames: FloatArray = table[np.where(symbols.segments.valid, symbols.labels, chain.n_states)]
    return on_frames


def slow_spectrum(chain: MarkovChain, n_modes: int = 10, *, tolerance: float = 0.0) -> Spectrum:
    """Compute the slowest modes of a chain, not reversibilised.

    Parameters
    ----------
    chain
        Of microstates or of states.
    n_modes
        Modes besides the stationary one.
    tolerance
        Relative error of eigenvalues that is allowed; the precision of numbers by default. A larger one is faster
        but can miss repeated eigenvalues; use it for the slowest mode alone.

    Notes
    -----
    Eq. (2) of the paper: Λ⁻¹ = −τ / ln Re λ.

    Examples
    --------
    >>> chain = MarkovChain.from_counts(sparse.csr_array(np.array([[90.0, 10], [20, 80]])), lag=0.5)
    >>> slow_spectrum(chain).relaxation_times.round(3).tolist()
    [1.402]
    """
    n_wanted = min(n_modes + 1, chain.states.size)
    values = _leading(chain.transition, n_wanted, tolerance)[1:]
    real = values.real
    times = np.full(real.size, np.nan)
    times[real > 0] = -chain.lag / np.log(real[real > 0])
    return Spectrum(eigenvalues=values, relaxation_times=times, lag=chain.lag)


def slowest_time_by_unit(counts: Sequence[sparse.csr_array], lag: float) -> tuple[float, FloatArray]:
    """Compute the slowest relaxation time of the chain of all units, and of the same mode without each of them.

    Parameters
    ----------
    counts
        Transitions of every animal or block.
    lag
        Seconds between their ends.

    Notes
    -----
    Without an animal another mode may become the slowest, such as a corner of the space that is then hardly ever left.
    So the mode is held fixed: with left and right eigenvectors l, r of C r = λ D r, D the row sums of C, its eigenvalue
    for counts C' is l·C'r / l·D'r but for terms of second order in the change.

    Examples
    --------
    >>> parts = [sparse.csr_array(np.array([[90.0, 10.0], [20.0, 80.0]]))] * 2
    >>> time, without = slowest_time_by_unit(parts, 1.0)
    >>> float(np.round(np.exp(-1 / time), 6)), np.round(np.exp(-1 / without), 6)
    (0.7, array([0.7, 0.7]))
    """
    whole = sum(counts[1:], counts[0]).tocsr()
    chain = MarkovChain.from_counts(whole, lag)
    nothing = np.full(len(counts), np.nan)
    if chain.states.size < 2:
        return float("nan"), nothing
    eigenvalue, left, right = _slowest_pair(chain.transition)
    total, time = whole[chain.states][:, chain.states], relaxation_time(eigenvalue.real, lag)
    left = left / np.asarray(total.sum(axis=1))  # of C r = λ D r rather than of P
    left_out = nothing.copy()
    for k, own in enumerate(counts):
        without = total - own[chain.states][:, chain.states]
        scale = left @ (np.asarray(without.sum(axis=1)) * right)
        if abs(scale) > 0:
            left_out[k] = relaxation_time(float(((left @ (without @ right)) / scale).real), lag)
    return time, left_out


def _slowest_pair(P: sparse.csr_array) -> tuple[complex, ComplexArray, ComplexArray]:
    """Compute the slowest eigenvalue of a chain with its left and right eigenvectors."""
    values, right = _leading_vectors(P)
    others, left = _leading_vectors(P.T.tocsr())
    same = int(np.abs(others - values[1]).argmin())
    return complex(values[1]), left[:, same], right[:, 1]


def _leading_vectors(P: sparse.csr_array, n_wanted: int = 4) -> tuple[ComplexArray, ComplexArray]:
    n = P.shape[0]
    if n <= DENSE_BELOW:
        values, vectors = np.linalg.eig(P.toarray())
    else:
        start = np.random.default_rng(0).standard_normal(n)
        try:
            values, vectors = eigs(P, k=n_wanted, which="LR", v0=start, ncv=min(n, MIN_KRYLOV))
        except ArpackNoConvergence:
            values, vectors = np.linalg.eig(P.toarray())
    order = np.lexsort((-values.imag, -values.real.round(12)))
    return values[order].astype(complex), vectors[:, order].astype(complex)


def _leading(P: sparse.csr_array, n_wanted: int, tolerance: float = 0.0) -> ComplexArray:
    n = P.shape[0]
    if n <= max(DENSE_BELOW, n_wanted + 2):
        values = np.linalg.eigvals(P.toarray()).astype(complex)
    else:
        # A fixed start makes the answer reproducible; it must not be an eigenvector, as the constant one is.
        start = np.random.default_rng(0).standard_normal(n)
        n_krylov = min(n, max(MIN_KRYLOV, 3 * n_wanted))
        try:
            values = eigs(P, k=n_wanted, which="LR", v0=start, ncv=n_krylov, tol=tolerance, return_eigenvectors=False)
        except ArpackNoConvergence:  # eigenvalues crowded near the circle, as those of a long cycle
            values = np.linalg.eigvals(P.toarray()).astype(complex)
    order = np.lexsort((-values.imag, -values.real.round(12)))
    leading: ComplexArray = values[order][:n_wanted]
    return leading


def reversible_modes(chain: MarkovChain, n_modes: int = 1, *, tolerance: float = 0.0) -> tuple[FloatArray, FloatArray]:
    """Compute the slowest modes φ₂, φ₃ … of the reversibilised chain.

    The sign is fixed so that the side that holds more of the time is negative, and the norm over states is one.

    Parameters
    ----------
    chain, n_modes, tolerance
        As in `slow_spectrum`.

    Returns
    -------
    eigenvalues
        Descending, without the stationary one.
    modes
        One column each, one row per state.

    Notes
    -----
    SI, "Metastable states". With √π the reversibilised chain becomes a symmetric matrix, whose eigenvectors are real
    and found from a fixed start.
    """
    root = np.sqrt(chain.stationary)
    flux = sparse.diags_array(root) @ chain.reversibilized().transition @ sparse.diags_array(1.0 / root)
    symmetric = ((flux + flux.T) / 2).tocsr()
    n = root.size
    n_wanted = min(n_modes + 1, n)
    if n <= max(DENSE_BELOW, n_wanted + 2):
        values, vectors = np.linalg.eigh(symmetric.toarray())
    else:
        start = root + np.linspace(-1, 1, n) * root.mean()
        values, vectors = eigsh(symmetric, k=n_wanted, which="LA", v0=start, tol=tolerance)
    order = np.argsort(values)[::-1][1:n_wanted]
    phi = vectors[:, order] / root[:, None]
    positive_share = chain.stationary @ (phi > 0)
    phi = phi * np.where(positive_share <= 0.5, 1.0, -1.0) / np.linalg.norm(phi, axis=0)
    return values[order], phi
