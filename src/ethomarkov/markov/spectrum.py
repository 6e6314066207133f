"""Slow modes of a chain and their relaxation times."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import eigs, eigsh

from ethomarkov._core.result import array_field, freeze_arrays
from ethomarkov._core.types import ComplexArray, FloatArray
from ethomarkov.markov.chain import DENSE_BELOW, MarkovChain


@dataclass(frozen=True, slots=True, kw_only=True)
class Spectrum:
    """Leading eigenvalues of a chain, the stationary one left out.

    Parameters
    ----------
    eigenvalues
        By descending real part.
    relaxation_times
        −τ / ln Re λ in seconds; NaN where Re λ is not positive, which is no relaxation.
    lag
        τ, in seconds.
    """

    eigenvalues: ComplexArray = array_field("mode")
    relaxation_times: FloatArray = array_field("mode", unit="s")
    lag: float

    def __post_init__(self) -> None:
        freeze_arrays(self)


def slow_spectrum(chain: MarkovChain, n_modes: int = 10) -> Spectrum:
    """Find the slowest modes of the chain as it is, not reversibilised.

    Notes
    -----
    Eq. (2) of the paper: Λ⁻¹ = −τ / ln Re λ.
    """
    n_wanted = min(n_modes + 1, chain.states.size)
    values = _leading(chain.transition, n_wanted)[1:]
    real = values.real
    times = np.full(real.size, np.nan)
    times[real > 0] = -chain.lag / np.log(real[real > 0])
    return Spectrum(eigenvalues=values, relaxation_times=times, lag=chain.lag)


def _leading(P: sparse.csr_array, n_wanted: int) -> ComplexArray:
    n = P.shape[0]
    if n <= max(DENSE_BELOW, n_wanted + 2):
        values = np.linalg.eigvals(P.toarray()).astype(complex)
    else:
        values = eigs(P, k=n_wanted, which="LR", v0=np.ones(n) / n, return_eigenvectors=False)
    order = np.lexsort((-values.imag, -values.real.round(12)))
    leading: ComplexArray = values[order][:n_wanted]
    return leading


def reversible_modes(chain: MarkovChain, n_modes: int = 1) -> tuple[FloatArray, FloatArray]:
    """Find the slowest modes φ₂, φ₃ … of the reversibilised chain.

    The sign is fixed so that the side that holds more of the time is negative, and the norm over states is one.

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
        values, vectors = eigsh(symmetric, k=n_wanted, which="LA", v0=start)
    order = np.argsort(values)[::-1][1:n_wanted]
    phi = vectors[:, order] / root[:, None]
    positive_share = chain.stationary @ (phi > 0)
    phi = phi * np.where(positive_share <= 0.5, 1.0, -1.0) / np.linalg.norm(phi, axis=0)
    return values[order], phi
