"""How unpredictable and how irreversible a chain is."""

import numpy as np
from scipy import sparse

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
    >>> round(entropy_rate(coin), 6)
    0.693147
    """
    P = chain.transition
    weight = np.repeat(chain.stationary, np.diff(P.indptr))
    return float(-(weight * P.data * np.log(P.data)).sum() / chain.lag)


def stationary_entropy(chain: MarkovChain) -> float:
    """Compute the entropy of the stationary law, H = −Σ π ln π, in nats."""
    pi = chain.stationary[chain.stationary > 0]
    return float(-(pi * np.log(pi)).sum())


def predictive_information(chain: MarkovChain) -> float:
    """Compute the information of a state about the next one, in nats: H − h τ."""
    return stationary_entropy(chain) - entropy_rate(chain) * chain.lag


def entropy_production(chain: MarkovChain) -> tuple[float, float]:
    """Compute how irreversible a chain is, from the transitions observed in both directions.

    Returns
    -------
    rate
        Σ π_i P_ij ln(π_i P_ij / π_j P_ji) / τ in nats per second, over pairs of states observed both ways. It is a
        lower bound: each pair observed in one direction only would add infinitely much.
    one_way
        Share of the probability flux in such pairs.
    """
    flux = (sparse.diags_array(chain.stationary) @ chain.transition).tocsr()
    both = flux.multiply(flux.T > 0).tocsr()
    both.eliminate_zeros()
    back = flux.T.multiply(flux > 0).tocsr()
    back.eliminate_zeros()
    both.sort_indices()
    back.sort_indices()
    produced = float(((both.data - back.data) * np.log(both.data / back.data)).sum() / 2)
    moving = float(flux.sum() - flux.diagonal().sum())
    one_way = (float(flux.sum()) - float(both.sum())) / moving if moving > 0 else 0.0
    return produced / chain.lag, max(one_way, 0.0)
