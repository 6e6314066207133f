"""Chains that hardly go from one set to another, against the same systems solved in rational numbers."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from ethomarkov.coarse.passage import committor, hitting_times, mean_first_passage
from ethomarkov.markov import MarkovChain

COUPLINGS = (1e-3, 1e-6, 1e-9, 1e-12)
SEEDS = range(12)
ALLOWED = 1e-13


def hardly_coupled(coupling, seed, sizes=(3, 4, 3)):
    """Give a chain of sets, in random order of its states, that are left with about `coupling` per step."""
    rng = np.random.default_rng(seed)
    member = np.repeat(np.arange(len(sizes)), sizes)
    counts = rng.random((member.size, member.size)) ** 3 + 1e-3
    counts[member[:, None] != member] *= coupling
    order = rng.permutation(member.size)
    return MarkovChain.from_counts(sparse.csr_array(counts[order][:, order]), 0.5), member[order]


def generator(transition):
    """Give 1 − P exactly, where what the rows lack of one belongs to the diagonal."""
    rows = [[-Fraction(float(p)) for p in row] for row in transition.toarray()]
    for i, row in enumerate(rows):
        row[i] = -(sum(row) - row[i])
    return rows


def solve(matrix, right):
    """Solve a small system by Gauss and Jordan."""
    n = len(right)
    rows = [[*row, side] for row, side in zip(matrix, right, strict=True)]
    for k in range(n):
        pivot = next(i for i in range(k, n) if rows[i][k] != 0)
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [entry / rows[k][k] for entry in rows[k]]
        for i in set(range(n)) - {k}:
            rows[i] = [a - rows[i][k] * b for a, b in zip(rows[i], rows[k], strict=True)]
    return [row[-1] for row in rows]


def solve_on(transition, kept, right):
    """Solve (1 − P) x = right on some states, x = 0 on the others."""
    matrix = generator(transition)
    states = np.flatnonzero(kept).tolist()
    inner = solve([[matrix[i][j] for j in states] for i in states], [right[i] for i in states])
    found = dict(zip(states, inner, strict=True))
    return [found.get(i, Fraction()) for i in range(len(matrix))]


def exact_law(transition):
    """Solve π (1 − P) = 0."""
    matrix = generator(transition)
    n = len(matrix)
    inner = solve([[matrix[j][i] for j in range(1, n)] for i in range(1, n)], [-matrix[0][i] for i in range(1, n)])
    total = 1 + sum(inner)
    return [entry / total for entry in [Fraction(1), *inner]]


def relative_error(found, exact):
    """Give the largest error of an entry, in units of that entry."""
    return max(float(abs(Fraction(float(a)) - b) / b) if b else float(a) for a, b in zip(found, exact, strict=True))


@pytest.fixture(params=[(c, s) for c in COUPLINGS for s in SEEDS], ids=lambda case: f"{case[0]:g}-{case[1]}")
def case(request):
    return hardly_coupled(*request.param)


def test_every_share_of_time(case):
    chain, _ = case
    assert relative_error(chain.stationary, exact_law(chain.transition)) < ALLOWED


def test_hitting_times(case):
    chain, group = case
    for target in range(3):
        exact = solve_on(chain.transition, group != target, [Fraction(chain.lag)] * group.size)
        assert relative_error(hitting_times(chain, group, target), exact) < ALLOWED


def test_passages_between_sets(case):
    chain, group = case
    law, found = exact_law(chain.transition), mean_first_passage(chain, group)
    for target in range(3):
        times = solve_on(chain.transition, group != target, [Fraction(chain.lag)] * group.size)
        for start in {0, 1, 2} - {target}:
            inside = np.flatnonzero(group == start).tolist()
            exact = sum(law[i] * times[i] for i in inside) / sum(law[i] for i in inside)
            assert relative_error([found[start, target]], [exact]) < ALLOWED


@pytest.mark.parametrize("backward", [False, True])
def test_committors(case, backward):
    """Also of states that meet the target first with a chance as small as the coupling."""
    chain, group = case
    ends = np.where(group == 2, -1, group)
    ends[np.flatnonzero(group == 0)[1:]] = -1
    P = chain.reversed() if backward else chain.transition
    sure = 0 if backward else 1
    right = [sum((Fraction(float(p)) for p in row[ends == sure]), Fraction()) for row in P.toarray()]
    exact = solve_on(P, ends == -1, right)
    exact = [exact[i] + (ends[i] == sure) for i in range(ends.size)]
    assert relative_error(committor(chain, ends, 0, 1, backward=backward), exact) < ALLOWED
