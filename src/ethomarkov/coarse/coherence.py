"""The best division of a chain into two metastable sets."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import sparse
from scipy.signal import find_peaks

from ethomarkov._core.result import array_field, freeze_arrays
from ethomarkov._core.types import FloatArray, IntArray
from ethomarkov.exceptions import ConnectivityError
from ethomarkov.markov.chain import MarkovChain
from ethomarkov.markov.spectrum import reversible_modes

Rule = Literal["best", "paper"]

MODES_TRIED = 8
FLAT = 0.01
"""Cuts whose coherence is lower than the best by no more than this are as good for all that data can tell."""
TIED = 1e-12
PAPER_HEIGHT = 0.5


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
    flat_from, flat_to
        Thresholds around the best between which coherence falls by no more than 0.01: how well the cut is determined.
    undecided
        Share of time of the states between them, which change sides when the cut moves within the flat stretch.
    is_interior
        Whether coherence is lower on both sides of the cut; otherwise it is highest at an end of the curve, and the
        mode sets apart an extreme rather than two basins.
    """

    phi: FloatArray = array_field("state")
    mode: int
    eigenvalue: float
    threshold: float
    coherence: float
    thresholds: FloatArray = array_field("threshold")
    curve: FloatArray = array_field("threshold")
    upper: IntArray = array_field("state")
    flat_from: float
    flat_to: float
    undecided: float
    is_interior: bool

    def __post_init__(self) -> None:
        freeze_arrays(self)


def coherence_along(phi: FloatArray, chain: MarkovChain) -> tuple[FloatArray, FloatArray]:
    """Measure how well each threshold on `phi` keeps probability on either side.

    Returns
    -------
    thresholds
        The smallest `phi` of the upper set, for every cut.
    coherence
        The smaller χ of the two sets.
    """
    thresholds, sets = coherence_of_sets(phi, chain)
    return thresholds, sets.min(axis=0)


def coherence_of_sets(phi: FloatArray, chain: MarkovChain) -> tuple[FloatArray, FloatArray]:
    """Measure the coherence of the lower and of the upper set for every threshold on `phi`.

    Sorting the states by `phi` turns every candidate set into a prefix, so that all cuts follow from cumulative sums
    over the flux instead of one submatrix each.

    Returns
    -------
    thresholds
        The smallest `phi` of the upper set, for every cut.
    coherence
        χ of the lower (first row) and of the upper set.

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
    coherence = np.stack([stays_below / below, stays_above / above])
    return ascending[1:][distinct], coherence[:, distinct]


def best_cut(chain: MarkovChain, min_measure: float = 0.02, rule: Rule = "best") -> Cut:
    """Divide a chain in two along its slowest mode, where the sets are most coherent.

    With little data the slowest mode may be a corner of the space that was visited once or twice: almost nothing leaves
    it because almost nothing was there. Such modes are passed over.

    Parameters
    ----------
    chain
        At the lag at which coherence is asked for.
    min_measure
        Share of time that either set must hold; 0 always takes the slowest mode, as published.
    rule
        "best" takes the highest coherence of all cuts, the more even one of equals. "paper" takes the highest interior
        peak of at least 0.5, leaves the two extreme states out of the search, and counts the state at the threshold to
        the lower set while searching and to the upper one in the end, as published; it fails where there is no peak.
    """
    if chain.states.size < 2:
        raise ConnectivityError("A chain of one state cannot be divided.")
    n_tried = min(MODES_TRIED if min_measure > 0 else 1, chain.states.size - 1)
    eigenvalues, modes = reversible_modes(chain, n_tried)
    for k in range(n_tried):
        cut = cut_along(chain, modes[:, k], float(eigenvalues[k]), k + 2, rule)
        measure = chain.stationary[cut.upper == 1].sum()
        if min(measure, 1 - measure) >= min_measure:
            return cut
    raise ConnectivityError(
        f"None of the {n_tried} slowest modes divides the states into two sets that each hold {min_measure:.0%} of the "
        "time. Use fewer microstates, more data, or a smaller min_measure."
    )


def cut_along(chain: MarkovChain, phi: FloatArray, eigenvalue: float, mode: int, rule: Rule = "best") -> Cut:
    """Cut a chain along a given mode; see `best_cut`."""
    thresholds, curve = coherence_along(phi, chain)
    best = _even_best(chain, phi, thresholds, curve) if rule == "best" else _paper_peak(curve)
    # The published search counts the state at c to the lower set, the published labels to the upper: c is one lower.
    threshold = float(thresholds[best] if rule == "best" else thresholds[best - 1])
    left, right = _flat_stretch(curve, best)
    flat_from, flat_to = float(thresholds[left]), float(thresholds[right])
    return Cut(
        phi=phi,
        mode=mode,
        eigenvalue=eigenvalue,
        threshold=threshold,
        coherence=float(curve[best]),
        thresholds=thresholds,
        curve=curve,
        upper=(phi >= threshold).astype(np.int32),
        flat_from=flat_from,
        flat_to=flat_to,
        undecided=float(chain.stationary[(phi >= flat_from) & (phi < flat_to)].sum()),
        is_interior=_is_interior(curve, best),
    )


def _even_best(chain: MarkovChain, phi: FloatArray, thresholds: FloatArray, curve: FloatArray) -> int:
    """Find the highest coherence; of equals, the one that divides the time most evenly."""
    tied = np.flatnonzero(curve >= curve.max() - TIED)
    uneven = [abs(chain.stationary[phi >= thresholds[k]].sum() - 0.5) for k in tied]
    return int(tied[np.argmin(uneven)])


def _paper_peak(curve: FloatArray) -> int:
    """Find the highest interior peak, where neither of the two extreme states is a candidate."""
    searched = curve[1:]
    peaks, _ = find_peaks(searched, height=PAPER_HEIGHT)
    if peaks.size == 0:
        raise ConnectivityError(
            f"Coherence along the slow mode has no interior peak of at least {PAPER_HEIGHT}; the published rule needs "
            'one. Use rule="best", which takes the highest value wherever it lies.'
        )
    return int(peaks[searched[peaks].argmax()]) + 1


def _flat_stretch(curve: FloatArray, best: int) -> tuple[int, int]:
    """Find the cuts next to the best that are hardly worse."""
    worse = np.flatnonzero(curve < curve[best] - FLAT)
    before, after = worse[worse < best], worse[worse > best]
    return (int(before[-1]) + 1 if before.size else 0), (int(after[0]) - 1 if after.size else curve.size - 1)


def _is_interior(curve: FloatArray, best: int) -> bool:
    return bool((curve[:best] < curve[best] - TIED).any() and (curve[best + 1 :] < curve[best] - TIED).any())
