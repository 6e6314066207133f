"""Autocorrelations of a cross-validation, reduced to means and ranges."""

import numpy as np
import pytest

from ethomarkov.exceptions import InputFormatError
from ethomarkov.validation.held_out_correlation import CORRELATION, CORRELATION_SECONDS, summarise_correlation
from ethomarkov.validation.splits import Comparison, CrossValidation, FitSettings


def splits(test: np.ndarray, simulated: np.ndarray) -> CrossValidation:
    return CrossValidation(
        comparisons={CORRELATION: Comparison(test=test, simulated=simulated)},
        unassigned=np.zeros(len(test)),
        fit=FitSettings(n_delays=3, n_states=4, lag=0.75),
        individuals=("first", "second"),
    )


@pytest.fixture
def random():
    rng = np.random.default_rng(0)
    return rng.normal(size=(6, 2, 5, 7)), rng.normal(size=(6, 2, 3, 5, 7))


def test_mean_and_range_are_those_of_all_splits_and_all_their_runs(random):
    test, simulated = random
    found = summarise_correlation(splits(test, simulated))
    assert (found.n_splits, found.n_runs, found.individuals) == (6, 18, ("first", "second"))
    assert found.test.shape == found.simulated.shape == (2, 3, 5, 7)
    for animal in range(2):
        runs = np.concatenate(simulated[:, animal])
        for rows, table in ((test[:, animal], found.test[animal]), (runs, found.simulated[animal])):
            np.testing.assert_allclose(table[0], rows.mean(axis=0), atol=1e-6)
            np.testing.assert_allclose(table[1:], np.percentile(rows, (2.5, 97.5), axis=0), atol=1e-6)


def test_lags_go_from_zero_to_the_longest_evenly(random):
    lags = summarise_correlation(splits(*random)).lags
    np.testing.assert_allclose(lags, np.arange(7) * CORRELATION_SECONDS / 6)


def test_lags_without_a_pair_are_left_out_split_by_split(random):
    test, simulated = (values.copy() for values in random)
    test[0, ..., -2] = np.nan
    test[..., -1] = np.nan
    found = summarise_correlation(splits(test, simulated))
    np.testing.assert_allclose(found.test[:, 0, :, -2], test[1:, ..., -2].mean(axis=0), atol=1e-6)
    assert np.isnan(found.test[..., -1]).all()
    assert np.isfinite(found.simulated).all()


def test_a_statistic_without_modes_and_lags_is_refused():
    with pytest.raises(InputFormatError, match=r"shape \(5,\); one row per mode and one column per lag"):
        summarise_correlation(splits(np.ones((4, 2, 5)), np.ones((4, 2, 3, 5))))
