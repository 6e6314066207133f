"""A small study, made once."""

import pytest


@pytest.fixture(scope="session")
def worms():
    """Three synthetic worms of two minutes with a tenth of their frames missing."""
    from ethomarkov.synthetic import simulate_worms
    from ethomarkov.synthetic.worm import WormModel

    return simulate_worms(3, 120.0, model=WormModel(missing=0.1), seed=11)


@pytest.fixture(scope="session")
def study(worms):
    from ethomarkov.study import Settings, run_study

    settings = Settings(
        n_delays=11,
        lag=0.75,
        n_states=15,
        n_behaviours=7,
        n_walks=3,
        simulated_minutes=0.5,
        simulation_lag=0.75,
        seed=2,
    )
    return run_study(worms.recording, settings, basis=worms.basis)


@pytest.fixture(scope="session")
def model(study):
    """What was learned in the small study."""
    return study.model
