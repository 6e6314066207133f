"""Paths in a ring."""

import numpy as np
import pytest

from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov.exceptions import InputFormatError
from ethomarkov.locomotion.displacement import ensemble_msd
from ethomarkov.locomotion.ring import confine
from ethomarkov.locomotion.trajectory import Trajectory

RULES = pytest.mark.parametrize("rule", ["reflect", "slide"])


def path_of(points, offsets=None):
    points = np.asarray(points, dtype=float)
    segments = Segments.from_valid(np.isfinite(points).all(axis=1), offsets)
    return Trajectory(
        centroid=points, heading=np.linspace(0, 1, len(points)), segments=segments, sampling=Sampling(16.0)
    )


def wander(n, step=0.1, persistence=0.0, seed=0):
    random = np.random.default_rng(seed)
    angle = np.cumsum(random.normal(0, 0.1, n)) if persistence else random.uniform(0, 2 * np.pi, n)
    steps = step * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return np.concatenate([np.zeros((1, 2)), np.cumsum(steps, axis=0)])


def turns(points):
    steps = np.diff(points, axis=0)
    angle = np.arctan2(steps[:, 1], steps[:, 0])
    return np.angle(np.exp(1j * np.diff(angle)))


@RULES
@pytest.mark.parametrize("persistence", [0.0, 1.0])
def test_never_outside_and_steps_kept(rule, persistence):
    points = wander(20_000, persistence=persistence) + [0.5, 0]
    confined = confine(path_of(points), 2.0, (0.3, -0.2), rule).centroid
    distance = np.linalg.norm(confined - [0.3, -0.2], axis=1)
    assert distance.max() <= 2.0 * (1 + 1e-9)
    assert distance.max() > 1.99
    np.testing.assert_allclose(np.linalg.norm(np.diff(confined, axis=0), axis=1), 0.1, rtol=1e-9)


@RULES
def test_turns_of_its_own_are_kept_away_from_the_wall(rule):
    points = wander(3000, persistence=1.0)
    confined = confine(path_of(points), 2.0, rule=rule)
    assert not np.allclose(confined.centroid, points)
    shift = confined.heading - path_of(points).heading
    calm = np.abs(np.diff(shift)[1:]) < 1e-12
    assert 0.3 < calm.mean() < 1
    np.testing.assert_allclose(turns(confined.centroid)[calm], turns(points)[calm], atol=1e-9)
    # where it was turned, the heading turned by as much as the step
    excess = turns(confined.centroid) - turns(points) - np.diff(shift)[1:]
    np.testing.assert_allclose(np.angle(np.exp(1j * excess)), 0, atol=1e-7)


@RULES
def test_unchanged_when_the_wall_is_never_touched(rule):
    path = path_of(wander(1000))
    free = confine(path, 1.01 * np.linalg.norm(path.centroid, axis=1).max(), rule=rule)
    np.testing.assert_array_equal(free.centroid, path.centroid)
    np.testing.assert_array_equal(free.heading, path.heading)


def test_reflection_leaves_at_the_angle_of_arrival():
    """A straight walker in a disc moves on chords of one length, always at the same distance from the centre."""
    step = 1e-3
    start = np.array([0.0, 0.5])
    path = path_of(start + np.arange(30_000)[:, None] * [step, 0])
    confined = confine(path, 1.0)
    turned = np.diff(confined.heading - path.heading)
    bounces = np.flatnonzero(np.abs(turned) > 1e-9)
    # the chord at distance 1/2 is √3 long; each bounce turns by 2π/3
    np.testing.assert_allclose(np.diff(bounces) * step, np.sqrt(3), atol=0.02)
    np.testing.assert_allclose(np.abs(turned[bounces]), 2 * np.pi / 3, atol=0.01)
    assert bounces.size == int((30 - np.sqrt(0.75)) / np.sqrt(3)) + 1


def test_sliding_follows_the_wall():
    """A straight walker that slides ends up on the wall and goes round once in 2π R / v."""
    step = 1e-2
    confined = confine(path_of(np.arange(1000)[:, None] * [step, 0]), 1.0, rule="slide").centroid
    np.testing.assert_allclose(np.linalg.norm(confined[101:], axis=1), 1.0, rtol=1e-9)
    angle = np.unwrap(np.arctan2(confined[101:, 1], confined[101:, 0]))
    np.testing.assert_allclose(np.diff(angle), 2 * np.arcsin(step / 2), rtol=1e-6)


def test_displacement_saturates_at_the_squared_radius():
    """Two independent points of a disc of radius R are R² apart in the mean of squares."""
    step, n_steps, n_walks = 0.05, 400_000, 4
    paths = [confine(path_of(wander(n_steps, step, seed=seed)), 1.0) for seed in range(n_walks)]
    spread = np.mean([np.square(path.centroid).sum(axis=1).mean() for path in paths])
    # the slowest mode of the disc relaxes in R² / (j² D) steps, j = 1.841, D = s²/4; ⟨r⁴⟩ − ⟨r²⟩² is R⁴/12
    n_independent = n_walks * n_steps / (2 * 4 / step**2 / 1.841**2)
    error = 3 * np.sqrt(1 / 12 / n_independent)
    # whole steps keep a layer of about half a step at the wall thin
    assert spread == pytest.approx(0.5, abs=error + step / 2)
    assert error + step / 2 < 0.05
    late = ensemble_msd(paths, np.arange(5000, 9000, 250) / 16)
    np.testing.assert_allclose(late.msd.mean(axis=0), 1.0, atol=2 * (error + step / 2))


@RULES
def test_runs_are_confined_one_by_one(rule):
    points = np.concatenate([wander(500, seed=1), wander(1001, seed=2)])
    points[600] = np.nan
    points[601:] -= points[601]
    whole = confine(path_of(points, np.array([0, 501, 1503])), 0.5, rule=rule)
    for rows in (slice(0, 501), slice(501, 600), slice(601, 1503)):
        alone = confine(path_of(points[rows]), 0.5, rule=rule)
        np.testing.assert_allclose(whole.centroid[rows], alone.centroid, atol=1e-9)
    assert np.isnan(whole.centroid[600]).all()


def test_impossible_rings():
    path = path_of(wander(50))
    with pytest.raises(InputFormatError, match="longest step"):
        confine(path, 0.05)
    with pytest.raises(InputFormatError, match="longest step"):
        confine(path, float("nan"))
    with pytest.raises(InputFormatError, match="centre"):
        confine(path, 2.0, (3.0, 0.0))
    with pytest.raises(InputFormatError, match="slide"):
        confine(path, 2.0, rule="bounce")
