"""States found again with microstates from other seeds."""

import numpy as np
import pytest

from ethomarkov.coarse.tree import GrowthSettings
from ethomarkov.model.stability import stability_over_seeds


def test_every_node_is_compared_with_the_most_similar_one(model):
    told = []
    growth = GrowthSettings(n_states=model.finest, n_resamples=0, seed=2)
    found = stability_over_seeds(model, growth, range(3, 4), progress=lambda *words: told.append(words)).overlap
    assert told == [("other seeds", 1, 1)]
    assert found.shape == (1, model.tree.n_nodes)
    assert found[0, 0] == pytest.approx(1.0)
    assert ((found >= 0) & (found <= 1 + 1e-12)).all()
    assert stability_over_seeds(model, growth, range(0)).overlap.shape == (0, model.tree.n_nodes)


def test_the_same_seed_finds_the_same_states(model):
    growth = GrowthSettings(n_states=model.finest, min_measure=0.02, n_resamples=0, seed=2)
    found = stability_over_seeds(model, growth, range(2, 3), threads=2).overlap
    np.testing.assert_allclose(found, 1.0)


def test_the_analysis_takes_seeds_after_that_of_the_study(study, model):
    growth = GrowthSettings(n_states=model.finest, min_measure=study.settings.min_measure, n_resamples=0, seed=2)
    found = study.compute("seed_stability", n_seeds=1)
    np.testing.assert_array_equal(found.overlap, stability_over_seeds(model, growth, range(3, 4)).overlap)
