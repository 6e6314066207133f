"""A complete study in a directory, made once and copied."""

import json
import shutil
from pathlib import Path

import pytest

from ethomarkov.study import Settings, run_study
from ethomarkov.study.provenance import PROVENANCE_FILE
from ethomarkov.study.source import MemorySource
from ethomarkov.study.study import KEPT


@pytest.fixture(scope="session")
def quick() -> Settings:
    """Settings of a study that takes half a second."""
    return Settings(
        n_delays=11,
        lag=0.75,
        n_states=12,
        n_walks=2,
        simulated_minutes=0.2,
        simulation_lag=0.75,
        n_resamples=2,
        n_behaviours=4,
        scan=False,
        seed=2,
    )


@pytest.fixture(scope="session")
def computed():
    """Give ``computed(directory)``, which tells the stages that the last run there has computed."""

    def stages(directory: Path) -> list[str]:
        told = json.loads((directory / PROVENANCE_FILE).read_text())
        return [one["stage"] for one in told["stages"] if not one["kept"]]

    return stages


@pytest.fixture(scope="session")
def start(worms, quick, computed):
    """Give ``start(directory, **changes)``, which runs a study there and tells what was computed."""

    def run(directory, threads=1, **changes):
        settings = quick.model_copy(update=changes)
        study = run_study(worms.recording, settings, basis=worms.basis, directory=directory, threads=threads)
        return study, computed(directory)

    return run


@pytest.fixture(scope="session")
def finished(start, tmp_path_factory) -> Path:
    """A complete study, to be copied."""
    directory = tmp_path_factory.mktemp("finished")
    assert start(directory)[1] == [stage.name for stage in KEPT]
    return directory


@pytest.fixture
def again(finished, tmp_path) -> Path:
    shutil.copytree(finished, tmp_path / "study")
    return tmp_path / "study"


@pytest.fixture(scope="session")
def two_worms():
    """Two synthetic worms of one minute, for studies of which much is asked."""
    from ethomarkov.synthetic import simulate_worms
    from ethomarkov.synthetic.worm import WormModel

    return simulate_worms(2, 60.0, model=WormModel(missing=0.0), seed=3)


@pytest.fixture(scope="session")
def start_small(two_worms, quick):
    """Give ``start_small(directory)``, which runs a study of a moment there, with all that its analyses need."""

    def run(directory):
        settings = quick.model_copy(update={"n_states": 8, "n_behaviours": 3})
        given = {"truth": two_worms.truth, "applied": MemorySource(two_worms.recording)}
        return run_study(two_worms.recording, settings, basis=two_worms.basis, directory=directory, given=given)

    return run


@pytest.fixture(scope="session")
def asked(start_small, tmp_path_factory) -> Path:
    """A small study of which nothing was asked yet, to be copied."""
    directory = tmp_path_factory.mktemp("asked")
    start_small(directory)
    return directory


@pytest.fixture
def small(asked, tmp_path) -> Path:
    shutil.copytree(asked, tmp_path / "small")
    return tmp_path / "small"
