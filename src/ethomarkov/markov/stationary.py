"""The stationary law of a chain, every entry of it with small relative error."""

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import bicgstab

from ethomarkov._core.types import FloatArray
from ethomarkov.exceptions import ConnectivityError
from ethomarkov.markov.elimination import Elimination

ELIMINATED_UP_TO = 300  # states; elimination is as fast as iteration there
MOST_ITERATIONS = 500
SOUGHT_RESIDUAL, ROUGH_RESIDUAL = 1e-14, 0.03  # per entry, in units of the flux of a state, and of one
RELATIVE_ERROR = 1e-9
EPSILON = float(np.finfo(float).eps)


def stationary_law(transition: sparse.csr_array, visits: FloatArray | None = None) -> FloatArray:
    """Compute the stationary law of a connected chain.

    Parameters
    ----------
    transition
        P, one row per state. What its rows lack of one belongs to the diagonal.
    visits
        Number of visits to each state, which is close to the law; equal when None.

    Notes
    -----
    By elimination without subtraction, which is accurate however rarely the chain goes from one set of states to
    another. For many states, iteration (BiCGSTAB) from the visits is tried first, and accepted if a bound proves that
    the relative error of every entry is below 1e-9; chains with weakly connected sets fail this and are eliminated.
    """
    n = transition.shape[0]
    start = np.full(n, 1.0 / n) if visits is None else visits / visits.sum()
    if n > ELIMINATED_UP_TO and start.min() > 0:
        law, error = _iterate(transition, start)
        if error <= RELATIVE_ERROR:
            return law
    return _eliminate(transition, int(start.argmax()))


def _eliminate(transition: sparse.csr_array, first: int) -> FloatArray:
    """Set the law of one state to one, and solve π (1 − P) = 0 for the others."""
    others = np.flatnonzero(np.arange(transition.shape[0]) != first)
    law = np.ones(transition.shape[0])
    if others.size:
        rows = transition[others]
        back = rows[:, [first]].toarray().ravel()
        there = transition[[first]][:, others].toarray().ravel()
        law[others] = Elimination.of(rows[:, others], back).solve_transposed(there)
    total = law.sum()
    if not (np.isfinite(total) and law.min() > 0):
        raise ConnectivityError(
            f"The shares of time of {law.size} states differ by more than floating-point numbers can hold; some states "
            "are almost never left. Use fewer microstates or more data."
        )
    return np.asarray(law / total)


def _iterate(transition: sparse.csr_array, start: FloatArray) -> tuple[FloatArray, float]:
    """Compute the law, and a bound on the relative error of its entries, from a law that is close.

    Notes
    -----
    The chain of changes of state, J_ij = P_ij / Σ_{k≠i} P_ik, has the law q_i ∝ π_i Σ_{k≠i} P_ik. With q = h q_start,
    it solves B h = 0, where B_ij = δ_ij − q_start,j J_ji / q_start,i.
    """
    moves = transition - sparse.diags_array(transition.diagonal())
    leaving = np.asarray(moves.sum(axis=1))
    jumps = (sparse.diags_array(1 / leaving) @ moves).T.tocsr()
    law = start * leaving
    balance = _balance(jumps, law)
    sought = SOUGHT_RESIDUAL * np.sqrt(law.size)
    with np.errstate(over="ignore", invalid="ignore"):  # where it diverges, there is no bound
        step, failed = bicgstab(balance, -balance.sum(axis=1), rtol=0.0, atol=sought, maxiter=MOST_ITERATIONS)
    law = law * (1 + step)
    if failed or not (np.isfinite(law).all() and law.min() > 0):
        return start, np.inf
    error = _error_bound(_balance(jumps, law), law / law.sum())
    law = law / leaving
    return law / law.sum(), error


def _balance(jumps: sparse.csr_array, law: FloatArray) -> sparse.csr_array:
    """Compute the balance of every state in units of its own flux under a law; `jumps` has one row per target state."""
    gains = jumps.copy()
    gains.data *= law[gains.indices]
    gains.data /= np.repeat(law, np.diff(gains.indptr))
    return (sparse.eye_array(law.size, format="csr") - gains).tocsr()


def _error_bound(balance: sparse.csr_array, law: FloatArray) -> float:
    """Bound the relative error of the entries of a law by its residual r = B 1.

    Notes
    -----
    The exact law is (1 − e) times this one, with B e = r. Take both equal at the state k of most flux, which changes
    their norms only; then e_k = 0, and (B + 1_k) e = r as well, where 1_k adds one at that diagonal entry. The inverse
    of this matrix has no negative entry, so that |e| ≤ z max |r| / min y for every z ≥ 0 with y = (B + 1_k) z > 0. Any
    rough solution of y = 1 will do: z is about how long the chain, run backwards, takes to meet k. Rounding adds to
    |r| and takes from y.
    """
    n, k = law.size, int(law.argmax())
    closed = balance + sparse.csr_array(([1.0], ([k], [k])), shape=(n, n))
    rough = ROUGH_RESIDUAL * np.sqrt(n)
    with np.errstate(over="ignore", invalid="ignore"):
        z, _ = bicgstab(closed, np.ones(n), np.full(n, 1 / law[k]), rtol=0.0, atol=rough, maxiter=MOST_ITERATIONS)
    rounding = _rounding(balance)
    y = closed @ z - rounding * z.max()
    if not (z.min() >= 0 and y.min() > 0):
        return np.inf
    residual = np.abs(balance.sum(axis=1)).max() + rounding
    # Twice: the law is divided by its sum, which is off as well.
    return float(2 * residual * z.max() / y.min())


def _rounding(balance: sparse.csr_array) -> float:
    """Bound the rounding of a row of B x, in units of x: every sum of n terms is off by n ε / 2 of its terms at most.

    Rows are added up here, columns were for the chance to leave; a few operations more make the entries.
    """
    met_from, leads_to = np.diff(balance.indptr).max(), np.bincount(balance.indices).max()
    return float(met_from + leads_to + 8) * EPSILON
