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


def lorenz_orbit(n_frames: int, interval: float = 0.02, start: tuple[float, float, float] = (1.0, 1.5, 25.0)):
    """Follow the Lorenz system by Runge and Kutta's rule, after 50 s.

    Compiled, it takes a blink; and plain sums and products make the same orbit on every processor, which `lorenz` with
    its products of matrices does not.
    """
    import numpy as np
    from numba import njit

    @njit
    def moved(at, slope, dt):
        return at[0] + dt * slope[0], at[1] + dt * slope[1], at[2] + dt * slope[2]

    @njit
    def flow(at):
        x, y, z = at
        return 10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z

    @njit
    def follow(at, out, lead, per_frame, dt):
        for step in range((lead + len(out)) * per_frame):
            frame = step // per_frame - lead
            if frame >= 0 and step % per_frame == 0:
                out[frame, 0], out[frame, 1], out[frame, 2] = at
            first = flow(at)
            second = flow(moved(at, first, dt / 2))
            third = flow(moved(at, second, dt / 2))
            fourth = flow(moved(at, third, dt))
            middle = moved(second, third, 1.0)
            at = moved(at, moved(moved(first, middle, 2.0), fourth, 1.0), dt / 6)

    out = np.empty((n_frames, 3))
    follow(start, out, round(50 / interval), 20, interval / 20)
    return out


@pytest.fixture(scope="session")
def attractor():
    """The Lorenz system for 2000 s."""
    from ethomarkov._core.series import Series

    return Series.from_rows(lorenz_orbit(100_000), 50.0)


@pytest.fixture
def reads_here(monkeypatch):
    """Read files in this process, where a test has changed something."""
    monkeypatch.setattr(
        "ethomarkov.io.registry.read_confined", lambda function, path, *more: function(str(path), *more)
    )
