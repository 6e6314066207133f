"""Elimination without subtraction: its triangles, and systems whose answers are known."""

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_info, threadpool_limits

from ethomarkov.markov.elimination import TOGETHER, Elimination


def leaky(n, seed=0, power=6):
    """Give a chain on n states and the chance to leave it from each of them."""
    matrix = np.random.default_rng(seed).random((n, n + 1)) ** power
    matrix /= matrix.sum(axis=1, keepdims=True)
    return sparse.csr_array(matrix[:, 1:]), matrix[:, 0]


@pytest.mark.parametrize("n", [1, 2, 5, TOGETHER - 1, TOGETHER, TOGETHER + 1, 3 * TOGETHER + 7])
class TestAnySize:
    def test_the_triangles_multiply_to_the_matrix(self, n):
        P, leaving = leaky(n)
        found = Elimination.of(P, leaving).triangles
        upper, lower = np.triu(found, 1) + np.eye(n), np.tril(found)
        np.testing.assert_allclose(upper @ lower, np.eye(n) - P.toarray(), atol=1e-14)

    def test_nothing_off_the_diagonal_is_positive(self, n):
        found = Elimination.of(*leaky(n)).triangles
        assert (found.diagonal() > 0).all()
        assert (found[~np.eye(n, dtype=bool)] <= 0).all()

    def test_all_leave_in_the_end(self, n):
        """(1 − P) 1 = leaving, to the last digits."""
        P, leaving = leaky(n)
        np.testing.assert_allclose(Elimination.of(P, leaving).solve(leaving), 1, rtol=1e-13)

    def test_both_sides(self, n):
        P, leaving = leaky(n)
        right = np.random.default_rng(1).random(n)
        dense, found = np.eye(n) - P.toarray(), Elimination.of(P, leaving)
        np.testing.assert_allclose(found.solve(right), np.linalg.solve(dense, right), rtol=1e-9)
        np.testing.assert_allclose(found.solve_transposed(right), np.linalg.solve(dense.T, right), rtol=1e-9)


@pytest.mark.parametrize("leak", [1e-3, 1e-9, 1e-15, 1e-100])
def test_a_set_that_is_all_but_never_left(leak):
    """Whoever leaves from every state with the same chance takes the inverse of it, far below the precision of one."""
    P, _ = leaky(100)
    times = Elimination.of(P, np.full(100, leak)).solve(np.ones(100))
    np.testing.assert_allclose(times, 1 / leak, rtol=1e-12)


def test_the_diagonal_is_not_used():
    P, leaving = leaky(20)
    other = sparse.csr_array(P + sparse.diags_array(np.full(20, 7.0)))
    np.testing.assert_array_equal(Elimination.of(P, leaving).triangles, Elimination.of(other, leaving).triangles)


@pytest.mark.parametrize("n", [100, 300, 700])
def test_the_number_of_threads_changes_no_byte(n):
    P, leaving = leaky(n)
    answers = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            found = Elimination.of(P, leaving)
            answers.append((found.triangles, found.solve(leaving), found.solve_transposed(leaving)))
    for one, two in zip(*answers, strict=True):
        np.testing.assert_array_equal(one, two)


def test_the_number_of_threads_is_left_as_it_was():
    with threadpool_limits(2, user_api="blas"):
        Elimination.of(*leaky(10)).solve(np.ones(10))
        assert {info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"} == {2}


def test_what_is_given_is_left_alone():
    P, leaving = leaky(100)
    before = P.toarray(), leaving.copy()
    Elimination.of(P, leaving)
    np.testing.assert_array_equal(P.toarray(), before[0])
    np.testing.assert_array_equal(leaving, before[1])
