"""A small study for pages and figures, made once."""

import pytest

from ethomarkov.study import Settings, run_study
from ethomarkov.synthetic import simulate_worms


@pytest.fixture(scope="session")
def quick() -> Settings:
    """Settings of a study that takes two seconds."""
    return Settings(n_delays=11, lag=0.75, n_states=12, n_walks=2, simulated_minutes=0.5)


@pytest.fixture(scope="session")
def worms():
    """Two synthetic worms of two minutes."""
    return simulate_worms(2, 120.0, seed=3)


@pytest.fixture(scope="session")
def study(worms, quick):
    """A study in memory of which nothing is asked; tests that ask something take a copy, `study.replace()`."""
    return run_study(worms.recording, quick, basis=worms.basis)


@pytest.fixture
def no_pictures(monkeypatch) -> None:
    """Leave pictures out of the page; the number of their panels stands in their place."""
    monkeypatch.setattr("ethomarkov.report.page._embed", lambda figure: f"data:,{len(figure.axes)} axes")
