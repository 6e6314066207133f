"""The drag ratio of paths made with a known one."""

import numpy as np
import pytest

from ethomarkov._core.series import Series
from ethomarkov.exceptions import InputFormatError, SamplingError
from ethomarkov.locomotion import DragSettings, fit_drag_ratio, propel
from ethomarkov.locomotion.drag import paper_distance, rms_distance
from ethomarkov.synthetic import simulate_worms

RATE = 16.0


def crawl(n_frames=1600, n_segments=30, bend=2.0):
    """A body wave on a bend that comes and goes, so that the path turns."""
    time = np.arange(n_frames)[:, None] / RATE
    s = (np.arange(n_segments) + 0.5) / n_segments
    theta = 0.9 * np.cos(2 * np.pi * (s / 0.65 - 0.5 * time)) + bend * np.sin(0.23 * time) * (s - 0.5)
    return Series.from_rows(theta - theta.mean(axis=1, keepdims=True), RATE)


def turned(points, angle, mirror=False):
    placed = points @ [1, 1j] * np.exp(1j * angle) + 3 - 2j
    return np.stack([placed.real, -placed.imag if mirror else placed.imag], axis=1)


def random_paths(seed):
    steps = np.random.default_rng(seed).normal(size=(2, 50, 2)) @ [1, 1j]
    return np.cumsum(steps, axis=1)


def test_rms_distance_against_a_scan_of_rotations():
    x, y = random_paths(0)
    x0, y0 = x - x.mean(), y - y.mean()
    turns = np.exp(1j * np.linspace(0, 2 * np.pi, 20_001))
    scanned = min(np.sqrt(np.mean(np.abs(turn * x0 - y0) ** 2)) for turn in turns)
    assert rms_distance(x, y) == pytest.approx(scanned, rel=1e-6)
    assert rms_distance(x, x * np.exp(0.7j) + 5) == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_paper_distance_against_all_rotations(seed):
    x, y = random_paths(seed)
    turns = np.exp(2j * np.pi * np.arange(1000) / 1000)
    scanned = min(np.abs(turn * (x - x[0]) - (y - y[0])).max() for turn in turns)
    assert paper_distance(x, y) == pytest.approx(scanned, rel=1e-12)


@pytest.mark.parametrize("loss", ["rms", "paper"])
@pytest.mark.parametrize("scheme", ["midpoint", "paper"])
@pytest.mark.parametrize("mirror", [False, True])
def test_a_known_drag_ratio(loss, scheme, mirror):
    postures = crawl()
    path = propel(postures, 22.0, 0.7, scheme=scheme)
    search = DragSettings(window=25.0, loss=loss, scheme=scheme)
    fit = fit_drag_ratio(postures, turned(path.centroid, 0.9, mirror), 0.7, settings=search)
    assert fit.starts.tolist() == [0, 400, 800, 1200]
    assert fit.status_counts == {"ok": 4}
    assert fit.share_unsolved == 0
    # the thousand rotations are 0.006 rad apart, which blurs the published loss
    np.testing.assert_allclose(fit.drag_ratio, 22.0, rtol=1e-3 if loss == "rms" else 0.05)
    assert fit.is_mirrored.tolist() == [mirror]
    assert fit.mirror_losses[0, int(mirror)] < 0.2 * fit.mirror_losses[0, int(not mirror)]
    assert np.abs(np.log(fit.grid[fit.mean_curve.argmin()] / 22)) < np.log(fit.grid[1] / fit.grid[0])


def test_the_mirror_can_be_stated():
    postures = crawl()
    path = propel(postures, 22.0)
    wrong = fit_drag_ratio(postures, path.centroid, 1.0, settings=DragSettings(window=25.0, mirror=True))
    assert wrong.is_mirrored.tolist() == [True]
    assert wrong.loss.min() > 0.05


