"""VAMP-2 scores against deeptime on the same indicator functions."""

import numpy as np
import pytest

from ethomarkov.markov import count_transitions
from ethomarkov.markov.vamp import vamp2_score
from ethomarkov.synthetic import hopping_chain

pytest.importorskip("deeptime")
from deeptime.decomposition import VAMP

N_STATES = 15


@pytest.fixture(scope="module")
def walks():
    matrix = np.random.default_rng(0).random((N_STATES, N_STATES)) ** 8
    matrix /= matrix.sum(axis=1, keepdims=True)
    return [hopping_chain(matrix, 4000, rng=seed) for seed in (1, 2)]


def oracle(symbols, lag, n_modes):
    """Without centring the constant is one of the modes; deeptime counts it on its own where it centres."""
    one_hot = np.eye(N_STATES)[symbols.labels]
    covariances = VAMP.covariance_estimator(lagtime=lag).fit(one_hot)
    return VAMP(lagtime=lag, dim=n_modes, epsilon=1e-10).fit(covariances).fetch_model()


@pytest.mark.parametrize("lag", [1, 3])
@pytest.mark.parametrize("n_modes", [2, 5, 10])
def test_training_score(walks, lag, n_modes):
    counts = count_transitions(walks[0], lag)
    expected = oracle(walks[0], lag, n_modes - 1).score(r=2)
    assert vamp2_score(counts, counts, n_modes) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("n_modes", [2, 5])
def test_score_on_other_data(walks, n_modes):
    """Here the two differ slightly: deeptime takes the means of the test data out, we let the constant mode mix."""
    counts = [count_transitions(symbols, 1) for symbols in walks]
    train, test = (oracle(symbols, 1, n_modes - 1) for symbols in walks)
    expected = train.score(r=2, test_model=test, epsilon=1e-10)
    assert vamp2_score(*counts, n_modes) == pytest.approx(expected, rel=0.01)
