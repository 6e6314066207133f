"""A few frames of two animals, as the pose formats must give them back."""

from types import SimpleNamespace

import numpy as np
import pytest


@pytest.fixture
def poses():
    """Image coordinates (frames, animals, keypoints, 2) and confidence, with a gap and an unsure keypoint."""
    rng = np.random.default_rng(0)
    positions = rng.uniform(0, 500, (12, 2, 3, 2)).astype(np.float32)
    confidence = rng.uniform(0.7, 1.0, (12, 2, 3)).astype(np.float32)
    positions[4, 0] = np.nan
    confidence[7, 1, 2] = 0.1
    return SimpleNamespace(
        positions=positions,
        confidence=confidence,
        keypoints=["nose", "back", "tail"],
        animals=["m1", "m2"],
        n_frames=12,
    )


@pytest.fixture
def expected(poses):
    """Give ``expected(animal, threshold=0.6)``: what a recording holds of one of the animals."""

    def values(animal, threshold=0.6):
        upright = poses.positions[:, animal] * np.array([1, -1], np.float32)
        upright[poses.confidence[:, animal] < threshold] = np.nan
        return upright

    return values


@pytest.fixture
def check(poses, expected):
    """Give ``check(recording)``: does it hold the poses?"""

    def compare(recording, *, rate=25.0, individuals=("m1", "m2")):
        assert recording.kind == "position"
        assert recording.individuals == tuple(individuals)
        assert recording.sampling.rate == pytest.approx(rate)
        assert recording.dataset["keypoint"].values.tolist() == poses.keypoints
        assert recording.dataset.attrs["length_unit"] == "pixel"
        assert recording.dataset.attrs["y_axis"] == "up"
        wanted = np.concatenate([expected(i) for i in range(len(individuals))])
        np.testing.assert_allclose(recording.values, wanted, rtol=1e-5)

    return compare
