"""How unpredictable a chain is."""

import numpy as np

from ethomarkov.markov.chain import MarkovChain


def entropy_rate(chain: MarkovChain) -> float:
    """Compute the entropy rate of a chain, in nats per second.

    Notes
    -----
    SI, "Short-time entropy rate estimation": h = −(1/τ) Σ π_i P_ij ln P_ij.

    Examples
    --------
    >>> from scipy import sparse
    >>> coin = MarkovChain.from_counts(sparse.csr_array(np.ones((2, 2))), lag=1.0)
    >>> round(entropy_rate(coin), 6) == round(np.log(2), 6)
    True
    """
    P = chain.transition
    weight = np.repeat(chain.stationary, np.diff(P.indptr))
    return float(-(weight * P.data * np.log(P.data)).sum() / chain.lag)
