"""The uncertainty of a chain, from its counts alone."""

from collections.abc import Callable, Iterator

import numpy as np
from scipy import sparse

from ethomarkov._core.interval import Interval
from ethomarkov._core.random import Rng, as_generator
from ethomarkov.markov.chain import MarkovChain
from ethomarkov.markov.counts import count_transitions
from ethomarkov.states.symbols import Symbols


def posterior_chains(
    counts: sparse.csr_array, lag: float, n_samples: int, *, overlap: float = 1.0, rng: Rng = 0
) -> Iterator[MarkovChain]:
    """Draw chains from the posterior of their transition probabilities, given the counts.

    Every row is a Dirichlet law on the observed transitions, so that the draws are as sparse as the data.

    Parameters
    ----------
    counts
        Transition counts.
    lag
        In seconds.
    n_samples
        Number of draws.
    overlap
        Number of frames over which each counted pair overlaps the next; counts are divided by it, because pairs that
        overlap are not independent evidence.
    rng
        Seed or generator.
    """
    rng = as_generator(rng)
    for _ in range(n_samples):
        sampled = counts.copy()
        sampled.data = rng.standard_gamma(counts.data / overlap)
        # A draw of exactly zero would remove an observed transition.
        sampled.data = np.maximum(sampled.data, np.finfo(float).tiny * 1e10)
        yield MarkovChain.from_counts(sampled, lag)


def posterior_interval(
    symbols: Symbols,
    lag: float,
    statistic: Callable[[MarkovChain], float],
    *,
    n_samples: int = 100,
    level: float = 0.95,
    rng: Rng = 0,
) -> Interval:
    """Estimate a quantity of a chain with its posterior interval.

    It describes the uncertainty for these very animals; the bootstrap over animals describes that for animals of
    their kind.

    Parameters
    ----------
    symbols
        Microstates in time.
    lag
        In seconds.
    statistic
        Function of a chain. With few counts per row, draws are more ordered than the data they come from, which shifts
        quantities such as entropy; so their spread around their median is placed around the estimate.
    n_samples, level, rng
        Draws, coverage, seed or generator.
    """
    lag_frames = symbols.sampling.frames(lag)
    counts = count_transitions(symbols, lag_frames)
    chains = posterior_chains(counts, lag, n_samples, overlap=lag_frames, rng=rng)
    values = np.array([statistic(chain) for chain in chains])
    low, middle, high = np.nanquantile(values, [(1 - level) / 2, 0.5, (1 + level) / 2])
    estimate = float(statistic(MarkovChain.from_counts(counts, lag)))
    return Interval(
        estimate=estimate,
        low=float(estimate + low - middle),
        high=float(estimate + high - middle),
        level=level,
        over="posterior draws",
        n=n_samples,
    )
