"""Means of a cross-validation over its splits, against plain loops."""

import numpy as np
import pytest

from ethomarkov.validation.split_means import SplitMeans
from ethomarkov.validation.splits import Comparison, CrossValidation, FitSettings

N_SPLITS, N_ANIMALS, N_RUNS = 4, 2, 3


def splits(**comparisons: Comparison) -> CrossValidation:
    return CrossValidation(
        comparisons=comparisons,
        unassigned=np.zeros(N_SPLITS),
        fit=FitSettings(n_delays=3, n_states=4, lag=0.75),
        individuals=("first", "second"),
    )


@pytest.fixture
def rates() -> Comparison:
    rng = np.random.default_rng(1)
    return Comparison(test=rng.random((N_SPLITS, N_ANIMALS, 3)), simulated=rng.random((N_SPLITS, N_ANIMALS, N_RUNS, 3)))


def test_means_are_over_splits_and_over_all_runs_of_all_splits(rates):
    found = SplitMeans.from_splits(splits(rates=rates))
    assert found.n_splits == N_SPLITS
    for animal in range(N_ANIMALS):
        for k in range(3):
            tests = [rates.test[split, animal, k] for split in range(N_SPLITS)]
            runs = [rates.simulated[split, animal, run, k] for split in range(N_SPLITS) for run in range(N_RUNS)]
            assert found.tests["rates"][animal, k] == pytest.approx(sum(tests) / len(tests))
            assert found.simulated["rates"][animal, k] == pytest.approx(sum(runs) / len(runs))


def test_what_is_unknown_is_left_out_and_unknown_throughout_stays_so(rates):
    test, simulated = rates.test.copy(), rates.simulated.copy()
    test[0, 0, 0] = simulated[1, 1, 2, 0] = np.nan
    test[:, 1, 2] = np.nan  # a state that was never left
    found = SplitMeans.from_splits(splits(rates=Comparison(test=test, simulated=simulated)))
    assert found.tests["rates"][0, 0] == pytest.approx(test[1:, 0, 0].mean())
    assert found.simulated["rates"][1, 0] == pytest.approx(np.nanmean(simulated[:, 1, :, 0]))
    assert np.isnan(found.tests["rates"][1, 2])
    assert np.isfinite(found.simulated["rates"]).all()


def test_curves_are_left_out(rates):
    curves = Comparison(
        test=np.ones((N_SPLITS, N_ANIMALS, 5, 7)), simulated=np.ones((N_SPLITS, N_ANIMALS, N_RUNS, 5, 7))
    )
    found = SplitMeans.from_splits(splits(curves=curves, rates=rates))
    assert set(found.tests) == set(found.simulated) == {"rates"}