@pytest.mark.parametrize("length", [0.97, 1.03])
def test_on_a_straight_path_length_and_drag_ratio_trade_off(length):
    """Only their product with the speed is known."""
    postures = crawl(bend=0.0)

    def speed(alpha):
        return np.linalg.norm(propel(postures, alpha).centroid[-1])

    fit = fit_drag_ratio(postures, propel(postures, 30.0).centroid, length, settings=DragSettings(window=100.0))
    assert speed(fit.median.estimate) * length == pytest.approx(speed(30.0), rel=2e-3)
    assert abs(np.log(fit.median.estimate / 30)) > 0.15


def test_optimum_beyond_the_bounds():
    postures = crawl()
    path = propel(postures, 30.0)
    for bounds, status, value in [((50.0, 200.0), "at lower bound", 50.0), ((2.0, 10.0), "at upper bound", 10.0)]:
        fit = fit_drag_ratio(postures, path.centroid, 1.0, settings=DragSettings(window=50.0, bounds=bounds))
        assert fit.status == (status, status)
        np.testing.assert_allclose(fit.drag_ratio, value)
        assert fit.share_unsolved == 1


def test_a_still_animal_says_nothing():
    postures = Series.from_rows(np.repeat(crawl(1).values, 800, axis=0), RATE)
    noise = np.random.default_rng(0).normal(size=(800, 2))
    fit = fit_drag_ratio(postures, noise, 1.0, settings=DragSettings(window=25.0))
    assert fit.status_counts == {"flat": 2}
    assert np.isnan(fit.drag_ratio).all()
    assert fit.median.n == 0


def test_windows_avoid_gaps_of_both_kinds_and_animals():
    theta = crawl().values.copy()
    theta[300] = np.nan
    postures = Series.from_rows(theta, RATE, np.array([0, 700, 1600]), ("a", "b"))
    centroid = propel(postures, 30.0, np.array([1.0, 2.0])).centroid.copy()
    centroid[1000] = np.nan
    for n_windows in (None, 50):
        search = DragSettings(window=10.0, n_windows=n_windows)
        fit = fit_drag_ratio(postures, centroid, np.array([1.0, 2.0]), settings=search)
        for gap in (300, 1000):
            assert not ((fit.starts <= gap) & (gap < fit.starts + 160)).any()
        assert not ((fit.starts < 700) & (fit.starts + 160 > 700)).any()
        np.testing.assert_allclose(fit.drag_ratio, 30, rtol=1e-3)
        assert [interval.n for interval in fit.median_by_individual] == np.bincount(fit.individual).tolist()


def test_drawn_windows_follow_the_seed():
    postures = crawl()
    path, search = propel(postures), DragSettings(window=25.0, n_windows=3)
    first, again, other = (
        fit_drag_ratio(postures, path.centroid, 1.0, settings=search, rng=k).starts for k in (1, 1, 2)
    )
    assert first.tolist() == again.tolist() != other.tolist()
    assert first.size == 3


def test_input_that_does_not_fit():
    postures = crawl()
    with pytest.raises(InputFormatError, match=r"\(1600, 2\) is needed"):
        fit_drag_ratio(postures, np.zeros((5, 2)), 1.0)
    with pytest.raises(InputFormatError, match="has 1600 frames"):
        fit_drag_ratio(postures, np.zeros((1600, 2)), 1.0, settings=DragSettings(window=101.0))
    with pytest.raises(SamplingError, match="window"):
        fit_drag_ratio(postures, np.zeros((1600, 2)), 1.0, settings=DragSettings(window=0.01))
    with pytest.raises(InputFormatError, match="ascending"):
        DragSettings(bounds=(10.0, 5.0))


def test_the_synthetic_worm():
    """Tracking noise of 3 micrometres, lost frames, a length for each worm."""
    worms = simulate_worms(3, 600.0, seed=1)
    postures = worms.basis.project(worms.recording)
    fit = fit_drag_ratio(postures, worms.recording.centroid, worms.truth.body_lengths, basis=worms.basis)
    assert fit.median.estimate == pytest.approx(worms.truth.drag_ratio, rel=0.05)
    assert all(found.estimate == pytest.approx(30, rel=0.05) for found in fit.median_by_individual)
    assert not fit.is_mirrored.any()
    assert fit.share_unsolved == 0
