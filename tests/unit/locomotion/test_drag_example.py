"""Paths shifted and turned to where they are nearest."""

import numpy as np
import pytest

from ethomarkov.exceptions import InputFormatError
from ethomarkov.locomotion.drag_example import align_path


def walk(seed: int = 0) -> np.ndarray:
    steps = np.random.default_rng(seed).normal(size=(60, 2))
    steps[0] = 0
    return np.cumsum(steps, axis=0)


def test_a_turned_and_shifted_path_is_aligned_exactly():
    measured = walk()
    turn = np.array([[np.cos(2), -np.sin(2)], [np.sin(2), np.cos(2)]])
    aligned, distance = align_path(measured @ turn + [5, -3], measured)
    np.testing.assert_allclose(aligned, measured, atol=1e-12)
    assert distance == pytest.approx(0, abs=1e-6)


def test_no_other_rotation_comes_closer():
    measured, other = walk(), walk(1)
    measured[10:20] = np.nan
    aligned, distance = align_path(other, measured)
    known = np.isfinite(measured).all(axis=1)

    def rms(points):
        return np.sqrt(np.square(points - measured)[known].sum(axis=1).mean())

    assert rms(aligned) == pytest.approx(distance)
    middle = aligned[known].mean(axis=0)
    for angle in np.linspace(0.05, 2 * np.pi - 0.05, 50):
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        assert rms((aligned - middle) @ turn + middle) > distance


def test_paths_of_other_frames_are_refused():
    with pytest.raises(InputFormatError, match="same frames"):
        align_path(np.zeros((3, 2)), np.zeros((4, 2)))
    with pytest.raises(InputFormatError, match="another stretch"):
        align_path(np.zeros((3, 2)), np.full((3, 2), np.nan))
