"""Elimination without subtraction: linear systems of chains, accurate even for chains that hardly ever leave a set.

For a chain that is absorbed eventually, (1 − P) is factorised into two triangles, state by state from the last to the
first. The transition probabilities of a state, once a later state is eliminated, are sums of products of probabilities;
and the probability of leaving a state is the sum over its exits, never one minus the probability of remaining
(Grassmann, Taksar and Heyman 1985). Nothing is subtracted, so every entry of a solution has small relative error,
however small the gap (O'Cinneide 1993).
"""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numba import njit
from scipy import sparse
from scipy.linalg import solve_triangular

from ethomarkov._core.types import FloatArray

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

TOGETHER = 64  # states eliminated before the rest of the matrix is updated, by one product of matrices


@dataclass(frozen=True, slots=True, kw_only=True)
class Elimination:
    """The two triangular factors of 1 − P on transient states.

    Parameters
    ----------
    triangles
        1 − P = U L. On and below the diagonal L, positive on the diagonal and nowhere positive below it; above the
        diagonal U, nowhere positive, whose own diagonal is one.
    """

    triangles: FloatArray

    @classmethod
    def of(cls, transition: sparse.csr_array, leaving: FloatArray) -> "Elimination":
        """Factorise 1 − P by eliminating the states of a chain.

        Parameters
        ----------
        transition
            P between the states; its diagonal is not used.
        leaving
            Probability of the step from each state to states outside the matrix.
        """
        n = leaving.size
        ways = np.empty((n, n + 1), order="F")  # the first column is the way out
        ways[:, 0] = leaving
        ways[:, 1:] = transition.toarray(order="F")
        with _one_thread():
            for end in range(n, 0, -TOGETHER):
                _eliminate_some(ways, max(0, end - TOGETHER), end)
        return cls(triangles=_signed(ways[:, 1:]))

    def solve(self, right: FloatArray) -> FloatArray:
        """Solve (1 − P) x = right, where nothing on the right is negative."""
        with _one_thread():
            half = solve_triangular(self.triangles, right, unit_diagonal=True, check_finite=False)
            return np.asarray(solve_triangular(self.triangles, half, lower=True, check_finite=False))

    def solve_transposed(self, right: FloatArray) -> FloatArray:
        """Solve x (1 − P) = right, where nothing on the right is negative."""
        with _one_thread():
            half = solve_triangular(self.triangles, right, lower=True, trans="T", check_finite=False)
            return np.asarray(solve_triangular(self.triangles, half, trans="T", unit_diagonal=True, check_finite=False))


def _one_thread() -> AbstractContextManager[object]:
    """Keep linear algebra to one thread: on some processors its sums depend on the number of threads."""
    limit: AbstractContextManager[object] = _libraries().limit(limits=1, user_api="blas")
    return limit


@cache
def _libraries() -> "ThreadpoolController":
    """Find the libraries of linear algebra once: finding them takes longer than most eliminations."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _eliminate_some(ways: FloatArray, start: int, end: int) -> None:
    """Eliminate the states from `start` to `end`; those before take over the transitions through them."""
    block = np.array(ways[start:end, start + 1 : end + 1])
    eliminate_block(block, ways[start:end, : start + 1].sum(axis=1))
    ways[start:end, start + 1 : end + 1] = block
    into, out = ways[:start, start + 1 : end + 1], ways[start:end, : start + 1]
    _signed(block)
    out[:] = solve_triangular(block, out, unit_diagonal=True, check_finite=False)
    into[:] = solve_triangular(block, into.T, lower=True, trans="T", check_finite=False).T
    ways[:start, : start + 1] += into @ out


def _signed(eliminated: FloatArray) -> FloatArray:
    """Convert probabilities into entries of the two triangles, in place."""
    diagonal = eliminated.diagonal().copy()
    np.negative(eliminated, out=eliminated)
    np.fill_diagonal(eliminated, diagonal)
    return eliminated


@njit(cache=True, nogil=True)
def eliminate_block(ways, out):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Eliminate states one by one, from the last on.

    Parameters
    ----------
    ways
        Probabilities between them. Replaced by: on the diagonal the probability of leaving for earlier states, below it
        the probabilities at that point, above it those divided by the diagonal.
    out
        Probability of leaving these states; overwritten.
    """
    for last in range(ways.shape[0] - 1, -1, -1):
        leaves = out[last]
        for j in range(last):
            leaves += ways[last, j]
        ways[last, last] = leaves
        for i in range(last):
            ways[i, last] /= leaves
            through = ways[i, last]
            out[i] += through * out[last]
            for j in range(last):
                ways[i, j] += through * ways[last, j]
