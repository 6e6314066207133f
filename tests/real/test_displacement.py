"""Displacement of the twelve measured paths against the published slopes."""

import numpy as np
import pytest

from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov.locomotion.displacement import diffusion, msd, paper_lags
from ethomarkov.locomotion.trajectory import Trajectory

pytestmark = pytest.mark.real

SLOPES = [0.3387, 1.7077, 0.2966, 0.4064, 0.5498, 0.1031, 0.2399, 0.3176, 0.2829, 0.2356, 0.4107, 0.1709]
EXPONENTS = [1.18, 1.53, 1.26, 1.23, 1.17, 1.11, 1.14, 0.88, 1.07, 0.82, 1.31, 0.92]
SPEEDS = [0.166, 0.193, 0.118, 0.127, 0.135, 0.086, 0.103, 0.164, 0.123, 0.125, 0.130, 0.156]
# mm² at 1, 10, 60 and 100 s
DISPLACEMENTS = [
    [0.035, 1.87, 16.6, 29.8],
    [0.045, 3.24, 58.2, 126.8],
    [0.018, 1.04, 13.1, 24.9],
    [0.019, 1.29, 18.5, 34.7],
    [0.023, 1.59, 26.9, 49.0],
    [0.010, 0.49, 5.4, 9.6],
    [0.013, 0.85, 12.2, 21.8],
    [0.034, 2.46, 22.3, 35.4],
    [0.018, 1.12, 15.6, 26.8],
    [0.018, 1.31, 18.0, 27.6],
    [0.020, 1.34, 17.2, 33.6],
    [0.027, 1.89, 11.5, 18.2],
]


def path_of(points):
    """Twelve animals, one after the other."""
    rows = points.reshape(-1, 2)
    offsets = np.arange(13) * points.shape[1]
    segments = Segments.from_valid(np.isfinite(rows).all(axis=1), offsets)
    return Trajectory(
        centroid=rows, heading=np.zeros(len(rows)), segments=segments, sampling=Sampling(16.0), length_unit="mm"
    )


def bridged(points):
    """Lost frames, never more than four in a row, filled by straight lines."""
    filled, frames = points.copy(), np.arange(points.shape[1])
    for track in filled:
        known = np.isfinite(track).all(axis=1)
        for column in track.T:
            column[~known] = np.interp(frames[~known], frames[known], column[known])
    return filled


@pytest.fixture(scope="module")
def measured(request):
    shared_data = request.getfixturevalue("shared_data")
    with np.load(shared_data("centroids_12_worms.npz")) as file:
        return file["centroid_mm"].astype(float)


def test_published_slopes(measured):
    found = diffusion(msd(path_of(measured), paper_lags(), across_gaps=True), convention="slope")
    np.testing.assert_allclose(found.slope, SLOPES, rtol=2e-3)
    # worm 6 has 1.1349 where the table prints 1.14; all others round to the printed digits
    np.testing.assert_allclose(found.exponent, EXPONENTS, atol=0.0055)
    np.testing.assert_allclose(found.coefficient, found.slope)
    assert found.diffusive.sum() == 2
    assert "10 of 12" in found.caution
    assert found.interval.low < np.mean(SLOPES) < found.interval.high


def test_the_last_digit_is_in_the_lost_frames(measured):
    """The published paths had no lost frames; bridging ours brings back the printed digits."""
    found = diffusion(msd(path_of(bridged(measured)), paper_lags()))
    np.testing.assert_allclose(4 * found.coefficient, SLOPES, atol=1.5e-4)


def test_published_displacements(measured):
    found = msd(path_of(bridged(measured)), [1.0, 10.0, 60.0, 100.0])
    printed = np.array(DISPLACEMENTS)
    last_digit = np.where(printed < 0.1, 1e-3, np.where(printed < 5, 1e-2, 1e-1))
    np.testing.assert_array_less(np.abs(found.msd - printed), 0.6 * last_digit)


def test_published_speeds(measured):
    speed = path_of(bridged(measured)).speed(1.0).reshape(12, -1)
    np.testing.assert_allclose(np.nanmean(speed, axis=1), SPEEDS, atol=6e-4)


def test_pairs_within_runs_alone_mislead(measured):
    """A few lost frames cut the records; what is left at 100 s is another sample of the path."""
    path = path_of(measured)
    within, across = (diffusion(msd(path, paper_lags(), across_gaps=choice)).slope for choice in (False, True))
    assert np.abs(within / across - 1).max() > 0.2
