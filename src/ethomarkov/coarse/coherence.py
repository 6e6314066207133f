"""The best division of a chain into two metastable sets."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ethomarkov._core.result import array_field, freeze_arrays
from ethomarkov._core.types import FloatArray, IntArray
from ethomarkov.exceptions import ConnectivityError
from ethomarkov.markov.chain import MarkovChain
from ethomarkov.markov.spectrum import reversible_modes

MODES_TRIED = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """A division of the states along their slow mode.

    Parameters
    ----------
    phi
        Value of the slow mode in every connected state.
    mode
        Which mode it is: 2 for the slowest.
    eigenvalue
        Of that mode, in the reversibilised chain.
    threshold
        States with φ at or above it form the upper set.
    coherence
        χ, the smaller of the two sets' shares of probability that stay within one lag.
    thresholds, curve
        All candidate thresholds and their coherence.
    upper
        1 for states of the upper set, 0 for the lower.
    """

    phi: FloatArray = array_field("state")
    mode: int
    eigenvalue: float
    threshold: float
    coherence: float
    thresholds: FloatArray = array_field("threshold")
    curve: FloatArray = array_field("threshold")
    upper: IntArray = array_field("state")

    def __post_init__(self) -> None:
        freeze_arrays(self)


def coherence_along(phi: FloatArray, chain: MarkovChain) -> tuple[FloatArray, FloatArray]:
    """Measure how well each threshold on `phi` keeps probability on either side.

    Sorting the states by `phi` turns every candidate set into a prefix, so that all cuts follow from cumulative sums
    over the flux instead of one submatrix each.

    Returns
    -------
    thresholds
        The smallest `phi` of the upper set, for every cut.
    coherence
        The smaller χ of the two sets.

    Notes
    -----
    SI, "Metastable states": χ(S) = Σ_{i,j∈S} π_i P_ij / Σ_{i∈S} π_i.
    """
    order = np.argsort(phi, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    flux = (sparse.diags_array(chain.stationary) @ chain.transition).tocoo()
    later, earlier = np.maximum(rank[flux.row], rank[flux.col]), np.minimum(rank[flux.row], rank[flux.col])
    n = order.size
    stays_below = np.cumsum(np.bincount(later, flux.data, n))[:-1]
    stays_above = np.cumsum(np.bincount(earlier, flux.data, n)[::-1])[::-1][1:]
    ordered = chain.stationary[order]
    below, above = np.cumsum(ordered)[:-1], np.cumsum(ordered[::-1])[::-1][1:]
    ascending = phi[order]
    distinct = ascending[1:] > ascending[:-1]
    coherence = np.minimum(stays_below / below, stays_above / above)
    return ascending[1:][distinct], coherence[distinct]


def best_cut(chain: MarkovChain, min_measure: float = 0.02) -> Cut:
    """Divide a chain in two along its slowest mode, where the sets are most coherent.

    With little data the slowest mode may be a corner of the space that was visited once or twice: almost nothing leaves
    it because almost nothing was there. Such modes are passed over.

    Parameters
    ----------
    chain
        At the lag at which coherence is asked for.
    min_measure
        Share of time that either set must hold; 0 always takes the slowest mode, as published.
    """
    if chain.states.size < 2:
        raise ConnectivityError("A chain of one state cannot be divided.")
    n_tried = min(MODES_TRIED, chain.states.size - 1)
    eigenvalues, modes = reversible_modes(chain, n_tried)
    cuts = (_cut_along(chain, modes[:, k], float(eigenvalues[k]), k + 2) for k in range(n_tried))
    for cut in cuts:
        measure = chain.stationary[cut.upper == 1].sum()
        if min(measure, 1 - measure) >= min_measure:
            return cut
    raise ConnectivityError(
        f"None of the {n_tried} slowest modes divides the states into two sets that each hold {min_measure:.0%} of the "
        "time. Use fewer microstates, more data, or a smaller min_measure."
    )


def _cut_along(chain: MarkovChain, phi: FloatArray, eigenvalue: float, mode: int) -> Cut:
    thresholds, curve = coherence_along(phi, chain)
    best = int(curve.argmax())
    return Cut(
        phi=phi,
        mode=mode,
        eigenvalue=eigenvalue,
        threshold=float(thresholds[best]),
        coherence=float(curve[best]),
        thresholds=thresholds,
        curve=curve,
        upper=(phi >= thresholds[best]).astype(np.int32),
    )
