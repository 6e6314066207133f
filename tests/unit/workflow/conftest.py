"""A small study, made once."""

import pytest

from ethomarkov.synthetic import simulate_worms
from ethomarkov.workflow import Settings, run_study


@pytest.fixture(scope="session")
def worms():
    """Three synthetic worms of two minutes with a tenth of their frames missing."""
    from ethomarkov.synthetic.worm import WormModel

    return simulate_worms(3, 120.0, model=WormModel(missing=0.1), seed=11)


@pytest.fixture(scope="session")
def study(worms):
    return run_study(
        worms.recording, Settings(n_states=15, n_walks=3, simulated_minutes=0.5, seed=2), basis=worms.basis
    )
