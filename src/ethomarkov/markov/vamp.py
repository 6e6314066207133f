"""A second opinion on the partition: how well its slow modes carry over to data that were held out."""

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import svds

from ethomarkov._core.types import FloatArray
from ethomarkov.exceptions import SamplingError
from ethomarkov.markov.counts import count_transitions
from ethomarkov.states.symbols import Symbols


def vamp2_score(train: sparse.csr_array, test: sparse.csr_array, n_modes: int = 10) -> float:
    """Score the leading modes of one set of counts on another (VAMP-2, the constant mode included).

    Parameters
    ----------
    train
        Transition counts from which the modes are estimated.
    test
        Counts on which they are scored; the same counts give the training score.
    n_modes
        Singular functions kept.

    Notes
    -----
    With indicator functions as features the covariances are the counts themselves. The score is
    ‖(Uᵀ C₀₀ U)^−½ Uᵀ C₀₁ V (Vᵀ C₁₁ V)^−½‖² on the test counts, with singular functions U, V of the training counts;
    it lies between 1 and the number of modes.
    """
    left, right = _singular_functions(train, n_modes)
    total = test.sum()
    c00 = left.T @ (np.asarray(test.sum(axis=1))[:, None] * left) / total
    c11 = right.T @ (np.asarray(test.sum(axis=0))[:, None] * right) / total
    c01 = left.T @ (test @ right) / total
    return float(np.square(_inverse_root(c00) @ c01 @ _inverse_root(c11)).sum())


def cross_validated_vamp2(symbols: Symbols, lag: float, *, n_blocks: int = 5, n_modes: int = 10) -> FloatArray:
    """Score the modes on blocks of time that were left out, one after the other.

    Pairs are given to the block in which they begin; pairs that reach into another block are left out, so that nothing
    is seen twice.

    Returns
    -------
    scores
        One per block.
    """
    lag_frames = symbols.sampling.frames(lag)
    first, last = symbols.segments.pairs(lag_frames)
    block = symbols.segments.time_blocks(n_blocks)
    inside = block[first] == block[last]
    whole = count_transitions(symbols, lag_frames).shape
    scores = []
    if not inside.any() or np.unique(block[first[inside]]).size < n_blocks:
        raise SamplingError(
            f"lag={lag:g} s leaves some of the {n_blocks} blocks without a transition; use a shorter lag or fewer "
            "blocks."
        )
    for held_out in range(n_blocks):
        parts = [
            sparse.csr_array(
                sparse.coo_array(
                    (np.ones(which.sum()), (symbols.labels[first[which]], symbols.labels[last[which]])), whole
                )
            )
            for which in (inside & (block[first] != held_out), inside & (block[first] == held_out))
        ]
        scores.append(vamp2_score(parts[0], parts[1], n_modes))
    return np.array(scores)


def _singular_functions(counts: sparse.csr_array, n_modes: int) -> tuple[FloatArray, FloatArray]:
    """Singular functions of the transition operator between indicator features."""
    rows, columns = np.asarray(counts.sum(axis=1)), np.asarray(counts.sum(axis=0))
    left_scale = np.where(rows > 0, 1 / np.sqrt(np.maximum(rows, 1e-300)), 0.0)
    right_scale = np.where(columns > 0, 1 / np.sqrt(np.maximum(columns, 1e-300)), 0.0)
    whitened = sparse.diags_array(left_scale) @ counts @ sparse.diags_array(right_scale)
    if min(counts.shape) <= max(50, n_modes + 1):
        u, _, vt = np.linalg.svd(whitened.toarray())
        u, vt = u[:, :n_modes], vt[:n_modes]
    else:
        u, _, vt = svds(whitened, k=n_modes, v0=np.sqrt(np.maximum(rows, 0)) + rows.mean() * 1e-3)
    return left_scale[:, None] * u, right_scale[:, None] * vt.T


def _inverse_root(matrix: FloatArray) -> FloatArray:
    """Inverse square root of a symmetric matrix, on the directions that the data hold."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    kept = values > values.max(initial=0.0) * 1e-10
    root: FloatArray = (vectors[:, kept] / np.sqrt(values[kept])) @ vectors[:, kept].T
    return root
