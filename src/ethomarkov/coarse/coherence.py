"""The best division of a chain into two metastable sets."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import sparse

from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.types import FloatArray, IntArray
from ethomarkov.exceptions import ConnectivityError
from ethomarkov.markov.chain import MarkovChain
from ethomarkov.markov.spectrum import reversible_modes

Rule = Literal["best", "paper"]

MODES_TRIED = 8
FLAT = 0.01
"""Cuts that are worse than the best by no more than this are as good for all that data can tell."""
TIED = 1e-12
PAPER_HEIGHT = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut(Result):
    """A division of the microstates into two sets along a slow mode.

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
        χ, the smaller of the two sets' probabilities of remaining in the set over one lag.
    persistence
        λ_c = χ₊ + χ₋ − 1, the eigenvalue of the chain of the two sets: coherence beyond chance, the same for both.
    rule
        Criterion of the cut, "best" or "paper"; see `best_cut`.
    thresholds, curve
        All candidate thresholds, and the criterion at each: persistence times the share of the mode that the two sets
        explain ("best"), or coherence ("paper").
    upper
        1 for states of the upper set, 0 for the lower.
    flat_from, flat_to
        Thresholds around the best between which the curve falls by no more than 0.01: how well the cut is determined.
    undecided
        Share of time of the microstates between them, which change sides when the cut moves within that range.
    is_interior
        Whether the curve is lower on both sides of the cut; otherwise it is highest at an end, and the mode separates
        an extreme rather than two basins.

    Examples
    --------
    >>> counts = np.array([[80.0, 20, 0, 0], [20, 78, 2, 0], [0, 2, 78, 20], [0, 0, 20, 80]])
    >>> cut = best_cut(MarkovChain.from_counts(sparse.csr_array(counts), lag=1.0))
    >>> sorted([cut.upper[:2].tolist(), cut.upper[2:].tolist()]), round(cut.persistence, 3)
    ([[0, 0], [1, 1]], 0.98)
    >>> cut.headline()
    'persistence 0.98 over one lag, mode 2, 2 and 2 microstates'
    """

    phi: FloatArray = array_field("state")
    mode: int
    eigenvalue: float
    threshold: float
    coherence: float
    persistence: float
    rule: str
    thresholds: FloatArray = array_field("threshold")
    curve: FloatArray = array_field("threshold")
    upper: IntArray = array_field("state")
    flat_from: float
    flat_to: float
    undecided: float
    is_interior: bool

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def headline(self) -> str:
        """Give the persistence of the two sets, the mode and the number of microstates in each."""
        n_upper = int(np.count_nonzero(self.upper == 1))
        sizes = f"{self.upper.size - n_upper} and {n_upper} microstates"
        return f"persistence {self.persistence:.3g} over one lag, mode {self.mode}, {sizes}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Flux(Result):
    """Probability flux from state to state over one lag; it need not be that of a stationary chain.

    Parameters
    ----------
    matrix
        From (row) and to (column); adds up to one.
    measure
        Share of time in every state.
    """

    matrix: sparse.csr_array
    measure: FloatArray = array_field("state")

    @classmethod
    def from_chain(cls, chain: MarkovChain) -> "Flux":
        """Weigh the transitions of a chain by its stationary law."""
        return cls(matrix=(sparse.diags_array(chain.stationary) @ chain.transition).tocsr(), measure=chain.stationary)

    @classmethod
    def from_counts(cls, counts: sparse.csr_array) -> "Flux":
        """Average counts with those of reversed time, so that both ends of a transition have the same law."""
        matrix = ((counts + counts.T) / (2 * counts.sum())).tocsr()
        return cls(matrix=matrix, measure=np.asarray(matrix.sum(axis=1)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """All cuts along a mode.

    Parameters
    ----------
    thresholds
        The smallest φ of the upper set, ascending.
    sets
        χ of the lower (first row) and of the upper set.
    measure
        Share of time of the upper set.
    explained
        Share of the variance of the mode that lies between the two sets.
    """

    thresholds: FloatArray = array_field("threshold")
    sets: FloatArray = array_field("set", "threshold")
    measure: FloatArray = array_field("threshold")
    explained: FloatArray = array_field("threshold")

    @property
    def coherence(self) -> FloatArray:
        """The smaller χ of the two sets."""
        smaller: FloatArray = self.sets.min(axis=0)
        return smaller

    @property
    def persistence(self) -> FloatArray:
        """λ_c = χ₊ + χ₋ − 1."""
        eigenvalue: FloatArray = self.sets.sum(axis=0) - 1
        return eigenvalue

    @property
    def score(self) -> FloatArray:
        """Persistence times the share of the mode that is explained."""
        product: FloatArray = np.maximum(self.persistence, 0.0) * self.explained
        return product


def coherence_along(phi: FloatArray, chain: MarkovChain) -> tuple[FloatArray, FloatArray]:
    """Compute the coherence of the two sets for every threshold on `phi`.

    Returns
    -------
    thresholds
        The smallest `phi` of the upper set, for every cut.
    coherence
        The smaller χ of the two sets.
    """
    cuts = list_cuts(phi, Flux.from_chain(chain))
    return cuts.thresholds, cuts.coherence


def coherence_of_sets(phi: FloatArray, chain: MarkovChain) -> tuple[FloatArray, FloatArray]:
    """Compute the coherence of the lower and of the upper set for every threshold on `phi`; see `Candidates`."""
    cuts = list_cuts(phi, Flux.from_chain(chain))
    return cuts.thresholds, cuts.sets


def list_cuts(phi: FloatArray, flux: Flux) -> Candidates:
    """List all cuts along a mode with the coherence of either side.

    Sorting the states by `phi` turns every candidate set into a prefix, so that all cuts follow from cumulative sums
    over the flux instead of one submatrix each.

    Notes
    -----
    SI, "Metastable states": χ(S) = Σ_{i,j∈S} π_i P_ij / Σ_{i∈S} π_i.
    """
    order = np.argsort(phi, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    passing = flux.matrix.tocoo()
    later, earlier = np.maximum(rank[passing.row], rank[passing.col]), np.minimum(rank[passing.row], rank[passing.col])
    n = order.size
    below_to_below = np.cumsum(np.bincount(later, passing.data, n))[:-1]
    above_to_above = np.cumsum(np.bincount(earlier, passing.data, n)[::-1])[::-1][1:]
    ordered, ascending = flux.measure[order], phi[order]
    below, above = np.cumsum(ordered)[:-1], np.cumsum(ordered[::-1])[::-1][1:]
    distinct = ascending[1:] > ascending[:-1]
    return Candidates(
        thresholds=ascending[1:][distinct],
        sets=np.stack([below_to_below / below, above_to_above / above])[:, distinct],
        measure=above[distinct],
        explained=_explained(ascending, ordered, below, above)[distinct],
    )


def _explained(phi: FloatArray, measure: FloatArray, below: FloatArray, above: FloatArray) -> FloatArray:
    """Share of the variance of sorted values that lies between those before and those after each cut."""
    centred = phi - measure @ phi / measure.sum()
    between = np.cumsum(measure * centred)[:-1] ** 2 * (1 / below + 1 / above)
    share: FloatArray = between / max(float(measure @ centred**2), np.finfo(float).tiny)
    return share


def best_cut(chain: MarkovChain, min_measure: float = 0.02, rule: Rule = "best") -> Cut:
    """Divide a chain into two sets along a slow mode, where the sets are most persistent.

    With little data the slowest mode may be a corner of the space that was visited once or twice: almost nothing leaves
    it because almost nothing was there. So each set must have a minimal share of time, and of the eight slowest modes
    the one with the most persistent cut is chosen, the slowest of those within 0.01 of it.

    Parameters
    ----------
    chain
        At the lag of the coherence.
    min_measure
        Least share of time of each set; 0 always takes the slowest mode, as published.
    rule
        "best" cuts a mode where persistence times the explained share of the mode is largest. That share is not used
        to choose the mode: an oscillation may fall into two sets as well as the slowest mode. Coherence favours even
        cuts, because a set without any structure keeps its own share of the time. "paper" takes the highest interior
        peak of coherence of at least 0.5, does not consider the two extreme states, and assigns the state at the
        threshold to the lower set while comparing and to the upper one in the end, as published; it fails where there
        is no peak.

    Examples
    --------
    >>> counts = np.array([[80.0, 20, 0, 0], [20, 78, 2, 0], [0, 2, 78, 20], [0, 0, 20, 80]])
    >>> best_cut(MarkovChain.from_counts(sparse.csr_array(counts), lag=1.0)).is_interior
    True
    """
    if chain.states.size < 2:
        raise ConnectivityError(
            "A chain of one state cannot be divided; two are needed. Use more microstates or more data."
        )
    n_tried = min(MODES_TRIED if min_measure > 0 else 1, chain.states.size - 1)
    eigenvalues, modes = reversible_modes(chain, n_tried)
    flux = Flux.from_chain(chain)
    if rule == "paper":
        return _first_published(flux, eigenvalues, modes, min_measure)
    tried = [
        cut_along(flux, modes[:, k], float(eigenvalues[k]), k + 2, min_measure=min_measure) for k in range(n_tried)
    ]
    cuts = [cut for cut in tried if cut is not None]
    if not cuts:
        raise ConnectivityError(_no_cut(n_tried, min_measure))
    most = max(cut.persistence for cut in cuts)
    return next(cut for cut in cuts if cut.persistence >= most - FLAT)


def _first_published(flux: Flux, eigenvalues: FloatArray, modes: FloatArray, min_measure: float) -> Cut:
    """Take the slowest mode whose published cut leaves both sets enough of the time."""
    for k in range(len(eigenvalues)):
        cut = published_cut(flux, modes[:, k], float(eigenvalues[k]), k + 2)
        measure = flux.measure[cut.upper == 1].sum()
        if min(measure, 1 - measure) >= min_measure:
            return cut
    raise ConnectivityError(_no_cut(len(eigenvalues), min_measure))


def _no_cut(n_tried: int, min_measure: float) -> str:
    return (
        f"None of the {n_tried} slowest modes divides the states into two sets that each hold {min_measure:.0%} of the "
        "time. Use fewer microstates, more data, or a smaller min_measure."
    )


def cut_along(flux: Flux, phi: FloatArray, eigenvalue: float, mode: int, *, min_measure: float = 0.0) -> Cut | None:
    """Cut along a given mode by the "best" criterion of `best_cut`; None where no cut leaves both sets enough time.

    Of equal cuts the more even one is taken.
    """
    cuts = list_cuts(phi, flux)
    total = flux.measure.sum()
    smaller = np.minimum(cuts.measure, total - cuts.measure)
    score = np.where(smaller >= min_measure * total, cuts.score, -np.inf)
    if not np.isfinite(score).any():
        return None
    tied = np.flatnonzero(score >= score.max() - TIED)
    best = int(tied[np.argmax(smaller[tied])])
    return _cut_at(flux, phi, (eigenvalue, mode), cuts, "best", (best, best))


def cut_at(chain: MarkovChain, phi: FloatArray, threshold: float, eigenvalue: float, mode: int) -> Cut:
    """Compute the properties of a cut with known mode and threshold.

    Parameters
    ----------
    chain
        Whose states are divided.
    phi
        Mode, one value per state of the chain.
    threshold
        States at or above it form the upper set; some state must lie below it.
    eigenvalue, mode
        Of the mode, and its number: 2 for the slowest.
    """
    flux = Flux.from_chain(chain)
    cuts = list_cuts(phi, flux)
    best = min(int(np.searchsorted(cuts.thresholds, threshold)), cuts.thresholds.size - 1)
    return _cut_at(flux, phi, (eigenvalue, mode), cuts, "best", (best, best))


def published_cut(flux: Flux, phi: FloatArray, eigenvalue: float, mode: int) -> Cut:
    """Cut along a given mode by the published criterion; see `best_cut`."""
    cuts = list_cuts(phi, flux)
    best = _paper_peak(cuts.coherence)
    # The published curve counts the state at c to the lower set, the published labels to the upper: c is one lower.
    return _cut_at(flux, phi, (eigenvalue, mode), cuts, "paper", (best, best - 1))


def _cut_at(
    flux: Flux,
    phi: FloatArray,
    which: tuple[float, int],
    cuts: Candidates,
    rule: Rule,
    found: tuple[int, int],
) -> Cut:
    """Compute the properties of the cut at the best place of a curve; the threshold may be at another place."""
    best, place = found
    curve = cuts.score if rule == "best" else cuts.coherence
    threshold = float(cuts.thresholds[place])
    left, right = _flat_stretch(curve, best)
    flat_from, flat_to = float(cuts.thresholds[left]), float(cuts.thresholds[right])
    return Cut(
        phi=phi,
        mode=which[1],
        eigenvalue=which[0],
        threshold=threshold,
        coherence=float(cuts.coherence[best]),
        persistence=float(cuts.persistence[best]),
        thresholds=cuts.thresholds,
        rule=rule,
        curve=curve,
        upper=(phi >= threshold).astype(np.int32),
        flat_from=flat_from,
        flat_to=flat_to,
        undecided=float(flux.measure[(phi >= flat_from) & (phi < flat_to)].sum()),
        is_interior=_is_interior(curve, best),
    )


def _paper_peak(curve: FloatArray) -> int:
    """Find the highest interior peak, where neither of the two extreme states is a candidate."""
    from scipy.signal import find_peaks

    candidates = curve[1:]
    peaks, _ = find_peaks(candidates, height=PAPER_HEIGHT)
    if peaks.size == 0:
        raise ConnectivityError(
            f"Coherence along the slow mode has no interior peak of at least {PAPER_HEIGHT}; the published criterion "
            'needs one. Use rule="best", which takes the highest value wherever it lies.'
        )
    return int(peaks[candidates[peaks].argmax()]) + 1


def _flat_stretch(curve: FloatArray, best: int) -> tuple[int, int]:
    """Find the cuts next to the best that are hardly worse."""
    worse = np.flatnonzero(curve < curve[best] - FLAT)
    before, after = worse[worse < best], worse[worse > best]
    return (int(before[-1]) + 1 if before.size else 0), (int(after[0]) - 1 if after.size else curve.size - 1)


def _is_interior(curve: FloatArray, best: int) -> bool:
    return bool((curve[:best] < curve[best] - TIED).any() and (curve[best + 1 :] < curve[best] - TIED).any())
