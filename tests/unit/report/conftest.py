"""A small study for pages and figures, made once."""

import numpy as np
import pytest

from ethomarkov.posture import centerline_from_angles
from ethomarkov.recording import Recording, Track
from ethomarkov.study import Settings, Study, run_study
from ethomarkov.synthetic import simulate_worms
from ethomarkov.synthetic.worm import WormModel


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


@pytest.fixture(scope="session")
def full(made_once):
    """A study of which everything was asked that a figure can show."""

    def make(folder):
        made = simulate_worms(2, 300.0, model=WormModel(missing=0.0), seed=3)
        settings = Settings(
            n_delays=11,
            lag=0.75,
            n_states=25,
            n_walks=2,
            simulated_minutes=1.0,
            simulation_lag=0.75,
            n_resamples=0,
            n_behaviours=3,
        )
        asked = run_study(made.recording, settings, basis=made.basis, directory=folder, given={"truth": made.truth})
        for level in {2, asked.finest}:
            asked.compute("kinetics", level=level)
        asked.compute("free_choice")
        asked.compute("relaxation_times", n_shuffles=3, n_lags=4)
        asked.compute("validation", n_runs=4, n_held_out=2, n_repeats=2)
        asked.compute("runs", n_runs=2, minutes=7.0)
        asked.compute("state_runs", level=asked.finest, n_runs=2, minutes=4.0)
        asked.compute("known_truth", window=10.0)
        asked.compute("foraging", level=asked.finest, n_runs=3, seconds=15.0)
        asked.compute("sequence_map", method="pca")

    return Study.load(made_once("full study", make))


@pytest.fixture(scope="session")
def keypoints(worms, quick):
    """A study of the same animals as keypoints, which have no body wave and no path."""
    angles = worms.basis.reconstruct(worms.basis.project(worms.recording)).values
    points = centerline_from_angles(angles[:, ::20], np.linspace(0, 3, len(angles), dtype=np.float32))
    offsets = worms.recording.segments.offsets
    tracks = [
        Track(individual=name, values=points[offsets[i] : offsets[i + 1]])
        for i, name in enumerate(worms.recording.individuals)
    ]
    labels = [f"point {k}" for k in range(points.shape[1])]
    return run_study(Recording.from_tracks(tracks, kind="position", sampling_rate=16.0, labels=labels), quick)
