"""Fixtures shared by all tests."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Several tests run at once: threads of linear algebra would wait for each other's cores, and spin while they do so.
# Set before numpy is imported, and inherited by pytest-xdist's workers.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

# A busy machine is no error of ours; and a test fails because something changed, not because other examples were drawn.
settings.register_profile("any machine", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

REPOSITORY = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def shared_data() -> Callable[[str], Path]:
    """Find a file of the real recordings, or skip the test with the reason."""
    folder = Path(os.environ.get("ETHOMARKOV_DATA", REPOSITORY.parent / "shared" / "data"))

    def find(name: str) -> Path:
        path = folder / name
        if not path.is_file():
            pytest.skip(f"{path} is not at hand; set ETHOMARKOV_DATA to the folder of the real recordings")
        return path

    return find


@pytest.fixture(scope="session")
def made_once(tmp_path_factory) -> Callable[[str, Callable[[Path], object]], Path]:
    """Give ``made_once(name, make)``: a folder that `make` fills, once for all workers of pytest-xdist."""
    import fcntl

    common = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:  # then every worker has a folder of its own in that of the run
        common = common.parent

    def folder(name: str, make: Callable[[Path], object]) -> Path:
        target, done = common / f"{name} made once", common / f"{name} made once.done"
        with (common / f"{name} made once.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not done.exists():
                shutil.rmtree(target, ignore_errors=True)  # of a worker that failed
                target.mkdir()
                make(target)
                done.touch()
        return target

    return folder


@pytest.fixture(scope="session")
def attractor(made_once):
    """The Lorenz system for 2000 s; to integrate it takes twenty seconds."""
    import numpy as np

    from ethomarkov._core.series import Series
    from ethomarkov.synthetic import lorenz

    interval = 0.02
    folder = made_once("lorenz", lambda to: np.save(to / "orbit", lorenz(2000.0, interval=interval, rng=0).values))
    return Series.from_rows(np.load(folder / "orbit.npy"), 1 / interval)
