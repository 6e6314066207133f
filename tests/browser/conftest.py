"""A browser without a window, and the explorer of a small study in it."""

import shutil
from collections.abc import Iterator

import pytest

from ethomarkov.study import Settings, Study, run_study
from ethomarkov.synthetic import simulate_worms

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


@pytest.fixture(scope="session")
def browser() -> Iterator[object]:
    """Chromium of the system, driven by playwright; each start has a fresh profile."""
    playwright = pytest.importorskip("playwright.sync_api", reason='playwright is absent: pip install -e ".[test]"')
    program = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if program is None:
        pytest.skip("chromium is absent: install it with `apt install chromium`, or your system's own way")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=program, args=list(FLAGS))
        yield started
        started.close()


@pytest.fixture(scope="session")
def study() -> Study:
    """Two synthetic worms of two minutes in thirty microstates."""
    worms = simulate_worms(2, 120.0, seed=3)
    settings = Settings(
        n_delays=11, lag=0.75, n_states=30, n_walks=2, simulated_minutes=0.5, n_behaviours=4, scan=False
    )
    return run_study(worms.recording, settings, basis=worms.basis)
